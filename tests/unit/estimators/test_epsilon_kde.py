import numpy as np
import pytest
from sklearn.neighbors import KernelDensity

from kcde.estimators import EpsilonKDE
from naive import epsilon_kde_density


@pytest.mark.parametrize("radius", [0.05, 0.6])
def test_density_equals_a_naive_loop(pairs, radius):
    X, Y = pairs
    model = EpsilonKDE(radius, 0.3).fit(X, Y)
    points = list(zip(X[:6] + 0.1, Y[:6], strict=True))
    expected = [epsilon_kde_density(x, y, X, Y, radius, 0.3, 5) for x, y in points]
    found = np.exp(model.log_density(X[:6] + 0.1, Y[:6]))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_radius_over_everything_is_scikit_learns_density(pairs):
    X, Y = pairs
    found = EpsilonKDE(100.0, 0.3).fit(X, Y).log_density(X, Y)
    np.testing.assert_allclose(found, KernelDensity(bandwidth=0.3).fit(Y).score_samples(Y))


def test_selection_takes_the_best_of_the_declared_grid(pairs):
    model = EpsilonKDE().fit(*pairs)
    score = model.cv_results_["score"]
    i, j = np.unravel_index(np.argmax(score), (4, 10))
    assert (model.radius_, model.bandwidth_y_[0]) == (
        model.cv_results_["radius"][i],
        model.cv_results_["bandwidth_y"][j, 0],
    )
    assert score.min() < score.max()


@pytest.mark.parametrize(
    ("name", "value"), [("radius", -0.1), ("min_neighbours", 31), ("min_neighbours", 28)]
)
def test_bad_hyperparameters_are_named(pairs, name, value):
    with pytest.raises(ValueError, match=name):
        EpsilonKDE(**{name: value}).fit(*pairs)
