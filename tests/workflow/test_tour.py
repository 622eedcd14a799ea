"""The small tour with few methods, in a copy of the project: what it says, makes and runs again."""

import itertools
import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest
import yaml

from kcde import scores

pytestmark = [pytest.mark.slow, pytest.mark.workflow]

QUICK = """
papers: [kcef]
experiments:
  r_benchmark: {datasets: [geyser, engel], methods: [LSCDE, epsilon-KDE]}
  joint: {datasets: [red-wine, grid-2000], methods: [LSCDE-F, exact]}
  samples: {methods: [LSCDE-M]}
  similarity: {methods: [LSCDE-M]}
  planar: {methods: [KEF]}
readings:
  samples: {methods: [LSCDE-M]}
  joint: {datasets: [red-wine, grid-2000], methods: [LSCDE-F, exact]}
"""
"""One paper, since the whole tour is a step of `.ci/run` of its own. No artefact shows samples of
LSCDE-M, so that none are drawn."""

OTHERS = (
    "results/smoke/estimation_cost.csv",
    "results/smoke/moments/gaussian-1-200/JPDL.csv",
    "results/smoke/planar/ring/KEF.csv",
    "results/smoke/portfolio/portfolios-2-300/KLR.csv",
)
"""Scores of other shapes than those of the tour."""

SOME = ("fig3", "table1", "table2")


def planned(done):
    """First outputs of the jobs in the listing of a dry run."""
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^    output: ([^,\n]+)", done.stdout + done.stderr, re.MULTILINE)
    return sorted(set(found))


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


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
    (jobs,) = re.findall(r"^kcde: (\d+) jobs, about .* on \d+ cores?", done.stderr, re.M)
    assert re.search(r"^  r_benchmark +2 ", done.stderr, re.M)
    steps = re.findall(rf"^ *(\d+) of {jobs}  \S", done.stderr, re.M)
    assert sorted(map(int, steps)) == list(range(1, int(jobs) + 1))
    assert re.search(
        rf"of {jobs}  r benchmark: LSCDE on smoke-mixed, \d+ seconds?; about", done.stderr
    )
    for noise in ("Job stats", "Select jobs", "Finished jobid", "Provided cores", "steps ("):
        assert noise not in done.stderr
    drawn = project / "results/smoke/figures"
    names = ("kcef/table1.md", "kcef/table2.md", "kcef/fig1.png", "kcef/consistency.pdf")
    for name in (*names, "kcef/fig3.png", "scorecard.md", "scores.csv.gz"):
        assert (drawn / name).is_file()
    assert contents(project / "figures") == before
    assert not (project / "data").exists()


def test_the_scores_keep_their_schema(toured, snakemake, project):
    others = snakemake(*OTHERS)
    assert others.returncode == 0, others.stdout + others.stderr
    schema = yaml.safe_load((project / "workflow/schemas/scores.schema.yaml").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    experiments = ("r_benchmark", "factors", "joint", "planar", "moments", "portfolio")
    found = {name: sorted(project.glob(f"results/smoke/{name}/**/*.csv")) for name in experiments}
    for name in ("failure_case", "consistency", "estimation_cost"):
        found[name] = [project / f"results/smoke/{name}.csv"]
    assert all(found.values())
    for path in itertools.chain(*found.values()):
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
    def again():
        """Of three artefacts, which need both data sets and none: the rules are those of all."""
        records = [f"results/smoke/artefacts/kcef/{name}.json" for name in SOME]
        return snakemake(*records, "--config", "scale=smoke", "--configfile", "quick.yaml")

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
    lost = again()
    assert lost.returncode == 1
    assert all(path.is_file() for path in fig3)
    assert {path: path.read_bytes() for path in tables} == tables
    (told,) = re.findall(r"^  missing data +(.*)$", lost.stderr, re.M)
    assert "smoke-joint, smoke-mixed" in told
    assert "2 artefacts not regenerated; 2 data sets not available" in lost.stderr
    assert "Traceback" not in lost.stderr
    scores = (project / "results/smoke/r_benchmark/smoke-mixed/LSCDE.csv").read_text()
    assert "not-run" in scores
    shutil.move(away, mirror)
    found = again()
    assert found.returncode == 0, found.stdout + found.stderr
    assert {path: path.read_bytes() for path in tables} == tables
    assert "Nothing to be done" in again().stderr
