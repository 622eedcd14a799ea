"""Methods by name: what they say, and the estimators that they make."""

import pytest

from kcde import methods
from kcde.estimators import KCEF, LSCDE, estimator_names
from kcde.joint import JointDensity
from kcde.methods import METHODS, Method


def test_every_class_is_a_method_of_its_own_name():
    for name in estimator_names():
        assert methods.find(name).estimator == name
        assert methods.shown(methods.key_of(name)) == name
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


def test_keys_names_and_those_of_older_pages_are_of_one_method_each():
    names = [name for method in METHODS.values() for name in method.names]
    assert len(set(names)) == len(names)
    assert not [name for name in set(names) & set(METHODS) if methods.shown(name) != name]
    for name in ("epsilon-KDE", "EpsilonKDE", "ε-KDE"):
        assert methods.key_of(name) == "epsilon-KDE"
    assert methods.key_of("ridge, normal") == "LinearGaussian"
    assert methods.shown("CondMAF-tuned") == "ConditionalMAF-tuned"


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
        }
    )
    assert methods.make("Mine").folds == 3
    assert METHODS["Mine"] == Method("KCEF", "ours", {"folds": 3}, shown=("kcef/table1",))
    assert METHODS["KCEF-LL"].options == {"selection": "likelihood", "folds": 3}
    assert METHODS["DDE"].dataset_options["ring"] == {"dual_layers": 3}
    assert METHODS["DDE-narrow"].variant == "ours"


def test_a_wrong_definition_is_named_and_defines_nothing(defined):
    option = {"estimator": "KCEF", "options": {"fold": 3}}
    for said, words in (({"estimater": "KCEF"}, "`estimator`"), (option, "Mine: .*fold")):
        with pytest.raises(ValueError, match=words):
            defined({"Mine": said})
        assert "Mine" not in METHODS


def test_a_known_method_is_changed_by_any_of_its_names(defined):
    defined({"EpsilonKDE": {"options": {"folds": 3}}})
    assert METHODS["epsilon-KDE"].options == {"folds": 3}
    assert "EpsilonKDE" not in METHODS
