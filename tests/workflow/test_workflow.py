"""What Snakemake would do: one dry run in a copy of the project, and the schema of config.yaml."""

import re
from pathlib import Path

import pytest
import yaml
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize(
    ("change", "named"),
    [({"scal": "laptop"}, "scal"), ({"scale": "large"}, "large"), ({"shards": {"jdl": 0}}, "0")],
)
def test_the_schema_names_a_wrong_key_or_value(change, named):
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    schema = f"{ROOT}/workflow/schemas/config.schema.yaml"
    validate(config, schema, set_default=False)
    with pytest.raises(WorkflowError, match=named):
        validate(config | change, schema, set_default=False)


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
        (["papers=[kcf]"], "'kcf'"),
        (["set={terrain: {fold: 2}}"], "folds"),
        (["methods={KCEF-wide: {estimator: KCEF, options: {base: 4}}}"], "base"),
        (["backend=cupy"], "cupy"),
    ],
)
def test_a_wrong_choice_is_one_line_that_names_it(project, given, named):
    text = project.run("-n", "--config", *given, expect=1)
    (line,) = [line for line in text.splitlines() if line.startswith("config")]
    assert named in line


@pytest.mark.nightly
def test_files_of_another_configuration_are_asked_for_where_they_are_drawn(project):
    text = project.run("-n", "figures/cdo/table3.md", "--config", "scale=paper", expect=1)
    assert "results/paper/figures" in text
    assert "--config scale=paper" in project.run("-n", "publish", expect=1)
