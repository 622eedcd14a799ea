import jax
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from kcde.estimators import ConditionalMAF, ConditionalRealNVP
from kcde.estimators._networks import flows as training
from kcde.estimators._networks.flows import rebuilt
from kcde.seeding import rng_of, seed_of
from kcde.selection import kfold

QUICK = {"hidden_units": 12, "blocks": 3, "steps": 60, "learning_rate": 0.01}
CANDIDATES = [[6, 1, 0.05], [6, 1, 0.01]]

pytestmark = pytest.mark.usefixtures("quickly_compiled")


def bent(n, d_y, seed=0):
    """Pairs with two x; y is on a curve and its spread depends on x."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    curve = np.hstack([np.sin(2 * X[:, :1]), X[:, :1] * X[:, 1:], X[:, 1:]])[:, :d_y]
    return X, curve + 0.3 * (1 + (X[:, :1] > 0)) * rng.standard_normal((n, d_y))


@pytest.fixture(scope="module", params=[ConditionalRealNVP, ConditionalMAF])
def flow_class(request):
    return request.param


@pytest.fixture(scope="module")
def fitted(flow_class):
    """A flow for one and two y, with its data. (A shape compiles once: other tests share it.)"""
    return {d_y: (flow_class(**QUICK).fit(*bent(130, d_y)), *bent(130, d_y)) for d_y in (1, 2)}


@pytest.mark.parametrize("d_y", [1, 2])
def test_log_density_is_the_change_of_variables(fitted, d_y, monkeypatch):
    """By the Jacobian of the bijection that jax derives."""
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
    expected = norm.logpdf(z).sum(axis=1) + log_slope
    np.testing.assert_allclose(model.log_density(X[:5], Y[:5]), expected, rtol=1e-10)
    # Any number of rows is padded, or cut into blocks.
    whole = model.log_density(X, Y)
    monkeypatch.setattr(training, "_MOST_ROWS", 64)
    np.testing.assert_allclose(model.log_density(X, Y), whole, rtol=1e-10)


def test_one_y_is_a_gaussian_given_x(fitted):
    """Affine layers leave nothing else: draws, densities and expectations are of one line."""
    model, X, Y = fitted[1]
    mean = model.conditional_expectation(lambda y: y, X[:6])
    std = np.sqrt(model.conditional_expectation(lambda y: y**2, X[:6]) - mean**2)
    expected = norm.logpdf(Y[:6], mean, std)[:, 0]
    np.testing.assert_allclose(model.log_density(X[:6], Y[:6]), expected, rtol=1e-8)
    z = np.random.default_rng(3).standard_normal((6, 4, 1))
    pushed = model.flow_.push(np.repeat(X[:6], 4, axis=0), z.reshape(-1, 1)).reshape(6, 4, 1)
    np.testing.assert_allclose(model._push(X[:6], z), pushed, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.diagonal(model.log_density_at(Y[:6])(X[:6])), expected, rtol=1e-8)


def test_training_beats_the_untrained_flow_and_a_gaussian(fitted):
    trained, X, Y = fitted[1]
    test = bent(400, 1, seed=1)
    untrained = clone(trained).set_params(learning_rate=1e-12).fit(X, Y)
    others = norm.logpdf(test[1], Y.mean(), Y.std()).mean(), untrained.score(*test)
    assert trained.score(*test) > max(others) + 0.3
    assert untrained.history_[0] == pytest.approx(-untrained.score(X, Y), abs=1e-4)
    assert trained.history_[-1] == pytest.approx(-trained.score(X, Y), abs=0.05)
    ruled = clone(trained).set_params(learning_rate=None).fit(X, Y)
    assert ruled.learning_rate_ == pytest.approx(ruled.rate * np.sqrt(130 / 784))


@pytest.mark.nightly
def test_in_blocks_and_in_stages_is_as_in_one(flow_class, monkeypatch):
    """But for rounding in single precision, which grows from step to step."""
    X, Y = bent(130, 2)
    whole = flow_class(**QUICK).fit(X, Y)
    monkeypatch.setattr(training, "_BLOCK", 50)
    model = flow_class(**QUICK).fit(X, Y)
    np.testing.assert_allclose(model.history_[:20], whole.history_[:20], atol=1e-4)
    np.testing.assert_allclose(model.log_density(X, Y), whole.log_density(X, Y), atol=0.02)
    staged = flow_class(**QUICK | {"steps": [60, 30], "learning_rate": [0.01, 1e-12]}).fit(X, Y)
    np.testing.assert_allclose(staged.history_[:20], whole.history_[:20], atol=1e-4)
    # The second stage goes on from where the first ended, and hardly moves.
    np.testing.assert_allclose(staged.history_[60:], -staged.score(X, Y), atol=1e-4)


@pytest.mark.nightly
def test_candidates_are_chosen_at_their_best_number_of_steps(flow_class):
    X, Y = bent(60, 1)
    model = flow_class(candidates=CANDIDATES, steps=120).fit(X, Y)
    held = np.isin(np.arange(60), kfold(60, 5, rng_of("selection", 0))[0])
    steps, score = model.cv_results_["steps"], model.cv_results_["score"]
    best = int(np.argmax(score))
    assert [model.hidden_units_, model.blocks_, model.learning_rate_] == CANDIDATES[best]
    assert model.steps_ == steps[best] == len(model.history_)
    # By the training that holds nothing out, in another order of summation.
    plain = flow_class(*CANDIDATES[best][:2], model.steps_, CANDIDATES[best][2])
    held_out = plain.fit(X[~held], Y[~held]).score(X[held], Y[held])
    assert score[best] == pytest.approx(held_out, abs=0.01)
    np.testing.assert_allclose(model.history_[:20], plain.fit(X, Y).history_[:20], atol=1e-4)
    clone(model)._record_input(X, X, Y)
    architecture, seed = model._architecture(6, 1), np.uint32(seed_of("flow", 0) % 2**32)
    start = training.initial_leaves(architecture, seed)
    for (_, _, rate), most, largest in zip(CANDIDATES, steps, score, strict=True):
        for shift in (-10, -1, 0, 1):
            data = X, Y, held.astype(float), rate
            found = training._run(architecture, start, *data, 120, most + shift)
            z, log_slope = found.flow.inverse(X[held], Y[held])
            own, exact = found.held_out, np.mean(norm.logpdf(z[:, 0]) + log_slope)
            assert own == pytest.approx(exact, abs=1e-4)
            assert own < largest if shift else own == pytest.approx(largest, abs=1e-6)


def test_divergence_is_told_and_a_candidate_that_diverges_is_passed_over():
    X, Y = bent(130, 1)
    with pytest.raises(FloatingPointError, match="diverged at step"):
        ConditionalRealNVP(**QUICK | {"learning_rate": 1e30}).fit(X, Y)
    model = ConditionalRealNVP(candidates=[[6, 1, 1e30], [6, 1, 0.02]], steps=40).fit(X, Y)
    assert model.learning_rate_ == 0.02
    with pytest.raises(FloatingPointError, match="no candidate"):
        model.set_params(candidates=[[6, 1, 1e30], [6, 1, 1e29]]).fit(X, Y)
