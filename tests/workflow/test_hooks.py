"""The start of a run, with a scheduler that is made up."""

import json
from types import SimpleNamespace

import pytest
from snakemake.exceptions import WorkflowError
from snakemake.jobs import Reason
from snakemake.scheduling.job_scheduler import JobScheduler

from lib import hooks, planning


def workflow(limiter):
    rule = SimpleNamespace(name="artefact")
    job = SimpleNamespace(
        rule=rule, output=["o"], log=["l"], resources={}, wildcards={}, benchmark=None
    )
    return SimpleNamespace(
        dag=SimpleNamespace(needrun_jobs=lambda: [job]),
        scheduler=SimpleNamespace(job_rate_limiter=limiter),
        global_resources={"mem_mb": SimpleNamespace(value=8000)},
    )


@pytest.mark.parametrize("local", [True, False])
def test_jobs_are_started_without_a_limit_on_this_machine_alone(local, monkeypatch):
    monkeypatch.setattr(hooks.planning, "beyond", lambda *_: [])
    here = workflow(limiter := object())
    hooks.begin(here, {"backend": "numpy", "scale": "smoke"}, None, local=local)
    assert here.scheduler.job_rate_limiter is (None if local else limiter)


def test_snakemake_asks_that_attribute():
    # Of its own: another version may call it otherwise.
    assert "job_rate_limiter" in JobScheduler.schedule.__code__.co_names
    assert "job_rate_limiter" in JobScheduler.job_selector.__code__.co_names


class Output(list):
    """Outputs, of which one has the name `record`."""

    record = property(lambda self: self[0])


class Dag:
    """Jobs in a chain: a fetch, a fit of what it fetched, what is drawn of that, and `publish`."""

    def __init__(self, folder, status):
        record = folder / "record.json"
        record.write_text(json.dumps({"status": status, "path": "p"}))
        paths = {"fetch": str(record), "fit": "fit.csv", "artefact": "drawn.json", "publish": "p"}
        self.jobs = {name: self.job(name, path) for name, path in paths.items()}
        self.reasons = {job: Reason() for job in self.jobs.values()}
        for before, after in (("fetch", "fit"), ("fit", "artefact"), ("artefact", "publish")):
            self[after].updated_input_run.add(paths[before])

    @staticmethod
    def job(name, path):
        rule = type("Rule", (), {"name": name})
        return type("Job", (), {"rule": rule, "output": Output([path]), "log": ["l"]})

    def __getitem__(self, name):
        return self.reasons[self.jobs[name]]

    def needrun_jobs(self):
        return list(self.jobs.values())

    def reason(self, job):
        return self.reasons[job]


@pytest.mark.parametrize("status", ["available", "unavailable"])
def test_only_what_follows_data_that_are_tried_again_does_not_count_as_unfinished(status, tmp_path):
    dag = Dag(tmp_path, status)
    found = {job.rule.name for job in planning.retrying(dag)}
    assert found == (set(dag.jobs) if status == "unavailable" else set())
    # A fit that is to run for a reason of its own is not finished, nor what is drawn of it.
    dag["fit"].forced = True
    found = {job.rule.name for job in planning.retrying(dag)}
    assert found == ({"fetch"} if status == "unavailable" else set())


def test_what_was_made_without_optional_data_is_published(tmp_path):
    dag = Dag(tmp_path, "unavailable")
    asked = SimpleNamespace(dag=dag)
    config = {"backend": "numpy", "scale": "paper", "papers": ["cdo", "jdl"]}
    hooks.begin(asked, config, None, local=False)
    dag["fit"].missing_output.add("fit.csv")
    with pytest.raises(
        WorkflowError, match=r"2 jobs .* not done: .*paper papers=\[cdo,jdl\]` first"
    ):
        hooks.begin(asked, config, None, local=False)
