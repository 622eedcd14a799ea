"""Table 3 of cdo, figure 4, the cost of clipping weights (supplement B), and figure 5.

An error e of table 3 is ŷ − y on the test rows, and ȳ the mean of the training rows. Of a box plot
the statistics are rows of the tracked CSV (`box_rows`); a method is a row of the picture.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.data.names import SIMULATED_TRAFFIC
from kcde.evidence.checks import AS_PUBLISHED, under, values, variants
from kcde.metrics import NEGATIVE_NORMALISER, SMAE
from kcde.pages import building, display, significant, style
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact
from kcde.papers.cdo import claims
from kcde.papers.cdo.claims import CENTRED, CONDITIONAL, FLOWS, JOINT, METHOD, PLACES, POINTWISE
from kcde.scores import arrays_beside

WHISKER_LOW, Q1, MEDIAN, Q3, WHISKER_HIGH = "whisker_low", "q1", "median", "q3", "whisker_high"
MEAN, OUTLIER, FAILED = "mean", "outlier", "failed"
_STATS = {WHISKER_LOW: "whislo", Q1: "q1", MEDIAN: "med", Q3: "q3", WHISKER_HIGH: "whishi"}
_STATS |= {MEAN: "mean"}
"""Stat of a row to its name in matplotlib."""

KEPT = 20
"""At most so many outliers of a box are kept, evenly by rank."""

ROW_HEIGHT = 0.165
"""Height of a row, in inches."""

_BOX = {"orientation": "horizontal", "widths": 0.64, "patch_artist": True}
_BOX |= {"manage_ticks": False, "showcaps": False, "showmeans": True}
_FAR = 3.0  # a value that exceeds the typical one by this factor lies beyond the axis
_BEYOND_WHISKERS = 1.04


def box_rows(values: np.ndarray, same: Mapping) -> list[dict]:
    """Return the rows of one box, of kind `box` with each statistic in `y`.

    Whiskers end at the farthest values within 1.5 interquartile ranges of the box (Tukey). At most
    `KEPT` outliers follow, evenly by rank and including the extremes. `n` is the number of finite
    values; others are left out and counted in a row with the stat `failed`. `same` are columns that
    all rows share.
    """
    from matplotlib.cbook import boxplot_stats

    values = np.asarray(values, dtype=float)
    finite = np.sort(values[np.isfinite(values)])
    lost = len(values) - len(finite)
    found = [(FAILED, lost)] if lost else []
    if len(finite):
        (box,) = boxplot_stats(finite)
        outer = box["fliers"]
        kept = np.unique(np.linspace(0, len(outer) - 1, min(KEPT, len(outer))).round().astype(int))
        shown = [(stat, box[name]) for stat, name in _STATS.items()]
        found = [*shown, *((OUTLIER, value) for value in outer[kept]), *found]
    return [{"kind": "box", "n": len(finite), **same, "stat": stat, "y": y} for stat, y in found]


def failures(frame: pd.DataFrame, trial: str) -> list[str]:
    """Return a sentence that counts the fits without a finite value, or nothing."""
    lost = frame[(frame["kind"] == "box") & (frame["stat"] == FAILED)]
    each = [f"{row.y:.0f} of {row.method} ({row.panel})" for row in lost.itertuples()]
    said = f"Left out, because they failed or are not finite: {trial}s {', '.join(each)}."
    return [said] if each else []


def box_keys(*more) -> list:
    """Return what the parts of a box are, for `style.legend_above`, and more of a figure."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Patch

    edge = {"edgecolor": style.GREY, "linewidth": 0.8}
    return [
        Patch(label="quartiles, as published", facecolor=to_rgba(style.GREY, 0.25), **edge),
        Patch(label="quartiles, ours", facecolor="none", **edge),
        style.mark("median", "|", mew=1.6, markersize=7),
        style.mark("mean", "o", markersize=2.2),
        style.key("within 1.5 box lengths", color=style.GREY, linewidth=0.8),
        style.mark("values beyond", "o", markersize=1.8, fillstyle="none", mew=0.5),
        *more,
    ]


def label_rows(axes, methods: Sequence[str], cells: pd.DataFrame) -> None:
    """Give each method a row, from the top, and label it, in bold where it is as published.

    Of panels side by side, whose rows are the same, the first has the labels. `cells` has methods
    and their variants. A thin line stands between a method with its variations, of one colour, and
    the next method.
    """
    axes.set_ylim(len(methods) - 0.4, -0.6)
    style.name_rows(axes, methods)
    published = set(cells.loc[cells["variant"] == AS_PUBLISHED, "method"])
    for label, method in zip(axes.get_yticklabels(), methods, strict=True):
        label.set_fontweight("bold" if method in published else "normal")
    axes.tick_params(axis="y", length=0, labelleft=axes.get_subplotspec().is_first_col())
    colours = [style.line(method)["color"] for method in methods]
    for row in range(1, len(methods)):
        if colours[row] != colours[row - 1]:
            axes.axhline(row - 0.5, color="#DDDDDD", linewidth=0.5, zorder=0)


def axis_limit(values: Sequence[float], always: Sequence[float] = ()) -> float:
    """Return where an axis that starts at 0 ends, so that one huge value does not squeeze the rest.

    Of the upper ends of whiskers, those above three times their median and above three times the
    largest of `always`, which must be on the axis, lie beyond it.
    """
    series = pd.Series([*values, *always], dtype=float)
    far = _FAR * max([series.median(), *always])
    return _BEYOND_WHISKERS * max([*series[series <= far], *always])


def draw_boxes(axes, panel: pd.DataFrame, methods: Sequence[str], cells: pd.DataFrame) -> None:
    """Label the rows of a panel with its limits set, and draw its lines and boxes.

    Those of methods as published are shaded. A box beyond the axis becomes an arrow with its median
    beside it.
    """
    from matplotlib.colors import to_rgba

    label_rows(axes, methods, cells)
    for line in panel[panel["stat"] == LINE].itertuples():
        axes.axvline(line.y, **_LOOKS[line.series])
    end, drawn = axes.get_xlim()[1], panel[panel["kind"] == "box"]
    for (method, variant), rows in drawn.groupby(["method", "variant"], sort=False):
        y, row = rows.set_index("stat")["y"], methods.index(method)
        colour = style.line(method)["color"]
        outliers = rows.loc[(rows["stat"] == OUTLIER) & (rows["y"] <= end), "y"]
        if y[MEDIAN] > end:
            axes.plot(end, row, ">", color=colour, markersize=4, clip_on=False, zorder=5)
            style.beside(axes, f"{y[MEDIAN]:.3g}", (end, row), -5, colour)
            continue
        thin, face = {"color": colour, "linewidth": 0.8}, to_rgba(colour, 0.25)
        edge = {"edgecolor": colour, "facecolor": face if variant == AS_PUBLISHED else "none"}
        dot = {"marker": "o", "mfc": colour, "mec": colour, "markersize": 2.2, "zorder": 4}
        ring = {"marker": "o", "mfc": "none", "mec": colour, "markersize": 1.4, "mew": 0.4}
        stats = {name: y[stat] for stat, name in _STATS.items()} | {"fliers": outliers}
        looks = {"boxprops": edge | {"linewidth": 0.8}, "whiskerprops": thin, "meanprops": dot}
        looks |= {"medianprops": thin | {"linewidth": 1.6}, "flierprops": ring}
        axes.bxp([stats], positions=[row], **looks, **_BOX)


_WEIGHTS = ("signed", "constrained", "projected")
LSCDE = ["LSCDE", *(f"LSCDE-package-{each}" for each in _WEIGHTS)]
LSCDE += ["LSCDE-exact", *(f"LSCDE-{each}" for each in _WEIGHTS)]
"""Of the package and Sugiyama's, each with its negative weights clipped, kept and avoided."""

ZERO, EXACT, TRAINING = "predicting zero", "exact conditional", "training days"
_LINES = {
    JOINT: {ZERO: "joint_error_of_zero", EXACT: "joint_error_of_exact"},
    CONDITIONAL: {ZERO: "conditional_error_of_zero"},
}
"""Error to its reference lines, and the metric of each."""

NONPOSITIVE, READ_OFF, LINE = "nonpositive_share", "read_off", "line"
"""Stats: the share of points where an estimate is not positive; a published value; a line."""

_HEAD_OF_FIG4 = 1.3  # inches of the picture besides its rows
_THIN = {"color": style.EXACT, "linewidth": 0.8, "zorder": 1}
_LOOKS = dict.fromkeys((ZERO, TRAINING), _THIN | {"linestyle": "--"})
_LOOKS[EXACT] = _THIN | {"linestyle": "-"}
_LABELS = {
    JOINT: "error against the joint density, mean $|\\hat{p}(y|x)-p(x,y)|$",
    CONDITIONAL: "error against the conditional density, mean $|\\hat{p}(y|x)-p(y|x)|$",
}


def build_fig4(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the boxes of the error that is the artefact's metric, a panel for each x.

    Beside them: `NONPOSITIVE` and `NEGATIVE_NORMALISER`, means over the repetitions; the reference
    lines; and values read off the published figure, with the accuracy of reading.
    """
    error, rows, beside = artefact.metric, [], (NONPOSITIVE, NEGATIVE_NORMALISER)
    seen = published.read_off(artefact.paper, artefact.name)
    for panel, x in PLACES.items():
        here = under(scores, x=x)
        rows += _boxes(artefact, panel, error, here, beside)
        for series, metric in _LINES[error].items():
            found = claims.of_repetitions(here, metric)
            line = {"stat": LINE, "y": found.mean(), "n": len(found)}
            rows.append({"panel": panel, "kind": "curve", "series": series, **line})
        for row in seen[(seen["panel"] == panel) & (seen["metric"] == error)].itertuples():
            ends = {"y_low": row.value - row.reading_error, "y_high": row.value + row.reading_error}
            same = {"panel": panel, "method": row.method, "variant": "published", "series": error}
            rows.append(same | {"kind": "scatter", "y": row.value, "stat": READ_OFF, **ends})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _boxes(
    artefact: Artefact, panel: str, metric: str, here: pd.DataFrame, beside: Sequence[str] = ()
) -> list[dict]:
    """Return the boxes of a panel, and behind each the means of the metrics `beside`."""
    rows, known = [], variants(here)
    for method in filter(known.get, artefact.methods):
        own = partial(values, here, method, variant=known[method])
        same = {"panel": panel, "method": method, "variant": known[method]}
        rows += box_rows(own(metric), same | {"series": metric})
        for name in beside:
            if len(share := own(name).dropna()):
                stated = {"series": name, "stat": name, "y": share.mean(), "n": len(share)}
                rows.append(same | {"kind": "scatter"} | stated)
    return rows


def remarks_of_fig4(frame: pd.DataFrame) -> list[str]:
    """State which published values are met, shares that are not positive, and failures."""
    means = frame[frame["stat"] == MEAN].set_index(["panel", "method"])["y"]
    seen = frame[frame["stat"] == READ_OFF].set_index(["panel", "method"]).join(means.rename("own"))
    off = seen.loc[~seen["own"].between(seen["y_low"], seen["y_high"]), ["y", "own"]]
    said = []
    if n := len(seen):
        within = [f"{n - len(off)} of {n} published values, as read off, hold our mean"]
        for (x, method), read, y in off.itertuples():
            within.append(f"{method} at {x} ({y:.3f}, read off {read:.3f})")
        said.append(f"{'; not '.join(within)}.")
    for stat, words in (
        (NONPOSITIVE, "Share of points with an estimate that is not positive"),
        (NEGATIVE_NORMALISER, "Share of repetitions with a negative sum of weights"),
    ):
        rows = frame[(frame["stat"] == stat) & (frame["y"] > 0)]
        each = [f"{row.method} {row.y:.0%} ({row.panel})" for row in rows.itertuples()]
        said += [f"{words}: {', '.join(each)}."] if each else []
    return [*said, *failures(frame, "repetition")]


def draw_fig4(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a panel for each x, with reference lines and the values read off the paper."""
    drawn = frame[frame["stat"] == MEAN]
    methods = list(dict.fromkeys(drawn["method"]))
    # The axis holds lines, published values and the medians of methods as published.
    typical = frame["stat"].eq(MEDIAN) & frame["variant"].eq(AS_PUBLISHED)
    shown = frame.loc[frame["stat"].isin([LINE, READ_OFF]) | typical, "y"]
    ends = frame.loc[frame["stat"] == WHISKER_HIGH, "y"]
    height = _HEAD_OF_FIG4 + ROW_HEIGHT * len(methods)
    with style.figure(style.PAGE, height, len(PLACES), sharex=True, stem=stem) as (made, axes):
        axes[0].set_xlim(0.0, axis_limit(ends, shown))
        for one, letter, panel in zip(axes, "ab", PLACES, strict=True):
            here = frame[frame["panel"] == panel]
            draw_boxes(one, here, methods, drawn)
            rings = here[(here["stat"] == READ_OFF) & here["method"].isin(methods)]
            for row in rings.itertuples():
                look = {"color": style.line(row.method)["color"], "markersize": 6, "zorder": 6}
                one.plot(row.y, methods.index(row.method), "o", fillstyle="none", mew=1.0, **look)
            style.panel_title(one, letter, f"${panel}$")
        made.supxlabel(_LABELS[artefact.metric], fontsize=8)
        lines = frame.loc[frame["stat"] == LINE, "series"].unique()
        more = [style.key(name, **_LOOKS[name]) for name in lines]
        if (frame["stat"] == READ_OFF).any():
            ring = {"markersize": 6, "fillstyle": "none"}
            more.append(style.mark("published, read off within ±0.003", "o", **ring))
        style.legend_above(made, box_keys(*more), columns=4)


_METHODS = "CDO CDO-clipped CDO-projected CDO-narrow CDO-chosen GP GP-spread GP-ML"
FIG4 = Artefact(
    __name__,
    name="fig4",
    shows={"donut": {"methods": [*_METHODS.split(), *claims.FLOWS, *LSCDE]}},
    build=build_fig4,
    draw=draw_fig4,
    claims={"C3": claims.competitive},
    metric=JOINT,
    remarks=remarks_of_fig4,
)

CORRECTED = replace(FIG4, name="fig4_corrected", metric=CONDITIONAL, claims={})


_CLIPPED = ("LSCDE", "LSCDE-exact")
_HEAD_OF_CLIPPING = 1.25  # inches besides the rows


def build_clipping(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the errors over the folds of the terrain and the repetitions of the donut."""
    rows = [row for place in claims.panels(scores) for row in _boxes(artefact, *place)]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def draw_clipping(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a panel for rough terrain and one for each x of the donut."""
    means = frame[frame["stat"] == MEAN]
    methods = [name for name in artefact.methods if name in set(means["method"])]
    panels = list(dict.fromkeys(means["panel"]))
    height = _HEAD_OF_CLIPPING + ROW_HEIGHT * len(methods)
    size = {"columns": max(len(panels), 1), "squeeze": False}
    with style.figure(style.PAGE, height, **size, stem=stem) as (made, axes):
        for one, letter, panel in zip(axes[0], "abc", panels, strict=False):
            here = frame[frame["panel"] == panel]
            y = here.groupby("stat")["y"].apply(list)
            one.set_xlim(0.0, axis_limit(y[WHISKER_HIGH], y[MEDIAN]))
            draw_boxes(one, here, methods, means)
            # Half the mean errors of clipped weights are the thresholds of C6.
            for row in here[here["method"].isin(_CLIPPED) & (here["stat"] == MEAN)].itertuples():
                one.axvline(0.5 * row.y, **_half_of(row.method))
            style.panel_title(one, letter, panel.replace("x = ", "$x=$"))
            terrain = panel == claims.TERRAIN
            one.set_xlabel("Σ|e| / Σ|y − ȳ|" if terrain else "error against $p(y|x)$")
        half = [style.key(f"half of {name}'s mean", **_half_of(name)) for name in _CLIPPED]
        style.legend_above(made, box_keys(*half), columns=4)


def _half_of(method: str) -> dict:
    return {"color": style.line(method)["color"], "linestyle": ":", "linewidth": 0.8, "zorder": 1}


CLIPPING = Artefact(
    __name__,
    name="clipping",
    shows={
        "terrain": {"methods": [*LSCDE, "CDO"]},
        "donut": {"methods": [*LSCDE, "CDO", "CDO-clipped", "CDO-projected"]},
    },
    build=build_clipping,
    draw=draw_clipping,
    claims={"C6": claims.clipping_is_the_cause},
    remarks=lambda frame: failures(frame, "fit"),
)


HONEST, NOTEBOOK, THINNED = "", ", overlapping", ", thinned"
VIEWS = {
    HONEST: "test days are not training days",
    NOTEBOOK: "training days among test days",
    THINNED: "32 days a weekday, no holidays",
}
"""Ending of a panel's name to what it shows."""

_ESTIMATES = {"mean": "mean", "sd": "std"}
"""Quantity to the name of its estimate in the `.npz`, and to the beginning of its metrics."""

_TITLES = {claims.PEMS: ("PEMS-SF", "road occupancy")}
_TITLES |= {claims.METRO: ("Metro Interstate Traffic", "vehicles an hour")}
NOT_RUN, TEST = "not_run", "test"
DAYS = ("Monday", "Tuesday", "Wednesday")

_HOURS = 24.0
_ABOVE, _HEIGHT = 0.5, 1.65  # inches of the legend, and of a row of panels
_EDGE = 0.04  # of the range of three days, around it


def build_fig5(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the days and the errors of each data set that was run, PEMS-SF first.

    Panels `<data set> mean` and `<data set> sd` have boxes of |estimate/test - 1| over the inputs
    of all splits, and a row of the stat `line`: the same error of the moments of the training
    outputs, the median over the inputs, averaged over the splits. Names with an ending of `VIEWS`
    have the other views. PEMS-SF is one row of the stat `not_run` where it was not run.
    """
    files = sorted(files, key=lambda path: [*artefact.methods, path.stem].index(path.stem))
    there = [path for path in files if path.with_suffix(".npz").exists()]
    if not there:
        raise FileNotFoundError(f"no arrays at {files[0].with_suffix('.npz')}")
    run = set(scores.loc[scores["status"] != "not-run", "dataset"]) - {SIMULATED_TRAFFIC}
    rows = []
    for dataset in sorted(run, key=lambda name: (name != claims.PEMS, name)):
        own = scores[scores["dataset"] == dataset]
        known = variants(own)
        here = {path.stem: arrays_beside(path) for path in there if path.parent.name == dataset}
        # Where a method failed there are no moments.
        found = {name: each for name, each in here.items() if name in known and "mean" in each}
        if found:
            rows += _days(dataset, found, known)
        whole = under(own, days=None)
        for quantity, name in _ESTIMATES.items():
            if len(medians := claims.of_repetitions(whole, f"{name}_error_of_training")):
                same = {"panel": f"{dataset} {quantity}", "kind": "curve", "stat": LINE}
                rows.append(same | {"series": TRAINING, "y": medians.mean(), "n": len(medians)})
        for method, arrays in found.items():
            rows += _errors(dataset, {"method": method, "variant": known[method]}, arrays)
    if claims.PEMS not in run:
        rows.append({"panel": claims.PEMS, "kind": "scatter", "stat": NOT_RUN, "n": 0})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _days(dataset: str, found: Mapping[str, Mapping], known: Mapping[str, str]) -> Iterator[dict]:
    """Yield the first three days of the first split, `x` in hours since they begin.

    Rows of kind `histogram` have a slot from `x` to `x_right`, a bin from `y_low` to `y_high`, the
    share of the slot's test outputs in `y` and their number in `n`. Rows of kind `curve` have the
    test mean, and the mean of CDO with two standard deviations on each side.
    """
    arrays, panel = found.get(METHOD, next(iter(found.values()))), f"{dataset} days"
    # Times of day may be in any unit; they divide the day into slots of equal length.
    days, times = (np.unique(column, return_inverse=True) for column in arrays["inputs"][0].T[:2])
    width = _HOURS / len(times[0])
    hours = _HOURS * days[1].reshape(-1) + width * times[1].reshape(-1)
    shown, edges = np.flatnonzero(hours < len(DAYS) * _HOURS), arrays["edges"]
    for place in shown:
        slot = {"panel": panel, "kind": "histogram", "method": TEST, "x": hours[place]}
        counts = arrays["histogram"][place]
        for k in np.flatnonzero(counts):
            ends = {"y": counts[k] / counts.sum(), "y_low": edges[k], "y_high": edges[k + 1]}
            yield slot | {"x_right": hours[place] + width, "n": int(counts[k])} | ends
    curve = {"panel": panel, "kind": "curve"}
    for place in shown:
        y = {"method": TEST, "series": "test mean", "y": arrays["test_mean"][0, place]}
        yield curve | {"x": hours[place] + width / 2} | y
    curve |= {"method": METHOD, "variant": known.get(METHOD), "series": "mean ± 2 sd"}
    for place in shown if METHOD in found else ():
        mean, reach = arrays["mean"][0, place], 2.0 * arrays["std"][0, place]
        band = {"y": mean, "y_low": mean - reach, "y_high": mean + reach}
        yield curve | {"x": hours[place] + width / 2} | band


def _errors(dataset: str, known: dict, arrays: Mapping) -> Iterator[dict]:
    of_all_days = ~arrays["thinned"]
    for view, splits in ((HONEST, of_all_days), (NOTEBOOK, of_all_days), (THINNED, ~of_all_days)):
        for quantity, name in _ESTIMATES.items() if splits.any() else ():
            tested = arrays[f"{'overlapping' if view == NOTEBOOK else 'test'}_{name}"][splits]
            # An input without enough test outputs has no moments to compare with.
            kept = np.isfinite(tested) & (tested > 0.0)
            errors = np.abs(arrays[name][splits][kept] / tested[kept] - 1.0)
            same = {"panel": f"{dataset} {quantity}{view}", "series": f"error of the {quantity}"}
            yield from box_rows(errors, known | same)


def draw_fig5(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the days of each data set, and below them a row of errors for each view."""
    panels = dict.fromkeys(frame["panel"])
    datasets = [name.removesuffix(" days") for name in panels if name.endswith(" days")]
    lines = [
        (name, view)
        for name in datasets
        for view in (None, *VIEWS)
        if view in (None, HONEST) or f"{name} mean{view}" in panels
    ]
    with style.page(style.PAGE, _ABOVE + _HEIGHT * max(len(lines), 1), stem=stem) as made:
        letters = iter("abcdefghijklmnop")
        grid = made.add_gridspec(max(len(lines), 1), len(_ESTIMATES))
        for place, (dataset, view) in enumerate(lines):
            if view is None:
                axes = made.add_subplot(grid[place, :])
                _draw_days(axes, frame[frame["panel"] == f"{dataset} days"])
                name, y = _TITLES.get(dataset, (dataset, "y"))
                style.panel_title(axes, next(letters), f"{name}: {len(DAYS)} days")
                axes.set_ylabel(y)
                continue
            for column, quantity in enumerate(_ESTIMATES):
                axes = made.add_subplot(grid[place, column])
                axes.set(xscale="log", xlim=_limits(frame, quantity))
                own = frame[frame["panel"] == f"{dataset} {quantity}{view}"]
                means = own[own["stat"] == MEAN]
                draw_boxes(axes, own, list(dict.fromkeys(means["method"])), means)
                words = "standard deviation" if column else quantity
                if (dataset, view) == lines[-1] or lines[place + 1][0] != dataset:
                    axes.set_xlabel(f"error of the {words}, |estimate/test − 1|")
                style.panel_title(axes, next(letters), f"{quantity}: {VIEWS[view]}")
        keys = box_keys(style.key("error of the training days", **_LOOKS[TRAINING]))
        style.legend_above(made, keys, columns=4)


def _limits(frame: pd.DataFrame, quantity: str) -> tuple[float, float]:
    """Return the ends of the axis of an error: the power of ten below the medians, and its most."""
    errors = frame[(frame["series"] == f"error of the {quantity}") & (frame["y"] > 0.0)]
    least = errors.loc[errors["stat"] == MEDIAN, "y"].min()
    return 10.0 ** math.floor(math.log10(least)), 1.1 * errors["y"].max()


def _draw_days(axes, days: pd.DataFrame) -> None:
    """Draw histogram, test mean and CDO's band over the hours of three days."""
    curves = days[days["kind"] == "curve"]
    test, ours = (curves[curves["method"] == name].sort_values("x") for name in (TEST, METHOD))
    _draw_histogram(axes, days[days["kind"] == "histogram"])
    colour = style.line(METHOD)["color"]
    axes.fill_between(ours["x"], ours["y_low"], ours["y_high"], color=colour, alpha=0.22, lw=0)
    axes.plot(ours["x"], ours["y"], color=colour, linewidth=1.2)
    axes.plot(test["x"], test["y"], color=style.EXACT, linewidth=0.9, linestyle=(0, (2, 1)))
    hours = [label for name in DAYS for label in ("0", f"12\n{name}")]
    axes.set_xticks(np.arange(0, _HOURS * len(DAYS) + 1, 12), [*hours, "24"])
    axes.set(xlim=(0.0, _HOURS * len(DAYS)), xlabel="hour of the day")
    seen = days[["y_low", "y_high"]].to_numpy(float)
    low, high = np.nanmin(seen), np.nanmax(seen)
    # Room for the names above everything that is shown.
    axes.set_ylim(low - _EDGE * (high - low), high + 5 * _EDGE * (high - low))
    font = {"fontsize": 7, "va": "top", "transform": axes.transAxes}
    axes.text(0.02, 0.985, f"{display(METHOD)}: mean ± 2 sd", color=colour, **font)
    axes.text(0.55, 0.985, "test mean (dashed)", color=style.EXACT, **font)


def _draw_histogram(axes, bins: pd.DataFrame) -> None:
    """Draw shares of the test outputs of each slot in grey, all slots and bins as one grid."""
    height, width = ((bins[b] - bins[a]).min() for a, b in (("y_low", "y_high"), ("x", "x_right")))
    edges = [np.arange(bins["x"].min(), bins["x_right"].max() + width / 2, width)]
    edges.append(np.arange(bins["y_low"].min(), bins["y_high"].max() + height / 2, height))
    look = {"cmap": "Greys", "vmax": 1.2 * bins["y"].quantile(0.98), "rasterized": True}
    places = bins["x"] + width / 2, bins["y_low"] + height / 2
    axes.hist2d(*places, bins=edges, weights=bins["y"], cmin=1e-9, vmin=0.0, **look)


_OF_TRAFFIC = "CDO CDO-chosen GP-ML CondRealNVP CondMAF LSCDE LSCDE-exact Nadaraya-Watson-CDO"
FIG5 = Artefact(
    __name__,
    name="fig5",
    shows={"traffic": {"methods": _OF_TRAFFIC.split()}},
    build=build_fig5,
    draw=draw_fig5,
    claims={"C4": claims.fast_through_distinct_inputs, "C5": claims.tracks_the_test_data},
    remarks=lambda frame: failures(frame, "estimate"),
)


TOTAL, POINTWISE_STD = "smae_total", "smae_pointwise_std"
DEFINITIONS = {
    CENTRED: "Σ|e| / Σ|y − ȳ|",
    claims.PREDICTED: "Σ|e| / Σ|ŷ − ȳ|",
    POINTWISE: "mean |ŷ/y − 1|",
    TOTAL: "Σ|e| / Σ|y|",
}

_HEAD, _HEADING = 0.85, 0.5  # inches of a panel besides its rows, and of a further one below it
_BESIDE = 1.25  # between the outermost values and the ends of the axis, as a factor


def build_table3(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return each method in its authors' definition and protocol, of which none is the best."""
    folds, random = (under(scores, protocol=each) for each in (claims.FOLDS, claims.RANDOM))
    own = [folds[~folds["method"].isin(FLOWS)], random[random["method"].isin(FLOWS)]]
    table = building.build(artefact, _complete(pd.concat(own), [SMAE]), files)
    return table.assign(best=None, p_value=np.nan)


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return all methods on the same folds in every definition, then those of `build_table3`."""
    terrain = scores[(scores["experiment"] == "terrain") & scores["method"].isin(artefact.methods)]
    folds = _complete(under(terrain, protocol=claims.FOLDS), DEFINITIONS)
    table = building.build(artefact, folds, files)
    mixed = terrain[terrain["metric"].eq(SMAE) | terrain["status"].eq("failed")]
    plain = build_table3(replace(artefact, metric=SMAE), mixed, files)
    return building.with_rows(table, plain.to_dict("records"))


def _complete(scores: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """Return scores of some metrics, with a failed row of each for a fit that failed."""
    fit = ["dataset", "method", "variant", "setting", "split"]
    kept = scores[scores["metric"].isin([*metrics, POINTWISE_STD])]
    failed = scores[scores["status"] == "failed"].drop_duplicates(fit)
    lost = pd.concat([failed.assign(metric=metric, unit="") for metric in metrics])
    key = [*fit, "metric"]
    lost = lost[~pd.MultiIndex.from_frame(lost[key]).isin(pd.MultiIndex.from_frame(kept[key]))]
    return pd.concat([kept, lost], ignore_index=True)


def remarks_of_table3(table: pd.DataFrame) -> list[str]:
    """State how the points of a split spread."""
    spreads = table[table["metric"] == POINTWISE_STD].itertuples()
    each = ", ".join(f"{display(row.method)} {significant(row.mean)}" for row in spreads)
    return [f"Standard deviation of |ŷ/y − 1| over test points: {each}."] if each else []


def draw_table3(artefact: Artefact, table: pd.DataFrame, stem: Path) -> None:
    """Draw a picture with a panel for each definition that its numbers have."""
    cells = table[(table["metric"] == artefact.metric) & table["mean"].notna()]
    # A table in one definition has the published values that are in it.
    known = published.numbers("cdo", "table3").set_index(["dataset", "method"])["value"]
    theirs = cells.join(known.drop([*claims.OWN], level="method"), on=known.index.names)["value"]
    cells = cells.assign(published_mean=cells["published_mean"].fillna(theirs))
    # A method and its variations stand together.
    methods = list(dict.fromkeys(cells["method"]))
    colours = [style.line(method)["color"] for method in methods]
    groups: dict[str, list[str]] = {}
    for method in sorted(methods, key=lambda name: colours.index(style.line(name)["color"])):
        groups.setdefault(_definition(artefact, method), []).append(method)
    counts = [len(group) for group in groups.values()] or [1]
    height = _HEAD + _HEADING * (len(counts) - 1) + ROW_HEIGHT * sum(counts)
    size = {"rows": len(counts), "squeeze": False, "height_ratios": counts}
    with style.figure(style.COLUMN, height, **size, stem=stem) as (made, axes):
        letters = "abc" if len(groups) > 1 else [""]
        for one, letter, (heading, group) in zip(axes[:, 0], letters, groups.items(), strict=False):
            _draw_panel(one, cells, group)
            style.panel_title(one, letter, heading)
        where = "" if len(groups) == 1 else ", within a panel"
        made.supxlabel(f"scaled absolute error; lower is better{where}", fontsize=8)
        ring = "○  published" + ", in this definition" * (artefact.metric != SMAE)
        rings = [ring] * bool(cells["published_mean"].notna().any())
        style.words_above(made, ["●  ours ± 2 standard errors", *rings])


def _definition(artefact: Artefact, method: str) -> str:
    """Return in which definition, and on which splits, a method is shown."""
    if artefact.metric != SMAE:
        return DEFINITIONS[artefact.metric]
    definition = DEFINITIONS[claims.OWN.get(method.partition("-")[0], CENTRED)]
    return f"{definition}, random splits" if method in FLOWS else definition


def _draw_panel(axes, cells: pd.DataFrame, methods: list[str]) -> None:
    numbers = cells[["mean", "published_mean"]].to_numpy(float)
    numbers = numbers[numbers > 0.0]
    axes.set_xscale("log")
    axes.set_xticks([0.03, 0.1, 0.3, 1.0], ["0.03", "0.1", "0.3", "1"])
    axes.set_xlim(numbers.min() / _BESIDE, numbers.max() * _BESIDE)
    label_rows(axes, methods, cells)
    for row in cells[cells["method"].isin(methods)].itertuples():
        place, colour = methods.index(row.method), style.line(row.method)["color"]
        axes.hlines(place, row.mean, row.published_mean, colors=colour, linewidth=0.8)
        # The spread as it is, not as the verdict caps it.
        reach = 2.0 * row.std / np.sqrt(row.n)
        low = max(row.mean - reach, axes.get_xlim()[0])
        axes.hlines(place, low, row.mean + reach, colors=colour, linewidth=2.2)
        axes.plot(row.mean, place, "o", color=colour, markersize=3.8, zorder=3)
        ring = {"markersize": 5, "markerfacecolor": "white", "markeredgewidth": 1.0, "zorder": 4}
        axes.plot(row.published_mean, place, "o", color=colour, **ring)


_GP = ["GP", "GP-ML", "GP-Matern"]
_SIMPLEST = ["linear-interpolation", "Clough-Tocher", "four-neighbours"]
_SIMPLEST += ["Nadaraya-Watson", "Nadaraya-Watson-CDO"]
_PUBLISHED = ["CDO", "GP", *FLOWS, "LSCDE"]
_OURS = ["CDO-chosen", *_GP[1:], "LSCDE-exact", *_SIMPLEST]
_PACKAGE = ["LSCDE-package-second", "LSCDE-package-traffic"]
"""The package's LSCDE with other parameters, which the authors print for other data."""

_TABLE = {"kind": "table", "draw": draw_table3, "remarks": remarks_of_table3}

TABLE3 = Artefact(
    __name__,
    name="table3",
    shows={"terrain": {"methods": [*_PUBLISHED, *_OURS]}},
    build=build_table3,
    claims={"C1": claims.smallest, "C2": claims.lscde_far_worse},
    metric=SMAE,
    # The paper states no number; the notebook prints the flows' values after one split.
    published_trials=1,
    **_TABLE,
)

_COLUMNS = ["CDO", "CDO-quarter", "CDO-chosen", *_GP, *FLOWS, "LSCDE", *_PACKAGE, "LSCDE-exact"]
_WEIGHTED = [f"{name}-{weights}" for name in _PACKAGE for weights in _WEIGHTS]
_ON_TERRAIN = [*_COLUMNS[:-3], *LSCDE, *_PACKAGE, *_WEIGHTED, *_SIMPLEST]
_DONUT = ["CDO", "CDO-corrected", "GP", "GP-spread", *FLOWS, *LSCDE]

TABLE3_READINGS = Artefact(
    __name__,
    name="table3-readings",
    stage="readings",
    shows={
        "terrain": {"methods": _ON_TERRAIN, "scale": "paper"},
        "donut": {"methods": _DONUT},
        "traffic": FIG5.shows["traffic"],
    },
    build=build_readings,
    metric=CENTRED,
    columns=(*_COLUMNS, *_SIMPLEST),
    further={
        claims.PREDICTED: f"{DEFINITIONS[claims.PREDICTED]}, as GaussianProcess is published",
        POINTWISE: "Mean |ŷ/y − 1|, as the flows are published",
        TOTAL: DEFINITIONS[TOTAL],
        SMAE: "Each as published, on its splits",
    },
    trial="fold",
    **_TABLE,
)
