"""Estimators as configured: built from options, where they compute, and what they chose."""

from collections.abc import Mapping

from kcde.arrays import BACKENDS, resolve_backend, to_numpy
from kcde.estimators import configured, estimator_class

# Parameters whose names with `_` hold fitted values: the points of CDO, the α of LSCDE.
_LEARNT = ("reference", "weights")


def build(method: str, estimator: str, options: Mapping, random_state=0, tuning_rows=None):
    """Return an unfitted estimator, of rows that the experiment standardises where it wants to.

    The last two arguments are given where the class knows them and no option names them.
    """
    known = estimator_class(estimator)._get_param_names()
    common = {"random_state": random_state, "tuning_rows": tuning_rows, "standardize": False}
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
