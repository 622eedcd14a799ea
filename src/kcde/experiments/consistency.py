"""Convergence of the estimator where the theory holds: kcef, theorem 2.

If T_0 lies in R(C^γ) and λ = c n^-α with α = max(1/(2(γ+1)), 1/4), then ‖T - T_0‖ is of order
n^(α-1/2) and the Kullback-Leibler divergence of order n^(2α-1). Here γ is 1/2 and 1, known by
construction (`kcde.experiments.well_specified`). One stream of data a repetition is read up to n,
so that a slope can be fitted within each repetition.

The theorem leaves c open and holds for each. Two are run, as multiples of ‖C‖: 1, for which λ is
not small against C at these n, and 1/10, for which it is; ‖T_λ - T_0‖, the error that would be left
without noise, is stored beside the errors and says how far the smallest λ is from its limit.
"""

import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.estimators import KCEF
from kcde.experiments import methods, scores, well_specified
from kcde.experiments.shards import WHOLE, Cut, outcomes
from kcde.provenance import digest, estimator_module
from kcde.seeding import rng_of, seed_of

log = logging.getLogger(__name__)

EXPERIMENT = "consistency"
EXPONENTS = (0.5, 1.0)
CONSTANTS = (0.1, 1.0)
"""c as multiples of ‖C‖."""

SMALLEST = 100
"""Training pairs; n doubles from here."""

NORM_ERROR, KL, BIAS = "norm_error", "kl", "regularization_error"


def rate(gamma: float) -> float:
    """Return α of theorem 2, so that λ falls like n^-α."""
    return max(0.25, 1.0 / (2.0 * (gamma + 1.0)))


def sizes(largest: int) -> list[int]:
    """Return the n that are run: doubled from `SMALLEST` up to `largest`.

    Raises
    ------
    ValueError
        If fewer than two fit.
    """
    if largest < 2 * SMALLEST:
        raise ValueError(f"a slope needs n of at least {2 * SMALLEST}; got {largest}")
    return [SMALLEST << k for k in range(int(np.log2(largest / SMALLEST)) + 1)]


def run(
    out: str | Path,
    repetitions: int = 40,
    largest: int = 3200,
    *,
    backend: str = "auto",
    cut: Cut = WHOLE,
) -> None:
    """Fit KCEF to growing samples from both targets, and write its errors as scores.

    Parameters
    ----------
    out
        The score CSV. The `.npz` beside it has the targets: nodes `x`, `y`, and
        `gamma-<γ>/p`, p_0(y|x) at them, and `gamma-<γ>/coefficients` of T_0.
    repetitions
        Independent streams of data, at least 2.
    largest
        Most training pairs.
    backend
        "auto", "numpy" or "cupy".
    cut
        Which repetitions are computed here; `out` is where a shard keeps them.

    Raises
    ------
    ValueError
        If there are too few repetitions or pairs for slopes with an error.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    if repetitions < 2:
        raise ValueError(f"repetitions must be at least 2; got {repetitions}")
    ns = sizes(largest)
    targets = [well_specified.target(gamma) for gamma in EXPONENTS]
    identity = _declared() | {"repetitions": repetitions, "n": ns, "backend": backend}
    work = partial(_compute, targets, ns, backend)
    found = outcomes(identity, range(repetitions), work, Path(out), cut)
    if found is not None:
        _write(Path(out), targets, ns, found)


def _compute(
    targets: list[well_specified.Target], ns: list[int], backend: str, repetitions: Sequence[int]
) -> list[list[list[dict]]]:
    """Return the rows of some repetitions, of each target in turn."""
    backend = methods.backend_of(KCEF(), backend)
    found, started = [], time.perf_counter()
    for done, repetition in enumerate(repetitions, 1):
        found.append([_repetition(target, ns, repetition, backend) for target in targets])
        left = (time.perf_counter() - started) / done * (len(repetitions) - done)
        log.info("repetition %d/%d, about %.0f s left", done, len(repetitions), left)
    return found


def errors(target: well_specified.Target, x, y, regularization: float) -> tuple[float, float]:
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
        In the space of functions, whose norm of T_0 is `well_specified.NORM`.
    divergence
        Of the estimate from p_0, expected over x, in nats.
    """
    model = KCEF(
        bandwidth_x=well_specified.BANDWIDTH_X,
        bandwidth_y=well_specified.BANDWIDTH_Y,
        regularization=regularization,
        base_std=well_specified.BASE_STD,
    ).fit(x[:, None], y[:, None])
    found = to_numpy(x), to_numpy(y), to_numpy(model.coef_[:, 0])
    estimated = well_specified.estimate_coefficients(*found, regularization)
    grid, xp = target.grid, array_namespace(x)
    nodes_x, nodes_y = xp.asarray(grid.x[:, None]), xp.asarray(grid.y[:, None])
    log_q = grid.normalised(to_numpy(model.log_unnormalized_at(nodes_y)(nodes_x)))
    distance = float(np.linalg.norm(estimated - target.coefficients))
    return distance, grid.divergence(target.log_density, log_q)


def _write(
    out: Path, targets: list[well_specified.Target], ns: list[int], found: list[list[list[dict]]]
) -> None:
    rows, arrays, info = [], {}, {}
    for target, streams in zip(targets, zip(*found, strict=True), strict=True):
        name = f"gamma-{target.gamma:g}"
        info[name] = {"operator_norm": target.operator_norm, "residual": target.residual}
        arrays |= {"x": target.grid.x, "y": target.grid.y, f"{name}/p": np.exp(target.log_density)}
        arrays[f"{name}/coefficients"] = target.coefficients
        rows += [row for stream in streams for row in stream]
        rows += _without_noise(target, ns)
    scores.write(out, rows, _declared() | info, arrays)


def _declared() -> dict:
    return {
        "source": "kcef, theorem 2",
        "bandwidth_x": well_specified.BANDWIDTH_X,
        "bandwidth_y": well_specified.BANDWIDTH_Y,
        "base_std": well_specified.BASE_STD,
        "target_norm": well_specified.NORM,
        "code": digest(__name__, estimator_module("KCEF")),
    }


def _repetition(
    target: well_specified.Target, ns: list[int], repetition: int, backend: str
) -> list[dict]:
    axes = (EXPERIMENT, target.gamma, repetition)
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
    """Return what one fit adds to its two rows; a numerical failure says why in both."""
    started, metrics = time.perf_counter(), {NORM_ERROR: None, KL: "nats"}
    try:
        values = errors(target, x, y, regularization)
    except methods.FAILURES as error:
        failed = {"status": "failed", "detail": f"{type(error).__name__}: {error}"}
        return [{"metric": metric, "unit": unit} | failed for metric, unit in metrics.items()]
    seconds = time.perf_counter() - started
    return [
        {"metric": metric, "unit": unit, "value": value, "seconds": seconds}
        for (metric, unit), value in zip(metrics.items(), values, strict=True)
    ]


def _without_noise(target: well_specified.Target, ns: list[int]) -> list[dict]:
    return [
        _row(target.gamma, constant, n)
        | {
            "split": 0,
            "metric": BIAS,
            "value": target.regularization_error(_regularization(target, constant, n)),
        }
        for constant in CONSTANTS
        for n in ns
    ]


def _regularization(target: well_specified.Target, constant: float, n: int) -> float:
    return constant * target.operator_norm * n ** -rate(target.gamma)


def _row(gamma: float, constant: float, n: int) -> dict:
    return {
        "experiment": EXPERIMENT,
        "dataset": "well-specified",
        "dim": 1,
        "setting": scores.setting(gamma=gamma, constant=constant),
        "method": "KCEF",
        "variant": "as-published",
        "n_train": n,
        "status": "ok",
        "backend": "numpy",
        "dtype": "float64",
    }
