"""Names in the configuration and what they refer to."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kcde import discovery
from kcde.artefacts.core import listing
from kcde.data import names as data_sets
from kcde.experiments.jobs._conditional import SMOOTHERS
from kcde.experiments.jobs.large_n import REGRESSORS
from kcde.experiments.jobs.samples import SHOWN_PAIR
from kcde.names import nearest
from lib.jobs import DIMS, EXACT

_NETWORKS = ("NADE",)
"""Estimators whose one model has all columns, so that a joint density needs no graph."""

_OPTIONS, _BY_DATASET = ("options", "joint_options", "r_benchmark_options"), "dataset_options"
"""Keys of a method with constructor arguments, and that with some for each data set."""

_JOINT = ("joint", "samples", "similarity")
"""Experiments with joint densities, of which a method may have a graph."""

_OF_SAMPLES = ("samples", "similarity")
"""Those of which a method may model the shown pair of columns alone."""

_OF_CATALOGUE = ("larger_sets", "r_benchmark", "table1_readings", "terrain")
"""Experiments whose data sets are all in the catalogue."""

_SIZED = {
    "moments": data_sets.GAUSSIAN,
    "portfolio": data_sets.PORTFOLIOS,
    "large_n": data_sets.BIMODAL,
}

BESIDE = {
    "joint": (EXACT,),
    "large_n": REGRESSORS,
    "terrain": SMOOTHERS,
    "traffic": SMOOTHERS[-1:],
}
"""Names of an experiment that stand for no estimator."""


def any_of(names: Iterable[str]) -> str:
    """Return the regular expression that names match, and nothing else."""
    return "|".join(map(re.escape, names))


_GENERATED = {
    "exact": data_sets.GRID_PATTERN,
    "planar": any_of(data_sets.PLANAR),
    "donut": data_sets.DONUT,
    "moments": data_sets.GAUSSIAN.pattern_of(DIMS),
    "portfolio": data_sets.PORTFOLIOS.pattern,
    "large_n": data_sets.BIMODAL.pattern,
}


def generated(experiment: str | None = None) -> str | None:
    """Return the regular expression of the names of generated data.

    Parameters
    ----------
    experiment
        Returns None for an experiment that has other data sets too; by default all experiments.
    """
    if experiment is not None:
        return _GENERATED.get(experiment)
    return "|".join([*_GENERATED.values(), data_sets.SIMULATED_TRAFFIC])


def unresolved_names(config: Mapping, known: Iterable[str]) -> Iterable[str]:
    """Yield a sentence for each name in a configuration that does not resolve.

    Parameters
    ----------
    config
        A configuration that its schema allows.
    known
        Names of the data sets in the catalogue.
    """
    estimators, data = discovery.estimators(), _Data(list(known))
    papers = dict.fromkeys(listed.paper for listed in listing.artefacts().values())
    yield from unknown("papers", config["papers"], papers, "folders of src/kcde/artefacts")
    for name, method in config["methods"].items():
        key = f"methods.{name}"
        yield from unknown(f"{key}.estimator", [method["estimator"]], estimators, "the estimators")
        yield from data.unknown(f"{key}.dataset_options", method.get("dataset_options", ()))
        if method["estimator"] in estimators:
            yield from _options(key, method)
    for key, experiment, choice in _uses(config):
        yield from _in_choice(config, data, key, experiment, choice)
    for part in ("experiments", "readings"):
        yield from _sections(config, data, part)
    made_up = _Data(list(data_sets.MADE_UP))
    for experiment, chosen in config["smoke_datasets"].items():
        yield from made_up.unknown(f"smoke_datasets.{experiment}", chosen, experiment)


def _sections(config: Mapping, data: "_Data", part: str) -> Iterable[str]:
    """Yield a sentence for each unresolved name in keys that single experiments have."""
    sections, methods = config[part], config["methods"]
    joint = sections.get("joint", {})
    if {"dims", "max_dim"} & set(joint):
        yield from _dimensions(f"{part}.joint", {**config["experiments"].get("joint", {}), **joint})
    for name in (*_SIZED, "samples"):
        yield from _together(f"{part}.{name}", sections.get(name, {}), methods)
    for name, key in (
        ("moments", "shared_choice"),
        ("moments", "slow_constrained"),
        ("larger_sets", "most_rows"),
    ):
        named = sections.get(name, {}).get(key, ())
        yield from unknown(f"{part}.{name}.{key}", named, methods, "the methods")
    files = sections.get("portfolio", {}).get("files", {})
    yield from data.unknown(f"{part}.portfolio.files", files.values(), "r_benchmark")


def _uses(config: Mapping) -> Iterable[tuple[str, str, Mapping]]:
    """Yield every place that selects data sets and methods, with the experiment it is for."""
    for name, choice in config["experiments"].items():
        yield f"experiments.{name}", name, choice
    for name, choice in config["readings"].items():
        yield f"readings.{name}", name, choice
    for name, listed in listing.artefacts().items():
        for experiment, choice in listed.shows.items():
            yield f"{name}: shows.{experiment}", experiment, choice


def _in_choice(
    config: Mapping, data: "_Data", key: str, experiment: str, choice: Mapping
) -> Iterable[str]:
    """Yield a sentence for each unresolved name in a selection of data sets and methods."""
    if experiment not in config["experiments"]:
        yield from unknown(key, [experiment], config["experiments"], "keys of `experiments`")
        return
    yield from data.unknown(f"{key}.datasets", choice.get("datasets", ()), experiment)
    yield from _methods(f"{key}.methods", experiment, choice.get("methods", ()), config["methods"])
    yield from unknown(f"{key}.but", choice.get("but", ()), config["methods"], "the methods")
    for method, datasets in choice.get("only", {}).items():
        yield from _methods(f"{key}.only", experiment, [method], config["methods"])
        yield from data.unknown(f"{key}.only.{method}", datasets, experiment)


def _together(key: str, section: Mapping, methods: Mapping) -> Iterable[str]:
    together = [method for each in section.get("together", ()) for method in each]
    where = f"{key}.together"
    yield from unknown(where, together, methods, "the methods")
    twice = sorted({method for method in together if together.count(method) > 1})
    if twice:
        yield f"`{where}` names {', '.join(twice)} more than once; a job each is enough"


def _options(key: str, method: Mapping) -> Iterable[str]:
    """Yield a sentence for each option that the constructor of a method's estimator lacks."""
    known = discovery.parameters(method["estimator"])
    given = [(name, method.get(name, {})) for name in _OPTIONS]
    given += [(f"{_BY_DATASET}.{d}", o) for d, o in method.get(_BY_DATASET, {}).items()]
    for name, options in given:
        yield from unknown(f"{key}.{name}", options, known, f"options of {method['estimator']}")


class _Data(NamedTuple):
    """Names of data sets, of which those in the catalogue are given."""

    catalogue: list[str]

    def unknown(self, key: str, names: Iterable[str], experiment: str = "") -> Iterable[str]:
        """Yield a sentence for each name that an experiment does not know, or none does."""
        if experiment in _SIZED:
            return _unsized(key, names, experiment)
        drawn, planar = data_sets.SIMULATED_TRAFFIC, data_sets.PLANAR
        of_experiment = {
            "planar": (planar, "planar data"),
            "donut": ([data_sets.DONUT], "the donut"),
            "traffic": ([drawn, *self.catalogue], "simulated traffic, and the catalogue"),
            **dict.fromkeys(_OF_CATALOGUE, (self.catalogue, "the catalogue")),
        }
        if experiment in of_experiment:
            return unknown(key, names, *of_experiment[experiment])
        grids = _beyond(key, [name for name in names if data_sets.is_grid(name)])
        tables = [name for name in names if not data_sets.is_grid(name)]
        return [*grids, *self._unknown_tables(key, tables, experiment)]

    def _unknown_tables(self, key: str, tables: list[str], experiment: str) -> Iterable[str]:
        """Yield a sentence for each name of no grid data that is unknown."""
        if experiment:
            return unknown(key, tables, self.catalogue, "grid-<n>, and the catalogue")
        tables = [name for name in tables if not any(each.has(name) for each in _SIZED.values())]
        drawn = (*data_sets.PLANAR, data_sets.DONUT, data_sets.SIMULATED_TRAFFIC)
        everywhere = [*drawn, *self.catalogue]
        return unknown(key, tables, everywhere, "grid-<n>, planar data, and the catalogue")


def _beyond(key: str, grids: Iterable[str]) -> Iterable[str]:
    """Yield a sentence for each name of grid data with more or fewer rows than there are."""
    most = data_sets.MOST_GRID_ROWS
    for name in grids:
        if not 2 <= data_sets.grid_name(name).rows <= most:
            yield f"`{key}` names {name!r}; grid data have 2 to {most} training rows, as grid-2000"


def _unsized(key: str, names: Iterable[str], experiment: str) -> Iterable[str]:
    kind = _SIZED[experiment].kind
    most = f" with d up to {max(DIMS)}" if experiment == "moments" else ""
    for name in names:
        if not re.fullmatch(_GENERATED[experiment], name):
            yield f"`{key}` names {name!r}; allowed: {kind}-<d>-<n>{most}, as {kind}-2-1000"


def _methods(key: str, experiment: str, names: Iterable[str], methods: Mapping) -> Iterable[str]:
    known = [*methods, *BESIDE.get(experiment, ())]
    yield from unknown(key, names, known, "the methods")
    of_one_column = set(discovery.estimators()) - set(_NETWORKS)
    for name in names:
        method = methods.get(name)
        if method is None:
            continue
        if experiment not in _JOINT and "graph" in method:
            yield f"`{key}` names {name!r}, which has a `graph`: it is a joint density"
        if experiment not in _OF_SAMPLES and method.get("columns") == SHOWN_PAIR:
            yield f"`{key}` names {name!r}, whose `columns` are the shown pair: it is only sampled"
        needs_graph = experiment == "joint" and method["estimator"] in of_one_column
        if needs_graph and "graph" not in method:
            yield (
                f"`{key}` names {name!r}, which has no `graph`: give `methods.{name}.graph` (full, "
                f"markov or parents), or take an estimator of all columns ({', '.join(_NETWORKS)})"
            )


def _dimensions(key: str, joint: Mapping) -> Iterable[str]:
    beyond = [d for d in joint.get("dims", ()) if d > joint["max_dim"]]
    if beyond:
        yield (
            f"`{key}.dims` has {', '.join(map(str, beyond))}; allowed: at most "
            f"`{key}.max_dim`, which is {joint['max_dim']}"
        )


def unknown(key: str, names: Iterable[str], known: Iterable[str], where: str) -> Iterable[str]:
    """Yield a sentence for each name that is not known.

    Parameters
    ----------
    key
        That of the configuration with the names.
    names
        As given.
    known
        The names there are.
    where
        What these are.
    """
    known = list(known)
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            yield f"`{key}` names {name!r}{nearest(name, known)}; known ({where}): {listed}"
