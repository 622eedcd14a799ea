"""Wrong configurations are refused in words; right ones lead to the right files."""

import copy
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from kcde import methods, published, scores
from kcde.artefacts.core import listing, registry
from kcde.data import catalogue as tables
from kcde.data import smoke
from kcde.data.names import GAUSSIAN, PLANAR, SIMULATED_TRAFFIC
from kcde.estimators import DDE, estimator_class
from kcde.experiments._problems import open_problem
from kcde.experiments.job import METHOD_FIELDS
from kcde.experiments.jobs import job_class
from lib import config as configuration
from lib import division, jobs, own, paths, selection, steps

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())


def merged(config, changes):
    """Merge as Snakemake does: dictionaries deeply, lists replaced."""
    result = copy.deepcopy(config)
    for key, value in changes.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def test_the_default_is_right(config):
    configuration.check(config, ROOT, CATALOGUE)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bakend": "numpy"}, ["unknown key `bakend`", "did you mean `backend`", "known: scale"]),
        ({"scale": "laptpo"}, ["`scale` is 'laptpo'", "`laptop`?", "smoke, laptop or paper"]),
        ({"gpu_jobs": 0}, ["`gpu_jobs` is 0", "a whole number from 1"]),
        ({"blas_threads": 0}, ["`blas_threads` is 0", "a whole number from 1"]),
        ({"blas_threads": "two"}, ["`blas_threads` is 'two'", "a whole number from 1"]),
        ({"shards": {"planar": 0}}, ["`shards.planar` is 0", "a whole number from 1"]),
        ({"shards": {"joint": 2}}, ["unknown key `shards.joint`", "known: consistency, donut"]),
        ({"shards": 4}, ["`shards` is 4", "experiment to the number of jobs"]),
        ({"papers": []}, ["`papers` is []", "folders of src/kcde/artefacts"]),
        ({"papers": ["kecf"]}, ["`papers` names 'kecf'", "`kcef`?", "cdo, dde"]),
        ({"papers": ["dde", "dde"]}, ["`papers` names dde more than once"]),
        (
            {"scales": {"splits": {"huge": 3}}},
            ["`scales.splits.huge`", "smoke, laptop, readings, paper"],
        ),
        ({"scales": {"splits": {"paper": 0.5}}}, ["`scales.splits.paper` is 0.5", "whole number"]),
        (
            {"scales": {"consistency_repetitions": {"smoke": 1}}},
            ["`scales.consistency_repetitions.smoke` is 1", "a whole number from 2"],
        ),
        (
            {"scales": {"planar_samples": {"smoke": 1}}},
            ["`scales.planar_samples.smoke` is 1", "from 2, or null for the default"],
        ),
        ({"scales": {"tuning_rows": {"smoke": None}}}, ["is None", "a whole number from 1"]),
        ({"data_mirror": 3}, ["`data_mirror` is 3", "null, or the path or URL of a folder"]),
        ({"data_mirror": "nowhere"}, ["`data_mirror` is 'nowhere'; there is no such folder"]),
        ({"readings": {"joint": {"max_dim": 10}}}, ["`readings.joint.max_dim`"]),
        ({"readings": {"moments": {"together": []}}}, ["`readings.moments.together`"]),
        (
            {"smoke_datasets": {"moments": ["gaussian-4-200"]}},
            ["`smoke_datasets.moments` names 'gaussian-4-200'; allowed: gaussian-<d>-<n>"],
        ),
        ({"smoke_datasets": {"planar": ["foo"]}}, ["`smoke_datasets.planar` names 'foo'"]),
        ({"smoke_datasets": {"r_benchmark": ["geyser"]}}, ["names 'geyser'; known", "smoke-mixed"]),
        (
            {"methods": {"NADE": {"estimator": "NADA", "variant": "ours"}}},
            ["`methods.NADE.estimator` names 'NADA'", "`NADE`?", "DDE, Defensive, EpsilonKDE"],
        ),
        ({"methods": {"own": {"variant": "ours"}}}, ["`methods.own` lacks the key `estimator`"]),
        (
            {"methods": {"KCEF-Ll": {"options": {"folds": 3}}}},
            ["`methods.KCEF-Ll` lacks the key `estimator` (did you mean `KCEF-LL`?)"],
        ),
        (
            {"artefacts": {"kcef/table1": {}}},
            ["unknown key `artefacts`; ", "`shows` in src/kcde/artefacts/<paper>/<name>.py"],
        ),
        ({"methods": {"LSCDE": 3}}, ["`methods.LSCDE` is 3", "{estimator, variant, options"]),
        ({"methods": ["LSCDE"]}, ["`methods` is ['LSCDE']", "name to {estimator, variant"]),
        (
            {"methods": {"EpsilonKDE": {"options": {"radii": 1.0}}}},
            ["`methods.EpsilonKDE.options` names 'radii'", "`radius`?", "options of EpsilonKDE"],
        ),
        (
            {"methods": {"KCEF-F": {"graph": "ful"}}},
            ["`methods.KCEF-F.graph` is 'ful'", "full, markov, or for each column"],
        ),
        (
            {"methods": {"KCEF-F": {"graph": [[], [-1]]}}},
            ["`methods.KCEF-F.graph` is", "the list of its parents from 0"],
        ),
        (
            {"experiments": {"r_benchmark": {"methods": ["KCEF-M"]}}},
            ["`experiments.r_benchmark.methods` names 'KCEF-M'", "has a `graph`"],
        ),
        (
            {"experiments": {"planar": {"methods": ["KCEF-F"]}}},
            ["`experiments.planar.methods` names 'KCEF-F'", "has a `graph`"],
        ),
        (
            {"experiments": {"joint": {"methods": ["KCEF-F-pair"]}}},
            ["`experiments.joint.methods` names 'KCEF-F-pair'", "`columns` are the shown pair"],
        ),
        (
            {"experiments": {"large_n": {"methods": ["bosting"]}}},
            ["`experiments.large_n.methods` names 'bosting'", "`boosting`?"],
        ),
        (
            {"experiments": {"large_n": {"datasets": ["bimodal-1000"]}}},
            ["`experiments.large_n.datasets` names 'bimodal-1000'", "bimodal-<d>-<n>"],
        ),
        (
            {"experiments": {"planar": {"datasets": ["two_moons"]}}},
            ["`experiments.planar.datasets` names 'two_moons'", "`two-moons`?", "planar data"],
        ),
        (
            {"experiments": {"planar": {"only": {"KEF": ["geyser"]}}}},
            ["`experiments.planar.only.KEF` names 'geyser'", "planar data"],
        ),
        (
            {"experiments": {"r_benchmark": {"only": {"DEE": ["geyser"]}}}},
            ["`experiments.r_benchmark.only` names 'DEE'", "`DDE`?", "known (the methods)"],
        ),
        (
            {"methods": {"DDE": {"dataset_options": {"geysir": {}}}}},
            ["`methods.DDE.dataset_options` names 'geysir'", "`geyser`?", "planar data"],
        ),
        (
            {"methods": {"DDE": {"dataset_options": {"geyser": 3}}}},
            ["`methods.DDE.dataset_options.geyser` is 3", "constructor arguments"],
        ),
        (
            {"methods": {"DDE": {"evaluation": "test"}}},
            ["`methods.DDE.evaluation` is 'test'", "training-half or test-half"],
        ),
        (
            {"experiments": {"joint": {"methods": ["KCEF"]}}},
            ["`experiments.joint.methods` names 'KCEF'", "give `methods.KCEF.graph`", "NADE"],
        ),
        (
            {"experiments": {"joint": {"datasets": ["grid-9000"]}}},
            ["`experiments.joint.datasets` names 'grid-9000'; grid data have 2 to 8000"],
        ),
        (
            {"experiments": {"joint": {"datasets": ["grid-1", "grid-8000"]}}},
            ["`experiments.joint.datasets` names 'grid-1'; grid data have 2 to 8000"],
        ),
        (
            {"methods": {"KCEF-F": {"dataset_options": {"grid-9000": {}}}}},
            ["`methods.KCEF-F.dataset_options` names 'grid-9000'; grid data have 2 to 8000"],
        ),
        (
            {"experiments": {"joint": {"datasets": ["grid_200"]}}},
            ["`experiments.joint.datasets` names 'grid_200'", "grid-<n>, and the catalogue"],
        ),
        (
            {"experiments": {"r_benchmark": {"datasets": ["grid-200"]}}},
            ["`experiments.r_benchmark.datasets` names 'grid-200'", "the catalogue"],
        ),
        (
            {"experiments": {"joint": {"max_dim": 12}}},
            ["`experiments.joint.dims` has 15, 20", "`experiments.joint.max_dim`, which is 12"],
        ),
        (
            {"experiments": {"joint": {"nodes_per_job": 0}}},
            ["`experiments.joint.nodes_per_job` is 0", "a whole number from 1"],
        ),
        (
            {"smoke_datasets": {"joints": ["smoke-joint"]}},
            ["unknown key `smoke_datasets.joints`", "`joint`?"],
        ),
        (
            {"methods": {"KCEF": {"variant": "published"}}},
            ["`methods.KCEF.variant` is 'published'", "as-published or ours"],
        ),
        (
            {"experiments": {"r_benchmark": {"datasets": ["geysir"]}}},
            ["`experiments.r_benchmark.datasets` names 'geysir'", "`geyser`?", "the catalogue"],
        ),
        (
            {"experiments": {"r_benchmark": {"methods": ["LSCDF"]}}},
            ["`experiments.r_benchmark.methods` names 'LSCDF'", "`LSCDE-F`?", "KCEF-LL"],
        ),
        (
            {"experiments": {"moments": {"datasets": ["gaussian-1-1e5"]}}},
            ["`experiments.moments.datasets` names 'gaussian-1-1e5'", "gaussian-<d>-<n>"],
        ),
        (
            {"experiments": {"moments": {"tolerances": [{"rows": 1, "tolerance": "1e-3"}]}}},
            ["`experiments.moments.tolerances.0.tolerance` is '1e-3'", "with a point"],
        ),
        (
            {"experiments": {"moments": {"regularizations": []}}},
            ["`experiments.moments.regularizations` is []", "positive numbers, each once"],
        ),
        (
            {"experiments": {"moments": {"shared_choice": {"JPLD": [3]}}}},
            ["`experiments.moments.shared_choice` names 'JPLD'", "`JPDL`?"],
        ),
        (
            {"experiments": {"moments": {"together": [["JDL", "JPLD"]]}}},
            ["`experiments.moments.together` names 'JPLD'", "`JPDL`?"],
        ),
        (
            {"experiments": {"portfolio": {"together": [["JDL", "CME"], ["JDL"]]}}},
            ["`experiments.portfolio.together` names JDL more than once"],
        ),
        (
            {"experiments": {"portfolio": {"datasets": ["gaussian-1-1000"]}}},
            ["`experiments.portfolio.datasets` names 'gaussian-1-1000'", "portfolios-<d>-<n>"],
        ),
        (
            {"experiments": {"portfolio": {"files": {"risk_free": "libor"}}}},
            ["`experiments.portfolio.files` names 'libor'", "the catalogue"],
        ),
        (
            {"experiments": {"traffic": {"datasets": ["pems"]}}},
            ["`experiments.traffic.datasets` names 'pems'", "simulated traffic, and the catalogue"],
        ),
        (
            {"experiments": {"traffic": {"methods": ["KCEF-F"]}}},
            ["`experiments.traffic.methods` names 'KCEF-F'", "has a `graph`"],
        ),
        (
            {"experiments": {"traffic": {"optional": ["pems-sf"]}}},
            ["unknown key `experiments.traffic.optional`", "datasets"],
        ),
        (
            {
                "readings": {
                    "portfolio": {
                        "files": {"portfolios": "nope", "risk_free": "fama-french-factors-daily"}
                    }
                }
            },
            ["`readings.portfolio.files` names 'nope'"],
        ),
        ({"readings": {"joint": {"dims": [50]}}}, ["`readings.joint.dims`", "50", "max_dim"]),
        (
            {"experiments": {"larger_sets": {"most_rows": {"KCFE": 100}}}},
            ["`experiments.larger_sets.most_rows` names 'KCFE'", "`KCEF`?"],
        ),
        ({"experiments": {"own": None}}, ["`experiments.own` is None", "or {}"]),
        ({"experiments": {"grid": {}}}, ["unknown key `experiments.grid`", "failure_case"]),
    ],
)
def test_a_mistake_is_named(config, changes, words):
    with pytest.raises(configuration.ConfigurationError) as error:
        configuration.check(merged(config, changes), ROOT, CATALOGUE)
    (line,) = str(error.value).splitlines()
    for word in words:
        assert word in line


@pytest.mark.parametrize(
    ("shows", "words"),
    [
        ({"momments": {}}, ["`mine/fig: shows.momments` names 'momments'", "`moments`?"]),
        ({"moments": {"datasets": ["ring"]}}, ["shows.moments.datasets", "gaussian-<d>-<n>"]),
        ({"moments": {"methods": ["JPLD"]}}, ["`mine/fig: shows.moments.methods`", "`JPDL`?"]),
    ],
)
def test_an_artefact_that_names_what_is_not_there_is_refused(config, monkeypatch, shows, words):
    mine = listing.Listed("mine", "fig", "kcde.artefacts.mine.fig", "figure", "mine", shows)
    known = listing.artefacts() | {mine.key: mine}
    monkeypatch.setattr(listing, "artefacts", lambda: known)
    with pytest.raises(configuration.ConfigurationError) as error:
        configuration.check(config, ROOT, CATALOGUE)
    (line,) = str(error.value).splitlines()
    assert all(word in line for word in words)


def test_artefacts_show_what_the_papers_print(config):
    assert set(config["scales"]["splits"]) == set(configuration.SCALES)
    values = published.values()
    for artefact in registry.ARTEFACTS.values():
        rows = values[(values["paper"] == artefact.paper) & (values["artefact"] == artefact.name)]
        if not len(rows):  # a figure, of which no number is printed, or one of no paper
            continue
        shown = selection.selected(config, artefact.key, "laptop")
        # Those of the authors' code stand behind those of the text, under its names.
        assert {name for _, name, _ in shown} == set(rows["dataset"])
        built = set(rows["method"]) & set(config["methods"])
        assert built <= {name for _, _, name in shown}


def test_planning_reads_what_the_declarations_say():
    listed = listing.artefacts()
    assert list(listed) == list(registry.ARTEFACTS)
    for key, artefact in registry.ARTEFACTS.items():
        assert (listed[key].title, listed[key].kind) == (artefact.title, artefact.kind)
        assert tuple(listed[key].shows) == artefact.experiments


def test_an_artefact_shows_what_its_experiment_selects(config):
    none = {"joint": {"datasets": ["red-wine"], "methods": ["exact"]}}
    none |= {name: {"methods": ["LSCDE-M"]} for name in ("samples", "similarity", "planar")}
    chosen = merged(config, {"experiments": {"r_benchmark": {"datasets": ["engel", "cpus"]}}})
    shown = selection.selected(chosen, "kcef/table1", "laptop")
    assert shown == [
        ("r_benchmark", "engel", method) for method in registry.ARTEFACTS["kcef/table1"].methods
    ]
    smoke = selection.selected(chosen, "dde/table2", "smoke")
    assert {dataset for _, dataset, _ in smoke} == set(config["smoke_datasets"]["r_benchmark"])
    only = merged(config, {"experiments": {"r_benchmark": {"datasets": ["engel"]}, **none}})
    left = ["kcef/consistency", "kcef/fig3", "kcef/table1", "dde/cost"]
    assert selection.artefacts(only, ["kcef", "dde"]) == left


@pytest.fixture
def of_readings(monkeypatch):
    """An artefact of the readings, which shows the ring under more seeds."""
    shows = {"planar": {"datasets": ["ring"], "methods": ["DDE", "KEF"], "scale": "readings"}}
    mine = listing.Listed(
        "dde", "more", "kcde.artefacts.dde.more", "figure", "m", shows, "readings"
    )
    known = listing.artefacts() | {mine.key: mine}
    monkeypatch.setattr(listing, "artefacts", lambda: known)
    return mine


def test_readings_are_made_where_their_parameters_differ(config, of_readings):
    assert of_readings.key not in selection.artefacts(config, ["dde"])
    assert selection.artefacts(config, ["dde"], ["readings"])[-1:] == [of_readings.key]
    laptop = ["results/laptop/planar/ring/DDE.csv", "results/laptop/planar/ring/KEF.csv"]
    sizes = dict(config["scales"]["planar_iterations"])
    same = merged(config, {"scales": {"planar_seeds": {"readings": 2}}, "readings": {}})
    assert paths.scores_of(same, "laptop", of_readings.key) == laptop
    # Only DDE has iterations.
    longer = merged(same, {"scales": {"planar_iterations": sizes | {"readings": 7}}})
    found = paths.scores_of(longer, "laptop", of_readings.key)
    assert found == [laptop[0].replace("laptop", "readings"), laptop[1]]
    assert jobs.job(longer, "readings", "planar", "ring", "DDE")["iterations"] == 7
    assert jobs.job(longer, "laptop", "planar", "ring", "DDE")["iterations"] != 7
    smoke = paths.scores_of(longer, "smoke", of_readings.key)
    assert smoke == [
        "results/smoke/planar/ring/DDE.csv",
        "results/smoke/planar/ring/KEF.csv",
    ]
    for scale in ("smoke", "paper"):
        assert all(scale in path for path in paths.scores_of(longer, scale, of_readings.key))


def test_readings_select_for_themselves(config, of_readings):
    changes = {"planar": {"datasets": ["ring"], "methods": ["KEF"]}}
    chosen = merged(config, {"readings": changes})
    assert selection.selected(chosen, of_readings.key, "laptop") == [("planar", "ring", "KEF")]
    assert len(selection.pairs(chosen, "planar", "laptop")) > 1
    with pytest.raises(configuration.ConfigurationError, match=r"`readings.planar.datasets` names"):
        configuration.check(
            merged(config, {"readings": {"planar": {"datasets": ["rings"]}}}), ROOT, CATALOGUE
        )
    with pytest.raises(configuration.ConfigurationError, match=r"unknown key `readings.plane`"):
        configuration.check(merged(config, {"readings": {"plane": {}}}), ROOT, CATALOGUE)


def test_an_artefact_may_show_two_experiments(config):
    one = {"datasets": ["gaussian-1-1000"], "methods": ["JDL"]}
    other = {"datasets": ["portfolios-1-1000"], "methods": ["CME", "JDL"]}
    chosen = merged(config, {"experiments": {"moments": one, "portfolio": other}})
    first = ("moments", "gaussian-1-1000", "JDL")
    second = [("portfolio", "portfolios-1-1000", name) for name in ("JDL", "CME")]
    assert selection.selected(chosen, "jdl/structure", "laptop") == [first, *second]
    small = selection.selected(chosen, "jdl/structure", "smoke")
    assert small[0] == ("moments", "gaussian-1-200", "JDL")
    # What is left of either is drawn.
    of_second = merged(chosen, {"experiments": {"moments": {"methods": ["JPDL-unreduced"]}}})
    assert selection.selected(of_second, "jdl/structure", "laptop") == second
    assert "jdl/structure" in selection.artefacts(of_second, ["jdl"])
    neither = merged(of_second, {"experiments": {"portfolio": {"methods": ["KLR"]}}})
    assert "jdl/structure" not in selection.artefacts(neither, ["jdl"])


def test_a_method_under_only_is_fitted_on_those_data_sets_alone(config):
    known = config["methods"]["DDE"]["dataset_options"]
    tuned = [name for name in config["experiments"]["r_benchmark"]["datasets"] if name in known]
    less = merged(config, {"experiments": {"r_benchmark": {"only": {"DDE": tuned}}}})
    r_benchmark = selection.pairs(less, "r_benchmark", "laptop")
    of_dde = [dataset for dataset, method in r_benchmark if method == "DDE"]
    assert set(of_dde) == set(listing.artefacts()["dde/table2"].shows["r_benchmark"]["datasets"])
    assert len(of_dde) == 16
    assert len([1 for _, method in r_benchmark if method == "LSCDE"]) == 20
    chosen = {"datasets": ["two-moons", "two-moons-code"], "methods": ["DDE", "KEF"]}
    chosen["only"] = {"KEF": ["two-moons"]}
    mine = merged(config, {"experiments": {"planar": chosen}})
    shown = selection.selected(mine, "dde/table1", "laptop")
    assert {"DDE", "KEF"} <= {method for _, dataset, method in shown if dataset == "two-moons"}
    assert {method for _, dataset, method in shown if dataset == "two-moons-code"} == {"DDE"}
    # What stands for all data sets at the small scale stands for these as well.
    smoke = selection.pairs(less, "r_benchmark", "smoke")
    assert {m for _, m in smoke} == set(config["experiments"]["r_benchmark"]["methods"])


def test_dde_has_published_parameters_in_the_run_and_its_defaults_in_the_readings(config):
    def sets(artefact, method):
        shown = selection.selected(config, artefact, "laptop")
        return [dataset for _, dataset, name in shown if name == method]

    published = listing.artefacts()["dde/table2"].shows["r_benchmark"]["datasets"]
    assert sets("dde/table2", "DDE") == published
    assert sets("dde/table2", "DDE-penalised") == published[:5]
    every = config["experiments"]["r_benchmark"]["datasets"]
    assert set(sets("across/all_methods", "DDE")) == set(published)
    assert set(sets("dde/table2-unpublished", "DDE")) == set(every) - set(published)
    shown = paths.scores_of(config, "laptop", "dde/table2-unpublished")
    # The parameters are those of the run, and so are the scores of the other methods.
    assert {path.split("/")[1] for path in shown} == {"laptop"}
    seeds = jobs.job(config, "readings", "planar", "ring", "DDE")["seeds"]
    assert seeds == 10
    shown = paths.scores_of(config, "laptop", "dde/table1-seeds")
    assert {path.split("/")[1] for path in shown} == {"readings"}


IN_READINGS = ("NADE-joint", "KCEF-stopped", "KCEF-converged", "KCEF-LL-shared")
"""Methods on the R sets that `snakemake readings` alone fits."""


def test_the_cross_table_shows_every_density_that_is_fitted(config):
    """Also one that is new, which a table of a paper shows once it lists it."""
    config["experiments"]["r_benchmark"]["methods"].append("GaussianProcess")
    for scale in ("smoke", "laptop"):
        shown = selection.selected(config, "across/all_methods", scale)
        fitted = selection.pairs(config, "r_benchmark", scale)
        # LSCDE has a floor; the joint NADE is the density of x as well; the others are readings.
        left_out = ("LSCDE", *IN_READINGS)
        assert shown == [("r_benchmark", d, m) for d, m in fitted if m not in left_out]
        assert "GaussianProcess" in {m for _, _, m in shown}
        table = selection.selected(config, "kcef/table1", scale)
        assert "GaussianProcess" not in {m for _, _, m in table}
    assert len({d for _, d, _ in shown}) == 20
    pictured = {
        f"figures/{listing.place('across', 'all_methods')}.{suffix}"
        for suffix in listing.suffixes("table")
    }
    assert pictured == {f"figures/all_methods.{suffix}" for suffix in ("csv", "md", "png", "pdf")}


def test_only_what_the_chosen_papers_show_is_fitted(config):
    """All densities of y of the R sets where the cross table is one of them."""
    every = {
        paths.scores("laptop", "r_benchmark", dataset, method)
        for dataset, method in selection.pairs(config, "r_benchmark", "laptop")
        if method not in IN_READINGS
    }
    assert every <= set(paths.all_scores(config, "laptop"))
    of_kcef = set(paths.all_scores(config | {"papers": ["kcef"]}, "laptop"))
    of_table = set(paths.scores_of(config, "laptop", "kcef/table1"))
    assert of_kcef & every == of_table
    joint = paths.scores_of(config, "laptop", "kcef/table1-nade")
    assert len({name for name in joint if "NADE-joint" in name} - of_kcef) == 14


def test_sets_without_the_authors_parameters_have_the_defaults(config):
    said = jobs.job(config, "laptop", "r_benchmark", "engel", "DDE-penalised")
    options = said["options"]
    assert not {"dual_weight", "bandwidth_scale", "base_std", "batch_size"} & set(options)
    model = DDE(**options)
    assert (model.dual_weight, model.bandwidth_scale, model.base_std) == (1.0, 0.5, 1.0)


def test_options_for_the_r_sets_go_before_the_method_s_own(config):
    own = {"options": {"folds": 4, "epochs": 1}, "r_benchmark_options": {"folds": 3, "patience": 2}}
    mine = merged(
        config, {"methods": {"NADE": own | {"dataset_options": {"engel": {"patience": 5}}}}}
    )
    configuration.check(mine, ROOT, CATALOGUE)
    told = {
        dataset: jobs.job(mine, "laptop", "r_benchmark", dataset, "NADE")["options"]
        for dataset in ("geyser", "engel")
    }
    assert told["geyser"] == {"folds": 3, "epochs": 1, "patience": 2}
    assert told["engel"] == {"folds": 3, "epochs": 1, "patience": 5}
    joint = jobs.job(mine, "laptop", "joint_network", "red-wine", "NADE")["options"]
    assert "patience" not in joint
    densities = [
        jobs.job(config, "laptop", "r_benchmark", "geyser", name)["options"]
        for name in ("CDO-chosen", "CDO-LL")
    ]
    assert [options["weights"] for options in densities] == ["clipped", "clipped"]


def test_planar_data_are_those_that_can_be_drawn(config):
    assert set(config["experiments"]["planar"]["datasets"]) <= set(PLANAR)
    assert set(config["smoke_datasets"]["planar"]) <= set(PLANAR)


def test_made_up_data_stand_for_their_like(config):
    def shown(artefact):
        chosen = selection.selected(config, f"kcef/{artefact}", "smoke")
        return list(dict.fromkeys(dataset for _, dataset, _ in chosen))

    assert shown("table2") == ["smoke-joint"]
    assert shown("fig1") == shown("fig5") == ["grid-60"]
    assert shown("table3") == shown("fig4") == ["smoke-joint"]
    none = merged(config, {"experiments": {"joint": {"methods": ["exact"]}}})
    assert selection.selected(none, "kcef/table2", "smoke") == []


@pytest.mark.parametrize(
    ("changes", "folder"),
    [
        ({}, "figures"),
        ({"data_mirror": "elsewhere", "blas_threads": 2}, "figures"),
        ({"backend": "numpy", "gpu_jobs": 2}, "figures"),
        ({"shards": {"r_benchmark": 5}}, "figures"),
        ({"papers": ["kcef"]}, "results/laptop/figures"),
        ({"methods": {"KCEF": {"options": {"selection": "score"}}}}, "figures"),
        ({"methods": {"KCEF": {"options": {"folds": 10}}}}, "results/laptop/figures"),
        ({"methods": {"more": {"estimator": "KCEF"}}}, "results/laptop/figures"),
        ({"scales": {"splits": {"laptop": 2}}}, "results/laptop/figures"),
    ],
)
def test_only_the_default_draws_into_the_tracked_folder(config, changes, folder):
    changed = merged(config, changes)
    assert configuration.figures_folder(changed, ROOT, "laptop") == folder
    assert configuration.figures_folder(changed, ROOT, "smoke") == "results/smoke/figures"


def test_the_default_configuration_is_read_once(config, tmp_path, monkeypatch):
    (tmp_path / "config.yaml").write_bytes((ROOT / "config.yaml").read_bytes())
    load, loads = yaml.safe_load, []
    monkeypatch.setattr(yaml, "safe_load", lambda text: loads.append(text) or load(text))
    folders = {configuration.figures_folder(config, tmp_path, "laptop") for _ in range(3)}
    assert folders == {"figures"}
    assert len(loads) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("20", 20),
        ("0.01", 0.01),
        ("1e-3", 1e-3),
        ("1.0e-3", 1e-3),
        (".5", 0.5),
        ("-1", -1),
        ("true", True),
        ("null", None),
        ("two", "two"),
        ("", ""),
        ("[1]", "[1]"),
        (7, 7),
        (["0.5", "2", "KCEF"], [0.5, 2, "KCEF"]),
        (
            {"portfolio": {"tolerance": "0.01", "name": "x"}},
            {"portfolio": {"tolerance": 0.01, "name": "x"}},
        ),
    ],
)
def test_numbers_from_the_command_line_are_numbers_however_deep(given, expected):
    found = configuration.typed(given)
    assert found == expected
    assert type(found) is type(expected)


def test_an_option_that_an_estimator_has_not_is_refused_while_planning(config):
    for key in ("options", "joint_options", "r_benchmark_options"):
        changed = merged(config, {"methods": {"KCEF": {key: {"selektion": "score"}}}})
        with pytest.raises(configuration.ConfigurationError) as refused:
            configuration.check(changed, ROOT, CATALOGUE)
        assert f"`methods.KCEF.{key}` names 'selektion' (did you mean `selection`?)" in str(
            refused.value
        )
        assert "options of KCEF" in str(refused.value)
    changed = merged(config, {"methods": {"DDE": {"dataset_options": {"geyser": {"n_basis": 3}}}}})
    with pytest.raises(
        configuration.ConfigurationError, match=r"dataset_options\.geyser` names 'n_b"
    ):
        configuration.check(changed, ROOT, CATALOGUE)


def test_factors_of_every_data_set_are_split_over_jobs(config, tmp_path):
    columns = {
        name: division.columns(config, CATALOGUE, name)
        for name in config["experiments"]["joint"]["datasets"]
    }
    assert columns == {"white-wine": 11, "parkinsons": 15, "red-wine": 11, "grid-2000": 20} | {
        f"grid-{n}": 3 for n in (200, 400, 700, 1000, 1400, 4000, 8000)
    }
    assert division.node_ranges(11, 4) == ["01-04", "05-08", "09-11"]
    assert division.node_ranges(3, 4) == ["01-03"]
    table = smoke.write_smoke_data(tmp_path)
    for name in config["smoke_datasets"]["joint"]:
        problem = open_problem(name, tmp_path, table)
        assert division.columns(config, CATALOGUE, name) == problem.dim
    largest = open_problem("grid-2000", tmp_path, max_dim=7)
    fewer = merged(config, {"experiments": {"joint": {"max_dim": 7}}})
    assert division.columns(fewer, CATALOGUE, "grid-2000") == largest.dim == 7


def test_made_up_data_have_the_methods_of_their_kind(config):
    """Grid data stand for grid data, and a made-up table for tables."""
    smoke = selection.selected(config, "kcef/table2-readings", "smoke")
    of_kind = {name: {m for _, d, m in smoke if d == name} for name in ("grid-60", "smoke-joint")}
    assert set(config["smoke_datasets"]["joint"]) == set(of_kind)
    assert "exact" in of_kind["grid-60"] - of_kind["smoke-joint"]
    assert "KCEF-F-converged-isotropic" in of_kind["grid-60"] - of_kind["smoke-joint"]
    assert {"KCEF-F", "KCEF-M-converged", "NADE"} <= of_kind["grid-60"] & of_kind["smoke-joint"]
    laptop = selection.selected(config, "kcef/table2-readings", "laptop")
    assert ("joint", "grid-200", "KCEF-F") not in laptop
    assert ("joint", "red-wine", "exact") not in laptop


def test_jobs_say_what_the_configuration_says(config):
    said = jobs.job(
        config, "laptop", "factors", "white-wine", "KCEF-M", nodes=division.nodes("09-11")
    )
    assert said["nodes"] == [9, 10, 11]
    assert said["graph"] == "markov"
    assert said["estimator"] == "KCEF"
    assert said["options"] == config["methods"]["KCEF-M"]["options"]
    assert said["runs"] == 5
    assert "max_dim" not in said
    grid = jobs.job(
        config, "paper", "factors", "grid-200", "LSCDE-F", nodes=division.nodes("01-03")
    )
    assert (grid["runs"], grid["max_dim"], grid["tuning_rows"]) == (10, 20, 2000)
    own = merged(config, {"methods": {"LSCDE-F": {"graph": [[], [0], [0, 1]]}}})
    said = jobs.job(own, "smoke", "factors", "grid-60", "LSCDE-F", nodes=division.nodes("01-03"))
    assert said["graph"] == [[], [0], [0, 1]]


def test_a_network_has_its_joint_options_where_it_has_all_columns(config):
    alone = jobs.job(config, "laptop", "r_benchmark", "geyser", "NADE")
    assert alone["options"] == {}
    for said in (
        jobs.job(config, "laptop", "joint_network", "red-wine", "NADE"),
        jobs.job(config, "laptop", "samples", "red-wine", "NADE"),
    ):
        sizes = {"components": 10, "hidden_units": 100}
        assert said["options"] == sizes | {"epochs": [100, 400]}
    assert jobs.job(config, "laptop", "joint_network", "grid-2000", "NADE")["dims"] == [
        2,
        3,
        5,
        10,
        15,
        20,
    ]
    assert "dims" not in jobs.job(config, "laptop", "joint_network", "grid-200", "NADE")
    sampled = jobs.job(config, "laptop", "samples", "red-wine", "KCEF-F")
    assert (sampled["graph"], sampled["seeds"]) == ("full", 10)
    streams = {"repetitions": 100, "largest": 6400, "backend": "auto"}
    assert jobs.job(config, "paper", "consistency") == streams
    cost = {"rows": 500, "dims": 2, "iterations": 20}
    assert jobs.job(config, "smoke", "estimation_cost") == cost


def test_models_of_the_pair_take_no_factors_and_are_compared_with_each_other(config):
    of = {each.name: each for each in steps.steps(config, CATALOGUE)}

    def asked(method):
        return SimpleNamespace(scale="paper", dataset="red-wine", method=method)

    for method in ("KCEF-F-pair", "KCEF-F-pair-inverse", "KEF-pair", "NADE-pair"):
        assert of["samples"].inputs()["factors"](asked(method)) == []
        assert jobs.job(config, "paper", "samples", "red-wine", method)["columns"] == "shown-pair"
    assert of["samples"].inputs()["factors"](asked("KCEF-F-unpenalised-inverse"))
    assert "columns" not in jobs.job(config, "paper", "samples", "red-wine", "KCEF-F")
    for ours, rival, better in (
        ("KCEF-F", "KEF", "KEF-adapted"),
        ("KCEF-F-pair", "KEF-pair", "KEF-pair-adapted"),
        ("KCEF-F-pair", "NADE-pair", "NADE-pair"),
    ):
        given = of["similarity"].inputs()
        read = [
            given[name](asked(rival)) for name in ("ours", "rival", "ours_exact", "rival_exact")
        ]
        wanted = [ours, rival, f"{ours}-inverse", better]
        assert read == [f"results/paper/samples/red-wine/{name}.npz" for name in wanted]


def test_what_large_n_is_told(config):
    def told(scale, rows, method):
        return jobs.job(config, scale, "large_n", f"bimodal-2-{rows}", method)

    ours = told("laptop", 1000, "LikelihoodKCEF")
    assert (ours["estimator"], ours["variant"], ours["test_rows"]) == (
        "LikelihoodKCEF",
        "ours",
        20_000,
    )
    assert "path" not in ours
    assert told("smoke", 200, "LikelihoodKCEF")["path"] == [1e-2, 1e-4]
    assert told("laptop", 1000, "LikelihoodKCEF-score")["options"] == {"objective": "score"}
    updates = [max(told("laptop", n, "NADE-grown")["options"]["epochs"]) for n in (10**4, 10**5)]
    assert updates[0] < updates[1]
    # What is no estimator has nothing of the section `methods`.
    linear = told("laptop", 10**6, "linear")
    assert linear["options"] == {}
    assert "estimator" not in linear
    assert job_class("large_n").make(linear).variant == "ours"


def test_large_n_fits_what_is_affordable(config):
    pairs = selection.pairs(config, "large_n", "laptop")
    largest = {d for d, method in pairs if method == "KCEF-LL"}
    assert largest == {"bimodal-2-1000", "bimodal-2-10000"}
    every = {method for d, method in pairs if d == "bimodal-2-1000000"}
    assert every == {"LikelihoodKCEF", "LikelihoodKCEF-score", "NADE-grown", "boosting", "linear"}
    smoke = selection.pairs(config, "large_n", "smoke")
    assert {d for d, _ in smoke} == {"bimodal-2-200", "bimodal-2-400"}
    assert {m for _, m in smoke} == {m for _, m in pairs}
    # A million rows are fitted for the readings alone.
    assert not {"across/large_n", "across/score_matching_bias"} & {
        *selection.artefacts(config, config["papers"])
    }


def test_options_of_a_data_set_go_before_all_others(config):
    own = {"geyser": {"hidden_units": 4}, "red-wine": {"components": 3}, "grid-60": {"folds": 3}}
    changes = {name: {"dataset_options": own} for name in ("NADE", "LSCDE-F")}
    config = merged(config, {"methods": changes})

    def options(*asked):
        return jobs.job(config, *asked)["options"]

    assert options("laptop", "r_benchmark", "geyser", "NADE") == {"hidden_units": 4}
    assert options("laptop", "r_benchmark", "engel", "NADE") == {}
    both = {"hidden_units": 100, "components": 3, "epochs": [100, 400]}
    assert options("laptop", "joint_network", "red-wine", "NADE") == both
    assert options("laptop", "samples", "red-wine", "NADE") == both
    assert options("smoke", "factors", "grid-60", "LSCDE-F")["folds"] == 3
    assert options("smoke", "samples", "grid-60", "LSCDE-F")["folds"] == 3
    assert "folds" not in options("smoke", "samples", "grid-200", "LSCDE-F")


def test_what_doubly_dual_embedding_is_told(config):
    said = jobs.job(config, "laptop", "r_benchmark", "caution", "DDE")
    assert said["evaluation"] == "test-half"
    expected = {"dual_weight": 0.5, "bandwidth_scale": 0.1, "base_std": 3.0, "batch_size": 50}
    expected |= {"density_weight": 1.0, "regularization": 0.0, "validation": 0}
    expected["iterations"] = config["scales"]["dde_iterations"]["laptop"]
    assert expected.items() <= said["options"].items()
    ours = jobs.job(config, "laptop", "r_benchmark", "caution", "DDE-penalised")
    assert "evaluation" not in ours
    assert not {"density_weight", "regularization", "validation"} & set(ours["options"])
    moons = jobs.job(config, "paper", "planar", "two-moons", "DDE")
    assert (moons["seeds"], moons["iterations"]) == (10, 20_000)
    options = moons["options"]
    assert (options["base"], options["validation"], options["dual_layers"]) == ("uniform", 0, 3)
    ring = jobs.job(config, "paper", "planar", "ring", "DDE")["options"]
    assert ring["dual_layers"] == 3
    rival = jobs.job(config, "laptop", "planar", "ring", "KEF")
    assert rival["options"] == {"n_basis": 300}
    assert "iterations" not in rival


def test_methods_of_doubly_dual_embedding_have_known_options(config):
    known = set(DDE().get_params())
    for name in ("DDE", "DDE-penalised", "DDE-narrow"):
        method = config["methods"][name]
        given = [method.get("options", {}), method["joint_options"]]
        for options in (*given, *method["dataset_options"].values()):
            assert set(options) <= known


def test_scales_reach_gaussian_pairs_up_to_their_sizes(config):
    def largest(scale):
        reached = {}
        for dataset, _ in selection.pairs(config, "moments", scale):
            dim, rows = GAUSSIAN.sizes(dataset)
            reached[dim] = max(reached.get(dim, 0), rows)
        return reached

    assert largest("laptop") == {1: 10**7, 2: 10**6, 3: 10**5}
    assert largest("paper") == dict.fromkeys((1, 2, 3), 10**7)
    smoke = {dataset for dataset, _ in selection.pairs(config, "moments", "smoke")}
    assert smoke == {"gaussian-1-200"}
    read = selection.pairs(config, "moments", "smoke", {"scale": "readings"})
    assert {dataset for dataset, _ in read} == set(config["smoke_datasets"]["moments"])
    assert ("gaussian-1-200-factors", "JPDL") not in read
    assert ("gaussian-1-200-laws", "JPDL") in read
    assert len(selection.pairs(config, "portfolio", "laptop")) == 4 * 4 * 3


def test_tolerances_are_those_of_the_paper_and_then_others(config):
    expected = {
        "gaussian-1-100": [1e-3, 1e-2, 1e-1],
        "gaussian-1-1000": [1e-3, 1e-2, 1e-1],
        "gaussian-1-1000000": [1e-2, 1e-3, 1e-1],
        "gaussian-1-10000000": [1e-1, 1e-3, 1e-2],
        "gaussian-2-100000": [1e-3],
        "gaussian-2-1000000": [1e-2, 1e-3],
        "gaussian-2-10000000": [1e-1],
        "gaussian-3-1000000": [1e-2],
    }
    for dataset, tolerances in expected.items():
        assert jobs.tolerances(config, dataset, "paper") == tolerances
    assert jobs.tolerances(config, "gaussian-2-1000000", "laptop") == [1e-2]


def test_what_embeddings_are_told(config):
    said = jobs.job(config, "laptop", "moments", "gaussian-1-10000000", "JDL")
    assert (said["estimator"], said["tolerances"]) == ("JDL", [0.1, 0.001, 0.01])
    assert (said["repetitions"], said["laws"]) == (5, ["normal-0.2"])
    assert (said["tuning_rows"], said["validation_rows"]) == (10**7, 10**5)
    assert said["matched_repetitions"] == 3
    assert jobs.job(config, "laptop", "moments", "gaussian-1-1000", "JDL")["repetitions"] == 20
    assert said["bandwidth_factors"] == [0.5, 1, 2, 4]
    np.testing.assert_allclose(said["regularizations"], np.geomspace(1e-14, 10, 16))
    assert not {"choice", "constrained_repetitions"} & set(said)
    polynomial = jobs.job(config, "laptop", "moments", "gaussian-2-1000", "JPDL-unreduced")
    assert (polynomial["choice"], polynomial["constrained_repetitions"]) == ("shared", 2)
    line = jobs.job(config, "laptop", "moments", "gaussian-1-1000", "JPDL-unreduced")
    assert "constrained_repetitions" not in line
    reduced = [jobs.job(config, "laptop", "moments", f"gaussian-{d}-1000", "JPDL") for d in (2, 3)]
    assert [said.get("choice") for said in reduced] == [None, "shared"]
    rows = [
        jobs.job(config, "laptop", "moments", f"gaussian-{dim}-1000", "CME")["tuning_rows"]
        for dim in (1, 2, 3)
    ]
    sizes = config["scales"]
    assert rows == [sizes[f"moments_tuning_rows_{dim}"]["laptop"] for dim in (1, 2, 3)]
    said = jobs.job(config, "laptop", "portfolio", "portfolios-5-1000", "KLR")
    assert said["estimator"] == "KernelLogisticRegression"
    assert said["portfolios"] == "fama-french-25-daily"
    assert said["tolerance"] == 1e-3
    assert said["max_rank"] == config["scales"]["portfolio_max_rank"]["laptop"]
    smoke = jobs.job(config, "smoke", "portfolio", "portfolios-2-300", "JDL")
    assert (smoke["portfolios"], smoke["risk_free"]) == ("smoke-portfolios", "smoke-risk-free")


def test_a_name_of_gaussian_pairs_says_what_is_varied(config):
    told = {
        name: jobs.job(config, "laptop", "moments", f"gaussian-1-1000000{name}", "CME")
        for name in ("", "-laws", "-factors", "-fewer")
    }
    section = config["experiments"]["moments"]
    assert told["-laws"]["laws"] == section["other_laws"]
    assert all(told[name]["laws"] == [section["law"]] for name in ("", "-factors", "-fewer"))
    assert told["-factors"]["largest_factors"] == section["largest_factors"]
    assert [name for name in told if "largest_factors" in told[name]] == ["-factors"]
    assert told["-fewer"]["tuning_rows"] == section["fewer_tuning_rows"]
    assert told["-fewer"]["tolerances"] == told[""]["tolerances"] == [1e-2, 1e-3, 1e-1]
    # Other laws and grids answer nothing about tolerances.
    assert told["-laws"]["tolerances"] == told["-factors"]["tolerances"] == [1e-2]
    assert [name for name in told if "matched_repetitions" in told[name]] == [""]
    few = jobs.job(config, "smoke", "moments", "gaussian-1-200-fewer", "CME")
    assert few["tuning_rows"] == config["scales"]["moments_tuning_rows_1"]["smoke"]


def test_other_kinds_of_positivity_take_the_choice_without_constraints(config):
    for name in ("JDL-sub-grid", "JDL-clipped"):
        for experiment, dataset in (
            ("moments", "gaussian-1-1000"),
            ("portfolio", "portfolios-1-1000"),
        ):
            said = jobs.job(config, "laptop", experiment, dataset, name)
            assert said["choice"] == "shared"
            assert said["options"] == config["methods"][name]["options"]
    assert "choice" not in jobs.job(config, "laptop", "portfolio", "portfolios-1-1000", "JDL")


def test_readings_may_change_tolerances(config):
    changed = merged(
        config, {"readings": {"moments": {"tolerances": [{"rows": 1000, "tolerance": 0.05}]}}}
    )
    dataset = "gaussian-3-1000"
    assert jobs.tolerances(changed, dataset, "readings") == [0.05]
    assert jobs.tolerances(changed, dataset, "laptop") == [1e-3]
    assert jobs.differs_in_readings(changed, "moments", dataset, "JDL")
    assert not jobs.differs_in_readings(config, "moments", dataset, "JDL")
    more = merged(config, {"readings": {"moments": {"more_tolerances": []}}})
    assert jobs.differs_in_readings(more, "moments", "gaussian-1-1000", "JDL")


def test_jobs_of_methods_with_the_same_bases_differ_in_nothing_else(config):
    names = ("JDL", "CME")
    both = [jobs.job(config, "laptop", "moments", "gaussian-2-1000", name) for name in names]
    first, second = (job_class("moments").make(each).identity() for each in both)
    assert {name for name in first if first[name] != second[name]} <= set(METHOD_FIELDS)


def test_every_job_of_the_configuration_is_one(config):
    """Its parameters are known and within their limits, at every scale."""
    experiments = [name for name in config["experiments"] if name != own.NAME]
    for scale, experiment in product(configuration.SCALES, experiments):
        drawn = "datasets" not in config["experiments"][experiment]
        pairs = [("", "")] if drawn else selection.pairs(config, experiment, scale)
        for dataset, method in pairs:
            step, files = experiment, {}
            if experiment == "joint":
                of_graph = "graph" in config["methods"].get(method, {})
                files = {"nodes": [1, 2]} if of_graph else {}
                step = "factors" if of_graph else "joint_network"
                step = "exact" if method == jobs.EXACT else step
            if experiment == "similarity":
                files = {"ours": "a.npz", "rival": "b.npz", "rival_name": method}
            told = jobs.text(jobs.job(config, scale, step, dataset, method, **files))
            made = job_class(step).make(json.loads(told))
            assert getattr(made, "dataset", dataset) == dataset


def test_what_the_scales_say_is_of_parameters_that_there_are(config):
    for experiment, keys in jobs.SCALED.items():
        assert set(keys) <= set(job_class(experiment).parameters())
        named = [key.format(dim=dim) for key in keys.values() for dim in (1, 2, 3)]
        assert set(named) <= set(config["scales"])


def test_groups_of_methods_are_fitted_on_the_same_data_in_the_same_way(config):
    assert division.groups(config, "moments") == [
        ("JDL", "CME"),
        ("JPDL",),
        ("JPDL-unreduced",),
        ("JDL-sub-grid", "JDL-clipped"),
    ]
    assert division.groups(config, "portfolio") == [
        ("JDL", "CME", "KLR"),
        ("JDL-sub-grid", "JDL-clipped"),
    ]
    moments = config["experiments"]["moments"]
    for change in (
        {"together": []},
        {"only": moments["only"] | {"CME": ["gaussian-1-1000"]}},
        {"shared_choice": {"CME": [3]}},
    ):
        changed = copy.deepcopy(config)
        changed["experiments"]["moments"] |= change
        assert ("JDL",) in division.groups(changed, "moments")
        assert ("CME",) in division.groups(changed, "moments")
    alone = {"experiments": {"moments": moments | {"methods": ["CME"]}}, "readings": {}}
    assert division.groups(alone, "moments") == [("CME",)]


def test_the_grid_of_embeddings_is_that_of_the_experiments(config):
    for experiment in ("moments", "portfolio"):
        chosen, declared = config["experiments"][experiment], job_class(experiment).parameters()
        for name in ("bandwidth_factors", "regularizations"):
            assert tuple(chosen[name]) == declared[name].default


def test_methods_of_embeddings_have_known_options(config):
    used = {
        name for each in ("moments", "portfolio") for name in config["experiments"][each]["methods"]
    }
    for name in used:
        method = config["methods"][name]
        known = estimator_class(method["estimator"])().get_params()
        assert set(method.get("options", {})) <= set(known)


def test_a_section_of_methods_is_merged_over_those_of_the_package():
    given = {
        "LSCDE-exact": {"options": {"n_centres": 200}},
        "own": {"estimator": "KCEF", "options": {"base_std": 4.0}},
    }
    standing = configuration.default(ROOT)
    config = configuration.complete(standing | {"methods": given})
    configuration.check(config, ROOT, CATALOGUE)
    assert config["methods"]["own"] == given["own"] | {"variant": "ours"}
    of_own = jobs.job(config, "laptop", "r_benchmark", "geyser", "own")
    assert (of_own["variant"], of_own["options"]) == ("ours", {"base_std": 4.0})
    of_exact = jobs.job(config, "laptop", "r_benchmark", "geyser", "LSCDE-exact")
    assert (of_exact["estimator"], of_exact["options"]) == ("LSCDE", {"n_centres": 200})
    assert config["methods"]["DDE"] == standing["methods"]["DDE"]
    assert configuration.complete(config) == config
    by_class = jobs.job(config, "laptop", "r_benchmark", "geyser", "GaussianProcess")
    assert (by_class["variant"], by_class["options"]) == ("ours", {})


def test_the_methods_of_the_package_are_a_right_configuration():
    """Whatever config.yaml adds to them."""
    alone = configuration.complete(configuration.default(ROOT) | {"methods": {}})
    configuration.check(alone, ROOT, CATALOGUE)
    assert list(alone["methods"]) == list(methods.METHODS)


def test_the_score_schema_is_the_score_table():
    schema = yaml.safe_load((ROOT / "workflow/schemas/scores.schema.yaml").read_text())
    assert list(schema["properties"]) == list(scores.COLUMNS) == schema["required"]
    assert tuple(schema["properties"]["status"]["enum"]) == tuple(scores.STATUSES)


def score_row(**changes):
    row = dict.fromkeys(scores.COLUMNS)
    row |= {"experiment": "e", "dataset": "d", "setting": "{}", "method": "m", "metric": "n"}
    return json.loads(json.dumps(row | {"value": 1.0, "status": "ok"} | changes))


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, True),
        ({"value": None}, False),
        ({"status": "failed", "value": None, "detail": "singular"}, True),
        ({"status": "not-run", "value": None}, False),
        ({"status": "failed", "detail": "singular"}, False),
        ({"status": "lost"}, False),
        ({"extra": 1}, False),
    ],
)
def test_the_score_schema_holds_rows_to_their_status(changes, valid):
    schema = yaml.safe_load((ROOT / "workflow/schemas/scores.schema.yaml").read_text())
    validator = configuration.jsonschema.Draft202012Validator(schema)
    assert validator.is_valid(score_row(**changes)) is valid


def test_simulated_traffic_is_fitted_by_one_method_at_every_scale(config):
    for scale, files in (("laptop", 2), ("smoke", 1)):
        pairs = selection.pairs(config, "traffic", scale)
        assert [m for d, m in pairs if d == SIMULATED_TRAFFIC] == ["CDO"]
        methods = config["experiments"]["traffic"]["methods"]
        assert len(pairs) == files * len(methods) + 1
    smoke = {d for d, _ in selection.pairs(config, "traffic", "smoke")}
    assert smoke == {"smoke-traffic", SIMULATED_TRAFFIC}


def test_what_traffic_is_told(config):
    said = jobs.job(config, "laptop", "traffic", "metro-traffic-substitute", "CDO")
    assert (said["settings"], said["splits"]) == ("authors", 3)
    assert (said["estimator"], said["variant"]) == ("CDO", "as-published")
    chosen = jobs.job(config, "paper", "traffic", "pems-sf", "CDO-chosen")
    assert (job_class("traffic").make(chosen).settings, chosen["splits"]) == ("chosen", 10)
