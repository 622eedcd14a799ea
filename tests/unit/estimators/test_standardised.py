import numpy as np
import pytest

from kcde.estimators import KCEF, NADE, Standardised


@pytest.fixture
def model():
    return Standardised(KCEF(1.0, 1.0, 0.01))


def test_density_changes_by_the_jacobian_under_an_affine_change(pairs, model):
    X, Y = pairs
    plain = model.fit(X, Y).log_density(X, Y)
    moved = model.fit(3 * X - 7, 5 * Y + 2).log_density(3 * X - 7, 5 * Y + 2)
    np.testing.assert_allclose(moved, plain - np.log(5.0), rtol=1e-9)


def test_expectation_and_samples_are_in_original_units(pairs, model, rng):
    X, Y = pairs
    model.fit(X, 100 * Y + 50)
    mean = model.conditional_expectation(lambda y: y, X[:2])
    draws = model.sample(X[:2], 4000, rng)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=6)


def test_constant_x_column_is_dropped_and_recorded(pairs, model):
    X, Y = pairs
    expected = model.fit(X, Y).log_density(X, Y)
    wide = np.column_stack([X[:, 0], np.full(len(X), 0.1), X[:, 1]])
    np.testing.assert_allclose(model.fit(wide, Y).log_density(wide, Y), expected)
    assert model.dropped_ == [1]


@pytest.mark.nightly
def test_many_fits_are_as_single_ones_and_a_failure_stays_where_it_is(pairs):
    X, Y = pairs
    quick = NADE(hidden_units=4, components=2, epochs=2)
    models = [Standardised(quick) for _ in range(3)]
    first, second, third = Standardised.fit_many(models, [X, X, X], [Y, 0 * Y, 9.0 * Y + 4.0])
    assert first is models[0]
    assert "Y is constant" in str(second)
    alone = Standardised(quick).fit(X, Y)
    np.testing.assert_allclose(first.log_density(X, Y), alone.log_density(X, Y), atol=1e-3)
    shifted = third.log_density(X, 9.0 * Y + 4.0) + np.log(9.0)
    np.testing.assert_allclose(shifted, alone.log_density(X, Y), atol=1e-3)
    (failed,) = Standardised.fit_many([Standardised(quick)], [X], [0 * Y])
    assert isinstance(failed, ValueError)
