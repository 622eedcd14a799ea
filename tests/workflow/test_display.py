"""What a run says before it starts and while it goes on."""

import logging
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.iocontainers import Wildcards
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from kcde.data import catalogue as tables
from lib import display, planning, resources

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def table_of(said):
    """Jobs and time on one core by step, as announced."""
    rows = re.findall(r"^  (\S+) +(\d+)  +(\S.*)$", said, re.M)
    return {step: (int(jobs), time) for step, jobs, time in rows}


def job(rule, benchmark=None, **wildcards):
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule),
        wildcards=SimpleNamespace(**wildcards),
        benchmark=benchmark,
        output=["o"],
        log=["l"],
    )


@pytest.fixture
def needs(config):
    return resources.ResourceTable(config, ROOT, CATALOGUE)


def test_the_announcement_heeds_measured_times(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n600.0\t0:10:00\n")
    jobs = [job("r_benchmark", tmp_path / "b.tsv", scale="laptop", method="KCEF")] * 2
    said = planning.announcement(jobs, 2, needs)
    assert "2 jobs, about 10 minutes on 2 cores" in said
    assert table_of(said) == {"r_benchmark": (2, "20 minutes")}
    # No more cores than jobs make it shorter.
    assert "about 10 minutes" in planning.announcement(jobs, 64, needs)
    new = [job("unheard_of", tmp_path / "none.tsv")]
    assert "1 job, about 60 seconds on 1 core;" in planning.announcement(new, 1, needs)


def test_jobs_of_several_methods_count_as_one_kind(tmp_path, needs):
    names = ("moments+JDL+CME", "moments+JPDL", "portfolio+JDL")
    jobs = [job(name, tmp_path / "none.tsv", scale="smoke") for name in names]
    usual = {(rule, method): seconds for rule, method, seconds in typical_smoke()}
    total = usual["moments", "JDL+CME"] + usual["moments", "JPDL"] + usual["portfolio", ""]
    said = planning.announcement(jobs, 1, needs)
    assert f"3 jobs, about {planning.duration(total)}" in said
    assert {rule: jobs for rule, (jobs, _) in table_of(said).items()} == {
        "moments": 2,
        "portfolio": 1,
    }


def typical_smoke():
    """The rule, method and seconds at the scale `smoke` of the rows for all data sets."""
    rows = resources.table(ROOT).items()
    return [(rule, method, float(row["seconds_smoke"])) for (rule, method, d), row in rows if not d]


def test_parts_are_announced_with_their_share_of_the_time(tmp_path, needs):
    part = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL", "shards": "2"}
    alone = needs.seconds(needs.work("r_benchmark", SimpleNamespace(**(part | {"shards": "1"}))))
    halves = [job("r_benchmark_part", tmp_path / "none.tsv", **part)] * 2
    said = planning.announcement(halves, 1, needs)
    total = needs.seconds(needs.work("r_benchmark", SimpleNamespace(**part))) * 2
    assert alone < total < 2 * alone
    assert f"2 jobs, about {planning.duration(total)}" in said
    assert table_of(said) == {"r_benchmark_part": (2, planning.duration(total))}


def test_a_collecting_job_takes_no_time_of_an_unsharded_run(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n600.0\t0:10:00\n")
    needs._config["shards"]["r_benchmark"] = 2
    names = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL"}
    said = planning.announcement([job("r_benchmark", tmp_path / "b.tsv", **names)], 1, needs)
    assert "second" in said.partition("about")[2]


def test_a_job_beyond_the_machine_is_warned_of(tmp_path, needs):
    large = {"scale": "laptop", "dataset": "red-wine", "method": "KEF"}
    jobs = [
        job("samples", tmp_path / "b.tsv", **large),
        job("r_benchmark", tmp_path / "b.tsv", scale="laptop", dataset="geyser", method="LSCDE"),
    ]
    wanted = needs.memory(needs.work("samples", SimpleNamespace(**large)))
    jobs[1].output = ["another"]
    (said,) = planning.beyond(jobs, wanted - 1, needs)
    assert "1 job may need more memory" in said
    assert f"{wanted - 1} MiB" in said
    assert f"{wanted} MiB" in said
    assert planning.beyond(jobs, wanted, needs) == []


def test_a_quick_job_without_data_does_not_promise_a_quick_run(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n0.5\t0:00:00\n")
    jobs = [job("r_benchmark", tmp_path / "b.tsv", scale="laptop", method="a new method")]
    assert "about 10 seconds" in planning.announcement(jobs, 1, needs)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 second"), (99, "99 seconds"), (600, "10 minutes"), (7200, "2.0 hours")],
)
def test_durations_in_words(seconds, words):
    assert planning.duration(seconds) == words


def named(rule, log=(), output=("o",), **wildcards):
    """A job as Snakemake has it."""
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule),
        wildcards=Wildcards(fromdict=wildcards),
        benchmark=None,
        output=list(output),
        log=list(log),
    )


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (named("fetch", dataset="geyser"), "fetch: geyser"),
        (
            named("r_benchmark", dataset="geyser", method="KCEF", scale="laptop"),
            "r benchmark: KCEF on geyser",
        ),
        (
            named("factors", dataset="red-wine", method="KCEF-F", nodes="01-04"),
            "factors: KCEF-F on red-wine, columns 01-04",
        ),
        (
            named("moments_part+JDL+CME", dataset="gaussian-1-1000", shard="2", shards="4"),
            "moments: JDL+CME on gaussian-1-1000, part 2 of 4",
        ),
        (named("artefact", paper="kcef", artefact="fig3"), "draw kcef/fig3"),
        (named("figures/kcef/fig3.png"), "draw figures/kcef/fig3.png"),
        (named("consistency", scale="laptop"), "consistency"),
    ],
)
def test_a_step_names_experiment_method_and_data_set(job, expected):
    assert planning.label(job) == expected


def test_the_time_left_follows_what_was_measured():
    """Twice as slow as expected, so is what is left; a rule of its own speed keeps it."""
    expected = dict.fromkeys(range(10), 100.0) | dict.fromkeys(range(10, 20), 100.0)
    rules = dict.fromkeys(range(10), "slow") | dict.fromkeys(range(10, 20), "quick")
    remaining = planning.Remaining(expected, rules, cores=1)
    assert remaining.seconds(0.0) == pytest.approx(2000.0)
    now = 0.0
    for k in range(9):
        for job, took in ((k, 200.0), (10 + k, 50.0)):
            remaining.start(job, now)
            now += took
            assert remaining.finish(job, now) == took
    assert remaining.seconds(now) == pytest.approx(250.0, rel=0.05)
    remaining.start(9, now)
    assert remaining.seconds(now + 100.0) == pytest.approx(150.0, rel=0.1)


def test_one_job_does_not_decide_on_the_time_left():
    """The first of twenty jobs takes a tenth of what was expected, the next fifty times as long."""
    jobs = range(20)
    remaining = planning.Remaining(dict.fromkeys(jobs, 600.0), dict.fromkeys(jobs, "a"), cores=1)
    remaining.start(0, 0.0)
    assert remaining.finish(0, 60.0) == 60.0
    assert 0.5 < remaining.seconds(60.0) / (19 * 600.0) < 0.9
    remaining.start(1, 60.0)
    before = remaining.seconds(660.0)
    assert remaining.running(660.0) == {1: 600.0}
    assert remaining.seconds(30060.0) > 3 * before


def test_time_in_a_queue_is_not_that_of_a_job():
    """Of ten jobs of 60 seconds, all submitted at once, a cluster runs four at a time."""
    jobs = range(10)
    remaining = planning.Remaining(
        dict.fromkeys(jobs, 60.0), dict.fromkeys(jobs, "a"), cores=2, queued=True
    )
    for job in jobs:
        remaining.start(job, 0.0)
    assert remaining.seconds(0.0) == pytest.approx(300.0)
    for job in range(8):
        now = 60.0 * (1 + job // 4)
        assert remaining.finish(job, now, 60.0) == 60.0
    assert remaining.seconds(120.0) == pytest.approx(60.0)
    assert remaining.finish(8, 180.0) == 180.0  # a job without a benchmark


def test_a_job_of_a_group_has_no_start():
    remaining = planning.Remaining({1: 60.0, 2: 60.0, 3: 60.0}, dict.fromkeys((1, 2, 3), "a"), 1)
    assert remaining.finish(1, 5.0, 60.0) == 60.0
    assert remaining.finish(2, 5.0) is None
    assert remaining.seconds(5.0) == pytest.approx(60.0)


def test_more_cores_than_jobs_do_not_shorten_the_longest():
    remaining = planning.Remaining({1: 60.0, 2: 600.0}, {1: "a", 2: "b"}, cores=16)
    assert remaining.seconds(0.0) == pytest.approx(600.0)
    remaining.drop(2)
    assert remaining.seconds(0.0) == pytest.approx(60.0)
    assert remaining.finish(2, 1.0) is None


class Dag:
    """The part of Snakemake's graph that the display looks at: jobs in a row."""

    def __init__(self, jobs):
        self.jobs, self.depending = jobs, None

    def needrun_jobs(self):
        return iter(self.jobs)

    def jobid(self, job):
        return self.jobs.index(job)

    def bfs(self, _, job):
        return iter(self.jobs[self.jobid(job) :])


@pytest.fixture
def terminal(tmp_path, needs):
    """A display over three jobs in a row, and what it writes."""
    log = tmp_path / "results/logs/laptop/fail.log"
    put(log, "kcde: H is singular (KCDE_TRACEBACK=1 shows where)\n")
    jobs = [
        named("fetch", dataset="geyser"),
        named("r_benchmark", [log], dataset="geyser", method="KCEF", scale="laptop"),
        named("artefact", paper="kcef", artefact="table1", scale="laptop"),
    ]
    logger, lines = logging.Logger("snakemake"), []
    handler = ColorizingTextHandler(nocolor=True, stream=SimpleNamespace(write=lines.append))
    handler.flush = lambda: None
    handler.name = "DefaultStreamHandler"
    handler.addFilter(DefaultFilter({Quietness.RULES}, False, False, False, False))
    handler.setFormatter(DefaultFormatter())
    logger.addHandler(handler)
    rules = [
        SimpleNamespace(name=name, output=[], has_wildcards=lambda: False)
        for name in ("kcef", "figures/kcef/table1.md")
    ]
    workflow = SimpleNamespace(dag=Dag(jobs), cores=2, rules=rules, non_local_exec=False)
    shown = display.install(logger, workflow)
    shown.table = needs

    def emit(text, event=None, level=logging.INFO, **fields):
        del lines[:]
        logger.log(level, text, extra={"event": event, **fields} if event else fields)
        return "".join(lines).strip()

    return SimpleNamespace(emit=emit, display=shown, log=log, handler=handler)


def test_a_run_has_one_table_and_a_line_a_step(terminal):
    said = terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    assert said.startswith("kcde: 3 jobs, about ")
    assert table_of(said).keys() == {"fetch", "r_benchmark", "artefact"}
    assert terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={}) == ""
    assert terminal.emit("Execute 1 jobs...", LogEvent.JOB_STARTED, jobs=[0]) == ""
    assert terminal.emit("Select jobs to execute...") == ""
    line = terminal.emit("Finished jobid: 0", LogEvent.JOB_FINISHED, job_id=0)
    assert re.fullmatch(r"1 of 3  fetch: geyser, 1 second; about \d+ seconds left", line)
    assert terminal.emit(None, LogEvent.PROGRESS, done=1, total=3) == ""
    # The last one, of a target that only asks for others, is no step.
    assert terminal.emit("Finished jobid: 9", LogEvent.JOB_FINISHED, job_id=9) == ""


def test_a_long_silence_is_ended_by_what_is_running(terminal, monkeypatch):
    monkeypatch.setattr(display, "SILENCE", 0.05)
    written, there = [], threading.Event()
    stream = SimpleNamespace(write=lambda text: (written.append(text), there.set()))
    terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    terminal.handler.stream = stream
    terminal.emit("Execute 2 jobs...", LogEvent.JOB_STARTED, jobs=[0, 1])
    first, second = r"fetch: geyser \(.+?\)", r"r benchmark: KCEF on geyser \(\d+ seconds?\)"
    for finished, expected in [
        (None, f"0 of 3  running: {first}; {second}; about .+ left"),
        (0, f"1 of 3  running: {second}; about .+ left"),
    ]:
        if finished is not None:
            terminal.emit("Finished jobid: 0", LogEvent.JOB_FINISHED, job_id=finished)
        del written[:]
        there.clear()
        assert there.wait(30)
        assert re.fullmatch(expected, written[0].strip())
    (passing,) = terminal.handler.filters
    passing._usual.quiet = {Quietness.PROGRESS}
    del written[:]
    terminal.display._remind()
    assert written == []


def test_on_a_cluster_a_job_takes_what_its_benchmark_says(terminal, tmp_path):
    workflow = terminal.display._workflow
    workflow.non_local_exec = True
    (job, *_), benchmark = workflow.dag.jobs, tmp_path / "b.tsv"
    job.benchmark = benchmark
    terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    terminal.emit("Execute 1 jobs...", LogEvent.JOB_STARTED, jobs=[0])
    put(benchmark, "s\th:m:s\n42.0\t0:00:42\n")
    line = terminal.emit("Finished jobid: 0", LogEvent.JOB_FINISHED, job_id=0)
    assert line.startswith("1 of 3  fetch: geyser, 42 seconds; about ")


def test_a_failure_is_one_line_with_reason_and_log(terminal):
    terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    said = terminal.emit(
        "Error in rule", LogEvent.JOB_ERROR, logging.ERROR, jobid=1, log=[f"{terminal.log}"]
    )
    assert said == f"failed: r benchmark: KCEF on geyser: kcde: H is singular ({terminal.log})"
    assert terminal.display.failed == {"o"}
    raised = "CalledProcessError in file x: Command 'python' returned non-zero exit status 2."
    assert terminal.emit(raised, LogEvent.ERROR, logging.ERROR, exception="RuleException") == ""
    over = "WorkflowError:\nAt least one job did not complete successfully."
    assert terminal.emit(over, LogEvent.ERROR, logging.ERROR, exception="WorkflowError") == ""


def test_a_failed_job_without_files_does_not_go_on_where_it_stopped(terminal):
    """As `verify`, whose finding is its failure."""
    terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    terminal.emit("Error in rule", LogEvent.JOB_ERROR, logging.ERROR, jobid=9, log=[])
    over = "WorkflowError:\nAt least one job did not complete successfully."
    assert terminal.emit(over, LogEvent.ERROR, logging.ERROR, exception="WorkflowError") == ""


def test_what_is_stopped_on_request_has_not_failed(terminal):
    terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={})
    assert terminal.emit("Terminating processes on user request, this might take some time.")
    said = terminal.emit("Error in rule", LogEvent.JOB_ERROR, logging.ERROR, jobid=1, log=[])
    assert said == "stopped: r benchmark: KCEF on geyser"
    assert terminal.display.failed == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No rule to produce kcfe (if you use input functions ...)", "did you mean `kcef`?"),
        (
            "No rule to produce kcef/table1 (if you use input functions ...)",
            "did you mean `figures/kcef/table1.md`?",
        ),
        ("No rule to produce zzz (if you use input functions ...)", "there is no target `zzz`; "),
        ("Target rules may not contain wildcards. Please ...", "with wildcards is not a target"),
        ("At least one job did not complete successfully.", "goes on where it stopped"),
        ("WorkflowError in file x, line 3:\n  kcde: no.\n  File y", "kcde: no."),
        (
            "SourceError in file x, line 3:\nkef.py, line 2: no\n  File y",
            "kcde: kef.py, line 2: no",
        ),
        ("Input... in rule r:\nError:\n  SourceError: kef.py: no\nWildcards:", "kcde: kef.py: no"),
        ("SyntaxError in file Snakefile", "SyntaxError in file Snakefile"),
    ],
)
def test_errors_are_put_in_words_that_help(terminal, text, expected):
    said = terminal.emit(text, LogEvent.ERROR, logging.ERROR, exception="E")
    assert expected in said
    assert "\n" not in said


def test_who_wants_quiet_has_it(terminal):
    (passing,) = terminal.handler.filters
    passing._usual.quiet = {Quietness.ALL}
    assert terminal.emit("Job stats: ...", LogEvent.RUN_INFO, stats={}) == ""
    assert terminal.emit("e", LogEvent.JOB_ERROR, logging.ERROR, jobid=1, log=[]) == ""


def test_a_logger_of_ones_own_is_left_alone():
    logger = logging.Logger("snakemake")
    handler = logging.StreamHandler()
    logger.addHandler(handler)
    assert display.install(logger, SimpleNamespace()).failed == set()
    assert handler.formatter is None
