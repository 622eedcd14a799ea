"""Fits that do not fit into memory are refused before they begin."""

import pytest

from contracted import QUICK
from kcde import memory
from kcde.estimators import estimator_class

# A kilobyte: less than any of them takes, for 30 rows.
FREE = 1000


@pytest.fixture
def little(monkeypatch):
    """Leave next to no memory."""
    monkeypatch.setattr(memory, "free_bytes", lambda like: FREE)


@pytest.mark.parametrize(
    ("name", "changes", "what"),
    [
        ("CDO", {"reference": 2}, "CDO with distinct rows of x"),
        ("CDO", {"reference": 2, "bandwidth_x": None}, "the selection of CDO"),
        ("CDO", {"reference": 100_000, "bandwidth_y": None}, "CDO's reference"),
        ("GaussianProcess", {}, "a Gaussian process with distinct x"),
        ("GaussianProcess", {"noise_std": None}, "the marginal likelihood"),
        ("KEF", {"n_basis": 25}, "KEF with basis points"),
        ("LSCDE", {}, "LSCDE's basis at rows"),
        ("EpsilonKDE", {"radius": None}, "distances between"),
    ],
)
def test_a_fit_is_refused(name, changes, what, pairs, little):
    X, Y = pairs
    model = estimator_class(name)(**QUICK[name] | changes)
    with pytest.raises(memory.InsufficientMemory, match=f"^{what}.* of n = .* the largest n that"):
        model.fit(X[:, :0] if model.tags.unconditional else X, Y)
