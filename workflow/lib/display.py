"""The output of a run on the terminal: a table of the jobs to run, then a line for each step.

Snakemake's own lines stay in its log file, `.snakemake/log/`. With `--quiet all`, and with another
logger (`--logger`), this module does nothing; what `--verbose`, `-p` and other levels of `--quiet`
show is left as it is.
"""

import logging
import re
import threading
import time
from collections.abc import Iterable

from snakemake.logging import DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from kcde.discovery import SourceError
from kcde.names import nearest
from kcde.summary import last_line
from lib import planning
from lib.resources import ResourceTable

_NOISE = (
    "Using workflow specific profile",
    "Assuming unrestricted shared filesystem",
    "Using shell:",
    "Provided cores:",
    "Provided resources:",
    "Rules claiming more threads",
    "Conda environments: ignored",
    "Group jobs: inactive",
    "Select jobs to execute",
    "Reasons:",
    "Exiting because a job execution failed",
    "Complete log(s):",
    "Elapsed time:",
)
_OURS = ("kcde: ", "configuration: ")  # messages of this workflow begin so
# A mistake in a source, wherever Snakemake met it: `SourceError: …`, or after `in file …, line 3:`.
_OF_SOURCE = re.compile(rf"{SourceError.__name__}(?: in file .*)?:\s+(.+)")
_ALL_TARGETS = "`snakemake help` lists the targets"
_INTERRUPTED = "Terminating processes on user request"
_GOES_ON = "the same command goes on where it stopped"
SILENCE = 600.0  # seconds without a line after which one says what is running
_SHOWN = 4  # jobs that it names, at most
_STREAM = "DefaultStreamHandler"  # Snakemake's name of the handler for the terminal


class Display(logging.Formatter):
    """Turns Snakemake's events into lines, and records which steps failed.

    Parameters
    ----------
    logger
        Snakemake's, which takes a line of ours where jobs run for long.
    workflow
        Snakemake's; its jobs are read when they are known.
    usual
        Formats all other events.

    Attributes
    ----------
    table
        Has the typical times; must be set before jobs are counted.
    failed
        First outputs of the jobs that failed.
    """

    def __init__(self, logger: logging.Logger, workflow, usual: logging.Formatter):
        super().__init__()
        self._logger, self._workflow, self._usual = logger, workflow, usual
        self._steps: dict[int, object] | None = None
        self._lock = threading.RLock()  # of what the events change
        self._timer: threading.Timer | None = None
        self._finished, self._interrupted, self._said_why = 0, False, False
        self.table: ResourceTable | None = None
        self.failed: set[str] = set()
        self._formats = {
            LogEvent.RUN_INFO: self._announce,
            LogEvent.JOB_STARTED: self._start,
            LogEvent.JOB_FINISHED: self._finish,
            LogEvent.JOB_ERROR: self._fail,
            LogEvent.PROGRESS: lambda record: "",
            LogEvent.ERROR: self._explain,
        }

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of an event, "" for none."""
        if str(record.msg).startswith(_INTERRUPTED):
            self._interrupted = True
        own = self._formats.get(getattr(record, "event", None), self._usual.format)
        with self._lock:
            return own(record)

    def _announce(self, record) -> str:
        """Return the table of all jobs, the first time that Snakemake counts them."""
        if self._steps is not None:
            return ""
        dag, cores = self._workflow.dag, self._workflow.cores
        jobs = planning.working(dag.needrun_jobs())
        self._steps = {dag.jobid(job): job for job in jobs}
        self._remaining = planning.Remaining(
            {key: planning.seconds(job, self.table) for key, job in self._steps.items()},
            {key: planning.rule_of(job) for key, job in self._steps.items()},
            cores,
            queued=self._workflow.non_local_exec,
        )
        return planning.announcement(jobs, cores, self.table)

    def _start(self, record) -> str:
        for key in record.jobs if self._steps else ():
            self._remaining.start(key, record.created)
        if self._steps and self._timer is None:
            self._wait()
        return ""

    def _finish(self, record) -> str:
        step = (self._steps or {}).get(record.job_id)
        if step is None:
            return ""
        # Elsewhere a job's time since its start has that in the queue.
        alone = planning.measured(step.benchmark) if self._workflow.non_local_exec else None
        took = self._remaining.finish(record.job_id, record.created, alone)
        self._finished += 1
        self._wait()
        lasted = "" if took is None else f", {planning.duration(took)}"
        return self._line(f"{planning.label(step)}{lasted}", record.created)

    def _line(self, text: str, now: float) -> str:
        """Return a line with the number of finished jobs before it and the time left after it."""
        total = len(self._steps)
        line = f"{self._finished:>{len(str(total))}} of {total}  {text}"
        if self._finished < total:
            line += f"; about {planning.duration(self._remaining.seconds(now))} left"
        return line

    def _wait(self) -> None:
        """Begin anew to wait for the next finished job."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(SILENCE, self._remind)
        self._timer.daemon = True  # an end of the run does not wait for it
        self._timer.start()

    def _remind(self) -> None:
        """Say what is running."""
        now = time.time()
        with self._lock:
            self._wait()
            running = self._remaining.running(now)
            if not running:
                return
            jobs = [
                f"{planning.label(self._steps[key])} ({planning.duration(seconds)})"
                for key, seconds in list(running.items())[:_SHOWN]
            ]
            more = f" and {len(running) - _SHOWN} more" if len(running) > _SHOWN else ""
            state = "waiting or running" if self._workflow.non_local_exec else "running"
            line = self._line(f"{state}: {'; '.join(jobs)}{more}", now)
        self._logger.info(line, extra={"quietness": Quietness.PROGRESS})

    def _fail(self, record) -> str:
        self._said_why |= not self._interrupted
        step = (self._steps or {}).get(record.jobid)
        if step is None:
            return self._usual.format(record)
        if self._interrupted:  # Snakemake reports a stopped job as failed
            return f"stopped: {planning.label(step)}"
        dag = self._workflow.dag
        for job in dag.bfs(dag.depending, step):  # the jobs that need it will not run either
            self._remaining.drop(dag.jobid(job))
        self.failed |= {f"{path}" for path in step.output[:1]}
        said = "; ".join(f"{last_line(path)} ({path})" for path in record.log)
        return f"failed: {planning.label(step)}: {said}"

    def _explain(self, record) -> str:
        """Return a shorter message for the errors that are known, else Snakemake's."""
        text = self._usual.format(record)
        if missing := re.search(r"No rule to produce (.+?) \(if you use input functions", text):
            known = targets(self._workflow.rules)
            return f"kcde: there is no target `{missing[1]}`{suggestion(missing[1], known)}"
        if mistake := _OF_SOURCE.search(text):
            return f"kcde: {mistake[1]}"
        if "Target rules may not contain wildcards" in text:
            return f"kcde: a rule with wildcards is not a target; {_ALL_TARGETS}"
        if "At least one job did not complete" in text:
            return "" if self._said_why else f"kcde: stopped before the end; {_GOES_ON}"
        lines = [line.strip() for line in text.splitlines()]
        return "\n".join(line for line in lines if line.startswith(_OURS)) or text


class _Passing(logging.Filter):
    """Lets failures through, and whatever the usual filter does, without `_NOISE`."""

    def __init__(self, usual: DefaultFilter):
        super().__init__()
        self._usual = usual

    def filter(self, record: logging.LogRecord) -> bool:
        event = getattr(record, "event", None)
        if Quietness.ALL in self._usual.quiet:
            return self._usual.filter(record)
        if event == LogEvent.JOB_ERROR:
            return True
        text = str(record.msg)
        if event == LogEvent.ERROR and "CalledProcessError" in text:
            return False  # the line of the step has the reason
        if event is None and text.startswith(_NOISE):
            return self._usual.verbose
        if event == LogEvent.RESOURCES_INFO:
            return self._usual.verbose
        return self._usual.filter(record)


def install(logger: logging.Logger, workflow) -> Display:
    """Format what Snakemake's default logger writes to the terminal; leave other loggers alone.

    Parameters
    ----------
    logger
        Snakemake's.
    workflow
        As for `Display`.
    """
    display = Display(logger, workflow, DefaultFormatter())
    for handler in logger.handlers:
        if handler.name != _STREAM:
            continue
        display = Display(logger, workflow, handler.formatter)
        handler.setFormatter(display)
        for usual in [each for each in handler.filters if isinstance(each, DefaultFilter)]:
            handler.removeFilter(usual)
            handler.addFilter(_Passing(usual))
    return display


def targets(rules: Iterable) -> list[str]:
    """Return the names of targets: rules that only need others, and drawn files."""
    return [
        rule.name
        for rule in rules
        if not rule.has_wildcards() and (not rule.output or "/" in rule.name)
    ]


def suggestion(wanted: str, names: Iterable[str]) -> str:
    """Return the targets that are similar to an unknown one, and how to list all.

    Parameters
    ----------
    wanted
        The unknown target.
    names
        All targets.
    """
    names = list(names)
    # `table1` and `kcef/table1` mean the file, which is asked for with its suffix.
    files = [name for name in names if name.removesuffix(".md").endswith(f"/{wanted}")]
    guess = f" (did you mean `{'` or `'.join(files)}`?)" if files else nearest(wanted, names)
    return f"{guess}; {_ALL_TARGETS}"
