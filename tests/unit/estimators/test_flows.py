import os
import subprocess
import sys
from functools import partial

import equinox as eqx
import jax
import numpy as np
import pytest
from kcde.estimators._flows.model import Flow, initial_leaves, rebuilt
from paramax import unwrap
from scipy.stats import multivariate_normal, norm
from sklearn.base import clone

from kcde.estimators import (
    ConditionalMAF,
    ConditionalRealNVP,
    Standardised,
)
from kcde.estimators._flows import model as flow_model
from kcde.estimators._flows import training

FLOWS = [ConditionalRealNVP, ConditionalMAF]
QUICK = {"hidden_units": 12, "blocks": 3, "steps": 60, "learning_rate": 0.01}
ROWS = 130


@pytest.fixture(scope="module", autouse=True)
def _quick_compiler():
    """What is tested takes longer to compile than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def bent(n, d_y, seed=0):
    """Pairs with two x; y is on a curve and its spread depends on x."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    curve = np.hstack([np.sin(2 * X[:, :1]), X[:, :1] * X[:, 1:], X[:, 1:]])[:, :d_y]
    return X, curve + 0.3 * (1 + (X[:, :1] > 0)) * rng.standard_normal((n, d_y))


@pytest.fixture(scope="module", params=FLOWS)
def flow_class(request):
    return request.param


class Fits(dict):
    """A flow and its data for each d_y, fitted when it is asked for."""

    def __init__(self, flow_class):
        self.flow_class = flow_class

    def __missing__(self, d_y):
        X, Y = bent(ROWS, d_y)
        X = X[:, :1] if d_y == 3 else X
        self[d_y] = self.flow_class(**QUICK).fit(X, Y), X, Y
        return self[d_y]


@pytest.fixture(scope="module")
def fitted(flow_class):
    """A flow for each d_y, by d_y, with its data. (A shape compiles once: other tests share it.)"""
    return Fits(flow_class)


@pytest.mark.parametrize("d_y", [1, 2, pytest.param(3, marks=pytest.mark.nightly)])
def test_log_density_is_the_change_of_variables(fitted, d_y):
    """By the Jacobian of the bijection that jax derives, and its inverse by finite differences."""
    model, X, Y = fitted[d_y]
    z, log_slope = model.flow_.inverse(X[:5], Y[:5])
    np.testing.assert_allclose(model.flow_.push(X[:5], z), Y[:5], atol=1e-9)
    with jax.enable_x64(True):

        @jax.jit
        def jacobian(x, y):
            flow = rebuilt(model.flow_.architecture, model.flow_.leaves)
            return jax.jacfwd(lambda y: flow.bijection.inverse(y, x))(y)

        jacobians = [np.asarray(jacobian(*pair)) for pair in zip(X[:5], Y[:5], strict=True)]
    np.testing.assert_allclose(np.linalg.slogdet(jacobians)[1], log_slope, atol=1e-9)
    for x, at, slope in zip(X, z, log_slope, strict=False):
        steps = 1e-5 * np.eye(d_y)
        forward = [model.flow_.push(np.stack([x, x]), np.stack([at + h, at - h])) for h in steps]
        difference = np.stack([(up - down) / 2e-5 for up, down in forward])
        assert np.linalg.slogdet(difference)[1] == pytest.approx(-slope, abs=1e-5)
    expected = norm.logpdf(z).sum(axis=1) + log_slope
    np.testing.assert_allclose(model.log_density(X[:5], Y[:5]), expected, rtol=1e-10)


def test_density_integrates_to_one(fitted):
    model, X, _ = fitted[1]
    line = np.linspace(-12, 12, 4001)[:, None]
    density = np.exp(model.log_density_at(line)(X[:4]))
    np.testing.assert_allclose(np.trapezoid(density, line[:, 0]), 1.0, atol=1e-6)
    model, X, _ = fitted[2]
    axis = np.linspace(-9, 9, 361)
    plane = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(model.log_density_at(plane)(X[:3]))
    np.testing.assert_allclose(density.sum(axis=1) * (axis[1] - axis[0]) ** 2, 1.0, atol=2e-3)


def test_one_y_is_a_gaussian_given_x(fitted):
    """Affine layers leave nothing else: draws, densities and expectations are of one line."""
    model, X, Y = fitted[1]
    mean = model.conditional_expectation(lambda y: y, X[:6])
    std = np.sqrt(model.conditional_expectation(lambda y: y**2, X[:6]) - mean**2)
    np.testing.assert_allclose(
        model.log_density(X[:6], Y[:6]), norm.logpdf(Y[:6], mean, std)[:, 0], rtol=1e-8
    )
    assert np.ptp(std) > 0.01
    z = np.random.default_rng(3).standard_normal((6, 4, 1))
    repeated = np.repeat(X[:6], 4, axis=0)
    pushed = model.flow_.push(repeated, z.reshape(-1, 1)).reshape(6, 4, 1)
    np.testing.assert_allclose(model._push(X[:6], z), pushed, rtol=1e-8, atol=1e-10)


@pytest.mark.nightly
def test_draws_have_the_moments_of_the_density(fitted, rng):
    model, X, _ = fitted[2]
    axis = np.linspace(-9, 9, 361)
    plane = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = np.exp(model.log_density_at(plane)(X[:3])) * (axis[1] - axis[0]) ** 2
    mean = weights @ plane
    variance = weights @ plane**2 - mean**2
    draws = model.sample(X[:3], 20_000, rng)
    error = 5 * np.sqrt(variance / 20_000)
    assert (np.abs(draws.mean(axis=1) - mean) < error + 2e-3).all()
    np.testing.assert_allclose(draws.var(axis=1), variance, rtol=0.08)
    # The moments offered are those of `moment_samples` draws with a fixed seed.
    assert (np.abs(model.mean(X[:3]) - mean) < 5 * np.sqrt(variance / 1000)).all()
    np.testing.assert_allclose(model.variance(X[:3]), variance, rtol=0.3)
    np.testing.assert_array_equal(model.mean(X[:3]), model.mean(X[:3]))


@pytest.mark.nightly
def test_statistics_are_those_of_the_training_rows_in_the_layers(fitted):
    """Layer by layer; no layer but a coupling flow's last is without."""
    model, X, Y = fitted[2]
    layers = flow_model.layers_of(rebuilt(model.flow_.architecture, model.flow_.leaves))
    arrays, rest = eqx.partition(layers, eqx.is_array)

    @jax.jit
    @partial(jax.vmap, in_axes=(None, 0, 0))
    def enter(taken, x, y):
        return eqx.combine(taken, rest).bijections[0].transform_and_log_det(y, x)

    rows, log_slope = Y, np.zeros(ROWS)
    for number in range(model.flow_.architecture.layers):
        taken = jax.tree.map(lambda array, at=number: array[at], arrays)
        with jax.enable_x64(True):
            rows, slopes = (np.asarray(part) for part in enter(taken, X, rows))
        layer = unwrap(eqx.combine(taken, rest).bijections[1])
        if number == model.blocks:
            identity = [layer.mean, layer.log_gamma, layer.beta, layer.variance - 1]
            np.testing.assert_array_equal(identity, 0.0)
        else:
            np.testing.assert_allclose(layer.mean, rows.mean(axis=0), atol=1e-5)
            np.testing.assert_allclose(layer.variance, rows.var(axis=0) + 1e-5, rtol=1e-4)
            assert np.all([layer.log_gamma, layer.beta])
        scale = np.exp(layer.log_gamma) / np.sqrt(layer.variance)
        rows = (rows - layer.mean) * scale + layer.beta
        log_slope += slopes + np.sum(np.log(scale))
    expected = norm.logpdf(rows).sum(axis=1) + log_slope
    np.testing.assert_allclose(model.log_density(X, Y), expected, rtol=1e-6, atol=1e-6)
    assert number + 1 == model.blocks + (type(model) is ConditionalRealNVP)


def test_training_beats_the_untrained_flow_and_a_gaussian(fitted):
    trained, X, Y = fitted[1]
    X_test, Y_test = bent(400, 1, seed=1)
    untrained = clone(trained).set_params(learning_rate=1e-12).fit(X, Y)
    gaussian = norm.logpdf(Y_test, Y.mean(), Y.std()).mean()
    assert trained.score(X_test, Y_test) > gaussian + 0.3
    assert trained.score(X_test, Y_test) > untrained.score(X_test, Y_test) + 0.3
    assert trained.history_.shape == (trained.steps,)
    assert untrained.history_[0] == pytest.approx(trained.history_[0], abs=1e-5)
    assert untrained.history_[0] == pytest.approx(-untrained.score(X, Y), abs=1e-4)
    assert -trained.score(X, Y) == pytest.approx(trained.history_[-1], abs=0.05)


@pytest.mark.nightly
def test_together_and_in_blocks_is_as_alone_and_in_one(flow_class, monkeypatch):
    """But for rounding in single precision, which grows from step to step.

    Together: 130 rows in blocks of 44, with padding.
    """
    Xs, Ys = zip(*[bent(ROWS, 2, seed) for seed in range(3)], strict=True)
    models = [flow_class(**QUICK, random_state=seed) for seed in range(3)]
    alone = [clone(m).fit(X, Y) for m, X, Y in zip(models, Xs, Ys, strict=True)]
    monkeypatch.setattr(training, "_BLOCK", 50)
    together = flow_class.fit_many(models, Xs, Ys)
    for X, Y, model, single in zip(Xs, Ys, together, alone, strict=True):
        np.testing.assert_allclose(model.history_[:20], single.history_[:20], atol=1e-4)
        np.testing.assert_allclose(model.log_density(X, Y), single.log_density(X, Y), atol=0.02)
    assert not np.allclose(together[0].history_[0], together[1].history_[0])


def test_problems_of_other_shapes_and_failures_keep_their_places(flow_class):
    (X, Y), (X_2, Y_2) = bent(ROWS, 1), bent(ROWS, 2)
    models = [flow_class(**QUICK) for _ in range(4)]
    models[1].set_params(learning_rate=1e30)
    broken = Y.copy()
    broken[0] = np.nan
    fitted = flow_class.fit_many(models, [X, X, X_2, X], [Y, Y, Y_2, broken], return_errors=True)
    assert fitted[0] is models[0]
    assert isinstance(fitted[1], FloatingPointError)
    assert "give a smaller learning_rate" in str(fitted[1])
    assert fitted[2] is models[2]
    assert isinstance(fitted[3], ValueError)
    with pytest.raises(FloatingPointError, match="diverged at step"):
        flow_class(**QUICK | {"learning_rate": 1e30}).fit(X, Y)


@pytest.mark.nightly
def test_stages_are_the_steps_one_after_the_other(flow_class):
    X, Y = bent(60, 2)
    quick = {"hidden_units": 12, "blocks": 2}
    alone = flow_class(**quick, steps=20, learning_rate=0.01).fit(X, Y)
    options = {"steps": [20, 30], "learning_rate": [0.01, 1e-12]}
    staged = flow_class(**quick, **options).fit(X, Y)
    assert staged.history_.shape == (50,)
    assert staged.learning_rate_ == [0.01, 1e-12]
    np.testing.assert_array_equal(staged.history_[:20], alone.history_)
    # The second stage goes on from where the first ended, and hardly moves.
    np.testing.assert_allclose(staged.history_[20:], -alone.score(X, Y), atol=1e-4)
    assert staged.score(X, Y) == pytest.approx(alone.score(X, Y), abs=1e-4)


@pytest.mark.parametrize(
    "options",
    [
        {"steps": [10, 10]},
        {"learning_rate": [0.1]},
        {"steps": [10, 10], "learning_rate": [0.1]},
        {"steps": [], "learning_rate": []},
    ],
)
def test_stages_without_a_rate_each_are_refused(flow_class, options):
    with pytest.raises(ValueError, match="sequences of one length, an entry a stage"):
        flow_class(**options).fit(*bent(10, 1))
    with pytest.raises(ValueError, match="steps must be a positive whole number"):
        flow_class(steps=[5, 0], learning_rate=[0.1, 0.1]).fit(*bent(10, 1))


def test_same_seed_same_bits_and_another_seed_others(flow_class):
    X, Y = bent(ROWS, 2)
    first, again, other = (
        flow_class(**QUICK, random_state=seed).fit(X, Y).log_density(X, Y) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@pytest.mark.nightly
def test_authors_settings_train_where_without_batch_normalisation_they_do_not(flow_class):
    """At the rate that they have for 32,400 rows, which here takes fewer to show."""
    layers, d_y, rate = {ConditionalRealNVP: (6, 1, 0.002), ConditionalMAF: (5, 2, 0.005)}[
        flow_class
    ]
    X, Y = bent(400, d_y)
    gaussian = multivariate_normal(Y.mean(axis=0), np.cov(Y.T)).logpdf(Y).mean()
    gains = []
    for normalised in (True, False):
        model = flow_class(batch_normalisation=normalised)
        assert (model.hidden_units, model.blocks, model.steps) == (100, 5, 100)
        model.set_params(steps=40, learning_rate=rate * np.sqrt(32_400) / 28).fit(X, Y)
        gains.append(model.score(X, Y) - gaussian)
        assert model.flow_.architecture.layers == layers
        # As many networks with two hidden layers of a hundred.
        assert (layers, 100, 100) in [leaf.shape for leaf in model.flow_.leaves]
    assert gains[0] > 0.1
    assert gains[1] < -0.3


def test_rates_follow_the_number_of_rows(fitted):
    model, X, Y = fitted[1]
    model = clone(model).set_params(learning_rate=None).fit(X, Y)
    rate = {ConditionalRealNVP: 0.002, ConditionalMAF: 0.005}[type(model)]
    assert model.learning_rate_ == pytest.approx(rate * np.sqrt(ROWS / 784))


@pytest.mark.nightly
def test_half_of_y_is_seen_by_a_coupling_and_the_past_by_an_autoregression():
    """One layer: what ∂z_i/∂y_j may be other than 0."""
    for kind, lower in ((flow_model.COUPLING, 1), (flow_model.AUTOREGRESSIVE, 3)):
        architecture = flow_model.Architecture(kind, 1, 3, 8, 1)
        flow = Flow(architecture, initial_leaves(architecture, 5))
        y, x = np.array([[0.3, -0.2, 0.5]]), np.ones((1, 1))
        slopes = np.array(
            [
                (flow.inverse(x, y + h)[0] - flow.inverse(x, y - h)[0])[0] / 2e-5
                for h in 1e-5 * np.eye(3)
            ]
        )
        # The layer ends with a permutation; sorted by how much each z sees, it is triangular.
        seen = np.sort((np.abs(slopes) > 1e-6).sum(axis=0))
        assert seen.tolist() == ([1, 2, 2] if lower == 1 else [1, 2, 3])


@pytest.mark.nightly
def test_without_x_it_is_an_unconditional_density(flow_class):
    Y = bent(ROWS, 3)[1]
    model = flow_class(**QUICK).fit(None, Y)
    assert np.isfinite(model.score(None, Y))
    assert model.sample(np.empty((1, 0)), 5, np.random.default_rng(0)).shape == (1, 5, 3)
    assert model.log_density_at(Y[:3])(np.empty((1, 0))).shape == (1, 3)


def test_any_number_of_rows_is_padded_and_cut(fitted, monkeypatch):
    model, X, Y = fitted[2]
    expected = model.log_density(X, Y)
    monkeypatch.setattr(flow_model, "_MOST_ROWS", 64)
    np.testing.assert_allclose(model.log_density(X, Y), expected, rtol=1e-10)


@pytest.mark.nightly
def test_standardised_flows_are_fitted_together(flow_class, monkeypatch):
    monkeypatch.setattr(training, "_BLOCK", 50)
    X, Y = bent(ROWS, 2)
    models = [Standardised(flow_class(**QUICK)) for _ in range(3)]
    fitted = Standardised.fit_many(models, [X, X + 1.0, X], [100.0 * Y, Y, Y])
    shift = fitted[1].log_density(X + 1.0, Y) - fitted[0].log_density(X, 100.0 * Y)
    np.testing.assert_allclose(shift, 2 * np.log(100.0), atol=1e-2)


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_units", 0), ("blocks", 1.5), ("steps", 0), ("moment_samples", -1)],
)
def test_bad_parameters_are_named(flow_class, name, value):
    with pytest.raises(ValueError, match=f"{name} must be a positive whole number"):
        flow_class(**{name: value}).fit(*bent(10, 1))
    with pytest.raises(ValueError, match="learning_rate must be a positive number or None"):
        flow_class(learning_rate=-1.0).fit(*bent(10, 1))


def test_importing_the_package_does_not_import_flowjax():
    code = "import sys, kcde, kcde.estimators; assert not {'jax', 'flowjax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=os.environ)
