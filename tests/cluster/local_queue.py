#!/usr/bin/env python3
"""A queue on this host that is called as PBS is: `qsub` and `qstat` by links to this file.

The folder KCDE_QUEUE keeps what is known of each job. Two jobs run at once. A job over its walltime
or memory is killed, as on a cluster, and an ended one is forgotten. For tests alone.
"""

import argparse
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil

QUEUE = Path(os.environ["KCDE_QUEUE"])
SLOTS = 2
STEP = 0.1  # seconds between two looks at a job


def qsub(words):
    """Copy a script, as PBS does, start what waits for a slot, and print the identifier."""
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
    with (QUEUE / "submitted").open("a+") as submitted:
        fcntl.flock(submitted, fcntl.LOCK_EX)
        submitted.seek(0)
        identifier = f"{len(submitted.readlines()) + 1}.local"
        print(identifier, asked.N, memory, walltime, file=submitted)
    shutil.copy(asked.script, QUEUE / f"{identifier}.sh")
    state(identifier).write_text("Q")
    this = f"{Path(__file__).resolve()}"  # not the link, whose name says what to do
    runner = [sys.executable, this, "run", identifier, asked.S, f"{memory}", f"{walltime}"]
    with Path(asked.o).open("w") as said:
        subprocess.Popen(runner, stdout=said, stderr=said, start_new_session=True)
    print(identifier)


def run(identifier, shell, memory, walltime):
    """Wait for a slot, run a job within its limits, and forget it."""
    with slot():
        job = subprocess.Popen([shell, f"{QUEUE / identifier}.sh"], start_new_session=True)
        state(identifier).write_text("R")
        over = time.monotonic() + int(walltime)
        while job.poll() is None:
            if time.monotonic() > over or resident(job.pid) > int(memory) * 2**20:
                kill(job.pid)
            time.sleep(STEP)
    state(identifier).unlink()


def slot():
    """Return the lock of a free slot, held."""
    while True:
        for number in range(SLOTS):
            lock = (QUEUE / f"slot{number}").open("w")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except OSError:
                lock.close()
        time.sleep(STEP)


def processes(pid):
    """Return a job with all that it started, also in sessions of their own."""
    job = psutil.Process(pid)
    return [job, *job.children(recursive=True)]


def resident(pid):
    with suppress(psutil.NoSuchProcess):
        return sum(process.memory_info().rss for process in processes(pid))
    return 0


def kill(pid):
    """Kill a job with all that it started."""
    with suppress(psutil.NoSuchProcess):
        for process in processes(pid):
            process.send_signal(signal.SIGKILL)


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
    if called in ("qsub", "qstat"):
        {"qsub": qsub, "qstat": qstat}[called](sys.argv[1:])
    else:
        run(*sys.argv[2:])
