"""Doubly dual embedding: the estimator as a whole."""

from copy import copy

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from kcde.estimators import DDE, Standardised
from kcde.kernels import GaussianKernel, median_trick
from kcde.panels import panel_nodes

QUICK = {"iterations": 200, "validation": 0, "learning_rate": 2e-3}


@pytest.fixture(scope="module")
def pairs():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 1))
    return X, np.sin(X) + 0.4 * rng.standard_normal((60, 1))


@pytest.fixture(scope="module")
def fitted(pairs):
    return DDE(iterations=400, patience=400, learning_rate=2e-3).fit(*pairs)


def test_the_median_trick_is_that_of_the_paper(rng):
    X = rng.standard_normal((30, 2))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    expected = np.sqrt(0.5 * np.median(squared[squared > 0]))
    assert median_trick(X, 0.5) == pytest.approx(expected)


@pytest.mark.nightly
def test_it_learns_a_conditional_density(pairs, fitted, rng):
    X = rng.standard_normal((800, 1))
    Y = np.sin(X) + 0.4 * rng.standard_normal((800, 1))
    exact = stats.norm.logpdf(Y[:, 0], np.sin(X[:, 0]), 0.4).mean()
    without_x = stats.norm.logpdf(Y[:, 0], pairs[1].mean(), pairs[1].std()).mean()
    untrained = DDE(**QUICK | {"iterations": 1}).fit(*pairs).score(X, Y)
    assert untrained < without_x + 0.05
    assert without_x + 0.2 < fitted.score(X, Y) < exact


@pytest.mark.nightly
def test_the_sampler_follows_the_data(pairs, fitted):
    history = fitted.history_
    assert history["mmd2_biased"][-1] < 0.5 * history["mmd2_biased"][0]
    draws = fitted.sample(np.array([[-1.5], [1.5]]), 2000, np.random.default_rng(0))
    assert draws.shape == (2, 2000, 1)
    low, high = draws.mean(axis=(1, 2))
    assert high - low > 0.5  # sin(1.5) - sin(-1.5) is 2


@pytest.mark.nightly
def test_stopping_keeps_the_likeliest_iteration(fitted):
    search = fitted.validation_history_
    best = search["iteration"][np.argmin(search["held_out"])]
    assert fitted.iterations_ == max(best, 1)
    assert np.isfinite(search["objective"]).all()
    assert search["iteration"].tolist() == [0, 100, 200, 300, 400]


@pytest.mark.nightly
def test_its_penalised_optimum_is_that_of_the_likelihood():
    """The saddle point of equation 18 against the penalised maximum likelihood of equation 2."""
    rng = np.random.default_rng(0)
    Y = np.concatenate([rng.normal(-1.2, 0.4, 40), rng.normal(1.0, 0.5, 60)])[:, None]
    eta, sigma, base_std = 0.01, 0.6, 1.5
    model = DDE(
        bandwidth_y=sigma,
        regularization=eta,
        base_std=base_std,
        iterations=3000,
        validation=0,
        learning_rate=2e-3,
    ).fit(None, Y)
    nodes, weights = panel_nodes(-9.0, 9.0, 60)
    kernel = GaussianKernel(sigma)
    gram, at_nodes = kernel(Y, Y), kernel(Y, nodes[:, None])
    base = stats.norm.pdf(nodes, Y.mean(), base_std * Y.std()) * weights

    def loss(alpha):
        density = base * np.exp(alpha @ at_nodes)
        total = density.sum()
        value = np.log(total) - (gram @ alpha).mean() + 0.5 * eta * alpha @ gram @ alpha
        slope = at_nodes @ density / total - gram.mean(axis=1) + eta * gram @ alpha
        return value, slope

    exact = minimize(loss, np.zeros(100), jac=True, method="L-BFGS-B").x
    wanted = base * np.exp(exact @ at_nodes)
    wanted /= wanted.sum()
    found = np.exp(model.log_density_at(nodes[:, None])(np.empty((1, 0)))[0]) * weights
    divergence = np.sum(wanted * (np.log(wanted) - np.log(found)))
    unfitted = np.sum(wanted * (np.log(wanted) - np.log(base / base.sum())))
    assert 0.0 <= divergence < 0.03 < 0.2 < unfitted


@pytest.mark.nightly
@pytest.mark.parametrize(
    "options",
    [
        {"basis": "features", "features": 200},
        {"basis": "features", "features": 200, "dual": "kernel", "iterations": 1000},
        {"dual": "kernel"},
        {"basis": "functional", "features": 200, "dual": "kernel", "regularization": 0.1},
    ],
)
def test_every_representation_learns(options, pairs, rng):
    model = DDE(**QUICK | {"iterations": 300} | options).fit(*pairs)
    assert model.history_["mmd2_biased"][-1] < 0.5 * model.history_["mmd2_biased"].max()
    without_x = stats.norm.logpdf(pairs[1][:, 0], pairs[1].mean(), pairs[1].std()).mean()
    assert model.score(*pairs) > without_x + 0.05
    y = np.linspace(-12, 12, 4001)[:, None]
    density = np.exp(model.log_density_at(y)(pairs[0][:3]))
    np.testing.assert_allclose(np.trapezoid(density, y[:, 0], axis=1), 1.0, atol=1e-5)


@pytest.mark.nightly
def test_together_is_as_alone(pairs):
    X, Y = pairs
    halves = [(X[:30], Y[:30]), (X[30:], Y[30:])]
    # Rounding grows along the training: few iterations.
    options = QUICK | {"iterations": 20}
    alone = [DDE(**options, random_state=k).fit(*half) for k, half in enumerate(halves)]
    models = [DDE(**options, random_state=k) for k in range(2)]
    DDE.fit_many(models, *zip(*halves, strict=True))
    for one, other in zip(alone, models, strict=True):
        np.testing.assert_allclose(one.log_density(X, Y), other.log_density(X, Y), atol=2e-3)


@pytest.mark.nightly
def test_weights_of_training_and_density(pairs):
    X, Y = pairs
    model = DDE(**QUICK, dual_weight=0.5).fit(X, Y)
    f = model.natural_parameter(X, Y)
    base = stats.norm.logpdf(Y[:, 0], Y.mean(), Y.std())
    np.testing.assert_allclose(model.log_unnormalized(X, Y), base + f / 0.5)
    published = DDE(**QUICK, dual_weight=0.5, density_weight=1.0).fit(X, Y)
    np.testing.assert_allclose(published.log_unnormalized(X, Y), base + f)


@pytest.mark.nightly
def test_snapshots_are_of_their_iteration(pairs):
    X, Y = pairs
    fitted = DDE(**QUICK, snapshots=(0, 200)).fit(X, Y)
    assert fitted.snapshots_ == (0, 200)
    rng = np.random.default_rng
    drawn = [fitted.sample_snapshot(k, X[:2], 5, rng(1)) for k in (0, 200)]
    assert drawn[0].shape == (2, 5, 1)
    assert np.abs(drawn[0] - drawn[1]).max() > 0.1
    with pytest.raises(ValueError, match=r"no snapshot of 7; there are \(0, 200\)"):
        fitted.sample_snapshot(7, X, 1, rng(1))


@pytest.mark.nightly
def test_the_sampler_as_proposal(pairs, fitted):
    X = pairs[0][:4]
    drawn = fitted.log_normaliser(X, method="sampler", n_samples=500)
    assert (drawn.effective_sample_size <= 500.0 + 1e-9).all()
    assert (drawn.effective_sample_size >= 1.0).all()
    # Where g and ν are exact for f = 0, so is the estimate.
    fitted = DDE(**QUICK | {"iterations": 1}).fit(*pairs)
    fitted._T = type(fitted._T)(
        fitted._T.X, fitted._T.Y, 0 * fitted._T.weights, fitted.bandwidth_x_, fitted.bandwidth_y_
    )
    fitted._nu = lambda X, Y: np.zeros(len(Y))
    flat = fitted.log_normaliser(X, method="sampler", n_samples=500)
    np.testing.assert_allclose(flat.log_z, 0.0, atol=1e-12)
    np.testing.assert_allclose(flat.effective_sample_size, 500.0)


@pytest.mark.nightly
def test_the_sampler_as_proposal_meets_quadrature(pairs, fitted):
    """With draws of a known Gaussian and its exact ν, log Z is that of quadrature."""
    model, X = copy(fitted), pairs[0][:6]
    centre, spread = 0.4, 0.9 * pairs[1].std()
    model.sampler_ = lambda x, noise: centre + spread * noise[:1]
    model._nu = lambda X, Y: stats.norm.logpdf(Y[:, 0], centre, spread) - model._log_base(Y)
    drawn = model.log_normaliser(X, method="sampler", n_samples=20_000)
    exact = fitted.log_normaliser(X, method="quadrature").log_z
    assert (np.abs(exact) > 0.2).any()
    assert (np.abs(drawn.log_z - exact) < 5.0 * drawn.stderr).all()
    assert drawn.stderr.max() < 0.05


@pytest.mark.nightly
def test_the_sampler_as_proposal_stays_within_a_bounded_base(rng):
    Y = rng.uniform(size=(50, 1))
    model = DDE(**QUICK | {"iterations": 1}, base="uniform").fit(None, Y)
    width = np.ptp(Y)
    model.sampler_ = lambda x, noise: Y.min() + 2.0 * width * stats.norm.cdf(noise[:1])
    model._nu = lambda X, Y: np.full(len(Y), -np.log(2.0))  # p_0 is twice as high
    drawn = model.log_normaliser(None, method="sampler", n_samples=20_000)
    exact = model.log_normaliser(None, method="quadrature").log_z
    assert abs(drawn.log_z - exact)[0] < 5.0 * drawn.stderr[0] < 0.1
    assert 8_000 < drawn.effective_sample_size[0] < 11_000


@pytest.mark.nightly
def test_a_uniform_base_is_bounded_by_the_data(rng):
    Y = rng.standard_normal((50, 2))
    model = DDE(**QUICK | {"iterations": 50}, base="uniform").fit(None, Y)
    assert np.isneginf(model.log_density(None, Y[:1] + 20.0)).all()
    axes = [np.linspace(*ends, 151) for ends in zip(Y.min(axis=0), Y.max(axis=0), strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.log_density_at(grid)(np.empty((1, 0)))).reshape(151, 151)
    total = np.trapezoid(np.trapezoid(density, axes[1], axis=1), axes[0])
    assert total == pytest.approx(1.0, abs=0.02)


@pytest.mark.nightly
def test_a_diverged_training_is_reported_and_keeps_the_last_finite_state(pairs):
    X, Y = pairs
    model = DDE(**QUICK | {"learning_rate": 1e9})
    with pytest.raises(FloatingPointError, match=r"diverged by iteration 100; .* iteration 0 are"):
        model.fit(X, Y)
    assert model.iterations_ == 0
    assert np.isfinite(model.log_density(X, Y)).all()
    outcomes = DDE.fit_many([DDE(**QUICK | {"learning_rate": 1e9})], [X], [Y], return_errors=True)
    assert isinstance(outcomes[0], FloatingPointError)


@pytest.mark.nightly
def test_points_that_coincide_are_named(pairs):
    X, Y = pairs
    with pytest.raises(ValueError, match=r"all 60 points of X coincide in column\(s\) \[0\]"):
        DDE(**QUICK).fit(0 * X, Y)
    with pytest.raises(ValueError, match=r"constant in column\(s\) \[0\]"):
        DDE(**QUICK, bandwidth_y=1.0).fit(X, 0 * Y)
    assert Standardised(DDE(**QUICK | {"iterations": 1})).fit(
        np.hstack([X, 0 * X]), Y
    ).dropped_ == [1]


def test_what_does_not_fit_into_memory_is_refused_with_its_size(pairs, monkeypatch):
    with pytest.raises(ValueError, match=r"1000000000 features would take \d+\.\d GB of memory"):
        DDE(**QUICK, basis="features", features=10**9).fit(*pairs)
    # What kcde.memory says: a limit of control groups or Slurm may be below what the system has.
    monkeypatch.setattr("kcde.estimators._dde.model.free_host_bytes", lambda: 4_096_000)
    DDE(**QUICK | {"iterations": 1}).fit(*pairs)
    with pytest.raises(ValueError, match=r"60 training rows in each of 90 fits .*'features'"):
        DDE.fit_many([DDE(**QUICK) for _ in range(90)], *([part] * 90 for part in pairs))
    with pytest.raises(ValueError, match=r"600 features would take"):
        DDE(validation=0.2, basis="features", features=600).fit(*pairs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"iterations": 0}, "iterations must be a positive whole number"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number"),
        ({"regularization": -1.0}, "regularization must not be negative"),
        ({"validation": 1.0}, r"validation must lie in \[0, 1\)"),
        ({"base": "flat"}, "base must be one of"),
        ({"basis": "functional"}, "needs dual='kernel' and validation=0"),
        ({"density_weight": 0.0}, "density_weight must be positive"),
        ({"bandwidth_y": 0.0}, "bandwidth_y must be positive and finite; got 0.0"),
        ({"bandwidth_x": [1.0, 1.0]}, r"bandwidth_x must be a number or one per dimension"),
    ],
)
def test_wrong_parameters_are_named(options, said, pairs):
    with pytest.raises(ValueError, match=said):
        DDE(**options).fit(*pairs)
