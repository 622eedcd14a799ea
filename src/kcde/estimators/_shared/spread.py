"""Standard deviations that neither overflow nor underflow."""

import numpy as np


def column_std(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column of values (n, d), shape (d,).

    Deviations are divided by the largest before they are squared, so that those of 1e-300 do not
    come out as 0; it is 0 where a column is constant.
    """
    deviations = values - np.mean(values, axis=0)
    constant = np.ptp(values, axis=0) == 0
    size = np.where(constant, 1.0, np.max(np.abs(deviations), axis=0))
    root = np.sqrt(np.mean((deviations / size) ** 2, axis=0))
    return np.where(constant, 0.0, size * root)
