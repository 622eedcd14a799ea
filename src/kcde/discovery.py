"""What constructors take, read from the sources: planning a run imports no numerics."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ESTIMATORS = Path("src/kcde/estimators")


def estimators(root: Path) -> dict[str, Path]:
    """Return the classes that bear the name of their file, with that file.

    Parameters
    ----------
    root
        Folder of the project.
    """
    folder = root / ESTIMATORS
    helpers = constant(folder / "__init__.py", "_HELPERS")
    files = [path for path in sorted(folder.glob("[!_]*.py")) if path.stem not in helpers]
    return {
        node.name: path
        for path in files
        for node in _parsed(path).body
        if isinstance(node, ast.ClassDef) and node.name.lower() == path.stem.replace("_", "")
    }


def parameters(path: Path, name: str) -> list[str]:
    """Return the constructor arguments of a class, its own or those that it inherits.

    Parameters
    ----------
    path
        The module of the class; base classes are looked for where it imports them from, beside it.
    name
        Of the class.
    """
    tree = _parsed(path)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return _of_class(path, tree, node)
    return []


def with_method(root: Path, method: str) -> frozenset[str]:
    """Return the estimators that have a method, their own or one that they inherit.

    Parameters
    ----------
    root
        Folder of the project.
    method
        Its name.
    """
    found = estimators(root).items()
    return frozenset(name for name, path in found if _defines(path, name, method))


def constant(path: Path, name: str) -> object:
    """Return the value of a literal that a module assigns.

    Raises
    ------
    LookupError
        If it assigns none of that name.
    """
    for line in _parsed(path).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == name:
            return ast.literal_eval(line.value)
    raise LookupError(f"{path} assigns no {name}")


def _of_class(path: Path, tree: ast.Module, node: ast.ClassDef) -> list[str]:
    for line in node.body:
        if isinstance(line, ast.FunctionDef) and line.name == "__init__":
            taken = line.args
            return [each.arg for each in (*taken.args, *taken.kwonlyargs) if each.arg != "self"]
    for base in map(ast.unparse, node.bases):
        module = _imported_from(path, tree, base)
        if module and (found := parameters(module, base)):
            return found
    return []


def _defines(path: Path, name: str, method: str) -> bool:
    """Return whether a class, or one that it inherits from, has a method."""
    tree = _parsed(path)
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            own = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            if method in own:
                return True
            modules = {
                base: _imported_from(path, tree, base) for base in map(ast.unparse, node.bases)
            }
            return any(where and _defines(where, base, method) for base, where in modules.items())
    return False


def _imported_from(path: Path, tree: ast.Module, name: str) -> Path | None:
    """Return the file beside a module that a class is imported from, or the module itself."""
    for line in _imports(tree):
        if any(alias.name == name for alias in line.names):
            found = path.with_name(f"{line.module.rpartition('.')[2]}.py")
            return found if found.is_file() else None
    return path


def _imports(tree: ast.Module) -> Iterable[ast.ImportFrom]:
    return (line for line in tree.body if isinstance(line, ast.ImportFrom) and line.module)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
