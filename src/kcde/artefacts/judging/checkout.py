"""The commit of the code that decides claims under readings."""

import subprocess
from functools import cache
from pathlib import Path

import kcde

UNKNOWN = "unknown"
"""Stands where the package does not lie in a checkout, or git is not there."""


@cache
def commit(package: Path = Path(kcde.__file__).parent) -> str:
    """Return the commit of the checkout that a package lies in.

    Parameters
    ----------
    package
        Its folder.

    Returns
    -------
    str
        Ten digits, with `+` where a tracked file other than those under `figures/` is changed;
        `unknown` where git does not track the package.
    """
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return UNKNOWN
    head = _git(package, "rev-parse", "--short=10", "HEAD")
    if head is None:
        return UNKNOWN
    # A run writes the tracked outputs itself.
    same = _git(package, "diff", "--quiet", "HEAD", "--", ":(top)", ":(top,exclude)figures")
    return head if same is not None else f"{head}+"


def _git(folder: Path, *arguments: str) -> str | None:
    """Return what git says in a folder, None where it fails or is not there."""
    command = ["git", "-C", f"{folder}", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
