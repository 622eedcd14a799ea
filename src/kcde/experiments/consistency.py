"""Convergence of the estimator where the theory holds: kcef, theorem 2.

If T_0 lies in R(C^γ) and λ = c n^-α with α = max(1/(2(γ+1)), 1/4), then ‖T - T_0‖ is of order
n^(α-1/2) and the Kullback-Leibler divergence of order n^(2α-1). Here γ is 1/2 and 1, known by
construction (`kcde.experiments._well_specified`). One stream of data a repetition is read up to n,
so that a slope can be fitted within each repetition.

The theorem is stated for c = 1, and its bounds hold for every c. Run are c = 1 and three multiples
of ‖C‖, which is 0.11 or 0.12: 1, for which λ is not small against C at these n, and 1/10 and 3/100,
for which it is; ‖T_λ - T_0‖, the error that would be left without noise, is stored with the errors
and shows how far the smallest λ is from its limit.
"""

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.estimators import KCEF
from kcde.experiments import _well_specified, methods
from kcde.experiments._well_specified import BANDWIDTH_X, BANDWIDTH_Y, BASE_STD, Target
from kcde.experiments.base import Experiment, Outcome, attempt, parameter, sized
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.names import AS_PUBLISHED
from kcde.seeding import rng_of, row_seed

EXPONENTS = (0.5, 1.0)
SMALLEST = 100  # training pairs; n doubles from here

_UNITS = {"norm_error": "", "kl": "nats"}


class Constant(NamedTuple):
    """The c of λ = c n^-α: `value` itself where it is absolute, else times ‖C‖."""

    absolute: bool
    value: float

    def axes(self, gamma: float) -> dict[str, float | bool]:
        """Return the axes of the setting of a series."""
        known = {"gamma": gamma, "constant": self.value}
        return known | {"absolute": True} if self.absolute else known


# The last is that of the theorem as it is printed.
CONSTANTS = (*(Constant(False, value) for value in (0.03, 0.1, 1.0)), Constant(True, 1.0))


@dataclass(frozen=True)
class Consistency(Experiment):
    """KCEF fitted to growing samples of a well-specified target. Needs no data.

    The `.npz` has the targets: nodes `x`, `y`, and `gamma-<γ>/p`, p_0(y|x) at them, and
    `gamma-<γ>/coefficients` of T_0.
    """

    name = "consistency"
    repeated = ("repetitions",)

    repetitions: int = sized(3, 40, 100, "Independent streams of data.", at_least=2)
    largest: int = sized(400, 3200, 6400, "Most training pairs.", at_least=2 * SMALLEST)
    backend: str = parameter("auto", "auto, numpy or cupy.")

    @classmethod
    def estimators(cls, method: str) -> list[str]:
        """Return the estimator whose code a job runs."""
        return ["KCEF"]

    @property
    def rows_fitted(self) -> list[int]:
        """The n that are run: doubled from `SMALLEST` up to `largest`."""
        return [SMALLEST << k for k in range(int(np.log2(self.largest / SMALLEST)) + 1)]

    def open(self) -> list[Target]:
        """Return the targets."""
        return [_well_specified.target(gamma) for gamma in EXPONENTS]

    def outcome(self, unit: int) -> Outcome:
        """Fit to a stream of each target."""
        backend = methods.backend_of(KCEF(), self.backend)
        return Outcome([row for each in self.data for row in self._repetition(each, unit, backend)])

    def _repetition(self, target: Target, repetition: int, backend: str) -> list[dict]:
        """Return the rows of all fits to one stream; both rows of one that fails say why."""
        key, ns, rows = (self.name, target.gamma, repetition), self.rows_fitted, []
        x, y = (asarray(one, backend) for one in target.sample(ns[-1], rng_of(*key)))
        told = {"backend": backend, "split": repetition, "seed": row_seed(*key)}
        for n, constant in product(ns, CONSTANTS):
            regularization = _regularization(target, constant, n)
            found, seconds = attempt(errors, target, x[:n], y[:n], regularization)
            row = self._row(target, constant, n) | told
            if not isinstance(found, Exception):
                row["seconds"] = seconds
            rows += [row | each for each in scores.cells(_UNITS, found)]
        return rows

    def _row(self, target: Target, constant: Constant, n: int) -> dict:
        setting = scores.setting(**constant.axes(target.gamma))
        named = {"dataset": "well-specified", "method": "KCEF", "variant": AS_PUBLISHED}
        return self.row(0, **named, dim=1, setting=setting, n_train=n, backend="numpy")

    def rows(self, outcomes: list[Outcome]) -> list[dict]:
        """Return the rows of each target in turn, and then what noise does not explain."""
        rows = []
        for target in self.data:
            axes = {scores.setting(**each.axes(target.gamma)) for each in CONSTANTS}
            rows += [row for each in outcomes for row in each.rows if row["setting"] in axes]
            for constant, n in product(CONSTANTS, self.rows_fitted):
                left = target.regularization_error(_regularization(target, constant, n))
                without_noise = {"metric": REGULARIZATION_ERROR, "value": left}
                rows.append(self._row(target, constant, n) | without_noise)
        return rows

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return the targets."""
        arrays = {"x": self.data[0].grid.x, "y": self.data[0].grid.y}
        for target in self.data:
            arrays[f"gamma-{target.gamma:g}/p"] = np.exp(target.log_density)
            arrays[f"gamma-{target.gamma:g}/coefficients"] = target.coefficients
        return arrays


def _regularization(target: Target, constant: Constant, n: int) -> float:
    """Return λ, which falls like n^-α."""
    c = constant.value * (1.0 if constant.absolute else target.operator_norm)
    return c * n ** -max(0.25, 1.0 / (2.0 * (target.gamma + 1.0)))


def errors(target: Target, x, y, regularization: float) -> tuple[float, float]:
    """Fit KCEF with λ to pairs; return ‖T - T_0‖ and the divergence from p_0 in nats.

    The norm is that of the RKHS, in which T_0 has norm `NORM`; the divergence is expected over x.
    The pairs have the shapes (n,) and are where KCEF is to compute.
    """
    given = BANDWIDTH_X, BANDWIDTH_Y, regularization, BASE_STD
    model = KCEF(*given, standardize=False).fit(x[:, None], y[:, None])
    found = to_numpy(x), to_numpy(y), to_numpy(model.coef_[:, 0])
    estimated = _well_specified.estimate_coefficients(*found, regularization)
    grid, xp = target.grid, array_namespace(x)
    nodes_x, nodes_y = xp.asarray(grid.x[:, None]), xp.asarray(grid.y[:, None])
    log_q = grid.normalised(to_numpy(model.log_unnormalized_at(nodes_y)(nodes_x)))
    distance = float(np.linalg.norm(estimated - target.coefficients))
    return distance, grid.divergence(target.log_density, log_q)
