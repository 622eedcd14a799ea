"""Estimators as regressors of skpro, which predict distributions; needs `kcde[skpro]`."""

from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone

from kcde.estimators import LinearGaussian, MarginalKDE

try:
    from skpro.distributions.base import BaseDistribution
    from skpro.regression.base import BaseProbaRegressor
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"{error}: pip install 'kcde[skpro]'", name=error.name) from None


class ProbaRegressor(BaseProbaRegressor):
    """An estimator of kcde with the interface of skpro's regressors, for one y.

    `predict_proba` gives a `Predicted`: density, distribution function, quantiles and draws.

    Parameters
    ----------
    estimator
        An instance of a class of kcde for one y, as `LikelihoodKCEF()`; `fit` clones it, and raises
        what its `fit` raises.

    Examples
    --------
    >>> from kcde import LinearGaussian
    >>> from kcde.skpro import ProbaRegressor
    >>> import pandas as pd
    >>> X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    >>> y = pd.DataFrame({"y": [0.1, 0.9, 2.2, 2.8]})
    >>> predicted = ProbaRegressor(LinearGaussian()).fit(X, y).predict_proba(X)
    >>> predicted.ppf(0.5).shape
    (4, 1)
    """

    _tags: ClassVar[dict] = {"capability:multioutput": False, "capability:missing": False}

    def __init__(self, estimator):
        self.estimator = estimator
        super().__init__()

    def _fit(self, X, y):
        self._columns = y.columns
        named = X.set_axis(X.columns.map(str), axis=1)
        self.estimator_ = clone(self.estimator).fit(named, y.iloc[:, 0])
        return self

    def _predict_proba(self, X):
        named = X.set_axis(X.columns.map(str), axis=1)
        return Predicted(self.estimator_, named, index=X.index, columns=self._columns)

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Return what skpro's checks construct the class with."""
        return [{"estimator": LinearGaussian()}, {"estimator": MarginalKDE()}]


class Predicted(BaseDistribution):
    """The distributions that a fitted estimator predicts for rows of X.

    Parameters
    ----------
    model
        A fitted estimator of kcde, for one y.
    X
        Shape (n, d_x).
    index, columns
        As of the data frames that its methods return; None, None: of a scalar, for one row of X.

    Examples
    --------
    >>> from kcde import LinearGaussian
    >>> from kcde.skpro import Predicted
    >>> import pandas as pd
    >>> X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    >>> model = LinearGaussian().fit(X, [0.1, 0.9, 2.2, 2.8])
    >>> Predicted(model, X, index=X.index, columns=["y"]).cdf(100.0).shape
    (4, 1)
    """

    _tags: ClassVar[dict] = {
        "capabilities:exact": ["mean", "var", "pdf", "log_pdf", "cdf", "ppf"],
        "capabilities:approx": ["energy", "pdfnorm"],
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    def __init__(self, model, X, index=None, columns=None):
        self.model = model
        self.X = X
        super().__init__(index=index, columns=columns)

    def _mean(self):
        return np.reshape(self.model.predict(self.X), self.shape)

    def _var(self):
        return np.reshape(self.model.std(self.X) ** 2, self.shape)

    def _log_pdf(self, x):
        return np.reshape(self.model.log_density(self.X, np.ravel(x)), self.shape)

    def _pdf(self, x):
        return np.exp(self._log_pdf(x))

    def _cdf(self, x):
        return np.reshape(self.model.cdf(self.X, np.ravel(x)), self.shape)

    def _ppf(self, p):
        levels, place = np.unique(np.ravel(p), return_inverse=True)
        inside = np.clip(levels, 1e-12, 1.0 - 1e-12)  # skpro asks for those of 0 and 1 as well
        found = np.asarray(self.model.quantile(self.X, inside))
        return np.reshape(found[np.arange(len(place)), place], self.shape)

    def _sample(self, n_samples=None):
        # As for skpro's own distributions, `np.random.seed` fixes the draws.
        rng = np.random.default_rng(np.random.randint(2**31))  # noqa: NPY002
        n = n_samples or 1
        drawn = np.reshape(self.model.sample(self.X, n, rng), (-1, n)).T
        if not self.ndim:
            return float(drawn[0, 0]) if n_samples is None else pd.DataFrame(drawn)
        frames = [pd.DataFrame(row[:, None], self.index, self.columns) for row in drawn]
        return frames[0] if n_samples is None else pd.concat(frames, keys=range(n))

    def _iloc(self, rowidx=None, colidx=None):
        if np.isscalar(rowidx) and np.isscalar(colidx):
            return self._iat(rowidx, colidx)
        rows = np.arange(len(self.index)) if rowidx is None else np.atleast_1d(rowidx)
        return Predicted(self.model, self.X.iloc[rows], self.index[rows], self.columns)

    def _iat(self, rowidx=None, colidx=None):
        return Predicted(self.model, self.X.iloc[[rowidx]])

    @classmethod
    def get_test_params(cls, parameter_set="default"):
        """Return what skpro's checks construct the class with."""
        X = pd.DataFrame({"x": np.linspace(0.0, 1.0, 8)})
        model = LinearGaussian().fit(X, np.sin(9.0 * X["x"]))
        rows = pd.RangeIndex(3)
        whole = {"model": model, "X": X.iloc[:3], "index": rows, "columns": pd.Index(["y"])}
        return [whole, {"model": model, "X": X.iloc[:1]}]
