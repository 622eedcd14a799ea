"""What a run took, by rule and method: `python benchmarks/runtime.py results/laptop`.

Reads what Snakemake's `benchmark:` wrote below RESULTS/benchmarks and writes figures/runtime.csv:
seconds summed over jobs, memory as the largest resident set of a job in MiB. Snakemake samples
memory twice a second at first and twice a minute later.
"""

import sys
from pathlib import Path

import pandas as pd


def read(folder: Path) -> pd.DataFrame:
    """Return a row for each rule and method, costliest first."""
    rows = []
    for path in sorted(folder.rglob("*.tsv")):
        # <experiment>/<data set>/<method>, then the part where it was computed in several
        rule, *rest = path.relative_to(folder).with_suffix("").parts
        method = "".join(rest[1:2])
        last = pd.read_csv(path, sep="\t", na_values="-").iloc[-1]
        rows.append((rule, method, last["s"], last["max_rss"]))
    if not rows:
        raise SystemExit(f"{folder} holds no benchmarks: run snakemake first")
    jobs = pd.DataFrame(rows, columns=["rule", "method", "seconds", "memory"])
    jobs = jobs.astype({"seconds": float, "memory": float})
    took = jobs.groupby(["rule", "method"]).agg(
        jobs=("seconds", "size"), seconds=("seconds", "sum"), memory_mib=("memory", "max")
    )
    return took.reset_index().sort_values("seconds", ascending=False, kind="stable").round(1)


if __name__ == "__main__":
    results = Path(sys.argv[1] if len(sys.argv) > 1 else "results/laptop")
    read(results / "benchmarks").to_csv("figures/runtime.csv", index=False)
