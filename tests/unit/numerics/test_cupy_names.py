"""Every name of cupy that the package uses is there, in the cupy that is installed.

No device is needed, so a machine without a GPU finds a name that cupy has dropped or never had.
"""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

import kcde

ROOT = Path(kcde.__file__).parent
LIBRARIES = ("cupy", "cupyx", "cupy_backends")


@cache
def sources() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` of an attribute chain that begins with a name, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (start := dotted(node.value)):
        return f"{start}.{node.attr}"
    return None


def names_of_cupy(tree: ast.Module) -> set[str]:
    """Full names that a module imports from cupy or reaches as attributes of it."""
    meant, found = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in LIBRARIES:
                    found.add(alias.name)
                    start = alias.name if alias.asname else alias.name.partition(".")[0]
                    meant[alias.asname or start] = start
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in LIBRARIES:
            for alias in node.names:
                meant[alias.asname or alias.name] = full = f"{node.module}.{alias.name}"
                found.add(full)
    for node in ast.walk(tree):
        start, _, rest = (dotted(node) or "").partition(".")
        if rest and start in meant:
            found.add(f"{meant[start]}.{rest}")
    return found


def names_of_namespaces(tree: ast.Module) -> set[str]:
    """What a module takes from `xp`, the array namespace of its arguments."""
    chains = (dotted(node) or "" for node in ast.walk(tree))
    return {chain.removeprefix("xp.") for chain in chains if chain.startswith("xp.")}


def is_there(name: str) -> bool:
    """Whether a full name can be had: modules are imported as far as they go."""
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=1):
        if not hasattr(found, part):
            try:
                importlib.import_module(".".join(parts[: i + 1]))
            except ImportError:
                return False
        found = getattr(found, part)
    return True


@pytest.fixture(scope="module")
def cupy():
    module = pytest.importorskip("cupy", reason="cupy is not installed", exc_type=ImportError)
    try:
        importlib.import_module("cupyx.scipy.linalg")
    except ImportError as error:
        pytest.skip(f"the CUDA libraries of cupy are not all there: {error}")
    return module


def missing(prefix: str, names_of) -> list[str]:
    """Return the names that modules use and that are not there, each with its module."""
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in sources().items()
        for name in sorted(names_of(tree))
        if not is_there(f"{prefix}{name}")
    ]


def test_cupy_has_what_modules_name(cupy):
    assert missing("", names_of_cupy) == []


def test_cupy_has_what_modules_take_from_the_array_namespace(cupy):
    assert missing("array_api_compat.cupy.", names_of_namespaces) == []


def test_a_name_that_cupy_lacks_is_noticed(cupy):
    assert not is_there("cupy.linalg.no_such_decomposition")
    assert is_there("cupyx.scipy.linalg.solve_triangular")
