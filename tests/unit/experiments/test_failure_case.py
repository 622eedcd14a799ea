"""kcef appendix D: J blind to disjoint supports, positive where they overlap."""

import numpy as np
import pytest
from scipy import integrate

from kcde.experiments import failure_case

PAIRS = failure_case.pairs()
DISJOINT, OVERLAPPING = PAIRS["disjoint-supports"], PAIRS["overlapping-supports"]


@pytest.mark.parametrize("component", [*DISJOINT, *OVERLAPPING])
def test_components_are_densities_with_the_right_score(component):
    low, high = component.support
    assert integrate.quad(component.density, low, high)[0] == pytest.approx(1.0, abs=1e-9)
    middle, radius = (low + high) / 2, (high - low) / 2
    y = middle + radius * np.linspace(-0.7, 0.7, 9)
    step = 1e-6
    numeric = np.log(component.density(y + step)) - np.log(component.density(y - step))
    np.testing.assert_allclose(component.score(y), numeric / (2 * step), atol=1e-6)


@pytest.mark.parametrize("weight", failure_case.WEIGHTS)
def test_j_vanishes_while_kl_does_not(weight):
    assert failure_case.expected_score(*DISJOINT, weight) < 1e-20
    exact = -0.5 * (np.log(weight) + np.log(1 - weight))
    assert failure_case.divergence(*DISJOINT, weight) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("weight", [0.1, 0.5, 0.8])
def test_overlapping_supports_agree_with_adaptive_quadrature(weight):
    first, second = OVERLAPPING

    def log_q(y):
        return np.log(weight * first.density(y) + (1 - weight) * second.density(y))

    def integrand(y, p):
        difference = p.score(y) - (log_q(y + 1e-5) - log_q(y - 1e-5)) / 2e-5
        return 0.5 * p.density(y) * difference**2

    j = sum(0.5 * integrate.quad(integrand, -11, 11, args=(p,))[0] for p in OVERLAPPING)
    assert failure_case.expected_score(first, second, weight) == pytest.approx(j, rel=1e-6)
    assert j > 0.1
