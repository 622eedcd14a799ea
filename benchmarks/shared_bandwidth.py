"""The lowest test nats of KCEF that a bandwidth for x and y, or one for each, can give.

On three sets of the R benchmark, in each of the 20 splits, by quadrature, with q₀ as there: the
lowest negative log-likelihood of the test half over a grid of bandwidths and λ, thus chosen on the
rows that are scored, which no rule may do. `all` is the lowest mean of one choice for all splits.
It bounds from below what any rule that chooses from the grid reports.

Run: python benchmarks/shared_bandwidth.py DATA (half an hour of a core)
"""

import timing  # isort: skip
import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from kcde import KCEF
from kcde.data.loaders import load
from kcde.estimators._kcef.selection import LIKELIHOOD_GRIDS, SCORE_GRIDS
from kcde.experiments.r_benchmark import half_split

DATASETS, SPLITS, BASE_STD = ("mcycle", "ftcollinssnow", "snowgeese"), 20, 2.0
CHOSEN = ("bandwidth_x", "bandwidth_y", "regularization")
SIGMAS, LAMBDAS = SCORE_GRIDS[0], SCORE_GRIDS[1][::2]
GRIDS = {
    "one": [(s, s, lam) for s, lam in product(SIGMAS, LAMBDAS)],
    "apart": list(product(LIKELIHOOD_GRIDS[0], LIKELIHOOD_GRIDS[0], LAMBDAS[::2])),
}


def scaled(values: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[np.ndarray]:
    rows, scale = values[train], values[train].std(axis=0)
    return [(each - rows.mean(axis=0)) / scale for each in (rows, values[test])]


def lowest(dataset: str, data: Path) -> list[dict]:
    table = load(dataset, data)
    losses = {name: np.full((SPLITS, len(grid)), np.inf) for name, grid in GRIDS.items()}
    for split in range(SPLITS):
        train, test = half_split(dataset, split, len(table.X))
        (X, x), (Y, y) = (scaled(values, train, test) for values in (table.X, table.Y))
        for name, grid in GRIDS.items():
            for place, chosen in enumerate(grid):
                model = KCEF(*chosen, base_std=BASE_STD).fit(X, Y)
                losses[name][split, place] = -model.log_density(x, y).mean()
        print(f"{dataset}: {split + 1} of {SPLITS}", flush=True)
    rows = []
    for name, each in losses.items():
        same = {"dataset": dataset, "bandwidths": name}
        for split, nats in [*enumerate(each), ("all", each.mean(axis=0))]:
            best = dict(zip(CHOSEN, GRIDS[name][nats.argmin()], strict=True))
            best = {key: f"{value:.4g}" for key, value in best.items()}
            rows.append(same | {"split": split} | best | {"nats": f"{nats.min():.4f}"})
        mean = f"{each.min(axis=1).mean():.4f}"
        rows.append(same | {"split": "mean"} | dict.fromkeys(CHOSEN, "") | {"nats": mean})
    return rows


def main(data: Path) -> None:
    warnings.simplefilter("ignore")  # of densities that vary fast: what they score is kept
    rows = [row for dataset in DATASETS for row in lowest(dataset, data)]
    timing.write(Path(__file__).with_suffix(".csv"), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    main(parser.parse_args().data)
