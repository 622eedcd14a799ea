"""Snakemake itself, in a copy of the project: plans, refusals, re-runs, missing data."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import typer
import yaml

from kcde import cli, scores
from lib import division, selection

pytestmark = pytest.mark.workflow

QUICK = """
experiments:
  r_benchmark: {datasets: [geyser, engel], methods: [LSCDE, epsilon-KDE]}
  joint: {datasets: [red-wine, grid-2000], methods: [LSCDE-F, exact]}
  samples: {methods: [LSCDE-M]}
  similarity: {methods: [LSCDE-M]}
  planar: {methods: [KEF]}
  moments: {methods: [CME]}
  portfolio: {methods: [KLR]}
  donut: {methods: [LSCDE]}
  terrain: {methods: [LSCDE]}
  traffic: {methods: [CDO]}
"""
"""No artefact shows samples of LSCDE-M, so that none are drawn."""

SUFFIXES = ("csv", "md", "png", "pdf")

UCI = ("red-wine", "parkinsons")
COLUMNS = {"white-wine": 11, "parkinsons": 15, "red-wine": 11, "grid-2000": 20}
"""Of joint densities; the other grids have 3."""

RUNS = (
    "r-benchmark",
    "factors",
    "joint",
    "joint-network",
    "exact",
    "samples",
    "similarity",
    "planar",
    "moments",
    "portfolio",
    "donut",
    "terrain",
    "traffic",
    "failure-case",
    "consistency",
    "estimation-cost",
)


def planned(done):
    """First outputs of the jobs in the listing of a dry run."""
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^    output: ([^,\n]+)", done.stdout + done.stderr, re.MULTILINE)
    return sorted(set(found))


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_whole_is_planned(snakemake, config):
    chosen = config["experiments"]["r_benchmark"]
    jobs = planned(snakemake("-n", "--quiet", "reason"))
    count = Counter("/".join(name.split("/")[1:3]) for name in jobs)
    whole = len(chosen["datasets"]) * len(chosen["methods"])
    assert count.pop("laptop/r_benchmark") == whole
    keys = selection.artefacts(config, config["papers"])
    assert count.pop("laptop/artefacts") == len(keys)
    shown = {each for key in keys for each in selection.selected(config, key, "laptop")}
    for experiment in ("joint", "samples", "similarity"):
        wanted = sum(name == experiment for name, *_ in shown)
        assert count.pop(f"laptop/{experiment}") == wanted > 0
    planar = config["experiments"]["planar"]
    sets, only = planar["datasets"], planar["only"]
    assert count.pop("laptop/planar") == sum(len(only.get(m, sets)) for m in planar["methods"])
    # A job has all methods with the same bases: JDL and CME; JPDL; that with its full program.
    pairs = config["experiments"]["moments"]
    reached = [name for name in pairs["datasets"] if selection.is_within(config, name, "laptop")]
    assert len(reached) == 5 + 4 + 3
    assert count.pop("laptop/moments") == 2 * len(reached) + len(pairs["only"]["JPDL-unreduced"])
    days = config["experiments"]["portfolio"]
    assert count.pop("laptop/portfolio") == len(days["datasets"])
    # Four factors a job; samples take the parameters of the factors of their own method.
    fitted = {
        (dataset, method)
        for experiment, dataset, method in shown
        if experiment in ("joint", "samples") and "graph" in config["methods"].get(method, {})
    }
    assert count.pop("laptop/factors") == sum(-(-COLUMNS.get(d, 3) // 4) for d, _ in fitted)
    for experiment in ("donut", "terrain", "traffic"):
        theirs = config["experiments"][experiment]
        only = theirs.get("only", {})
        fits = sum(len(only.get(m, theirs["datasets"])) for m in theirs["methods"])
        assert count.pop(f"laptop/{experiment}") == fits
    alone = ["failure_case.csv", "consistency.csv", "estimation_cost.csv", "scorecard.txt"]
    assert all(count.pop(f"laptop/{name}") == 1 for name in alone)
    # Three joint densities, the terrain and two files of traffic.
    assert sum(count.values()) == len(chosen["datasets"]) + 3 + len(days["files"]) + 3
    assert all(name.startswith("data/") for name in count)


def test_planning_imports_no_numerics_beyond_those_of_snakemake(project):
    code = (
        "import sys; from snakemake.cli import parse_args, args_to_api\n"
        "assert args_to_api(*reversed(parse_args(['-n', '--quiet', 'all'])))\n"
        "print(*sorted(set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "kcde.provenance" in loaded
    heavy = {"scipy", "sklearn", "matplotlib", "jax", "array_api_compat", "kcde.arrays"}
    assert not heavy & loaded


def test_samples_need_the_factors_and_aliases_the_file_of_the_data_set(snakemake):
    jobs = planned(snakemake("figures/kcef/table3.md", "-n", "--quiet", "reason"))
    drawn = {f"results/laptop/samples/{d}/{m}.csv" for d in UCI for m in ("KCEF-F", "KEF", "NADE")}
    assert drawn <= set(jobs)
    factors = [name for name in jobs if name.startswith("results/laptop/factors/")]
    assert {name.split("/")[4] for name in factors} == {"KCEF-F"}
    assert len(factors) == 3 + 4
    records = {name for name in jobs if name.startswith("results/data/")}
    files = ("winequality-red", "parkinsons-telemonitoring")
    assert records == {f"results/data/{name}.json" for name in files}


def test_the_command_line_knows_every_flag(snakemake):
    done = snakemake("kcef", "dde", "jdl", "cdo", "across", "-n", "-p", "--quiet", "reason")
    assert done.returncode == 0, done.stderr
    commands = re.findall(r"python -m kcde (run .*?) > ", done.stdout + done.stderr)
    assert {shlex.split(command)[1] for command in commands} == set(RUNS)
    app = typer.main.get_command(cli.app).commands["run"]
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        context = app.commands[name].make_context(name, arguments)
        assert not [word for word in context.args if word.startswith("-")]


def test_embeddings_are_told_what_their_commands_know(snakemake, config):
    """One command a group of methods, for the scores of all of them, here asked for by name."""
    wanted = [
        f"results/{scale}/{experiment}/{dataset}/{method}.csv"
        for scale in ("smoke", "paper")
        for experiment, datasets in (
            ("moments", ["gaussian-1-200", "gaussian-3-10000000"]),
            ("portfolio", ["portfolios-2-300"]),
        )
        for dataset in datasets
        for method in config["experiments"][experiment]["methods"]
    ]
    done = snakemake(*wanted, "-n", "-p", "--quiet", "reason")
    jobs = planned(done)
    groups = {name: division.groups(config, name) for name in ("moments", "portfolio")}
    count = {name: sum(f"/{name}/" in job for job in jobs) for name in groups}
    sets = {"moments": 4, "portfolio": 2}
    assert count == {name: sets[name] * len(groups[name]) for name in groups}
    files = [*config["experiments"]["portfolio"]["files"].values()]
    assert {f"results/data/{name}.json" for name in files} <= set(jobs)
    made_up = ("smoke-portfolios", "smoke-risk-free")
    assert {f"results/smoke/data/{name}.json" for name in made_up} <= set(jobs)
    commands = re.findall(r"python -m kcde (run .*?) > ", done.stdout + done.stderr)
    assert len(commands) == sum(count.values())
    app, told = typer.main.get_command(cli.app).commands["run"], set()
    for command in commands:
        name, *arguments = shlex.split(command)[1:]
        context = app.commands[name].make_context(name, arguments)
        assert not context.args
        given = context.params
        methods = [job["method"] for job in json.loads(given["job"])]
        assert [path.stem for path in given["out"]] == methods
        told.update(f"{path}" for path in given["out"])
        if name == "portfolio":
            assert len(given["record"]) == 2
    assert told == set(wanted)


def test_donut_and_terrain_are_told_what_their_commands_know(snakemake, config):
    wanted = [
        f"results/{scale}/{experiment}/{dataset}/{method}.csv"
        for scale, terrain in (("smoke", "smoke-terrain"), ("paper", "rough-terrain"))
        for experiment, dataset in (("donut", "donut"), ("terrain", terrain))
        for method in config["experiments"][experiment]["methods"]
    ]
    done = snakemake(*wanted, "-n", "-p", "--quiet", "reason")
    assert set(wanted) <= set(planned(done))
    app = typer.main.get_command(cli.app).commands["run"]
    told = []
    for command in re.findall(r"python -m kcde (run .*?) > ", done.stdout + done.stderr):
        name, *arguments = shlex.split(command)[1:]
        context = app.commands[name].make_context(name, arguments)
        assert not [word for word in context.args if word.startswith("-")]
        assert (name == "terrain") == (context.params.get("record") is not None)
        told += [f"{path}" for path in context.params["out"]]
    assert sorted(told) == sorted(wanted)


def test_one_tracked_file_plans_what_it_needs(snakemake, config):
    fits = len(selection.selected(config, "kcef/table1", "laptop"))
    jobs = planned(snakemake("figures/kcef/table1.md", "-n", "--quiet", "reason"))
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    assert not any("dde" in name for name in jobs)


@pytest.mark.parametrize("target", ["across", *(f"figures/all_methods.{e}" for e in SUFFIXES)])
def test_the_cross_table_is_asked_for_by_its_files(snakemake, config, target):
    fits = len(selection.selected(config, "across/all_methods", "laptop"))
    jobs = planned(snakemake(target, "-n", "--quiet", "reason"))
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    drawn = [name for name in jobs if "/artefacts/" in name]
    assert drawn == ["results/laptop/artefacts/across/all_methods.json"]


def test_a_wrong_configuration_is_refused_in_one_line_a_mistake(snakemake):
    done = snakemake("-n", "--config", "scale=lpatop", "bakend=numpy")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "unknown key `bakend` (did you mean `backend`?)" in said
    assert "`scale` is 'lpatop' (did you mean `laptop`?); allowed: smoke, laptop or paper" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "kcfe"], "there is no target `kcfe` (did you mean `kcef`?)"),
        (["-n", "table1"], "did you mean `figures/kcef/table1.md` or `figures/dde/table1.md`?"),
        (["-n", "r_benchmark"], "a rule for many jobs is no target"),
        (["publish"], "publish copies what another scale drew"),
        (["publish", "--config", "scale=smoke"], "publish copies no made-up data"),
        (["publish", "--config", "scale=paper"], "publish copies what a finished run drew, and"),
        (
            ["-n", "--config", "methods={KCEF: {options: {selektion: score}}}"],
            "`methods.KCEF.options` names 'selektion' (did you mean `selection`?)",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_refused_in_one_line(snakemake, project, arguments, words):
    done = snakemake(*arguments)
    assert done.returncode == 1
    said = (done.stdout + done.stderr).splitlines()  # a dry run speaks on stdout
    (line,) = [line for line in said if words in line]
    assert line.startswith(("kcde: ", "configuration: "))
    assert not [line for line in said if "Traceback" in line or "Exception" in line]
    assert not (project / "results/paper").exists()


def test_nested_numbers_of_the_command_line_are_taken(snakemake):
    chosen = "experiments={portfolio: {tolerance: 0.01}}"
    wanted = "results/laptop/portfolio/portfolios-1-1000/KLR.csv"
    done = snakemake(wanted, "-n", "-p", "--quiet", "reason", "--config", chosen)
    assert done.returncode == 0, done.stderr
    assert '"tolerance": 0.01,' in done.stdout + done.stderr


def test_help_lists_targets_and_scales_whenever_asked(snakemake, project):
    for _ in range(2):
        done = snakemake("help")
        assert done.returncode == 0, done.stderr
        for word in ("smoke", "laptop", "paper", "figures", "publish", "scorecard", "kcef"):
            assert word in done.stdout
        assert "closing summary" not in done.stderr


@pytest.mark.parametrize("target", ["figures", "publish", "help"])
def test_what_acts_on_request_leaves_nothing_that_counts_as_made(target, project):
    text = "\n\n".join(path.read_text() for path in project.glob("workflow/rules/*.smk"))
    rule = text.partition(f"rule {target}:")[2].partition("\n\n\n")[0]
    assert "&& rm {log}" in rule
    assert "benchmark:" not in rule


def test_the_workflow_is_lint_free(snakemake):
    assert "good condition" in snakemake("--lint").stderr


@pytest.fixture(scope="module")
def toured(snakemake, project):
    """The project after the small tour with two methods."""
    (project / "quick.yaml").write_text(QUICK)
    before = contents(project / "figures")
    done = snakemake("smoke", "--configfile", "quick.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    return done, before


def run_quick(snakemake, *arguments):
    return snakemake("smoke", *arguments, "--configfile", "quick.yaml")


def test_the_tour_announces_draws_and_closes(toured, project):
    done, before = toured
    assert done.stderr.count("kcde: closing summary") == 1
    assert len(re.findall(r"^kcde: 54 jobs, about .* on \d+ cores?", done.stderr, re.M)) == 1
    assert re.search(r"^  r_benchmark +4 ", done.stderr, re.M)
    steps = re.findall(r"^ ?(\d+) of 54  \S", done.stderr, re.M)
    assert sorted(map(int, steps)) == list(range(1, 55))
    assert re.search(r"of 54  r benchmark: LSCDE on smoke-linear, \d+ seconds?; about", done.stderr)
    for noise in ("Job stats", "Select jobs", "Finished jobid", "Provided cores", "steps ("):
        assert noise not in done.stderr
    drawn = project / "results/smoke/figures"
    names = ("kcef/table1.md", "kcef/table2.md", "kcef/fig1.png", "kcef/consistency.pdf")
    others = (
        "all_methods.md",
        "all_methods.png",
        "dde/table1.md",
        "dde/cost.png",
        "dde/table2.csv",
        "scorecard.md",
    )
    for name in (*names, "kcef/fig3.png", *others):
        assert (drawn / name).is_file()
    assert contents(project / "figures") == before
    assert not (project / "data").exists()


def test_the_scores_keep_their_schema(toured, project):
    schema = yaml.safe_load((project / "workflow/schemas/scores.schema.yaml").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    paths = [
        *project.glob("results/smoke/r_benchmark/*/*.csv"),
        *project.glob("results/smoke/factors/*/*/*.csv"),
        *project.glob("results/smoke/joint/*/*.csv"),
        *project.glob("results/smoke/planar/*/*.csv"),
        *project.glob("results/smoke/moments/*/*.csv"),
        *project.glob("results/smoke/portfolio/*/*.csv"),
        project / "results/smoke/failure_case.csv",
        project / "results/smoke/consistency.csv",
        project / "results/smoke/estimation_cost.csv",
    ]
    assert len(paths) == 4 + 2 + 3 + 1 + 2 + 3
    for path in paths:
        for row in json.loads(scores.read([path]).to_json(orient="records")):
            wrong = [error.message for error in validator.iter_errors(row)]
            assert not wrong, f"{path}: {wrong}"


def test_nothing_is_done_twice(toured, snakemake):
    assert "Nothing to be done" in run_quick(snakemake).stderr


def test_an_edited_estimator_runs_its_own_jobs_again(toured, snakemake, project):
    path = project / "src/kcde/estimators/lscde.py"
    original = path.read_text()
    try:
        path.write_text(original + "\nADDED = 1\n")
        fitted = [
            name
            for name in planned(run_quick(snakemake, "-n", "--quiet", "reason"))
            if "r_benchmark" in name or "factors" in name
        ]
        path.write_text(original + "\n# only a remark\n")
        remark = run_quick(snakemake, "-n", "--quiet", "reason")
    finally:
        path.write_text(original)
    assert fitted == [
        "results/smoke/factors/grid-60/LSCDE-F/01-03.csv",
        "results/smoke/factors/smoke-joint/LSCDE-F/01-03.csv",
        "results/smoke/r_benchmark/smoke-linear/LSCDE.csv",
        "results/smoke/r_benchmark/smoke-mixed/LSCDE.csv",
    ]
    assert planned(remark) == []


def test_a_changed_option_runs_its_own_jobs_again(toured, snakemake, project):
    (project / "option.yaml").write_text("methods: {LSCDE: {options: {n_centres: 50}}}\n")
    done = snakemake(
        "smoke", "-n", "--quiet", "reason", "--configfile", "quick.yaml", "option.yaml"
    )
    fitted = [name for name in planned(done) if "r_benchmark" in name or "factors" in name]
    assert {Path(name).stem for name in fitted} == {"LSCDE"}


def test_missing_data_stop_nothing_else_and_are_tried_again(toured, snakemake, project):
    drawn = project / "results/smoke/figures"
    tables = {path: data for path, data in contents(drawn).items() if "table" in path.name}
    mirror, away = project / "results/smoke/mirror/smoke", project / "away"
    shutil.move(mirror, away)
    shutil.rmtree(project / "results/smoke/raw")
    fig3 = [
        project / "results/smoke" / name
        for name in ("failure_case.csv", "artefacts/kcef/fig3.json")
    ]
    for path in fig3:
        path.unlink()
    lost = run_quick(snakemake)
    assert lost.returncode == 1
    assert all(path.is_file() for path in fig3)
    assert {path: path.read_bytes() for path in tables} == tables
    (told,) = re.findall(r"^  missing data +(.*)$", lost.stderr, re.M)
    assert "smoke-joint, smoke-linear, smoke-mixed" in told
    assert "11 artefacts not regenerated; 7 data sets not available" in lost.stderr
    assert "Traceback" not in lost.stderr
    scores = (project / "results/smoke/r_benchmark/smoke-linear/LSCDE.csv").read_text()
    assert "not-run" in scores
    assert "not regenerated" in (drawn / "scorecard.csv").read_text()
    shutil.move(away, mirror)
    found = run_quick(snakemake)
    assert found.returncode == 0, found.stdout + found.stderr
    assert {path: path.read_bytes() for path in tables} == tables
    assert "Nothing to be done" in run_quick(snakemake).stderr
