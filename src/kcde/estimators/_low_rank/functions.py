"""Projections of functions of y on a basis."""

from collections.abc import Callable
from typing import NamedTuple

from kcde.arrays import array_namespace
from kcde.estimators._low_rank.basis import Basis


class Projection(NamedTuple):
    """A function f of y as an estimator sees it: mean (q,) and coefficients (m_Y, q), and f."""

    mean: object
    coefficients: object
    function: Callable


def moment_functions(Y):
    """Return y and the products of its entries, shape (k, d_y + d_y²), for Y (k, d_y)."""
    xp = array_namespace(Y)
    products = xp.reshape(Y[:, :, None] * Y[:, None, :], (Y.shape[0], -1))
    return xp.concat([Y, products], axis=1)


def centred_mean_of(f: Callable, basis: Basis) -> Projection:
    """Return averages over the training rows of f and of (f - f̄) × Ψ, in one pass.

    The average of Ψ is that of the same pass, so that a constant f gives exactly zero.

    Parameters
    ----------
    f
        Maps (k, d) to (k, q).
    basis
        Basis of the training rows.
    """
    xp = array_namespace(basis.points)
    n = basis.points.shape[0]
    width = check_values(f, basis.points[:1, :]).shape[1]
    total = xp.zeros(width, dtype=basis.points.dtype)

    def values(rows):
        nonlocal total
        found = check_values(f, basis.points[rows, :])
        total = total + xp.sum(found, axis=0)
        return xp.concat([found, xp.ones((found.shape[0], 1), dtype=found.dtype)], axis=1)

    products = basis.mean_products(values, width + 1)
    mean = total / n
    return Projection(mean, (products[:-1, :] - mean[:, None] * products[-1:, :]).T, f)


def check_values(f: Callable, Y):
    """Return f(Y), shape (k, q); raise `ValueError` if its shape is wrong."""
    values = f(Y)
    if values.ndim != 2 or values.shape[0] != Y.shape[0]:
        raise ValueError(
            f"f must map an array of shape (k, d_y) to one of shape (k, q); got shape "
            f"{tuple(values.shape)} from {tuple(Y.shape)}"
        )
    return values
