"""log Z(x) of densities known up to a constant: importance sampling, and quadrature for d_y = 1.

A model offers `at(Y)`, which returns a function `X -> log f(Y|X)` of shape (n, q) at q points
shared by all x. For kernel models that function is one matrix product, so that the normalisers of
all x cost one pass over the shared points.
"""

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from kcde.arrays import array_namespace, logsumexp, take_rows, to_numpy
from kcde.panels import LogDensityAt, Pieces, Support, cover, log_mass, refine, row_slices, warn_of

_MOST_PANELS = 1 << 11


@dataclass(frozen=True)
class Normaliser:
    """Estimates of log Z at n points.

    Attributes
    ----------
    log_z
        Shape (n,), nats.
    stderr
        Shape (n,): delta-method standard error of `log_z`; for quadrature, the last change under
        refinement.
    effective_sample_size
        Shape (n,): (Σw)²/Σw² of the importance weights; infinite for quadrature. Below about 30 a
        few draws carry the estimate, and the standard error understates what the others missed.
    mean_stderr
        Standard error of the mean of `log_z` over the n points, which is not stderr/√n because
        the points share their samples.
    """

    log_z: object
    stderr: object
    effective_sample_size: object
    mean_stderr: float


@dataclass(frozen=True)
class GaussianProposal:
    """An importance proposal N(mean, diag(std²)) over y.

    Parameters
    ----------
    mean, std
        Numpy arrays of shape (d_y,), in the units of y.
    """

    mean: np.ndarray
    std: np.ndarray

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return n draws, shape (n, d_y)."""
        return self.mean + self.std * rng.standard_normal((n, len(self.mean)))

    def log_density(self, Y: np.ndarray) -> np.ndarray:
        """Return the log density at Y (n, d_y), shape (n,)."""
        z = (Y - self.mean) / self.std
        constant = np.sum(np.log(self.std)) + 0.5 * len(self.std) * np.log(2 * np.pi)
        return -0.5 * np.sum(z * z, axis=1) - constant


def importance_sampling(
    at: LogDensityAt, X, proposal: GaussianProposal, n_samples: int, rng: np.random.Generator
) -> Normaliser:
    """Estimate log Z(x) = log ∫ f(y|x) dy with proposal samples shared over x.

    Ẑ(x) = mean_s f(y_s|x)/q(y_s), for the cost of one call of `at`. n n_samples numbers are held a
    few times; where one matrix of them would exceed 512 MB, x goes by blocks of rows.

    Parameters
    ----------
    at
        `at(Y)(X)` is log f(Y|X), shape (n, q); see the module.
    X
        Shape (n, d_x).
    proposal
        It should have heavier tails than f; a small effective sample size shows if it has not.
    n_samples
        Draws S, at least 2.
    rng
        Source of the draws; the same state gives the same draws on every backend.

    Returns
    -------
    Normaliser
        With se(log Ẑ) = √(1/ESS - 1/S), and for the mean over x the standard deviation over s of
        mean_x w_s(x)/w̄(x), over √S.

    Raises
    ------
    ValueError
        If `n_samples` is below 2.
    """
    if n_samples < 2:
        raise ValueError(f"n_samples must be at least 2; got {n_samples}")
    xp = array_namespace(X)
    draws = proposal.sample(n_samples, rng)
    log_f, log_q = at(xp.asarray(draws)), xp.asarray(proposal.log_density(draws))[None, :]
    totals, sizes, influence = [], [], xp.zeros(n_samples, dtype=X.dtype)
    for rows in row_slices(X.shape[0], n_samples):
        log_w = log_f(X[rows, :]) - log_q
        total = logsumexp(log_w, axis=1)
        totals.append(total)
        sizes.append(xp.exp(2.0 * total - logsumexp(2.0 * log_w, axis=1)))
        influence = influence + xp.sum(xp.exp(log_w - total[:, None]), axis=0)
    total, size = xp.concat(totals), xp.concat(sizes)
    return Normaliser(
        log_z=total - log(n_samples),
        stderr=xp.sqrt(xp.clip(1.0 / size - 1.0 / n_samples, min=0.0)),
        effective_sample_size=size,
        mean_stderr=float(xp.std(n_samples * (influence / X.shape[0]))) / sqrt(n_samples),
    )


def quadrature(
    at: LogDensityAt,
    X,
    support: Support,
    *,
    pieces: Pieces | None = None,
    outside: float = 0.0,
    tolerance: float = 1e-9,
) -> Normaliser:
    """Compute log Z(x) for one-dimensional y by composite Gauss-Legendre quadrature.

    The number of panels doubles, up to two thousand and once beyond, for those x whose log Z still
    changes by more than `tolerance`. Which these are is decided on the host, once a doubling. For
    those that have not settled then, panels are halved where the density has mass
    (`kcde.panels.refine`).

    Parameters
    ----------
    at
        `at(Y)(X)` is log f(Y|X), shape (n, q).
    X
        Shape (n, d_x).
    support
        Lower end, upper end and first panel width.
    pieces
        Intervals that carry f where the support is too wide for equal panels; see
        `kcde.panels.cover`.
    outside
        Mass of f outside the support, or outside the pieces where these are taken, the same for
        all x.
    tolerance
        In nats, or a share of log Z where that is larger than 1: rounding of the exponents leaves
        no more.

    Returns
    -------
    Normaliser
        `stderr` holds the last change of each log Z.

    Warns
    -----
    kcde.panels.QuadratureWarning
        If some log Z is not known to 1e-4; it names the row and the remedy.
    """
    xp, beyond = array_namespace(X), np.log(outside) if outside > 0.0 else -np.inf
    panels = cover(support, pieces)
    inside = to_numpy(log_mass(at, X, panels))
    log_z = np.logaddexp(inside, beyond)
    change, open_rows = np.full(log_z.shape, np.inf), np.arange(len(log_z))
    count, finer = len(panels), 1
    while len(open_rows) and count * finer <= _MOST_PANELS:
        finer *= 2
        moved = X if len(open_rows) == len(log_z) else take_rows(X, open_rows)
        before, inside = inside, to_numpy(log_mass(at, moved, cover(support, pieces, finer)))
        found = np.logaddexp(inside, beyond)
        change[open_rows] = np.abs(found - log_z[open_rows])
        log_z[open_rows] = found
        moving = change[open_rows] > tolerance * np.maximum(1.0, np.abs(found))
        # The mass outside may hide that the one inside has not settled by far.
        with np.errstate(invalid="ignore"):
            moving |= np.abs(inside - before) > 1.0
        open_rows, inside = open_rows[moving], inside[moving]
    for part in refine(at, X, panels, open_rows, outside):
        log_z[part.rows], change[part.rows] = part.log_mass, part.unresolved
    warn_of(change)
    infinite = xp.full(log_z.shape, xp.inf, dtype=X.dtype)
    return Normaliser(xp.asarray(log_z), xp.asarray(change), infinite, float(np.mean(change)))
