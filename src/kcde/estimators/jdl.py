"""Joint distribution learning with Gaussian kernels (Filipović, Multerer and Schneider 2024)."""

from copy import copy

import numpy as np

from kcde.arrays import array_namespace
from kcde.estimators._low_rank import constraints
from kcde.estimators._low_rank.base import LowRankConditional, Summary
from kcde.estimators._low_rank.basis import GaussianPairBases, centred_mean_of
from kcde.estimators._shared.units import Units

GRID, SUB_GRID, CLIPPED = "grid", "sub-grid", "clipped"


class JointDistribution(LowRankConditional):
    """Q = (1/n²) Σ_ij (1 + h(x_i, y_j)) δ_xi ⊗ δ_yj with h = Ψ_Y H Ψ_Xᵀ: (1), (26).

    A subclass gives the bases, and in `_constrained` the minimiser of Σ curvature H² - 2 linear H
    under its constraints.
    """

    _clips = False
    """Whether expectations are under max(1 + h, 0) in place of 1 + h."""

    @property
    def support_(self):
        """The training rows of Y, shape (n, d_y)."""
        return self._restored(self._check_fitted().basis_y_.points)

    def _solve(self, summary: Summary, near):
        """Minimise (22); without constraints H = (Ψ_YᵀΨ_X/n - ȳx̄ᵀ)/(Λ_YΛ_Xᵀ/n² + λ)."""
        basis_x, basis_y = summary.basis_x, summary.basis_y
        marginal = basis_y.mean[:, None] * basis_x.mean[None, :]
        linear = summary.cross - marginal
        second = basis_y.second_moments[:, None] * basis_x.second_moments[None, :]
        curvature = second + self.regularization
        if self.constrained and not self._clips:
            start = getattr(near, "_multipliers", None)
            solved = self._constrained(summary, curvature, linear, marginal, start)
        else:
            solved = constraints.ConstrainedSolution(linear / curvature, "closed form", 0.0, 0)
        H, self._multipliers = solved.coefficients, solved.multipliers
        self.objective_ = float(array_namespace(H).sum(curvature * H * H - 2.0 * linear * H))
        self._report(solved.status, solved.residual, solved.iterations)
        return H

    def project(self, f):
        """Return averages over the training rows of f and of (f - f̄) × Ψ_Y; n m_Y (d + q) time.

        Without a stored factor n m_Y² more, to recompute Ψ_Y.
        """
        return centred_mean_of(f, self.basis_y_)

    def _clipped_expectation(self, projection, features):
        """Return Σ_j f(y_j) w_j / Σ_j w_j with w_j = max(1 + h(x, y_j), 0), shape (n, q).

        As f̄ plus the same of f - f̄; n_train (m_Y + q) multiplications for each x.
        """
        xp, forward = array_namespace(features), features @ self.coef_.T
        total = xp.zeros((forward.shape[0], projection.mean.shape[0]), dtype=forward.dtype)
        mass = xp.zeros((forward.shape[0], 1), dtype=forward.dtype)
        basis = self.basis_y_
        rotated = forward @ basis.rotation.T
        for rows in basis.blocks(forward.shape[0]):
            weights = xp.clip(1.0 + rotated @ basis.coordinates(rows).T, min=0.0)
            total += weights @ (projection.function(basis.points[rows, :]) - projection.mean)
            mass += xp.sum(weights, axis=1)[:, None]
        if not bool(xp.all(mass > 0.0)):
            raise FloatingPointError("no 1 + h is positive at some x; raise the regularization")
        return projection.mean + total / mass

    @staticmethod
    def _expectations_of(models, projection, features):
        """Return `expectation` of each of several models of one kind with the same bases, a list.

        One product with all coefficients reads the features once, but for those that clip.
        """
        if models[0]._clips:
            return [model._clipped_expectation(projection, features) for model in models]
        return LowRankConditional._expectations_of(models, projection, features)

    def _directions(self, projection):
        of_one = self.basis_y_.mean[:, None]
        xp = array_namespace(of_one)
        return self.coef_.T @ xp.concat([projection.coefficients, of_one], axis=1)

    def _expected(self, projection, products):
        """Return E[f(Y)|x] = (f̄ + fᵀΨ_Y H ψ(x)/n)/(1 + ȳᵀ H ψ(x)): (5).

        As f̄ + (f - f̄)ᵀΨ_Y H ψ(x)/n over the same denominator, in which nothing cancels where f is
        constant. m_X (q + 1) (m_Y + n) multiplications. The denominator is the marginal density of
        x, which may come out as zero or negative outside the training rows of an unconstrained fit.
        """
        return projection.mean[:, None] + products[:-1, :] / (1.0 + products[-1:, :])

    def density_ratio(self, X, Y):
        """Return 1 + h(x, y) for the pairs X (k, d_x), Y (k, d_y), shape (k,)."""
        features = self.features(X)
        xp = array_namespace(features)
        found = 1.0 + xp.sum((features @ self.coef_.T) * self.basis_y_.features(Y), axis=1)
        return xp.clip(found, min=0.0) if self._clips else found

    def marginal_expectation(self, f):
        """Return E[f(Y)] under the marginal Q_Y, shape (q,): (4) over its mass 1 + ȳᵀ H x̄.

        The mass is 1 where (23) holds. Q_Y is not the law of the training rows in general, but is
        for `JPDL` (lemma 2.1).

        Parameters
        ----------
        f
            Maps (k, d_y) to (k, q).
        """
        if self._clips:
            raise ValueError("clipped fits have no marginal in closed form")
        return self.expectation(self.project(f), self.basis_x_.mean[None, :])[0, :]

    def given_y(self) -> "JointDistribution":
        """Return the same joint law as a model of x given y: Q_{X|Y} of (5), and Q_X of (4).

        Its X are the y of this one: `given_y().mean(Y)` is E[X|y], of shape (n, d_x). Nothing is
        computed anew, and hyper-parameters stay as they are.
        """
        other, units = copy(self._check_fitted()), self._units
        other.basis_x_, other.basis_y_, other.coef_ = self.basis_y_, self.basis_x_, self.coef_.T
        other.rank_x_, other.rank_y_ = self.rank_y_, self.rank_x_
        other._record_input(None, other.basis_x_.points, other.basis_y_.points)
        if units is not None:
            units = Units.of(units.mean_y, units.std_y, units.mean_x, units.std_x)
        other._open(units, other.basis_y_.points)
        other._output_names = list(getattr(self, "feature_names_in_", ())) or None
        if self._output_names is not None:
            other.feature_names_in_ = np.array(self._output_names, dtype=object)
        return other

    @staticmethod
    def _weights_of(models, features):
        """Return (1 + h(x, y_j))/Σ_j (1 + h(x, y_j)), shape (n, n_train), for each model."""
        xp, basis = array_namespace(features), models[0].basis_y_
        forward = xp.concat([features @ model.coef_.T for model in models])
        count, n = basis.points.shape[0], forward.shape[0]
        h = [(forward @ basis.rotation.T) @ basis.coordinates(rows).T for rows in basis.blocks(n)]
        weights = xp.concat(h, axis=1) if len(h) > 1 else h[0]
        weights += 1.0
        if models[0]._clips:
            weights = xp.clip(weights, min=0.0)
            weights /= xp.sum(weights, axis=1)[:, None]
        else:
            weights /= count * (1.0 + forward @ basis.mean)[:, None]
        each = features.shape[0]
        return [weights[i * each : (i + 1) * each, :] for i in range(len(models))]


class JDL(GaussianPairBases, JointDistribution):
    """Predict expectations of functions of y given x, from tens of rows to millions; no density.

    `predict` gives the mean of y, `score` its R².

    A joint distribution dQ = (1 + h) dP_X dP_Y with h in a product of Gaussian RKHS: (25).

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
        makes 1 + h ≥ 0 on the grid of training points. "grid": (23) and (24), 1 + h ≥ 0 on that
        grid and no more, for up to a thousand rows. "sub-grid": the same at 30 training values of x
        and of y, evenly spaced in the order of the first coordinate.
        "clipped": no constraints, but expectations are under max(1 + h, 0), renormalised.
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

    selection_rule = (
        "bandwidths are the median distances over √2 and λ is 0.001, nothing is searched"
    )

    def _check_parameters(self):
        allowed = False, True, GRID, SUB_GRID, CLIPPED
        if self.constrained not in allowed:
            raise ValueError(f"constrained must be one of {allowed}; got {self.constrained!r}")

    @property
    def _clips(self) -> bool:
        return self.constrained == CLIPPED

    def _constrained(self, summary, curvature, linear, marginal, start):
        x, y = summary.basis_x, summary.basis_y
        if self.constrained in (GRID, SUB_GRID):
            most = x.points.shape[0] if self.constrained == GRID else constraints.POINTS
            rows = (constraints.spread_features(basis, most) for basis in (y, x))
            return constraints.solve_on_grid(curvature, linear, marginal, *rows)
        bounds = constraints.product_bounds(*y.extrema, *x.extrema)
        return constraints.solve_two_multipliers(curvature, linear, marginal, *bounds, start)
