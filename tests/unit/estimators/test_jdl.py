from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import norm

from contracted import some_pairs
from kcde.estimators import CME, JDL, JPDL, SmoothedCME, SmoothedJDL
from kcde.estimators import smoothed as smoothing
from kcde.estimators._low_rank.basis import PolynomialBasis
from kcde.estimators.smoothed import BANDWIDTH_FACTORS, REGULARIZATIONS, SMOOTHINGS
from kcde.kernels import GaussianKernel
from kcde.seeding import rng_of
from kcde.selection import complement
from naive import dense_jdl, grid_values

BOTH = [(SmoothedJDL, JDL), (SmoothedCME, CME)]
smoothed_and_plain = pytest.mark.parametrize(("smoothed", "plain"), BOTH)


@pytest.mark.parametrize("regularization", [1e-3, 0.1])
@pytest.mark.parametrize("polynomials", [False, True])
def test_equals_the_solution_in_n_squared_dimensions(rng, polynomials, regularization):
    X, Y = some_pairs(rng, 24, 1)
    model, grams = JDL(0.8, 0.6, regularization, tolerance=1e-13), ()
    if polynomials:
        model = JPDL(2, regularization)
        grams = [each @ each.T for each in (PolynomialBasis(Z, 2).features(Z) for Z in (X, Y))]
    grams = grams or (GaussianKernel(0.8)(X, X), GaussianKernel(0.6)(Y, Y))
    found = grid_values(model.fit(X, Y), X, Y)
    np.testing.assert_allclose(found, dense_jdl(*grams, regularization), atol=1e-7)


def test_bases_are_orthogonal_twice(many):
    X, _ = many
    for store in (True, False):
        basis = JDL(0.9, store=store).make_basis_x(X)
        psi = basis.features(X)
        np.testing.assert_allclose(psi.T @ psi / 600, np.diag(basis.second_moments), atol=1e-12)
        at_pivots = basis.factor.kernel(basis.factor.points, basis.factor.points)
        hilbert = basis.on_pivots.T @ at_pivots @ basis.on_pivots
        np.testing.assert_allclose(hilbert, np.eye(basis.rank), atol=1e-9)
        np.testing.assert_allclose(basis.mean, psi.mean(axis=0), atol=1e-12)
        extremes = psi.min(axis=0), psi.max(axis=0)
        np.testing.assert_allclose(basis.extrema, extremes, atol=1e-9)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("store", [False, True])
def test_objective_is_that_of_22_in_matrices(many, constrained, store):
    X, Y = many
    model = JDL(1.0, 0.9, 0.01, constrained=constrained, store=store).fit(X, Y)
    assert (model.basis_x_.factor.L is None) != store
    values = model.basis_y_.features(Y) @ model.coef_ @ model.basis_x_.features(X).T
    loss = np.mean(values**2) - 2.0 * np.mean(np.diag(values)) + 2.0 * np.mean(values)
    assert model.objective_ == pytest.approx(loss + 0.01 * np.sum(model.coef_**2), rel=1e-9)


@pytest.mark.parametrize("model", [JDL(0.8, 0.7, 0.01, standardize=True), JPDL(2)])
def test_marginals_and_conditionals_are_sums_over_the_grid(rng, model):
    """(4) and (5) in both directions; lemma 2.1, with rows of equal x."""
    X, Y = rng.integers(0, 4, (40, 1)) * 2.0, rng.standard_normal((40, 2))
    h = grid_values(model.fit(X, Y + X), X, Y + X)
    mass, given = 1.0 + h, model.given_y()
    for found, at, values, weights in ((model, X, Y + X, mass), (given, Y + X, X, mass.T)):
        marginal = weights.sum(axis=1) @ values**2 / weights.sum()
        np.testing.assert_allclose(found.marginal_expectation(np.square), marginal, atol=1e-9)
        np.testing.assert_allclose(found.weights(at), weights.T / weights.sum(axis=0)[:, None])
        np.testing.assert_allclose(found.support_, values, atol=1e-12)
    equal = np.unique(X) == X
    same = np.allclose(mass.sum(axis=0) @ equal / 40**2, equal.mean(axis=0))
    assert same == np.allclose(h.sum(axis=0) @ equal, 0.0) == isinstance(model, JPDL)


def test_the_error_of_low_ranks_is_within_the_bounds_of_lemma_4_4(rng):
    X, Y = 3.0 * rng.standard_normal((2, 8, 1))
    model, K = JDL(0.5, 0.5, 0.01, tolerance=0.3).fit(X, Y), GaussianKernel(0.5)
    K_x, K_y = K(X, X), K(Y, Y)
    H = np.linalg.solve(K_y, np.linalg.solve(K_x, dense_jdl(K_x, K_y, 0.01).T).T)
    bases = model.basis_y_, model.basis_x_
    Q_y, Q_x = (np.eye(8)[:, b.factor.pivots] @ b.on_pivots for b in bases)
    projected = (K_y @ Q_y).T @ H @ (K_x @ Q_x)  # (36)

    def distance(low):
        rest = H - Q_y @ low @ Q_x.T
        return np.trace(rest.T @ K_y @ rest @ K_x)

    lower, found = np.sum((projected - model.coef_) ** 2), distance(model.coef_)
    assert 0.0 < distance(projected) == pytest.approx(found - lower)
    largest = max(basis.factor.trace_error for basis in bases)
    assert lower <= found <= largest * np.sum(H**2) * (np.trace(K_x) + np.trace(K_y)) + lower


@pytest.mark.parametrize("seed", range(2))
def test_every_bandwidth_and_regularization_has_a_constrained_solution(seed):
    """Wide bandwidths leave one coefficient that carries nearly all of the marginals."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, (200, 2))
    Y = rng.uniform(-1, 1) * X + rng.uniform(0.05, 1) * rng.standard_normal((200, 2))
    for widths in product((0.3, 1.0, 4.0), repeat=2):
        path = JDL(*widths, constrained=True).fit_path(X, Y, np.geomspace(1e-8, 10, 10))
        assert max(model.solver_residual_ for model in path) <= 1e-8
        assert max(model.solver_iterations_ for model in path) < 40
        for model in path[::3]:
            h = model.basis_y_.features(Y) @ model.coef_ @ model.basis_x_.features(X).T
            assert h.min() >= -1.0 - 1e-6
            assert abs(h.mean()) < 1e-7
    free, tight = (JDL(0.3, 0.3, 1e-8, constrained=c).fit(X, Y) for c in (False, True))
    assert free.objective_ < tight.objective_


def test_bandwidth_that_is_not_given_is_the_median_distance_over_root_two(many):
    X, Y = many
    sigma = JDL().fit(X, Y).basis_x_.factor.kernel.bandwidth
    np.testing.assert_allclose(sigma, np.median(pdist(X)) / np.sqrt(2.0), rtol=1e-9)


def test_what_cannot_be_learnt_evaluated_or_drawn_is_said(many, monkeypatch):
    X, Y = many
    with pytest.raises(ValueError, match="rows of X coincide"):
        JDL().fit(np.ones_like(X), Y)
    model = JDL(1.0, 1.0).fit(X, Y)
    with pytest.raises(ValueError, match="indicator must map"):
        model.conditional_probability(lambda y: True, X[:3])
    smooth = SmoothedJDL(1.0, 0.8, 1e-3, 0.3).fit(X, Y)
    monkeypatch.setattr(JDL, "weights", lambda self, X: -np.ones((len(X), 600)))
    for call in (lambda: model.sample(X[:1], 2, 0), lambda: smooth.log_density(X[:1], Y[:1])):
        with pytest.raises(FloatingPointError, match="positive"):
            call()


@smoothed_and_plain
def test_smoothed_is_a_mixture_around_the_support(rng, smoothed, plain):
    X, Y = some_pairs(rng, 120, 1)
    model, weighing = smoothed(1.0, 0.8, 1e-3, 0.3).fit(X, Y), plain(1.0, 0.8, 1e-3).fit(X, Y)
    weights = np.maximum(weighing.weights(X[:5]), 0.0)
    bumps = norm.pdf(Y[:5], weighing.support_.T, 0.3)
    expected = np.log((weights * bumps).sum(axis=1) / weights.sum(axis=1))
    np.testing.assert_allclose(model.log_density(X[:5], Y[:5]), expected)


@smoothed_and_plain
def test_scores_of_the_grid_equal_a_loop_over_candidates(rng, smoothed, plain, monkeypatch):
    # Blocks of fewer rows than are held out.
    blocks = smoothing.row_blocks
    monkeypatch.setattr(smoothing, "row_blocks", lambda n, width, like: blocks(n, 2**15, like=like))
    X, Y = some_pairs(rng, 120, 1)
    model = smoothed(random_state=3).fit(X, Y)
    found, expected = model.cv_results_, 0.0
    for held_out in model._kfold(np.arange(120), 5, rng_of("selection", 3)):
        train = complement(held_out, 120)
        fitted = plain(found["bandwidth_x"][1], found["bandwidth_y"][2], REGULARIZATIONS[4])
        fitted.fit(X[train], Y[train])
        weights = np.maximum(fitted.weights(X[held_out]), 0.0)
        bumps = norm.pdf(Y[held_out], fitted.support_.T, SMOOTHINGS[3])
        expected += np.log((weights * bumps).sum(axis=1) / weights.sum(axis=1)).sum()
    assert found["score"].shape == (4, 4, 10, 10)
    assert found["score"][1, 2, 4, 3] == pytest.approx(expected, rel=1e-9)
    factor = model.bandwidth_x_[0] / (np.median(pdist(X)) / np.sqrt(2.0))
    assert np.abs(BANDWIDTH_FACTORS - factor).min() < 1e-6
    best = np.unravel_index(found["score"].argmax(), found["score"].shape)
    assert model.smoothing_[0] == SMOOTHINGS[best[3]]
