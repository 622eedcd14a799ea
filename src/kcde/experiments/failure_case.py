"""Failure of conditional score matching: kcef appendix D, figure 3.

The target is p_0(y|x) = p_A(y) H(x) + (1 - H(x)) p_B(y) with the step function H, the model
q(y) = β p_A(y) + (1 - β) p_B(y) for every x. With disjoint supports A and B the expected
conditional score J(p_0||q) of equation (15) vanishes for every weight β, although
q ignores x; the Kullback-Leibler divergence does not vanish. The same computation with
overlapping supports gives a positive J, which shows that a zero is no artefact of the code.

The two scores are computed separately: p_0's in closed form, q's by differentiating the density of
the mixture with a complex step. The identity that makes J zero is not used. Integrals are by
Gauss-Legendre quadrature on each support.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.experiments.base import Experiment, Outcome
from kcde.names import AS_PUBLISHED

WEIGHTS = tuple(round(0.1 * k, 1) for k in range(1, 10))
SHOWN_WEIGHT = 0.5
# Marginal probability of x > 0, where p_0(y|x) = p_A(y).
POSITIVE_SHARE = 0.5

_UNITS = {"expected_score": "1/y^2", "kl": "nats"}
_STEP = 1e-20


class Component(NamedTuple):
    """A density of y with its score, ∂ log density / ∂y in closed form, and its support.

    The density takes complex arguments near the real line; the score is finite inside the support,
    the interval that carries the mass.
    """

    density: Callable[[np.ndarray], np.ndarray]
    score: Callable[[np.ndarray], np.ndarray]
    support: tuple[float, float]


def bump(centre: float, radius: float) -> Component:
    """Return the smooth density proportional to exp(-1/(1-u²)), u = (y - centre)/radius."""

    def kernel(y: np.ndarray) -> np.ndarray:
        u = (np.asarray(y) - centre) / radius
        inside = np.abs(u.real) < 1
        return np.where(inside, np.exp(-1 / (1 - np.where(inside, u, 0.0) ** 2)), 0.0)

    def score(y: np.ndarray) -> np.ndarray:
        u = (y - centre) / radius
        return -2 * u / (1 - u**2) ** 2 / radius

    support = (centre - radius, centre + radius)
    nodes, weights = _quadrature(support)
    mass = float(weights @ kernel(nodes))
    return Component(lambda y: kernel(y) / mass, score, support)


def gaussian(centre: float, std: float) -> Component:
    """Return a Gaussian density, its support cut at ten standard deviations."""
    return Component(
        lambda y: np.exp(-0.5 * ((y - centre) / std) ** 2) / (np.sqrt(2 * np.pi) * std),
        lambda y: -(y - centre) / std**2,
        (centre - 10 * std, centre + 10 * std),
    )


def pairs() -> dict[str, tuple[Component, Component]]:
    """Return p_A and p_B by name: the paper's disjoint supports, and overlapping ones."""
    found = {"disjoint-supports": (bump(-2.0, 1.4), bump(2.0, 1.4))}
    return found | {"overlapping-supports": (gaussian(-1.5, 1.0), gaussian(1.5, 1.0))}


def mixture(first: Component, second: Component, weight: float) -> Callable:
    """Return the density q(y) = weight p_A(y) + (1 - weight) p_B(y)."""
    return lambda y: weight * first.density(y) + (1 - weight) * second.density(y)


def expected_score(first: Component, second: Component, weight: float) -> float:
    """Return J(p_0||q) of equations (14) and (15), in 1/y²; p_A, p_B, and β, the share of p_A."""
    q = mixture(first, second, weight)

    def loss(component: Component, y: np.ndarray) -> np.ndarray:
        score_q = q(y + 1j * _STEP).imag / _STEP / q(y)
        return 0.5 * (component.score(y) - score_q) ** 2

    return _expected(first, second, loss)


def divergence(first: Component, second: Component, weight: float) -> float:
    """Return the Kullback-Leibler divergence of q from p_0, expected over x, in nats."""
    q = mixture(first, second, weight)
    return _expected(first, second, lambda component, y: np.log(component.density(y) / q(y)))


def _expected(first: Component, second: Component, loss: Callable) -> float:
    """Return E_x E_{p_0(y|x)} loss(component, y), where p_0 is positive."""

    def over_y(component: Component) -> float:
        y, w = _quadrature(component.support)
        p = component.density(y)
        y, w, p = y[p > 0], w[p > 0], p[p > 0]
        return float(w @ (p * loss(component, y)))

    return POSITIVE_SHARE * over_y(first) + (1 - POSITIVE_SHARE) * over_y(second)


@dataclass(frozen=True)
class FailureCase(Experiment):
    """J and KL for every weight and both pairs; needs no data.

    The curves of figure 3 are in the `.npz`, as `<pair>/y`, `<pair>/p_A`, `<pair>/p_B`, `<pair>/q`.
    """

    name = "failure_case"

    def outcome(self, unit: int) -> Outcome:
        """Compute both."""
        rows, arrays = [], {}
        known = {"dim": 1, "method": "mixture", "variant": AS_PUBLISHED, "backend": "numpy"}
        for name, pair in pairs().items():
            for weight in WEIGHTS:
                row = self.row(unit, dataset=name, setting=scores.setting(weight=weight), **known)
                found = expected_score(*pair, weight), divergence(*pair, weight)
                rows += [row | each for each in scores.cells(_UNITS, found)]
            arrays[f"{name}/y"] = y = np.linspace(-4.0, 4.0, 401)
            arrays[f"{name}/p_A"], arrays[f"{name}/p_B"] = (each.density(y) for each in pair)
            arrays[f"{name}/q"] = mixture(*pair, SHOWN_WEIGHT)(y)
        return Outcome(rows, arrays=arrays)

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return the curves."""
        return outcomes[0].arrays


@cache
def _quadrature(support: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and weights on an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(800)
    low, high = support
    return 0.5 * (high - low) * nodes + 0.5 * (high + low), 0.5 * (high - low) * weights
