import gc
import tracemalloc

import numpy as np
import pytest

from kcde.estimators import LSCDE
from kcde.estimators.lscde import BANDWIDTHS
from kcde.selection import complement
from naive import lscde_density, lscde_weights


def test_weights_and_density_equal_a_naive_loop(pairs):
    X, Y = pairs
    model = LSCDE(0.6, 0.5, 1e-3, n_centres=12).fit(X, Y)
    U, V = model.centres_x_, model.centres_y_
    alpha = lscde_weights(X, Y, U, V, 0.6, 0.5, 1e-3)
    np.testing.assert_allclose(model.weights_, alpha, atol=1e-8)
    assert (alpha == 0).any()
    density = np.exp(model.log_density(X[:4], Y[:4] + 0.1))
    expected = [
        lscde_density(x, y, U, V, 0.6, 0.5, alpha) for x, y in zip(X[:4], Y[:4] + 0.1, strict=True)
    ]
    np.testing.assert_allclose(density, expected, rtol=1e-6)


@pytest.mark.parametrize("selection", ["likelihood", "squared-error"])
def test_selection_equals_refitting_every_fold(pairs, selection):
    """The path's score at one candidate, by fitting each fold with the same centres."""
    X, Y = pairs
    model = LSCDE(selection=selection, n_centres=10, random_state=4).fit(X, Y)
    score = model.cv_results_["score"]
    i, j = 8, 12
    sigma, lam = model.cv_results_["bandwidth"][i], model.cv_results_["regularization"][j]
    U, V = model.centres_x_, model.centres_y_
    total = 0.0
    for held_out in _folds(model, len(X)):
        rows = complement(held_out, len(X))
        alpha = lscde_weights(X[rows], Y[rows], U, V, sigma, sigma, lam)
        if selection == "likelihood":
            pairs_out = zip(X[held_out], Y[held_out], strict=True)
            total += sum(
                np.log(lscde_density(x, y, U, V, sigma, sigma, alpha)) for x, y in pairs_out
            )
        else:
            total -= len(held_out) * _squared_error(X[held_out], Y[held_out], U, V, sigma, alpha)
    assert score[i, j] == pytest.approx(total, rel=1e-5)
    assert (
        np.nanmax(score)
        == score[
            np.flatnonzero(model.cv_results_["bandwidth"] == model.bandwidth_x_[0])[0],
            np.flatnonzero(model.cv_results_["regularization"] == model.regularization_)[0],
        ]
    )


def test_no_other_bandwidth_of_one_column_is_better(rng):
    """Nor another λ, by fits with given bandwidths; and together they are better than one σ."""
    X = rng.normal(size=(60, 2))
    Y = 2.0 * np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(60, 1))  # x_2 tells nothing
    model = LSCDE(n_centres=15, isotropic=False).fit(X, Y)

    def scores(bandwidths):
        """Return λ to its score."""
        found = LSCDE(bandwidths[:2], bandwidths[2:], n_centres=15).fit(X, Y).cv_results_
        return dict(zip(found["regularization"], found["score"][0], strict=True))

    own = np.append(model.bandwidth_x_, model.bandwidth_y_)
    chosen = scores(own)
    assert max(chosen, key=chosen.get) == model.regularization_
    for column in range(3):
        for sigma in BANDWIDTHS:
            other = own.copy()
            other[column] = sigma
            at = model.regularization_
            assert not scores(other)[at] > chosen[at]
    one = LSCDE(n_centres=15).fit(X, Y)
    assert one.bandwidth_x_[0] == one.bandwidth_x_[1] == one.bandwidth_y_[0]
    assert max(chosen.values()) > np.nanmax(one.cv_results_["score"]) + 5.0
    assert model.bandwidth_x_[1] > 5.0 * model.bandwidth_x_[0]


def test_a_given_bandwidth_is_not_chosen_again(pairs):
    model = LSCDE(bandwidth_x=0.7, n_centres=10, isotropic=False).fit(*pairs)
    assert set(model.bandwidth_x_) == {0.7}
    assert model.bandwidth_y_[0] in BANDWIDTHS


def _folds(model, n):
    from kcde.seeding import rng_of
    from kcde.selection import kfold

    rng = rng_of("selection", model.random_state)
    rng.permutation(n)
    return kfold(n, model.folds, rng)


def _squared_error(X, Y, U, V, sigma, alpha):
    y = np.linspace(-15, 15, 6001)[:, None]
    bumps = np.exp(-((y - V[:, 0]) ** 2) / (2 * sigma**2))
    phi_x = np.exp(-((X[:, None] - U) ** 2).sum(axis=2) / (2 * sigma**2))
    square = np.mean([np.trapezoid((bumps @ (alpha * row)) ** 2, y[:, 0]) for row in phi_x])
    at_data = np.exp(-((Y - V[:, 0]) ** 2) / (2 * sigma**2)) * phi_x @ alpha
    return 0.5 * square - at_data.mean()


def test_selection_holds_one_basis_at_a_time(rng):
    """A basis has four matrices of rows by centres; twenty candidates have twenty bases."""
    X, Y = rng.standard_normal((2000, 1)), rng.standard_normal((2000, 1))
    model = LSCDE(n_centres=50, density_floor=2.2e-16)
    gc.disable()
    tracemalloc.start()
    try:
        model.fit(X, Y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.enable()
    assert peak < 16 * 2000 * 50 * 8


def test_far_from_all_centres_the_density_stays_normalised(pairs):
    model = LSCDE(0.3, 0.3, 0.1).fit(*pairs)
    far = np.full((1, 2), 80.0)
    y = np.linspace(-8, 8, 4001)[:, None]
    assert np.trapezoid(np.exp(model.log_density_at(y)(far))[0], y[:, 0]) == pytest.approx(1.0)


def test_selection_is_not_misled_where_every_basis_function_underflows(rng):
    """With x of eleven dimensions, φ underflows at small σ, and 0/0 must not count as 1."""
    X, Y = rng.standard_normal((20, 11)), rng.standard_normal((20, 1))
    model = LSCDE().fit(X, Y)
    assert model.bandwidth_x_[0] > 0.2
    assert -3.0 < model.score(rng.standard_normal((20, 11)), rng.standard_normal((20, 1))) < 0.0


def test_density_floor_is_that_of_the_authors_code(pairs):
    """log(p/max(ε, normaliser) + ε): the loss of a point is bounded by -log ε."""
    X, Y = pairs
    eps = 2.0**-52
    plain = LSCDE(0.3, 0.3, 0.1).fit(X, Y)
    floored = LSCDE(0.3, 0.3, 0.1, density_floor=eps).fit(X, Y)
    expected = np.log(np.exp(plain.log_density(X, Y)) + eps)
    np.testing.assert_allclose(floored.log_density(X, Y), expected, rtol=1e-9)
    far = np.full((1, 2), 80.0)
    np.testing.assert_allclose(floored.log_density(far, Y[:1]), np.log(eps))
    shared = floored.log_density_at(Y[:4])(X[:4])
    np.testing.assert_allclose(np.diagonal(shared), expected[:4], rtol=1e-9)


def test_selection_under_a_floor_equals_refitting_every_fold(pairs):
    X, Y = pairs
    eps = 2.0**-52
    model = LSCDE(n_centres=10, density_floor=eps).fit(X, Y)
    i, j, total = 2, 12, 0.0
    sigma, lam = model.cv_results_["bandwidth"][i], model.cv_results_["regularization"][j]
    U, V = model.centres_x_, model.centres_y_
    for held_out in _folds(model, len(X)):
        rows = complement(held_out, len(X))
        alpha = lscde_weights(X[rows], Y[rows], U, V, sigma, sigma, lam)
        phi_x = np.exp(-((X[held_out][:, None] - U) ** 2).sum(axis=2) / (2 * sigma**2))
        phi_y = np.exp(-((Y[held_out] - V[:, 0]) ** 2) / (2 * sigma**2))
        normaliser = np.maximum(eps, np.sqrt(2 * np.pi) * sigma * phi_x @ alpha)
        total += np.log((phi_x * phi_y) @ alpha / normaliser + eps).sum()
    assert model.cv_results_["score"][i, j] == pytest.approx(total, rel=1e-5)


def test_weights_that_are_all_negative_are_an_error(rng, monkeypatch):
    import kcde.estimators.lscde as module

    solve = module.solve_positive_definite
    monkeypatch.setattr(
        module,
        "solve_positive_definite",
        lambda *a, **k: solve(*a, **k)._replace(x=-np.ones(10)),
    )
    with pytest.raises(np.linalg.LinAlgError, match=r"every weight .* is negative"):
        LSCDE(1.0, 1.0, 1.0).fit(rng.standard_normal((10, 1)), rng.standard_normal((10, 1)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bandwidth_x": 0.0}, "bandwidth_x must be positive"),
        ({"bandwidth_y": [1.0, 1.0]}, r"bandwidth_y must be .* shape \(1,\)"),
        ({"regularization": -1.0}, "regularization must be a positive number"),
        ({"n_centres": 0}, "n_centres must be at least 1"),
        ({"density_floor": 0.0}, "density_floor must be a positive number"),
        ({"selection": "luck"}, "selection must be one of"),
        ({"isotropic": False, "implementation": "cde"}, "one bandwidth for all columns"),
    ],
)
def test_bad_hyperparameters_are_named(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        LSCDE(**options).fit(*pairs)


def test_moments_without_a_fold_are_those_of_the_other_rows(pairs):
    X, Y = pairs
    basis = LSCDE(0.5, 0.3, 0.1).fit(X, Y)._basis(X, Y)
    folds = np.array_split(np.random.default_rng(0).permutation(len(X)), 4)
    for fold, found in zip(folds, basis.moments_without(folds), strict=True):
        expected = basis.moments(np.setdiff1d(np.arange(len(X)), fold))
        for each, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(each, other, rtol=1e-12)
