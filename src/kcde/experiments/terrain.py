"""Elevation over a grid of coordinates: cdo, table 3, with every definition of its error.

The authors' code scores CDO, the Gaussian process and LSCDE on shuffled folds, 90% training rows,
with output less its training mean, and the flows on a random fifth of the rows; and it divides
differently for each (`kcde.metrics.smae`). Here all methods are fitted on the folds and scored by
every definition; flows once more on random splits, for the published number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import to_numpy
from kcde.data.loaders import Dataset, load
from kcde.experiments import _conditional_models, runner
from kcde.experiments._conditional_models import Training
from kcde.experiments.job import Outcome
from kcde.experiments.jobs._conditional import SMOOTHERS
from kcde.experiments.jobs.terrain import FLOWS, FOLD_COUNT, Job
from kcde.experiments.runner import attempt
from kcde.metrics import smae
from kcde.metrics.names import SMAE
from kcde.provenance import digest
from kcde.scores import cell
from kcde.seeding import rng_of, seed_of
from kcde.selection import complement, kfold

FOLDS, RANDOM = "folds", "random"

_TEST_SHARE = 5  # one row in five is a test row of a random split
_PUBLISHED = {"GaussianProcess": "predicted"} | dict.fromkeys(FLOWS, "pointwise")


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


class _Data(NamedTuple):
    """The data set and its partitions."""

    table: Dataset
    parts: list[Part]


class Experiment(runner.Experiment[Job]):
    """Under {"protocol":"folds"} the metrics are `smae_centred`, `smae_predicted`,
    `smae_pointwise` and `smae_total`, and under the authors' protocol for the method
    `smae`, by their definition; random splits have `smae_pointwise` and `smae_pointwise_std`, its
    spread over the test points. The `.npz` holds `prediction_<protocol>` and
    `test_rows_<protocol>`, a row each split (NaN and -1 where one failed, or has fewer rows).
    """

    @classmethod
    def check_sharding(cls, jobs: Sequence[Job]) -> None:
        """Raise `ValueError` for jobs that are not shardable; smoothers are."""
        if jobs[0].estimator not in SMOOTHERS:
            super().check_sharding(jobs)

    def code(self, job: Job) -> str:
        """Return a digest of the experiment and of the job's estimator."""
        return digest(__name__) if job.estimator in SMOOTHERS else super().code(job)

    def open(self) -> _Data:
        """Return the data set, and its folds and then its random splits."""
        job, places = self.job, self.places
        table = load(job.dataset, places.data_dir, catalogue=places.catalogue)
        return _Data(table, parts(job.dataset, len(table.Y), job.folds, job.splits))

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that predicts the test rows of a partition."""
        job, (table, every) = self.job, self.data

        def training(number: int) -> Training:
            part = every[number]
            Y = _centred(table, part)[part.train]
            return Training(table.X[part.train], Y, _seed(job.dataset, part))

        fits = _conditional_models.fits(job, units, training)

        def work(number: int) -> Outcome:
            part = every[number]
            model, fitting = fits.model(number)
            found, seconds = attempt(_predicted, model, table, part, fits.place)
            named = {"protocol": part.protocol, "split": part.number}
            row = _row(job, part) | {"dim": table.X.shape[1], "backend": fits.backend}
            row |= {"n_train": len(part.train), "n_test": len(part.test)}
            if isinstance(found, Exception):
                names = _metrics(job, part.protocol)
                return Outcome([row | scores.failed(name, found) for name in names], [named])
            rows = _scored(job, table, part, found, row | {"seconds": fitting + seconds})
            chosen = named | _conditional_models.chosen(model)
            return Outcome(rows, [chosen], {"prediction": found})

        return work

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row for each metric of a partition."""
        part = _without_rows(job)[unit]
        return [_row(job, part) | {"metric": name} for name in _metrics(job, part.protocol)]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        return super().info(job) | {"data_sha256": self.data.table.sha256 if self.data else None}

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return predictions and row numbers, stacked by protocol."""
        return _arrays(self.data.parts, [each.arrays.get("prediction") for each in outcomes])


def _predicted(model, table: Dataset, part: Part, place: Callable) -> np.ndarray:
    """Return predictions of the test rows, shape (m,)."""
    predicted = to_numpy(model.mean(place(table.X[part.test])))[:, 0]
    return predicted + table.Y[part.train].mean()


def _centred(data: Dataset, part: Part) -> np.ndarray:
    return data.Y - data.Y[part.train].mean()


def _metrics(job: Job, protocol: str) -> list[str]:
    """Return the metrics of a protocol, that of the published number first."""
    authors = RANDOM if job.estimator in FLOWS else FOLDS
    published = [SMAE] if protocol == authors else []
    if protocol == RANDOM:
        return [*published, f"{SMAE}_pointwise", f"{SMAE}_pointwise_std"]
    names = ("centred", "predicted", "pointwise", "total")
    return [*published, *(f"{SMAE}_{name}" for name in names)]


def _scored(job: Job, table: Dataset, part: Part, found: np.ndarray, row: dict) -> list[dict]:
    """Return a row for each metric of a fold or split."""
    observed = table.Y[part.test, 0]
    values = smae(found, observed, float(table.Y[part.train].mean()))
    measured = {f"{SMAE}_{name}": value for name, value in values.items()}
    measured[SMAE] = values[_PUBLISHED.get(job.estimator, "centred")]
    spread = np.abs(found / observed - 1.0).std(ddof=1)
    measured[f"{SMAE}_pointwise_std"] = float(spread)
    return [row | cell(name, measured[name]) for name in _metrics(job, part.protocol)]


def _row(job: Job, part: Part) -> dict:
    setting = scores.setting(protocol=part.protocol)
    seed = _seed(job.dataset, part)
    return job.row(part.number, setting=setting, unit="", backend="numpy", seed=seed)


def _seed(dataset: str, part: Part) -> int:
    """Return a seed of data set, protocol and number, small enough to survive any CSV reader."""
    return seed_of(Job.experiment, dataset, part.protocol, part.number) % 2**32


def _arrays(every: list[Part], found: list[np.ndarray | None]) -> dict[str, np.ndarray]:
    """Return predictions and row numbers, stacked by protocol."""
    arrays = {}
    for protocol in dict.fromkeys(part.protocol for part in every):
        pairs = [
            (part, predicted)
            for part, predicted in zip(every, found, strict=True)
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


def _without_rows(job: Job) -> list[Part]:
    """Return the partitions of data that are not there."""
    blank = np.empty(0, dtype=np.int64)
    folds = [Part(FOLDS, i, blank, blank) for i in range(job.folds)]
    return folds + [Part(RANDOM, i, blank, blank) for i in range(job.splits)]
