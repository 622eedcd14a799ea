"""Made-up scores in the real format, for the tests of tables, drawing and packed scores."""

import numpy as np
import pandas as pd

from kcde import scores

METRIC = "negative_log_likelihood"


def frame(cells):
    """Return scores from {(dataset, method[, metric[, variant]]): values a split}; None failed."""
    rows = [row for cell, values in cells.items() for row in rows_of(*cell, values=values)]
    return pd.DataFrame(rows, columns=scores.COLUMNS).assign(detail="")


def rows_of(dataset, method, metric=METRIC, variant="", *, values):
    variant = variant or ("ours" if method == "KCEF-LL" else "as-published")
    same = {"experiment": "r_benchmark", "dataset": dataset, "setting": "{}", "method": method}
    same |= {"variant": variant, "metric": metric, "unit": "nats"}
    return [
        {**same, "split": split, "value": np.nan, "status": "failed"}
        if value is None
        else {**same, "split": split, "value": value, "status": "ok"}
        for split, value in enumerate(values)
    ]


def files(folder, cells, info=(), **more):
    """Write one score file a cell and return the paths."""
    paths = []
    for (dataset, method), values in cells.items():
        paths.append(folder / dataset / f"{method}.csv")
        rows = [row | more for row in rows_of(dataset, method, values=values)]
        scores.write(paths[-1], rows, dict(info))
    return paths


def around(mean, n=20):
    """Return `n` values with exactly this mean, spread evenly."""
    return list(mean + np.linspace(-0.1, 0.1, n))
