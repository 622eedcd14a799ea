"""Methods by name: what they say, and the estimators that they make."""

import pytest

from kcde import methods
from kcde.estimators import KCEF, LSCDE, estimator_names
from kcde.joint import JointDensity
from kcde.methods import METHODS, Method


def test_every_class_is_a_method_of_its_own_name():
    assert set(estimator_names()) <= set(METHODS)
    assert METHODS["EpsilonKDE"] == Method("EpsilonKDE", "ours")
    assert METHODS["LSCDE"].options_for("r_benchmark") == {"density_floor": 2.0**-52}
    assert METHODS["LSCDE"].options_for("donut") == {}
    assert {each.estimator for each in METHODS.values()} <= set(estimator_names())


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
    with pytest.raises(ValueError, match="did you mean `KCEF-LL`"):
        methods.make("KCEF-Ll")
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
        }
    )
    assert methods.make("Mine").folds == 3
    assert METHODS["Mine"] == Method("KCEF", "ours", {"folds": 3}, shown=("kcef/table1",))
    assert METHODS["KCEF-LL"].options == {"selection": "likelihood", "folds": 3}
    assert METHODS["DDE"].dataset_options["ring"] == {"dual_layers": 3}
    assert METHODS["DDE-narrow"].variant == "ours"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"estimater": "KCEF"}, r"methods.Mine has 'estimater' \(did you mean `estimator`"),
        ({"estimator": "KCEF", "options": {"fold": 3}}, r"methods.Mine: .*no option fold"),
    ],
)
def test_a_wrong_definition_is_named_and_defines_nothing(defined, said, words):
    with pytest.raises(ValueError, match=words):
        defined({"Mine": said})
    assert "Mine" not in METHODS
