"""Parameters that make no sense are refused, and named."""

import numpy as np
import pytest

from kcde.estimators import (
    KCEF,
    KEF,
    LSCDE,
    Defensive,
    EpsilonKDE,
    KernelCDE,
    LikelihoodKCEF,
    LinearGaussian,
    MarginalKDE,
    NGBoost,
    QuantileForest,
    ResidualKDE,
    Standardised,
)

WRONG = [
    (Defensive, {"weight": 1.0}),
    (Defensive, {"base_std": 0.0}),
    (Defensive, {"estimator": Standardised(LSCDE(0.5, 0.3, 0.1))}),
    (EpsilonKDE, {"radius": -0.1}),
    (EpsilonKDE, {"min_neighbours": 31}),
    (EpsilonKDE, {"min_neighbours": 28}),
    (KCEF, {"bandwidth_x": -1.0}),
    (KCEF, {"bandwidth_y": [1.0, 1.0]}),
    (KCEF, {"regularization": 0.0}),
    (KCEF, {"base_std": np.inf}),
    (KCEF, {"penalty": -0.1}),
    (KCEF, {"selection": "luck"}),
    (KEF, {"n_basis": 31}),
    (KEF, {"n_basis": 2.5}),
    (KEF, {"n_basis": "few"}),
    (KernelCDE, {"tuning_rows": 1}),
    (KernelCDE, {"bandwidth_x": [1.0, 2.0, 3.0]}),
    (LikelihoodKCEF, {"weight": 0.0}),
    (LikelihoodKCEF, {"rank_x": 0}),
    (LikelihoodKCEF, {"base": "cauchy"}),
    (LikelihoodKCEF, {"base_std": -1.0}),
    (LikelihoodKCEF, {"tuning_rows": 2.5}),
    (LinearGaussian, {"regularization": 0.0}),
    (LSCDE, {"bandwidth_x": 0.0}),
    (LSCDE, {"regularization": -1.0}),
    (LSCDE, {"n_centres": 0}),
    (LSCDE, {"n_centres": 2, "implementation": "cde"}),
    (LSCDE, {"density_floor": 0.0}),
    (LSCDE, {"density_floor": 1e-16, "weights": "signed"}),
    (LSCDE, {"weights": "none"}),
    (LSCDE, {"isotropic": False, "implementation": "cde"}),
    (MarginalKDE, {"tuning_rows": 0}),
    (NGBoost, {"patience": 0}),
    (NGBoost, {"learning_rate": -1.0}),
    (QuantileForest, {"trees": 0}),
    (ResidualKDE, {"bandwidth_y": -1.0}),
]


@pytest.mark.parametrize(("kind", "options"), WRONG)
def test_a_wrong_parameter_is_named(kind, options, pairs):
    X, Y = pairs
    model = kind(**options)
    with pytest.raises(ValueError, match=next(iter(options))):
        model.fit(X[:, :0] if model.tags.unconditional else X, Y)


def test_y_that_leaves_nothing_to_estimate_is_refused(pairs):
    X, Y = pairs
    for kind in (LikelihoodKCEF, NGBoost, QuantileForest):
        with pytest.raises(ValueError, match="one y"):
            kind().fit(X, np.hstack([Y, Y**2]))
    with pytest.raises(ValueError, match="linear"):
        LinearGaussian(1e-300).fit([[0.0], [0.0], [1.0], [1.0]], [0.0, 0.0, 2.0, 2.0])
    with pytest.raises(ValueError, match="more trees"):
        QuantileForest(trees=1, random_state=1).fit(X[:2], Y[:2])
