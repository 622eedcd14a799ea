"""What Snakemake would do, by dry runs in a copy of the project."""

import re

import pytest

pytestmark = pytest.mark.workflow


def test_the_default_target_is_the_four_papers(project):
    jobs = project.jobs()
    assert "results/laptop/copied/kcef/table1" in jobs
    assert "results/laptop/copied/scorecard" in jobs
    assert not any("/across/" in path or "pems-sf" in path for path in jobs)


def test_a_file_in_figures_is_a_target(project):
    jobs = project.jobs("figures/kcef/fig3.png")
    assert "results/laptop/scores/failure_case.csv" in jobs
    assert "results/laptop/copied/kcef/fig3" in jobs
    assert len([path for path in jobs if "/scores/" in path]) == 3


@pytest.mark.parametrize(
    ("target", "wanted"),
    [
        ("cdo", "results/laptop/copied/cdo/table3"),
        ("across", "results/laptop/copied/across/all_methods"),
        ("readings", "results/paper/scores/planar/ring/DDE.csv"),
        ("smoke", "results/smoke/figures/scores.csv.gz"),
        ("scorecard", "results/laptop/figures/scorecard.csv"),
    ],
)
def test_targets(project, target, wanted):
    assert wanted in project.jobs(target)


def test_other_sizes_are_drawn_beside_the_scores(project):
    jobs = project.jobs("cdo", "--config", "set={terrain: {folds: 2}}")
    assert "results/laptop/figures/cdo/table3.png" in jobs
    assert not any("copied" in path for path in jobs)


def test_methods_that_share_bases_and_shards_are_computed_in_parts(project):
    jobs = project.jobs("jdl", "--config", "shards={portfolio: 3}")
    assert "results/laptop/parts/moments/gaussian-1-1000/JDL/1-of-1.npz" in jobs
    assert "results/laptop/parts/portfolio/portfolios-1-1000/JDL/3-of-3.npz" in jobs
    assert not any("/CME/" in path for path in jobs)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["scal=laptop"], "'scal'"),
        (["scale=large"], "'large'"),
        (["set={terrain: {fold: 2}}"], "did you mean `folds`"),
        (["set={terain: {folds: 2}}"], "did you mean `terrain`"),
        (["methods={KCEF-wide: {estimator: KCEF, options: {base: 4}}}"], "base"),
        (["papers=[kcf]"], "'kcf'"),
        (["backend=cupy"], "cupy"),
    ],
)
def test_a_wrong_choice_is_one_line_that_names_it(project, given, named):
    text = project.run("-n", "--config", *given, expect=1)
    (line,) = [line for line in text.splitlines() if "config: " in line]
    assert named in line


def test_files_of_another_configuration_are_asked_for_where_they_are_drawn(project):
    text = project.run("-n", "figures/cdo/table3.md", "--config", "scale=paper", expect=1)
    assert "results/paper/figures" in text
    text = project.run("-n", "publish", expect=1)
    assert "--config scale=paper" in text


def test_a_method_of_the_configuration_is_shown_where_it_says(project):
    wide = "{KCEF-wide: {estimator: KCEF, options: {base_std: 4.0}, shown: [kcef/table1]}}"
    (project.folder / "wide.yaml").write_text(f"methods: {wide}\n")
    jobs = project.jobs("kcef", "--configfile", "wide.yaml")
    assert "results/laptop/scores/r_benchmark/geyser/KCEF-wide.csv" in jobs


def test_what_runs_is_named(project):
    text = project.run("-n", "figures/kcef/fig3.png")
    assert re.search(r"fit failure_case .*laptop", text)
    assert "draw fig3 of kcef" in text
