"""How far the numbers of an artefact may differ where it is made again: `kcde verify`.

A tolerance is a share of the largest number of the row of a table, or of the curve of a figure,
whose unit a number has; for p-values it is a share of one. Beside it, the last digit that a CSV
prints may differ by one.

An artefact has `EXACT` unless it declares another one (`Artefact.tolerance`). Rows of methods that
depend on the machine (`is_single`) and what is measured, which bears it in its name, have their
own.
"""

import math
import re
from functools import cache

from kcde import methods, provenance

EXACT = 1e-6
"""Of what is computed in float64 alone, in the order that its code says."""

SINGLE = 0.05
"""Of what is trained in float32: its digits repeat on one kind of machine (NADE on parkinsons has
4.60463 nats on one, 4.56227 on another, again and again). What compares methods, such as ranks and
p-values, is not compared, nor are fits of which some failed; their verdicts are."""

ROUNDING = 1e-10
"""What differs by less is rounding error, whatever its scale: of an exact normaliser, say."""

VERDICTS = math.inf
"""Of what Markov chains draw: verdicts alone are compared."""

_TRAINS = re.compile(r"^\s*(?:import|from) (?:optax|numba)\b", re.MULTILINE)
_MEASURED = re.compile(r"seconds|per_second|memory|MiB|(?<![a-z])time(?![a-z])", re.IGNORECASE)


def is_measured(name: str) -> bool:
    """Return whether the name of a metric, unit, panel or column says that it is measured.

    Seconds and memory differ from run to run, and are never compared.
    """
    return _MEASURED.search(name) is not None


@cache
def of_method(name: str) -> float:
    """Return the tolerance of a method, named as in scores and artefacts.

    One that is not defined (`DDE-features`) is taken for the method before its first dash; a
    baseline that is none has `EXACT`.
    """
    method = methods.METHODS.get(name) or methods.METHODS.get(name.partition("-")[0])
    return SINGLE if method is not None and is_single(method.estimator) else EXACT


@cache
def is_single(estimator: str) -> bool:
    """Return whether the digits of a class of `estimators/` depend on the machine.

    Those are the networks, which one of their modules trains in float32 with optax or numba, and
    LikelihoodKCEF: it compares candidates before they have converged, in float32 where rows are
    many, so that rounding may choose another one. The other kernel methods compute in float64.
    """
    if estimator == "LikelihoodKCEF":
        return True
    modules = provenance.closure(provenance.estimator_module(estimator))
    sources = (provenance.source(module) for module in modules)
    return any(_TRAINS.search(path.read_text("utf-8")) for path in sources if path is not None)
