"""Made-up scores of donut, terrain and traffic in the real format, for the tests of cdo."""

import numpy as np

from kcde import scores

REPETITIONS, FOLDS = 10, 10
FLOWS = ("CondRealNVP", "CondMAF")
METRO, PEMS = "metro-traffic-substitute", "pems-sf"

# Method to the errors of the donut: against the joint at x = 1 and 0, against the conditional.
DONUT = {
    "CDO": ((0.040, 0.034), (0.063, 0.072)),
    "CDO-clipped": ((0.038, 0.032), (0.060, 0.069)),
    "CDO-projected": ((0.037, 0.031), (0.059, 0.068)),
    "CDO-narrow": ((0.052, 0.049), (0.017, 0.021)),
    "CDO-chosen": ((0.050, 0.047), (0.019, 0.023)),
    "GP": ((0.082, 0.072), (0.090, 0.085)),
    "GP-ML": ((0.070, 0.065), (0.080, 0.075)),
    "CondRealNVP": ((0.031, 0.043), (0.040, 0.050)),
    "CondMAF": ((0.026, 0.044), (0.030, 0.041)),
    "LSCDE": ((0.077, 0.069), (0.080, 0.070)),
    "LSCDE-package-signed": ((0.060, 0.055), (0.032, 0.031)),
    "LSCDE-package-constrained": ((0.058, 0.053), (0.035, 0.034)),
    "LSCDE-package-projected": ((0.059, 0.054), (0.037, 0.034)),
    "LSCDE-exact": ((0.027, 0.043), (0.070, 0.069)),
    "LSCDE-signed": ((0.060, 0.055), (0.030, 0.030)),
    "LSCDE-constrained": ((0.058, 0.053), (0.034, 0.033)),
    "LSCDE-projected": ((0.059, 0.054), (0.036, 0.034)),
}
# Those that the readings have beside these.
DONUT_READINGS = {
    "CDO-corrected": ((0.058, 0.040), (0.050, 0.051)),
    "GP-spread": ((0.047, 0.080), (0.063, 0.120)),
}
# Method to smae_centred.
TERRAIN = {
    "CDO": 0.040,
    "CDO-clipped": 0.052,
    "CDO-projected": 0.047,
    "CDO-chosen": 0.021,
    "GP": 0.046,
    "GP-ML": 0.025,
    "GP-Matern": 0.026,
    "CondRealNVP": 0.190,
    "CondMAF": 0.160,
    "LSCDE": 0.850,
    "LSCDE-package-signed": 0.230,
    "LSCDE-package-constrained": 0.310,
    "LSCDE-package-projected": 0.320,
    "LSCDE-exact": 0.700,
    "LSCDE-signed": 0.240,
    "LSCDE-constrained": 0.300,
    "LSCDE-projected": 0.330,
    "linear-interpolation": 0.027,
    "Clough-Tocher": 0.025,
    "four-neighbours": 0.028,
    "Nadaraya-Watson": 0.030,
    "Nadaraya-Watson-CDO": 0.041,
}
TERRAIN_READINGS = {
    "CDO-quarter": 0.0275,
    "LSCDE-package-second": 0.720,
    "LSCDE-package-second-signed": 0.200,
    "LSCDE-package-second-constrained": 0.210,
    "LSCDE-package-second-projected": 0.220,
    "LSCDE-package-traffic": 0.082,
    "LSCDE-package-traffic-signed": 0.081,
    "LSCDE-package-traffic-constrained": 0.080,
    "LSCDE-package-traffic-projected": 0.211,
}
# Method to the median errors of mean and standard deviation.
TRAFFIC = {
    "CDO": (0.05, 0.10),
    "CDO-chosen": (0.045, 0.09),
    "GP-ML": (0.08, 0.40),
    "CondRealNVP": (0.12, 0.20),
    "CondMAF": (0.11, 0.22),
    "LSCDE": (0.30, 0.60),
    "LSCDE-exact": (0.25, 0.50),
    "Nadaraya-Watson-CDO": (0.052, 0.11),
}
DEVIATION = 0.196  # of Σ|y - ȳ| over Σ|y|


def variant(method):
    return "ours" if "-" in method or method == "Clough-Tocher" else "as-published"


def row(experiment, dataset, method, split, metric, value, **rest):
    failed = value is None
    return {
        "experiment": experiment,
        "dataset": dataset,
        "setting": "{}",
        "method": method,
        "variant": variant(method),
        "split": split,
        "metric": metric,
        "value": np.nan if failed else value,
        "unit": "",
        "status": "failed" if failed else "ok",
        "detail": "FloatingPointError: not finite" if failed else "",
    } | rest


def wave(split, *words):
    """Return a factor near 1 that depends on split and words, and is not in the same order."""
    return 1.0 + 0.05 * np.sin(3.0 * split + sum(map(len, words))) + 0.01 * np.cos(7.0 * split)


def donut(method, joint, conditional, repetitions=REPETITIONS):
    """Return the rows of a method; an error of None is a fit that failed."""
    rows = []
    for split in range(repetitions):
        for x, place in ((1, 0), (0, 1)):
            same = {"setting": scores.setting(x=x), "n_train": 3750, "n_test": 3000}
            same |= {"unit": "density"}
            if joint[place] is None:
                rows.append(row("donut", "donut", method, split, "joint_error", None, **same))
                continue
            for metric, value in (
                ("joint_error", joint[place] * wave(split, method)),
                ("conditional_error", conditional[place] * wave(split, method, "c")),
                ("nonpositive_share", 0.3 if method == "CDO" else 0.0),
                ("turned_over", float(place == 1 and split < 3 and method == "CDO")),
                ("joint_error_of_zero", (0.0387, 0.0200)[place] * wave(split)),
                ("joint_error_of_exact", (0.0450, 0.0520)[place] * wave(split)),
                ("conditional_error_of_zero", 0.0625 * wave(split)),
            ):
                rows.append(row("donut", "donut", method, split, metric, value, **same))
    return rows


def terrain(method, centred, folds=FOLDS, dataset="rough-terrain", published=None):
    """Return the rows of a method; a fold in `centred` (a number or one a fold) may be None."""
    each = list(centred) if isinstance(centred, list) else [centred] * folds
    rows = []
    for split, error in enumerate(each):
        same = {"setting": scores.setting(protocol="folds"), "n_train": 12636, "n_test": 1404}
        cell = ("terrain", dataset, method, split)
        if error is None:
            rows.append(row(*cell, "smae_centred", None, **same))
            continue
        error *= wave(split, method) if not isinstance(centred, list) else 1.0
        found = {
            "smae_centred": error,
            "smae_predicted": error * 1.01,
            "smae_pointwise": error * DEVIATION * 1.1,
            "smae_total": error * DEVIATION,
        }
        if method not in FLOWS:
            found["smae"] = error * (1.01 if method.startswith("GP") else 1.0)
        rows += [row(*cell, name, value, **same) for name, value in found.items()]
    if method in FLOWS:
        for split in range(len(each)):
            same = {"setting": scores.setting(protocol="random"), "n_train": 11232, "n_test": 2808}
            cell = ("terrain", dataset, method, split)
            value = (published or 0.035) * wave(split, method)
            rows.append(row(*cell, "smae", value, **same))
            rows.append(row(*cell, "smae_pointwise", value, **same))
            rows.append(row(*cell, "smae_pointwise_std", 0.038, **same))
    return rows


def traffic(dataset, method, errors, splits=3):
    rows = []
    for split in range(splits):
        same = {"n_train": 8000, "n_test": 2000}
        for metric, value in (("mean_error_of_training", 0.04), ("std_error_of_training", 0.08)):
            rows.append(row("traffic", dataset, method, split, metric, value, **same))
        for metric, value in zip(("mean_error", "std_error"), errors, strict=True):
            found = None if value is None else value * wave(split, method)
            rows.append(row("traffic", dataset, method, split, metric, found, **same))
            overlapping = None if value is None else 0.5 * found
            name = f"{metric}_overlapping"
            rows.append(row("traffic", dataset, method, split, name, overlapping, **same))
            thinned = same | {"setting": scores.setting(days="thinned")}
            other = None if value is None else 3.0 * found
            rows.append(row("traffic", dataset, method, split, metric, other, **thinned))
    return rows


def simulated(seconds=0.4, difference=3e-12, pairs=32_256):
    found = {"fit_seconds": seconds, "predict_seconds": 0.2, "peak_memory": 300.0}
    found["grouping_difference"] = difference
    cell = ("traffic", "simulated-traffic", "CDO", 0)
    return [row(*cell, name, value, n_train=pairs) for name, value in found.items()]


def arrays(errors, slots=24, splits=3, seed=0, thinned=0):
    """Return what the experiment stores of a method with these errors of mean and sd."""
    rng = np.random.default_rng(seed)
    days, times = (grid.ravel() for grid in np.mgrid[:7, :slots])
    hours = 24.0 * times / slots
    weekend = np.where(days > 4, 0.5, 1.0)
    rush = np.exp(-((hours - 8) ** 2) / 6) + np.exp(-((hours - 17) ** 2) / 10)
    mean = 300 + 5000 * weekend * rush + 1500 * np.sin(np.pi * hours / 24)
    std = 100 + 0.12 * mean
    outputs = mean + std * rng.standard_normal((120, len(mean)))
    edges = np.linspace(outputs.min(), outputs.max(), 41)
    counts = np.array([np.histogram(column, edges)[0] for column in outputs.T])
    splits += thinned
    wrong = [1.0 + scale * rng.standard_normal((splits, len(mean))) * 1.5 for scale in errors]
    return {
        "inputs": np.tile(np.column_stack([days, times]), (splits, 1, 1)).astype(float),
        "mean": mean * wrong[0],
        "std": std * np.abs(wrong[1]),
        "test_mean": np.tile(outputs.mean(axis=0), (splits, 1)),
        "test_std": np.tile(outputs.std(axis=0), (splits, 1)),
        "overlapping_mean": np.tile(1.1 * outputs.mean(axis=0), (splits, 1)),
        "overlapping_std": np.tile(outputs.std(axis=0), (splits, 1)),
        "thinned": np.arange(splits) >= splits - thinned,
        "histogram": counts,
        "edges": edges,
    }


def _write(folder, dataset, method, rows, stored=None):
    path = folder / dataset / f"{method}.csv"
    scores.write(path, rows, {}, stored)
    return path


def donut_files(folder, cells=DONUT, **how):
    """Write one score file a method and return the paths."""
    return [
        _write(folder / "donut", "donut", method, donut(method, *errors, **how))
        for method, errors in cells.items()
    ]


def terrain_files(folder, cells=TERRAIN, dataset="rough-terrain", **how):
    """Write one score file a method and return the paths."""
    return [
        _write(folder / "terrain", dataset, method, terrain(method, error, dataset=dataset, **how))
        for method, error in cells.items()
    ]


def traffic_files(folder, cells=TRAFFIC, datasets=(METRO,)):
    """Write one score file a (data set, method)."""
    place, paths = folder / "traffic", []
    for dataset in datasets:
        slots = 144 if dataset == PEMS else 24
        for k, (method, errors) in enumerate(cells.items()):
            failed = any(error is None for error in errors)
            stored = None if failed else arrays(errors, slots, seed=k)
            paths.append(_write(place, dataset, method, traffic(dataset, method, errors), stored))
    return [*paths, _write(place, "simulated-traffic", "CDO", simulated())]
