"""Densities fitted to points in the plane, all in the units of the points.

Score matching needs unit scale, for its base density N(0, 2²) and its grid of bandwidths: its
estimators see standardised points, and what they give is mapped back. Doubly dual embedding learns
its base density and bandwidth from the data and takes them as they are, as the authors' code does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kcde.arrays import asarray, to_numpy
from kcde.estimators import Standardised
from kcde.experiments._samplers import Draws, sampler_kind, sampler_of
from kcde.experiments.jobs.planar import LEAPFROG_STEPS
from kcde.normalisers import logsumexp
from kcde.panels import panel_nodes

_FEWEST_PANELS = 4
_MOST_PANELS = 64
_TOLERANCE = 1e-6


@dataclass(frozen=True)
class LogZ:
    """Log of a normaliser, how it was computed, and its error in nats.

    The error is the standard error of "importance", the last change of "quadrature".
    """

    value: float
    method: str
    error: float


@dataclass(frozen=True)
class PlanarModel:
    """A fitted estimator without x, and the units that it was given.

    Attributes
    ----------
    estimator
        Fitted to (y - mean)/std.
    mean, std
        Shape (2,).
    train
        The points themselves, shape (n, 2).
    backend
        Backend of the estimator, "numpy" or "cupy"; all other arrays here are on the host.
    """

    estimator: object
    mean: np.ndarray
    std: np.ndarray
    train: np.ndarray
    backend: str = "numpy"

    def draw(self, n: int, rng: np.random.Generator, method: str) -> Draws:
        """Draw points by Hamiltonian Monte Carlo, or directly where an estimator has no other way.

        Parameters
        ----------
        n
            Number of points.
        rng
            Source of the draws.
        method
            Name in the scores, which may ask for a sampler (`samplers.sampler_kind`), and for
            longer trajectories (`jobs.planar.LEAPFROG_STEPS`).
        """
        kind = sampler_kind(self.estimator, method)
        more = {"leapfrog_steps": LEAPFROG_STEPS[method]} if method in LEAPFROG_STEPS else {}
        draws = sampler_of(self.estimator, kind, self._scaled(self.train), n, **more)(n, rng)
        return draws._replace(samples=self.mean + self.std * draws.samples)

    def log_density(self, Y: np.ndarray) -> np.ndarray:
        """Return the log density, nats, shape (n,), of points (n, 2)."""
        return self._log_unnormalised(Y) - self.log_z.value

    def natural_parameter(self, Y: np.ndarray) -> np.ndarray | None:
        """Return f, shape (n,), at points (n, 2); None of an estimator that does not show it."""
        if not hasattr(self.estimator, "natural_parameter"):
            return None
        return to_numpy(self.estimator.natural_parameter(None, self._scaled(Y)))

    def draw_snapshot(self, iteration: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n points, shape (n, 2), of the sampler as it was at an iteration."""
        drawn = self.estimator.sample_snapshot(iteration, None, n, rng)
        return self.mean + self.std * to_numpy(drawn)[0]

    @cached_property
    def log_z(self) -> LogZ:
        """Normaliser: by quadrature on the box of a uniform base, else as estimated."""
        if getattr(self.estimator, "base", None) == "uniform":
            return box_quadrature(
                self._log_unnormalised, self.train.min(axis=0), self.train.max(axis=0)
            )
        no_x = asarray(np.empty((1, 0)), self.backend)
        found = self.estimator.log_normaliser(no_x, method="importance")
        # That of the scaled points: the Jacobian is in the density already.
        return LogZ(float(found.log_z[0]), "importance", found.mean_stderr)

    def _log_unnormalised(self, Y: np.ndarray) -> np.ndarray:
        return to_numpy(self.estimator.log_unnormalized(None, self._scaled(Y))) - self._log_scale

    def _scaled(self, Y: np.ndarray):
        return asarray((Y - self.mean) / self.std, self.backend)

    @property
    def _log_scale(self) -> float:
        return float(np.sum(np.log(self.std)))


def fit(estimator, train: np.ndarray, backend: str = "numpy") -> PlanarModel:
    """Fit an estimator to standardised points.

    Parameters
    ----------
    estimator
        Unfitted.
    train
        Shape (n, 2).
    backend
        "numpy" or "cupy".
    """
    fitted = Standardised(estimator).fit(None, asarray(train, backend))
    return PlanarModel(fitted.estimator_, fitted.mean_y_, fitted.std_y_, train, backend)


def fit_many(estimators: Sequence, trains: Sequence[np.ndarray]) -> list:
    """Fit estimators of one class with a `fit_many`, in one program, each to points as they are.

    Parameters
    ----------
    estimators
        Unfitted.
    trains
        Shapes (n, 2).

    Returns
    -------
    list
        PlanarModel, or the error in its place.
    """
    without_x = [None] * len(trains)
    outcomes = type(estimators[0]).fit_many(estimators, without_x, trains, return_errors=True)
    return [
        outcome
        if isinstance(outcome, Exception)
        else PlanarModel(outcome, np.zeros(2), np.ones(2), train)
        for outcome, train in zip(outcomes, trains, strict=True)
    ]


def box_quadrature(log_f, lower: np.ndarray, upper: np.ndarray) -> LogZ:
    """Integrate over a rectangle by the product Gauss-Legendre rule, refined until it converges.

    Parameters
    ----------
    log_f
        Maps points (n, 2) to (n,).
    lower, upper
        Corners, shape (2,).

    Returns
    -------
    LogZ
        Its error is the last change under doubling of the panels of each side.
    """
    value, change, panels = -np.inf, np.inf, _FEWEST_PANELS
    while not change <= _TOLERANCE and panels <= _MOST_PANELS:
        before, value = value, _product_rule(log_f, lower, upper, panels)
        change, panels = abs(value - before), 2 * panels
    return LogZ(value, "quadrature", change)


def _product_rule(log_f, lower, upper, panels: int) -> float:
    (x, x_weight), (y, y_weight) = (
        panel_nodes(*ends, panels) for ends in zip(lower, upper, strict=True)
    )
    log_rows = [
        logsumexp(log_f(np.column_stack([np.full_like(y, each), y])) + np.log(y_weight), axis=0)
        for each in x
    ]
    return float(logsumexp(np.array(log_rows) + np.log(x_weight), axis=0))
