"""jdl figure 3: normalisation error against n; claims J5 and J7."""

from pathlib import Path

import pandas as pd

from kcde.evidence.deciding import Missing, all_of, decider
from kcde.evidence.verdicts import UNDECIDED, too_many_failed
from kcde.metrics.names import NORMALISATION_ERROR
from kcde.pages.markdown import magnitude
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.jdl import _moments
from kcde.papers.jdl._curve_plots import PlotSpec, drawer
from kcde.papers.jdl._curves import (
    LIMITS,
    MEAN,
    MOST,
    by_repetition,
    frame,
    panels,
    placed_by,
    rows,
    tidy,
)
from kcde.papers.jdl._moments import (
    DIMENSIONS,
    REACHES,
    SIZES,
    by_size,
    errors_of_normalisation,
    named,
    verdict,
)
from kcde.papers.jdl._paired import (
    GEOMETRIC,
    STATISTICS,
    T_TEST,
    TESTS,
    complete,
    each_or_missing,
    meaning,
    pooled,
)

_FIXED = 1e-3
_SIZEABLE, _NONE = 1e-3, 1e-10

draw = drawer(PlotSpec(_moments.NORMALISATION_LABEL, stat=MOST, linear_below=1e-4, average=True))


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of the largest |E[1|x] - 1|.

    The stat `max` is over test points and repetitions, as published; `mean` is the mean over
    repetitions of the largest error of each. The quantiles of both are those of the latter.
    """
    placed = placed_by(panels, scores, *_moments.NOT_SHOWN)
    return frame(rows(placed, NORMALISATION_ERROR, (MOST, MEAN)))


@decider
def inverse_to_sample_size(scores: pd.DataFrame) -> Decision:
    """Decide claim J5: CME has normalisation errors that fall with n; JDL and JPDL have none.

    At the tolerance 1e-3 and without constraints, for each d: CME's largest error over points and
    repetitions is above 1e-3 at some n, and its rank correlation with n is negative; only
    repetitions that were completed at every n count. No error of JDL and JPDL, with any tolerance,
    with and without constraints, reaches 1e-10.
    """
    from scipy import stats

    tidied = tidy(scores)
    parts, listed = {}, []
    for d in DIMENSIONS:
        worst = errors_of_normalisation(tidied, d, _FIXED, SIZES).max()
        correlation = stats.spearmanr(worst.index, worst).statistic
        parts[f"CME at d = {d}"] = verdict(worst.max() > _SIZEABLE and correlation < 0)
        listed.append(f"d = {d}: {by_size(worst)}, rank correlation with n {correlation:.2f}")
    normalised = [_largest(tidied, method, d) for method in ("JDL", "JPDL") for d in DIMENSIONS]
    reason = (
        f"largest |E[1|x] - 1| of CME at tolerance {_FIXED:g} by n, {'; '.join(listed)}; of JDL "
        f"and JPDL {max(normalised):.1g} at most"
    )
    parts["JDL and JPDL"] = verdict(max(normalised) < _NONE)
    return Decision(all_of(parts.values()), reason, parts)


@decider
def mitigated_by_constraints(
    scores: pd.DataFrame, statistic: str = GEOMETRIC, every: bool = False, by: str = T_TEST
) -> Decision:
    """Decide claim J7: constraints make CME's normalisation error smaller.

    Paired tests over the repetitions of the logarithm of the largest error of each, averaged over
    n, with the tolerances of the paper. It holds if the error is significantly smaller with
    constraints at each d, and fails if it is not at one; a missing d leaves it undecided.

    Parameters
    ----------
    scores
        Of the experiment `moments`.
    statistic, every, by
        As `statistic` and `test` for `pooled`, and as for `complete`.
    """
    tidied = tidy(scores)

    def test(d: int) -> tuple[str, int, bool]:
        tables = {
            named("CME", d, held): by_repetition(tidied, NORMALISATION_ERROR, "CME", d, held)
            for held in (True, False)
        }
        found = pooled(*complete(tables, SIZES, every=every).values(), statistic, by)
        return f"d = {d}: {found}", d, found.lower

    found, absent = each_or_missing(test, DIMENSIONS)
    if not found:
        raise Missing(absent[0])
    reason = (
        f"error of CME with constraints over that without, {meaning(statistic, every, by)}: "
        + "; ".join([words for words, *_ in found] + absent)
    )
    decided = {d: verdict(lower) for _, d, lower in found}
    parts = {f"d = {d}": decided.get(d, UNDECIDED) for d in DIMENSIONS}
    return Decision(all_of(parts.values()), reason, parts)


def by_statistic(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J7 by each statistic over the matrices."""
    return {"J7": {name: mitigated_by_constraints(scores, name) for name in STATISTICS}}


def by_test(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J7 by each test over the matrices."""
    return {"J7": {name: mitigated_by_constraints(scores, by=name) for name in TESTS}}


def by_sizes(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide J7 at the n that all matrices reach, and at every n."""
    found = {
        name: mitigated_by_constraints(scores, GEOMETRIC, every) for name, every in REACHES.items()
    }
    return {"J7": found}


def _largest(tidied: pd.DataFrame, method: str, d: int) -> float:
    """Return the largest error of a method over all settings and n.

    Raises
    ------
    Missing
        If one of `SIZES` is missing with or without constraints, or more than 5% of the fits of a
        cell failed.
    """
    fits = tidied[tidied["method"].eq(method) & tidied["d"].eq(d)]
    for constrained, limits in LIMITS.items():
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
    return fits.loc[fits["metric"].eq(NORMALISATION_ERROR) & fits["status"].eq("ok"), "value"]


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"moments": {"methods": ["JDL", "JPDL", "CME"]}},
    build=build,
    draw=draw,
    deciders={
        "J5": inverse_to_sample_size,
        "J7": mitigated_by_constraints,
    },
    readers={"J-statistic": by_statistic, "J-test": by_test, "J-sizes": by_sizes},
    trial="matrix",
    remarks=_moments.remarks,
)
