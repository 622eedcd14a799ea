"""profiles/generic: what schedulers are told and asked, and jobs on a queue on this host."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]
PROFILE = ROOT / "profiles/generic"

cluster = SimpleNamespace(**runpy.run_path(f"{PROFILE}/cluster.py"))
JOB = cluster.Request("kcde_terrain", "/a/b.sh", "/a/b.out", ["-q", "long"], 4, 2001, 15, 0)
COMMANDS = "qsub qstat qdel bsub bjobs bkill condor_submit condor_q condor_rm"
ANSWERS = {
    "pbs": ("17.server", "17.server"),
    "sge": ("17", "17"),
    "lsf": ("Job <17> is submitted to default queue <normal>.", "17"),
    "htcondor": ("17.0 - 17.0", "17.0"),
}
STATES = [
    ("pbs", "Job Id: 17.server\n    job_state = Q\n", 0, False),
    ("pbs", "Job Id: 17.server\n    job_state = F\n", 0, True),
    ("pbs", "qstat: Unknown Job Id 17.server\n", 153, True),
    ("pbs", "qstat: cannot connect to server\n", 255, False),
    ("sge", "job_number: 17\n", 0, False),
    ("sge", "Following jobs do not exist:\n17\n", 1, True),
    ("lsf", "PEND\n", 0, False),
    ("lsf", "EXIT\n", 0, True),
    ("lsf", "Job <17> is not found\n", 255, True),
    ("lsf", "LSF is down. Please wait ...\n", 255, False),
    ("htcondor", "1\n", 0, False),
    ("htcondor", "5\n", 0, True),
    ("htcondor", "", 0, True),
]
"""What schedulers say of a job, with their exit status, and whether that means that it is gone."""


@pytest.mark.parametrize(
    ("asked", "gpu", "wanted"),
    [
        (cluster.pbs, "select=1:ncpus=4:mem=2001mb:ngpus=1", ["walltime=900", "long", JOB.script]),
        # Of Grid Engine memory is for each CPU.
        (cluster.sge, "mem_free=501M,h_rt=900,gpu=1", ["-pe", "smp", "4", "long"]),
        (cluster.lsf, "num=1", ["span[hosts=1] rusage[mem=2001MB]", "-W", "15", "long"]),
    ],
)
def test_what_schedulers_are_asked(asked, gpu, wanted):
    words = asked(JOB)
    assert set(wanted) <= set(words)
    assert gpu not in words
    assert gpu in asked(JOB._replace(gpus=1))


def test_what_is_asked_of_htcondor(tmp_path):
    job = JOB._replace(script=f"{tmp_path}/b.sh", gpus=1)
    assert cluster.htcondor(job)[-3:] == ["-q", "long", f"{tmp_path}/b.submit"]
    said = (tmp_path / "b.submit").read_text()
    for line in ("request_cpus = 4", "request_memory = 2001MB", "request_gpus = 1", "queue"):
        assert line in said.splitlines()
    assert "JobCurrentStartDate > 900" in said


@pytest.fixture
def answering(tmp_path, monkeypatch):
    """Return a function that gives all commands of schedulers one answer; calls go to `called`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "bin").mkdir()
    (tmp_path / "job.sh").write_text(
        '#!/bin/sh\n# properties = {"rule": "terrain", "threads": 1,'
        ' "resources": {"mem_mb": 900, "runtime": 15}}\ntrue && exit 0 || exit 1\n'
    )

    def answer(text, code=0):
        said, called = tmp_path / "said", tmp_path / "called"
        said.write_text(text)
        for name in COMMANDS.split():
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\necho {name} $* >> {called}\ncat {said}\nexit {code}\n")
            path.chmod(0o755)

    return answer


@pytest.mark.parametrize("kind", ANSWERS)
def test_a_submitted_job_is_known_by_its_identifier(answering, tmp_path, kind):
    said, identifier = ANSWERS[kind]
    answering(said)
    assert cluster.submit(kind, "-q", "long", f"{tmp_path}/job.sh") == identifier
    cluster.cancel(identifier)
    assert (tmp_path / "called").read_text().split()[-1] == identifier


@pytest.mark.parametrize(("kind", "said", "code", "is_gone"), STATES)
def test_a_job_that_is_gone_without_exit_status_has_failed(answering, kind, said, code, is_gone):
    answering(ANSWERS[kind][0])
    identifier = cluster.submit(kind, "job.sh")
    answering(said, code)
    assert cluster.status(1000, identifier) == "running"
    assert cluster.status(0, identifier) == ("failed" if is_gone else "running")


@pytest.mark.parametrize(("ending", "status"), [("true", "success"), ("false", "failed")])
def test_the_exit_status_counts_whatever_is_said(answering, tmp_path, capfd, ending, status):
    path = tmp_path / "job.sh"
    path.write_text(path.read_text().replace("true", ending))
    answering("17.server")
    identifier = cluster.submit("pbs", "job.sh")
    (script,) = cluster.FOLDER.glob("*.sh")
    subprocess.run([script], check=False)
    answering("qstat: cannot connect to server", 255)
    assert cluster.status(1000, identifier) == status
    # Nothing is left of a job that succeeded; what another one said is named.
    assert bool(list(cluster.FOLDER.iterdir())) == (status == "failed")
    assert (".out" in capfd.readouterr().err) == (status == "failed")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["submit", "slurm", "job.sh"], "known: pbs, sge, lsf, htcondor"),
        (["submit", "pbs", "job.sh"], "qsub: no such queue"),
        (["status", "60", "18.server"], "18.server is no job"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(answering, words, told):
    answering("qsub: no such queue", 1)
    command = [sys.executable, PROFILE / "cluster.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.nightly
@pytest.mark.workflow
def test_killed_and_failing_jobs_on_a_queue(tmp_path):
    """A job over its memory is tried again with double; one that fails says so, with its output."""
    commands, queue = tmp_path / "bin", tmp_path / "queue"
    commands.mkdir()
    for name in ("qsub", "qstat", "qdel"):
        (commands / name).symlink_to(ROOT / "tests/cluster/local_queue.py")
    first = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    known = {"PATH": first, "KCDE_QUEUE": f"{queue}", "KCDE_CLUSTER_PROOF": "reached"}
    shutil.copytree(PROFILE, tmp_path / "profiles/generic")
    config = tmp_path / "profiles/generic/config.yaml"
    config.write_text(config.read_text().replace("status 60", "status 2"))
    command = [sys.executable, "-m", "snakemake", "--profile", "profiles/generic"]
    command += ["--seconds-between-status-checks", "1"]
    command += ["--snakefile", f"{ROOT}/tests/cluster/queue.smk"]
    how = {"cwd": tmp_path, "env": os.environ | known, "timeout": 300}
    done = subprocess.run(command, capture_output=True, text=True, check=False, **how)
    assert done.returncode == 1
    assert (tmp_path / "requests.txt").read_text() == "500 5\n1000 10\n", done.stderr
    assert (tmp_path / "grown.txt").read_text() == "reached\n"
    assert not (tmp_path / "failed.txt").exists()
    assert re.search(r"job \d+\.local was killed", done.stderr)
    (said,) = re.findall(r"job \d+\.local ended with 1; what it said: (\S+)", done.stderr)
    assert "Error in rule fail" in Path(said).read_text()
    submitted = [line.split()[1:] for line in (queue / "submitted").read_text().splitlines()]
    assert sorted(submitted) == [
        ["kcde_fail", "2000", "1800"],
        ["kcde_grow", "1000", "600"],
        ["kcde_grow", "500", "300"],
    ]
    assert not list(queue.glob("*.state"))
