"""The start of a run, with a scheduler that is made up."""

from types import SimpleNamespace

import pytest
from snakemake.scheduling.job_scheduler import JobScheduler

from lib import hooks


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
