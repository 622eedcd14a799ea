"""kcef figure 4: samples of KEF, KCEF and NADE over the data, and claim K14."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from kcde.evidence import chains, tolerances
from kcde.evidence.cells import splits
from kcde.evidence.deciding import all_of
from kcde.methods import METHODS
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _slices

_LIMIT = 0.25  # of the relative errors
_KCEF, _KEF = "KCEF-F", "KEF"
_INSTEAD = {"KCEF-F": "KCEF-F-inverse", "KEF": "KEF-adapted"}
"""What counts, as amended, where the published chains have not converged."""

_OTHER = "KCEF-LL-F-inverse"  # the same model under another rule of selection: not judged


def decide(scores: pd.DataFrame) -> Decision:
    """Decide claim K14: KCEF's samples have the conditional spread and quantiles of the data.

    On both data sets the relative error of the standard deviation and of the 1% and 99%
    quantiles of the second column, in the median of ten bins of the first, is below 25% and
    smaller than KEF's, in the median over the seeds.

    As amended, of each method the published chains count where they have converged, else what
    stands in `_INSTEAD`. An error of KCEF of 25% or more fails whatever KEF's is; a smaller one is
    undecided where no chains of KEF have converged.
    """
    for dataset, method in product(_slices.DATASETS, (_KCEF, _KEF)):
        if not _errors(scores, dataset, method):
            return Decision("undecided", f"no samples of both KCEF-F and KEF on {dataset}")
    published = {dataset: _test(scores, dataset, _KCEF, _KEF) for dataset in _slices.DATASETS}
    amended = {dataset: _amended(scores, dataset) for dataset in _slices.DATASETS}
    return replace(_together(published), amended=_together(amended))


def _together(tests: Mapping[str, Decision]) -> Decision:
    parts = {dataset: test.verdict for dataset, test in tests.items()}
    said = "; ".join(f"{dataset}: {test.reason}" for dataset, test in tests.items())
    reason = (
        "relative error in the median bin, median over seeds, wanted below 25% and below KEF's: "
        f"{said}"
    )
    return Decision(all_of(parts.values()), reason, parts)


def _amended(scores: pd.DataFrame, dataset: str) -> Decision:
    """Decide on a data set by samples that stand for their densities."""
    found, said = [], []
    for method in (_KCEF, _KEF):
        standing = ""
        for name in filter(None, (method, _INSTEAD.get(method))):
            wrong = _obstacle(scores, dataset, name)
            if not wrong:
                standing = name
                break
            said.append(f"{name}: {wrong}")
        found.append(standing)
    test = _test(scores, dataset, *found)
    return replace(test, reason=f"{test.reason}{_in_brackets(said)}")


def _obstacle(scores: pd.DataFrame, dataset: str, method: str) -> str:
    """Return why samples do not stand for their density, "" where they do."""
    if not _errors(scores, dataset, method):
        return "not run"
    return chains.unconverged(scores, dataset, method, METHODS[method].variant)


def _test(scores: pd.DataFrame, dataset: str, ours: str, theirs: str) -> Decision:
    """Compare the errors of KCEF with those of KEF; "" has none."""
    if not ours:
        return Decision("undecided", "no samples of KCEF-F")
    errors, rival = _errors(scores, dataset, ours), _errors(scores, dataset, theirs)
    other = _errors(scores, dataset, _OTHER)
    verdicts, said = [], []
    for metric, words in _slices.ERRORS.items():
        error = errors[metric]
        small = error < _LIMIT and (not rival or error < rival[metric])
        verdicts.append(("holds" if rival else "undecided") if small else "fails")
        known = ((theirs, rival), (_OTHER, other))
        beside = [f"{name} {found[metric]:.0%}" for name, found in known if found]
        said.append(f"{words} {error:.0%}{_in_brackets(beside)}")
    return Decision(all_of(verdicts), f"{ours}: {', '.join(said)}")


def _in_brackets(said: list[str]) -> str:
    return f" ({', '.join(said)})" if said else ""


def _errors(scores: pd.DataFrame, dataset: str, method: str) -> dict[str, float]:
    """Return the median of each error over the seeds, {} of a method without samples."""
    if not method:
        return {}
    cell = dataset, method, METHODS[method].variant
    found = {metric: splits(scores, *cell, metric) for metric in _slices.ERRORS}
    # A failed error is infinite: a bin of the data without samples.
    medians = {metric: values.fillna(np.inf).median() for metric, values in found.items()}
    return medians if all(map(len, found.values())) else {}


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "samples": {
            "methods": [
                "KEF",
                "KCEF-F",
                "NADE",
                "KEF-adapted",
                "KCEF-F-inverse",
                "KCEF-LL-F-inverse",
            ]
        }
    },
    tolerance=tolerances.VERDICTS,
    build=_slices.build,
    draw=_slices.draw,
    deciders={"K14": decide},
    trial="seed",
    remarks=_slices.remarks,
)
