#!/usr/bin/env python3
"""Submit, ask after and cancel jobs: what the plugin cluster-generic calls, for four schedulers.

    cluster.py submit SCHEDULER [WORD...] SCRIPT   prints the identifier of the job
    cluster.py status SECONDS ID                   prints running, success or failed
    cluster.py ID...                               cancels jobs

A job leaves its exit status in `.snakemake/kcde-cluster` when it ends, so that nothing depends on
what a scheduler remembers of ended jobs. One that the scheduler does not have any more and that has
left no exit status after SECONDS, until which nodes' files are seen, was killed: it has failed.
Needs nothing but Python 3.10.
"""

import json
import re
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(".snakemake/kcde-cluster")
PATIENCE = 60  # seconds until a scheduler that does not answer is asked again at the next round


class Request(NamedTuple):
    """What is submitted, and what it asks for."""

    name: str
    script: str
    said: str
    """File that takes what the job prints."""
    words: list[str]
    """Of the command line: a queue, a project."""
    cpus: int
    mem_mb: int
    minutes: int
    gpus: int


def pbs(job: Request) -> list[str]:
    """Return the words that submit to OpenPBS and PBS Professional."""
    gpus = f":ngpus={job.gpus}" if job.gpus else ""
    chunk = f"select=1:ncpus={job.cpus}:mem={job.mem_mb}mb{gpus}"
    time_limit = f"walltime={60 * job.minutes}"
    options = ["-V", "-S", "/bin/sh", "-N", job.name, "-j", "oe", "-o", job.said]
    return ["qsub", *options, "-l", chunk, "-l", time_limit, *job.words, job.script]


def sge(job: Request) -> list[str]:
    """Return the words that submit to Grid Engine; memory is counted for each CPU there."""
    gpus = f",gpu={job.gpus}" if job.gpus else ""
    asked = f"mem_free={-(-job.mem_mb // job.cpus)}M,h_rt={60 * job.minutes}{gpus}"
    options = ["-terse", "-V", "-cwd", "-S", "/bin/sh", "-N", job.name, "-j", "y", "-o", job.said]
    side_by_side = ["-pe", "smp", f"{job.cpus}"] if job.cpus > 1 else []
    return ["qsub", *options, "-l", asked, *side_by_side, *job.words, job.script]


def lsf(job: Request) -> list[str]:
    """Return the words that submit to LSF 10.1 or newer, which knows units of memory."""
    memory = f"{job.mem_mb}MB"
    options = ["-J", job.name, "-n", f"{job.cpus}", "-W", f"{job.minutes}", "-o", job.said]
    asked = ["-R", f"span[hosts=1] rusage[mem={memory}]", "-M", memory]
    gpus = ["-gpu", f"num={job.gpus}"] if job.gpus else []
    return ["bsub", *options, *asked, *gpus, *job.words, job.script]


def htcondor(job: Request) -> list[str]:
    """Return the words that submit to HTCondor; the description is written beside the script."""
    description = {
        "executable": job.script,
        "batch_name": job.name,
        "output": job.said,
        "error": job.said,
        "log": f"{job.said}.events",
        "getenv": "True",
        "should_transfer_files": "NO",
        "request_cpus": job.cpus,
        "request_memory": f"{job.mem_mb}MB",
        "periodic_remove": f"JobStatus == 2 && time() - JobCurrentStartDate > {60 * job.minutes}",
    }
    description |= {"request_gpus": job.gpus} if job.gpus else {}
    file = Path(job.script).with_suffix(".submit")
    file.write_text("".join(f"{k} = {v}\n" for k, v in description.items()) + "queue\n")
    return ["condor_submit", "-terse", *job.words, f"{file}"]


class Scheduler(NamedTuple):
    """The commands of a scheduler and how to read their answers."""

    submit: Callable[[Request], list[str]]
    identifier: str
    """Finds the identifier in what the submission prints."""
    ask: str
    gone: str
    """Found in the answer if the job neither waits nor runs any more."""
    cancel: str


SCHEDULERS = {
    "pbs": Scheduler(
        pbs, r"^(\d\S*)", "qstat -f", r"Unknown Job|has finished|job_state = [FCX]", "qdel"
    ),
    # A job in the state of error stays in the queue of Grid Engine, and one on hold in HTCondor's.
    "sge": Scheduler(sge, r"^(\d\S*)", "qstat -j", r"do not exist|^error reason", "qdel"),
    "lsf": Scheduler(
        lsf, r"Job <(\d+)>", "bjobs -noheader -o stat", r"not found|DONE|EXIT|ZOMBI", "bkill"
    ),
    "htcondor": Scheduler(
        htcondor, r"^(\d+\.\d+)", "condor_q -af JobStatus", r"\A\s*\Z|^[345]\s*$", "condor_rm"
    ),
}


def submit(kind: str, *words: str) -> str:
    """Submit a script of Snakemake's, the last of the words, and return the job's identifier."""
    if kind not in SCHEDULERS:
        sys.exit(f"cluster.py: there is no scheduler {kind!r}; known: {', '.join(SCHEDULERS)}")
    scheduler = SCHEDULERS[kind]
    text = Path(words[-1]).read_text()
    properties = json.loads(re.search(r"^# properties = (.*)$", text, re.MULTILINE).group(1))
    asked, rule = properties["resources"], properties["rule"]
    # Older PBS takes fifteen letters.
    name = re.sub(r"\W", "_", f"kcde_{rule}")[:15]
    FOLDER.mkdir(parents=True, exist_ok=True)
    own = FOLDER.resolve() / f"{name}-{uuid.uuid4().hex[:12]}"
    ended, script = f"{own}.ended", f"{own}.sh"
    first, _, rest = text.partition("\n")
    trap = f"trap 'echo $? > {shlex.quote(ended)}' EXIT"
    Path(script).write_text(f"{first}\n{trap}\n{rest}")
    Path(script).chmod(0o755)
    job = Request(
        name=name,
        script=script,
        said=f"{own}.out",
        words=list(words[:-1]),
        cpus=properties["threads"],
        mem_mb=asked["mem_mb"],
        minutes=asked["runtime"],
        gpus=asked.get("gpu", 0),
    )
    command = scheduler.submit(job)
    done = _call(command)
    found = re.search(scheduler.identifier, done.stdout, re.MULTILINE)
    if done.returncode or not found:
        said = " ".join(f"{done.stdout} {done.stderr}".split())
        sys.exit(f"cluster.py: {shlex.join(command)} failed ({done.returncode}): {said}")
    _record(found.group(1)).write_text(json.dumps({"scheduler": kind, "own": f"{own}"}))
    return found.group(1)


def status(seconds: float, identifier: str) -> str:
    """Return whether a job is `running` (or waits), or has ended as `success` or `failed`."""
    said = _read(identifier)
    own, scheduler = said["own"], SCHEDULERS[said["scheduler"]]
    code = _exit_status(own)
    if code is None:
        if not _is_gone(scheduler, identifier):
            return "running"
        code = _exit_status(own)  # left while the scheduler was asked
    if code is None:
        missed = Path(f"{own}.missed")
        if not missed.exists():
            missed.touch()
        if time.time() - missed.stat().st_mtime < seconds:
            return "running"
        # What is on hold, or in the state of error, would run beside its successor.
        cancel(identifier)
    if code == 0:
        for path in (*FOLDER.glob(f"{Path(own).name}.*"), _record(identifier)):
            path.unlink(missing_ok=True)
        return "success"
    how = "was killed" if code is None else f"ended with {code}"
    print(f"cluster.py: job {identifier} {how}; what it said: {own}.out", file=sys.stderr)
    return "failed"


def cancel(*identifiers: str) -> None:
    """Take jobs out of the queue and end those that run; ended ones are no error."""
    for identifier in identifiers:
        command = SCHEDULERS[_read(identifier)["scheduler"]].cancel
        _call([*shlex.split(command), identifier])


def _record(identifier: str) -> Path:
    return FOLDER / f"{identifier}.json"


def _read(identifier: str) -> dict:
    try:
        return json.loads(_record(identifier).read_text())
    except (OSError, ValueError):
        sys.exit(f"cluster.py: {identifier} is no job of {FOLDER.resolve()}")


def _exit_status(own: str) -> int | None:
    """Return the exit status that a job left, None if it left none."""
    try:
        said = Path(f"{own}.ended").read_text()
    except OSError:
        return None
    return int(said) if said.endswith("\n") else None


def _is_gone(scheduler: Scheduler, identifier: str) -> bool:
    """Return whether the scheduler has a job no more; False if it does not answer."""
    try:
        done = _call([*shlex.split(scheduler.ask), identifier], timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return False
    return re.search(scheduler.gone, done.stdout + done.stderr, re.MULTILINE) is not None


def _call(command: list[str], timeout: float | None = None) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except FileNotFoundError:
        sys.exit(f"cluster.py: {command[0]} is not on PATH: load the module of the scheduler")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["submit", kind, *words] if words:
            print(submit(kind, *words))
        case ["status", seconds, identifier]:
            # Ctrl-C is for Snakemake, which takes an interrupted answer for an error.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            print(status(float(seconds), identifier))
        case [*identifiers] if identifiers and identifiers[0] not in ("submit", "status"):
            cancel(*identifiers)
        case _:
            sys.exit(__doc__)
