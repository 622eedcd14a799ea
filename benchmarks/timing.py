"""Timing two things against each other in one run.

To be imported before numpy: it sets the number of numerical threads to one, so that the ratios are
of algorithms, not of thread counts.
"""

import csv
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"


def fastest(
    function: Callable[[], object],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return the shortest of `repeats` runs, seconds: the one least disturbed by others."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        function()
        seconds.append(clock() - start)
    return min(seconds)


def write(path: Path, rows: Sequence[dict]) -> None:
    """Write rows to a CSV and show them."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(path.read_text(), end="")
