"""cdo figure 5: three days of traffic with CDO's mean and spread, and the errors of all methods."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.artefacts.core.cells import variants
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact
from kcde.artefacts.plots import box_statistics
from kcde.artefacts.tables.markdown import count_of, significant

PEMS, METRO, SIMULATED = "pems-sf", "metro-traffic-substitute", "simulated-traffic"

METHOD, TEST = "CDO", "test"
TEST_MEAN, BAND = "test mean", "mean ± 2 sd"
"""Series of the curves."""

ERRORS = {"mean": ("mean", "test_mean"), "sd": ("std", "test_std")}
"""What is estimated to the names of estimate and of the test data in the `.npz`."""

OF_TRAINING = {"mean": "mean_error_of_training", "sd": "std_error_of_training"}
"""What is estimated to the metric of the training days' own moments at each input."""

TRAINING, LINE = "training days", "line"
"""Series and stat of the line that no method is needed for."""

DAYS = 3
NOT_RUN = "not_run"
"""Stat of a row that says which data set could not be had."""

_HOURS = 24.0
_BANDS = 2.0  # standard deviations


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return histogram, curves and boxes of each data set that was run.

    Parameters
    ----------
    artefact
        Gives the order of the methods.
    scores
        Of the experiment `traffic`; `simulated-traffic` is not shown.
    files
        Their files; estimates and moments of the test days stand in the `.npz` beside each.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`. Panel `<data set> days`, of the first split: `x` in hours since the
        beginning of the first day; `histogram` rows have a slot from `x` to `x_right`, a bin from
        `y_low` to `y_high`, the share of the slot's test outputs in `y` and their number in `n`;
        `curve` rows the test mean, and CDO's mean with `y_low` and `y_high` 2 sd away. Panels
        `<data set> mean` and `<data set> sd`: boxes of |estimate/test - 1| over the inputs of all
        splits, and a line of the stat `line`: the median over the inputs for the moments of the
        training outputs there, a mean over the splits.
    """
    order = {name: k for k, name in enumerate(artefact.methods)}
    rows = []
    for dataset in _datasets(scores):
        known = variants(scores[scores["dataset"] == dataset])
        found = {
            path.stem: _arrays(path)
            for path in sorted(files, key=lambda path: order.get(path.stem, len(order)))
            if path.parent.name == dataset and path.stem in known
        }
        sound = {name: arrays for name, arrays in found.items() if "mean" in arrays}
        rows += _days(dataset, sound, known)
        rows += _training(dataset, scores[scores["dataset"] == dataset])
        for method, arrays in sound.items():
            rows += _errors(dataset, method, known[method], arrays)
    absent = dict.fromkeys(scores.loc[scores["status"] == "not-run", "dataset"])
    rows += [{"panel": name, "kind": "scatter", "stat": NOT_RUN, "n": 0} for name in absent]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say which data are shown, over how many inputs the boxes are, and what was left out.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    means = frame[(frame["stat"] == box_statistics.MEAN) & frame["panel"].str.endswith(" mean")]
    said = []
    for panel, rows in means.groupby("panel", sort=False):
        counts = count_of(rows["n"].astype(int), "estimate")
        said.append(f"{panel.removesuffix(' mean')}: a box is over {counts} (inputs × splits).")
    for panel in frame.loc[frame["stat"] == NOT_RUN, "panel"]:
        said.append(f"{panel} is not shown: its data could not be had in this run.")
    lines = frame[frame["stat"] == LINE]
    if len(lines):
        each = (f"{row.panel} {significant(row.y)}" for row in lines.itertuples())
        said.append(
            "Dashed at the right: the median error of the moments of the training days at the same "
            f"input ({', '.join(each)})."
        )
    return [*said, *box_statistics.failures(frame, "estimate")]


def _datasets(scores: pd.DataFrame) -> list[str]:
    """Return the data sets that were run: as published first, what is simulated left out."""
    run = set(scores.loc[scores["status"] != "not-run", "dataset"]) - {SIMULATED}
    return sorted(run, key=lambda name: (name != PEMS, name))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path.with_suffix(".npz")) as stored:
        return {name: stored[name] for name in stored.files}


def _days(dataset: str, sound: Mapping[str, Mapping], known: Mapping[str, str]) -> list[dict]:
    """Return the rows of the first `DAYS` days of the first split."""
    if not sound:
        return []
    arrays = sound.get(METHOD, next(iter(sound.values())))
    hours, width = _hours(arrays["inputs"][0])
    shown = np.flatnonzero(hours < DAYS * _HOURS)
    same = {"panel": f"{dataset} days", "x": None}
    rows = []
    for place in shown:
        slot = same | {"x": hours[place], "x_right": hours[place] + width}
        rows += _histogram(slot, arrays["histogram"][place], arrays["edges"])
    for place in shown:
        at = same | {"kind": "curve", "x": hours[place] + width / 2}
        y = arrays["test_mean"][0, place]
        rows.append({**at, "method": TEST, "series": TEST_MEAN, "y": y})
    for place in shown if METHOD in sound else ():
        at = same | {"kind": "curve", "x": hours[place] + width / 2}
        mean, reach = arrays["mean"][0, place], _BANDS * arrays["std"][0, place]
        band = {"y": mean, "y_low": mean - reach, "y_high": mean + reach}
        rows.append({**at, "method": METHOD, "variant": known[METHOD], "series": BAND, **band})
    return rows


def _histogram(slot: Mapping, counts: np.ndarray, edges: np.ndarray) -> list[dict]:
    total = counts.sum()
    return [
        {
            **slot,
            "kind": "histogram",
            "method": TEST,
            "y": counts[k] / total,
            "y_low": edges[k],
            "y_high": edges[k + 1],
            "n": int(counts[k]),
        }
        for k in np.flatnonzero(counts)
    ]


def _hours(inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """Return when each input begins, in hours since the first day's beginning, and its length.

    Times of day may be in any unit: they are equally spaced places of a day.
    """
    days, times = (np.unique(inputs[:, column], return_inverse=True) for column in (0, 1))
    width = _HOURS / len(times[0])
    return _HOURS * days[1].reshape(-1) + width * times[1].reshape(-1), width


def _training(dataset: str, here: pd.DataFrame) -> list[dict]:
    """Return the lines of the training moments, which stand in the scores of every method."""
    rows = []
    for quantity, metric in OF_TRAINING.items():
        found = here[(here["metric"] == metric) & (here["status"] == "ok")]
        medians = found.groupby("split")["value"].first()
        if len(medians):
            same = {"panel": f"{dataset} {quantity}", "kind": "curve", "series": TRAINING}
            rows.append(same | {"y": medians.mean(), "stat": LINE, "n": len(medians)})
    return rows


def _errors(dataset: str, method: str, variant: str, arrays: Mapping) -> list[dict]:
    rows = []
    for quantity, (estimate, test) in ERRORS.items():
        # An input without enough test outputs has no moments to compare with.
        tested = np.isfinite(arrays[test]) & (arrays[test] > 0.0)
        errors = np.abs(arrays[estimate][tested] / arrays[test][tested] - 1.0)
        same = {"panel": f"{dataset} {quantity}", "method": method, "variant": variant}
        rows += box_statistics.rows(errors, same | {"series": f"error of the {quantity}"})
    return rows
