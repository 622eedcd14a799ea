"""What is asked for exists afterwards, or the exit code says that it does not."""

import json

import pytest

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

FIG3 = "results/smoke/figures/kcef/fig3"
RECORD = "results/smoke/artefacts/kcef/fig3.json"


@pytest.fixture(scope="module")
def run(snakemake, project):
    """Snakemake for one figure, made once."""
    (project / "chosen.yaml").write_text("scale: smoke\n")

    def ask(target, *arguments):
        return snakemake(target, *arguments, "--configfile", "chosen.yaml", "--cores", "2")

    done = ask(f"{FIG3}.md")
    assert done.returncode == 0, done.stdout + done.stderr
    return ask


@pytest.mark.parametrize(
    ("target", "lost"),
    [(f"{FIG3}.md", "md"), (f"{FIG3}.png", "csv"), (RECORD, "pdf")],
)
def test_a_deleted_file_is_drawn_again_from_the_same_scores(run, project, target, lost):
    path, scores = project / f"{FIG3}.{lost}", project / "results/smoke/failure_case.csv"
    before, computed = path.read_bytes(), scores.stat().st_mtime_ns
    path.unlink()
    done = run(target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_bytes() == before
    assert scores.stat().st_mtime_ns == computed


def test_a_damaged_record_is_made_again(run, project):
    path = project / RECORD
    before = json.loads(path.read_text())
    path.write_text('{"status": "regen')
    done = run(f"{FIG3}.md")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(path.read_text()) == before
    again = run(RECORD, "-n")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_damaged_record_of_data_is_made_again(snakemake, project):
    path = project / "results/smoke/data/smoke-mixed.json"
    command = (f"{path.relative_to(project)}", "--configfile", "chosen.yaml", "--cores", "1")
    assert snakemake(*command).returncode == 0
    before = json.loads(path.read_text())
    path.write_text('{"status": "avail')
    left = path.with_name(".smoke-mixed-abcd1234.json")
    left.write_text("{")
    done = snakemake(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    after = json.loads(path.read_text())
    assert (after["status"], after["path"]) == ("available", before["path"])
    assert not left.exists()
    assert "Nothing to be done" in snakemake(*command).stderr
