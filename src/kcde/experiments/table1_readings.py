"""KCEF under every reading of the grid that kcef, table 1, leaves open.

A module of its own, so that an edit of KCEF changes the digest of no other method on the R sets.
"""

from dataclasses import dataclass
from math import log10
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.estimators import Standardised
from kcde.estimators._kcef.selection import ScoreGrid, choose_from_grids
from kcde.experiments.base import Outcome, attempt
from kcde.experiments.r_benchmark import RBenchmark
from kcde.metrics import NLL, NLL_QUADRATURE


class Reading(NamedTuple):
    """A grid of σ and λ, by its ends, and the folds that judge it (`readings.csv`, K-grid)."""

    sigma: tuple[float, float]
    regularization: tuple[float, float]
    folds: int

    def __str__(self) -> str:
        # The ends of λ are powers of ten.
        least, most = self.regularization
        return f"{self.sigma_range}; 1e{round(log10(least))}-{most:g}; {self.folds} folds"

    @property
    def sigma_range(self) -> str:
        """The range of σ in words, as `0.2-8`."""
        return f"{self.sigma[0]:g}-{self.sigma[1]:g}"

    def grid(self) -> ScoreGrid:
        """Return its candidates, 20 of σ and of λ as the paper states."""
        ends = self.sigma, self.regularization
        return ScoreGrid(*(np.geomspace(*each, 20) for each in ends), self.folds)


READINGS = tuple(
    Reading(sigma, (least, 1.0), folds)
    for sigma in ((0.1, 10.0), (0.2, 8.0), (0.5, 5.0), (1.0, 10.0))
    for least in (1e-6, 1e-5, 1e-4, 1e-3)
    for folds in (5, 10)
)
# The reading of the other experiments, `KCEF.selection_rule`.
DRAWN = Reading((0.2, 8.0), (1e-5, 1.0), 5)


@dataclass(frozen=True)
class Table1Readings(RBenchmark):
    """KCEF under every reading of the grid of kcef, table 1; no arrays.

    The paper states a 20 × 20 grid over λ and one σ, and neither its ranges nor the folds. What the
    grids share is computed once a split: the scores of all σ, λ and folds, and the fit of each pair
    that any reading chooses.
    """

    name = "table1_readings"
    methods = ("KCEF",)
    calibrated = False

    def outcome(self, split: int) -> Outcome:
        """Choose under every reading, and fit and score each chosen pair once."""
        choices, seconds = attempt(self._choices, split)
        if isinstance(choices, Exception):
            choices = [choices] * len(READINGS)
        scored: dict[object, list[dict]] = {}
        rows = []
        for reading, choice in zip(READINGS, choices, strict=True):
            failed = isinstance(choice, Exception)
            # Values of two grids may differ by rounding.
            key = f"{choice}" if failed else tuple(f"{value:.9g}" for value in choice)
            if key not in scored:
                fitted = attempt(lambda given: self.fit(split, **given._asdict()), choice)
                scored[key] = self.scored(split, *fitted).rows
            kept = (row for row in scored[key] if row["metric"] in (NLL, NLL_QUADRATURE))
            rows += [row | {"setting": scores.setting(**reading._asdict())} for row in kept]
        share = seconds / len(rows)
        return Outcome([row | {"seconds": row.get("seconds", 0.0) + share} for row in rows])

    def _choices(self, split: int) -> list:
        """Return for each reading its choice, or the error in its place."""
        model = Standardised(self.unfitted(split))
        scaled = model._learn_scales(*self.halves(split)[0])
        return choose_from_grids(model.estimator, *scaled, [each.grid() for each in READINGS])
