"""Claims that the R benchmark data decide; kcef table 1 and dde table 2 share them."""

import numpy as np
import pandas as pd

from kcde import published
from kcde.artefacts.core.cells import AS_PUBLISHED, splits
from kcde.artefacts.core.declaration import Decision
from kcde.artefacts.judging.verdicts import LIMIT_NATS, SIGNIFICANCE, too_many_failed
from kcde.artefacts.tables.methods import display
from kcde.metrics.paired import paired_wilcoxon

_UNSTABLE = ("cpus", "crabs")
_WANTED_MARGIN = 8
_WANTED_NADE_LOSSES = 10

_KCEF, _LSCDE, _NADE = (("KCEF", AS_PUBLISHED), ("LSCDE", AS_PUBLISHED), ("NADE", AS_PUBLISHED))
_KCEF_LL = ("KCEF-LL", "ours")


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
    datasets = published.datasets("kcef", "table1")
    pair = _PairedComparison(scores, datasets, _KCEF, _LSCDE)
    if pair.absent:
        return pair.undecided
    reason = (
        f"KCEF against LSCDE on {len(datasets)} sets: {len(pair.wins)} significant wins, "
        f"{_listed(pair.losses, 'losses')}, margin {pair.margin} (wanted {_WANTED_MARGIN}); lower "
        f"median on {pair.lower_medians}; {pair.dropped} pairs left out because a split is not "
        "finite"
    )
    ours = _PairedComparison(scores, datasets, _KCEF_LL, _LSCDE)
    if not ours.absent:
        reason += (
            f". The same model with bandwidths and λ chosen by held-out likelihood (KCEF-LL): "
            f"{len(ours.wins)} wins, {_listed(ours.losses, 'losses')}"
        )
    return Decision("holds" if pair.margin >= _WANTED_MARGIN else "fails", reason)


def nade_loses_to_kcef(scores: pd.DataFrame) -> Decision:
    """Decide claim K8: NADE is significantly worse than KCEF on at least 10 of 14 data sets.

    By the same paired Wilcoxon tests as claim K7.

    Parameters
    ----------
    scores
        Of the experiment `r_benchmark`.

    Returns
    -------
    Decision
        `undecided` where a published data set has no splits of both methods.
    """
    datasets = published.datasets("kcef", "table1")
    pair = _PairedComparison(scores, datasets, _NADE, _KCEF)
    if pair.absent:
        return pair.undecided
    reason = (
        f"NADE against KCEF on {len(datasets)} sets: significantly worse on {len(pair.losses)} "
        f"(wanted {_WANTED_NADE_LOSSES}), {_listed(pair.wins, 'significantly better')}; higher "
        f"median on {len(datasets) - pair.lower_medians}; {pair.dropped} pairs left out because a "
        "split is not finite"
    )
    ours = _PairedComparison(scores, datasets, _NADE, _KCEF_LL)
    if not ours.absent:
        reason += (
            f". Against KCEF with bandwidths and λ chosen by held-out likelihood (KCEF-LL): worse "
            f"on {len(ours.losses)}, {_listed(ours.wins, 'better')}"
        )
    return Decision("holds" if len(pair.losses) >= _WANTED_NADE_LOSSES else "fails", reason)


def normaliser(table: pd.DataFrame) -> list[str]:
    """Say how a normaliser was computed by sampling, and how far quadrature disagrees.

    Parameters
    ----------
    table
        As tracked; its metrics `importance_samples` and `importance_error` are read.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    sentences = []
    draws = table[table["metric"] == "importance_samples"]
    errors = table[table["metric"] == "importance_error"].dropna(subset="mean")
    # A variation of a method (KCEF-LL) has its name before the dash.
    for method in dict.fromkeys(name.split("-")[0] for name in draws["method"]):
        counts = sorted({f"{value:.0f}" for value in _of(draws, method)["mean"]}, key=int)
        sentences.append(
            f"{method}'s normaliser is computed by importance sampling with "
            f"{' or '.join(counts)} draws."
        )
        if not len(own := _of(errors, method)):
            continue
        worst = own.loc[own["mean"].abs().idxmax()]
        sentences.append(
            "Against quadrature the mean over splits differs by at most "
            f"{abs(worst['mean']):.2g} nats ({worst['dataset']}, {display(worst['method'])})."
        )
    return sentences


def _of(table: pd.DataFrame, method: str) -> pd.DataFrame:
    """Return the rows of a method and of its variations."""
    return table[table["method"].map(lambda name: name.split("-")[0]) == method]


class _PairedComparison:
    """Wins and losses of a method against a rival, by paired Wilcoxon tests over the splits.

    Methods are given as (method, variant).
    """

    def __init__(
        self,
        scores: pd.DataFrame,
        datasets: list[str],
        method: tuple[str, str],
        rival: tuple[str, str],
    ):
        self.names = (method[0], rival[0])
        self.wins, self.losses, self.absent = [], [], []
        self.lower_medians = self.dropped = 0
        for dataset in datasets:
            ours, theirs = (splits(scores, dataset, *one) for one in (method, rival))
            if not len(ours) or not len(theirs):
                self.absent.append(dataset)
                continue
            both = pd.concat([ours, theirs], axis=1)
            test = paired_wilcoxon(*both.to_numpy().T)
            self.dropped += test.dropped
            self.lower_medians += int(ours.median() < theirs.median())
            if test.p_value < SIGNIFICANCE and test.sign:
                (self.wins if test.sign < 0 else self.losses).append(dataset)

    @property
    def undecided(self) -> Decision:
        """What to say where data sets are absent."""
        absent = ", ".join(self.absent)
        return Decision("undecided", f"no splits of both {' and '.join(self.names)} on {absent}")

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
    from scipy import stats

    counts = {
        dataset: _failures(scores, dataset) for dataset in published.datasets("dde", "table2")
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


def _failures(scores: pd.DataFrame, dataset: str) -> tuple[int, int]:
    values = splits(scores, dataset, "KCEF").to_numpy(dtype=float)
    return int((~np.isfinite(values) | (values > LIMIT_NATS)).sum()), len(values)


def _listed(names: list[str], kind: str) -> str:
    return f"{len(names)} {kind}" + (f" ({', '.join(names)})" if names else "")
