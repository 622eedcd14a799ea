"""What Snakemake would do: dry runs in a copy of the project."""

import re

import pytest

pytestmark = pytest.mark.workflow


def test_every_target_is_reached_in_one_dry_run(project):
    """With parts of methods that share bases, and of shards."""
    listed = set(project.jobs("everything", "smoke", "--config", "shards={portfolio: 3}"))
    assert listed > {
        "results/laptop/copied/kcef/table1",
        "results/laptop/copied/scorecard",
        "results/laptop/copied/across/all_methods",
        "results/laptop/scores/failure_case.csv",
        "results/paper/scores/planar/ring/DDE.csv",
        "results/smoke/figures/scores.csv.gz",
        "results/smoke/figures/scorecard.md",
        "results/laptop/figures/scorecard.csv",
        "results/laptop/parts/moments/gaussian-1-1000/JDL/1-of-1.npz",
        "results/laptop/parts/portfolio/portfolios-1-1000/JDL/3-of-3.npz",
    }
    assert not any("pems-sf" in path or re.search("parts/.*/CME/", path) for path in listed)


@pytest.mark.nightly
def test_other_sizes_are_drawn_beside_the_scores(project):
    jobs = project.jobs("cdo", "--config", "set={terrain: {folds: 2}}")
    assert "results/laptop/figures/cdo/table3.png" in jobs
    assert not any("copied" in path for path in jobs)
    elsewhere = "-n", "--directory", project.folder.parent / "elsewhere"
    assert "fit failure_case" in project.run(*elsewhere, "figures/kcef/fig3.png")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["gpu_jobs=no"], "['gpu_jobs']: 'no'"),
        (["scal=laptop"], "'scal'"),
        (["papers=[kcf]"], "'kcf'"),
        (["set={terrain: {fold: 2}}"], "folds"),
        (["set={terrain: {folds: abc}}"], "terrain.folds must be of the kind int; got 'abc'"),
        (["set={moments: {tolerances: [2]}}"], "tolerances must be above 0 and below 1"),
        (["methods={KCEF-wide: {estimator: KCEF, options: {base: 4}}}"], "base"),
        (["methods={KCEF-wide: {estimator: KCEF, shown: [kcef/tabel1]}}"], "kcef/table1"),
        (["backend=cupy"], "cupy"),
    ],
)
def test_a_wrong_choice_is_one_line_that_names_it(project, given, named):
    text = project.run("-n", "--config", *given, expect=1)
    (line,) = [line for line in text.splitlines() if line.startswith("config")]
    assert named in line


@pytest.mark.nightly
def test_a_target_that_there_is_not_is_answered_with_what_helps(project):
    for words, said in (
        ("kceff", "did you mean `kcef`"),
        ("publish", "--config scale=paper"),
        ("figures/cdo/table3.md --config scale=paper", "results/paper/figures"),
        ("results/laptop/figures/dde/table3.png", "No rule to produce results"),
        ("results/laptop/scores/terrain/rough-terain/CDO.csv", "did you mean `rough-terrain`"),
        ("scorecard --config papers=[kcef]", "not so configured"),
        ("figures/kcef/table9.csv", "did you mean `figures/kcef/table"),
    ):
        assert said in project.run("-n", *words.split(), expect=1)
    assert not any("/dde/" in each for each in project.jobs("smoke", "--config", "papers=[kcef]"))
