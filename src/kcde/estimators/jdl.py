"""Joint distribution learning with Gaussian kernels (Filipović, Multerer and Schneider 2024)."""

from typing import ClassVar

from kcde.estimators._low_rank.base import check_positive
from kcde.estimators._low_rank.constraints import product_bounds, solve_two_multipliers
from kcde.estimators._low_rank.gaussian import GaussianPairBases
from kcde.estimators._low_rank.joint import JointDistribution
from kcde.estimators._low_rank.sub_grid import solve_on_sub_grid

SUB_GRID, CLIPPED = "sub-grid", "clipped"
_CONSTRAINTS = (False, True, "pointwise", SUB_GRID, CLIPPED)


class JDL(GaussianPairBases, JointDistribution):
    """A joint distribution dQ = (1 + h) dP_X dP_Y with h in a product of Gaussian RKHS: (25).

    h = Ψ_Y H Ψ_Xᵀ in the double-orthogonal bases of pivoted Cholesky factors of both kernel
    matrices (section 4.2), in which the loss is diagonal: without constraints H has a closed form,
    with them two multipliers. Conditional expectations are ratios (5), so that E[1|x] = 1.

    Fitting costs n (m_X + m_Y)² + m³ multiplications for ranks m_X and m_Y, and m_X m_Y for every
    further λ; an expectation at k points k m_X (m_X + m_Y).

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one per
        dimension. None: the median distance between rows over √2.
    regularization
        λ of (8).
    tolerance
        Relative trace error of the pivoted Cholesky factors.
    constrained
        False: no constraints. True: normalisation (23) and the single inequality (33), which
        makes 1 + h ≥ 0 on the grid of training points. "pointwise": (23) and (29) with bounds of
        the basis functions at every point, which makes 1 + h ≥ 0 everywhere (Lemma 4.2).
        "sub-grid": (23) and 1 + h ≥ 0 at 30 training values of x and of y, evenly spaced in the
        order of the first coordinate. "clipped": no constraints, but expectations are under
        max(1 + h, 0), renormalised.
    max_rank
        Maximum number of pivots; None: as many as the tolerance requires.
    pivots
        Rule of the pivots: "greedy", "random", "column" or "rpcholesky".
    store
        Whether to keep the factors in memory; False recomputes their rows when they are needed,
        "auto" does so for factors larger than 1.5 GiB.
    random_state
        Seeds the draws of the pivots and of the rows for the median distance.

    Attributes
    ----------
    coef_
        H, shape (m_Y, m_X).
    objective_
        The regularised loss (22) at H.
    basis_x_, basis_y_
        The bases.
    rank_x_, rank_y_
        m_X and m_Y.
    solver_status_, solver_residual_, solver_iterations_
        "closed form" or "optimal"; the largest relative violation of the optimality conditions;
        Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import JDL
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = JDL(regularization=1e-4).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[1.]])
    """

    selection_rule: ClassVar[str] = (
        "bandwidths are the median distances over √2 and λ is 0.001, nothing is searched"
    )

    density_instead: ClassVar[str] = (
        "SmoothedJDL has one, of its weights on the training y under a Gaussian kernel"
    )

    def _check_parameters(self):
        check_positive("regularization", self.regularization)
        if self.constrained not in _CONSTRAINTS:
            listed = ", ".join(map(repr, _CONSTRAINTS[:-1]))
            raise ValueError(
                f"constrained must be {listed} or {_CONSTRAINTS[-1]!r}; got {self.constrained!r}"
            )

    @property
    def _clips(self) -> bool:
        return self.constrained == CLIPPED

    def _constrained(self, summary, curvature, linear, marginal):
        x, y = summary.basis_x, summary.basis_y
        if self.constrained == SUB_GRID:
            return solve_on_sub_grid(curvature, linear, marginal, x, y)
        everywhere = self.constrained == "pointwise"
        of_y, of_x = (y.bounds(), x.bounds()) if everywhere else (y.extrema, x.extrema)
        lower, upper = product_bounds(*of_y, *of_x)
        return solve_two_multipliers(curvature, linear, marginal, lower, upper)
