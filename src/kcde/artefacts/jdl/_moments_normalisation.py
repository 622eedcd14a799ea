"""Claims J5 to J7 and J15 of jdl, decided from the normalisation error max |E[1|x] - 1|."""

import pandas as pd

from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.jdl._embedding_curves import CONSTRAINED, UNCONSTRAINED, by_repetition, tidy
from kcde.artefacts.jdl._embedding_pairs import complete, each_or_missing, pooled
from kcde.artefacts.jdl._moments_losses import DIMENSIONS, SIZES
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.judging.verdicts import too_many_failed
from kcde.artefacts.tables.markdown import magnitude
from kcde.experiments.moments import NORMALISATION

PUBLISHED = (1000, 10_000, 100_000, 1_000_000, 10_000_000)

_FIXED = 1e-3
_SIZEABLE, _NONE = 1e-3, 1e-10
_LOWEST = 100_000
_LOOSE = (1e-2, 1e-1)


@decider
def inverse_to_sample_size(scores: pd.DataFrame) -> Decision:
    """Decide claim J5: CME errs in the normalisation, less with more data; JDL and JPDL do not err.

    At the tolerance 1e-3 and without constraints, for each d: CME's largest error over points and
    repetitions is above 1e-3 at some n, and its rank correlation with n is negative; every
    repetition that counts was completed at every n. No error of JDL and JPDL, with any tolerance,
    with and without constraints, reaches 1e-10.

    Parameters
    ----------
    scores
        Of the experiment `moments`.

    Returns
    -------
    Decision
        `undecided` where scores are missing or more than 5% of the fits of a cell failed.
    """
    from scipy import stats

    tidied = tidy(scores)
    held, parts = [], []
    for d in DIMENSIONS:
        worst = _worst(tidied, d, _FIXED, SIZES)
        correlation = stats.spearmanr(worst.index, worst).statistic
        held.append(worst.max() > _SIZEABLE and correlation < 0)
        parts.append(f"d = {d}: {_curve(worst)}, rank correlation with n {correlation:.2f}")
    normalised = [_largest(tidied, method, d) for method in ("JDL", "JPDL") for d in DIMENSIONS]
    reason = (
        f"largest |E[1|x] - 1| of CME at tolerance {_FIXED:g} by n, {'; '.join(parts)}; of JDL and "
        f"JPDL {max(normalised):.1g} at most"
    )
    held.append(max(normalised) < _NONE)
    return Decision("holds" if all(held) else "fails", reason)


@decider
def falls_at_the_tightest(scores: pd.DataFrame) -> Decision:
    """Decide claim J6: at d = 1 and tolerance 1e-3, CME's largest error falls at every step of n.

    From n = 1e3 to 1e7, over the repetitions that were completed at all of them.

    Parameters
    ----------
    scores
        Of the experiment `moments`.

    Returns
    -------
    Decision
        `undecided` where an n is missing.
    """
    from scipy import stats

    worst = _worst(tidy(scores), 1, _FIXED, PUBLISHED)
    correlation = stats.spearmanr(worst.index, worst).statistic
    reason = (
        f"largest |E[1|x] - 1| of CME at d = 1, tolerance {_FIXED:g}: {_curve(worst)}; rank "
        f"correlation with n {correlation:.2f}, wanted -1"
    )
    return Decision("holds" if (worst.diff().dropna() < 0).all() else "fails", reason)


@decider
def mitigated_by_constraints(scores: pd.DataFrame) -> Decision:
    """Decide claim J7: constraints make CME's normalisation error smaller.

    Paired t-tests over the repetitions of the logarithm of each one's largest error, averaged over
    n, with the tolerances of the paper. It holds if the error is significantly smaller with
    constraints at each d, and fails if at one it is not.

    Parameters
    ----------
    scores
        Of the experiment `moments`.

    Returns
    -------
    Decision
        `undecided` where scores are missing and it is smaller at the other d.
    """
    tidied = tidy(scores)

    def test(d: int):
        tables = {
            f"CME at d = {d} {limits}": by_repetition(
                tidied, NORMALISATION, "CME", d, limits == CONSTRAINED
            )
            for limits in (CONSTRAINED, UNCONSTRAINED)
        }
        found = pooled(*complete(tables, SIZES).values())
        return f"d = {d}: {found}", found.lower

    found, absent = each_or_missing(test, DIMENSIONS)
    if not found:
        raise Missing(absent[0])
    reason = (
        "error of CME with constraints over that without, geometric mean over n and matrices, "
        "p-value of the paired t-test of their logarithms averaged over n (* differs at that n): "
        + "; ".join([words for words, _ in found] + absent)
    )
    if not all(lower for _, lower in found):
        return Decision("fails", reason)
    return Decision("undecided" if absent else "holds", reason)


@decider
def lowest_in_the_middle(scores: pd.DataFrame) -> Decision:
    """Decide claim J15: at the looser tolerances CME's error is lowest at n = 1e5 and then grows.

    At d = 1, tolerances 1e-2 and 1e-1: the mean over repetitions of each one's largest error is
    lowest at n = 1e5, and grows more from there to 1e7 at 1e-1.

    Parameters
    ----------
    scores
        Of the experiment `moments`.

    Returns
    -------
    Decision
        `undecided` where an n is missing.
    """
    tidied = tidy(scores)
    lowest, growth, parts = [], [], []
    for tolerance in _LOOSE:
        mean = _errors(tidied, 1, tolerance, PUBLISHED).mean()
        lowest.append(mean.idxmin() == _LOWEST)
        growth.append(float(mean.iloc[-1] / mean[_LOWEST]))
        parts.append(f"{tolerance:g}: {_curve(mean)}, 1e7 over 1e5 {growth[-1]:.2f}")
    reason = f"mean largest |E[1|x] - 1| of CME at d = 1, tolerance {'; '.join(parts)}"
    held = all(lowest) and growth[1] > growth[0]
    return Decision("holds" if held else "fails", reason)


def _errors(tidied: pd.DataFrame, d: int, tolerance: float, sizes) -> pd.DataFrame:
    """Return the largest error of CME by repetition and n, where every n was completed."""
    name = f"CME at d = {d}, tolerance {tolerance:g}"
    table = by_repetition(tidied, NORMALISATION, "CME", d, tolerance=tolerance)
    return complete({name: table}, sizes)[name]


def _worst(tidied: pd.DataFrame, d: int, tolerance: float, sizes) -> pd.Series:
    return _errors(tidied, d, tolerance, sizes).max()


def _largest(tidied: pd.DataFrame, method: str, d: int) -> float:
    """Return the largest error of a joint distribution over all settings and n.

    Raises
    ------
    Missing
        If a limit has not all of `SIZES`, or more than 5% of a cell's fits failed.
    """
    fits = tidied[tidied["method"].eq(method) & tidied["d"].eq(d)]
    for constrained, limits in ((False, UNCONSTRAINED), (True, CONSTRAINED)):
        here = fits[fits["constrained"].eq(constrained)]
        if absent := [magnitude(n) for n in SIZES if n not in set(here["n"])]:
            raise Missing(f"no scores of {method} at d = {d} {limits}, n = {' and '.join(absent)}")
        for (n, tolerance), cell in here.groupby(["n", "tolerance"]):
            tried = cell["split"].nunique()
            lost = tried - len(_errors_of(cell))
            if too_many_failed(lost, tried):
                where = f"d = {d} {limits}, n = {magnitude(n)}, tolerance {tolerance:g}"
                raise Missing(f"{lost} of {tried} fits of {method} failed at {where}")
    return float(_errors_of(fits).max())


def _errors_of(fits: pd.DataFrame) -> pd.Series:
    return fits.loc[fits["metric"].eq(NORMALISATION) & fits["status"].eq("ok"), "value"]


def _curve(values: pd.Series) -> str:
    return ", ".join(f"{value:.2g} at {magnitude(n)}" for n, value in values.items())
