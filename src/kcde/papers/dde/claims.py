"""Claims D1 to D7 as checks, and what is measured of DDE's samples in the plane."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data import made_up
from kcde.data.names import PLANAR
from kcde.estimators import DDE
from kcde.evidence.checks import Check, Missing, by_split, compare, significant, splits
from kcde.evidence.verdicts import SIGNIFICANCE, summarise, too_many_failed
from kcde.experiments.estimation_cost import ITERATIONS
from kcde.metrics import FIT_SECONDS, MMD, NLL, PEAK_MEMORY, paired_t_test
from kcde.names import AS_PUBLISHED, OURS
from kcde.pages import display, round_to_half_decade
from kcde.papers import published
from kcde.scores import arrays_beside
from kcde.seeding import rng_of

METHOD = "DDE"
"""The method as published; its variations have panels of their own and do not enter the claims."""

DATASETS = ("ring", "grid", "two-moons")

SHARE, CHI_SQUARED = "mode_share", "modes_chi_squared"
"""Metrics: the share of samples nearest to a mode, whose name follows after a colon, and the
statistic of all of them."""

COVERAGE, FRESH = "coverage", "coverage_of_a_fresh_draw"
"""Metrics of the shares that are near, of the samples and of as many fresh draws of the data; what
is near follows after a colon."""

NEAR = ("samples near the support", "training points near a sample")
_NEAR = 3.0  # standard deviations of the noise

SPEARMAN, FALL = "mmd2_spearman", "mmd2_last_over_first"
FALLING, CHECKS = "mmd2_spearman_to_plateau", "mmd2_checks_to_plateau"
"""Metrics: rank correlation of MMD² and iteration, whole and up to the plateau, how far MMD² falls,
and how many checks there are up to the plateau."""

EXCESS = "excess_negative_log_likelihood"


def with_excess(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with the likelihood of each seed less that of the known density.

    Test points to which a model gives no density (those beyond a bounded base density) are left
    out of both.
    """
    key = ["dataset", "method", "variant", "split"]
    names = [f"{NLL}{end}" for end in ("", "_exact", "_inside", "_exact_inside")]
    sound = scores[scores["status"] == "ok"]
    wide = sound.pivot(index=key, columns="metric", values="value").reindex(columns=names)
    whole, exact, inside, exact_inside = (wide[name] for name in names)
    excess = (inside - exact_inside).fillna(whole - exact).dropna().rename("value").reset_index()
    added = excess.assign(metric=EXCESS, unit="nats", status="ok", setting="{}")
    return pd.concat([scores, added], ignore_index=True) if len(added) else scores


def with_samples(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with what the arrays beside the files give, by seed."""
    added = []
    for path in files:
        dataset = path.parent.name
        here = scores[(scores["dataset"] == dataset) & (scores["method"] == path.stem)]
        if not len(here) or dataset not in PLANAR or not path.stem.startswith(METHOD):
            continue
        first = here.iloc[0]
        same = first[["experiment", "dataset", "setting", "method", "variant"]].to_dict()
        stored = arrays_beside(path)
        samples, (iterations, histories) = stored["samples_all"], history(stored)
        for split, (points, mmd2) in enumerate(zip(samples, histories, strict=True)):
            found = convergence(iterations, mmd2)
            if np.isfinite(points).all():
                found |= _shares(dataset, points, first["n_train"])
                found |= _coverage(dataset, split, points)
            added += [same | {"split": split, "metric": m, "value": v} for m, v in found.items()]
    if not added:
        return scores
    rows = pd.DataFrame(added)
    rows["status"] = np.where(rows["value"].isna(), "failed", "ok")
    return pd.concat([scores, rows], ignore_index=True)


def history(arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations (checks,) and MMD² (seeds, checks); no checks where every seed failed."""
    none = np.empty((len(arrays["samples_all"]), 0))
    return arrays.get("history_iteration", none[0]), arrays.get("history_mmd2", none)


def _shares(dataset: str, points: np.ndarray, n_train: int) -> dict[str, float]:
    """Return the shares of the modes and their statistic, by metric.

    A sampler cannot know the weights w of the modes better than its n training points do, so that
    the counts of m samples have the covariance m(1 + m/n)(diag w - w wᵀ), not that of m draws:
    Pearson's statistic is divided by 1 + m/n. It is chi-squared with one degree of freedom less
    than there are modes where the sampler has the proportions of its training points.
    """
    modes, m = made_up.planar_modes(dataset), len(points)
    counts = np.bincount(modes.nearest(points), minlength=len(modes.weights))
    pearson = np.sum((counts - m * modes.weights) ** 2 / (m * modes.weights))
    shares = {f"{SHARE}:{k}": c / m for k, c in zip(modes.labels, counts, strict=True)}
    return {CHI_SQUARED: pearson / (1.0 + m / n_train)} | shares


def _coverage(dataset: str, split: int, samples: np.ndarray) -> dict[str, float]:
    """Return the shares that are near, of the samples and of a fresh draw, by metric.

    Modes may all be reached in proportion far from the data, or at single points.
    """
    from scipy.spatial import KDTree

    train, _ = made_up.planar_of_seed(dataset, split)
    fresh = made_up.planar_draw(dataset, len(samples), rng_of("coverage", dataset, split))
    reach, found = _NEAR * made_up.planar_noise(dataset), {}
    for metric, points in ((COVERAGE, samples), (FRESH, fresh)):
        near = made_up.planar_deviations(dataset, points) <= _NEAR
        found[f"{metric}:{NEAR[0]}"] = float(near.mean())
        found[f"{metric}:{NEAR[1]}"] = float((KDTree(points).query(train)[0] <= reach).mean())
    return found


def convergence(iterations: np.ndarray, mmd2: np.ndarray) -> dict[str, float]:
    """Return the four metrics of the history of a seed, NaN where it is not finite.

    The plateau begins at the first check whose MMD² is at most two standard errors above the last:
    how much MMD² still moves from check to check in the last tenth of them, at least two.
    """
    from scipy import stats

    names = (SPEARMAN, FALL, FALLING, CHECKS)
    if not len(mmd2) or not np.isfinite(mmd2).all():
        return dict.fromkeys(names, np.nan)
    end = mmd2[-max(2, len(mmd2) // 10) :]
    error = end.std(ddof=1) if len(end) > 1 else 0.0
    checks = int(np.argmax(mmd2 <= mmd2[-1] + 2.0 * error)) + 1
    every, falling = (  # 0 where MMD² does not change, as at a single check
        stats.spearmanr(iterations[:k], mmd2[:k]).statistic if np.ptp(mmd2[:k]) else 0.0
        for k in (len(mmd2), checks)
    )
    return dict(zip(names, map(float, (every, mmd2[-1] / mmd2[0], falling, checks)), strict=True))


MMD_TRAIN, TIME, RATE = "mmd_train", "sampling_time", "effective_samples_per_second"
"""Metrics of table 1 beside MMD² to the test set."""

_SEEDS = 10  # of D1
_HUNDRED = 100  # times the time, of D2
_NO_FEWER = 3  # seeds that tell a share of D4
_AXES = {"n": 10_000, "d": 20}  # how far the fits of D7 must go
_EQUAL = 1.25  # costs of D7 within this factor


def smaller_discrepancy(scores: pd.DataFrame, least: int = _SEEDS) -> Iterator[Check]:
    """D1: DDE has a smaller MMD than KEF on all sets, to the test set and to the training set.

    By two-sided paired t-tests over the seeds; undecided with fewer than `least` of which neither
    method failed. Fewer than ten do not speak against DDE where its mean is the smaller one.
    """
    tests = {}
    for metric, reference in ((MMD, "test set"), (MMD_TRAIN, "training set")):
        for dataset in DATASETS:
            both = by_split(*(splits(scores, dataset, m, metric=metric) for m in ("DDE", "KEF")))
            means = both[:, np.isfinite(both).all(axis=0)].mean(axis=1) if both.size else ()
            tests[f"{dataset}, {reference}"] = paired_t_test(*both), means
    seeds = min(test.n for test, _ in tests.values())
    if seeds < 2:
        raise Missing("fewer than two seeds of both methods on a data set")
    few = f"fewer than {_SEEDS} seeds"
    yield Check("seeds of which neither failed", seeds, at_least=least, unless=few)
    for place, (test, (ours, theirs)) in tests.items():
        unless = few if seeds < least or (test.sign < 0 and test.n < _SEEDS) else ""
        said = f"× 1000: {ours:.3g} and {theirs:.3g}, p = {test.p_value:.2g}"
        yield Check(f"MMD² smaller on {place}", significant(test) < 0, unless=unless, said=said)


def faster_sampling(scores: pd.DataFrame, near: float = 1.5) -> Iterator[Check]:
    """D2: Hamiltonian Monte Carlo from KEF takes a hundred times the time of DDE's sampler.

    By the medians over the seeds, on each set. Measured times do not repeat: ratios are given by
    their order of magnitude, and decide nothing within the factor `near` of the threshold.
    """
    for dataset in DATASETS:
        times, rates = (
            [splits(scores, dataset, name, metric=metric).median() for name in ("KEF", "DDE")]
            for metric in (TIME, RATE)
        )
        if not all(map(math.isfinite, times)):
            raise Missing(f"no sampling times of DDE and KEF on {dataset}")
        ratio = times[0] / times[1]
        said = f"about 1e{round(math.log10(ratio))}"
        if all(map(math.isfinite, rates)):
            said += f", by effective samples 1e{round(math.log10(rates[1] / rates[0]))}"
        what, fast = f"{dataset}: {_HUNDRED} times as fast", bool(ratio >= _HUNDRED * near)
        unless = f"within a factor of {near:g}" if ratio > _HUNDRED / near else ""
        yield Check(what, fast, unless=unless, said=said)


def best_on_six(scores: pd.DataFrame, test: str = "corrected") -> Iterator[Check]:
    """D3: DDE is significantly best on as many sets as in print, and worse than a rival on none.

    crabs, whose y is binary, is left out; without it the published numbers are best on five. By
    t-tests corrected for shared rows, undecided where only signed ranks decide, and where a rival
    has a published number. As first stated (`signed-rank`): best on six, all rivals.
    """
    first = test == "signed-rank"
    numbers = published.numbers("dde", "table2").query("dataset != 'crabs'")
    printed = numbers.pivot(index="dataset", columns="method", values="value").notna()
    datasets, best, worse = list(dict.fromkeys(numbers["dataset"])), {}, {}
    rivals = ("KCEF", "epsilon-KDE", "LSCDE")
    tests = {rival: compare(scores, datasets, "DDE", rival) for rival in rivals}
    for rival, found in tests.items():
        if found.absent:
            raise Missing(f"no splits of DDE or {display(rival)} on {', '.join(found.absent)}")
    for which in ("corrected", "signs"):
        signs = pd.DataFrame({rival: getattr(found, which) for rival, found in tests.items()})
        signs = signs if first else signs.where(printed)
        best[which] = list(signs.index[(signs.fillna(-1) < 0).all(axis=1)])
        lost = signs.stack().loc[lambda sign: sign > 0].index
        worse[which] = [f"{dataset} than {display(rival)}" for dataset, rival in lost]
    which, wanted = ("signs", 6) if first else ("corrected", 5)
    lost, unsure = worse[which] or worse["signs"], "decided by signed ranks alone"
    said = f"by signed ranks {', '.join(best['signs']) or 'none'}"
    how = {"unless": unsure if len(best["signs"]) >= wanted else "", "part": "significantly best"}
    what = "sets on which DDE is significantly best"
    yield Check(what, len(best[which]), at_least=wanted, said=said, **how)
    how = {"unless": "" if worse[which] else unsure, "part": "worse on none"}
    what = "sets on which it is significantly worse"
    yield Check(what, len(lost), at_most=0, said=", ".join(lost), **how)


def kcef_unstable(scores: pd.DataFrame) -> Iterator[Check]:
    """D6: KCEF fails on more than 5% of the splits of cpus and crabs, and more than elsewhere.

    A split fails that is not finite or above 20 nats; by Fisher's exact test.
    """
    from scipy import stats

    datasets = published.datasets("dde", "table2")
    others = {name: summarise(splits(scores, name, "KCEF"), "nats") for name in datasets}
    two = {name: others.pop(name) for name in ("cpus", "crabs")}
    if not all(each.n for each in two.values()) or not any(each.n for each in others.values()):
        raise Missing("no splits of KCEF on cpus, crabs or the other sets")
    for name, each in two.items():
        yield Check(f"share of failed splits on {name}", each.failed / each.n, above=0.05)
    cells = [pd.DataFrame(group.values()).sum() for group in (two, others)]
    table = [[each["failed"], each["n"] - each["failed"]] for each in cells]
    p_value = float(stats.fisher_exact(table, alternative="greater").pvalue)
    said = f"{table[1][0]:.0f} of {cells[1]['n']:.0f} fail there"
    yield Check("Fisher's exact p against the other sets", p_value, below=SIGNIFICANCE, said=said)


def modes_covered(
    scores: pd.DataFrame, test: str = "limits", narrow: Sequence[str] = (), near: bool = False
) -> Iterator[Check]:
    """D4: every mode receives at least half its weight, and training points have samples near them.

    By one-sided limits of 95% for the mean share over the seeds; what is near is compared with half
    the share of a fresh draw of the data. `near` asks for samples near the support as well. A set
    without enough seeds leaves it undecided, unless another fails. DDE-narrow stands for DDE on the
    sets of `narrow`. As first stated (`chi-squared`): in proportion.
    """
    from scipy import stats

    for dataset in DATASETS:
        modes = made_up.planar_modes(dataset)
        method = ("DDE-narrow", OURS) if dataset in narrow else (METHOD, AS_PUBLISHED)
        of = partial(splits, scores, dataset, *method)
        if test == "chi-squared":
            values = of(CHI_SQUARED).dropna()
            p_value = float(stats.chi2.sf(values.sum(), len(values) * (len(modes.weights) - 1)))
            what = f"{dataset}: p of the modes' shares over {len(values)} seeds"
            yield Check(what, p_value, at_least=SIGNIFICANCE)
            continue
        weights = zip(modes.labels, modes.weights, strict=True)
        wanted = {f"{SHARE}:{label}": float(weight) for label, weight in weights}
        wanted |= {f"{COVERAGE}:{x}": of(f"{FRESH}:{x}").mean() for x in NEAR[not near :]}
        shares = {metric: of(metric).dropna() for metric in wanted}
        tried = len(of(MMD))  # a failed seed has a row of this metric alone
        n = min(map(len, shares.values()))
        if n < _NO_FEWER or too_many_failed(tried - n, tried):
            few = f"{n} of {tried} seeds have samples; wanted {_NO_FEWER} and 95%"
            yield Check(f"{dataset}: shares are known", False, unless=few)
            continue
        for metric, whole in wanted.items():
            share = shares[metric]
            reach = stats.t.ppf(1.0 - SIGNIFICANCE, n - 1) * share.std() / math.sqrt(n)
            what, low = f"{dataset}, {metric.partition(':')[2]}: lower limit", share.mean() - reach
            unless = "" if share.mean() + reach < 0.5 * whole else f"{n} seeds do not tell"
            yield Check(what, float(low), at_least=0.5 * whole, unless=unless)


def sampler_converges(scores: pd.DataFrame, to_plateau=True, least=_SEEDS) -> Iterator[Check]:
    """D5: the biased MMD² falls with the iterations, until it is flat, and to a tenth of its first.

    By medians over the seeds; one that diverged did not converge, and fewer than `least` decide
    nothing. As first stated, MMD² falls throughout.
    """
    seeds = min(len(splits(scores, dataset, METHOD, metric=FALL)) for dataset in DATASETS)
    few = f"fewer than {least} seeds" if seeds < least else ""
    yield Check("seeds", seeds, at_least=least, unless=few)
    for dataset in DATASETS:
        correlation, fall, checks = (
            float(splits(scores, dataset, METHOD, metric=metric).fillna(np.inf).median())
            for metric in (FALLING if to_plateau else SPEARMAN, FALL, CHECKS)
        )
        yield Check(f"{dataset}: rank correlation", correlation, below=-0.8, unless=few)
        yield Check(f"{dataset}: last MMD² over first", fall, below=0.1, unless=few)
        if to_plateau:
            said = few or "ranks of fewer than five checks say nothing"
            yield Check(f"{dataset}: checks up to the plateau", checks, at_least=5, unless=said)


def cheaper_estimation(scores: pd.DataFrame, scan: bool = False) -> Iterator[Check]:
    """D7: DDE costs less memory and less time than exact and Nyström score matching.

    DDE is that of the authors' code, without penalty, at the largest n and d that both were run at.
    Seconds do not repeat, and are given to half an order of magnitude. With `scan` they are those
    of one scan of the data, n/B iterations for batches of B points, without compilation.
    """
    for axis, largest in _AXES.items():
        if largest not in along(scores, axis, "DDE", FIT_SECONDS):
            raise Missing(f"DDE was not run at {axis} = {largest}")
        for metric, quantity in ((PEAK_MEMORY, "memory"), (FIT_SECONDS, "seconds")):
            ours = along(scores, axis, "DDE", metric)
            if scan and metric == FIT_SECONDS:
                n = ours.index.to_series() if axis == "n" else scores["n_train"].min()
                fewer = ITERATIONS - n / DDE().batch_size
                ours = ours - along(scores, axis, "DDE", "compile_seconds")
                ours = ours - fewer * along(scores, axis, "DDE", "seconds_per_iteration")
            for rival, said in (("KEF", "exact KEF"), ("KEF-nystrom", "Nyström KEF")):
                ratios = (ours / along(scores, axis, rival, metric)).dropna()
                if not len(ratios):
                    raise Missing(f"no {axis} at which both DDE and {said} were run")
                last, ratio = ratios.index[-1], ratios.iloc[-1]
                factor = round_to_half_decade(max(ratio, 1 / ratio))
                what = f"{quantity} less than of {said} at {axis} = {last:.0f}"
                unless = "nearly equal" if ratio <= _EQUAL else ""
                times = f"about {factor:.15g} times {'less' if ratio < 1 else 'more'}"
                if ratio < 1:
                    times += f", less from {axis} = {_crossing(ratios):.0f} on"
                yield Check(what, bool(ratio < 1 / _EQUAL), unless=unless, said=times)


def along(scores: pd.DataFrame, axis: str, method: str, metric: str) -> pd.Series:
    """Return a metric by ascending n at the smallest d, or by ascending d at the smallest n."""
    cells = sweep(scores, axis).query("method == @method and metric == @metric")
    return cells["value"].dropna().sort_index()


def sweep(scores: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return the scores by n at the smallest d, or by d at the smallest n."""
    column, other = ("n_train", "dim") if axis == "n" else ("dim", "n_train")
    return scores[scores[other] == scores[other].min()].set_index(column)


def _crossing(ratios: pd.Series) -> float:
    """Return the size from which on a cost, less at the last one, is always less."""
    more = ratios.index[ratios >= 1.0]
    return ratios.index[ratios.index > more[-1]][0] if len(more) else ratios.index[0]
