"""What importing the package and its estimators imports, and names that are not there."""

import subprocess
import sys

import pytest

import kcde
from kcde import estimators

HEAVY = {"jax", "optax", "flowjax", "equinox", "cupy", "ngboost", "quantile_forest", "clarabel"}
IMPORT_ALL = """
import importlib, sys, kcde, kcde.methods
assert "numpy" not in sys.modules
for module in kcde.LAZY.values():
    importlib.import_module(module)
"""


def loaded(code):
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_importing_every_estimator_imports_no_heavy_package():
    found = loaded(IMPORT_ALL)
    assert set(kcde.LAZY.values()) <= found
    assert not found & HEAVY


def test_a_class_by_its_name_has_all_that_its_fits_import():
    """Experiments time fits and measure their memory; imports are no part of either."""
    found = loaded(
        "import sys; from kcde.estimators import estimator_class as by_name\n"
        "[by_name(name) for name in ('NADE', 'DDE', 'ConditionalMAF', 'KCEF')]"
    )
    assert {"jax", "optax", "flowjax", "scipy.optimize"} <= found


def test_each_name_is_what_its_module_has():
    assert {name: getattr(kcde, name).__name__ for name in kcde.LAZY} == dict(
        zip(kcde.LAZY, kcde.LAZY, strict=True)
    )
    assert set(kcde.LAZY) <= set(dir(kcde))
    assert "Standardised" not in estimators.estimator_names()


def test_a_wrong_name_of_an_estimator_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"no estimator 'KCFE' \(did you mean `KCEF`\?\); known: "):
        estimators.estimator_class("KCFE")
    for module in (kcde, estimators):
        with pytest.raises(AttributeError, match="no attribute 'kcfe'"):
            module.kcfe  # noqa: B018
