"""QuantileForest and NGBoost: what stands around the libraries, and what happens without them."""

import sys

import numpy as np
import pytest
from ngboost import NGBRegressor
from scipy.stats import norm
from sklearn.tree import DecisionTreeRegressor

from contracted import some_pairs
from kcde.estimators import NGBoost, QuantileForest
from kcde.seeding import rng_of, seed_of
from kcde.selection import kfold


def weights_by_hand(forest, X, x, trees):
    """Meinshausen's equation 5, tree by tree, over the rows of each bootstrap sample."""
    found = np.zeros(len(X))
    for t in trees:
        tree, drawn = forest.estimators_[t], np.asarray(forest.estimators_samples_[t])
        leaves = tree.apply(np.vstack([X[drawn], x]).astype(np.float32))
        inside = drawn[leaves[:-1] == leaves[-1]]
        np.add.at(found, inside, 1.0 / len(inside))
    return found / len(trees)


def test_weights_are_those_of_the_paper_and_their_mean_that_of_the_library(rng):
    X, Y = some_pairs(rng, 30)
    model = QuantileForest(3, 0.2, trees=8).fit(X, Y)
    forest = model._grown(X, Y, 3)
    new = rng.normal(size=(4, 2))
    expected = [weights_by_hand(forest, X, x, range(8)) for x in new]
    np.testing.assert_allclose(model.weights_at(new), expected)
    mixed = expected @ norm.pdf(0.3, Y.T, 0.2).T
    np.testing.assert_allclose(np.exp(model.log_density_at([[0.3]])(new)), mixed)
    # A regression forest predicts the mean of the leaves of its trees.
    leaves = np.mean([tree.predict(new) for tree in forest.estimators_], axis=0)
    np.testing.assert_allclose(model.mean(new)[:, 0], leaves)


def test_leaves_and_bandwidth_have_the_largest_out_of_bag_likelihood(rng):
    X, Y = some_pairs(rng, 24)
    model = QuantileForest(trees=8).fit(X, Y)
    score, forest = model.cv_results_["score"], model._grown(X, Y, model.min_samples_leaf_)
    i, j = np.unravel_index(np.argmax(score), score.shape)
    assert model.min_samples_leaf_ == model.cv_results_["min_samples_leaf"][i]
    assert model.bandwidth_y_ == pytest.approx(model.cv_results_["factor"][j] * Y.std())
    logs = []
    for row in range(24):
        unseen = [t for t in range(8) if row not in forest.estimators_samples_[t]]
        if unseen:
            weights = weights_by_hand(forest, X, X[row], unseen)
            assert weights[row] == 0.0
            logs.append(np.log(weights @ norm.pdf(Y[row, 0], Y[:, 0], model.bandwidth_y_)))
    assert score[i, j] == pytest.approx(np.mean(logs))


def test_boosting_is_the_librarys_of_standardised_y(rng):
    X, Y = some_pairs(rng, 80)
    model = NGBoost(stages=25).fit(X, 100.0 * Y + 7.0)
    seed = seed_of("boosting", 0) % 2**32
    tree = DecisionTreeRegressor(max_depth=3, random_state=seed)
    plain = NGBRegressor(Base=tree, n_estimators=25, learning_rate=0.05, verbose=False)
    found = plain.fit(X, (Y[:, 0] - Y.mean()) / Y.std()).pred_dist(X)
    location = 100.0 * (Y.mean() + Y.std() * found.loc) + 7.0
    expected = norm.logpdf(100.0 * Y[:, 0] + 7.0, location, 100.0 * Y.std() * found.scale)
    np.testing.assert_allclose(model.log_density(X, 100.0 * Y + 7.0), expected, rtol=1e-6)


def test_stages_have_the_largest_likelihood_of_a_held_out_fifth(rng):
    X, Y = some_pairs(rng, 80)
    model = NGBoost(max_stages=60, patience=60, learning_rate=0.1).fit(X, Y)
    score = model.cv_results_["score"]
    assert score.shape == (60,)
    assert model.stages_ == np.argmax(score) + 1
    assert 1 < model.stages_ < 60
    held = kfold(80, 5, rng_of("selection", 0))[0]
    rest = np.setdiff1d(np.arange(80), held)
    z = (Y - Y.mean()) / Y.std()
    # Standardised again by the rest, as each fit does: its own stages are those of z but for that.
    part = NGBoost(stages=model.stages_, learning_rate=0.1).fit(X[rest], z[rest])
    assert part.score(X[held], z[held]) == pytest.approx(score.max(), abs=1e-6)


@pytest.mark.parametrize(
    ("model", "library"), [(QuantileForest(), "quantile_forest"), (NGBoost(), "ngboost")]
)
def test_without_the_library_the_remedy_is_named(model, library, rng, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=r"kcde\[trees\]"):
        model.fit(*some_pairs(rng, 80))
