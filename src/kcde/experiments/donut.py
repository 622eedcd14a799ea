"""Conditional densities of the Gaussian donut at two x: cdo, figure 4, as published and corrected.

As published the error of an estimate p̂(y|x) is its mean absolute difference to the *joint* density
p(x, y) over points drawn uniformly from [-2, 2]², the authors' code has it so; corrected, to the
conditional density. Both are scored, and so is what 0 and the exact conditional would score. As
published a Gaussian process is its mean with a spread of 1 (`UnitVarianceGaussian`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.data import made_up
from kcde.data.names import DONUT
from kcde.estimators import CDO
from kcde.experiments._conditional import COMPARED, Conditional
from kcde.experiments.base import Outcome, attempt, parameter, sized
from kcde.metrics import NEGATIVE_NORMALISER
from kcde.names import AS_PUBLISHED
from kcde.seeding import rng_of, row_seed

# Values of x at which densities are compared.
INPUTS = (0, 1)

EVALUATED = 3000
METRICS = ("joint_error", "conditional_error")

_UNIT = "density"
_LOG_ROOT_TWO_PI = float(0.5 * np.log(2.0 * np.pi))


def repetition(number: int, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training pairs (n, 1), (n, 2), and the points y (3000, 2) of the evaluation."""
    rng = rng_of(f"{Donut.name}-evaluated", number)
    evaluated = rng.uniform(*made_up.DONUT_BOX, (EVALUATED, 2))
    return *made_up.donut_draw(points, rng_of(Donut.name, number)), evaluated


@dataclass(frozen=True)
class Donut(Conditional):
    """Estimate the density of the Gaussian donut at x = 0 and x = 1 (cdo, figure 4).

    For each repetition and x the metrics are `METRICS` and `nonpositive_share` (of the points where
    the estimate is negative; what underflows to 0 is not), of signed weights `turned_over` (1 where
    their sum is negative), and, of the points alone, `<metric>_of_zero` and `joint_error_of_exact`.
    """

    name = "donut"
    datasets = (DONUT,)
    methods = ("CDO", "CDO-clipped", "CDO-projected", "CDO-narrow", "CDO-chosen")
    methods += ("GP", "GP-spread", "GP-ML", *COMPARED)
    smoke = (DONUT,)
    repeated = ("repetitions",)

    dataset: str = parameter(DONUT, "Its only name.", choices=(DONUT,))
    repetitions: int = sized(2, 10, 10, "How often points are drawn and fitted.", at_least=1)
    points: int = sized(5, 75, 75, "Points around each of the 50 means.", at_least=1)

    def outcome(self, unit: int) -> Outcome:
        """Evaluate the densities."""
        (X, Y, evaluated), seed = repetition(unit, self.points), row_seed(self.name, unit)
        model, fitting = self.fitted(X, Y, seed)
        found, seconds = attempt(self._densities, model, evaluated)
        sizes = {"n_train": len(X), "n_test": len(evaluated), "dim": 1}
        row = self.row(unit, seed=seed, backend=self.device, **sizes)
        rows = _rows(row, evaluated, found, fitting + seconds)
        return Outcome(rows, [{} if isinstance(found, Exception) else self.chosen(model)])

    def _densities(self, model, evaluated: np.ndarray) -> dict[str, np.ndarray]:
        """Return the densities and shares to score, a row each x of `INPUTS`, on the host."""
        if self.estimator == "GaussianProcess" and self.variant == AS_PUBLISHED:
            model = UnitVarianceGaussian(model)
        inputs = np.array(INPUTS, dtype=np.float64)[:, None]
        at, Y = (asarray(each, self.device) for each in (inputs, evaluated))
        found = {"evaluated": to_numpy(model.density_at(Y)(at))}
        # What is only too small for a double has a finite logarithm, and does not count.
        found["nonpositive_share"] = np.isneginf(to_numpy(model.log_density_at(Y)(at))).mean(axis=1)
        if isinstance(model, CDO) and model.weights == "signed":
            found[NEGATIVE_NORMALISER] = to_numpy(model.has_negative_normaliser(at))
        return found


@dataclass(frozen=True)
class UnitVarianceGaussian:
    """p(y|x) = N(y; m(x), I) with the predictive mean of a fitted model.

    The authors' code asks its processes for the mean alone and takes the Gaussian density of
    standard deviation 1 around it, in place of that of the predictive variance.
    """

    model: object

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), nats, shape (n, q), at shared Y (q, d_y)."""

        def at(X):
            difference = Y[None, :, :] - self.model.mean(X)[:, None, :]
            return -array_namespace(Y).sum(0.5 * difference**2 + _LOG_ROOT_TWO_PI, axis=2)

        return at

    def density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        return lambda X: array_namespace(Y).exp(self.log_density_at(Y)(X))


def _rows(row: dict, evaluated, found: dict | Exception, seconds: float) -> list[dict]:
    """Return the rows of a repetition."""
    rows = []
    for place, x in enumerate(INPUTS):
        joint = made_up.donut_joint_density(x, evaluated)
        exact = joint / made_up.donut_marginal_density(x)
        here, zero = row | {"setting": scores.setting(x=x)}, np.zeros_like(joint)
        if isinstance(found, Exception):
            rows += [here | scores.failed(metric, found, _UNIT) for metric in METRICS]
        else:
            pairs = zip(METRICS, (joint, exact), strict=True)
            cells = [_error(metric, found["evaluated"][place], truth) for metric, truth in pairs]
            shares = [each for each in ("nonpositive_share", NEGATIVE_NORMALISER) if each in found]
            cells += [scores.cell(each, found[each][place]) for each in shares]
            rows += [here | {"seconds": seconds} | each for each in cells]
        rows.append(here | _error("joint_error_of_zero", zero, joint))
        rows.append(here | _error("conditional_error_of_zero", zero, exact))
        rows.append(here | _error("joint_error_of_exact", exact, joint))
    return rows


def _error(metric: str, density: np.ndarray, truth: np.ndarray) -> dict:
    """Return a mean absolute difference, with the standard error of its points."""
    difference = np.abs(density - truth)
    stderr = difference.std(ddof=1) / np.sqrt(len(difference))
    return scores.cell(metric, difference.mean(), _UNIT, stderr)
