"""Rules that choose the pivots of a Cholesky decomposition.

Every rule proposes candidates from the diagonal as it stood before a block of pivots, and then
chooses among them by their own diagonal entries, which are kept up to date. So a block of columns
costs one pass over the factor, and yet the pivots are those of one pass a column.
"""

from abc import ABC, abstractmethod

import numpy as np
from array_api_compat import is_numpy_array

from kcde.arrays import about_largest_rows, row_blocks, take_rows, to_numpy
from kcde.linalg.schur import SchurComplement

BLOCK = 32

# One in 32 rows as a candidate costs as large a share of a pass for each pivot, and lets two pivots
# (in one dimension) to twenty (in three) share a pass. Twice as many save a fifth of the passes and
# take longer where there are hundreds of pivots.
_SHARE = 32

# The Schur complement among the candidates of a device comes to the host, c² numbers. With 512 of
# 30000 rows as candidates a pass has two thirds of the pivots that it has with a sixteenth of them.
_MOST_ON_DEVICE = 512

# A random row may be nearly spanned by the pivots, and dividing by the root of its diagonal entry
# would blow up rounding. Below this share of the mean entry it has to wait until the mean falls.
_SPANNED = 1e-3


class PivotRule(ABC):
    """Base class of the rules.

    Parameters
    ----------
    n
        Rows of the kernel matrix.
    rng
        Random generator of the rules that are random.
    """

    draws = False
    most = BLOCK

    def __init__(self, n: int, rng: np.random.Generator | None):
        self.n, self.rng = n, rng

    @abstractmethod
    def propose(self, schur: SchurComplement) -> np.ndarray:
        """Return candidate rows; none where the rule has no more."""

    @abstractmethod
    def choose(self, diagonal: np.ndarray, floor: float, step: int) -> int | None:
        """Return the position of the next pivot among the candidates, or None.

        Parameters
        ----------
        diagonal
            Current diagonal entries of the Schur complement at the candidates.
        floor
            Threshold that a pivot's diagonal entry must exceed.
        step
            Number of pivots of this block so far.
        """


class Greedy(PivotRule):
    """The largest diagonal entry (Harbrecht, Peters and Schneider 2012); the first among equals.

    Diagonal entries only fall. A candidate that is still above what every other row had before
    the block is therefore the largest of all.
    """

    def propose(self, schur):
        """Return the rows with the largest diagonal entries."""
        count = max(self.n // _SHARE, 256)
        if not is_numpy_array(schur.residual):
            count = min(count, _MOST_ON_DEVICE)
        rows, self._bound = about_largest_rows(schur.residual, count)
        return rows

    def choose(self, diagonal, floor, step):
        """Return the largest candidate if no row outside the candidates can exceed it."""
        best = int(np.argmax(diagonal))
        enough = diagonal[best] > floor and (step == 0 or diagonal[best] > self._bound)
        return best if enough else None


class Random(PivotRule):
    """Uniformly drawn rows, as in the Nyström approximation (Williams and Seeger 2000).

    A row that is nearly spanned by the pivots waits until the others are as well.
    """

    draws = True

    def __init__(self, n, rng):
        super().__init__(n, rng)
        self._order, self._later = list(rng.permutation(n)), []

    def propose(self, schur):
        """Return the next rows of a random order."""
        if not self._order:
            self._order, self._later = self._later, []
        rows, self._order = self._order[:BLOCK], self._order[BLOCK:]
        self._waiting = iter(enumerate(rows))
        self._least = _SPANNED * schur.trace / self.n
        return np.asarray(rows, dtype=np.intp)

    def choose(self, diagonal, floor, step):
        """Return the next candidate that the pivots do not span."""
        for i, row in self._waiting:
            if diagonal[i] > max(floor, self._least):
                return i
            if diagonal[i] > floor:
                self._later.append(row)
        return None


class RandomlyPivoted(PivotRule):
    """A row drawn in proportion to its diagonal entry (Chen, Epperly, Tropp and Webber 2025).

    Rows are drawn by the diagonal before the block and accepted with the probability that theirs
    has kept (Epperly, Tropp and Webber 2024), which gives the law of one draw a column.
    """

    draws = True

    def propose(self, schur):
        """Return rows drawn by the diagonal; the same one may come twice."""
        xp = schur.xp
        cumulative = xp.cumulative_sum(schur.residual)
        levels = xp.asarray(self.rng.random(BLOCK)) * cumulative[-1]
        drawn = to_numpy(xp.searchsorted(cumulative, levels, side="right"))
        rows = np.minimum(drawn, self.n - 1)
        self._thresholds = self.rng.random(BLOCK) * to_numpy(take_rows(schur.residual, rows))
        self._waiting = iter(range(BLOCK))
        return rows

    def choose(self, diagonal, floor, step):
        """Return the next candidate that is accepted."""
        limits = np.maximum(self._thresholds, floor)
        return next((i for i in self._waiting if diagonal[i] > limits[i]), None)


class LargestColumn(PivotRule):
    """The column of the Schur complement with the largest norm (Higham 1996).

    Every step assembles the whole kernel matrix, in blocks: n² (d + m) multiplications.
    """

    most = 1

    def propose(self, schur):
        """Return the one row whose column of the Schur complement is largest."""
        L = schur.L
        norms = [
            schur.xp.sum((schur.kernel(schur.X[rows, :], schur.X) - L[rows, :] @ L.T) ** 2, axis=1)
            for rows in row_blocks(self.n, self.n, like=L)
        ]
        # A row that is numerically spanned by the pivots has a column of rounding errors.
        possible = to_numpy(schur.residual) > schur.floor
        best = np.argmax(np.where(possible, to_numpy(schur.xp.concat(norms)), -1.0))
        return np.array([best])

    def choose(self, diagonal, floor, step):
        """Return the one candidate, once."""
        return 0 if step == 0 and diagonal[0] > floor else None


RULES: dict[str, type[PivotRule]] = {
    "greedy": Greedy,
    "random": Random,
    "column": LargestColumn,
    "rpcholesky": RandomlyPivoted,
}
