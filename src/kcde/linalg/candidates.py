"""Rows of the factor at the candidates for a block of pivots, before all rows have them."""

from abc import ABC, abstractmethod

import numpy as np
from array_api_compat import is_numpy_array

from kcde.arrays import take_rows, to_numpy
from kcde.linalg.schur import SchurComplement


class Candidates(ABC):
    """Candidates of which some become pivots, one after the other.

    Attributes
    ----------
    diagonal
        Entries of the Schur complement at the candidates before the block, numpy, shape (c,).
    """

    def __init__(self, schur: SchurComplement, rows: np.ndarray):
        self._points, self._rank = take_rows(schur.X, rows), schur.rank
        self.diagonal = np.array(to_numpy(take_rows(schur.residual, rows)))

    @abstractmethod
    def eliminate(self, i: int, step: int, entry: float) -> np.ndarray:
        """Return the new column of L at the candidates, numpy, shape (c,).

        Parameters
        ----------
        i
            Index of the candidate that becomes the next pivot.
        step
            Number of pivots of this block so far.
        entry
            Diagonal entry of the Schur complement at the candidate.
        """

    @abstractmethod
    def rows(self, chosen: list[int]):
        """Return the rows of L at the chosen candidates, shape (s, m + s)."""


class HostCandidates(Candidates):
    """Candidates on the host: kernel values of a candidate are computed once it is a pivot."""

    def __init__(self, schur, rows, most: int):
        super().__init__(schur, rows)
        self._kernel = schur.kernel_rows(rows)
        self._L = np.zeros((most + self._rank, len(rows)))
        self._L[: self._rank, :] = schur.factor_rows(rows).T

    def eliminate(self, i, step, entry):
        """Return the new column of L at the candidates, shape (c,)."""
        m, L = self._rank + step, self._L
        column = self._kernel(self._points[i : i + 1, :])[0, :] - L[:m, i] @ L[:m, :]
        L[m, :] = column / float(np.sqrt(entry))
        return L[m, :]

    def rows(self, chosen):
        """Return the rows of L at the chosen candidates, shape (s, m + s)."""
        rows = self._L[: self._rank + len(chosen), :].T
        return take_rows(rows, np.asarray(chosen, dtype=np.intp))


class DeviceCandidates(Candidates):
    """Candidates on a device: their Schur complement is copied to the host in one piece.

    A pivot then costs no transfer and no wait, where a column of its own would cost both.
    """

    def __init__(self, schur, rows, most: int):
        super().__init__(schur, rows)
        self._xp, self._left = schur.xp, schur.factor_rows(rows)
        block = schur.kernel(self._points, self._points) - self._left @ self._left.T
        self._block, self._new = to_numpy(block), np.zeros((most, len(rows)))

    def eliminate(self, i, step, entry):
        """Return the new column of L at the candidates, shape (c,)."""
        new = self._new
        new[step] = (self._block[i] - new[:step, i] @ new[:step]) / np.sqrt(entry)
        return new[step]

    def rows(self, chosen):
        """Return the rows of L at the chosen candidates, shape (s, m + s)."""
        chosen = np.asarray(chosen, dtype=np.intp)
        right = self._xp.asarray(self._new[: len(chosen), chosen].T)
        return self._xp.concat([take_rows(self._left, chosen), right], axis=1)


def candidates_of(schur: SchurComplement, rows: np.ndarray, most: int) -> Candidates:
    """Return the candidates at some rows for a block of up to `most` pivots."""
    kind = HostCandidates if is_numpy_array(schur.X) else DeviceCandidates
    return kind(schur, rows, most)
