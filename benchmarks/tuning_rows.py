"""What tuning on a subsample costs KCEF in held-out likelihood.

Six training sets of 1000 rows of a known conditional law, y given x_1 to x_3; σ and λ are chosen on
at most 100, 250, 500 and all of them, by gradient and by likelihood; the final solve takes
all rows, and 4000 new rows are scored. Stated: mean difference to tuning on all rows with its
standard error, the exact log density's advantage over tuning on all rows, and the time as a ratio.

Run: python benchmarks/tuning_rows.py (three minutes on one core)
"""

import time
from pathlib import Path

import timing

import numpy as np
from scipy import stats

from kcde.estimators import KCEF

SIZES = (100, 250, 500, 1000)
REPETITIONS = 6


def draw(rng: np.random.Generator, n: int):
    """Return X, Y and the exact log density of Y: Student noise whose scale follows x_2."""
    X = rng.standard_normal((n, 3))
    centre, scale = np.sin(2 * X[:, 0]), 0.2 + 0.4 / (1 + np.exp(-2 * X[:, 1]))
    noise = rng.standard_t(5, size=n)
    exact = stats.t.logpdf(noise, 5) - np.log(scale)
    return X, (centre + scale * noise)[:, None], exact


def measure(selection: str) -> list[dict]:
    """Return a row a size for one rule of selection."""
    scores, seconds, best = np.empty((REPETITIONS, len(SIZES))), np.empty_like(SIZES, float), []
    seconds[:] = 0.0
    for repetition in range(REPETITIONS):
        rng = np.random.default_rng(repetition)
        X, Y, _ = draw(rng, SIZES[-1])
        X_test, Y_test, exact = draw(rng, 4000)
        best.append(exact.mean())
        for k, rows in enumerate(SIZES):
            start = time.perf_counter()
            chosen = {"selection": selection, "tuning_rows": rows, "random_state": repetition}
            model = KCEF(**chosen, standardize=False).fit(X, Y)
            seconds[k] += time.perf_counter() - start
            scores[repetition, k] = model.score(X_test, Y_test)
    loss = scores[:, -1:] - scores
    short = np.mean(best) - scores[:, -1].mean()
    return [
        {
            "selection": selection,
            "tuning_rows": rows,
            "loss_nats": f"{loss[:, k].mean():.4f}",
            "stderr": f"{loss[:, k].std(ddof=1) / np.sqrt(REPETITIONS):.4f}",
            "exact_minus_all_rows": f"{short:.4f}",
            "time_ratio": f"{seconds[k] / seconds[-1]:.3f}",
        }
        for k, rows in enumerate(SIZES)
    ]


timing.write(Path(__file__).with_suffix(".csv"), [*measure("gradient"), *measure("likelihood")])
