"""Fits to Parquet files of five columns, in blocks: processor seconds and memory, n up to 10⁷.

y = sin 2a + b/2 + (0.2 + 0.3 |c|) times Student's t with five degrees of freedom; two columns more
say nothing. `gap` is the true mean log density of 20,000 further rows less that of the fit, in
nats. Memory is the most that the process held, less what it had after its imports.

Run: python benchmarks/many_rows.py FOLDER [METHOD N] (the files are kept in FOLDER, 400 MB)
"""

import timing  # isort: skip
import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats

from kcde import CME, JDL, LikelihoodKCEF, Quantiles
from kcde.files import atomic
from kcde.seeding import rng_of
from kcde.streaming import ParquetRows

NAMES, SIZES, TEST_ROWS, CHUNK = ("a", "b", "c", "d", "e"), (10**5, 10**6, 10**7), 20_000, 500_000
METHODS = {
    "JDL": lambda: Quantiles(JDL(regularization=None)),
    "CME": lambda: Quantiles(CME(regularization=None)),
    "LikelihoodKCEF": LikelihoodKCEF,
}


def law(X: np.ndarray):
    return stats.t(5, np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1], 0.2 + 0.3 * np.abs(X[:, 2]))


def draw(n: int, *key) -> tuple[np.ndarray, np.ndarray]:
    rng = rng_of("many-rows", *key)
    X = rng.normal(size=(n, len(NAMES)))
    return X, law(X).rvs(random_state=rng)


def made(folder: Path, n: int) -> Path:
    """Return a Parquet file of n rows, made if it is not there."""
    path = folder / f"{n}.parquet"
    if not path.exists():
        schema = pa.schema([(name, pa.float64()) for name in (*NAMES, "y")])
        with atomic(path) as temporary, pq.ParquetWriter(temporary, schema) as file:
            for chunk in range(-(-n // CHUNK)):
                X, y = draw(min(CHUNK, n), n, chunk)
                file.write_table(pa.table([*X.T, y], schema=schema))
    return path


def held() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(path: Path, method: str, n: int) -> dict:
    before, start = held(), time.process_time()
    rows = ParquetRows(path, NAMES, "y")
    model = METHODS[method]().fit_rows(rows)
    row = {"method": method, "n": n, "seconds": round(time.process_time() - start, 1)}
    row["megabytes"] = round(held() - before)
    X, y = draw(TEST_ROWS, "test")
    gap = np.nan
    if method == "LikelihoodKCEF":
        gap = float(np.mean(law(X).logpdf(y) - model.log_density(X, y[:, None])))
    error = float(np.sqrt(np.mean((model.mean(X)[:, 0] - law(X).mean()) ** 2)))
    return row | {"gap": f"{gap:.4f}", "error_of_mean": f"{error:.4f}"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("one", nargs="*", help="a method and n: this one alone, as JSON")
    given = parser.parse_args()
    if given.one:
        method, n = given.one[0], int(given.one[1])
        print(json.dumps(measured(made(given.folder, n), method, n)))
        sys.exit()
    found = []
    for method in METHODS:
        for n in SIZES:
            path = given.folder / f"{method}-{n}.json"
            made(given.folder, n)
            if not path.exists():
                command = [sys.executable, __file__, given.folder, method, str(n)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                path.write_text(done.stdout)
            row = json.loads(path.read_text())
            last = found[-1]["seconds"] if n > SIZES[0] else np.nan
            exponent = np.log10(row["seconds"] / last) if n > SIZES[0] else np.nan
            found.append(row | {"exponent": f"{exponent:.2f}"})
            print(found[-1], flush=True)
    timing.write(Path(__file__).with_suffix(".csv"), found)
