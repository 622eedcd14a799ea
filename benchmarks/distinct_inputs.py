"""CDO on 32256 pairs in PEMS-SF's shape, 1008 distinct inputs with 32 outputs each, on one thread.

Fit and means and variances at all inputs, signed weights, on a grid of as many points as inputs,
with the authors' α = α′ = G^-.441: processor seconds, and the peak memory of a process of its own,
interpreter and data included. Against the direct formula on all rows, one N × N Cholesky
factorisation, at a quarter of the inputs, where both run; `difference` is the largest relative one
of their means.

Run: python benchmarks/distinct_inputs.py (about a minute, 2 GB)
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import timing

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

from kcde.estimators import CDO
from kcde.experiments._measured_fit import peak_memory
from kcde.kernels import LaplaceKernel
from kcde.seeding import rng_of

INPUTS, COMPARED, OUTPUTS = 1008, 252, 32
SCALES = (1.0, 5000.0)
"""Of the Laplace kernel: days, and seconds of the day."""


def traffic(inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return X, day and second, and outputs (inputs, 32): occupancies with a rush hour."""
    day, slot = np.divmod(np.arange(inputs), 144)
    level = 0.06 + 0.04 * np.sin(2.0 * np.pi * slot / 144) * (day < 5)
    noise = rng_of("benchmark", "traffic", inputs).standard_normal((inputs, OUTPUTS))
    X = np.column_stack([day, 600.0 * slot])
    return X, np.clip(level[:, None] + 0.02 * noise, 0.0, 1.0)


def parameters(outputs: np.ndarray) -> dict:
    """Return the grid of as many points as inputs, σ_y one step of it, and α = α′."""
    count, span = len(outputs), np.ptp(outputs)
    lower, upper = outputs.min() - span / 10, outputs.max() + span / 10
    return {
        "bandwidth_y": (upper - lower) / (count - 1),
        "regularization": count**-0.441,
        "output_regularization": count**-0.441,
        "reference": count,
        "reference_box": (lower, upper),
    }


def grouped(X: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the means at the inputs through the distinct-input factorisation."""
    signed = {"kernel_x": "laplace", "weights": "signed", "standardize": False}
    model = CDO(SCALES, **signed, **parameters(outputs))
    model.fit(np.repeat(X, OUTPUTS, axis=0), outputs.reshape(-1, 1))
    return model.moments(X)[0][:, 0]


def ungrouped(X: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the means at the inputs by the formula with all rows."""
    given = parameters(outputs)
    rows, y = np.repeat(X, OUTPUTS, axis=0), outputs.reshape(-1, 1)
    z = np.linspace(*given["reference_box"], given["reference"])[:, None]
    sigma, shift = given["bandwidth_y"], given["output_regularization"] * len(z)
    kernel = LaplaceKernel(SCALES)
    K = kernel(rows, rows)
    K.flat[:: len(K) + 1] += len(K) * given["regularization"]
    solved = cho_solve(cho_factor(K, lower=True, overwrite_a=True), kernel(rows, X))
    L = norm.pdf(z - z.T, scale=sigma)
    L.flat[:: len(L) + 1] += shift
    factor = cho_factor(L, lower=True)
    beta = cho_solve(factor, cho_solve(factor, norm.pdf(z - y.T, scale=sigma) @ solved))
    return z[:, 0] @ beta / beta.sum(axis=0)


def whole() -> None:
    """Print processor seconds of the whole size, and the peak memory in bytes."""
    X, outputs = traffic(INPUTS)
    seconds = timing.fastest(lambda: grouped(X, outputs), 3, time.process_time)
    print(json.dumps([seconds, peak_memory()]))


def row(inputs: int, what: str, value: str, wanted: str) -> dict:
    return {"pairs": inputs * OUTPUTS, "inputs": inputs, "what": what, "value": value} | {
        "wanted": wanted
    }


def main() -> None:
    """Time, compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--whole", action="store_true", help="the whole size alone, as JSON")
    if parser.parse_args().whole:
        whole()
        return
    command = [sys.executable, __file__, "--whole"]
    done = subprocess.run(command, env=os.environ, stdout=subprocess.PIPE, text=True, check=True)
    seconds, memory = json.loads(done.stdout)
    X, outputs = traffic(COMPARED)
    means: dict[str, np.ndarray] = {}
    fast = timing.fastest(lambda: means.update(fast=grouped(X, outputs)), 5, time.process_time)
    slow = timing.fastest(lambda: means.update(slow=ungrouped(X, outputs)), 2, time.process_time)
    difference = np.max(np.abs(means["fast"] / means["slow"] - 1.0))
    rows = [
        row(INPUTS, "seconds, fit and moments at all inputs", f"{seconds:.2f}", "≤ 5"),
        row(INPUTS, "peak memory, GB", f"{memory / 1e9:.2f}", "≤ 1"),
        row(COMPARED, "seconds, grouped", f"{fast:.3f}", ""),
        row(COMPARED, "seconds, all rows", f"{slow:.2f}", ""),
        row(COMPARED, "all rows over grouped", f"{slow / fast:.0f}", "≥ 100"),
        row(COMPARED, "largest relative difference of means", f"{difference:.1e}", "≤ 1e-8"),
    ]
    timing.write(Path(__file__).with_suffix(".csv"), rows)


if __name__ == "__main__":
    main()
