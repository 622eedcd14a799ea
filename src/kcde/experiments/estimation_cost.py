"""The cost of estimation: doubly dual embedding against score matching (dde, section 4).

The exact kernel exponential family solves a system of n d unknowns, O(n³d³) time and O(n²d²)
memory; with the Nyström basis of m points one of m d. Doubly dual embedding takes gradient steps on
batches: its cost a step grows with n, and its steps are many. Here one fit of each, at given
hyper-parameters, on n points in two dimensions and on 500 points in d.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kcde import scores
from kcde.experiments import _measured_fit, runner
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.estimation_cost import DIMS, ITERATIONS, ROWS, Job
from kcde.metrics.names import FIT_SECONDS, PEAK_MEMORY, SYSTEM_MEMORY
from kcde.provenance import digest, estimator_module
from kcde.seeding import seed_of

FEWEST_ROWS, FEWEST_DIMS = ROWS[0], DIMS[0]
LARGEST_SYSTEM = 2 * 2**30
"""Maximum size of the exact system in bytes."""

_UNITS = {
    "peak_memory": (PEAK_MEMORY, "MiB"),
    "seconds": (FIT_SECONDS, "s"),
    "seconds_per_iteration": ("seconds_per_iteration", "s"),
    "compile_seconds": ("compile_seconds", "s"),
}

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
        Constructor arguments without the bandwidth, which is √d for all.
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


class Experiment(runner.Experiment[Job]):
    """Rows have the metrics `peak_memory` and `fit_seconds`, of processor time on one thread; of
    doubly dual embedding also `seconds_per_iteration` and `compile_seconds`, of the exact family
    also `system_memory`, the 8 n²d² bytes of its system. Where those are more than
    `LARGEST_SYSTEM` it is not run: failed rows that say so.

    Those iterations that a job names are run twice, and twice as many; the seconds of `ITERATIONS`
    are extrapolated.
    """

    def open(self) -> list[tuple[int, int]]:
        """Return the sizes that are run."""
        return cells(self.job.rows, self.job.dims)

    def count(self) -> int:
        """Return how many sizes there are."""
        return len(self.data)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that measures every method at a size, each in its own process."""
        job = self.job

        def work(unit: int) -> Outcome:
            n, d = self.data[unit]
            each = [_cell(job, name, method, n, d) for name, method in METHODS.items()]
            return Outcome([row for rows in each for row in rows])

        return work

    def info(self, job: Job) -> dict:
        """Return the information that is known before the job runs."""
        return {
            "source": "dde, section 4",
            "methods": {name: method.options for name, method in METHODS.items()},
            "iterations": ITERATIONS,
            "measured_iterations": job.iterations,
            "code": digest(__name__, *{estimator_module(m.estimator) for m in METHODS.values()}),
        }

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return nothing: nothing is chosen."""
        return {}


def system_bytes(n: int, d: int) -> int:
    """Return the bytes of the exact family's system, in whose memory it is factorised: 8 n²d²."""
    return 8 * (n * d) ** 2


def _cell(job: Job, name: str, method: Method, n: int, d: int) -> list[dict]:
    row, exact = _row(job, name, method, n, d), name == "KEF"
    needed = {"metric": SYSTEM_MEMORY, "unit": "MiB", "value": system_bytes(n, d) / 2**20}
    known = [row | needed] if exact else []
    if exact and system_bytes(n, d) > LARGEST_SYSTEM:
        return known + _without(
            row,
            f"not run: its system would take {system_bytes(n, d) / 2**30:.1f} GiB, more than the "
            f"{LARGEST_SYSTEM / 2**30:.0f} GiB allowed",
        )
    asked = {"estimator": method.estimator, "n": n, "d": d}
    asked["options"] = method.options | {"bandwidth_y": d**0.5}
    if method.iterative:
        asked |= {"measured": job.iterations, "wanted": ITERATIONS}
    started = time.perf_counter()
    try:
        found = _measured_fit.in_own_process(asked)
    except _measured_fit.FitError as error:
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
    return [
        row | {"metric": PEAK_MEMORY, "unit": "MiB"} | failed,
        row | {"metric": FIT_SECONDS} | failed,
    ]


def _row(job: Job, name: str, method: Method, n: int, d: int) -> dict:
    iterations = {"iterations": ITERATIONS} if method.iterative else {}
    return job.row(
        0,
        dataset="hypercube",
        dim=d,
        setting=scores.setting(**iterations),
        method=name,
        variant=method.variant,
        n_train=n,
        backend="numpy",
        seed=seed_of("hypercube", n, d) % 2**32,
    )
