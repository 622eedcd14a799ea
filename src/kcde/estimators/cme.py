"""Low-rank conditional mean embedding (jdl, appendix A)."""

from typing import ClassVar

from kcde.arrays import array_namespace, solve_triangular
from kcde.estimators._low_rank.base import LowRankConditional, check_positive
from kcde.estimators._low_rank.cme_constraints import (
    certify_infeasibility,
    move_mean,
    project_on_simplex,
)
from kcde.estimators._low_rank.constraints import product_bounds, solve_two_multipliers
from kcde.estimators._low_rank.functions import Projection, check_values
from kcde.estimators._low_rank.gaussian import GaussianPairBases


class CME(GaussianPairBases, LowRankConditional):
    """E[f|x] = f(Y_P)ᵀ Q_Y F ψ(x) with F = Ψ_YᵀΨ_X/n (Λ_X/n + λ)⁻¹: (48).

    The embedding of Grünewälder et al. (2012) in the double-orthogonal bases of pivoted Cholesky
    factors. A function is evaluated at the m_Y pivots of y alone, and E[1|x] need not be 1.

    Costs are those of `JDL`, and an expectation needs f at m_Y points only.

    Parameters
    ----------
    bandwidth_x, bandwidth_y
        Standard deviations of the Gaussian kernels, in the units of x and y: a number, or one per
        dimension. None: the median distance between rows over √2.
    regularization
        λ of (43).
    tolerance
        Relative trace error of the pivoted Cholesky factors.
    constrained
        False: no constraints. True: the average over the training rows of the weights on the
        pivots, Q_Y F x̄, is a probability vector: (53) and (54). "tightened": (53) and all weights
        at training rows not negative, (51), by one inequality like (33); as a rule infeasible.
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
        F, shape (m_Y, m_X).
    objective_
        The regularised loss (48) at F, divided by n.
    basis_x_, basis_y_
        The bases.
    rank_x_, rank_y_
        m_X and m_Y.
    solver_status_, solver_residual_, solver_iterations_
        "closed form" or "optimal"; the largest relative violation of the optimality conditions;
        systems solved.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde import CME
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 1))
    >>> Y = np.sin(X) + 0.3 * rng.normal(size=(100, 1))
    >>> model = CME(regularization=1e-4).fit(X, Y)
    >>> model.mean(np.array([[1.0]])).round(1)
    array([[1.]])
    """

    selection_rule: ClassVar[str] = (
        "bandwidths are the median distances over √2 and λ is 0.001, nothing is searched"
    )

    density_instead: ClassVar[str] = (
        "SmoothedCME has one, of its weights on the pivots of y under a Gaussian kernel"
    )

    @property
    def support_(self):
        """The pivots of y, shape (m_Y, d_y)."""
        return self._check_fitted().basis_y_.factor.points

    def project(self, f):
        """Return Q_Yᵀ f(Y_P): f counts at the pivots alone; m_Y² q multiplications."""
        values = check_values(f, self.support_)
        xp = array_namespace(values)
        zero = xp.zeros(values.shape[1], dtype=values.dtype)
        return Projection(zero, self.basis_y_.on_pivots.T @ values, f)

    def _directions(self, projection):
        return self._check_fitted().coef_.T @ projection.coefficients

    def _expected(self, projection, products):
        return products

    @staticmethod
    def _weights_of(models, features):
        """Return the signed weights Q_Y F ψ(x) on the pivots of y, (n, m_Y) for each model."""
        return [features @ (model.basis_y_.on_pivots @ model.coef_).T for model in models]

    def certify_tightening(self) -> float | None:
        """Return a proof that positivity tightened as in (33) contradicts (53), or None.

        n m_X² multiplications, for the extremes of Ψ_X on the training rows.

        Returns
        -------
        float or None
            The certificate of `certify_infeasibility`; None where the tightening is feasible.
        """
        self._check_fitted()
        return certify_infeasibility(*_tightening(self.basis_x_, self.basis_y_))

    def _check_parameters(self):
        check_positive("regularization", self.regularization)
        if self.constrained not in (False, True, "tightened"):
            raise ValueError(
                f"constrained must be False, True or 'tightened'; got {self.constrained!r}"
            )

    def _solve(self, summary, near):
        basis_x, Q = summary.basis_x, summary.basis_y.on_pivots
        xp = array_namespace(Q)
        curvature = basis_x.second_moments + self.regularization
        F = summary.cross / curvature
        self._report("closed form", 0.0, 0)
        if self.constrained == "tightened":
            F = self._tighten(summary, curvature)
        elif self.constrained:
            F = self._constrain(F, summary, curvature, near)
        self.objective_ = float(xp.sum(curvature * F * F - 2.0 * summary.cross * F))
        return F

    def _constrain(self, F, summary, curvature, near):
        """Move F x̄ so that p = Q_Y F x̄ lies on the simplex, at the least cost in (48)."""
        mean, basis = summary.basis_x.mean, summary.basis_y
        # (Q_Y Q_Yᵀ)⁻¹ is the kernel matrix at the pivots, L_P L_Pᵀ.
        K = basis.factor.kernel(basis.factor.points, basis.factor.points)
        free = basis.on_pivots @ (F @ mean)
        solved = project_on_simplex(K, free, near and near._on_simplex)
        self._on_simplex = solved.point
        # Q_Y⁻¹ = Vᵀ L_Pᵀ, and B = L_P⁻ᵀ is upper triangular.
        change = solve_triangular(basis.factor.B.T, solved.point - free, transpose=True)
        self._report("optimal", solved.residual, solved.iterations)
        return move_mean(F, mean, curvature, basis.rotation.T @ change)

    def _tighten(self, summary, curvature):
        tightening = _tightening(summary.basis_x, summary.basis_y)
        certificate = certify_infeasibility(*tightening)
        if certificate is not None:
            raise FloatingPointError(
                "normalisation (53) and positivity tightened as in (33) contradict each other: "
                f"status infeasible, certificate {certificate:.3g}; use constrained=True"
            )
        of_all = array_namespace(curvature).broadcast_to(curvature, summary.cross.shape)
        solved = solve_two_multipliers(of_all, summary.cross, *tightening, total=1.0, offset=0.0)
        self._report(solved.status, solved.residual, solved.iterations)
        return solved.coefficients


def _tightening(basis_x, basis_y):
    """Return e of (53), e·F = 1, and C̲ and C̄ of weights Q_Y F ψ(x) at the training rows of x."""
    Q = basis_y.on_pivots
    xp = array_namespace(Q)
    marginal = xp.sum(Q, axis=0)[:, None] * basis_x.mean[None, :]
    bounds = product_bounds(xp.min(Q, axis=0), xp.max(Q, axis=0), *basis_x.extrema)
    return marginal, *bounds
