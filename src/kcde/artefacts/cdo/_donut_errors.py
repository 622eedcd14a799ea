"""cdo figure 4: errors on the Gaussian donut, as published and against the true conditional."""

from pathlib import Path

import pandas as pd

from kcde import published
from kcde.artefacts.core.cells import under, values, variants
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact
from kcde.artefacts.plots import box_statistics
from kcde.artefacts.tables.markdown import count_of, significant

JOINT, CONDITIONAL = "joint_error", "conditional_error"
NONPOSITIVE, TURNED = "nonpositive_share", "turned_over"

PLACES = {"x = 1": 1, "x = 0": 0}
"""Panel to the input at which densities are compared."""

ZERO, EXACT = "predicting zero", "exact conditional"
"""Series of the lines that no method is needed for."""

REFERENCES = {
    JOINT: {ZERO: "joint_error_of_zero", EXACT: "joint_error_of_exact"},
    CONDITIONAL: {ZERO: "conditional_error_of_zero"},
}
"""Error to the lines beside it, and the metric of each."""

READ_OFF, LINE = "read_off", "line"
"""Stats of what was read off the published figure, and of a line."""


def joint(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the error against the joint density, as published.

    Parameters
    ----------
    artefact
        Gives the order of the methods.
    scores
        Of the experiment `donut`.
    files
        Their score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. A panel for each x: boxes over the repetitions, lines (`series` says
        what, `y` is the mean over the repetitions), the read-offs of the published figure (`y_low`
        and `y_high` within the accuracy of reading), and the mean of `nonpositive_share` with that
        stat.
    """
    return _build(artefact, scores, JOINT)


def conditional(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the error against the true conditional density; as `joint`, no read-offs."""
    return _build(artefact, scores, CONDITIONAL)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say how many repetitions there are, where the estimates are not positive, and what failed.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    means = frame[frame["stat"] == box_statistics.MEAN]
    said = [f"Boxes are over {count_of(means['n'].astype(int), 'repetition')}."]
    lines = frame[frame["stat"] == LINE]
    for series, rows in lines.groupby("series", sort=False):
        each = (f"{significant(row.y)} at {row.panel}" for row in rows.itertuples())
        said.append(f"{series.capitalize()}: {', '.join(each)}.")
    shares = frame[(frame["stat"] == NONPOSITIVE) & (frame["y"] > 0)]
    parts = []
    for method, rows in shares.groupby("method", sort=False):
        each = (f"{100 * row.y:.2g}% at {row.panel}" for row in rows.itertuples())
        parts.append(f"{method} {', '.join(each)}")
    if parts:
        said.append(f"Share of points where the estimate is not positive: {'; '.join(parts)}.")
    for row in frame[(frame["stat"] == TURNED) & (frame["y"] > 0)].itertuples():
        said.append(
            f"The weights of {row.method} at {row.panel} have a negative sum in "
            f"{round(row.n * row.y)} of {row.n:.0f} repetitions: divided by it, as published, the "
            "estimate is turned over."
        )
    return [*said, *box_statistics.failures(frame, "repetition")]


def _build(artefact: Artefact, scores: pd.DataFrame, error: str) -> pd.DataFrame:
    donut, rows = scores[scores["experiment"] == "donut"], []
    known = variants(donut)
    methods = [name for name in artefact.methods if name in known]
    for panel, x in PLACES.items():
        here = under(donut, x=x)
        for method in methods:
            same = {"panel": panel, "method": method, "variant": known[method], "series": error}
            found = values(here, method, error, known[method])
            rows += box_statistics.rows(found.to_numpy(), same)
            for name in (NONPOSITIVE, TURNED):
                share = values(here, method, name, known[method]).dropna()
                if len(share):
                    stated = {"kind": "scatter", "y": share.mean(), "n": len(share)}
                    rows.append(same | {"series": name, "stat": name, **stated})
        rows += _lines(panel, here, error)
        rows += _read_off(artefact, panel, error)
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _lines(panel: str, here: pd.DataFrame, error: str) -> list[dict]:
    """Return the lines: they depend on the repetition alone, and stand in every method's scores."""
    rows = []
    for series, metric in REFERENCES[error].items():
        of_repetition = reference(here, metric)
        if len(of_repetition):
            stated = {"stat": LINE, "y": of_repetition.mean(), "n": len(of_repetition)}
            rows.append({"panel": panel, "kind": "curve", "series": series, **stated})
    return rows


def reference(here: pd.DataFrame, metric: str) -> pd.Series:
    """Return a metric that is the same for every method, by repetition.

    Parameters
    ----------
    here
        Scores at one x.
    metric
        One of those in `REFERENCES`.

    Returns
    -------
    pandas.Series
        Indexed by split.
    """
    found = here[(here["metric"] == metric) & (here["status"] == "ok")]
    return found.groupby("split")["value"].first()


def _read_off(artefact: Artefact, panel: str, error: str) -> list[dict]:
    seen = published.read_off(artefact.paper, artefact.name)
    seen = seen[(seen["panel"] == panel) & (seen["metric"] == error)]
    return [
        {
            "panel": panel,
            "kind": "scatter",
            "method": row.method,
            "variant": "published",
            "series": error,
            "y": row.value,
            "y_low": row.value - row.reading_error,
            "y_high": row.value + row.reading_error,
            "stat": READ_OFF,
        }
        for row in seen.itertuples()
    ]
