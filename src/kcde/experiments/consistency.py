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

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.estimators import KCEF
from kcde.experiments import _well_specified, methods, runner
from kcde.experiments.job import AS_PUBLISHED, Outcome
from kcde.experiments.jobs.consistency import CONSTANTS, SMALLEST, Constant, Job
from kcde.experiments.runner import attempt
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.provenance import digest, estimator_module
from kcde.seeding import rng_of, seed_of

EXPONENTS = (0.5, 1.0)
NORM_ERROR, KL = "norm_error", "kl"


def rate(gamma: float) -> float:
    """Return α of theorem 2, so that λ falls like n^-α."""
    return max(0.25, 1.0 / (2.0 * (gamma + 1.0)))


def sizes(largest: int) -> list[int]:
    """Return the n that are run: doubled from `SMALLEST` up to `largest`."""
    return [SMALLEST << k for k in range(int(np.log2(largest / SMALLEST)) + 1)]


class Experiment(runner.Experiment[Job]):
    """The `.npz` has the targets: nodes `x`, `y`, and `gamma-<γ>/p`, p_0(y|x) at them, and
    `gamma-<γ>/coefficients` of T_0.
    """

    def open(self) -> list[_well_specified.Target]:
        """Return the targets."""
        return [_well_specified.target(gamma) for gamma in EXPONENTS]

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that fits to a stream of each target."""
        ns = sizes(self.job.largest)
        backend = methods.backend_of(KCEF(), self.job.backend)

        def work(repetition: int) -> Outcome:
            each = [_repetition(target, ns, repetition, backend) for target in self.data]
            return Outcome([row for rows in each for row in rows])

        return work

    def rows(self, job: Job, outcomes: Sequence[Outcome]) -> list[dict]:
        """Return the rows of each target in turn, and then what noise does not explain."""
        rows = []
        for target in self.data:
            axes = {scores.setting(**each.axes(target.gamma)) for each in CONSTANTS}
            rows += [row for each in outcomes for row in each.rows if row["setting"] in axes]
            rows += _without_noise(target, sizes(job.largest))
        return rows

    def info(self, job: Job) -> dict:
        """Return the information that is known before the job runs."""
        return {
            "source": "kcef, theorem 2",
            "bandwidth_x": _well_specified.BANDWIDTH_X,
            "bandwidth_y": _well_specified.BANDWIDTH_Y,
            "base_std": _well_specified.BASE_STD,
            "target_norm": _well_specified.NORM,
            "code": digest(__name__, estimator_module("KCEF")),
        }

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return the norms and residuals of the targets."""
        return {
            _name(target): {"operator_norm": target.operator_norm, "residual": target.residual}
            for target in self.data
        }

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the targets."""
        arrays = {}
        for target in self.data:
            arrays |= {"x": target.grid.x, "y": target.grid.y}
            arrays[f"{_name(target)}/p"] = np.exp(target.log_density)
            arrays[f"{_name(target)}/coefficients"] = target.coefficients
        return arrays


def _name(target: _well_specified.Target) -> str:
    return f"gamma-{target.gamma:g}"


def errors(target: _well_specified.Target, x, y, regularization: float) -> tuple[float, float]:
    """Fit KCEF to pairs of the target; return ‖T - T_0‖ and the Kullback-Leibler divergence.

    Parameters
    ----------
    target
        The truth.
    x, y
        Pairs, shapes (n,), where KCEF is to compute.
    regularization
        λ.

    Returns
    -------
    norm_error
        Error in the norm of the RKHS, in which T_0 has norm `well_specified.NORM`.
    divergence
        Divergence of the estimate from p_0, expected over x, in nats.
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


def _repetition(
    target: _well_specified.Target, ns: list[int], repetition: int, backend: str
) -> list[dict]:
    axes = (Job.experiment, target.gamma, repetition)
    x, y = (asarray(one, backend) for one in target.sample(ns[-1], rng_of(*axes)))
    rows = []
    for n in ns:
        for constant in CONSTANTS:
            row = _row(target.gamma, constant, n) | {"backend": backend}
            row |= {"split": repetition, "seed": seed_of(*axes) % 2**32}
            outcome = _fit(target, x[:n], y[:n], _regularization(target, constant, n))
            rows += [row | measured for measured in outcome]
    return rows


def _fit(target, x, y, regularization: float) -> list[dict]:
    """Return the columns of the two rows of one fit; both state the reason of a failure."""
    metrics = {NORM_ERROR: "", KL: "nats"}
    values, seconds = attempt(errors, target, x, y, regularization)
    if isinstance(values, Exception):
        return [scores.failed(metric, values, unit) for metric, unit in metrics.items()]
    return [
        {"metric": metric, "unit": unit, "value": value, "seconds": seconds}
        for (metric, unit), value in zip(metrics.items(), values, strict=True)
    ]


def _without_noise(target: _well_specified.Target, ns: list[int]) -> list[dict]:
    return [
        _row(target.gamma, constant, n)
        | {
            "metric": REGULARIZATION_ERROR,
            "value": target.regularization_error(_regularization(target, constant, n)),
        }
        for constant in CONSTANTS
        for n in ns
    ]


def _regularization(target: _well_specified.Target, constant: Constant, n: int) -> float:
    c = constant.value * (1.0 if constant.absolute else target.operator_norm)
    return c * n ** -rate(target.gamma)


def _row(gamma: float, constant: Constant, n: int) -> dict:
    return Job().row(
        0,
        dataset="well-specified",
        dim=1,
        setting=scores.setting(**constant.axes(gamma)),
        method="KCEF",
        variant=AS_PUBLISHED,
        n_train=n,
        backend="numpy",
    )
