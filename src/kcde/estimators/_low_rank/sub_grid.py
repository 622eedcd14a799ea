"""Joint distribution learning that is nonnegative on a sub-grid of sample values: jdl (22), (23).

Of the inequalities (24), one for every pair of a training x and a training y, those at 30 values of
each are imposed. The problem is the projection of the unconstrained solution on a polyhedron in the
metric of the curvature: a least-distance problem, which becomes nonnegative least squares (Lawson
and Hanson 1974, section 23.4).
"""

import numpy as np

from kcde.arrays import array_namespace, take_rows, to_numpy
from kcde.estimators._low_rank.basis import Basis
from kcde.estimators._low_rank.constraints import ConstrainedSolution
from kcde.linalg import nonnegative_least_squares

POINTS = 30
"""Values of x, and of y."""

_ALLOWED = 1e-9
_LIMIT = 1e-6


def solve_on_sub_grid(
    curvature, linear, marginal, basis_x: Basis, basis_y: Basis
) -> ConstrainedSolution:
    """Minimise Σ ½ d h² - c h subject to e·h = 0 and 1 + Ψ_Y H Ψ_Xᵀ ≥ 0 on a sub-grid.

    Inequalities are added where they are violated, until none is. A round with K of them costs
    K² m_X m_Y multiplications and a nonnegative least squares problem of K unknowns.

    Parameters
    ----------
    curvature, linear, marginal
        d > 0, c and e, shapes (m_Y, m_X).
    basis_x, basis_y
        Of the training rows.

    Returns
    -------
    ConstrainedSolution

    Raises
    ------
    FloatingPointError
        If an inequality stays violated; names the residual.
    """
    d, c, e = (to_numpy(each).reshape(-1) for each in (curvature, linear, marginal))
    root = np.sqrt(d)
    of_x, of_y = (to_numpy(_features(basis)) for basis in (basis_x, basis_y))
    normal = e / root
    normal /= max(float(np.linalg.norm(normal)), 1e-300)
    start = point = _orthogonal(c / root, normal)
    values, wanted = _values(point / root, of_x, of_y), np.zeros(0, dtype=np.intp)
    rounds = 0
    while len(violated := np.setdiff1d(np.flatnonzero(values < -_ALLOWED), wanted)):
        rounds, wanted = rounds + 1, np.union1d(wanted, violated)
        rows = _orthogonal(_inequalities(wanted, of_x, of_y) / root, normal)
        point = start + _shortest(rows, -1.0 - rows @ start)
        values = _values(point / root, of_x, of_y)
    residual = float(max(0.0, -np.min(values)))
    if residual > _LIMIT:
        raise FloatingPointError(
            f"1 + h stays negative on the sub-grid: residual {residual:.3g} after {rounds} "
            "rounds; raise the regularization"
        )
    found = array_namespace(linear).asarray((point / root).reshape(linear.shape))
    return ConstrainedSolution(found, "optimal", residual, rounds)


def _values(coefficients: np.ndarray, of_x: np.ndarray, of_y: np.ndarray) -> np.ndarray:
    """Return 1 + h on the sub-grid, shape (values of y, values of x)."""
    return 1.0 + of_y @ coefficients.reshape(of_y.shape[1], of_x.shape[1]) @ of_x.T


def _inequalities(wanted: np.ndarray, of_x: np.ndarray, of_y: np.ndarray) -> np.ndarray:
    """Return h at pairs of the sub-grid as rows of coefficients."""
    at_y, at_x = np.divmod(wanted, len(of_x))
    return (of_y[at_y, :, None] * of_x[at_x, None, :]).reshape(len(wanted), -1)


def _features(basis: Basis):
    """Return Ψ at training rows that are evenly spaced in the order of the first coordinate."""
    points = basis.points
    order = np.argsort(to_numpy(points[:, 0]), kind="stable")
    places = np.linspace(0, len(order) - 1, min(POINTS, len(order))).round().astype(np.intp)
    return basis.features(take_rows(points, np.sort(order[places])))


def _orthogonal(rows: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return the parts of vectors that are orthogonal to a unit vector."""
    return rows - (rows @ normal)[..., None] * normal


def _shortest(rows: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Return the shortest z with rows z ≥ least."""
    # In the span of the rows, of which there are far fewer than coefficients.
    lower = np.linalg.qr(rows.T, mode="r")
    system = np.vstack([lower, least[None, :]])
    target = np.zeros(len(system))
    target[-1] = 1.0
    (weights,) = nonnegative_least_squares(system, target[None, :])
    residual = target[-1] - float(least @ weights)
    if not residual > 0.0:
        raise FloatingPointError(
            "no coefficients are nonnegative on the sub-grid to rounding; raise the regularization"
        )
    return rows.T @ weights / residual
