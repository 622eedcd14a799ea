"""Seeds as functions of named axes: the same names, the same stream, on every machine."""

import hashlib

import numpy as np


def seed_of(*names: object) -> int:
    """Return a 64-bit seed that depends on the names alone.

    Parameters
    ----------
    *names
        What the stream belongs to, e.g. `"split", "geyser", 3`. Their `str` counts.

    Returns
    -------
    int
        In [0, 2**64).
    """
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def split_seed(dataset: str, split: int) -> int:
    """Return a seed of (data set, split) alone, small enough to survive any CSV reader."""
    return seed_of("split", dataset, split) % 2**32


def rng_of(*names: object) -> np.random.Generator:
    """Return a generator seeded by `seed_of(*names)`."""
    return np.random.default_rng(seed_of(*names))
