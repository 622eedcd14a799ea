"""Made-up scores of low-rank embeddings in the real format, for the tests of jdl's artefacts."""

import itertools

import numpy as np
import pandas as pd

from kcde import scores

SCHEDULE = {10**3: 1e-3, 10**4: 1e-3, 10**5: 1e-3, 10**6: 1e-2, 10**7: 1e-1}
SIZES = {1: tuple(SCHEDULE), 2: tuple(SCHEDULE)[:4], 3: tuple(SCHEDULE)[:3]}
TOLERANCES = (1e-3, 1e-2, 1e-1)
REPETITIONS = 20


def fits(methods=("JDL", "JPDL", "CME"), sizes=SIZES, more=(1,)):
    """Return (method, d, n, tolerance, constrained) of an experiment like that of section 5.1.

    `more` are the dimensions in which every tolerance is fitted without constraints.
    """
    found = []
    for method, d in itertools.product(methods, sizes):
        for n in sizes[d]:
            own = SCHEDULE.get(n, 1e-3) if method in ("JDL", "CME") else 0.0
            found += [(method, d, n, own, constrained) for constrained in (False, True)]
            others = TOLERANCES if d in more and method in ("JDL", "CME") else ()
            found += [(method, d, n, other, False) for other in others if other != own]
    return found


def frame(metrics, cells=None, repetitions=REPETITIONS, failed=(), experiment="moments"):
    """Return scores.

    Parameters
    ----------
    metrics
        Metric to a function of (method, d, n, tolerance, constrained, repetition), None where a fit
        has no such metric; the first is the loss, whose row says that a fit failed. Parameters are
        chosen on all rows but where `tuning_rows` says otherwise.
    cells
        As `fits` returns them.
    repetitions
        How many, a number or a function of a cell.
    failed
        Cells with the repetition that failed, as tuples of six.
    """
    rows = []
    for cell in fits() if cells is None else cells:
        count = repetitions(*cell) if callable(repetitions) else repetitions
        for split in range(count):
            rows += _of_one(metrics, cell, split, (*cell, split) in failed, experiment)
    return pd.DataFrame([{"detail": ""} | row for row in rows], columns=scores.COLUMNS)


def _of_one(metrics, cell, split, failed, experiment):
    method, d, n, tolerance, constrained = cell
    kind = {"moments": "gaussian", "portfolio": "portfolios"}[experiment]
    row = {
        "experiment": experiment,
        "dataset": f"{kind}-{d}-{n}",
        "dim": d,
        "setting": scores.setting(constrained=constrained, tolerance=tolerance),
        "method": method,
        "variant": "as-published",
        "split": split,
        "n_train": 4 * n // 5,
        "n_test": 5000,
        "seconds": 0.5,
    }
    if failed:
        reason = "FloatingPointError: the solver stopped early"
        lost = {"metric": next(iter(metrics)), "status": "failed", "detail": reason}
        return [row | lost | {"value": np.nan}]
    values = {"tuning_rows": n} if experiment == "moments" else {}
    values |= {name: of(*cell, split) for name, of in metrics.items()}
    return [
        row | {"metric": name, "value": value, "status": "ok"}
        for name, value in values.items()
        if value is not None
    ]


def timings(summarise, factorise, solve, evaluate, matched=1.0):
    """Return metrics of seconds, functions of a cell; at matched bandwidths so many times that."""
    own = {
        "seconds_summarise": summarise,
        "seconds_factorise": factorise,
        "seconds_solve": solve,
        "seconds_evaluate": evaluate,
    }
    others = {
        f"matched_{name}": lambda *cell, of=of: matched * of(*cell) for name, of in own.items()
    }
    return own | others


def spread(split, repetitions=REPETITIONS):
    """Return a factor around 1 that differs by repetition, the same for every method."""
    return float(np.exp(0.5 * np.sin(7.0 * split + 1.0)))
