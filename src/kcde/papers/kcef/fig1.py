"""kcef figure 1: log-likelihood on the grid data, and claims K1 to K5 and K13."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from kcde.evidence.cells import mean_and_stderr
from kcde.evidence.deciding import Missing, as_drawn, decider
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _grid, _grid_picture
from kcde.papers.kcef._grid import FULL, against_d, against_n, against_published_n
from kcde.seeding import rng_of

_ALL = (FULL, "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE")
_SIZES = (200, 2000)  # ends of the published range of n, both of which a decision needs
_MORE_SIZES = (200, 8000)  # the same for the amended test

_PAIRS = ((FULL, "LSCDE-F"), (FULL, "NADE"), ("KCEF-M", "LSCDE-M"), ("KCEF-M", "NADE"))
_LEVEL = 0.9  # of the way to the entropy bound
_RESAMPLES = 2000
_INTERVAL = (0.025, 0.975)


def build(artefact: Artefact, scores: pd.DataFrame, files: list) -> pd.DataFrame:
    """Return the curves against n and against d, as `kcde.papers.kcef._grid.curves` says."""
    return _grid.curves(artefact, scores, (against_n, against_d))


@dataclass(frozen=True)
class _Ratio:
    """A number of a method over that of a rival.

    Attributes
    ----------
    names
        Method and rival.
    value, low, high
        On the mean over the runs, and the ends of its bootstrap interval.
    tie
        Whether neither method reaches the level of claim K1.
    """

    names: tuple[str, str]
    value: float
    low: float
    high: float
    tie: bool = False

    def __str__(self) -> str:
        ours, theirs = self.names
        if self.tie:
            return f"{ours}/{theirs}: neither reaches it"
        return f"{ours}/{theirs} {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


class _Race(NamedTuple):
    """Who needs how many points to reach a level.

    Attributes
    ----------
    curves
        Method to its log-likelihoods, a row a run and a column an n.
    ratios
        One for each of `_PAIRS`.
    reason
        The level, the points and the ratios.
    """

    curves: dict[str, pd.DataFrame]
    ratios: list[_Ratio]
    reason: str


@decider
def kcef_converges_faster(scores: pd.DataFrame) -> Decision:
    """Decide claim K1: KCEF needs fewer training points to reach a fixed log-likelihood.

    The level lies 90% of the way from the mean over methods at the smallest n to the entropy bound;
    the points needed are read off the mean curve, which is interpolated linearly in log n. Each
    graph is compared with its counterpart and with NADE. The claim holds if the 95% bootstrap
    interval over runs of every ratio lies below 1, and fails if a ratio is at least 1. It is
    undecided if an interval contains 1 or neither method reaches the level.

    The amended test has n up to 8000. Where neither method of a pair reaches the level, the pair is
    decided by the gaps to the entropy bound, paired over the runs: KCEF's must be smaller by more
    than two standard errors at every n, and the claim fails if it is larger by as much at any.
    """
    race = _race(scores, against_published_n, _SIZES)
    outcomes = [_outcome(ratio) for ratio in race.ratios]
    return Decision(_verdict(outcomes), race.reason, amended=_with_more_points(scores))


def _race(scores: pd.DataFrame, view: Callable, sizes: tuple[int, int]) -> _Race:
    curves = _grid.completed(scores, view, _ALL, sizes, at_least=2)
    n = curves["NADE"].columns.to_numpy()
    bound = float(view(scores, _grid.EXACT, "entropy").reindex(columns=n).mean().mean())
    if math.isnan(bound):
        raise Missing("no exact entropy of the grid data at d = 3")
    start = float(np.mean([curve.iloc[:, 0].mean() for curve in curves.values()]))
    level = start + _LEVEL * (bound - start)
    needed = _points_needed(curves, n, level)
    ratios = [_ratio(names, needed) for names in _PAIRS]
    reason = (
        f"level {level:.3f} nats, 90% of the way from {start:.3f} (all methods at n = {n[0]}) "
        f"to the bound {bound:.3f}; points needed: "
        + ", ".join(f"{name} {_in_words(found[0], n)}" for name, found in needed.items())
        + f"; ratios with 95% bootstrap intervals: {', '.join(map(str, ratios))}"
        + _grid.left_out(scores, view, _ALL, len(curves["NADE"]))
    )
    return _Race(curves, ratios, reason)


def _outcome(ratio: _Ratio) -> int:
    """Return 1 where KCEF needs fewer points, -1 where the rival does, 0 where it is open."""
    if ratio.tie:
        return 0
    return 1 if ratio.high < 1 else -int(ratio.value >= 1)


def _verdict(outcomes: Sequence[int]) -> str:
    if all(outcome > 0 for outcome in outcomes):
        return "holds"
    return "fails" if min(outcomes) < 0 else "undecided"


def _with_more_points(scores: pd.DataFrame) -> Decision | None:
    """Return the decision of K1 by the amended test, None without the scores that it needs."""
    try:
        race = _race(scores, against_n, _MORE_SIZES)
    except Missing:
        return None
    outcomes, gaps = [], []
    for ratio in race.ratios:
        outcome = _outcome(ratio)
        if ratio.tie:
            outcome, words = _smaller_gap(*(race.curves[name] for name in ratio.names))
            gaps.append(f"{'/'.join(ratio.names)} {words}")
        outcomes.append(outcome)
    reason = race.reason
    if gaps:
        reason += f"; how much smaller the gap to the bound is, at every n: {', '.join(gaps)}"
    return Decision(_verdict(outcomes), reason)


def _smaller_gap(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[int, str]:
    """Return whether our gap to the bound is smaller at every n, as `_outcome`, and the numbers.

    The bound is the same for both, so that gaps differ as log-likelihoods do.
    """
    each = {n: mean_and_stderr((ours[n] - theirs[n]).to_numpy()) for n in ours}
    words = ", ".join(f"{n}: {mean:+.4f} ± {stderr:.4f}" for n, (mean, stderr) in each.items())
    if all(mean > 2 * stderr for mean, stderr in each.values()):
        return 1, f"({words})"
    return -int(any(mean < -2 * stderr for mean, stderr in each.values())), f"({words})"


def _points_needed(
    curves: dict[str, pd.DataFrame], sizes: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Return the points that each method needs: on all runs first, then on resampled ones."""
    draws = _draws(len(curves["NADE"]))
    return {
        name: _points_to(curve.to_numpy()[draws].mean(axis=1), sizes, level)
        for name, curve in curves.items()
    }


def _draws(runs: int) -> np.ndarray:
    """Return the runs of each mean, a row each: all of them first, then resampled ones."""
    resampled = rng_of("bootstrap", "kcef", "K1").integers(runs, size=(_RESAMPLES, runs))
    return np.vstack([np.arange(runs), resampled])


def _points_to(curves: np.ndarray, sizes: np.ndarray, level: float) -> np.ndarray:
    """Return where each row first reaches a level, infinite where it does not."""
    above = curves >= level
    at = np.argmax(above, axis=1)
    before = np.maximum(at - 1, 0)
    low, high = (np.take_along_axis(curves, k[:, None], axis=1)[:, 0] for k in (before, at))
    # Where the first size reaches the level, there is no part to go from it.
    part = np.divide(level - low, high - low, out=np.zeros(len(at)), where=at > 0)
    points = np.exp((1 - part) * np.log(sizes)[before] + part * np.log(sizes)[at])
    return np.where(above.any(axis=1), np.where(at > 0, points, sizes[0]), math.inf)


def _ratio(names: tuple[str, str], needed: dict[str, np.ndarray]) -> _Ratio:
    ours, theirs = (needed[name] for name in names)
    neither = np.isinf(ours) & np.isinf(theirs)
    # Where neither reaches the level, the ratio is 1: it favours neither method.
    ratios = np.where(neither, 1.0, ours) / np.where(neither, 1.0, theirs)
    return _ratio_of(names, ratios, tie=bool(neither[0]))


def _ratio_of(names: tuple[str, str], ratios: np.ndarray, tie: bool = False) -> _Ratio:
    """Return the first ratio with the interval of the resampled others."""
    low, high = np.quantile(ratios[1:], _INTERVAL, method="inverted_cdf")  # may be infinite
    return _Ratio(names, float(ratios[0]), float(low), float(high), tie)


def _in_words(points: float, sizes: np.ndarray) -> str:
    if math.isinf(points):
        return f"more than {sizes[-1]}"
    return f"at most {sizes[0]}" if points <= sizes[0] else f"{points:.0f}"


def read_speed(scores: pd.DataFrame) -> dict[str, dict[str, Decision]]:
    """Decide claim K1 by the points to a level, and by how much the gap to the bound shrinks."""
    return {
        "K1": {
            "points to a level": kcef_converges_faster(scores),
            "shrinkage of the gap": gap_shrinks_faster(scores),
        }
    }


@decider
def gap_shrinks_faster(scores: pd.DataFrame) -> Decision:
    """Decide claim K1 by speed alone: KCEF's gap to the entropy bound shrinks by a larger factor.

    The factor is the mean gap at n = 200 over that at n = 2000, infinite where the latter is not
    positive. Each graph is compared with its counterpart and with NADE. The claim holds if the 95%
    bootstrap interval over runs of every ratio of two factors lies above 1, fails if a ratio is at
    most 1, and is undecided otherwise. The amended test has n = 8000 in place of 2000.
    """
    return replace(
        _shrinkage(scores, against_published_n, _SIZES),
        amended=decider(_shrinkage)(scores, against_n, _MORE_SIZES),
    )


def _shrinkage(scores: pd.DataFrame, view: Callable, sizes: tuple[int, int]) -> Decision:
    curves = _grid.completed(scores, view, _ALL, sizes, at_least=2)
    bound = view(scores, _grid.EXACT, "entropy").reindex(columns=list(sizes)).mean()
    if bound.isna().any():
        raise Missing("no exact entropy of the grid data at d = 3")
    draws = _draws(len(curves["NADE"]))
    factors = {
        name: _factor(*((bound[n] - curve[n]).to_numpy()[draws].mean(axis=1) for n in sizes))
        for name, curve in curves.items()
    }
    ratios = [_factors_ratio(names, factors) for names in _PAIRS]
    outcomes = [1 if each.low > 1 else -int(each.value <= 1) for each in ratios]
    reason = (
        f"gap to the bound at n = {sizes[0]} over that at n = {sizes[1]}: "
        + ", ".join(f"{name} {found[0]:.1f}" for name, found in factors.items())
        + f"; ratios with 95% bootstrap intervals: {', '.join(map(str, ratios))}"
        + _grid.left_out(scores, view, _ALL, len(curves["NADE"]))
    )
    return Decision(_verdict(outcomes), reason)


def _factor(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return by what factors mean gaps shrink."""
    closed = last <= 0
    return np.where(closed, math.inf, first / np.where(closed, 1.0, last))


def _factors_ratio(names: tuple[str, str], factors: dict[str, np.ndarray]) -> _Ratio:
    ours, theirs = (factors[name] for name in names)
    both = np.isinf(ours) & np.isinf(theirs)
    # Where both gaps are closed, the ratio is 1: it favours neither method.
    return _ratio_of(names, np.where(both, 1.0, ours) / np.where(both, 1.0, theirs))


@decider
def markov_beats_full(scores: pd.DataFrame) -> Decision:
    """Decide claim K2: the mean over n of loglik(M) - loglik(F) exceeds two standard errors.

    Of KCEF and of LSCDE, over the runs.
    """
    graphs = {"KCEF": (FULL, "KCEF-M"), "LSCDE": ("LSCDE-F", "LSCDE-M")}
    names = [name for pair in graphs.values() for name in pair]
    curves = _grid.completed(scores, against_published_n, names, _SIZES, at_least=2)
    held, parts = [], []
    for method, (full, markov) in graphs.items():
        gain = (curves[markov] - curves[full]).mean(axis=1).to_numpy()
        mean, stderr = mean_and_stderr(gain)
        held.append(mean > 2 * stderr)
        parts.append(f"{method} {mean:.4f} (standard error {stderr:.4f})")
    reason = f"mean over n of loglik(M) - loglik(F), {len(gain)} runs: {', '.join(parts)}"
    reason += _grid.left_out(scores, against_published_n, names, len(gain))
    return Decision("holds" if all(held) else "fails", reason)


@decider
def nade_needs_data(scores: pd.DataFrame) -> Decision:
    """Decide claim K3: NADE's gap to the best method is significant at n = 200 and then closes.

    At n = 200 it exceeds two standard errors, and at n = 2000 it is less than a third of that gap.
    The best is the method other than NADE with the highest mean at that n.
    """
    curves = _grid.completed(scores, against_published_n, _ALL, _SIZES, at_least=2)
    others = [name for name in _ALL if name != "NADE"]
    gaps, parts = [], []
    for n in _SIZES:
        best = max(others, key=lambda name: curves[name][n].mean())
        gaps.append(mean_and_stderr((curves[best][n] - curves["NADE"][n]).to_numpy()))
        mean, stderr = gaps[-1]
        parts.append(f"{mean:.4f} at n = {n} (standard error {stderr:.4f}; best {best})")
    (small, small_se), (large, _) = gaps
    reason = f"gap of NADE to the best in nats: {', '.join(parts)}"
    reason += _grid.left_out(scores, against_published_n, _ALL, len(curves["NADE"]))
    return Decision("holds" if small > 2 * small_se and large < small / 3 else "fails", reason)


@decider
def full_kcef_like_lscde(scores: pd.DataFrame) -> Decision:
    """Decide claim K4: KCEF-F minus LSCDE-F is positive for d <= 5, not below -25% beyond.

    As a fraction of the attainable dependence.
    """
    fraction, reason = _grid.difference_in_dependence(scores, FULL, "LSCDE-F")
    fraction = fraction.mean()
    small, large = fraction[fraction.index <= 5], fraction[fraction.index > 5]
    return Decision("holds" if (small > 0).all() and (large >= -0.25).all() else "fails", reason)


@decider
def nade_like_full(scores: pd.DataFrame, full: str = FULL) -> Decision:
    """Decide claim K5: NADE is within 50% of KCEF-F at every d, and below it at the largest.

    As a fraction of the attainable dependence. Another method on the full graph may be given.
    """
    fraction, reason = _grid.difference_in_dependence(scores, "NADE", full)
    fraction = fraction.mean()
    held = (fraction.abs() <= 0.5).all() and fraction.iloc[-1] < 0
    return Decision("holds" if held else "fails", reason)


@decider
def full_like_markov(scores: pd.DataFrame, full: str = FULL, markov: str = "KCEF-M") -> Decision:
    """Decide claim K13: KCEF-M minus KCEF-F is below 25% of the attainable dependence at any d.

    Both graphs of another method may be given.
    """
    fraction, reason = _grid.difference_in_dependence(scores, markov, full)
    return Decision("holds" if (fraction.mean() < 0.25).all() else "fails", reason)


_DECIDERS = {
    "K1": kcef_converges_faster,
    "K2": markov_beats_full,
    "K3": nade_needs_data,
    "K4": full_kcef_like_lscde,
    "K5": nade_like_full,
    "K13": full_like_markov,
}

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "joint": {
            "datasets": [
                "grid-200",
                "grid-400",
                "grid-700",
                "grid-1000",
                "grid-1400",
                "grid-2000",
                "grid-4000",
                "grid-8000",
            ],
            "methods": ["KCEF-F-anisotropic", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE", "exact"],
        }
    },
    build=build,
    draw=_grid_picture.draw,
    deciders=_DECIDERS,
    # Other numbers of rows: fig1-rows.
    readers={"K-rows": as_drawn(_DECIDERS), "K-speed": read_speed},
    trial="run",
    remarks=_grid.remarks,
)
