"""Claim K1 of kcef: how many training points each method needs on the grid data."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.deciding import Missing, decider
from kcde.artefacts.kcef._grid import EXACT, against_n
from kcde.artefacts.kcef._grid_pairs import ALL, SIZES, left_out, paired
from kcde.seeding import rng_of

_RIVALS = (("KCEF-F", "LSCDE-F"), ("KCEF-F", "NADE"), ("KCEF-M", "LSCDE-M"), ("KCEF-M", "NADE"))
_SHARE = 0.9
_RESAMPLES = 2000
_INTERVAL = (0.025, 0.975)


@dataclass(frozen=True)
class _Race:
    """Points that one method needs as a ratio to what a rival needs.

    Attributes
    ----------
    names
        Method and rival.
    ratio, low, high
        On the mean over the runs, and the ends of its bootstrap interval.
    tie
        Whether neither reaches the level.
    """

    names: tuple[str, str]
    ratio: float
    low: float
    high: float
    tie: bool

    def __str__(self) -> str:
        ours, theirs = self.names
        if self.tie:
            return f"{ours}/{theirs}: neither reaches it"
        return f"{ours}/{theirs} {self.ratio:.2f} [{self.low:.2f}, {self.high:.2f}]"


@decider
def kcef_converges_faster(scores: pd.DataFrame) -> Decision:
    """Decide claim K1: KCEF needs fewer training points to reach a fixed log-likelihood.

    The level lies 90% of the way from the mean over methods at the smallest n to the entropy bound;
    the points needed are read off the mean curve, linear in log n between the sizes. Each graph
    stands against its counterpart and NADE. It holds if the 95% bootstrap interval over
    runs of every ratio of points lies below 1, and fails if a ratio does not.

    Parameters
    ----------
    scores
        Of the experiment `joint` on the grid data.

    Returns
    -------
    Decision
        `undecided` also where an interval contains 1, or where neither method reaches the level.
    """
    curves = paired(scores, against_n, ALL, SIZES, at_least=2)
    sizes = curves["NADE"].columns.to_numpy()
    bound = float(against_n(scores, EXACT, "entropy").reindex(columns=sizes).mean().mean())
    if math.isnan(bound):
        raise Missing("no exact entropy of the grid data at d = 3")
    start = float(np.mean([curve.iloc[:, 0].mean() for curve in curves.values()]))
    level = start + _SHARE * (bound - start)
    needed = _needed(curves, sizes, level)
    races = [_race(names, needed) for names in _RIVALS]
    reason = (
        f"level {level:.3f} nats, 90% of the way from {start:.3f} (all methods at n = {sizes[0]}) "
        f"to the bound {bound:.3f}; points needed: "
        + ", ".join(f"{name} {_count(found[0], sizes)}" for name, found in needed.items())
        + f"; ratios with 95% bootstrap intervals: {', '.join(map(str, races))}"
        + left_out(scores, against_n, ALL, len(curves["NADE"]))
    )
    if all(race.high < 1 for race in races):
        return Decision("holds", reason)
    lost = any(race.ratio >= 1 and not race.tie for race in races)
    return Decision("fails" if lost else "undecided", reason)


def _needed(
    curves: dict[str, pd.DataFrame], sizes: np.ndarray, level: float
) -> dict[str, np.ndarray]:
    """Return the points each method needs: on all runs first, then on resampled ones."""
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


def _race(names: tuple[str, str], needed: dict[str, np.ndarray]) -> _Race:
    ours, theirs = (needed[name] for name in names)
    neither = np.isinf(ours) & np.isinf(theirs)
    # Where neither reaches the level nothing speaks for either: 1.
    ratios = np.where(neither, 1.0, np.where(neither, 1.0, ours) / np.where(neither, 1.0, theirs))
    low, high = np.quantile(ratios[1:], _INTERVAL, method="inverted_cdf")  # may be infinite
    return _Race(names, float(ratios[0]), float(low), float(high), bool(neither[0]))


def _count(points: float, sizes: np.ndarray) -> str:
    if math.isinf(points):
        return f"more than {sizes[-1]}"
    return f"at most {sizes[0]}" if points <= sizes[0] else f"{points:.0f}"
