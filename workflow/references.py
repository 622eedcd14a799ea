"""Names in the configuration and what they refer to."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from conditionals import DONUT
from embeddings import PATTERNS, is_sized
from joints import EXACT, is_grid
from traffics import SIMULATED

from kcde import discovery
from kcde.artefacts.core import listing
from kcde.names import nearest

_NETWORKS = ("NADE",)
"""Estimators whose one model has all columns, so that a joint density needs no graph."""

_OPTIONS, _BY_DATASET = ("options", "joint_options", "r_benchmark_options"), "dataset_options"
"""Keys of a method with constructor arguments, and that with some for each data set."""

_WHOLE = ("r_benchmark", "planar", "donut", "terrain", "traffic", *PATTERNS)
"""Experiments in which y is modelled at once, not column by column."""


def dangling(config: Mapping, known: Iterable[str]) -> Iterable[str]:
    """Yield a sentence for each name in a configuration that refers to nothing, or not to its like.

    Parameters
    ----------
    config
        A configuration that its schema allows.
    known
        Names of the data sets in the catalogue.
    """
    estimators, data = discovery.estimators(), _Data(list(known), planar_names())
    papers = dict.fromkeys(listed.paper for listed in listing.artefacts().values())
    yield from _unknown("papers", config["papers"], papers, "folders of src/kcde/artefacts")
    for name, method in config["methods"].items():
        key = f"methods.{name}"
        yield from _unknown(f"{key}.estimator", [method["estimator"]], estimators, "the estimators")
        yield from data.unknown(f"{key}.dataset_options", method.get("dataset_options", ()))
        if method["estimator"] in estimators:
            yield from _options(key, method)
    of_one_column = set(estimators) - set(_NETWORKS)
    for key, experiment, choice in _uses(config):
        if experiment not in config["experiments"]:
            keys = "keys of `experiments`"
            yield from _unknown(key, [experiment], config["experiments"], keys)
            continue
        yield from data.unknown(f"{key}.datasets", choice.get("datasets", ()), experiment)
        names = choice.get("methods", ())
        yield from _methods(f"{key}.methods", experiment, names, config["methods"], of_one_column)
        yield from _unknown(f"{key}.but", choice.get("but", ()), config["methods"], "the methods")
        for method, datasets in choice.get("only", {}).items():
            yield from _unknown(f"{key}.only", [method], config["methods"], "the methods")
            yield from data.unknown(f"{key}.only.{method}", datasets, experiment)
        without = choice.get("optional", ())
        yield from _unknown(
            f"{key}.optional", without, choice.get("datasets", ()), "its `datasets`"
        )
    yield from _dimensions(config["experiments"].get("joint", {}))
    for name in PATTERNS:
        lists = config["experiments"].get(name, {}).get("together", ())
        together = [method for names in lists for method in names]
        where = f"experiments.{name}.together"
        yield from _unknown(where, together, config["methods"], "the methods")
        twice = sorted({method for method in together if together.count(method) > 1})
        if twice:
            yield f"`{where}` names {', '.join(twice)} more than once; a job each is enough"
    moments = config["experiments"].get("moments", {})
    for key in ("shared_choice", "slow_constrained"):
        where = f"experiments.moments.{key}"
        yield from _unknown(where, moments.get(key, ()), config["methods"], "the methods")
    files = config["experiments"].get("portfolio", {}).get("files", {})
    yield from data.unknown("experiments.portfolio.files", files.values(), "r_benchmark")


def _options(key: str, method: Mapping) -> Iterable[str]:
    """Yield a sentence for each option that the constructor of a method's estimator has not."""
    known = discovery.parameters(method["estimator"])
    given = [(name, method.get(name, {})) for name in _OPTIONS]
    given += [(f"{_BY_DATASET}.{d}", o) for d, o in method.get(_BY_DATASET, {}).items()]
    for name, options in given:
        yield from _unknown(f"{key}.{name}", options, known, f"options of {method['estimator']}")


def planar_names() -> list[str]:
    """Return the names of the points of the plane that can be drawn, without importing numerics."""
    return list(discovery.constant("kcde.datasets.planar", "NAMES"))


def _uses(config: Mapping) -> Iterable[tuple[str, str, Mapping]]:
    """Yield every place that selects data sets and methods, with the experiment it is for."""
    for name, choice in config["experiments"].items():
        yield f"experiments.{name}", name, choice
    for name, listed in listing.artefacts().items():
        for experiment, choice in listed.shows.items():
            yield f"{name}: shows.{experiment}", experiment, choice


class _Data(NamedTuple):
    """Names of data sets by where they come from."""

    catalogue: list[str]
    planar: list[str]

    def unknown(self, key: str, names: Iterable[str], experiment: str = "") -> Iterable[str]:
        """Yield a sentence for each name that an experiment does not know, or none does."""
        if experiment in PATTERNS:
            return _unsized(key, names, experiment)
        if experiment == "planar":
            return _unknown(key, names, self.planar, "planar data")
        if experiment == "donut":
            return _unknown(key, names, [DONUT], "points that are drawn")
        if experiment == "traffic":
            known = [SIMULATED, *self.catalogue]
            return _unknown(key, names, known, "simulated traffic, and the catalogue")
        if experiment in ("r_benchmark", "terrain"):
            return _unknown(key, names, self.catalogue, "the catalogue")
        tables = [
            name for name in names if not is_grid(name) and (experiment or not is_sized(name))
        ]
        if experiment:
            return _unknown(key, tables, self.catalogue, "grid-<n>, and the catalogue")
        everywhere = [*self.planar, DONUT, SIMULATED, *self.catalogue]
        return _unknown(key, tables, everywhere, "grid-<n>, planar data, and the catalogue")


def _unsized(key: str, names: Iterable[str], experiment: str) -> Iterable[str]:
    kind = PATTERNS[experiment].partition("-")[0]
    most = " with d up to 3" if experiment == "moments" else ""
    for name in names:
        if not is_sized(name, experiment):
            yield f"`{key}` names {name!r}; allowed: {kind}-<d>-<n>{most}, as {kind}-2-1000"


def _methods(
    key: str, experiment: str, names: Iterable[str], methods: Mapping, of_one_column: set[str]
) -> Iterable[str]:
    known = [*methods, EXACT] if experiment == "joint" else list(methods)
    yield from _unknown(key, names, known, "the methods")
    for name in names:
        method = methods.get(name)
        if method is None:
            continue
        if experiment in _WHOLE and "graph" in method:
            yield f"`{key}` names {name!r}, which has a `graph`: it is a joint density"
        needs_graph = experiment == "joint" and method["estimator"] in of_one_column
        if needs_graph and "graph" not in method:
            yield (
                f"`{key}` names {name!r}, which has no `graph`: give `methods.{name}.graph` (full, "
                f"markov or parents), or take an estimator of all columns ({', '.join(_NETWORKS)})"
            )


def _dimensions(joint: Mapping) -> Iterable[str]:
    beyond = [d for d in joint.get("dims", ()) if d > joint["max_dim"]]
    if beyond:
        yield (
            f"`experiments.joint.dims` has {', '.join(map(str, beyond))}; allowed: at most "
            f"`experiments.joint.max_dim`, which is {joint['max_dim']}"
        )


def _unknown(key: str, names: Iterable[str], known: Iterable[str], where: str) -> Iterable[str]:
    known = list(known)
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            yield f"`{key}` names {name!r}{nearest(name, known)}; known ({where}): {listed}"
