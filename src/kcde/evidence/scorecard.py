"""Every published number and claim compared with ours, from tracked files alone.

`figures/scorecard.csv` has one row per published number (kind `number`, or `copy` where a paper
repeats a cell of another) and one per claim (kind `claim`: its id is in `metric`). `verdict` is
that of `kcde.evidence.verdicts` or of the claim as drawn; `class` and `choices`, of claims, are
those of `kcde.evidence.readings.classify`. Pages, HTML scorecard and report are made of `context`.
"""

import io
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import pages
from kcde.evidence import readings
from kcde.evidence.checks import FAILS, HOLDS, NOT_RUN, UNDECIDED, obstacle_in
from kcde.evidence.verdicts import BETTER, COMPATIBLE, DIFFERENT, RULES, UNINFORMATIVE, WORSE
from kcde.files import atomic, refused, staged
from kcde.names import AS_PUBLISHED, nearest
from kcde.pages import display, number, pipe_table, render, significant, uri
from kcde.papers import published
from kcde.papers.artefact import ACROSS
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


def collect(judged: Iterable[str | Path], into: str | Path, tracked: str | Path | None) -> Path:
    """Write `readings.csv`: what artefacts decided."""
    table = readings.collect(judged, tracked)
    with staged(into) as stage:
        table.to_csv(stage / readings.NAME, index=False)
    return Path(into) / readings.NAME


def build(into: str | Path, scale: str) -> pd.DataFrame:
    """Return the scorecard of a folder of outputs, which has what `collect` writes.

    It has `COLUMNS`: published numbers in their order, then claims.
    """
    into, values, decided = Path(into), published.values(), readings.read(into)
    values["kind"] = _kinds(values)
    keys = values["paper"] + "/" + values["artefact"]
    paths = {key: into / f"{key}.csv" for key in keys.unique()}
    tables = {key: ARTEFACTS[key].read(path) for key, path in paths.items() if path.exists()}
    if not tables:
        raise FileNotFoundError(f"there are no outputs at {into}: run `snakemake` first")
    rows = [_number(values.loc[k], tables.get(key)) for k, key in keys.items()]
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
    texts = pages_of(context(frame, readings.read(into), scale))
    with staged(into) as stage:
        whole = frame.astype({"n": "Int64", "failed": "Int64"})
        whole.to_csv(stage / TABLE, index=False, float_format="%.6g")
        for name, text in texts.items():
            (stage / name).parent.mkdir(exist_ok=True)
            (stage / name).write_text(text, encoding="utf-8")
    return [Path(into) / name for name in (TABLE, *texts)]


def read(into: str | Path) -> pd.DataFrame:
    """Return the tracked scorecard in a folder of outputs, as `build` returns it to six digits."""
    path = Path(into) / TABLE
    remedy = f"make it with `kcde scorecard --into {into}`"
    if not path.exists():
        raise FileNotFoundError(f"there is no scorecard at {path}: {remedy}")
    with refused(path, "is no scorecard", remedy):
        return _without_gaps(pd.read_csv(path)[COLUMNS].astype(dict.fromkeys(_NUMBERS, float)))


def _without_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    words = [name for name in COLUMNS if name not in _NUMBERS]
    return frame.assign(**{name: frame[name].astype(object).fillna("") for name in words})


def context(frame: pd.DataFrame, decided: pd.DataFrame, scale: str) -> dict:
    """Return what all pages say: the papers with counts and findings, claims, numbers."""
    rows = frame[frame["kind"] == "claim"].to_dict("records")
    claims = [_claim(row, decided, scale) for row in rows]
    numbers = frame[frame["kind"] == "number"].to_dict("records")
    papers = [_paper(paper, claims, numbers) for paper in published.PAPERS]
    return {"papers": papers, "claims": claims, "numbers": numbers, "scale": scale}


def _paper(paper: str, claims: list[dict], numbers: list[dict]) -> dict:
    """Return what is said of a paper, and counts of its claims and numbers by class."""
    own = [claim for claim in claims if claim["paper"] == paper]
    counts = Counter(row["verdict"] for row in numbers if row["paper"] == paper)
    counted = Counter(claim["class"] for claim in own)
    return {
        "name": paper,
        **published.papers()[paper],
        **published.found(paper),
        "claims": own,
        "classes": {name: counted[name] for name in CLASSES},
        "numbers": {name: counts[name] for name in NUMBER_CLASSES},
        "choices": _choices(own, paper),
    }


def _claim(row: dict, decided: pd.DataFrame, scale: str) -> dict:
    """Return all that is known of a claim; `cells` has its verdict under each choice."""
    claim = row["metric"]
    stated = published.claims().set_index("claim").loc[claim].to_dict()
    own = decided[decided["claim"] == claim]
    elsewhere = (own["choice"] == "") & (own["scale"] != scale)
    own.loc[elsewhere, "choice"] = readings.SCALE
    own.loc[elsewhere, "reading"] = own["scale"]
    cells = {
        choice: {
            "verdict": _together(each["verdict"]),
            "readings": each[["reading", "verdict", "reason", "scale"]].to_dict("records"),
        }
        for choice, each in own[own["choice"] != ""].groupby("choice", sort=False)
    }
    drawn = own[own["choice"] == ""]
    key = drawn["artefact"].iloc[0] if len(drawn) else f"{row['paper']}/{row['artefact']}"
    marks = {"choices": ", ", "parts": "; "}
    lists = {name: list(filter(None, row[name].split(mark))) for name, mark in marks.items()}
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
    return np.where(values["value"].notna() & (first_paper != values["paper"]), "copy", "number")


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


_HERE = Path(pages.__file__).parent

_SIGNS = {
    "holds": ("●", "holds"),
    "fails": ("✕", "fails"),
    "mixed": ("◐", "holds under some of its readings"),
    "undecided": ("?", "undecided"),
    "not-run": ("–", "not run"),
    "reproduced": ("●", "holds as drawn and under every reading tried"),
    "depends": ("◐", "holds under some readings and fails under others"),
    "contradicted": ("✕", "fails under every reading tried"),
    "untested": ("?", "undecided, or not run, as drawn"),
    "compatible": ("●", "inside our 95% prediction interval"),
    "better": ("▲", "ours is better than the interval allows"),
    "worse": ("▼", "ours is worse than the interval allows"),
    "different": ("≠", "on the other side of 5%, or of the order of two methods"),
    "uninformative": ("?", "our interval is too wide to say anything"),
    "published-na": ("–", "printed as N/A"),
}
"""Shape and meaning of verdicts and classes; colours stand in `scorecard.css`."""

_WORDS = {"signs": _SIGNS, "classes": CLASSES, "number_classes": NUMBER_CLASSES}
_WORDS |= {"informative": INFORMATIVE}

_METRICS = {
    "negative_log_likelihood": "negative log-likelihood, nats",
    "mmd": "MMD² × 1000",
    "smae": "SMAE",
    "p_value": "p-value",
    "sampling_time": "sampling time, s",
}
_WIDTH = 320  # of a dumbbell, in its own units
_COLOURS = 128  # of a picture in the report


def pages_of(context: dict) -> dict[str, str]:
    """Return the text of `scorecard.md`, `scorecard.html` and each paper's page, by name."""
    told = _WORDS | context | {"table": pipe_table}
    made = {"scorecard.md": _text("scorecard", told), "scorecard.html": html(context)}
    for paper in context["papers"]:
        made[f"{paper['name']}/README.md"] = _text("paper", {**told, "paper": paper})
    return made


def _text(name: str, told: dict) -> str:
    blocks = dict.fromkeys(("trim_blocks", "lstrip_blocks", "keep_trailing_newline"), True)
    return render(_HERE / f"{name}.md.j2", told, autoescape=False, **blocks)


def html(context: dict, figures: Path | None = None, paper: str | None = None) -> str:
    """Return the scorecard as one offline page; with a folder of outputs, with its pictures.

    With a paper it shows that alone; by default all, `across` last.
    """
    shown = [each for each in context["papers"] if paper in (None, each["name"])]
    kept = [each["name"] for each in shown]
    numbers = [each for each in context["numbers"] if each["paper"] in kept]
    drawn = {}
    if figures is not None:
        drawn = {name: [] for name in ([paper] if paper else [*kept, ACROSS])}
        for key, each in ARTEFACTS.items():
            if each.paper in drawn and (figures / f"{key}.png").exists():
                drawn[each.paper].append(_artefact(key, figures, context, numbers))
    told = {"groups": _dumbbells(numbers), "artefacts": drawn, "scale": context["scale"]}
    return render(_HERE / "scorecard.html.j2", told | _WORDS | {"papers": shown})


def _spoken(row: dict) -> dict:
    """Return a number's row in words."""
    shown = number if row["metric"] == "negative_log_likelihood" else significant
    published = "N/A" if math.isnan(row["published"]) else shown(row["published"])
    ours = shown(row["ours"])
    if row["failed"] > 0:
        ours = f"median {shown(row['median'])} ({shown(row['q25'])} to {shown(row['q75'])}), "
        ours += f"{row['failed']:.0f} of {row['n']:.0f} failed"
    elif not math.isnan(row["stderr"]):
        ours += f" ± {shown(row['stderr'])}"
    return {**row, "method": display(row["method"]), "published": published, "ours": ours}


def _dumbbells(numbers: list[dict]) -> list[dict]:
    """Return the informative numbers by table and metric, each with its places on their axis."""
    shown: dict[tuple[str, str], list[dict]] = {}
    for row in numbers:
        if row["verdict"] in INFORMATIVE and not math.isnan(row["ours"]):
            key = f"{row['paper']}/{row['artefact']}", row["metric"]
            shown.setdefault(key, []).append(row)
    groups = []
    for (key, metric), rows in shown.items():
        ends = [row[name] for row in rows for name in ("published", "ours")]
        place, ticks = _axis(ends, logarithmic=metric != "negative_log_likelihood")
        spoken = [
            _spoken(row) | {"theirs_at": place(row["published"]), "ours_at": place(row["ours"])}
            for row in rows
        ]
        ticks = [(place(tick), f"{tick:g}") for tick in ticks]
        groups.append({"key": key, "words": _METRICS[metric], "ticks": ticks, "rows": spoken})
    return groups


def _axis(values: list[float], *, logarithmic: bool):
    """Return a function from a value to its place in 0 … `_WIDTH`, and ticks."""
    scaled = (lambda x: math.log10(max(x, 1e-4))) if logarithmic else float
    low, high = math.floor(scaled(min(values))), math.ceil(scaled(max(values)))
    ticks = range(low, high + 1, 1 if logarithmic else max(1, round((high - low) / 6)))

    def place(value: float) -> float:
        share = (scaled(value) - low) / max(high - low, 1)
        return round(8 + (_WIDTH - 16) * min(max(share, 0.0), 1.0), 1)

    return place, [10.0**k if logarithmic else k for k in ticks]


def _artefact(key: str, figures: Path, context: dict, numbers: list[dict]) -> dict:
    """Return a picture with what its paper says of it."""
    return {
        "key": key,
        "text": ARTEFACTS[key].text,
        **_picture(figures / f"{key}.png"),
        "claims": [claim for claim in context["claims"] if claim["key"] == key],
        "numbers": [_spoken(row) for row in numbers if f"{row['paper']}/{row['artefact']}" == key],
    }


def _picture(path: Path) -> dict:
    """Return a PNG in few colours as a data URI, with its size on a screen in pixels."""
    from PIL import Image

    with Image.open(path) as image:
        buffer = io.BytesIO()
        image.convert("RGB").quantize(_COLOURS).save(buffer, "PNG", optimize=True)
        width, height = (round(0.62 * side) for side in image.size)
    return {"uri": uri(buffer.getvalue(), "image/png"), "width": width, "height": height}


def report(into: Path, out: Path, scale: str, paper: str | None = None) -> Path:
    """Write the report: the scorecard with every picture beside what its paper says."""
    known = [*published.PAPERS, ACROSS]
    if paper is not None and paper not in known:
        hint = f"{nearest(paper, known)}; known: {', '.join(known)}"
        raise ValueError(f"there is no paper {paper!r}{hint}")
    page = html(context(read(into), readings.read(into), scale), Path(into), paper)
    with atomic(out) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(out)
