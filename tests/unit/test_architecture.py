"""A module imports only from what stands below it."""

import ast
import re
from pathlib import Path

import pytest

import kcde
from kcde.papers.registry import ARTEFACTS

ROOT = Path(kcde.__file__).parent

FLOORS = [
    {"declared", "files", "names", "seeding"},
    {"provenance", "arrays"},
    {"memory", "panels", "sampling"},
    {"linalg", "kernels", "metrics", "normalisers", "selection"},
    {"data", "scores", "estimators", "numerics"},
    {"joint", "skpro", "streaming"},
    {"methods"},
    {"tabular", "model_file"},
    {"table_model", "experiments"},
    {"evidence", "pages", "papers"},
    {"plan", "comparison"},
    {"cli"},
]
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_")
HOMES = {"cupy": "arrays.py", "jax|optax|numba": "estimators/_networks/*.py", "snakemake": "none"}


def imported_rooms(path: Path) -> set[str]:
    """Return the rooms of all that a module imports from the package."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    names -= {"kcde.__version__", "kcde.LAZY"}
    return {name.split(".")[1] for name in names if name.startswith("kcde.")}


def test_imports_point_downwards():
    upwards = {
        f"{path.relative_to(ROOT)} imports from {name}"
        for path in MODULES
        for name in imported_rooms(path)
        if FLOOR[name] > FLOOR[path.relative_to(ROOT).parts[0].removesuffix(".py")]
    }
    assert not sorted(upwards)


def test_no_paper_imports_the_artefacts_of_another():
    papers = {listed.paper for listed in ARTEFACTS.values()}
    crossing = {
        f"{path.relative_to(ROOT)} imports from {other}"
        for paper in papers
        for path in (ROOT / "papers" / paper).glob("*.py")
        for other in papers - {paper}
        if f"kcde.papers.{other}" in path.read_text()
    }
    assert not sorted(crossing)


@pytest.mark.parametrize(("packages", "home"), HOMES.items())
def test_few_modules_know_a_heavy_package(packages, home):
    imports = re.compile(rf"^\s*(?:import|from) (?:{packages})\b", re.MULTILINE)
    knowing = {path for path in MODULES if imports.search(path.read_text())}
    assert knowing <= set(ROOT.glob(home))


def test_arrays_are_never_unpickled():
    """`numpy.load` refuses objects unless it is told otherwise; ruff knows the other ways."""
    told = {path.name for path in MODULES if "allow_pickle=True" in path.read_text()}
    assert not told
