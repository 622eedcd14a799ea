"""A run that is killed: what it leaves, what the next one says, and how it goes on."""

import os
import signal
import subprocess
import sys
import time

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.workflow]

SLOW = """
include: "workflow/rules/common.smk"
rule all:
    input: "first", "second"
rule first:
    output: "first"
    shell: "touch {output}"
rule second:
    input: "first"
    output: "second"
    shell: "echo half > {output} && touch begun && sleep {config[pause]} && echo all > {output}"
"""


def wait_for(path, seconds=120):
    limit = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < limit, f"{path} never came"
        time.sleep(0.1)


def test_a_killed_run_says_how_to_unlock_and_goes_on(snakemake, project):
    """What was finished stays; what was begun is done again."""
    # The configuration has no such key, so it stands in the file that is run.
    for pause, name in ((60, "slow"), (0, "quick")):
        text = SLOW.replace("{config[pause]}", f"{pause}")
        (project / name).write_text('configfile: "config.yaml"\n' + text)
    command = [sys.executable, "-m", "snakemake", "-s", "slow", "--cores", "1"]
    killed = subprocess.Popen(
        command, cwd=project, start_new_session=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    wait_for(project / "begun")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    finished = (project / "first").stat().st_mtime_ns
    assert (project / "second").read_text() == "half\n"
    locked = snakemake("-s", "quick", "--cores", "1")
    assert locked.returncode == 1
    assert "--unlock" in locked.stderr
    assert "Traceback" not in locked.stderr
    assert snakemake("-s", "quick", "--unlock").returncode == 0
    done = snakemake("-s", "quick", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert (project / "second").read_text() == "all\n"
    assert (project / "first").stat().st_mtime_ns == finished
