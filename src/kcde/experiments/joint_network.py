"""Joint densities by one network for all columns: the NADE of kcef, table 2 and figures 1 and 5.

An orderless network has a density for every order of the columns. The published numbers are
reproduced by the log likelihood averaged over random orders; the column order alone and the mixture
of the orders, which is the better density, are reported as well.

The reference implementation takes 2500 updates for red wine, and the paper states none. How many
suit other data follows from their rows: the method NADE trains 2500 and 10,000 updates in full, and
on each run the held-out tenth of the training rows chooses. The rule was declared before a network
of 10,000 updates was scored on test rows here.

All runs are trained as one batch, so that the repetitions here are the numbers of columns.
"""

import time
from collections.abc import Callable, Sequence

import numpy as np

from kcde import scores
from kcde.experiments import joint, methods, runner
from kcde.experiments._problems import Problem, Split, open_problem
from kcde.experiments.factors import estimator_of
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.joint_network import Job
from kcde.experiments.runner import attempt, is_batch_fitted
from kcde.metrics.names import NLL
from kcde.normalisers import logsumexp
from kcde.seeding import rng_of

ORDERS = 10
"""Random orders that the score is averaged over (Uria et al., 2016)."""


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds `log_density_by_order_<d>` (runs, orders, test rows) in standardised units
    for every d trained on; the first order is that of the columns.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for an estimator that is not batch-fitted and for unknown options."""
        if not is_batch_fitted(job.estimator):
            raise ValueError(
                f"method {job.method}: {job.estimator} cannot be trained on all runs at once; "
                "for other estimators use `run factors` and `run joint`"
            )
        estimator_of(job, 0)

    def open(self) -> Problem:
        """Return the problem, whose dimensions are checked."""
        job, places = self.job, self.places
        problem = open_problem(job.dataset, places.data_dir, places.catalogue, job.max_dim)
        if beyond := [dim for dim in dims(job, problem) if not 1 <= dim <= problem.dim]:
            raise ValueError(f"{job.dataset} has 1 to {problem.dim} columns; dims has {beyond}")
        return problem

    def count(self) -> int:
        """Return how many numbers of columns are trained on."""
        return len(dims(self.job, self.data)) if self.data else 1

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that trains on some columns, all runs as one batch."""
        job, problem = self.job, self.data
        splits = [problem.split(run) for run in range(job.runs)]
        return lambda unit: _trained(job, problem, splits, dims(job, problem)[unit])

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row a run."""
        return [_row(job, run) | {"metric": NLL, "unit": "nats"} for run in range(job.runs)]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        return super().info(job) | (self.data.description() if self.data else {})

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the log densities by the number of columns."""
        return {name: array for each in outcomes for name, array in each.arrays.items()}


def dims(job: Job, problem: Problem) -> list[int]:
    """Return the numbers of leading columns that are trained on."""
    return list(job.dims) or [problem.dim] if problem.every_dimension else [problem.dim]


def _trained(job: Job, problem: Problem, splits: Sequence[Split], dim: int) -> Outcome:
    """Train on the first columns of all runs at once, and score each run."""
    started = time.perf_counter()
    models = _fit_many(job, problem, splits, dim)
    tables = [
        attempt(_by_order, model, split.test[:, :dim], problem, run, dim)[0]
        for run, (model, split) in enumerate(zip(models, splits, strict=True))
    ]
    seconds = (time.perf_counter() - started) / job.runs
    found = Outcome([], [])
    by_order = np.full((job.runs, ORDERS + 1, len(splits[0].test)), np.nan)
    axes = {"dim": dim} if problem.every_dimension else {}
    for run, (table, split) in enumerate(zip(tables, splits, strict=True)):
        row = _row(job, run) | {"dim": dim, "setting": scores.setting(**axes)}
        row |= {"n_train": len(split.train), "n_test": len(split.test), "seed": problem.seed(run)}
        if isinstance(table, Exception):
            found.rows.append(row | scores.failed(NLL, table, "nats"))
            continue
        by_order[run] = table
        found.chosen.append({"run": run, "dim": dim, **methods.chosen(models[run])})
        found.rows += [
            row | {"seconds": seconds} | scores.cell(name, value, "nats", 0.0)
            for name, value in metrics(table).items()
        ]
    found.arrays[f"log_density_by_order_{dim}"] = by_order
    return found


def _fit_many(job: Job, problem: Problem, splits: Sequence[Split], dim: int) -> list:
    """Return one fitted network for each run, or the error in its place."""
    networks = [estimator_of(job, problem.seed(run)) for run in range(job.runs)]
    Ys = [split.train[:, :dim] for split in splits]
    no_x = [Y[:, :0] for Y in Ys]
    return type(networks[0]).fit_many(networks, no_x, Ys, return_errors=True)


def _by_order(model, Y: np.ndarray, problem: Problem, run: int, dim: int) -> np.ndarray:
    """Return the log density in the column order and in random orders, shape (1 + orders, n)."""
    rng = rng_of("orders", problem.identity, run, dim)
    return model.log_density_by_order(Y[:, :0], Y, ORDERS + 1, rng)


def metrics(by_order: np.ndarray) -> dict[str, float]:
    """Return the scores of a network.

    Parameters
    ----------
    by_order
        Log densities, shape (1 + orders, n), nats; the first row in the column order, which counts
        in no other score.

    Returns
    -------
    dict
        The negative log likelihood: mean over random orders; in the column order; of the mixture
        of the random orders.
    """
    random = by_order[1:]
    mixture = logsumexp(random, axis=0) - np.log(len(random))
    return {
        NLL: -float(random.mean()),
        f"{NLL}_fixed_order": -float(by_order[0].mean()),
        f"{NLL}_ensemble": -float(mixture.mean()),
    }


def _row(job: Job, run: int) -> dict:
    return job.row(run, experiment=joint.Job.experiment, backend="jax")
