"""LikelihoodKCEF beside boosted trees with a kernel density of their residuals, and its speed.

Metro: traffic volume an hour given hour, weekday and weather; the first three quarters of the hours
train, the last quarter tests, and the standard error of the difference is over calendar days, since
hours of a day are alike. White wine: alcohol given the ten other measurements, ten random splits,
nine tenths of the rows to train; the standard error is that of the corrected resampled t-test
(Nadeau and Bengio 2003). Differences of held-out log densities in nats of standardised y, positive
where LikelihoodKCEF is better, and processor seconds of both fits with their selection.

Then, at 100,000 made-up rows: processor seconds of the log densities of 100,000 rows.

Run: python benchmarks/maximum_likelihood.py FOLDER (of the raw data; some three minutes)
"""

import argparse
import time
from pathlib import Path

import timing

import numpy as np
import pandas as pd

from kcde.data import catalogue, made_up
from kcde.data.loaders import load, raw_file
from kcde.estimators import LikelihoodKCEF, Standardised
from kcde.experiments.large_n import BoostedResiduals
from kcde.seeding import rng_of

TRAINING_SHARE = 0.75  # of the hours
SPLITS, TEST_SHARE = 10, 0.1
ROWS = 100_000


def metro(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X (n, 6), Y (n, 1) and the calendar day of every hour, in their order."""
    table = pd.read_csv(
        raw_file(catalogue.find(catalogue.read(), "metro-traffic-substitute"), folder)
    )
    table = table.drop_duplicates("date_time").sort_values("date_time")
    times = pd.to_datetime(table["date_time"])
    weather = table[["temp", "rain_1h", "snow_1h", "clouds_all"]].to_numpy(float)
    X = np.column_stack([times.dt.hour, times.dt.day_of_week, weather])
    days = times.dt.normalize().factorize()[0]
    return X, table["traffic_volume"].to_numpy(float)[:, None], days


def white_wine(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the ten other measurements and alcohol."""
    data = load("white-wine", folder)
    columns = np.column_stack([data.X, data.Y])
    return columns[:, :-1], columns[:, -1:]


def scored(model, train: tuple, test: tuple) -> tuple[np.ndarray, float]:
    """Return log densities of standardised test y and the processor seconds of the fit."""
    scale = train[1].std()
    center, spread = train[0].mean(axis=0), train[0].std(axis=0)
    sets = [((X - center) / spread, (Y - train[1].mean()) / scale) for X, Y in (train, test)]
    start = time.process_time()
    model.fit(*sets[0])
    seconds = time.process_time() - start
    return model.log_density(*sets[1]), seconds


def compared(train: tuple, test: tuple, seed: int) -> dict:
    """Return log densities and seconds of both."""
    ours, seconds = scored(LikelihoodKCEF(random_state=seed), train, test)
    theirs, other = scored(BoostedResiduals(seed), train, test)
    return {"ours": ours, "boosted": theirs, "seconds": seconds, "boosted_seconds": other}


def by_time(folder: Path) -> dict:
    """Return the row of Metro."""
    X, Y, days = metro(folder)
    n = int(TRAINING_SHARE * len(X))
    # No calendar day is in both parts.
    n -= int((days[:n] == days[n]).sum())
    found = compared((X[:n], Y[:n]), (X[n:], Y[n:]), 0)
    difference = pd.Series(found["ours"] - found["boosted"])
    of_days = difference.groupby(days[n:]).agg(["sum", "size"])
    mean = difference.mean()
    rest = of_days["sum"] - mean * of_days["size"]
    stderr = np.sqrt((rest**2).sum()) / len(difference)
    return _row("Metro, split by time", n, len(X) - n, [found], mean, stderr)


def by_splits(folder: Path) -> dict:
    """Return the row of white wine."""
    X, Y = white_wine(folder)
    found, test_size = [], int(TEST_SHARE * len(X))
    for split in range(SPLITS):
        order = rng_of("benchmark", "white-wine", split).permutation(len(X))
        held, rest = order[:test_size], order[test_size:]
        found.append(compared((X[rest], Y[rest]), (X[held], Y[held]), split))
    differences = [np.mean(each["ours"] - each["boosted"]) for each in found]
    # Splits share training rows: the variance of their mean is larger by n_test/n_train.
    correction = 1.0 / SPLITS + test_size / (len(X) - test_size)
    stderr = np.sqrt(correction) * np.std(differences, ddof=1)
    return _row("white wine", len(X) - test_size, test_size, found, np.mean(differences), stderr)


def _row(name: str, train: int, test: int, found: list[dict], mean, stderr) -> dict:
    return {
        "data": name,
        "splits": len(found),
        "train": train,
        "test": test,
        "log_density": f"{np.mean([each['ours'].mean() for each in found]):.4f}",
        "boosted": f"{np.mean([each['boosted'].mean() for each in found]):.4f}",
        "difference": f"{mean:.4f}",
        "stderr": f"{stderr:.4f}",
        "seconds": f"{np.mean([each['seconds'] for each in found]):.1f}",
        "boosted_seconds": f"{np.mean([each['boosted_seconds'] for each in found]):.1f}",
    }


def speed() -> dict:
    """Return the row of made-up rows: the seconds of the fit and of the log densities."""
    train, test = made_up.bimodal_training_pairs(ROWS, 2), made_up.bimodal_held_out_pairs(2, ROWS)
    model, start = Standardised(LikelihoodKCEF()), time.process_time()
    model.fit(*train)
    fitted = time.process_time()
    log_density = model.log_density(*test)
    return {
        "data": "made-up, log density of the test rows",
        "splits": 1,
        "train": ROWS,
        "test": ROWS,
        "log_density": f"{log_density.mean():.4f}",
        "boosted": "",
        "difference": f"{np.mean(log_density - made_up.bimodal_log_density(*test)):.4f}",
        "stderr": "",
        "seconds": f"{fitted - start:.1f} to fit, {time.process_time() - fitted:.2f} to evaluate",
        "boosted_seconds": "",
    }


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder", type=Path, help="Raw data, as `python -m kcde fetch` fills it.")
folder = parser.parse_args().folder
timing.write(Path(__file__).with_suffix(".csv"), [speed(), by_splits(folder), by_time(folder)])
