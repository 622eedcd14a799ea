"""dde table 1: how close samples come to the data, and how long they take; claims D1 and D2."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import splits
from kcde.artefacts.core.declaration import Artefact, Decision
from kcde.artefacts.judging.verdicts import SIGNIFICANCE
from kcde.artefacts.tables import building
from kcde.metrics.paired import paired_t_test

METHOD = "DDE"
MMD, TIME = "mmd", "sampling_time"
RATE = "effective_samples_per_second"
NLL = "negative_log_likelihood"
EXCESS = "excess_negative_log_likelihood"
OUTSIDE = "points_without_density"

CODE = "code"
"""Variant of the rows on the sets that the authors' code draws, where they differ from the text."""

DATASETS = ("two-moons", "ring", "grid")

_SEEDS = 10  # of claim D1
_ENOUGH = 5  # for a standard error
_RATIO = 100.0
_REFERENCES = {MMD: "test set", "mmd_train": "training set"}


def measure(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores with the likelihood of each seed against that of the known density.

    Test points to which a model gives no density (those beyond a bounded base density) are left out
    of both.

    Parameters
    ----------
    scores
        Of the experiment `planar`.
    files
        Unused.

    Returns
    -------
    pandas.DataFrame
        With rows of the metric `excess_negative_log_likelihood` added, in nats.
    """
    key = ["dataset", "method", "variant", "split"]
    sound = scores[scores["status"] == "ok"]
    wide = sound.pivot(index=key, columns="metric", values="value")
    wide = wide.reindex(columns=[NLL, f"{NLL}_exact", f"{NLL}_inside", f"{NLL}_exact_inside"])
    inside = wide[f"{NLL}_inside"] - wide[f"{NLL}_exact_inside"]
    excess = inside.fillna(wide[NLL] - wide[f"{NLL}_exact"]).dropna().rename("value").reset_index()
    added = excess.assign(metric=EXCESS, unit="nats", status="ok", setting="{}")
    return pd.concat([scores, added], ignore_index=True) if len(added) else scores


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of `tables.building.build`, data sets `<name>-code` as a variant.

    Their rows stand under the data set's own name with the variant `code`. They share no draws
    with the others, so that no paired test takes them in.

    Parameters
    ----------
    artefact
        The declaration.
    scores
        Of the experiment `planar`; a split is a seed.
    files
        Unused.

    Returns
    -------
    pandas.DataFrame
        With `TABLE_COLUMNS`.
    """
    of_code = scores["dataset"].str.endswith(f"-{CODE}")
    if not of_code.any():
        return building.build(artefact, scores, files)
    renamed = scores[of_code].assign(
        dataset=scores["dataset"].str.removesuffix(f"-{CODE}"), variant=CODE
    )
    code = building.build(artefact, renamed, files)
    if of_code.all():
        return code
    table = building.build(artefact, scores[~of_code], files)
    return building.with_rows(table, code.drop(columns=["best", "p_value"]).to_dict("records"))


def panel(dataset: str, method: str) -> str:
    """Return the heading of a panel that shows samples: of a variation of DDE with its name."""
    return dataset if method == METHOD else f"{dataset}, {method}"


def remarks(table: pd.DataFrame) -> list[str]:
    """Say how the chains of KEF mixed, and how many test points have no density.

    Parameters
    ----------
    table
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    means = table[table["variant"] != CODE].set_index(["method", "metric", "dataset"])["mean"]
    said = []
    for dataset in dict.fromkeys(table["dataset"]):
        rate, r_hat, size, divergences = (
            means.get(("KEF", name, dataset), math.nan)
            for name in ("acceptance_rate", "r_hat", "effective_sample_size", "divergences")
        )
        if math.isfinite(size):
            said.append(
                f"{dataset}: acceptance {rate:.2f}, R-hat {r_hat:.3f}, effective sample size "
                f"{size:.0f}, {divergences:.1f} divergences"
            )
    sentences = [f"Chains of KEF, mean over the seeds: {'; '.join(said)}."] if said else []
    seeds = table.loc[(table["metric"] == MMD) & (table["variant"] != CODE), "n"].max()
    if seeds < _ENOUGH:
        sentences.append(
            f"With {seeds:.0f} seeds a standard error is hardly measured: bold says little, and ✓ "
            "no more than that the published value lies within two of them."
        )
    beyond = table[(table["metric"] == OUTSIDE) & (table["mean"] > 0)]
    beyond = beyond[(beyond["variant"] != CODE) & (beyond["method"] == "DDE")]
    if len(beyond):
        listed = [f"{row.dataset} {row.mean:.1f}" for row in beyond.itertuples(index=False)]
        sentences.append(
            "Test points beyond the bounding box of the training points, to which DDE gives no "
            f"density, in the mean over the seeds: {', '.join(listed)}."
        )
    return sentences


def smaller_discrepancy(scores: pd.DataFrame) -> Decision:
    """Decide claim D1: DDE has a smaller MMD than KEF on two moons, ring and grid.

    Two-sided paired t-tests at 5% over the seeds, against the test set (as the table says) and
    against the training set (as the text says): all six must tell DDE's as the smaller. (A
    signed-rank test cannot reach 5% on five seeds.)

    Parameters
    ----------
    scores
        Of the experiment `planar`.

    Returns
    -------
    Decision
        `undecided` where scores are missing, and where fewer than ten seeds leave a test open that
        does not point the other way.
    """
    tests = [_compare(scores, dataset, metric) for metric in _REFERENCES for dataset in DATASETS]
    if absent := [test.place for test in tests if test.n < 2]:
        return Decision("undecided", f"fewer than two seeds of both methods on {absent[0]}")
    reason = (
        f"{min(test.seeds for test in tests)} of {_SEEDS} seeds; mean MMD² × 1000 of DDE and KEF: "
        f"{'; '.join(test.words for test in tests)}"
    )
    if all(test.smaller for test in tests):
        return Decision("holds", reason)
    open_yet = all(test.smaller or (test.sign < 0 and test.n < _SEEDS) for test in tests)
    return Decision("undecided" if open_yet else "fails", reason)


def faster_sampling(scores: pd.DataFrame) -> Decision:
    """Decide claim D2: drawing from DDE takes at most a hundredth of KEF's time with HMC.

    The ratio of the medians over the seeds, on each of the three sets. Measured times do not repeat
    and only their order of magnitude is stated.

    Parameters
    ----------
    scores
        Of the experiment `planar`.

    Returns
    -------
    Decision
        `undecided` where a method has no times on a data set.
    """
    ratios, parts = [], []
    for dataset in DATASETS:
        times, rates = (
            {name: splits(scores, dataset, name, metric=metric).median() for name in _BOTH}
            for metric in (TIME, RATE)
        )
        if not all(math.isfinite(value) for value in times.values()):
            return Decision("undecided", f"no sampling times of both DDE and KEF on {dataset}")
        ratios.append(times["KEF"] / times["DDE"])
        words = f"{dataset} {_order(ratios[-1])}"
        if all(math.isfinite(value) for value in rates.values()):
            words += f" ({_order(rates['DDE'] / rates['KEF'])} by effective samples a second)"
        parts.append(words)
    reason = (
        f"time of KEF with HMC over time of DDE for as many samples, wanted {_RATIO:.0f}, to the "
        f"order of magnitude: {', '.join(parts)}; above {_RATIO:.0f} on "
        f"{sum(ratio >= _RATIO for ratio in ratios)} of {len(ratios)} sets; {_HMC}"
    )
    return Decision("holds" if min(ratios) >= _RATIO else "fails", reason)


_BOTH = ("DDE", "KEF")
_HMC = "HMC: 20 chains, burn-in 100, thinned by 10, 10 leapfrog steps"


@dataclass(frozen=True)
class _Comparison:
    """DDE against KEF in one MMD on one data set: `sign` is -1 where DDE's mean is smaller."""

    place: str
    means: Mapping[str, float]
    p_value: float
    sign: int
    n: int
    seeds: int

    @property
    def smaller(self) -> bool:
        """Whether DDE's is significantly the smaller."""
        return self.sign < 0 and self.p_value < SIGNIFICANCE

    @property
    def words(self) -> str:
        """The numbers."""
        left_out = f", {self.seeds - self.n} seeds left out" if self.seeds > self.n else ""
        return (
            f"{self.place} {self.means['DDE']:.3g} and {self.means['KEF']:.3g} "
            f"(p = {self.p_value:.2g}{left_out})"
        )


def _compare(scores: pd.DataFrame, dataset: str, metric: str) -> _Comparison:
    found = {name: splits(scores, dataset, name, metric=metric) for name in _BOTH}
    # A seed that failed has a row of the primary metric alone.
    tried = splits(scores, dataset, "DDE", metric=MMD).index
    both = pd.DataFrame(found).reindex(tried)
    both = both.astype(float).replace([np.inf, -np.inf], np.nan)
    test = paired_t_test(*both.to_numpy().T)
    return _Comparison(
        f"{dataset}, {_REFERENCES[metric]}",
        both.dropna().mean().to_dict(),
        test.p_value,
        test.sign,
        test.n,
        len(tried),
    )


def _order(ratio: float) -> str:
    return f"1e{math.floor(math.log10(ratio))}"
