"""Orderless neural autoregressive density estimation (Uria et al., JMLR 2016)."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from kcde.arrays import logsumexp, row_blocks
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import mixture_cdf, mixture_crps, mixture_quantile
from kcde.estimators._shared.pushforward import DRAWS, normal_nodes
from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32, by_blocks
from kcde.estimators.base import CommonOptions, ConditionalDensity, Tags
from kcde.seeding import rng_of

HIDDEN_UNITS = (2, 10, 100)
COMPONENTS = (1, 2, 5, 10)


@dataclass(eq=False, repr=False)
class NADE(CommonOptions, ConditionalDensity):
    """Predict the density of one or more y given x, by a network, from hundreds of rows on.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Π_i p(y_{o_i} | x, y_{o_<i}) in any order o, mixtures of Gaussians by one network.

    The network has two layers of rectified units. It sees x, which is always known, the known y,
    and which of y are known; it is trained on random sets of known y, so that it serves every
    order (Uria et al., 2016, on orderless and deep NADE). Where d_y = 1 it is a mixture density
    network.

    Training: stochastic gradients with momentum 0.9, learning rate 0.02 falling linearly to 0 over
    2500 updates of 100 rows, as in the code of Uria et al. Different from it: hidden weights start
    at the scale that rectified units keep, which makes training layer by layer needless; gradients
    longer than 5 are shortened; standard deviations are at least 0.001; the held-out likelihood is
    looked at every 25 updates.

    Where the number of units or of components is None, five-fold cross-validation compares all of
    {2, 10, 100} units and {1, 2, 5, 10} components at the number of updates that is best for each
    (early stopping by the held-out likelihood of all folds together), and the best is trained on
    all rows with its number of updates. Where both are given, a tenth of the rows is held out and
    the network is kept as it was when it gave them the largest likelihood. The updates that suit
    1400 rows are too few for 5000; since the learning rate has to know their number in advance, the
    network is then trained in full for each number of `epochs`, and the rows held out choose.

    At that learning rate the training is unstable where mixtures become narrow (a few rows, many
    x): within fifty updates rounding errors grow to visible differences, so that another processor
    may give another network. A tenth of that rate is far less so, but not as published.

    An update costs O(batch_size (d_in H + H² + 3 H K d_y)) for H units and K components; a
    density d_y evaluations of the network.

    With tens of rows a test row can get a density near 0.

    Parameters
    ----------
    hidden_units
        H, units of each of the two layers. None: chosen from {2, 10, 100}.
    components
        K, Gaussians of each mixture. None: chosen from {1, 2, 5, 10}.
    folds
        Number of folds of the cross-validation.
    epochs
        Maximum number of epochs, of 25 updates each; where `hidden_units` and `components` are
        given also a list of such numbers to choose from.
    patience
        Number of epochs without a better held-out likelihood after which a training stops.
    batch_size
        Rows an update; all of them where there are no more.
    learning_rate
        Learning rate of the first update.
    early_stopping
        False, where `hidden_units`, `components` and one number of `epochs` are given: no row is
        held out, and the network is kept as it is after the last update.
    random_state
        Seeds the folds, initial weights and batches.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    hidden_units_, components_
        Values used, given or chosen.
    epochs_
        Number of epochs trained.
    network_
        The trained network, in float64.
    cv_results_
        Mean held-out log density of a row, `score`, for each of `hidden_units` and `components`;
        where these were given, for each of `epochs` as well.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import NADE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = NADE(hidden_units=4, components=2, epochs=4).fit(X, Y)
    >>> model.log_density(X[:2], Y[:2]).shape
    (2,)
    """

    largest_value = LARGEST_IN_FLOAT32

    _trainer = "kcde.estimators._networks.nade"
    _needs = ("networks", "numba")

    selection_rule = (
        "two hidden layers of {2, 10, 100} units and {1, 2, 5, 10} Gaussian components, "
        "5-fold held-out likelihood with early stopping, at most 2500 updates"
    )

    tags = Tags(array_api=False, grouped=True)

    hidden_units: int | None = None
    components: int | None = None
    _: KW_ONLY
    folds: int = 5
    epochs: int | Sequence[int] = 100
    patience: int = 20
    batch_size: int = 100
    learning_rate: float = 0.02
    early_stopping: bool = True

    def _fit(self, X, Y):
        sizes = self.hidden_units, self.components
        for name in ("hidden_units", "components", "patience", "batch_size"):
            checks.whole(name, getattr(self, name), optional=name in ("hidden_units", "components"))
        for count in self._epochs or (None,):
            checks.whole("epochs", count)
        checks.positive("learning_rate", self.learning_rate)
        if len(self._epochs) > 1 and None in sizes:
            raise ValueError("several epochs to choose from need hidden_units and components")
        if not self.early_stopping and (len(self._epochs) > 1 or None in sizes):
            needed = "hidden_units, components and one number of epochs"
            raise ValueError(f"without early_stopping nothing is chosen: give {needed}")
        from kcde.estimators._networks import nade as training

        units = HIDDEN_UNITS if sizes[0] is None else (sizes[0],)
        components = COMPONENTS if sizes[1] is None else (sizes[1],)
        problem = training.Problem(X.T, Y.T, self.random_state, self._row_labels)
        how = self.patience, self.batch_size, self.learning_rate
        recipe = training.Recipe(self._epochs[0], *how)
        if not self.early_stopping:
            found, score = training.fit_all_rows(problem, *sizes, recipe.epochs, recipe)
        elif None not in sizes:
            found, score = training.fit_given(problem, *sizes, recipe, self._epochs)
        else:
            rng = rng_of("selection", self.random_state)
            folds = self._kfold(np.arange(len(Y)), self.folds, rng)
            found, score = training.fit_chosen(problem, units, components, folds, recipe)
        self.network_, self.hidden_units_, self.components_, self.epochs_ = found
        self.cv_results_ = {"hidden_units": np.array(units), "components": np.array(components)}
        self.cv_results_ |= {"score": score}
        if score.ndim > 2:
            self.cv_results_["epochs"] = np.array(self._epochs)

    @property
    def _epochs(self) -> tuple:
        """The numbers of epochs to choose from."""
        return tuple(self.epochs) if isinstance(self.epochs, Sequence) else (self.epochs,)

    def _log_density(self, X, Y):
        return self._factors(X.T, Y.T, range(self.n_outputs_)).sum(axis=0)

    def log_density_by_order(self, X, Y, orders: int, rng: np.random.Generator) -> np.ndarray:
        """Return log p(y|x) under several orders of y.

        Parameters
        ----------
        X, Y
            Shapes (n, d_x), (n, d_y).
        orders
            Number of orders: that of the columns, then random ones.
        rng
            Source of the random ones.

        Returns
        -------
        shape (orders, n), nats
        """
        columns = np.arange(self.n_outputs_)
        chosen = [columns] + [rng.permutation(columns) for _ in range(orders - 1)]
        return np.stack([self._factors(X.T, Y.T, order).sum(axis=0) for order in chosen])

    def factor_log_density(self, X, Y) -> np.ndarray:
        """Return log p(y_i | x, y_<i), nats, shape (n, d_y), in the order of the columns.

        The sum over the first columns is the log density of these alone under that order.
        """
        return self._factors(X.T, Y.T, range(self.n_outputs_)).T

    def _factors(self, X, Y, order) -> np.ndarray:
        """Return log p(y_o_i | x, y_o_<i) at o_i, shape (d_y, n); points are columns."""
        terms = np.empty(Y.shape)
        for rows in row_blocks(Y.shape[1], self._width()):
            observed = np.zeros((len(Y), 1))
            for i in order:
                inputs = known(X[:, rows], Y[:, rows], observed)
                mixtures = self.network_.mixtures(inputs, slice(i, i + 1))
                terms[i, rows] = log_mixture(mixtures, Y[i : i + 1, rows])[0]
                observed[i] = 1.0
        return terms

    def _log_density_at(self, Y):
        def at(X):
            if Y.shape[1] > 1:
                pairs = np.repeat(X, len(Y), axis=0), np.tile(Y, (len(X), 1))
                return self._log_density(*pairs).reshape(len(X), len(Y))

            def of(rows):
                mixtures = [each[..., None] for each in self.network_.mixtures(X[rows].T)]
                return log_mixture(mixtures, Y.T)[0]

            return by_blocks(of, len(X), self.components_ * len(Y), like=X)

        return at

    def _expectation(self, f, X):
        """By Gauss-Hermite quadrature around each component where d_y = 1, otherwise over draws."""
        if self.n_outputs_ > 1:
            # A stream for each x: what is said of it does not depend on the other rows.
            draws = (self.sample(x[None], DRAWS, rng_of("expectation"))[0] for x in X)
            return np.stack([f(each).mean(axis=0) for each in draws])
        nodes, weights = normal_nodes(1)
        logits, means, stds = (part[0] for part in self.network_.mixtures(X.T))
        share = np.exp(logits - logsumexp(logits, axis=0))[..., None]
        points = means[..., None] + stds[..., None] * nodes[:, 0]
        values = f(points.reshape(-1, 1)).reshape(*points.shape, -1)
        return np.einsum("knj,knjq->nq", share * weights, values)

    def _cdf(self, X, y):
        return self._on_line(lambda own, rows: mixture_cdf(*own, y[rows, None])[:, 0], X, 0)

    def _cdf_at(self, X, y):
        return self._on_line(lambda own, _: mixture_cdf(*own, y[None, :]), X, len(y))

    def _crps(self, X, y):
        return self._on_line(lambda own, rows: mixture_crps(*own, y[rows]), X, self.components_)

    def _quantile(self, X, p):
        return self._on_line(lambda own, _: mixture_quantile(*own, p), X, len(p))

    def _on_line(self, function: Callable, X, each: int) -> np.ndarray:
        """Apply a function to weights, means and standard deviations (n, K) of rows; d_y = 1.

        It takes K × each numbers a row, beside those of the network.
        """

        def of(rows):
            logits, means, stds = (part[0].T for part in self.network_.mixtures(X[rows].T))
            shares = np.exp(logits - logsumexp(logits, axis=1)[:, None])
            return function((shares, means, stds), rows)

        return by_blocks(of, len(X), max(self._width(), self.components_ * each), like=X)

    def _draws(self, X, n, rng):
        """One column of y after the other."""
        draws = np.empty((len(X), n, self.n_outputs_))
        for rows in row_blocks(len(X), n * self._width()):
            drawn = self._draw(np.repeat(X[rows], n, axis=0).T, rng).T
            draws[rows] = drawn.reshape(draws[rows].shape)
        return draws

    def _draw(self, X, rng) -> np.ndarray:
        """Draw one y, shape (d_y, n), for each column of X (d_x, n)."""
        Y, observed = np.zeros((self.n_outputs_, X.shape[1])), np.zeros((self.n_outputs_, 1))
        for i in range(self.n_outputs_):
            mixtures = self.network_.mixtures(known(X, Y, observed), slice(i, i + 1))
            logits, means, stds = (part[0] for part in mixtures)
            # The largest of logits with Gumbel noise is at k with probability w_k.
            component = np.argmax(logits + rng.gumbel(size=logits.shape), axis=0)
            mean, std = (part[component, np.arange(len(component))] for part in (means, stds))
            Y[i] = mean + std * rng.standard_normal(len(component))
            observed[i] = 1.0
        return Y

    def _width(self) -> int:
        """Return how many numbers a point takes while it is worked on, at most."""
        return max(self.hidden_units_, self.n_features_in_ + 2 * self.n_outputs_)


def known(X, Y, observed) -> np.ndarray:
    """Return the inputs of the network, shape (d_in, n).

    The observed y with 0 for the others, which are observed, then x. Where d_y = 1 the only y is
    never observed, so that the input is x.

    Shapes (d_x, n), (d_y, n), and (d_y, n) or (d_y, 1): 1 where y is observed and 0 where not.
    """
    if len(Y) == 1:
        return X
    return np.concatenate([Y * observed, observed + 0.0 * Y, X])


def log_mixture(mixtures, Y) -> np.ndarray:
    """Return log Σ_k w_k N(y; μ_k, s_k²), shape (d, n), of `Network.mixtures` at Y (d, n)."""
    logits, means, stds = mixtures
    distance = (Y[:, None, :] - means) / stds
    terms = logits - 0.5 * distance * distance - np.log(stds)
    return logsumexp(terms, 1) - logsumexp(logits, 1) - 0.5 * np.log(2.0 * np.pi)
