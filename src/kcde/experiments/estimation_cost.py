"""What estimation costs: doubly dual embedding against score matching (dde, section 4).

The exact kernel exponential family solves a system of n d unknowns, O(n³d³) time and O(n²d²)
memory; with the Nyström basis of m points one of m d. Doubly dual embedding takes gradient steps on
batches: its cost a step grows with n, and its steps are many. Here one fit of each, at given
hyper-parameters, on n points in two dimensions and on 500 points in d.
"""

import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

from kcde.experiments import measured_fit, scores
from kcde.provenance import digest, estimator_module
from kcde.seeding import seed_of

log = logging.getLogger(__name__)

EXPERIMENT = "estimation_cost"
ROWS = (500, 1000, 2000, 5000, 10_000)
DIMS = (2, 5, 10, 20)
FEWEST_ROWS, FEWEST_DIMS = ROWS[0], DIMS[0]
ITERATIONS = 5000
"""Of doubly dual embedding: the seconds are those of so many."""

LARGEST_SYSTEM = 2 * 2**30
"""Bytes that the exact system may take."""

PEAK, SECONDS = "peak_memory", "fit_seconds"
_UNITS = {
    "peak_memory": (PEAK, "MiB"),
    "seconds": (SECONDS, "s"),
    "seconds_per_iteration": ("seconds_per_iteration", "s"),
    "compile_seconds": ("compile_seconds", "s"),
}
NEEDED = "system_memory"

_SHIPPED = {
    "base": "uniform",
    "hidden_units": 128,
    "latent": 128,
    "sampler_layers": 4,
    "dual_layers": 4,
    "validation": 0,
}
"""Sizes of the networks that the authors of dde give their two-dimensional sets."""


@dataclass(frozen=True)
class Method:
    """An estimator with given hyper-parameters.

    Attributes
    ----------
    estimator, variant
        Class, and `as-published` or `ours`.
    options
        Constructor arguments but for the bandwidth, √d for all.
    iterative
        Whether it is trained by iterations.
    """

    estimator: str
    variant: str
    options: dict = field(default_factory=dict)
    iterative: bool = False


METHODS = {
    "DDE": Method("DDE", "as-published", _SHIPPED | {"regularization": 0.0}, True),
    "DDE-penalised": Method("DDE", "ours", _SHIPPED, True),
    "DDE-features": Method("DDE", "ours", _SHIPPED | {"basis": "features", "features": 1000}, True),
    "KEF": Method("KCEF", "as-published", {"bandwidth_x": 1.0, "regularization": 1e-3}),
    "KEF-nystrom": Method("KEF", "as-published", {"regularization": 1e-3, "n_basis": 300}),
}
"""Without the penalty as in the authors' code, with it, and with random features (algorithm 3);
exact score matching (KCEF without x is the exact KEF) and Nyström score matching."""


def cells(rows: int, dims: int) -> list[tuple[int, int]]:
    """Return the (n, d) that are run: n up to `rows` in 2 dimensions, d up to `dims` at n = 500.

    Raises
    ------
    ValueError
        If not even the smallest are within.
    """
    if rows < FEWEST_ROWS or dims < FEWEST_DIMS:
        raise ValueError(
            f"the smallest size is n = {FEWEST_ROWS} and d = {FEWEST_DIMS}; got {rows} and {dims}"
        )
    along_n = [(n, FEWEST_DIMS) for n in ROWS if n <= rows]
    return along_n + [(FEWEST_ROWS, d) for d in DIMS[1:] if d <= dims]


def run(out: str | Path, rows: int = ROWS[-1], dims: int = DIMS[-1], iterations: int = 100) -> None:
    """Measure every method at every size, each in a process of its own, and write scores.

    Rows have the metrics `peak_memory` and `fit_seconds`, of processor time on one thread; of
    doubly dual embedding also `seconds_per_iteration` and `compile_seconds`, of the exact family
    also `system_memory`, the 8 n²d² bytes of its system. Where those are more than
    `LARGEST_SYSTEM` it is not run: failed rows that say so.

    Parameters
    ----------
    out
        The score CSV.
    rows, dims
        The largest n and d, at least 500 and 2.
    iterations
        Of doubly dual embedding that are run twice, and twice as many; the seconds of
        `ITERATIONS` are extrapolated.

    Raises
    ------
    ValueError
        If the largest sizes or the iterations are too small.
    """
    if iterations < 1:
        raise ValueError(f"iterations must be at least 1; got {iterations}")
    written = []
    for n, d in cells(rows, dims):
        for name, method in METHODS.items():
            written += _cell(name, method, n, d, iterations)
            log.info("n = %d, d = %d: %s", n, d, name)
    info = {
        "source": "dde, section 4",
        "methods": {name: method.options for name, method in METHODS.items()},
        "iterations": ITERATIONS,
        "measured_iterations": iterations,
        "code": digest(__name__, *{estimator_module(m.estimator) for m in METHODS.values()}),
    }
    scores.write(out, written, info)


def system_bytes(n: int, d: int) -> int:
    """Return the bytes of the exact family's system, in whose memory it is factorised: 8 n²d²."""
    return 8 * (n * d) ** 2


def _cell(name: str, method: Method, n: int, d: int, iterations: int) -> list[dict]:
    row, exact = _row(name, method, n, d), name == "KEF"
    needed = {"metric": NEEDED, "unit": "MiB", "value": system_bytes(n, d) / 2**20}
    known = [row | needed] if exact else []
    if exact and system_bytes(n, d) > LARGEST_SYSTEM:
        return known + _without(
            row,
            f"not run: its system would take {system_bytes(n, d) / 2**30:.1f} GiB, more than the "
            f"{LARGEST_SYSTEM / 2**30:.0f} GiB allowed",
        )
    job = {"estimator": method.estimator, "n": n, "d": d}
    job["options"] = method.options | {"bandwidth_y": d**0.5}
    if method.iterative:
        job |= {"measured": iterations, "wanted": ITERATIONS}
    started = time.perf_counter()
    try:
        found = measured_fit.in_own_process(job)
    except measured_fit.FitError as error:
        return known + _without(row, str(error))
    seconds = time.perf_counter() - started
    measured = [
        row | {"metric": metric, "unit": unit, "value": found[key], "seconds": seconds}
        for key, (metric, unit) in _UNITS.items()
        if key in found
    ]
    return known + measured


def _without(row: dict, reason: str) -> list[dict]:
    """Return the two rows of a fit that gave no numbers."""
    failed = {"value": None, "status": "failed", "detail": reason}
    return [row | {"metric": PEAK, "unit": "MiB"} | failed, row | {"metric": SECONDS} | failed]


def _row(name: str, method: Method, n: int, d: int) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": "hypercube",
        "dim": d,
        "setting": scores.setting(iterations=ITERATIONS) if method.iterative else "{}",
        "method": name,
        "variant": method.variant,
        "split": 0,
        "n_train": n,
        "status": "ok",
        "backend": "numpy",
        "dtype": "float64",
        "seed": seed_of("hypercube", n, d) % 2**32,
    }
