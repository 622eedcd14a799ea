"""jdl figures 7 to 9: how likely portfolios lose much on the next day, against n."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl._embedding_curves import failures, frame, panels, repetitions, rows, tidy
from kcde.artefacts.jdl._embedding_figure import PlotSpec, drawer
from kcde.artefacts.jdl._moments_curves import PREPARATION, PREPARED, SOLVED, timed
from kcde.experiments.jobs.portfolio import TOLERANCE
from kcde.experiments.portfolio import LOSS, NEGATIVE

TRACE = "trace"
"""Stat: percent of the trace of the kernel matrix of x that its factor leaves."""

_CLASSIFIER = "KLR"
LOSSES = drawer(PlotSpec("logistic loss (41), nats"))
SHARES = drawer(PlotSpec("negative probabilities (%)", linear_below=0.01))
SECONDS = drawer(PlotSpec("seconds", dashes={PREPARATION: ":"}, names={PREPARATION: None}))


def losses(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 7: the loss (41).

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `portfolio`.
    files
        Its score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`; see `embedding_curves.panels` and `rows`. Kernel logistic regression
        stands in the panels without constraints and in those with them: it needs none.
    """
    placed = _placed(scores)
    return frame([*rows(placed, LOSS), *_traces(placed)])


def negative(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 8: the share of negative probabilities, in percent.

    Parameters are those of `losses`.
    """
    placed = _placed(scores)
    return frame([*rows(placed, NEGATIVE, scale=100.0), *_traces(placed)])


def seconds(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 9: seconds of the solution and of expectations at the test days.

    The solution is cross moments and coefficients; kernel logistic regression has no cross moments.
    Beside them, as the series `PREPARATION`, stand those of the pivoted factors. Parameters are
    those of `losses`.
    """
    placed = _placed(timed(scores))
    before = _curves(placed.assign(series=PREPARATION), PREPARED)
    return frame([*rows(placed, SOLVED), *before, *_traces(placed)])


def remarks(drawn: pd.DataFrame) -> list[str]:
    """Say how many repetitions there are, what capped factors leave, and which fits failed.

    Parameters
    ----------
    drawn
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    left = drawn[(drawn["stat"] == TRACE) & (drawn["y"] > 100.0 * TOLERANCE)]
    most = left.groupby(left["panel"].str.partition(" ")[0], sort=False)["y"].max()
    each = ", ".join(f"{share:.2g}% ({d.replace('=', ' = ')})" for d, share in most.items())
    capped = [f"In the mean factors of x leave up to so much of the trace: {each}."] if each else []
    return [*repetitions(drawn), *capped, *failures(drawn)]


def _curves(placed: pd.DataFrame, metric: str, scale: float = 1.0) -> list[dict]:
    return [row for row in rows(placed, metric, scale=scale) if row["kind"] == "curve"]


def _traces(placed: pd.DataFrame) -> list[dict]:
    """Return what factors of x leave of the trace, more than the tolerance where capped."""
    found = _curves(placed, "trace_error_x", 100.0)
    return [row | {"kind": "cost", "stat": TRACE} for row in found]


def _placed(scores: pd.DataFrame) -> pd.DataFrame:
    tidied = tidy(scores)
    twice = tidied[tidied["method"].eq(_CLASSIFIER)].assign(constrained=True)
    return panels(pd.concat([tidied, twice], ignore_index=True))
