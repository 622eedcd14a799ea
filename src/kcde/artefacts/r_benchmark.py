"""Claims that the R benchmark data decide; kcef table 1 and dde table 2 share them."""

import numpy as np
import pandas as pd
from scipy import stats

from kcde import published
from kcde.artefacts.declaration import Decision
from kcde.artefacts.tables import AS_PUBLISHED
from kcde.artefacts.verdicts import LIMIT_NATS, SIGNIFICANCE, too_many_failed
from kcde.metrics.paired import paired_wilcoxon

METRIC = "negative_log_likelihood"

_UNSTABLE = ("cpus", "crabs")
_WANTED_MARGIN = 8


def kcef_beats_lscde(scores: pd.DataFrame) -> Decision:
    """Decide claim K7: significant wins minus losses of KCEF against LSCDE at least 8 of 14.

    A split that exploded but is finite stays in the Wilcoxon test, whose ranks it cannot dominate.

    Parameters
    ----------
    scores
        Of the experiment `r_benchmark`.

    Returns
    -------
    Decision
        `undecided` where a published data set has no splits of both methods.
    """
    datasets = _published_datasets("kcef", "table1")
    duel = _Duel(scores, datasets, ("KCEF", AS_PUBLISHED))
    if duel.absent:
        absent = ", ".join(duel.absent)
        return Decision("undecided", f"no splits of both KCEF and LSCDE on {absent}")
    reason = (
        f"KCEF against LSCDE on {len(datasets)} sets: {len(duel.wins)} significant wins, "
        f"{_listed(duel.losses, 'losses')}, margin {duel.margin} (wanted {_WANTED_MARGIN}); lower "
        f"median on {duel.lower_medians}; {duel.dropped} pairs left out because a split is not "
        "finite"
    )
    ours = _Duel(scores, datasets, ("KCEF-LL", "ours"))
    if not ours.absent:
        reason += (
            f". The same model with bandwidths and λ chosen by held-out likelihood (KCEF-LL): "
            f"{len(ours.wins)} wins, {_listed(ours.losses, 'losses')}"
        )
    return Decision("holds" if duel.margin >= _WANTED_MARGIN else "fails", reason)


class _Duel:
    """Wins and losses of a method against LSCDE, by paired Wilcoxon tests over the splits."""

    def __init__(self, scores: pd.DataFrame, datasets: list[str], method: tuple[str, str]):
        self.wins, self.losses, self.absent = [], [], []
        self.lower_medians = self.dropped = 0
        for dataset in datasets:
            ours = _splits(scores, dataset, *method)
            lscde = _splits(scores, dataset, "LSCDE")
            if not len(ours) or not len(lscde):
                self.absent.append(dataset)
                continue
            both = pd.concat([ours, lscde], axis=1)
            test = paired_wilcoxon(*both.to_numpy().T)
            self.dropped += test.dropped
            self.lower_medians += int(ours.median() < lscde.median())
            if test.p_value < SIGNIFICANCE and test.sign:
                (self.wins if test.sign < 0 else self.losses).append(dataset)

    @property
    def margin(self) -> int:
        """Wins minus losses."""
        return len(self.wins) - len(self.losses)


def kcef_unstable(scores: pd.DataFrame) -> Decision:
    """Decide claim D6: the as-published KCEF is numerically unstable on cpus and crabs.

    It holds if on each of the two more than 5% of the splits are not finite or above 20
    nats, and the two together fail more often than all other sets (Fisher's exact test, 5%).

    Parameters
    ----------
    scores
        Of the experiment `r_benchmark`.

    Returns
    -------
    Decision
        `undecided` where cpus, crabs or every other data set has no splits.
    """
    counts = {
        dataset: _failures(scores, dataset) for dataset in _published_datasets("dde", "table2")
    }
    two = {name: counts.pop(name) for name in _UNSTABLE}
    failed, n = (sum(values) for values in zip(*two.values(), strict=True))
    others_failed, others_n = (sum(values) for values in zip(*counts.values(), strict=True))
    if not all(n for _, n in two.values()) or not others_n:
        return Decision("undecided", "no as-published KCEF splits on cpus, crabs or the other sets")
    table = [[failed, n - failed], [others_failed, others_n - others_failed]]
    p_value = float(stats.fisher_exact(table, alternative="greater").pvalue)
    where = [f"{name} {count[0]}" for name, count in counts.items() if count[0]]
    reason = (
        "failed splits (not finite or above 20 nats) of as-published KCEF: "
        + ", ".join(f"{name} {k} of {n}" for name, (k, n) in two.items())
        + f"; all other sets {others_failed} of {others_n}"
        + (f" ({', '.join(where)})" if where else "")
        + f"; Fisher's exact p = {p_value:.2g}"
    )
    unstable = all(too_many_failed(k, n) for k, n in two.values()) and p_value < SIGNIFICANCE
    return Decision("holds" if unstable else "fails", reason)


def _published_datasets(paper: str, artefact: str) -> list[str]:
    values = published.values()
    here = values[(values["paper"] == paper) & (values["artefact"] == artefact)]
    return list(dict.fromkeys(here["dataset"]))


def _splits(
    scores: pd.DataFrame, dataset: str, method: str, variant: str = AS_PUBLISHED
) -> pd.Series:
    """Return a method's values by split, NaN where the fit failed."""
    rows = scores[
        (scores["dataset"] == dataset)
        & (scores["method"] == method)
        & (scores["variant"] == variant)
        & (scores["metric"] == METRIC)
    ]
    return rows.set_index("split")["value"].where(rows.set_index("split")["status"] == "ok")


def _failures(scores: pd.DataFrame, dataset: str) -> tuple[int, int]:
    values = _splits(scores, dataset, "KCEF").to_numpy(dtype=float)
    return int((~np.isfinite(values) | (values > LIMIT_NATS)).sum()), len(values)


def _listed(names: list[str], kind: str) -> str:
    return f"{len(names)} {kind}" + (f" ({', '.join(names)})" if names else "")
