"""Rows, columns, diagonals and runs of arrays, in any namespace."""

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from kcde.arrays.backends import to_numpy

_SAMPLE = 2**14


def sum_runs(values, starts: np.ndarray):
    """Return sums of consecutive rows, shape (s, m).

    Parameters
    ----------
    values
        Shape (n, m).
    starts
        Where each run begins, numpy integers, shape (s,), the first 0, increasing.
    """
    if is_numpy_array(values):
        return np.add.reduceat(values, starts, axis=0)
    xp = array_namespace(values)
    run = np.searchsorted(starts, np.arange(values.shape[0]), side="right") - 1
    # Only the numbers of the runs go to a device.
    member = xp.arange(len(starts))[:, None] == xp.asarray(run)[None, :]
    return xp.astype(member, values.dtype) @ values


def take_rows(array, rows: np.ndarray):
    """Return `array[rows]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(rows), axis=0)


def take_columns(array, columns: np.ndarray):
    """Return `array[:, columns]` for a numpy integer index, in any namespace."""
    xp = array_namespace(array)
    return xp.take(array, xp.asarray(columns), axis=1)


def add_to_diagonal(matrix, values):
    """Return A + diag(values), in A's own memory; `values` has shape (n,)."""
    xp = array_namespace(matrix)
    xp.reshape(matrix, (-1,), copy=False)[:: matrix.shape[0] + 1] += values
    return matrix


def about_largest_rows(values, count: int) -> tuple[np.ndarray, float]:
    """Return about as many of the largest values as `largest_rows`, from a sample of many.

    Parameters
    ----------
    values
        Shape (n,).
    count
        About how many, at least 1.

    Returns
    -------
    rows : numpy integers, ascending, at most twice `count`; every largest value is among them
    rest : float, which no other value exceeds
    """
    n = values.shape[0]
    if is_numpy_array(values) and n >= 4 * _SAMPLE:
        sample = np.sort(values[:: n // _SAMPLE])
        rest = float(sample[len(sample) - 1 - len(sample) * count // n])
        rows = np.flatnonzero(values > rest)
        if 0 < len(rows) <= 2 * count:
            return rows, rest
    return largest_rows(values, count)


def largest_rows(values, count: int) -> tuple[np.ndarray, float]:
    """Return the row numbers of the largest values, and the largest of the others.

    Parameters
    ----------
    values
        Shape (n,).
    count
        Number of rows, at least 1; all if it exceeds n.

    Returns
    -------
    rows : numpy integers, ascending, shape (count,); the first largest value of all is among them
    rest : float, -inf where no value is left
    """
    n = values.shape[0]
    if count >= n:
        return np.arange(n), -np.inf
    xp = array_namespace(values)
    if is_numpy_array(values):
        order = np.argpartition(values, n - count - 1)
        rows, rest = order[n - count :], float(values[order[n - count - 1]])
    else:
        order = xp.argsort(values, descending=True)
        rows, rest = to_numpy(order[:count]), float(values[order[count]])
    first = int(xp.argmax(values))
    if first not in rows:
        # It ties with the others; either may stay out.
        rows[0] = first
    return np.sort(rows), rest
