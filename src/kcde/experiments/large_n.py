"""Conditional densities of a known bimodal y, from a thousand training rows to a million.

Every method is fitted to the same n rows, with its own selection, and scored on the same test rows
by the mean of log p - log p̂, where p is the true density; beside it what the fit cost. One draw of
training rows for each n: the standard error is that of the test rows.

LikelihoodKCEF fits T by maximum likelihood. At the bandwidths that it chose, and with the same
centres, at most 200 of x, T is also fitted by both objectives along a path of λ, so that what
separates them is the objective alone.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from kcde import scores
from kcde.arrays import to_numpy
from kcde.data import made_up, names
from kcde.estimators import Standardised, estimator_class
from kcde.estimators._likelihood.family import LIKELIHOOD, OBJECTIVES
from kcde.experiments import _measured_fit, methods, runner
from kcde.experiments._regressors import BoostedResiduals, LinearGaussian
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.large_n import REGRESSORS, Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import DENSITY_SECONDS, FIT_SECONDS, LOG_DENSITY_GAP, NLL, PEAK_MEMORY
from kcde.provenance import digest, estimator_module
from kcde.seeding import seed_of

_REGRESSORS = dict(zip(REGRESSORS, (BoostedResiduals, LinearGaussian), strict=True))
_COMPARED = "LikelihoodKCEF"
_RANK = 200  # of both objectives: score matching factorises a matrix of r_x r_y rows


class Experiment(runner.Experiment[Job]):
    """Rows have the metrics `log_density_gap` and `negative_log_likelihood`, nats of y in its own
    units; `fit_seconds` of processor time with the selection, and `density_seconds` of the test
    rows; `peak_memory`, MiB beyond the process with its data.

    Gaps with the setting `objective` and `regularization` are those of the path.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown data, estimators and options."""
        names.BIMODAL.sizes(job.dataset)
        make(job)

    def code(self, job: Job) -> str:
        """Return a digest of the experiment and of the job's estimator."""
        own = [] if job.estimator in REGRESSORS else [estimator_module(job.estimator)]
        return digest(__name__, *own)

    def open(self) -> tuple:
        """Return training rows, test rows and the true log density of the latter."""
        irrelevant, n = names.BIMODAL.sizes(self.job.dataset)
        train = made_up.bimodal_training_pairs(n, irrelevant)
        test = made_up.bimodal_held_out_pairs(irrelevant, self.job.test_rows)
        return train, test, made_up.bimodal_log_density(*test)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits and scores."""
        return lambda unit: self._outcome()

    def _outcome(self) -> Outcome:
        job, (train, test, truth) = self.job, self.data
        model, before = make(job), _measured_fit.peak_memory()
        fitted, seconds, _ = _measured(model.fit, *train)
        peak = (_measured_fit.peak_memory() - before) / 2**20
        found, scoring, wall = _measured(_log_density, fitted, test)
        row = _row(job, train, test)
        if isinstance(found, Exception):
            return Outcome([row | scores.failed(LOG_DENSITY_GAP, found, "nats")], [{}])
        row |= {"seconds": seconds + wall}
        cells = [
            gap(truth, found),
            scores.cell(NLL, float(-found.mean()), "nats"),
            scores.cell(FIT_SECONDS, seconds, "s"),
            scores.cell(DENSITY_SECONDS, scoring, "s"),
            scores.cell(PEAK_MEMORY, peak, "MiB"),
        ]
        rows = [row | each for each in cells]
        if job.estimator == _COMPARED and job.options.get("objective", LIKELIHOOD) == LIKELIHOOD:
            rows += _path(job, fitted, self.data)
        inner = getattr(fitted, "estimator_", None)
        chosen = {} if inner is None else methods.chosen(inner)
        return Outcome(rows, [chosen], {"log_density": found})


def make(job: Job):
    """Return the unfitted model of a job.

    Raises
    ------
    ValueError
        If the estimator does not exist, or does not know one of the options.
    """
    if job.estimator in REGRESSORS:
        return _REGRESSORS[job.estimator](_seed(job))
    default = estimator_class(job.estimator)().get_params(deep=False).get("tuning_rows")
    by_likelihood = job.options.get("selection") == "likelihood"
    return Standardised(
        methods.build(
            job.method,
            job.estimator,
            job.options,
            random_state=_seed(job),
            tuning_rows=job.tuning_rows if by_likelihood else default,
        )
    )


def gap(truth: np.ndarray, log_density: np.ndarray) -> dict:
    """Return the cell of the mean of log p - log p̂ over test rows, with its standard error."""
    difference = truth - log_density
    stderr = difference.std(ddof=1) / np.sqrt(len(difference))
    return scores.cell(LOG_DENSITY_GAP, float(difference.mean()), "nats", stderr)


def _path(job: Job, fitted: Standardised, data: tuple) -> list[dict]:
    """Return the gaps of both objectives along λ, at the bandwidths of a fitted model."""
    train, test, truth = data
    inner, rows = fitted.estimator_, []
    known = {"bandwidth_x": inner.bandwidth_x_, "bandwidth_y": inner.bandwidth_y_}
    known["rank_x"] = inner.rank_x or _RANK
    for objective in OBJECTIVES:
        for value in job.path:
            model = make(job)
            model.estimator.set_params(**known, regularization=value, objective=objective)
            found, seconds = attempt(lambda m: _log_density(m.fit(*train), test), model)
            setting = scores.setting(objective=objective, regularization=value)
            failed = isinstance(found, Exception)
            cell = scores.failed(LOG_DENSITY_GAP, found, "nats") if failed else gap(truth, found)
            rows.append(_row(job, train, test) | {"setting": setting, "seconds": seconds} | cell)
    return rows


def _measured(function: Callable, *arguments) -> tuple:
    """Return what `attempt` does, the seconds of processor time, and those of the clock."""
    started = time.process_time()
    found, wall = attempt(function, *arguments)
    return found, time.process_time() - started, wall


def _log_density(model, test: tuple) -> np.ndarray:
    return to_numpy(model.log_density(*test))


def _row(job: Job, train: tuple, test: tuple) -> dict:
    sizes = {"n_train": len(train[0]), "n_test": len(test[0]), "dim": train[0].shape[1]}
    return job.row(0, seed=_seed(job), backend="numpy", **sizes)


def _seed(job: Job) -> int:
    """Return a seed of the data alone, small enough to survive any CSV reader."""
    return seed_of(Job.experiment, job.dataset) % 2**32
