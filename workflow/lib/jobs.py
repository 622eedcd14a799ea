"""From a line of the configuration to a job: the parameters of each `python -m kcde run`.

What parameters an experiment has stands in its dataclass (`kcde.experiments.jobs`). A parameter
gets its value, in this order: from the output files (data set, method, nodes, input files); from a
rule of `_RULES`; from the method, from the experiment, or from the top of the configuration, by its
own name; from `scales`, by the name in `SCALED`. A parameter that none of them sets, or that
`scales` sets to null, has its default.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from typing import Any, NamedTuple

from kcde.artefacts.core.listing import READINGS
from kcde.data import names
from kcde.experiments.jobs import EXPERIMENTS, exact, job_class, terrain
from kcde.methods import Method

LAPTOP = "laptop"
"""The default scale."""

_TUNING = {"tuning_rows": "tuning_rows"}
SCALED = {
    "r_benchmark": {
        "splits": "splits",
        "inner_splits": "inner_splits",
        "importance_samples": "importance_samples",
    }
    | _TUNING,
    "larger_sets": {"splits": "larger_splits", "importance_samples": "importance_samples"}
    | _TUNING,
    "table1_readings": {"splits": "splits", "importance_samples": "importance_samples"},
    "factors": {"runs": "runs"} | _TUNING,
    "joint_network": {"runs": "runs"} | _TUNING,
    "exact": {"runs": "runs"},
    "samples": {"seeds": "sample_seeds"} | _TUNING,
    "planar": {
        "seeds": "planar_seeds",
        "samples": "planar_samples",
        "iterations": "planar_iterations",
    },
    "moments": {
        "repetitions": "moments_repetitions",
        "constrained_repetitions": "slow_repetitions",
        "tuning_rows": "moments_tuning_rows_{dim}",
        "test_rows": "embedding_test_rows",
    },
    "portfolio": {
        "repetitions": "portfolio_repetitions",
        "tuning_rows": "portfolio_tuning_rows",
        "test_rows": "embedding_test_rows",
        "max_rank": "portfolio_max_rank",
    },
    "donut": {"repetitions": "donut_repetitions", "points": "donut_points"},
    "terrain": {"folds": "terrain_folds", "splits": "terrain_splits"},
    "traffic": {"splits": "traffic_splits", "thinned": "traffic_thinned"},
    "consistency": {"repetitions": "consistency_repetitions", "largest": "consistency_rows"},
    "large_n": {"test_rows": "large_n_test_rows"},
    "estimation_cost": {"rows": "cost_rows", "dims": "cost_dims", "iterations": "cost_iterations"},
}
"""By experiment and parameter, the key of `scales` that has its value."""

_OTHER_KEYS = (
    "grid_runs",
    "dde_iterations",
    "dde_speed",
    "moments_rows_{dim}",
    "moments_large_repetitions",
    "terrain_flow_folds",
)
"""Keys of `scales` that are not the value of one parameter."""

DIMS = (1, 2, 3)
"""Dimensions of Gaussian pairs, for each of which `scales` has sizes."""

SECTIONS = {"factors": "joint", "joint_network": "joint", "exact": "joint"}
"""The key of `experiments` of a step that has none of its own name."""

EXACT = exact.METHOD
"""The method under which the known density of the grid data is scored."""

_LARGE = 1_000_000
"""Rows of Gaussian pairs from which on there are fewer repetitions."""

_TRAINED = "DDE"
"""The estimator whose number of iterations the scale sets."""

_AUTHORS_RATE = 1e-4
_PATIENCE = 5  # training stops after a fifth of the iterations without improvement
_DEFAULT = object()


class Asked(NamedTuple):
    """What the rule of a parameter may depend on."""

    config: Mapping
    scale: str
    experiment: str
    dataset: str
    method: str

    @property
    def of_method(self) -> Mapping:
        """The definition of the method; empty for a method that the configuration does not have."""
        return self.config["methods"].get(self.method, {})

    @property
    def section(self) -> Mapping:
        """The section of the experiment in the configuration."""
        return chosen(self.config, section(self.experiment), self.scale)

    @property
    def dim(self) -> int:
        """The dimension that the name of Gaussian pairs states."""
        return names.GAUSSIAN.sizes(self.dataset)[0]

    @property
    def rows(self) -> int:
        """The number of rows that the name of Gaussian pairs states."""
        return names.GAUSSIAN.sizes(self.dataset)[1]

    @property
    def variation(self) -> str:
        """How the name of Gaussian pairs says that the experiment varies."""
        return names.GAUSSIAN.variation(self.dataset)

    def lists(self, key: str) -> bool:
        """Return whether a key of the experiment lists the data's dimension for the method."""
        return self.dim in self.section[key].get(self.method, ())


def section(experiment: str) -> str:
    """Return the key of `experiments` that an experiment or a step of one belongs to."""
    return SECTIONS.get(experiment, experiment)


def is_single(experiment: str) -> bool:
    """Return whether an experiment is one job: it needs no data set, method or file."""
    declared = job_class(experiment).parameters().values()
    return all((each.default, each.default_factory) != (MISSING, MISSING) for each in declared)


def scale_keys() -> dict[str, list[Field]]:
    """Return the keys of `scales`, each with the parameters that have its value."""
    found: dict[str, list[Field]] = {each: [] for key in _OTHER_KEYS for each in _of_each_dim(key)}
    for experiment, keys in SCALED.items():
        declared = job_class(experiment).parameters()
        for name, key in keys.items():
            for each in _of_each_dim(key):
                found.setdefault(each, []).append(declared[name])
    return found


def _of_each_dim(key: str) -> list[str]:
    return list(dict.fromkeys(key.format(dim=dim) for dim in DIMS))


def job(
    config: Mapping, scale: str, experiment: str, dataset: str = "", method: str = "", **files: Any
) -> dict[str, Any]:
    """Return the parameters of a job that differ from their defaults.

    Parameters
    ----------
    config
        The configuration.
    scale
        `smoke`, `laptop` or `paper`.
    experiment
        The name of its dataclass.
    dataset, method
        "" where it has none; the method is a key of `methods`.
    **files
        Other parameters that the output files determine: `nodes`, and input files.
    """
    asked = Asked(config, scale, experiment, dataset, method)
    given = {"dataset": dataset, "method": method} | files
    values = {
        name: given[name] if given.get(name) else value_of(asked, name)
        for name in job_class(experiment).parameters()
    }
    return {name: value for name, value in values.items() if value is not _DEFAULT}


def value_of(asked: Asked, name: str) -> Any:
    """Return the value that the configuration gives to a parameter, or `_DEFAULT`."""
    for rule in (_RULES.get((asked.experiment, name)), _RULES.get((None, name))):
        if rule is not None:
            return rule(asked)
    for place in (asked.of_method, asked.section, asked.config):
        if name in place:
            return place[name]
    key = SCALED.get(asked.experiment, {}).get(name)
    value = None if key is None else scaled(asked, key)
    return _DEFAULT if value is None else value


def scaled(asked: Asked, key: str) -> Any:
    """Return a value of `scales`; its key may have the dimension in it."""
    key = key.format(dim=asked.dim) if "{dim}" in key else key
    return at_scale(asked.config["scales"][key], asked.scale)


def at_scale(sizes: Mapping[str, Any], scale: str) -> Any:
    """Return the value of a line of `scales`; the readings have that of laptop by default."""
    return sizes[LAPTOP] if scale == READINGS and READINGS not in sizes else sizes[scale]


def chosen(config: Mapping, experiment: str, scale: str) -> Mapping:
    """Return the section of an experiment; at the scale `readings` with its changes.

    Parameters
    ----------
    config
        The configuration.
    experiment
        A key of `experiments`.
    scale
        `smoke`, `laptop`, `readings` or `paper`.
    """
    found = config["experiments"].get(experiment, {})
    return {**found, **config["readings"].get(experiment, {})} if scale == READINGS else found


def differs_in_readings(config: Mapping, experiment: str, dataset: str, method: str) -> bool:
    """Return whether the jobs of the readings have other parameters than those of laptop.

    Parameters
    ----------
    config
        The configuration.
    experiment
        A key of `experiments`.
    dataset, method
        "" where it has none.
    """
    steps = [name for name in EXPERIMENTS if section(name) == experiment]
    return any(
        value_of(Asked(config, READINGS, step, dataset, method), name)
        != value_of(Asked(config, LAPTOP, step, dataset, method), name)
        for step in steps
        for name in job_class(step).parameters()
        if name in SCALED.get(step, ())
        or name in config["readings"].get(experiment, ())
        or (step, name) in _RULES
        or (name == "options" and method in config["methods"])
    )


def raw_data(config: Mapping, scale: str, experiment: str, dataset: str) -> list[str]:
    """Return the data sets that a job reads from files: none where its rows are generated."""
    if experiment == "portfolio":
        asked = Asked(config, scale, experiment, dataset, "")
        return [value_of(asked, name) for name in names.MADE_UP_RETURNS]
    is_generated = names.is_grid(dataset) or dataset == names.SIMULATED_TRAFFIC
    return [] if is_generated else [dataset]


def text(jobs: object) -> str:
    """Return jobs as JSON, the same for the same jobs."""
    return json.dumps(jobs, sort_keys=True)


def tolerances(config: Mapping, dataset: str, scale: str) -> list[float]:
    """Return the tolerances that Gaussian pairs are fitted with, the published one first."""
    moments, (dim, rows) = chosen(config, "moments", scale), names.GAUSSIAN.sizes(dataset)
    more_tolerances = moments["more_tolerances"]
    if names.GAUSSIAN.variation(dataset) in (names.LAWS, names.FACTORS):
        more_tolerances = []
    reached = [step for step in moments["tolerances"] if step["rows"] <= rows]
    # Data with fewer rows than any step states have the tolerance of the first.
    published = max(reached or moments["tolerances"][:1], key=lambda step: step["rows"])
    others = [
        value
        for more in more_tolerances
        if more["dim"] == dim and rows <= at_scale(more["rows"], scale)
        for value in more["tolerances"]
    ]
    return list(dict.fromkeys([published["tolerance"], *others]))


def _options(asked: Asked) -> dict:
    """Return constructor arguments; those for a data set take precedence."""
    if not asked.of_method:
        return {}
    chosen = Method(**asked.of_method)
    whole = asked.experiment in ("joint_network", "planar") or (
        asked.experiment == "samples" and chosen.graph is None
    )
    where = {"larger_sets": "r_benchmark"}.get(asked.experiment, asked.experiment)
    options = chosen.options_for("joint" if whole else where, asked.dataset)
    if asked.experiment == "r_benchmark" and chosen.estimator == _TRAINED:
        return _training(asked) | options
    return options


def _training(asked: Asked) -> dict:
    """Return the number of iterations of DDE on an R set, and its learning rate."""
    iterations = scaled(asked, "dde_iterations")
    return {
        "iterations": iterations,
        "patience": max(1, iterations // _PATIENCE),
        "learning_rate": _AUTHORS_RATE * scaled(asked, "dde_speed"),
    }


def _laws(asked: Asked) -> list[str]:
    """Return the laws of the correlations: the drawn one, or all others in one job."""
    section = asked.section
    return section["other_laws"] if asked.variation == names.LAWS else [section["law"]]


def _repetitions(asked: Asked) -> Any:
    large = asked.rows >= _LARGE
    key = "moments_large_repetitions" if large else SCALED["moments"]["repetitions"]
    return scaled(asked, key)


def _tuning_rows(asked: Asked) -> Any:
    usual = scaled(asked, SCALED["moments"]["tuning_rows"])
    if asked.variation != names.FEWER:
        return usual
    return min(asked.section["fewer_tuning_rows"], usual)


def _choice(asked: Asked) -> Any:
    """Return `shared` where a fit with constraints does not choose for itself."""
    # A method that names its own constraints is a reading of positivity alone.
    named = asked.of_method.get("options", {}).get("constrained")
    listed = asked.experiment == "moments" and asked.lists("shared_choice")
    return "shared" if named or listed else _DEFAULT


def _runs(asked: Asked) -> int:
    return scaled(asked, "grid_runs" if names.is_grid(asked.dataset) else "runs")


def _is_of_grid(asked: Asked) -> bool:
    return names.is_grid(asked.dataset)


def _has_every_dimension(asked: Asked) -> bool:
    return _is_of_grid(asked) and names.grid_name(asked.dataset).every_dimension


def _is_flow(asked: Asked) -> bool:
    return asked.of_method.get("estimator") in terrain.FLOWS


def _of_section(name: str, wanted: Callable[[Asked], bool]) -> Callable[[Asked], Any]:
    """Return the rule of a parameter that only some jobs take from the experiment."""
    return lambda asked: asked.section[name] if wanted(asked) else _DEFAULT


def _of_scale(experiment: str, name: str, wanted: Callable[[Asked], bool]) -> Callable:
    """Return the rule of a parameter that only some jobs take from `scales`."""
    key = SCALED[experiment][name]
    return lambda asked: scaled(asked, key) if wanted(asked) else _DEFAULT


def _returns(name: str) -> Callable[[Asked], str]:
    """Return the rule of the data set of returns, or of risk-free ones."""
    return lambda asked: (
        names.MADE_UP_RETURNS[name] if asked.scale == "smoke" else asked.section["files"][name]
    )


_RULES: dict[tuple[str | None, str], Callable[[Asked], Any]] = {
    (None, "options"): _options,
    (None, "runs"): _runs,
    **{(name, "max_dim"): _of_section("max_dim", _is_of_grid) for name in SECTIONS},
    ("joint_network", "dims"): _of_section("dims", _has_every_dimension),
    ("planar", "iterations"): _of_scale(
        "planar", "iterations", lambda asked: asked.of_method["estimator"] == _TRAINED
    ),
    ("terrain", "folds"): lambda asked: scaled(
        asked, "terrain_flow_folds" if _is_flow(asked) else "terrain_folds"
    ),
    ("terrain", "splits"): _of_scale("terrain", "splits", lambda asked: _is_flow(asked)),
    ("moments", "tolerances"): lambda asked: tolerances(asked.config, asked.dataset, asked.scale),
    ("moments", "laws"): _laws,
    ("moments", "repetitions"): _repetitions,
    ("moments", "tuning_rows"): _tuning_rows,
    ("moments", "largest_factors"): _of_section(
        "largest_factors", lambda asked: asked.variation == names.FACTORS
    ),
    ("moments", "matched_repetitions"): _of_section(
        "matched_repetitions", lambda asked: not asked.variation
    ),
    ("moments", "choice"): _choice,
    ("portfolio", "choice"): _choice,
    ("moments", "constrained_repetitions"): _of_scale(
        "moments", "constrained_repetitions", lambda asked: asked.lists("slow_constrained")
    ),
    ("larger_sets", "inner_splits"): lambda asked: _DEFAULT,
    ("larger_sets", "most_rows"): lambda asked: asked.section["most_rows"].get(
        asked.method, _DEFAULT
    ),
    ("large_n", "path"): lambda asked: [1e-2, 1e-4] if asked.scale == "smoke" else _DEFAULT,
    **{("portfolio", name): _returns(name) for name in names.MADE_UP_RETURNS},
}
"""Parameters whose value depends on more than their name, of one experiment or of all."""
