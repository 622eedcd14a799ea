"""Made-up scores in the real format, for the tests of tables, claims and scorecard."""

from pathlib import Path

import numpy as np
import pandas as pd

from kcde import scores
from kcde.papers import drawing

METRIC = "negative_log_likelihood"


def frame(cells, metric=METRIC, unit="nats"):
    """Return scores from {(dataset, method): values a split}; None marks a failed fit."""
    rows = [row for (d, m), values in cells.items() for row in rows_of(d, m, values, metric, unit)]
    return pd.DataFrame(rows, columns=scores.COLUMNS).assign(detail="")


def rows_of(dataset, method, values, metric=METRIC, unit="nats"):
    variant = "ours" if method == "KCEF-LL" else "as-published"
    return [
        {
            "experiment": "r_benchmark",
            "dataset": dataset,
            "setting": "{}",
            "method": method,
            "variant": variant,
            "split": split,
            "metric": metric,
            "value": np.nan if value is None else value,
            "unit": unit,
            "status": "failed" if value is None else "ok",
        }
        for split, value in enumerate(values)
    ]


def files(folder, cells):
    """Write one score file a cell and return the paths."""
    paths = []
    for (dataset, method), values in cells.items():
        paths.append(folder / dataset / f"{method}.csv")
        scores.write(paths[-1], rows_of(dataset, method, values), {})
    return paths


def judged(artefact, paths, into):
    """Make an artefact of score files and return what it decides."""
    path = Path(into) / "judged.csv"
    drawing.make(artefact, paths, into, judged=path)
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def around(mean, n=20, width=0.1):
    """Return `n` values with exactly this mean, spread evenly."""
    return list(mean + np.linspace(-width, width, n))
