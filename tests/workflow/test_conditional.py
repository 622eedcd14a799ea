"""The donut and the terrain in the configuration."""

from pathlib import Path

import numpy as np
import pytest

from kcde.data import catalogue as tables
from kcde.data import made_up
from kcde.estimators import estimator_class
from kcde.experiments import _cdo_settings, donut, terrain, traffic
from kcde.experiments.jobs._conditional import SMOOTHERS
from kcde.experiments.jobs.terrain import FLOWS
from lib import config as configuration
from lib import jobs, resources, selection

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())


def mistake(config):
    with pytest.raises(configuration.ConfigurationError) as caught:
        configuration.check(config, ROOT, CATALOGUE)
    return str(caught.value)


def test_estimators_that_are_named_exist():
    for name in (*FLOWS, *cdo_settings_estimators()):
        assert estimator_class(name)


def cdo_settings_estimators():
    return {estimator for _, estimator in _cdo_settings._RULES}


def test_flags_of_the_donut(config):
    said = jobs.job(config, "paper", "donut", "donut", "CDO-clipped")
    assert (said["estimator"], said["settings"], said["variant"]) == ("CDO", "authors", "ours")
    assert said["options"] == {"weights": "clipped"}
    assert (said["repetitions"], said["points"]) == (10, 75)
    own = jobs.job(config, "smoke", "donut", "donut", "GP-ML")
    assert donut.Job.make(own).settings == "chosen"
    assert own["points"] == 5


def test_the_narrow_bandwidth_is_three_steps_of_the_reference(config):
    options = config["methods"]["CDO-narrow"]["options"]
    X, Y = made_up.donut_draw(1, np.random.default_rng(0))
    theirs = _cdo_settings.authors("donut", "CDO", X, Y)
    ticks = np.linspace(*theirs["reference_box"], theirs["reference"])
    assert options["bandwidth_y"] == pytest.approx(3 * (ticks[1] - ticks[0]), rel=1e-12)


def test_the_quarter_is_of_the_median_distance_of_the_grid(config):
    shape = (120, 117)
    apart = [np.arange(n) for n in shape]
    # Pairs of points of a grid of 8 m by how many steps they are apart in each direction.
    pairs = np.outer(
        *((n - lag) * np.where(lag, 2, 1) for n, lag in zip(shape, apart, strict=True))
    )
    lengths = 8.0 * np.hypot(*np.meshgrid(*apart, indexing="ij"))
    order = np.argsort(lengths.ravel())[1:]  # without a point and itself
    below = np.cumsum(pairs.ravel()[order])
    median = lengths.ravel()[order][np.searchsorted(below, below[-1] / 2)]
    said = jobs.job(config, "laptop", "terrain", "rough-terrain", "CDO-quarter")
    assert said["options"] == {"bandwidth_x": pytest.approx(np.sqrt(median) / 4, rel=1e-5)}
    assert said["settings"] == "authors"
    # As of traffic, where the training points give the median.
    X = np.random.default_rng(0).uniform(0, 8, (40, 1))
    (theirs,) = _cdo_settings.authors("traffic", "CDO", X, X)["bandwidth_x"]
    assert theirs == pytest.approx(_cdo_settings.authors("terrain", "CDO", X, X)["bandwidth_x"] / 2)


def test_lscde_has_the_other_choices_that_notebooks_print(config):
    rows = np.random.default_rng(0).uniform(0, 8, (40, 2))

    def options(method):
        said = jobs.job(config, "laptop", "terrain", "rough-terrain", method)
        assert (said["settings"], said["variant"]) == ("authors", "ours")
        return _cdo_settings.complete_options(
            said["options"], "authors", "terrain", "LSCDE", rows, rows[:, :1]
        )

    assert options("LSCDE-package-traffic") == _cdo_settings.authors(
        "traffic", "LSCDE", rows, rows[:, :1]
    )
    first = _cdo_settings.authors("donut", "LSCDE", rows, rows[:, :1])
    second = options("LSCDE-package-second")
    changed = {name: value for name, value in second.items() if value != first[name]}
    assert changed == {"bandwidth_x": 0.7, "bandwidth_y": 0.7, "regularization": 8.0}
    for weights in ("signed", "constrained", "projected"):
        assert options(f"LSCDE-package-second-{weights}") == second | {"weights": weights}


def test_methods_of_other_choices_are_fitted_for_the_readings_alone(config):
    new = {"donut": "CDO-corrected", "terrain": "CDO-quarter"}
    for experiment, method in new.items():
        assert method not in config["experiments"][experiment]["methods"]
        listed = config["readings"][experiment]["methods"]
        assert method in listed
        assert set(config["experiments"][experiment]["methods"]) <= set(listed)


def test_the_corrected_formula_alone_is_changed_on_the_donut(config):
    said = jobs.job(config, "laptop", "donut", "donut", "CDO-corrected")
    assert (said["options"], said["settings"]) == ({"scaling": "corrected"}, "authors")


def test_flags_of_the_terrain(config):
    flow = jobs.job(config, "laptop", "terrain", "rough-terrain", "CondMAF")
    assert (flow["folds"], flow["splits"], flow["settings"]) == (3, 3, "authors")
    flow = jobs.job(config, "readings", "terrain", "rough-terrain", "CondMAF")
    assert (flow["folds"], flow["splits"]) == (10, 10)
    assert jobs.differs_in_readings(config, "terrain", "rough-terrain", "CondMAF")
    assert not jobs.differs_in_readings(config, "terrain", "rough-terrain", "GP")
    other = jobs.job(config, "paper", "terrain", "rough-terrain", "GP")
    assert other["folds"] == 10
    assert "splits" not in other
    assert other["settings"] == "authors"


def test_smoothers_are_jobs_without_a_definition(config):
    for name in SMOOTHERS:
        said = jobs.job(config, "laptop", "terrain", "rough-terrain", name)
        made = terrain.Job.make(said)
        assert (made.estimator, made.variant, made.folds, made.splits) == (name, "ours", 10, 0)
    said = jobs.job(config, "laptop", "traffic", "metro-traffic-substitute", SMOOTHERS[-1])
    assert traffic.Job.make(said).thinned == 3
    assert not jobs.differs_in_readings(config, "terrain", "rough-terrain", SMOOTHERS[0])


def test_options_of_a_data_set_reach_both(config):
    config["methods"]["CDO"]["dataset_options"] = {
        "donut": {"folds": 3},
        "rough-terrain": {"folds": 4},
    }
    configuration.check(config, ROOT, CATALOGUE)
    said = jobs.job(config, "laptop", "donut", "donut", "CDO")
    assert said["options"] == {"folds": 3}
    said = jobs.job(config, "laptop", "terrain", "rough-terrain", "CDO")
    assert said["options"] == {"folds": 4}


def test_made_up_terrain_stands_for_the_real_one(config):
    pairs = selection.pairs(config, "terrain", "smoke")
    assert {dataset for dataset, _ in pairs} == {"smoke-terrain"}
    assert {method for _, method in pairs} == set(config["experiments"]["terrain"]["methods"])
    assert {dataset for dataset, _ in selection.pairs(config, "donut", "smoke")} == {"donut"}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("methods", "CDO", "settings"), "author", "`methods.CDO.settings` is 'author'"),
        (("experiments", "donut", "datasets"), ["bagel"], "names 'bagel'"),
        (("experiments", "terrain", "datasets"), ["rough-terain"], "did you mean `rough-terrain`"),
        (("experiments", "donut", "methods"), ["KCEF-F"], "has a `graph`"),
        (("experiments", "terrain", "methods"), ["GPP"], "`experiments.terrain.methods` names"),
        (("scales", "terrain_folds", "paper"), 11, "a whole number from 1 to 10"),
    ],
)
def test_mistakes_are_named(config, path, value, expected):
    place = config
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert expected in mistake(config)


def test_memory_follows_the_matrices(config):
    table = resources.ResourceTable(config, ROOT, CATALOGUE)

    def memory(rule, scale, method):
        dataset = {"donut": "donut", "terrain": "rough-terrain"}[rule]
        dataset = "smoke-terrain" if (rule, scale) == ("terrain", "smoke") else dataset
        return table.memory(resources.Work(rule, scale, dataset, (method,)))

    square = 8 * 12_636**2 / 2**20
    assert square < memory("terrain", "laptop", "GP") < 3500
    assert memory("terrain", "smoke", "GP") < 400
    for name in ("LSCDE", "CondMAF"):
        assert memory("terrain", "paper", name) < 1000
    assert memory("donut", "smoke", "CDO") < 400
    assert memory("donut", "laptop", "CDO") > 6 * 8 * 3750**2 / 2**20
