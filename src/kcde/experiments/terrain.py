"""Elevation over a grid of coordinates: cdo, table 3, with every definition of its error.

The authors' code scores CDO, the Gaussian process and LSCDE on shuffled folds, 90% training rows,
with output less its training mean, and the flows on a random fifth of the rows; and it divides
differently for each (`kcde.metrics.smae`). Here all methods are fitted on the folds and scored by
every definition; flows once more on random splits, for the published number.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kcde.datasets.loaders import Dataset, load
from kcde.experiments import conditional_models, problems, scores
from kcde.experiments.conditional_models import Outcome, Training, cell
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
    """

    dataset: str
    method: str
    estimator: str
    variant: str = "as-published"
    options: Mapping = field(default_factory=dict)
    settings: str = "chosen"
    folds: int = FOLD_COUNT
    splits: int = 0


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


def run(job: Job, out: Path, data_dir: Path, *, catalogue=None, record: Path | None = None) -> None:
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

    Raises
    ------
    ValueError
        If a number is out of range, or an option or the settings are unknown.
    """
    _check(job)
    if reason := problems.unavailable(job.dataset, record):
        _write_not_run(job, out, reason)
        return
    data = load(job.dataset, data_dir, catalogue=catalogue)
    every = parts(job.dataset, len(data.Y), job.folds, job.splits)
    trainings = [
        Training(data.X[part.train], _centred(data, part)[part.train], _seed(job.dataset, part))
        for part in every
    ]

    def evaluate(place: int, model) -> np.ndarray:
        part = every[place]
        predicted = np.asarray(model.mean(data.X[part.test]))[:, 0]
        return predicted + data.Y[part.train].mean()

    found = conditional_models.outcomes(job, EXPERIMENT, trainings, evaluate)
    rows = [
        row
        for part, outcome in zip(every, found, strict=True)
        for row in _rows(job, data, part, outcome)
    ]
    scores.write(out, rows, _info(job, data, every, found), _arrays(every, found))


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
    row = _row(job, part) | {"dim": data.X.shape[1]}
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


def _info(job: Job, data: Dataset | None, every: list[Part], found: list[Outcome]) -> dict:
    return {
        "job": asdict(job) | {"options": dict(job.options)},
        "chosen": [
            {"protocol": part.protocol, "split": part.number, **outcome.chosen}
            for part, outcome in zip(every, found, strict=True)
        ],
        "data_sha256": data.sha256 if data else None,
        "code": digest(__name__, estimator_module(job.estimator)),
    }


def _write_not_run(job: Job, out: Path, detail: str) -> None:
    blank = np.empty(0, dtype=np.int64)
    every = [Part(FOLDS, i, blank, blank) for i in range(job.folds)]
    every += [Part(RANDOM, i, blank, blank) for i in range(job.splits)]
    rows = [
        _row(job, part) | {"metric": name, "status": "not-run", "detail": detail}
        for part in every
        for name in _metrics(job, part.protocol)
    ]
    scores.write(out, rows, _info(job, None, [], []))
