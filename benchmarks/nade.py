"""The time NADE takes: whole selections on R data sets, and networks for all columns of the wines.

Each in a process of its own on one thread, compiling included; the 20 splits and the 5 runs are
those of the experiments. The likelihoods are not stated here: they are in the score tables.

Run: python benchmarks/nade.py FOLDER (of the raw data; about six minutes)
"""

import subprocess
import sys
from pathlib import Path

import timing

from kcde.data.loaders import load
from kcde.estimators import NADE, Standardised
from kcde.experiments.r_benchmark import half_split
from kcde.seeding import rng_of

# The largest two of the 20 R sets, the two in the middle by size, and joint densities.
SELECTIONS = ("heights", "BostonHousing", "mcycle", "birthwt")
JOINTS = (("red-wine", 1), ("red-wine", 5), ("white-wine", 1), ("white-wine", 5))
WANTED = {"heights": 90, "BostonHousing": 90, "mcycle": 20, "birthwt": 20}
WANTED_JOINT = {1: 15, 5: 60}


def select(name: str, folder: Path) -> None:
    """Fit 20 splits, choosing among 12 configurations by 5 folds."""
    data = load(name, folder)
    rows = [half_split(name, split, len(data.Y))[0] for split in range(20)]
    for split, kept in enumerate(rows):
        Standardised(NADE(random_state=split)).fit(data.X[kept], data.Y[kept])


def joint(name: str, runs: int, folder: Path) -> None:
    """Fit networks of 100 units and 10 components on 90% of the rows."""
    Y = load(name, folder).Y
    rows = [
        rng_of("split", name, run).permutation(len(Y))[: len(Y) * 9 // 10] for run in range(runs)
    ]
    for run, kept in enumerate(rows):
        Standardised(NADE(100, 10, random_state=run)).fit(None, Y[kept])


def seconds(*arguments: str) -> float:
    """Run one fit in a process of its own; return what it says it took."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(done.stdout)


def table(folder: str) -> list[dict]:
    cells = [(name, 0, WANTED[name]) for name in SELECTIONS]
    cells += [(name, runs, WANTED_JOINT[runs]) for name, runs in JOINTS]
    return [
        {
            "data": name,
            "networks": runs or 12 * 5 * 20 + 20,
            "seconds": f"{seconds(folder, name, str(runs)):.0f}",
            "wanted": wanted,
        }
        for name, runs, wanted in cells
    ]


if len(sys.argv) == 2:
    timing.write(Path(__file__).with_suffix(".csv"), table(sys.argv[1]))
else:
    folder, name, runs = sys.argv[1:]
    if int(runs):
        print(timing.fastest(lambda: joint(name, int(runs), Path(folder)), 1))
    else:
        print(timing.fastest(lambda: select(name, Path(folder)), 1))
