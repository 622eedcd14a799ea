"""All artefacts, read from their sources, because planning a workflow imports no numerics.

An artefact is a file `<paper>/<name>.py` that assigns `ARTEFACT = Artefact(__name__, ...)`. What
planning needs stands there as literals: `kind`, `title`, `shows`, and where they differ from the
default `name`, that of the file, and `stage`, the run.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from kcde.names import nearest
from kcde.provenance import SourceError, assigned, parsed

ACROSS = "across"
"""Stands for a paper where an artefact belongs to none; it is drawn above the papers' folders."""

_ROOT = Path(__file__).parents[1]
_LITERALS = ("name", "kind", "title", "shows", "stage")
_DECLARED, _CLASS = "ARTEFACT", "Artefact"
_SHOWN = ("datasets", "methods", "but", "scale")

SCALES = ("smoke", "laptop", "paper")
"""From the smallest on."""

RUN, READINGS = "run", "readings"
"""Stages: what `snakemake` makes by default, and what `snakemake readings` does. The second is also
the scale of the scores that are made for it alone."""

_PICTURES = ("png", "pdf")
_SUFFIXES = {"table": ("csv", "md", *_PICTURES), "figure": ("csv", *_PICTURES, "md")}


Shows = Mapping[str, Mapping[str, list[str] | str]]
"""Experiment to the lists `datasets`, `methods` and `but`, or what other artefact has them, and to
`scale`, where that is not the run's."""


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
    stage
        `run` or `readings`.
    """

    paper: str
    name: str
    module: str
    kind: str
    title: str
    shows: Shows
    stage: str = RUN

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
    SourceError
        If a declaration lacks a literal that planning needs, or two have the same name.
    """
    found: dict[str, Listed] = {}
    raw: list[Listed] = []
    for path in sorted(root.glob("*/[!_]*.py")):
        if (literals := _declared(path)) is not None:
            raw.append(_listed(path, literals))
    for each in raw:
        if each.key in found:
            raise SourceError(f"{each.module} and {found[each.key].module} are both {each.key}")
        found[each.key] = each
    return {
        key: replace(each, shows=resolved(key, each.shows, found)) for key, each in found.items()
    }


def _declared(path: Path) -> dict | None:
    """Return the literals of a module's declaration, None if it declares no artefact."""
    if f"\n{_DECLARED}" not in path.read_text(encoding="utf-8"):
        return None
    for value in assigned(parsed(path).body, _DECLARED):
        given = {each.arg: each.value for each in getattr(value, "keywords", ())}
        known = _arguments()
        if unknown := [name for name in given if name and name not in known]:
            guess = nearest(unknown[0], known)
            raise _mistake(path, f"has {unknown[0]}{guess}; known: {', '.join(known)}")
        try:
            return {name: ast.literal_eval(given[name]) for name in _LITERALS if name in given}
        except ValueError:
            raise _mistake(path, f"needs literals for {', '.join(_LITERALS)}") from None
    return None


@cache
def _arguments() -> list[str]:
    """Return the names of the fields of `Artefact`, of the source of its module."""
    body = parsed(Path(__file__).with_name("declaration.py")).body
    (declared,) = (node for node in body if getattr(node, "name", "") == _CLASS)
    return [line.target.id for line in declared.body if isinstance(line, ast.AnnAssign)]


def _mistake(path: Path, words: str) -> SourceError:
    return SourceError(f"{path}: {_DECLARED} {words}")


def _listed(path: Path, literals: Mapping) -> Listed:
    if missing := sorted({"kind", "title", "shows"} - set(literals)):
        raise _mistake(path, f"lacks {', '.join(missing)}")
    if literals["kind"] not in _SUFFIXES:
        kinds = " or ".join(_SUFFIXES)
        raise _mistake(path, f"has the kind {literals['kind']!r}; allowed: {kinds}")
    if literals.get("stage", RUN) not in (RUN, READINGS):
        stages = f"{RUN} or {READINGS}"
        raise _mistake(path, f"has the stage {literals['stage']!r}; allowed: {stages}")
    _check(path, literals["shows"])
    paper = path.parent.name
    known = {"paper": paper, "name": path.stem, "module": f"kcde.artefacts.{paper}.{path.stem}"}
    return Listed(**known | literals)


def _check(path: Path, shows: object) -> None:
    """Raise `SourceError` where `shows` is not as `Shows` says."""
    if not isinstance(shows, dict) or not all(isinstance(each, dict) for each in shows.values()):
        raise _mistake(path, f"shows {shows!r}; allowed: {{experiment: {{datasets, methods}}}}")
    for experiment, wanted in shows.items():
        for what, names in wanted.items():
            where = f"shows.{experiment}.{what}"
            if what not in _SHOWN:
                guess = nearest(what, _SHOWN)
                raise _mistake(path, f"has {where}{guess}; known: {', '.join(_SHOWN)}")
            if what == "scale" and names != READINGS:
                raise _mistake(path, f"has {names!r} for {where}; allowed: {READINGS}")
            if not isinstance(names, list | str):
                raise _mistake(path, f"has {names!r} for {where}; allowed: a list, or paper/name")


def resolved(key: str, shows: Shows, found: Mapping[str, Listed]) -> Shows:
    """Return what an artefact shows, with the lists of another one where it names that one.

    Parameters
    ----------
    key
        `paper/name` of the artefact.
    shows
        As declared: `paper/name` in place of a list means the list of that artefact.
    found
        Artefacts by `paper/name`.

    Raises
    ------
    SourceError
        If the artefact that is named does not exist or lists nothing there.
    """
    shows = {experiment: dict(wanted) for experiment, wanted in shows.items()}
    for experiment, wanted in shows.items():
        for what, other in wanted.items():
            if isinstance(other, str) and what != "scale":
                lists = found[other].shows.get(experiment, {}) if other in found else {}
                if not isinstance(lists.get(what), list):
                    raise SourceError(f"{key} shows the {what} of {other}, which lists none")
                wanted[what] = lists[what]
    return shows
