"""Boosted trees and forests as conditional densities."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse import csr_array

from kcde.arrays import logsumexp, row_blocks
from kcde.estimators._shared import checks
from kcde.estimators._shared.mixture import GaussianMixture, log_volume, log_where_positive
from kcde.estimators._shared.pushforward import NormalResiduals
from kcde.estimators._shared.rows import LARGEST_IN_FLOAT32, by_blocks, column_std, some_columns
from kcde.estimators.base import CommonOptions, Tags, WeightedRows
from kcde.kernels import as_bandwidths
from kcde.memory import require_memory
from kcde.seeding import rng_of, seed_of
from kcde.selection import best_index, complement

HELD_OUT_PARTS = 5
"""One of so many parts of the rows chooses the number of stages."""


@dataclass(eq=False, repr=False)
class NGBoost(CommonOptions, WeightedRows, NormalResiduals):
    """Predict a normal density of one y given x, by boosted trees, for many rows and columns.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = N(m(x), s(x)²), m and log s sums of trees grown along the natural gradient.

    Of the log likelihood, with a tree of depth 3 for each of the two in every stage (Duan et al.,
    ICML 2020), by their library ngboost (`pip install 'kcde[trees]'`). The number of stages is
    that with the largest likelihood of a random fifth of the rows, looked for until `patience`
    stages have not raised it; then all rows are boosted as often. y is standardised on the way. One
    y. Trees take x in float32: without `standardize`, columns far from 0 for their spread lose
    digits.

    A stage costs O(n d_x log n), some 5 ms; 0.5 s for 100 stages.

    The density is one normal: two humps of y, or a skew, are lost.

    Parameters
    ----------
    stages
        Number of stages. None: chosen.
    learning_rate
        Share of the natural gradient that a stage takes.
    max_stages
        Most stages that are looked at.
    patience
        Number of stages without a better held-out likelihood after which the search stops.
    random_state
        Seeds the choice of the rows held out, and the order in which a tree looks at columns.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    stages_
        Value used, given or chosen.
    cv_results_
        Mean held-out log density of standardised y, `score`, after each stage.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import NGBoost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(200, 1))
    >>> model = NGBoost(stages=50).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round()
    array([[1.]])
    """

    selection_rule = (
        "a normal density, trees of depth 3 and learning rate 0.05; the number of stages by the "
        "likelihood of a held-out fifth, then all rows boosted as often"
    )

    tags = Tags(array_api=False, grouped=True, several_y=False)
    _needs = ("trees", "ngboost")
    largest_value = LARGEST_IN_FLOAT32

    stages: int | None = None
    learning_rate: float = 0.05
    _: KW_ONLY
    max_stages: int = 1000
    patience: int = 30

    def _fit(self, X, Y):
        checks.positive("learning_rate", self.learning_rate)
        checks.whole("stages", self.stages, optional=True)
        checks.whole("max_stages", self.max_stages)
        checks.whole("patience", self.patience)
        std = as_bandwidths(column_std(Y), 1, "the standard deviation of y")
        self._centre, self._scale = float(Y.mean()), float(std[0])
        X, z = some_columns(X), (Y[:, 0] - self._centre) / self._scale
        self.cv_results_ = {}
        self.stages_ = self._choose(X, z) if self.stages is None else self.stages
        model = self._regressor(self.stages_).fit(X, z, sample_weight=self._row_weights)
        trees = [tree.tree_ for stage in model.base_models for tree in stage]
        self._trees, self._values = Trees(trees), np.concatenate([t.value[:, 0, 0] for t in trees])
        self._start, self._steps = np.array(model.init_params), np.array(model.scalings)

    def _choose(self, X: np.ndarray, z: np.ndarray) -> int:
        """Return the number of stages with the largest likelihood of a fifth of the rows."""
        rng = rng_of("selection", self.random_state)
        held_out = self._kfold(np.arange(len(z)), HELD_OUT_PARTS, rng)[0]
        rows = complement(held_out, len(z))
        if np.ptp(z[rows]) == 0:
            raise ValueError("y is constant in the rows that are not held out: give stages")
        model = self._regressor(self.max_stages)
        held = {"X_val": X[held_out], "Y_val": z[held_out]}
        held |= {"sample_weight": self._row_weights[rows]}
        held |= {"val_sample_weight": self._row_weights[held_out]}
        model.fit(X[rows], z[rows], **held, early_stopping_rounds=self.patience)
        score = -np.array(model.evals_result["val"]["LOGSCORE"])
        self.cv_results_ = {"score": score}
        return int(np.nanargmax(score)) + 1

    def _regressor(self, stages: int):
        from ngboost import NGBRegressor
        from sklearn.tree import DecisionTreeRegressor

        # The library's own tree, but that equally good splits are not drawn from the global stream.
        seed = seed_of("boosting", self.random_state) % 2**32
        return NGBRegressor(
            Base=DecisionTreeRegressor(max_depth=3, random_state=seed),
            n_estimators=stages,
            learning_rate=self.learning_rate,
            random_state=seed,
            verbose=False,
        )

    def _line(self, X):
        X = some_columns(X)
        found = np.tile(self._start, (len(X), 1))
        for rows in row_blocks(len(X), 2 * len(self._steps)):
            leaves = self._trees.leaves(X[rows])
            values = self._values[leaves].reshape(len(leaves), -1, 2)
            for stage, step in enumerate(self._steps):
                found[rows] -= self.learning_rate * values[:, stage] * step
        location, scale = found[:, :1], np.exp(found[:, 1:])
        return self._centre + self._scale * location, self._scale * scale


LEAVES = (2, 5, 10, 20)
"""Candidates for the fewest rows of a leaf."""

FACTORS = np.geomspace(0.01, 2.0, 33)
"""Candidates for the bandwidth, in standard deviations of y."""


@dataclass(eq=False, repr=False)
class QuantileForest(CommonOptions, WeightedRows, GaussianMixture):
    """Predict the density of one y given x, of any shape, by a random forest, for many columns.

    `predict` gives the mean of y, `score` the mean log density of rows.

    p(y|x) = Σ_i w_i(x) N(y; y_i, h²), w_i(x) = (1/T) Σ_t b_ti 1[x_i in the leaf of x] / b_t(x).

    The weights of a quantile regression forest (Meinshausen, JMLR 2006, equation 5) with b_ti, how
    often tree t has row i in its bootstrap sample, and b_t(x), the size of its leaf; a Gaussian
    makes them a density. The forest is that of the library quantile-forest (`pip install
    'kcde[trees]'`). The fewest rows of a leaf and h have the largest out-of-bag likelihood: the
    weights at a training row are those of the trees that have not seen it. One y. Trees take x and
    y in float32: without `standardize`, columns far from 0 for their spread lose digits.
    Weights of rows count in leaves and in the out-of-bag likelihood; splits do not see them.

    Cost: a forest for each of four sizes of a leaf, O(T n d_x log² n), and O(33 n²) exponentials
    each; a density O(T log n + n).

    The tails are thin: a y far from those of the training rows can get a density near 0.

    Parameters
    ----------
    min_samples_leaf
        Fewest rows of a leaf. None: chosen from {2, 5, 10, 20}.
    bandwidth_y
        h, in the units of y. None: chosen from 33 log-spaced values, 0.01 to 2 standard deviations
        of y.
    trees
        T.
    random_state
        Seeds the bootstrap samples.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    min_samples_leaf_, bandwidth_y_
        Values used, given or chosen.
    cv_results_
        Out-of-bag log likelihood, `score`, for each of `min_samples_leaf` and of `factor`, the
        bandwidth in standard deviations.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import QuantileForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(200, 1))
    >>> model = QuantileForest(trees=50).fit(X, Y)
    >>> model.weights_at(X[:2]).sum(axis=1).round(6)
    array([1., 1.])
    """

    selection_rule = (
        "100 trees, the fewest rows of a leaf in {2, 5, 10, 20} and the width of a Gaussian around "
        "each y (0.01…2 standard deviations in 33 steps) by out-of-bag likelihood"
    )

    tags = Tags(array_api=False, several_y=False)
    _needs = ("trees", "quantile_forest")
    largest_value = LARGEST_IN_FLOAT32

    min_samples_leaf: int | None = None
    bandwidth_y: float | Sequence[float] | None = None
    _: KW_ONLY
    trees: int = 100

    def _fit(self, X, Y):
        checks.whole("min_samples_leaf", self.min_samples_leaf, optional=True)
        checks.whole("trees", self.trees)
        std = column_std(Y)
        sizes = LEAVES if self.min_samples_leaf is None else (self.min_samples_leaf,)
        widths = FACTORS * std if self.bandwidth_y is None else np.array([self.bandwidth_y])
        widths = [as_bandwidths(width, 1, "bandwidth_y") for width in widths]
        # Of leaves of half of the rows or more there are no two.
        sizes = [size for size in sizes if 2 * size <= len(Y)] or [min(sizes)]
        x, weights = some_columns(X), self._row_weights
        forests = [_Forest(self._grown(X, Y, size), x, weights) for size in sizes]
        best = (0, 0)
        self.cv_results_ = {}
        if len(forests) * len(widths) > 1:
            score = np.stack([forest.out_of_bag(Y, widths) for forest in forests])
            best = best_index(score)
            factors = np.array([width[0] for width in widths]) / std[0]
            self.cv_results_ = {"min_samples_leaf": sizes, "factor": factors, "score": score}
        chosen = forests[best[0]]
        self._trees, shares = chosen.trees, chosen.shares
        self._shares = shares.data, shares.indices, shares.indptr
        self.min_samples_leaf_ = int(sizes[best[0]])
        self._centres, self._sigma = Y, widths[best[1]]
        self.bandwidth_y_ = float(self._sigma[0])

    def _grown(self, X, Y, min_samples_leaf: int):
        from quantile_forest import RandomForestQuantileRegressor

        model = RandomForestQuantileRegressor(
            n_estimators=self.trees,
            min_samples_leaf=min_samples_leaf,
            max_samples_leaf=None,
            random_state=seed_of("forest", self.random_state) % 2**32,
        )
        return model.fit(some_columns(X), Y[:, 0])

    def _log_weights(self, X):
        n = len(self._centres)
        require_memory(X, f"weights of {n} rows at x", len(X), lambda rows: 3 * rows * n)
        leaves = self._trees.leaves(some_columns(X))
        shares = csr_array(self._shares, shape=(self._trees.count, n))
        return log_where_positive(_mean_shares(shares, leaves, np.ones(leaves.shape, dtype=bool)))


class _Forest:
    """A grown forest, with the shares of the rows of its bootstrap samples in their leaves."""

    def __init__(self, model, X: np.ndarray, weights: np.ndarray):
        self.trees, self._row_weights = Trees([each.tree_ for each in model.estimators_]), weights
        self._leaves = self.trees.leaves(X)
        drawn = model.estimators_samples_
        nodes = np.concatenate([self._leaves[own, t] for t, own in enumerate(drawn)])
        rows, shape = np.concatenate(drawn), (self.trees.count, len(X))
        size = np.bincount(nodes, weights[rows], minlength=self.trees.count)
        self.shares = csr_array((weights[rows] / size[nodes], (nodes, rows)), shape=shape)
        self._unseen = np.ones(self._leaves.shape, dtype=bool)
        for t, own in enumerate(drawn):
            self._unseen[own, t] = False

    def out_of_bag(self, Y: np.ndarray, widths: list[np.ndarray]) -> np.ndarray:
        """Return the mean log density of the rows that some tree has not seen, for each bandwidth.

        By the weights of such trees.
        """
        rows = np.flatnonzero(self._unseen.any(axis=1))
        if not len(rows):
            raise ValueError("every tree has every row in its sample: grow more trees, or add rows")
        squares = (Y[rows] - Y.T) ** 2
        shares = _mean_shares(self.shares, self._leaves[rows], self._unseen[rows])
        log_weights = log_where_positive(shares)
        terms = (log_weights - 0.5 * squares / width**2 - log_volume(width) for width in widths)
        own = self._row_weights[rows]
        return np.array([np.average(logsumexp(each, axis=1), weights=own) for each in terms])


def _mean_shares(shares: csr_array, leaves: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the mean over the counted leaves of each row, (n_x, n), of shares (nodes, n)."""
    rows = np.nonzero(counted)[0]
    values = 1.0 / counted.sum(axis=1)[rows]
    shape = len(leaves), shares.shape[0]
    return (csr_array((values, (rows, leaves[counted])), shape=shape) @ shares).toarray()


class Trees:
    """The splits of scikit-learn's trees as arrays, which a model file can hold.

    Nodes of all trees are numbered through, `count` in all.
    """

    def __init__(self, trees: Sequence):
        sizes = [tree.node_count for tree in trees]
        self._roots, self.count = np.cumsum([0, *sizes[:-1]]), sum(sizes)
        self._depth = max(tree.max_depth for tree in trees)
        feature = np.concatenate([tree.feature for tree in trees])
        self._threshold = np.concatenate([tree.threshold for tree in trees])
        below = [np.stack([tree.children_left, tree.children_right], axis=1) for tree in trees]
        below = np.concatenate(below) + np.repeat(self._roots, sizes)[:, None]
        # A leaf is below itself, so that all paths have one length.
        leaf = feature < 0
        below[leaf] = np.flatnonzero(leaf)[:, None]
        self._below, self._feature = below, np.maximum(feature, 0)

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """Return the node of each row that has no other below it, shape (n, trees)."""
        X = X.astype(np.float32)  # as the trees have seen it

        def of(rows):
            at, own = np.tile(self._roots, (rows.stop - rows.start, 1)), X[rows]
            numbers = np.arange(len(own))[:, None]
            for _ in range(self._depth):
                right = own[numbers, self._feature[at]] > self._threshold[at]
                at = self._below[at, right.astype(int)]
            return at

        return by_blocks(of, len(X), len(self._roots), like=X)
