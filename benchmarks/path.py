"""The cost of KCEF's path of 20 λ over 5 folds, in eigendecompositions of its Gram matrix.

Run: python benchmarks/path.py
"""

from pathlib import Path

import timing

import numpy as np

from kcde.estimators._kcef.score_matching import held_out_scores, score_system
from kcde.estimators._kcef.selection import SCORE_GRIDS
from kcde.kernels import GaussianKernel
from kcde.selection import kfold

rng = np.random.default_rng(0)
rows = []
for n in (500, 1000, 2000):
    for d_x in (1, 3):
        X = rng.standard_normal((n, d_x))
        Y = np.sin(X[:, :1]) + 0.5 * rng.standard_normal((n, 1))
        derivatives = GaussianKernel(1.0).derivatives(Y, Y)
        system = score_system(GaussianKernel(1.0)(X, X), derivatives, -Y / 4)
        folds = kfold(n, 5, rng)
        one = timing.fastest(lambda G=system.G: np.linalg.eigh(G), 3)
        path = timing.fastest(lambda s=system, f=folds: held_out_scores(s, [f], SCORE_GRIDS[1]), 3)
        beyond = {"beyond_it": f"{path / one - 1:.2f}", "whole": f"{path / one:.2f}"}
        rows.append({"n": n, "d_x": d_x, "rank": np.linalg.matrix_rank(system.G), **beyond})
timing.write(Path(__file__).with_suffix(".csv"), rows)
