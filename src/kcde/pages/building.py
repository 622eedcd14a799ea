"""From scores to the tidy CSV of a table: means, spread, best method, published value, verdict."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.evidence.checks import AS_PUBLISHED, obstacle_in
from kcde.metrics import P_VALUE, paired_t_test
from kcde.papers import published
from kcde.papers.artefact import TABLE_COLUMNS, Artefact

_KEYS = ["dataset", "method", "variant", "metric"]
_CELL = ["method", "variant"]
_NUMBERS = ("mean", "median", "std", "stderr")
_QUARTILES = ("q25", "q75")


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of the primary metric, followed by every other metric in the scores.

    `mean` is the mean over splits, or of p-values the median (`verdicts.representative`). Rows of
    the primary metric have `best`, p-values, the published value and the verdict; those of other
    metrics are plain means. Numbers are rounded to the six digits that are stored, so that the
    verdict follows from the file. It refuses a split that occurs twice in a cell, and scores
    without the primary metric.
    """
    check(artefact, scores)
    scores = shown_as(artefact, scores)
    rows = []
    for key, cell in scores.groupby(_KEYS, sort=False):
        unit = next(iter(cell["unit"].dropna()), "")
        summary = verdicts.summarise(_values(cell).to_numpy(), unit)
        summary = verdicts.representative(summary, key[-1])
        numbers = {name: _six_digits(getattr(summary, name)) for name in (*_NUMBERS, *_QUARTILES)}
        counts = {"unit": unit, "n": summary.n, "failed": summary.failed}
        rows.append(dict(zip(_KEYS, key, strict=True)) | counts | numbers)
    table = pd.DataFrame(rows, columns=TABLE_COLUMNS).astype({"best": object, "verdict": object})
    datasets = published.datasets(artefact.paper, artefact.name)
    orders = {
        "metric": [artefact.metric, *sorted(set(scores["metric"]))],
        "dataset": [*datasets, *sorted(set(scores["dataset"]))],
        "method": [*artefact.methods, *sorted(set(scores["method"]))],
    }
    table = in_order(table, orders, "variant")
    # A metric without published numbers is a loss, too.
    if verdicts.RULES.get(artefact.metric, verdicts.Rule("difference")).kind == "difference":
        _mark_best(table, scores[scores["metric"] == artefact.metric], artefact)
    return beside_published(artefact, table)


def in_order(table: pd.DataFrame, orders: Mapping[str, Iterable], *more: str) -> pd.DataFrame:
    """Return a table sorted by columns whose values have an order, others last; then by more."""

    def places(column: pd.Series) -> pd.Series:
        if column.name not in orders:
            return column
        return column.map({v: k for k, v in enumerate(dict.fromkeys(orders[column.name]))})

    return table.sort_values([*orders, *more], kind="stable", ignore_index=True, key=places)


def with_rows(table: pd.DataFrame, rows: list[dict]) -> pd.DataFrame:
    """Return a table with further rows at its end."""
    added = pd.DataFrame(rows, columns=TABLE_COLUMNS).astype(table.dtypes.to_dict())
    return pd.concat([table, added], ignore_index=True)


def check(artefact: Artefact, scores: pd.DataFrame) -> None:
    """Refuse scores in which a split occurs twice in a cell, or without the primary metric."""
    if not (scores["metric"] == artefact.metric).any():
        found = ", ".join(sorted(set(scores["metric"])))
        said = f"{artefact.key} needs scores with the metric {artefact.metric!r}"
        remedy = f"give --scores of the experiment {next(iter(artefact.shows))}"
        raise ValueError(f"{said}; the files given have {found}: {remedy}")
    repeated = scores[scores.duplicated([*_KEYS, "setting", "split"])]
    if len(repeated):
        first = repeated.iloc[0]
        said = f"split {first['split']} of {first['dataset']}, {first['method']} occurs twice"
        raise ValueError(f"{said} in the scores of {artefact.key}: give each score file once")


def shown_as(artefact: Artefact, scores: pd.DataFrame) -> pd.DataFrame:
    """Return scores with the metrics that a table shows as methods, `Artefact.shown_as`."""
    for name, (method, metric) in artefact.shown_as.items():
        own = scores[scores["method"] == method]
        values, primary = (own[own["metric"] == each] for each in (metric, artefact.metric))
        # A split whose fit failed has a row of the primary metric and no other.
        whole = pd.concat([values, primary[primary["status"] != "ok"]])
        shown = whole.drop_duplicates(["dataset", "split"])
        shown = shown.assign(method=name, metric=artefact.metric)
        if name == method:
            scores = scores.drop(primary.index)
        else:
            shown = shown.assign(variant="ours")
        scores = pd.concat([scores, shown], ignore_index=True)
    return scores


def summary_of(row: pd.Series) -> verdicts.Summary:
    """Return the summary that a row of a table contains."""
    numbers = (float(row[name]) for name in _NUMBERS)
    return verdicts.Summary(*numbers, n=int(row["n"]), failed=int(row["failed"]))


def _values(cell: pd.DataFrame) -> pd.Series:
    return cell["value"].where(cell["status"] == "ok")


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")


def _mark_best(table: pd.DataFrame, scores: pd.DataFrame, artefact: Artefact) -> None:
    """Fill `best`, `p_value` and, where trials overlap, `p_value_corrected` in place.

    Methods that stand apart have none of them.

    A method is best if it has the lowest mean, or if a two-sided paired t-test at 5% finds no
    significant difference from the method that has. A method with a failed split is never best: its
    mean omits that split or is dominated by it. The test omits such splits in pairs. It is that of
    the papers, which takes splits of the same rows for independent; the corrected p-value does not.
    """
    ranked = table[~table["method"].isin(artefact.apart) & (table["metric"] == artefact.metric)]
    for _, cells in ranked.groupby("dataset", sort=False):
        sound = cells[(cells["failed"] == 0) & cells["mean"].notna()]
        candidates = sound if len(sound) else cells[cells["mean"].notna()]
        if not len(candidates):
            continue
        splits = _by_split(scores, cells["dataset"].iloc[0])
        lowest = candidates.loc[candidates["mean"].idxmin()]
        reference = splits[lowest["method"], lowest["variant"]]
        for index, cell in cells.iterrows():
            both = splits[cell["method"], cell["variant"]].to_numpy(), reference.to_numpy()
            p_value = paired_t_test(*both).p_value
            table.loc[index, "p_value"] = _six_digits(p_value)
            if artefact.overlap:
                corrected = paired_t_test(*both, artefact.overlap).p_value
                table.loc[index, "p_value_corrected"] = _six_digits(corrected)
            not_worse = index == lowest.name or p_value >= verdicts.SIGNIFICANCE
            table.loc[index, "best"] = bool(cell["failed"] == 0 and not_worse)


def _by_split(scores: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return a column per (method, variant) and a row per split, NaN where the split failed."""
    here = scores[scores["dataset"] == dataset]
    values = _values(here)
    values = values.where(~((here["unit"] == "nats") & (values > verdicts.LIMIT_NATS)))
    wide = here.assign(value=values).pivot(index="split", columns=_CELL, values="value")
    return wide.replace([np.inf, -np.inf], np.nan)


def beside_published(artefact: Artefact, table: pd.DataFrame) -> pd.DataFrame:
    """Fill the published value, the difference and the verdict.

    A time is judged together with those of the other methods; a p-value that rests on Markov chains
    that have not converged is `undecided`.
    """
    own = table[table["variant"] == AS_PUBLISHED]
    printed = published.numbers(artefact.paper, artefact.name)
    for (dataset, metric), numbers in printed.groupby(["dataset", "metric"]):
        cells = own[(own["dataset"] == dataset) & (own["metric"] == metric)]
        ours = {cell["method"]: summary_of(cell) for _, cell in cells.iterrows()}
        numbers, trials = numbers.set_index("method"), artefact.published_trials
        here = {name: verdicts.Published(v, trials) for name, v in numbers["value"].items()}
        for index, row in cells[cells["method"].isin(here)].iterrows():
            value, spread = numbers.loc[row["method"], ["value", "spread"]]
            table.loc[index, ["published_mean", "published_std"]] = value, spread
            table.loc[index, "difference"] = _six_digits(row["mean"] - value)
            unsure = metric == P_VALUE and obstacle_in(table, row)
            judged = verdicts.judge(metric, row["method"], ours, here)
            table.loc[index, "verdict"] = verdicts.UNDECIDED if unsure else judged
    return table
