"""The parts that compute without a clock, on answers that are known; seconds to run."""

import tempfile
from pathlib import Path

import numpy as np

from against_n import ceilings, figure
from against_n.bars import LARGE, ON_DEVICE, bars
from against_n.exponents import fit
from against_n.operations import OPERATIONS
from against_n.table import NOT_RUN, Row, Table, read

_SIZES = (1000, 2000, 4000, LARGE, ON_DEVICE)


def all_of_it() -> None:
    """Run all checks.

    Raises
    ------
    AssertionError
        If one does not hold.
    """
    exponents()
    with tempfile.TemporaryDirectory() as folder:
        resumed(Path(folder))
        decided_and_drawn(Path(folder))
    print("exponents, resuming, bars and the figure are as they should be")


def exponents() -> None:
    """A power law comes back, with numpy's standard error where it is noisy."""
    law = fit([(n, 3e-9 * n**2.5) for n in _SIZES])
    assert np.isclose(law.value, 2.5)
    assert law.stderr < 1e-12
    assert law.points == 3
    noisy = [(n, n**2.5 * (1.2 if n % 3 else 1.0)) for n in _SIZES[-3:]]
    slope, covariance = np.polyfit(*np.log(np.array(noisy)).T, 1, cov=True)
    law = fit(noisy)
    assert np.isclose(law.value, slope[0])
    assert np.isclose(law.stderr, np.sqrt(covariance[0, 0]))
    assert fit(noisy[:2]) is None


def resumed(folder: Path) -> None:
    """What was measured is kept, what was not is tried again, another device is refused."""
    path = folder / "table.csv"
    first = Table(path, "one", resume=False)
    kept = first.add(Row("solve", "kcde", 500, 0.25, 3, "processor"))
    first.add(Row("solve", "kcde", 1000, status=NOT_RUN, detail="no time, no memory"))
    again = Table(path, "one", resume=True)
    assert again.rows == [kept]
    assert not Table(path, "one", resume=False).rows
    try:
        Table(path, "another", resume=True)
    except ValueError:
        return
    raise AssertionError("times of two devices went into one table")


def decided_and_drawn(folder: Path) -> None:
    """Bars follow from made-up seconds, and the same results make the same figure."""
    rows = {backend: _made_up(folder, backend, rate) for backend, rate in _RATES.items()}
    values = {bar.bar: float(bar.found) for bar in bars(*rows.values()) if bar.found}
    at_rate = ceilings.of(rows["cupy"])
    assert list(values.values()) == [1.0, 1.0, 1.0, 50.0], values
    assert at_rate.gemm == _RATES["cupy"] * 1e9
    assert not any(bar.found for bar in bars([], []))
    pictures = [
        [path.read_bytes() for path in figure.draw(rows, folder / name)] for name in ("a", "b")
    ]
    assert pictures[0] == pictures[1]


_RATES = {"numpy": 50.0, "cupy": 5000.0}  # GFLOP/s


def _made_up(folder: Path, backend: str, rate: float) -> list[Row]:
    """Return the table of a machine on which everything runs at the rate of matrix products."""
    table = Table(folder / f"{backend}.csv", backend, resume=False)
    table.add(Row("gemm", backend, 1000, 2.0 / rate, 1, gflop_per_s=rate))
    table.add(Row("copy", backend, 1000, 1.0, 1, gb_per_s=rate))
    peer = "scipy" if backend == "numpy" else "cupy"
    for operation in OPERATIONS:
        names = ["kcde", f"{peer}, 5 Choleskys" if operation.name == "tuning" else peer]
        for name in names:
            for n in _SIZES:
                table.add(Row(operation.name, name, n, operation.flops(n) / rate / 1e9, 1))
    return read(table.path)
