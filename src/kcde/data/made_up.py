"""Generated data with known densities or moments, and a made-up table of houses.

The names of a generator begin with what it makes: `grid_` (kcef, section 4), `gaussian_` (jdl,
section 5.1), `donut_` (cdo, figure 4), `planar_` (dde, section 6), `bimodal_` and `houses_` (ours).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr

from kcde.arrays import logsumexp
from kcde.data import names as named
from kcde.panels import panel_nodes
from kcde.seeding import rng_of

Pairs = tuple[np.ndarray, np.ndarray]

_LOG_2PI = float(np.log(2.0 * np.pi))


# ---- the grid distribution -----------------------------------------------------------------------
#
# X_1 is uniform on [0, 1], and p(x_i | x_{i-1}) = C_i (1 + sin(2π a x_i) sin(2π b x_{i-1})) there.
# The paper states no frequencies; a = b for all i is declared here, 1 where nothing else is said.
# With whole numbers C_i = 1, every X_i is uniform, and all conditionals have the same entropy,
# whatever the frequency.

GRID_TEST_ROWS = 2000
_GRID_NODES = 2000


def grid_sample(n: int, d: int, *names: object, frequency: int = 1) -> np.ndarray:
    """Draw rows (n, d) of the grid distribution by rejection sampling, a column at a time.

    Each column has a stream of its own, derived from the names, so that the first columns do not
    depend on `d`. Uniform proposals are accepted with probability p(x_i | x_{i-1})/2, half of them
    on average.
    """
    columns = [rng_of("grid", *names, 0).random(n)]
    for i in range(1, d):
        before, rng = columns[-1], rng_of("grid", *names, i)
        drawn, waiting = np.empty(n), np.arange(n)
        while len(waiting):
            proposal = rng.random(len(waiting))
            density = grid_conditional(proposal, before[waiting], frequency)
            accepted = 2.0 * rng.random(len(waiting)) < density
            drawn[waiting[accepted]] = proposal[accepted]
            waiting = waiting[~accepted]
        columns.append(drawn)
    return np.stack(columns, axis=1)


def grid_conditional(x: np.ndarray, before: np.ndarray, frequency: int = 1) -> np.ndarray:
    """Return p(x_i | x_{i-1}) for x and `before` in [0, 1]."""
    return 1.0 + np.sin(2 * np.pi * frequency * x) * np.sin(2 * np.pi * frequency * before)


def grid_log_density(X: np.ndarray, frequency: int = 1) -> np.ndarray:
    """Return the log of every factor, nats, shape (n, d), for X (n, d); -inf outside [0, 1]."""
    X = np.asarray(X, dtype=np.float64)
    density = np.ones_like(X)
    density[:, 1:] = grid_conditional(X[:, 1:], X[:, :-1], frequency)
    density[(X < 0) | (X > 1)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(density, 0.0))


def grid_entropy(d: int) -> np.ndarray:
    """Return the entropy of each factor, nats, shape (d,): 0 of the first, then about -0.143.

    -∫∫ p log p over the unit square, by the midpoint rule, which for a periodic integrand is as
    good as its derivatives allow: the zeros of p leave an error near 1e-12.
    """
    nodes = (np.arange(_GRID_NODES) + 0.5) / _GRID_NODES
    p = grid_conditional(nodes[:, None], nodes[None, :])
    factor = -np.mean(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0))
    return np.concatenate([[0.0], np.full(d - 1, factor)])


def grid_training_and_test(n: int, d: int, run: int, frequency: int = 1) -> Pairs:
    """Return n training rows, 2 to 8000, and 2000 test rows of one repetition, of d columns.

    The training rows are the first n of the same sequence for every n, and the columns the first d
    of the same chain for every d; the test rows do not depend on n.
    """
    if not 2 <= n <= named.MOST_GRID_ROWS:
        raise ValueError(f"grid data have 2 to {named.MOST_GRID_ROWS} training rows; got grid-{n}")
    # The number of draws that rejection takes depends on the number of rows: blocks of one size.
    blocks = [
        grid_sample(named.GRID_ROWS, d, "train", run, *names, frequency=frequency)
        for names in [(), *(("block", k) for k in range(1, -(-n // named.GRID_ROWS)))]
    ]
    test = grid_sample(GRID_TEST_ROWS, d, "test", run, frequency=frequency)
    return np.concatenate(blocks)[:n], test


# ---- Gaussian pairs ------------------------------------------------------------------------------
#
# z = (x, y) has 2d coordinates of mean 0 and standard deviation 1. Its correlation matrix is drawn
# in the parametrisation of Archakov and Hansen (2021): the off-diagonal of log C, γ, may be any
# vector, and determines C. jdl does not say how γ is distributed; here its elements are
# independent, and the caller names their law. Matrix, training and test points of a (d, number)
# are functions of the same standard normal draws under every law: at d = 1 the points of x are the
# same.

_TOLERANCE = 1e-13
_MOST_ITERATIONS = 1000
_CHUNK = 2**20


@dataclass(frozen=True)
class GaussianPairs:
    """The law of (x, y), each of d coordinates, with mean 0 and unit variances.

    `correlation` is C, shape (2d, 2d): unit diagonal, positive definite; x comes first.
    """

    correlation: np.ndarray

    @property
    def dim(self) -> int:
        """d, the number of coordinates of x and of y."""
        return len(self.correlation) // 2

    @cached_property
    def canonical_correlation(self) -> float:
        """The largest correlation of a linear function of x with one of y; |ρ| for d = 1."""
        d = self.dim
        halves = slice(0, d), slice(d, 2 * d)
        of_x, of_y = (np.linalg.cholesky(self.correlation[part, part]) for part in halves)
        whitened = np.linalg.solve(of_x, self.correlation[:d, d:])
        return float(np.linalg.norm(np.linalg.solve(of_y, whitened.T), 2))

    def draw(self, n: int, rng: np.random.Generator) -> Pairs:
        """Draw n pairs, x and y (n, d) each, in chunks of rows."""
        d, lower = self.dim, np.linalg.cholesky(self.correlation)
        X, Y = np.empty((n, d)), np.empty((n, d))
        for start in range(0, n, _CHUNK):
            rows = slice(start, min(start + _CHUNK, n))
            z = rng.standard_normal((rows.stop - start, 2 * d)) @ lower.T
            X[rows], Y[rows] = z[:, :d], z[:, d:]
        return X, Y

    def conditional_mean(self, X: np.ndarray) -> np.ndarray:
        """Return E[y|x], shape (n, d), at X (n, d): C_yx C_xx⁻¹ x."""
        return X @ self._regression

    @cached_property
    def conditional_covariance(self) -> np.ndarray:
        """Cov[y|x], shape (d, d), the same at every x: C_yy - C_yx C_xx⁻¹ C_xy."""
        d = self.dim
        return self.correlation[d:, d:] - self.correlation[d:, :d] @ self._regression

    def conditional_second_moment(self, X: np.ndarray) -> np.ndarray:
        """Return E[y yᵀ|x], shape (n, d, d), at X (n, d): covariance plus the mean's square."""
        mean = self.conditional_mean(X)
        return self.conditional_covariance + mean[:, :, None] * mean[:, None, :]

    @cached_property
    def _regression(self) -> np.ndarray:
        d = self.dim
        return np.linalg.solve(self.correlation[:d, :d], self.correlation[:d, d:])


def correlation_of(gamma: np.ndarray) -> np.ndarray:
    """Return the correlation matrix (k, k) whose logarithm has a given off-diagonal.

    γ has the k(k-1)/2 elements of log C below the diagonal, row by row. The diagonal of log C is
    found by the iteration of Archakov and Hansen (2021, corollary 1), a ← a - log diag exp(A[a]), a
    contraction. About 30 to 70 spectra of the matrix. `ValueError` where C is numerically singular.
    """
    gamma = np.asarray(gamma, dtype=np.float64)
    k = round((1.0 + np.sqrt(1.0 + 8.0 * gamma.size)) / 2.0)
    log_c = np.zeros((k, k))
    log_c[np.tril_indices(k, -1)] = gamma
    log_c += log_c.T
    for _ in range(_MOST_ITERATIONS):
        eigenvalues, vectors = np.linalg.eigh(log_c)
        correlation = (vectors * np.exp(eigenvalues)) @ vectors.T
        step = np.log(np.diag(correlation))
        if np.linalg.norm(step) < _TOLERANCE * np.sqrt(k):
            np.fill_diagonal(correlation, 1.0)
            if np.linalg.eigvalsh(correlation)[0] <= k * np.finfo(float).eps:
                break
            return correlation
        log_c[np.diag_indices(k)] -= step
    norm = f"{np.linalg.norm(gamma):.3g}"
    raise ValueError(f"the correlation matrix of gamma of norm {norm} is singular to rounding")


def gaussian_random_pairs(dim: int, number: int, law: str = named.DRAWN_LAW) -> GaussianPairs:
    """Return the law with the number-th random correlation matrix of its dimension.

    The matrix depends on (dim, number, law) alone. The law is that of the independent elements of
    γ, see `kcde.data.names.parsed_law`; for d = 1 the correlation of x and y is tanh γ.
    """
    kind, size = named.parsed_law(law)
    drawn = rng_of("gaussian-correlation", dim, number).standard_normal(dim * (2 * dim - 1))
    # Under every law an increasing function of the same draws, so that laws are comparable.
    gamma = size * (drawn if kind == named.NORMAL else 2 * ndtr(drawn) - 1)
    if kind == named.CORRELATION:
        gamma = np.arctanh(gamma)
    return GaussianPairs(correlation_of(gamma))


def gaussian_training_pairs(law: GaussianPairs, n: int, number: int) -> Pairs:
    """Return the n pairs that a fit of the number-th matrix trains and validates on, (n, d) each.

    They depend on (d, n, number) alone, so that every method is given the same.
    """
    return law.draw(n, rng_of("gaussian-training", law.dim, n, number))


def gaussian_held_out_pairs(law: GaussianPairs, number: int, count: int) -> Pairs:
    """Return the pairs at which every fit of the number-th matrix is tested, for every n."""
    return law.draw(count, rng_of("gaussian-test", law.dim, number))


# ---- the Gaussian donut --------------------------------------------------------------------------
#
# The authors' public code: 50 means on the unit circle of the plane of the first two coordinates,
# rotated by half a radian about the first axis; the same number of points around each, with
# independent normal noise. The first coordinate is x, the other two are y.

DONUT_NOISE = 0.1  # standard deviation in each coordinate
DONUT_BOX = (-2.0, 2.0)  # ends, in each dimension of y, of where densities are compared
_TILT = 0.5


def donut_means() -> np.ndarray:
    """Return the centres, shape (50, 3): equal steps around the circle, none of them twice."""
    angle = 2.0 * np.pi * np.arange(named.DONUT_MEANS) / named.DONUT_MEANS
    x, height = np.cos(angle), np.sin(angle)
    return np.column_stack([x, height * np.cos(_TILT), height * np.sin(_TILT)])


def donut_draw(points: int, rng: np.random.Generator) -> Pairs:
    """Draw X (50·points, 1) and Y (50·points, 2), so many points around each mean."""
    centres = np.repeat(donut_means(), points, axis=0)
    drawn = centres + DONUT_NOISE * rng.standard_normal(centres.shape)
    return drawn[:, :1], drawn[:, 1:]


def donut_joint_density(x: float, Y: np.ndarray) -> np.ndarray:
    """Return p(x, y), shape (n,), at one x and points Y (n, 2)."""
    Y, centres = np.asarray(Y, dtype=np.float64), donut_means()
    squared = (x - centres[:, 0]) ** 2 + np.sum((Y[:, None, :] - centres[:, 1:]) ** 2, axis=2)
    return _donut_normal(squared, 3).mean(axis=1)


def donut_marginal_density(x: float) -> float:
    """Return p(x)."""
    return float(_donut_normal((x - donut_means()[:, 0]) ** 2, 1).mean())


def _donut_normal(squared: np.ndarray, dim: int) -> np.ndarray:
    """Return N(·; 0, DONUT_NOISE² I) at squared distances in so many dimensions."""
    return np.exp(-0.5 * squared / DONUT_NOISE**2 - dim * (np.log(DONUT_NOISE) + 0.5 * _LOG_2PI))


# ---- two moons, ring and grid in the plane -------------------------------------------------------
#
# As the text of the paper defines them. Points of the ring are "uniformly sampled along three
# circles": a circle has points in proportion to its length, as in the codes of dde and of
# Sutherland et al. (AISTATS 2018), where the data come from.
#
# The text puts each centre of the grid "on one dimension in the d-dimension hypercube", as (1, 0)
# and (0, 1) for d = 2; the authors' file has (0, 1) and (1, 1) with equal weights, and these are
# taken.

_NOISE = 0.1  # standard deviation of the grid's components, and of the ring's radii
_RADII = np.array([1.0, 3.0, 5.0])
_RADIUS_WEIGHTS = _RADII / _RADII.sum()
_CENTRES = np.array([[0.0, 1.0], [1.0, 1.0]])
_WIDTH = 0.4  # of the moons' common circle of radius _RADIUS
_RADIUS = 2.0
_SPREAD = 0.6  # of a moon along the first coordinate, around ±_RADIUS
_WIDENED = 1.25  # by so much the proposal of a radius is wider than _WIDTH


@dataclass(frozen=True)
class Modes:
    """Parts of the plane that samples have to reach in proportion.

    They have labels and probabilities, shape (k,); `nearest` maps points (n, 2) to the number of
    their part, shape (n,).
    """

    labels: tuple[str, ...]
    weights: np.ndarray
    nearest: Callable[[np.ndarray], np.ndarray]


def planar_sizes(name: str) -> tuple[int, int]:
    """Return how many training and test points a data set of `kcde.data.names.PLANAR` has."""
    return 500, 1500 if _known(name) == "grid" else 5000


def planar_draw(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw points (n, 2), independently."""
    if _known(name) == "grid":
        return _CENTRES[rng.integers(len(_CENTRES), size=n)] + _NOISE * rng.standard_normal((n, 2))
    if name == "two-moons":
        return _draw_moons(n, rng)
    radius = rng.choice(_RADII, size=n, p=_RADIUS_WEIGHTS) + _NOISE * rng.standard_normal(n)
    return _at_angle(radius, rng)


def planar_of_seed(name: str, seed: int) -> Pairs:
    """Return the training and the test points (n, 2) of a seed, the same for every method."""
    rng = rng_of("planar", name, seed)
    return tuple(planar_draw(name, n, rng) for n in planar_sizes(name))


def planar_noise(name: str) -> float:
    """Return the standard deviation of a data set across its support."""
    return _WIDTH if _known(name) == "two-moons" else _NOISE


def planar_deviations(name: str, Y: np.ndarray) -> np.ndarray:
    """Return how far points (n, 2) are from the support, in standard deviations, shape (n,).

    The support is the centres of the grid or the circles of the ring. The two moons lie on a
    circle, at either end of the first coordinate: theirs is the larger of both deviations.
    """
    kind, radius = _known(name), np.hypot(*Y.T)
    if kind == "two-moons":
        along = np.abs(np.abs(Y[:, 0]) - _RADIUS) / _SPREAD
        return np.maximum(np.abs(radius - _RADIUS) / _WIDTH, along)
    if kind == "grid":
        return np.sqrt(np.min(np.sum((Y[:, None, :] - _CENTRES) ** 2, axis=2), axis=1)) / _NOISE
    return np.min(np.abs(radius[:, None] - _RADII), axis=1) / _NOISE


def planar_log_density(name: str, Y: np.ndarray) -> np.ndarray:
    """Return the exact log density, nats, shape (n,), for points Y (n, 2).

    The density of two moons is normalised by quadrature, with an error near rounding. That of the
    ring is the log of Σ_k w_k [N(r; r_k, _NOISE²) + N(-r; r_k, _NOISE²)] / 2πr, where the second
    term is noise that takes a point across the origin.
    """
    kind, Y = _known(name), np.asarray(Y, dtype=np.float64)
    radius = np.hypot(*Y.T)
    if kind == "two-moons":
        # The potential of dde is ½((‖y‖ - 2)/0.4)² - log Σ_± exp(-½((y_1 ± 2)/0.6)²).
        potential = 0.5 * ((radius - _RADIUS) / _WIDTH) ** 2 - _log_moons(Y[..., 0])
        return -potential - _log_constant()
    if kind == "grid":
        squared = np.sum((Y[:, None, :] - _CENTRES) ** 2, axis=2)
        components = -0.5 * squared / _NOISE**2 - 2.0 * np.log(_NOISE) - _LOG_2PI
        return logsumexp(components, axis=1) - np.log(len(_CENTRES))
    signed = np.stack([radius, -radius], axis=1)[:, :, None]
    normal = -0.5 * ((signed - _RADII) / _NOISE) ** 2 - np.log(_NOISE) - 0.5 * _LOG_2PI
    along = logsumexp((normal + np.log(_RADIUS_WEIGHTS)).reshape(len(radius), -1), axis=1)
    with np.errstate(divide="ignore"):
        return along - np.log(radius) - _LOG_2PI


def planar_modes(name: str) -> Modes:
    """Return the components of the grid, the circles of the ring, or the two moons.

    Their weights are exact: of the moons and of the grid by symmetry, of the circles up to noise
    that reaches halfway to the next, ten standard deviations.
    """
    kind, halves = _known(name), np.full(2, 0.5)
    if kind == "two-moons":
        return Modes(("left", "right"), halves, lambda Y: (Y[:, 0] > 0).astype(np.int64))
    if kind == "grid":
        labels = tuple(f"({a:g}, {b:g})" for a, b in _CENTRES)
        return Modes(labels, halves, lambda Y: _nearest(Y[:, None, :] - _CENTRES))
    labels = tuple(f"radius {radius:g}" for radius in _RADII)
    radii = _RADII[:, None]
    return Modes(labels, _RADIUS_WEIGHTS, lambda Y: _nearest(np.hypot(*Y.T)[:, None, None] - radii))


def _known(name: str) -> str:
    if name not in named.PLANAR:
        raise ValueError(f"there are no planar data {name!r}; known: {', '.join(named.PLANAR)}")
    return name


def _nearest(difference: np.ndarray) -> np.ndarray:
    return np.argmin(np.sum(difference**2, axis=2), axis=1)


def _at_angle(radius: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0.0, 2.0 * np.pi, len(radius))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _log_moons(first: np.ndarray) -> np.ndarray:
    left, right = (-0.5 * ((first - sign * _RADIUS) / _SPREAD) ** 2 for sign in (-1, 1))
    return np.logaddexp(left, right)


@cache
def _log_constant() -> float:
    """Return log ∫ exp(-potential): Gauss-Legendre in the radius, trapezoidal in the angle."""
    radius, weight = panel_nodes(0.0, _RADIUS + 12.0 * _WIDTH, 40)
    angle = 2.0 * np.pi * np.arange(512) / 512
    around = 2.0 * np.pi * np.exp(_log_moons(radius[:, None] * np.cos(angle))).mean(axis=1)
    along = radius * np.exp(-0.5 * ((radius - _RADIUS) / _WIDTH) ** 2)
    return float(np.log(weight @ (along * around)))


def _draw_moons(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw by rejection: a radius from a wider Gaussian, an angle from the uniform distribution.

    Target over proposal in (radius, angle) is bounded: r exp(-c(r - 2)²) with
    c = (1 - 1/_WIDENED²)/2·_WIDTH² is largest where 1/r = 2c(r - 2); the moons' factor is at most
    1 + exp(-½(2/0.6)²), the other moon's share at the near side of 0.
    """
    c = (1.0 - _WIDENED**-2) / (2.0 * _WIDTH**2)
    peak = _RADIUS / 2.0 + np.sqrt(_RADIUS**2 / 4.0 + 0.5 / c)
    largest = np.log(peak) - c * (peak - _RADIUS) ** 2
    largest_moons = np.log1p(np.exp(-0.5 * (_RADIUS / _SPREAD) ** 2))
    drawn, kept = [np.empty((0, 2))], 0
    while kept < n:
        radius = _RADIUS + _WIDENED * _WIDTH * rng.standard_normal(2 * n)
        points = _at_angle(radius, rng)
        possible = radius > 0
        along = np.log(np.where(possible, radius, 1.0)) - c * (radius - _RADIUS) ** 2 - largest
        moons = _log_moons(points[:, 0]) - largest_moons
        accepted = np.log(rng.random(2 * n)) < np.where(possible, along + moons, -np.inf)
        drawn.append(points[accepted])
        kept += int(accepted.sum())
    return np.concatenate(drawn)[:n]


# ---- a bimodal y ---------------------------------------------------------------------------------
#
# Of changing width given three columns of x, beside columns that do not matter. x is standard
# normal. y is sin(2 x_1) + 0.8 b + s ε with ε standard normal, b = 1 with probability σ(1.5 x_2)
# and -1 otherwise, s = 0.15 + 0.25 σ(1.5 x_3), and σ the logistic function.

BIMODAL_RELEVANT = 3  # columns of x that y depends on; they come first
_APART = 0.8


def bimodal_draw(n: int, irrelevant: int, rng: np.random.Generator) -> Pairs:
    """Draw X (n, 3 + irrelevant) and Y (n, 1)."""
    X = rng.standard_normal((n, BIMODAL_RELEVANT + irrelevant))
    middle, share, scale = _bimodal_parameters(X)
    side = np.where(rng.random(n) < share, _APART, -_APART)
    return X, (middle + side + scale * rng.standard_normal(n))[:, None]


def bimodal_log_density(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return log p(y|x), nats, shape (n,), at pairs X (n, d), Y (n, 1)."""
    middle, share, scale = _bimodal_parameters(X)
    z = (Y - middle[:, None] - np.array([_APART, -_APART])) / scale[:, None]
    log_share = np.log(np.stack([share, 1.0 - share], axis=1))
    return logsumexp(log_share - 0.5 * z**2, axis=1) - np.log(scale * np.sqrt(2.0 * np.pi))


def bimodal_training_pairs(n: int, irrelevant: int) -> Pairs:
    """Return the n pairs that every method is fitted to; they depend on the two numbers alone."""
    return bimodal_draw(n, irrelevant, rng_of("bimodal-training", n, irrelevant))


def bimodal_held_out_pairs(irrelevant: int, count: int) -> Pairs:
    """Return the pairs at which every fit is tested, for every n."""
    return bimodal_draw(count, irrelevant, rng_of("bimodal-test", irrelevant))


def _bimodal_parameters(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the middle, the share of the upper mode and the width, shape (n,) each."""
    return np.sin(2.0 * X[:, 0]), expit(1.5 * X[:, 1]), 0.15 + 0.25 * expit(1.5 * X[:, 2])


# ---- a table of houses ---------------------------------------------------------------------------
#
# To try `kcde compare` on, of the shape of the California housing data. Those (Pace and Barry,
# Statistics and Probability Letters 1997) have 20640 districts, eight columns and a price that is
# cut off above. No number here is of them.

HOUSES_HIGHEST_PRICE = 5.0  # 100,000 dollars, also of what is dearer
_TOWNS = np.array([[34.0, -118.2], [37.7, -122.3], [32.8, -117.1], [36.8, -119.8], [38.6, -121.5]])
_SHARES = (0.4, 0.25, 0.12, 0.13, 0.1)


def houses(rows: int = 20_640) -> pd.DataFrame:
    """Return the table: a price (100,000 dollars) given eight columns, a row a district.

    Given the others the log of the price, before it is cut off, is normal: its mean rises with
    income and falls with the distance from the two largest of five towns, its standard deviation
    falls from 0.45 where incomes are low to 0.2.
    """

    def normal(name, size=rows):
        return rng_of("houses", name).standard_normal(size)

    town = rng_of("houses", "town").choice(len(_TOWNS), size=rows, p=_SHARES)
    place = _TOWNS[town] + 0.5 * normal("place", (rows, 2))
    income = np.exp(1.25 + 0.45 * normal("income"))
    years = rng_of("houses", "age").gamma(5.0, 6.0, rows)
    found = {
        "income": income,
        "age": np.minimum(np.floor(1.0 + years), 52.0),
        "rooms": np.maximum(4.2 + 0.3 * income + 0.6 * normal("rooms"), 1.0),
        "bedrooms": 1.0 + 0.1 * normal("bedrooms") ** 2,
        "population": np.ceil(np.exp(7.0 + 0.7 * normal("population"))),
        "people": np.exp(1.05 + 0.2 * normal("people")),
    }
    frame = pd.DataFrame(found).round(4)
    frame[["latitude", "longitude"]] = np.round(place, 2)
    mean, std = houses_log_price(frame)
    price = np.exp(mean + std * normal("price"))
    return frame.assign(price=np.round(np.minimum(price, HOUSES_HIGHEST_PRICE), 3))


def houses_log_price(frame: pd.DataFrame) -> Pairs:
    """Return mean and standard deviation (n,) of the log of the price before it is cut off."""
    income = frame["income"].to_numpy()
    at = frame[["latitude", "longitude"]].to_numpy()
    near = sum(np.exp(-0.5 * np.sum((at - town) ** 2, axis=1)) for town in _TOWNS[:2])
    mean = -0.35 + 0.65 * np.log(income) + 0.5 * near + 0.003 * frame["age"].to_numpy()
    mean = mean - 0.3 * np.log(frame["people"].to_numpy() / 3.0)
    return mean, 0.2 + 0.25 * np.exp(-0.4 * income)
