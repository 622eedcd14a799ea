"""Conditional second moments of Gaussian pairs (jdl, section 5.1, figures 1 to 6).

A repetition is a random correlation matrix; every method is given the same. Parameters are chosen
by the loss (40) at the validation points, which takes the *true* conditional moments there: an
oracle, as in the paper. Each combination of tolerance and constraints chooses its own.

``second_moment_loss``    (40), the mean over test points of ‖T̂(x) - T(x)‖²/‖T(x)‖², T = E[y yᵀ|x]
``normalisation_error``   the largest |E[1|x] - 1| over test points
``psd_violation_rate``    share of test points with a T̂ that is not positive semi-definite
``independence_loss``     (40) of the mean of y yᵀ over the training points, which ignores x
``canonical_correlation`` the largest of x and y: |ρ| for d = 1
``tuning_rows``           points that trained or compared the candidates

Beside them what a fit cost, in some repetitions also at one bandwidth for all methods, and what
`_low_rank.structure` finds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from kcde import metrics as names
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.data import made_up
from kcde.data.names import DRAWN_LAW, FACTORS, GAUSSIAN, LAWS, parsed_law
from kcde.experiments._embedding import REGULARIZATIONS, EmbeddingExperiment, Repetition
from kcde.experiments._low_rank import training_rows
from kcde.experiments.base import LAPTOP, PAPER, SMOKE, parameter
from kcde.methods import METHODS

TOLERANCE = 1e-3
# An eigenvalue below -ROUNDING times the largest absolute one is negative, not rounding.
ROUNDING = 1e-12

# Tolerances of the paper, each for at least so many rows.
_PUBLISHED = ((10**7, 1e-1), (10**6, 1e-2), (0, TOLERANCE))

# The second is fitted to as many points as the drawn one, for d = 1.
_OTHER_LAWS = ("normal-0.1", "normal-0.2", "normal-0.3", "normal-1", "correlation-1")

# JDL adds λ to products of two eigenvalues. With values from 1e-8, as for portfolios, 19 of 20
# fits at d = 3, n = 1e5 chose the smallest.
_REGULARIZATIONS = (1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, *REGULARIZATIONS)

# By scale, for the dimensions 1, 2, 3.
_MOST_ROWS = {SMOKE: (1000,) * 3, LAPTOP: (10**7, 10**6, 10**5), PAPER: (10**7,) * 3}
_TUNING_ROWS = {SMOKE: (200,) * 3, LAPTOP: (10**7, 10**5, 30_000), PAPER: (10**7,) * 3}

# Where a semidefinite program is slow: for these dimensions, constrained fits use the parameters
# that are best without constraints, or are those of few repetitions.
_SHARED_CHOICE = {"JPDL": (3,), "JPDL-unreduced": (1, 2)}
_SLOW = {"JPDL-unreduced": (2,)}
_SLOW_REPETITIONS = {SMOKE: 1, LAPTOP: 2, PAPER: 20}


@dataclass(frozen=True)
class Moments(EmbeddingExperiment):
    """Conditional second moments of Gaussian pairs (jdl figures 1 to 6). Needs no data."""

    name = "moments"
    datasets = tuple(f"gaussian-{d}-{10**k}" for d in (1, 2, 3) for k in range(3, 8))
    methods = ("JDL", "JPDL", "JPDL-unreduced", "CME")
    # The costs of these programs depend on the ranks, which grow with d, and not on n.
    only = {"JPDL-unreduced": (*datasets[:3], datasets[5])}
    smoke = tuple(f"gaussian-1-200{v}" for v in ("", "-laws", "-factors"))
    together = (("JDL", "CME"), ("JDL-sub-grid", "JDL-clipped"))
    sized_names = GAUSSIAN
    loss = names.SECOND_MOMENT_LOSS

    constrained_repetitions: int | None = parameter(None, "Of them with constraints.", at_least=0)
    # A method that has none is fitted once, under the tolerance 0. Those after the first, without
    # constraints, all take the factor of the tightest, whose seconds they state.
    tolerances: tuple[float, ...] = parameter((TOLERANCE,), "Relative, of the factors.")
    # Each law is fitted in turn.
    laws: tuple[str, ...] = parameter((DRAWN_LAW,), "Such as normal-0.2, uniform-1, correlation-1.")
    validation_rows: int | None = parameter(100_000, "Compare candidates, at most.", at_least=1)
    largest_factors: tuple[float, ...] = parameter((), "Largest bandwidth factors of more fits.")
    regularizations: tuple[float, ...] = parameter(_REGULARIZATIONS, "Regularizations λ to try.")

    def __post_init__(self):
        super().__post_init__()
        for law in self.laws:
            parsed_law(law)
        if self.largest_factors and min(self.largest_factors) < min(self.bandwidth_factors):
            raise ValueError("largest_factors must not be below all of bandwidth_factors")

    @classmethod
    def within(cls, scale: str, dataset: str) -> bool:
        """Return whether a data set has no more rows than a scale allows for its dimension."""
        dim, rows = GAUSSIAN.sizes(dataset)
        return rows <= _MOST_ROWS[scale][min(dim, 3) - 1]

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return the sizes that depend on the data set or the method."""
        (dim, rows), variation = GAUSSIAN.sizes(dataset), GAUSSIAN.variation(dataset)
        # Figures 2 and 4, and one tolerance for all n.
        more = (1e-3, 1e-2, 1e-1) if dim == 1 else ()
        if scale == PAPER and dim == 2 and rows <= 10**6:
            more = (1e-3,)
        if variation and rows < 10**6:
            more = ()
        published = next(tolerance for least, tolerance in _PUBLISHED if rows >= least)
        found: dict = {"tolerances": tuple(dict.fromkeys((published, *more)))}
        found["tuning_rows"] = _TUNING_ROWS[scale][min(dim, 3) - 1]
        found["matched_repetitions"] = 0 if variation else 3
        if scale == LAPTOP and rows >= 10**6:
            found["repetitions"] = 5
        if variation == LAWS:
            found["laws"] = _OTHER_LAWS if rows < 10**6 else _OTHER_LAWS[1:2]
        if variation == FACTORS:
            found["largest_factors"] = (0.5, 1.0, 2.0)
        if dim in _SHARED_CHOICE.get(method, ()) or "constrained" in METHODS[method].options:
            # A method that names its own constraints is a reading of positivity alone.
            found["choice"] = "shared"
        if dim in _SLOW.get(method, ()):
            found["constrained_repetitions"] = _SLOW_REPETITIONS[scale]
        return found

    def repetition(self, number: int, backend: str = "numpy", law: str = "") -> Repetition:
        """Return the data of a repetition under a law, by default the first."""
        dim, n = GAUSSIAN.sizes(self.dataset)
        law = law or self.laws[0]
        pairs = made_up.gaussian_random_pairs(dim, number, law)

        def loss(X, Y) -> Callable:
            true = pairs.conditional_second_moment(to_numpy(X))
            true, xp = asarray(true, backend), array_namespace(Y)
            return lambda found: xp.mean(names.relative_errors(found, true))

        rows = made_up.gaussian_training_pairs(pairs, n, number)
        rows += made_up.gaussian_held_out_pairs(pairs, number, self.test_rows)
        placed = (asarray(each, backend) for each in rows)
        return Repetition(number, backend, *placed, second_moments_and_one, loss, pairs, law)

    def under_each_law(self, number: int, backend: str) -> Iterator[Repetition]:
        """Yield the data of a repetition under each law."""
        return (self.repetition(number, backend, law) for law in self.laws)

    def judged(self, given: Repetition, values: np.ndarray) -> list[tuple]:
        """Judge the expectations of `second_moments_and_one` at the test points."""
        d = given.source.dim
        true = given.source.conditional_second_moment(to_numpy(given.X_test))
        second, mass = values[:, :-1].reshape(-1, d, d), values[:, -1] - 1.0
        error = names.relative_errors(second, true)
        eigenvalues = np.linalg.eigvalsh(second)
        largest = np.abs(eigenvalues).max(axis=1)
        smallest = eigenvalues[:, 0] / np.where(largest > 0.0, largest, 1.0)
        xp, n = array_namespace(given.Y), given.Y.shape[0]
        rows = second_moments_and_one(given.Y[: training_rows(n), :])
        ignoring = np.repeat(to_numpy(xp.mean(rows, axis=0)[None, :]), len(true), axis=0)
        return [
            (names.SECOND_MOMENT_LOSS, float(error.mean()), ""),
            (names.NORMALISATION_ERROR, float(np.abs(mass).max()), ""),
            (names.PSD_VIOLATION_RATE, float(np.mean(smallest < -ROUNDING)), ""),
            (names.INDEPENDENCE_LOSS, float(names.relative_errors(ignoring, true).mean()), ""),
            (names.CANONICAL_CORRELATION, given.source.canonical_correlation, ""),
            (names.TUNING_ROWS, float(min(n, self.tuning_rows or n)), "rows"),
        ]


def second_moments_and_one(Y):
    """Return the products of the entries of y and then 1, shape (k, d² + 1), for Y (k, d)."""
    xp = array_namespace(Y)
    products = xp.reshape(Y[:, :, None] * Y[:, None, :], (Y.shape[0], -1))
    return xp.concat([products, xp.ones((Y.shape[0], 1), dtype=Y.dtype)], axis=1)
