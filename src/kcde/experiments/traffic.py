"""Mean and spread of traffic by day of the week and time of day (cdo, figure 5).

Every method is fitted to the outputs of some days and asked for mean and standard deviation at each
input; those of the outputs of the other days say how far it is off. (The authors' notebook tests on
days that it trained on.) What is as the authors fixed it, Gaussian processes, and operators with
periods get the data in their own units; all else is standardised by the training rows.

``mean_error``, ``std_error``  median over the inputs of |estimate/test - 1|, of the mean and of the
                               standard deviation of the test outputs (divisor: their number)
``mean_error_of_training``,    the same of the mean and standard deviation of the training outputs
``std_error_of_training``      of an input alone, for which no method is needed
``mean_error_overlapping``,    the first two, with the training days added to the test days, as the
``std_error_overlapping``      authors' notebook tests (the second reading of C-split)
``negative_variance_share``    share of the inputs where the estimate of the variance is negative,
                               as with signed weights it may be: its standard deviation is NaN, and
                               in the median its error is larger than any other

An input is tested where at least two test days have it and their mean and spread are positive. Rows
with the setting `days` = `thinned` are of splits without holidays in which the first 32 training
days of each weekday train, the shape of PEMS-SF; the others have all days. On
`simulated-traffic` no error is measured but what a fit costs: see `traffic_cost`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.arrays import asarray, to_numpy
from kcde.data import traffic as data_sets
from kcde.data.names import SIMULATED_TRAFFIC
from kcde.data.traffic import Split, Traffic, open_traffic
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import _cdo_settings, _smoothers, _traffic_cost, methods, runner
from kcde.experiments.job import Outcome
from kcde.experiments.jobs._conditional import SMOOTHERS
from kcde.experiments.jobs.traffic import Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import FIT_SECONDS
from kcde.provenance import digest
from kcde.scores import cell
from kcde.seeding import rng_of, split_seed

MEAN, STD = "mean_error", "std_error"
NEGATIVE = "negative_variance_share"
THINNED = "thinned"
BINS = 40
FEWEST_TEST_OUTPUTS = 2


class Experiment(runner.Experiment[Job]):
    """The `.npz` has `inputs`, shape (splits, inputs, 2), and `mean`, `std`, `test_mean`,
    `test_std`, `test_count`, shape (splits, inputs), NaN where there is none; `overlapping_mean`
    and `overlapping_std`, the same of test and training outputs together; `thinned`, shape
    (splits,); and of the test outputs of split 0 `histogram`, shape (inputs, bins), over the bins
    between `edges`.

    Simulated traffic is one fit that is measured.
    """

    batch_fits = False

    def check(self, job: Job) -> None:
        """Raise `ValueError` for an estimator without mean and variance and for unknown options."""
        if job.estimator in SMOOTHERS:
            if job.estimator != SMOOTHERS[-1]:
                raise ValueError(f"of the smoothers traffic has {SMOOTHERS[-1]} alone, for the sd")
            return
        for needed in ("mean", "variance"):
            if not hasattr(estimator_class(job.estimator), needed):
                raise ValueError(f"{job.estimator} has no {needed}, which the experiment asks for")
        methods.build(job.method, job.estimator, job.options, random_state=0, tuning_rows=None)
        if self._simulated:
            _traffic_cost.check(job.estimator, job.settings)

    @classmethod
    def check_sharding(cls, jobs: Sequence[Job]) -> None:
        """Raise `ValueError` for a single fit, which is not shardable."""
        if jobs[0].dataset == SIMULATED_TRAFFIC:
            raise ValueError(f"{jobs[0].dataset} is one fit: leave out --shard and --part")

    @property
    def _simulated(self) -> bool:
        return self.job.dataset == SIMULATED_TRAFFIC

    def code(self, job: Job) -> str:
        """Return a digest of the experiment and of the job's estimator."""
        return digest(__name__) if job.estimator in SMOOTHERS else super().code(job)

    def open(self) -> Traffic:
        """Return the data set."""
        return open_traffic(self.job.dataset, self.places.data_dir, self.places.catalogue)

    def count(self) -> int:
        """Return the number of splits; one where there is one fit, or nothing to fit to."""
        if self._simulated or not self.data:
            return 1
        if self.data.splits:
            return min(self.job.splits, self.data.splits)
        return self.job.splits + self.job.thinned

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits and scores a split."""
        job, data = self.job, self.data
        if self._simulated:
            return lambda unit: Outcome(_cost_rows(job, data))
        backend = "numpy"
        if job.estimator not in SMOOTHERS:
            backend = methods.backend_of(estimator_class(job.estimator), job.backend)
        return lambda number: _outcome(job, data, number, backend)

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row."""
        return [_row(job, unit) | {"metric": MEAN}]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        data = self.data
        return super().info(job) | {
            "source": "cdo, section 4 and figure 5",
            "unit": data and data.unit,
            "repeated_rows_left_out": data and data.repeats,
            "bins": BINS,
            "data_sha256": data and data.sha256,
        }

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return curves over the inputs, and how test outputs spread; nothing where simulated."""
        return {} if self._simulated else runner.stacked(outcomes) | _histogram(self.data)


def scaled_errors(estimate: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return |estimate/reference - 1|, shape (q,), NaN where either is NaN."""
    return np.abs(estimate / reference - 1.0)


@dataclass(frozen=True)
class _TestMoments:
    """Moments of the test outputs of a split at the inputs, NaN where they do not count.

    Those that overlap are of test and training outputs together.
    """

    count: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    training_mean: np.ndarray
    training_std: np.ndarray
    overlapping_mean: np.ndarray
    overlapping_std: np.ndarray

    @classmethod
    def of(cls, split: Split, inputs: np.ndarray) -> "_TestMoments":
        """Take the moments; an input with too few test outputs, or constant ones, is not tested."""
        count, mean, std = data_sets.moments(split.X_test, split.Y_test, inputs)
        tested = (count >= FEWEST_TEST_OUTPUTS) & (mean > 0.0) & (std > 0.0)
        _, *training = data_sets.moments(split.X, split.Y, inputs)
        both = np.vstack([split.X, split.X_test]), np.vstack([split.Y, split.Y_test])
        _, *overlapping = data_sets.moments(*both, inputs)
        return cls(
            count,
            np.where(tested, mean, np.nan),
            np.where(tested, std, np.nan),
            *training,
            *(np.where(tested, each, np.nan) for each in overlapping),
        )


def _outcome(job: Job, data: Traffic, unit: int, backend: str) -> Outcome:
    """Fit and score one split; a numerical failure is a row that says why."""
    # A job may have more splits than data with a split of their own.
    thinned = unit >= job.splits
    number = unit - job.splits if thinned else unit
    split, inputs = data.split(number, thinned=thinned), data.inputs
    tested = _TestMoments.of(split, inputs)
    row = _row(job, number) | {"n_train": len(split.Y), "n_test": len(split.Y_test)}
    row |= {"setting": scores.setting(days=THINNED)} if thinned else {}
    row |= {"seed": split_seed(data.name, number), "dim": 1, "backend": backend}
    arrays = {"inputs": inputs, "test_count": tested.count}
    arrays |= {"test_mean": tested.mean, "test_std": tested.std, "thinned": np.array(thinned)}
    arrays |= {"overlapping_mean": tested.overlapping_mean}
    arrays |= {"overlapping_std": tested.overlapping_std}
    found, seconds = attempt(_fitted, job, data, number, split, backend)
    if isinstance(found, Exception):
        blank = np.full(len(inputs), np.nan)
        arrays |= {"mean": blank, "std": blank}
        return Outcome([row | scores.failed(MEAN, found)], [{}], arrays)
    model, mean, variance = found
    std = np.sqrt(np.where(variance < 0.0, np.nan, variance))
    rows = [row | {"seconds": seconds} | cells for cells in _cells(tested, mean, std)]
    smooths = job.estimator in SMOOTHERS
    chosen = {} if smooths else methods.chosen(getattr(model, "estimator_", model))
    return Outcome(rows, [chosen], arrays | {"mean": mean, "std": std})


def _fitted(job: Job, data: Traffic, number: int, split: Split, backend: str) -> tuple:
    """Return a fitted model, and its mean and variance at the inputs."""
    model = _model(job, data.name, number, split)
    model.fit(asarray(split.X, backend), asarray(split.Y, backend))
    at = asarray(data.inputs, backend)
    return model, *(to_numpy(f(at))[:, 0] for f in (model.mean, model.variance))


def _cells(tested: _TestMoments, mean: np.ndarray, std: np.ndarray) -> list[dict]:
    """Return metric, value and what is said of it."""
    negative = int(np.isnan(std).sum())
    lacking = f"no standard deviation at {negative} inputs of negative variance" if negative else ""
    values = [
        (MEAN, scaled_errors(mean, tested.mean), ""),
        (STD, scaled_errors(std, tested.std), lacking),
        (f"{MEAN}_of_training", scaled_errors(tested.training_mean, tested.mean), ""),
        (f"{STD}_of_training", scaled_errors(tested.training_std, tested.std), ""),
        (f"{MEAN}_overlapping", scaled_errors(mean, tested.overlapping_mean), ""),
        (f"{STD}_overlapping", scaled_errors(std, tested.overlapping_std), lacking),
    ]
    counted = ~np.isnan(tested.mean)
    cells = [
        cell(metric, _median(errors[counted]), detail=detail) for metric, errors, detail in values
    ]
    return [*cells, cell(NEGATIVE, negative / len(std))]


def _median(errors: np.ndarray) -> float:
    """Return the median, where a missing estimate counts as the largest error."""
    return float(np.median(np.where(np.isnan(errors), np.inf, errors))) if len(errors) else np.nan


def _cost_rows(job: Job, data: Traffic) -> list[dict]:
    """Return the cost of fitting the simulated pairs, and the error of the grouping."""
    row = _row(job, 0) | {"n_train": len(data.Y), "n_test": len(data.inputs), "dim": 1}
    try:
        found = _traffic_cost.measured(job.estimator, job.options, job.settings)
    except (*methods.FAILURES, _traffic_cost.FitError) as error:
        return [row | scores.failed(FIT_SECONDS, error)]
    return [row | cell(name, value, unit=unit) for name, (value, unit) in found.items()]


def _model(job: Job, name: str, number: int, split: Split):
    model = make_estimator(job, name, number, split)
    return model if _in_own_units(job) else Standardised(model)


def _in_own_units(job: Job) -> bool:
    fixed = job.settings == _cdo_settings.AUTHORS or job.options.get("periods") is not None
    raw = job.estimator == "GaussianProcess" or job.estimator in SMOOTHERS
    return (fixed and job.estimator == "CDO") or raw


def make_estimator(job: Job, name: str, number: int, split: Split):
    """Return the unfitted estimator of one split.

    Raises
    ------
    ValueError
        If the class does not know one of the options, or the settings are unknown.
    """
    seed = split_seed(name, number)
    if job.estimator in SMOOTHERS:
        return _smoothers.make(job, split.X, split.Y, rng_of("smoother", seed))
    options = _cdo_settings.complete_options(
        job.options, job.settings, job.experiment, job.estimator, split.X, split.Y
    )
    return methods.build(
        job.method, job.estimator, options, random_state=seed, tuning_rows=job.tuning_rows
    )


def _histogram(data: Traffic) -> dict[str, np.ndarray]:
    """Return how the test outputs of split 0 spread at each input."""
    split = data.split(0)
    edges = np.linspace(split.Y_test.min(), split.Y_test.max(), BINS + 1)
    counts = data_sets.counts_in_bins(split.X_test, split.Y_test, data.inputs, edges)
    return {"histogram": counts, "edges": edges}


def _row(job: Job, number: int) -> dict:
    return job.row(number, backend="numpy")
