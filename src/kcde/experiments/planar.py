"""Densities of points of the plane and samples from them: dde, table 1 and figures 1 to 3.

Each seed draws its own training and test points, the same for every method. A method is fitted to
the training points and draws as many samples as there are test points. As the authors' code has it
(the text says: to the training points) the maximum mean discrepancy is that of the samples to the
test points, unbiased, in thousandths; the kernel is the one that doubly dual embedding has by
default on these data.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import asarray
from kcde.datasets import planar as data
from kcde.estimators import estimator_class
from kcde.experiments import methods, planar_models, planar_pictures, scores
from kcde.experiments.planar_models import PlanarModel
from kcde.experiments.shards import WHOLE, Cut, outcomes
from kcde.kernels import median_trick
from kcde.metrics import mmd2_unbiased
from kcde.provenance import digest
from kcde.seeding import rng_of, seed_of

log = logging.getLogger(__name__)

EXPERIMENT = "planar"
METRIC = "mmd"
NLL = "negative_log_likelihood"
BANDWIDTH_SCALE = 0.1
"""Of the median trick, for the kernel of the discrepancy."""

_RING_SNAPSHOTS = (0, 500, 2500, 5000, 10_000, 20_000)
_SNAPSHOTS = (0, 500, 1000, 2000)
_THOUSANDTHS = "1e-3"


@dataclass(frozen=True)
class Job:
    """One method on one data set, all seeds.

    Parameters
    ----------
    dataset, method, variant
        As in the score table; the data set is one of `kcde.datasets.planar.NAMES`.
    estimator
        Class name.
    options
        Constructor arguments.
    seeds
        How many.
    iterations
        Of an estimator that is trained by iterations.
    samples
        Of each seed; None: as many as there are test points.
    backend
        "auto", "numpy" or "cupy".
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    seeds: int = 10
    iterations: int = 20_000
    samples: int | None = None
    backend: str = "auto"


@dataclass
class Outcome:
    """What one seed gives.

    Attributes
    ----------
    rows
        Of the scores.
    bandwidth
        Of the discrepancy.
    samples
        Shape (n, 2); None where the seed failed.
    history
        Of the training, where the estimator keeps one.
    info
        Hyper-parameters and normaliser, {} where the seed failed.
    shown
        What figures show, of the first seed of a shard that did not fail.
    """

    rows: list[dict]
    bandwidth: float
    samples: np.ndarray | None = None
    history: Mapping | None = None
    info: Mapping = field(default_factory=dict)
    shown: Mapping = field(default_factory=dict)


@dataclass(frozen=True)
class Points:
    """Points of one seed, shapes (n, 2), and the bandwidth of the discrepancy, in their units."""

    train: np.ndarray
    test: np.ndarray
    bandwidth: float


def points(dataset: str, seed: int) -> Points:
    """Return what every method is given under a seed.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    rng = rng_of(EXPERIMENT, dataset, seed)
    train, test = (data.draw(dataset, n, rng) for n in data.sizes(dataset))
    return Points(train, test, median_trick(train, BANDWIDTH_SCALE))


def snapshots(dataset: str, iterations: int) -> tuple[int, ...]:
    """Return the iterations of figure 2 (ring) or 3 that are reached, and the last."""
    wanted = _RING_SNAPSHOTS if dataset.startswith("ring") else _SNAPSHOTS
    return (*(number for number in wanted if number < iterations), iterations)


def run(job: Job, out: Path, *, cut: Cut = WHOLE) -> None:
    """Fit, draw and score under every seed.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV; a row a seed and metric. The `.npz` beside it holds `samples_all` (seeds, n,
        2) and of estimators with a history `history_iteration` (checks,), `history_objective` and
        `history_mmd2` (seeds, checks), NaN where a seed failed; and what
        `planar_pictures.pictures` shows of the first seed that did not.
    cut
        Which seeds are computed here; `out` is where a shard keeps them.

    Raises
    ------
    ValueError
        If the data set or an option is unknown, a number is too small, the estimator's density has
        no normaliser, or the job is cut and the estimator trains all seeds together.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    _check(job)
    methods.check_separable(make_estimator(job, 0), cut)
    declared = _declared(job)
    found = outcomes(declared, range(job.seeds), partial(_compute, job), out, cut)
    if found is None:
        return
    rows = [row for outcome in found for row in outcome.rows]
    scores.write(out, rows, declared | _found_info(found), _arrays(job, found))


def _compute(job: Job, seeds: Sequence[int]) -> list[Outcome]:
    drawn = [points(job.dataset, seed) for seed in seeds]
    estimators = [make_estimator(job, seed) for seed in seeds]
    if not estimators:
        return []
    backend = methods.backend_of(estimators[0], job.backend)
    started = time.perf_counter()
    trains = [each.train for each in drawn]
    models = planar_models.fit(estimators, trains, methods.FAILURES, backend)
    seconds = (time.perf_counter() - started) / len(seeds)
    log.info("%s %s: fitted in %.0f s a seed", job.dataset, job.method, seconds)
    found, warm = [], False
    for done, (seed, model, here) in enumerate(zip(seeds, models, drawn, strict=True), 1):
        row = _row(job, here, seed, backend)
        found.append(_evaluated(job, model, here, row, seconds, warm=warm))
        if found[-1].samples is not None and not warm:
            found[-1].shown = _shown(job, model, here, found[-1].samples)
            warm = True
        log.info("%s %s: seed %d/%d", job.dataset, job.method, done, len(seeds))
    return found


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


def _check(job: Job) -> None:
    data.sizes(job.dataset)
    least = {"seeds": 1, "iterations": 1} | ({} if job.samples is None else {"samples": 2})
    for name, smallest in least.items():
        if getattr(job, name) < smallest:
            raise ValueError(f"{name} must be at least {smallest}; got {getattr(job, name)}")
    if not hasattr(type(make_estimator(job, 0)), "log_normaliser"):
        raise ValueError(
            f"{job.estimator} has no log_normaliser: the planar experiment is for kernel "
            "exponential families, such as DDE and KEF"
        )


def _evaluated(job: Job, model, here: Points, row: dict, seconds: float, *, warm: bool) -> Outcome:
    """Score a model under the seed of a row; a failure is one row that says why."""
    history = getattr(getattr(model, "estimator", None), "history_", None)
    started = time.perf_counter()
    try:
        if isinstance(model, Exception):
            raise model
        samples, measured = _sampled(job, model, here, row["split"], warm=warm)
        measured += [*_likelihood(job, model, here), *_training(model)]
    except methods.FAILURES as error:
        detail = f"{type(error).__name__}: {error}"
        failed = {"metric": METRIC, "unit": _THOUSANDTHS, "status": "failed", "detail": detail}
        return Outcome([row | failed], here.bandwidth, history=history)
    row["seconds"] = seconds + time.perf_counter() - started
    info = {"chosen": methods.chosen(model.estimator), "log_z": asdict(model.log_z)}
    rows = [row | _cell(*each) for each in measured]
    return Outcome(rows, here.bandwidth, samples, history, info)


def _shown(job: Job, model: PlanarModel, here: Points, samples: np.ndarray) -> dict:
    points = {"train": here.train, "test": here.test, "samples": samples}
    rng = rng_of("planar-snapshots", job.dataset, job.method)
    return points | planar_pictures.pictures(model, rng)


def _sampled(job: Job, model: PlanarModel, here: Points, seed: int, *, warm: bool):
    """Return the samples, and (metric, value, unit) of them; timed when everything is warm."""
    count = job.samples or len(here.test)
    if not warm:
        model.draw(count, rng_of("planar-warm-up"), job.method)
    rng = rng_of("planar-samples", job.dataset, job.method, seed)
    started = time.perf_counter()
    draws = model.draw(count, rng, job.method)
    elapsed = time.perf_counter() - started
    # Draws of a learned sampler are independent and so effective each.
    size = draws.diagnostics.get("effective_sample_size", count)
    there = asarray(draws.samples, model.backend)
    distance = {
        name: mmd2_unbiased(there, asarray(reference, model.backend), here.bandwidth) * 1e3
        for name, reference in ((METRIC, here.test), (f"{METRIC}_train", here.train))
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

    Under a uniform base those beyond the training points have no density at all: likelihoods of the
    others stand beside, and how many there are.
    """
    found, exact = model.log_density(here.test), data.log_density(job.dataset, here.test)
    inside = np.isfinite(found)
    error = model.log_z.error
    yield NLL, -found.mean(), "nats", error
    yield f"{NLL}_exact", -exact.mean(), "nats"
    yield "points_without_density", float(np.sum(~inside)), "points"
    if not inside.all():
        yield f"{NLL}_inside", -found[inside].mean(), "nats", error
        yield f"{NLL}_exact_inside", -exact[inside].mean(), "nats"


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


def _cell(metric: str, value: float, unit: str, stderr: float = np.nan) -> dict:
    cell = {"metric": metric, "unit": unit, "stderr": stderr}
    if np.isfinite(value):
        return cell | {"value": value, "status": "ok", "detail": ""}
    return cell | {"value": np.nan, "status": "failed", "detail": f"{metric} is {value}"}


def _row(job: Job, here: Points, seed: int, backend: str) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "dim": here.train.shape[1],
        "setting": scores.setting(),
        "method": job.method,
        "variant": job.variant,
        "split": seed,
        "n_train": len(here.train),
        "n_test": len(here.test),
        "backend": backend,
        "dtype": "float64",
        "seed": _seed(job.dataset, seed),
    }


def _seed(dataset: str, seed: int) -> int:
    """Return a seed of (data set, seed) alone, small enough to survive any CSV reader."""
    return seed_of(EXPERIMENT, dataset, seed) % 2**32


def _declared(job: Job) -> dict:
    """Return what is known of a job before it runs."""
    return {
        "job": asdict(job) | {"options": dict(job.options)},
        "code": digest(__name__, type(make_estimator(job, 0)).__module__),
    }


def _found_info(found: Sequence[Outcome]) -> dict:
    fitted = {seed: outcome.info for seed, outcome in enumerate(found) if outcome.info}
    return {
        "chosen": {seed: info["chosen"] for seed, info in fitted.items()},
        "log_z": {seed: info["log_z"] for seed, info in fitted.items()},
        "mmd_bandwidth": [outcome.bandwidth for outcome in found],
        "shown_seed": next(iter(fitted), None),
    }


def _arrays(job: Job, found: Sequence[Outcome]) -> dict[str, np.ndarray]:
    """Return the samples of all seeds, float32, NaN where one failed; and what figures show."""
    blank = np.full((job.samples or data.sizes(job.dataset)[1], 2), np.nan)
    each = [blank if outcome.samples is None else outcome.samples for outcome in found]
    arrays = {"samples_all": np.stack(each).astype(np.float32)}
    arrays |= planar_pictures.histories([outcome.history for outcome in found])
    return arrays | next((outcome.shown for outcome in found if outcome.shown), {})
