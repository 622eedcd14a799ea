"""How likely portfolios lose much on the next day: what jdl figures 7 to 9 share."""

from collections.abc import Sequence

import pandas as pd

from kcde.evidence.deciding import Missing
from kcde.evidence.verdicts import too_many_failed
from kcde.experiments.portfolio import TOLERANCE
from kcde.papers.jdl import _moments
from kcde.papers.jdl._curves import (
    by_repetition,
    failures,
    only_curves,
    panels,
    repetitions,
    rows,
    tidy,
)

DAYS = (
    "The data are daily returns of 25 portfolios over the risk-free rate, 1927 to 2022, from "
    "Kenneth French's data; days with a missing return are left out. x is the return of the first "
    "d portfolios on a day, and the event is that their sum on the next day is at most its 1% "
    "quantile over the n days. A repetition is a random subsample of n days, of which four fifths "
    "train and one fifth validates, with 5000 of the other days to test; it is the same for every "
    "method and d."
)
CHOICE = (
    "Bandwidths of x and of the sum are ½, 1, 2 or 4 times the median distance between points over "
    "√2; λ is one of 1e-8, 1e-7, …, 10 (the paper states no grid). All are chosen by the loss of "
    "equation (41) on the validation days, separately without and with constraints. The factors "
    "have the relative tolerance 1e-3 (the paper states none here)."
)
METHODS = (
    f"{_moments.JDL_CONSTRAINTS}. {_moments.CME_CONSTRAINTS}. Kernel logistic regression (KLR) "
    "always gives probabilities and stands in both rows."
)
BAND = (
    "Lines are means over the subsamples; bands reach from their 5% to their 95% quantile where at "
    "least 20 have a value."
)
COMMON = f"{DAYS}\n\n{CHOICE} {METHODS} {BAND}"
"""Paragraphs of the details of all three figures."""

DIMENSIONS, SIZES = (1, 5, 10, 25), (1000, 5000, 10000, 20000)
"""Published d and n, all of which a decision needs."""

JDL, CME, KLR = ("JDL", False), ("CME", False), ("KLR", False)
JDL_HELD, CME_HELD = ("JDL", True), ("CME", True)
"""Method, and whether with constraints."""

ALONG = "days $n$"
"""Label of the horizontal axes."""

TRACE = "trace"
"""Stat: percent of the trace of the kernel matrix of x that its factor leaves."""

Fit = tuple[str, bool]
Size = tuple[int, int]
"""Dimension d and number n of days."""


def placed(scores: pd.DataFrame) -> pd.DataFrame:
    """Return tidied scores with a panel for each d, without and with constraints.

    KLR needs no constraints and stands in both.
    """
    tidied = tidy(scores)
    twice = tidied[tidied["method"].eq(KLR[0])].assign(constrained=True)
    return panels(pd.concat([tidied, twice], ignore_index=True))


def traces(placed: pd.DataFrame) -> list[dict]:
    """Return what the factors of x leave of the trace: more than the tolerance where capped.

    Parameters
    ----------
    placed
        As `placed` returns it.

    Returns
    -------
    list of dict
        Rows of kind `cost` and stat `TRACE`, in percent.
    """
    found = only_curves(rows(placed, "trace_error_x", scale=100.0))
    return [row | {"kind": "cost", "stat": TRACE} for row in found]


def remarks(drawn: pd.DataFrame) -> list[str]:
    """State the number of repetitions, what capped factors leave, and which fits failed."""
    left = drawn[(drawn["stat"] == TRACE) & (drawn["y"] > 100.0 * TOLERANCE)]
    most = left.groupby(left["panel"].str.partition(" ")[0], sort=False)["y"].max()
    each = ", ".join(f"{share:.2g}% ({d.replace('=', ' = ')})" for d, share in most.items())
    capped = [f"Capped factors of x leave on average up to {each} of the trace."] if each else []
    return [*repetitions(drawn), *capped, *failures(drawn)]


def compared(
    tidied: pd.DataFrame,
    metric: str,
    fits: Sequence[Fit],
    sizes: Sequence[int] = SIZES,
    *,
    timed: bool = False,
) -> dict[Size, pd.DataFrame]:
    """Return a metric of some fits (columns) on the subsamples that all completed (rows), by size.

    Parameters
    ----------
    tidied
        As `_curves.tidy` returns them.
    metric, fits, sizes
        To compare; at each of `sizes` and of `DIMENSIONS`.
    timed
        Whether only some of the subsamples have the metric: those without it do not count.

    Raises
    ------
    Missing
        If a size has fewer than two, or more than 5% failed.
    """
    found, short = {}, []
    for d in DIMENSIONS:
        curves = [by_repetition(tidied, metric, method, d, held) for method, held in fits]
        for n in sizes:
            # A size without fits is a column without numbers.
            each = [curve.get(n, pd.Series(dtype=float)) for curve in curves]
            tried = pd.concat(dict(zip(fits, each, strict=True)), axis=1)
            tried = tried.dropna(how="all") if timed else tried
            found[d, n] = done = tried.dropna()
            if len(done) < 2 or too_many_failed(len(tried) - len(done), len(tried)):
                short.append(f"{named((d, n))}: {len(done)} of {len(tried)}")
    if short:
        names = " and ".join("constrained " * held + method for method, held in fits)
        others = f" (and at {len(short) - 1} sizes more)" if short[1:] else ""
        raise Missing(f"too few subsamples with a number of {names} at {short[0]}{others}")
    return found


def lost(scores: pd.DataFrame) -> str:
    """State how many fits failed, "" for none."""
    failed = scores.loc[scores["status"] == "failed", ["dataset", "method", "setting", "split"]]
    count = len(failed.drop_duplicates())
    return f"; left out the subsamples of fits that failed: {count}" if count else ""


def by_dimension(ratios: dict[Size, float]) -> str:
    """Return ratios as text, a part for each d."""
    each = {}
    for (d, _), ratio in ratios.items():
        each.setdefault(d, []).append(f"{ratio:.2f}")
    return "; ".join(f"d = {d}: {', '.join(values)}" for d, values in each.items())


def named(size: Size) -> str:
    """Return a size as text."""
    return f"d = {size[0]}, n = {size[1]}"
