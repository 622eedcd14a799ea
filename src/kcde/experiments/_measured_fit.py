"""One fit, measured in a process of its own: seconds, and the peak of its memory.

`in_own_process` starts a new process for each fit, because the peak memory of a
process never decreases. Training by iterations is measured on a few and extrapolated.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from kcde.estimators import estimator_class
from kcde.metrics import FIT_SECONDS, PEAK_MEMORY
from kcde.seeding import rng_of

_STATUS = Path("/proc/self/status")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC")
_NOISE = 0.1
_PRINTED = "import json, sys; print(json.dumps(measure(json.loads(sys.argv[1]))))"


class FitError(ValueError):
    """A fit in another process failed; the message says why."""


def in_own_process(job: Mapping, module: str = __name__) -> dict[str, float]:
    """Return what the `measure` of a module gives for a job, JSON, in a process with one thread."""
    # What the workflow tells glibc to keep would count as memory that the fit needs.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    environment |= dict.fromkeys(_THREADS, "1")
    command = [sys.executable, "-c", f"from {module} import measure; {_PRINTED}", json.dumps(job)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        raise FitError(f"its process was killed by signal {-done.returncode}; 9: memory ran out")
    if done.returncode:
        raise FitError((done.stderr.strip().splitlines() or ["it said nothing"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def measure(job: Mapping) -> dict[str, float]:
    """Measure a fit of `estimator` with `options` to `n` points in `d` dimensions.

    Returns `peak_memory`, MiB beyond the process with its libraries and data, and `fit_seconds` of
    processor time. For training by iterations, of which `measured` are run and `wanted` are asked
    about, also `seconds_per_iteration` and `compile_seconds`, what only the first fit of a shape
    needs.
    """
    cls, Y = estimator_class(job["estimator"]), points(job["n"], job["d"])
    before = peak_memory()

    def fit(**more) -> None:
        cls(**job["options"], **more, standardize=False).fit(None, Y)

    if "wanted" in job:
        found = _iterated(lambda k: fit(iterations=k), job["measured"], job["wanted"])
    else:
        found = {FIT_SECONDS: seconds(fit)}
    return {PEAK_MEMORY: (peak_memory() - before) / 2**20} | found


def points(n: int, d: int) -> np.ndarray:
    """Return n points around d vertices of the unit hypercube, standard deviation 0.1.

    The grid of dde, section 6, in any dimension: the vertices are the unit vectors, equally likely.
    Every column is then centred and scaled to standard deviation 1. Shape (n, d).
    """
    rng = rng_of("hypercube", n, d)
    Y = np.eye(d)[rng.integers(d, size=n)] + _NOISE * rng.standard_normal((n, d))
    return (Y - Y.mean(axis=0)) / Y.std(axis=0)


def peak_memory() -> float:
    """Return the largest resident memory that this process has had, bytes."""
    if _STATUS.exists():
        # Unlike getrusage, this does not begin with the memory of the process that started it.
        with _STATUS.open(encoding="ascii") as lines:
            return 1024.0 * next(int(line.split()[1]) for line in lines if "VmHWM" in line)
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _iterated(fit: Callable[[int], object], measured: int, wanted: int) -> dict[str, float]:
    """Return the seconds of `wanted` iterations from fits of `measured` and twice as many.

    The first compiles; the difference of the next two is that of their iterations alone, without
    what a fit does once.
    """
    first, once, twice = (seconds(lambda k=k: fit(k)) for k in (measured, measured, 2 * measured))
    each = (twice - once) / measured
    if each <= 0:
        raise FitError(f"{2 * measured} iterations took no longer than {measured}: too few")
    found = {FIT_SECONDS: first + (wanted - measured) * each, "seconds_per_iteration": each}
    return found | {"compile_seconds": max(0.0, first - once)}


def seconds(function: Callable[[], object]) -> float:
    """Return seconds of processor time, which other jobs of the machine affect little."""
    started = time.process_time()
    function()
    return time.process_time() - started
