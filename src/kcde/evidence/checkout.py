"""What git knows: the commit of the code that decides claims, and the tracked outputs."""

import subprocess
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import kcde

UNKNOWN = "unknown"
"""Stands where the package does not lie in a checkout, or git is not there."""


@cache
def commit(package: Path = Path(kcde.__file__).parent) -> str:
    """Return the commit of the checkout that a package lies in.

    Ten digits, with `+` where a tracked file other than those under `figures/` is changed;
    `unknown` where git does not track the package.
    """
    known = _git(package, "ls-files", "--error-unmatch", "__init__.py")
    head = _git(package, "rev-parse", "--short=10", "HEAD")
    if known is None or head is None:
        return UNKNOWN
    # A run writes the tracked outputs itself.
    same = _git(package, "diff", "--quiet", "HEAD", "--", ":(top)", ":(top,exclude)figures")
    return head.decode().strip() + ("+" if same is None else "")


def tracked(folder: Path, pattern: str) -> dict[str, bytes]:
    """Return the files of the last commit below a folder whose names match, by path below it."""
    listed = _git(folder, "ls-tree", "-r", "-z", "--name-only", "HEAD", ".") or b""
    names = [name for name in listed.decode("utf-8").split("\0") if fnmatch(name, pattern)]
    if not names:
        raise ValueError(f"git tracks no {pattern} in {folder}: name another folder or commit")
    return {name: _git(folder, "show", f"HEAD:./{name}") for name in names}


def _git(folder: Path, *arguments: str) -> bytes | None:
    """Return what git writes in a folder, None where it fails or is not there."""
    command = ["git", "-C", f"{folder}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
