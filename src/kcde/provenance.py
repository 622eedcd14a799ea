"""What code a result came from: digests of modules and of all that they import from kcde.

Found by reading the sources, so that planning a workflow imports no numerics.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kcde.discovery import PACKAGE, ROOT, SELECTION_RULE, classes, source


@cache
def digest(*modules: str, root: Path = ROOT) -> str:
    """Return a short hash of modules and of every kcde module that they need.

    Imports are followed wherever they stand, within functions too; a submodule also needs the
    packages that it lies in. Comments, docstrings, selection rules and layout do not count.
    Imports by computed names cannot be seen: name such modules yourself (an experiment and its
    estimator, say). Data files do not count either: the workflow treats them as inputs. Sources are
    read once in a process.

    Parameters
    ----------
    *modules
        Full names, e.g. `"kcde.experiments.r_benchmark", "kcde.estimators.lscde"`.
    root
        The folder of the package.

    Returns
    -------
    str
        12 hexadecimal digits, the same whatever the order of `modules`.

    Raises
    ------
    ValueError
        If a module has no source file in the package.
    """
    digester = hashlib.sha256()
    for name in sorted(closure(*modules, root=root)):
        digester.update(f"{name}\0{_read(source(name, root))[0]}\0".encode())
    return digester.hexdigest()[:12]


def closure(*modules: str, root: Path = ROOT) -> set[str]:
    """Return the names of modules and of every kcde module that they need.

    Parameters
    ----------
    *modules, root
        As for `digest`.

    Raises
    ------
    ValueError
        If a module has no source file in the package.
    """
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


def estimator_module(estimator: str, root: Path = ROOT) -> str:
    """Return the module of an estimator class.

    Parameters
    ----------
    estimator
        E.g. `EpsilonKDE`, which lies in `epsilon_kde.py`.
    root
        The folder of the package.

    Raises
    ------
    ValueError
        If there is no such class; the message lists the modules there are.
    """
    known = classes(root)
    if estimator not in known:
        files = ", ".join(name.rpartition(".")[2] for name in known.values())
        raise ValueError(
            f"there is no file for the estimator {estimator!r} in estimators/: {files}"
        )
    return known[estimator]


@cache
def _needs(name: str, root: Path) -> set[str]:
    path = source(name, root)
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    needed: set[str] = set()
    for line in _read(path)[1]:
        if isinstance(line, ast.Import):
            needed.update(alias.name for alias in line.names)
        else:
            # Relative imports count dots from the package that the module lies in.
            base = package.rsplit(".", line.level - 1)[0] if line.level else ""
            module = ".".join(part for part in (base, line.module) if part)
            # `from kcde import published` names a module, `from kcde.files import atomic` a
            # function: what has no source file is the latter.
            needed.update([module, *(f"{module}.{alias.name}" for alias in line.names)])
    return {found for module in needed if (found := _module(module, root))}


def _module(name: str, root: Path) -> str | None:
    """Return the module that an imported name lies in, or None if it needs no further one."""
    if source(name, root):
        return name
    package, _, estimator = name.rpartition(".")
    # `from kcde.estimators import LSCDE` finds lscde.py by its name when it runs; other names
    # of that package stand in the package itself.
    return classes(root).get(estimator) if package == f"{PACKAGE}.estimators" else None


@cache
def _read(path: Path) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Return the hash of what a source does, and its imports; its tree is large and is not kept."""
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
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and node.target.id == SELECTION_RULE
    # Strings below an attribute document it; no bare string ever does anything.
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
