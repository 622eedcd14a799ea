"""The reference of CDO: grids, points, and (L + c)⁻² in its several forms."""

import logging

import numpy as np
import pytest
from scipy.stats import norm

from kcde.estimators._cdo.reference import Reference, make_reference
from kcde.estimators._cdo.spectrum import (
    DenseFactor,
    Spectrum,
    low_rank_spectrum,
    spectrum_of,
    squared_inverse_of,
)
from naive import gaussian_density


def gram(reference, sigma):
    z = reference.points
    return norm.pdf(z[:, None, :], z[None, :, :], sigma).prod(axis=2)


def direct(reference, sigma, V, c):
    inverse = np.linalg.inv(gram(reference, sigma) + c * np.eye(reference.size))
    return V @ inverse @ inverse


def grid(*counts):
    return Reference([np.linspace(-1.0, 1.0 + j, n)[:, None] for j, n in enumerate(counts)])


def test_a_grid_is_the_product_of_its_axes():
    reference = grid(3, 4)
    axes = [factor[:, 0] for factor in reference.factors]
    expected = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    np.testing.assert_array_equal(reference.points, expected)


@pytest.mark.parametrize("counts", [(7,), (3, 4), (2, 3, 2)])
def test_densities_equal_a_naive_loop(xp, host, rng, counts):
    reference = grid(*counts)
    sigma = np.array([0.3, 0.5, 0.9])[: len(counts)]
    Y = rng.standard_normal((5, len(counts)))
    there = Reference([xp.asarray(factor) for factor in reference.factors])
    expected = [[gaussian_density(y, z, sigma) for z in reference.points] for y in Y]
    np.testing.assert_allclose(host(there.rows(xp.asarray(Y), sigma)), expected, rtol=1e-12)


@pytest.mark.parametrize("counts", [(12,), (5, 6), (3, 4, 3)])
def test_kronecker_eigenbases_equal_the_direct_formula(xp, host, rng, counts):
    reference = grid(*counts)
    sigma = np.array([0.5, 0.8, 1.1])[: len(counts)]
    V, c = rng.standard_normal((4, reference.size)), 0.05
    there = Reference([xp.asarray(factor) for factor in reference.factors])
    found = squared_inverse_of(there, sigma, c).squared_inverse(xp.asarray(V), c)
    np.testing.assert_allclose(host(found), direct(reference, sigma, V, c), rtol=1e-8, atol=1e-8)


def test_products_of_regularised_inverses_are_something_else(rng):
    """What A.3.2 suggests at first sight: it holds without regularisation only."""
    reference, sigma, c = grid(5, 6), np.array([0.5, 0.8]), 0.05
    V = rng.standard_normal((1, 30))
    parts = [Reference([factor]) for factor in reference.factors]
    inverses = [
        np.linalg.inv(gram(part, sigma[j : j + 1]) + np.sqrt(c) * np.eye(part.size))
        for j, part in enumerate(parts)
    ]
    product = np.kron(*inverses)
    exact = direct(reference, sigma, V, c)
    assert np.linalg.norm(V @ product @ product - exact) > 0.1 * np.linalg.norm(exact)


def test_many_points_take_a_low_rank_equal_to_the_direct_formula(rng):
    reference, sigma, c = grid(700), np.array([0.1]), 3.0
    found = squared_inverse_of(reference, sigma, c)
    assert isinstance(found, Spectrum)
    assert found.vectors[0].shape[1] < 100
    # Beyond the grid as well, where l(Z, y) is not a smooth combination of columns of L.
    V = np.vstack([reference.rows(np.array([[0.2], [-0.99], [1.3]]), sigma), rng.random((1, 700))])
    expected = direct(reference, sigma, V, c)
    size = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found.squared_inverse(V, c) / size, expected / size, atol=1e-10)


def test_many_points_without_a_low_rank_are_dense(rng):
    reference, sigma = grid(600), np.array([2.0 / 599])
    found = squared_inverse_of(reference, sigma, 3.0)
    assert found.complete
    V = rng.standard_normal((2, 600))
    expected = direct(reference, sigma, V, 3.0)
    np.testing.assert_allclose(found.squared_inverse(V, 3.0), expected, rtol=1e-8, atol=1e-10)


def test_a_cholesky_factor_equals_the_direct_formula(monkeypatch, rng):
    monkeypatch.setattr("kcde.estimators._cdo.spectrum._MOST_DENSE", 550)
    reference, sigma = grid(600), np.array([2.0 / 599])
    found = squared_inverse_of(reference, sigma, 3.0)
    assert isinstance(found, DenseFactor)
    V = rng.standard_normal((2, 600))
    expected = direct(reference, sigma, V, 3.0)
    np.testing.assert_allclose(found.squared_inverse(V, 3.0), expected, rtol=1e-8, atol=1e-10)


def test_low_rank_spectrum_gives_the_gram_matrix_back():
    reference, sigma = grid(700), np.array([0.1])
    spectrum = low_rank_spectrum(reference, sigma)
    assert len(spectrum.values) < 100
    matrix = spectrum.expand(spectrum.project(np.eye(700)) * spectrum.values)
    np.testing.assert_allclose(matrix, gram(reference, sigma), atol=1e-8)
    assert spectrum_of(reference, sigma).complete


def test_points_serve_instead_of_a_grid(rng):
    Y, points = rng.standard_normal((20, 2)), 3.0 * rng.standard_normal((15, 2))
    reference = make_reference(Y, None, None, points)
    sigma, V, c = np.array([0.5, 0.9]), rng.standard_normal((3, 15)), 0.1
    found = squared_inverse_of(reference, sigma, c).squared_inverse(V, c)
    np.testing.assert_allclose(found, direct(reference, sigma, V, c), rtol=1e-8, atol=1e-10)


def test_the_box_is_the_range_of_y_and_a_tenth():
    Y = np.array([[0.0, 5.0], [10.0, 25.0], [5.0, 15.0]])
    reference = make_reference(Y, (3, 5), None, None)
    assert reference.size == 15
    np.testing.assert_allclose(reference.points.min(axis=0), [-1.0, 3.0])
    np.testing.assert_allclose(reference.points.max(axis=0), [11.0, 27.0])
    assert make_reference(Y[:, :1], None, None, None).size == 200
    assert make_reference(Y, None, None, None).size == 900


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, (1.0, 1.0), None), "reference_box is empty: lower .* must lie below upper"),
        ((10, (2.0, [0.0, 5.0]), None), "reference_box is empty"),
        ((10, (0.0, np.inf), None), "reference_box is empty.*both finite"),
        ((10, 3.0, None), r"reference_box must be \(lower, upper\)"),
        ((10, ([0.0, 0.0, 0.0], 1.0), None), r"one per dimension of y, shape \(2,\)"),
        ((1, None, None), "at least 2"),
        ((3.5, None, None), "reference must be a whole number"),
        ((None, None, np.ones((1, 2))), r"reference_points must have shape \(M, 2\)"),
        ((None, None, np.ones((5, 1))), r"reference_points must have shape \(M, 2\)"),
        ((None, None, np.full((5, 2), np.nan)), "reference_points has NaN"),
    ],
)
def test_bad_references_are_named(rng, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_reference(rng.standard_normal((20, 2)), *arguments)


@pytest.mark.parametrize("points", [None, np.array([[-1.0], [2.0]])])
def test_a_reference_that_misses_the_data_says_how_much(caplog, points):
    Y = np.linspace(0.0, 10.0, 21)[:, None]
    box = (-1.0, 2.0) if points is None else None
    with caplog.at_level(logging.WARNING):
        make_reference(Y, 10, box, points)
    assert "76.2% of the training y lie outside the reference box" in caplog.text
    caplog.clear()
    make_reference(Y, 10, None, None)
    assert not caplog.text
