"""A mixture of several conditional densities, weighted by what each gives rows held out."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from kcde.arrays import logsumexp, to_numpy
from kcde.estimators._shared.distribution import crps_by_draws
from kcde.estimators._shared.rows import about_rows, by_blocks
from kcde.estimators._shared.tabulated import mixture_root
from kcde.estimators._shared.units import without_standardising
from kcde.estimators.base import CommonOptions, ConditionalDensity, Tags
from kcde.seeding import rng_of
from kcde.selection import complement

_STEPS = 500
_LEAST = 0.01  # weights below are left out
_ROW_NUMBERS = 1000  # held for a row of x while its quantiles are searched, about


def stacking_weights(log_densities: np.ndarray) -> np.ndarray:
    """Return the weights of the mixture that is the most likely for rows held out.

    Σ_i log Σ_k w_k p_k(y_i|x_i) is concave in w; 500 steps of the EM algorithm climb it. Weights
    below 0.01 are then left out.

    Parameters
    ----------
    log_densities
        log p_k(y_i|x_i) of rows that p_k was not fitted to, shape (n, k).

    Returns
    -------
    array
        Shape (k,), of sum 1.

    Raises
    ------
    ValueError
        If a row has no density under any of them.
    """
    if not np.isfinite(log_densities.max(axis=1)).all():
        said = "a row held out has no density under any of the estimators"
        raise ValueError(f"{said}: put a floor under them, see Defensive")
    density = np.exp(log_densities - log_densities.max(axis=1, keepdims=True))
    weights = np.full(density.shape[1], 1.0 / density.shape[1])
    for _ in range(_STEPS):
        weights *= np.mean(density / (density @ weights)[:, None], axis=0)
    weights[weights < _LEAST] = 0.0
    return weights / weights.sum()


@dataclass(eq=False, repr=False)
class Stacked(CommonOptions, ConditionalDensity):
    """Predict the density of one y given x, of any shape, by a mixture of several densities.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_k w_k p_k(y|x), with the weights under which rows held out are the most likely.

    The weights are those of stacking (Smyth and Wolpert, NIPS 1997; Yao, Vehtari, Simpson and
    Gelman, Bayesian Analysis 2018), over rows that folds hold out. The mixture can be better than
    each density, where none is the best at every x.

    Cost: `folds` + 1 fits of each density, or one with given weights. Of a density with the weight
    0 none is kept. The CRPS is by 500 draws for each x.

    Parameters
    ----------
    estimators
        Unfitted conditional densities, at least one, other than `Standardised`; clones are fitted.
        A density without tails, as of a forest, should have a floor: see `Defensive`.
    weights
        w_k, one for each; their sum is brought to 1. None: chosen.
    folds
        Number of folds that choose the weights.
    random_state
        Seeds the folds; the densities have their own.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows.
        False: the rows as they are.

    Attributes
    ----------
    weights_
        Values used, shape (k,).
    estimators_
        The fitted densities of weights above 0, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import LinearGaussian, MarginalKDE, Stacked
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = X + 0.3 * rng.normal(size=(100, 1))
    >>> Stacked([LinearGaussian(), MarginalKDE()]).fit(X, Y).weights_.round(2).tolist()
    [1.0, 0.0]
    """

    selection_rule = (
        "the weights under which the rows that 5 folds hold out are the most likely; the densities "
        "each by its own rule"
    )

    tags = Tags(array_api=False, grouped=True, several_y=False)

    estimators: Sequence = ()
    weights: Sequence[float] | None = None
    _: KW_ONLY
    folds: int = 5

    def _fit(self, X, Y):
        count, n = len(self.estimators), len(Y)
        if not count:
            raise ValueError("give at least one of the estimators")
        if self.weights is None and count > 1:
            held_out = np.empty((n, count))
            for fold in self._kfold(np.arange(n), self.folds, rng_of("stacked", self.random_state)):
                rows = complement(fold, n)
                for k in range(count):
                    model = self._fitted(k, X, Y, rows)
                    held_out[fold, k] = to_numpy(model.log_density(_seen(model, X[fold]), Y[fold]))
            self.weights_ = stacking_weights(held_out)
        else:
            given = np.ones(count) if self.weights is None else np.asarray(self.weights, float)
            if given.shape != (count,) or not (given.min() >= 0.0 and 0.0 < given.sum() < np.inf):
                said = f"weights must be {count} numbers, not negative nor all 0"
                raise ValueError(f"{said}; got {self.weights}")
            self.weights_ = given / given.sum()
        rows, self._scale = np.arange(n), float(Y.std())
        self.estimators_ = [self._fitted(k, X, Y, rows) for k in np.flatnonzero(self.weights_)]

    def _fitted(self, k: int, X, Y, rows: np.ndarray) -> ConditionalDensity:
        from sklearn.base import clone

        model = without_standardising(clone(self.estimators[k]))
        groups = self._labels if self._labels is not None and model.tags.grouped else None
        about = about_rows(model, None if groups is None else groups[rows])
        return model.fit(_seen(model, X[rows]), Y[rows], **about)

    def _parts(self, X) -> Iterator[tuple]:
        """Yield the weight of each density, the density, and the x that it sees."""
        kept = self.weights_[self.weights_ > 0.0]
        for weight, model in zip(kept, self.estimators_, strict=True):
            yield weight, model, _seen(model, X)

    def _log_density(self, X, Y):
        logs = [np.log(w) + to_numpy(model.log_density(x, Y)) for w, model, x in self._parts(X)]
        return logsumexp(np.stack(logs), axis=0)

    def _log_density_at(self, Y):
        kept = [model.log_density_at(Y) for model in self.estimators_]

        def at(X):
            parts = zip(self._parts(X), kept, strict=True)
            logs = [np.log(w) + to_numpy(log_at(x)) for (w, _, x), log_at in parts]
            return logsumexp(np.stack(logs), axis=0)

        return at

    def mean(self, X):
        """Return E[Y|x], shape (n, 1), for X (n, d_x), or None without x: one row."""
        return sum(w * model.mean(x) for w, model, x in self._parts(X))

    def variance(self, X):
        """Return the variance of y, shape (n, 1)."""
        centre, parts = self.mean(X), self._parts(X)
        return sum(w * (m.variance(x) + (m.mean(x) - centre) ** 2) for w, m, x in parts)

    def _expectation(self, f, X):
        return sum(w * model.conditional_expectation(f, x) for w, model, x in self._parts(X))

    def _draws(self, X, n, rng):
        draws = np.stack([to_numpy(model._draws(x, n, rng)) for _, model, x in self._parts(X)])
        kept = self.weights_[self.weights_ > 0.0]
        taken = rng.choice(len(kept), size=(1, len(X), n, 1), p=kept)
        return np.take_along_axis(draws, taken, axis=0)[0]

    def _require_distribution(self):
        super()._require_distribution()
        for model in self.estimators_:
            model._require_distribution()

    def _cdf(self, X, y):
        return sum(w * model._cdf(x, y) for w, model, x in self._parts(X))

    def _cdf_at(self, X, y):
        return sum(w * model._cdf_at(x, y) for w, model, x in self._parts(X))

    def _crps(self, X, y):
        return crps_by_draws(self._draws, X, y)

    def _quantile(self, X, p):
        def of(rows):
            found = self._parts(X[rows])
            parts = [(w, *model._quantile_and_cdf(x, p)) for w, model, x in found]
            weights, quantiles, _ = zip(*parts, strict=True)
            start = np.tensordot(weights, np.stack(quantiles), axes=1)
            return mixture_root(parts, p, start, 1e-12 * self._scale)

        return by_blocks(of, len(X), _ROW_NUMBERS, like=X)


def _seen(model, X):
    return X[:, :0] if model.tags.unconditional else X
