"""Fits of one table on a device beside those on the host: seconds, and how far scores differ.

Both are score files of `snakemake results/paper/figures/kcef/table2.md --config scale=paper`, with
`backend=cupy` on one machine and `backend=numpy` on another; fits of either alone are left out. A
fit is timed with its tuning and its likelihood; jobs that share a device (`gpu_jobs`) delay each
other's.

Run: python benchmarks/device_jobs.py DEVICE_RESULTS HOST_RESULTS

Results go to benchmarks/results/device-jobs.csv.
"""

import argparse
import json
from pathlib import Path

import pandas as pd

from kcde import scores
from kcde.files import atomic

OUT = Path(__file__).parent / "results/device-jobs.csv"

_FIT = ["dataset", "method", "node", "split"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("device", type=Path, metavar="DEVICE_RESULTS", help="results/ of cupy")
    parser.add_argument("host", type=Path, metavar="HOST_RESULTS", help="results/ of numpy")
    given = parser.parse_args()
    table = compared(fits(given.device, "cupy"), fits(given.host, "numpy"))
    with atomic(OUT) as temporary:
        table.to_csv(temporary, index=False, float_format="%.4g")
    print(table.to_string(index=False))


def fits(results: Path, backend: str) -> pd.DataFrame:
    """Return value and seconds of each fit of a factor, all of them by one backend."""
    files = sorted(results.glob("paper/scores/factors/*/*/*.csv"))
    if not files:
        raise SystemExit(f"{results} has no paper/scores/factors/*/*/*.csv")
    found = scores.read(files)
    found = found[found["metric"] == "negative_log_likelihood"]
    if others := sorted(set(found["backend"]) - {backend}):
        raise SystemExit(f"{results} has scores by {', '.join(others)}, where {backend} is wanted")
    found["node"] = [json.loads(setting)["node"] for setting in found["setting"]]
    return found.set_index(_FIT)[["value", "seconds"]]


def compared(device: pd.DataFrame, host: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each data set and method, of the fits that both have."""
    both = device.merge(
        host, left_index=True, right_index=True, suffixes=("_device", "_host"), validate="1:1"
    )
    both["difference"] = (both["value_device"] - both["value_host"]).abs()
    both["relative"] = both["difference"] / both["value_host"].abs()
    groups = both.groupby(["dataset", "method"])
    table = groups[["seconds_device", "seconds_host"]].sum()
    table.insert(0, "fits", groups.size())
    table["host_over_device"] = table["seconds_host"] / table["seconds_device"]
    for name, quantile in (("median", 0.5), ("largest", 1.0)):
        table[f"{name}_relative_difference"] = groups["relative"].quantile(quantile)
    return table.reset_index()


if __name__ == "__main__":
    main()
