"""Digests of the code of a result: modules and all that they import from kcde.

They are computed from sources, so that planning a workflow imports no numerics.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kcde.names import ESTIMATORS, estimator_module

__all__ = ["closure", "digest", "estimator_module"]

PACKAGE = "kcde"
ROOT = Path(__file__).parent  # of the package, the default of every `root`
SELECTION_RULE = "selection_rule"  # a class attribute: words on how an estimator chooses


@cache
def digest(*modules: str, root: Path = ROOT) -> str:
    """Return a short hash of modules and of every kcde module that they need.

    All imports are followed, also those within functions; a submodule also needs the packages that
    contain it. Comments, docstrings, selection rules and layout do not count, nor do data files,
    which are inputs of the workflow. Imports by computed names cannot be found: pass such modules
    as well (an experiment and its estimator, for example); nor are classes found that are used as
    attributes of `kcde` and not imported by name. A process reads each source once.
    """
    digester = hashlib.sha256()
    # These only list names and options: a new estimator or method changes no other's digest, and a
    # job's own options are among its parameters.
    for name in sorted(closure(*modules, root=root) - {PACKAGE, f"{PACKAGE}.methods"}):
        digester.update(f"{name}\0{_read(source(name, root))[0]}\0".encode())
    return digester.hexdigest()[:12]


def closure(*modules: str, root: Path = ROOT) -> set[str]:
    """Return the names of modules and of every kcde module that they need."""
    for name in modules:
        if source(name, root) is None:
            raise ValueError(f"there is no module {name!r} in {root}; give its full dotted name")
    found: set[str] = set()
    waiting = set(modules)
    while waiting:
        name = waiting.pop()
        found.add(name)
        parent = name.rpartition(".")[0]
        waiting |= ({parent} if parent else set()) - found
        waiting |= _needs(name, root) - found
    return found


@cache
def source(module: str, root: Path = ROOT) -> Path | None:
    """Return the file of a module of the package, None where there is none."""
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    path = root.joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py") if parts else path)
    return next((file for file in candidates if file.is_file()), None)


def _home(name: str) -> str | None:
    """Return the module of a class that is imported from the package or from `estimators`."""
    place, _, cls = name.rpartition(".")
    return ESTIMATORS.get(cls) if place in (PACKAGE, f"{PACKAGE}.estimators") else None


@cache
def _needs(name: str, root: Path) -> set[str]:
    needed: set[str] = set()
    for line in _read(source(name, root))[1]:
        if isinstance(line, ast.Import):
            needed.update(alias.name for alias in line.names)
        elif line.level:
            raise ValueError(f"{source(name, root)}, line {line.lineno}: import from {PACKAGE}...")
        else:
            # `from kcde import published` names a module, `from kcde.files import atomic` a
            # function: what has no source file is the latter.
            needed.update([line.module, *(f"{line.module}.{alias.name}" for alias in line.names)])
    # `from kcde.estimators import LSCDE` imports lscde.py at run time; other names are defined in
    # the package itself.
    return set(filter(None, (each if source(each, root) else _home(each) for each in needed)))


@cache
def _read(path: Path) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Return the hash of a source without its comments, and its imports; its tree is not kept."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    imports = []
    for block in _blocks(tree):
        imports += [line for line in block if isinstance(line, ast.Import | ast.ImportFrom)]
        block[:] = [line for line in block if not _is_words(line)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imports


def _blocks(node: ast.AST) -> Iterator[list]:
    """Yield every list of statements, outer ones first; expressions hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        if block := getattr(node, name, None):
            yield block
            for line in block:
                yield from _blocks(line)


def _is_words(node: ast.stmt) -> bool:
    """Return whether a statement is for readers: it changes no result."""
    match node:
        # Strings below an attribute document it; bare strings have no effect.
        case ast.Expr(ast.Constant(str())):
            return True
        case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, value):
            return name == SELECTION_RULE and value is not None
    return False
