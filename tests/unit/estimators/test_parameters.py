"""Parameters that make no sense, and fits that do not fit into memory, are refused, and named."""

import numpy as np
import pandas as pd
import pytest

import kcde
from contracted import QUICK
from kcde import memory
from kcde.estimators import estimator_class

WRONG = [
    (kcde.CDO, {"bandwidth_x": 0.0}),
    (kcde.CDO, {"bandwidth_y": [1.0, 1.0]}),
    (kcde.CDO, {"regularization": -1.0}),
    (kcde.CDO, {"kernel_x": "cauchy"}),
    (kcde.CDO, {"reference": 1}),
    (kcde.CDO, {"reference_box": (2.0, -2.0)}),
    (kcde.CDO, {"reference_box": 3.0}),
    (kcde.CDO, {"tuning_rows": 1}),
    (kcde.CME, {"constrained": "tightened"}),
    (kcde.DDE, {"iterations": 0}),
    (kcde.DDE, {"sampler_layers": 1}),
    (kcde.DDE, {"learning_rate": -1.0}),
    (kcde.DDE, {"regularization": -1.0}),
    (kcde.DDE, {"validation": 1.0}),
    (kcde.DDE, {"base": "flat"}),
    (kcde.DDE, {"basis": "functional"}),
    (kcde.DDE, {"density_weight": 0.0}),
    (kcde.DDE, {"bandwidth_x": [1.0, 1.0, 1.0]}),
    (kcde.Defensive, {"weight": 1.0}),
    (kcde.Defensive, {"base_std": 0.0}),
    (kcde.Defensive, {"estimator": kcde.Standardised(kcde.LSCDE(0.5, 0.3, 0.1))}),
    (kcde.EpsilonKDE, {"radius": -0.1}),
    (kcde.EpsilonKDE, {"min_neighbours": 31}),
    (kcde.EpsilonKDE, {"min_neighbours": 28}),
    (kcde.GaussianProcess, {"kernel": "rbf"}),
    (kcde.GaussianProcess, {"bandwidth_x": [1.0, 1.0, 1.0]}),
    (kcde.GaussianProcess, {"signal_std": 0.0}),
    (kcde.GaussianProcess, {"tuning_rows": 1}),
    (kcde.JDL, {"tolerance": 1.0}),
    (kcde.JDL, {"regularization": 0.0}),
    (kcde.JDL, {"bandwidth_y": [1.0, 1.0, 1.0]}),
    (kcde.JDL, {"constrained": "often"}),
    (kcde.JPDL, {"degree": 2.5}),
    (kcde.JPDL, {"degree": 3, "constrained": True}, "even"),
    (kcde.JPDL, {"regularization": np.inf}),
    (kcde.JPDL, {"constrained": "pointwise"}),
    (kcde.JPDL, {"solver": "mosek"}),
    (kcde.KCEF, {"bandwidth_x": -1.0}),
    (kcde.KCEF, {"bandwidth_y": [1.0, 1.0]}),
    (kcde.KCEF, {"regularization": 0.0}),
    (kcde.KCEF, {"base_std": np.inf}),
    (kcde.KCEF, {"penalty": -0.1}),
    (kcde.KCEF, {"selection": "luck"}),
    (kcde.KEF, {"n_basis": 31}),
    (kcde.KEF, {"n_basis": 2.5}),
    (kcde.KEF, {"n_basis": "few"}),
    (kcde.KernelCDE, {"tuning_rows": 1}),
    (kcde.KernelCDE, {"bandwidth_x": [1.0, 2.0, 3.0]}),
    (kcde.LikelihoodKCEF, {"weight": 0.0}),
    (kcde.LikelihoodKCEF, {"rank_x": 0}),
    (kcde.LikelihoodKCEF, {"base_std": -1.0}),
    (kcde.LikelihoodKCEF, {"tuning_rows": 2.5}),
    (kcde.LinearGaussian, {"regularization": 0.0}),
    (kcde.LSCDE, {"bandwidth_x": 0.0}),
    (kcde.LSCDE, {"regularization": -1.0}),
    (kcde.LSCDE, {"n_centres": 0}),
    (kcde.LSCDE, {"n_centres": 2, "implementation": "cde"}),
    (kcde.LSCDE, {"density_floor": 0.0}),
    (kcde.LSCDE, {"density_floor": 1e-16, "weights": "signed"}),
    (kcde.LSCDE, {"weights": "none"}),
    (kcde.LSCDE, {"isotropic": False, "implementation": "cde"}),
    (kcde.MarginalKDE, {"tuning_rows": 0}),
    (kcde.NADE, {"components": 1.5}),
    (kcde.NADE, {"epochs": [10, 0.5]}),
    (kcde.NADE, {"epochs": [10, 20], "components": 2}, "hidden_units"),
    (kcde.NADE, {"early_stopping": False}),
    (kcde.NADE, {"learning_rate": -1.0}),
    (kcde.NADE, {"folds": 1}),
    (kcde.NGBoost, {"patience": 0}),
    (kcde.NGBoost, {"learning_rate": -1.0}),
    (kcde.QuantileForest, {"trees": 0}),
    (kcde.ResidualKDE, {"bandwidth_y": -1.0}),
    (kcde.SmoothedCME, {"smoothing": [0.3, 0.3]}),
    (kcde.SmoothedCME, {"regularization": -1.0}),
    (kcde.SmoothedJDL, {"smoothing": 0.0}),
    (kcde.SmoothedJDL, {"regularization": 0.0}),
]


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_parameter_is_named(case, pairs):
    (kind, options, *other), (X, Y) = case, pairs
    model = kind(**options)
    with pytest.raises(ValueError, match=(*other, *options)[0]):
        model.fit(X[:, :0] if model.tags.unconditional else X, Y)


def test_one_dimension_of_x_is_named_a_row_or_a_column_by_the_columns_of_the_fit(pairs):
    X, Y = pairs
    for columns, hint in ((X, r"X\[None, :\]"), (X[:, :1], r"X\[:, None\]")):
        model = kcde.LinearGaussian(0.01).fit(columns, Y)
        with pytest.raises(ValueError, match=hint):
            model.mean(X[0])
    with pytest.raises(ValueError, match="to_frame"):
        model.mean(pd.Series(X[:, 0]))


def test_probabilities_of_two_dimensions_are_named(pairs):
    with pytest.raises(ValueError, match="vector"):
        kcde.LinearGaussian(0.01).fit(*pairs).quantile(pairs[0], [[0.1, 0.9]])


def test_y_that_leaves_nothing_to_estimate_is_refused(pairs):
    X, Y = pairs
    for kind in (kcde.LikelihoodKCEF, kcde.NGBoost, kcde.QuantileForest):
        with pytest.raises(ValueError, match="one y"):
            kind().fit(X, np.hstack([Y, Y**2]))
    with pytest.raises(ValueError, match="linear"):
        kcde.LinearGaussian(1e-300).fit([[0.0], [0.0], [1.0], [1.0]], [0.0, 0.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="more trees"):
        kcde.QuantileForest(trees=1, random_state=1).fit(X[:2], Y[:2])


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
