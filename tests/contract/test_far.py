"""Far from all training rows: the density of y alone is left, or the class is known for another."""

import numpy as np
import pytest

from contracted import densities, make, some_pairs
from kcde.estimators import estimator_class

REASONS = {
    "its base density, which is wider than y": "KCEF Defensive",
    "the nearest rows": "CDO EpsilonKDE KernelCDE LSCDE NGBoost QuantileForest SmoothedCME",
    "a mean that goes on along a line": "LinearGaussian ResidualKDE",
    "what a network extrapolates": "ConditionalMAF ConditionalRealNVP NADE",
}
OTHERWISE = {name: reason for reason, names in REASONS.items() for name in names.split()}
WITH_X = [name for name in densities() if not estimator_class(name).tags.unconditional]


@pytest.mark.parametrize("name", WITH_X)
def test_far_from_all_rows_the_density_is_no_narrower_than_that_of_y_and_within_its_range(name):
    X, Y = some_pairs(np.random.default_rng(7), 60)
    directions = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [1.0, 1.0]])
    model, kept = make(name).fit(X, Y), []
    lowest, highest = np.quantile(Y, [0.05, 0.95])
    for distance in (10.0, 1e3, 1e6):
        lower, upper = model.interval(distance * directions, 0.9).T
        narrow = (upper - lower).min() < 0.95 * (highest - lowest)
        kept.append(not narrow and lower.min() > Y.min() and upper.max() < Y.max())
    assert all(kept) == (name not in OTHERWISE), OTHERWISE.get(name)
