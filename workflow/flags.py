"""What the configuration says to the command line: the flags of each `python -m kcde run`."""

import json
import shlex
from collections.abc import Mapping, Sequence

from conditionals import DONUT, FLOWS
from embeddings import files, sizes, tolerances
from joints import LARGEST_GRID, is_grid

_TRAINED = "DDE"
"""The estimator whose number of iterations the scale sets."""


_AUTHORS_RATE = 1e-4
_PATIENCE = 5  # it waits for a fifth of all iterations


def r_benchmark(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run r-benchmark`.

    Parameters
    ----------
    config
        The configuration.
    scale
        `smoke`, `laptop` or `paper`.
    dataset
        Where `dataset_options` are looked up.
    method
        A key of `methods`.
    """
    chosen = config["methods"][method]
    options = _options(config, method, dataset, more="r_benchmark_options")
    if chosen["estimator"] == _TRAINED:
        options = _training(config, scale) | options
    flags = _estimator(config, method, options)
    flags |= _sizes(config, scale, "splits", "importance_samples", "tuning_rows")
    if "evaluation" in chosen:
        flags["evaluation"] = chosen["evaluation"]
    return _joined(flags | _backend(config))


def factors(config: Mapping, scale: str, dataset: str, method: str, nodes: str) -> str:
    """Return flags of `run factors`.

    Parameters
    ----------
    config, scale
        As above.
    dataset, method
        The latter with a `graph`.
    nodes
        First and last, `05-08`.
    """
    first, last = map(int, nodes.split("-"))
    flags = _estimator(config, method, _options(config, method, dataset))
    flags |= _graph(config, method)
    flags |= _sizes(config, scale, "tuning_rows") | _backend(config)
    return _joined(flags | {"nodes": f"{first}-{last}", **_problem(config, scale, dataset)})


def network(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run joint-network`; for the largest grid data, of every dimension.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    joint = config["experiments"]["joint"]
    flags = _whole(config, method, dataset) | _problem(config, scale, dataset)
    flags |= _sizes(config, scale, "tuning_rows")
    if dataset == LARGEST_GRID:
        flags["dims"] = ",".join(map(str, joint["dims"]))
    return _joined(flags)


def exact(config: Mapping, scale: str, dataset: str) -> str:
    """Return flags of `run exact`.

    Parameters
    ----------
    config, scale, dataset
        As above.
    """
    return _joined(_problem(config, scale, dataset))


def samples(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run samples`.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    flags = _whole(config, method, dataset)
    if "graph" in config["methods"][method]:
        flags = _estimator(config, method, _options(config, method, dataset))
    flags |= _graph(config, method) | _sizes(config, scale, "tuning_rows")
    flags["seeds"] = config["scales"]["sample_seeds"][scale]
    return _joined(flags | _backend(config))


def similarity(config: Mapping) -> str:
    """Return flags of `run similarity`.

    Parameters
    ----------
    config
        As above.
    """
    return _joined(_backend(config))


def planar(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run planar`.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    flags = _whole(config, method, dataset) | {"seeds": config["scales"]["planar_seeds"][scale]}
    if config["methods"][method]["estimator"] == _TRAINED:
        flags["iterations"] = config["scales"]["planar_iterations"][scale]
    return _joined(flags | _backend(config))


def moments(config: Mapping, scale: str, dataset: str, methods: Sequence[str]) -> str:
    """Return flags of `run moments`, the methods and what is told of each included.

    Parameters
    ----------
    config, scale, dataset
        As above.
    methods
        Of one of `embeddings.groups`.
    """
    chosen = config["experiments"]["moments"]
    dim, _ = sizes(dataset)
    flags = _embedding(config, scale, "moments", f"moments_tuning_rows_{dim}")
    flags["tolerances"] = _listed(tolerances(config, dataset, scale))
    flags["gamma-std"] = chosen["gamma_std"]
    if dim in chosen["shared_choice"].get(methods[0], ()):
        flags["choice"] = "shared"
    if dim in chosen["slow_constrained"].get(methods[0], ()):
        flags["constrained-repetitions"] = config["scales"]["slow_repetitions"][scale]
    return _several(config, dataset, methods, flags)


def portfolio(config: Mapping, scale: str, dataset: str, methods: Sequence[str]) -> str:
    """Return flags of `run portfolio`, the methods and what is told of each included.

    Parameters
    ----------
    config, scale, dataset, methods
        As above.
    """
    flags = _embedding(config, scale, "portfolio", "portfolio_tuning_rows")
    flags |= {
        "tolerance": config["experiments"]["portfolio"]["tolerance"],
        "max-rank": config["scales"]["portfolio_max_rank"][scale],
    }
    names = {name.replace("_", "-"): value for name, value in files(config, scale).items()}
    return _several(config, dataset, methods, flags | names)


def donut(config: Mapping, scale: str, method: str) -> str:
    """Return flags of `run donut`.

    Parameters
    ----------
    config, scale, method
        As above.
    """
    sizes = {name: config["scales"][f"donut_{name}"][scale] for name in ("repetitions", "points")}
    return _joined(_conditional(config, method, DONUT) | sizes | _backend(config))


def terrain(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run terrain`; random splits for flows alone.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    flags = _conditional(config, method, dataset)
    flags["folds"] = config["scales"]["terrain_folds"][scale]
    if config["methods"][method]["estimator"] in FLOWS:
        flags["splits"] = config["scales"]["terrain_splits"][scale]
    return _joined(flags | _backend(config))


def traffic(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run traffic`.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    flags = _conditional(config, method, dataset) | _backend(config)
    return _joined(flags | {"splits": config["scales"]["traffic_splits"][scale]})


def consistency(config: Mapping, scale: str) -> str:
    """Return flags of `run consistency`.

    Parameters
    ----------
    config, scale
        As above.
    """
    sizes = config["scales"]
    return _joined(
        {
            "repetitions": sizes["consistency_repetitions"][scale],
            "largest": sizes["consistency_rows"][scale],
        }
        | _backend(config)
    )


def estimation_cost(config: Mapping, scale: str) -> str:
    """Return flags of `run estimation-cost`.

    Parameters
    ----------
    config, scale
        As above.
    """
    sizes = config["scales"]
    return _joined({name: sizes[f"cost_{name}"][scale] for name in ("rows", "dims", "iterations")})


def _embedding(config: Mapping, scale: str, experiment: str, tuning_rows: str) -> dict:
    """Return what an experiment of jdl repeats, tries and tests."""
    scales, chosen = config["scales"], config["experiments"][experiment]
    return {
        "repetitions": scales[f"{experiment}_repetitions"][scale],
        "tuning-rows": scales[tuning_rows][scale],
        "test-rows": scales["embedding_test_rows"][scale],
        "bandwidth-factors": _listed(chosen["bandwidth_factors"]),
        "regularizations": _listed(chosen["regularizations"]),
        **_backend(config),
    }


def _conditional(config: Mapping, method: str, dataset: str) -> dict:
    """Return the estimator, and whose hyper-parameters it has."""
    settings = config["methods"][method].get("settings", "chosen")
    return _estimator(config, method, _options(config, method, dataset)) | {"settings": settings}


def _several(config: Mapping, dataset: str, methods: Sequence[str], flags: Mapping) -> str:
    """Return each method with what is its own, and then what all share."""
    each = [
        {"method": method} | _estimator(config, method, _options(config, method, dataset))
        for method in methods
    ]
    return " ".join(map(_joined, [*each, flags]))


def _listed(values) -> str:
    return ",".join(f"{value:g}" for value in values)


def _options(config: Mapping, method: str, dataset: str, *, more: str = "") -> dict:
    """Return constructor arguments: those of a data set over more of a key, over all others."""
    chosen = config["methods"][method]
    options = chosen.get("options", {}) | chosen.get(more, {})
    return options | chosen.get("dataset_options", {}).get(dataset, {})


def _training(config: Mapping, scale: str) -> dict:
    """Return how long DDE is trained on an R set, and at what rate."""
    iterations = config["scales"]["dde_iterations"][scale]
    return {
        "iterations": iterations,
        "patience": max(1, iterations // _PATIENCE),
        "learning_rate": _AUTHORS_RATE * config["scales"]["dde_speed"][scale],
    }


def _estimator(config: Mapping, method: str, options: Mapping) -> dict:
    chosen = config["methods"][method]
    return {
        "estimator": chosen["estimator"],
        "options": json.dumps(options, sort_keys=True),
        "variant": chosen["variant"],
    }


def _whole(config: Mapping, method: str, dataset: str) -> dict:
    """Return the estimator of all columns at once."""
    return _estimator(config, method, _options(config, method, dataset, more="joint_options"))


def _graph(config: Mapping, method: str) -> dict:
    graph = config["methods"][method].get("graph")
    if graph is None:
        return {}
    return {"graph": graph if isinstance(graph, str) else json.dumps(graph)}


def _problem(config: Mapping, scale: str, dataset: str) -> dict:
    grid = is_grid(dataset)
    runs = config["scales"]["grid_runs" if grid else "runs"][scale]
    return {"runs": runs} | ({"max-dim": config["experiments"]["joint"]["max_dim"]} if grid else {})


def _backend(config: Mapping) -> dict:
    """Return where arrays are, for what is written for numpy and cupy alike."""
    return {"backend": config["backend"]}


def _sizes(config: Mapping, scale: str, *names: str) -> dict:
    return {name.replace("_", "-"): config["scales"][name][scale] for name in names}


def _joined(flags: Mapping) -> str:
    return shlex.join(word for key, value in flags.items() for word in (f"--{key}", str(value)))
