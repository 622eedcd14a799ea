"""Which classes keep their promises in the slow tests."""

import re
from pathlib import Path

import numpy as np
import pytest

from contracted import densities, make, some_pairs
from kcde.estimators import Standardised

SLOW = {"ConditionalMAF", "ConditionalRealNVP", "DDE", "NADE", "NGBoost"}
"""Seconds a fit, for compiling or boosting."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of these classes as slow, before the option -m chooses."""
    for item in items:
        here = Path(__file__).parent in item.path.parents
        if here and hasattr(item, "callspec") and SLOW & set(re.split(r"\W", item.callspec.id)):
            item.add_marker(pytest.mark.nightly)


@pytest.fixture(scope="session", params=[*densities(), "Standardised"])
def fitted(request):
    """A density of each class with its x, and y: fitted once a session, to the data of `pairs`."""
    X, Y = some_pairs(np.random.default_rng(20180416))
    inner = Standardised(make("LSCDE"))
    model = inner if request.param == "Standardised" else make(request.param)
    X = X[:, :0] if model.tags.unconditional else X
    return model.fit(X, Y[:, 0]), X, Y
