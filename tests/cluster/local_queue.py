#!/usr/bin/env python3
"""A queue on this host that is called as PBS is: `qsub`, `qstat` and `qdel` link to this file.

The folder KCDE_QUEUE keeps what is known of each job. A job over its memory is killed, as on a
cluster, and an ended one is forgotten. For tests alone.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

QUEUE = Path(os.environ["KCDE_QUEUE"])


def qsub(words):
    """Copy a script, as PBS does, start it, and print the identifier."""
    parser = argparse.ArgumentParser("qsub")
    parser.add_argument("-V", action="store_true", required=True)
    for option in ("-S", "-N", "-j", "-o"):
        parser.add_argument(option, required=True)
    parser.add_argument("-l", action="append", required=True)
    parser.add_argument("script", type=Path)
    asked = parser.parse_args(words)
    limits = ":".join(asked.l)
    memory = int(re.search(r"\bmem=(\d+)mb", limits).group(1))
    walltime = int(re.search(r"\bwalltime=(\d+)", limits).group(1))
    assert re.search(r"\bncpus=[1-9]", limits)
    assert len(asked.N) <= 15
    QUEUE.mkdir(exist_ok=True)
    identifier = f"{os.getpid()}.local"
    with (QUEUE / "submitted").open("a") as submitted:
        print(identifier, asked.N, memory, walltime, file=submitted)
    shutil.copy(asked.script, QUEUE / f"{identifier}.sh")
    state(identifier).write_text("R")
    this = f"{Path(__file__).resolve()}"  # not the link, whose name says what to do
    runner = [sys.executable, this, "run", identifier, asked.S, f"{memory}"]
    with Path(asked.o).open("w") as said:
        subprocess.Popen(runner, stdout=said, stderr=said, start_new_session=True)
    print(identifier)


def run(identifier, shell, memory):
    """Run a job, kill it with all that it started where they take too much, and forget it."""
    job = psutil.Popen([shell, f"{QUEUE / identifier}.sh"], start_new_session=True)
    while job.poll() is None:
        with suppress(psutil.NoSuchProcess):
            own = [job, *job.children(recursive=True)]
            if sum(process.memory_info().rss for process in own) > int(memory) * 2**20:
                for process in own:
                    process.kill()
        time.sleep(0.1)
    state(identifier).unlink()


def qstat(words):
    """Print the state of a job as `qstat -f` does."""
    (identifier,) = (word for word in words if not word.startswith("-"))
    try:
        letter = state(identifier).read_text()
    except OSError:
        sys.exit(f"qstat: Unknown Job Id {identifier}")
    print(f"Job Id: {identifier}\n    job_state = {letter}")


def state(identifier):
    """Return the file with the state of a job."""
    return QUEUE / f"{identifier}.state"


if __name__ == "__main__":
    called = Path(sys.argv[0]).name
    if called == "qsub":
        qsub(sys.argv[1:])
    elif called in ("qstat", "qdel"):  # which is asked for what was killed, and does not find it
        qstat(sys.argv[1:])
    else:
        run(*sys.argv[2:])
