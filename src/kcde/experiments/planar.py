"""Densities of points of the plane and samples from them: dde, table 1 and figures 1 to 3.

Each seed draws its own training and test points, the same for every method. A method is fitted to
the training points and draws as many samples as there are test points. As the authors' code has it
(the text says: to the training points) the maximum mean discrepancy is that of the samples to the
test points, unbiased, in thousandths; the kernel is the one that doubly dual embedding has by
default on these data.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kcde.datasets import planar as data
from kcde.estimators import estimator_class
from kcde.experiments import methods, planar_models, planar_pictures, scores
from kcde.experiments.planar_models import PlanarModel
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
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    seeds: int = 10
    iterations: int = 20_000
    samples: int | None = None


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


def run(job: Job, out: Path) -> None:
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

    Raises
    ------
    ValueError
        If the data set or an option is unknown, a number is too small, or the estimator's density
        has no normaliser.
    """
    _check(job)
    drawn = [points(job.dataset, seed) for seed in range(job.seeds)]
    estimators = [make_estimator(job, seed) for seed in range(job.seeds)]
    started = time.perf_counter()
    models = planar_models.fit(estimators, [each.train for each in drawn], methods.FAILURES)
    seconds = (time.perf_counter() - started) / job.seeds
    log.info("%s %s: fitted in %.0f s a seed", job.dataset, job.method, seconds)
    rows, samples, fitted = [], {}, {}
    for seed, (model, here) in enumerate(zip(models, drawn, strict=True)):
        found, samples[seed] = _evaluated(job, model, here, seed, seconds, warm=bool(fitted))
        rows += found
        if samples[seed] is not None:
            fitted[seed] = model
        log.info("%s %s: seed %d/%d", job.dataset, job.method, seed + 1, job.seeds)
    shown = next(iter(fitted), None)
    arrays = {"samples_all": _all_samples(job, samples), **planar_pictures.histories(models)}
    if shown is not None:
        arrays |= {"train": drawn[shown].train, "test": drawn[shown].test}
        arrays |= {"samples": samples[shown]} | planar_pictures.pictures(
            fitted[shown], rng_of("planar-snapshots", job.dataset, job.method)
        )
    scores.write(out, rows, _info(job, fitted, drawn, shown), arrays)


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


def _evaluated(
    job: Job, model, here: Points, seed: int, seconds: float, *, warm: bool
) -> tuple[list[dict], np.ndarray | None]:
    """Return the rows of a seed and its samples; a failure is one row that says why, and None."""
    row = _row(job, here, seed)
    started = time.perf_counter()
    try:
        if isinstance(model, Exception):
            raise model
        samples, measured = _sampled(job, model, here, seed, warm=warm)
        measured += [*_likelihood(job, model, here), *_training(model)]
    except methods.FAILURES as error:
        detail = f"{type(error).__name__}: {error}"
        failed = {"metric": METRIC, "unit": _THOUSANDTHS, "status": "failed", "detail": detail}
        return [row | failed], None
    row["seconds"] = seconds + time.perf_counter() - started
    return [row | _cell(*each) for each in measured], samples


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
    distance = {
        name: mmd2_unbiased(draws.samples, reference, here.bandwidth) * 1e3
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


def _row(job: Job, here: Points, seed: int) -> dict:
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
        "backend": "numpy",
        "dtype": "float64",
        "seed": _seed(job.dataset, seed),
    }


def _seed(dataset: str, seed: int) -> int:
    """Return a seed of (data set, seed) alone, small enough to survive any CSV reader."""
    return seed_of(EXPERIMENT, dataset, seed) % 2**32


def _all_samples(job: Job, samples: Mapping[int, np.ndarray | None]) -> np.ndarray:
    """Return the samples of all seeds, float32; a failed seed is NaN."""
    count = job.samples or data.sizes(job.dataset)[1]
    blank = np.full((count, 2), np.nan)
    each = [blank if drawn is None else drawn for drawn in samples.values()]
    return np.stack(each).astype(np.float32)


def _info(job: Job, fitted: Mapping, drawn: list[Points], shown: int | None) -> dict:
    return {
        "job": asdict(job) | {"options": dict(job.options)},
        "chosen": {seed: methods.chosen(model.estimator) for seed, model in fitted.items()},
        "log_z": {seed: asdict(model.log_z) for seed, model in fitted.items()},
        "mmd_bandwidth": [each.bandwidth for each in drawn],
        "shown_seed": shown,
        "code": digest(__name__, type(make_estimator(job, 0)).__module__),
    }
