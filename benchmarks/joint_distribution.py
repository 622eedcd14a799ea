"""Joint distribution learning: its constrained problem, and what ten million rows cost.

The constrained problem has ranks of 300, and is solved by two multipliers and, as a quadratic
program in the positive and negative parts of its coefficients, by Clarabel. A fit is one of JDL to
one-dimensional Gaussian pairs, streamed, and evaluated in 5000 conditional first and second
moments, in seconds of processor time on one thread; every size has a process of its own, whose
memory counts with interpreter and data. The exponent is that of seconds in n, by least squares of
their logarithms.

Run: python benchmarks/joint_distribution.py [--largest N] (about four minutes; Clarabel is left
out where it cannot be imported)
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import timing

import numpy as np

from kcde.data.made_up import gaussian_random_pairs
from kcde.estimators import JDL
from kcde.estimators._low_rank.constraints import product_bounds, solve_two_multipliers
from kcde.experiments._measured_fit import peak_memory
from kcde.seeding import rng_of

RANK, TEST = 300, 5000
BANDWIDTH, REGULARIZATION = 1.0, 1e-4
TOLERANCES = (1e-3, 1e-1)
"""1e-3 throughout, and what the paper takes for ten million rows."""


def constrained_problem(regularization: float) -> tuple:
    """Return curvature, linear, marginal and bounds of (22), (23) and (33), shapes (300, 300)."""
    X, Y = gaussian_random_pairs(3, 0).draw(4000, rng_of("benchmark", "constraints"))
    model = JDL(BANDWIDTH, BANDWIDTH, tolerance=1e-12, max_rank=RANK, standardize=False)
    summary = model.summarise(X, Y)
    x, y = summary.basis_x, summary.basis_y
    marginal = y.mean[:, None] * x.mean[None, :]
    curvature = y.second_moments[:, None] * x.second_moments[None, :] + regularization
    bounds = product_bounds(*y.extrema, *x.extrema)
    return curvature, summary.cross - marginal, marginal, *bounds


def clarabel_solver(curvature, linear, marginal, lower, upper) -> Callable:
    """Return a function that sets Clarabel up and solves; its matrices are ready."""
    import clarabel
    from scipy import sparse

    d, n = sparse.diags_array(curvature.ravel()), curvature.size
    quadratic = sparse.csc_matrix(sparse.triu(sparse.block_array([[d, -d], [-d, d]])))
    equality = sparse.csc_array(np.r_[marginal.ravel(), -marginal.ravel()][None])
    inequality = sparse.csc_array(np.r_[-lower.ravel(), upper.ravel()][None])
    rows = sparse.csc_matrix(sparse.vstack([equality, inequality, -sparse.eye_array(2 * n)]))
    costs = np.r_[-linear.ravel(), linear.ravel()]
    limits = np.r_[0.0, 1.0, np.zeros(2 * n)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(1 + 2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10

    def solve():
        solver = clarabel.DefaultSolver(quadratic, costs, rows, limits, cones, settings)
        x = np.array(solver.solve().x)
        return (x[:n] - x[n:]).reshape(curvature.shape)

    return solve


def constraints() -> list[dict]:
    """Return Clarabel's seconds over ours and the difference of the objectives."""
    if importlib.util.find_spec("clarabel") is None:
        print("the constrained problem is left out: it needs clarabel", file=sys.stderr)
        return []
    rows = []
    for regularization in (1e-2, 1e-4):
        problem = constrained_problem(regularization)
        solved = solve_two_multipliers(*problem)
        if not solved.iterations:
            raise RuntimeError("the inequality does not bind, so that there is nothing to compare")
        seconds = timing.fastest(lambda p=problem: solve_two_multipliers(*p), 10)
        solve = clarabel_solver(*problem)
        values = [objective(h, *problem) for h in (solve(), solved.coefficients)]
        ratio = timing.fastest(solve, 3) / seconds
        name = f"constrained problem, λ = {regularization:g}"
        rows.append(row(name, RANK, "Clarabel's seconds over ours", f"{ratio:.0f}", "≥ 50"))
        difference = abs(values[1] / values[0] - 1.0)
        what = "relative difference of objectives"
        rows.append(row(name, RANK, what, f"{difference:.1e}", "≤ 1e-8"))
    return rows


def objective(h, curvature, linear, *_) -> float:
    return float(np.sum(0.5 * curvature * h**2 - linear * h))


def scale(largest: int) -> list[dict]:
    """Return seconds and memory of the largest size, and exponents over all sizes."""
    sizes = [10**k for k in range(4, 8) if 10**k <= largest]
    rows = []
    for tolerance in TOLERANCES:
        for constrained in (False, True):
            measured = [in_own_process(n, tolerance, constrained) for n in sizes]
            seconds, rank, memory = measured[-1]
            name = f"fit, ε = {tolerance:g}" + ", constrained" * constrained
            largest_of = f"n = {sizes[-1]:.0e}"
            rows.append(row(name, rank, f"seconds, {largest_of}", f"{seconds:.1f}", "≤ 60"))
            rows.append(row(name, rank, f"GB, {largest_of}", f"{memory / 1e9:.2f}", "≤ 6"))
            slope = np.polyfit(np.log(sizes), np.log([m[0] for m in measured]), 1)[0]
            what = f"exponent, n = {sizes[0]:.0e} to {sizes[-1]:.0e}"
            rows.append(row(name, rank, what, f"{slope:.2f}", "0.9 to 1.1"))
    return rows


def row(name: str, rank: int, what: str, value: str, wanted: str) -> dict:
    return {"problem": name, "rank": int(rank), "what": what, "value": value, "wanted": wanted}


def in_own_process(*setting) -> list[float]:
    """Return what `measure` does, of a process of its own."""
    command = [sys.executable, __file__, "--measure", *map(str, setting)]
    done = subprocess.run(command, env=os.environ, stdout=subprocess.PIPE, text=True, check=True)
    return [float(value) for value in done.stdout.split()]


def measure(n: int, tolerance: float, constrained: bool) -> tuple[float, int, float]:
    """Return processor seconds of a fit with moments, the rank of x, and peak memory, bytes."""
    X, Y = gaussian_random_pairs(1, 0).draw(n, rng_of("benchmark", n))
    points = rng_of("benchmark", "test").standard_normal((TEST, 1))
    options = {"tolerance": tolerance, "constrained": constrained, "store": False}
    options["standardize"] = False
    model = JDL(BANDWIDTH, BANDWIDTH, REGULARIZATION, **options)
    repeats = 2 if n >= 10**7 else 3

    def fit():
        model.fit(X, Y).conditional_moments(points)

    seconds = timing.fastest(fit, repeats, time.process_time)
    return seconds, model.rank_x_, peak_memory()


def main() -> None:
    """Time, compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10**7)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        n, tolerance, constrained = given.measure
        print(*measure(int(n), float(tolerance), constrained == "True"))
        return
    timing.write(Path(__file__).with_suffix(".csv"), constraints() + scale(given.largest))


if __name__ == "__main__":
    main()
