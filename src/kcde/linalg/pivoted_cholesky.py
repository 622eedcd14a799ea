"""Pivoted Cholesky decomposition with a bi-orthogonal basis (jdl, Algorithm 1)."""

import logging
from typing import NamedTuple

import numpy as np

from kcde.arrays import to_numpy
from kcde.linalg.candidates import candidates_of
from kcde.linalg.pivot_rules import RULES, PivotRule
from kcde.linalg.schur import SchurComplement

log = logging.getLogger(__name__)

_MAX_STORED = {True: np.inf, False: 0, "auto": 3 * 2**26}
"""Maximum number of entries of the factor that are kept, by `store`."""

_AGREEMENT = 0.5
"""Share of a diagonal entry by which another computation of it may differ, if it is no rounding."""


class PivotedCholesky(NamedTuple):
    """Result of `pivoted_cholesky`: K ≈ L Lᵀ.

    Attributes
    ----------
    L
        Shape (n, m), or None where it was not stored.
    pivots
        Numpy integers, shape (m,), in the order taken.
    B
        Shape (m, m), upper triangular: the rows at the pivots of the paper's (n, m) matrix, whose
        other rows are zero. K[:, pivots] B = L and Bᵀ L[pivots] = I, its (17) and (18).
    trace_errors
        trace(K - L Lᵀ) after each pivot, shape (m,), absolute, not negative.
    target
        The trace error that was allowed, absolute.
    trace
        trace K.
    points
        X at the pivots, shape (m, d).
    kernel
        The kernel given.
    """

    L: object
    pivots: np.ndarray
    B: object
    trace_errors: np.ndarray
    target: float
    trace: float
    points: object
    kernel: object

    def factor_rows(self, X):
        """Return k(X, X_P) B, shape (len X, m): rows of L at any points; n m (d + m) time."""
        return self.kernel(X, self.points) @ self.B

    @property
    def trace_error(self) -> float:
        """trace(K - L Lᵀ)."""
        return float(self.trace_errors[-1])

    def truncate(self, tolerance: float, relative: bool = True) -> "PivotedCholesky":
        """Return the factorisation for a looser tolerance, whose pivots are the first of these.

        No rule looks at the tolerance, so that this is what `pivoted_cholesky` would return with
        the same other arguments and the same state of `rng`, except that a factor that was not kept
        stays None. Views, no copies.

        Parameters
        ----------
        tolerance, relative
            As for `pivoted_cholesky`.

        Raises
        ------
        ValueError
            If the tolerance is out of its range or tighter than that of this factorisation.
        """
        target = _absolute(tolerance, relative, self.trace)
        if target < self.target:
            raise ValueError(
                f"the factor was made for a trace error of {self.target:.6g} and has no pivots for "
                f"{target:.6g}: factorise again with the smaller tolerance, then truncate"
            )
        enough = np.flatnonzero(self.trace_errors <= target)
        m = int(enough[0]) + 1 if len(enough) else len(self.pivots)
        return self._replace(
            L=None if self.L is None else self.L[:, :m],
            pivots=self.pivots[:m],
            B=self.B[:m, :m],
            trace_errors=self.trace_errors[:m],
            target=target,
            points=self.points[:m, :],
        )


def pivoted_cholesky(
    kernel,
    X,
    tolerance: float,
    relative: bool = True,
    max_rank: int | None = None,
    store: bool | str = True,
    pivots: str = "greedy",
    rng: np.random.Generator | None = None,
) -> PivotedCholesky:
    """Approximate a kernel matrix by L Lᵀ of low rank, from its diagonal and m of its columns.

    jdl, Algorithm 1 and Theorem 4.1. It stops at the first rank whose trace error is at most the
    tolerance, at `max_rank`, or where the matrix is numerically exhausted; `trace_error` says how
    far it came. n m (d + m) multiplications and n (m + d) numbers stored; streamed (`store=False`)
    n + m² numbers, and m kernel values a row for every pass over the rows. A pass adds a block of
    columns: all that are sure to be what one pass a column would have added. K is never formed.

    Parameters
    ----------
    kernel
        Called as `kernel(A, B)` -> (len A, len B); has `diagonal(A)`.
    X
        Shape (n, d).
    tolerance
        ε of trace(K - L Lᵀ) ≤ ε trace K, in (0, 1); without `relative`, of ≤ ε.
    relative
        Whether the tolerance is a share of trace K.
    max_rank
        Maximum number of columns; None: n.
    store
        Whether to keep L; "auto": up to 1.5 GiB, beyond which it goes on streamed.
    pivots
        "greedy", the largest entry of the diagonal; "random"; "column", the largest column norm of
        the Schur complement, which costs n² a step; "rpcholesky", randomly pivoted.
    rng
        Source of the draws of "random" and "rpcholesky".

    Returns
    -------
    PivotedCholesky

    Raises
    ------
    ValueError
        If the tolerance is out of its range, `max_rank` exceeds n, the rule is unknown or lacks
        what it needs, or the diagonal of K is not finite or is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from kcde.kernels import GaussianKernel
    >>> from kcde.linalg import pivoted_cholesky
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> kernel = GaussianKernel(1.0)
    >>> factor = pivoted_cholesky(kernel, X, tolerance=1e-3)
    >>> factor.L.shape[1] < 10
    True
    >>> bool(np.abs(kernel(X, X) - factor.L @ factor.L.T).max() < 1e-3 * len(X))
    True
    """
    _check_arguments(X, max_rank, store, pivots, rng)
    limit = X.shape[0] if max_rank is None else max_rank
    schur = SchurComplement(kernel, X, most=limit, max_stored=_MAX_STORED[store])
    trace = schur.trace
    target = _absolute(tolerance, relative, trace)
    errors = _factorise(schur, RULES[pivots](X.shape[0], rng), target)
    if errors[-1] > target:
        log.debug("pivoted Cholesky stopped at rank %d: trace error %.3g", schur.rank, errors[-1])
    chosen = np.asarray(schur.pivots, dtype=np.intp)
    return PivotedCholesky(schur.L, chosen, schur.B, errors, target, trace, schur.points, kernel)


def _absolute(tolerance: float, relative: bool, trace: float) -> float:
    """Return the trace error allowed."""
    highest = 1.0 if relative else np.inf
    if not 0.0 < tolerance < highest:
        raise ValueError(
            f"tolerance must be above 0 and below {highest:g}; got {tolerance!r}"
            + (", a share of the trace; say relative=False for an absolute one" * relative)
        )
    target = tolerance * trace if relative else tolerance
    if not 0.0 < target < trace < np.inf:
        raise ValueError(
            f"the trace of the kernel matrix is {trace:.6g} and the trace error allowed is "
            f"{target:.6g}: the first must be finite and exceed the second; check X and the kernel"
            + ("" if relative else ", or lower the tolerance")
        )
    return target


def _factorise(schur, rule: PivotRule, target: float) -> np.ndarray:
    """Add pivots until the trace error is at most the target; return the error after each."""
    errors = np.empty(0)
    trace = schur.trace
    while trace > target and schur.rank < schur.most:
        candidates = rule.propose(schur)
        if not len(candidates):
            break
        most = min(rule.most, schur.most - schur.rank)
        pivots, rows = _choose_block(schur, rule, candidates, most)
        if not pivots:
            if float(schur.xp.max(schur.residual)) <= schur.floor:
                break
            continue
        more = trace - np.cumsum(to_numpy(schur.extend(pivots, rows)))
        # Subtracting loses digits as the error falls; the diagonal keeps them.
        trace = more[-1] = schur.trace
        errors = np.concatenate([errors, np.maximum(more, 0.0)])
    rank = int(np.argmax(errors <= target)) + 1 if trace <= target else len(errors)
    schur.truncate(rank)
    return errors[:rank]


def _choose_block(schur, rule: PivotRule, candidates: np.ndarray, most: int):
    """Return up to `most` pivots among the candidates and their rows of L, shape (s, m + s)."""
    held = candidates_of(schur, candidates, most)
    diagonal, positions = held.diagonal, []
    while len(positions) < most:
        i = rule.choose(diagonal, schur.floor, len(positions))
        if i is None:
            break
        entry = diagonal[i]
        column = held.eliminate(i, len(positions), entry)
        # Points far from 0 have kernel values with more rounding than the floor allows for.
        if abs(column[i] * np.sqrt(entry) - entry) > _AGREEMENT * entry:
            schur.floor = float(entry)
            continue
        diagonal = np.maximum(diagonal - column**2, 0.0)
        diagonal[candidates == candidates[i]] = 0.0
        positions.append(i)
    return [int(candidates[i]) for i in positions], held.rows(positions)


def _check_arguments(X, max_rank, store, pivots, rng):
    if X.ndim != 2 or not X.shape[0]:
        raise ValueError(f"X must have shape (n, d) with n at least 1; got {tuple(X.shape)}")
    if max_rank is not None and not 1 <= max_rank <= X.shape[0]:
        raise ValueError(
            f"max_rank must be between 1 and the {X.shape[0]} rows of X; got {max_rank}: "
            "ask for fewer pivots or give more rows"
        )
    if pivots not in RULES:
        raise ValueError(f"pivots must be one of {', '.join(RULES)}; got {pivots!r}")
    if RULES[pivots].draws and rng is None:
        raise ValueError(f"pivots={pivots!r} draws rows: give rng, a numpy random generator")
    if store not in _MAX_STORED:
        raise ValueError(f"store must be True, False or 'auto'; got {store!r}")
    if pivots == "column" and X.shape[0] ** 2 > _MAX_STORED[store]:
        raise ValueError("pivots='column' needs the factor: use store=True or another rule")
