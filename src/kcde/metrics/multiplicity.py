"""Several tests at once: p-values adjusted by the step-down rule of Holm (1979)."""

import numpy as np


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values adjusted for multiple tests.

    With the m p-values in ascending order, the i-th becomes max_{k ≤ i} (m - k + 1) p_(k), at most
    1. Rejecting where it is below 5% keeps the probability of any false rejection below 5%, for any
    dependence of the tests.

    Parameters
    ----------
    p_values
        Shape (m,), in any order.

    Returns
    -------
    numpy.ndarray
        Shape (m,), in the order given.

    Raises
    ------
    ValueError
        If they are not one-dimensional, or one is not a number from 0 to 1.

    Examples
    --------
    >>> from kcde.metrics import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p_values = np.asarray(p_values, dtype=float)
    if p_values.ndim != 1 or not np.all((p_values >= 0) & (p_values <= 1)):
        raise ValueError(f"p_values must be numbers from 0 to 1, shape (m,); got {p_values}")
    order = np.argsort(p_values, kind="stable")
    stepped = np.arange(len(p_values), 0, -1) * p_values[order]
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
