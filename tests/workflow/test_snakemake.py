"""Snakemake itself, in a copy of the project: what it refuses, and help."""

import re

import pytest

pytestmark = pytest.mark.workflow


def test_a_wrong_configuration_is_refused_in_one_line_a_mistake(snakemake):
    done = snakemake("-n", "--config", "scale=lpatop", "bakend=numpy")
    said = done.stdout + done.stderr
    assert done.returncode == 1
    assert "unknown key `bakend` (did you mean `backend`?)" in said
    assert "`scale` is 'lpatop' (did you mean `laptop`?); allowed: smoke, laptop or paper" in said
    assert "Traceback" not in said


def slow(*values):
    """A case like another that is always run."""
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-n", "kcfe"], "there is no target `kcfe` (did you mean `kcef`?)"),
        slow(["-n", "table1"], "did you mean `figures/dde/table1.md` or `figures/kcef/table1.md`?"),
        slow(["-n", "r_benchmark"], "a rule with wildcards is not a target"),
        slow(["publish"], "publish copies what another scale drew"),
        slow(["publish", "--config", "scale=smoke"], "publish copies no made-up data"),
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


def test_help_lists_targets_and_scales_whenever_asked(snakemake, project):
    for _ in range(2):
        done = snakemake("help")
        assert done.returncode == 0, done.stderr
        for word in ("smoke", "laptop", "paper", "figures", "publish", "scorecard", "kcef"):
            assert word in done.stdout


def test_no_source_is_read_before_a_job_is_planned(project):
    """Digests parse two hundred files; short commands as `snakemake help` need none."""
    text = "".join(path.read_text() for path in project.glob("workflow/rules/*.smk"))
    assert "lambda w: provenance.digest(" in text
    assert not re.findall(r"(?<!lambda w: )provenance\.digest\(", text)


@pytest.mark.parametrize("target", ["figures", "publish", "verify", "help"])
def test_what_acts_on_request_leaves_nothing_that_counts_as_made(target, project):
    text = "\n\n".join(path.read_text() for path in project.glob("workflow/rules/*.smk"))
    rule = text.partition(f"rule {target}:")[2].partition("\n\n\n")[0]
    assert "benchmark:" not in rule
