"""The best possible scores on the grid data: exact density, exact entropy, and independence.

In standardised units: log p(y) + Σ log s_i at the test rows, and Σ h_i - Σ log s_i. A product of
marginals attains at most the likelihood of independent uniforms, so that
independence - entropy = -Σ h_i is all the dependence there is to be found (kcef, figures 1 and 5).
"""

from pathlib import Path

import numpy as np

from kcde.datasets import grid
from kcde.experiments import scores
from kcde.experiments.joint import EXPERIMENT, METRIC
from kcde.experiments.problems import MOST_GRID_COLUMNS, GridProblem, Problem, open_problem
from kcde.provenance import digest

METHOD = "exact"


def run(dataset: str, out: str | Path, *, runs: int = 5, max_dim: int = MOST_GRID_COLUMNS) -> None:
    """Score the true density of grid data and write the scores.

    Parameters
    ----------
    dataset
        `grid-<n>`.
    out
        The score CSV, with the metrics `negative_log_likelihood`, `entropy` and `independence`; the
        `.npz` beside it holds `factor_log_density` (runs, d, test rows) in standardised units.
    runs
        Repetitions.
    max_dim
        Columns of the grid data with 2000 rows.

    Raises
    ------
    ValueError
        If the data set is not the grid, or `runs` is not positive.
    """
    if runs < 1:
        raise ValueError(f"runs must be at least 1; got {runs}")
    problem = open_problem(dataset, "", max_dim=max_dim) if dataset.startswith("grid-") else None
    if not isinstance(problem, GridProblem):
        raise ValueError(f"only the grid data have a known density: grid-200, ...; got {dataset}")
    rows, curves = [], []
    for number in range(runs):
        terms, log_std = factor_log_density(problem, number)
        curves.append(terms)
        rows += _rows(problem, number, terms, log_std)
    info = {"code": digest(__name__), "dataset": dataset, **problem.description()}
    scores.write(out, rows, info, {"factor_log_density": np.stack(curves)})


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
    return (grid.log_density(problem.rows(run)[1]) + log_std).T, log_std


def _rows(problem: Problem, run: int, terms: np.ndarray, log_std: np.ndarray) -> list[dict]:
    train, test = problem.rows(run)
    entropy = grid.entropy(problem.dim)
    dims = range(1, problem.dim + 1) if problem.every_dimension else [problem.dim]
    common = {
        "experiment": EXPERIMENT,
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
            METRIC: -terms[:d].sum(axis=0).mean(),
            "entropy": (entropy - log_std)[:d].sum(),
            "independence": -log_std[:d].sum(),
        }
        place = common | {"dim": d, "setting": scores.setting(**axes)}
        rows += [place | {"metric": name, "value": float(v)} for name, v in values.items()]
    return rows
