"""LikelihoodKCEF: gradient, optimum, normaliser, shards, selection, and what it refuses."""

import logging

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm, t

from kcde.estimators import GaussianProcess, LikelihoodKCEF, likelihood_kcef
from kcde.estimators._likelihood import family, selection
from kcde.estimators._likelihood.features import (
    KernelFeatures,
    node_places,
    output_grid,
    support,
)
from kcde.estimators._likelihood.objective import (
    Objective,
    Preconditioner,
    Sums,
    mean_covariance,
    minimise,
    partial,
)
from kcde.estimators._likelihood.selection import (
    REGULARIZATIONS,
    WIDTHS_X,
    WIDTHS_Y,
    HeldOut,
    Scored,
    Search,
    Widths,
    _Problem,
    _with_mass,
)
from kcde.estimators._shared.floored import Normal, StudentT
from kcde.estimators.likelihood_kcef import LowRankFamily
from kcde.joint import JointDensity
from kcde.kernels import GaussianKernel
from kcde.panels import QuadratureWarning, warn_of

GIVEN = {"bandwidth_x": 1.0, "bandwidth_y": 0.8, "regularization": 1e-3}
BASE = Normal(0.0, 2.0)


@pytest.fixture
def features(pairs):
    """φ and ψ of thirty pairs, functions and values, with a grid of y."""
    X, Y = pairs
    rng = np.random.default_rng(0)
    x = KernelFeatures.of_rows(X, 1.0, 8, rng, constant=True)
    y = KernelFeatures.of_rows(Y, 0.8, 5, rng, constant=False)
    return x(X), y(Y), output_grid(y, BASE, support(Y.min(), Y.max(), 0.8, 2.0), X)


def objective_of(phi, psi, grid, weights):
    counts = weights.sum(axis=0)
    cross = np.stack([phi.T @ (psi * w[:, None]) / w.sum() for w in weights.T])
    return Objective(Sums([phi[w > 0] for w in weights.T], grid), cross, counts)


def test_features_have_the_kernel_as_inner_product_at_full_rank(pairs):
    X, _ = pairs
    found = KernelFeatures.of_rows(X, 1.0, 30, np.random.default_rng(0), constant=True)(X)
    np.testing.assert_allclose(found @ found.T, 1.0 + GaussianKernel(1.0)(X, X), atol=1e-5)


def test_gradient_equals_finite_differences(features):
    phi, psi, grid = features
    rng = np.random.default_rng(1)
    weights = (rng.random((30, 3)) < 0.7).astype(float)
    objective = objective_of(phi, psi, grid, weights)
    theta, step = rng.standard_normal((3, phi.shape[1], psi.shape[1])), 1e-6
    _, gradient = objective(theta, 0.1)
    for _ in range(5):
        direction = rng.standard_normal(theta.shape)
        up, down = (objective(theta + s * step * direction, 0.1)[0] for s in (1, -1))
        slope = np.einsum("kab,kab->k", gradient, direction)
        np.testing.assert_allclose((up - down) / (2 * step), slope, rtol=1e-5)


def test_value_equals_a_naive_sum(features):
    phi, psi, grid = features
    theta = 0.3 * np.random.default_rng(2).standard_normal((1, phi.shape[1], psi.shape[1]))
    value, _ = objective_of(phi, psi, grid, np.ones((30, 1)))(theta, 0.1)
    expected = 0.05 * (theta**2).sum()
    for f, p in zip(phi, psi, strict=True):
        density = np.exp(grid.log_weights + grid.features @ (theta[0].T @ f))
        expected += (np.log(density.sum()) - f @ theta[0] @ p) / 30
    assert value[0] == pytest.approx(expected, rel=1e-12)


def test_sums_of_shards_add_up_to_those_of_all(features):
    phi, psi, grid = features
    theta = 0.3 * np.random.default_rng(3).standard_normal((2, phi.shape[1], psi.shape[1]))
    whole = partial(phi, theta, grid)
    parts = partial(phi[:7], theta, grid).plus(partial(phi[7:], theta, grid))
    np.testing.assert_allclose(parts.log_z, whole.log_z, rtol=1e-12)
    np.testing.assert_allclose(parts.moment, whole.moment, rtol=1e-12)


@pytest.mark.parametrize("size", [0.3, 3000.0], ids=["near", "far"])
@pytest.mark.filterwarnings("error")
def test_sums_do_not_depend_on_the_last_theta(features, size):
    phi, psi, grid = features
    rng = np.random.default_rng(4)
    sums = Sums([phi[:20], phi[5:]], grid)
    sums(np.zeros((2, phi.shape[1], psi.shape[1])))
    theta = size * rng.standard_normal((2, phi.shape[1], psi.shape[1]))
    found = sums(theta)
    for k, rows in enumerate((slice(20), slice(5, None))):
        alone = partial(phi[rows], theta[k : k + 1], grid)
        np.testing.assert_allclose(found.log_z[k], alone.log_z[0], rtol=1e-12)
        np.testing.assert_allclose(found.moment[k], alone.moment[0], rtol=1e-10, atol=1e-12)


def test_nodes_without_mass_are_left_out_up_to_a_panel():
    share = np.full(81, 1e-12)
    share[30:45] = 0.1
    assert _with_mass(share, slice(35, 40)) == slice(20, 55)
    assert _with_mass(share, slice(28, 50)) == slice(18, 60)
    assert _with_mass(share, slice(5, 75)) == slice(0, 80)
    assert _with_mass(np.zeros(81), slice(30, 45)) == slice(20, 55)


def test_no_node_between_the_ends_of_y_is_left_out():
    """A single y far from the others has no share of a density before the first fit."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), rng.normal(size=(200, 1))
    y[0] = 11.5
    folds = [np.arange(50, 100)]
    rows = HeldOut(X, y, folds, BASE, StudentT(0.0, 1.0, 2.0), 0.01)
    problem = _Problem(rows, Widths(np.ones(1), 0.25), (20, 20), 0)
    places = node_places(problem._y.features, problem._y._span)
    occupied = problem._y.between_ends(1)
    assert places[occupied.start - 1] < y.min() <= places[occupied.start]
    assert places[occupied.stop - 1] < y.max() <= places[occupied.stop]
    found = problem.held_out(problem.fit(np.zeros(problem.shape), 1e-6))
    everywhere = _Problem(rows, Widths(np.ones(1), 0.25), (20, 20), 0)
    everywhere._y.between_ends = lambda finer: slice(0, len(places))
    expected = everywhere.held_out(everywhere.fit(np.zeros(problem.shape), 1e-6))
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_part_of_the_nodes_keeps_what_is_beyond_them(features):
    _, _, grid = features
    part = grid.part(slice(3, 7))
    np.testing.assert_array_equal(part.features[:-1], grid.features[3:7])
    np.testing.assert_array_equal(part.log_weights[-1:], grid.log_weights[-1:])


def test_preconditioned_optimum_is_that_of_plain_bfgs(features):
    phi, psi, grid = features
    objective, shape = objective_of(phi, psi, grid, np.ones((30, 1))), (1, phi.shape[1], 5)

    def plain(u):
        value, gradient = objective(u.reshape(shape), 0.01)
        return value[0], gradient.ravel()

    options = {"gtol": 1e-9, "maxiter": 5000}
    expected = minimize(plain, np.zeros(np.prod(shape)), jac=True, method="BFGS", options=options)
    precondition = Preconditioner.of_rows(phi, psi)
    found = minimise(
        objective, np.zeros(shape), precondition, 0.01, iterations=200, tolerance=1e-14
    )
    np.testing.assert_allclose(found.theta.ravel(), expected.x, atol=1e-4)
    assert found.iterations < expected.nit


def test_folds_are_solved_as_they_would_be_alone(features):
    phi, psi, grid = features
    weights = np.ones((30, 2))
    weights[:10, 0] = weights[20:, 1] = 0.0
    options = {"iterations": 300, "tolerance": 1e-14}
    precondition = Preconditioner.of_rows(phi, psi)
    start = np.zeros((2, phi.shape[1], psi.shape[1]))
    both = minimise(
        objective_of(phi, psi, grid, weights), start, precondition, 0.01, **options
    ).theta
    for k in range(2):
        alone = objective_of(phi, psi, grid, weights[:, k : k + 1])
        found = minimise(alone, start[:1], precondition, 0.01, **options).theta
        np.testing.assert_allclose(both[k], found[0], atol=1e-4)


def test_float32_agrees_with_float64(pairs, monkeypatch):
    X, Y = pairs
    exact = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    monkeypatch.setattr("kcde.estimators.likelihood_kcef.FLOAT32_FROM", 1)
    np.testing.assert_allclose(
        LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y), exact, atol=1e-3
    )


def test_where_float32_is_not_enough_the_fit_is_made_again(pairs, monkeypatch, caplog):
    X, Y = pairs
    exact = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    monkeypatch.setattr("kcde.estimators.likelihood_kcef.FLOAT32_FROM", 1)
    monkeypatch.setattr("kcde.estimators.likelihood_kcef._ROUNDED", 0.0)
    with caplog.at_level(logging.WARNING):
        found = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    assert "again in float64" in caplog.text
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_mixture_is_what_it_says(pairs):
    X, Y = pairs
    model = LikelihoodKCEF(**GIVEN, weight=0.05).fit(X, Y)
    inside = np.exp(model.family_.log_density(X, Y))
    floor = t(2, Y.mean(), Y.std()).pdf(Y[:, 0])
    np.testing.assert_allclose(
        model.log_density(X, Y), np.log(0.95 * inside + 0.05 * floor), rtol=1e-10
    )
    far = model.log_density(X[:1], np.array([[50.0]]))[0]
    assert far == pytest.approx(np.log(0.05 * t(2, Y.mean(), Y.std()).pdf(50.0)), abs=1e-6)


def test_weight_of_the_floor_falls_with_the_rows(pairs):
    X, Y = pairs
    assert LikelihoodKCEF(**GIVEN).fit(X, Y).weight_ == 0.01
    many = np.resize(X, (4000, X.shape[1])), np.resize(Y, (4000, 1))
    model = LikelihoodKCEF(**GIVEN).fit(*many)
    assert model.weight_ == 10 / 4000
    far = model.log_density(X[:1], np.array([[50.0]]))[0]
    floor = t(2, many[1].mean(), many[1].std()).pdf(50.0)
    assert far == pytest.approx(np.log(10 / 4000 * floor), abs=1e-6)


def test_units_do_not_matter(pairs):
    X, Y = pairs
    plain = LikelihoodKCEF().fit(X, Y).log_density(X, Y)
    scaled = LikelihoodKCEF().fit(1000.0 * X, 0.01 * Y + 5.0)
    found = scaled.log_density(1000.0 * X, 0.01 * Y + 5.0)
    np.testing.assert_allclose(found + np.log(0.01), plain, atol=1e-3)


def test_nodes_are_refined_where_the_density_needs_it(pairs):
    X, _ = pairs
    Y = np.where(X[:, :1] > 0, 1.0, -1.0) + 1e-3 * np.random.default_rng(0).normal(size=(30, 1))
    family = LowRankFamily(0.5, 1.5, 1e-10, 30, 30, BASE).fit(X, Y)
    assert family._finer > 1
    y = np.linspace(-3.0, 3.0, 400_001)
    mass = np.trapezoid(np.exp(family.log_density_at(y[:, None])(X[:2])), y, axis=1)
    np.testing.assert_allclose(mass, 1.0, atol=1e-5)


@pytest.mark.parametrize("base", ["normal", "student"])
def test_without_signal_it_is_near_the_marginal_density(base):
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(800, 2)), rng.normal(size=(800, 1))
    model = LikelihoodKCEF(base=base).fit(X, Y)
    test = rng.normal(size=(500, 1))
    gap = norm.logpdf(test).mean() - model.score(rng.normal(size=(500, 2)), test)
    assert -0.01 < gap < 0.05


@pytest.mark.nightly
def test_columns_that_say_nothing_fade():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 3))
    Y = np.sin(2 * X[:, :1]) + 0.2 * rng.normal(size=(600, 1))
    found = LikelihoodKCEF().fit(X, Y).bandwidth_x_
    assert (found[1:] > 2 * found[0]).all()


def graded(n):
    """Return x of six columns, each of less influence on the mean of y than the one before."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 6))
    mean = np.sin(X * 2.0 / 2.0 ** np.arange(6)).sum(axis=1)
    return X, mean[:, None] + 0.2 * rng.normal(size=(n, 1))


def held_out(X, Y):
    folds = np.array_split(np.arange(len(X)), 5)
    return HeldOut(X, Y, folds, BASE, StudentT(0.0, 1.0, 2.0), 0.01)


def test_relevance_is_that_of_a_gaussian_process():
    X, Y = graded(300)
    found = held_out(X, Y).relevance(0)
    assert np.mean(found**-2.0) == pytest.approx(1.0)
    expected = GaussianProcess().fit(X, Y).bandwidth_x_[0]
    np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-3)
    # Columns that say nothing are bounded.
    found = held_out(X, np.sin(2.0 * X[:, :1])).relevance(0)
    assert found.max() == pytest.approx(100.0 * found.min())


@pytest.mark.nightly
def test_ratios_of_a_gaussian_process_are_followed_where_they_gain(monkeypatch):
    X, Y = graded(300)
    few = LikelihoodKCEF().fit(X, Y)
    monkeypatch.setattr(selection, "_RELEVANCE_FROM", 300)
    followed = LikelihoodKCEF().fit(X, Y)
    assert (np.diff(followed.bandwidth_x_[:4]) > 0).all()
    monkeypatch.setattr(HeldOut, "relevance", lambda rows, seed: np.ones(6))
    alone = LikelihoodKCEF().fit(X, Y)
    np.testing.assert_array_equal(few.bandwidth_x_, alone.bandwidth_x_)
    assert (followed.bandwidth_x_ != alone.bandwidth_x_).any()
    # Those of noise gain nothing.
    noise = np.array([9.0, 0.5, 9.0, 9.0, 0.5, 9.0])
    monkeypatch.setattr(HeldOut, "relevance", lambda rows, seed: noise)
    np.testing.assert_array_equal(LikelihoodKCEF().fit(X, Y).bandwidth_x_, alone.bandwidth_x_)


@pytest.mark.parametrize(
    ("n", "options", "rank"),
    [
        (1000, {}, 800),
        (20_000, {}, 400),
        (1_000_000, {}, 400),
        (1000, {"rank_x": 5}, 5),
    ],
)
def test_the_rank_of_x_falls_as_rows_grow(n, options, rank):
    assert LikelihoodKCEF(**options)._rank_x(n) == rank


def test_rows_are_evaluated_by_blocks_as_one_by_one(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    Y = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(60, 1))
    model = LikelihoodKCEF(1.0, 1.0, 1e-3).fit(X, Y)
    together = model.log_density(X, Y)
    monkeypatch.setattr(
        family, "row_blocks", lambda n, *_, **__: [slice(k, k + 1) for k in range(n)]
    )
    np.testing.assert_allclose(model.log_density(X, Y), together, rtol=1e-10)


def test_a_warning_names_the_row_whatever_its_block(rng, monkeypatch):
    X = rng.normal(size=(60, 2))
    model = LikelihoodKCEF(1.0, 1.0, 1e-3).fit(X, X[:, :1])
    marked, exact = model.family_._coefficients(X[17:18]), family.quadrature

    def doubtful(at, coefficients, **options):
        warn_of(np.isclose(coefficients, marked).all(axis=1).astype(float))
        return exact(at, coefficients, **options)

    monkeypatch.setattr(family, "quadrature", doubtful)
    monkeypatch.setattr(family, "_NODES", 1 << 16)  # four rows a block
    with pytest.warns(QuadratureWarning, match="at row 17 of x"):
        model.log_density(X, X[:, :1])


@pytest.mark.parametrize(
    ("options", "x_narrows", "y_narrows"),
    [
        ({}, True, True),
        ({"bandwidth_x": [1.0, 2.0]}, False, True),
        ({"bandwidth_y": 0.5}, True, False),
        ({"tuning_rows": 30}, True, True),
        ({"tuning_rows": None}, False, False),
    ],
)
def test_chosen_bandwidths_narrow_where_not_all_rows_take_part(
    rng, monkeypatch, options, x_narrows, y_narrows
):
    X = rng.normal(size=(240, 2))
    Y = np.sin(X[:, :1]) + 0.3 * rng.normal(size=(240, 1))
    choices, run = [], selection.Search.run

    def recorded(*given):
        choices.append(run(*given))
        return choices[0]

    monkeypatch.setattr(selection.Search, "run", recorded)
    monkeypatch.setattr(likelihood_kcef, "_NARROWER_FROM", 60)
    model = LikelihoodKCEF(**{"tuning_rows": 60} | options).fit(X, Y)
    narrower = 0.25 ** (1 / 7)
    for found, chosen, scale, narrows in (
        (model.bandwidth_x_, choices[0].widths.x, X.std(axis=0), x_narrows),
        (model.bandwidth_y_, choices[0].widths.y, Y.std(axis=0), y_narrows),
    ):
        expected = chosen * scale * (narrower if narrows else 1.0)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_gain_within_a_standard_error_is_none():
    noise = np.random.default_rng(6).normal(size=100)
    worse, better = Scored(noise, 0.1), Scored(noise + 0.1, 0.1)
    assert better.gains(worse)
    assert not worse.gains(better)
    assert not Scored(np.roll(noise, 1), 0.1).gains(Scored(noise + 0.05, 0.1))


class _Rows:
    """Stands for `HeldOut`: a longer path of λ scores better, as an unfinished fit does."""

    X, ranks = np.zeros((4, 2)), (100, 20)

    def relevance(self, seed):
        return np.ones(2)

    def path(self, widths, ranks, regularizations, rng):
        quality = 0.02 * (widths.x[0] > 2 * widths.x[1]) + 0.1 * len(regularizations)
        return Scored(np.full(4, quality), 1e-4)


def test_a_column_is_compared_with_a_best_of_equal_effort():
    rows = _Rows()
    widths = Search(rows, rows, 0).run().widths
    assert widths.x[0] > 2 * widths.x[1]


def test_the_curvature_is_the_mean_conditional_covariance(features):
    phi, psi, grid = features
    theta = np.random.default_rng(3).normal(size=(2, phi.shape[1], psi.shape[1]))
    found = []
    for k, row in ((k, row) for k in range(2) for row in phi):
        p = np.exp(grid.features @ (row @ theta[k]) + grid.log_weights)
        p /= p.sum()
        found.append(np.cov(grid.features.T, aweights=p, ddof=0))
    np.testing.assert_allclose(
        mean_covariance(phi, theta, grid), np.mean(found, axis=0), atol=1e-10
    )


class _Hill(_Rows):
    """One summit on the grid, whose λ is 1e-4; a longer path scores better here as well."""

    def __init__(self, summit):
        self.summit, self.paths = summit, []

    def path(self, widths, ranks, regularizations, rng):
        self.paths.append(list(regularizations))
        away = np.log([widths.x[0] / self.summit[0], widths.y / self.summit[1]])
        quality = -np.abs(away).sum() + 0.01 * len(regularizations)
        return Scored(np.full(4, quality), 1e-4)


@pytest.mark.parametrize("x", WIDTHS_X)
@pytest.mark.parametrize("y", WIDTHS_Y)
def test_the_grid_is_climbed_to_its_summit_without_trying_all(x, y):
    rows = _Hill((x * np.sqrt(2.0), y))
    search = Search(rows, rows, 0)
    search._climb([np.full(2, width * np.sqrt(2.0)) for width in WIDTHS_X], None)
    np.testing.assert_allclose(search._widths.x, x * np.sqrt(2.0))
    assert search._widths.y == y
    assert len(rows.paths) < 0.8 * len(WIDTHS_X) * len(WIDTHS_Y)
    assert rows.paths[0] == list(REGULARIZATIONS)
    assert all(path[0] == pytest.approx(1e-2) for path in rows.paths[1:])


def test_what_is_given_stays(pairs):
    X, Y = pairs
    model = LikelihoodKCEF(bandwidth_x=[1.0, 2.0], regularization=0.01).fit(X, Y)
    np.testing.assert_allclose(model.bandwidth_x_, [1.0, 2.0])
    assert model.regularization_ == 0.01
    assert model.cv_results_["candidates"] >= 4


def test_joint_density_of_three_columns(pairs):
    X, Y = pairs
    Z = np.hstack([X, Y])
    model = JointDensity(LikelihoodKCEF(**GIVEN), graph="full").fit(None, Z)
    assert np.isfinite(model.log_density(None, Z)).all()


@pytest.mark.nightly
def test_ties_are_said_and_bounded(caplog):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(200, 1))
    Y = np.round(X)
    with caplog.at_level(logging.WARNING):
        model = LikelihoodKCEF().fit(X, Y)
    assert "different values among 200 rows" in caplog.text
    assert np.isfinite(model.log_density(X, Y + 0.5)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": 0.0}, "weight must lie in"),
        ({"rank_x": 0}, "rank_x must be a positive whole number; got 0"),
        ({"tuning_rows": 2.5}, "tuning_rows must be a positive whole number; got 2.5"),
        ({"base": "cauchy"}, "base must be one of normal, student; got 'cauchy'"),
        ({"base_std": -1.0}, "base_std must be a positive number"),
        ({"regularization": -1.0}, "regularization must be positive"),
        ({"bandwidth_x": [1.0, 2.0, 3.0]}, "bandwidth_x must be a number or one per dimension"),
    ],
)
def test_wrong_parameters_are_refused(pairs, options, message):
    with pytest.raises(ValueError, match=message):
        LikelihoodKCEF(**options).fit(*pairs)


def test_several_y_are_refused(pairs):
    X, Y = pairs
    with pytest.raises(ValueError, match="is for one y; got 2 columns: model them one after"):
        LikelihoodKCEF().fit(X, np.hstack([Y, Y]))


@pytest.mark.parametrize("density", [Normal(0.3, 1.7), StudentT(0.3, 1.7, 2.0)])
def test_location_scale_densities_equal_those_of_scipy(density):
    other = norm(0.3, 1.7) if isinstance(density, Normal) else t(2.0, 0.3, 1.7)
    y, p = np.linspace(-4.0, 5.0, 13), np.array([0.01, 0.4, 0.9])
    np.testing.assert_allclose(density.log_density(y), other.logpdf(y), rtol=1e-12)
    np.testing.assert_allclose(density.cdf(y), other.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(density.quantile(p), other.ppf(p), rtol=1e-10)
    assert density.outside(-2.0, 3.0) == pytest.approx(other.cdf(-2.0) + other.sf(3.0))
    nodes, weights = density.nodes()
    assert weights @ np.tanh(nodes) == pytest.approx(other.expect(np.tanh), abs=1e-7)


def test_quantiles_are_equivariant_to_small_units(rng):
    X = rng.normal(size=(60, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=60)
    p = np.array([0.001, 0.05, 0.5, 0.999])
    found = [
        LikelihoodKCEF(1.0, s * y.std(), 1e-3).fit(X, s * y).quantile(X[:3], p) / s
        for s in (1.0, 1e-12)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_a_constant_column_that_rounding_spreads_has_no_bandwidth_near_zero(rng):
    X = np.column_stack([rng.normal(size=60), np.full(60, 0.1)])
    model = LikelihoodKCEF(None, None, 1e-3).fit(X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=60))
    assert model.bandwidth_x_[1] > 1e-3
