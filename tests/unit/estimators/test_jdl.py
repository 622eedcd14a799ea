from itertools import product

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kcde.estimators import JDL
from kcde.estimators._low_rank.basis import KernelBasis
from kcde.estimators._low_rank.functions import moment_functions
from kcde.kernels import GaussianKernel
from low_rank import dense_jdl, grid_values

LAMBDAS = np.geomspace(1e-8, 10, 10)


@pytest.fixture
def pairs(rng):
    X = rng.standard_normal((24, 1))
    return X, 0.8 * X + 0.6 * rng.standard_normal((24, 1))


@pytest.fixture
def many(rng):
    X = rng.standard_normal((600, 2))
    return X, np.hstack([X[:, :1] * X[:, 1:], X[:, :1]]) + 0.5 * rng.standard_normal((600, 2))


def test_equals_the_solution_in_n_squared_dimensions(pairs):
    X, Y = pairs
    K_x, K_y = GaussianKernel(0.8)(X, X), GaussianKernel(0.6)(Y, Y)
    for regularization in (1e-3, 0.1):
        model = JDL(0.8, 0.6, regularization, tolerance=1e-13).fit(X, Y)
        expected = dense_jdl(K_x, K_y, regularization)
        np.testing.assert_allclose(grid_values(model, X, Y), expected, atol=1e-7)


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
        np.testing.assert_allclose(basis.extrema[0], psi.min(axis=0), atol=1e-9)
        np.testing.assert_allclose(basis.extrema[1], psi.max(axis=0), atol=1e-9)


def test_objective_is_that_of_22_in_matrices(many):
    X, Y = many
    for constrained in (False, True):
        model = JDL(1.0, 0.9, 0.01, constrained=constrained).fit(X, Y)
        psi_x, psi_y = model.basis_x_.features(X), model.basis_y_.features(Y)
        values = psi_y @ model.coef_ @ psi_x.T
        expected = (
            np.mean(values**2)
            - 2.0 * np.mean(np.diag(values))
            + 2.0 * np.mean(values)
            + 0.01 * np.sum(model.coef_**2)
        )
        assert model.objective_ == pytest.approx(expected, rel=1e-9)


def test_expectations_are_those_of_the_weights(many):
    X, Y = many
    model = JDL(1.0, 0.9, 0.01, constrained=True).fit(X, Y)
    weights = model.weights(X[:7])
    assert weights.shape == (7, 600)
    np.testing.assert_array_equal(model.support_, Y)
    ratio = [model.density_ratio(np.repeat(x[None], 600, axis=0), Y) for x in X[:7]]
    np.testing.assert_allclose(weights, ratio / np.sum(ratio, axis=1, keepdims=True), atol=1e-12)
    mean, second = model.conditional_moments(X[:7])
    np.testing.assert_allclose(mean, weights @ Y, atol=1e-10)
    expected = np.einsum("ij,ja,jb->iab", weights, Y, Y)
    np.testing.assert_allclose(second, expected, atol=1e-10)
    below = model.conditional_probability(lambda y: y[:, 0] <= 0.2, X[:7])
    np.testing.assert_allclose(below, weights @ (Y[:, 0] <= 0.2), atol=1e-10)
    ones = model.conditional_expectation(lambda y: y[:, :1] ** 0, X[:7])
    np.testing.assert_allclose(ones, 1.0, atol=1e-12)


def test_parts_of_an_expectation_are_shared_over_the_path(many):
    X, Y = many
    first, *rest = JDL(1.0, 0.9).fit_path(X, Y, LAMBDAS)
    projection, features = first.project(moment_functions), first.features(X[:5])
    for model in rest:
        assert model.basis_x_ is first.basis_x_
        expected = model.conditional_expectation(moment_functions, X[:5])
        np.testing.assert_array_equal(model.expectation(projection, features), expected)
    together = first._expectations_of([first, *rest], projection, features)
    for model, found in zip([first, *rest], together, strict=True):
        alone = model.expectation(projection, features)
        np.testing.assert_allclose(found, alone, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("constrained", [False, True, "pointwise"])
def test_path_and_shared_summary_equal_single_fits(many, constrained):
    X, Y = many
    model = JDL(1.0, 0.9, constrained=constrained)
    basis_x, basis_y = model.make_basis_x(X), model.make_basis_y(Y)
    summary = model.summarise(X, Y, basis_x, basis_y)
    for fitted, regularization in zip(model.fit_path(X, Y, LAMBDAS, summary), LAMBDAS, strict=True):
        alone = JDL(1.0, 0.9, regularization, constrained=constrained).fit(X, Y)
        np.testing.assert_array_equal(fitted.coef_, alone.coef_)
        assert fitted.regularization == regularization


@pytest.mark.parametrize("constrained", [False, True, "pointwise"])
def test_streaming_equals_storing(many, constrained):
    X, Y = many
    stored, streamed = (
        JDL(1.0, 0.9, 1e-3, constrained=constrained, store=store).fit(X, Y)
        for store in (True, False)
    )
    assert streamed.basis_x_.factor.L is None
    assert streamed.rank_x_ == stored.rank_x_
    np.testing.assert_allclose(
        streamed.conditional_moments(X[:9])[1], stored.conditional_moments(X[:9])[1], atol=1e-8
    )
    np.testing.assert_allclose(streamed.weights(X[:3]), stored.weights(X[:3]), atol=1e-8)


def test_streaming_makes_no_array_of_all_rows_and_columns(rng, monkeypatch):
    X = rng.standard_normal((30_000, 1))
    largest = []

    def recorded(basis, rows):
        L = original(basis, rows)
        largest.append(L.size)
        return L

    original = KernelBasis.coordinates
    monkeypatch.setattr(KernelBasis, "coordinates", recorded)
    model = JDL(0.5, 0.5, store=False, constrained=True).fit(X, X)
    model.conditional_moments(X[:10])
    assert max(largest) < 30_000 * model.rank_x_ / 1.5


def test_constraints_hold_where_they_say(many, rng):
    X, Y = many
    free = JDL(1.0, 0.9, 1e-4).fit(X, Y)
    assert grid_values(free, X, Y).min() < -1.0
    on_grid = JDL(1.0, 0.9, 1e-4, constrained=True).fit(X, Y)
    h = grid_values(on_grid, X, Y)
    assert h.min() >= -1.0
    assert abs(h.mean()) < 1e-12
    assert np.any(on_grid.coef_)
    everywhere = JDL(1.0, 0.9, 1e-4, constrained="pointwise").fit(X, Y)
    x, y = rng.uniform(-6, 6, (4000, 2)), rng.uniform(-6, 6, (4000, 2))
    assert everywhere.density_ratio(x, y).min() >= 0.0
    assert abs(grid_values(everywhere, X, Y).mean()) < 1e-12
    assert np.any(everywhere.coef_)
    # Bounds at every point contain those on the grid, so that the set is smaller.
    assert free.objective_ < on_grid.objective_ <= everywhere.objective_ < 0.0


@pytest.mark.parametrize("constrained", [True, "pointwise"])
@pytest.mark.parametrize("seed", range(5))
def test_every_bandwidth_and_regularization_has_a_constrained_solution(seed, constrained):
    """Wide bandwidths leave one coefficient that carries nearly all of the marginals."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, (200, 2))
    Y = rng.uniform(-1, 1) * X + rng.uniform(0.05, 1) * rng.standard_normal((200, 2))
    for bandwidth_x, bandwidth_y in product((0.3, 1.0, 4.0), repeat=2):
        path = JDL(bandwidth_x, bandwidth_y, constrained=constrained).fit_path(X, Y, LAMBDAS)
        for model in path:
            assert model.solver_residual_ <= 1e-8
            assert model.solver_iterations_ < 40
        h = [
            (model.basis_y_.features(Y) @ model.coef_ @ model.basis_x_.features(X).T)
            for model in path[::3]
        ]
        assert min(values.min() for values in h) >= -1.0 - 1e-6
        assert max(abs(values.mean()) for values in h) < 1e-7


def test_bounds_of_the_basis_hold_everywhere(many, rng):
    basis = JDL(1.0).make_basis_x(many[0])
    lower, upper = basis.bounds()
    values = basis.features(rng.uniform(-5, 5, (5000, 2)))
    assert (values >= lower - 1e-9).all()
    assert (values <= upper + 1e-9).all()
    assert (basis.extrema[0] >= lower - 1e-9).all()


def test_learns_a_gaussian_conditional(rng):
    X = rng.standard_normal((4000, 1))
    Y = 0.8 * X + 0.6 * rng.standard_normal((4000, 1))
    model = JDL(1.0, 1.0, 1e-4).fit(X, Y)
    x = np.array([[-1.0], [0.0], [1.0]])
    mean, second = model.conditional_moments(x)
    np.testing.assert_allclose(mean, 0.8 * x, atol=0.1)
    np.testing.assert_allclose(second[:, :, 0], 0.64 * x**2 + 0.36, atol=0.15)
    draws = model.sample(x, 5000, rng)
    assert draws.shape == (3, 5000, 1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.1)


@pytest.mark.parametrize("pivots", ["random", "rpcholesky", "column"])
def test_other_pivots_give_nearly_the_same_model(many, pivots):
    X, Y = many
    expected = JDL(1.0, 0.9, tolerance=1e-6).fit(X, Y).conditional_moments(X[:20])[0]
    model = JDL(1.0, 0.9, tolerance=1e-6, pivots=pivots).fit(X, Y)
    np.testing.assert_allclose(model.conditional_moments(X[:20])[0], expected, atol=0.01)


def test_bandwidth_that_is_not_given_is_the_median_distance_over_root_two(many):
    X, Y = many
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(600, 1)]
    sigma = JDL().fit(X, Y).basis_x_.factor.kernel.bandwidth
    np.testing.assert_allclose(sigma, np.median(distances) / np.sqrt(2.0), rtol=1e-9)


def test_unconditional_model_gives_the_marginal(many):
    _, Y = many
    model = JDL(1.0, 0.9, 1e-2).fit(None, Y)
    mean = model.conditional_expectation(lambda y: y, Y[:2, :0])
    np.testing.assert_allclose(mean, np.tile(Y.mean(axis=0), (2, 1)), atol=1e-10)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tolerance": 0.0}, "tolerance must be above 0 and below 1"),
        ({"tolerance": 1.0}, "tolerance must be above 0 and below 1"),
        ({"regularization": 0.0}, "regularization must be a positive number; got 0.0"),
        ({"bandwidth_x": -1.0}, "bandwidth_x must be positive"),
        ({"bandwidth_y": [1.0, 1.0, 1.0]}, "bandwidth_y must be a number or one per dimension"),
        ({"max_rank": 601}, "600 rows of X; got 601"),
        ({"constrained": "often"}, "'sub-grid' or 'clipped'; got 'often'"),
        ({"pivots": "best"}, "pivots must be one of"),
    ],
)
def test_bad_parameters_are_named(many, parameters, message):
    with pytest.raises(ValueError, match=message):
        JDL(**parameters).fit(*many)


def test_points_that_coincide_are_refused(many):
    X, Y = many
    with pytest.raises(ValueError, match=r"all 600 rows of X coincide.*rank one"):
        JDL().fit(np.ones_like(X), Y)
    with pytest.raises(ValueError, match=r"Y is constant in column\(s\) \[0, 1\]"):
        JDL(1.0, 1.0).fit(X, np.ones_like(Y))


def test_functions_of_the_wrong_shape_are_named(many):
    model = JDL(1.0, 1.0).fit(*many)
    with pytest.raises(ValueError, match=r"f must map.*got shape \(1,\) from \(1, 2\)"):
        model.conditional_expectation(lambda y: y[:, 0], many[0][:3])
    with pytest.raises(NotFittedError, match="call fit first"):
        JDL().project(lambda y: y)


def test_nothing_to_draw_from_is_said(many, monkeypatch):
    model = JDL(1.0, 1.0).fit(*many)
    monkeypatch.setattr(JDL, "weights", lambda self, X: -np.ones((len(X), 600)))
    with pytest.raises(FloatingPointError, match="no weight is positive"):
        model.sample(many[0][:1], 2, np.random.default_rng(0))
