"""Made-up scores of joint densities in the real format, for the tests of kcef's other artefacts."""

import numpy as np
import pandas as pd

from kcde import scores

SIZES = (200, 400, 700, 1000, 1400, 2000)
MORE_SIZES = (*SIZES, 4000, 8000)
EVERY_DIMENSION = 2000
ALL_DIMENSIONS = tuple(range(1, 21))
NETWORK_DIMENSIONS = (2, 3, 5, 10, 15, 20)
DEPENDENCE = 0.143
RUNS = 5

# Method to nats lost a dimension: at n = 2000, as a factor of sqrt(2000 / n), and more a dimension.
LOSSES = {
    "KCEF-F-anisotropic": (0.030, 0.0015),
    "KCEF-M": (0.025, 0.0),
    "LSCDE-F": (0.045, 0.0015),
    "LSCDE-M": (0.040, 0.0),
    "NADE": (0.035, 0.0030),
    "KCEF-F": (0.030, 0.0080),
}


def variant_of(method):
    if method == "exact":
        return "exact"
    ours = "-LL" in method or method.endswith(("-inverse", "-adapted", "-pair"))
    return "ours" if ours else "as-published"


def row(dataset, method, run, value, metric="negative_log_likelihood", **rest):
    return {
        "experiment": "joint",
        "dataset": dataset,
        "setting": scores.setting(**({"dim": rest["dim"]} if "dim" in rest else {})),
        "method": method,
        "variant": variant_of(method),
        "split": run,
        "metric": metric,
        "value": np.nan if value is None else value,
        "unit": "nats",
        "status": "failed" if value is None else "ok",
    } | rest


def frame(rows):
    return pd.DataFrame(rows, columns=scores.COLUMNS).assign(detail="")


def bounds(d):
    """Return exact entropy and independence of d standardised uniform columns, in nats."""
    independence = d * np.log(np.sqrt(12.0))
    return independence - (d - 1) * DEPENDENCE, independence


def grid(losses=LOSSES, runs=RUNS, noise=0.003, sizes=SIZES):
    """Return scores of the grid data; `losses` maps method to (a dimension at n = 2000, more)."""
    rng = np.random.default_rng(0)
    rows = []
    for n in sizes:
        for run in range(runs):
            common = noise * rng.normal()
            for d in ALL_DIMENSIONS if n == EVERY_DIMENSION else (3,):
                for metric, value in zip(("entropy", "independence"), bounds(d), strict=True):
                    rows.append(row(f"grid-{n}", "exact", run, value, metric, dim=d))
                for method, (loss, more) in losses.items():
                    if method == "KCEF-F" and n != EVERY_DIMENSION:
                        continue
                    if method == "NADE" and d not in NETWORK_DIMENSIONS:
                        continue
                    slow = 1.0 if method == "NADE" else 0.5
                    lost = d * (loss + more * (d - 2)) * (EVERY_DIMENSION / n) ** slow
                    value = bounds(d)[0] + lost + common + 0.3 * noise * rng.normal()
                    rows.append(row(f"grid-{n}", method, run, value, dim=d))
    return frame(rows)


def files(folder, table):
    """Write one score file a (data set, method) and return the paths."""
    paths = []
    for (dataset, method), cell in table.groupby(["dataset", "method"], sort=False):
        paths.append(folder / dataset / f"{method}.csv")
        rows = [
            {k: v for k, v in entry.items() if not (isinstance(v, float) and np.isnan(v))}
            for entry in cell.to_dict("records")
        ]
        scores.write(paths[-1], rows, {})
    return paths


def uci(means, runs=RUNS, width=0.3):
    """Return scores of UCI data from {(data set, method): mean}, spread evenly over the runs."""
    wave = np.linspace(-width, width, runs)
    return frame(
        [
            row(dataset, method, run, mean + wave[run] + 0.02 * np.sin(3.0 * run + len(method)))
            for (dataset, method), mean in means.items()
            for run in range(runs)
        ]
    )


def similarity(p_values, mixing=None):
    """Return scores from {(data set, rival, variant): p-values a seed}; None marks a failure.

    `mixing` maps the same keys to R-hat and rate of divergences of the last seed; the others are
    those of converged chains.
    """
    rows = []
    for (dataset, rival, variant), values in p_values.items():
        stated = (mixing or {}).get((dataset, rival, variant))
        for seed, p in enumerate(values):
            last = stated if stated and seed == len(values) - 1 else (1.01, 0.0)
            cells = {"p_value": p} | dict(zip(("r_hat", "divergence_rate"), last, strict=True))
            rows += [
                row(dataset, f"H0: {rival} closer than KCEF", seed, value, metric)
                | {"experiment": "similarity", "variant": variant, "unit": ""}
                for metric, value in cells.items()
            ]
    return frame(rows)


def heteroscedastic(rng, n, spread=1.0):
    """Return n rows of four columns; the spread of the last depends on the one before."""
    x = rng.gamma(2.0, size=n)
    y = np.abs(0.3 * x * spread * rng.normal(size=n)) + 0.3 * x
    return np.column_stack([rng.normal(size=(n, 2)), x - 2.0, y - 1.0])


def samples(folder, spreads, seeds=3, errors=None, r_hats=None):
    """Write samples of {(data set, method): spread}, and return the paths.

    `errors` maps the same keys to the three conditional errors of every seed, `r_hats` to R-hat.
    """
    names = ("conditional_std_error", "conditional_q01_error", "conditional_q99_error")
    columns = ["fixed acidity", "citric acid", "free sulfur dioxide", "total sulfur dioxide"]
    paths = []
    for (dataset, method), spread in spreads.items():
        rng = np.random.default_rng(len(dataset))
        reference = np.stack([heteroscedastic(rng, 1000) for _ in range(seeds)])
        drawn = np.stack([heteroscedastic(rng, 2000, spread) for _ in range(seeds)])
        values = (errors or {}).get((dataset, method), (abs(spread - 1),) * 3)
        rows = [
            row(dataset, method, seed, value, metric) | {"experiment": "samples", "unit": ""}
            for seed in range(seeds)
            for metric, value in zip(names, values, strict=True)
        ]
        if method != "NADE" and not method.endswith("-inverse"):
            r_hat = (r_hats or {}).get((dataset, method), 1.01)
            mixed = {"acceptance_rate": 0.9, "r_hat": r_hat, "divergences": 2.0}
            mixed |= {"effective_sample_size": 400.0}
            for seed in range(seeds):
                each = {metric: value + 0.01 * seed for metric, value in mixed.items()}
                for metric, value in {**each, "divergence_rate": 0.001 * seed}.items():
                    entry = row(dataset, method, seed, value, metric)
                    rows.append(entry | {"experiment": "samples", "unit": ""})
        paths.append(folder / dataset / f"{method}.csv")
        info = {"columns": columns, "shown_pair": [3, 4]}
        scores.write(paths[-1], rows, info, {"samples": drawn, "reference": reference})
    return paths
