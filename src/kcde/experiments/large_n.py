"""Conditional densities of a known bimodal y, from a thousand training rows to a million.

Every method is fitted to the same n rows, with its own selection, and scored on the same test rows
by the mean of log p - log p̂, where p is the true density; beside it what the fit cost. One draw of
training rows for each n: the standard error is that of the test rows.

Beside the estimators there are a regression and a distribution of its residuals: what one has
without a conditional density estimator. They know the mean of y given x, and take the residuals to
be alike at every x.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.arrays import logsumexp, row_blocks, to_numpy
from kcde.data import made_up, names
from kcde.estimators import Standardised
from kcde.estimators._shared.floored import Normal, heavy_floor, weight_of_floor
from kcde.experiments import _measured_fit, methods
from kcde.experiments.base import MethodExperiment, Outcome, attempt, parameter, sized
from kcde.kernels import GaussianKernel
from kcde.metrics import DENSITY_SECONDS, FIT_SECONDS, LOG_DENSITY_GAP, NLL, PEAK_MEMORY
from kcde.names import AS_PUBLISHED, OURS
from kcde.seeding import rng_of, row_seed
from kcde.selection import kfold

# Candidates of the residuals' bandwidth, in their standard deviations.
BANDWIDTHS = np.geomspace(0.02, 1.0, 20)

_UNITS = {NLL: "nats", FIT_SECONDS: "s", DENSITY_SECONDS: "s", PEAK_MEMORY: "MiB"}
_SMALL = ("bimodal-2-1000", "bimodal-2-10000")


class BoostedResiduals:
    """scikit-learn's HistGradientBoostingRegressor, and a kernel density of its residuals.

    Trees are fitted to four fifths of the rows, with early stopping by a tenth of these and
    otherwise scikit-learn's defaults but up to 2000 trees. The residuals are those of the last
    fifth, at most 5000 of them; their bandwidth is the one of 20 with the best 5-fold held-out
    likelihood. A share of a Student t with two degrees of freedom, as LikelihoodKCEF has it, bounds
    the loss of a row.
    """

    def __init__(self, random_state: int):
        self.random_state = random_state

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "BoostedResiduals":
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        rng = rng_of("boosting", self.random_state)
        order, count = rng.permutation(len(X)), len(X) // 5
        held, rest = order[:count], order[count:]
        given = {"early_stopping": True, "random_state": self.random_state}
        self._trees = HistGradientBoostingRegressor(max_iter=2000, **given).fit(X[rest], Y[rest, 0])
        self._residuals = self._residuals_of(X[held], Y[held])[:5000]
        self._floor = heavy_floor(0.0, float(self._residuals.std()))
        self._weight = weight_of_floor(len(X))
        folds = kfold(len(self._residuals), 5, rng)
        every = self._residuals

        def held_out(bandwidth: float) -> float:
            return sum(self._mixed(every[k], np.delete(every, k), bandwidth).sum() for k in folds)

        self.bandwidth_ = max((BANDWIDTHS * every.std()).tolist(), key=held_out)
        return self

    def log_density(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log p(y|x), nats, shape (n,)."""
        return self._mixed(self._residuals_of(X, Y), self._residuals, self.bandwidth_)

    def _residuals_of(self, X, Y) -> np.ndarray:
        return Y[:, 0] - self._trees.predict(X)

    def _mixed(self, at: np.ndarray, centres: np.ndarray, bandwidth: float) -> np.ndarray:
        """Return the log density of residuals under a kernel density with the floor."""
        kernel = GaussianKernel(bandwidth)
        blocks = row_blocks(len(at), len(centres))
        logs = (kernel.log(at[rows, None], centres[:, None]) for rows in blocks)
        parts = [logsumexp(each, axis=1) for each in logs]
        constant = np.log(len(centres) * bandwidth * np.sqrt(2.0 * np.pi))
        inside = np.log1p(-self._weight) + np.concatenate(parts) - constant
        return np.logaddexp(inside, np.log(self._weight) + self._floor.log_density(at))


class LinearGaussian:
    """Ordinary least squares with a constant, and a normal distribution of the residuals."""

    def fit(self, X: np.ndarray, Y: np.ndarray) -> "LinearGaussian":
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        design = self._design(X)
        self.coef_ = np.linalg.solve(design.T @ design, design.T @ Y[:, 0])
        self.std_ = float((Y[:, 0] - design @ self.coef_).std())
        return self

    def log_density(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log p(y|x), nats, shape (n,)."""
        return Normal(0.0, self.std_).log_density(Y[:, 0] - self._design(X) @ self.coef_)

    def _design(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(X)), X])


# Methods of this experiment alone, which have no estimator, to what makes one of a seed.
REGRESSORS = {"boosting": BoostedResiduals, "linear": lambda seed: LinearGaussian()}


@dataclass(frozen=True)
class LargeN(MethodExperiment):
    """One method on n rows of a known density, once; bimodal-<d>-<n>: d columns do not matter.

    Rows have the metrics `log_density_gap` and `negative_log_likelihood`, nats of y in its own
    units; `fit_seconds` of processor time with the selection, and `density_seconds` of the test
    rows; `peak_memory`, MiB beyond the process with its data.
    """

    name = "large_n"
    datasets = (*_SMALL, "bimodal-2-100000", "bimodal-2-1000000")
    methods = ("LikelihoodKCEF", "NADE-grown", "KCEF-LL", "LSCDE-exact", *REGRESSORS)
    # A system of n rows; a kernel matrix of n rows by 100 centres for each candidate.
    only = {"KCEF-LL": _SMALL, "LSCDE-exact": datasets[:3]}
    smoke = ("bimodal-2-200", "bimodal-2-400")
    beside = (*REGRESSORS,)

    variant: str = parameter(OURS, "as-published, or ours.", choices=(AS_PUBLISHED, OURS))
    test_rows: int = sized(500, 20_000, 20_000, "Rows on which a fit is scored.", at_least=2)
    # Rows that take part in a likelihood selection of KCEF, at most.
    tuning_rows = 1000

    def open(self) -> tuple:
        """Return training rows, test rows and the true log density of the latter."""
        irrelevant, n = names.BIMODAL.sizes(self.dataset)
        train = made_up.bimodal_training_pairs(n, irrelevant)
        test = made_up.bimodal_held_out_pairs(irrelevant, self.test_rows)
        return train, test, made_up.bimodal_log_density(*test)

    def outcome(self, unit: int) -> Outcome:
        """Fit and score."""
        train, test, truth = self.data
        sizes = {"n_train": len(train[0]), "n_test": len(test[0]), "dim": train[0].shape[1]}
        row = self.row(unit, seed=self.seed, backend="numpy", **sizes)
        model, before = self.unfitted(), _measured_fit.peak_memory()
        fitted, seconds, _ = _measured(model.fit, *train)
        peak = (_measured_fit.peak_memory() - before) / 2**20
        found, scoring, wall = _measured(lambda made: to_numpy(made.log_density(*test)), fitted)
        if isinstance(found, Exception):
            return Outcome([row | scores.failed(LOG_DENSITY_GAP, found, "nats")], [{}])
        difference = truth - found
        stderr = difference.std(ddof=1) / np.sqrt(len(difference))
        cells = [scores.cell(LOG_DENSITY_GAP, difference.mean(), "nats", stderr)]
        cells += scores.cells(_UNITS, (-found.mean(), seconds, scoring, peak))
        row["seconds"] = seconds + wall
        rows = [row | each for each in cells]
        chosen = methods.chosen(fitted.estimator_) if isinstance(fitted, Standardised) else {}
        return Outcome(rows, [chosen], {"log_density": found})

    def unfitted(self):
        """Return the model; `ValueError` if its class does not exist or know an option."""
        if self.estimator in REGRESSORS:
            return REGRESSORS[self.estimator](self.seed)
        likely = self.options.get("selection") == "likelihood"
        more = {"tuning_rows": self.tuning_rows} if likely else {}
        made = methods.build(self.method, self.estimator, self.options, self.seed, **more)
        return Standardised(made)

    @property
    def seed(self) -> int:
        """A seed of the data alone."""
        return row_seed(self.name, self.dataset)


def _measured(function: Callable, *arguments) -> tuple:
    """Return what `attempt` does, the seconds of processor time, and those of the clock."""
    started = time.process_time()
    found, wall = attempt(function, *arguments)
    return found, time.process_time() - started, wall
