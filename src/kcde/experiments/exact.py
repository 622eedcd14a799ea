"""The best possible scores on the grid data: exact density, exact entropy, and independence.

In standardised units: log p(y) + Σ log s_i at the test rows, and Σ h_i - Σ log s_i. A product of
marginals attains at most the likelihood of independent uniforms, so that
independence - entropy = -Σ h_i is all the dependence there is to be found (kcef, figures 1 and 5).
"""

from collections.abc import Callable, Sequence

import numpy as np

from kcde import scores
from kcde.data import made_up
from kcde.data.names import is_grid
from kcde.experiments import joint, runner
from kcde.experiments._problems import GridProblem, Problem, open_problem
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.exact import METHOD, Job
from kcde.metrics.names import NLL


class Experiment(runner.Experiment[Job]):
    """The metrics are `negative_log_likelihood`, `entropy` and `independence`; the `.npz` holds
    `factor_log_density` (runs, d, test rows) in standardised units.
    """

    def open(self) -> GridProblem:
        """Return the problem, which must be the grid: no other density is known."""
        name, max_dim = self.job.dataset, self.job.max_dim
        problem = open_problem(name, "", max_dim=max_dim) if is_grid(name) else None
        if not isinstance(problem, GridProblem):
            raise ValueError(f"only the grid data have a known density: grid-200, ...; got {name}")
        return problem

    def count(self) -> int:
        """Return the number of runs."""
        return self.job.runs

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that scores a run."""

        def work(run: int) -> Outcome:
            terms, log_std = factor_log_density(self.data, run)
            rows = _rows(self.data, run, terms, log_std)
            return Outcome(rows, arrays={"factor_log_density": terms})

        return work

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        return {"code": self.code(job), "dataset": job.dataset, **self.data.description()}

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return nothing: nothing is chosen."""
        return {}


def factor_log_density(problem: GridProblem, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact log densities of the factors at the standardised test rows, and log s.

    Returns
    -------
    numpy.ndarray
        Shape (d, test rows), nats.
    numpy.ndarray
        Shape (d,): logs of the standard deviations of the training rows.
    """
    log_std = np.log(problem.split(run).std)
    return (made_up.grid_log_density(problem.rows(run)[1], problem.frequency) + log_std).T, log_std


def _rows(problem: Problem, run: int, terms: np.ndarray, log_std: np.ndarray) -> list[dict]:
    train, test = problem.rows(run)
    entropy = made_up.grid_entropy(problem.dim)
    dims = range(1, problem.dim + 1) if problem.every_dimension else [problem.dim]
    common = {
        "experiment": joint.Job.experiment,
        "dataset": problem.name,
        "method": METHOD,
        "variant": METHOD,
        "split": run,
        "n_train": len(train),
        "n_test": len(test),
        "stderr": 0.0,
        "unit": "nats",
        "status": "ok",
        "backend": "numpy",
        "dtype": "float64",
        "seed": problem.seed(run),
    }
    rows = []
    for d in dims:
        axes = {"dim": d} if problem.every_dimension else {}
        values = {
            NLL: -terms[:d].sum(axis=0).mean(),
            "entropy": (entropy - log_std)[:d].sum(),
            "independence": -log_std[:d].sum(),
        }
        place = common | {"dim": d, "setting": scores.setting(**axes)}
        rows += [place | {"metric": name, "value": float(v)} for name, v in values.items()]
    return rows
