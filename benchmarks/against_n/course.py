"""What is measured, smaller n first, how long it will take, and where it stops."""

import gc
from collections.abc import Sequence
from dataclasses import dataclass, field

from against_n import clock
from against_n.ceilings import Ceilings
from against_n.operations import SOLVE, Contender, Problem
from against_n.table import MEASURED, NOT_RUN, Row, Table, versions
from kcde.arrays.factors import MOST_ON_DEVICE

_OVER_CEILING = 3.0
"""A first guess at how much longer something takes than it could; its first point corrects it."""


@dataclass
class Course:
    """The points of a backend that are not in its table yet.

    A contender whose next point does not fit into memory, would take too long, or fails stops
    there with a row that says why; the others go on.

    Attributes
    ----------
    table
        Where the points go.
    backend
        "numpy" or "cupy".
    ceilings
        Of this machine, for guesses.
    contenders
        What is measured.
    largest
        n beyond which nothing is measured.
    limit
        Seconds that a single run may be expected to take.
    free
        Bytes that may be taken.
    """

    table: Table
    backend: str
    ceilings: Ceilings
    contenders: Sequence[Contender]
    largest: float
    limit: float
    free: int
    _stopped: set[Contender] = field(default_factory=set, init=False)

    def announce(self) -> None:
        """Print what is to be measured and about how long it takes."""
        print(f"{'operation':12}{'by':22}{'n':>18}{'about':>10}")
        for contender in self.contenders:
            sizes = [n for n, c in self._ahead() if c is contender]
            if sizes:
                span, spent = f"{sizes[0]} to {sizes[-1]}", f"{self._remaining([contender]):.0f} s"
                print(f"{contender.operation.name:12}{contender.name:22}{span:>18}{spent:>10}")
        print(
            f"about {self._remaining(self.contenders):.0f} s in all with a processor of one's own, "
            f"guessed from the ceilings and the points that are there; no run beyond "
            f"{self.limit:g} s, {self.free / 1e9:.1f} GB of memory may be taken"
        )

    def run(self) -> list[Row]:
        """Measure all points; return the rows of what failed for no reason foreseen."""
        failed, problem = [], None
        for n, contender in self._points():
            if contender in self._stopped:
                continue
            if problem is None or problem.n != n:
                problem = Problem(n, self.backend)
            row = self._row(contender, n)
            if reason := self._obstacle(contender, n):
                row = self.table.add(row._replace(status=NOT_RUN, detail=reason))
            else:
                row = self.table.add(self._measure(row, contender, problem))
                failed += [row] if row.status not in (MEASURED, NOT_RUN) else []
            if row.status != MEASURED:
                self._stopped.add(contender)
            self._report(row)
        return failed

    def _points(self) -> list[tuple[int, Contender]]:
        """Return what is not measured yet, by n."""
        points = [
            (n, contender)
            for contender in self.contenders
            for n in contender.operation.sizes
            if n <= self.largest
            and self.table.get(contender.operation.name, contender.name, n) is None
        ]
        return sorted(points, key=lambda point: point[0])

    def _ahead(self) -> list[tuple[int, Contender]]:
        """Return the points that nothing known stands against."""
        return [
            (n, contender)
            for n, contender in self._points()
            if contender not in self._stopped and not self._obstacle(contender, n)
        ]

    def _remaining(self, contenders: Sequence[Contender]) -> float:
        """Return about how many seconds all runs of the points ahead take."""
        return sum(
            clock.spent(self._expected(contender, n) / contender.times, self.backend)
            for n, contender in self._ahead()
            if contender in contenders
        )

    def _obstacle(self, contender: Contender, n: int) -> str:
        """Return what is known beforehand to stand against a point."""
        if self.backend == "cupy" and contender.operation.factorised(n) > MOST_ON_DEVICE:
            return f"cupy's interface factorises up to {MOST_ON_DEVICE} rows"
        needed = 8 * contender.operation.held(n)
        if needed > self.free:
            return f"holds {needed / 1e9:.1f} GB and more; {self.free / 1e9:.1f} GB may be taken"
        expected = self._expected(contender, n) / contender.times
        if contender.operation.fitted:
            expected = max(expected, self._expected(contender._replace(operation=SOLVE), n))
        if expected > self.limit:
            return f"about {expected:.0f} s expected; the limit is {self.limit:g} s (--seconds)"
        return ""

    def _expected(self, contender: Contender, n: int) -> float:
        """Return the seconds of a point from the largest one up to it, in the ceilings' ratio."""
        operation = contender.operation
        least = self.ceilings.seconds(operation, n)
        curve = self.table.curve(operation.name, contender.name)
        known = [point for point in curve if point[0] <= n]
        if not known:
            return _OVER_CEILING * least
        before, seconds = known[-1]
        return seconds * least / self.ceilings.seconds(operation, before)

    def _measure(self, row: Row, contender: Contender, problem: Problem) -> Row:
        """Return the row filled in, or with the reason why it is not."""
        try:
            seconds, runs = clock.fastest(
                lambda: contender.prepare(problem), contender.run, self.backend
            )
            known = versions(contender.packages)
        except ImportError as error:
            return row._replace(status=NOT_RUN, detail=f"{error.name} cannot be imported")
        except MemoryError as error:
            return row._replace(status=NOT_RUN, detail=f"out of memory: {error}")
        except Exception as error:
            # What fails in one library is not to end a run of the others on a rented machine.
            return row._replace(status="failed", detail=f"{type(error).__name__}: {error}")
        finally:
            gc.collect()
        seconds *= contender.times
        return row._replace(
            seconds=seconds,
            runs=runs,
            gflop_per_s=contender.operation.flops(problem.n) / seconds / 1e9,
            gb_per_s=contender.operation.bytes(problem.n) / seconds / 1e9,
            versions=known,
        )

    def _row(self, contender: Contender, n: int) -> Row:
        named = contender.operation.name, contender.name
        return Row(*named, n, clock=clock.name(self.backend))

    def _report(self, row: Row) -> None:
        found = row.detail
        if row.status == MEASURED:
            rates = f"{row.gflop_per_s:8.3g} GFLOP/s {row.gb_per_s:8.3g} GB/s"
            left = self._remaining(self.contenders)
            found = f"{row.seconds:10.4g} s {rates}, {row.runs} runs; about {left:.0f} s to go"
        print(f"{row.operation:12}{row.implementation:22}{row.n:>9} {found}", flush=True)
