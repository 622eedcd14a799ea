"""Slow experiments as several jobs: how many, of which files, and that they change nothing."""

import re
from pathlib import Path

import pandas as pd
import pytest
from sharded import JOBS, SHARDS

from kcde.data import catalogue as tables
from kcde.estimators import estimator_class
from kcde.experiments.jobs import job_class
from lib import config as configuration
from lib import division, own
from lib import jobs as planned

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())


def estimators(config):
    return {method["estimator"] for method in config["methods"].values()}


def test_batch_fitted_estimators_are_those_with_fit_many(config):
    together = {name for name in estimators(config) if hasattr(estimator_class(name), "fit_many")}
    assert together == set(division.batch_fitted())


def test_batch_fitted_estimators_are_those_that_jax_computes(config):
    elsewhere = {
        name
        for name in estimators(config)
        if hasattr(estimator_class(name), "tags") and not estimator_class(name).tags.array_api
    }
    assert elsewhere - {"NGBoost", "QuantileForest"} == set(division.batch_fitted())


def test_what_is_shardable_is_what_the_configuration_lists(config):
    assert set(config["shards"]) - {own.NAME} == set(division.SHARDABLE) == set(JOBS)
    assert set(config["shards"].values()) == {1}


def count(config, experiment, scale, dataset="", methods=()):
    return division.shards(config, CATALOGUE, experiment, scale, dataset, methods)


def test_there_are_no_more_parts_than_repetitions(config):
    scales = config["scales"]
    assert count(config, "r_benchmark", "laptop", "geyser", ["KCEF"]) == 1
    config["shards"] |= dict.fromkeys(config["shards"], 4)
    assert count(config, "r_benchmark", "laptop", "geyser", ["KCEF"]) == 4
    config["shards"] |= dict.fromkeys(config["shards"], 1000)
    for name in division.SHARDABLE:
        size = planned.SCALED[name][job_class(name).repeated[0]]
        for scale in configuration.SCALES:
            dataset = "gaussian-1-1000" if name == "moments" else ""
            assert count(config, name, scale, dataset) == scales[size][scale]
    assert (
        count(config, "factors", "paper", "grid-400", ["LSCDE-F"]) == scales["grid_runs"]["paper"]
    )
    # Its file says which days are to train; simulated traffic is not repeated at all.
    for dataset in ("pems-sf", "simulated-traffic"):
        assert count(config, "traffic", "paper", dataset, ["CDO"]) == 1
    assert count(config, "joint", "paper", "red-wine", ["KCEF-F"]) == 1


@pytest.mark.parametrize("method", ["NADE", "DDE-penalised", "CondRealNVP", "CondMAF"])
def test_a_job_that_fits_in_one_batch_is_not_shardable(config, method):
    config["shards"] |= dict.fromkeys(config["shards"], 2)
    for experiment in ("r_benchmark", "samples", "planar", "donut", "terrain", "traffic"):
        assert count(config, experiment, "paper", methods=[method]) == 1
        assert count(config, experiment, "paper", methods=["KCEF"]) == 2


# ---- with Snakemake ----------------------------------------------------------------------------


def kept(project, path):
    """What a job wrote: its arrays, its choices, and its scores but for what is measured."""
    scores = project / path
    frame = pd.read_csv(scores, dtype=str).drop(columns="seconds")
    timed = frame["metric"].str.contains("seconds") | (frame["metric"] == "peak_memory")
    others = {
        suffix: scores.with_suffix(suffix).read_bytes()
        for suffix in (".json", ".npz")
        if scores.with_suffix(suffix).exists()
    }
    return frame[~timed].to_csv(), others


@pytest.mark.slow
@pytest.mark.workflow
def test_a_sharded_experiment_has_the_scores_of_a_whole_one(snakemake, project):
    """The parts are gone afterwards, are announced, and are not taken for jobs that failed."""
    (project / "shards.yaml").write_text(SHARDS)
    sharded = ("--configfile", "shards.yaml")
    wanted = [JOBS[name][0] for name in ("r_benchmark", "consistency", "moments")]
    assert snakemake(*wanted).returncode == 0
    whole = {path: kept(project, path) for path in wanted}
    done = snakemake(*wanted, *sharded)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"r_benchmark_part +3 ", done.stderr)
    assert "not finished" not in done.stderr
    assert {path: kept(project, path) for path in wanted} == whole
    assert not [path for path in project.glob("results/smoke/parts/**/*") if path.is_file()]
    assert "Nothing to be done" in snakemake(*wanted, *sharded).stderr
