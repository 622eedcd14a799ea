"""LikelihoodKCEF beside what a user would take instead: seconds and held-out nats.

On 500, 5000 and 50,000 made-up rows of a known bimodal density (five columns of x, two of them
irrelevant), each with its own selection or its library's defaults: processor seconds of the fit,
and by how many nats the mean log density of 20,000 test rows lies below the true one. Units of y
are as drawn. A method is left out at a size at which its fit would take more than five minutes.

Run: python benchmarks/peers.py (needs lightgbm; some six minutes)
"""

import time
from pathlib import Path
from unittest import mock

import timing

import lightgbm
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kcde.data import made_up
from kcde.estimators import LikelihoodKCEF, NGBoost, QuantileForest
from kcde.experiments.large_n import BoostedResiduals

SIZES, TEST_ROWS = (500, 5000, 50_000), 20_000


class EarlyStopped:
    """LightGBM, its rounds chosen by a tenth of its rows, in the place of scikit-learn's trees."""

    def __init__(self, **ignored):
        pass

    def fit(self, X, y):
        """Fit to X (n, d) and y (n,)."""
        held = len(y) // 10
        trees = lightgbm.LGBMRegressor(n_estimators=2000, verbose=-1, random_state=0)
        stop = lightgbm.early_stopping(10, verbose=False)
        given = {"eval_X": X[:held], "eval_y": y[:held], "callbacks": [stop]}
        self.predict = trees.fit(X[held:], y[held:], **given).predict
        return self


class LightGBMResiduals(BoostedResiduals):
    """LightGBM and a kernel density of residuals."""

    def __init__(self):
        super().__init__(0)

    def fit(self, X, Y):
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        with mock.patch("sklearn.ensemble.HistGradientBoostingRegressor", EarlyStopped):
            return super().fit(X, Y)


class Process:
    """scikit-learn's Gaussian process with a width a column and noise, on scaled columns."""

    def fit(self, X, Y):
        """Fit to pairs, shapes (n, d) and (n, 1)."""
        kernel = 1.0 * RBF(np.ones(X.shape[1])) + WhiteKernel()
        regressor = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)
        self._model = make_pipeline(StandardScaler(), regressor).fit(X, Y[:, 0])
        return self

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,)."""
        mean, std = self._model.predict(X, return_std=True)
        return -0.5 * ((Y[:, 0] - mean) / std) ** 2 - np.log(std * np.sqrt(2.0 * np.pi))


MODELS = {
    "LikelihoodKCEF": LikelihoodKCEF,
    "LightGBM, kernel density of its residuals": LightGBMResiduals,
    "NGBoost": NGBoost,
    "QuantileForest": QuantileForest,
    "Gaussian process (scikit-learn)": Process,
}


LARGEST = {"QuantileForest": 5000, "Gaussian process (scikit-learn)": 500}


def scored(model, X, Y) -> np.ndarray:
    """Return log densities, some rows at a time: a forest holds a weight of each training row."""
    blocks = [slice(i, i + 1000) for i in range(0, len(X), 1000)]
    return np.concatenate([model.log_density(X[rows], Y[rows]) for rows in blocks])


def table() -> list[dict]:
    test = made_up.bimodal_held_out_pairs(2, TEST_ROWS)
    truth, rows = made_up.bimodal_log_density(*test), []
    for n in SIZES:
        train, ours = made_up.bimodal_training_pairs(n, 2), None
        for name, make in MODELS.items():
            if n > LARGEST.get(name, n):
                continue
            start = time.process_time()
            model = make().fit(*train)
            seconds = time.process_time() - start
            ours = ours or seconds
            lost = truth - scored(model, *test)
            rows.append(
                {
                    "rows": n,
                    "method": name,
                    "seconds": f"{seconds:.1f}",
                    "over_LikelihoodKCEF": f"{seconds / ours:.2f}",
                    "nats_below_the_truth": f"{lost.mean():.4f}",
                    "stderr": f"{lost.std(ddof=1) / TEST_ROWS**0.5:.4f}",
                }
            )
            print(*rows[-1].values(), flush=True)
    return rows


if __name__ == "__main__":
    timing.write(Path(__file__).with_suffix(".csv"), table())
