"""All artefacts, by name."""

import importlib

from kcde.artefacts.core import listing
from kcde.artefacts.core.declaration import Artefact
from kcde.names import nearest

ARTEFACTS: dict[str, Artefact] = {
    key: importlib.import_module(each.module).ARTEFACT for key, each in listing.artefacts().items()
}


def select(target: str) -> list[Artefact]:
    """Return the artefacts that a name on the command line stands for.

    Parameters
    ----------
    target
        `all`, a paper (`kcef`) or an artefact (`kcef/table1`).

    Returns
    -------
    list of Artefact
        At least one.

    Raises
    ------
    ValueError
        If nothing has that name.
    """
    if target == "all":
        return list(ARTEFACTS.values())
    found = [
        artefact for artefact in ARTEFACTS.values() if target in (artefact.paper, artefact.key)
    ]
    if not found:
        raise ValueError(
            f"no artefact is called {target!r}{nearest(target, ARTEFACTS)}; "
            f"known: all, {', '.join(ARTEFACTS)}"
        )
    return found
