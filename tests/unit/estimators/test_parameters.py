"""Parameters that make no sense, and fits that do not fit into memory, are refused, and named."""

import numpy as np
import pandas as pd
import pytest

import kcde
from contracted import make
from kcde import memory

PARTS = [make("LSCDE"), make("LinearGaussian")]
WRONG = [
    (kcde.CDO, {"bandwidth_x": 0.0}, {"bandwidth_y": [1.0, 1.0]}, {"regularization": -1.0}),
    (kcde.CDO, {"kernel_x": "cauchy"}, {"kernel_x": ["laplace"]}, {"bandwidth_x": "wide"}),
    (kcde.CDO, {"reference": 1}, {"reference_box": (2.0, -2.0)}, {"reference_box": 3.0}),
    (kcde.CDO, {"tuning_rows": 1}, {"folds": "five"}, {"reference_box": ("low", "high")}),
    (kcde.CME, {"constrained": "tightened"}),
    (kcde.ConditionalRealNVP, {"hidden_units": 0}, {"learning_rate": -1.0}),
    (kcde.ConditionalRealNVP, {"steps": [9, 0], "learning_rate": [0.1, 0.1]}),
    (kcde.ConditionalRealNVP, {"steps": [9, 9], "learning_rate": [0.1]}, {"candidates": [[9, 2]]}),
    (kcde.ConditionalRealNVP, {"candidates": [[9, 0, 0.1]]}, {"candidates": [(9, 2, None)]}),
    (kcde.ConditionalMAF, {"candidates": [[9, 2, 0.1]], "steps": [9, 9], "learning_rate": [1, 1]}),
    (kcde.DDE, {"iterations": 0}, {"sampler_layers": 1}, {"learning_rate": -1.0}),
    (kcde.DDE, {"regularization": -1.0}, {"validation": 1.0}, {"base": "flat"}),
    (kcde.DDE, {"basis": "functional"}, {"density_weight": 0.0}, {"bandwidth_x": [1.0, 1.0, 1.0]}),
    (kcde.Defensive, {"weight": 1.0}, {"base_std": 0.0}),
    (kcde.Defensive, {"estimator": kcde.Standardised(kcde.LSCDE(0.5, 0.3, 0.1))}),
    (kcde.EpsilonKDE, {"radius": -0.1}, {"min_neighbours": 31}, {"min_neighbours": 28}),
    (kcde.GaussianProcess, {"kernel": "rbf"}, {"bandwidth_x": [1.0, 1.0, 1.0]}),
    (kcde.GaussianProcess, {"signal_std": 0.0}, {"tuning_rows": 1}),
    (kcde.JDL, {"tolerance": 1.0}, {"regularization": 0.0}, {"bandwidth_y": [1.0, 1.0, 1.0]}),
    (kcde.JDL, {"constrained": "often"}),
    (kcde.JPDL, {"degree": 2.5}, {"degree": 3, "constrained": True}, {"regularization": np.inf}),
    (kcde.JPDL, {"constrained": "pointwise"}, {"solver": "mosek"}),
    (kcde.KCEF, {"bandwidth_x": -1.0}, {"bandwidth_y": [1.0, 1.0]}, {"regularization": 0.0}),
    (kcde.KCEF, {"base_std": np.inf}, {"penalty": -0.1}, {"selection": "luck"}),
    (kcde.KEF, {"n_basis": 31}, {"n_basis": 2.5}, {"n_basis": "few"}),
    (kcde.KernelCDE, {"tuning_rows": 1}, {"bandwidth_x": [1.0, 2.0, 3.0]}),
    (kcde.LikelihoodKCEF, {"weight": 0.0}, {"rank_x": 0}, {"base_std": -1.0}),
    (kcde.LikelihoodKCEF, {"tuning_rows": 2.5}),
    (kcde.LinearGaussian, {"regularization": 0.0}),
    (kcde.LSCDE, {"bandwidth_x": 0.0}, {"regularization": -1.0}, {"n_centres": 0}),
    (kcde.LSCDE, {"n_centres": 2, "implementation": "cde"}, {"density_floor": 0.0}),
    (kcde.LSCDE, {"density_floor": 1e-16, "weights": "signed"}, {"weights": "none"}),
    (kcde.LSCDE, {"isotropic": False, "implementation": "cde"}),
    (kcde.MarginalKDE, {"tuning_rows": 0}),
    (kcde.NADE, {"components": 1.5}, {"epochs": [10, 0.5]}, {"epochs": [10, 20], "components": 2}),
    (kcde.NADE, {"early_stopping": False}, {"learning_rate": -1.0}),
    (kcde.NADE, {"folds": 1}),
    (kcde.NGBoost, {"patience": 0}, {"learning_rate": -1.0}),
    (kcde.QuantileForest, {"trees": 0}),
    (kcde.ResidualKDE, {"bandwidth_y": -1.0}),
    (kcde.SmoothedCME, {"smoothing": [0.3, 0.3]}, {"regularization": -1.0}),
    (kcde.SmoothedJDL, {"smoothing": 0.0}, {"regularization": 0.0}),
    (kcde.Stacked, {"estimators": ()}),
]
WRONG += [(kcde.Conformal, {"share": s, "estimator": PARTS[0]}) for s in (0, 1, 0.01, [0.2, 0.3])]
WRONG += [(kcde.Stacked, {"weights": w, "estimators": PARTS}) for w in ([1], [0, 0], [2, -1])]
WRONG = [(kind, options) for kind, *each in WRONG for options in each]


@pytest.mark.parametrize(("kind", "options"), WRONG)
def test_a_wrong_parameter_is_named(kind, options, pairs):
    X, Y = pairs
    model = kind(**options)
    with pytest.raises(ValueError, match=next(iter(options))):
        model.fit(X[:, :0] if model.tags.unconditional else X, Y)


def test_one_dimension_of_x_is_named_a_row_or_a_column_by_the_columns_of_the_fit(pairs):
    X, Y = pairs
    for columns, hint in ((X, r"X\[None, :\]"), (X[:, :1], r"X\[:, None\]")):
        model = kcde.LinearGaussian(0.01).fit(columns, Y)
        with pytest.raises(ValueError, match=hint):
            model.mean(X[0])
    with pytest.raises(ValueError, match="to_frame"):
        model.mean(pd.Series(X[:, 0]))


def test_y_that_leaves_nothing_to_estimate_is_refused(pairs):
    X, Y = pairs
    for kind in (kcde.LikelihoodKCEF, kcde.NGBoost, kcde.QuantileForest):
        with pytest.raises(ValueError, match="one y"):
            kind().fit(X, np.hstack([Y, Y**2]))
    with pytest.raises(ValueError, match="linear"):
        kcde.LinearGaussian(1e-300).fit([[0.0], [0.0], [1.0], [1.0]], [0.0, 0.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="more trees"):
        kcde.QuantileForest(trees=1, random_state=1).fit(X[:2], Y[:2])


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
def test_a_fit_that_takes_too_much_memory_is_refused(name, changes, what, pairs, monkeypatch):
    X, Y = pairs
    # A kilobyte: less than any of them takes, for 30 rows.
    monkeypatch.setattr(memory, "free_bytes", lambda like: 1000)
    with pytest.raises(memory.InsufficientMemory, match=f"^{what}.* of n = .* the largest n that"):
        make(name, **changes).fit(X[:, :0] if name == "KEF" else X, Y)
