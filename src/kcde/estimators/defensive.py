"""Any conditional density with a share of a broad one, so that no point has almost no density."""

from collections.abc import Callable
from dataclasses import replace
from math import log, log1p, pi
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from kcde.arrays import array_namespace, normal_cdf
from kcde.estimators._shared.pushforward import normal_nodes
from kcde.estimators._shared.roots import increasing_root
from kcde.estimators.base import ConditionalDensity, Tags
from kcde.estimators.kcef import KCEF

_BASE_STD = 2.0
_FEW_ROWS, _REPEATS = 60, 5


class _TagsOfInner:
    """The tags of the estimator inside; of the class those of its default estimator."""

    def __get__(self, instance, owner=None) -> Tags:
        inner = None if instance is None else instance.estimator
        return replace(inner.tags if inner is not None else KCEF.tags, exact_sampler=True)


class Defensive(ConditionalDensity):
    """(1 - ε) p(y|x) + ε q_0(y): a conditional density p, and q_0 = N(0, s²) as a floor under it.

    A held-out point costs at most -log(ε q_0(y)) nats, so that a single one cannot rule a mean,
    and ε takes part in the choice of the hyper-parameters: p is chosen by the held-out likelihood
    of the mixture, not by its own, under which one point far out would forbid all that fits the
    others. An estimator does this if it has the parameter `selection_floor` (KCEF by
    likelihood, which also counts p as 0 where its quadrature does not resolve it). Any other is
    chosen by its own rule and mixed afterwards.

    With fewer than 60 rows the held-out likelihood is averaged over five shuffles of the folds,
    if the estimator has the parameter `repeats`: one division of few rows decides by chance.

    ε and the two numbers were fixed before any test score was seen. Defensive mixtures are those
    of importance sampling (Hesterberg, Technometrics 1995).

    Parameters
    ----------
    estimator
        An unfitted conditional density; a clone of it is fitted. None: KCEF with bandwidths and λ
        by held-out likelihood.
    weight
        ε, in (0, 1).
    base_std
        s, in the units of y, which q_0 takes to be around 0: bring y to unit scale, with
        `Standardised` for example. None: `base_std` of the estimator, 2.0 where it has none.
    repeats
        Shuffles of the folds over which the held-out likelihood is averaged; None: 5 where there
        are fewer than 60 rows, 1 elsewhere.
    tuning_rows, random_state
        Of the default estimator; one that is given has its own.

    Attributes
    ----------
    estimator_
        The fitted p.
    base_std_
        s.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import Defensive, LSCDE
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> plain = LSCDE(0.5, 0.3, 0.1).fit(X, Y)
    >>> model = Defensive(LSCDE(0.5, 0.3, 0.1)).fit(X, Y)
    >>> far = np.array([[8.0]])
    >>> bool(plain.log_density(X[:1], far)[0] < -100.0)
    True
    >>> model.log_density(X[:1], far).round().tolist()
    [-14.0]
    """

    selection_rule: ClassVar[str] = (
        "KCEF's σ_x, σ_y and λ by the 5-fold held-out likelihood of 0.99 p + 0.01 q_0, the density "
        "that is scored, on a coarse grid and one refinement; with fewer than 60 rows averaged "
        "over 5 shuffles of the folds"
    )

    tags = _TagsOfInner()

    def __init__(
        self,
        estimator=None,
        weight=0.01,
        base_std=None,
        *,
        repeats=None,
        tuning_rows=None,
        random_state=0,
    ):
        self.estimator = estimator
        self.weight = weight
        self.base_std = base_std
        self.repeats = repeats
        self.tuning_rows = tuning_rows
        self.random_state = random_state

    def _fit(self, X, Y):
        from sklearn.base import clone

        if not 0 < self.weight < 1:
            raise ValueError(f"weight must lie in (0, 1); got {self.weight!r}")
        if self.base_std is not None and not 0 < self.base_std < np.inf:
            raise ValueError(f"base_std must be a positive number; got {self.base_std!r}")
        inner = self._default() if self.estimator is None else clone(self.estimator)
        few = Y.shape[0] < _FEW_ROWS
        repeats = (_REPEATS if few else 1) if self.repeats is None else self.repeats
        known, wanted = inner.get_params(), {"selection_floor": self.weight, "repeats": repeats}
        inner.set_params(**{name: value for name, value in wanted.items() if name in known})
        std = known.get("base_std", _BASE_STD) if self.base_std is None else self.base_std
        self.estimator_, self.base_std_ = inner.fit(X, Y), float(std)

    def _default(self) -> KCEF:
        rows, state = self.tuning_rows, self.random_state
        return KCEF(selection="likelihood", tuning_rows=rows, random_state=state)

    def log_density(self, X, Y):
        """Return log p(y|x), nats, shape (n,), for the pairs X (n, d_x), Y (n, d_y)."""
        X, Y = self._check_pair(X, Y)
        return self._mixed(self.estimator_.log_density(X, Y), self._log_base(Y))

    def log_density_at(self, Y) -> Callable:
        """Return a function X (n, d_x) -> log p(Y|X), shape (n, q), at shared Y (q, d_y)."""
        Y = self._check_outputs(Y)
        at, log_base = self.estimator_.log_density_at(Y), self._log_base(Y)[None, :]
        return lambda X: self._mixed(at(self._check_features(X)), log_base)

    def _mixed(self, log_density, log_base):
        xp = array_namespace(log_base)
        return xp.logaddexp(log1p(-self.weight) + log_density, log(self.weight) + log_base)

    def _log_base(self, Y):
        xp = array_namespace(Y)
        constant = Y.shape[1] * (log(self.base_std_) + 0.5 * log(2 * pi))
        return -0.5 * xp.sum((Y / self.base_std_) ** 2, axis=1) - constant

    def mean(self, X):
        """Return E[Y|x], shape (n, d_y), for X (n, d_x), or None without x: one row."""
        X = self._check_features(X)
        return (1.0 - self.weight) * self.estimator_.mean(X)

    def conditional_expectation(self, f: Callable, X):
        """Return E[f(Y)|x], shape (n, q): that of the estimator inside, and that of q_0.

        The latter by Gauss-Hermite quadrature where d_y = 1, otherwise over 20,000 draws with a
        fixed seed.

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        X
            Shape (n, d_x).
        """
        X = self._check_features(X)
        xp = array_namespace(X)
        nodes, weights = normal_nodes(self.n_outputs_)
        below = xp.asarray(weights) @ f(xp.asarray(self.base_std_ * nodes))
        inside = self.estimator_.conditional_expectation(f, X)
        return (1.0 - self.weight) * inside + self.weight * below[None, :]

    def sample(self, X, n_samples: int, rng: np.random.Generator):
        """Draw from p(y|x), shape (n, n_samples, d_y): with chance ε from q_0."""
        X = self._check_features(X)
        xp = array_namespace(X)
        draws = self.estimator_.sample(X, n_samples, rng)
        below = self.base_std_ * rng.standard_normal(tuple(draws.shape))
        taken = rng.random((X.shape[0], n_samples, 1)) < self.weight
        return xp.where(xp.asarray(taken), xp.asarray(below), draws)

    def _require_distribution(self):
        super()._require_distribution()
        self.estimator_._require_distribution()

    def _cdf(self, X, y):
        inside = self.estimator_._cdf(X, y)
        return (1.0 - self.weight) * inside + self.weight * normal_cdf(y / self.base_std_)

    def _quantile(self, X, p):
        # The quantile of a mixture lies between those of its parts.
        xp = array_namespace(X)
        inside = self.estimator_._quantile(X, p)
        if not X.shape[0]:
            return inside
        below = xp.asarray(np.broadcast_to(self.base_std_ * ndtri(p), tuple(inside.shape)).copy())
        ends = xp.minimum(inside, below), xp.maximum(inside, below)
        columns = [
            self._column_of_quantiles(X, value, *(end[:, i] for end in (*ends, inside)))
            for i, value in enumerate(p)
        ]
        return xp.stack(columns, axis=1)

    def _column_of_quantiles(self, X, p: float, lower, upper, start):
        xp = array_namespace(X)

        def excess(y):
            slope = xp.exp(self.log_density(X, y[:, None]))
            return self._cdf(X, y) - p, slope

        return increasing_root(excess, lower, upper, start, 1e-12)
