"""The examples in docstrings are what they show."""

import doctest
import inspect

import pytest

import kcde
import kcde.joint
from kcde import (
    comparison,
    kernels,
    linalg,
    methods,
    metrics,
    streaming,
    table_model,
    tabular,
)
from kcde.data import fetch

CLASSES = [getattr(kcde, name) for name in kcde.LAZY if name[0].isupper()]
NAMED = [getattr(package, n) for package in (kernels, linalg, metrics) for n in package.__all__]
FUNCTIONS = [each for each in NAMED if inspect.isfunction(each)]
KERNELS = [each for each in NAMED if hasattr(each, "diagonal")]
MODULES = [methods, streaming, table_model, tabular, comparison]
SLOW = {"DDE", "NADE", "ConditionalMAF", "ConditionalRealNVP", "kcde.comparison"}
SHOWN = [
    pytest.param(each, marks=pytest.mark.nightly) if each.__name__ in SLOW else each
    for each in [
        *CLASSES,
        fetch.bundled_files,
        *FUNCTIONS,
        *KERNELS,
        *MODULES,
    ]
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_examples_show_what_happens(shown):
    parsed = doctest.DocTestParser().get_examples(inspect.getdoc(shown))
    assert parsed, f"{shown.__name__} has no example"
    test = doctest.DocTest(parsed, {}, shown.__name__, None, None, None)
    said = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not outcome.failed, "".join(said)
