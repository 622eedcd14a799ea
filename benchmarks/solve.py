"""What one KCEF factor of white wine's size costs after tuning, in Cholesky factorisations.

Run: python benchmarks/solve.py
"""

from pathlib import Path

import timing

import numpy as np
from scipy.linalg import cholesky

from kcde.estimators import KCEF

rng = np.random.default_rng(0)
rows = []
for n, d_x in ((1000, 5), (2000, 10), (4408, 10)):
    X = rng.standard_normal((n, d_x))
    Y = np.sin(X[:, :1]) + 0.5 * rng.standard_normal((n, 1))
    model = KCEF(3.0, 1.0, regularization=1e-3, standardize=False)
    matrix = np.asfortranarray(X @ X.T + np.eye(n))
    copies = [matrix.copy(order="F") for _ in range(4)]
    one = timing.fastest(
        lambda c=copies: cholesky(c.pop(), lower=True, overwrite_a=True, check_finite=False), 4
    )
    fit = timing.fastest(lambda m=model, X=X, Y=Y: m.fit(X, Y), 4)
    rows.append({"n": n, "d_x": d_x, "cholesky": 1.0, "fit": f"{fit / one:.2f}"})
timing.write(Path(__file__).with_suffix(".csv"), rows)
