"""Which classes keep their promises in the slow tests."""

import re
from pathlib import Path

import pytest

SLOW = {"ConditionalMAF", "ConditionalRealNVP", "DDE", "NGBoost"}
"""Seconds a fit, for compiling or boosting. NADE is compiled too, and stays among the quick."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of these classes as slow, before the option -m chooses."""
    for item in items:
        here = Path(__file__).parent in item.path.parents
        if here and hasattr(item, "callspec") and SLOW & set(re.split(r"\W", item.callspec.id)):
            item.add_marker(pytest.mark.nightly)
