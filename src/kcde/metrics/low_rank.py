"""Losses of conditional moments and of probabilities: jdl, equations (40) and (41)."""

from collections.abc import Callable

from kcde.arrays import array_namespace

FLOOR = 1e-12  # η of (41)


def relative_errors(found, true):
    """Return ‖found - true‖²/‖true‖², shape (m,), of matrices (m, d, d): the terms of (40).

    `found` may have its matrices as rows of length d² or longer.
    """
    xp = array_namespace(true)
    true = xp.reshape(true, (true.shape[0], -1))
    found = xp.reshape(found, (found.shape[0], -1))[:, : true.shape[1]]
    return xp.sum((found - true) ** 2, axis=1) / xp.sum(true**2, axis=1)


def mean_relative_error(true) -> Callable:
    """Return the mean of `relative_errors` as a function of what was found, for many calls."""
    xp = array_namespace(true)
    true = xp.reshape(true, (true.shape[0], -1))
    # A few long rows are faster than many short ones; a copy of the transpose has its short rows.
    rows = xp.empty((true.shape[1], true.shape[0]), dtype=true.dtype)
    rows[:, :] = true.T
    sizes = xp.sum(rows**2, axis=0)

    def mean_error(found):
        return xp.mean(xp.sum((found.T[: rows.shape[0], :] - rows) ** 2, axis=0) / sizes)

    return mean_error


def logistic_loss(probability, event) -> float:
    """Return the loss (41) of estimates of a probability, which may leave [0, 1], (n,) each."""
    xp = array_namespace(probability)
    happens = xp.log(xp.minimum(xp.maximum(probability, FLOOR), 1.0))
    does_not = xp.log(xp.maximum(xp.minimum(1.0 - probability, 1.0), FLOOR))
    return float(-xp.mean(event * happens + (1.0 - event) * does_not))
