"""Slow experiments as several jobs: how many, of which files, and that they change nothing."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import typer

from kcde import cli
from kcde.datasets import catalogue as tables
from kcde.estimators import estimator_class
from kcde.experiments.jobs import job_class
from kcde.experiments.shards import Shard
from lib import config as configuration
from lib import division
from lib import jobs as planned

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())

CUT = """
shards:
  r_benchmark: 3
  factors: 2
  samples: 2
  planar: 2
  consistency: 3
  moments: 2
  portfolio: 2
  donut: 2
  terrain: 2
  traffic: 2
"""
"""At `smoke` an experiment has up to three repetitions, the terrain and traffic one."""

JOBS = {
    "r_benchmark": ("results/smoke/r_benchmark/smoke-linear/LSCDE.csv", 3),
    "factors": ("results/smoke/factors/grid-60/LSCDE-F/01-03.csv", 2),
    "samples": ("results/smoke/samples/smoke-joint/KEF.csv", 2),
    "planar": ("results/smoke/planar/ring-code/KEF.csv", 2),
    "consistency": ("results/smoke/consistency.csv", 3),
    "moments": ("results/smoke/moments/gaussian-1-200/JDL.csv", 2),
    "portfolio": ("results/smoke/portfolio/portfolios-2-300/JDL.csv", 2),
    "donut": ("results/smoke/donut/donut/LSCDE.csv", 2),
    "terrain": ("results/smoke/terrain/smoke-terrain/LSCDE.csv", 1),
    "traffic": ("results/smoke/traffic/smoke-traffic/LSCDE.csv", 1),
}
"""A job of every experiment that can be cut, and its parts where `shards` asks for up to three."""


def estimators(config):
    return {method["estimator"] for method in config["methods"].values()}


def test_methods_that_train_together_are_those_with_fit_many(config):
    together = {name for name in estimators(config) if hasattr(estimator_class(name), "fit_many")}
    assert together == set(division.BATCH_FITTED)


def test_methods_that_train_together_are_those_not_written_for_cupy(config):
    elsewhere = {
        name
        for name in estimators(config)
        if hasattr(estimator_class(name), "tags") and not estimator_class(name).tags.array_api
    }
    assert elsewhere == set(division.BATCH_FITTED)


def test_what_is_shardable_is_what_the_configuration_lists(config):
    assert set(config["shards"]) == set(division.SHARDABLE) == set(JOBS)
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
            assert count(config, name, scale) == scales[size][scale]
    assert (
        count(config, "factors", "paper", "grid-400", ["LSCDE-F"]) == scales["grid_runs"]["paper"]
    )
    # Its file says which days are to train; simulated traffic is not repeated at all.
    for dataset in ("pems-sf", "simulated-traffic"):
        assert count(config, "traffic", "paper", dataset, ["CDO"]) == 1
    assert count(config, "joint", "paper", "red-wine", ["KCEF-F"]) == 1


@pytest.mark.parametrize("method", ["NADE", "DDE-penalised", "CondRealNVP", "CondMAF"])
def test_what_trains_together_is_never_cut(config, method):
    config["shards"] |= dict.fromkeys(config["shards"], 2)
    for experiment in ("r_benchmark", "samples", "planar", "donut", "terrain", "traffic"):
        assert count(config, experiment, "paper", methods=[method]) == 1
        assert count(config, experiment, "paper", methods=["KCEF"]) == 2


# ---- with Snakemake ----------------------------------------------------------------------------


@pytest.fixture
def cut(project):
    (project / "cut.yaml").write_text(CUT)
    return ("--configfile", "cut.yaml")


def jobs(done):
    """Rule, first output, inputs and command of every job of a dry run."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = []
    for text in re.split(r"^\[.*\]$", done.stdout + done.stderr, flags=re.MULTILINE)[1:]:
        rule = re.search(r"^(?:local)?rule (\S+):", text, re.MULTILINE)
        output = re.search(r"^    output: (.*)$", text, re.MULTILINE)
        if not (rule and output):
            continue
        inputs = re.search(r"^    input: (.*)$", text, re.MULTILINE)
        command = re.search(r"python -m kcde (run .*?) > ", text)
        found.append(
            (
                rule[1],
                output[1].split(", "),
                inputs[1].split(", ") if inputs else [],
                shlex.split(command[1])[1:] if command else [],
            )
        )
    return found


def values(arguments, flag):
    return [after for word, after in pairwise(arguments) if word == flag]


@pytest.mark.workflow
def test_every_experiment_is_cut_and_collected(snakemake, cut):
    plan = ("-n", "-p", "--quiet", "reason")
    wanted = [path for path, _ in JOBS.values()]
    found = jobs(snakemake(*wanted, *plan, *cut))
    app = typer.main.get_command(cli.app).commands["run"]
    for experiment, (path, parts) in JOBS.items():
        (whole,) = [job for job in found if path in job[1]]
        assert whole[0].partition("+")[0] == experiment
        given = values(whole[3], "--part")
        assert len(given) == (parts if parts > 1 else 0)
        assert set(given) <= set(whole[2])
        assert "--shard" not in whole[3]
        made = [job for job in found if job[1][0] in given]
        assert len(made) == len(given)
        for rule, outputs, _, arguments in made:
            assert rule.partition("+")[0] == f"{experiment}_part"
            assert values(arguments, "--out") == outputs
            (shard,) = values(arguments, "--shard")
            assert Path(outputs[0]).stem == shard.replace("/", "-of-")
            assert Shard.parse(shard).count == parts
            name, *words = arguments
            context = app.commands[name].make_context(name, [*words])
            assert not [word for word in context.args if word.startswith("-")]
            # But for how it is cut, a part is told what the job is told that collects it.
            assert told(words) == told(whole[3][1:])


def told(words):
    """Flags and their values, without those of sharding, each with where it stands."""
    pairs = zip(words[::2], words[1::2], strict=True)
    return [pair for pair in pairs if pair[0] not in ("--out", "--part", "--shard")]


@pytest.mark.workflow
def test_one_shard_is_no_shard(snakemake):
    found = jobs(snakemake("smoke", "-n", "-p", "--quiet", "reason"))
    assert not [rule for rule, *_ in found if "_part" in rule]
    assert not [words for *_, words in found if {"--shard", "--part"} & set(words)]


@pytest.mark.workflow
def test_what_trains_together_has_no_parts(snakemake, cut):
    names = ("DDE", "NADE", "CondMAF")
    paths = [f"results/smoke/r_benchmark/smoke-linear/{name}.csv" for name in names]
    found = jobs(snakemake(*paths, "-n", "-p", "--quiet", "reason", *cut))
    assert [rule for rule, *_ in found if rule.startswith("r_benchmark")] == ["r_benchmark"] * 3


def kept(project, path):
    """What a job wrote: its arrays, its choices, and its scores but for what is measured."""
    scores = project / path
    frame = pd.read_csv(scores, dtype=str).drop(columns="seconds")
    timed = frame["metric"].str.startswith("seconds") | (frame["metric"] == "peak_memory")
    others = {
        suffix: scores.with_suffix(suffix).read_bytes()
        for suffix in (".json", ".npz")
        if scores.with_suffix(suffix).exists()
    }
    return frame[~timed].to_csv(), others


@pytest.mark.workflow
def test_a_cut_experiment_has_the_scores_of_a_whole_one(snakemake, project, cut):
    """The parts are gone afterwards, are announced, and are not taken for jobs that failed."""
    wanted = [JOBS[name][0] for name in ("r_benchmark", "consistency", "moments")]
    assert snakemake(*wanted).returncode == 0
    whole = {path: kept(project, path) for path in wanted}
    done = snakemake(*wanted, *cut)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"r_benchmark_part +3 ", done.stderr)
    assert "not finished" not in done.stderr
    assert {path: kept(project, path) for path in wanted} == whole
    assert not [path for path in project.glob("results/smoke/parts/**/*") if path.is_file()]
    assert "Nothing to be done" in snakemake(*wanted, *cut).stderr
