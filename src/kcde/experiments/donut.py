"""Conditional densities of the Gaussian donut at two x: cdo, figure 4, as published and corrected.

As published the error of an estimate p̂(y|x) is its mean absolute difference to the *joint* density
p(x, y) over points drawn uniformly from [-2, 2]², the authors' code has it so; corrected, to the
conditional density. Both are scored, and so is what 0 and the exact conditional would score. As
published a Gaussian process is its mean with a spread of 1 (`UnitVarianceGaussian`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, to_numpy
from kcde.data import made_up
from kcde.estimators import CDO
from kcde.experiments import _conditional_models, runner
from kcde.experiments._conditional_models import Training
from kcde.experiments._unit_variance_gaussian import UnitVarianceGaussian
from kcde.experiments.job import AS_PUBLISHED, Outcome
from kcde.experiments.jobs.donut import Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import NEGATIVE_NORMALISER
from kcde.scores import cell
from kcde.seeding import rng_of, seed_of

INPUTS = (0, 1)
"""Values of x at which densities are compared."""

EVALUATED = 3000
GRID = 62
METRICS = ("joint_error", "conditional_error")

_UNIT = "density"


@dataclass(frozen=True)
class Repetition:
    """The data of a repetition: training pairs, and the points y of the evaluation."""

    X: np.ndarray
    Y: np.ndarray
    evaluated: np.ndarray


def repetition(number: int, points: int) -> Repetition:
    """Return the data of a repetition: X (n, 1), Y (n, 2), evaluated (3000, 2)."""
    X, Y = made_up.donut_draw(points, rng_of(Job.experiment, number))
    evaluated = rng_of(f"{Job.experiment}-evaluated", number).uniform(
        *made_up.DONUT_BOX, (EVALUATED, 2)
    )
    return Repetition(X, Y, evaluated)


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of a grid, shape (62,), and its points, the first y slowest."""
    ticks = np.linspace(*made_up.DONUT_BOX, GRID)
    return ticks, np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


class Experiment(runner.Experiment[Job]):
    """For each repetition and x the metrics `METRICS` and `nonpositive_share` (of the points where
    the estimate is negative; what underflows to 0 is not), of signed weights `turned_over` (1 where
    their sum is negative), and, of the points alone, `<metric>_of_zero` and `joint_error_of_exact`.
    The `.npz` holds `grid` (62,), and of repetition 0 `density_x0` and `density_x1` (62, 62), the
    first y along the rows, NaN where the fit failed; of the exact density `exact_x0`, `exact_x1`.
    """

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that evaluates the densities, on a grid as well for repetition 0."""
        job = self.job

        def training(number: int) -> Training:
            drawn = repetition(number, job.points)
            return Training(drawn.X, drawn.Y, _seed(number))

        fits = _conditional_models.fits(job, units, training)

        def work(number: int) -> Outcome:
            drawn = repetition(number, job.points)
            model, fitting = fits.model(number)
            found, seconds = attempt(_evaluated, job, model, number, drawn, fits.place)
            row = _row(job, number, drawn) | {"backend": fits.backend}
            rows = _rows(row, drawn, found, fitting + seconds)
            if isinstance(found, Exception):
                return Outcome(rows, [{}])
            shown = {"grid": found["grid"]} if "grid" in found else {}
            return Outcome(rows, [_conditional_models.chosen(model)], shown)

        return work

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the densities of repetition 0 and the exact ones, on a grid."""
        ticks, nodes = grid()
        shown = outcomes[0].arrays.get("grid", np.full((len(INPUTS), len(nodes)), np.nan))
        arrays = {"grid": ticks}
        for x, density in zip(INPUTS, shown, strict=True):
            arrays[f"density_x{x}"] = density.reshape(GRID, GRID)
            arrays[f"exact_x{x}"] = made_up.donut_conditional_density(x, nodes).reshape(GRID, GRID)
        return arrays


def _evaluated(job: Job, model, number: int, drawn: Repetition, place: Callable) -> dict:
    """Return the densities and shares to score, on the host."""
    Y = place(drawn.evaluated)
    model = _as_scored(job, model)
    shown = {} if number else {"grid": densities(model, place(grid()[1]))}
    over = {NEGATIVE_NORMALISER: has_negative_normaliser(model)} if _is_signed(model) else {}
    return {"evaluated": densities(model, Y), "share": nonpositive(model, Y)} | over | shown


def _as_scored(job: Job, model):
    """Return the density that is scored: as published a Gaussian process has a spread of 1."""
    published = job.estimator == "GaussianProcess" and job.variant == AS_PUBLISHED
    return UnitVarianceGaussian(model) if published else model


def _is_signed(model) -> bool:
    return isinstance(model, CDO) and model.weights == "signed"


def has_negative_normaliser(model: CDO) -> np.ndarray:
    """Return whether signed weights have a negative sum at each x of `INPUTS`, booleans (2,)."""
    return to_numpy(model.has_negative_normaliser(_inputs(model.reference_)))


def densities(model, Y) -> np.ndarray:
    """Return p̂(Y|x) at each x of `INPUTS`, shape (2, q): of any sign where weights are."""
    return to_numpy(model.density_at(Y)(_inputs(Y)))


def nonpositive(model, Y) -> np.ndarray:
    """Return at each x of `INPUTS` the share of Y (q, 2) without a positive density, shape (2,).

    A density that is only too small for a double has a finite logarithm, and does not count.
    """
    return np.isneginf(to_numpy(model.log_density_at(Y)(_inputs(Y)))).mean(axis=1)


def _inputs(like):
    """Return the inputs where another array is, shape (2, 1)."""
    return array_namespace(like).asarray(np.array(INPUTS, dtype=np.float64)[:, None])


def _rows(row: dict, drawn: Repetition, found: dict | Exception, seconds: float) -> list[dict]:
    """Return the rows of a repetition."""
    rows = []
    for place, x in enumerate(INPUTS):
        joint = made_up.donut_joint_density(x, drawn.evaluated)
        exact = joint / made_up.donut_marginal_density(x)
        here = row | {"setting": scores.setting(x=x)}
        if isinstance(found, Exception):
            rows += [here | scores.failed(metric, found, _UNIT) for metric in METRICS]
        else:
            density = found["evaluated"][place]
            timed = here | {"seconds": seconds}
            rows += [
                timed | _error(metric, density, truth)
                for metric, truth in zip(METRICS, (joint, exact), strict=True)
            ]
            rows.append(timed | cell("nonpositive_share", float(found["share"][place])))
            if NEGATIVE_NORMALISER in found:
                rows.append(
                    timed | cell(NEGATIVE_NORMALISER, float(found[NEGATIVE_NORMALISER][place]))
                )
        zero = np.zeros_like(joint)
        rows += [
            here | _error("joint_error_of_zero", zero, joint),
            here | _error("conditional_error_of_zero", zero, exact),
            here | _error("joint_error_of_exact", exact, joint),
        ]
    return rows


def _error(metric: str, density: np.ndarray, truth: np.ndarray) -> dict:
    """Return a mean absolute difference, with the standard error of its points."""
    difference = np.abs(density - truth)
    stderr = difference.std(ddof=1) / np.sqrt(len(difference))
    return cell(metric, float(difference.mean()), unit=_UNIT, stderr=float(stderr))


def _row(job: Job, number: int, drawn: Repetition) -> dict:
    sizes = {"n_train": len(drawn.X), "n_test": len(drawn.evaluated), "dim": 1}
    return job.row(number, seed=_seed(number), **sizes)


def _seed(number: int) -> int:
    """Return a seed of the repetition alone, small enough to survive any CSV reader."""
    return seed_of(Job.experiment, number) % 2**32
