"""The grid distribution (kcef, section 4), with its exact density and entropy.

X_1 is uniform on [0, 1], and p(x_i | x_{i-1}) = C_i (1 + sin(2π a x_i) sin(2π b x_{i-1})) there.
The paper states no frequencies; a = b for all i is declared here, 1 where nothing else is said.
With whole numbers C_i = 1, every X_i is uniform, and all conditionals have the same entropy,
whatever the frequency.
"""

import numpy as np

from kcde.data.names import GRID_ROWS, MOST_GRID_ROWS
from kcde.seeding import rng_of

TEST_ROWS = 2000
_NODES = 2000


def sample(n: int, d: int, *names: object, frequency: int = 1) -> np.ndarray:
    """Draw rows of the grid distribution by rejection sampling, a column at a time.

    Each column has a stream of its own, so that the first columns do not depend on `d`. Uniform
    proposals are accepted with probability p(x_i | x_{i-1})/2, half of them on average.

    Parameters
    ----------
    n, d
        Shape of the sample.
    *names
        Names that the seeds of the columns are derived from.
    frequency
        a = b, whole cycles over [0, 1].

    Returns
    -------
    numpy.ndarray
        Shape (n, d), in [0, 1].
    """
    columns = [rng_of("grid", *names, 0).random(n)]
    for i in range(1, d):
        columns.append(_reject(columns[-1], frequency, rng_of("grid", *names, i)))
    return np.stack(columns, axis=1)


def _reject(before: np.ndarray, frequency: int, rng: np.random.Generator) -> np.ndarray:
    drawn = np.empty(len(before))
    waiting = np.arange(len(before))
    while len(waiting):
        proposal = rng.random(len(waiting))
        density = conditional(proposal, before[waiting], frequency)
        accepted = 2.0 * rng.random(len(waiting)) < density
        drawn[waiting[accepted]] = proposal[accepted]
        waiting = waiting[~accepted]
    return drawn


def conditional(x: np.ndarray, before: np.ndarray, frequency: int = 1) -> np.ndarray:
    """Return p(x_i | x_{i-1}) for x and `before` in [0, 1]."""
    return 1.0 + np.sin(2 * np.pi * frequency * x) * np.sin(2 * np.pi * frequency * before)


def log_density(X: np.ndarray, frequency: int = 1) -> np.ndarray:
    """Return the log of every factor, nats, shape (n, d), for X (n, d); -inf outside [0, 1]."""
    X = np.asarray(X, dtype=np.float64)
    density = np.ones_like(X)
    density[:, 1:] = conditional(X[:, 1:], X[:, :-1], frequency)
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


def training_and_test(
    n: int, d: int, run: int, frequency: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return n training rows and 2000 test rows of one repetition.

    The training rows are the first n of the same sequence for every n, and the columns the first d
    of the same chain for every d; the test rows do not depend on n.

    Parameters
    ----------
    n
        Up to 8000.
    d
        Columns.
    run
        Number of the repetition.
    frequency
        a = b.

    Raises
    ------
    ValueError
        If n is not in 2...8000, or d is not positive.
    """
    if not 2 <= n <= MOST_GRID_ROWS:
        raise ValueError(f"grid data have 2 to {MOST_GRID_ROWS} training rows; got grid-{n}")
    if d < 1:
        raise ValueError(f"grid data need at least 1 column; got {d}")
    # The number of draws that rejection takes depends on the number of rows: blocks of one size.
    blocks = [
        sample(GRID_ROWS, d, "train", run, *names, frequency=frequency)
        for names in [(), *(("block", k) for k in range(1, -(-n // GRID_ROWS)))]
    ]
    test = sample(TEST_ROWS, d, "test", run, frequency=frequency)
    return np.concatenate(blocks)[:n], test
