"""Any conditional density with a share of a broad one, so that no point has almost no density."""

from dataclasses import KW_ONLY, dataclass

from kcde.estimators._shared import checks
from kcde.estimators._shared.floored import Floored, Normal, heavy_floor
from kcde.estimators._shared.rows import about_rows
from kcde.estimators._shared.units import without_standardising
from kcde.estimators.base import CommonOptions, Tags, WeightedRows
from kcde.estimators.kcef import KCEF
from kcde.estimators.standardised import Standardised

_MOST = 0.01  # of ε
_BASE_STD = 2.0
_FEW_ROWS, _REPEATS = 60, 5


class _TagsOfInner:
    """The tags of the estimator inside; of the class those of its default estimator."""

    def __get__(self, instance, owner=None) -> Tags:
        inner = None if instance is None else instance.estimator
        return KCEF.tags if inner is None else inner.tags


@dataclass(eq=False, repr=False)
class Defensive(CommonOptions, WeightedRows, Floored):
    """Predict any density of y given x with a floor under it, where outliers would rule the fit.

    `predict` gives the mean of y, `score` the mean log density of rows.

    (1 - ε) p(y|x) + ε q_0(y): a conditional density p, and q_0 = N(0, s²) as a floor under it, or
    a t with the scale s.

    A held-out point costs at most -log(ε q_0(y)) nats, so that a single one cannot rule a mean,
    and ε takes part in the choice of the hyper-parameters: p is chosen by the held-out likelihood
    of the mixture, not by its own, under which one point far out would forbid all that fits the
    others. An estimator does this if it has the parameter `selection_floor` (KCEF by
    likelihood, which also counts p as 0 where its quadrature does not resolve it). Any other, and
    any above a t, is chosen by its own rule and mixed afterwards.

    With fewer than 60 rows the held-out likelihood is averaged over five shuffles of the folds,
    if the estimator has the parameter `repeats`: one division of few rows decides by chance.

    ε and the two numbers were fixed before any test score of this mixture was seen; those of KCEF
    by likelihood had been. Defensive mixtures are those of importance sampling (Hesterberg,
    Technometrics 1995).

    Parameters
    ----------
    estimator
        An unfitted conditional density, other than `Standardised`; a clone is fitted. None: KCEF
        with bandwidths and λ by held-out likelihood.
    weight
        ε, in (0, 1). None: 1/n, as if one row of n were unlike all others, but at most 0.01.
    base_std
        s, in the units of y, which q_0 takes to be around 0. None: `base_std` of the estimator,
        2.0 where it has none.
    heavy_tails
        Whether q_0 is Student's t with two degrees of freedom, for one y; otherwise it is normal.
    repeats
        Shuffles of the folds over which the held-out likelihood is averaged; None: 5 where there
        are fewer than 60 rows, 1 elsewhere.
    tuning_rows, random_state
        Of the default estimator; one that is given has its own.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

    Attributes
    ----------
    estimator_
        The fitted p.
    base_std_, weight_
        s and ε.

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
    [-20.0]
    """

    selection_rule = (
        "KCEF's σ_x, σ_y and λ by the 5-fold held-out likelihood of 0.99 p + 0.01 q_0, the density "
        "that is scored, on a coarse grid and one refinement; with fewer than 60 rows averaged "
        "over 5 shuffles of the folds"
    )

    tags = _TagsOfInner()

    estimator: object = None
    weight: float | None = 0.01
    base_std: float | None = None
    _: KW_ONLY
    heavy_tails: bool = False
    repeats: int | None = None
    tuning_rows: int | None = None

    def _fit(self, X, Y):
        from sklearn.base import clone

        self._set_weight(min(_MOST, 1.0 / len(Y)) if self.weight is None else self.weight)
        checks.positive("base_std", self.base_std, optional=True)
        if self.heavy_tails:
            checks.one_y(self, Y)
        default = {"tuning_rows": self.tuning_rows, "random_state": self.random_state}
        inner = KCEF(selection="likelihood", **default)
        inner = inner if self.estimator is None else clone(self.estimator)
        if isinstance(inner, Standardised) or not getattr(inner.tags, "density", False):
            raise ValueError("q_0 is around 0 in the units of y: give the estimator itself")
        few = Y.shape[0] < _FEW_ROWS
        repeats = (_REPEATS if few else 1) if self.repeats is None else self.repeats
        known, wanted = inner.get_params(), {"selection_floor": self.weight_, "repeats": repeats}
        if not self.heavy_tails:
            inner.set_params(**{name: value for name, value in wanted.items() if name in known})
        std = known.get("base_std") or _BASE_STD if self.base_std is None else self.base_std
        self.estimator_ = without_standardising(inner)
        self.estimator_.fit(X, Y, **about_rows(inner, self._labels, self._weights))
        self.base_std_ = float(std)

    @property
    def _inside(self):
        return self.estimator_

    @property
    def _floor(self):
        return (heavy_floor if self.heavy_tails else Normal)(0.0, self.base_std_)
