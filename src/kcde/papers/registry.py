"""All artefacts, by name."""

import importlib
from pathlib import Path

from kcde.names import nearest
from kcde.papers.artefact import Artefact

_ROOT = Path(__file__).parent


def _found() -> list[Artefact]:
    """Return the artefacts that modules `<paper>/<name>.py` declare, each or in lists."""
    found = []
    for path in _ROOT.glob("*/[!_]*.py"):
        name = f"kcde.papers.{path.parent.name}.{path.stem}"
        for value in vars(importlib.import_module(name)).values():
            several = value if isinstance(value, list | tuple) else [value]
            found += [a for a in several if isinstance(a, Artefact) and a.module == name]
    return sorted(found, key=lambda artefact: artefact.key)


ARTEFACTS: dict[str, Artefact] = {artefact.key: artefact for artefact in _found()}
"""By `paper/name`, in alphabetical order."""


def select(target: str) -> list[Artefact]:
    """Return the artefacts that a name on the command line stands for."""
    if target == "all":
        return list(ARTEFACTS.values())
    found = [each for each in ARTEFACTS.values() if target in (each.paper, each.key)]
    if not found:
        unknown = f"no artefact is called {target!r}{nearest(target, ARTEFACTS)}"
        raise ValueError(f"{unknown}; known: all, {', '.join(ARTEFACTS)}")
    return found
