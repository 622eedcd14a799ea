"""Seeds as functions of named axes: the same names, the same stream, on every machine."""

import hashlib
from numbers import Integral

import numpy as np


def seed_of(*names: object) -> int:
    """Return a 64-bit seed that depends on the names alone.

    Parameters
    ----------
    *names
        What the stream belongs to, e.g. `"split", "geyser", 3`: texts, numbers, None, and tuples of
        these. Their `str` counts.

    Returns
    -------
    int
        In [0, 2**64).

    Raises
    ------
    ValueError
        If a name is of another type.
    """
    for name in names:
        _check(name)
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def row_seed(*names: object) -> int:
    """Return a seed of names that is small enough to survive any CSV reader."""
    return seed_of(*names) % 2**32


def split_seed(dataset: str, split: int) -> int:
    """Return a seed of (data set, split) alone, for the rows of scores."""
    return row_seed("split", dataset, split)


def _check(name: object) -> None:
    """Refuse what has a state, or an address, in the place of a text of its own."""
    if isinstance(name, tuple):
        for part in name:
            _check(part)
    elif not (name is None or isinstance(name, (str, int, float, np.generic))):
        raise ValueError(
            f"seeds are made of texts and numbers; got {name!r}: give random_state a whole number"
        )


def rng_of(*names: object) -> np.random.Generator:
    """Return a generator seeded by `seed_of(*names)`."""
    return np.random.default_rng(seed_of(*names))


def generator(random_state: object) -> np.random.Generator:
    """Return the source of draws: a numpy Generator as it is, or that of a whole number."""
    whole = isinstance(random_state, Integral) and random_state >= 0
    if not whole and not isinstance(random_state, np.random.Generator):
        wanted = "a whole number or a numpy Generator"
        raise ValueError(f"random_state must be {wanted}; got {random_state!r}")
    return np.random.default_rng(random_state)
