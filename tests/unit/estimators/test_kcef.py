"""KCEF and KEF: against loops, refits of every fold, finite differences and quadrature."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import kstest

from kcde.estimators import KCEF, KEF
from kcde.estimators._kcef import score_matching as matching
from kcde.estimators._kcef import selection
from kcde.estimators.kef import NystromSystem
from kcde.estimators.kef import held_out_scores as scores_of_bases
from kcde.kernels import GaussianKernel
from kcde.selection import complement, kfold
from naive import NaiveKCEF, partial


@pytest.fixture
def plane(rng):
    """Twelve pairs with two x and two y."""
    X = rng.standard_normal((12, 2))
    return X, X + 0.5 * rng.standard_normal((12, 2))


@pytest.mark.parametrize("d_y", [1, 2])
def test_theorem_1_equals_a_naive_loop(plane, d_y):
    X, Y = plane[0], plane[1][:, :d_y]
    sigma_y = np.array([0.9, 1.4])[:d_y]
    naive = NaiveKCEF(X, Y, np.array([0.8, 1.2]), sigma_y, 0.03)
    model = KCEF([0.8, 1.2], sigma_y, 0.03).fit(X, Y)
    np.testing.assert_allclose(model.coef_, naive.beta, rtol=1e-8)
    points = X[:3] + 0.2, Y[:3] - 0.1
    expected = [naive.log_unnormalized(x, y) for x, y in zip(*points, strict=True)]
    np.testing.assert_allclose(model.log_unnormalized(*points), expected, rtol=1e-9)
    shared = model.log_unnormalized_at(points[1])(points[0])
    np.testing.assert_allclose(np.diagonal(shared), expected, rtol=1e-9)


def test_one_bandwidth_by_held_out_likelihood(pairs, monkeypatch):
    """Of the grid of the score, the pair of σ and λ whose densities give held-out y the most."""
    X, Y = pairs
    sigmas, path = np.array([0.9, 2.0, 4.0]), np.array([1e-2, 1e-1])
    monkeypatch.setattr(selection, "SCORE_GRIDS", (sigmas, path))
    model = KCEF(selection="shared-likelihood").fit(X, Y)
    _, folds = model._rows_and_folds(Y, 5)
    expected = np.zeros((len(sigmas), len(path)))
    for (i, j), held in product(np.ndindex(expected.shape), folds):
        kept = complement(held, len(X))
        fold = KCEF(sigmas[i], sigmas[i], path[j]).fit(X[kept], Y[kept])
        expected[i, j] += fold.log_density(X[held], Y[held]).sum() / len(X)
    np.testing.assert_allclose(model.cv_results_["log_likelihood"], expected, rtol=1e-4)
    i, j = np.unravel_index(expected.argmax(), expected.shape)
    assert set(model.bandwidth_x_) == set(model.bandwidth_y_) == {sigmas[i]}
    assert model.regularization_ == path[j]
    with pytest.raises(ValueError, match="needs one y"):
        KCEF(selection="shared-likelihood").fit(X, np.hstack([Y, Y]))


def test_derivatives_equal_finite_differences(plane):
    X, Y = plane
    model = KCEF(1.0, [1.1, 0.8], 0.02).fit(X, Y)
    step, gradient, laplacian = 1e-4, [], 0.0
    middle = model.log_unnormalized(X, Y)
    for shift in step * np.eye(2):
        above, below = (model.log_unnormalized(X, Y + s) for s in (shift, -shift))
        gradient.append((above - below) / (2 * step))
        laplacian += (above - 2 * middle + below) / step**2
    np.testing.assert_allclose(model.log_unnormalized_gradient(X, Y).T, gradient, atol=1e-6)
    r = -Y / 4
    first = np.array(gradient).T - r
    second = laplacian + 2 / 4
    loss = np.mean(np.sum(0.5 * first**2 + first * r, axis=1) + second)
    assert model.score_matching_loss(X, Y) == pytest.approx(loss, abs=1e-5)


def check_distribution(model, X):
    """Compare draws with the integral of the density over an even grid."""
    y, draws = np.linspace(-25.0, 25.0, 250_001), model.sample(X, 4000, 3)[:, :, 0]
    density = np.exp(model.log_density_at(y[:, None])(X))
    for row, drawn in zip(density, draws, strict=True):
        levels = np.interp(drawn, y, cumulative_trapezoid(row, y, initial=0.0))
        assert kstest(levels, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("width", "regularization"), [(0.7, 1e-2), (0.2, 1e-3), (4.0, 1e-3)])
def test_draws_by_inversion_have_the_distribution_of_the_quadrature(pairs, width, regularization):
    """A Kolmogorov distance within its 99.9% quantile, also where T has peaks of many nats."""
    check_distribution(KCEF(1.0, width, regularization).fit(*pairs), pairs[0][:3])


@pytest.mark.parametrize("scale", [1.0, 6.0])
def test_a_kernel_wider_than_the_data_is_integrated_over_these(pairs, scale):
    X, Y = pairs
    Y = scale * Y
    model = KCEF(1.0, 5e4, 1e-3).fit(X, Y)
    y = np.linspace(-150.0, 150.0, 60_001)
    density = np.exp(model.log_density_at(y[:, None])(X[:3]))
    np.testing.assert_allclose(np.trapezoid(density, y, axis=1), 1.0, atol=1e-8)


def test_a_density_that_rises_beyond_that_range_is_refused(pairs, monkeypatch):
    X, Y = pairs
    rising = lambda self, points: lambda rows: np.tile(points[:, 0] ** 2, (len(rows), 1))  # noqa: E731
    monkeypatch.setattr(KCEF, "log_unnormalized_at", rising)
    with pytest.raises(FloatingPointError, match="give a smaller bandwidth_y"):
        KCEF(1.0, 5e4, 1e-3).fit(X, Y)


def test_draws_from_narrow_bumps_follow_the_distribution(rng):
    X = rng.normal(size=(40, 1))
    Y = np.where(rng.random((40, 1)) < 0.5, 0.2, -1.0) + 1e-2 * rng.normal(size=(40, 1))
    model = KCEF(2.0, 0.3, 1e-4).fit(X, Y)
    tables = list(model._log_density_tables(X))
    assert len(tables) > 1  # nodes of their own for some rows at a time
    nodes = tables[0][1]
    assert len(nodes) < 0.1 * (nodes[-1] - nodes[0]) / np.diff(nodes).min()
    check_distribution(model, X[:3])


@pytest.mark.parametrize("d_y", [1, 2])
def test_score_path_equals_refitting_every_fold(plane, d_y, rng):
    X, Y = plane[0], plane[1][:, :d_y]
    folds, path = kfold(len(X), 5, rng), np.array([1e-3, 0.1, 1.0])
    kernel_x, kernel_y = GaussianKernel(0.9), GaussianKernel(1.1)
    system = matching.score_system(kernel_x(X, X), kernel_y.derivatives(Y, Y), -Y / 4)
    found = matching.held_out_scores(system, [folds], path)[0]
    for lam, value in zip(path, found, strict=True):
        total = 0.0
        for held_out in folds:
            rows = complement(held_out, len(X))
            model = KCEF(0.9, 1.1, lam).fit(X[rows], Y[rows])
            total += len(held_out) * model.score_matching_loss(X[held_out], Y[held_out])
        assert value == pytest.approx(total / len(X), rel=1e-7)


@pytest.mark.parametrize("d_y", [1, 3])
def test_blocked_assembly_equals_the_whole_system(rng, monkeypatch, d_y):
    """Blocks on and below the diagonal, against every pair at once."""
    X, Y = rng.standard_normal((23, 2)), rng.standard_normal((23, d_y))
    sigma_x, sigma_y = np.array([0.8, 1.2]), np.array([0.9, 1.4, 0.7])[:d_y]
    derivatives = GaussianKernel(sigma_y).derivatives(Y, Y)
    whole = matching.score_system(GaussianKernel(sigma_x)(X, X), derivatives, -Y / 4)
    monkeypatch.setattr("kcde.arrays._BLOCK", 5 * 23 * d_y)
    G = np.zeros((23 * d_y, 23 * d_y))
    M1 = matching.write_normal_equations(G, X, Y, sigma_x, sigma_y)
    np.testing.assert_allclose(np.tril(G), np.tril(whole.G), atol=1e-13)
    np.testing.assert_allclose(M1, whole.M.sum(axis=1), atol=1e-12)


@pytest.fixture
def flat(rng):
    return rng.standard_normal((25, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])


def test_nystrom_minimises_the_penalised_score_over_its_span(flat):
    """β against a generic minimiser of J + λ/2 ‖f‖² + λ₂/2 ‖β‖², entries by the naive loop."""
    sigma, lam, basis = np.array([1.1, 0.9]), 0.02, flat[:6]
    pairs = [(b, i) for b in range(6) for i in range(2)]
    rows = [(a, j) for a in range(len(flat)) for j in range(2)]

    def derivatives(Y, places, times):
        """∂_i ∂_j … of the kernel; each derivative in the second argument changes the sign."""
        at = [(Y[a], [j] * times) for a, j in places]
        each = [[partial(basis[b], y, sigma, i, *axes) for b, i in pairs] for y, axes in at]
        return (-1) ** times * np.array(each)

    # ∂_j f(Y_a) and Σ_j ∂_j² f(Y_a) as linear maps of β.
    first, second = derivatives(flat, rows, 1), derivatives(flat, rows, 2)
    r, gram = -flat.ravel() / 4, derivatives(basis, pairs, 1)
    n = len(flat)
    quadratic = first.T @ first / n + lam * gram + 1e-5 * np.eye(12)
    expected = np.linalg.solve(quadratic, -(second.sum(axis=0) + first.T @ r) / n)
    system = NystromSystem(basis, sigma, 2.0)
    beta, jitter = system.solve(system.moments(flat), lam)
    np.testing.assert_allclose(beta.ravel(), expected, rtol=1e-7)
    assert jitter == 0.0


def test_held_out_scores_equal_refitting_every_fold(flat, rng):
    folds, basis_rows = kfold(len(flat), 5, rng), np.arange(0, 25, 3)
    found = scores_of_bases(flat, folds, basis_rows, [0.8, 1.3], np.array([1e-2, 0.1]), 2.0)
    expected = np.zeros((2, 2))
    for (i, sigma), (j, lam), fold in product(enumerate((0.8, 1.3)), enumerate((1e-2, 0.1)), folds):
        rest = np.setdiff1d(basis_rows, fold)
        system = NystromSystem(flat[rest], np.full(2, sigma), 2.0)
        moments = system.moments(flat[complement(fold, len(flat))])
        model = KEF(sigma, lam).fit(None, flat)
        model._T = system.parameter(system.solve(moments, lam)[0])
        expected[i, j] += model.score_matching_loss(None, flat[fold]) * len(fold) / len(flat)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_exact_system_is_kcef_with_a_constant_kernel(flat):
    kef, kcef = KEF(1.0, 0.1).fit(None, flat), KCEF(1.0, 1.0, 0.1).fit(flat[:, :0], flat)
    np.testing.assert_array_equal(kef.coef_, kcef.coef_)


def test_copies_of_rows_choose_peaks_unless_they_are_in_one_fold(rng):
    """A held-out copy sits at the top of a peak, where the second derivative rewards narrowness."""
    distinct = rng.standard_normal((40, 4))
    rows = np.concatenate([distinct, distinct[:20]])
    apart, together, without = (
        KEF(group_copies=grouped).fit(None, given)
        for grouped, given in ((False, rows), (True, rows), (True, distinct))
    )
    assert apart.bandwidth_y_[0] < 0.3
    assert apart.cv_results_["score"].min() < 50 * together.cv_results_["score"].min()
    assert together.bandwidth_y_[0] > 0.8
    assert together.bandwidth_y_[0] == pytest.approx(without.bandwidth_y_[0], rel=1.0)


def test_a_basis_of_some_rows_takes_the_lowest_held_out_score(rng):
    model = KEF(n_basis=15).fit(None, rng.standard_normal((60, 2)))
    found = model.cv_results_
    i, j = np.unravel_index(np.argmin(found["score"]), found["score"].shape)
    assert model.bandwidth_y_[0] == found["bandwidth"][i]
    assert model.regularization_ == found["regularization"][j]
