"""Time against n of what a fit is made of, beside peers and beside what the machine allows.

Gram matrix, Cholesky, Gram matrix and solve of KCEF, one step of its tuning, its log likelihood,
and the pivoted Cholesky, in float64. On the CPU with one thread, in processor time, since others
may share the machine, and with the allocator set as the workflow sets it; on a GPU in the time
until the device has finished, after a run to warm up. Ceilings are measured in the same run: the
product of two large square matrices, and a copy. They bound the terms of an operation that grow
fastest; the exponentials of a kernel are in no ceiling.

Run: python benchmarks/scaling.py [--backend cupy] [--largest N] [--only OPERATION ...] [--resume]

Results go to benchmarks/results/: scaling-<backend>.csv, written after every point; from the files
of all backends that are there scaling.png and .pdf, the fitted exponents in scaling-exponents.csv
and the bars in scaling-bars.csv. A point that --seconds, --largest or the memory rules out, and a
peer that cannot be imported, are rows that say so. How long all will take is printed first.
"""

import argparse
import os
import sys
from pathlib import Path

import timing  # noqa: F401

from against_n import ceilings, check, figure, machine, table
from against_n.bars import Bar, bars
from against_n.course import Course
from against_n.exponents import Fitted, exponents
from against_n.operations import NAMED, ours
from against_n.peers import peers

from kcde.arrays import resolve_backend

OUT = Path(__file__).parent / "results"

MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
"""What the workflow gives its jobs: glibc keeps freed memory, whose pages need no zeroing again."""


def main() -> int:
    """Measure, write and draw; return how many implementations failed."""
    given = arguments()
    if not MALLOC.keys() <= os.environ.keys():
        os.execve(sys.executable, sys.orig_argv, os.environ | MALLOC)
    if given.check:
        check.all_of_it()
        return 0
    failed = [] if given.draw else measure(given)
    conclude(given.out)
    for row in failed:
        print(f"failed: {row.operation} by {row.implementation}: {row.detail}", file=sys.stderr)
    return len(failed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", choices=("numpy", "cupy"), default="numpy")
    parser.add_argument("--largest", type=int, metavar="N", help="default: what fits the memory")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="a point is not begun where one run of it is expected to take longer (default 60); "
        "runs are repeated up to 5 times within 10 seconds",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=tuple(NAMED),
        default=tuple(NAMED),
        metavar="OPERATION",
        help=f"of {', '.join(NAMED)} (default all)",
    )
    parser.add_argument("--resume", action="store_true", help="keep the points measured before")
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER")
    parser.add_argument("--draw", action="store_true", help="measure nothing, draw what is there")
    parser.add_argument("--check", action="store_true", help="check the parts on known answers")
    return parser.parse_args()


def measure(given: argparse.Namespace) -> list[table.Row]:
    """Measure what is missing; return what failed."""
    backend = resolve_backend(given.backend)
    results = table.Table(_results(given.out, backend), machine.device(backend), given.resume)
    found = ceilings.measured(results, backend)
    print(f"{results.device}: {found}")
    both = [*ours(backend), *peers(backend)]
    course = Course(
        results,
        backend,
        found,
        contenders=[c for c in both if c.operation.name in given.only],
        largest=given.largest or float("inf"),
        limit=given.seconds,
        free=machine.allowance(backend),
    )
    course.announce()
    return course.run()


def conclude(folder: Path) -> None:
    """Write exponents, bars and the figure from the results that are there."""
    rows = {backend: table.read(_results(folder, backend)) for backend in ("numpy", "cupy")}
    found = exponents(rows)
    table.write(folder / "scaling-exponents.csv", Fitted, found)
    decided = bars(rows["numpy"], rows["cupy"])
    table.write(folder / "scaling-bars.csv", Bar, decided)
    for bar in decided:
        found = f"{bar.found} on {bar.device}" if bar.found else "not run"
        print(f"{bar.bar} (n {bar.n}): {bar.wanted} wanted, {found}")
    figure.draw(rows, folder / "scaling")


def _results(folder: Path, backend: str) -> Path:
    return folder / f"scaling-{backend}.csv"


if __name__ == "__main__":
    sys.exit(main())
