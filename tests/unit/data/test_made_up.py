"""Generated data against their laws by hand: draws, densities, moments, and what seeds decide."""

from math import comb, pi

import numpy as np
import pytest
from scipy.linalg import logm
from scipy.stats import chi2, kstest, multivariate_normal, norm

from kcde import tabular
from kcde.data import made_up
from kcde.data.made_up import correlation_of, gaussian_random_pairs
from kcde.data.names import PLANAR
from kcde.seeding import rng_of

REACH = {"two-moons": 5.0, "ring": 6.0, "grid": 2.0}
CELLS = 600


def midpoints(reach, cells):
    """Midpoints (cells²,) of a square around the origin, and the area of a cell."""
    edge = 2 * reach / cells
    ticks = -reach + edge * (np.arange(cells) + 0.5)
    return np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2), edge**2


@pytest.mark.parametrize("frequency", [1, 3])
def test_grid_samples_follow_the_conditional_distribution(frequency):
    X = made_up.grid_sample(4000, 4, "test", 0, frequency=frequency)

    def rank(i):  # P(X_i <= x | before), by integrating the published density by hand
        wave = (1 - np.cos(2 * pi * frequency * X[:, i])) / (2 * pi * frequency)
        return X[:, i] + np.sin(2 * pi * frequency * X[:, i - 1]) * wave

    ranks = [X[:, 0], *map(rank, range(1, 4))]
    assert all(kstest(each, "uniform").pvalue > 1e-3 for each in ranks)
    # Given the coordinate before, the rank does not depend on anything earlier.
    assert np.abs(np.corrcoef(ranks)[np.triu_indices(4, 1)]).max() < 4 / np.sqrt(4000)
    terms = made_up.grid_log_density(X, frequency)[:, 1:]
    error = terms.std(axis=0) / np.sqrt(len(terms))
    assert np.all(np.abs(terms.mean(axis=0) + made_up.grid_entropy(4)[1:]) < 4 * error)


def test_grid_entropy_equals_its_series():
    # (1+u) log(1+u) = u + Σ_m u^2m / (2m (2m-1)) + odd powers, whose means vanish.
    terms = [(comb(2 * m, m) / 4**m) ** 2 / (2 * m * (2 * m - 1)) for m in range(1, 400)]
    series = -(sum(terms) + 1 / (8 * pi * 399.5**2))
    np.testing.assert_allclose(made_up.grid_entropy(3), [0.0, series, series], atol=1e-9)


def test_grid_rows_and_columns_are_nested_and_nothing_has_a_density_outside():
    train, test = made_up.grid_training_and_test(2000, 5, 1)
    for n in (200, 4500):
        found, same_test = made_up.grid_training_and_test(n, 3, 1)
        np.testing.assert_array_equal(found[:2000], train[:n, :3])
        np.testing.assert_array_equal(same_test, test[:, :3])
    _, other = made_up.grid_training_and_test(200, 3, 2)
    assert not np.any(train[:200, :3] == other[:200])
    with pytest.raises(ValueError, match="8000"):
        made_up.grid_training_and_test(8001, 3, 0)
    outside = made_up.grid_log_density([[0.5, 1.1], [-0.1, 0.5]])
    assert (outside[0, 1], outside[1, 0], outside[0, 0]) == (-np.inf, -np.inf, 0.0)


@pytest.mark.parametrize("k", [2, 6])
def test_logarithm_has_the_given_elements_and_the_diagonal_is_one(k, rng):
    gamma = rng.standard_normal(k * (k - 1) // 2)
    correlation = correlation_of(gamma)
    np.testing.assert_array_equal(np.diag(correlation), 1.0)
    np.testing.assert_allclose(logm(correlation)[np.tril_indices(k, -1)], gamma, atol=1e-9)
    np.testing.assert_allclose(correlation_of(gamma[:1])[1, 0], np.tanh(gamma[0]), atol=1e-14)
    with pytest.raises(ValueError, match="is singular"):
        correlation_of([25.0])


def test_the_canonical_correlation_is_the_largest_of_linear_functions():
    law = gaussian_random_pairs(3, 2, "normal-1")
    (C_x, C_xy), (C_yx, C_y) = (np.hsplit(half, 2) for half in np.vsplit(law.correlation, 2))
    squared = np.linalg.eigvals(np.linalg.inv(C_x) @ C_xy @ np.linalg.inv(C_y) @ C_yx)
    assert law.canonical_correlation == pytest.approx(np.sqrt(squared.real.max()), rel=1e-9)


def test_draws_have_the_correlation_and_do_not_depend_on_the_chunk(monkeypatch, rng):
    law = gaussian_random_pairs(2, 3)
    found = np.cov(np.hstack(law.draw(40_000, rng)).T)
    # The elements of a sample covariance have standard errors of at most √(2/n).
    np.testing.assert_allclose(found, law.correlation, atol=5 * np.sqrt(2 / 40_000))
    whole = law.draw(100, np.random.default_rng(0))
    monkeypatch.setattr(made_up, "_CHUNK", 7)
    for one, other in zip(whole, law.draw(100, np.random.default_rng(0)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_conditional_moments_against_the_conditional_density_on_a_grid():
    """p(y|x) = p(x, y)/p(x) by scipy, integrated by the trapezoidal rule."""
    law, X = gaussian_random_pairs(2, 1), np.array([[-1.0, 1.3], [0.4, 0.4]])
    spread = np.sqrt(np.diag(law.conditional_covariance))
    joint, nodes = multivariate_normal(np.zeros(4), law.correlation), midpoints(8.0, 120)[0]
    moments = law.conditional_mean(X), law.conditional_second_moment(X)
    for x, mean, second in zip(X, *moments, strict=True):
        y = mean + spread * nodes
        weight = joint.pdf(np.hstack([np.broadcast_to(x, y.shape), y]))
        weight /= weight.sum()
        np.testing.assert_allclose(weight @ y, mean, atol=1e-6)
        np.testing.assert_allclose(np.einsum("i,ij,ik->jk", weight, y, y), second, atol=1e-6)


def test_pairs_depend_on_names_alone():
    """In one dimension every law has the same x, and stronger laws stronger correlations."""
    weak, strong = (gaussian_random_pairs(1, 3, law) for law in ("normal-0.1", "uniform-1"))
    assert abs(weak.correlation[1, 0]) < abs(strong.correlation[1, 0])
    first, second = (made_up.gaussian_training_pairs(law, 50, 3)[0] for law in (weak, strong))
    np.testing.assert_array_equal(first, second)
    others = [made_up.gaussian_training_pairs(weak, *each)[0] for each in ((80, 3), (50, 1))]
    test = made_up.gaussian_held_out_pairs(weak, 3, 40)[0]
    assert not any(np.isin(first, other).any() for other in (*others, test))
    train, _ = made_up.planar_of_seed("grid", 3)
    np.testing.assert_array_equal(made_up.planar_of_seed("grid", 3)[0], train)
    assert not np.array_equal(made_up.planar_of_seed("grid", 4)[0], train)
    X = made_up.bimodal_training_pairs(30, 2)[0]
    assert not np.isin(made_up.bimodal_held_out_pairs(2, 40)[0], X).any()
    uniform = gaussian_random_pairs(1, 3, "correlation-1").correlation[1, 0]
    assert np.tanh(uniform) == pytest.approx(strong.correlation[1, 0])
    for law in ("cauchy-1", "correlation-2"):
        with pytest.raises(ValueError, match=law):
            gaussian_random_pairs(1, 0, law)


@pytest.mark.parametrize("x", [1.0, 0.0, 0.45])
def test_donut_densities_are_those_of_the_mixture(x):
    Y = rng_of("test-donut").uniform(-1.5, 1.5, (40, 2))
    points = np.column_stack([np.full(len(Y), x), Y])
    parts = [multivariate_normal.pdf(points, m, 0.01 * np.eye(3)) for m in made_up.donut_means()]
    found = made_up.donut_joint_density(x, Y)
    np.testing.assert_allclose(found, np.mean(parts, axis=0), rtol=1e-12)
    nodes, cell = midpoints(2.0, 200)
    over_y = made_up.donut_joint_density(x, nodes).sum() * cell
    assert over_y == pytest.approx(made_up.donut_marginal_density(x), rel=1e-9)


def planar_by_hand(name, y):
    """The laws of the text, a point at a time; two moons up to its constant."""
    a, b = y
    r = np.hypot(a, b)
    if name == "grid":
        bumps = [(a - c) ** 2 + (b - 1) ** 2 for c in (0, 1)]
        return np.mean([np.exp(-bump / 0.02) / (0.02 * np.pi) for bump in bumps])
    if name == "ring":
        along = sum(c / 9 * norm.pdf(r, c, 0.1) for c in (1, 3, 5))
        return along / (2 * np.pi * r)
    bumps = np.exp(-0.5 * ((a - 2) / 0.6) ** 2) + np.exp(-0.5 * ((a + 2) / 0.6) ** 2)
    return np.exp(-(0.5 * ((r - 2) / 0.4) ** 2 - np.log(bumps)))


@pytest.mark.parametrize("name", PLANAR)
def test_planar_density_is_that_of_the_text_and_of_the_draws(name, rng):
    points = made_up.planar_draw(name, 40, rng) + 0.1 * rng.standard_normal((40, 2))
    expected = np.log([planar_by_hand(name, point) for point in points])
    found = made_up.planar_log_density(name, points)
    # The constant of two moons is checked by its mass.
    constant = (found - expected)[0] if name == "two-moons" else 0.0
    np.testing.assert_allclose(found - expected, constant, atol=1e-10)
    nodes, area = midpoints(REACH[name], CELLS)
    mass = np.exp(made_up.planar_log_density(name, nodes)) * area
    assert mass.sum() == pytest.approx(1, abs=1e-6)
    n, blocks = 20_000, 30
    expected = n * mass.reshape((blocks, CELLS // blocks) * 2).sum(axis=(1, 3)).ravel()
    edges = np.linspace(-REACH[name], REACH[name], blocks + 1)
    counts = np.histogram2d(*made_up.planar_draw(name, n, rng).T, bins=[edges, edges])[0].ravel()
    often = expected >= 5
    seen, wanted = (np.append(v[often], v[~often].sum()) for v in (counts, expected))
    assert chi2.sf(np.sum((seen - wanted) ** 2 / wanted), len(seen) - 1) > 1e-3


@pytest.mark.parametrize(
    ("name", "point", "expected"),
    [
        ("ring", (0.0, 1.2), 2.0),
        ("grid", (0.3, 0.6), 5.0),
        # By the radius on the axis; beside it by the first coordinate.
        ("two-moons", (2.8, 0.0), 2.0),
        ("two-moons", (0.2, 1.99), 3.0),
    ],
)
def test_planar_deviations_are_those_from_the_support(name, point, expected):
    assert made_up.planar_deviations(name, np.array([point])) == pytest.approx(expected)


def test_bimodal_density_is_that_of_a_mixture_by_hand_and_of_the_draws():
    X, Y = made_up.bimodal_draw(200, 2, np.random.default_rng(0))
    assert X.shape == (200, 5)
    for x, y, found in zip(X, Y[:, 0], made_up.bimodal_log_density(X, Y), strict=True):
        share, width = (1.0 / (1.0 + np.exp(-1.5 * value)) for value in x[1:3])
        modes = norm(np.sin(2.0 * x[0]) + np.array([0.8, -0.8]), 0.15 + 0.25 * width)
        assert found == pytest.approx(np.log([share, 1.0 - share] @ modes.pdf(y)))
    X, Y = made_up.bimodal_draw(100_000, 0, np.random.default_rng(2))
    # E[1/p] over a box is the box's volume.
    inside = np.abs(Y[:, 0] - np.sin(2.0 * X[:, 0])) < 1.0
    volume = np.mean(inside * np.exp(-made_up.bimodal_log_density(X, Y)))
    assert volume == pytest.approx(2.0, abs=0.1)


def test_houses_have_the_stated_shape_and_law():
    frame, highest = made_up.houses(), made_up.HOUSES_HIGHEST_PRICE
    assert frame.shape == (20_640, 9)
    checked = tabular.check(frame, "price")
    assert len(checked.columns.x) == 8
    assert not checked.notes + checked.warnings
    assert 0.02 < (frame["price"] == highest).mean() < 0.08
    mean, std = made_up.houses_log_price(frame)
    pit = norm.cdf((np.log(frame["price"]) - mean) / std)
    likely = norm.cdf((np.log(highest) - mean) / std)
    # Rows whose price is cut off have a known share at and above each level of the others.
    below = frame["price"] < highest
    assert abs(below.mean() - likely.mean()) < 0.01
    assert kstest(pit[below] / likely[below], "uniform").pvalue > 0.001
