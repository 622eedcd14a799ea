"""What Snakemake would do, read from the listing of a dry run."""

import re
import shlex
from dataclasses import dataclass
from functools import cache

import typer

from kcde import cli

LISTING = ("-n", "-p", "--quiet", "reason")
"""Flags of a dry run that lists jobs with their commands."""


@dataclass(frozen=True)
class Job:
    """A job of a listing; `command` is what follows `python -m kcde run`, if it runs that."""

    rule: str
    outputs: list[str]
    inputs: list[str]
    resources: dict[str, str]
    command: list[str]


@dataclass(frozen=True)
class Plan:
    """The jobs of a listing, and the listing."""

    text: str
    jobs: list[Job]

    @classmethod
    def of(cls, done) -> "Plan":
        """Read what a dry run wrote; it must have succeeded."""
        assert done.returncode == 0, done.stdout + done.stderr
        text = done.stdout + done.stderr
        return cls(text, _read(text))

    @property
    def outputs(self) -> list[str]:
        """First outputs, sorted."""
        return sorted(job.outputs[0] for job in self.jobs if job.outputs)

    @property
    def runs(self) -> list[Job]:
        """Those that run an experiment."""
        return [job for job in self.jobs if job.command]

    def making(self, path: str) -> Job:
        """Return the job with an output, or the target with a name."""
        (found,) = {id(j): j for j in self.jobs if path in (*j.outputs, j.rule)}.values()
        return found

    def needed_by(self, path: str) -> list[str]:
        """Return the first outputs of all jobs that a file or a target waits for, and its own."""
        makers = {output: job for job in self.jobs for output in job.outputs}
        waiting, found = [self.making(path)], {}
        while waiting:
            job = waiting.pop()
            found[id(job)] = job
            made = [makers[name] for name in job.inputs if name in makers]
            waiting += [job for job in made if id(job) not in found]
        return sorted(job.outputs[0] for job in found.values() if job.outputs)


def _read(text: str) -> list[Job]:
    """Return the jobs of a listing; those of a group are indented."""
    _, *parts = re.split(r"^ *(?:local)?rule (\S+):$", text, flags=re.MULTILINE)
    return [_job(rule, body) for rule, body in zip(parts[::2], parts[1::2], strict=True)]


def _job(rule: str, body: str) -> Job:
    def listed(key):
        found = re.search(rf"^ *{key}: (.*)$", body, re.MULTILINE)
        return found[1].split(", ") if found else []

    pairs = (each.partition("=") for each in listed("resources"))
    resources = {name: value for name, _, value in pairs}
    command = re.search(r"python -m kcde (run .*?) > ", body)
    words = shlex.split(command[1])[1:] if command else []
    return Job(rule, listed("output"), listed("input"), resources, words)


def parameters(job: Job) -> dict:
    """Return what the command line makes of a job's command; a flag that it does not know fails."""
    name, *arguments = job.command
    context = _commands()[name].make_context(name, arguments)
    assert not [word for word in context.args if word.startswith("-")], job.command
    return context.params


@cache
def _commands() -> dict:
    return typer.main.get_command(cli.app).commands["run"].commands
