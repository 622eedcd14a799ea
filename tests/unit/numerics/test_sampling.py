import logging

import numpy as np
import pytest
from scipy import stats

from kcde.estimators import KCEF
from kcde.estimators._kcef.natural_parameter import ChebyshevInterpolant
from kcde.sampling import _Adaptation, _Chains, _random, convergence, hmc

MEAN = np.array([1.0, -2.0])


def gaussian(Y):
    gradient = -(Y - MEAN) @ np.linalg.inv([[1.0, 0.6], [0.6, 2.0]])
    return 0.5 * np.sum((Y - MEAN) * gradient, axis=1), gradient


def test_convergence_tells_mixed_chains_from_stuck_ones(rng):
    """R-hat by its definition, of halves by ranks, also folded; the size is S(1 - a)/(1 + a)."""
    a, draws = np.array([0.6, 0.0]), rng.standard_normal((8, 2000, 2))
    for t in range(1, 2000):
        draws[:, t] = a * draws[:, t - 1] + np.sqrt(1.0 - a**2) * draws[:, t]
    size = convergence(draws).effective_sample_size
    np.testing.assert_allclose(size, 16_000 * (1 - a) / (1 + a), rtol=0.1)
    draws = draws[:, :60]
    draws[0, :, 1] *= 5.0
    for r_hat, chains in zip(convergence(draws).r_hat, np.moveaxis(draws, 2, 0), strict=True):
        halves, wanted = chains.reshape(16, 30), []
        for values in (halves, np.abs(halves - np.median(halves))):
            z = stats.norm.ppf((stats.rankdata(values) - 0.375) / (480 + 0.25)).reshape(16, 30)
            within, between = z.var(axis=1, ddof=1).mean(), z.mean(axis=1).var(ddof=1)
            wanted.append(np.sqrt(29 / 30 + between / within))
        assert r_hat == pytest.approx(max(wanted), rel=1e-9)
    draws[:4] += 10.0
    assert convergence(draws).r_hat.min() > 1.5
    assert convergence(draws).effective_sample_size.max() < 50


def test_divergence_is_counted_and_logged(rng, caplog):
    """The fourth power's gradient throws a fixed large step to infinity."""

    def steep(Y):
        return -np.sum(Y**4, axis=1), -4.0 * Y**3

    with caplog.at_level(logging.WARNING, logger="kcde.sampling"):
        sample = hmc(steep, np.ones((5, 1)), rng, burn_in=0, iterations=20, step_size=10.0)
    assert sample.divergences > 50
    assert sample.acceptance.max() < 0.5
    assert f"{sample.divergences} of 100 transitions" in caplog.text


def test_a_chain_that_starts_nowhere_is_refused(rng):
    def nowhere(Y):
        return np.full(len(Y), -np.inf), Y

    with pytest.raises(ValueError, match="5 of 5 chains"):
        hmc(nowhere, np.ones((5, 1)), rng)
    for named, wrong in (("thin", {"iterations": 5}), ("leapfrog", {"leapfrog_steps": 2.5})):
        with pytest.raises(ValueError, match=named):
            hmc(gaussian, np.ones((5, 2)), rng, **wrong)


@pytest.mark.parametrize("width", [0.05, 0.7, 3.0])
def test_chebyshev_interpolant_knows_a_smooth_function_and_its_derivatives(width):
    """Bumps of the width and their second derivatives, which the natural parameter is made of."""
    lower, upper, centres = -5.0 - 8 * width, 6.0 + 8 * width, np.linspace(-5, 6, 23)[:, None]

    def scaled(y, order):
        """Derivatives of bumps, times width to the power of the order."""
        z = (y - centres) / width
        bump = np.exp(-0.5 * z**2)
        return [bump, -z * bump, (z**2 - 1) * bump][order]

    interpolant, y = ChebyshevInterpolant(lower, upper, width), np.linspace(lower, upper, 997)
    for order, tolerance in ((0, 1e-11), (1, 1e-10), (2, 1e-7)):
        known = scaled(interpolant.nodes, 0) @ interpolant.weights(y, order) * width**order
        np.testing.assert_allclose(known, scaled(y, order), atol=tolerance)
    bent = scaled(interpolant.nodes, 2) @ interpolant.weights(y)
    np.testing.assert_allclose(bent, scaled(y, 2), atol=1e-11)


def test_tabulated_target_equals_the_model(rng):
    X = rng.standard_normal((60, 1))
    model = KCEF(0.8, 0.7, 0.1).fit(X, np.sin(2 * X) + 0.3 * rng.standard_normal((60, 1)))
    X, rows = np.array([[0.3], [-1.0]]), np.arange(40) % 2
    Y = rng.uniform(-4, 4, (40, 1))
    value, gradient = model._hmc_target(X, rows)(Y)
    exact = model.log_unnormalized(X[rows], Y) + np.log(2.0 * np.sqrt(2 * np.pi))
    np.testing.assert_allclose(value, exact, atol=1e-4)
    slope = model.log_unnormalized_gradient(X[rows], Y)
    np.testing.assert_allclose(gradient, slope, atol=1e-2, rtol=1e-4)


def test_draws_do_not_depend_on_how_many_are_made_at_once(monkeypatch):
    """What a transition draws comes from the stream of one transition at a time."""
    samples = []
    for at_once in (1 << 20, 100, 1):
        monkeypatch.setattr("kcde.sampling._DRAWN_AT_ONCE", at_once)
        rng = np.random.default_rng(3)
        samples.append((*hmc(gaussian, np.zeros((7, 2)), rng, iterations=50), rng.random()))
    for other in samples[1:]:
        for one, same in zip(samples[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_a_transition_is_a_leapfrog_orbit_and_a_decision():
    """One transition without adaptation, in plain numpy, with the same stream."""
    start, step, leaps = np.linspace(-3.0, 3.0, 80).reshape(40, 2), 1.3, 4
    rng = np.random.default_rng(8)
    step = step * rng.uniform(0.9, 1.1)
    momentum, level = rng.standard_normal(start.shape), rng.random(40)
    y, p = start.copy(), momentum.copy()
    for _ in range(leaps):
        p = p + 0.5 * step * gaussian(y)[1]
        y = y + step * p
        p = p + 0.5 * step * gaussian(y)[1]
    energies = [0.5 * np.sum(q**2, axis=1) - gaussian(x)[0] for q, x in ((momentum, start), (p, y))]
    chance = np.exp(np.minimum(energies[0] - energies[1], 0.0))
    expected = np.where((level < chance)[:, None], y, start)
    options = {"burn_in": 0, "iterations": 1, "thin": 1, "leapfrog_steps": leaps}
    sample = hmc(gaussian, start, np.random.default_rng(8), step_size=1.3, **options)
    np.testing.assert_allclose(sample.draws[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(sample.acceptance, chance, rtol=1e-10)
    assert set(level < chance) == {True, False}


def test_the_metric_is_the_variances_of_the_last_window(rng):
    scale = np.array([0.01, 1.0, 100.0])

    def target(Y):
        return -0.5 * np.sum((Y / scale) ** 2, axis=1), -Y / scale**2

    chain = _Chains(target, scale * rng.standard_normal((20, 3)), 10, 0.01)
    windows = _Adaptation(chain, 1000, windows=True)
    assert windows._ends == [100, 150, 250, 450, 900]
    for transition, random in enumerate(_random(chain.state, 1000, rng)):
        windows.update(transition, chain.move(*random)[0])
    np.testing.assert_allclose(chain.scale, scale, rtol=0.2)
    assert np.ptp(chain.step) == 0.0
    assert _Adaptation(chain, 0, windows=True)._ends == []
    assert _Adaptation(chain, 20, windows=True)._ends[-1] == 18
