"""Flows that choose their size and their training by rows held out."""

import jax
import numpy as np
import pytest
from kcde.estimators._flows.selection import PATIENCE
from scipy.stats import norm
from sklearn.base import clone

from kcde import methods
from kcde.estimators import ConditionalMAF, ConditionalRealNVP
from kcde.estimators._flows.training import train_watched
from kcde.seeding import rng_of, seed_of
from kcde.selection import kfold

FLOWS = [ConditionalRealNVP, pytest.param(ConditionalMAF, marks=pytest.mark.nightly)]
CANDIDATES = [[6, 1, 0.05], [6, 1, 0.01]]


@pytest.fixture(scope="module", autouse=True)
def _quick_compiler():
    """What is tested takes longer to compile than to run."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def bent(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2 * X[:, :1]) + 0.3 * rng.standard_normal((n, 1))


@pytest.fixture(scope="module", params=FLOWS)
def tuned(request):
    X, Y = bent()
    return request.param(candidates=CANDIDATES, steps=120).fit(X, Y), X, Y


@pytest.mark.nightly
def test_scores_are_those_of_flows_trained_on_the_other_rows(tuned):
    """By the training that holds nothing out, for as many steps as were best."""
    model, X, Y = tuned
    held = kfold(60, 5, rng_of("selection", 0))[0]
    rest = np.setdiff1d(np.arange(60), held)
    best = int(np.argmax(model.cv_results_["score"]))
    plain = type(model)(*CANDIDATES[best][:2], model.steps_, CANDIDATES[best][2])
    score = plain.fit(X[rest], Y[rest]).score(X[held], Y[held])
    # In single precision, in another order of summation.
    assert model.cv_results_["score"][best] == pytest.approx(score, abs=0.01)


@pytest.mark.nightly
def test_no_other_number_of_steps_has_a_larger_held_out_likelihood(tuned):
    model, X, Y = tuned
    held = np.isin(np.arange(60), kfold(60, 5, rng_of("selection", 0))[0])
    flow = clone(model)
    flow._record_input(X, X, Y)
    seeds = np.array([seed_of("flow", 0) % 2**32] * 2, np.uint32)
    rates = np.array([rate for _, _, rate in CANDIDATES])
    data = (np.stack([part] * 2) for part in (X, Y, held))
    given = flow._architecture(6, 1), seeds, *data, rates, 120, PATIENCE
    best, score = model.cv_results_["steps"], model.cv_results_["score"]
    assert ((best > 10) & (best <= 120)).all()
    for shift in (-10, -1, 0, 1):
        found = train_watched(*given, best + shift)
        assert (found.steps == best + shift).all()
        for trained, own, largest in zip(found.flows, found.held_out, score, strict=True):
            z, log_slope = trained.inverse(X[held], Y[held])
            assert own == pytest.approx(np.mean(norm.logpdf(z[:, 0]) + log_slope), abs=1e-4)
            assert own < largest if shift else own == pytest.approx(largest, abs=1e-6)


@pytest.mark.nightly
def test_the_best_is_trained_on_all_rows_for_as_many_steps(tuned):
    model, X, Y = tuned
    best = int(np.argmax(model.cv_results_["score"]))
    chosen = [model.hidden_units_, model.blocks_, model.learning_rate_]
    assert chosen == CANDIDATES[best]
    assert model.steps_ == model.cv_results_["steps"][best] == len(model.history_)
    units, blocks, rate = chosen
    plain = type(model)(units, blocks, model.steps_, rate).fit(X, Y)
    np.testing.assert_allclose(model.history_[:20], plain.history_[:20], atol=1e-4)
    np.testing.assert_allclose(model.log_density(X, Y), plain.log_density(X, Y), atol=0.05)


@pytest.mark.nightly
def test_together_is_as_alone_and_the_seed_says_which_rows_are_held_out(tuned):
    model = tuned[0]
    Xs, Ys = zip(*[bent(seed=seed) for seed in (0, 1)], strict=True)
    models = [clone(model).set_params(random_state=seed) for seed in (0, 4)]
    together = type(model).fit_many([clone(m) for m in models], Xs, Ys)
    for single, both, X, Y in zip(models, together, Xs, Ys, strict=True):
        score = single.fit(X, Y).cv_results_["score"]
        np.testing.assert_allclose(both.cv_results_["score"], score, atol=0.02)
    assert not np.allclose(models[0].cv_results_["score"], models[1].cv_results_["score"], 1e-3)


def test_a_rate_that_diverges_is_passed_over_and_none_is_an_error():
    X, Y = bent()
    model = ConditionalRealNVP(candidates=[[6, 1, 1e30], [6, 1, 0.02]], steps=120).fit(X, Y)
    assert model.learning_rate_ == 0.02
    diverging = ConditionalRealNVP(candidates=[[6, 1, 1e30], [6, 1, 1e29]], steps=120)
    with pytest.raises(FloatingPointError, match="finite held-out likelihood; give smaller"):
        diverging.fit(X, Y)


def test_methods_declare_their_candidates():
    for name in ("CondRealNVP-tuned", "CondMAF-tuned"):
        model = methods.make(name)
        assert 1 < len(model.candidates) <= 4
        assert methods.make(name.removesuffix("-tuned")).candidates is None


@pytest.mark.parametrize(
    "candidates", [[], [[10, 2]], [[10, 0, 0.1]], [[10, 2, -0.1]], [[1.5, 2, 0.1]]]
)
def test_candidates_that_are_none_are_refused(candidates):
    with pytest.raises(ValueError, match="candidates must be triples"):
        ConditionalRealNVP(candidates=candidates).fit(*bent())


def test_stages_and_few_rows_are_refused():
    with pytest.raises(ValueError, match="trained in one stage; got 2 in steps"):
        ConditionalRealNVP(candidates=CANDIDATES, steps=[5, 5], learning_rate=[0.1, 0.1]).fit(
            *bent()
        )
    with pytest.raises(ValueError, match="at least 5 rows; got 4"):
        ConditionalRealNVP(candidates=CANDIDATES).fit(*bent(4))
