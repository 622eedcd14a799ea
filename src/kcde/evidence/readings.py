"""What the papers leave open, in `papers/<paper>/readings.yaml`, and claims under each reading.

A choice has its words and its readings. A reading changes the scores or the test of claims:

    as         method to the one in whose place it stands
    datasets   data set to the one in whose place it stands
    where      column to the values that are kept
    variation  ending of data sets to the values of their settings: where a method has such data
               sets, those stand in the place of the plain ones
    claims     the claims decided; as a mapping, each to further arguments of its test
    with       further arguments of all of them
    artefact   whose scores are taken, `paper/name`; by default that which decides the claim

A reading may be a list of such entries, where it changes claims in different ways. What stands
beside `readings` in a choice holds for all of them. What each claim gave under each reading is
tracked in `figures/readings.csv`.
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import pandas as pd
import yaml

from kcde.evidence.checks import FAILS, HOLDS, NOT_RUN, decide, under
from kcde.files import read_object, refused
from kcde.names import AS_PUBLISHED, OURS
from kcde.pages import building
from kcde.papers import published, registry
from kcde.papers.artefact import Artefact

NAME = "readings.csv"

COLUMNS = ["paper", "claim", "choice", "reading", "artefact", "verdict", "reason", "scale", "parts"]
"""A row a claim and reading; `artefact` is that which decides it, as `paper/name`. Without a
choice it is the claim as drawn."""

REPRODUCED, DEPENDS, CONTRADICTED, UNTESTED = "reproduced", "depends", "contradicted", "untested"

SCALE = "scale"
"""The choice whose readings are the scales."""

UNKNOWN_SCALE = "unknown"
"""Stands for the scale of scores that do not lie in the folder of a scale."""

_CHANGES = {"as": "methods", "datasets": "datasets", "where": "where", "variation": "variation"}
"""Key of a reading to the field that it fills."""

_KEYS = {"choice", "why", "drawn", "question", "settles", "readings"}
_KEYS |= {"claims", "with", "artefact", *_CHANGES}


@dataclass(frozen=True)
class Reading:
    """A way to read what a paper leaves open: see the module."""

    choice: str
    name: str
    claims: Mapping[str, Mapping[str, object]]
    artefact: str = ""
    methods: Mapping[str, str] = field(default_factory=dict)
    datasets: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, Sequence] = field(default_factory=dict)
    variation: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def scores(self, scores: pd.DataFrame) -> pd.DataFrame:
        """Return the scores under this reading."""
        for name, wanted in self.where.items():
            scores = scores[scores[name].isin(wanted)]
        for ending, axes in self.variation.items():
            varied = scores["dataset"].str.endswith(f"-{ending}")
            own = pd.MultiIndex.from_frame(scores[["experiment", "method"]])
            kept = ~own.isin(own[varied]) & varied.any()
            varied &= scores.index.isin(under(scores[varied], **axes).index)
            scores = scores[kept | varied]
            scores = scores.assign(dataset=scores["dataset"].str.removesuffix(f"-{ending}"))
        stand_in = scores["method"].isin(self.methods) & (scores["variant"] == OURS)
        scores = scores.assign(variant=scores["variant"].mask(stand_in, AS_PUBLISHED))
        for column, stands in (("dataset", self.datasets), ("method", self.methods)):
            scores = scores[~scores[column].isin(set(stands.values()) - set(stands))]
            scores = scores.assign(**{column: scores[column].replace(stands)})
        return scores


@cache
def choices(paper: str) -> dict[str, dict]:
    """Return what a paper leaves open: choice to its words and readings."""
    path = Path(published.__file__).with_name(paper) / "readings.yaml"
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}


@cache
def declared(paper: str) -> list[Reading]:
    """Return the readings of a paper's choices that this project runs."""
    found = []
    for choice, stated in choices(paper).items():
        for name, entries in (stated.get("readings") or {}).items():
            for own in entries if isinstance(entries, list) else [entries]:
                known = {**stated, **(own or {})}
                if wrong := set(known) - _KEYS:
                    raise ValueError(f"{paper}/readings.yaml: {choice}, {name}: no key {wrong}")
                claims, more = known["claims"], known.get("with", {})
                claims = claims if isinstance(claims, dict) else {claim: {} for claim in claims}
                claims = {claim: {**more, **(how or {})} for claim, how in claims.items()}
                changes = {name: known[key] for key, name in _CHANGES.items() if key in known}
                found.append(Reading(choice, name, claims, known.get("artefact", ""), **changes))
    return found


def judge(artefact: Artefact, scores: pd.DataFrame, scale: str) -> pd.DataFrame:
    """Return what an artefact decides on these scores, with `COLUMNS`."""
    tests = ChainMap(artefact.claims, *(each.claims for each in registry.ARTEFACTS.values()))
    papers = published.claims().set_index("claim")["paper"]
    plain = Reading("", "", {claim: {} for claim in artefact.claims})
    rows = []
    for reading in (plain, *(each for paper in published.PAPERS for each in declared(paper))):
        decides = {"": artefact.claims, artefact.key: reading.claims}.get(reading.artefact, ())
        own = [claim for claim in reading.claims if claim in decides]
        read_so = reading.scores(scores) if own else scores
        for claim in own:
            found = decide(tests[claim], read_so, **reading.claims[claim])
            parts = "; ".join(f"{name}: {word}" for name, word in found.parts.items())
            known = [papers[claim], claim, reading.choice, reading.name, artefact.key]
            rows.append([*known, found.verdict, found.reason, scale, parts])
    return pd.DataFrame(rows, columns=COLUMNS)


def read(into: str | Path) -> pd.DataFrame:
    """Return the tracked decisions in a folder of outputs, empty where there are none."""
    path = Path(into) / NAME
    return _decisions(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


def _decisions(path: str | Path) -> pd.DataFrame:
    with refused(path, "is no table of decisions", "restore it, or make it with `snakemake`"):
        return pd.read_csv(path, dtype=str, keep_default_na=False)[COLUMNS]


def collect(files: Iterable[str | Path], tracked: str | Path | None = None) -> pd.DataFrame:
    """Return what artefacts decided, in the order of claims and choices.

    Of a folder of outputs that is `tracked` the decisions of other artefacts and scales stay.
    """
    table = pd.concat([pd.DataFrame(columns=COLUMNS), *map(_decisions, files)], ignore_index=True)
    if tracked is not None:
        kept, source = read(tracked), ["artefact", "scale"]
        made = pd.MultiIndex.from_frame(table[source])
        kept = kept[~pd.MultiIndex.from_frame(kept[source]).isin(made)]
        table = pd.concat([kept, table], ignore_index=True)
    choice = ["", *(choice for paper in published.PAPERS for choice in choices(paper))]
    orders = {"claim": published.claims()["claim"], "choice": choice}
    return building.in_order(table, orders, "artefact")


def classify(rows: pd.DataFrame, scale: str) -> tuple[str, list[str]]:
    """Return the class of a claim and the choices on which its verdict hangs.

    `depends`: it holds under some readings and fails under others. Its verdict hangs on the choices
    with a reading that decides the opposite of the claim as drawn, or decides where that is
    undecided. Else it is `untested` where it
    is undecided, or was not run, as drawn; `reproduced` where it holds and `contradicted` where it
    fails under every reading that decides.
    """
    own, decided = drawn(rows, scale), rows[rows["verdict"].isin([HOLDS, FAILS])]
    if decided["verdict"].nunique() > 1:
        turning = decided.loc[decided["verdict"] != own, "choice"].replace("", SCALE)
        return DEPENDS, list(turning.unique())
    if own not in (HOLDS, FAILS):
        return UNTESTED, []
    return (REPRODUCED if own == HOLDS else CONTRADICTED), []


def drawn(rows: pd.DataFrame, scale: str) -> str:
    """Return the verdict on a claim as drawn at a scale, `not-run` where there is none."""
    own = rows.loc[(rows["choice"] == "") & (rows["scale"] == scale), "verdict"]
    return own.iloc[0] if len(own) else NOT_RUN


def scale_of(files: Iterable[str | Path]) -> str:
    """Return the scale of score files, several joined by `+`.

    That is the folder below `results` of a score CSV, and stands in the `.json` beside the packed
    table of all scores.
    """
    found = set()
    for path in map(Path, files):
        if path.suffix == ".gz":
            known = read_object(path.with_suffix("").with_suffix(".json")) or {}
            found.add(known.get("scale", UNKNOWN_SCALE))
            continue
        above = [each for each, below in pairwise(path.parts) if below == "scores"]
        found.add(above[-1] if above else UNKNOWN_SCALE)
    return "+".join(sorted(found)) or UNKNOWN_SCALE
