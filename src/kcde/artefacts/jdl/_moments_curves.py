"""jdl figures 1 to 6: conditional second moments of Gaussian pairs against n."""

from pathlib import Path

import pandas as pd

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl._embedding_curves import (
    MEAN,
    MOST,
    SCHEDULED,
    UNCONSTRAINED,
    by_tolerance,
    failures,
    frame,
    panels,
    placed_by,
    repetitions,
    rows,
    total,
)
from kcde.artefacts.jdl._embedding_figure import PlotSpec, drawer
from kcde.artefacts.plots import style
from kcde.artefacts.tables.markdown import magnitude
from kcde.experiments.moments import LOSS, NORMALISATION, VIOLATIONS

UNREDUCED = "JPDL-unreduced"
PREPARATION = "factors"
"""Series of figure 6: the pivoted factors, or the polynomials of JPDL, of x and of y."""

SOLVED, PREPARED = "seconds_solved", "seconds_prepared"
PARTS = {
    SOLVED: ("seconds_summarise", "seconds_solve", "seconds_evaluate"),
    PREPARED: ("seconds_factorise",),
}
"""What figure 6 times, the solution with its cross moments, and the factors that come before it, to
the metrics that add up to it."""

NAMES = {UNREDUCED: "unreduced"}

_LOSS_LABEL = "second-moment loss (40)"
_NORMALISATION_LABEL = "largest $|E[1|x]-1|$"
_NORMALISED = 1e-4

LOSSES = drawer(PlotSpec(_LOSS_LABEL))
NORMALISATIONS = drawer(PlotSpec(_NORMALISATION_LABEL, stat=MOST, linear_below=_NORMALISED))
NORMALISATIONS_BY_TOLERANCE = drawer(
    PlotSpec(_NORMALISATION_LABEL, stat=MOST, band=False, width=style.COLUMN)
)
SHARES = drawer(PlotSpec("share not p.s.d. (%)", linear_below=0.01))
SECONDS = drawer(
    PlotSpec("seconds", dashes={PREPARATION: ":"}, names={PREPARATION: None}, methods=NAMES)
)


def losses(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 1: the loss (40) with the tolerances of the paper.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `moments`.
    files
        Its score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`; see `embedding_curves.panels` and `rows`.
    """
    return frame(rows(placed_by(panels, scores, UNREDUCED), LOSS))


def losses_by_tolerance(
    artefact: Artefact, scores: pd.DataFrame, files: list[Path]
) -> pd.DataFrame:
    """Return the curves of figure 2: the loss of JDL and of CME at d = 1, a line a tolerance.

    Parameters are those of `losses`.
    """
    return frame(rows(_in_one_dimension(scores, "JPDL"), LOSS))


def normalisation(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 3: the largest |E[1|x] - 1|.

    Stat `max` is over test points and repetitions, as published, `mean` the mean over repetitions
    of each one's largest; the quantiles of both are those of each one's largest. Parameters are
    those of `losses`.
    """
    return frame(rows(placed_by(panels, scores, UNREDUCED), NORMALISATION, (MOST, MEAN)))


def normalisation_by_tolerance(
    artefact: Artefact, scores: pd.DataFrame, files: list[Path]
) -> pd.DataFrame:
    """Return the curves of figure 4: that of figure 3 for CME at d = 1, a line a tolerance.

    Parameters are those of `losses`.
    """
    placed = _in_one_dimension(scores, "JPDL", "JDL")
    return frame(rows(placed, NORMALISATION, (MOST, MEAN)))


def violations(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 5: the share of moments not positive semi-definite, in percent.

    Parameters are those of `losses`.
    """
    return frame(rows(placed_by(panels, scores, UNREDUCED), VIOLATIONS, scale=100.0))


def seconds(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 6: seconds of the solution and of 5000 expectations.

    The solution is cross moments and coefficients. Beside them, as the series `PREPARATION`, stand
    those of the factors, which figure 6 leaves out, and the semidefinite program of JPDL as the
    paper states it. Parameters are those of `losses`.
    """
    summed = timed(scores)
    solved = placed_by(panels, summed)
    solved = solved[solved["series"] == SCHEDULED]
    ours = solved[solved["method"] != UNREDUCED]
    # Without constraints there is no program.
    program = solved[(solved["method"] == UNREDUCED) & solved["constrained"]]
    before = rows(ours.assign(series=PREPARATION), PREPARED)
    prepared = [row for row in before if row["kind"] == "curve"]
    return frame([*rows(ours, SOLVED), *rows(program, SOLVED), *prepared])


def timed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores with the sums of `PARTS`."""
    for name, metrics in PARTS.items():
        scores = total(scores, metrics, name)
    return scores


def remarks(drawn: pd.DataFrame) -> list[str]:
    """Say how many repetitions there are, up to which n, and which fits failed.

    Parameters
    ----------
    drawn
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    return [*repetitions(drawn), *_reach(drawn), *failures(drawn)]


def _in_one_dimension(scores: pd.DataFrame, *dropped: str) -> pd.DataFrame:
    return placed_by(by_tolerance, scores[scores["dim"] == 1], UNREDUCED, *dropped)


def _reach(drawn: pd.DataFrame) -> list[str]:
    """Say the largest n of each d, where the panels are dimensions."""
    free = drawn[drawn["panel"].str.endswith(f" {UNCONSTRAINED}") & (drawn["kind"] == "curve")]
    most = free.groupby("panel", sort=False)["x"].max()
    each = ", ".join(f"{magnitude(size)} ({panel.split()[0]})" for panel, size in most.items())
    return [f"Largest n: {each}."] if each else []
