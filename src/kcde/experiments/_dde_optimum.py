"""How far doubly dual embedding stays from the optimum of the objective that it trains.

The trained f and the optima are evaluated by the same quadrature on the same rows: those that f was
trained on, and test rows. η is that of the training. A training without penalty has no optimum, and
is bounded by its stopping: there η is the one under which the trained f is nearest to an optimum.
The density has the weight of the training, whatever weight it is evaluated with elsewhere.
"""

import numpy as np

from kcde import scores
from kcde.experiments.runner import attempt
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
        for metric, unit in _UNITS.items():
            title, failed = names.of_optimum(name, metric), isinstance(measured, Exception)
            cell = scores.failed if failed else scores.cell
            value = measured if failed else measured[metric]
            found.append(cell(title, value, unit) | {"seconds": seconds})
    return found


def _measured(density_of, problem, penalty: float, X, Y) -> dict[str, float]:
    """Return a value for each metric of the trained f or of an optimum."""
    density = density_of(problem, penalty)
    return {
        names.PENALISED_LOSS: density.loss,
        names.TRAINING_NLL: density.likelihood,
        names.TRAINED_NLL: -float(np.mean(density.log_density(X, Y))),
        names.PENALTY: density.penalty,
    }
