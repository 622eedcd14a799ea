"""Claims of jdl on portfolios (section 5.2), J10 to J12, and on both sections, J13 and J14."""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from kcde.evidence.checks import Check, Missing
from kcde.evidence.verdicts import SIGNIFICANCE, too_many_failed
from kcde.metrics.names import LOGISTIC_LOSS, MATCHED, NEGATIVE_PROBABILITY_RATE
from kcde.metrics.paired import paired_wilcoxon
from kcde.pages.markdown import probability
from kcde.papers.jdl.claims_of_moments import TIMINGS, WITH_FACTORS
from kcde.papers.jdl.curves import MOMENTS, PORTFOLIO, by_repetition, tidy, timed

JDL, CME, KLR = ("JDL", False), ("CME", False), ("KLR", False)
JDL_HELD, CME_HELD = ("JDL", True), ("CME", True)
"""Method, and whether with constraints."""

SIZES = (1000, 5000, 10_000, 20_000)

VIOLATIONS, INFEASIBLE = "density_violation_rate", "tightening_infeasible"
SECTIONS = {MOMENTS: "5.1", PORTFOLIO: "5.2"}
EXAMPLES = {MOMENTS: (1, 2, 3), PORTFOLIO: (1, 5, 10, 25)}
"""Experiment to the published d, all of which a claim needs."""

ALONE = {
    "expectations alone at matched bandwidths": f"{MATCHED}seconds_evaluate",
    "expectations alone at own bandwidths": "seconds_evaluate",
}
"""Further readings of what figure 9 times: its caption names the expectations alone."""


def compared(
    tidied: pd.DataFrame,
    metric: str,
    fits: Sequence[tuple[str, bool]],
    sizes: Sequence[int] = SIZES,
    *,
    some: bool = False,
) -> dict[tuple[int, int], pd.DataFrame]:
    """Return by (d, n) a metric of fits (columns) on the subsamples that all completed (rows).

    With `some`, subsamples that no fit has the metric of do not count as failed.
    """
    found = {}
    for d in EXAMPLES[PORTFOLIO]:
        curves = [by_repetition(tidied, metric, method, d, held) for method, held in fits]
        for n in sizes:
            # A size without fits is a column without numbers.
            each = [curve.get(n, pd.Series(dtype=float)) for curve in curves]
            tried = pd.concat(dict(zip(fits, each, strict=True)), axis=1)
            tried = tried.dropna(how="all") if some else tried
            found[d, n] = done = tried.dropna()
            if len(done) < 2 or too_many_failed(len(tried) - len(done), len(tried)):
                names = " and ".join("constrained " * held + method for method, held in fits)
                raise Missing(
                    f"too few subsamples with {metric} of {names} at d = {d}, n = {n}: "
                    f"{len(done)} of {len(tried)}"
                )
    return found


def jdl_like_klr(scores: pd.DataFrame, least: float = 0.0) -> Iterator[Check]:
    """J10: JDL is below CME at n = 1000, constrained JDL on par with KLR, constraints hurt CME.

    Signed-rank tests over subsamples, because one event to which a fit gives no probability costs
    27.6 nats and would dominate a mean. On par: a mean loss from `least` to 1.05 times KLR's, but
    for n = 1000 at d = 10 and 25.
    """
    tidied = tidy(scores, PORTFOLIO)

    def significant(fits: Sequence[tuple[str, bool]], sizes: Sequence[int]) -> list[str]:
        """Return for each size the p-value in words, where the first fit is not below; else ""."""
        tests = [
            paired_wilcoxon(*(values[fit].to_numpy() for fit in fits))
            for values in compared(tidied, LOGISTIC_LOSS, fits, sizes).values()
        ]
        return [
            "" if test.sign < 0 and test.p_value < SIGNIFICANCE else probability(test.p_value)
            for test in tests
        ]

    not_lower = significant((JDL, CME), [1000])
    ratios = {
        size: float(values[JDL_HELD].mean() / values[KLR].mean())
        for size, values in compared(tidied, LOGISTIC_LOSS, (JDL_HELD, KLR)).items()
        if size not in [(10, 1000), (25, 1000)]
    }
    not_hurt = significant((CME, CME_HELD), SIZES)
    yield Check(
        "d at which JDL is significantly below CME at n = 1000",
        not_lower.count(""),
        at_least=len(not_lower),
        part="JDL below CME at n = 1000",
        said=f"p elsewhere {', '.join(filter(None, not_lower))}" if any(not_lower) else "",
    )
    yield Check(
        "sizes at which constrained JDL is on par with KLR",
        sum(least <= ratio <= 1.05 for ratio in ratios.values()),
        at_least=len(ratios),
        part="constrained JDL on par with KLR",
        said=f"ratios of mean losses {min(ratios.values()):.2f} to {max(ratios.values()):.2f}",
    )
    yield Check(
        "sizes at which constraints raise CME's loss significantly",
        not_hurt.count(""),
        at_least=len(not_hurt),
        part="constraints hurt CME",
    )


def fewer_negative(scores: pd.DataFrame) -> Iterator[Check]:
    """J11: constraints leave JDL no negative probability, and CME 2 to 5 times fewer.

    The latter at every size at which CME has any: a reading of ours.
    """
    tidied = tidy(scores, PORTFOLIO)
    none = compared(tidied, NEGATIVE_PROBABILITY_RATE, (JDL_HELD,)).values()
    shares = compared(tidied, NEGATIVE_PROBABILITY_RATE, (CME, CME_HELD)).values()
    some = [mean for mean in (values.mean() for values in shares) if mean.max() > 0]
    if not some:
        raise Missing("no probability of CME is negative")
    ratios = [float(each[CME] / each[CME_HELD]) if each[CME_HELD] else np.inf for each in some]
    largest = max(float(values[JDL_HELD].mean()) for values in none)
    yield Check("largest mean share of constrained JDL", largest, at_most=0.0, part="JDL has none")
    yield Check(
        "sizes at which the share of CME falls two- to five-fold",
        sum(2.0 <= ratio <= 5.0 for ratio in ratios),
        at_least=len(ratios),
        part="CME two- to five-fold",
        said=f"factors {min(ratios):.2f} to {max(ratios):.2f}",
    )


def comparable_seconds(
    scores: pd.DataFrame, timing: str = WITH_FACTORS, at_every_size: bool = False
) -> Iterator[Check]:
    """J12: constrained CME takes half to twice the time of JDL at every size, KLR more than JDL.

    KLR in the geometric mean over sizes, or at every size. Medians over subsamples.
    """
    tidied, fits = tidy(timed(scores), PORTFOLIO), (JDL_HELD, CME_HELD, KLR)
    found = compared(tidied, (TIMINGS | ALONE)[timing], fits, some=True).values()
    medians = pd.DataFrame([values.median() for values in found])
    cme, klr = (medians[fit] / medians[JDL_HELD] for fit in (CME_HELD, KLR))
    part = "CME and JDL are comparable"
    yield Check(f"{timing}, CME/JDL, least", float(cme.min()), at_least=0.5, part=part)
    yield Check("most", float(cme.max()), at_most=2.0, part=part)
    mean, least = float(np.exp(np.log(klr).mean())), float(klr.min())
    part, what = "KLR is slower", "KLR/JDL, least" if at_every_size else "KLR/JDL, geometric mean"
    yield Check(what, least if at_every_size else mean, above=1.0, part=part)


def few_violations(scores: pd.DataFrame) -> Iterator[Check]:
    """J13: under constrained JDL less than 0.1% of test pairs have 1 + h < 0, on each data set."""
    tidied = tidy(scores, MOMENTS, PORTFOLIO)
    tidied = tidied[tidied["metric"].eq(VIOLATIONS) | tidied["status"].eq("failed")]
    joint = tidied[tidied["method"].eq("JDL") & tidied["constrained"]]
    for section, shares in _by_section(joint, VIOLATIONS, "constrained JDL").items():
        name = max(shares, key=lambda each: shares[each].mean())
        what, worst = (
            f"section {section}, largest mean share, at {name}",
            float(shares[name].mean()),
        )
        yield Check(what, worst, below=1e-3, part=f"section {section}")


def never_feasible(
    scores: pd.DataFrame, least: float = 0.95, scheduled: bool = False
) -> Iterator[Check]:
    """J14: for 95% of the fits of CME of each data set no coefficients provably satisfy (33).

    Fits without constraints at all tolerances, or at those of the schedule. The proof, see
    `CME.certify_tightening`, is about the bases of the chosen bandwidths; λ is in no constraint.
    """
    tidied = tidy(scores, MOMENTS, PORTFOLIO)
    embedded = tidied[tidied["method"].eq("CME") & ~tidied["constrained"]]
    embedded = embedded[embedded["scheduled"]] if scheduled else embedded
    for section, proven in _by_section(embedded, INFEASIBLE, "CME").items():
        shares = {name: float((values != 0).mean()) for name, values in proven.items()}
        name = min(shares, key=shares.get)
        fits, part = pd.concat(proven.values()), f"section {section}"
        said = f"in all {int((fits != 0).sum())} of {len(fits)} fits"
        what = f"section {section}, smallest share of fits proven infeasible, at {name}"
        yield Check(what, shares[name], at_least=least, part=part, said=said)


def _by_section(fits: pd.DataFrame, metric: str, whose: str) -> dict[str, dict[str, pd.Series]]:
    """Return a metric of the fits that did not fail by section and data set."""
    found = {section: {} for section in SECTIONS.values()}
    for (experiment, d, n), here in fits.groupby(["experiment", "d", "n"]):
        name = f"d = {d}, n = {n}"
        values = here.loc[here["metric"].eq(metric) & here["status"].eq("ok"), "value"]
        tried = len(here[["setting", "split"]].drop_duplicates())
        if too_many_failed(tried - len(values), tried):
            raise Missing(f"too many fits failed at {name}: {tried - len(values)} of {tried}")
        found[SECTIONS[experiment]][name] = values
    for experiment, dimensions in EXAMPLES.items():
        there = set(fits.loc[fits["experiment"] == experiment, "d"])
        if absent := [f"d = {d}" for d in dimensions if d not in there]:
            section = SECTIONS[experiment]
            raise Missing(f"no fits of {whose} of section {section} with {', '.join(absent)}")
    return found
