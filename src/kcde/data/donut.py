"""The Gaussian donut with its exact densities (cdo, figure 4).

The authors' public code: 50 means on the unit circle of the plane of the first two coordinates,
rotated by half a radian about the first axis; the same number of points around each, with
independent normal noise. The first coordinate is x, the other two are y.
"""

import numpy as np

from kcde.data.names import DONUT_MEANS

NOISE = 0.1
"""Standard deviation of the noise in each coordinate."""

POINTS = 75
"""Around each mean in the paper's experiment: 3750 pairs."""

BOX = (-2.0, 2.0)
"""Lower and upper end, in each dimension of y, of where densities are compared."""

_TILT = 0.5
_LOG_2PI = float(np.log(2.0 * np.pi))


def means() -> np.ndarray:
    """Return the centres, shape (50, 3): equal steps around the circle, none of them twice."""
    angle = 2.0 * np.pi * np.arange(DONUT_MEANS) / DONUT_MEANS
    x, height = np.cos(angle), np.sin(angle)
    return np.column_stack([x, height * np.cos(_TILT), height * np.sin(_TILT)])


def draw(points: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs.

    Parameters
    ----------
    points
        Around each of the 50 means.
    rng
        Source of the draws.

    Returns
    -------
    X : numpy.ndarray
        Shape (50·points, 1).
    Y : numpy.ndarray
        Shape (50·points, 2).

    Raises
    ------
    ValueError
        If `points` is not positive.
    """
    if points < 1:
        raise ValueError(f"points around each mean must be at least 1; got {points}")
    centres = np.repeat(means(), points, axis=0)
    drawn = centres + NOISE * rng.standard_normal(centres.shape)
    return drawn[:, :1], drawn[:, 1:]


def joint_density(x: float, Y: np.ndarray) -> np.ndarray:
    """Return p(x, y), shape (n,), at one x and points Y (n, 2).

    Raises
    ------
    ValueError
        If Y does not have two columns.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if Y.ndim != 2 or Y.shape[1] != 2:
        raise ValueError(f"Y must have shape (n, 2); got {Y.shape}")
    centres = means()
    squared = (x - centres[:, 0]) ** 2 + np.sum((Y[:, None, :] - centres[:, 1:]) ** 2, axis=2)
    return _normal(squared, 3).mean(axis=1)


def marginal_density(x: float) -> float:
    """Return p(x)."""
    return float(_normal((x - means()[:, 0]) ** 2, 1).mean())


def conditional_density(x: float, Y: np.ndarray) -> np.ndarray:
    """Return p(y|x), shape (n,), at one x and points Y (n, 2).

    Raises
    ------
    ValueError
        If Y does not have two columns.
    """
    return joint_density(x, Y) / marginal_density(x)


def _normal(squared: np.ndarray, dim: int) -> np.ndarray:
    """Return N(·; 0, NOISE² I) at squared distances in so many dimensions."""
    return np.exp(-0.5 * squared / NOISE**2 - dim * (np.log(NOISE) + 0.5 * _LOG_2PI))
