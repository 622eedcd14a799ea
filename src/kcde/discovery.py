"""Which estimators there are and what their sources say of them, without importing any.

The class `Name` lies in the public file of `estimators/` whose name without underscores is `name`:
`KCEF` in `kcef.py`, `EpsilonKDE` in `epsilon_kde.py`. A new file is a new estimator; nothing is
registered. Planning a run, drawing and `import kcde` read sources here, which costs no numerics.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from kcde.names import nearest

PACKAGE = "kcde"
ROOT = Path(__file__).parent
"""Folder of the package, the default of every `root`."""

NO_METHODS = ("Conformal", "Standardised")
"""Public classes of `estimators/` that are no methods: what wraps another estimator."""

SELECTION_RULE = "selection_rule"
"""The class attribute that says in words how an estimator chooses its hyper-parameters."""


class SourceError(ValueError):
    """A mistake in a source of the package; the message, one line, names the file."""


@cache
def classes(root: Path = ROOT) -> dict[str, str]:
    """Return the public classes of `estimators/` that bear the name of their file, by name.

    Parameters
    ----------
    root
        Folder of the package.

    Returns
    -------
    dict
        Class name to module, e.g. `EpsilonKDE` to `kcde.estimators.epsilon_kde`, by file name.
    """
    return {
        name: f"{PACKAGE}.estimators.{path.stem}"
        for path in sorted((root / "estimators").glob("[!_]*.py"))
        for name in re.findall(r"^class (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        if name.lower() == path.stem.replace("_", "")
    }


def estimators(root: Path = ROOT) -> dict[str, str]:
    """Return the estimators, class name to module: those of `classes` that are methods."""
    return {name: module for name, module in classes(root).items() if name not in NO_METHODS}


def module_of(estimator: str, root: Path = ROOT) -> str:
    """Return the module of a public class of `estimators/`.

    Parameters
    ----------
    estimator
        E.g. `EpsilonKDE`, which lies in `epsilon_kde.py`.
    root
        Folder of the package.

    Raises
    ------
    ValueError
        If there is no such class; the message suggests the nearest name and lists the estimators.
    """
    known = classes(root)
    if estimator not in known:
        raise ValueError(
            f"there is no estimator {estimator!r}{nearest(estimator, known)}; known: "
            f"{', '.join(sorted(estimators(root)))}"
        )
    return known[estimator]


@cache
def source(module: str, root: Path = ROOT) -> Path | None:
    """Return the file of a module of the package, None where there is none.

    Parameters
    ----------
    module
        Full name, e.g. `kcde.estimators.lscde`.
    root
        Folder of the package.
    """
    package, *parts = module.split(".")
    if package != PACKAGE:
        return None
    path = root.joinpath(*parts)
    candidates = (path / "__init__.py", path.with_suffix(".py") if parts else path)
    return next((file for file in candidates if file.is_file()), None)


def parsed(path: Path) -> ast.Module:
    """Return the tree of a source file.

    Raises
    ------
    SourceError
        If it is not Python.
    """
    try:
        return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except SyntaxError as error:
        raise SourceError(f"{path}, line {error.lineno}: {error.msg}") from None


def origin(line: ast.ImportFrom, module: str, root: Path = ROOT) -> str:
    """Return the full name of what a module imports from, also where it counts dots.

    Parameters
    ----------
    line
        A `from ... import ...` of the module.
    module
        Its full name.
    root
        Folder of the package.
    """
    if not line.level:
        return line.module
    is_package = source(module, root).name == "__init__.py"
    package = module if is_package else module.rpartition(".")[0]
    base = package.rsplit(".", line.level - 1)[0]
    return ".".join(filter(None, [base, line.module]))


def home(name: str, root: Path = ROOT) -> str | None:
    """Return the module of a class that is imported from the package or from `estimators` by name.

    Parameters
    ----------
    name
        Full name, e.g. `kcde.KCEF` or `kcde.estimators.KCEF`.
    root
        Folder of the package.

    Returns
    -------
    str or None
        None where there is no such class, or the name is that of another place.
    """
    place, _, cls = name.rpartition(".")
    return classes(root).get(cls) if place in (PACKAGE, f"{PACKAGE}.estimators") else None


def parameters(estimator: str, root: Path = ROOT) -> dict[str, object]:
    """Return the constructor arguments of an estimator, its own or those that it inherits.

    Parameters
    ----------
    estimator
        A key of `classes`.
    root
        Folder of the package.

    Returns
    -------
    dict
        Name to default, `...` where it has none or its default is not a literal.
    """
    for _, node in _with_bases(estimator, root):
        if init := _method(node, "__init__"):
            return _defaults(init.args)
    return {}


def with_method(method: str, root: Path = ROOT) -> frozenset[str]:
    """Return the estimators that have a method, their own or one that they inherit."""
    return frozenset(
        name
        for name in estimators(root)
        if any(_method(node, method) for _, node in _with_bases(name, root))
    )


def attribute(estimator: str, name: str, root: Path = ROOT) -> object:
    """Return a literal that an estimator's class has as an attribute, its own or inherited.

    Parameters
    ----------
    estimator
        A key of `classes`.
    name
        Of the attribute.
    root
        Folder of the package.

    Raises
    ------
    LookupError
        If neither the class nor one that it inherits from assigns it.
    SourceError
        If what is assigned is not a literal.
    """
    for path, node in _with_bases(estimator, root):
        for value in assigned(node.body, name):
            try:
                return ast.literal_eval(value)
            except ValueError:
                raise SourceError(
                    f"{path}, line {value.lineno}: {name} of {node.name} must be a literal, "
                    "because it is read without importing the class"
                ) from None
    raise LookupError(f"{source(classes(root)[estimator], root)}: {estimator} has no {name}")


def docstrings(estimator: str) -> tuple[str, str]:
    """Return what the docstrings of an estimator's module and of its class say.

    Parameters
    ----------
    estimator
        A key of `classes`.
    """
    path, node = next(_with_bases(estimator, ROOT))
    return ast.get_docstring(_kept(path)) or "", ast.get_docstring(node) or ""


def assigned(body: Iterable[ast.stmt], name: str) -> Iterator[ast.expr]:
    """Yield what statements assign to a name."""
    for line in body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            targets = line.targets if isinstance(line, ast.Assign) else [line.target]
            if any(isinstance(each, ast.Name) and each.id == name for each in targets):
                yield line.value


def _with_bases(estimator: str, root: Path) -> Iterator[tuple[Path, ast.ClassDef]]:
    """Yield a class, then those that it inherits from, as far as they are of the package."""
    waiting = [(classes(root).get(estimator), estimator)]
    while waiting:
        module, name = waiting.pop(0)
        path = source(module, root) if module else None
        tree = _kept(path) if path else ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                yield path, node
                full = _full_names(module, tree, root)
                waiting += [_place(ast.unparse(base), module, full, root) for base in node.bases]


def _full_names(module: str, tree: ast.Module, root: Path) -> dict[str, str]:
    """Return the full names of what a module imports, by the names that it uses."""
    found = {}
    for line in tree.body:
        if isinstance(line, ast.Import):
            # `import a.b` binds `a`, `import a.b as c` binds `a.b`.
            found |= {each.asname: each.name for each in line.names if each.asname}
            heads = [each.name.partition(".")[0] for each in line.names if not each.asname]
            found |= {head: head for head in heads}
        elif isinstance(line, ast.ImportFrom):
            place = origin(line, module, root)
            found |= {each.asname or each.name: f"{place}.{each.name}" for each in line.names}
    return found


def _place(base: str, module: str, full: dict[str, str], root: Path) -> tuple[str, str]:
    """Return module and name of the class that a module calls `base`."""
    head, dot, rest = base.partition(".")
    name = full.get(head, f"{module}.{head}") + dot + rest
    place, _, cls = name.rpartition(".")
    return home(name, root) or place, cls


def _method(node: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    own = (line for line in node.body if isinstance(line, ast.FunctionDef))
    return next((line for line in own if line.name == name), None)


def _defaults(taken: ast.arguments) -> dict[str, object]:
    """Return the arguments of a constructor but `self`, with their defaults."""
    given = taken.defaults
    first: list[ast.expr | None] = [None] * (len(taken.args) - len(given))
    pairs = [*zip(taken.args, [*first, *given], strict=True)]
    pairs += zip(taken.kwonlyargs, taken.kw_defaults, strict=True)
    return {each.arg: _literal(default) for each, default in pairs if each.arg != "self"}


def _literal(value: ast.expr | None) -> object:
    try:
        return ... if value is None else ast.literal_eval(value)
    except ValueError:
        return ...


@cache
def _kept(path: Path) -> ast.Module:
    return parsed(path)
