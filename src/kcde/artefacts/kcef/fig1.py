"""kcef figure 1: log-likelihood on the grid data, and claims K1 to K5 and K13."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import mean_and_stderr
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.kcef import _grid, _grid_picture
from kcde.artefacts.kcef._grid import against_d, against_n
from kcde.seeding import rng_of

_CAPTION = (
    "Mean log-likelihood of test points under densities fitted to made-up data: (a) against the "
    "number n of training points, three dimensions; (b) per dimension against the dimension d, at "
    "the largest n. Black: the exact entropy bound, and the best without dependence. The paper "
    "concludes that KCEF converges faster in n, the Markov graph (M) improves on the full one (F) "
    "and NADE drops at small n (claims K1 to K3); K4, K5, K13 compare methods as d grows."
)

_ALL = ("KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE")
_SIZES = (200, 2000)  # ends of the published range of n, both of which a decision needs

_PAIRS = (("KCEF-F", "LSCDE-F"), ("KCEF-F", "NADE"), ("KCEF-M", "LSCDE-M"), ("KCEF-M", "NADE"))
_LEVEL = 0.9  # of the way to the entropy bound
_RESAMPLES = 2000
_INTERVAL = (0.025, 0.975)


def build(artefact: Artefact, scores: pd.DataFrame, files: list) -> pd.DataFrame:
    """Return the curves against n and against d, as `kcde.artefacts.kcef._grid.curves` says."""
    return _grid.curves(artefact, scores, (against_n, against_d))


@dataclass(frozen=True)
class _PointsRatio:
    """Training points that a method needs over those that a rival needs.

    Attributes
    ----------
    names
        Method and rival.
    value, low, high
        On the mean over the runs, and the ends of its bootstrap interval.
    tie
        Whether neither reaches the level.
    """

    names: tuple[str, str]
    value: float
    low: float
    high: float
    tie: bool

    def __str__(self) -> str:
        ours, theirs = self.names
        if self.tie:
            return f"{ours}/{theirs}: neither reaches it"
        return f"{ours}/{theirs} {self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@decider
def kcef_converges_faster(scores: pd.DataFrame) -> Decision:
    """Decide claim K1: KCEF needs fewer training points to reach a fixed log-likelihood.

    The level lies 90% of the way from the mean over methods at the smallest n to the entropy bound;
    the points needed are read off the mean curve, which is interpolated linearly in log n. Each
    graph is compared with its counterpart and with NADE. The claim holds if the 95% bootstrap
    interval over runs of every ratio lies below 1, and fails if a ratio is at least 1. It is
    undecided if an interval contains 1 or neither method reaches the level.
    """
    curves = _grid.completed(scores, against_n, _ALL, _SIZES, at_least=2)
    sizes = curves["NADE"].columns.to_numpy()
    exact = against_n(scores, _grid.EXACT, "entropy").reindex(columns=sizes)
    bound = float(exact.mean().mean())
    if math.isnan(bound):
        raise Missing("no exact entropy of the grid data at d = 3")
    start = float(np.mean([curve.iloc[:, 0].mean() for curve in curves.values()]))
    level = start + _LEVEL * (bound - start)
    needed = _points_needed(curves, sizes, level)
    ratios = [_ratio(names, needed) for names in _PAIRS]
    reason = (
        f"level {level:.3f} nats, 90% of the way from {start:.3f} (all methods at n = {sizes[0]}) "
        f"to the bound {bound:.3f}; points needed: "
        + ", ".join(f"{name} {_in_words(found[0], sizes)}" for name, found in needed.items())
        + f"; ratios with 95% bootstrap intervals: {', '.join(map(str, ratios))}"
        + _grid.left_out(scores, against_n, _ALL, len(curves["NADE"]))
    )
    if all(ratio.high < 1 for ratio in ratios):
        return Decision("holds", reason)
    lost = any(ratio.value >= 1 and not ratio.tie for ratio in ratios)
    return Decision("fails" if lost else "undecided", reason)


def _points_needed(
    curves: dict[str, pd.DataFrame], sizes: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Return the points that each method needs: on all runs first, then on resampled ones."""
    runs = len(curves["NADE"])
    resampled = rng_of("bootstrap", "kcef", "K1").integers(runs, size=(_RESAMPLES, runs))
    draws = [np.arange(runs), *resampled]
    return {
        name: np.array([_points_to(curve.to_numpy()[d].mean(axis=0), sizes, level) for d in draws])
        for name, curve in curves.items()
    }


def _points_to(curve: np.ndarray, sizes: np.ndarray, level: float) -> float:
    """Return where a mean curve first reaches a level, infinite where it does not."""
    above = np.flatnonzero(curve >= level)
    if not len(above):
        return math.inf
    k = above[0]
    if k == 0:
        return float(sizes[0])
    part = (level - curve[k - 1]) / (curve[k] - curve[k - 1])
    return float(np.exp((1 - part) * np.log(sizes[k - 1]) + part * np.log(sizes[k])))


def _ratio(names: tuple[str, str], needed: dict[str, np.ndarray]) -> _PointsRatio:
    ours, theirs = (needed[name] for name in names)
    neither = np.isinf(ours) & np.isinf(theirs)
    # Where neither reaches the level, the ratio is 1: it favours neither method.
    ratios = np.where(neither, 1.0, np.where(neither, 1.0, ours) / np.where(neither, 1.0, theirs))
    low, high = np.quantile(ratios[1:], _INTERVAL, method="inverted_cdf")  # may be infinite
    return _PointsRatio(names, float(ratios[0]), float(low), float(high), bool(neither[0]))


def _in_words(points: float, sizes: np.ndarray) -> str:
    if math.isinf(points):
        return f"more than {sizes[-1]}"
    return f"at most {sizes[0]}" if points <= sizes[0] else f"{points:.0f}"


@decider
def markov_beats_full(scores: pd.DataFrame) -> Decision:
    """Decide claim K2: the mean over n of loglik(M) - loglik(F) exceeds two standard errors.

    Of KCEF and of LSCDE, over the runs.
    """
    names = ("KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M")
    curves = _grid.completed(scores, against_n, names, _SIZES, at_least=2)
    held, parts = [], []
    for method in ("KCEF", "LSCDE"):
        gain = (curves[f"{method}-M"] - curves[f"{method}-F"]).mean(axis=1).to_numpy()
        mean, stderr = mean_and_stderr(gain)
        held.append(mean > 2 * stderr)
        parts.append(f"{method} {mean:.4f} (standard error {stderr:.4f})")
    reason = f"mean over n of loglik(M) - loglik(F), {len(gain)} runs: {', '.join(parts)}"
    reason += _grid.left_out(scores, against_n, names, len(gain))
    return Decision("holds" if all(held) else "fails", reason)


@decider
def nade_needs_data(scores: pd.DataFrame) -> Decision:
    """Decide claim K3: NADE's gap to the best method is significant at n = 200 and then closes.

    At n = 200 it exceeds two standard errors, and at n = 2000 it is less than a third of that gap.
    The best is the method other than NADE with the highest mean at that n.
    """
    curves = _grid.completed(scores, against_n, _ALL, _SIZES, at_least=2)
    others = [name for name in _ALL if name != "NADE"]
    gaps, parts = [], []
    for n in _SIZES:
        best = max(others, key=lambda name: curves[name][n].mean())
        gaps.append(mean_and_stderr((curves[best][n] - curves["NADE"][n]).to_numpy()))
        mean, stderr = gaps[-1]
        parts.append(f"{mean:.4f} at n = {n} (standard error {stderr:.4f}; best {best})")
    (small, small_se), (large, _) = gaps
    reason = f"gap of NADE to the best in nats: {', '.join(parts)}"
    reason += _grid.left_out(scores, against_n, _ALL, len(curves["NADE"]))
    return Decision("holds" if small > 2 * small_se and large < small / 3 else "fails", reason)


@decider
def full_kcef_like_lscde(scores: pd.DataFrame) -> Decision:
    """Decide claim K4: KCEF-F minus LSCDE-F is positive for d <= 5, not below -25% beyond.

    As a fraction of the attainable dependence.
    """
    fraction, reason = _grid.difference_in_dependence(scores, "KCEF-F", "LSCDE-F")
    fraction = fraction.mean()
    small, large = fraction[fraction.index <= 5], fraction[fraction.index > 5]
    return Decision("holds" if (small > 0).all() and (large >= -0.25).all() else "fails", reason)


@decider
def nade_like_full(scores: pd.DataFrame) -> Decision:
    """Decide claim K5: NADE is within 50% of KCEF-F at every d, and below it at the largest.

    As a fraction of the attainable dependence.
    """
    fraction, reason = _grid.difference_in_dependence(scores, "NADE", "KCEF-F")
    fraction = fraction.mean()
    held = (fraction.abs() <= 0.5).all() and fraction.iloc[-1] < 0
    return Decision("holds" if held else "fails", reason)


@decider
def full_like_markov(scores: pd.DataFrame) -> Decision:
    """Decide claim K13: KCEF-M minus KCEF-F is below 25% of the attainable dependence at any d."""
    fraction, reason = _grid.difference_in_dependence(scores, "KCEF-M", "KCEF-F")
    return Decision("holds" if (fraction.mean() < 0.25).all() else "fails", reason)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="log-likelihood on the grid data",
    shows={
        "joint": {
            "datasets": ["grid-200", "grid-400", "grid-700", "grid-1000", "grid-1400", "grid-2000"],
            "methods": ["KCEF-F", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE", "exact"],
        }
    },
    caption=_CAPTION,
    details=_grid.DETAILS,
    build=build,
    draw=_grid_picture.draw,
    deciders={
        "K1": kcef_converges_faster,
        "K2": markov_beats_full,
        "K3": nade_needs_data,
        "K4": full_kcef_like_lscde,
        "K5": nade_like_full,
        "K13": full_like_markov,
    },
    trial="run",
    remarks=_grid.remarks,
)
