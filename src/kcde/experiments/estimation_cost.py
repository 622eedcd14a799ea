"""The cost of estimation: doubly dual embedding against score matching (dde, section 4).

The exact kernel exponential family solves a system of n d unknowns, O(n³d³) time and O(n²d²)
memory; with the Nyström basis of m points one of m d. Doubly dual embedding takes gradient steps on
batches: its cost a step grows with n, and its steps are many. Here one fit of each, at given
hyper-parameters, on n points in two dimensions and on 500 points in d.
"""

from dataclasses import dataclass

from kcde import scores
from kcde.experiments import _measured_fit
from kcde.experiments.base import Experiment, Outcome, attempt, sized
from kcde.methods import DDE_PLANAR, Method
from kcde.metrics import FIT_SECONDS, PEAK_MEMORY, SYSTEM_MEMORY
from kcde.names import AS_PUBLISHED, OURS
from kcde.seeding import row_seed

ROWS = (500, 1000, 2000, 5000, 10_000)
DIMS = (2, 5, 10, 20)

# Iterations of doubly dual embedding that the reported seconds stand for.
ITERATIONS = 5000

# Maximum size of the exact system in bytes.
LARGEST_SYSTEM = 2 * 2**30

# Without the penalty as in the authors' code, with it, and with random features (algorithm 3);
# exact score matching (KCEF without x is the exact KEF) and Nyström score matching. The bandwidth
# of each is √d.
METHODS = {
    "DDE": Method("DDE", AS_PUBLISHED, DDE_PLANAR | {"regularization": 0.0}),
    "DDE-penalised": Method("DDE", OURS, DDE_PLANAR),
    "DDE-features": Method("DDE", OURS, DDE_PLANAR | {"basis": "features", "features": 1000}),
    "KEF": Method("KCEF", AS_PUBLISHED, {"bandwidth_x": 1.0, "regularization": 1e-3}),
    "KEF-nystrom": Method("KEF", AS_PUBLISHED, {"regularization": 1e-3, "n_basis": 300}),
}


@dataclass(frozen=True)
class EstimationCost(Experiment):
    """Memory and seconds of a fit of each method; needs no data.

    Rows have the metrics `peak_memory` and `fit_seconds`, of processor time on one thread; of
    doubly dual embedding also `seconds_per_iteration` and `compile_seconds`, of the exact family
    also `system_memory`, the 8 n²d² bytes of its system. Where those are more than
    `LARGEST_SYSTEM` it is not run: failed rows that say so.

    Those iterations that a job names are run twice, and twice as many; the seconds of `ITERATIONS`
    are extrapolated.
    """

    name = "estimation_cost"

    points: int = sized(500, 10_000, 10_000, "Largest number of points.", at_least=ROWS[0])
    dims: int = sized(2, 20, 20, "Largest number of dimensions.", at_least=DIMS[0])
    iterations: int = sized(20, 100, 500, "Iterations of DDE that are timed.", at_least=1)

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimators whose code it runs."""
        return sorted({each.estimator for each in METHODS.values()})

    def open(self) -> list[tuple[int, int]]:
        """Return the (n, d) that are run: n in the fewest dimensions, d with the fewest points."""
        along_n = [(n, DIMS[0]) for n in ROWS if n <= self.points]
        return along_n + [(ROWS[0], d) for d in DIMS[1:] if d <= self.dims]

    def count(self) -> int:
        """Return how many sizes there are."""
        return len(self.data)

    def outcome(self, unit: int) -> Outcome:
        """Measure every method at a size, each in its own process."""
        return Outcome([row for name in METHODS for row in self._measured(name, *self.data[unit])])

    def _measured(self, name: str, n: int, d: int) -> list[dict]:
        """Return the rows of a method at a size."""
        fit = METHODS[name]
        iterations = {"iterations": ITERATIONS} if fit.estimator == "DDE" else {}
        row = self.row(0, dataset="hypercube", dim=d, n_train=n, backend="numpy")
        row |= {"method": name, "variant": fit.variant, "setting": scores.setting(**iterations)}
        row |= {"seed": row_seed("hypercube", n, d)}
        known, system = [], 8 * (n * d) ** 2
        if name == "KEF":
            known = [row | {"metric": SYSTEM_MEMORY, "unit": "MiB", "value": system / 2**20}]
            if system > LARGEST_SYSTEM:
                why = f"not run: its system would take {system / 2**30:.1f} GiB, more than the "
                return known + _without(row, f"{why}{LARGEST_SYSTEM / 2**30:.0f} GiB allowed")
        asked = {"estimator": fit.estimator, "n": n, "d": d}
        asked["options"] = fit.options | {"bandwidth_y": d**0.5}
        if iterations:
            asked |= {"measured": self.iterations, "wanted": ITERATIONS}
        found, seconds = attempt(_measured_fit.in_own_process, asked)
        if isinstance(found, Exception):
            return known + _without(row, str(found))
        row["seconds"] = seconds
        units = {metric: "MiB" if metric == PEAK_MEMORY else "s" for metric in found}
        return known + [row | each for each in scores.cells(units, found.values())]


def _without(row: dict, reason: str) -> list[dict]:
    """Return the two rows of a fit that gave no numbers."""
    failed = row | {"value": None, "status": "failed", "detail": reason}
    return [failed | {"metric": PEAK_MEMORY, "unit": "MiB"}, failed | {"metric": FIT_SECONDS}]
