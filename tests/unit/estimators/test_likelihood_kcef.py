"""LikelihoodKCEF: gradient, optimum, normaliser, selection, pairs read in blocks."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import t

from contracted import some_pairs
from kcde.estimators import GaussianProcess, LikelihoodKCEF, likelihood_kcef
from kcde.estimators._likelihood import objective as likelihood
from kcde.estimators._likelihood import selection
from kcde.estimators._likelihood.objective import AsinhScale, KernelFeatures, Sums
from kcde.estimators._likelihood.selection import WIDTHS_X, WIDTHS_Y, Scored
from kcde.estimators._shared.floored import Normal, StudentT, weight_of_floor
from kcde.estimators.likelihood_kcef import LowRankFamily
from kcde.kernels import GaussianKernel
from kcde.streaming import ArrayRows, ParquetRows
from naive import slopes

GIVEN = {"bandwidth_x": 1.0, "bandwidth_y": 0.8, "regularization": 1e-3}
BASE = Normal(0.0, 2.0)


@pytest.fixture
def features(pairs):
    """φ and ψ of thirty pairs, functions and values, with a grid of y."""
    X, Y = pairs
    rng = np.random.default_rng(0)
    x = KernelFeatures(X, 1.0, 8, rng)
    y = KernelFeatures(Y, 0.8, 5, rng)
    ends = likelihood.support(Y.min(), Y.max(), y, BASE)
    return x(X), y(Y), likelihood.output_grid(y, BASE, ends, X)


def objective_of(phi, psi, grid, weights):
    counts = weights.sum(axis=0)
    cross = np.stack([phi.T @ (psi * w[:, None]) / w.sum() for w in weights.T])
    return likelihood.Objective(Sums([phi[w > 0] for w in weights.T], grid), cross, counts)


def test_features_have_the_kernel_as_inner_product_at_full_rank(pairs):
    X, _ = pairs
    found = KernelFeatures(X, 1.0, 30, np.random.default_rng(0))(X)
    np.testing.assert_allclose(found @ found.T, GaussianKernel(1.0)(X, X), atol=1e-5)


def test_value_is_a_naive_sum_and_the_gradient_its_slope(features):
    phi, psi, grid = features
    rng = np.random.default_rng(1)
    weights = (rng.random((30, 3)) < 0.7).astype(float)
    objective = objective_of(phi, psi, grid, weights)
    theta, *along = rng.standard_normal((6, 3, phi.shape[1], psi.shape[1]))
    value, gradient = objective(theta, 0.1)
    for found, own, used in zip(value, theta, weights.T > 0.0, strict=True):
        T = phi[used] @ own
        log_z = logsumexp(grid.log_weights + T @ grid.features.T, axis=1)
        loss = np.mean(log_z - (T * psi[used]).sum(axis=1))
        assert found == pytest.approx(loss + 0.05 * (own**2).sum(), rel=1e-12)
    found = slopes(lambda t: objective(theta + np.tensordot(t, along, 1), 0.1)[0], np.zeros(5))
    np.testing.assert_allclose(found, np.einsum("kab,jkab->jk", gradient, along), rtol=1e-5)


@pytest.mark.parametrize("size", [0.3, 3000.0], ids=["near", "far"])
@pytest.mark.filterwarnings("error")
def test_sums_do_not_depend_on_the_last_theta(features, size):
    phi, psi, grid = features
    rng = np.random.default_rng(4)
    both, shape = Sums([phi[:20], phi[5:]], grid), (2, phi.shape[1], psi.shape[1])
    both(np.zeros(shape))
    theta = size * rng.standard_normal(shape)
    found = both(theta)
    for k, rows in enumerate((slice(20), slice(5, None))):
        alone = Sums([phi[rows]], grid)(theta[k : k + 1])
        np.testing.assert_allclose(found.log_z[k], alone.log_z[0], rtol=1e-12)
        np.testing.assert_allclose(found.moment[k], alone.moment[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("share", [0.4, 0.0], ids=["kept", "recomputed"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_blocks_add_up_to_those_of_all_rows(pairs, features, share, weighted, monkeypatch):
    monkeypatch.setattr(likelihood, "_SHARE_KEPT", share)
    (X, Y), (phi, psi, grid) = pairs, features
    rng = np.random.default_rng(0)
    maps = KernelFeatures(X, 1.0, 8, rng), KernelFeatures(Y, 0.8, 5, rng)
    weights = np.tile([0.5, 1.5] if weighted else [1.0, 1.0], 15)
    theta = 0.3 * rng.standard_normal((1, phi.shape[1], psi.shape[1]))
    rows = likelihood.FeatureRows(ArrayRows(X, Y, block=7), *maps, np.float64, weights)
    cross, _ = rows.moments()
    found, expected = rows.sums(grid)(theta), Sums([phi], grid, weights)(theta)
    np.testing.assert_allclose(found.log_z, expected.log_z, rtol=1e-12)
    np.testing.assert_allclose(found.moment, expected.moment, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(30 * cross, phi.T @ (weights[:, None] * psi), atol=1e-12)


def test_preconditioned_optimum_is_that_of_plain_bfgs(features):
    phi, psi, grid = features
    objective, shape = objective_of(phi, psi, grid, np.ones((30, 1))), (1, phi.shape[1], 5)

    def plain(u):
        value, gradient = objective(u.reshape(shape), 0.01)
        return value[0], gradient.ravel()

    options = {"gtol": 1e-9, "maxiter": 5000}
    expected = minimize(plain, np.zeros(np.prod(shape)), jac=True, method="BFGS", options=options)
    start = objective, np.zeros(shape), likelihood.Preconditioner.of_rows(phi, psi)
    found, iterations = likelihood.minimise(*start, 0.01, iterations=200, tolerance=1e-14)
    np.testing.assert_allclose(found.ravel(), expected.x, atol=1e-4)
    assert iterations < expected.nit


def test_mixture_is_what_it_says(pairs):
    X, Y = pairs
    model = LikelihoodKCEF(**GIVEN, weight=0.05).fit(X, Y)
    floor = t(2, Y.mean(), Y.std())
    expected = 0.95 * np.exp(model.family_.log_density(X, Y)) + 0.05 * floor.pdf(Y[:, 0])
    np.testing.assert_allclose(model.log_density(X, Y), np.log(expected), rtol=1e-10)


def test_nodes_are_refined_where_the_density_needs_it(pairs):
    X, _ = pairs
    Y = np.where(X[:, :1] > 0, 1.0, -1.0) + 1e-3 * np.random.default_rng(0).normal(size=(30, 1))
    family = likelihood_kcef.LowRankFamily((0.5, 1.5), 1e-10, (30, 30), BASE).fit(X, Y)
    assert family._finer > 1
    y = np.linspace(-3.0, 3.0, 400_001)
    mass = np.trapezoid(np.exp(family.log_density_at(y[:, None])(X[:2])), y, axis=1)
    np.testing.assert_allclose(mass, 1.0, atol=1e-5)


@pytest.mark.parametrize("largest", [3.0, 4e4], ids=["near", "far"])
def test_far_from_all_rows_the_density_is_that_of_y_alone(pairs, largest):
    """With one far y the nodes are in pieces, of which those of the base take part."""
    X, Y = pairs
    Y = np.concatenate([Y[1:], [[largest]]])
    widths, alone = (np.zeros(0), 0.3), (np.full(2, 0.5), 0.9)
    marginal = likelihood_kcef.LowRankFamily(widths, 1e-3, (1, 30), BASE)
    marginal.fit_rows(ArrayRows(X[:, :0], Y))
    family = likelihood_kcef.LowRankFamily(alone, 1e-3, (30, 30), marginal.as_base()).fit(X, Y)
    y = np.concatenate([np.linspace(-20.0, 20.0, 40_001), largest + np.linspace(25.0, -5.0, 9)])
    found = family.log_density_at(y[:, None])(np.stack([X[0], X[0] + 1e3]))
    expected = marginal.log_density_at(y[:, None])(X[:1, :0])
    np.testing.assert_allclose(found[1], expected[0], rtol=1e-8, atol=1e-8)
    assert np.trapezoid(np.exp(found[0, :40_001]), y[:40_001]) <= 1.0 + 1e-6
    np.testing.assert_allclose(family.cdf(X[:3], np.full((3, 1), 1.1 * largest + 20.0)), 1.0)
    below = np.trapezoid(np.exp(found[0, :40_001]), y[:40_001])
    assert family.cdf(X[:1], np.array([[20.0]]))[0] == pytest.approx(below, abs=1e-5)


def relevance(X, Y):
    floor, folds = StudentT(0.0, 1.0, 2.0), np.array_split(np.arange(len(X)), 5)
    return selection.HeldOut(X, Y, np.ones(len(X)), folds, BASE, floor, 0.01).relevance(0)


def test_relevance_is_that_of_a_gaussian_process():
    """Of six columns, each of less influence on the mean of y than the one before."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 6))
    mean = np.sin(X * 2.0 / 2.0 ** np.arange(6)).sum(axis=1)
    Y = mean[:, None] + 0.2 * rng.normal(size=(300, 1))
    found = relevance(X, Y)
    assert np.mean(found**-2.0) == pytest.approx(1.0)
    expected = GaussianProcess().fit(X, Y).bandwidth_x_[0]
    np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-3)
    # Columns that say nothing are bounded.
    found = relevance(X, np.sin(2.0 * X[:, :1]))
    assert found.max() == pytest.approx(100.0 * found.min())


def test_a_gain_within_a_standard_error_is_none():
    noise = np.random.default_rng(6).normal(size=100)
    worse, better = Scored(noise, 0.1), Scored(noise + 0.1, 0.1)
    assert better.gains(worse)
    assert not worse.gains(better)
    assert not Scored(np.roll(noise, 1), 0.1).gains(Scored(noise + 0.05, 0.1))


def test_the_curvature_is_the_mean_conditional_covariance(features):
    phi, psi, grid = features
    theta = np.random.default_rng(3).normal(size=(2, phi.shape[1], psi.shape[1]))
    found = []
    for k, row in ((k, row) for k in range(2) for row in phi):
        p = np.exp(grid.features @ (row @ theta[k]) + grid.log_weights)
        p /= p.sum()
        found.append(np.cov(grid.features.T, aweights=p, ddof=0))
    covariance = likelihood.spread(phi, theta, grid).covariance
    np.testing.assert_allclose(covariance, np.mean(found, axis=0), atol=1e-10)


class _Hill:
    """Stands for `HeldOut`: a summit of λ = 1e-4; longer paths score better, as unfinished fits."""

    X, ranks = np.zeros((4, 2)), (100, 20)

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
    search = selection.Search(rows, rows, 0)
    search._climb([np.full(2, width * np.sqrt(2.0)) for width in WIDTHS_X], None)
    np.testing.assert_allclose(search._widths.x, x * np.sqrt(2.0))
    assert search._widths.y == y
    assert len(rows.paths) < 0.8 * len(WIDTHS_X) * len(WIDTHS_Y)
    assert rows.paths[0] == list(selection.REGULARIZATIONS)
    assert all(path[0] == pytest.approx(1e-2) for path in rows.paths[1:])


class _Plateau(_Hill):
    """Better once the second column is within the grid; beyond it no width tells from another."""

    def path(self, widths, ranks, regularizations, rng):
        return Scored(np.full(4, float(widths.x[1] < WIDTHS_X[-1])), 1e-4)


def test_a_column_that_was_smoothed_out_comes_back_at_once():
    rows = _Plateau(None)
    search = selection.Search(rows, rows, 0)
    search._widths = selection.Widths(np.array([1.0, 35.0]), 1.0)
    search._best = Scored(np.zeros(4), 1e-4)
    search._fit_column(1)
    assert search._widths.x[1] < WIDTHS_X[-1]


def test_skewed_x_is_taken_by_asinh_where_held_out_rows_gain(rng):
    logs = rng.normal(size=(120, 1))
    X, Y = np.exp(2.0 * logs), logs + 0.3 * rng.normal(size=(120, 1))
    given = {"bandwidth_y": 0.5, "regularization": 1e-3}
    model, even = (LikelihoodKCEF(**given).fit(x, Y) for x in (X, logs))
    assert even.scale_x_ is None
    scaled = model.scale_x_(X)
    assert scaled.std() == pytest.approx(1.0)
    np.testing.assert_allclose(AsinhScale.of(3.0 * X - 5.0)(3.0 * X - 5.0), scaled, rtol=1e-9)
    made = (model.bandwidth_x_, 0.8), 1e-4, (120, 20), BASE, 0
    found = LowRankFamily(*made, model.scale_x_).fit(X, Y).log_density(X, Y)
    np.testing.assert_allclose(found, LowRankFamily(*made).fit(scaled, Y).log_density(scaled, Y))


def test_float32_agrees_and_where_it_does_not_the_fit_is_made_again(pairs, monkeypatch):
    X, Y = pairs
    exact = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    monkeypatch.setattr(likelihood_kcef, "FLOAT32_FROM", 1)
    found = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    np.testing.assert_allclose(found, exact, atol=1e-3)
    assert np.abs(found / exact - 1.0).max() > 1e-9
    monkeypatch.setattr(likelihood_kcef, "_ROUNDED", 0.0)
    found = LikelihoodKCEF(**GIVEN).fit(X, Y).log_density(X, Y)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_weight_and_rank_fall_as_rows_grow(pairs, monkeypatch):
    assert (weight_of_floor(30), weight_of_floor(4000)) == (0.01, 10 / 4000)
    monkeypatch.setattr(likelihood_kcef, "_MOST_FEATURES", 7 * 30 + 5)
    monkeypatch.setattr(likelihood_kcef, "_FEWEST_X", 5)
    for options, rank in (({}, 7), ({"rank_x": 4}, 4)):
        assert LikelihoodKCEF(**GIVEN, **options).fit(*pairs).coef_.shape[0] == rank


@pytest.mark.parametrize(
    ("options", "x_narrows", "y_narrows"),
    [({}, True, True), ({"bandwidth_y": 0.5}, True, False), ({"tuning_rows": None}, False, False)],
)
def test_bandwidths_narrow_where_few_rows_choose(rng, monkeypatch, options, x_narrows, y_narrows):
    X, Y = some_pairs(rng, 160, 1, 0.3)
    choices, run = [], selection.Search.run
    note = lambda *given: choices.append(run(*given)) or choices[-1]  # noqa: E731
    monkeypatch.setattr(selection.Search, "run", note)
    monkeypatch.setattr(likelihood_kcef, "_NARROWER_FROM", 40)
    monkeypatch.setattr(likelihood_kcef, "_NARROWER_TO", 120)
    model = LikelihoodKCEF(**{"tuning_rows": 40} | options).fit(X, Y)
    for found, chosen, scale, narrows in (
        (model.bandwidth_x_, choices[-1][0].x, X.std(axis=0), x_narrows),
        (model.bandwidth_y_, choices[-1][0].y, Y.std(axis=0), y_narrows),
    ):
        expected = chosen * scale * (3.0 ** (-1 / 6) if narrows else 1.0)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + rng.normal(size=700)})


@pytest.fixture
def parquet(table, tmp_path):
    """A folder with two files, and their pairs."""
    (tmp_path / "rows").mkdir()
    table[:300].to_parquet(tmp_path / "rows" / "0.parquet")
    table[300:].to_parquet(tmp_path / "rows" / "1.parquet")
    return tmp_path / "rows"


def test_rows_in_blocks_give_the_fit_of_all(table, parquet, tmp_path):
    X, Y = table[["a", "b"]].to_numpy(), table[["y"]].to_numpy()
    whole = LikelihoodKCEF(**GIVEN).fit(X, Y)
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    files = ParquetRows(parquet, ["a", "b"], "y", block=128)
    np.testing.assert_allclose(files.take(np.array([3, 500]))[0], X[[3, 500]])
    for rows in (ArrayRows(X, Y[:, 0], block=64), ArrayRows(mapped, Y, block=100), files):
        found = LikelihoodKCEF(**GIVEN).fit_rows(rows)
        np.testing.assert_allclose(found.log_density(X, Y), whole.log_density(X, Y), atol=1e-5)
        assert (len(rows), found._n_fitted, found.n_features_in_) == (700, 700, 2)
        assert found.predict(X).ndim == found.std(X).ndim == rows.given[1].ndim
    assert list(found.feature_names_in_) == ["a", "b"]


def test_a_stage_of_more_rows_ends_at_the_same_solution(table, monkeypatch):
    X, Y, weights = table[["a", "b"]], table["y"], np.tile([0.5, 1.5], 350)
    monkeypatch.setattr(likelihood, "PIVOT_ROWS", 60)
    found = []
    for times in (12, 3):  # none lies between, or 180 rows
        monkeypatch.setattr(likelihood_kcef, "_STAGE", times)
        found.append(LikelihoodKCEF(**GIVEN).fit(X, Y, sample_weight=weights))
    one, staged = (model.log_density(X, Y) for model in found)
    np.testing.assert_allclose(staged, one, atol=5e-3)
    means = (np.average(each, weights=weights) for each in (staged, one))
    assert next(means) == pytest.approx(next(means), abs=1e-4)
    assert found[1].iterations_ > found[0].iterations_ > 10


def test_scales_of_blocks_are_those_of_all_rows(table):
    X, Y = table[["a", "b"]].to_numpy(), table[["y"]].to_numpy()
    X = np.hstack([1e6 + X, np.ones((700, 1))])
    found = likelihood.scales(ArrayRows(X, Y, block=33))
    np.testing.assert_allclose(found.x, [*X[:, :2].std(axis=0), 1.0], rtol=1e-9)
    assert (found.mean, found.std) == pytest.approx((Y.mean(), Y.std()), rel=1e-12)


def test_wrong_parquet_files_are_refused(table, parquet, tmp_path):
    table.assign(a="text").to_parquet(tmp_path / "text.parquet")
    table[:0].to_parquet(tmp_path / "empty.parquet")
    for path, column, said in (
        (parquet, "c", "column c"),
        (tmp_path / "text.parquet", "a", "numbers"),
        (tmp_path / "empty.parquet", "a", "rows"),
        (tmp_path / "none.parquet", "a", "folder"),
    ):
        with pytest.raises((ValueError, FileNotFoundError), match=said):
            ParquetRows(path, [column], "y")
