"""A module imports only from what stands below it."""

import ast
from pathlib import Path

import kcde
from kcde.artefacts.core.registry import ARTEFACTS

ROOT = Path(kcde.__file__).parent

FLOORS = [
    {"files", "names", "seeding", "published", "webpage"},
    {"provenance"},
    {"arrays"},
    {"memory"},
    {"linalg"},
    {"kernels"},
    {"panels"},
    {"normalisers"},
    {"selection"},
    {"sampling"},
    {"estimators"},
    {"joint", "streaming"},
    {"methods"},
    {"tabular", "model_file"},
    {"table_model"},
    {"data"},
    {"metrics"},
    {"scores"},
    {"experiments"},
    {"artefacts"},
    {"split_scores"},
    {"publish", "verify", "comparison", "report"},
    {"cli"},
]
FLOOR = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path.parent != ROOT or path.stem[0] != "_")


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the full names of all that a module imports from the package."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name for name in names if name.startswith("kcde.")}
    return found - {"kcde.__version__", "kcde.LAZY"}


def imported_rooms(path: Path) -> set[str]:
    return {name.split(".")[1] for name in imported(path)}


def test_imports_point_downwards():
    upwards = {
        f"{path.relative_to(ROOT)} imports from {name}"
        for path in MODULES
        for name in imported_rooms(path)
        if FLOOR[name] > FLOOR[room_of(path)]
    }
    assert not sorted(upwards)


def test_artefacts_know_parameters_of_experiments_but_no_experiment():
    drawn = (path for path in MODULES if room_of(path) == "artefacts")
    known = {name for path in drawn for name in imported(path) if ".experiments" in name}
    assert all(name.startswith("kcde.experiments.jobs.") for name in known)


def test_no_paper_imports_the_artefacts_of_another():
    papers = {listed.paper for listed in ARTEFACTS.values()}
    crossing = {
        f"{path.relative_to(ROOT)} imports from {other}"
        for paper in papers
        for path in (ROOT / "artefacts" / paper).glob("*.py")
        for other in papers - {paper}
        if f"kcde.artefacts.{other}" in path.read_text()
    }
    assert not sorted(crossing)


def test_only_arrays_knows_cupy():
    knowing = {room_of(path) for path in MODULES if "import cupy" in path.read_text()}
    assert knowing == {"arrays"}


def test_only_the_workflow_knows_snakemake():
    assert not [path for path in MODULES if "import snakemake" in path.read_text()]


def test_arrays_are_never_unpickled():
    """`numpy.load` refuses objects unless it is told otherwise; ruff knows the other ways."""
    told = {path.name for path in MODULES if "allow_pickle=True" in path.read_text()}
    assert not told
