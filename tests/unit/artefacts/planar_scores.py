"""Made-up scores of points of the plane in the real format, for the tests of dde's artefacts."""

import numpy as np

from kcde import scores
from kcde.data import made_up

SEEDS = 5
TEXT = ("two-moons", "ring", "grid")

# Method to MMD² × 1000 and seconds.
LIKE_THE_PAPER = {"DDE": (0.5, 0.02), "DDE-penalised": (0.6, 0.02), "KEF": (5.0, 6.0)}


def row(dataset, method, seed, metric, value, unit=""):
    failed = value is None
    return {
        "experiment": "planar",
        "dataset": dataset,
        "setting": "{}",
        "method": method,
        "variant": "as-published" if method in ("DDE", "KEF") else "ours",
        "split": seed,
        "n_train": made_up.planar_sizes(dataset)[0],
        "n_test": made_up.planar_sizes(dataset)[1],
        "metric": metric,
        "value": np.nan if failed else value,
        "unit": unit,
        "status": "failed" if failed else "ok",
        "detail": "FloatingPointError: iteration 17" if failed else "",
    }


def measured(dataset, method, seed, distance, seconds):
    """Return the rows of one seed; a distance of None is a failed seed."""
    same = (dataset, method, seed)
    if distance is None:
        return [row(*same, "mmd", None, "1e-3")]
    wave = 1.0 + 0.1 * np.sin(3.0 * seed + len(dataset) + len(method))
    rows = [
        row(*same, "mmd", distance * wave, "1e-3"),
        row(*same, "mmd_train", 0.8 * distance * wave, "1e-3"),
        row(*same, "sampling_time", seconds * wave, "s"),
    ]
    size = 400 if method.startswith("KEF") else 5000
    rows.append(row(*same, "effective_samples_per_second", size / seconds, "samples/s"))
    if method.startswith("KEF"):
        chains = {"acceptance_rate": 0.9, "r_hat": 1.01, "divergences": 0.0}
        chains["effective_sample_size"] = 400.0
        rows += [row(*same, name, value) for name, value in chains.items()]
        rows.append(row(*same, "negative_log_likelihood", 1.9, "nats"))
        return [*rows, row(*same, "negative_log_likelihood_exact", 1.5, "nats")]
    rows.append(row(*same, "negative_log_likelihood", None, "nats"))
    rows.append(row(*same, "negative_log_likelihood_exact", 1.5, "nats"))
    rows.append(row(*same, "points_without_density", 12.0, "points"))
    rows.append(row(*same, "negative_log_likelihood_inside", 1.7, "nats"))
    return [*rows, row(*same, "negative_log_likelihood_exact_inside", 1.4, "nats")]


def arrays(dataset, seeds, rng, draw=made_up.planar_draw, noise=0.05, last=2e-3):
    """Return what the experiment stores of a learned sampler that draws by `draw`."""
    n_train, n_test = made_up.planar_sizes(dataset)
    train, samples = (
        made_up.planar_draw(dataset, n_train, rng),
        np.stack([draw(dataset, n_test, rng) for _ in range(seeds)]),
    )
    ring = dataset.startswith("ring")
    kept = np.array([0, 500, 2500, 5000, 10000, 20000] if ring else [0, 500, 1000, 2000, 20000])
    near = [made_up.planar_draw(dataset, 1000, rng) for _ in kept]
    blurred = [points + rng.normal(size=(1000, 2)) * 3.0 / (1 + k) for k, points in enumerate(near)]
    checks = np.arange(0, 20001, 100)
    fall = 0.5 * (last / 0.5) ** (checks / 20000)
    history = fall * np.exp(noise * rng.normal(size=(seeds, len(checks))))
    low, high = train.min(axis=0), train.max(axis=0)
    x, y = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), 100, axis=1)
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return {
        "samples_all": samples.astype(np.float32),
        "history_iteration": checks,
        "history_objective": history,
        "history_mmd2": history,
        "train": train,
        "test": made_up.planar_draw(dataset, n_test, rng),
        "samples": samples[0],
        "snapshot_iterations": kept,
        "snapshots": np.stack(blurred),
        "surface_x": x,
        "surface_y": y,
        "surface_f": np.maximum(made_up.planar_log_density(dataset, nodes), -20.0).reshape(
            100, 100
        ),
        "surface_log_density": np.zeros((100, 100)),
    }


def files(folder, cells=LIKE_THE_PAPER, datasets=TEXT, seeds=SEEDS, changes=None, **how):
    """Write one score file a (data set, method) and return the paths.

    `changes` maps (data set, method) to a list of MMDs, one a seed, None for a failed one.
    """
    paths = []
    for dataset in datasets:
        for method, (distance, seconds) in cells.items():
            given = (changes or {}).get((dataset, method), [distance] * seeds)
            rows = [
                entry
                for seed, value in enumerate(given)
                for entry in measured(dataset, method, seed, value, seconds)
            ]
            rng = np.random.default_rng(len(dataset))
            stored = {} if method.startswith("KEF") else arrays(dataset, len(given), rng, **how)
            for seed, value in enumerate(given):
                if value is None:
                    stored["samples_all"][seed] = np.nan
                    stored["history_mmd2"][seed] = np.nan
            paths.append(folder / dataset / f"{method}.csv")
            scores.write(paths[-1], rows, {}, stored)
    return paths
