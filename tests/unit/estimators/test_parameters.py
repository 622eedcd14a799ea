"""Parameters that make no sense are refused, and named."""

import numpy as np
import pandas as pd
import pytest

import kcde

WRONG = [
    (kcde.Defensive, {"weight": 1.0}),
    (kcde.Defensive, {"base_std": 0.0}),
    (kcde.Defensive, {"estimator": kcde.Standardised(kcde.LSCDE(0.5, 0.3, 0.1))}),
    (kcde.EpsilonKDE, {"radius": -0.1}),
    (kcde.EpsilonKDE, {"min_neighbours": 31}),
    (kcde.EpsilonKDE, {"min_neighbours": 28}),
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
    (kcde.LikelihoodKCEF, {"base": "cauchy"}),
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
    (kcde.NGBoost, {"patience": 0}),
    (kcde.NGBoost, {"learning_rate": -1.0}),
    (kcde.QuantileForest, {"trees": 0}),
    (kcde.ResidualKDE, {"bandwidth_y": -1.0}),
    (kcde.SmoothedCME, {"smoothing": [0.3, 0.3]}),
    (kcde.SmoothedJDL, {"regularization": 0.0}),
]


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
