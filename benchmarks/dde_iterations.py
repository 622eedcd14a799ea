"""What DDE's 50,000 iterations at the authors' rate change against 2500 at twenty times it.

Each R set whose job at the scale paper is done, by `snakemake --config scale=paper
results/paper/scores/r_benchmark/<set>/DDE.csv` (10 to 25 minutes of a core each), beside the
tracked scores at laptop: negative log-likelihood, nats, in the same 20 splits and from the same
seeds; the mean difference with its standard error, its p by the corrected resampled t-test of
halves, and the published number. `results/dde_iterations_splits.csv` has each split. Rows of sets
that are not in `results/paper` here stay in both.

Run: python benchmarks/dde_iterations.py (in the folder that has `results/paper`)
"""

from pathlib import Path

import timing

import numpy as np
import pandas as pd

from kcde.metrics import NLL, NLL_QUADRATURE, paired_t_test

TRACKED = Path(__file__).parents[1] / "figures"


def splits(scores: pd.DataFrame, metric: str) -> pd.Series:
    own = scores[scores["metric"].eq(metric) & scores["method"].eq("DDE")]
    return own.set_index("split")["value"].sort_index()


def main() -> None:
    tracked = pd.read_csv(TRACKED / "scores.csv.gz", low_memory=False)
    table2 = pd.read_csv(TRACKED / "dde" / "table2.csv").query("method == 'DDE'")
    published = table2.groupby("dataset")["published_mean"].first()
    out = Path(__file__).with_suffix(".csv")
    kept = pd.read_csv(out, dtype=str, keep_default_na=False) if out.exists() else pd.DataFrame()
    rows, of_splits = [], []
    for path in sorted(Path("results/paper/scores/r_benchmark").glob("*/DDE.csv")):
        dataset, longer = path.parent.name, pd.read_csv(path)
        here = tracked[tracked["dataset"].eq(dataset) & tracked["experiment"].eq("r_benchmark")]
        for metric in (NLL, NLL_QUADRATURE):
            after, before = splits(longer, metric), splits(here, metric)
            of_splits.append(after.reset_index().assign(dataset=dataset, metric=metric))
            both = after.index[after.notna()].intersection(before.index[before.notna()])
            change = (after - before)[both]
            test = paired_t_test(after[both].to_numpy(), before[both].to_numpy(), overlap=1.0)
            row = {"dataset": dataset, "metric": metric, "splits": len(both)}
            row |= {"laptop": before[both].mean(), "paper": after[both].mean()}
            row |= {"change": change.mean(), "stderr": change.sem(), "p_value": test.p_value}
            row["published"] = published[dataset] if metric == NLL else np.nan
            rows.append({k: f"{v:.3g}" if isinstance(v, float) else v for k, v in row.items()})
    done = {row["dataset"] for row in rows}
    rows += [row for row in kept.to_dict("records") if row["dataset"] not in done]
    timing.write(out, sorted(rows, key=lambda row: (row["dataset"], row["metric"])))
    each = out.parent / "results" / "dde_iterations_splits.csv"
    known = pd.read_csv(each) if each.exists() else pd.DataFrame(columns=["dataset"])
    whole = pd.concat([known[~known["dataset"].isin(done)], *of_splits])
    whole = whole.astype({"split": int}).sort_values(["dataset", "metric", "split"])
    whole.to_csv(each, index=False, columns=["dataset", "metric", "split", "value"])


if __name__ == "__main__":
    main()
