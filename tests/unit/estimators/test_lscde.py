"""LSCDE as published, without clipping, and as the package `cde` has it: against loops."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kcde.estimators import LSCDE
from kcde.estimators.lscde import BANDWIDTHS
from kcde.seeding import rng_of
from kcde.selection import complement, kfold

EPSILON = 2.0**-52
GIVEN = {"bandwidth_x": 0.6, "bandwidth_y": 0.5, "regularization": 1e-3, "n_centres": 20}
PACKAGE = {**GIVEN, "bandwidth_y": 0.6, "n_centres": 12, "implementation": "cde"}
WEIGHTS = ("clipped", "signed", "constrained", "projected")


def bumps(points, centres, sigma):
    return np.exp(-0.5 * ((points[:, None] - centres) ** 2).sum(axis=2) / sigma**2)


def wide_axis(V, sigma):
    return np.linspace(V.min() - 12 * sigma, V.max() + 12 * sigma, 4001)[:, None]


def system(X, Y, U, V, sigma_x, sigma_y):
    """H, by numerical integration over y, and h of the paper."""
    phi_x, y = bumps(X, U, sigma_x), wide_axis(V, sigma_y)
    curves = bumps(y, V, sigma_y)
    H = curves.T @ curves * (y[1] - y[0]) * (phi_x.T @ phi_x) / len(X)
    return H, (phi_x * bumps(Y, V, sigma_y)).mean(axis=0)


def clipped(H, h, regularization):
    return np.maximum(0.0, np.linalg.solve(H + regularization * np.eye(len(h)), h))


def densities(X, Y, U, V, sigma_x, sigma_y, alpha):
    """p(y|x) of pairs, normalised by numerical integration."""
    y, weights = wide_axis(V, sigma_y), alpha * bumps(X, U, sigma_x)
    mass = np.trapezoid(weights @ bumps(y, V, sigma_y).T, y[:, 0])
    return (weights * bumps(Y, V, sigma_y)).sum(axis=1) / mass


def test_weights_and_density_equal_a_naive_loop(pairs):
    X, Y = pairs
    model = LSCDE(0.6, 0.5, 1e-3, n_centres=12).fit(X, Y)
    U, V = model.centres_x_, model.centres_y_
    alpha = clipped(*system(X, Y, U, V, 0.6, 0.5), 1e-3)
    np.testing.assert_allclose(model.weights_, alpha, atol=1e-8)
    assert (alpha == 0).any()
    at = X[:4], Y[:4] + 0.1
    expected = densities(*at, U, V, 0.6, 0.5, alpha)
    np.testing.assert_allclose(np.exp(model.log_density(*at)), expected, rtol=1e-6)


@pytest.mark.parametrize("kind", ["likelihood", "floor"])
def test_selection_equals_refitting_every_fold(pairs, kind):
    """The path's score at one candidate, by fitting each fold with the same centres."""
    X, Y = pairs
    how = {"density_floor": EPSILON} if kind == "floor" else {}
    model = LSCDE(n_centres=10, random_state=4, **how).fit(X, Y)
    rng = rng_of("selection", 4)
    rng.permutation(30)  # of the centres
    score, i, j, total = model.cv_results_["score"], 8, 12, 0.0
    sigma, lam = model.cv_results_["bandwidth"][i], model.cv_results_["regularization"][j]
    U, V = model.centres_x_, model.centres_y_
    for held in kfold(30, 5, rng):
        rows = complement(held, 30)
        alpha = clipped(*system(X[rows], Y[rows], U, V, sigma, sigma), lam)
        if kind == "likelihood":
            total += np.log(densities(X[held], Y[held], U, V, sigma, sigma, alpha)).sum()
            continue
        phi_x, phi_y = bumps(X[held], U, sigma), bumps(Y[held], V, sigma)
        normaliser = np.maximum(EPSILON, np.sqrt(2 * np.pi) * sigma * phi_x @ alpha)
        total += np.log((phi_x * phi_y) @ alpha / normaliser + EPSILON).sum()
    assert score[i, j] == pytest.approx(total, rel=1e-5)
    best = np.unravel_index(np.nanargmax(score), score.shape)
    assert model.bandwidth_x_[0] == model.cv_results_["bandwidth"][best[0]]
    assert model.regularization_ == model.cv_results_["regularization"][best[1]]


def test_no_other_bandwidth_of_one_column_is_better(rng):
    """Nor another λ, by fits with given bandwidths; and together they are better than one σ."""
    X = rng.normal(size=(60, 2))
    Y = 2.0 * np.sin(2.0 * X[:, :1]) + 0.3 * rng.normal(size=(60, 1))  # x_2 tells nothing
    model = LSCDE(n_centres=15, isotropic=False).fit(X, Y)

    def scores(bandwidths):
        found = LSCDE(bandwidths[:2], bandwidths[2:], n_centres=15).fit(X, Y).cv_results_
        return dict(zip(found["regularization"], found["score"][0], strict=True))

    own = np.append(model.bandwidth_x_, model.bandwidth_y_)
    chosen, at = scores(own), model.regularization_
    assert max(chosen, key=chosen.get) == at
    for column in range(3):
        for sigma in BANDWIDTHS[::2]:
            other = np.where(np.arange(3) == column, sigma, own)
            assert not scores(other)[at] > chosen[at]
    one = LSCDE(n_centres=15).fit(X, Y)
    assert max(chosen.values()) > np.nanmax(one.cv_results_["score"]) + 5.0
    assert model.bandwidth_x_[1] > 5.0 * model.bandwidth_x_[0]


def test_selection_is_not_misled_where_every_basis_function_underflows(rng):
    """With x of eleven dimensions, φ underflows at small σ, and 0/0 must not count as 1."""
    X, Y = rng.standard_normal((40, 11)), rng.standard_normal((40, 1))
    model = LSCDE().fit(X[:20], Y[:20])
    assert model.bandwidth_x_[0] > 0.2
    assert -3.0 < model.score(X[20:], Y[20:]) < 0.0


def test_density_floor_is_that_of_the_authors_code(pairs):
    """log(p/max(ε, normaliser) + ε): the loss of a point is bounded by -log ε."""
    X, Y = pairs
    plain = LSCDE(0.3, 0.3, 0.1).fit(X, Y)
    floored = LSCDE(0.3, 0.3, 0.1, density_floor=EPSILON).fit(X, Y)
    expected = np.log(np.exp(plain.log_density(X, Y)) + EPSILON)
    np.testing.assert_allclose(floored.log_density(X, Y), expected, rtol=1e-9)
    far = np.full((1, 2), 80.0)
    np.testing.assert_allclose(floored.log_density(far, Y[:1]), np.log(EPSILON))
    shared = floored.log_density_at(Y[:4])(X[:4])
    np.testing.assert_allclose(np.diagonal(shared), expected[:4], rtol=1e-9)


def test_each_kind_of_weights_solves_its_problem(pairs):
    X, Y = pairs
    fits = {name: LSCDE(**GIVEN, weights=name).fit(X, Y) for name in WEIGHTS}
    alpha = {name: model.weights_ for name, model in fits.items()}
    H, h = system(X, Y, fits["signed"].centres_x_, fits["signed"].centres_y_, 0.6, 0.5)
    shifted = H + 1e-3 * np.eye(20)
    free = np.linalg.solve(shifted, h)
    assert (free < 0).any()
    np.testing.assert_allclose(alpha["signed"], free, rtol=1e-6)
    np.testing.assert_allclose(alpha["clipped"], np.maximum(free, 0.0), rtol=1e-6)
    for name, gradient in (
        ("constrained", shifted @ alpha["constrained"] - h),
        ("projected", H @ (alpha["projected"] - free)),
    ):
        # The Karush-Kuhn-Tucker conditions decide, for a convex problem.
        assert (alpha[name] >= 0.0).all()
        assert gradient.min() > -1e-7
        assert np.abs(gradient[alpha[name] > 0.0]).max() < 1e-7


def package(X, Y, U, V, sigma, regularization):
    """H + λI and h of the package."""
    a = cdist(U, X).mean(axis=1)
    eta = 2 * (a[:, None] + a) + cdist(V, V)
    H = (np.sqrt(np.pi) * sigma) ** Y.shape[1] * np.exp(-eta / (5 * sigma**2))
    squares = cdist(U, X, "sqeuclidean") + cdist(V, Y, "sqeuclidean")
    h = np.exp(-squares / (2 * sigma**2)).mean(axis=1)
    return H + regularization * np.eye(len(U)), h


@pytest.mark.parametrize("columns", [1, 2])
def test_the_weights_of_the_package_and_of_its_folds_are_those_of_the_formula(pairs, columns):
    X, Y = pairs[0], np.hstack([pairs[1], pairs[1] ** 2])[:, :columns]
    model = LSCDE(**PACKAGE).fit(X, Y)
    U, V = model.centres_x_, model.centres_y_
    free = np.linalg.solve(*package(X, Y, U, V, 0.6, 1e-3))
    assert (free < 0).any()
    np.testing.assert_allclose(model.weights_, np.maximum(free, 0.0), rtol=1e-6, atol=1e-9)
    basis, folds = model._basis(X, Y), np.array_split(np.arange(30), 2)
    (moments, _), rows = basis.moments_without(folds), folds[1]
    path = np.array([1e-3, 0.1])
    for column, lam in zip(basis.weight_path(moments, path).T, path, strict=True):
        expected = np.linalg.solve(*package(X[rows], Y[rows], U, V, 0.6, lam))
        np.testing.assert_allclose(column, np.maximum(expected, 0.0), rtol=1e-6, atol=1e-9)


def test_centres_of_the_package_are_two_rows_and_means_of_clusters(pairs):
    model = LSCDE(**PACKAGE).fit(*pairs)
    rows, found = np.hstack(pairs), np.hstack([model.centres_x_, model.centres_y_])
    assert found.shape == (12, 3)
    order = np.argsort(np.linalg.norm(rows - rows.mean(axis=0), axis=1))
    np.testing.assert_array_equal(found[:2], rows[order[[0, -1]]])
    rest, clusters = np.delete(rows, order[[0, -1]], axis=0), found[2:]
    nearest = np.linalg.norm(rest[:, None] - clusters, axis=2).argmin(axis=1)
    for k, centre in enumerate(clusters):  # Lloyd's fixed point
        np.testing.assert_allclose(rest[nearest == k].mean(axis=0), centre, atol=1e-3)
