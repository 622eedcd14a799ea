"""Densities of points of the plane and samples from them: dde, table 1 and figures 1 to 3.

Each seed draws its own training and test points, the same for every method. A method is fitted to
the training points and draws as many samples as there are test points. As the authors' code has it
(the text says: to the training points) the maximum mean discrepancy is that of the samples to the
test points, unbiased, in thousandths; the kernel is the one that doubly dual embedding has by
default on these data.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from kcde import scores
from kcde.arrays import asarray, resolve_backend
from kcde.data import made_up
from kcde.estimators import estimator_class
from kcde.experiments import _dde_optimum, _planar_models, _planar_pictures, methods, runner
from kcde.experiments._planar_models import PlanarModel
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.planar import Job
from kcde.experiments.runner import attempt, fits
from kcde.kernels import median_trick
from kcde.metrics import mmd2_unbiased
from kcde.metrics.names import MMD, NLL
from kcde.seeding import rng_of, seed_of

BANDWIDTH_SCALE = 0.1
"""Scale of the median trick, for the kernel of the discrepancy."""

_RING_SNAPSHOTS = (0, 500, 2500, 5000, 10_000, 20_000)
_SNAPSHOTS = (0, 500, 1000, 2000)
_THOUSANDTHS = "1e-3"
_HISTORY, _SHOWN = "history/", "shown/"


@dataclass(frozen=True)
class Points:
    """Points of one seed, shapes (n, 2), and the bandwidth of the discrepancy, in their units."""

    train: np.ndarray
    test: np.ndarray
    bandwidth: float


def points(dataset: str, seed: int) -> Points:
    """Return the data of a seed, the same for every method.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    train, test = made_up.planar_of_seed(dataset, seed)
    return Points(train, test, median_trick(train, BANDWIDTH_SCALE))


def snapshots(dataset: str, iterations: int) -> tuple[int, ...]:
    """Return the iterations of figure 2 (ring) or 3 that are reached, and the last."""
    wanted = _RING_SNAPSHOTS if dataset == "ring" else _SNAPSHOTS
    return (*(number for number in wanted if number < iterations), iterations)


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds `samples_all` (seeds, n, 2) and of estimators with a history
    `history_iteration` (checks,), `history_objective` and `history_mmd2` (seeds, checks), NaN where
    a seed failed; and what `planar_pictures.pictures` shows of the first seed that did not.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown data and options, and without `log_normaliser`."""
        made_up.planar_sizes(job.dataset)
        if not hasattr(type(make_estimator(job, 0)), "log_normaliser"):
            raise ValueError(
                f"{job.estimator} has no log_normaliser: the planar experiment is for kernel "
                "exponential families, such as DDE and KEF"
            )

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits, draws and scores under a seed."""
        job = self.job
        backend = methods.backend_of(make_estimator(job, 0), job.backend)
        fitted = fits(
            job.estimator,
            units,
            lambda seed: _planar_models.fit(*_given(job, seed), backend),
            lambda seeds: _planar_models.fit_many(
                *zip(*(_given(job, seed) for seed in seeds), strict=True)
            ),
        )
        warm = False

        def work(seed: int) -> Outcome:
            nonlocal warm
            model, seconds = fitted(seed)
            found = _scored(job, model, seed, backend, seconds, warm=warm)
            if "samples" in found.arrays and not warm:
                found.arrays |= _shown(job, model, seed, found.arrays["samples"])
                warm = True
            return found

        return work

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return by seed what was chosen and the normaliser, and which seed is shown."""
        told = [outcome.chosen[0] for outcome in outcomes]
        fitted = {seed: each for seed, each in enumerate(told) if "chosen" in each}
        return {
            "chosen": {seed: each["chosen"] for seed, each in fitted.items()},
            "log_z": {seed: each["log_z"] for seed, each in fitted.items()},
            "mmd_bandwidth": [each["bandwidth"] for each in told],
            "shown_seed": next(iter(fitted), None),
        }

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the samples of all seeds, float32, NaN where one failed; and what figures show."""
        blank = np.full((job.samples or made_up.planar_sizes(job.dataset)[1], 2), np.nan)
        each = [outcome.arrays.get("samples", blank) for outcome in outcomes]
        arrays = {"samples_all": np.stack(each).astype(np.float32)}
        arrays |= _planar_pictures.histories([_of(outcome, _HISTORY) for outcome in outcomes])
        return arrays | next((shown for each in outcomes if (shown := _of(each, _SHOWN))), {})


def make_estimator(job: Job, seed: int):
    """Return the unfitted estimator of one seed.

    Raises
    ------
    ValueError
        If the class does not know one of the options.
    """
    trained = {
        "iterations": job.iterations,
        "snapshots": snapshots(job.dataset, job.iterations),
    }
    known = estimator_class(job.estimator)._get_param_names()
    options = dict(job.options) | {name: trained[name] for name in trained if name in known}
    return methods.build(
        job.method, job.estimator, options, random_state=_seed(job.dataset, seed), tuning_rows=None
    )


def _given(job: Job, seed: int) -> tuple:
    """Return the unfitted estimator and the training points of a seed."""
    return make_estimator(job, seed), points(job.dataset, seed).train


def _of(outcome: Outcome, prefix: str) -> dict[str, np.ndarray]:
    """Return the arrays whose names begin with a prefix, without it."""
    arrays = outcome.arrays.items()
    return {name.removeprefix(prefix): one for name, one in arrays if name.startswith(prefix)}


def _scored(job: Job, model, seed: int, backend: str, seconds: float, *, warm: bool) -> Outcome:
    """Score a model under a seed; a failure is one row that says why."""
    here = points(job.dataset, seed)
    row = _row(job, here, seed, backend)
    history = getattr(getattr(model, "estimator", None), "history_", None) or {}
    arrays = {f"{_HISTORY}{name}": np.asarray(values) for name, values in history.items()}
    told = {"bandwidth": here.bandwidth}
    found, scoring = attempt(_measured, job, model, here, seed, warm)
    if isinstance(found, Exception):
        return Outcome([row | scores.failed(MMD, found, _THOUSANDTHS)], [told], arrays)
    row["seconds"] = seconds + scoring
    samples, measured = found
    told |= {"chosen": methods.chosen(model.estimator), "log_z": asdict(model.log_z)}
    rows = [row | scores.cell(*each) for each in measured]
    rows += [row | cell for cell in _optimum(model, here)]
    return Outcome(rows, [told], arrays | {"samples": samples})


def _measured(job: Job, model: PlanarModel, here: Points, seed: int, warm: bool) -> tuple:
    samples, measured = _sampled(job, model, here, seed, warm=warm)
    return samples, [*measured, *_likelihood(job, model, here), *_training(model)]


def _shown(job: Job, model: PlanarModel, seed: int, samples: np.ndarray) -> dict:
    here = points(job.dataset, seed)
    rng = rng_of("planar-snapshots", job.dataset, job.method)
    pictures = {"train": here.train, "test": here.test, "samples": samples}
    pictures |= _planar_pictures.pictures(model, rng)
    return {f"{_SHOWN}{name}": array for name, array in pictures.items()}


def _sampled(job: Job, model: PlanarModel, here: Points, seed: int, *, warm: bool):
    """Return the samples, and (metric, value, unit) of them; timed when everything is warm."""
    count = job.samples or len(here.test)
    if not warm:
        model.draw(count, rng_of("planar-warm-up"), job.method)
    rng = rng_of("planar-samples", job.dataset, job.method, seed)
    # Processor time, which other jobs of the machine affect little, has no work of a device.
    on_host = resolve_backend(job.backend) == "numpy"
    clock = time.process_time if on_host else time.perf_counter
    started = clock()
    draws = model.draw(count, rng, job.method)
    elapsed = clock() - started
    # Draws of a learned sampler are independent and so effective each.
    size = draws.diagnostics.get("effective_sample_size", count)
    there = asarray(draws.samples, model.backend)
    distance = {
        name: mmd2_unbiased(there, asarray(reference, model.backend), here.bandwidth) * 1e3
        for name, reference in ((MMD, here.test), (f"{MMD}_train", here.train))
    }
    return draws.samples, [
        *((name, value, _THOUSANDTHS) for name, value in distance.items()),
        ("sampling_time", elapsed, "s"),
        ("effective_samples_per_second", size / elapsed, "samples/s"),
        *(
            (name, value, "samples" if name.startswith("effective") else "")
            for name, value in draws.diagnostics.items()
        ),
    ]


def _likelihood(job: Job, model: PlanarModel, here: Points):
    """Yield the likelihood of the test points, by the model and by the density they are drawn from.

    Under a uniform base, test points beyond the training points have zero density: the likelihood
    of the others and the number of those points are reported as well.
    """
    found, exact = model.log_density(here.test), made_up.planar_log_density(job.dataset, here.test)
    inside = np.isfinite(found)
    error = model.log_z.error
    yield NLL, -found.mean(), "nats", error
    yield f"{NLL}_exact", -exact.mean(), "nats"
    yield "points_without_density", float(np.sum(~inside)), "points"
    if not inside.all():
        yield f"{NLL}_inside", -found[inside].mean(), "nats", error
        yield f"{NLL}_exact_inside", -exact[inside].mean(), "nats"


def _optimum(model: PlanarModel, here: Points) -> list[dict]:
    """Return score cells of a training and of its optimum, at test points that have a density."""
    inside = here.test[np.isfinite(model.log_density(here.test))]
    return _dde_optimum.cells(model.estimator, np.empty((len(inside), 0)), inside)


def _training(model: PlanarModel):
    """Yield how the training of an estimator with a history went."""
    history = getattr(model.estimator, "history_", None)
    if history is None:
        return
    yield "iterations", float(model.estimator.iterations_), "iterations"
    yield "objective", float(history["objective"][-1]), "nats"
    for name, place in (("first", 0), ("last", -1)):
        yield f"mmd2_biased_{name}", float(history["mmd2_biased"][place]), ""
    proposed = model.estimator.log_normaliser(np.empty((1, 0)), method="sampler")
    size = float(np.min(proposed.effective_sample_size))
    yield "sampler_effective_sample_size", size, "samples"


def _row(job: Job, here: Points, seed: int, backend: str) -> dict:
    sizes = {"n_train": len(here.train), "n_test": len(here.test), "dim": here.train.shape[1]}
    return job.row(seed, backend=backend, seed=_seed(job.dataset, seed), **sizes)


def _seed(dataset: str, seed: int) -> int:
    """Return a seed of (data set, seed) alone, small enough to survive any CSV reader."""
    return seed_of(Job.experiment, dataset, seed) % 2**32
