"""Elevation over a grid of coordinates: cdo, table 3, with every definition of its error.

The authors' code scores CDO, the Gaussian process and LSCDE on shuffled folds, 90% training rows,
with output less its training mean, and the flows on a random fifth of the rows; and it divides
differently for each (`kcde.metrics.smae`). Here all methods are fitted on the folds and scored by
every definition; flows once more on random splits, for the published number.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import to_numpy
from kcde.datasets.loaders import Dataset, load
from kcde.experiments import conditional_models, problems, scores, shards
from kcde.experiments.conditional_models import Outcome, Training, cell
from kcde.experiments.shards import WHOLE, Cut
from kcde.metrics import smae
from kcde.provenance import digest, estimator_module
from kcde.seeding import rng_of, seed_of
from kcde.selection import complement, kfold

log = logging.getLogger(__name__)

EXPERIMENT = "terrain"
METRIC = "smae"
FOLDS, RANDOM = "folds", "random"
FOLD_COUNT = 10
FLOWS = ("ConditionalRealNVP", "ConditionalMAF")

_TEST_SHARE = 5  # one row of so many, in a random split
_PUBLISHED = {"GaussianProcess": "predicted"} | dict.fromkeys(FLOWS, "pointwise")


@dataclass(frozen=True)
class Job:
    """One method on one terrain, all folds and random splits.

    Parameters
    ----------
    dataset, method, variant
        As in the score table; the data set has two coordinates as x and one y.
    estimator
        Class name.
    options
        Constructor arguments.
    settings
        "authors": what they leave open is as the authors fixed it; "chosen": as the class has it.
    folds
        How many of the ten are held out, the first ones.
    splits
        How many random splits into 80% training and 20% test rows; flows have them in the paper.
    backend
        "auto", "numpy" or "cupy".
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    settings: str = "chosen"
    folds: int = FOLD_COUNT
    splits: int = 0
    backend: str = "auto"


@dataclass(frozen=True)
class Part:
    """A partition of the rows: its protocol and number there, and sorted row numbers."""

    protocol: str
    number: int
    train: np.ndarray
    test: np.ndarray


def parts(dataset: str, n: int, folds: int, splits: int) -> list[Part]:
    """Return the first of ten shuffled folds of n rows, and random splits.

    They depend on the data set's name and their number alone, and so are the same for all methods.
    """
    held_out = kfold(n, FOLD_COUNT, rng_of("terrain-folds", dataset))[:folds]
    found = [Part(FOLDS, i, complement(test, n), test) for i, test in enumerate(held_out)]
    for number in range(splits):
        order = rng_of("split", dataset, number).permutation(n)
        test, train = (np.sort(rows) for rows in np.split(order, [n // _TEST_SHARE]))
        found.append(Part(RANDOM, number, train, test))
    return found


def run(
    job: Job,
    out: Path,
    data_dir: Path,
    *,
    catalogue: Path | None = None,
    record: Path | None = None,
    cut: Cut = WHOLE,
) -> None:
    """Fit and score every fold and split.

    Parameters
    ----------
    job
        What to run.
    out
        The score CSV. Under {"protocol":"folds"} the metrics `smae_centred`, `smae_predicted`,
        `smae_pointwise` and `smae_total`, and under the protocol that the authors had for the
        method `smae`, by their definition; random splits have `smae_pointwise` and
        `smae_pointwise_std`, its spread over the test points. The `.npz` beside it holds
        `prediction_<protocol>` and `test_rows_<protocol>`, a row each split (NaN and -1 where one
        failed, or has fewer rows).
    data_dir
        Where the raw data are.
    catalogue
        A catalogue other than the project's own.
    record
        What `fetch` wrote; where it says that the data are unavailable, every row is `not-run`.
    cut
        Which folds and splits are computed here, counted in this order.

    Raises
    ------
    ValueError
        If a number is out of range, an option or the settings are unknown, a part is not of this
        job, or an estimator that trains all folds together is cut.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    _check(job)
    conditional_models.check_cut(job, cut)
    reason = problems.unavailable(job.dataset, record)
    data = None if reason else load(job.dataset, data_dir, catalogue=catalogue)
    every = parts(job.dataset, len(data.Y), job.folds, job.splits) if data else _without_rows(job)
    info = _info(job, data)
    identity = {"experiment": EXPERIMENT, "unavailable": reason, **info}
    fit = partial(_fit, job, data, every)
    found = shards.outcomes(identity, range(len(every)), fit, out, cut)
    if found is None:
        return
    if data is None:
        scores.write(out, _not_run_rows(job, every, reason), info | {"chosen": []})
        return
    pairs = list(zip(every, found, strict=True))
    rows = [row for part, outcome in pairs for row in _rows(job, data, part, outcome)]
    chosen = [
        {"protocol": part.protocol, "split": part.number, **outcome.chosen}
        for part, outcome in pairs
    ]
    scores.write(out, rows, info | {"chosen": chosen}, _arrays(every, found))


def _fit(job: Job, data: Dataset | None, every: list[Part], places: Sequence[int]) -> list:
    """Fit to some of the partitions and predict their test rows; of no data there is nothing."""
    if data is None:
        return [None] * len(places)

    def training(number: int) -> Training:
        part = every[number]
        seed = _seed(job.dataset, part)
        return Training(data.X[part.train], _centred(data, part)[part.train], seed)

    def evaluate(number: int, model, place: Callable) -> np.ndarray:
        part = every[number]
        predicted = to_numpy(model.mean(place(data.X[part.test])))[:, 0]
        return predicted + data.Y[part.train].mean()

    return conditional_models.outcomes(job, EXPERIMENT, places, training, evaluate)


def _check(job: Job) -> None:
    if not 0 <= job.folds <= FOLD_COUNT:
        raise ValueError(f"folds must be from 0 to {FOLD_COUNT}; got {job.folds}")
    if job.splits < 0 or job.folds + job.splits < 1:
        raise ValueError(
            "there must be at least one fold or random split; got "
            f"folds = {job.folds}, splits = {job.splits}"
        )


def _centred(data: Dataset, part: Part) -> np.ndarray:
    return data.Y - data.Y[part.train].mean()


def _metrics(job: Job, protocol: str) -> list[str]:
    """Return the metrics of a protocol, that of the published number first."""
    authors = RANDOM if job.estimator in FLOWS else FOLDS
    published = [METRIC] if protocol == authors else []
    if protocol == RANDOM:
        return [*published, f"{METRIC}_pointwise", f"{METRIC}_pointwise_std"]
    names = ("centred", "predicted", "pointwise", "total")
    return [*published, *(f"{METRIC}_{name}" for name in names)]


def _rows(job: Job, data: Dataset, part: Part, outcome: Outcome) -> list[dict]:
    """Return a row for each metric of a fold or split."""
    row = _row(job, part) | {"dim": data.X.shape[1], "backend": outcome.backend}
    row |= {"n_train": len(part.train), "n_test": len(part.test)}
    names = _metrics(job, part.protocol)
    if outcome.found is None:
        failed = {"status": "failed", "detail": outcome.detail}
        return [row | failed | {"metric": name} for name in names]
    observed = data.Y[part.test, 0]
    values = smae(outcome.found, observed, float(data.Y[part.train].mean()))
    measured = {f"{METRIC}_{name}": value for name, value in values.items()}
    measured[METRIC] = values[_PUBLISHED.get(job.estimator, "centred")]
    spread = np.abs(outcome.found / observed - 1.0).std(ddof=1)
    measured[f"{METRIC}_pointwise_std"] = float(spread)
    timed = row | {"seconds": outcome.seconds}
    return [timed | cell(name, measured[name]) for name in names]


def _row(job: Job, part: Part) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": job.dataset,
        "setting": scores.setting(protocol=part.protocol),
        "method": job.method,
        "variant": job.variant,
        "split": part.number,
        "unit": "",
        "backend": "numpy",
        "dtype": "float64",
        "seed": _seed(job.dataset, part),
    }


def _seed(dataset: str, part: Part) -> int:
    """Return a seed of data set, protocol and number, small enough to survive any CSV reader."""
    return seed_of(EXPERIMENT, dataset, part.protocol, part.number) % 2**32


def _arrays(every: list[Part], found: list[Outcome]) -> dict[str, np.ndarray]:
    """Return predictions and row numbers, stacked by protocol."""
    arrays = {}
    for protocol in dict.fromkeys(part.protocol for part in every):
        pairs = [
            (part, outcome.found)
            for part, outcome in zip(every, found, strict=True)
            if part.protocol == protocol
        ]
        most = max(len(part.test) for part, _ in pairs)
        rows = np.full((len(pairs), most), -1)
        prediction = np.full((len(pairs), most), np.nan)
        for place, (part, predicted) in enumerate(pairs):
            rows[place, : len(part.test)] = part.test
            if predicted is not None:
                prediction[place, : len(part.test)] = predicted
        arrays |= {f"test_rows_{protocol}": rows, f"prediction_{protocol}": prediction}
    return arrays


def _info(job: Job, data: Dataset | None) -> dict:
    return {
        "job": asdict(job) | {"options": dict(job.options)},
        "data_sha256": data.sha256 if data else None,
        "code": digest(__name__, estimator_module(job.estimator)),
    }


def _without_rows(job: Job) -> list[Part]:
    """Return the partitions of data that are not there."""
    blank = np.empty(0, dtype=np.int64)
    folds = [Part(FOLDS, i, blank, blank) for i in range(job.folds)]
    return folds + [Part(RANDOM, i, blank, blank) for i in range(job.splits)]


def _not_run_rows(job: Job, every: list[Part], detail: str) -> list[dict]:
    return [
        _row(job, part) | {"metric": name, "status": "not-run", "detail": detail}
        for part in every
        for name in _metrics(job, part.protocol)
    ]
