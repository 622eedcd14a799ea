"""The grid distribution (kcef, section 4), with its exact density and entropy.

X_1 is uniform on [0, 1], and p(x_i | x_{i-1}) = C_i (1 + sin(2π a x_i) sin(2π b x_{i-1})) there.
The paper states no frequencies; a = b = 1 for all i are declared here. With whole numbers C_i = 1,
and every X_i is uniform, so that all conditionals have the same entropy.
"""

import numpy as np

from kcde.datasets.names import GRID_ROWS
from kcde.seeding import rng_of

FREQUENCY = 1
"""a, in cycles over [0, 1]."""

FREQUENCY_BEFORE = 1
"""b."""

TEST_ROWS = 2000
_NODES = 2000


def sample(n: int, d: int, *names: object) -> np.ndarray:
    """Draw rows of the grid distribution by rejection sampling, a column at a time.

    Each column has a stream of its own, so that the first columns do not depend on `d`. Uniform
    proposals are accepted with probability p(x_i | x_{i-1})/2, half of them on average.

    Parameters
    ----------
    n, d
        Shape of the sample.
    *names
        Names that the seeds of the columns are derived from.

    Returns
    -------
    numpy.ndarray
        Shape (n, d), in [0, 1].
    """
    columns = [rng_of("grid", *names, 0).random(n)]
    for i in range(1, d):
        columns.append(_reject(columns[-1], rng_of("grid", *names, i)))
    return np.stack(columns, axis=1)


def _reject(before: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    drawn = np.empty(len(before))
    waiting = np.arange(len(before))
    while len(waiting):
        proposal = rng.random(len(waiting))
        accepted = 2.0 * rng.random(len(waiting)) < conditional(proposal, before[waiting])
        drawn[waiting[accepted]] = proposal[accepted]
        waiting = waiting[~accepted]
    return drawn


def conditional(x: np.ndarray, before: np.ndarray) -> np.ndarray:
    """Return p(x_i | x_{i-1}) for x and `before` in [0, 1]."""
    return 1.0 + np.sin(2 * np.pi * FREQUENCY * x) * np.sin(2 * np.pi * FREQUENCY_BEFORE * before)


def log_density(X: np.ndarray) -> np.ndarray:
    """Return the log of every factor, nats, shape (n, d), for X (n, d); -inf outside [0, 1]."""
    X = np.asarray(X, dtype=np.float64)
    density = np.ones_like(X)
    density[:, 1:] = conditional(X[:, 1:], X[:, :-1])
    density[(X < 0) | (X > 1)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(density, 0.0))


def entropy(d: int) -> np.ndarray:
    """Return the entropy of each factor, nats, shape (d,): 0 of the first, then about -0.143.

    -∫∫ p log p over the unit square, by the midpoint rule, which for a periodic integrand is as
    good as its derivatives allow: the zeros of p leave an error near 1e-12.
    """
    nodes = (np.arange(_NODES) + 0.5) / _NODES
    p = conditional(nodes[:, None], nodes[None, :])
    factor = -np.mean(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0))
    return np.concatenate([[0.0], np.full(d - 1, factor)])


def training_and_test(n: int, d: int, run: int) -> tuple[np.ndarray, np.ndarray]:
    """Return n training rows and 2000 test rows of one repetition.

    The training rows are the first n of the same 2000 for every n, and the columns the first d of
    the same chain for every d; the test rows do not depend on n.

    Parameters
    ----------
    n
        Up to 2000.
    d
        Columns.
    run
        Number of the repetition.

    Raises
    ------
    ValueError
        If n is not in 2...2000, or d is not positive.
    """
    if not 2 <= n <= GRID_ROWS:
        raise ValueError(f"grid data have 2 to {GRID_ROWS} training rows; got grid-{n}")
    if d < 1:
        raise ValueError(f"grid data need at least 1 column; got {d}")
    return sample(GRID_ROWS, d, "train", run)[:n], sample(TEST_ROWS, d, "test", run)
