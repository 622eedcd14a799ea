"""The start and the end of a run: checks, warnings and the closing summary."""

import sys
from collections.abc import Mapping
from pathlib import Path

from snakemake.exceptions import WorkflowError

from kcde import summary
from kcde.artefacts.core.listing import READINGS, SCALES
from lib import planning, resources
from lib.config import figures_folder
from lib.display import Display


def begin(workflow, config: Mapping, table: resources.ResourceTable, *, local: bool) -> None:
    """Stop a run that cannot reach its targets, and warn of jobs that may fail.

    Parameters
    ----------
    workflow
        Snakemake's.
    config
        The configuration.
    table
        What jobs need.
    local
        Whether jobs run on this machine.

    Raises
    ------
    WorkflowError
        If `publish` would copy what is not finished, or there is no GPU for `backend: cupy`.
    """
    jobs = [job for job in workflow.dag.needrun_jobs() if job.rule.name != "help"]
    working = planning.working(jobs)
    copying = [job for job in working if job.rule.name == "publish"]
    # What was made without optional data is finished.
    others = set(working) - set(copying) - planning.retrying(workflow.dag) if copying else ()
    if others:
        asked = f"scale={config['scale']} papers=[{','.join(config['papers'])}]"
        raise WorkflowError(
            f"kcde: publish copies what a finished run drew, and {len(others)} jobs of this scale "
            f"are not done: run `snakemake --config {asked}` first"
        )
    if not local or not jobs:
        return
    # Snakemake looks for jobs again a second after each job that ends, and a second after that, for
    # each of them as long as it runs: hundreds of times a second in the end. The limit is meant for
    # clusters.
    workflow.scheduler.job_rate_limiter = None
    asks_for_gpu = config["backend"] == "cupy" and any(job.resources.get("gpu") for job in jobs)
    if asks_for_gpu and not resources.devices():
        raise WorkflowError(f"kcde: {resources.NO_GPU}")
    for line in planning.beyond(jobs, workflow.global_resources["mem_mb"].value, table):
        print(line, file=sys.stderr)


def end(workflow, config: Mapping, root: Path, display: Display) -> list[str]:
    """Print the closing summary of each scale that the run touched; return its problems.

    Parameters
    ----------
    workflow
        Snakemake's.
    config
        The configuration.
    root
        Folder of the project.
    display
        Knows which jobs failed.
    """
    # What nobody needs need not exist: a part that was collected, or scores of a finished figure.
    left = set(workflow.dag.needrun_jobs())
    jobs = [
        job
        for job in workflow.dag.jobs
        if job.output and job.log and (job in left or Path(job.output[0]).exists())
    ]
    touched = {getattr(job.wildcards, "scale", None) for job in jobs}
    # Snakemake deletes the output of a job that fails, but not of one that waits for it.
    waiting = [job.output[0] for job in left if job.output and job.log]
    stale = [path for path in waiting if Path(path).exists()]
    problems = []
    for scale in [s for s in SCALES if s in touched] or [config["scale"]] * bool(jobs):
        drawn = [job.wildcards for job in jobs if job.rule.name == "artefact"]
        data = "results/smoke/data/" if scale == "smoke" else "results/data/"
        roots = (f"results/{scale}/", f"results/{READINGS}/", data)
        closing = summary.summarise(
            f"results/{scale}",
            figures_folder(config, root, scale),
            expected=[f"{w.paper}/{w.artefact}" for w in drawn if w.scale == scale],
            jobs=[(j.output[0], j.log[0]) for j in jobs if j.output[0].startswith(roots)],
            stale=stale,
            failed=display.failed,
        )
        print(closing.text, file=sys.stderr)
        problems += closing.problems
    return problems
