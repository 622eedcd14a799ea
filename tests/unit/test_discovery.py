"""Estimators, their constructor arguments and attributes, read from the sources."""

import inspect

import pytest

from kcde import discovery, estimators
from kcde.estimators import estimator_class, estimator_names

BASE = """
from kcde.estimators._far.base import Base
class Near(Base):
    selection_rule = "by " "hand"
class Other: ...
"""


@pytest.fixture
def root(tmp_path):
    """A package with a class that inherits across folders, one by name, and files of neither."""
    for name, text in {
        "estimators/__init__.py": "",
        "estimators/near.py": BASE,
        "estimators/by_name.py": "from kcde.estimators import Near\nclass ByName(Near): ...\n",
        "estimators/helpers.py": "class Tool: ...\n",
        "estimators/_hidden.py": "class Hidden: ...\n",
        "estimators/_far/base.py": (
            "class Base:\n"
            "    kind: ClassVar[str] = f'{1}'\n"
            "    declared: ClassVar[str]\n"
            "    def __init__(self, a, b=-1.5, *, c=None, d=max(1, 2)): ...\n"
            "    def fit_many(self): ...\n"
        ),
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_a_public_file_with_a_class_of_its_name_is_an_estimator(root):
    assert discovery.estimators(root) == {
        "ByName": "kcde.estimators.by_name",
        "Near": "kcde.estimators.near",
    }


def test_the_sources_say_what_the_classes_take():
    """Of every estimator, also of those that inherit their constructor."""
    assert {"KCEF", "EpsilonKDE", "KernelLogisticRegression"} <= set(estimator_names())
    assert not {"Standardised", "ConditionalDensity", "Tags"} & set(estimator_names())
    for name in estimator_names():
        # Python 3.11.2 takes the signature of a class from an inherited __new__.
        taken = inspect.signature(estimator_class(name).__init__).parameters
        found = discovery.parameters(name)
        assert ["self", *found] == list(taken), name
        literal = {each: value for each, value in found.items() if value is not ...}
        assert literal == {each: taken[each].default for each in literal}, name
        assert len(found) - len(literal) <= 1


def test_a_constructor_is_inherited_across_modules(root):
    expected = {"a": ..., "b": -1.5, "c": None, "d": ...}
    assert discovery.parameters("ByName", root) == expected
    assert discovery.parameters("Nobody", root) == {}


def test_methods_are_inherited_too(root):
    assert discovery.with_method("fit_many", root) == {"ByName", "Near"}
    assert discovery.with_method("fit_few", root) == frozenset()
    expected = {name for name in estimator_names() if hasattr(estimator_class(name), "fit_many")}
    assert discovery.with_method("fit_many") == expected


def test_attributes_are_read_as_literals(root):
    assert discovery.attribute("ByName", "selection_rule", root) == "by hand"
    with pytest.raises(ValueError, match=r"base\.py, line 2: kind of Base must be a literal"):
        discovery.attribute("Near", "kind", root)
    with pytest.raises(LookupError, match=r"near\.py: Near has no declared"):
        discovery.attribute("Near", "declared", root)


@pytest.mark.parametrize(
    ("line", "base"),
    [
        ("from kcde import Near", "Near"),
        ("from kcde.estimators import Near as Parent", "Parent"),
        ("from .near import Near", "Near"),
        ("from . import near", "near.Near"),
        ("import kcde.estimators.near as other", "other.Near"),
        ("import kcde.estimators.near", "kcde.estimators.near.Near"),
        ("import kcde", "kcde.Near"),
    ],
)
def test_a_base_class_is_found_however_it_is_imported(root, line, base):
    (root / "estimators/mine.py").write_text(f"{line}\nclass Mine({base}): ...\n")
    assert discovery.attribute("Mine", "selection_rule", root) == "by hand"
    assert list(discovery.parameters("Mine", root)) == ["a", "b", "c", "d"]


def test_a_source_that_is_not_python_is_named_with_its_line(root):
    (root / "estimators/mine.py").write_text("class Mine:\n    def (\n")
    with pytest.raises(discovery.SourceError, match=r"mine\.py, line 2: invalid syntax"):
        discovery.parameters("Mine", root)


def test_a_wrong_name_of_an_estimator_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"no estimator 'KCFE' \(did you mean `KCEF`\?\); known: "):
        estimator_class("KCFE")
    with pytest.raises(AttributeError, match="no estimator 'kcfe'"):
        estimators.kcfe  # noqa: B018
