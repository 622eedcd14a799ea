"""Clocks, and how often something is run to be timed."""

import time
from collections.abc import Callable

import numpy as np

from kcde.arrays import asarray, to_numpy

ENOUGH, MOST = 10.0, 5
"""Runs are repeated while they take fewer seconds than this together, up to so many times."""


def name(backend: str) -> str:
    """Return which clock is read: other processes do not count in a processor's."""
    return "processor" if backend == "numpy" else "wall"


def fastest(prepare: Callable, run: Callable, backend: str) -> tuple[float, int]:
    """Return the shortest of some runs, seconds, and their number.

    A device is waited for before and after each run; its first run, which compiles kernels and
    takes memory, is never the only one.

    Parameters
    ----------
    prepare
        Makes what `run` takes, anew for each run, which may overwrite it.
    run
        What is timed.
    backend
        "numpy" or "cupy".
    """
    clock = time.process_time if name(backend) == "processor" else time.perf_counter
    least = 1 if backend == "numpy" else 2
    seconds = []
    while len(seconds) < least or (len(seconds) < MOST and sum(seconds) + seconds[-1] < ENOUGH):
        state = prepare()
        wait(backend)
        start = clock()
        result = run(state)
        wait(backend)
        seconds.append(clock() - start)
        del state, result
    return min(seconds), len(seconds)


def spent(seconds: float, backend: str) -> float:
    """Return about how long `fastest` takes for something that takes so many seconds once."""
    least = 1 if backend == "numpy" else 2
    return seconds * max(least, min(MOST, ENOUGH // max(seconds, 1e-9)))


def wait(backend: str) -> None:
    """Wait until a device has done all it was told: a number is fetched from the end of its queue.

    On numpy nothing is ever queued.
    """
    if backend != "numpy":
        to_numpy(asarray(np.zeros(1), backend))
