"""Estimators as configured: built from options, where they compute, and what they chose.

`optimum_cells` says how far doubly dual embedding stays from the optimum of the objective that it
trains. The trained f and the optima are evaluated by the same quadrature on the same rows: those
that f was trained on, and test rows. η is that of the training. A training without penalty has no
optimum, and is bounded by its stopping: there η is the one under which the trained f is nearest to
an optimum. The density has the weight of the training, whatever weight it is evaluated with
elsewhere.
"""

from collections.abc import Mapping

import numpy as np

from kcde import metrics as names
from kcde import scores
from kcde.arrays import BACKENDS, resolve_backend, to_numpy
from kcde.estimators import configured, estimator_class
from kcde.experiments.base import attempt

# Parameters whose names with `_` hold fitted values: the points of CDO, the α of LSCDE.
_LEARNT = ("reference", "weights")


def build(method: str, estimator: str, options: Mapping, random_state=0, **more):
    """Return an unfitted estimator, of rows that the experiment standardises where it wants to.

    The arguments after `options` are given where the class knows them and no option names them.
    """
    known = estimator_class(estimator)._get_param_names()
    common = {"random_state": random_state, "standardize": False, **more}
    given = {name: common[name] for name in common if name in known} | dict(options)
    try:
        return configured(estimator, given)
    except ValueError as error:
        raise ValueError(f"method {method}: {error}") from None


def backend_of(estimator, wanted: str) -> str:
    """Return the backend of an estimator: "numpy", or "cupy" if it is supported and requested."""
    if wanted in BACKENDS and not estimator.tags.array_api:
        return "numpy"
    return resolve_backend(wanted)


def chosen(model) -> dict:
    """Return the hyper-parameters that a fitted model used, by their names, ready for JSON.

    Those of an estimator inside it are among them.
    """
    names = [name for name in (*model.get_params(deep=False), "jitter") if name not in _LEARNT]
    values = {name: getattr(model, f"{name}_") for name in names if hasattr(model, f"{name}_")}
    inner = values.pop("estimator", None)
    found = {name: to_numpy(value).tolist() for name, value in values.items()}
    return found if inner is None else chosen(inner) | found


_UNITS = dict.fromkeys((names.PENALISED_LOSS, names.TRAINING_NLL, names.TRAINED_NLL), "nats")
_UNITS[names.PENALTY] = ""


def optimum_cells(model, X, Y) -> list[dict]:
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
