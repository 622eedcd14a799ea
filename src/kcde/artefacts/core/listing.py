"""All artefacts, read from their sources, because planning a workflow imports no numerics.

An artefact is a file `<paper>/<name>.py` that assigns `ARTEFACT = Artefact(__name__, ...)`. What
planning needs stands there as literals: `kind`, `title`, `shows`, and `name` where it differs from
that of the file.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ACROSS = "across"
"""Stands for a paper where an artefact belongs to none; it is drawn above the papers' folders."""

_ROOT = Path(__file__).parents[1]
_LITERALS = ("name", "kind", "title", "shows")
_PICTURES = ("png", "pdf")
_SUFFIXES = {"table": ("csv", "md", *_PICTURES), "figure": ("csv", *_PICTURES, "md")}


Shows = Mapping[str, Mapping[str, list[str] | str]]
"""Experiment to the lists `datasets`, `methods` and `but`, or what other artefact has them."""


@dataclass(frozen=True)
class Listed:
    """An artefact as far as planning needs it.

    Attributes
    ----------
    paper, name
        As in `published_values.csv`, e.g. `kcef`, `table1`.
    module
        Full name of its module.
    kind
        `table` or `figure`.
    title
        What it is.
    shows
        Experiment to `datasets` and `methods`, where it shows not all that the experiment has, or
        to `but`, the methods that it does not show.
    """

    paper: str
    name: str
    module: str
    kind: str
    title: str
    shows: Shows

    @property
    def key(self) -> str:
        """`paper/name`, its name on the command line."""
        return f"{self.paper}/{self.name}"


def place(paper: str, name: str) -> str:
    """Return where an artefact lies in the folder of the outputs, without suffix: `kcef/table1`."""
    return name if paper == ACROSS else f"{paper}/{name}"


def suffixes(kind: str) -> tuple[str, ...]:
    """Return the suffixes of the files of a `table` or `figure`; its target has the second."""
    return _SUFFIXES[kind]


@cache
def artefacts(root: Path = _ROOT) -> dict[str, Listed]:
    """Return the artefacts below a folder by `paper/name`, in alphabetical order.

    Parameters
    ----------
    root
        The folder of `kcde.artefacts`.

    Raises
    ------
    ValueError
        If a declaration lacks a literal that planning needs, or two have the same name.
    """
    found: dict[str, Listed] = {}
    raw: list[Listed] = []
    for path in sorted(root.glob("*/[!_]*.py")):
        if (literals := _declared(path)) is not None:
            raw.append(_listed(path, literals))
    for each in raw:
        if each.key in found:
            raise ValueError(f"{each.module} and {found[each.key].module} are both {each.key}")
        found[each.key] = each
    return {
        key: replace(each, shows=resolved(key, each.shows, found)) for key, each in found.items()
    }


def _declared(path: Path) -> dict | None:
    """Return the literals of a module's declaration, None if it declares no artefact."""
    text = path.read_text(encoding="utf-8")
    if "\nARTEFACT = " not in text:
        return None
    for line in ast.parse(text, filename=str(path)).body:
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "ARTEFACT":
            given = {each.arg: each.value for each in getattr(line.value, "keywords", ())}
            try:
                return {name: ast.literal_eval(given[name]) for name in _LITERALS if name in given}
            except ValueError:
                break
    raise ValueError(f"{path}: {', '.join(_LITERALS)} of ARTEFACT must be literals")


def _listed(path: Path, literals: Mapping) -> Listed:
    if missing := sorted({"kind", "title", "shows"} - set(literals)):
        raise ValueError(f"{path}: ARTEFACT lacks {', '.join(missing)}")
    if literals["kind"] not in _SUFFIXES:
        kinds = " or ".join(_SUFFIXES)
        raise ValueError(f"{path}: ARTEFACT has the kind {literals['kind']!r}; allowed: {kinds}")
    paper = path.parent.name
    known = {"paper": paper, "name": path.stem, "module": f"kcde.artefacts.{paper}.{path.stem}"}
    return Listed(**known | literals)


def resolved(key: str, shows: Shows, found: Mapping[str, Listed]) -> Shows:
    """Return what an artefact shows, with the lists of another one where it names that one.

    Parameters
    ----------
    key
        `paper/name` of the artefact.
    shows
        As declared: `paper/name` in the place of a list means the list of that artefact.
    found
        Artefacts by `paper/name`.

    Raises
    ------
    ValueError
        If the artefact that is named does not exist or lists nothing there.
    """
    shows = {experiment: dict(wanted) for experiment, wanted in shows.items()}
    for experiment, wanted in shows.items():
        for what, other in wanted.items():
            if isinstance(other, str):
                if other not in found or what not in found[other].shows.get(experiment, {}):
                    raise ValueError(f"{key} shows the {what} of {other}, which lists none")
                wanted[what] = found[other].shows[experiment][what]
    return shows
