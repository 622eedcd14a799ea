"""Pivoted Cholesky of a Gaussian kernel matrix, n = 10⁶ and m = 100 columns, on one thread.

Against reading the factor once per column as it grows, n m (m - 1)/2 numbers, at the speed with
which a matrix-vector product reads the whole of it; and against the pivoted Cholesky of
linear_operator (gpytorch's), given a kernel that is evaluated row by row, which must take the same
pivots. gpytorch's own kernels form the whole matrix first. d is the dimension of the points.

Run: python benchmarks/pivoted_cholesky.py (about three minutes; linear_operator, which the
environment does not have, is timed where it can be imported)
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import timing

import numpy as np

from kcde.kernels import GaussianKernel
from kcde.linalg import pivoted_cholesky
from kcde.seeding import rng_of

RANK, REPEATS = 100, 5
PEER_DIMENSION, PEER_REPEATS = 2, 2
BANDWIDTHS = {1: 0.05, 2: 0.5, 3: 1.0}
"""Such that a hundred columns are not enough for the whole matrix."""


def reading(n: int) -> float:
    """Return seconds to read a factor of n rows once per column as it grows."""
    factor, vector = np.ones((RANK, n)), np.ones(n)
    return timing.fastest(lambda: factor @ vector, REPEATS) * (RANK - 1) / 2


def ours(X: np.ndarray, bandwidth: float, store: bool) -> tuple[float, list[int]]:
    """Return seconds and pivots."""
    pivots = []

    def factorise():
        kernel = GaussianKernel(bandwidth)
        result = pivoted_cholesky(kernel, X, 1e-12, max_rank=RANK, store=store)
        pivots[:] = result.pivots.tolist()

    return timing.fastest(factorise, REPEATS), pivots


def theirs(X: np.ndarray, bandwidth: float) -> tuple[float, list[int]]:
    """Return seconds of linear_operator and its pivots."""
    import torch
    from linear_operator.operators import KernelLinearOperator

    def gaussian(A, B):
        return torch.exp(-0.5 * torch.cdist(A, B) ** 2)

    torch.set_num_threads(1)
    points, pivots = torch.from_numpy(X / bandwidth), []
    matrix = KernelLinearOperator(points, points, covar_func=gaussian)

    def factorise():
        with torch.no_grad():
            _, order = matrix.pivoted_cholesky(RANK, error_tol=0.0, return_pivots=True)
        pivots[:] = order[:RANK].tolist()

    return timing.fastest(factorise, PEER_REPEATS), pivots


def table(n: int, peers: bool) -> list[dict]:
    rows = []
    for d, bandwidth in BANDWIDTHS.items():
        X = rng_of("benchmark", d).standard_normal((n, d))
        compared = peers and d == PEER_DIMENSION
        peer, expected = theirs(X, bandwidth) if compared else (None, None)
        for store in (True, False):
            seconds, pivots = ours(X, bandwidth, store)
            if compared and pivots != expected:
                raise RuntimeError(f"d = {d}: linear_operator took other pivots")
            rows.append(
                {
                    "n": n,
                    "d": d,
                    "columns": len(pivots),
                    "factor": "stored" if store else "streamed",
                    "seconds": f"{seconds:.2f}",
                    "over_reading": f"{seconds / reading(n):.2f}",
                    "wanted_at_most": 2,
                    "linear_operator_over_ours": f"{peer / seconds:.0f}" if compared else "",
                    "wanted_at_least": 3,
                }
            )
    return rows


def main() -> None:
    """Time, compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    given = parser.parse_args()
    packages = ("torch", "linear_operator")
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        print(f"only ours is timed: {', '.join(missing)} cannot be imported", file=sys.stderr)
    timing.write(Path(__file__).with_suffix(".csv"), table(given.rows, not missing))


if __name__ == "__main__":
    main()
