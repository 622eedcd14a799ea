"""One iteration of DDE's training: one update of f, five of g and fifteen of ν.

On geyser (conditional, the training halves of 20 splits one after the other) and on two moons (1000
points, as the authors' code has it), with the authors' hyper-parameters: milliseconds for a problem
and iteration, and how many times as long the authors' code takes on one thread. Every number is the
difference of a longer and a shorter training, so that neither compiling nor reading counts.

Run: python benchmarks/dde.py FOLDER [--authors FOLDER]

The first FOLDER holds the raw data. The second is a checkout of the authors' code, run as it is; it
needs torch, seaborn and tqdm. Without one of them only ours is timed.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import timing

import numpy as np

from kcde.data import made_up
from kcde.data.loaders import load
from kcde.estimators import DDE
from kcde.experiments.r_benchmark import half_split
from kcde.seeding import rng_of

GEYSER, MOONS = "geyser", "two moons"
WANTED = {1: 4, 2: 8}
ITERATIONS, SPLITS, REPEATS = 200, 20, 2
THEIR_ITERATIONS = 400  # theirs are whole processes, whose start varies by a second
PLANE = {"base": "uniform", "bandwidth_scale": 0.1, "hidden_units": 128, "latent": 128}
PLANE |= {"sampler_layers": 4, "dual_layers": 3}

SCRIPTS = {
    GEYSER: "dde/conditional/r_double_dual.py",
    MOONS: "dde/unconditional/two_moons/two_moons_double_dual.py",
}
SHARED = "-learning_rate 1e-4 -kl_lambda 1 -grad_clip 5 -v_iter 3 -f_depth 3 -batch_size 100"
FLAGS = {
    GEYSER: f"{SHARED} -data_name geyser -nn_hidden_size 64 -z_dim 64 -gen_depth 3 -x_bd 0.5 "
    "-y_bd 0.5 -l2 0 -q0_std 1 -iter_eval 1000000 -verb 0",
    MOONS: f"{SHARED} -nn_hidden_size 128 -z_dim 128 -gen_depth 4 -f_bd 0.1",
}
EPOCHS = {GEYSER: THEIR_ITERATIONS, MOONS: THEIR_ITERATIONS // 10}
"""An epoch has as many iterations as whole batches: 1 of geyser's 149 rows, 10 of 1000 points."""


def problems(name: str, count: int, folder: Path) -> tuple[dict, list, list]:
    """Return options, Xs and Ys."""
    if name == MOONS:
        draws = [rng_of("benchmark", k) for k in range(count)]
        return (
            PLANE,
            [None] * count,
            [made_up.planar_draw("two-moons", 1000, r) for r in draws],
        )
    data = load(GEYSER, folder)
    halves = [half_split(GEYSER, split, len(data.Y))[0] for split in range(count)]
    return {}, [scaled(data.X[rows]) for rows in halves], [scaled(data.Y[rows]) for rows in halves]


def scaled(array: np.ndarray) -> np.ndarray:
    return (array - array.mean(axis=0)) / array.std(axis=0)


def ours(name: str, count: int, folder: Path) -> float:
    """Return seconds of an iteration of all problems together."""
    options, Xs, Ys = problems(name, count, folder)

    def train(iterations: int) -> None:
        given = options | {"iterations": iterations, "validation": 0, "regularization": 0.0}
        given["standardize"] = False
        for k, (X, Y) in enumerate(zip(Xs, Ys, strict=True)):
            DDE(random_state=k, **given).fit(X, Y)

    train(ITERATIONS)
    return one_more(train, ITERATIONS) / ITERATIONS


def ours_with(threads: int, *arguments: str) -> float:
    """Return what `ours` says in a process with so many threads."""
    environment = os.environ | {"NPROC": f"{threads}"}
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def authors(name: str, folder: Path) -> float:
    """Return seconds of an iteration of the authors' code, on one thread."""
    script = folder.resolve() / SCRIPTS[name]
    paths = os.pathsep.join([f"{folder.resolve()}", os.environ.get("PYTHONPATH", "")])
    root = folder.resolve() / "data/r_benchmark"

    def train(epochs: int) -> None:
        with tempfile.TemporaryDirectory() as out:
            flags = [*FLAGS[name].split(), "-num_epochs", f"{epochs}", "-save_dir", out]
            subprocess.run(
                [sys.executable, script.name, *flags, "-data_root", f"{root}"],
                cwd=script.parent,
                env=os.environ | {"PYTHONPATH": paths},
                capture_output=True,
                check=True,
            )

    return one_more(train, EPOCHS[name]) / THEIR_ITERATIONS


def one_more(train: Callable[[int], None], count: int) -> float:
    """Return how much longer twice as much training takes, seconds."""
    once = timing.fastest(lambda: train(count), REPEATS)
    more = timing.fastest(lambda: train(2 * count), REPEATS) - once
    if more <= 0:
        raise RuntimeError("twice the training took no longer: the machine is too busy to time it")
    return more


def table(folder: str, theirs: Path | None) -> list[dict]:
    rows = []
    for name, count in ((GEYSER, SPLITS), (GEYSER, 1), (MOONS, 1)):
        peer = authors(name, theirs) if theirs else None
        for threads, wanted in WANTED.items():
            each = ours_with(threads, folder, "--measure", name, f"{count}") / count
            rows.append(
                {
                    "data": name,
                    "problems_together": count,
                    "threads": threads,
                    "milliseconds": f"{1000 * each:.2f}",
                    "authors_over_ours": f"{peer / each:.1f}" if peer else "",
                    "wanted": wanted,
                }
            )
    return rows


def main() -> None:
    """Time, compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--authors", type=Path)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        name, count = given.measure
        print(ours(name, int(count), Path(given.folder)))
        return
    needed = ("torch", "seaborn", "tqdm")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    if given.authors and missing:
        print(f"only ours is timed: the authors' code needs {', '.join(missing)}", file=sys.stderr)
    theirs = None if missing else given.authors
    timing.write(Path(__file__).with_suffix(".csv"), table(given.folder, theirs))


if __name__ == "__main__":
    main()
