"""A bimodal y of changing width given three columns of x, beside columns that do not matter.

x is standard normal. y is sin(2 x_1) + 0.8 b + s ε with ε standard normal, b = 1 with probability
σ(1.5 x_2) and -1 otherwise, s = 0.15 + 0.25 σ(1.5 x_3), and σ the logistic function.
"""

import numpy as np
from scipy.special import expit

from kcde.normalisers import logsumexp
from kcde.seeding import rng_of

RELEVANT = 3
"""Columns of x that y depends on; they come first."""

TEST_ROWS = 20_000

_APART, _STEEP = 0.8, 1.5
_NARROWEST, _WIDER = 0.15, 0.25


def draw(n: int, irrelevant: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw n pairs.

    Parameters
    ----------
    n
        Number of pairs.
    irrelevant
        Columns of x beside the three that matter.
    rng
        Source of the draws.

    Returns
    -------
    X, Y : numpy.ndarray
        Shapes (n, 3 + irrelevant) and (n, 1).
    """
    X = rng.standard_normal((n, RELEVANT + irrelevant))
    middle, share, scale = _parameters(X)
    side = np.where(rng.random(n) < share, _APART, -_APART)
    return X, (middle + side + scale * rng.standard_normal(n))[:, None]


def log_density(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return log p(y|x), nats, shape (n,), at pairs X (n, d), Y (n, 1)."""
    middle, share, scale = _parameters(X)
    sides = np.array([_APART, -_APART])
    z = (Y - middle[:, None] - sides) / scale[:, None]
    log_share = np.log(np.stack([share, 1.0 - share], axis=1))
    constant = np.log(scale * np.sqrt(2.0 * np.pi))
    return logsumexp(log_share - 0.5 * z**2, axis=1) - constant


def training_pairs(n: int, irrelevant: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the n pairs that every method is fitted to; they depend on the two numbers alone."""
    return draw(n, irrelevant, rng_of("bimodal-training", n, irrelevant))


def held_out_pairs(irrelevant: int, count: int = TEST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs at which every fit is tested, for every n."""
    return draw(count, irrelevant, rng_of("bimodal-test", irrelevant))


def _parameters(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the middle, the share of the upper mode and the width, shape (n,) each."""
    share, width = expit(_STEEP * X[:, 1]), expit(_STEEP * X[:, 2])
    return np.sin(2.0 * X[:, 0]), share, _NARROWEST + _WIDER * width
