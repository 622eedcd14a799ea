"""Level and power of paired tests over random halves of one sample.

A sample of y = b₁ x₁ + b₂ x₂ + noise is halved at random 20 times, as the R benchmark data are. Two
methods, each a Gaussian regression of y on one of the two columns, are compared by their negative
log-likelihood on the test halves. With b₁ = b₂ they are equally good: in the population, not on
this sample, whose rows all its halves share. Other coefficients set them 0.2 nats apart. Each row
is over 1000 samples: the share on which a test at 5% finds a difference.

Run: python benchmarks/resampled_tests.py (a minute on one core)
"""

from pathlib import Path

import timing

import numpy as np

from kcde.metrics import paired_t_test, paired_wilcoxon

SAMPLES, SPLITS, LEVEL = 1000, 20, 0.05
ROWS = (40, 100, 400)
NATS = (0.0, 0.2)
NOISE = 0.5
HALVES = 1.0

TESTS = {
    "signed-rank": paired_wilcoxon,
    "paired t": paired_t_test,
    "corrected resampled t": lambda first, second: paired_t_test(first, second, HALVES),
}


def coefficients(nats: float) -> tuple[float, float]:
    """Return b₁ and b₂ for which the first method is better by so many nats, with b₁² + b₂² = 1.

    A method's best likelihood is that of a Gaussian whose variance is that of what it leaves out.
    """
    ratio = np.exp(2.0 * nats)
    left = (1.0 + 2.0 * NOISE**2) / (1.0 + ratio) - NOISE**2  # b₂²
    return float(np.sqrt(1.0 - left)), float(np.sqrt(left))


def losses(x: np.ndarray, y: np.ndarray, train: np.ndarray) -> float:
    """Return the negative log-likelihood on the other rows of a regression on some, nats."""
    design = np.column_stack([np.ones(len(x)), x])
    found = np.linalg.lstsq(design[train], y[train], rcond=None)[0]
    residuals = y - design @ found
    variance = np.mean(residuals[train] ** 2)
    test = residuals[~train]
    return float(0.5 * np.log(2.0 * np.pi * variance) + 0.5 * np.mean(test**2) / variance)


def halvings(rows: int, nats: float, rng: np.random.Generator) -> np.ndarray:
    """Return the losses of both methods over the halvings of a new sample, shape (2, splits)."""
    columns = rng.normal(size=(2, rows))
    y = np.array(coefficients(nats)) @ columns + NOISE * rng.normal(size=rows)
    trains = [rng.permutation(rows) < rows // 2 for _ in range(SPLITS)]
    return np.array([[losses(x, y, train) for train in trains] for x in columns])


def measure(rows: int, nats: float, rng: np.random.Generator) -> list[dict]:
    """Return a row a test."""
    found = dict.fromkeys(TESTS, 0)
    wrong = dict.fromkeys(TESTS, 0)
    gaps = []
    for _ in range(SAMPLES):
        first, second = halvings(rows, nats, rng)
        gaps.append(np.mean(second - first))
        for name, test in TESTS.items():
            result = test(first, second)
            found[name] += result.p_value < LEVEL
            wrong[name] += result.p_value < LEVEL and nats > 0 and result.sign > 0
    common = {"rows": rows, "nats": nats, "mean_difference": f"{np.mean(gaps):.3f}"}
    return [
        {
            **common,
            "test": name,
            "significant": f"{found[name] / SAMPLES:.3f}",
            "in_the_wrong_direction": f"{wrong[name] / SAMPLES:.3f}" if nats else "",
            "samples": SAMPLES,
        }
        for name in TESTS
    ]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    rows = [row for nats in NATS for count in ROWS for row in measure(count, nats, rng)]
    timing.write(Path(__file__).with_suffix(".csv"), rows)
