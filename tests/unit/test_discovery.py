"""Constructor arguments and names read from the sources, without importing them."""

import inspect
from pathlib import Path

import pytest
import signatures

from contracted import estimator_names
from kcde.estimators import estimator_class

ROOT = Path(__file__).parents[2]


def test_the_sources_say_what_the_classes_take():
    """Of every estimator, also of those that inherit their constructor."""
    found = signatures.estimators(ROOT)
    assert sorted(found) == sorted(estimator_names())
    for name, path in found.items():
        expected = list(inspect.signature(estimator_class(name)).parameters)
        assert signatures.parameters(path, name) == expected, name


def test_a_constructor_is_inherited_across_modules(tmp_path):
    (tmp_path / "base.py").write_text("class Base:\n    def __init__(self, a, *, b=1): ...\n")
    (tmp_path / "mid.py").write_text("from x.base import Base\nclass Mid(Base): ...\n")
    (tmp_path / "top.py").write_text("from x.mid import Mid\nclass Top(Mid): ...\n")
    assert signatures.parameters(tmp_path / "top.py", "Top") == ["a", "b"]
    assert signatures.parameters(tmp_path / "top.py", "Nobody") == []


def test_a_literal_that_is_not_there_is_named(tmp_path):
    (tmp_path / "m.py").write_text("A = (1, 2)\n")
    assert signatures.constant(tmp_path / "m.py", "A") == (1, 2)
    with pytest.raises(LookupError, match="assigns no B"):
        signatures.constant(tmp_path / "m.py", "B")
