"""Conditional densities of the Gaussian donut at two x: cdo, figure 4, as published and corrected.

As published the error of an estimate p̂(y|x) is its mean absolute difference to the *joint* density
p(x, y) over points drawn uniformly from [-2, 2]², the authors' code has it so; corrected, to the
conditional density. Both are scored, and so is what 0 and the exact conditional would score. As
published a Gaussian process is its mean with a spread of 1 (`UnitSpread`).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import array_namespace, to_numpy
from kcde.datasets import donut as data
from kcde.estimators import CDO
from kcde.experiments import conditional_models, scores, shards
from kcde.experiments.conditional_models import Outcome, Training, cell
from kcde.experiments.shards import WHOLE, Cut
from kcde.experiments.unit_spread import UnitSpread
from kcde.provenance import digest, estimator_module
from kcde.seeding import rng_of, seed_of

log = logging.getLogger(__name__)

EXPERIMENT = "donut"
AS_PUBLISHED = "as-published"
INPUTS = (0, 1)
"""Values of x at which densities are compared."""

EVALUATED = 3000
GRID = 62
METRICS = ("joint_error", "conditional_error")
TURNED = "turned_over"

_UNIT = "density"


@dataclass(frozen=True)
class Job:
    """One method, all repetitions.

    Parameters
    ----------
    method, variant
        As in the score table.
    estimator
        Class name.
    options
        Constructor arguments.
    settings
        "authors": what they leave open is as the authors fixed it; "chosen": as the class has it.
    repetitions
        How often data are drawn and fitted.
    points
        Around each of the 50 means.
    dataset
        Its only name.
    backend
        "auto", "numpy" or "cupy".
    """

    method: str
    estimator: str
    variant: str = AS_PUBLISHED
    options: Mapping = field(default_factory=dict)
    settings: str = "chosen"
    repetitions: int = 10
    points: int = data.POINTS
    dataset: str = data.NAME
    backend: str = "auto"


@dataclass(frozen=True)
class Repetition:
    """What every method is given under a number: training pairs, and y where it is judged."""

    X: np.ndarray
    Y: np.ndarray
    evaluated: np.ndarray


def repetition(number: int, points: int = data.POINTS) -> Repetition:
    """Return the data of a repetition: X (n, 1), Y (n, 2), evaluated (3000, 2)."""
    X, Y = data.draw(points, rng_of(EXPERIMENT, number))
    evaluated = rng_of(f"{EXPERIMENT}-evaluated", number).uniform(*data.BOX, (EVALUATED, 2))
    return Repetition(X, Y, evaluated)


def grid() -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of a grid, shape (62,), and its points, the first y slowest."""
    ticks = np.linspace(*data.BOX, GRID)
    return ticks, np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)


def run(job: Job, out: Path, cut: Cut = WHOLE) -> None:
    """Fit and score every repetition.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV: for each repetition and x the metrics `METRICS` and `nonpositive_share` (of
        the points where the estimate is negative; what underflows to 0 is not), of signed weights
        `turned_over` (1 where their sum is negative), and, of the points alone,
        `<metric>_of_zero` and `joint_error_of_exact`. The `.npz` beside it holds `grid` (62,), and
        of repetition 0 `density_x0` and `density_x1` (62, 62), the first y along the rows, NaN
        where the fit failed; the same of the exact density as `exact_x0`, `exact_x1`.
    cut
        Which repetitions are computed here.

    Raises
    ------
    ValueError
        If a number is too small, an option or the settings are unknown, a part is not of this job,
        or an estimator that trains all repetitions together is cut.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    for name in ("repetitions", "points"):
        if getattr(job, name) < 1:
            raise ValueError(f"{name} must be at least 1; got {getattr(job, name)}")
    conditional_models.check_cut(job, cut)
    drawn = [repetition(number, job.points) for number in range(job.repetitions)]
    info = _info(job)
    identity = {"experiment": EXPERIMENT, **info}
    found = shards.outcomes(identity, range(len(drawn)), partial(_fit, job, drawn), out, cut)
    if found is None:
        return
    rows = [
        row
        for number, (each, outcome) in enumerate(zip(drawn, found, strict=True))
        for row in _rows(job, number, each, outcome)
    ]
    chosen = {"chosen": [outcome.chosen for outcome in found]}
    scores.write(out, rows, info | chosen, _arrays(found[0]))


def _fit(job: Job, drawn: Sequence[Repetition], numbers: Sequence[int]) -> list[Outcome]:
    """Fit to some of the repetitions and take densities where they are judged, and drawn."""
    nodes = grid()[1]

    def training(number: int) -> Training:
        return Training(drawn[number].X, drawn[number].Y, _seed(number))

    def evaluate(number: int, model, place: Callable) -> dict:
        Y = place(drawn[number].evaluated)
        model = _as_scored(job, model)
        shown = {} if number else {"grid": densities(model, place(nodes))}
        over = {TURNED: turned_over(model)} if _is_signed(model) else {}
        return {"evaluated": densities(model, Y), "share": nonpositive(model, Y)} | over | shown

    return conditional_models.outcomes(job, EXPERIMENT, numbers, training, evaluate)


def _as_scored(job: Job, model):
    """Return the density that is scored: as published a Gaussian process has a spread of 1."""
    published = job.estimator == "GaussianProcess" and job.variant == AS_PUBLISHED
    return UnitSpread(model) if published else model


def _is_signed(model) -> bool:
    return isinstance(model, CDO) and model.weights == "signed"


def turned_over(model: CDO) -> np.ndarray:
    """Return at each x of `INPUTS` whether signed weights have a negative sum, booleans (2,)."""
    return to_numpy(model.turned_over(_inputs(model.reference_)))


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


def _rows(job: Job, number: int, drawn: Repetition, outcome: Outcome) -> list[dict]:
    """Return the rows of a repetition."""
    rows = []
    for place, x in enumerate(INPUTS):
        joint = data.joint_density(x, drawn.evaluated)
        exact = joint / data.marginal_density(x)
        row = _row(job, number, x, drawn) | {"backend": outcome.backend}
        if outcome.found is None:
            failed = {"status": "failed", "detail": outcome.detail, "unit": _UNIT}
            rows += [row | failed | {"metric": metric} for metric in METRICS]
        else:
            density = outcome.found["evaluated"][place]
            timed = row | {"seconds": outcome.seconds}
            rows += [
                timed | _error(metric, density, truth)
                for metric, truth in zip(METRICS, (joint, exact), strict=True)
            ]
            share = float(outcome.found["share"][place])
            rows.append(timed | cell("nonpositive_share", share))
            if TURNED in outcome.found:
                rows.append(timed | cell(TURNED, float(outcome.found[TURNED][place])))
        zero = np.zeros_like(joint)
        rows += [
            row | _error("joint_error_of_zero", zero, joint),
            row | _error("conditional_error_of_zero", zero, exact),
            row | _error("joint_error_of_exact", exact, joint),
        ]
    return rows


def _error(metric: str, density: np.ndarray, truth: np.ndarray) -> dict:
    """Return a mean absolute difference, with the standard error of its points."""
    difference = np.abs(density - truth)
    stderr = difference.std(ddof=1) / np.sqrt(len(difference))
    return cell(metric, float(difference.mean()), unit=_UNIT, stderr=float(stderr))


def _row(job: Job, number: int, x: int, drawn: Repetition) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "dim": 1,
        "setting": scores.setting(x=x),
        "method": job.method,
        "variant": job.variant,
        "split": number,
        "n_train": len(drawn.X),
        "n_test": len(drawn.evaluated),
        "dtype": "float64",
        "seed": _seed(number),
    }


def _seed(number: int) -> int:
    """Return a seed of the repetition alone, small enough to survive any CSV reader."""
    return seed_of(EXPERIMENT, number) % 2**32


def _arrays(first: Outcome) -> dict[str, np.ndarray]:
    ticks, nodes = grid()
    blank = np.full((len(INPUTS), len(nodes)), np.nan)
    shown = blank if first.found is None else first.found["grid"]
    arrays = {"grid": ticks}
    for x, density in zip(INPUTS, shown, strict=True):
        arrays[f"density_x{x}"] = density.reshape(GRID, GRID)
        arrays[f"exact_x{x}"] = data.conditional_density(x, nodes).reshape(GRID, GRID)
    return arrays


def _info(job: Job) -> dict:
    return {
        "job": asdict(job) | {"options": dict(job.options)},
        "code": digest(__name__, estimator_module(job.estimator)),
    }
