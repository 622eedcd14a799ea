"""LikelihoodKCEF by score matching: its sums, its optimum, cells of y, and the exact KCEF."""

import numpy as np
import pytest

from kcde.estimators import KCEF, LikelihoodKCEF
from kcde.estimators._likelihood import features, score_matching
from kcde.estimators._likelihood.family import LowRankFamily
from kcde.estimators._likelihood.features import KernelFeatures
from kcde.estimators._likelihood.score_matching import cell_width, score_moments
from kcde.estimators._likelihood.selection import HeldOut, Widths
from kcde.estimators._shared.location_scale import Normal, StudentT

BASE = Normal(0.3, 1.7)


def rows_of(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sin(X[:, :1]) + 0.4 * rng.standard_normal((n, 1))


def features_of(X, Y, ranks=(7, 5), width=0.8):
    rng = np.random.default_rng(0)
    x = KernelFeatures.of_rows(X, 1.0, ranks[0], rng, constant=True)
    return x, KernelFeatures.of_rows(Y, width, ranks[1], rng, constant=False)


def test_derivatives_of_features_are_those_of_finite_differences():
    X, Y = rows_of(40)
    y, step = features_of(X, Y)[1], 1e-4
    below, here, above = y(Y - step), y(Y), y(Y + step)
    first, second = y.derivatives(Y)
    np.testing.assert_allclose(first, (above - below) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(second, (above - 2 * here + below) / step**2, atol=1e-5)


@pytest.mark.parametrize("base", [BASE, StudentT(0.3, 1.7, 5.0)])
def test_sums_are_those_of_a_naive_loop(base):
    X, Y = rows_of(25)
    x, y = features_of(X, Y)
    found = score_moments(x, y, [(X, Y)], base)
    step, m = 1e-4, x.rank * y.rank
    quadratic, linear = np.zeros((m, m)), np.zeros(m)
    for point, value in zip(X, Y, strict=True):
        phi = x(point[None])[0]
        psi = [y(value[None] + s * step)[0] for s in (-1, 0, 1)]
        first, second = (psi[2] - psi[0]) / (2 * step), (psi[2] - 2 * psi[1] + psi[0]) / step**2
        r = (base.log_density(value + step) - base.log_density(value - step))[0] / (2 * step)
        z = np.kron(phi, first)
        quadratic += np.outer(z, z)
        linear += np.kron(phi, second + r * first)
    np.testing.assert_allclose(found.quadratic, quadratic, atol=2e-5)
    np.testing.assert_allclose(found.linear.ravel(), linear, atol=2e-4)
    assert found.count == 25


def test_the_objective_is_the_empirical_score():
    X, Y = rows_of(30)
    x, y = features_of(X, Y)
    sums = score_moments(x, y, [(X, Y)], BASE)
    theta = np.random.default_rng(1).standard_normal((x.rank, y.rank))
    first, second = y.derivatives(Y)
    c = x(X) @ theta
    dT, ddT = (c * first).sum(axis=1), (c * second).sum(axis=1)
    expected = np.mean(0.5 * dT**2 + ddT + dT * BASE.slope(Y[:, 0])) + 0.05 * np.sum(theta**2)
    assert sums.objective(theta, 0.1) == pytest.approx(expected)


def test_the_solution_is_where_the_gradient_vanishes():
    X, Y = rows_of(60)
    x, y = features_of(X, Y)
    sums = score_moments(x, y, [(X, Y)], BASE)
    theta, step = sums.solve(1e-3), 1e-4
    assert sums.objective(theta, 1e-3) < sums.objective(np.zeros_like(theta), 1e-3)
    for direction in np.random.default_rng(2).standard_normal((4, *theta.shape)):
        up, down = (sums.objective(theta + s * step * direction, 1e-3) for s in (1, -1))
        assert up - down == pytest.approx(0.0, abs=1e-9)
        assert up > sums.objective(theta, 1e-3)


def test_sums_of_shards_add_up_and_folds_are_taken_away():
    X, Y = rows_of(50)
    x, y = features_of(X, Y)
    whole, first, rest = (
        score_moments(x, y, [(X[rows], Y[rows])], BASE)
        for rows in (slice(None), slice(0, 20), slice(20, None))
    )
    for found, expected in ((first.plus(rest), whole), (whole.minus(first), rest)):
        assert found.count == expected.count
        np.testing.assert_allclose(found.quadratic, expected.quadratic, atol=1e-10)
        np.testing.assert_allclose(found.linear, expected.linear, atol=1e-10)


def test_cells_that_hold_one_value_change_nothing():
    X, Y = rows_of(400)
    Y = np.round(Y, 1)
    x, y = features_of(X, Y)
    rows, cells = (score_moments(x, y, [(X, Y)], BASE, width) for width in (None, 0.01))
    np.testing.assert_allclose(cells.quadratic, rows.quadratic, atol=1e-9)
    np.testing.assert_allclose(cells.linear, rows.linear, atol=1e-9)


def test_cells_move_the_sums_little_and_the_less_the_narrower_they_are():
    X, Y = rows_of(20_000)
    x, y = features_of(X, Y)
    exact = score_moments(x, y, [(X, Y)], BASE)
    errors = []
    for width in (cell_width(20_000, 0.8), cell_width(20_000, 0.8) / 4):
        found = score_moments(x, y, [(X, Y)], BASE, width)
        np.testing.assert_allclose(found.linear, exact.linear, rtol=1e-9, atol=1e-6)
        norm = np.linalg.norm(exact.quadratic, 2)
        errors.append(np.linalg.norm(found.quadratic - exact.quadratic, 2) / norm)
    assert errors[0] < 3e-4
    # The bias is of second order in the width; noise within the cells of first, over √n.
    assert errors[1] < errors[0] / 3


@pytest.mark.parametrize("cell", [None, 0.05])
def test_sums_do_not_depend_on_the_blocks(cell):
    X, Y = rows_of(500)
    x, y = features_of(X, Y)
    whole = score_moments(x, y, [(X, Y)], BASE, cell)
    parts = [(X[start : start + 120], Y[start : start + 120]) for start in range(0, 500, 120)]
    found = score_moments(x, y, parts, BASE, cell)
    assert found.count == 500
    np.testing.assert_allclose(found.quadratic, whole.quadratic, atol=1e-9)
    np.testing.assert_allclose(found.linear, whole.linear, atol=1e-9)


def test_a_fit_with_cells_is_that_without(monkeypatch):
    X, Y = rows_of(3000)
    densities = []
    for start in (0, 10**6):
        monkeypatch.setattr(score_matching, "CELLS_FROM", start)
        family = LowRankFamily([1.0, 1.0], 0.8, 1e-4, 20, 10, BASE, objective="score")
        densities.append(family.fit(X, Y).log_density(X, Y))
    assert 0.0 < np.abs(densities[0] - densities[1]).mean() < 5e-3  # nats
    assert densities[0].mean() == pytest.approx(densities[1].mean(), abs=2e-4)


@pytest.mark.parametrize("regularization", [1e-2, 1e-3])
def test_it_is_the_exact_family_where_the_rank_suffices(monkeypatch, regularization):
    # The default share of the trace leaves 2e-3, one of 1e-12 leaves 1e-5.
    monkeypatch.setattr(features, "_SMALLEST_SHARE", 1e-10)
    X, Y = rows_of(300)
    widths = [1.2, 1.5], 0.7
    exact = KCEF(*widths, regularization).fit(X, Y)
    family = LowRankFamily(
        *widths, regularization, 100, 25, Normal(0.0, 2.0), objective="score", constant=False
    ).fit(X, Y)
    grid = np.linspace(-3.0, 3.0, 61)[:, None]
    densities = [np.exp(model.log_density_at(grid)(X[:50])) for model in (exact, family)]
    assert densities[0].max() > 0.5
    assert np.abs(densities[0] - densities[1]).max() < 1e-3


def test_the_constant_of_x_makes_a_difference():
    X, Y = rows_of(300)
    given = [1.2, 1.5], 0.7, 1e-2, 100, 25, Normal(0.0, 2.0)
    with_it, without = (
        LowRankFamily(*given, objective="score", constant=constant).fit(X, Y)
        for constant in (True, False)
    )
    assert np.abs(with_it.log_density(X, Y) - without.log_density(X, Y)).max() > 1e-2


def test_held_out_rows_of_a_selection_have_no_part_in_their_fold():
    X, Y = rows_of(80)
    folds, widths = [np.arange(20), np.arange(20, 80)], Widths(np.array([1.0, 1.0]), 0.8)
    parts = Normal(0.0, 2.0), StudentT(0.0, 1.0, 2.0), 0.01
    rows = HeldOut(X, Y, folds, *parts, by_score=True)
    found = rows.path(widths, (100, 20), [1e-2], np.random.default_rng(0))
    expected = np.empty(80)
    for held in folds:
        kept = np.setdiff1d(np.arange(80), held)
        rng = np.random.default_rng(0)
        x = KernelFeatures.of_rows(X, widths.x, 60, rng, constant=True)
        y = KernelFeatures.of_rows(Y, widths.y, 15, rng, constant=False)
        theta = score_moments(x, y, [(X[kept], Y[kept])], parts[0]).solve(1e-2)
        grid = np.linspace(-12.0, 12.0, 4001)[:, None]
        log_q = parts[0].log_density(grid[:, 0])
        T = x(X[held]) @ theta
        mass = np.exp(T @ y(grid).T + log_q).sum(axis=1) * (grid[1, 0] - grid[0, 0])
        inside = (T * y(Y[held])).sum(axis=1) + parts[0].log_density(Y[held, 0]) - np.log(mass)
        floor = np.log(0.01) + parts[1].log_density(Y[held, 0])
        expected[held] = np.logaddexp(np.log(0.99) + inside, floor)
    np.testing.assert_allclose(found.log_density, expected, atol=1e-4)


def test_it_chooses_and_fits_by_score_matching():
    X, Y = rows_of(200)
    model = LikelihoodKCEF(objective="score").fit(X, Y)
    assert model.iterations_ == 0
    given = LikelihoodKCEF(
        model.bandwidth_x_, model.bandwidth_y_[0], model.regularization_, objective="score"
    )
    np.testing.assert_allclose(given.fit(X, Y).coef_, model.coef_, rtol=1e-6, atol=1e-8)
    other = LikelihoodKCEF(1.0, 0.8, 1e-3).fit(X, Y)
    likelihood = model.log_density(*rows_of(500, 1)).mean()
    assert likelihood > other.family_.base.log_density(rows_of(500, 1)[1]).mean() + 0.3


def test_an_unknown_objective_is_refused():
    with pytest.raises(ValueError, match="objective must be one of likelihood, score; got 'map'"):
        LikelihoodKCEF(objective="map").fit(*rows_of(30))


def test_a_system_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr("kcde.memory.free_bytes", lambda like: 10_000)
    X, Y = rows_of(100)
    with pytest.raises(MemoryError, match=r"score matching with features .* take smaller ranks"):
        score_moments(*features_of(X, Y), [(X, Y)], BASE)
