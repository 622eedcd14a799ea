"""Claims K7 to K10 and K12 of kcef: its tables, and theorem 2."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from kcde.evidence import chains
from kcde.evidence.cells import AS_PUBLISHED, splits
from kcde.evidence.checks import Check, Missing
from kcde.evidence.paired import HALVES, PairedComparison, better, by_split, compare, worse
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.experiments.consistency import EXPONENTS, Constant
from kcde.metrics.names import NLL, NLL_X, P_VALUE, REGULARIZATION_ERROR
from kcde.metrics.paired import paired_t_test
from kcde.names import EXACT_DRAWS
from kcde.papers import published

CORRECTED, SIGNED_RANK = "corrected t-test", "signed-rank"
_UNSURE = "only the test that takes splits for independent finds so many"

CONDITIONAL, JOINT, PRINTED = "conditional", "joint", "joint beside conditional"


def kcef_beats_lscde(scores: pd.DataFrame, test: str = CORRECTED) -> Iterator[Check]:
    """K7: significant wins minus losses of KCEF against LSCDE are at least 8 of 14 sets.

    With halves of the same rows and 20 splits the corrected test is significant from 2.14 standard
    deviations of the paired differences on: what the published means would reach is said.
    """
    found = _on_the_r_sets(scores, "KCEF", "LSCDE")
    sure, unsure = (len(better(each)) - len(worse(each)) for each in (found.corrected, found.signs))
    yield Check(
        f"wins minus losses of KCEF against LSCDE, {test}",
        sure if test == CORRECTED else unsure,
        at_least=8,
        unless=_UNSURE if unsure >= 8 else "",
        said=_won_and_lost(found, test),
    )
    if test == CORRECTED:
        reached = _published_margin(scores)
        yield Check("the same of the published means with the spreads of ours", reached)


def _on_the_r_sets(scores: pd.DataFrame, method: str, rival: str) -> PairedComparison:
    found = compare(scores, published.datasets("kcef", "table1"), (method,), (rival,))
    if found.absent:
        raise Missing(f"no splits of both {method} and {rival} on {', '.join(found.absent)}")
    return found


def _won_and_lost(found: PairedComparison, test: str) -> str:
    signs = found.corrected if test == CORRECTED else found.signs
    return f"won: {', '.join(better(signs)) or '-'}; lost: {', '.join(worse(signs)) or '-'}"


def _published_margin(scores: pd.DataFrame) -> int:
    """Return wins minus losses if our paired differences had the published means."""
    values = published.values()
    values = values[(values["paper"] == "kcef") & (values["artefact"] == "table1")]
    means = values.pivot(index="dataset", columns="method", values="value")
    margin = 0
    for dataset, shift in (means["KCEF"] - means["LSCDE"]).items():
        ours, theirs = by_split(*(splits(scores, dataset, name) for name in ("KCEF", "LSCDE")))
        differences = (ours - theirs)[np.isfinite(ours - theirs)]
        if len(differences):
            test = paired_t_test(ours + (shift - differences.mean()), theirs, HALVES)
            margin -= test.sign if test.p_value < SIGNIFICANCE else 0
    return margin


def nade_loses_to_kcef(
    scores: pd.DataFrame, test: str = CORRECTED, nade: Sequence[str] = (CONDITIONAL, JOINT)
) -> Iterator[Check]:
    """K8: NADE is significantly worse than KCEF on at least 10 of 14 sets, whatever it models.

    `nade` is what the column NADE may be; where two of them disagree nothing is decided.
    """
    checks = []
    for each in nade:
        found = _on_the_r_sets(with_column(scores, each), "NADE", "KCEF")
        sure, unsure = len(worse(found.corrected)), len(worse(found.signs))
        check = Check(
            f"sets on which NADE, {each}, loses to KCEF, {test}",
            sure if test == CORRECTED else unsure,
            at_least=10,
            unless=_UNSURE if unsure >= 10 else "",
            part=f"NADE, {each}" if len(nade) > 1 else "",
            said=_won_and_lost(found, test),
        )
        checks.append(check)
    if len({check.verdict for check in checks}) > 1:
        other = "the other NADE decides otherwise"
        checks = [replace(check, unless=check.unless or other) for check in checks]
    yield from checks


def with_column(scores: pd.DataFrame, nade: str) -> pd.DataFrame:
    """Return scores whose NADE is what the published column may be.

    `joint`: that of x and y, and log p(x) by it is added to the other methods split by split, so
    that differences are those of log p(y|x); `joint beside conditional`: without that.
    """
    if nade == CONDITIONAL:
        return scores
    joint = scores["method"] == "NADE-joint"
    column = scores[joint].assign(method="NADE", variant=AS_PUBLISHED)
    others = scores[~joint & (scores["method"] != "NADE")]
    if nade == JOINT:
        key = ["dataset", "split"]
        of_x = scores[joint & (scores["metric"] == NLL_X) & (scores["status"] == "ok")]
        of_x = of_x.set_index(key)["value"].reindex(pd.MultiIndex.from_frame(others[key]))
        added = np.where(others["metric"] == NLL, of_x.to_numpy(), 0.0)
        others = others.assign(value=others["value"] + added)
    return pd.concat([others, column], ignore_index=True)


def kcef_after_nade(scores: pd.DataFrame) -> Iterator[Check]:
    """K9: KCEF is in the best group on parkinsons, and second after NADE on both wines.

    Each method has its better graph. In the best group is the lowest mean and what a paired t-test
    at 5% does not tell from it; second on a wine is significantly different from NADE.
    """
    graphs = {"KCEF": ("KCEF-F", "KCEF-M"), "LSCDE": ("LSCDE-F", "LSCDE-M"), "NADE": ("NADE",)}
    for dataset in published.datasets("kcef", "table2"):
        runs = {name: _better_graph(scores, dataset, each) for name, each in graphs.items()}
        if absent := [name for name, values in runs.items() if not values.notna().any()]:
            raise Missing(f"no runs of {', '.join(absent)} on {dataset}")
        order = sorted(runs, key=lambda name: runs[name].mean())
        rival = next(name for name in order if name != "KCEF")
        p_value = paired_t_test(*by_split(runs["KCEF"], runs[rival])).p_value
        means = " < ".join(f"{name} {runs[name].mean():.2f}" for name in order)
        said = f"{means}; KCEF against {rival}: p = {p_value:.2g}"
        if dataset == "parkinsons":
            best = order[0] == "KCEF" or p_value >= SIGNIFICANCE
            yield Check(f"KCEF in the best group on {dataset}", bool(best), said=said)
        else:
            second = order == ["NADE", "KCEF", "LSCDE"] and p_value < SIGNIFICANCE
            yield Check(f"KCEF second after NADE on {dataset}", bool(second), said=said)


def _better_graph(scores: pd.DataFrame, dataset: str, graphs: Sequence[str]) -> pd.Series:
    """Return the runs of the graph with the lower mean."""
    found = [splits(scores, dataset, name) for name in graphs]
    known = [values for values in found if values.notna().any()] or found
    return min(known, key=lambda values: values.mean())


def kcef_samples_are_closer(scores: pd.DataFrame, chains_judged: bool = True) -> Iterator[Check]:
    """K10: the median p over the seeds of four relative similarity tests is as the paper says.

    A test counts on chains that have converged: the published ones, else better draws.
    """
    claimed = [("parkinsons", "NADE", True), ("red-wine", "NADE", False)]
    claimed += [("red-wine", "KEF", True), ("parkinsons", "KEF", False)]
    for dataset, rival, rejected in claimed:
        hypothesis = f"H0: {rival} closer than KCEF"
        cells = {
            variant: splits(scores, dataset, hypothesis, variant, P_VALUE).dropna()
            for variant in (AS_PUBLISHED, EXACT_DRAWS)
        }
        if not len(cells[AS_PUBLISHED]):
            raise Missing(f"no p-values of {hypothesis} on {dataset}")
        what, part = f"median p, {dataset}, {hypothesis}", f"{dataset}, {hypothesis}"
        wrong = {}
        for variant, values in cells.items():
            obstacle = chains.unconverged(scores, dataset, hypothesis, variant)
            wrong[variant] = chains_judged and (obstacle or ("" if len(values) else "not run"))
        sound = [variant for variant, obstacle in wrong.items() if not obstacle]
        if not sound:
            said = f"published chains: {wrong[AS_PUBLISHED]}; better draws: {wrong[EXACT_DRAWS]}"
            yield Check(what, part=part, unless=said)
            continue
        median = float(cells[sound[0]].median())
        said = "better draws" if sound[0] == EXACT_DRAWS else ""
        if rejected:
            yield Check(what, median, at_most=SIGNIFICANCE, part=part, said=said)
        else:
            level = SIGNIFICANCE
            yield Check(what, median, above=level, below=1 - level, part=part, said=said)


IN_REGIME = 0.8
"""Share of its limiting slope that the error without noise must reach for a series to count.

Where it does not, λ is not small against C at these n, and no estimator with this λ could show the
rate. It is computed from the target alone.
"""


def converges_at_the_rates(
    scores: pd.DataFrame, constants: Sequence[str] = ("0.03‖C‖", "0.1‖C‖")
) -> Iterator[Check]:
    """K12: slopes of norm error and divergence lie at or below -(1/2 - α) and -(1 - 2α).

    It fails by an interval above its bound, in a series whose error without noise falls already.
    """
    fitted = slopes(scores)
    fitted = fitted[[times(constant) in constants for constant in fitted["constant"]]]
    found = set(zip(fitted["gamma"], map(times, fitted["constant"]), strict=True))
    pairs = [(gamma, constant) for gamma in EXPONENTS for constant in constants]
    if absent := [f"γ = {gamma:g}, c = {c}" for gamma, c in pairs if (gamma, c) not in found]:
        raise Missing(f"fewer than two complete repetitions of {'; '.join(absent)}")
    counted = fitted[fitted["in_regime"]]
    if lacking := [f"γ = {each:g}" for each in EXPONENTS if each not in set(counted["gamma"])]:
        raise Missing(f"λ is too large at these n in every series of {', '.join(lacking)}")
    for row in fitted.itertuples():
        early = "λ is too large at these n to tell"
        across = "" if row.low > row.bound else "the interval contains the bound"
        yield Check(
            f"upper end of the slope of {row.metric}, γ = {row.gamma:g}, c = {times(row.constant)}",
            row.high,
            at_most=row.bound,
            unless=across if row.in_regime else early,
        )


def times(constant: Constant) -> str:
    """Return c in words."""
    if constant.absolute:
        return f"{constant.value:g}"
    return "‖C‖" if constant.value == 1 else f"{constant.value:g}‖C‖"


def slopes(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the slope of log error in log n of each series, with Student's 95% interval.

    A slope is the mean over repetitions; a series with fewer than two complete ones has none.
    """
    rows = []
    for gamma, constant, series in by_series(scores):
        alpha = max(0.25, 1 / (2 * (gamma + 1)))
        (quiet,) = fit(by_repetition(series, REGULARIZATION_ERROR))
        regime = bool(quiet <= IN_REGIME * limit(gamma))
        for metric, bound in (("norm_error", alpha - 0.5), ("kl", 2 * alpha - 1)):
            each = fit(by_repetition(series, metric))
            if len(each) < 2:
                continue
            mean, half = float(each.mean()), half_width(each)
            ends = {"value": mean, "low": mean - half, "high": mean + half, "bound": bound}
            known = {"gamma": gamma, "constant": constant, "metric": metric, "n": len(each)}
            rows.append(known | ends | {"in_regime": regime})
    names = ["gamma", "constant", "metric", "n", "value", "low", "high", "bound", "in_regime"]
    return pd.DataFrame(rows, columns=names).astype({"in_regime": bool})


def by_series(scores: pd.DataFrame) -> Iterator[tuple[float, Constant, pd.DataFrame]]:
    """Yield γ, c and the scores of each series, in increasing order."""
    known = {}
    for setting in scores["setting"].unique():
        axes = json.loads(setting)
        constant = Constant(axes.get("absolute", False), axes["constant"])
        known[axes["gamma"], constant] = scores[scores["setting"] == setting]
    for gamma, constant in sorted(known):
        yield gamma, constant, known[gamma, constant]


def by_repetition(series: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return repetitions in rows and n in columns, without incomplete repetitions."""
    cells = series[series["metric"] == metric]
    return cells.pivot(index="split", columns="n_train", values="value").dropna()


def fit(table: pd.DataFrame) -> np.ndarray:
    """Return one slope of log value against log n for each row."""
    if table.empty:
        return np.empty(0)
    log_n = np.log(table.columns.to_numpy(float))
    return np.polyfit(log_n, np.log(table.to_numpy().T), 1)[0]


def half_width(values: np.ndarray):
    """Return half the width of Student's 95% interval of the mean over the first axis."""
    from scipy import stats

    n = len(values)
    return stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)


def limit(gamma: float) -> float:
    """Return the slope that the error without noise, of order λ^min(1, γ), tends to."""
    return -max(0.25, 1 / (2 * (gamma + 1))) * min(1.0, gamma)
