"""`kcde run`: what there is, and one job of it."""

import pytest

from kcde import __version__, arrays, cli, scores
from kcde.experiments import experiments
from kcde.memory import InsufficientMemory
from kcde.methods import METHODS, shown

JOB = ("r_benchmark", "smoke-linear")
MINE = '{"Mine": {"estimator": "LSCDE", "options": {"folds": 2, "n_centres": 10}}}'


@pytest.fixture
def raw(smoke):
    """Where made-up data lie, as options."""
    return "--data-dir", smoke[0], "--catalogue", smoke[1]


def test_without_a_name_every_experiment_is_listed(call):
    code, said, _ = call("run")
    assert code == 0
    assert [line.split()[0] for line in said.splitlines()] == list(experiments())


@pytest.mark.parametrize("name", experiments())
def test_an_experiment_is_described(call, name):
    code, said, _ = call("run", name)
    cls = experiments()[name]
    assert code == 0
    assert all(each in said for each in (*cls.repeated, *cls.datasets, *map(shown, cls.methods)))


def test_a_job_has_the_sizes_and_methods_that_are_given(call, raw, tmp_path, monkeypatch):
    monkeypatch.setitem(METHODS, "Mine", None)  # so that it is gone afterwards
    monkeypatch.delitem(METHODS, "Mine")
    out = tmp_path / "out.csv"
    words = ("Mine", *raw, "--define", MINE, "--set", "splits=2", "-o", out)
    code, said, _ = call("run", *JOB, *words)
    assert (code, f"wrote {out}" in said) == (0, True)
    frame = scores.read([out])
    assert set(frame["method"]) == {"Mine"}
    assert set(frame["split"]) == {0, 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["r_bench"], "no experiment 'r_bench' (did you mean `r_benchmark`?)"),
        ([*JOB, "LSCD"], "no method 'LSCD' (did you mean `LSCDE`?)"),
        (["factors", "smoke-joint", "KCEF-M/01-99"], "columns 1-3; got 1-99"),
        (["r_benchmark", "smoke-linaer", "LSCDE"], "smoke-linaer"),
        ([*JOB, "LSCDE", "--set", "splits=few"], "splits must be of the kind int"),
        ([*JOB, "LSCDE", "--scale", "small"], "--scale must be one of smoke, laptop, paper"),
        ([*JOB, "LSCDE", "--shard", "3/2"], "a shard is i/k"),
        ([*JOB, "LSCDE", "NADE"], "jobs of r_benchmark run one at a time; got 2"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(call, raw, tmp_path, words, said):
    code, _, line = call("run", *words, *raw, "-o", tmp_path / "out.csv")
    assert code == 2
    assert line.startswith("kcde: ")
    assert said in line
    assert line.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, RuntimeError, InsufficientMemory])
def test_an_error_is_one_line_and_a_status(monkeypatch, call, error):
    def fail(*_, **__):
        raise error("the Gram matrix\nneeds 28.8 GB")

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.delenv("KCDE_TRACEBACK", raising=False)
    code, _, line = call("info")
    assert code == 2
    assert line.startswith("kcde: the Gram matrix needs 28.8 GB (")


def test_without_a_gpu_auto_is_numpy_and_cupy_is_refused(call, monkeypatch):
    monkeypatch.setattr(arrays, "cupy_obstacle", lambda: "there is no CUDA device")
    code, said, _ = call("info")
    lines = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert code == 0
    assert lines["kcde"] == __version__
    assert lines["GPUs"] == "none: there is no CUDA device"
    assert lines["backend"] == "auto is numpy, on CPU"
    for backend in ("cupy", "torch"):
        assert call("info", "--backend", backend)[0] == 2
