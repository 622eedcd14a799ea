"""Every published number and claim compared with ours, from tracked files alone.

`figures/scorecard.csv` has one row per published number (kind `number`, or `copy` where a paper
repeats a cell of another) and one per claim (kind `claim`: its id is in `metric`). `verdict` is
that of `kcde.evidence.verdicts` or of the claim as drawn; `class` and `choices`, of claims, are
those of `kcde.evidence.readings.classify`. Pages, HTML scorecard and report are made of `context`.
"""

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import readings
from kcde.evidence.cells import obstacle_in
from kcde.evidence.checks import FAILS, HOLDS, NOT_RUN, UNDECIDED
from kcde.evidence.verdicts import BETTER, COMPATIBLE, DIFFERENT, RULES, UNINFORMATIVE, WORSE
from kcde.files import staged
from kcde.names import AS_PUBLISHED
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS

TABLE = "scorecard.csv"

_NUMBERS = ("published", "ours", "stderr", "median", "q25", "q75", "n", "failed")

COLUMNS = [
    *("kind", "paper", "artefact", "dataset", "method", "metric"),
    *_NUMBERS,
    *("verdict", "class", "choices", "parts", "reason"),
]

CLASSES = (readings.REPRODUCED, readings.DEPENDS, readings.CONTRADICTED, readings.UNTESTED)
"""Of claims."""

INFORMATIVE = (COMPATIBLE, BETTER, WORSE, DIFFERENT)

NUMBER_CLASSES = (*INFORMATIVE, UNINFORMATIVE)


def collect(
    judged: Iterable[str | Path], into: str | Path, tracked: str | Path | None = None
) -> Path:
    """Write `readings.csv`: what artefacts decided."""
    table = readings.collect(judged, tracked)
    with staged(into) as stage:
        table.to_csv(stage / readings.NAME, index=False)
    return Path(into) / readings.NAME


def build(into: str | Path, scale: str) -> pd.DataFrame:
    """Return the scorecard of a folder of outputs, which has what `collect` writes.

    It has `COLUMNS`: published numbers in their order, then claims.
    """
    into = Path(into)
    if not into.is_dir():
        raise FileNotFoundError(f"there are no outputs at {into}: run `snakemake` first")
    values, decided = published.values(), readings.read(into)
    values["kind"] = _kinds(values)
    tables = {key: _table(key, into) for key in set(values["paper"] + "/" + values["artefact"])}
    rows = [
        _number(row, tables[f"{row['paper']}/{row['artefact']}"]) for _, row in values.iterrows()
    ]
    for row in published.claims().itertuples():
        own = decided[decided["claim"] == row.claim]
        kind, choices = readings.classify(own, scale)
        said = own[(own["choice"] == "") & (own["scale"] == scale)][["parts", "reason"]]
        entry = {"kind": "claim", "paper": row.paper, "artefact": row.artefact, "metric": row.claim}
        entry |= {"class": kind, "choices": ", ".join(choices)}
        entry |= {"verdict": readings.drawn(own, scale), **dict(*said.to_dict("records"))}
        rows.append(entry)
    return _without_gaps(pd.DataFrame(rows, columns=COLUMNS))


def write(frame: pd.DataFrame, into: str | Path, scale: str) -> list[Path]:
    """Write `scorecard.csv`, `.md` and `.html` and the page of each paper; return the files."""
    from kcde.pages import scorecard_page

    names = [TABLE]
    with staged(into) as stage:
        whole = frame.astype({"n": "Int64", "failed": "Int64"})
        whole.to_csv(stage / TABLE, index=False, float_format="%.6g")
        for name, text in scorecard_page.pages(context(frame, readings.read(into), scale)).items():
            (stage / name).parent.mkdir(exist_ok=True)
            (stage / name).write_text(text, encoding="utf-8")
            names.append(name)
    return [Path(into) / name for name in names]


def read(into: str | Path) -> pd.DataFrame:
    """Return the tracked scorecard in a folder of outputs, as `build` returns it to six digits."""
    path = Path(into) / TABLE
    if not path.exists():
        raise FileNotFoundError(
            f"there is no scorecard at {path}: make it with `kcde scorecard --into {into}`"
        )
    return _without_gaps(pd.read_csv(path))


def _without_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    words = [name for name in COLUMNS if name not in _NUMBERS]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in words})


def context(frame: pd.DataFrame, decided: pd.DataFrame, scale: str) -> dict:
    """Return what all pages say: the papers with counts and findings, claims, numbers."""
    rows = frame[frame["kind"] == "claim"].to_dict("records")
    claims = [_claim(row, decided, scale) for row in rows]
    numbers = frame[frame["kind"] == "number"].to_dict("records")
    papers = []
    for paper in published.PAPERS:
        own = [claim for claim in claims if claim["paper"] == paper]
        counts = Counter(row["verdict"] for row in numbers if row["paper"] == paper)
        counted = Counter(claim["class"] for claim in own)
        papers.append(
            {
                "name": paper,
                **published.papers()[paper],
                **published.found(paper),
                "claims": own,
                "classes": {name: counted[name] for name in CLASSES},
                "numbers": {name: counts[name] for name in NUMBER_CLASSES},
                "choices": _choices(own, paper),
            }
        )
    return {"papers": papers, "claims": claims, "numbers": numbers, "scale": scale}


def _claim(row: dict, decided: pd.DataFrame, scale: str) -> dict:
    """Return all that is known of a claim; `cells` has its verdict under each choice."""
    claim = row["metric"]
    stated = published.claims().set_index("claim").loc[claim].to_dict()
    own = decided[decided["claim"] == claim]
    elsewhere = (own["choice"] == "") & (own["scale"] != scale)
    own = own.assign(
        choice=own["choice"].mask(elsewhere, readings.SCALE),
        reading=own["reading"].mask(elsewhere, own["scale"]),
    )
    others = own[own["choice"] != ""]
    cells = {
        choice: {
            "verdict": _together(each["verdict"]),
            "readings": each[["reading", "verdict", "reason", "scale"]].to_dict("records"),
        }
        for choice, each in others.groupby("choice", sort=False)
    }
    drawn = own[own["choice"] == ""]
    key = drawn["artefact"].iloc[0] if len(drawn) else f"{row['paper']}/{row['artefact']}"
    lists = {
        name: list(filter(None, row[name].split(mark)))
        for name, mark in (("choices", ", "), ("parts", "; "))
    }
    return {**row, **stated, "claim": claim, "key": key, **lists, "cells": cells}


def _together(verdicts: pd.Series) -> str:
    """Return the verdict under all readings of a choice: `mixed` where some hold and some fail."""
    known = set(verdicts)
    if {HOLDS, FAILS} <= known:
        return "mixed"
    return next((word for word in (HOLDS, FAILS, UNDECIDED) if word in known), NOT_RUN)


def _choices(claims: list[dict], paper: str) -> list[dict]:
    """Return the choices under which claims of a paper were decided, with their words."""
    known = {}
    for each in (paper, *published.PAPERS):
        known |= readings.choices(each)
    blank = dict.fromkeys(("choice", "why", "drawn", "question", "settles"), "")
    known[readings.SCALE] = {"choice": "sizes of the scale laptop, or those of the paper"}
    used = {name for claim in claims for name in claim["cells"]}
    return [{"id": name, **blank, **stated} for name, stated in known.items() if name in used]


def _kinds(values: pd.DataFrame) -> np.ndarray:
    """Return `copy` of rows that repeat number and spread of a cell of an earlier paper."""
    cell = ["dataset", "method", "metric", "value", "spread"]
    first_paper = values.groupby(cell, dropna=False)["paper"].transform("first")
    copied = values["value"].notna() & (first_paper != values["paper"])
    return np.where(copied, "copy", "number")


def _table(key: str, into: Path) -> pd.DataFrame | None:
    """Return the CSV of a table in the folder of the outputs, None where there is none."""
    path, artefact = into / f"{key}.csv", ARTEFACTS[key]
    return artefact.read(path) if path.exists() and artefact.kind == "table" else None


def _number(row: pd.Series, table: pd.DataFrame | None) -> dict:
    """Return the scorecard row of a published number."""
    cell = ["dataset", "method", "metric"]
    entry = row[["kind", "paper", "artefact", *cell]].to_dict()
    entry |= {"published": row["value"], "verdict": NOT_RUN}
    if table is None:
        return entry
    same = (table[cell] == row[cell].to_list()).all(axis=1) & (table["variant"] == AS_PUBLISHED)
    if not same.any():
        return entry
    ours = table[same].iloc[0]
    entry |= {"ours": ours["mean"], "n": int(ours["n"]), "failed": int(ours["failed"])}
    entry |= ours[["stderr", "median", "q25", "q75"]].to_dict()
    if RULES[row["metric"]].kind == "ratio" and ours["mean"] > 0:
        # Measured seconds do not repeat; their order of magnitude does.
        entry |= {"ours": 10.0 ** round(math.log10(ours["mean"]))}
        entry |= dict.fromkeys(("stderr", "median", "q25", "q75"), math.nan)
    return {**entry, "verdict": ours["verdict"], "reason": _why(row, ours, table)}


def _why(row: pd.Series, ours: pd.Series, table: pd.DataFrame) -> str:
    """Return why a number differs, as far as known."""
    if ours["verdict"] == UNDECIDED:
        return f"chains have not converged: {obstacle_in(table, ours)}"
    if ours["verdict"] in (BETTER, WORSE, DIFFERENT):
        key = (row["paper"], row["artefact"], row["dataset"], row["method"])
        return cause_of(*key, ours["verdict"])
    return row["note"] if math.isnan(row["value"]) else ""


UNKNOWN = "could not determine"
"""Stands where no cause is known."""


def cause_of(paper: str, artefact: str, dataset: str, method: str, verdict: str) -> str:
    """Return the most specific known cause of a verdict, with its evidence, of a published cell.

    A cause is used only where the actual verdict is the one for which it was written (or `*`), so
    that a stale cause is never shown.
    """
    cell = {"paper": paper, "artefact": artefact, "dataset": dataset, "method": method}
    table = published.causes()
    for name, value in (cell | {"verdict": verdict}).items():
        table = table[table[name].isin(["*", value])]
    if not len(table):
        return UNKNOWN
    found = table.loc[(table[list(cell)] != "*").sum(axis=1).idxmax()]
    return f"{found['cause']} ({found['evidence']})" if found["evidence"] else found["cause"]
