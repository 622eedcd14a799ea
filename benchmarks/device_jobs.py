"""kcef's table 2 at the paper's scale by a device beside the tracked one, which a host computed.

The device's score files are those of `benchmarks/gpu.sh`. A fit is timed with its tuning and its
likelihood; jobs that share a device delay each other's. Where runs fail (above 20 nats), the mean
is what rounding makes of it.

Run: python benchmarks/device_jobs.py RESULTS

Results go to benchmarks/results/gpu-table2.csv.
"""

import sys
from pathlib import Path

import pandas as pd

from kcde import scores
from kcde.evidence.verdicts import LIMIT_NATS
from kcde.files import atomic

HOST = Path(__file__).parents[1] / "figures/at-paper-scale/kcef/table2.csv"
OUT = Path(__file__).parent / "results/gpu-table2.csv"
CELL = ["dataset", "method"]


def main(results: Path) -> None:
    found = scores.read(sorted(results.glob("paper/scores/factors/*/*.csv")))
    of_runs = found.groupby([*CELL, "split"], sort=False)["value"].sum()
    means = of_runs.groupby(CELL, sort=False).mean().rename("device")
    host = pd.read_csv(HOST).query("metric == 'negative_log_likelihood'").set_index(CELL)
    table = means.to_frame().join(host[["mean", "failed"]])
    table = table.rename(columns={"mean": "host", "failed": "failed_host"})
    table.insert(1, "failed_device", (of_runs > LIMIT_NATS).groupby(CELL, sort=False).sum())
    table["difference"] = table["device"] - table["host"]
    table["seconds"] = found.groupby(CELL)["seconds"].sum()
    with atomic(OUT) as temporary:
        table.to_csv(temporary, float_format="%.6g")
    print(table.to_string())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
