"""How far doubly dual embedding stays from the optimum of the objective that it trains.

The trained f and the optima are evaluated by the same quadrature on the same rows: those that f was
trained on, and test rows. η is that of the training. A training without penalty has no optimum, and
is bounded by its stopping: there η is the one under which the trained f is nearest to an optimum.
The density has the weight of the training, whatever weight it is evaluated with elsewhere.
"""

import numpy as np

from kcde import scores
from kcde.experiments.base import attempt
from kcde.metrics import names

_UNITS = dict.fromkeys((names.PENALISED_LOSS, names.TRAINING_NLL, names.TRAINED_NLL), "nats")
_UNITS[names.PENALTY] = ""


def cells(model, X, Y) -> list[dict]:
    """Return score cells with their seconds; none for an estimator that has no such objective.

    X and Y are test rows in the units of the fitted model, where p_0 is positive.
    """
    if not hasattr(model, "penalised_likelihood"):
        return []
    problem, _ = attempt(model.penalised_likelihood)
    penalty, _ = attempt(lambda p: model.regularization_ or p.nearest(model.trained_), problem)
    found = []
    for name, density_of in {
        names.TRAINED: lambda problem, penalty: problem.evaluated(model.trained_, penalty),
        names.OPTIMUM: lambda problem, penalty: problem.minimised(penalty),
        names.PRIOR: lambda problem, penalty: problem.minimised(1.0 / len(problem.Y)),
        names.STOPPED: lambda problem, penalty: problem.stopped(),
    }.items():
        measured, seconds = attempt(_measured, density_of, problem, penalty, X, Y)
        units = {names.of_optimum(name, metric): unit for metric, unit in _UNITS.items()}
        found += [each | {"seconds": seconds} for each in scores.cells(units, measured)]
    return found


def _measured(density_of, problem, penalty: float, X, Y) -> tuple[float, ...]:
    """Return a value for each of `_UNITS`, of the trained f or of an optimum."""
    density = density_of(problem, penalty)
    of_test = -float(np.mean(density.log_density(X, Y)))
    return density.loss, density.likelihood, of_test, density.penalty
