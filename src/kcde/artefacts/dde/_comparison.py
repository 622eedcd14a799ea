"""Claim D3: DDE against its published competitors on the R benchmark data."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from kcde import published
from kcde.artefacts.core.cells import AS_PUBLISHED, NLL, splits
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.tables.methods import display
from kcde.metrics.paired import paired_wilcoxon

_RIVALS = ("KCEF", "epsilon-KDE", "LSCDE")
_EXCLUDED = "crabs"
_WANTED = 6
_PUBLISHED_SPLITS = 20

_OURS = {
    "as published": ("DDE", AS_PUBLISHED, NLL),
    "the same fits by quadrature": ("DDE", AS_PUBLISHED, f"{NLL}_quadrature"),
    "with penalty and early stopping": ("DDE-penalised", "ours", f"{NLL}_quadrature"),
}
"""Words for a likelihood of DDE to its method, variant and metric; the first decides."""


@dataclass
class _Outcomes:
    """On which data sets DDE is significantly best, and on which significantly worse than whom."""

    best: list[str] = field(default_factory=list)
    worse: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether the claim would hold by it."""
        return len(self.best) >= _WANTED and not self.worse

    @property
    def tally(self) -> str:
        """Of a single data set: best, worse or neither."""
        return "best" if self.best else "worse" if self.worse else "neither"

    @property
    def words(self) -> str:
        """The data sets by name."""
        best = f" ({', '.join(self.best)})" if self.best else ""
        worse = f" ({', '.join(self.worse)})" if self.worse else ""
        return f"best on {len(self.best)}{best}, worse on {len(self.worse)}{worse}"


def best_on_six(scores: pd.DataFrame) -> Decision:
    """Decide claim D3: DDE is significantly best on six data sets and comparable on the rest.

    Best: significantly better than KCEF, ε-KDE and LSCDE, each as published. Comparable: worse than
    none of them. By paired Wilcoxon tests at 5% over the splits, in whose ranks an exploding split
    counts as one; crabs, whose y is binary, is left out. The same is counted for the published
    numbers, by Welch's test from means and spreads over 20 splits, and for two other likelihoods
    of DDE.

    Parameters
    ----------
    scores
        Of the experiment `r_benchmark`.

    Returns
    -------
    Decision
        `undecided` where a data set has no splits of DDE or of a rival.
    """
    datasets = [name for name in published.datasets("dde", "table2") if name != _EXCLUDED]
    for name in ("DDE", *_RIVALS):
        absent = [each for each in datasets if not len(splits(scores, each, name))]
        if absent:
            return Decision("undecided", f"no splits of {display(name)} on {', '.join(absent)}")
    compare = {
        words: partial(_ours, scores, key)
        for words, key in _OURS.items()
        if len(splits(scores, datasets[0], *key))
    }
    compare["the published numbers, by Welch's test"] = _welch
    outcomes = {words: _outcomes(datasets, by) for words, by in compare.items()}
    decided = next(iter(outcomes.values()))
    said = [
        f"{words}: {outcome.words}, {_EXCLUDED} {_outcomes([_EXCLUDED], compare[words]).tally}"
        for words, outcome in outcomes.items()
    ]
    reason = (
        f"DDE against KCEF, ε-KDE and LSCDE on {len(datasets)} sets, wanted best on {_WANTED} and "
        f"worse on none, {_EXCLUDED} (binary y) not counted: {'; '.join(said)}"
    )
    return Decision("holds" if decided.holds else "fails", reason)


def _outcomes(datasets: list[str], compare: Callable[[str, str], tuple[float, int]]) -> _Outcomes:
    """Compare DDE with every rival; `compare` gives (p-value, sign), sign -1 where DDE is lower."""
    outcome = _Outcomes()
    for dataset in datasets:
        tests = {rival: compare(dataset, rival) for rival in _RIVALS}
        signs = {rival: s if p < SIGNIFICANCE else 0 for rival, (p, s) in tests.items()}
        if all(sign < 0 for sign in signs.values()):
            outcome.best.append(dataset)
        if losses := [display(rival) for rival, sign in signs.items() if sign > 0]:
            outcome.worse.append(f"{dataset} than {' and '.join(losses)}")
    return outcome


def _ours(
    scores: pd.DataFrame, key: tuple[str, str, str], dataset: str, rival: str
) -> tuple[float, int]:
    both = pd.concat([splits(scores, dataset, *key), splits(scores, dataset, rival)], axis=1)
    test = paired_wilcoxon(*both.to_numpy(float).T)
    return test.p_value, test.sign


def _welch(dataset: str, rival: str) -> tuple[float, int]:
    """Compare two published means; a published N/A is a rival that failed."""
    from scipy import stats

    values = published.values()
    here = values[
        (values["paper"] == "dde")
        & (values["artefact"] == "table2")
        & (values["dataset"] == dataset)
    ].set_index("method")
    ours, theirs = here.loc["DDE"], here.loc[rival]
    if pd.isna(theirs["value"]):
        return 0.0, -1
    test = stats.ttest_ind_from_stats(
        ours["value"],
        ours["spread"],
        _PUBLISHED_SPLITS,
        theirs["value"],
        theirs["spread"],
        _PUBLISHED_SPLITS,
        equal_var=False,
    )
    return float(test.pvalue), -1 if ours["value"] < theirs["value"] else 1
