"""How fast the machine multiplies and copies: no operation can be faster than both allow."""

from collections.abc import Callable
from typing import NamedTuple

from against_n import clock
from against_n.operations import Operation
from against_n.table import Row, Table, versions
from kcde.arrays import asarray
from kcde.seeding import rng_of

SIDE = {"numpy": 4000, "cupy": 16000}
"""Rows of the square matrices multiplied."""

COPIED = {"numpy": 1 << 25, "cupy": 1 << 28}
"""Numbers copied, far beyond any cache."""


class Ceilings(NamedTuple):
    """Rates in float64.

    Attributes
    ----------
    gemm
        Floating point operations a second of a product of large square matrices.
    copy
        Bytes a second, read and written, from one array into another.
    """

    gemm: float
    copy: float

    def __str__(self) -> str:
        return f"GEMM {self.gemm / 1e9:,.1f} GFLOP/s, copying {self.copy / 1e9:,.1f} GB/s"

    def seconds(self, operation: Operation, n: float) -> float:
        """Return the least time that an operation can take."""
        return max(operation.flops(n) / self.gemm, operation.bytes(n) / self.copy)

    def lines(self, operation: Operation) -> dict[str, Callable[[float], float]]:
        """Return by the name of each ceiling the least time that it allows, a function of n."""
        return {
            f"GEMM {self.gemm / 1e9:,.0f} GFLOP/s": lambda n: operation.flops(n) / self.gemm,
            f"copying {self.copy / 1e9:,.0f} GB/s": lambda n: operation.bytes(n) / self.copy,
        }


def of(rows: list[Row]) -> Ceilings | None:
    """Return the ceilings that a table holds, or None."""
    found = {row.operation: row for row in rows if row.operation in ("gemm", "copy")}
    if len(found) < 2:
        return None
    return Ceilings(1e9 * found["gemm"].gflop_per_s, 1e9 * found["copy"].gb_per_s)


def measured(table: Table, backend: str) -> Ceilings:
    """Return the ceilings, measured and added to the table unless it has them."""
    if table.get("gemm", backend, SIDE[backend]) is None:
        side = SIDE[backend]
        factors = _normal("left", (side, side), backend), _normal("right", (side, side), backend)
        row = _timed("gemm", side, lambda: factors[0] @ factors[1], backend)
        table.add(row._replace(gflop_per_s=2e-9 * side**3 / row.seconds))
    if table.get("copy", backend, COPIED[backend]) is None:
        count = COPIED[backend]
        source, target = _normal("source", count, backend), _normal("target", count, backend)

        def copy() -> None:
            target[...] = source

        row = _timed("copy", count, copy, backend)
        table.add(row._replace(gb_per_s=16e-9 * count / row.seconds))
    return of(table.rows)


def _normal(name: str, shape, backend: str):
    return asarray(rng_of("scaling", name).standard_normal(shape), backend)


def _timed(name: str, n: int, work: Callable, backend: str) -> Row:
    seconds, runs = clock.fastest(lambda: None, lambda _: work(), backend)
    which = clock.name(backend)
    return Row(name, backend, n, seconds, runs, which, versions=versions([backend]))
