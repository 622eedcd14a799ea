"""Snakemake itself, in a copy of the project: plans, refusals, re-runs, missing data."""

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from kcde.experiments import scores

pytestmark = pytest.mark.workflow

QUICK = """
experiments: {r_benchmark: {datasets: [geyser, engel], methods: [LSCDE, epsilon-KDE]}}
"""


@pytest.fixture
def config(project):
    return yaml.safe_load((project / "config.yaml").read_text())


def planned(done):
    """First outputs of the jobs in the listing of a dry run."""
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^    output: ([^,\n]+)", done.stdout + done.stderr, re.MULTILINE)
    return sorted(set(found))


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_whole_is_planned(snakemake, config):
    chosen = config["experiments"]["r_benchmark"]
    fits = len(chosen["datasets"]) * len(chosen["methods"])
    jobs = planned(snakemake("-n", "--quiet", "reason"))
    assert sum(name.startswith("results/data/") for name in jobs) == 20
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    assert sum(name.startswith("results/laptop/artefacts/") for name in jobs) == 3
    assert "results/laptop/failure_case.csv" in jobs
    assert "results/laptop/scorecard.txt" in jobs
    assert len(jobs) == 20 + fits + 3 + 2


def test_one_tracked_file_plans_what_it_needs(snakemake, config):
    table = config["artefacts"]["kcef"]["table1"]
    fits = len(table["datasets"]) * len(table["methods"])
    jobs = planned(snakemake("figures/kcef/table1.md", "-n", "--quiet", "reason"))
    assert sum(name.startswith("results/laptop/r_benchmark/") for name in jobs) == fits
    assert not any("dde" in name for name in jobs)


def test_a_wrong_configuration_is_refused_in_one_line_a_mistake(snakemake):
    done = snakemake("-n", "--config", "scale=lpatop", "bakend=numpy")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "unknown key `bakend` (did you mean `backend`?)" in said
    assert "`scale` is 'lpatop' (did you mean `laptop`?); allowed: smoke, laptop or paper" in said
    assert "Traceback" not in said


def test_help_lists_targets_and_scales(snakemake, project):
    done = snakemake("help")
    assert done.returncode == 0, done.stderr
    for word in ("smoke", "laptop", "paper", "figures", "publish", "scorecard", "kcef"):
        assert word in done.stdout
    assert "closing summary" not in done.stderr


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
    assert re.search(r"kcde: 12 jobs \(4 r_benchmark, .*\), about .* on \d+ cores?", done.stderr)
    drawn = project / "results/smoke/figures"
    for name in ("kcef/table1.md", "kcef/fig3.png", "dde/table2.csv", "scorecard.md"):
        assert (drawn / name).is_file()
    assert contents(project / "figures") == before
    assert not (project / "data").exists()


def test_the_scores_keep_their_schema(toured, project):
    schema = yaml.safe_load((project / "workflow/schemas/scores.schema.yaml").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    paths = [
        *project.glob("results/smoke/r_benchmark/*/*.csv"),
        project / "results/smoke/failure_case.csv",
    ]
    assert len(paths) == 5
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
            if "r_benchmark" in name
        ]
        path.write_text(original + "\n# only a remark\n")
        remark = run_quick(snakemake, "-n", "--quiet", "reason")
    finally:
        path.write_text(original)
    sets = ("smoke-linear", "smoke-mixed")
    assert fitted == [f"results/smoke/r_benchmark/{name}/LSCDE.csv" for name in sets]
    assert planned(remark) == []


def test_a_changed_option_runs_its_own_jobs_again(toured, snakemake, project):
    (project / "option.yaml").write_text("methods: {LSCDE: {options: {n_centres: 50}}}\n")
    done = snakemake(
        "smoke", "-n", "--quiet", "reason", "--configfile", "quick.yaml", "option.yaml"
    )
    fitted = [name for name in planned(done) if "r_benchmark" in name]
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
    for name in ("smoke-linear", "smoke-mixed"):
        assert lost.stderr.count(f"{name}: none of") + lost.stderr.count(f"{name}: there is") == 1
    assert "2 artefacts not regenerated; 2 data sets not available" in lost.stderr
    assert "Traceback" not in lost.stderr
    scores = (project / "results/smoke/r_benchmark/smoke-linear/LSCDE.csv").read_text()
    assert "not-run" in scores
    assert "not regenerated" in (drawn / "scorecard.csv").read_text()
    shutil.move(away, mirror)
    found = run_quick(snakemake)
    assert found.returncode == 0, found.stdout + found.stderr
    assert {path: path.read_bytes() for path in tables} == tables
    assert "Nothing to be done" in run_quick(snakemake).stderr
