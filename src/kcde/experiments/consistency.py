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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.estimators import KCEF
from kcde.experiments import _well_specified, methods
from kcde.experiments._well_specified import Target
from kcde.experiments.base import Experiment, Outcome, parameter, sized
from kcde.experiments.runner import attempt
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.names import AS_PUBLISHED
from kcde.seeding import rng_of, seed_of

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

    name: ClassVar[str] = "consistency"
    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)

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

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits to a stream of each target."""
        backend = methods.backend_of(KCEF(), self.backend)

        def work(repetition: int) -> Outcome:
            each = [self._repetition(target, repetition, backend) for target in self.data]
            return Outcome([row for rows in each for row in rows])

        return work

    def _repetition(self, target: Target, repetition: int, backend: str) -> list[dict]:
        """Return the rows of all fits to one stream; both rows of one that fails say why."""
        key, ns, rows = (self.name, target.gamma, repetition), self.rows_fitted, []
        x, y = (asarray(one, backend) for one in target.sample(ns[-1], rng_of(*key)))
        told = {"backend": backend, "split": repetition, "seed": seed_of(*key) % 2**32}
        for n in ns:
            for constant in CONSTANTS:
                regularization = _regularization(target, constant, n)
                found, seconds = attempt(errors, target, x[:n], y[:n], regularization)
                row = self._row(target, constant, n) | told
                if isinstance(found, Exception):
                    rows += [row | scores.failed(name, found, _UNITS[name]) for name in _UNITS]
                    continue
                rows += [
                    row | {"metric": name, "unit": unit, "value": value, "seconds": seconds}
                    for (name, unit), value in zip(_UNITS.items(), found, strict=True)
                ]
        return rows

    def _row(self, target: Target, constant: Constant, n: int) -> dict:
        setting = scores.setting(**constant.axes(target.gamma))
        named = {"dataset": "well-specified", "method": "KCEF", "variant": AS_PUBLISHED}
        return self.row(0, **named, dim=1, setting=setting, n_train=n, backend="numpy")

    def rows(self, outcomes: Sequence[Outcome]) -> list[dict]:
        """Return the rows of each target in turn, and then what noise does not explain."""
        rows = []
        for target in self.data:
            axes = {scores.setting(**each.axes(target.gamma)) for each in CONSTANTS}
            rows += [row for each in outcomes for row in each.rows if row["setting"] in axes]
            for constant in CONSTANTS:
                for n in self.rows_fitted:
                    left = target.regularization_error(_regularization(target, constant, n))
                    without_noise = {"metric": REGULARIZATION_ERROR, "value": left}
                    rows.append(self._row(target, constant, n) | without_noise)
        return rows

    def arrays(self, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the targets."""
        arrays = {}
        for target in self.data:
            arrays |= {"x": target.grid.x, "y": target.grid.y}
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
    model = KCEF(
        bandwidth_x=_well_specified.BANDWIDTH_X,
        bandwidth_y=_well_specified.BANDWIDTH_Y,
        regularization=regularization,
        base_std=_well_specified.BASE_STD,
    ).fit(x[:, None], y[:, None])
    found = to_numpy(x), to_numpy(y), to_numpy(model.coef_[:, 0])
    estimated = _well_specified.estimate_coefficients(*found, regularization)
    grid, xp = target.grid, array_namespace(x)
    nodes_x, nodes_y = xp.asarray(grid.x[:, None]), xp.asarray(grid.y[:, None])
    log_q = grid.normalised(to_numpy(model.log_unnormalized_at(nodes_y)(nodes_x)))
    distance = float(np.linalg.norm(estimated - target.coefficients))
    return distance, grid.divergence(target.log_density, log_q)
