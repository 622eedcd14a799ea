"""Two-dimensional data with known densities: two moons, ring and grid (dde, section 6).

As the text of the paper defines them. Points of the ring are "uniformly sampled along three
circles": a circle has points in proportion to its length, as in the codes of dde and of Sutherland
et al. (AISTATS 2018), where the data come from. `two-moons-code` has the 1000 training points of
the authors' code, not 500.

The text puts each centre of the grid "on one dimension in the d-dimension hypercube", as (1, 0) and
(0, 1) for d = 2; the authors' file has (0, 1) and (1, 1) with equal weights, and these are taken.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from kcde.data.names import PLANAR
from kcde.normalisers import logsumexp
from kcde.panels import panel_nodes
from kcde.seeding import rng_of

NOISE = 0.1
"""Standard deviation of the grid's components, and of the ring's radii."""

RADII = np.array([1.0, 3.0, 5.0])
RADIUS_WEIGHTS = RADII / RADII.sum()

CENTRES = np.array([[0.0, 1.0], [1.0, 1.0]])

_WIDTH = 0.4  # of the moons' common circle of radius _RADIUS
_RADIUS = 2.0
_SPREAD = 0.6  # of a moon along the first coordinate, around ±_RADIUS
_WIDENED = 1.25  # by so much the proposal of a radius is wider than _WIDTH
_LOG_2PI = float(np.log(2.0 * np.pi))

_TRAIN = {"two-moons-code": 1000}
_TEST = {"grid": 1500}


@dataclass(frozen=True)
class Modes:
    """Parts of the plane that samples have to reach in proportion.

    Attributes
    ----------
    labels
        Names of the parts.
    weights
        Probability of each, shape (k,).
    nearest
        Maps points (n, 2) to the number of their part, shape (n,).
    """

    labels: tuple[str, ...]
    weights: np.ndarray
    nearest: Callable[[np.ndarray], np.ndarray]


def sizes(name: str) -> tuple[int, int]:
    """Return how many training and test points a data set has.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    _checked(name)
    return _TRAIN.get(name, 500), _TEST.get(name, 5000)


def draw(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw points, independently.

    Parameters
    ----------
    name
        One of `kcde.data.names.PLANAR`.
    n
        Number of points.
    rng
        Source of the draws.

    Returns
    -------
    numpy.ndarray
        Shape (n, 2).

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    if _kind(name) == "grid":
        return CENTRES[rng.integers(len(CENTRES), size=n)] + NOISE * rng.standard_normal((n, 2))
    if _kind(name) == "two-moons":
        return _draw_moons(n, rng)
    radius = rng.choice(RADII, size=n, p=RADIUS_WEIGHTS) + NOISE * rng.standard_normal(n)
    return _at_angle(radius, rng)


def of_seed(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and the test points of a seed, shapes (n, 2), the same for every method.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    rng = rng_of("planar", name, seed)
    train, test = (draw(name, n, rng) for n in sizes(name))
    return train, test


def noise(name: str) -> float:
    """Return the standard deviation of a data set across its support.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    return _WIDTH if _kind(name) == "two-moons" else NOISE


def deviations(name: str, Y: np.ndarray) -> np.ndarray:
    """Return how far points (n, 2) are from the support, in standard deviations, shape (n,).

    The support is the centres of the grid or the circles of the ring. The two moons lie on a
    circle, at either end of the first coordinate: theirs is the larger of both deviations.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    radius = np.hypot(*Y.T)
    if _kind(name) == "two-moons":
        along = np.abs(np.abs(Y[:, 0]) - _RADIUS) / _SPREAD
        return np.maximum(np.abs(radius - _RADIUS) / _WIDTH, along)
    if _kind(name) == "grid":
        return np.sqrt(np.min(np.sum((Y[:, None, :] - CENTRES) ** 2, axis=2), axis=1)) / NOISE
    return np.min(np.abs(radius[:, None] - RADII), axis=1) / NOISE


def log_density(name: str, Y: np.ndarray) -> np.ndarray:
    """Return the exact log density, nats, shape (n,), for points Y (n, 2).

    The density of two moons is normalised by quadrature, with an error near rounding.

    Raises
    ------
    ValueError
        If there is no such data set, or Y does not have two columns.
    """
    kind, Y = _kind(name), np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"Y must have shape (n, 2); got {Y.shape}")
    if kind == "two-moons":
        return -_potential(Y) - _log_constant()
    if kind == "grid":
        squared = np.sum((Y[:, None, :] - CENTRES) ** 2, axis=2)
        components = -0.5 * squared / NOISE**2 - 2.0 * np.log(NOISE) - _LOG_2PI
        return logsumexp(components, axis=1) - np.log(len(CENTRES))
    return _log_ring(np.hypot(*Y.T))


def modes(name: str) -> Modes:
    """Return the components of the grid, the circles of the ring, or the two moons.

    Parameters
    ----------
    name
        One of `kcde.data.names.PLANAR`.

    Returns
    -------
    Modes
        Their weights are exact: of the moons and of the grid by symmetry, of the circles up to
        noise that reaches halfway to the next, ten standard deviations.

    Raises
    ------
    ValueError
        If there is no such data set.
    """
    halves = np.full(2, 0.5)
    if _kind(name) == "two-moons":
        return Modes(("left", "right"), halves, lambda Y: (Y[:, 0] > 0).astype(np.int64))
    if _kind(name) == "grid":
        labels = tuple(f"({a:g}, {b:g})" for a, b in CENTRES)
        return Modes(labels, halves, lambda Y: _nearest(Y[:, None, :] - CENTRES))
    labels = tuple(f"radius {radius:g}" for radius in RADII)
    return Modes(
        labels,
        RADIUS_WEIGHTS,
        lambda Y: _nearest((np.hypot(*Y.T)[:, None] - RADII)[..., None]),
    )


def _checked(name: str) -> str:
    if name not in PLANAR:
        raise ValueError(f"there are no planar data {name!r}; known: {', '.join(PLANAR)}")
    return name


def _kind(name: str) -> str:
    return _checked(name).removesuffix("-code")


def _nearest(difference: np.ndarray) -> np.ndarray:
    return np.argmin(np.sum(difference**2, axis=2), axis=1)


def _at_angle(radius: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0.0, 2.0 * np.pi, len(radius))
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _log_ring(radius: np.ndarray) -> np.ndarray:
    """Return the log of Σ_k w_k [N(r; r_k, NOISE²) + N(-r; r_k, NOISE²)] / 2πr.

    The second term is noise that takes a point across the origin.
    """
    signed = np.stack([radius, -radius], axis=1)[:, :, None]
    normal = -0.5 * ((signed - RADII) / NOISE) ** 2 - np.log(NOISE) - 0.5 * _LOG_2PI
    along = logsumexp((normal + np.log(RADIUS_WEIGHTS)).reshape(len(radius), -1), axis=1)
    with np.errstate(divide="ignore"):
        return along - np.log(radius) - _LOG_2PI


def _potential(Y: np.ndarray) -> np.ndarray:
    """Return the potential of dde: ½((‖y‖ - 2)/0.4)² - log Σ_± exp(-½((y_1 ± 2)/0.6)²)."""
    return 0.5 * ((np.hypot(*Y.T) - _RADIUS) / _WIDTH) ** 2 - _log_moons(Y[..., 0])


def _log_moons(first: np.ndarray) -> np.ndarray:
    left, right = (-0.5 * ((first - sign * _RADIUS) / _SPREAD) ** 2 for sign in (-1, 1))
    return np.logaddexp(left, right)


@cache
def _log_constant() -> float:
    """Return log ∫ exp(-potential): Gauss-Legendre in the radius, trapezoidal in the angle."""
    radius, weight = panel_nodes(0.0, _RADIUS + 12.0 * _WIDTH, 40)
    angle = 2.0 * np.pi * np.arange(512) / 512
    log_moons = _log_moons(radius[:, None] * np.cos(angle))
    around = 2.0 * np.pi * np.exp(log_moons).mean(axis=1)
    along = radius * np.exp(-0.5 * ((radius - _RADIUS) / _WIDTH) ** 2)
    return float(np.log(weight @ (along * around)))


def _draw_moons(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw by rejection: a radius from a wider Gaussian, an angle from the uniform distribution."""
    drawn, kept = [np.empty((0, 2))], 0
    while kept < n:
        radius = _RADIUS + _WIDENED * _WIDTH * rng.standard_normal(2 * n)
        points = _at_angle(radius, rng)
        accepted = np.log(rng.random(2 * n)) < _log_acceptance(radius, points[:, 0])
        drawn.append(points[accepted])
        kept += int(accepted.sum())
    return np.concatenate(drawn)[:n]


def _log_acceptance(radius: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the log of target over proposal in (radius, angle), less its largest value.

    r exp(-c(r - 2)²) with c = (1 - 1/_WIDENED²)/2·_WIDTH² is largest where 1/r = 2c(r - 2); the
    moons' factor is at most 1 + exp(-½(2/0.6)²), the other moon's share at the near side of 0.
    """
    c = (1.0 - _WIDENED**-2) / (2.0 * _WIDTH**2)
    peak = _RADIUS / 2.0 + np.sqrt(_RADIUS**2 / 4.0 + 0.5 / c)
    largest = np.log(peak) - c * (peak - _RADIUS) ** 2
    moons = _log_moons(first) - np.log1p(np.exp(-0.5 * (_RADIUS / _SPREAD) ** 2))
    possible = radius > 0
    along = np.log(np.where(possible, radius, 1.0)) - c * (radius - _RADIUS) ** 2 - largest
    return np.where(possible, along + moons, -np.inf)
