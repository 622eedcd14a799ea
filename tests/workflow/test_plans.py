"""What Snakemake plans, asked of few dry runs."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
from plans import LISTING, Plan, parameters
from sharded import JOBS, SHARDS

from kcde import names
from kcde.data import catalogue
from kcde.experiments.jobs import EXPERIMENTS
from kcde.experiments.shards import Shard
from lib import config as configuration
from lib import division, references, resources, selection

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]
PAPERS = ("kcef", "dde", "jdl", "cdo", "across")
CROSSED = tuple(f"figures/all_methods.{suffix}" for suffix in ("csv", "md", "png", "pdf"))
TABLES = ("figures/kcef/table1.md", "figures/kcef/table3.md")

UCI = ("red-wine", "parkinsons")
COLUMNS = {"white-wine": 11, "parkinsons": 15, "red-wine": 11, "grid-2000": 20}
"""Of joint densities; the other grids have 3."""

EXPENSIVE = "results/laptop/samples/red-wine/KEF-grouped.csv"
CHEAP = "results/laptop/r_benchmark/geyser/LSCDE.csv"

ASKED_BY_NAME = {
    "moments": {"smoke": ("gaussian-1-200",), "paper": ("gaussian-1-200", "gaussian-3-10000000")},
    "portfolio": {"smoke": ("portfolios-2-300",), "paper": ("portfolios-2-300",)},
    "donut": {"smoke": ("donut",), "paper": ("donut",)},
    "terrain": {"smoke": ("smoke-terrain",), "paper": ("rough-terrain",)},
}
"""Data sets whose scores are asked for at scales that the configuration does not name."""

PLANNING = """
import sys
from snakemake.cli import args_to_api, parse_args
assert args_to_api(*reversed(parse_args(sys.argv[1:])))
print("imported:", *sys.modules)
"""


def asked_by_name(config, *experiments):
    """The files of scores of each method."""
    return [
        f"results/{scale}/{experiment}/{dataset}/{method}.csv"
        for experiment in experiments
        for scale, datasets in ASKED_BY_NAME[experiment].items()
        for dataset in datasets
        for method in config["experiments"][experiment]["methods"]
    ]


@pytest.fixture(scope="module")
def laptop(project):
    """Everything, all of each paper, and some files by their names; and what was imported."""
    targets = ("all", "readings", *PAPERS, *CROSSED, *TABLES)
    command = [sys.executable, "-c", PLANNING, *targets, *LISTING, "--cores", "1"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    plan = Plan.of(done)
    _, _, imported = done.stdout.partition("imported: ")
    return plan, set(imported.split())


@pytest.fixture(scope="module")
def smoke(snakemake):
    """The tour, and scores of the largest scale by their names."""
    config = configuration.default(ROOT)
    return Plan.of(snakemake("smoke", *asked_by_name(config, *ASKED_BY_NAME), *LISTING))


@pytest.fixture(scope="module")
def paper(snakemake):
    """The whole at the largest scale, on a GPU."""
    return Plan.of(snakemake(*LISTING, "--config", "scale=paper", "backend=cupy"))


@pytest.fixture(scope="module")
def sharded(snakemake, project):
    """Jobs of every experiment as several, and of methods that train together."""
    (project / "shards.yaml").write_text(SHARDS)
    networks = [f"results/smoke/r_benchmark/smoke-mixed/{name}.csv" for name in NETWORKS]
    wanted = [path for path, _ in JOBS.values()]
    return Plan.of(snakemake(*wanted, *networks, *LISTING, "--configfile", "shards.yaml"))


NETWORKS = ("DDE", "NADE", "CondMAF")


def test_the_whole_is_planned(laptop, config):
    chosen = config["experiments"]["r_benchmark"]
    count = Counter("/".join(name.split("/")[1:3]) for name in laptop[0].needed_by("all"))
    keys = selection.artefacts(config, config["papers"])
    assert count.pop("laptop/artefacts") == len(keys)
    shown = {each for key in keys for each in selection.selected(config, key, "laptop")}
    for experiment in ("r_benchmark", "joint", "similarity"):
        wanted = sum(name == experiment for name, *_ in shown)
        assert count.pop(f"laptop/{experiment}") == wanted > 0
    # A job samples a model in all ways; one that no figure shows is compared in table 3.
    first = {name: group[0] for group in division.groups(config, "samples") for name in group}
    drawn = {(d, first[m]) for experiment, d, m in shown if experiment in ("samples", "similarity")}
    assert count.pop("laptop/samples") == len(drawn) > 0
    planar = config["experiments"]["planar"]
    sets, only = planar["datasets"], planar["only"]
    assert count.pop("laptop/planar") == sum(len(only.get(m, sets)) for m in planar["methods"])
    # A job has all methods with the same bases: JDL and CME; JPDL; that with its full program.
    pairs = config["experiments"]["moments"]
    reached = [name for name in pairs["datasets"] if selection.is_within(config, name, "laptop")]
    assert count.pop("laptop/moments") == 2 * len(reached) + len(pairs["only"]["JPDL-unreduced"])
    days = config["experiments"]["portfolio"]
    assert count.pop("laptop/portfolio") == len(days["datasets"])
    # Some factors a job; samples take the parameters of the factors of the method they are from.
    most = config["experiments"]["joint"]["nodes_per_job"]
    fitted = {
        (dataset, names.fitted(method))
        for experiment, dataset, method in shown
        if experiment in ("joint", "samples") and "graph" in config["methods"].get(method, {})
    }
    assert count.pop("laptop/factors") == sum(-(-COLUMNS.get(d, 3) // most) for d, _ in fitted)
    for experiment in ("donut", "terrain", "traffic"):
        theirs = config["experiments"][experiment]
        only = theirs.get("only", {})
        fits = sum(len(only.get(m, theirs["datasets"])) for m in theirs["methods"])
        assert count.pop(f"laptop/{experiment}") == fits
    alone = ["failure_case.csv", "consistency.csv", "estimation_cost.csv"]
    alone += ["scorecard.txt", "scores.json"]
    assert all(count.pop(f"laptop/{name}") == 1 for name in alone)
    # Three joint densities, the terrain and two files of traffic.
    assert sum(count.values()) == len(chosen["datasets"]) + 3 + len(days["files"]) + 3
    assert all(name.startswith("data/") for name in count)


def test_planning_imports_no_numerics_beyond_those_of_snakemake(laptop):
    imported = laptop[1]
    assert "kcde.provenance" in imported
    heavy = {"scipy", "sklearn", "matplotlib", "jax", "array_api_compat", "kcde.arrays"}
    assert not heavy & imported


def test_samples_need_the_factors_and_aliases_the_file_of_the_data_set(laptop):
    jobs = laptop[0].needed_by("figures/kcef/table3.md")
    methods = ("KCEF-F", "KEF", "NADE")  # the first of those that a job samples
    drawn = {f"results/laptop/samples/{d}/{m}.csv" for d in UCI for m in methods}
    assert drawn <= set(jobs)
    factors = [name for name in jobs if name.startswith("results/laptop/factors/")]
    assert {name.split("/")[4] for name in factors} == {"KCEF-F"}
    assert len(factors) == 2 + 2  # eight of eleven and of fifteen columns a job
    records = {name for name in jobs if name.startswith("results/data/")}
    files = ("winequality-red", "parkinsons-telemonitoring")
    assert records == {f"results/data/{name}.json" for name in files}


def test_the_command_line_knows_every_flag(laptop):
    """Every experiment is run, by a command that understands what it is told."""
    runs = laptop[0].runs
    assert {job.command[0] for job in runs} == {name.replace("_", "-") for name in EXPERIMENTS}
    for job in runs:
        assert [f"{path}" for path in parameters(job)["out"]] == [
            path for path in job.outputs if path.endswith(".csv")
        ]


@pytest.mark.slow
def test_embeddings_are_told_what_their_commands_know(smoke, config):
    """One command a group of methods, for the scores of all of them, here asked for by name."""
    groups = {name: division.groups(config, name) for name in ("moments", "portfolio")}
    jobs = [job for job in smoke.runs if job.command[0] in groups]
    files = [*config["experiments"]["portfolio"]["files"].values()]
    assert {f"results/data/{name}.json" for name in files} <= set(smoke.outputs)
    made_up = ("smoke-portfolios", "smoke-risk-free")
    assert {f"results/smoke/data/{name}.json" for name in made_up} <= set(smoke.outputs)
    told = []
    for job in jobs:
        given = parameters(job)
        named = [each["method"] for each in json.loads(given["job"])]
        assert [path.stem for path in given["out"]] == named
        assert tuple(named) in groups[job.command[0]]
        told += [f"{path}" for path in given["out"]]
        if job.command[0] == "portfolio":
            assert len(given["record"]) == 2
    assert len(told) == len(set(told))
    assert set(asked_by_name(config, *groups)) <= set(told)


@pytest.mark.slow
def test_donut_and_terrain_are_told_what_their_commands_know(smoke, config):
    told = []
    for job in smoke.runs:
        if job.command[0] in ("donut", "terrain"):
            given = parameters(job)
            assert (job.command[0] == "terrain") == (given.get("record") is not None)
            out = [f"{path}" for path in given["out"]]
            assert out == [path for path in job.outputs if path.endswith(".csv")]
            told += out
    assert len(told) == len(set(told))
    assert set(asked_by_name(config, "donut", "terrain")) <= set(told)


def test_one_tracked_file_plans_what_it_needs(laptop, config):
    fits = len(selection.selected(config, "kcef/table1", "laptop"))
    jobs = laptop[0].needed_by("figures/kcef/table1.md")
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    assert not any("dde" in name for name in jobs)


def test_the_cross_table_is_asked_for_by_its_files(laptop, config):
    fits = len(selection.selected(config, "across/all_methods", "laptop"))
    for target in CROSSED:
        jobs = laptop[0].needed_by(target)
        assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
        drawn = [name for name in jobs if "/artefacts/" in name]
        assert drawn == ["results/laptop/artefacts/across/all_methods.json"]
    jobs = laptop[0].needed_by("across")
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    drawn = {Path(name).stem for name in jobs if "/artefacts/" in name}
    assert drawn == {"all_methods", "best_known", "calibration"}


@pytest.mark.slow
def test_nested_numbers_of_the_command_line_are_taken(few):
    (job,) = [job for job in few.runs if job.command[0] == "portfolio"]
    assert all(each["tolerance"] == 0.01 for each in json.loads(parameters(job)["job"]))


# ---- in parts ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_experiment_is_sharded_and_collected(sharded):
    for experiment, (path, parts) in JOBS.items():
        whole = sharded.making(path)
        assert whole.rule.partition("+")[0] == experiment
        given = [f"{part}" for part in parameters(whole)["part"] or ()]
        assert len(given) == (parts if parts > 1 else 0)
        assert set(given) <= set(whole.inputs)
        assert parameters(whole)["shard"] is None
        for job in map(sharded.making, given):
            assert job.rule.partition("+")[0] == f"{experiment}_part"
            told = parameters(job)
            assert [f"{path}" for path in told["out"]] == job.outputs
            assert Path(job.outputs[0]).stem == told["shard"].replace("/", "-of-")
            assert Shard.parse(told["shard"]).count == parts
            # A part has the parameters of the job that collects it, but other flags of sharding.
            assert without_parts(job) == without_parts(whole)


def without_parts(job):
    """The flags of a command that say nothing of parts."""
    told = parameters(job)
    return {name: told[name] for name in told.keys() - {"out", "part", "shard"}}


def test_one_shard_is_no_shard(smoke):
    assert not [job.rule for job in smoke.jobs if "_part" in job.rule]
    assert not [job.command for job in smoke.runs if {"--shard", "--part"} & set(job.command)]


@pytest.mark.slow
def test_a_job_that_fits_in_one_batch_has_no_parts(sharded):
    for name in NETWORKS:
        job = sharded.making(f"results/smoke/r_benchmark/smoke-mixed/{name}.csv")
        assert job.rule == "r_benchmark"
        assert not {"--shard", "--part"} & set(job.command)


# ---- resources -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few(snakemake):
    """A job that wants more memory than there is, and one with a number of the command line."""
    chosen = "experiments={portfolio: {tolerance: 0.01}}"
    targets = (EXPENSIVE, "results/laptop/portfolio/portfolios-1-1000/KLR.csv")
    return Plan.of(snakemake(*targets, *LISTING, "--resources", "mem_mb=1000", "--config", chosen))


def needs(config, path, **options):
    """The table, and the job of a file of scores as it knows it."""
    asked = resources.ResourceTable(
        config, ROOT, catalogue.by_any_name(catalogue.read()), **options
    )
    _, scale, rule, dataset, file = path.split("/")
    names = {"scale": scale, "dataset": dataset, "method": file.removesuffix(".csv")}
    return asked, asked.work(rule, SimpleNamespace(**names), ())


def test_jobs_ask_for_what_the_table_says(laptop, config):
    for path in (EXPENSIVE, CHEAP):
        asked, job = needs(config, path)
        found = laptop[0].making(path).resources
        assert int(found["mem_mb"]) <= asked.memory(job)
        assert int(found["runtime"]) == asked.minutes(job)
        assert found["gpu"] == "0"
    assert int(found["mem_mb"]) == asked.memory(job)


@pytest.mark.slow
def test_no_job_asks_for_more_than_there_is(few):
    assert few.making(EXPENSIVE).resources["mem_mb"] == "1000"


@pytest.mark.slow
def test_a_cluster_is_asked_for_all_that_a_job_needs(snakemake, config):
    """Where `jobs` is given beside `cores`, as by a cluster's profile, they run elsewhere."""
    plan = Plan.of(snakemake(EXPENSIVE, CHEAP, *LISTING, "--cores", "1", "--jobs", "5"))
    assert plan.text.count("Group job quick") == 1
    there, job = needs(config, EXPENSIVE, cluster=True)
    assert int(plan.making(EXPENSIVE).resources["mem_mb"]) == there.memory(job)


@pytest.mark.slow
def test_all_of_the_papers_is_planned_for_a_gpu(paper, config):
    """Each job but those of JAX, of other libraries and of formulas."""
    fits = {job.outputs[0]: job for job in paper.jobs if job.outputs}
    fits = {path: job for path, job in fits.items() if path.startswith("results/paper/")}
    using = {path.split("/")[2] for path, job in fits.items() if job.resources["gpu"] == "1"}
    hosted = {"NGBoost", "QuantileForest"}.union(*references.BESIDE.values())
    by_jax = division.batch_fitted()
    hosted |= {name for name, given in config["methods"].items() if given["estimator"] in by_jax}
    without = {
        path.split("/")[2]
        for path, job in fits.items()
        if job.resources["gpu"] == "0" and not hosted & set(Path(path).stem.split("+"))
    }
    experiments = {"r_benchmark", "factors", "samples", "similarity", "planar", "consistency.csv"}
    experiments |= {"moments", "portfolio", "donut", "terrain", "traffic"}
    assert using == experiments
    assert not experiments & without
    told = {job.command[0] for job in paper.runs if '"backend": "cupy"' in " ".join(job.command)}
    assert told == {name.removesuffix(".csv").replace("_", "-") for name in experiments}
