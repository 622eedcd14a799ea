"""Claims J10 to J12 of jdl, decided from portfolios: loss, negative probabilities and seconds."""

from collections.abc import Sequence

import pandas as pd

from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.jdl._embedding_curves import by_repetition, tidy, total
from kcde.artefacts.jdl._moments_curves import PARTS, SOLVED
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.judging.verdicts import SIGNIFICANCE, too_many_failed
from kcde.experiments.portfolio import LOSS, NEGATIVE
from kcde.metrics.paired import paired_wilcoxon

DIMENSIONS, SIZES = (1, 5, 10, 25), (1000, 5000, 10000, 20000)
"""Published d and n, all of which a decision must have."""

SMALL, HIGH = 1000, (10, 25)
"""Small n, and the high dimensions in which the paper excepts it."""

_ON_PAR = 0.05
_FEWER = (2.0, 5.0)
_COMPARABLE = (0.5, 2.0)

_JDL, _CME, _KLR = ("JDL", False), ("CME", False), ("KLR", False)
_JDL_HELD, _CME_HELD = ("JDL", True), ("CME", True)
"""Method, and whether with constraints."""

_OVERLAP = (
    "subsamples overlap (at n = 20000 each has 25000 of 25248 pairs of days), so that p-values are "
    "too small"
)

_Fit = tuple[str, bool]
_Size = tuple[int, int]


@decider
def jdl_like_klr(scores: pd.DataFrame) -> Decision:
    """Decide claim J10, which has three parts; it holds if all of them do.

    At n = 1000 and every d unconstrained JDL has a significantly lower loss than CME. The mean loss
    of constrained JDL is within 5% of that of KLR, on either side, at every d and n but n = 1000 in
    d = 10 and 25. Constraints raise the loss of CME significantly at every d and n. Tests are
    paired Wilcoxon tests at 5% over subsamples: one event to which a fit gives no probability costs
    27.6 nats, and would carry a mean. They take the subsamples as independent, but these overlap
    (at n = 20000 each has 25000 of 25248 pairs of days), so that p-values are too small.

    Parameters
    ----------
    scores
        Of the experiment `portfolio`.

    Returns
    -------
    Decision
        `undecided` where a published size is missing or too many of its fits failed.
    """
    tidied = tidy(scores)
    small, small_words = _lower(_compared(tidied, LOSS, (_JDL, _CME), [SMALL]))
    par, par_words = _on_par(_compared(tidied, LOSS, (_JDL_HELD, _KLR)))
    hurt, hurt_words = _raised(_compared(tidied, LOSS, (_CME_HELD, _CME)))
    reason = "; ".join([small_words, par_words, hurt_words, _OVERLAP]) + _lost(scores)
    return Decision("holds" if small and par and hurt else "fails", reason)


@decider
def fewer_negative(scores: pd.DataFrame) -> Decision:
    """Decide claim J11: with constraints JDL has no negative probability, CME 2 to 5 times fewer.

    Of CME the mean shares without and with constraints are divided at every d and n; where neither
    has any there is nothing to divide.

    Parameters
    ----------
    scores
        Of the experiment `portfolio`.

    Returns
    -------
    Decision
        `undecided` where a published size is missing, too many of its fits failed, or CME has no
        negative probability at any.
    """
    tidied = tidy(scores)
    largest, where = max(
        (values[_JDL_HELD].mean(), size)
        for size, values in _compared(tidied, NEGATIVE, (_JDL_HELD,)).items()
    )
    jdl = f"{100 * largest:.2g}%, at {_named(where)}" if largest else "0 at every d and n"
    fewer, words = _fewer(_compared(tidied, NEGATIVE, (_CME, _CME_HELD)))
    reason = f"largest mean share of constrained JDL: {jdl}; {words}" + _lost(scores)
    return Decision("holds" if fewer and not largest else "fails", reason)


@decider
def comparable_seconds(scores: pd.DataFrame) -> Decision:
    """Decide claim J12: constrained CME takes half to twice the time of JDL, KLR more than JDL.

    Medians over subsamples at every d and n of the seconds of cross moments, which KLR has none of,
    coefficients and expectations; the same is stated with factors, which KLR needs for x alone.

    Parameters
    ----------
    scores
        Of the experiment `portfolio`.

    Returns
    -------
    Decision
        `undecided` where a published size is missing or too many of its fits failed.
    """
    cme, klr = _time_ratios(scores, PARTS[SOLVED])
    whole_cme, whole_klr = _time_ratios(scores, sum(PARTS.values(), ()))
    alike = [_COMPARABLE[0] <= ratio <= _COMPARABLE[1] for ratio in cme.values()]
    slower = [ratio > 1.0 for ratio in klr.values()]
    reason = (
        "median seconds of solution (cross moments and coefficients) and probabilities: "
        f"constrained CME over constrained JDL in 0.5 to 2 at {sum(alike)} of {len(alike)} sizes "
        f"({_by_dimension(cme)}); KLR over constrained JDL above 1 at {sum(slower)} of "
        f"{len(slower)} ({_by_dimension(klr)}); with factors {_range(whole_cme)} and "
        f"{_range(whole_klr)}"
    )
    held = all(alike) and all(slower)
    return Decision("holds" if held else "fails", reason + _lost(scores))


def _lower(compared: dict[_Size, pd.DataFrame]) -> tuple[bool, str]:
    held, parts = [], []
    for (d, _), values in compared.items():
        test = paired_wilcoxon(values[_JDL].to_numpy(), values[_CME].to_numpy())
        held.append(test.sign < 0 and test.p_value < SIGNIFICANCE)
        means = f"{values[_JDL].mean():.3g} and {values[_CME].mean():.3g}"
        parts.append(f"{means} at d = {d} (p = {test.p_value:.2g})")
    count = f"significantly lower at {sum(held)} of {len(held)} d"
    return all(held), f"loss of JDL and CME at n = {SMALL}: {count}: {', '.join(parts)}"


def _on_par(compared: dict[_Size, pd.DataFrame]) -> tuple[bool, str]:
    ratios = {
        size: values[_JDL_HELD].mean() / values[_KLR].mean() for size, values in compared.items()
    }
    excepted = {size: ratios.pop(size) for size in [(d, SMALL) for d in HIGH]}
    held = [abs(ratio - 1.0) <= _ON_PAR for ratio in ratios.values()]
    return all(held), (
        f"mean loss of constrained JDL over that of KLR: within 5% at {sum(held)} of {len(held)} "
        f"sizes ({_by_dimension(ratios)}), and where the claim excepts it {_by_dimension(excepted)}"
    )


def _raised(compared: dict[_Size, pd.DataFrame]) -> tuple[bool, str]:
    held, ratios = [], {}
    for size, values in compared.items():
        test = paired_wilcoxon(values[_CME_HELD].to_numpy(), values[_CME].to_numpy())
        held.append(test.sign > 0 and test.p_value < SIGNIFICANCE)
        ratios[size] = values[_CME_HELD].mean() / values[_CME].mean()
    return all(held), (
        f"constraints raise the loss of CME significantly at {sum(held)} of {len(held)} sizes "
        f"(mean with them over without: {_by_dimension(ratios)})"
    )


def _fewer(compared: dict[_Size, pd.DataFrame]) -> tuple[bool, str]:
    means = {size: values.mean() for size, values in compared.items()}
    some = {size: mean for size, mean in means.items() if mean.max() > 0}
    if not some:
        raise Missing("no probability of CME is negative")
    ratios = {
        size: mean[_CME] / mean[_CME_HELD] if mean[_CME_HELD] > 0 else float("inf")
        for size, mean in some.items()
    }
    held = [_FEWER[0] <= ratio <= _FEWER[1] for ratio in ratios.values()]
    words = (
        "share of CME without constraints over that with them: in 2 to 5 at "
        f"{sum(held)} of {len(ratios)} sizes ({_by_dimension(ratios)})"
    )
    if none := len(means) - len(some):
        words += f"; no negative probability of CME at {none} sizes"
    return all(held), words


def _time_ratios(
    scores: pd.DataFrame, parts: Sequence[str]
) -> tuple[dict[_Size, float], dict[_Size, float]]:
    """Return what CME and what KLR take over what JDL does, by size."""
    tidied = tidy(total(scores, parts, "seconds"))
    medians = {
        size: values.median()
        for size, values in _compared(tidied, "seconds", (_JDL_HELD, _CME_HELD, _KLR)).items()
    }
    cme, klr = (
        {size: float(median[fit] / median[_JDL_HELD]) for size, median in medians.items()}
        for fit in (_CME_HELD, _KLR)
    )
    return cme, klr


def _compared(
    tidied: pd.DataFrame, metric: str, fits: Sequence[_Fit], sizes: Sequence[int] = SIZES
) -> dict[_Size, pd.DataFrame]:
    """Return by (d, n) a metric of some fits (columns) on the subsamples that all completed (rows).

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
            found[d, n] = done = tried.dropna()
            if len(done) < 2 or too_many_failed(len(tried) - len(done), len(tried)):
                short.append(f"{_named((d, n))}: {len(done)} of {len(tried)}")
    if short:
        names = " and ".join("constrained " * held + method for method, held in fits)
        others = f" (and at {len(short) - 1} sizes more)" if short[1:] else ""
        raise Missing(f"too few subsamples with a number of {names} at {short[0]}{others}")
    return found


def _lost(scores: pd.DataFrame) -> str:
    """Say how many fits failed, "" where none."""
    failed = scores.loc[scores["status"] == "failed", ["dataset", "method", "setting", "split"]]
    count = len(failed.drop_duplicates())
    return f"; left out the subsamples of fits that failed: {count}" if count else ""


def _by_dimension(ratios: dict[_Size, float]) -> str:
    each = {}
    for (d, _), ratio in ratios.items():
        each.setdefault(d, []).append(f"{ratio:.2f}")
    return "; ".join(f"d = {d}: {', '.join(values)}" for d, values in each.items())


def _range(ratios: dict[_Size, float]) -> str:
    return f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f}"


def _named(size: _Size) -> str:
    return f"d = {size[0]}, n = {size[1]}"
