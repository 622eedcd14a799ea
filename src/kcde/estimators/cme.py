"""Low-rank conditional mean embedding (jdl, appendix A), with (53) and (54) in simplex form."""

import numpy as np

from kcde.arrays import array_namespace, cholesky, solve_triangular, take_block, take_rows, to_numpy
from kcde.estimators._low_rank import constraints
from kcde.estimators._low_rank.base import LowRankConditional
from kcde.estimators._low_rank.basis import GaussianPairBases, Projection
from kcde.estimators._shared import checks
from kcde.linalg import nonnegative_least_squares

ROWS = "rows"
"""Positive weights also at some rows, as a value of `constrained`."""

_TOLERANCE = 1e-11
_ROUNDS = 20  # of pivoting
# What rounding may leave where the kernel matrix at the pivots is ill-conditioned.
_ROUNDING = 1e-7
_REMEDY = "loosen the tolerance"


class CME(GaussianPairBases, LowRankConditional):
    """Predict expectations of functions of y given x, from tens of rows to millions; no density.

    `predict` gives the mean of y, `score` its R².

    E[f|x] = f(Y_P)ᵀ Q_Y F ψ(x) with F = Ψ_YᵀΨ_X/n (Λ_X/n + λ)⁻¹: (48).

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
        pivots, Q_Y F x̄, is a probability vector: (53) and (54). "rows": besides, the weights at
        the first 30 training x are nonnegative, as in a variant of the authors' library: a program
        of 30 m_Y inequalities, seconds up to ranks of some hundreds.
    max_rank
        Maximum number of pivots; None: as many as the tolerance requires.
    store
        Whether to keep the factors in memory; False recomputes their rows when they are needed,
        "auto" does so for factors larger than 1.5 GiB.
    random_state
        Seeds the draw of the rows for the median distance.
    standardize
        Whether x and y are first brought to mean 0 and standard deviation 1 of the training rows:
        parameters and what is learned are then in these units. False: the rows as they are.

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

    selection_rule = (
        "bandwidths are the median distances over √2 and λ is 0.001, nothing is searched"
    )

    @property
    def support_(self):
        """The pivots of y, shape (m_Y, d_y)."""
        return self._restored(self._check_fitted().basis_y_.factor.points)

    def project(self, f):
        """Return Q_Yᵀ f(Y_P): f counts at the pivots alone; m_Y² q multiplications."""
        values = f(self.support_)
        zero = array_namespace(values).zeros(values.shape[1], dtype=values.dtype)
        return Projection(zero, self.basis_y_.on_pivots.T @ values, f)

    def _projection_of(self, f, mean, coefficients):
        return self.project(f)

    def _directions(self, projection):
        return self.coef_.T @ projection.coefficients

    def _expected(self, projection, products):
        return products

    @staticmethod
    def _weights_of(models, features):
        """Return the signed weights Q_Y F ψ(x) on the pivots of y, (n, m_Y) for each model."""
        return [features @ (model.basis_y_.on_pivots @ model.coef_).T for model in models]

    def certify_tightening(self) -> float | None:
        """Return a proof that positivity tightened as in (33) contradicts (53), or None.

        Of all weights Q_Y F ψ(x) at the training rows of x, (51). n m_X² multiplications, for the
        extremes of Ψ_X on the training rows.

        Returns
        -------
        float or None
            The certificate of `certify_infeasibility`; None where the tightening is feasible.
        """
        self._check_fitted()
        Q, basis = self.basis_y_.on_pivots, self.basis_x_
        xp = array_namespace(Q)
        bounds = constraints.product_bounds(xp.min(Q, axis=0), xp.max(Q, axis=0), *basis.extrema)
        return certify_infeasibility(xp.sum(Q, axis=0)[:, None] * basis.mean[None, :], *bounds)

    def _check_parameters(self):
        checks.choice("constrained", self.constrained, (False, True, ROWS))

    def _solve(self, summary, near):
        basis_x, Q = summary.basis_x, summary.basis_y.on_pivots
        curvature = basis_x.second_moments + self.regularization
        F, factor = summary.cross / curvature, summary.basis_y.factor
        # (Q_Y Q_Yᵀ)⁻¹ is the kernel matrix at the pivots, L_P L_Pᵀ.
        K = factor.kernel(factor.points, factor.points) if self.constrained else None
        if self.constrained == ROWS:
            few = basis_x.features(basis_x.points[: constraints.POINTS, :])
            of_x = array_namespace(Q).concat([basis_x.mean[None, :], few])
            solved = constraints.solve_at_rows(K, Q, curvature, summary.cross, basis_x.mean, of_x)
            F = solved.coefficients
        elif self.constrained:
            # F x̄ moves so that p = Q_Y F x̄ lies on the simplex, at the least cost in (48).
            mean = basis_x.mean
            free = Q @ (F @ mean)
            solved = project_on_simplex(K, free)
            # Q_Y⁻¹ = Vᵀ L_Pᵀ, and B = L_P⁻ᵀ is upper triangular.
            change = solve_triangular(factor.B.T, solved.coefficients - free, transpose=True)
            # The nearest F, with weights D, whose product with x̄ is changed so.
            w = mean / curvature
            F = F + (summary.basis_y.rotation.T @ change)[:, None] * w[None, :] / (mean @ w)
        self._report(*(solved[1:4] if self.constrained else ("closed form", 0.0, 0)))
        self.objective_ = float(array_namespace(Q).sum(curvature * F * F - 2.0 * summary.cross * F))
        return F


def project_on_simplex(K, target) -> constraints.ConstrainedSolution:
    """Minimise (p - p⁰)ᵀ K (p - p⁰) over p ≥ 0 with Σ p = 1.

    Block principal pivoting: all entries that violate p ≥ 0 or have a negative multiplier change
    sides at once, which mostly ends at the optimum after two to six systems. Where it does not, p
    has the direction of the u ≥ 0 that minimises |Lᵀ(I - p⁰1ᵀ) u|² + (Σ u - 1)², K = L Lᵀ: no
    other has a smaller first term for its length. k³/3 multiplications a system for k positive
    entries.

    Parameters
    ----------
    K
        Shape (m, m), positive definite.
    target
        p⁰, shape (m,).

    Raises
    ------
    FloatingPointError
        If K is singular, or rounding leaves no solution; names the residual.
    """
    xp, pull, point = array_namespace(K), K @ target, to_numpy(target)
    positive = point > 0.0
    positive[np.argmax(point)] = True
    systems, wrong = 0, positive
    while wrong.any() and systems < _ROUNDS:
        p = _solve_on(np.flatnonzero(positive), K, pull)
        multipliers = _multipliers(p, K, pull)
        wrong = np.where(positive, p <= 0.0, multipliers < -_TOLERANCE)
        positive, systems = positive ^ wrong, systems + 1
    if wrong.any():
        root = to_numpy(_lower(K)).T
        system = np.vstack([root - (root @ point)[:, None], np.ones(len(point))])
        (p,) = nonnegative_least_squares(system, np.eye(len(system))[-1:])
        p /= p.sum()
        multipliers = _multipliers(p, K, pull)
    residual = max(-multipliers.min(), np.abs(multipliers[p > 0.0]).max())
    if not residual <= _ROUNDING:
        raise FloatingPointError(f"weights have a residual of {residual:.3g}: {_REMEDY}")
    return constraints.ConstrainedSolution(xp.asarray(p), "optimal", float(residual), systems)


def _lower(K):
    lower = cholesky(K)
    if lower is None:
        raise FloatingPointError("the kernel matrix at the pivots is singular: " + _REMEDY)
    return lower


def _solve_on(support: np.ndarray, K, pull) -> np.ndarray:
    """Return the minimiser with Σ p = 1 on a support, 0 elsewhere."""
    lower = _lower(take_block(K, support, support))
    xp, own = array_namespace(K), take_rows(pull, support)
    sides = xp.stack([own, xp.ones_like(own)], axis=1)
    solved = solve_triangular(lower, solve_triangular(lower, sides), transpose=True)
    free, ones = to_numpy(solved).T
    p = np.zeros(K.shape[0])
    p[support] = free + (1.0 - free.sum()) / ones.sum() * ones
    return p


def _multipliers(p: np.ndarray, K, pull) -> np.ndarray:
    """Return the multipliers of p ≥ 0, relative to the largest number in them or in K."""
    xp = array_namespace(K)
    gradient = to_numpy(K @ xp.asarray(p) - pull)
    scale = max(float(xp.max(xp.linalg.diagonal(K))), np.abs(gradient).max())
    return (gradient - gradient[p > 0.0].mean()) / scale


def certify_infeasibility(marginal, lower, upper) -> float | None:
    """Return a proof that a tightening like (33) contradicts normalisation (53), or None.

    For CME it is g(F) = Σ (C̲ F⁺ - C̄ F⁻) ≥ 0 together with e·F = 1. Both are positively
    homogeneous but for the 1, so there is no such F if and only if some κ ≥ 0 has e·F + κ g(F) ≤ 0
    for every F, which is -κC̄ ≤ e ≤ -κC̲ entry by entry: an interval for κ. O(m_X m_Y).

    e, C̲ and C̄ are of shape (m_Y, m_X); κ is the certificate.
    """
    e, a, b = (np.asarray(to_numpy(x)).ravel() for x in (marginal, lower, upper))
    # e + κa ≤ 0 and -e - κb ≤ 0, each of the form offset + κ slope ≤ 0.
    offset, slope = np.concatenate([e, -e]), np.concatenate([a, -b])
    if np.any((slope == 0) & (offset > 0)):
        return None
    falling, rising = slope < 0, slope > 0
    least = max(0.0, np.max(offset[falling] / -slope[falling], initial=0.0))
    most = np.min(-offset[rising] / slope[rising], initial=np.inf)
    return float(least) if least <= most else None
