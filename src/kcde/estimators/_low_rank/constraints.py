"""Constrained joint distribution learning: jdl (22) and (23) with (33), or with (24).

(33) is one inequality, and the dual has two multipliers. The inequalities (24), one for every pair
of a training x and a training y, are imposed at all rows or at 30 values of each: that problem is
the projection of the unconstrained solution on a polyhedron in the metric of the curvature, a
least-distance problem, which becomes nonnegative least squares (Lawson and Hanson 1974, section
23.4). Weights of CME that are nonnegative at 30 rows are found by the method of multipliers.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._low_rank.basis import Basis
from kcde.linalg import nonnegative_least_squares

_ITERATIONS = 200
_SEARCH = 80
_ON_A_LINE = 0.02  # relative to the step
_TOLERANCE = 1e-12
# What rounding may leave where λ is so small that the coefficients are differences of large ones.
_ROUNDING = 1e-8

POINTS = 30
"""Of the sub-grid: values of x, and of y."""

_ADDED = 1000  # inequalities a round, at most
_NO_MEAN = 1e-6  # of the mean of h without constraints
_ALLOWED = 1e-9
_LIMIT = 1e-6
_RELAXATION = 1.7
_MOST_ALTERNATIONS = 20_000


class ConstrainedSolution(NamedTuple):
    """A solution of a constrained problem, and how it was reached.

    Attributes
    ----------
    coefficients
        Shape (m_Y, m_X).
    status
        "optimal", or in the solver's words.
    residual
        Largest violation of the optimality conditions, relative.
    iterations
        Number of iterations of the solver.
    multipliers
        ν and κ, where the problem has two.
    """

    coefficients: object
    status: str
    residual: float
    iterations: int
    multipliers: np.ndarray | None = None


def product_bounds(lower_y, upper_y, lower_x, upper_x):
    """Return bounds of products of values in two intervals, shapes (m_Y, m_X).

    C̲ and C̄ of (34) and (35), which (31) and (32) are: the extremes of a bilinear function lie at
    the corners. O(m_X m_Y).

    The ends of the intervals are of shapes (m_Y,), (m_Y,), (m_X,) and (m_X,).
    """
    xp = array_namespace(lower_y)
    corners = [y[:, None] * x[None, :] for y in (lower_y, upper_y) for x in (lower_x, upper_x)]
    corners = xp.stack(corners)
    return xp.min(corners, axis=0), xp.max(corners, axis=0)


def solve_two_multipliers(
    curvature, linear, marginal, lower, upper, start: np.ndarray | None = None
) -> ConstrainedSolution:
    """Minimise Σ ½ d h² - c h subject to e·h = 0 and 1 + Σ (a h⁺ - b h⁻) ≥ 0.

    With multipliers ν of the first and κ ≥ 0 of the second constraint and u = c - νe the minimiser
    is h = [(u + κa)₊ - (-(u + κb))₊]/d. Its dual, -κ - ½ Σ d h², is concave and piecewise
    quadratic; a safeguarded semismooth Newton method climbs it. h = 0 is strictly feasible in (23)
    and (33), so that the dual is bounded. Some ten iterations of O(m_X m_Y), one or two from the
    multipliers `start` of a nearby problem.
    """
    dual = _Dual(curvature, linear, marginal, lower, upper)
    point = dual.at(np.array([dual.free_multiplier(), 0.0]))
    if point.gradient[1] <= 0.0:
        return ConstrainedSolution(dual.primal(point), "optimal", dual.residual(point), 0)
    if start is not None:
        point = dual.at(start)
    residual, iteration, moved = dual.residual(point), 0, True
    while residual > _TOLERANCE and moved and iteration < _ITERATIONS:
        before = residual
        point, moved = _climb(dual, point)
        residual, iteration = dual.residual(point), iteration + 1
        if max(before, residual) <= _ROUNDING and residual > 0.5 * before:
            break
    if residual > _ROUNDING:
        # Ties in the rows make kinks of the dual that many coefficients share.
        point = _maximum_by_lines(dual)
        residual = dual.residual(point)
    if residual <= _ROUNDING:
        solution = dual.primal(point), "optimal", residual, iteration
        return ConstrainedSolution(*solution, point.multipliers)
    said = f"the two-multiplier dual stopped early: residual {residual:.3g}"
    raise FloatingPointError(f"{said}; raise the regularization or loosen the tolerance")


class _Point(NamedTuple):
    """The dual at (ν, κ); `sizes` are what the constraints are sums of, without signs."""

    multipliers: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray
    sizes: np.ndarray


class _Dual:
    """The concave dual with its derivatives; sums run over the coefficients that are not zero."""

    def __init__(self, curvature, linear, marginal, lower, upper):
        self.xp = xp = array_namespace(linear)
        self.shape = linear.shape
        arrays = (xp.reshape(x, (-1,)) for x in (curvature, linear, marginal, lower, upper))
        self.d, self.c, self.e, self.a, self.b = arrays
        self._size = float(xp.sum(xp.abs(self.e * self.c) / self.d))
        self._squares = float((self.e / self.d) @ self.e)

    def free_multiplier(self) -> float:
        """Return ν where the inequality does not bind."""
        if not self._squares > 0.0:
            return 0.0
        return float((self.e / self.d) @ self.c) / self._squares

    def primal(self, point: _Point):
        """Return h, shape (m_Y, m_X)."""
        xp, (nu, kappa) = self.xp, point.multipliers.tolist()
        u = self.c - nu * self.e
        above, below = xp.clip(u + kappa * self.a, min=0.0), xp.clip(u + kappa * self.b, max=0.0)
        return xp.reshape((above + below) / self.d, self.shape)

    def at(self, multipliers: np.ndarray) -> _Point:
        """Return gradient and negated Hessian."""
        xp, (nu, kappa) = self.xp, multipliers.tolist()
        u = self.c - nu * self.e
        above = xp.nonzero(u > -kappa * self.a)[0]
        below = xp.nonzero(u < -kappa * self.b)[0]
        active = xp.concat([above, below])
        slope = xp.concat([xp.take(self.a, above), xp.take(self.b, below)])
        e, d = xp.take(self.e, active), xp.take(self.d, active)
        h = (xp.take(u, active) + kappa * slope) / d
        e_d, eh, sh = e / d, e * h, slope * h
        sums = [xp.sum(eh), xp.sum(sh), xp.sum(xp.abs(eh)), xp.sum(xp.abs(sh))]
        products = [e_d @ e, e_d @ slope, slope @ (slope / d)]
        # All in one piece: on a device each number alone would be waited for.
        of_e, of_s, size_e, size_s, ee, es, ss = to_numpy(xp.stack(sums + products))
        return _Point(
            multipliers,
            np.array([of_e, -1.0 - of_s]),
            np.array([[ee, -es], [-es, ss]]),
            np.array([size_e, size_s + 1.0]),
        )

    def residual(self, point: _Point) -> float:
        """Return the larger violation, each against the sizes of its terms.

        A violation of the inequality counts on both sides where κ > 0. Where the constraints leave
        no h with a mean, its terms are rounding, and what is left is held against those without.
        """
        least = _NO_MEAN * (self._size + abs(float(point.multipliers[0])) * self._squares)
        first, second = point.gradient / np.maximum(point.sizes, [max(least, 1e-300), 1e-300])
        return float(max(abs(first), abs(second) if point.multipliers[1] > 0.0 else second))


def _climb(dual: _Dual, point: _Point) -> tuple[_Point, bool]:
    """Take a Newton step with κ ≥ 0, shortened where the dual's slope turns before its end.

    Slopes, not values: near the optimum differences of the dual are rounding.
    """
    step = _newton_step(point)
    start = float(point.gradient @ step)
    # A plain number, which every namespace multiplies.
    longest = min(1.0, float(-point.multipliers[1] / step[1])) if step[1] < 0.0 else 1.0
    if not start > 0.0 or not longest > 0.0:
        return point, False
    trial = dual.at(np.maximum(point.multipliers + longest * step, [-np.inf, 0.0]))
    if float(trial.gradient @ step) < -0.5 * start:

        def slope(t: float) -> float:
            return float(dual.at(point.multipliers + t * step).gradient @ step)

        # Where it does not end, the step is next to nothing, and `moved` tells.
        t = brentq(slope, 0.0, longest, xtol=1e-300, rtol=_ON_A_LINE, disp=False)
        trial = dual.at(point.multipliers + t * step)
    return trial, bool(np.any(trial.multipliers != point.multipliers))


def _maximum_by_lines(dual: _Dual) -> _Point:
    """Return the maximum of the dual over κ ≥ 0, by roots of its slope in κ where ν is best for κ.

    Some thousand evaluations, where Newton's method takes ten, and none that can fail: both slopes
    fall, the one in κ from above 0, since at κ = 0 the inequality is violated.
    """
    start = dual.free_multiplier()

    def best(kappa: float) -> _Point:
        def slope(nu: float) -> float:
            return float(dual.at(np.array([nu, kappa])).gradient[0])

        return dual.at(np.array([_falling_root(slope, start), kappa]))

    return best(max(0.0, _falling_root(lambda kappa: float(best(kappa).gradient[1]), 1.0)))


def _falling_root(slope: Callable[[float], float], start: float) -> float:
    """Return where a function that does not rise changes its sign, from a guess on."""
    reach = max(1.0, abs(start))
    low, high = start - reach, start + reach
    for _ in range(_SEARCH):
        if slope(low) >= 0.0:
            break
        low -= (reach := 2.0 * reach)
    for _ in range(_SEARCH):
        if slope(high) <= 0.0:
            break
        high += (reach := 2.0 * reach)
    if slope(low) < 0.0 or slope(high) > 0.0:
        return start
    return float(brentq(slope, low, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps))


def _newton_step(point: _Point) -> np.ndarray:
    """Return the step to the maximum of the local quadratic; a scaled gradient where it is flat."""
    hessian, gradient = point.hessian, point.gradient
    scale = np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    scaled = hessian / np.outer(scale, scale)
    if scaled[0, 0] * scaled[1, 1] - scaled[0, 1] ** 2 > 1e-14:
        return np.linalg.solve(scaled, gradient / scale) / scale
    if not np.any(hessian):
        # Nothing is active: h = 0, and κ is too large.
        return np.array([0.0, -0.5 * point.multipliers[1]])
    return np.linalg.solve(hessian + 1e-12 * np.trace(hessian) * np.eye(2), gradient)


def solve_on_grid(curvature, linear, marginal, of_y, of_x) -> ConstrainedSolution:
    """Minimise Σ ½ d h² - c h subject to e·h = 0 and Ψ_Y H Ψ_Xᵀ ≥ -1 at rows of x times rows of y.

    Inequalities are added where they are violated, until none is. A round with K of them costs
    K² m_X m_Y multiplications and a nonnegative least squares problem of K unknowns.

    d > 0, c and e are of shape (m_Y, m_X), Ψ_Y of shape (k, m_Y), Ψ_X of shape (l, m_X).
    """
    d, c, e, of_y, of_x = map(to_numpy, (curvature, linear, marginal, of_y, of_x))
    root = np.sqrt(d).reshape(-1)

    def on_grid(point):
        return of_y @ (point / root).reshape(d.shape) @ of_x.T

    normal = e.reshape(-1) / root
    normal /= max(float(np.linalg.norm(normal)), 1e-300)
    start = point = _orthogonal(c.reshape(-1) / root, normal)
    values, wanted = 1.0 + on_grid(start), np.zeros(0, dtype=np.intp)
    rounds = 0
    while len(violated := np.setdiff1d(np.flatnonzero(values < -_ALLOWED), wanted)):
        worst = violated[np.argsort(values.flat[violated])[:_ADDED]]
        rounds, wanted = rounds + 1, np.union1d(wanted, worst)
        at_y, at_x = np.divmod(wanted, len(of_x))
        h = (of_y[at_y, :, None] * of_x[at_x, None, :]).reshape(len(wanted), -1)
        rows = _orthogonal(h / root, normal)
        # The shortest step that mends them, in the span of the rows: far fewer than coefficients.
        system = np.vstack([np.linalg.qr(rows.T, mode="r"), -1.0 - rows @ start])
        target = np.append(np.zeros(len(system) - 1), 1.0)
        (weights,) = nonnegative_least_squares(system, target[None, :])
        if not (left := 1.0 - float(system[-1] @ weights)) > 0.0:
            raise FloatingPointError("nothing is nonnegative on the grid; raise regularization")
        point = start + rows.T @ weights / left
        values = 1.0 + on_grid(point)
    residual = float(max(0.0, -np.min(values)))
    if residual > _LIMIT:
        raise FloatingPointError(f"values stay negative on the grid: residual {residual:.3g}")
    found = array_namespace(linear).asarray((point / root).reshape(d.shape))
    return ConstrainedSolution(found, "optimal", residual, rounds)


def solve_at_rows(K, on_pivots, curvature, linear, mean, of_x) -> ConstrainedSolution:
    """Minimise Σ ½ d f² - c f subject to Q F Ψ_Xᵀ ≥ 0 at rows of x and 1ᵀQ F x̄ = 1.

    The alternating direction method of multipliers (Boyd et al. 2011, section 5.2) over F and its
    weights P = Q F Ψ_Xᵀ, over-relaxed, with a penalty that balances the residuals. With the
    eigenvectors of K = (QQᵀ)⁻¹ and of Ψ_Xᵀ Ψ_X / d the quadratic problem is one division an entry:
    2 (m_Y + m_X) m_Y l multiplications an iteration for l rows, some thousand iterations.

    K, the kernel at the pivots, and Q are of shape (m_Y, m_Y), d and x̄ (m_X,), c (m_Y, m_X),
    Ψ_X (l, m_X).
    """
    xp, root = array_namespace(linear), np.sqrt(to_numpy(curvature))
    K, Q, c, mean, of_x = map(to_numpy, (K, on_pivots, linear, mean, of_x))
    of_K, U = np.linalg.eigh(K)
    of_rows, V = np.linalg.eigh((of_x / root).T @ (of_x / root))
    linear, of_x = U.T @ (K @ (Q @ (c / root))) @ V, of_x / root @ V
    normal = np.outer(U.sum(axis=0), (mean / root) @ V)
    penalty = np.sqrt(of_K[0] * of_K[-1]) / np.median(of_rows[of_rows > 1e-10 * of_rows[-1]])
    weights = duals = np.zeros((len(Q), len(of_x)))
    for iteration in range(_MOST_ALTERNATIONS):
        if iteration % 50 == 0:
            inverse = 1.0 / (of_K[:, None] + penalty * of_rows)
            moving = normal * inverse / np.sum(normal**2 * inverse)
        free = (linear + U.T @ (penalty * weights - duals) @ of_x) * inverse
        Z = free + (1.0 - np.sum(normal * free)) * moving
        found, before = U @ (Z @ of_x.T), weights
        relaxed = _RELAXATION * found + (1.0 - _RELAXATION) * before
        weights = np.maximum(relaxed + duals / penalty, 0.0)
        duals = duals + penalty * (relaxed - weights)
        if iteration % 50 == 49:
            off = np.linalg.norm(found - weights) / max(np.linalg.norm(weights), 1e-300)
            moved = penalty * np.linalg.norm(weights - before) / max(np.linalg.norm(duals), 1e-300)
            if max(off, moved) < 1e-8:
                break
            penalty *= np.clip(np.sqrt(off / max(moved, 1e-300)), 0.1, 10.0)
    if max(off, moved) > _LIMIT:
        raise FloatingPointError(f"weights stay negative at rows: residual {max(off, moved):.3g}")
    F = xp.asarray(Q.T @ (K @ (U @ Z @ V.T)) / root)
    return ConstrainedSolution(F, "optimal", float(max(off, moved)), iteration + 1)


def spread_features(basis: Basis, most: int):
    """Return Ψ at most so many rows, evenly spaced in the order of the first coordinate."""
    points = basis.points
    first = points[:, :1] if points.shape[1] else np.zeros((points.shape[0], 1))
    order = np.argsort(to_numpy(first)[:, 0], kind="stable")
    places = np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(np.intp)
    return basis.features(take_rows(points, np.sort(order[places])))


def _orthogonal(rows: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the parts of vectors that are orthogonal to a unit vector."""
    return rows - (rows @ normal)[..., None] * normal
