"""What was wanted, and what was found."""

from collections.abc import Sequence
from typing import NamedTuple

from against_n import ceilings
from against_n.operations import FOLDS, NAMED
from against_n.table import Row, curve

LARGE = 8000
"""n from which the bars on the host hold."""

ON_DEVICE = 30000
"""n at which the bar on the device's rate holds."""

_HOW = "python benchmarks/scaling.py --backend cupy"
TABLE_2 = (
    "snakemake results/paper/figures/kcef/table2.md --cores all --config scale=paper backend=cupy"
)


class Bar(NamedTuple):
    """A row of the table of bars; what is not known is empty.

    Attributes
    ----------
    bar
        What is compared.
    n
        Rows.
    wanted, found
        Ratios, or shares, but for the last bar.
    met
        "yes" or "no".
    device
        What it was found on.
    how
        The command that finds it.
    """

    bar: str
    n: int | str
    wanted: str
    found: str = ""
    met: str = ""
    device: str = ""
    how: str = "python benchmarks/scaling.py"


def bars(host: Sequence[Row], device: Sequence[Row]) -> list[Bar]:
    """Return all bars, from the results on the host and on a device; either may be empty."""
    return [
        *_on_host(host, "Gram + solve over scipy's Cholesky", ("solve", "cholesky"), "scipy", 1.5),
        *_on_host(
            host,
            f"tuning step over {FOLDS} of scipy's Choleskys of a fold's size",
            ("tuning", "tuning"),
            f"scipy, {FOLDS} Choleskys",
            2.0,
        ),
        _rate(device),
        _over_two_cores(host, device),
        Bar("kcef table 2 on a device, minutes", "of the paper", "at most 10", how=TABLE_2),
    ]


def _on_host(rows, name: str, operations: tuple[str, str], peer: str, most: float) -> list[Bar]:
    """Return a bar for every large n at which both were measured, or an empty one."""
    ours, theirs = dict(curve(rows, operations[0], "kcde")), dict(curve(rows, operations[1], peer))
    empty = Bar(name, f"from {LARGE}", f"at most {most:g}")
    found = [
        _decided(empty._replace(n=n), ours[n] / theirs[n], ours[n] <= most * theirs[n], rows)
        for n in ours
        if n >= LARGE and n in theirs
    ]
    return found or [empty]


def _rate(rows: Sequence[Row]) -> Bar:
    least, solved, found = 0.6, dict(curve(rows, "solve", "kcde")), ceilings.of(rows)
    name = "Gram + solve on a device, n³/3 operations, share of the rate of matrix products"
    empty = Bar(name, ON_DEVICE, f"at least {least:g}", how=_HOW)
    if found is None or ON_DEVICE not in solved:
        return empty
    share = NAMED["solve"].flops(ON_DEVICE) / solved[ON_DEVICE] / found.gemm
    return _decided(empty, share, share >= least, rows)


def _over_two_cores(host: Sequence[Row], device: Sequence[Row]) -> Bar:
    """Return the bar against half of one core's time, which no two cores stay below.

    Their own time is not measured: on a machine that others share, threads that wait for each other
    show more than it is, on any clock, and would flatter the device.
    """
    least = 20.0
    slow, fast = (dict(curve(rows, "solve", "kcde")).get(LARGE) for rows in (host, device))
    name = "Gram + solve, half the time on one core over a device"
    empty = Bar(name, LARGE, f"at least {least:g}", how=f"python benchmarks/scaling.py; {_HOW}")
    if slow is None or fast is None:
        return empty
    ratio = slow / 2.0 / fast
    return _decided(empty, ratio, ratio >= least, [*host, *device])


def _decided(bar: Bar, value: float, met: bool, rows: Sequence[Row]) -> Bar:
    devices = " and ".join(dict.fromkeys(row.device for row in rows))
    return bar._replace(found=f"{value:.3g}", met="yes" if met else "no", device=devices)
