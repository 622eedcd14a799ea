"""Orderless neural autoregressive density estimation (Uria et al., JMLR 2016)."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from kcde.arrays import row_blocks, to_numpy
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import mixture_cdf, mixture_crps, mixture_quantile
from kcde.estimators._shared.pushforward import DRAWS, normal_nodes
from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32
from kcde.estimators.base import ConditionalDensity, Tags
from kcde.normalisers import logsumexp
from kcde.seeding import generator, rng_of

HIDDEN_UNITS = (2, 10, 100)
COMPONENTS = (1, 2, 5, 10)


@dataclass(eq=False, repr=False)
class NADE(ConditionalDensity):
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
    density d_y evaluations of the network for each order.

    Parameters
    ----------
    hidden_units
        H, units of each of the two layers. None: chosen from {2, 10, 100}.
    components
        K, Gaussians of each mixture. None: chosen from {1, 2, 5, 10}.
    orders
        1: the density is that of the order of the columns. More: the mean of the densities of
        this order and of orders - 1 random ones.
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
        Seeds the folds, initial weights, batches and random orders.
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

    largest_value: ClassVar[float] = LARGEST_IN_FLOAT32

    _trainer: ClassVar[str] = "kcde.estimators._networks.nade"
    _needs: ClassVar[tuple[str, ...]] = ("networks", "numba")

    selection_rule: ClassVar[str] = (
        "two hidden layers of {2, 10, 100} units and {1, 2, 5, 10} Gaussian components, "
        "5-fold held-out likelihood with early stopping, at most 2500 updates"
    )

    tags: ClassVar[Tags] = Tags(array_api=False, grouped=True)

    hidden_units: int | None = None
    components: int | None = None
    _: KW_ONLY
    orders: int = 1
    folds: int = 5
    epochs: int | Sequence[int] = 100
    patience: int = 20
    batch_size: int = 100
    learning_rate: float = 0.02
    early_stopping: bool = True
    random_state: int = 0
    standardize: bool = True

    def fit(self, X, Y, groups=None) -> "NADE":
        """Fit to pairs, shapes (n, d_x) and (n, d_y); None stands for X of shape (n, 0).

        Of groups (n,), labels of rows, those of one label are held out together.

        Raises
        ------
        ValueError
            If a shape is wrong, a value is not finite, or there are fewer rows than folds.
        FloatingPointError
            If the training diverges.
        """
        return super().fit(X, Y, groups)

    def _fit(self, X, Y):
        sizes = self.hidden_units, self.components
        for name in ("hidden_units", "components", "orders", "patience", "batch_size"):
            optional = name in ("hidden_units", "components")
            checks.whole(name, getattr(self, name), optional=optional)
        for count in self._epochs or (None,):
            checks.whole("epochs", count)
        checks.positive("learning_rate", self.learning_rate)
        if len(self._epochs) > 1 and None in sizes:
            raise ValueError("several epochs to choose from need hidden_units and components")
        if not self.early_stopping and (len(self._epochs) > 1 or None in sizes):
            needed = "hidden_units, components and one number of epochs"
            raise ValueError(f"without early_stopping nothing is chosen: give {needed}")
        from kcde.estimators._networks.nade import Problem

        problem = Problem(to_numpy(X).T, to_numpy(Y).T, self.random_state, self._labels)
        fitted = self._trained(problem)
        self.network_, self.epochs_ = fitted.network, fitted.epochs
        self.hidden_units_, self.components_ = fitted.units, fitted.components
        self.cv_results_ = {
            "hidden_units": np.array(_choices(self.hidden_units, HIDDEN_UNITS)),
            "components": np.array(_choices(self.components, COMPONENTS)),
            "score": fitted.score,
        }
        if fitted.score.ndim > 2:
            self.cv_results_["epochs"] = np.array(self._epochs)

    @property
    def _epochs(self) -> tuple:
        """The numbers of epochs to choose from."""
        return tuple(self.epochs) if isinstance(self.epochs, Sequence) else (self.epochs,)

    def _trained(self, problem):
        """Return the fit to data."""
        from kcde.estimators._networks.nade import Recipe, fit_all_rows, fit_chosen, fit_given

        recipe = Recipe(self._epochs[0], self.patience, self.batch_size, self.learning_rate)
        sizes = self.hidden_units, self.components
        if not self.early_stopping:
            return fit_all_rows(problem, *sizes, recipe.epochs, recipe)
        if None not in sizes:
            return fit_given(problem, *sizes, recipe, self._epochs)
        units, components = _choices(sizes[0], HIDDEN_UNITS), _choices(sizes[1], COMPONENTS)
        return fit_chosen(problem, units, components, self.folds, recipe)

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        rng = rng_of("orders", self.random_state)
        each = self.log_density_by_order(X, Y, self.orders, rng)
        return logsumexp(each, axis=0) - np.log(self.orders)

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
        X, Y = (to_numpy(array).T for array in self._check_pair(X, Y))
        chosen = self._orders(orders, rng)
        return np.stack([self._factors(X, Y, order).sum(axis=0) for order in chosen])

    def factor_log_density(self, X, Y) -> np.ndarray:
        """Return log p(y_i | x, y_<i), nats, shape (n, d_y), in the order of the columns.

        The sum over the first columns is the log density of these alone under that order.
        """
        X, Y = (to_numpy(array).T for array in self._check_pair(X, Y))
        return self._factors(X, Y, range(self.n_outputs_)).T

    def _factors(self, X, Y, order) -> np.ndarray:
        """Return log p(y_o_i | x, y_o_<i) at o_i, shape (d_y, n); points are columns."""
        from kcde.estimators._networks.nade import known, log_mixture

        terms = np.empty(Y.shape)
        for rows in row_blocks(Y.shape[1], self._width()):
            observed = np.zeros((len(Y), 1))
            for i in order:
                inputs = known(X[:, rows], Y[:, rows], observed)
                mixtures = self.network_.mixtures(inputs, slice(i, i + 1))
                terms[i, rows] = log_mixture(mixtures, Y[i : i + 1, rows], logsumexp)[0]
                observed[i] = 1.0
        return terms

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        from kcde.estimators._networks.nade import log_mixture

        Y = to_numpy(self._check_outputs(Y))

        def at(X):
            X = to_numpy(self._check_features(X))
            if Y.shape[1] > 1:
                pairs = np.repeat(X, len(Y), axis=0), np.tile(Y, (len(X), 1))
                return self.log_density(*pairs).reshape(len(X), len(Y))
            parts = []
            for rows in row_blocks(len(X), self.components_ * len(Y)):
                mixtures = [each[..., None] for each in self.network_.mixtures(X[rows].T)]
                parts.append(log_mixture(mixtures, Y.T, logsumexp)[0])
            return np.concatenate(parts)

        return at

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q), without renormalising.

        By Gauss-Hermite quadrature of every component where d_y = 1, exact for polynomials up to
        degree 127; otherwise the mean over 20,000 draws with a fixed seed.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).
        """
        X = to_numpy(self._check_features(X))
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
        y = to_numpy(y)
        return self._on_line(lambda own, rows: mixture_cdf(*own, y[rows, None])[:, 0], X, 0)

    def _cdf_at(self, X, y):
        return self._on_line(lambda own, _: mixture_cdf(*own, y[None, :]), X, len(y))

    def _crps(self, X, y):
        y = to_numpy(y)
        return self._on_line(lambda own, rows: mixture_crps(*own, y[rows]), X, self.components_)

    def _quantile(self, X, p):
        return self._on_line(lambda own, _: mixture_quantile(*own, p), X, len(p))

    def _on_line(self, function: Callable, X, each: int) -> np.ndarray:
        """Apply a function to weights, means and standard deviations (n, K) of rows; d_y = 1.

        It takes K × each numbers a row, beside those of the network.
        """
        X, parts = to_numpy(X), []
        for rows in row_blocks(len(X), max(self._width(), self.components_ * each)):
            logits, means, stds = (part[0].T for part in self.network_.mixtures(X[rows].T))
            shares = np.exp(logits - logsumexp(logits, axis=1)[:, None])
            parts.append(function((shares, means, stds), rows))
        return np.concatenate(parts)

    def _orders(self, count: int, rng) -> list[np.ndarray]:
        """Return orders of y: that of the columns, then random ones."""
        columns = np.arange(self.n_outputs_)
        return [columns] + [rng.permutation(columns) for _ in range(count - 1)]

    def sample(self, X, n: int, random_state):
        """Draw from p(y|x) exactly, one column of y after the other; shape (n, k, d_y).

        Of several `orders` each draw takes one at random, as the density is their mean.
        """
        rng, X = generator(random_state), to_numpy(self._check_features(X))
        draws = np.empty((len(X), n, self.n_outputs_))
        for rows in row_blocks(len(X), n * self._width()):
            repeated = np.repeat(X[rows], n, axis=0).T
            drawn = self._draw_by_orders(repeated, rng).T
            draws[rows] = drawn.reshape(draws[rows].shape)
        return draws

    def _draw_by_orders(self, X, rng) -> np.ndarray:
        """Draw one y, shape (d_y, n), for each column of X (d_x, n)."""
        orders = self._orders(self.orders, rng_of("orders", self.random_state))
        if self.orders == 1 or self.n_outputs_ == 1:
            return self._draw(X, orders[0], rng)
        Y = np.empty((self.n_outputs_, X.shape[1]))
        taken = rng.integers(len(orders), size=X.shape[1])
        for place, order in enumerate(orders):
            Y[:, taken == place] = self._draw(X[:, taken == place], order, rng)
        return Y

    def _draw(self, X, order, rng) -> np.ndarray:
        """Draw one y, shape (d_y, n), for each column of X (d_x, n), in an order of y."""
        from kcde.estimators._networks.nade import known

        Y, observed = np.zeros((self.n_outputs_, X.shape[1])), np.zeros((self.n_outputs_, 1))
        for i in order:
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


def _choices(given, otherwise: Sequence[int]) -> Sequence[int]:
    return otherwise if given is None else (given,)
