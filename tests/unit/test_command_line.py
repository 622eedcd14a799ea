"""Methods by name, the estimators that they make, and `kcde run` of a job of one."""

from unittest.mock import Mock

import pytest

from kcde import __version__, arrays, cli, methods, scores
from kcde.estimators import KCEF, LSCDE, estimator_class, estimator_names
from kcde.experiments import experiments
from kcde.joint import JointDensity
from kcde.memory import InsufficientMemory
from kcde.methods import METHODS, Method, shown

JOB = ("r_benchmark", "smoke-linear")
MINE = '{"Mine": {"estimator": "LSCDE", "options": {"folds": 2, "n_centres": 10}}}'


def test_every_class_is_a_method_of_its_own_name_and_other_names_are_of_one_method_each():
    for name in estimator_names():
        assert methods.find(name).estimator == name
        assert methods.shown(methods.key_of(name)) == name
        assert vars(estimator_class(name))["selection_rule"]
    assert METHODS["LSCDE"].options_for("r_benchmark") == {"density_floor": 2.0**-52}
    assert METHODS["LSCDE"].options_for("donut") == {}
    assert {each.estimator for each in METHODS.values()} <= {*estimator_names(), "Stacked"}
    names = [name for method in METHODS.values() for name in method.names]
    assert len(set(names)) == len(names)
    assert not [name for name in set(names) & set(METHODS) if methods.shown(name) != name]
    for name in ("epsilon-KDE", "EpsilonKDE", "ε-KDE"):
        assert methods.key_of(name) == "epsilon-KDE"
    assert methods.key_of("ridge, normal") == "LinearGaussian"
    assert methods.shown("CondMAF-tuned") == "ConditionalMAF-tuned"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_made_with_its_options(name):
    made, method = methods.make(name), METHODS[name]
    assert isinstance(made, JointDensity) == (method.graph is not None)
    single = made.estimator if method.graph else made
    assert type(single).__name__ == method.estimator
    assert {key: single.get_params()[key] for key in method.options} == method.options


def test_given_options_come_before_those_of_the_method():
    model = methods.make("KCEF-LL", folds=10, selection="score")
    assert isinstance(model, KCEF)
    assert (model.selection, model.folds) == ("score", 10)
    assert methods.make("LSCDE-exact").get_params() == LSCDE().get_params()
    assert methods.make("KCEF-M").graph == "markov"


def test_a_wrong_name_or_option_is_named():
    with pytest.raises(ValueError, match="`KCEF-LL`") as error:
        methods.make("KCEF-Ll")
    assert str(error.value).count(", ") == 9
    with pytest.raises(ValueError, match=r"NADE, DDE$"):
        methods.key_of("?", ("NADE", "DDE"))
    with pytest.raises(ValueError, match="fold"):
        methods.make("KCEF-LL", fold=3)


@pytest.fixture
def defined(monkeypatch):
    """Let a test define methods; afterwards they are as before."""
    for name in [*METHODS, "Mine"]:
        monkeypatch.setitem(METHODS, name, METHODS.get(name))
    monkeypatch.delitem(METHODS, "Mine")
    return methods.define


def test_a_defined_method_is_made_and_of_a_known_one_the_rest_stays(defined):
    defined(
        {
            "Mine": {"estimator": "KCEF", "options": {"folds": 3}, "shown": ["kcef/table1"]},
            "KCEF-LL": {"options": {"folds": 3}},
            "DDE": {"variant": "ours"},
            "EpsilonKDE": {"options": {"folds": 3}},
        }
    )
    assert methods.make("Mine").folds == 3
    assert METHODS["Mine"] == Method("KCEF", "ours", {"folds": 3}, shown=("kcef/table1",))
    assert METHODS["KCEF-LL"].options == {"selection": "likelihood", "folds": 3}
    assert METHODS["DDE"].dataset_options["ring"] == {"dual_layers": 3}
    assert METHODS["DDE-narrow"].variant == "ours"
    assert METHODS["epsilon-KDE"].options == {"folds": 3}
    assert "EpsilonKDE" not in METHODS


def test_a_wrong_definition_is_named_and_defines_nothing(defined):
    option = {"estimator": "KCEF", "options": {"fold": 3}}
    cases = [({"estimater": "KCEF"}, "`estimator`"), (option, "Mine: .*fold")]
    cases += [({"estimator": "KCEF", key: None}, key) for key in ("options", "shown")]
    for said, words in cases:
        with pytest.raises(ValueError, match=words):
            defined({"Mine": said})
        assert "Mine" not in METHODS


@pytest.fixture
def raw(smoke):
    return "--data-dir", smoke[0], "--catalogue", smoke[1]


def test_every_experiment_is_listed_and_described(call):
    code, said, _ = call("run")
    assert (code, [line.split()[0] for line in said.splitlines()]) == (0, list(experiments()))
    for name, cls in experiments().items():
        code, said, _ = call("run", name)
        whole = [each for each in cls.parameters().values() if each.type in (int, int | None)]
        assert all("at_least" in each.metadata for each in whole), name
        named = *cls.repeated, *cls.datasets, *map(shown, cls.methods)
        assert (code, [each for each in named if each not in said]) == (0, []), name


@pytest.mark.usefixtures("defined")
def test_a_job_has_the_sizes_and_methods_that_are_given(call, raw, tmp_path):
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
        ([*JOB, "LSCD"], "no method 'LSCD' (did you mean `LSCDE`?)"),
        (["factors", "smoke-joint", "KCEF-M/01-99"], "columns 1-3; got 1-99"),
        (["r_benchmark", "smoke-linaer", "LSCDE"], "smoke-linaer"),
        ([*JOB, "LSCDE", "--set", "splits=few"], "splits must be of the kind int"),
        ([*JOB, "LSCDE", "--set", "dataset=geyser"], "no parameter 'dataset'"),
        ([*JOB, "LSCDE", "--define", '{"Mine": 3}'], "methods.Mine must be of the kind Mapping"),
        ([*JOB, "LSCDE", "--part", "out.npz"], "is a file that is read"),
        (["failure_case", "geyser", "KCEF"], "give only --out"),
        (["similarity", "smoke-joint", "KEF"], "give --files of"),
        ([*JOB, "LSCDE", "--scale", "small"], "--scale must be one of smoke, laptop, paper"),
        ([*JOB, "LSCDE", "--shard", "3/2"], "--shard is i/k"),
        ([*JOB, "LSCDE", "NADE"], "jobs of r_benchmark run one at a time; got 2"),
    ],
)
def test_a_mistake_is_one_line_and_writes_nothing(call, raw, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, line = call("run", *words, *raw, "-o", "out.csv")
    assert code == 2
    assert line.startswith("kcde: ")
    assert said in line
    assert line.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("error", [ValueError, FileNotFoundError, RuntimeError, InsufficientMemory])
def test_an_error_is_one_line_and_a_status(monkeypatch, call, error):
    monkeypatch.setattr(cli, "app", Mock(side_effect=error("the Gram matrix\nneeds 28.8 GB")))
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
