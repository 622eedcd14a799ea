"""Doubly dual embedding: its training, its densities, and the optimum of its objective."""

from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest
from scipy import stats

from contracted import some_pairs
from kcde import memory
from kcde.estimators import DDE
from kcde.estimators._dde import PENALTIES, GaussianBase, KernelSum, Likelihood, UniformBase
from kcde.estimators._networks import dde
from kcde.estimators._networks.dde import NORMAL, resolve_parameters
from kcde.kernels import GaussianKernel
from kcde.metrics import mmd2_biased
from naive import slopes

QUICK = {"iterations": 200, "validation": 0, "learning_rate": 2e-3}
WIDTHS, WEIGHT, STD = (np.array([0.8, 1.3]), np.array([0.5])), 0.5, 2.0
LINE = np.linspace(-16.0, 16.0, 1501)


@pytest.fixture(scope="module")
def pairs():
    return some_pairs(np.random.default_rng(3), 60, 1)


@pytest.fixture(scope="module")
def fitted(pairs):
    return DDE(iterations=400, patience=400, learning_rate=2e-3).fit(*pairs)


@pytest.mark.nightly
def test_it_learns_a_density_and_a_sampler_and_keeps_the_likeliest_iteration(pairs, fitted, rng):
    X, Y = some_pairs(rng, 800, 1)
    exact = stats.norm.logpdf(Y[:, 0], np.sin(X[:, 0]), 0.4).mean()
    without_x = stats.norm.logpdf(Y[:, 0], pairs[1].mean(), pairs[1].std()).mean()
    assert without_x + 0.2 < fitted.score(X, Y) < exact
    assert fitted.history_["mmd2_biased"][-1] < 0.5 * fitted.history_["mmd2_biased"][0]
    # A sampler of one seed differs from another's by 0.2; sin(1.5) - sin(-1.5) is 2.
    longer = {"iterations": 1000, "learning_rate": 3e-4, "validation": 0}
    samplers = [DDE(**longer, random_state=seed).fit(*pairs) for seed in range(4)]
    ends = np.array([[-1.5], [1.5]])
    means = [each.sample_learned(ends, 2000, rng).mean(axis=(1, 2)) for each in samplers]
    assert np.diff(means, axis=1).mean() > 0.2
    search = fitted.validation_history_
    assert search["iteration"].tolist() == [0, 100, 200, 300, 400]
    assert fitted.iterations_ == max(search["iteration"][np.argmin(search["held_out"])], 1)
    features = DDE(**QUICK, basis="features", features=200).fit(*pairs)
    assert features.score(X, Y) > without_x + 0.05
    narrow = DDE(bandwidth_scale=0.01, iterations=3000, patience=200, learning_rate=5e-3)
    search = narrow.set_params(refit=False).fit(None, pairs[1][:20]).validation_history_
    assert search["iteration"][-1] == narrow.iterations_ + 200 < 3000


@pytest.mark.nightly
def test_the_saddle_point_is_near_the_penalised_optimum():
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(-1.2, 0.4, 40), rng.normal(1.0, 0.5, 60)])[:, None]
    given = {"bandwidth_y": 0.6, "regularization": 0.01, "base_std": 1.5, "dual_weight": 0.5}
    model = DDE(**given, iterations=3000, learning_rate=2e-4, validation=0).fit(None, Y)
    problem = model.penalised_likelihood()
    trained, prior = problem.evaluated(model.trained_, 0.01), problem.minimised(1e3)
    best = problem.minimised(0.01).loss
    assert 0.0 <= trained.loss - best < 0.08 < 0.4 < prior.likelihood - best
    # With the weight of the training the density is that of the estimator.
    log_density = model.log_density(None, Y)
    np.testing.assert_allclose(trained.log_density(Y[:, :0], Y), log_density, atol=1e-5)
    few = DDE(iterations=20, hidden_units=8, latent=4, refit=False).fit(None, Y)
    assert len(few.penalised_likelihood().Y) == 80 == len(few.coef_)


@pytest.mark.nightly
def test_weights_of_training_and_density_and_snapshots(pairs):
    X, Y = pairs
    model = DDE(**QUICK, dual_weight=0.5, snapshots=(0, 200)).fit(X, Y)
    f, base = model.natural_parameter(X, Y), stats.norm.logpdf(Y[:, 0], Y.mean(), Y.std())
    np.testing.assert_allclose(model.log_unnormalized(X, Y), base + f / 0.5)
    drawn = [model.sample_snapshot(k, X[:2], 5, np.random.default_rng(1)) for k in (0, 200)]
    assert np.abs(drawn[0] - drawn[1]).max() > 0.1
    with pytest.raises(ValueError, match="no snapshot of 7"):
        model.sample_snapshot(7, X, 1, np.random.default_rng(1))
    model = DDE(**QUICK, dual_weight=0.5, density_weight=1.0).fit(X, Y)
    np.testing.assert_allclose(model.log_unnormalized(X, Y), base + f)
    held_out = model.model_.held_out(X[:9], Y[:9], 1.0)
    assert held_out.loss(model.coef_) == pytest.approx(-model.score(X[:9], Y[:9]), abs=1e-6)


@pytest.mark.nightly
def test_a_diverged_training_is_reported_and_keeps_the_last_finite_state(pairs):
    model = DDE(**QUICK | {"learning_rate": 1e9})
    with pytest.raises(FloatingPointError, match="diverged by iteration 100"):
        model.fit(*pairs)
    assert model.iterations_ == 0
    assert np.isfinite(model.log_density(*pairs)).all()


def test_what_does_not_fit_into_memory_is_refused(pairs, monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda like: 4_096_000)
    with pytest.raises(memory.InsufficientMemory, match="rows or features"):
        DDE(validation=0.2, basis="features", features=6000).fit(*pairs)
    monkeypatch.setattr(memory, "free_bytes", lambda like: 10_000)
    with pytest.raises(memory.InsufficientMemory, match=r"of n = 60 .*'features'"):
        DDE(**QUICK).fit(*pairs)


@pytest.mark.parametrize("basis", ["points", "features"])
def test_f_in_training_is_f_in_prediction_and_features_approximate_the_kernel(basis, pairs, rng):
    X, Y = pairs
    model = resolve_parameters(DDE(basis=basis, features=40_000), X, Y)
    problem, state, trained = model.problem(), model.initial_state(rng), np.empty(60, np.float32)
    fakes = rng.standard_normal((1, 60)).astype(np.float32)
    dde.f_values(state.f, problem, basis == "features", np.arange(60), fakes, trained)
    f = model.potential(state)
    np.testing.assert_allclose(trained, f.at_pairs(X, fakes.T), atol=1e-4)
    shared = f.kernel_x(X) @ f.potential(fakes.T)
    np.testing.assert_allclose(np.diagonal(shared), f.at_pairs(X, fakes.T), atol=1e-10)
    if basis == "features":
        values = f.kernel_x(X)[:, :40_000] * np.cos(Y @ f.frequencies_y.T)
        values += f.kernel_x(X)[:, 40_000:] * np.sin(Y @ f.frequencies_y.T)
        K = GaussianKernel(model.bandwidth_x)(X, X) * GaussianKernel(model.bandwidth_y)(Y, Y)
        np.testing.assert_allclose(values @ values.T / 20_000, K, atol=0.03)


def test_the_objective_is_equation_18_and_the_distance_the_biased_one(pairs, rng):
    X, Y = pairs
    model = DDE(regularization=0.1, dual_weight=0.5, hidden_units=16, latent=4)
    model = resolve_parameters(model, X, Y)
    state, problem = model.initial_state(rng), model.problem()
    found = dde.diagnose(state, 7, problem, model.recipe)
    key = np.uint32(0), np.uint32(7)
    prior, noise = np.empty((1, 60), np.float32), np.empty((4, 60), np.float32)
    dde.draw_base(dde.net.fold_in(key, 1), problem, model.recipe, NORMAL, prior)
    prior = np.float64(prior.T)
    assert stats.kstest(prior[:, 0], stats.norm(Y.mean(), Y.std()).cdf).pvalue > 0.01
    dde.normals(key, NORMAL, noise.reshape(-1))
    f, nu = model.potential(state), dde.Perceptron(np.float64(state.nu), model.recipe.dual)
    gram = GaussianKernel(model.bandwidth_x)(X, X) * GaussianKernel(model.bandwidth_y)(Y, Y)
    draws = model.sampler(state)(X.T, noise).T
    terms = [
        f.at_pairs(X, Y).mean() - f.at_pairs(X, draws).mean(),
        -0.05 * f.weights @ gram @ f.weights,
        0.5 * nu(draws.T, X.T).mean(),
        0.5 * (1.0 - np.exp(nu(prior.T, X.T)).mean()),
    ]
    assert min(np.abs(terms)) > 1e-3
    assert found[0] == pytest.approx(sum(terms), abs=1e-5)
    widths = np.concatenate([model.bandwidth_x, model.bandwidth_y])
    data, drawn = np.hstack([X, Y]) / widths, np.hstack([X, draws]) / widths
    assert found[1] == pytest.approx(mmd2_biased(data, drawn, 1.0), rel=1e-4)


def naive(model, state, seed):
    """Weights of f, g and ν after an iteration, in float64: gradients by finite differences."""
    problem, recipe, keys = model.problem(), model.recipe, jax.random
    size, n = recipe.batch_size, len(model.Y)
    f, g, nu = (np.float64(each) for each in (state.f, state.g, state.nu))
    of_f, of_g, square_nu = [0.0, 0.0], [0.0, 0.0], 0.0

    def noise(key, rows, number):
        words = np.asarray(keys.bits(key, ((rows * number * size + 1) // 2,)))
        levels = np.concatenate([words & 0xFFFF, words >> 16])[: rows * number * size] + 0.5
        return stats.norm.ppf(levels / 2**16).reshape(rows, number, size)

    def batches(key, number):
        row_key, noise_key = keys.split(key)
        order_key, place_key = keys.split(row_key)
        order = np.asarray(keys.permutation(order_key, n))
        place = np.asarray(keys.randint(place_key, (number, 1), 0, n))
        return order[(place + np.arange(size)) % n], noise(noise_key, recipe.sampler.plain, number)

    def network(flat, shape, *inputs):
        return dde.Perceptron(flat, shape)(*inputs)

    def loss_f(f, rows, fakes):
        values = replace(model.potential(state), weights=f)
        drawn = values.at_pairs(model.X[rows], fakes.T)
        penalty = 0.5 * problem.penalty * f @ problem.gram @ f
        return np.mean(drawn - values.at_pairs(model.X[rows], model.Y[rows])) + penalty

    def loss_nu(nu, X, fakes, priors):
        exponential = np.exp(network(nu, recipe.dual, priors, X))
        return np.mean(exponential) - np.mean(network(nu, recipe.dual, fakes, X))

    def loss_g(g, f, nu, rows, drawn):
        fakes = network(g, recipe.sampler, model.X[rows].T, drawn)
        of_nu = np.mean(network(nu, recipe.dual, fakes, model.X[rows].T))
        return recipe.dual_weight * of_nu + loss_f(-f, rows, fakes)

    def clipped(vector):
        return vector / max(1.0, np.linalg.norm(vector) / 5.0)

    def adam(moments, vector, t):
        moments[:] = 0.9 * moments[0] + 0.1 * vector, 0.999 * moments[1] + 0.001 * vector**2
        scale = np.sqrt(moments[1] / (1 - 0.999**t)) + 1e-8
        return recipe.learning_rate * moments[0] / (1 - 0.9**t) / scale

    f_key, g_key = keys.split(keys.fold_in(keys.key(seed), 0))
    (rows,), drawn = batches(f_key, 1)
    fakes = network(g, recipe.sampler, model.X[rows].T, drawn[:, 0])
    f = f - adam(of_f, clipped(slopes(partial(loss_f, rows=rows, fakes=fakes), f)), 1)
    for update in range(dde.SAMPLER_UPDATES):
        noise_key, prior_key = keys.split(keys.fold_in(g_key, update))
        rows, drawn = batches(noise_key, dde.DUAL_UPDATES + 1)
        priors = noise(prior_key, model.Y.shape[1], dde.DUAL_UPDATES).T * problem.spread
        for batch in range(dde.DUAL_UPDATES):
            X = model.X[rows[batch]].T
            fakes = network(g, recipe.sampler, X, drawn[:, batch])
            of_p0 = (problem.centre + priors[:, batch]).T
            slope = clipped(slopes(partial(loss_nu, X=X, fakes=fakes, priors=of_p0), nu))
            square_nu = 0.99 * square_nu + 0.01 * slope**2
            nu = nu - recipe.learning_rate * slope / (np.sqrt(square_nu) + 1e-8)
        slope = slopes(partial(loss_g, f=f, nu=nu, rows=rows[-1], drawn=drawn[:, -1]), g)
        g = g - adam(of_g, slope, update + 1)
    return f, g, nu


@pytest.mark.parametrize("d_x", [0, 2])
def test_updates_are_those_of_finite_differences_with_the_random_numbers_of_jax(d_x, rng):
    X, Y = rng.standard_normal((20, d_x)), rng.standard_normal((20, 2))
    given = {"hidden_units": 4, "latent": 3, "sampler_layers": 3, "dual_layers": 4}
    model = DDE(**given, batch_size=8, learning_rate=1e-3, dual_weight=0.5, regularization=0.1)
    model = resolve_parameters(model, X, Y)
    start, problem = model.initial_state(rng), model.problem()
    # No unit is at its kink, as with biases of 0 where all units below are off.
    moved = (each + 0.1 * rng.standard_normal(len(each)) for each in (start.g, start.nu))
    start = start._replace(**dict(zip(("g", "nu"), map(np.float32, moved), strict=True)))
    state = dde.State(*(each.copy() for each in start))
    dde.advance(state, problem, model.recipe, NORMAL, np.uint32(3), 0, 1)
    for found, wanted in zip((state.f, state.g, state.nu), naive(model, start, 3), strict=True):
        np.testing.assert_allclose(found, wanted, atol=2e-5)
    assert np.abs(state.g - start.g).max() > 3e-3


@pytest.mark.parametrize(
    ("objectives", "states", "diverged", "kept"),
    [
        ([0.0, 1.0, np.nan], None, None, 200),  # a single objective that is not finite
        ([0.0, 2.0, 1e7, -1e7, np.inf], None, 400, 300),
        ([0.0, 0.0], [1.0, np.nan], 100, 0),
    ],
)
def test_a_large_objective_must_last_to_count_as_divergence(objectives, states, diverged, kept):
    training = dde.Training(10_000, 1000, state=(np.zeros(1),))
    for k, objective in enumerate(objectives):
        state = (np.full(1, states[k] if states else float(k)),)
        assert training.goes_on(100 * k, state, (objective, 0.1)) == (100 * k != diverged)
    assert (training.diverged, training.iteration) == (diverged, kept)


@pytest.fixture(scope="module")
def rows():
    return some_pairs(np.random.default_rng(0), 14)


@pytest.fixture(scope="module")
def problem(rows):
    return Likelihood(*rows, *WIDTHS, GaussianBase(np.zeros(1), np.array([STD])), WEIGHT)


def test_the_objective_of_a_function_is_that_of_naive_sums(rows, problem):
    """With Z by the trapezoidal rule."""
    X, Y = rows
    weights, base = np.random.default_rng(1).standard_normal(9), stats.norm(0.0, STD)
    A, B, (k_x, k_y) = X[:9] + 0.1, Y[:9] - 0.1, map(GaussianKernel, WIDTHS)
    K, loss = k_x(A, A) * k_y(B, B), 0.0
    for x, y in zip(X, Y, strict=True):
        T = (weights * k_x(x[None], A)[0]) @ k_y(B, np.r_[LINE, y][:, None])
        log_z = np.log(np.trapezoid(base.pdf(LINE) * np.exp(T[:-1]), LINE))
        loss += (log_z - T[-1] - base.logpdf(y[0])) / 14
    found = problem.evaluated(KernelSum(A, B, weights, *WIDTHS), 0.3)
    assert found.likelihood == pytest.approx(loss, abs=1e-7)
    penalty = 0.5 * 0.3 * WEIGHT * weights @ K @ weights
    assert found.loss - found.likelihood == pytest.approx(penalty)


@pytest.mark.parametrize("penalty", [1.0, 1.0 / 14, 1e-2])
def test_the_optimum_solves_the_equation_of_the_whole_space(penalty, rows, problem):
    """The gradient in the RKHS is 0: T = Σ_i k(x_i, ·)(k(y_i, ·) - E k(Y, ·))/(n η w)."""
    X, Y = rows
    found, places = problem.minimised(penalty), np.array([[-1.0], [0.2], [1.5], [4.0]])
    k_x, k_y = map(GaussianKernel, WIDTHS)

    def density(x):
        return np.exp(found.log_density(np.repeat(x[None], len(LINE), axis=0), LINE[:, None]))

    assert np.trapezoid(density(X[0]), LINE) == pytest.approx(1.0, abs=1e-6)
    T = found.log_density(X[[0] * 4], places) - stats.norm.logpdf(places[:, 0], 0.0, STD)
    at_line, wanted = k_y(places, LINE[:, None]), np.zeros(4)
    for x, y in zip(X, Y, strict=True):
        pull = k_y(places, y[None])[:, 0] - np.trapezoid(density(x) * at_line, LINE, axis=1)
        wanted += k_x(x[None], X[:1])[0, 0] * pull / (14 * penalty * WEIGHT)
    # log Z(x) is the same at all places.
    np.testing.assert_allclose(T - T[3], wanted - wanted[3], atol=2e-4 * np.abs(wanted).max())


def test_the_gap_bounds_what_a_rough_solution_lacks_and_a_fifth_chooses_the_penalty(problem):
    exact, rough = problem.minimised(0.01), problem.minimised(0.01, rough=True)
    assert 0.0 <= rough.loss - exact.loss <= rough.gap
    assert exact.gap < 1e-6
    assert np.isclose(problem.stopped().penalty * 14, PENALTIES).sum() == 1


def test_the_nearest_optimum_is_the_likeliest_function_of_that_norm(rows, problem):
    T = KernelSum(*rows, np.random.default_rng(5).standard_normal(14), *WIDTHS)
    penalty = problem.nearest(T)

    def gap(eta):
        return problem.evaluated(T, eta).loss - problem.minimised(eta).loss

    assert gap(penalty) <= min(gap(penalty * 10**0.5), gap(penalty / 10**0.5)) + 1e-6


@pytest.mark.nightly
def test_densities_of_the_plane_integrate_to_one_on_the_box(rng):
    Y, widths = rng.standard_normal((40, 2)), (np.empty(0), np.array([0.7, 0.5]))
    box = UniformBase(Y.min(axis=0), Y.max(axis=0))
    found = Likelihood(np.empty((40, 0)), Y, *widths, box, 1.0).minimised(1 / 40)
    sides = [np.linspace(a, b, 301) for a, b in zip(box.lower, box.upper, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(found.log_density(np.empty((len(points), 0)), points)).reshape(301, 301)
    inner = np.trapezoid(np.trapezoid(density, sides[1], axis=1), sides[0])
    assert inner == pytest.approx(1.0, abs=1e-4)


def test_what_has_no_optimum_or_is_not_solved_is_refused(rows, problem, monkeypatch):
    with pytest.raises(ValueError, match="penalty must be positive"):
        problem.minimised(0.0)
    Y = np.random.default_rng(2).uniform(-10.0, 10.0, (9, 2))
    given = np.empty((9, 0)), Y, np.empty(0), np.full(2, 0.1)
    for base, named in (
        (GaussianBase(np.zeros(2), np.ones(2)), "d_y must be 1"),
        (UniformBase(np.full(2, -15.0), np.full(2, 15.0)), "bandwidths of y"),
    ):
        with pytest.raises(ValueError, match=named):
            Likelihood(*given, base, 1.0)
    monkeypatch.setattr("kcde.estimators._dde._LARGEST_GAP", -1.0)
    with pytest.raises(FloatingPointError, match="take a larger η"):
        problem.minimised(1.0)
    monkeypatch.setattr("kcde.estimators._dde._MOVED", -1.0)
    with pytest.raises(FloatingPointError, match="too steep to integrate"):
        problem.minimised(1.0)
