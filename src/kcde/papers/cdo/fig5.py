"""cdo figure 5: traffic on three days, and errors of mean and standard deviation; claims C4, C5."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kcde.data.names import SIMULATED_TRAFFIC
from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.evidence.deciding import Missing, completed, decider
from kcde.names import OURS
from kcde.pages import box_plots, box_statistics, style
from kcde.pages.markdown import count_of, significant
from kcde.pages.methods import display
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.cdo import _traffic_days
from kcde.papers.cdo._traffic_days import DAYS, METHOD

if TYPE_CHECKING:
    from matplotlib.axes import Axes


PEMS, METRO = "pems-sf", "metro-traffic-substitute"
RIVALS = ("CondRealNVP", "CondMAF", "LSCDE")
"""The competitors of the published figure."""

_PROCESS = "GP-ML"
"""Of our figure alone."""

ERRORS = {"mean": ("mean", "test_mean"), "sd": ("std", "test_std")}
"""Estimated quantity to the names of the estimate and of the test data in the `.npz`."""

MEDIANS = {"mean": "mean_error", "sd": "std_error"}
"""Estimated quantity to the metric that has the median error over the inputs."""

OVERLAPPING = {name: f"{metric}_overlapping" for name, metric in MEDIANS.items()}
"""As `MEDIANS`, with the training days among the test days."""

HONEST, NOTEBOOK, THINNED = "", ", overlapping", ", thinned"
VIEWS = {
    HONEST: "test days are not training days",
    NOTEBOOK: "training days among test days",
    THINNED: "32 days a weekday, no holidays",
}
"""Ending of a panel's name to what it shows."""

_TESTED = {HONEST: "test", NOTEBOOK: "overlapping", THINNED: "test"}
"""What the names of the moments in the `.npz` begin with."""

_CLOSED_FORM = "Nadaraya-Watson-CDO"

OF_TRAINING = {"mean": "mean_error_of_training", "sd": "std_error_of_training"}
"""Estimated quantity to the metric of the training days' own moments at each input."""

TRAINING, LINE = "training days", "line"
"""Series and stat of the reference line, which involves no method."""

NOT_RUN = "not_run"
"""Stat of a row that names a data set that was not run."""

_PAIRS, _SECONDS, _DIFFERENCE = 32_256, 300.0, 1e-8

_ABOVE, _HEIGHT = 0.5, 1.65  # inches of the legend, and of a row of panels
_ROOM = 1.1  # between the largest error and the end of the axis, as a factor
_NAMES = {PEMS: "PEMS-SF", METRO: "Metro Interstate Traffic"}
_QUANTITIES = {PEMS: "road occupancy", METRO: "vehicles an hour"}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the days and the errors of each data set that was run.

    The panels `<data set> days` are those of `_traffic_days.rows`. Panels `<data set> mean` and
    `<data set> sd` have boxes of |estimate/test - 1| over the inputs of all splits, and a row of
    the stat `line`: the same error of the moments of the training outputs, the median over the
    inputs, averaged over the splits. Names with an ending of `VIEWS` have the other views. PEMS-SF
    is one row of the stat `not_run` where it was not run. Arrays come from the `.npz` beside each
    file.
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
        rows += _traffic_days.rows(dataset, sound, known)
        rows += _training_lines(dataset, whole(scores[scores["dataset"] == dataset]))
        for method, arrays in sound.items():
            rows += _errors(dataset, method, known[method], arrays)
    if PEMS not in _datasets(scores):
        rows.append({"panel": PEMS, "kind": "scatter", "stat": NOT_RUN, "n": 0})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def remarks(frame: pd.DataFrame) -> list[str]:
    """State which data are shown, the number of estimates, the reference lines and failures."""
    means = frame[(frame["stat"] == box_statistics.MEAN) & frame["panel"].str.endswith(" mean")]
    said = []
    for panel, rows in means.groupby("panel", sort=False):
        counts = count_of(rows["n"].astype(int), "estimate")
        said.append(f"{panel.removesuffix(' mean')}: each box is over {counts} (inputs × splits).")
    for panel in frame.loc[frame["stat"] == NOT_RUN, "panel"]:
        said.append(f"{panel} is not shown: this run is without it, as config.yaml has it.")
    lines = frame[frame["stat"] == LINE]
    if len(lines):
        each = (f"{row.panel} {significant(row.y)}" for row in lines.itertuples())
        said.append(
            "Dashed: the median error that the moments of the training days at the "
            f"same input would have ({', '.join(each)})."
        )
    return [*said, *box_statistics.failures(frame, "estimate")]


def _datasets(scores: pd.DataFrame) -> list[str]:
    """Return the data sets that were run, except the simulated one; the published one first."""
    run = set(scores.loc[scores["status"] != "not-run", "dataset"]) - {SIMULATED_TRAFFIC}
    return sorted(run, key=lambda name: (name != PEMS, name))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path.with_suffix(".npz")) as stored:
        return {name: stored[name] for name in stored.files}


def whole(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of splits of all days."""
    return under(scores, days=None)


def _training_lines(dataset: str, here: pd.DataFrame) -> list[dict]:
    """Return the reference lines of the training moments, which every method's scores have."""
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
    of_all_days = ~arrays["thinned"]
    for view, splits in ((HONEST, of_all_days), (NOTEBOOK, of_all_days), (THINNED, ~of_all_days)):
        for quantity, (estimate, test) in ERRORS.items() if splits.any() else ():
            reference = arrays[test.replace("test", _TESTED[view])][splits]
            # An input without enough test outputs has no moments to compare with.
            tested = np.isfinite(reference) & (reference > 0.0)
            errors = np.abs(arrays[estimate][splits][tested] / reference[tested] - 1.0)
            same = {"panel": f"{dataset} {quantity}{view}", "method": method, "variant": variant}
            rows += box_statistics.rows(errors, same | {"series": f"error of the {quantity}"})
    return rows


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the days of each data set, and below them a row of errors for each view."""
    days = frame[frame["panel"].str.endswith(" days")]
    datasets = [name.removesuffix(" days") for name in dict.fromkeys(days["panel"])]
    panels = set(frame["panel"])
    lines = [
        (name, view)
        for name in datasets
        for view in (None, *VIEWS)
        if view in (None, HONEST) or f"{name} mean{view}" in panels
    ]
    scales = {quantity: _scale(frame, quantity) for quantity in ERRORS}
    with style.page(style.PAGE, _ABOVE + _HEIGHT * max(len(lines), 1)) as made:
        letters = iter("abcdefghijklmnop")
        grid = made.add_gridspec(max(len(lines), 1), len(ERRORS))
        for place, (dataset, view) in enumerate(lines):
            if view is None:
                axes = made.add_subplot(grid[place, :])
                _draw_days(axes, frame, dataset, next(letters))
                continue
            for column, quantity in enumerate(ERRORS):
                axes = made.add_subplot(grid[place, column])
                panel = frame[frame["panel"] == f"{dataset} {quantity}{view}"]
                _draw_errors(axes, panel, scales[quantity], named=column == 0)
                last = (dataset, view) == lines[-1] or lines[place + 1][0] != dataset
                axes.set_xlabel(_label(quantity, scales[quantity]) if last else "")
                title = f"mean: {VIEWS[view]}" if column == 0 else "standard deviation, as at left"
                style.panel_title(axes, next(letters), title)
        style.legend_above(made, box_plots.keys())
        return style.save(made, stem)


def _draw_days(axes: "Axes", frame: pd.DataFrame, dataset: str, letter: str) -> None:
    _traffic_days.draw(axes, frame[frame["panel"] == f"{dataset} days"])
    style.panel_title(axes, letter, f"{_NAMES.get(dataset, dataset)}: {DAYS} days")
    axes.set_ylabel(_QUANTITIES.get(dataset, "y"))


def _label(quantity: str, scale: tuple[float, float]) -> str:
    linear = f"$10^{{{round(math.log10(scale[0]))}}}$"
    name = {"sd": "standard deviation"}.get(quantity, quantity)
    return f"error of the {name}, |estimate/test − 1|\n(linear below {linear}, then log)"


def _scale(frame: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """Return up to where the axis of an error is linear, and where it ends."""
    errors = frame[frame["series"] == f"error of the {quantity}"]
    medians = errors.loc[errors["stat"] == box_statistics.MEDIAN, "y"]
    shown = errors.loc[errors["stat"] != box_statistics.FAILED, "y"]
    if not (medians > 0.0).any():
        return 0.1, 1.0
    least = medians[medians > 0.0].min()
    return 10.0 ** math.floor(math.log10(least)), _ROOM * shown.max()


def _draw_errors(
    axes: "Axes", panel: pd.DataFrame, scale: tuple[float, float], *, named: bool
) -> None:
    means = panel[panel["stat"] == box_statistics.MEAN]
    methods = list(dict.fromkeys(means["method"]))
    as_published = set(means.loc[means["variant"] == AS_PUBLISHED, "method"])
    linear, end = scale
    axes.set_xscale("symlog", linthresh=linear, linscale=0.5)
    axes.set_xlim(0.0, end)
    lines = panel[panel["stat"] == LINE]
    box_plots.label_rows(axes, methods, as_published, lines=len(lines))
    for line in lines.itertuples():
        reference = box_plots.ReferenceLine(line.series, style.EXACT, (0, (4, 2)))
        box_plots.draw_reference_line(axes, line.y, reference)
    if not named:  # the rows are those of the panel at the left
        axes.set_yticklabels([])
    box_plots.draw_boxes(axes, panel, methods, as_published)


@decider
def fast_through_distinct_inputs(scores: pd.DataFrame) -> Decision:
    """Decide claim C4: a fit of 32256 pairs takes less than 300 s and equals the ungrouped one.

    On pairs simulated in the shape of PEMS-SF. The largest relative difference to the ungrouped
    solve, on a subset of the inputs, must be below 1e-8. Measured seconds do not repeat, so that
    the reason gives only their order of magnitude.
    """
    here = scores[scores["dataset"] == SIMULATED_TRAFFIC]
    pairs = here.loc[here["status"] == "ok", "n_train"].min()
    if pairs < _PAIRS:
        fitted = f"{SIMULATED_TRAFFIC} was fitted on {pairs:.0f} pairs"
        raise Missing(f"{fitted}; the claim is of {_PAIRS}")
    most = {
        name: completed(here, [METHOD], name, SIMULATED_TRAFFIC, AS_PUBLISHED)[METHOD].max()
        for name in ("fit_seconds", "grouping_difference")
    }
    seconds, difference = most["fit_seconds"], most["grouping_difference"]
    reason = (
        f"a fit of {pairs:.0f} pairs, simulated in the shape of PEMS-SF, through their distinct "
        f"inputs, wanted below {_SECONDS:g} s: {_order(seconds)} s; largest relative difference to "
        f"the ungrouped solve on a subset, wanted below {_DIFFERENCE:g}: {_order(difference)}; "
        "both to the order of magnitude"
    )
    held = seconds < _SECONDS and difference < _DIFFERENCE
    return Decision("holds" if held else "fails", reason)


@decider
def tracks_the_test_data(scores: pd.DataFrame) -> Decision:
    """Decide claim C5: CDO's mean and standard deviation are as close to the test data's as any.

    On PEMS-SF the median over the inputs of |estimate/test - 1|, averaged over the splits, must not
    be larger for CDO than for any of `RIVALS`, for the mean and for the standard deviation. It is
    `not-run` where PEMS-SF was not run. The reason also gives a Gaussian process, which the
    published figure does not have, and the Metro Interstate Traffic volume; they decide nothing.
    """
    return _tracks(whole(scores), MEDIANS)


@decider
def tracks_days_that_overlap(scores: pd.DataFrame) -> Decision:
    """Decide claim C5 with the training days among the test days, as in the authors' notebook."""
    return _tracks(whole(scores), OVERLAPPING)


def _tracks(scores: pd.DataFrame, medians: Mapping[str, str]) -> Decision:
    here = scores[scores["dataset"] == PEMS]
    beside = _evidence(scores[scores["dataset"] == METRO], medians)
    if here["status"].eq("not-run").all():
        return Decision("not-run", f"this run is without {PEMS}{beside}")
    held, words = _compared(here, PEMS, medians)
    return Decision("holds" if held else "fails", f"on {PEMS}, {words}{beside}")


def _compared(here: pd.DataFrame, place: str, medians: Mapping[str, str]) -> tuple[bool, str]:
    held, parts = [], []
    for quantity, metric in medians.items():
        found = completed(here, (METHOD, *RIVALS), metric, place, AS_PUBLISHED)
        means = {name: each.mean() for name, each in found.items()}
        held += [means[METHOD] <= means[rival] for rival in RIVALS]
        each = ", ".join(f"{display(name)} {mean:.3g}" for name, mean in means.items())
        training = _of_training(here, OF_TRAINING[quantity]) if medians == MEDIANS else ""
        beside = _of_process(here, metric) + training + _of_closed_form(here, metric)
        parts.append(f"of the {quantity} {each}{beside}")
    splits = len(values(here, METHOD, metric))
    return all(held), (
        f"median scaled absolute error over the inputs (mean over {splits} "
        f"split{'s' * (splits > 1)}) {'; '.join(parts)}"
    )


def _of_process(here: pd.DataFrame, metric: str) -> str:
    """State the error of the Gaussian process, where it is known."""
    found = values(here, _PROCESS, metric, OURS).dropna()
    said = f", of {display(_PROCESS)}, which the published figure does not have, "
    return f"{said}{found.mean():.3g}" if len(found) else ""


def _of_training(here: pd.DataFrame, metric: str) -> str:
    """State the error that the moments of the training days would have, where it is known."""
    found = here[(here["metric"] == metric) & (here["status"] == "ok")]
    medians = found.groupby("split")["value"].first()
    return f", of the training days themselves {medians.mean():.3g}" if len(medians) else ""


def _of_closed_form(here: pd.DataFrame, metric: str) -> str:
    """State the error of the closed form that CDO is close to, where it is known."""
    found = values(here, _CLOSED_FORM, metric, OURS).dropna()
    return f", of CDO in closed form (`anatomy`) {found.mean():.3g}" if len(found) else ""


def _evidence(metro: pd.DataFrame, medians: Mapping[str, str]) -> str:
    """State the errors on Metro, "" where they are not complete."""
    try:
        held, words = _compared(metro, METRO, medians)
    except Missing:
        return ""
    verb = "is" if held else "is not"
    return (
        f"; evidence from {METRO}, where CDO {verb} the closest throughout of the published "
        f"figure's methods: {words}"
    )


def _order(value: float) -> str:
    """Return the order of magnitude as a power of ten, "0" for zero."""
    return f"1e{math.floor(math.log10(value))}" if value > 0 else "0"


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "traffic": {
            "methods": [
                "CDO",
                "CDO-chosen",
                "GP-ML",
                "CondRealNVP",
                "CondMAF",
                "LSCDE",
                "LSCDE-exact",
                "Nadaraya-Watson-CDO",
            ]
        }
    },
    build=build,
    draw=draw,
    deciders={"C4": fast_through_distinct_inputs, "C5": tracks_the_test_data},
    remarks=remarks,
)
