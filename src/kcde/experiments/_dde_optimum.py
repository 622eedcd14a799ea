"""How far doubly dual embedding stays from the optimum of the objective that it trains.

The trained f and the optima are evaluated by the same quadrature on the same rows: those that f was
trained on, and test rows. η is that of the training. A training without penalty has no optimum, and
is bounded by its stopping: there η is the one under which the trained f is nearest to an optimum.
The density has the weight of the training, whatever weight it is evaluated with elsewhere.
"""

from functools import partial

import numpy as np

from kcde import scores
from kcde.experiments.runner import attempt
from kcde.metrics.names import (
    OPTIMUM,
    PENALISED_LOSS,
    PENALTY,
    PRIOR,
    STOPPED,
    TRAINED,
    TRAINED_NLL,
    TRAINING_NLL,
    of_optimum,
)

_UNITS = {PENALISED_LOSS: "nats", TRAINING_NLL: "nats", TRAINED_NLL: "nats", PENALTY: ""}


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
    names = (TRAINED, OPTIMUM, PRIOR, STOPPED)
    if isinstance(problem, Exception):
        return [cell | {"seconds": 0.0} for name in names for cell in _cells(name, problem)]
    penalty, _ = attempt(partial(_penalty, model), problem)
    found = []
    for name in names:
        measured, seconds = attempt(partial(_measured, name, model), problem, penalty, X, Y)
        found += [cell | {"seconds": seconds} for cell in _cells(name, measured)]
    return found


def _penalty(model, problem) -> float:
    return model.regularization_ or problem.nearest(model.trained_)


def _measured(name: str, model, problem, penalty: float, X, Y) -> dict[str, float]:
    """Return a value for each metric of the trained f or of an optimum."""
    density = {
        TRAINED: lambda: problem.evaluated(model.trained_, penalty),
        OPTIMUM: lambda: problem.minimised(penalty),
        PRIOR: lambda: problem.minimised(1.0 / len(problem.Y)),
        STOPPED: problem.stopped,
    }[name]()
    return {
        PENALISED_LOSS: density.loss,
        TRAINING_NLL: density.likelihood,
        TRAINED_NLL: -float(np.mean(density.log_density(X, Y))),
        PENALTY: density.penalty,
    }


def _cells(name: str, measured: dict[str, float] | Exception) -> list[dict]:
    if isinstance(measured, Exception):
        return [scores.failed(of_optimum(name, m), measured, u) for m, u in _UNITS.items()]
    return [scores.cell(of_optimum(name, m), measured[m], u) for m, u in _UNITS.items()]
