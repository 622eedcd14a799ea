"""The parameters of experiments: what they may be, as JSON and as options of a command."""

import json
import subprocess
import sys

import pytest

from kcde.cli import main
from kcde.experiments.jobs import EXPERIMENTS, job_class, moments, r_benchmark, samples

GIVEN = {
    "dataset": "gaussian-1-60",
    "method": "JDL",
    "tolerances": [1e-2, 1e-1],
    "regularizations": [1, 0.5],
    "laws": ["normal-0.5"],
    "tuning_rows": None,
}


def test_a_job_is_made_of_plain_values():
    made = moments.Job.make(json.loads(json.dumps(GIVEN)))
    assert made.estimator == "JDL"
    assert made.tolerances == (1e-2, 1e-1)
    assert made.grid.regularizations == (1.0, 0.5)
    assert made.grid.bandwidth_factors == (0.5, 1.0, 2.0, 4.0)
    assert [type(each) for each in made.grid.regularizations] == [float, float]
    assert made.laws == ("normal-0.5",)
    assert made.repetitions == moments.Job.parameters()["repetitions"].default


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lawz": ["normal-1"]}, "moments has no parameter lawz; it has dataset, method"),
        ({"laws": [0.5]}, "laws must be of the kind str; got 0.5"),
        ({"laws": ["wide-1"]}, "there is no law 'wide-1'"),
        ({"repetitions": 2.5}, "repetitions must be of the kind int; got 2.5"),
        ({"repetitions": True}, "repetitions must be of the kind int; got True"),
        ({"tolerances": [1e-2, "small"]}, "tolerances must be of the kind float; got 'small'"),
        ({"tolerances": 1e-2}, "tolerances must be of the kind tuple; got 0.01"),
        ({"repetitions": 0}, "repetitions must be at least 1; got 0"),
        ({"choice": "mine"}, "choice must be one of own, shared; got 'mine'"),
        ({"regularizations": []}, "regularizations must be positive numbers, at least one"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(change, words):
    with pytest.raises(ValueError, match=words):
        moments.Job.make(GIVEN | change)


def test_what_has_no_default_is_asked_for():
    with pytest.raises(ValueError, match="factors needs method, nodes"):
        job_class("factors").make({"dataset": "grid-200"})
    with pytest.raises(ValueError, match="no experiment 'r-bench'; known: consistency, donut"):
        job_class("r-bench")


def test_files_are_no_part_of_what_a_job_is():
    plain = samples.Job("red-wine", "KCEF-F", "KCEF", graph="full")
    given = samples.Job.make(
        {"dataset": "red-wine", "method": "KCEF-F", "estimator": "KCEF", "graph": "full"}
        | {"factors": ["01-04.csv"]}
    )
    assert [f"{path}" for path in given.factors] == ["01-04.csv"]
    assert given.identity() == plain.identity()


@pytest.fixture
def ran(monkeypatch):
    """The jobs that commands run, instead of running them."""
    from kcde.experiments import runner

    found = []
    monkeypatch.setattr(runner, "run", lambda jobs, outs, **how: found.append((jobs, outs, how)))
    return found


def call(*words):
    with pytest.raises(SystemExit) as finished:
        main(["run", *words, "--out", "out.csv"])
    return finished.value.code


def test_json_and_options_say_the_same(ran):
    options = ("--dataset", "geyser", "--method", "KCEF", "--splits", "5")
    options += ("--options", '{"folds": 3}')
    told = {"dataset": "geyser", "method": "KCEF", "splits": 5, "options": {"folds": 3}}
    assert call("r-benchmark", *options) == call("r-benchmark", "--job", json.dumps(told)) == 0
    (one, *_), (other, *_) = ran
    expected = r_benchmark.Job("geyser", "KCEF", splits=5, options={"folds": 3})
    assert one == other == [expected]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--job", "{"), "--job is not JSON"),
        (("--job", "[]"), "--job must be a JSON object"),
        (("--job", "3"), "--job must be a JSON object"),
        (("--job", "{}", "--splits", "3"), "--job has all parameters: leave out --splits"),
        (("--job", '{"dataset": "geyser"}'), "r_benchmark needs method"),
        (("--dataset", "geyser"), "r_benchmark needs method"),
        (("--dataset", "geyser", "more"), r"unexpected arguments \['more'\]"),
    ],
)
def test_a_wrong_command_is_refused(ran, capsys, words, said):
    import re

    assert call("r-benchmark", *words) == 2
    assert re.search(said, capsys.readouterr().err)
    assert not ran


def test_several_files_may_follow_their_option(ran):
    words = ("--dataset", "d", "--method", "KEF", "--factors", "1.csv", "2.csv", "3.csv")
    assert call("samples", *words) == 0
    ((job,), _, _), *_ = ran
    assert [path.name for path in job.factors] == ["1.csv", "2.csv", "3.csv"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_help_has_an_example_and_every_parameter(experiment, capsys):
    cls, command = job_class(experiment), experiment.replace("_", "-")
    with pytest.raises(SystemExit):
        main(["run", command, "--help"])
    said = capsys.readouterr().out
    assert f"python -m kcde run {command}" in said
    flat = "".join(said.split())
    for name, each in cls.parameters().items():
        assert f"--{name.replace('_', '-')}" in said
        assert "".join(each.metadata["help"].split()) in flat
        assert each.metadata["help"]


def test_parameters_are_read_without_numerics():
    """The workflow plans, and the command line helps, without waiting for them."""
    code = (
        "import sys; import kcde.cli, kcde.experiments.jobs as jobs\n"
        "[jobs.job_class(name) for name in jobs.EXPERIMENTS]\n"
        "print(*sorted({'numpy', 'pandas', 'scipy', 'sklearn', 'jax'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
