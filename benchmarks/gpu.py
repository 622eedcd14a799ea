"""Solving on a GPU: Gram matrix, Cholesky factor and solve of KCEF's size n, in float64.

Each time is beside what the card allows, the rate of the product of two large matrices, measured in
the same run, and beside cuSOLVER's own factorisation. One thread of the host solves n = 8000; its
time at another n is that one by n³.

Run: python benchmarks/gpu.py [N ...]

Results go to benchmarks/results/gpu.csv.
"""

import sys
import time
from pathlib import Path

import timing

import cupy
import numpy as np

from kcde.arrays import asarray, device_description
from kcde.kernels import GaussianKernel
from kcde.linalg import factor_positive_definite

HOST_ROWS, COLUMNS, BANDWIDTH = 8000, 10, 3.0


def main(sizes: list[int]) -> None:
    square = cupy.random.random((16_000, 16_000))
    rate = 2 * len(square) ** 3 / seconds(cupy.matmul, square, square)
    del square
    host = timing.fastest(lambda: solve(*problem(HOST_ROWS, "numpy")), 1)
    rows = [row(n, rate, host * (n / HOST_ROWS) ** 3) for n in sizes]
    timing.write(Path(__file__).parent / "results/gpu.csv", rows)


def row(n: int, rate: float, host: float) -> dict:
    """Measure one n; `rate` is in operations a second, `host` the seconds of one thread."""
    X, y = problem(n, "cupy")
    ideal = n**3 / 3 / rate
    gram = seconds(GaussianKernel(BANDWIDTH), X, X)
    factor = seconds(lambda K: factor_positive_definite(K, overwrite=True), gram_of=X)
    whole = seconds(solve, X, y)
    try:
        peer = seconds(cupy.linalg.cholesky, gram_of=X)
    except (cupy.cuda.memory.OutOfMemoryError, ValueError, OverflowError) as error:
        print(f"cupy.linalg.cholesky at n = {n}: {error}")
        peer = float("nan")
    return {
        "n": n,
        "device": device_description("cupy"),
        "product_tflop_per_s": f"{rate / 1e12:.3g}",
        "gram_seconds": f"{gram:.4g}",
        "factor_seconds": f"{factor:.4g}",
        "gram_and_solve_seconds": f"{whole:.4g}",
        "factor_share_of_rate": f"{ideal / factor:.3g}",
        "cupy_cholesky_share_of_rate": f"{ideal / peer:.3g}",
        "gram_and_solve_share_of_rate": f"{ideal / whole:.3g}",
        "half_the_time_of_a_core_over_device": f"{0.5 * host / whole:.3g}",
    }


def problem(n: int, backend: str):
    """Return x (n, 10) and y (n, 1)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS))
    return asarray(X, backend), asarray(np.sin(X[:, :1]), backend)


def solve(X, y):
    """Return (K + I)⁻¹ y."""
    K = GaussianKernel(BANDWIDTH)(X, X)
    return factor_positive_definite(K, shift=1.0, overwrite=True).solve(y)


def seconds(function, *given, gram_of=None) -> float:
    """Return the shortest of three runs, of a fresh Gram matrix plus I if it is to be of rows."""
    found = []
    for _ in range(4):  # the first warms up
        if gram_of is not None:
            given = ()
            K = GaussianKernel(BANDWIDTH)(gram_of, gram_of)
            K.ravel()[:: len(K) + 1] += 1.0
            given = (K,)
            del K
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        result = function(*given)
        cupy.cuda.Device().synchronize()
        found.append(time.perf_counter() - start)
        del result
    return min(found[1:])


if __name__ == "__main__":
    main([int(n) for n in sys.argv[1:]] or [8000, 30_000, 60_000])
