"""How far doubly dual embedding stays from the optimum of the objective that it trains.

The trained f and the optima are evaluated by the same quadrature on the same rows: those that f was
trained on, and test rows. η is that of the training, or 1/n where that is 0: without penalty there
is no optimum. The density has the weight of the training, whatever weight it is evaluated with
elsewhere.
"""

import time
from functools import partial

import numpy as np

from kcde import scores
from kcde.experiments.runner import attempt
from kcde.metrics.names import (
    OPTIMUM,
    PENALISED_LOSS,
    STOPPED,
    TRAINED,
    TRAINED_NLL,
    TRAINING_NLL,
    of_optimum,
)

_PENALTY = "penalty"
_UNITS = {PENALISED_LOSS: "nats", TRAINING_NLL: "nats", TRAINED_NLL: "nats", _PENALTY: ""}


def cells(model, X, Y) -> list[dict]:
    """Return score cells with their seconds; none for an estimator that has no such objective.

    Parameters
    ----------
    model
        Fitted.
    X, Y
        Test rows in its units, shapes (n, d_x), (n, d_y), where p_0 is positive.
    """
    if not hasattr(model, "penalised_likelihood"):
        return []
    problem, _ = attempt(model.penalised_likelihood)
    found = []
    for name in (TRAINED, OPTIMUM, STOPPED):
        started = time.perf_counter()
        measured, _ = attempt(partial(_measured, name, model), problem, X, Y)
        seconds = time.perf_counter() - started
        found += [cell | {"seconds": seconds} for cell in _cells(name, measured)]
    return found


def _measured(name: str, model, problem, X, Y) -> dict[str, float]:
    """Return a value for each metric of the trained f or of an optimum."""
    penalty = model.regularization_ or 1.0 / len(problem.Y)
    if name == TRAINED:
        density = model.evaluated(problem, penalty)
    else:
        density = problem.minimised(penalty) if name == OPTIMUM else problem.stopped()
    return {
        PENALISED_LOSS: density.loss,
        TRAINING_NLL: density.likelihood,
        TRAINED_NLL: -float(np.mean(density.log_density(X, Y))),
        _PENALTY: density.penalty,
    }


def _cells(name: str, measured: dict[str, float] | Exception) -> list[dict]:
    if isinstance(measured, Exception):
        return [scores.failed(of_optimum(name, m), measured, u) for m, u in _UNITS.items()]
    return [scores.cell(of_optimum(name, m), measured[m], u) for m, u in _UNITS.items()]
