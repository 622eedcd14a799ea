"""LSCDE as the Python package `cde` has it, against its formulas in loops."""

import numpy as np
import pytest

from kcde.arrays import to_numpy
from kcde.estimators import LSCDE

GIVEN = {"bandwidth_x": 0.6, "bandwidth_y": 0.6, "regularization": 1e-3, "n_centres": 12}
PACKAGE = GIVEN | {"implementation": "cde"}


def package(X, Y, U, V, sigma, regularization):
    """H + λI and h, in plain loops over centres and rows."""
    b, n, d_y = len(U), len(X), Y.shape[1]
    a = [np.mean([np.sqrt(np.sum((x - u) ** 2)) for x in X]) for u in U]
    H, h = np.zeros((b, b)), np.zeros(b)
    for k in range(b):
        for m in range(b):
            between = np.sqrt(np.sum((V[k] - V[m]) ** 2))
            eta = 2 * (a[k] + a[m]) + between
            H[k, m] = (np.sqrt(np.pi) * sigma) ** d_y * np.exp(-eta / (5 * sigma**2))
        for i in range(n):
            square = np.sum((X[i] - U[k]) ** 2) + np.sum((Y[i] - V[k]) ** 2)
            h[k] += np.exp(-square / (2 * sigma**2)) / n
    return H + regularization * np.eye(b), h


@pytest.mark.parametrize("columns", [1, 2])
def test_weights_equal_a_naive_loop(pairs, columns):
    X, Y = pairs
    Y = np.hstack([Y, Y**2])[:, :columns]
    model = LSCDE(**PACKAGE).fit(X, Y)
    U, V = model.centres_x_, model.centres_y_
    shifted, h = package(X, Y, U, V, 0.6, 1e-3)
    free = np.linalg.solve(shifted, h)
    assert (free < 0).any()
    np.testing.assert_allclose(model.weights_, np.maximum(free, 0.0), rtol=1e-6, atol=1e-9)
    signed = LSCDE(**PACKAGE, weights="signed").fit(X, Y)
    np.testing.assert_allclose(signed.weights_, free, rtol=1e-6)


def test_a_constrained_solution_minimises_its_objective(pairs):
    X, Y = pairs
    model = LSCDE(**PACKAGE, weights="constrained").fit(X, Y)
    shifted, h = package(X, Y, model.centres_x_, model.centres_y_, 0.6, 1e-3)
    gradient = shifted @ model.weights_ - h
    assert gradient.min() > -1e-7
    assert np.abs(gradient[model.weights_ > 0.0]).max() < 1e-7


def test_centres_are_two_rows_and_means_of_clusters(pairs):
    X, Y = pairs
    model = LSCDE(**PACKAGE).fit(X, Y)
    rows, found = np.hstack([X, Y]), np.hstack([model.centres_x_, model.centres_y_])
    assert found.shape == (12, 3)
    distance = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    order = np.argsort(distance)
    np.testing.assert_array_equal(found[:2], rows[order[[0, -1]]])
    rest, clusters = np.delete(rows, order[[0, -1]], axis=0), found[2:]
    nearest = np.linalg.norm(rest[:, None] - clusters, axis=2).argmin(axis=1)
    for k, centre in enumerate(clusters):  # Lloyd's fixed point
        np.testing.assert_allclose(rest[nearest == k].mean(axis=0), centre, atol=1e-3)


def test_a_path_has_the_gram_matrix_of_its_folds(pairs):
    X, Y = pairs
    model = LSCDE(**PACKAGE).fit(X, Y)
    rows = np.arange(0, len(X), 2)
    basis = model._basis(X, Y)
    found = basis.weight_path(basis.moments(rows), np.array([1e-3, 0.1]))
    for column, value in zip(found.T, (1e-3, 0.1), strict=True):
        shifted, h = package(X[rows], Y[rows], model.centres_x_, model.centres_y_, 0.6, value)
        expected = np.maximum(np.linalg.solve(shifted, h), 0.0)
        np.testing.assert_allclose(column, expected, rtol=1e-6, atol=1e-9)


def test_densities_are_normalised_and_equal_on_other_arrays(pairs, other_xp):
    X, Y = pairs
    model = LSCDE(**PACKAGE).fit(X, Y)
    y = np.linspace(-8, 8, 2001)[:, None]
    density = np.exp(model.log_density_at(y)(X[:3]))
    np.testing.assert_allclose(np.trapezoid(density, y[:, 0]), 1.0, rtol=1e-6)
    other = LSCDE(**PACKAGE).fit(other_xp.asarray(X), other_xp.asarray(Y))
    np.testing.assert_allclose(to_numpy(other.weights_), model.weights_, rtol=1e-9)


def test_rows_that_repeat_and_few_rows(rng):
    X = np.repeat(rng.standard_normal((5, 1)), 4, axis=0)
    assert LSCDE(**PACKAGE).fit(X, X**2).weights_.shape == (12,)
    few = LSCDE(**PACKAGE | {"n_centres": 50}).fit(X[:6], rng.standard_normal((6, 1)))
    assert few.centres_x_.shape == (6, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"implementation": "R"}, r"implementation must be one of \['cde', 'sugiyama'\]"),
        (PACKAGE | {"bandwidth_y": 0.5}, "one bandwidth for all columns of x and y"),
        (PACKAGE | {"n_centres": 2}, "n_centres must be at least 3; got 2"),
    ],
)
def test_bad_options_are_named(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        LSCDE(**options).fit(*pairs)
