"""The penalised negative log-likelihood of p(y|x) = q(y) exp(φ(x)ᵀ Θ ψ(y)) / Z(x).

With it features of low rank of x and y, nodes to integrate over y, and rows read in blocks.
"""

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kcde.arrays import array_namespace, block_size, row_blocks, slices, take_rows, to_numpy
from kcde.estimators._shared.floored import LocationScale
from kcde.estimators._shared.rows import by_blocks, check_rows, check_same_length
from kcde.estimators._shared.threads import map_threads
from kcde.estimators._shared.units import SMALLEST_STD
from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky
from kcde.memory import free_bytes
from kcde.panels import Pieces, Support, cover, is_wide, mass_outside, neighbourhoods
from kcde.selection import subsample

PIVOT_ROWS = 10_000
"""Rows among which centres are chosen, at most."""

_MARGIN = 6.0  # bandwidths beyond the data, where the kernel is below 2e-8
_PANEL = 2.5  # bandwidths of ten nodes
_QUARTILES = 1.349  # from the lower to the upper one of a standard normal
_SMALLEST_SHARE = 1e-8  # of the trace that features may leave


class AsinhScale(NamedTuple):
    """asinh((x - m)/s)/r of each column of x, in which values far from the others are nearer.

    m is the median of some rows, s their interquartile range over that of a standard normal, and r
    the standard deviation of what comes out.
    """

    centre: np.ndarray
    scale: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, X) -> "AsinhScale":
        """Return that of rows (n, d)."""
        X = to_numpy(X)
        low, centre, high = np.quantile(X, [0.25, 0.5, 0.75], axis=0)
        scale = np.where(high > low, (high - low) / _QUARTILES, 1.0)
        spread = np.arcsinh((X - centre) / scale).std(axis=0)
        return cls(centre, scale, np.where(spread > 0.0, spread, 1.0))

    def __call__(self, X):
        """Return the scaled points, shape (n, d)."""
        xp = array_namespace(X)
        centre, scale, spread = map(xp.asarray, self)
        return xp.asinh((X - centre) / scale) / spread


class KernelFeatures:
    """k(·, C) B of a pivoted Cholesky factorisation, so that inner products are the kernel's.

    On the centres C they are exact; elsewhere they are the projection on the span of k(C, ·). With
    a scale k is the kernel of scaled points.
    """

    def __init__(
        self,
        points,
        bandwidth,
        rank: int,
        rng: np.random.Generator,
        scale: AsinhScale | None = None,
    ):
        self._scale = scale
        # At most `rank` centres by randomly pivoted Cholesky among at most 10,000 rows.
        chosen = take_rows(points, subsample(points.shape[0], PIVOT_ROWS, rng))
        chosen = chosen if scale is None else scale(chosen)
        how = {"max_rank": min(rank, chosen.shape[0]), "store": False, "pivots": "rpcholesky"}
        kernel = GaussianKernel(bandwidth)
        self._factor = pivoted_cholesky(kernel, chosen, _SMALLEST_SHARE, rng=rng, **how)
        self.rank = self._factor.B.shape[1]

    @property
    def bandwidth(self) -> float:
        """σ of the first dimension."""
        return float(np.ravel(self._factor.kernel.bandwidth)[0])

    @property
    def centres(self):
        """Rows chosen, shape (rank, d)."""
        return self._factor.points

    @property
    def B(self):
        """B of φ = k(x, C) B, upper triangular, shape (rank, rank)."""
        return self._factor.B

    def kernels(self, points):
        """Return k(points, C), shape (n, rank)."""
        points = points if self._scale is None else self._scale(points)
        return self._factor.kernel(points, self._factor.points)

    def __call__(self, points, dtype=None):
        """Return the features of points (n, d), shape (n, rank), float64 unless `dtype` says."""
        found = self.kernels(points) @ self.B
        return found if dtype is None else array_namespace(points).astype(found, dtype, copy=False)

    def by_blocks(self, points, dtype=None):
        """Return the same by blocks of rows, without temporaries of the size of the result."""
        of, width = lambda rows: self(points[rows, :], dtype), 2 * self.rank
        return by_blocks(of, points.shape[0], width, like=points)


class OutputGrid(NamedTuple):
    """Nodes of y, with ψ and the logarithms of the weights that integrate against q_0.

    The last node stands for all y beyond the range of the others, where ψ is 0.
    """

    features: object
    log_weights: object

    @property
    def size(self) -> int:
        """Number of nodes."""
        return self.features.shape[0]

    def astype(self, dtype) -> "OutputGrid":
        """Return the grid in another floating-point type."""
        xp = array_namespace(self.features)
        return OutputGrid(*(xp.astype(each, dtype, copy=False) for each in self))

    def part(self, nodes: slice) -> "OutputGrid":
        """Return some of the nodes, and the last."""
        xp = array_namespace(self.features)
        return OutputGrid(*(xp.concat([each[nodes, ...], each[-1:, ...]]) for each in self))


@dataclass(frozen=True)
class Marginal:
    """The density q_0(y) exp(ψ(y)ᵀ θ) / Z of y alone, as the base of a family with x."""

    base: LocationScale
    features: KernelFeatures
    theta: object
    log_z: float

    @property
    def location(self) -> float:
        """That of q_0."""
        return self.base.location

    @property
    def scale(self) -> float:
        """That of q_0."""
        return self.base.scale

    def log_density(self, y):
        """Return the log density, nats, shape (n,), for y (n,)."""
        own = array_namespace(self.theta)
        tilt = self.features(own.asarray(to_numpy(y))[:, None]) @ self.theta
        return self.base.log_density(y) + array_namespace(y).asarray(to_numpy(tilt)) - self.log_z


Base = LocationScale | Marginal


def support(low: float, high: float, features: KernelFeatures, base: Base) -> Support:
    """Return where features of y or of the base vary, and a panel width that resolves them."""
    widths = [each.bandwidth for each in _varying(features, base)]
    margin = _MARGIN * max(widths)
    return low - margin, high + margin, min(_PANEL * min(widths), base.scale)


def _varying(features: KernelFeatures, base) -> list[KernelFeatures]:
    return [features, base.features] if isinstance(base, Marginal) else [features]


def pieces(features: KernelFeatures, base, width: float) -> Pieces:
    """Return intervals outside of which features of y and of the base vanish, to 2e-8."""
    varying = _varying(features, base)
    centres = np.concatenate([to_numpy(each.centres) for each in varying])
    return neighbourhoods(centres, _MARGIN * max(each.bandwidth for each in varying), width)


def mass_beyond(base: Base, span: Support, parts: Pieces | None) -> float:
    """Return the mass of a base outside a span, or outside its pieces."""
    if isinstance(base, Marginal):
        return float(np.exp(-base.log_z)) * mass_beyond(base.base, span, parts)
    return base.outside(*span[:2]) if parts is None else mass_outside(parts, base.outside)


def output_panels(features: KernelFeatures, base: Base, span: Support, finer: int = 1):
    """Return ten-point Gauss-Legendre panels of y, and the mass of the base outside of them."""
    parts = pieces(features, base, span[2]) if is_wide(span) else None
    return cover(span, parts, finer), mass_beyond(base, span, parts)


def output_grid(features: KernelFeatures, base: Base, span: Support, like, finer: int = 1):
    """Return the nodes of these panels."""
    xp, (panels, outside) = array_namespace(like), output_panels(features, base, span, finer)
    log_weights = np.log(panels.weights) + base.log_density(panels.nodes)
    psi = features(xp.asarray(panels.nodes[:, None]))
    psi = xp.concat([psi, xp.zeros((1, psi.shape[1]), dtype=psi.dtype)])
    return OutputGrid(psi, xp.asarray(np.append(log_weights, np.log(max(outside, 1e-300)))))


_LEAST = 1e-20
"""Z as a share of the last one, below which, and above whose inverse, it may leave float32."""


class Partial(NamedTuple):
    """Sums over some rows, for each of K parameters: those of shards add up to those of all."""

    log_z: np.ndarray
    moment: np.ndarray


class Sums:
    """The sums over rows of the normalisers and of their gradients, at one Θ after another.

    Each k has rows of its own, which count as their weights say, once without. O(n K (r_x r_y +
    r_y q)) time, in the type of φ; log Z is summed in float64.

    Exponentials are relative to the normalisers at the last Θ, so that no pass looks for their
    largest, unless Θ has moved so far that they would leave the range of the type.
    """

    def __init__(self, phis: Sequence, grid: OutputGrid, weights: np.ndarray | None = None):
        xp = array_namespace(phis[0])
        self._phis, self._grid = phis, grid
        one = xp.ones((grid.size, 1), dtype=grid.features.dtype)
        self._psi_and_one = xp.concat([grid.features, one], axis=1)
        self._exponents = xp.concat([grid.features.T, grid.log_weights[None, :], one.T])
        ends = np.cumsum([0, *(phi.shape[0] for phi in phis)]).tolist()
        self._parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
        self._weights = np.ones(ends[-1]) if weights is None else weights
        self._log_z: dict[int, object] = {}

    def __call__(self, theta: np.ndarray) -> Partial:
        """Return the sums at Θ, shape (K, r_x, r_y)."""
        xp, phis = array_namespace(self._phis[0]), self._phis
        own = xp.asarray(theta, dtype=phis[0].dtype)
        coefficients = xp.concat([phi @ own[k, ...] for k, phi in enumerate(phis)])
        blocks = blocks_of(coefficients, self._grid.size)
        found = map_threads(lambda rows: self._of_pairs(coefficients, rows), blocks, coefficients)
        log_z, expected = map(xp.concat, zip(*found, strict=True))
        weights = xp.asarray(self._weights, dtype=log_z.dtype)
        log_z, expected = weights * log_z, weights[:, None] * expected
        moment = np.empty(theta.shape)
        for k, (phi, part) in enumerate(zip(phis, self._parts, strict=True)):
            moment[k] = to_numpy(phi.T @ expected[part, :])
        starts = [part.start for part in self._parts]
        return Partial(np.add.reduceat(to_numpy(log_z).astype(np.float64), starts), moment)

    def _of_pairs(self, coefficients, rows: slice) -> tuple:
        """Return log Z, shape (m,), and E ψ(Y), shape (m, r_y), of some rows."""
        xp, last = array_namespace(coefficients), self._log_z.get(rows.start)
        coefficients, sums = coefficients[rows, :], None
        if last is not None:
            one = xp.ones((coefficients.shape[0], 1), dtype=coefficients.dtype)
            T = xp.concat([coefficients, one, -last], axis=1) @ self._exponents
            with np.errstate(over="ignore", invalid="ignore"):
                sums = _exp(T) @ self._psi_and_one
            total = sums[:, -1]
            if not bool((xp.min(total) > _LEAST) & (xp.max(total) < 1.0 / _LEAST)):
                sums = None
        if sums is None:
            T, last = _exponentials(coefficients, self._grid)
            sums = T @ self._psi_and_one
        log_z = last + xp.log(sums[:, -1:])
        self._log_z[rows.start] = log_z
        return log_z[:, 0], sums[:, :-1] / sums[:, -1:]


def expectations(coefficients, grid: OutputGrid) -> tuple:
    """Return log Z, shape (n,), and E ψ(Y), shape (n, r_y), of φᵀΘ, shape (n, r_y)."""
    xp, (T, largest) = array_namespace(coefficients), _exponentials(coefficients, grid)
    total = xp.sum(T, axis=1, keepdims=True)
    return (largest + xp.log(total))[:, 0], (T @ grid.features) / total


def log_normalisers(phi, theta: np.ndarray, grid: OutputGrid):
    """Return log Z_k(x_i), shape (n, K), for Θ (K, r_x, r_y)."""
    xp = array_namespace(phi)
    found = log_normalisers_of(xp.reshape(phi @ _flat(theta, phi), (-1, theta.shape[2])), grid)
    return xp.reshape(found, (-1, len(theta)))


def log_normalisers_of(coefficients, grid: OutputGrid):
    """Return log Z, shape (n,), of φᵀΘ, shape (n, r_y), of the type of the grid."""
    xp, parts = array_namespace(coefficients), []
    for rows in blocks_of(coefficients, grid.size):
        T, largest = _exponentials(coefficients[rows, :], grid)
        parts.append((largest + xp.log(xp.sum(T, axis=1, keepdims=True)))[:, 0])
    return xp.concat(parts)


class Spread(NamedTuple):
    """How some densities spread over y."""

    covariance: np.ndarray
    largest: np.ndarray


def spread(phi, theta: np.ndarray, grid: OutputGrid) -> Spread:
    """Return the spread over rows and k, for Θ (K, r_x, r_y)."""
    xp = array_namespace(phi)
    flat, count = _flat(theta, phi), len(theta)
    share, outer, most = 0.0, 0.0, 0.0
    for rows in blocks_of(phi, count * grid.size):
        T, _ = _exponentials(xp.reshape(phi[rows, :] @ flat, (-1, theta.shape[2])), grid)
        T /= xp.sum(T, axis=1, keepdims=True)
        means = to_numpy(T @ grid.features).astype(np.float64)
        outer = outer + means.T @ means
        share = share + to_numpy(xp.sum(T, axis=0)).astype(np.float64)
        most = np.maximum(most, to_numpy(xp.max(T, axis=0)))
    psi = to_numpy(grid.features).astype(np.float64)
    return Spread((psi.T @ (share[:, None] * psi) - outer) / share.sum(), most)


def _exponentials(coefficients, grid: OutputGrid) -> tuple:
    """Return exp(T - max T) of T plus log weights, (n, q), and max T, (n, 1), for (n, r_y)."""
    T = coefficients @ grid.features.T
    T += grid.log_weights
    largest = array_namespace(coefficients).max(T, axis=1, keepdims=True)
    T -= largest
    return _exp(T), largest


def _exp(T):
    return np.exp(T, out=T) if isinstance(T, np.ndarray) else array_namespace(T).exp(T)


def blocks_of(phi, row_size: int) -> list[slice]:
    """Return slices of rows for matrices of a row of `row_size` numbers."""
    size = max(16, 2 * block_size(cached=True, like=phi) // max(1, row_size))
    return slices(phi.shape[0], size)


def _flat(theta: np.ndarray, phi):
    """Return Θ_k side by side, shape (r_x, K r_y), in the namespace and type of φ."""
    count, r_x, r_y = theta.shape
    flat = np.ascontiguousarray(np.moveaxis(theta, 0, 1).reshape(r_x, count * r_y))
    return array_namespace(phi).asarray(flat, dtype=phi.dtype)


class Objective:
    """-mean log p + λ/2 ‖Θ‖², without the terms of log q_0, summed over K independent problems."""

    def __init__(self, partials: Callable[[np.ndarray], Partial], cross, counts):
        self._partials, self.cross = partials, cross
        self._counts = np.asarray(counts, dtype=np.float64)

    def __call__(self, theta: np.ndarray, regularization: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the values, shape (K,), and gradients, shape (K, r_x, r_y)."""
        sums = self._partials(theta)
        value = sums.log_z / self._counts - np.einsum("kab,kab->k", theta, self.cross)
        value = value + 0.5 * regularization * np.einsum("kab,kab->k", theta, theta)
        gradient = sums.moment / self._counts[:, None, None] - self.cross
        return value, gradient + regularization * theta


def weighted(psi, weights: np.ndarray):
    """Return features (n, r) times the weights of their rows."""
    return array_namespace(psi).asarray(weights[:, None], dtype=psi.dtype) * psi


_OUTPUT_SHARE = 0.3
"""Cov ψ given x as a share of Cov ψ, for the curvature."""


class Preconditioner(NamedTuple):
    """Spectra of φᵀφ/n and of 0.3 Cov ψ: their Kronecker product is about the Hessian."""

    values_x: np.ndarray
    vectors_x: np.ndarray
    values_y: np.ndarray
    vectors_y: np.ndarray

    @classmethod
    def of(cls, second_x: np.ndarray, covariance_y: np.ndarray) -> "Preconditioner":
        """Return that of φᵀφ/n and Cov ψ."""
        values_x, vectors_x = np.linalg.eigh(second_x)
        values_y, vectors_y = np.linalg.eigh(_OUTPUT_SHARE * covariance_y)
        return cls(np.maximum(values_x, 0), vectors_x, np.maximum(values_y, 0), vectors_y)

    @classmethod
    def of_rows(cls, phi, psi):
        """Return that of features (n, r_x) and (n, r_y)."""
        xp, n = array_namespace(phi), phi.shape[0]
        centred = psi - xp.mean(psi, axis=0)
        return cls.of(to_numpy(phi.T @ phi) / n, to_numpy(centred.T @ centred) / n)

    def at(self, covariance: np.ndarray) -> "Preconditioner":
        """Return it with the mean of Cov[ψ|x], shape (r_y, r_y), in place of 0.3 Cov ψ."""
        values, vectors = np.linalg.eigh(covariance)
        return self._replace(values_y=np.maximum(values, 0), vectors_y=vectors)

    def scale(self, regularization: float) -> np.ndarray:
        """Return √(e_x e_yᵀ + λ), shape (r_x, r_y)."""
        return np.sqrt(np.outer(self.values_x, self.values_y) + regularization)

    def forward(self, theta: np.ndarray) -> np.ndarray:
        """Return U_xᵀ Θ U_y for Θ (K, r_x, r_y)."""
        return self.vectors_x.T @ theta @ self.vectors_y

    def backward(self, rotated: np.ndarray) -> np.ndarray:
        """Return the Θ that `forward` maps to `rotated`."""
        return self.vectors_x @ rotated @ self.vectors_y.T


def minimise(
    objective, start: np.ndarray, preconditioner, regularization: float, *, iterations, tolerance
) -> tuple[np.ndarray, int]:
    """Return Θ from `start` on until a step gains less than `tolerance` nats, and iterations."""
    from scipy.optimize import minimize

    scale = preconditioner.scale(regularization)

    def value_and_gradient(u):
        theta = preconditioner.backward(u.reshape(start.shape) / scale)
        values, gradient = objective(theta, regularization)
        return float(values.sum()), (preconditioner.forward(gradient) / scale).ravel()

    first = (preconditioner.forward(start) * scale).ravel()
    options = {"maxiter": iterations, "maxcor": 15, "ftol": tolerance, "gtol": 1e-9}
    found = minimize(value_and_gradient, first, jac=True, method="L-BFGS-B", options=options)
    return preconditioner.backward(found.x.reshape(start.shape) / scale), int(found.nit)


log = logging.getLogger(__name__)

BLOCK = 1 << 16
"""Rows of a block."""

# φ is kept where it takes at most so much of the free memory, and so many bytes.
_SHARE_KEPT, _MOST_KEPT = 0.4, 3 << 29
_SAY_AFTER = 10.0  # seconds between lines of progress


class ArrayRows:
    """Pairs of arrays, memory maps or frames, of which a block at a time is read.

    `given` has the names and shapes of x and y that a model fitted to the rows keeps.
    """

    def __init__(self, X, Y, block: int = BLOCK):
        check_same_length(X, Y)
        self.given, self._block = (X, Y), block
        self._X = check_rows("X", X) if hasattr(X, "iloc") else X
        self._Y = check_rows("Y", Y, vector=True) if hasattr(Y, "iloc") else Y

    def __len__(self) -> int:
        return self._X.shape[0]

    def blocks(self) -> Iterator[tuple]:
        """Yield X (b, d) and Y (b, 1) in float64."""
        for rows in slices(len(self), self._block):
            yield _checked(self._X[rows, ...], self._Y[rows, ...])

    def take(self, rows: np.ndarray) -> tuple:
        """Return X and Y of some rows, sorted row numbers."""
        if isinstance(self._X, np.memmap):
            return _checked(np.asarray(self._X[rows]), np.asarray(self._Y[rows]))
        return _checked(take_rows(self._X, rows), take_rows(self._Y, rows))


def _checked(X, Y) -> tuple:
    return check_rows("X", X), check_rows("Y", Y, vector=True)


class Scales(NamedTuple):
    """Standard deviations of x, shape (d,), 1 where a column is constant; mean and std of y.

    With them the means of x, and the smallest and the largest x, (2, d), and y, (2,).
    """

    x: np.ndarray
    mean: float
    std: float
    mean_x: np.ndarray
    range_x: np.ndarray
    span: np.ndarray


def scales(source: ArrayRows) -> Scales:
    """Return the scales of all rows, in one pass (Chan, Golub and LeVeque 1983)."""
    count, mean, squares, low, high = 0, 0.0, 0.0, np.inf, -np.inf
    for X, Y in source.blocks():
        block = np.hstack([to_numpy(X), to_numpy(Y)])
        low, high = np.minimum(low, block.min(axis=0)), np.maximum(high, block.max(axis=0))
        here, rows = block.mean(axis=0), len(block)
        shift = here - mean
        total = count + rows
        squares = squares + ((block - here) ** 2).sum(axis=0) + shift**2 * count * rows / total
        mean, count = mean + shift * rows / total, total
    # The deviation of a constant column such as 0.1 is not 0 by rounding.
    std = np.where(high > low, np.sqrt(squares / count), 0.0)
    if not std[-1] >= SMALLEST_STD:
        raise ValueError(f"Y varies by {std[-1]:g}, too little: bring it to unit scale")
    x, ends = np.where(std[:-1] > 0, std[:-1], 1.0), np.stack([low, high])
    return Scales(x, float(mean[-1]), float(std[-1]), mean[:-1], ends[:, :-1], ends[:, -1])


class FeatureRows:
    """φ and ψ of a source, and the sums that the likelihood needs of them; weights of its rows.

    φ is kept where it takes at most 40% of the free memory and 1.5 GiB. Else every pass computes
    what it needs of it anew, which takes about twice the time.
    """

    def __init__(
        self, source: ArrayRows, x: KernelFeatures, y: KernelFeatures, dtype, weights: np.ndarray
    ):
        self._source, self._x, self._y, self.dtype = source, x, y, dtype
        self._weights = weights / weights.mean()
        self._parts: list = []  # the weights of each block
        self._kept: list | None = None
        self._one_row = None  # without columns of x φ is the same in all
        self._said, self._passes = time.monotonic(), 0

    def __len__(self) -> int:
        return len(self._source)

    def moments(self) -> tuple[np.ndarray, Preconditioner]:
        """Return Σ φψᵀ/n, shape (r_x, r_y), and the preconditioner; one pass, which keeps φ."""
        n, kept, keep, done = len(self), [], None, 0
        totals, self._parts = [0.0] * 4, []
        for X, Y in self._source.blocks():
            phi, psi = self._x.by_blocks(X, self.dtype), self._y.by_blocks(Y, self.dtype)
            if keep is None:
                size = np.dtype(str(phi.dtype).rpartition(".")[2]).itemsize
                keep = n * phi.shape[1] * size <= min(_SHARE_KEPT * free_bytes(phi), _MOST_KEPT)
            xp, rows = array_namespace(psi), slice(done, done + psi.shape[0])
            self._parts.append(self._weights[rows])
            own, done = weighted(psi, self._parts[-1]), rows.stop
            found = phi.T @ own, phi.T @ phi, psi.T @ psi, xp.sum(psi, axis=0)
            found = [to_numpy(each).astype(np.float64) for each in found]
            totals = [total + each for total, each in zip(totals, found, strict=True)]
            self._one_row = None if X.shape[1] else phi[:1, :]
            if keep:
                kept.append(phi)
        self._kept = kept if keep else None
        cross, second, squares, mean = (total / n for total in totals)
        return cross, Preconditioner.of(second, squares - np.outer(mean, mean))

    def sums(self, grid) -> Callable[[np.ndarray], Partial]:
        """Return a function of Θ (1, r_x, r_y): the sums over all rows."""
        if self._one_row is not None:
            one, n = Sums([self._one_row], grid), len(self)
            return lambda theta: Partial(*(n * each for each in one(theta)))
        kept = None
        if self._kept is not None:
            parts = zip(self._kept, self._parts, strict=True)
            kept = [Sums([phi], grid, weights) for phi, weights in parts]

        def of(theta: np.ndarray) -> Partial:
            total, done = None, 0
            self._passes += 1
            for number, block in enumerate(self._kept or (X for X, _ in self._source.blocks())):
                own = kept[number](theta) if kept else self._recomputed(block, number, theta, grid)
                total = own if total is None else Partial(*map(np.add, total, own))
                done += block.shape[0]
                if time.monotonic() - self._said > _SAY_AFTER:
                    self._said = time.monotonic()
                    log.info("gradient %d: %d of %d rows", self._passes, done, len(self))
            return total

        return of

    def _recomputed(self, X, number: int, theta: np.ndarray, grid) -> Partial:
        """Return the sums over a block from kernels at its rows.

        φ = k(x, C) B itself would take r_x² multiplications a row; B is moved to Θ.
        """
        xp, B = array_namespace(X), self._x.B
        folded, weights = B @ xp.asarray(theta[0]), self._parts[number]

        def of(rows: slice) -> tuple:
            kernels = self._x.kernels(X[rows, :])
            coefficients = xp.astype(kernels @ folded, self.dtype, copy=False)
            own, expected = (xp.astype(e, B.dtype) for e in expectations(coefficients, grid))
            given = xp.asarray(weights[rows], dtype=B.dtype)
            return xp.sum(given * own), kernels.T @ (given[:, None] * expected)

        found = map_threads(of, row_blocks(X.shape[0], self._x.rank, like=X), X)
        log_z, moment = map(sum, zip(*found, strict=True))
        return Partial(np.array([float(log_z)]), to_numpy(B.T @ moment)[None])
