"""The optimum of the objective of doubly dual embedding, against naive integrals."""

import numpy as np
import pytest
from kcde.estimators._dde.base import GaussianBase, UniformBase
from kcde.estimators._dde.potential import KernelSum
from scipy import stats

from kcde.estimators import DDE
from kcde.estimators._dde import optimum
from kcde.estimators._dde.optimum import PENALTIES, Likelihood

WIDTH_X, WIDTH_Y, WEIGHT, STD = np.array([0.8, 1.3]), np.array([0.5]), 0.5, 2.0
Y_LINE = np.linspace(-16.0, 16.0, 1501)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((14, 2))
    return X, np.sin(X[:, :1]) + 0.4 * rng.standard_normal((14, 1))


@pytest.fixture(scope="module")
def problem(rows):
    return Likelihood(*rows, WIDTH_X, WIDTH_Y, GaussianBase(np.zeros(1), np.array([STD])), WEIGHT)


def kernel(width, a, b):
    return np.exp(-0.5 * np.sum(((a - b) / width) ** 2))


def naive_loss(T, penalty, norm2, rows):
    """Return -mean log p_0 e^T/Z and the penalty, with Z by the trapezoidal rule."""
    total = 0.0
    for x, y in zip(*rows, strict=True):
        base = stats.norm.pdf(Y_LINE, 0.0, STD)
        z = np.trapezoid(base * np.exp([T(x, [v]) for v in Y_LINE]), Y_LINE)
        total += np.log(z) - T(x, y) - stats.norm.logpdf(y[0], 0.0, STD)
    return total / len(rows[0]) + 0.5 * penalty * WEIGHT * norm2


def test_the_objective_of_a_function_is_that_of_naive_sums(rows, problem):
    weights = np.random.default_rng(1).standard_normal(len(rows[0]))
    X, Y = rows

    def basis(x, y):
        pairs = zip(X, Y, strict=True)
        return np.array([kernel(WIDTH_X, a, x) * kernel(WIDTH_Y, b, y) for a, b in pairs])

    norm2 = sum(weights @ basis(x, y) * w for x, y, w in zip(X, Y, weights, strict=True))
    few = X[:3], Y[:3]
    small = Likelihood(*few, WIDTH_X, WIDTH_Y, GaussianBase(np.zeros(1), np.array([STD])), WEIGHT)
    found = small.evaluated(KernelSum(X, Y, weights, WIDTH_X, WIDTH_Y), 0.3)
    expected = naive_loss(lambda x, y: weights @ basis(x, y), 0.3, norm2, few)
    assert found.loss == pytest.approx(expected, abs=1e-7)
    assert found.loss - found.likelihood == pytest.approx(0.5 * 0.3 * WEIGHT * norm2)


@pytest.mark.parametrize("penalty", [1.0, 1.0 / 14, 1e-2])
def test_the_optimum_solves_the_equation_of_the_whole_space(penalty, rows, problem):
    """The gradient in the RKHS is 0: T = Σ_i k(x_i, ·)(k(y_i, ·) - E k(Y, ·))/(n η w)."""
    X, Y = rows
    found = problem.minimised(penalty)
    places = np.array([[-1.0], [0.2], [1.5], [4.0]])
    for x in (X[0],):
        repeated = np.repeat(x[None], len(Y_LINE), axis=0)
        log_p = found.log_density(repeated, Y_LINE[:, None])
        assert np.trapezoid(np.exp(log_p), Y_LINE) == pytest.approx(1.0, abs=1e-6)
        at = np.repeat(x[None], len(places), axis=0)
        T = found.log_density(at, places) - stats.norm.logpdf(places[:, 0], 0.0, STD)
        wanted = np.zeros(len(places))
        for x_i, y_i in zip(X, Y, strict=True):
            p = np.exp(
                found.log_density(np.repeat(x_i[None], len(Y_LINE), axis=0), Y_LINE[:, None])
            )
            for k, place in enumerate(places):
                at_y = np.exp(-0.5 * ((Y_LINE - place[0]) / WIDTH_Y[0]) ** 2)
                pull = kernel(WIDTH_Y, y_i, place) - np.trapezoid(p * at_y, Y_LINE)
                wanted[k] += kernel(WIDTH_X, x_i, x) * pull
        wanted /= len(X) * penalty * WEIGHT
        # log Z(x) is the same at all places.
        np.testing.assert_allclose(T - T[3], wanted - wanted[3], atol=2e-4 * np.abs(wanted).max())


def test_no_function_has_a_smaller_loss(rows, problem):
    best, rng = problem.minimised(0.1), np.random.default_rng(2)
    assert 0.0 <= best.gap < 1e-6
    for size in (0.0, 1e-2, 0.3):
        T = KernelSum(*rows, size * rng.standard_normal(14), WIDTH_X, WIDTH_Y)
        assert problem.evaluated(T, 0.1).loss > best.loss + 1e-3


def test_the_gap_bounds_what_a_rough_solution_lacks(problem):
    exact, rough = problem.minimised(0.01), problem.minimised(0.01, rough=True)
    assert 0.0 <= rough.loss - exact.loss <= rough.gap


def test_the_likelihood_of_the_rows_has_no_bound_without_penalty(problem):
    found = [problem.minimised(penalty).likelihood for penalty in (1e-1, 1e-2, 1e-3)]
    assert np.all(np.diff(found) < -0.3)


def test_a_held_out_fifth_chooses_the_penalty(rows, problem):
    found = problem.stopped()
    assert np.isclose(found.penalty * 14, PENALTIES).sum() == 1
    again = problem.minimised(found.penalty)
    assert found.loss == pytest.approx(again.loss, abs=1e-9)


def test_the_nearest_optimum_is_the_likeliest_function_of_that_norm(rows, problem):
    T = KernelSum(*rows, np.random.default_rng(5).standard_normal(14), WIDTH_X, WIDTH_Y)
    penalty = problem.nearest(T)

    def gap(eta):
        return problem.evaluated(T, eta).loss - problem.minimised(eta).loss

    assert gap(penalty) <= min(gap(penalty * 10**0.5), gap(penalty / 10**0.5)) + 1e-6

    def half_norm2(found):
        return (found.loss - found.likelihood) / found.penalty

    ends = [half_norm2(problem.minimised(penalty * c)) for c in (10**0.5, 10**-0.5)]
    assert ends[0] < half_norm2(problem.evaluated(T, penalty)) < ends[1]


@pytest.mark.nightly
def test_densities_of_the_plane_integrate_to_one_on_the_box(rng):
    Y = rng.standard_normal((40, 2))
    box = UniformBase(Y.min(axis=0), Y.max(axis=0))
    problem = Likelihood(np.empty((40, 0)), Y, np.empty(0), np.array([0.7, 0.5]), box, 1.0)
    found = problem.minimised(1 / 40)
    sides = [np.linspace(a, b, 301) for a, b in zip(box.lower, box.upper, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(found.log_density(np.empty((len(points), 0)), points)).reshape(301, 301)
    inner = np.trapezoid(np.trapezoid(density, sides[1], axis=1), sides[0])
    assert inner == pytest.approx(1.0, abs=1e-4)
    T = KernelSum(np.empty((40, 0)), Y, np.full(40, 0.2), np.empty(0), np.array([0.7, 0.5]))
    log_p = problem.evaluated(T, 0.0).log_density(np.empty((len(points), 0)), points)
    total = np.trapezoid(np.trapezoid(np.exp(log_p).reshape(301, 301), sides[1], axis=1), sides[0])
    assert total == pytest.approx(1.0, abs=1e-4)


@pytest.mark.nightly
def test_training_leaves_a_gap_to_the_optimum(rows):
    model = DDE(
        iterations=100, validation=0, hidden_units=8, latent=4, dual_weight=0.5, learning_rate=2e-3
    ).fit(*rows)
    problem = model.penalised_likelihood()
    trained = problem.evaluated(model.trained_, model.regularization_)
    assert trained.loss > problem.minimised(model.regularization_).loss
    # With the weight of the training the density is that of the estimator.
    same = DDE(**model.get_params() | {"density_weight": 0.5}).fit(*rows)
    np.testing.assert_allclose(trained.log_density(*rows), same.log_density(*rows), atol=1e-5)


@pytest.mark.nightly
def test_the_rows_of_the_objective_are_those_of_the_training(rows):
    options = {"iterations": 20, "hidden_units": 8, "latent": 4, "refit": False}
    model = DDE(**options).fit(*rows)
    assert len(model.penalised_likelihood().Y) == 14 - round(0.2 * 14) == len(model.coef_)


@pytest.mark.nightly
def test_what_has_no_optimum_is_refused(rows, problem):
    rng = np.random.default_rng(0)
    quick = {"iterations": 2, "validation": 0, "hidden_units": 4, "latent": 2}
    with pytest.raises(ValueError, match="'features' approximates the RKHS"):
        DDE(basis="features", features=5, **quick).fit(*rows).penalised_likelihood()
    with pytest.raises(ValueError, match="got d_y = 2"):
        DDE(**quick).fit(None, rng.standard_normal((9, 2))).penalised_likelihood()
    with pytest.raises(ValueError, match="penalty must be positive; got 0"):
        problem.minimised(0.0)


def test_what_is_not_solved_is_refused(problem, monkeypatch):
    monkeypatch.setattr(optimum, "_LARGEST_GAP", -1.0)
    with pytest.raises(FloatingPointError, match=r"known up to .* take a larger η"):
        problem.minimised(1.0)
    monkeypatch.setattr(optimum, "_MOVED", -1.0)
    with pytest.raises(FloatingPointError, match="too steep to integrate"):
        problem.minimised(1.0)


def test_bandwidths_too_small_for_a_plane_are_refused():
    Y = np.random.default_rng(2).uniform(-10.0, 10.0, (9, 2))
    base = UniformBase(np.full(2, -15.0), np.full(2, 15.0))
    with pytest.raises(ValueError, match="at most 1000 are affordable: take larger"):
        Likelihood(np.empty((9, 0)), Y, np.empty(0), np.full(2, 0.1), base, 1.0)
