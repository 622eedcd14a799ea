"""What the configuration says to the command line: the flags of each `python -m kcde run`."""

import json
import shlex
from collections.abc import Mapping

from joints import LARGEST_GRID, is_grid


def r_benchmark(config: Mapping, scale: str, method: str) -> str:
    """Return flags of `run r-benchmark`.

    Parameters
    ----------
    config
        The configuration.
    scale
        `smoke`, `laptop` or `paper`.
    method
        A key of `methods`.
    """
    sizes = _sizes(config, scale, "splits", "importance_samples", "tuning_rows")
    return _joined(_estimator(config, method) | sizes | {"backend": config["backend"]})


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
    flags = _estimator(config, method) | _graph(config, method)
    flags |= _sizes(config, scale, "tuning_rows") | {"backend": config["backend"]}
    return _joined(flags | {"nodes": f"{first}-{last}", **_problem(config, scale, dataset)})


def network(config: Mapping, scale: str, dataset: str, method: str) -> str:
    """Return flags of `run joint-network`; for the largest grid data, of every dimension.

    Parameters
    ----------
    config, scale, dataset, method
        As above.
    """
    joint = config["experiments"]["joint"]
    flags = _whole(config, method) | _problem(config, scale, dataset)
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


def samples(config: Mapping, scale: str, method: str) -> str:
    """Return flags of `run samples`.

    Parameters
    ----------
    config, scale, method
        As above.
    """
    has_graph = "graph" in config["methods"][method]
    flags = _estimator(config, method) if has_graph else _whole(config, method)
    flags |= _graph(config, method) | _sizes(config, scale, "tuning_rows")
    return _joined(flags | {"seeds": config["scales"]["sample_seeds"][scale]})


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
    )


def _estimator(config: Mapping, method: str, **more: object) -> dict:
    chosen = config["methods"][method]
    return {
        "estimator": chosen["estimator"],
        "options": json.dumps(chosen.get("options", {}) | more, sort_keys=True),
        "variant": chosen["variant"],
    }


def _whole(config: Mapping, method: str) -> dict:
    """Return the estimator of all columns at once."""
    return _estimator(config, method, **config["methods"][method].get("joint_options", {}))


def _graph(config: Mapping, method: str) -> dict:
    graph = config["methods"][method].get("graph")
    if graph is None:
        return {}
    return {"graph": graph if isinstance(graph, str) else json.dumps(graph)}


def _problem(config: Mapping, scale: str, dataset: str) -> dict:
    grid = is_grid(dataset)
    runs = config["scales"]["grid_runs" if grid else "runs"][scale]
    return {"runs": runs} | ({"max-dim": config["experiments"]["joint"]["max_dim"]} if grid else {})


def _sizes(config: Mapping, scale: str, *names: str) -> dict:
    return {name.replace("_", "-"): config["scales"][name][scale] for name in names}


def _joined(flags: Mapping) -> str:
    return shlex.join(word for key, value in flags.items() for word in (f"--{key}", str(value)))
