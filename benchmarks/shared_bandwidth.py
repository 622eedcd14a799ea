"""The lowest test nats of a method that a bandwidth for x and y, or one for each, can give.

On sets of the R benchmark where the published number is lower, in each of the 20 splits, by
quadrature: the lowest negative log-likelihood of the test half over a grid of bandwidths and λ,
thus chosen on the rows that are scored, which no rule may do. `all` is the lowest mean of one
choice for all splits. It bounds from below what any rule that chooses from the grid reports.

Run: python benchmarks/shared_bandwidth.py DATA (an hour of a core)
"""

import timing  # isort: skip
import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from kcde import methods
from kcde.data.loaders import load
from kcde.experiments.r_benchmark import half_split

FLOORED = methods.METHODS["LSCDE"].r_benchmark_options
LSCDE = {"": FLOORED, " without floor": {}, " without floor, all centres": {"n_centres": 1000}}
CASES = [(name, "KCEF", "", {}) for name in ("mcycle", "ftcollinssnow", "snowgeese", "sniffer")]
CASES += [(name, "LSCDE", *variant) for name in ("ufc", "gilgais") for variant in LSCDE.items()]
"""Data set, method, and what its options are called."""

SPLITS, CHOSEN = 20, ("bandwidth_x", "bandwidth_y", "regularization")
SIGMAS = {"KCEF": np.geomspace(0.2, 8.0, 20), "LSCDE": np.geomspace(10**-1.5, 10**1.5, 20)}
LAMBDAS = {"KCEF": np.geomspace(1e-5, 1.0, 20)[::2], "LSCDE": np.geomspace(1e-3, 10.0, 20)[::2]}
APART = {"KCEF": np.geomspace(0.2, 8.0, 8), "LSCDE": SIGMAS["LSCDE"][3:17:2]}


def grids(method: str) -> dict[str, list[tuple]]:
    """Return the bandwidths and λ of each kind."""
    lambdas, apart = LAMBDAS[method], APART[method]
    return {
        "one": [(sigma, sigma, lam) for sigma, lam in product(SIGMAS[method], lambdas)],
        "apart": list(product(apart, apart, lambdas[::2])),
    }


def scaled(values: np.ndarray, train: np.ndarray, test: np.ndarray) -> list[np.ndarray]:
    rows, scale = values[train], values[train].std(axis=0)
    return [(each - rows.mean(axis=0)) / scale for each in (rows, values[test])]


def lowest(data: Path, dataset: str, method: str, called: str, options: dict) -> list[dict]:
    table = load(dataset, data)
    losses = {name: np.full((SPLITS, len(grid)), np.inf) for name, grid in grids(method).items()}
    for split in range(SPLITS):
        train, test = half_split(dataset, split, len(table.X))
        (X, x), (Y, y) = (scaled(values, train, test) for values in (table.X, table.Y))
        for name, grid in grids(method).items():
            for place, chosen in enumerate(grid):
                model = methods.make(method, **options, **dict(zip(CHOSEN, chosen, strict=True)))
                losses[name][split, place] = -model.fit(X, Y).log_density(x, y).mean()
        print(f"{dataset}, {method}{called}: {split + 1} of {SPLITS}", flush=True)
    rows = []
    for name, each in losses.items():
        same = {"dataset": dataset, "method": method + called, "bandwidths": name}
        for split, nats in [*enumerate(each), ("all", each.mean(axis=0))]:
            best = dict(zip(CHOSEN, grids(method)[name][nats.argmin()], strict=True))
            best = {key: f"{value:.4g}" for key, value in best.items()}
            rows.append(same | {"split": split} | best | {"nats": f"{nats.min():.4f}"})
        mean = f"{each.min(axis=1).mean():.4f}"
        rows.append(same | {"split": "mean"} | dict.fromkeys(CHOSEN, "") | {"nats": mean})
    return rows


def main(data: Path) -> None:
    warnings.simplefilter("ignore")  # of densities that vary fast: what they score is kept
    rows = [row for case in CASES for row in lowest(data, *case)]
    timing.write(Path(__file__).with_suffix(".csv"), rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    main(parser.parse_args().data)
