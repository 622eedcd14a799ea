"""How often further rows, which no comparison has, would say which method is as good as any.

Of the rows that judge the advice of `advice.py`, 100 or 300 at random choose among the nine fitted
methods, without their mixture, and the others judge: the share within .02 nats of the best there
and the mean loss, over 400 draws a table. Tables have at least 100 rows left to judge on.

Run: python benchmarks/advice_ceiling.py FOLDER (of `advice.py`; seconds)
"""

import sys
from pathlib import Path

import timing

import numpy as np
import pandas as pd
from advice import WITHIN

from kcde.seeding import rng_of

DRAWS, FEWEST = 400, 100


def judged(path: Path, further: int) -> dict | None:
    """Return what further rows choose for a table, None where too few are left to judge on."""
    table, rows = path.parent.name.rsplit("-", 1)
    with np.load(path) as logs:
        logs = np.stack([logs[name] for name in logs if np.isfinite(logs[name]).all()])
    if logs.shape[1] < further + FEWEST:
        return None
    rng, losses = rng_of("advice ceiling", table, rows, further), []
    for _ in range(DRAWS):
        order = rng.permutation(logs.shape[1])
        means = logs[:, order[further:]].mean(axis=1)
        losses.append(means.max() - means[logs[:, order[:further]].mean(axis=1).argmax()])
    found = {"table": table, "rows": int(rows), "further": further}
    return found | {"within": np.mean(np.array(losses) <= WITHIN), "loss": np.mean(losses)}


if __name__ == "__main__":
    paths = sorted(Path(sys.argv[1]).glob("*/rest.npz"))
    rows = [judged(path, further) for path in paths for further in (100, 300)]
    frame = pd.DataFrame([row for row in rows if row]).round(4)
    timing.write(Path(__file__).with_name("advice_ceiling.csv"), frame.to_dict("records"))
    means = frame.groupby(["rows", "further"])
    print(means.agg(tables=("table", "size"), within=("within", "mean"), loss=("loss", "mean")))
