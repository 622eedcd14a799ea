"""kcef figures 1 and 5 on the grid data, 2 and 4 with table 3 of samples, 3, and theorem 2.

Figure 3 is a failure case of expected conditional score matching; `consistency` shows convergence
where the model is well specified, and claim K12.
"""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.evidence.checks import AS_PUBLISHED, obstacle, splits, variants, worst_chains
from kcde.evidence.verdicts import SIGNIFICANCE
from kcde.experiments.consistency import Constant
from kcde.experiments.factors import WAVES
from kcde.metrics import DIVERGENCE_RATE, P_VALUE, R_HAT, REGULARIZATION_ERROR
from kcde.names import EXACT_DRAWS
from kcde.pages import building, column_title, display, page, probability, style
from kcde.pages.page import HIGHEST, LOWEST
from kcde.pages.style import DATA
from kcde.papers.artefact import FIGURE_COLUMNS, READINGS, Artefact
from kcde.papers.kcef import claims
from kcde.papers.kcef.claims import DISJOINT, EXACT, ZERO
from kcde.scores import arrays_beside, information

# Axis labels by the quantity that is fixed in a panel, the first letter of its name.
_X = {"d": "training points $n$ (log scale)", "n": "dimension $d$"}
_Y = {"d": "log-likelihood (nats)", "n": "log-likelihood per dimension (nats)"}

_BOUNDS = {"entropy": ("exact entropy", "-"), "independence": ("no dependence", (0, (1, 1.5)))}

_PALE = "#B0B0B0"  # of what is as in figure 1, where a figure shows what else changes

_REACH = 8.0
"""Points farther below the bound than this many times the median distance are arrows at the edge,
so that an outlier does not flatten the other curves."""


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the panels of the CSV, which share the vertical axis where they are alike."""
    frame = frame[frame["stat"] == "mean"]
    looks = {name: _look(name) for name in frame["method"].unique() if name != EXACT}
    panels = list(dict.fromkeys(frame["panel"]))
    width = style.PAGE if len(panels) > 1 else style.COLUMN
    alike = len(panels) > 1 and len({name[0] for name in panels}) == 1
    shape = {"columns": len(panels), "squeeze": False, "sharey": alike, "stem": stem}
    with style.figure(width, 3.1, **shape) as (made, grid):
        for letter, name, axes in zip("abc", panels, grid[0], strict=False):
            own = frame[frame["panel"] == name]
            _draw_panel(axes, own, frame if alike else own, looks)
            axes.set_xlabel(_X[name[0]])
            fixed, _, waves = name.partition(",a=")
            before = f"{waves} wave{'' if waves == '1' else 's'}, " if waves else ""
            style.panel_title(axes, letter if len(panels) > 1 else "", f"{before}${fixed}$")
            if axes is grid[0, 0] or not alike:
                axes.set_ylabel(_Y[name[0]])
        handles = [style.key(display(name), **look) for name, look in looks.items()]
        style.legend_above(made, handles + _keys_of_bounds(), columns=4 if len(panels) > 1 else 2)


def _look(method: str) -> dict:
    return style.line(method) | {"marker": style.marker(method)}


def _keys_of_bounds() -> list:
    return [style.key(text, color=style.EXACT, linestyle=look) for text, look in _BOUNDS.values()]


def _draw_panel(axes, frame: pd.DataFrame, limiting: pd.DataFrame, looks: Mapping) -> None:
    """Draw the curves of a panel; means below the axis are arrow heads, the lowest in figures."""
    axes.set_ylim(*_limits(limiting))
    floor = axes.get_ylim()[0]
    (axis_of_counts if frame["panel"].iloc[0][0] == "d" else axis_of_dimensions)(axes)
    for (method, series), curve in frame.groupby(["method", "series"], sort=False):
        curve = curve.sort_values("x")
        if method == EXACT:
            dashes = _BOUNDS[series][1]
            axes.plot(curve["x"], curve["y"], color=style.EXACT, ls=dashes, lw=1.0, zorder=1)
            continue
        colour = looks[method]["color"]
        axes.plot(curve["x"], curve["y"], **looks[method], markersize=2.8, linewidth=1.2, zorder=3)
        axes.vlines(curve["x"], curve["y_low"], curve["y_high"], color=colour, lw=1.0, zorder=2)
        for k, low in enumerate(curve[curve["y"] < floor].sort_values("y").itertuples()):
            axes.plot(low.x, floor, "v", color=colour, markersize=4, clip_on=False)
            if not k:
                said = f"{low.y:.3g}".replace("-", "−")
                style.beside(axes, said, (low.x, floor), 4, colour, va="bottom")


def draw_variants(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw a row of panels for each variant that has scores: what changed over figure 1 in grey."""
    frame = frame[frame["stat"] == "mean"]
    variants = {name: of for name, of in _VARIANTS.items() if set(of) <= set(frame["method"])}
    panels = list(dict.fromkeys(frame["panel"]))
    drawn = {
        name: {"color": _PALE, "linestyle": style.line(name)["linestyle"], "marker": marker}
        for name, marker in zip(METHODS, "^svDx", strict=True)
    }
    limiting = frame[frame["method"].isin([*drawn, EXACT])]
    shape = {"rows": len(variants), "columns": len(panels), "squeeze": False, "sharex": "col"}
    with style.figure(style.PAGE, 0.7 + 1.75 * len(variants), **shape, stem=stem) as (made, grid):
        letters = iter("abcdefgh")
        for row, (title, changed) in zip(grid, variants.items(), strict=True):
            looks = drawn | {name: _look(other) for name, other in changed.items()}
            shown = frame[frame["method"].isin([*looks, EXACT])]
            for axes, name in zip(row, panels, strict=True):
                own, limits = (each[each["panel"] == name] for each in (shown, limiting))
                _draw_panel(axes, own, limits, looks)
                axes.set_ylabel(_Y[name[0]].replace(" per", "\nper"))
                axes.set_xlabel(_X[name[0]] if axes.get_subplotspec().is_last_row() else "")
                before = f"{title}, " if axes is row[0] else ""
                style.panel_title(axes, next(letters), f"{before}${name}$")
            keys = [style.key(display(name), **looks[name]) for name in changed]
            row[0].legend(handles=keys, loc="lower right", frameon=False, fontsize=6)
        keys = [style.key(f"{display(name)}, figure 1", **look) for name, look in drawn.items()]
        style.legend_above(made, keys + _keys_of_bounds(), columns=4)


def _limits(frame: pd.DataFrame) -> tuple[float, float]:
    """Return limits that hold the bounds and every mean with its error, outliers excepted."""
    means = frame["y"].dropna()
    reach = _REACH * (means.max() - means.median())
    near = (frame["y"] >= means.max() - reach) | (frame["method"] == EXACT)
    ends = frame.loc[near, ["y_low", "y", "y_high"]]
    low, high = ends.min().min(), ends.max().max()
    margin = 0.06 * (high - low) or 0.1
    return low - margin, high + margin


def axis_of_counts(axes) -> None:
    """Make the x-axis logarithmic, with ticks at 200, 500, 1000 and so on."""
    from matplotlib.ticker import LogLocator, NullLocator

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:.0f}")
    axes.xaxis.set_minor_locator(NullLocator())


def axis_of_dimensions(axes) -> None:
    """Give the x-axis ticks at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=[1, 2, 5, 10]))


def build_variants(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves, of the isotropic kernel only what claim K6 sets beside figure 5."""
    frame = claims.curves(artefact, scores[scores["method"] != claims.ISOTROPIC], files)
    hidden = frame["panel"].str.startswith("d=") & frame["method"].eq("KCEF-F-500-rows")
    return frame[~hidden].reset_index(drop=True)


METHODS = ["KCEF-F-anisotropic", "KCEF-M", "LSCDE-F", "LSCDE-M", "NADE"]

FIG1 = Artefact(
    __name__,
    name="fig1",
    shows={"joint": {"datasets": claims.DATASETS, "methods": [*METHODS, "exact"]}},
    build=claims.curves,
    draw=draw,
    claims={
        "K1": claims.converges_faster,
        "K2": claims.markov_beats_full,
        "K3": claims.nade_needs_data,
        "K4": claims.full_kcef_like_lscde,
        "K5": claims.nade_like_full,
        "K13": claims.full_like_markov,
    },
    remarks=claims.remarks,
)


_BY_COLUMN = {"LSCDE-F-anisotropic": "LSCDE-F", "LSCDE-M-anisotropic": "LSCDE-M"}
_FEWER_ROWS = {f"{name}-500-rows": name for name in (claims.FULL, "KCEF-M", claims.ISOTROPIC)}
_CONVERGED = {"KCEF-F-converged": claims.FULL, "KCEF-M-converged": "KCEF-M"}
_VARIANTS = {
    "LSCDE with a bandwidth for each column": _BY_COLUMN,
    "NADE without early stopping": {"NADE-unstopped": "NADE"},
    "KCEF tuned on 500 rows": _FEWER_ROWS,
    "KCEF to convergence, LSCDE as above": _CONVERGED | _BY_COLUMN,
}
"""Title of a row to what changed, each with the method whose look it has."""

_VARIED = dict.fromkeys([*METHODS, "KCEF-F", *chain.from_iterable(_VARIANTS.values()), "exact"])
_OF_VARIANTS = {"datasets": claims.DATASETS, "methods": list(_VARIED)}
_OF_VARIANTS["only"] = {name: ["grid-2000"] for name in ("KCEF-F", "KCEF-F-500-rows")}  # for K6

VARIANTS = replace(FIG1, name="fig1-variants", stage=READINGS, claims={}, draw=draw_variants)
VARIANTS = replace(VARIANTS, shows={"joint": _OF_VARIANTS}, build=build_variants)


_AGAINST_D = partial(claims.curves, views=[claims.against_d])


def build_readings(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the curves of figure 5, a panel for each frequency that has scores."""
    frames = []
    for a in (1, 2, 3):
        ending = "" if a == 1 else f"-frequency-{a}"
        plain = scores["dataset"].str.extract(rf"^(grid-\d+){ending}$")[0]
        if plain.notna().any():
            own = scores.assign(dataset=plain).dropna(subset="dataset")
            frame = _AGAINST_D(artefact, own, files)
            frames.append(frame.assign(panel=frame["panel"] + f",a={a}"))
    return pd.concat(frames, ignore_index=True)


FIG5 = replace(
    FIG1,
    name="fig5",
    shows={"joint": {"datasets": ["grid-2000"], "methods": ["KCEF-F", *METHODS, "exact"]}},
    build=_AGAINST_D,
    claims={"K6": claims.isotropic_drops},
)

_WAVES = ["grid-2000", *WAVES]
_OF_READINGS = {"datasets": _WAVES, "methods": ["KCEF-F", "KCEF-F-anisotropic", "exact"]}
_OF_READINGS["only"] = {"KCEF-F-anisotropic": _WAVES}

READINGS_OF_FIG5 = replace(FIG5, name="fig5-readings", stage=READINGS, claims={})
READINGS_OF_FIG5 = replace(READINGS_OF_FIG5, shows={"joint": _OF_READINGS}, build=build_readings)


_METRICS = {"expected_score": "J", "kl": "KL"}

# Series: colour, red, blue and green as published, and label.
_DENSITIES = {
    "p_A": (style.VERMILLION, "$p_0(y\\,|\\,x>0)=p_A(y)$"),
    "p_B": (style.BLUE, "$p_0(y\\,|\\,x\\leq 0)=p_B(y)$"),
    "q": (style.GREEN, "$q(y)=\\frac{1}{2}p_A(y)$\n$+\\,\\frac{1}{2}p_B(y)$"),
}
# Series: colour, line, marker, label.
_DIVERGENCES = {
    "KL, disjoint-supports": (style.BLACK, "-", "o", "KL, disjoint"),
    "KL, overlapping-supports": (style.GREY, "--", "o", "KL, overlapping"),
    "J, overlapping-supports": (style.PURPLE, "--", "s", "$J$, overlapping"),
    "J, disjoint-supports": (style.PURPLE, "-", "s", "$J$, disjoint: 0"),
}


def build_fig3(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the densities, and J and KL against the weight of the mixture.

    Panel `densities`: x is y of the paper, y its density, read from the `.npz` beside the scores.
    Panel `divergences`: x is the weight β; series `J, …` in 1/y², `KL, …` in nats.
    """
    stored = arrays_beside(files[0])
    y = stored[f"{DISJOINT}/y"]
    shown = [
        ("densities", series, *point)
        for series in _DENSITIES
        for point in zip(y, stored[f"{DISJOINT}/{series}"], strict=True)
    ]
    for score in scores.itertuples():
        series, weight = f"{_METRICS[score.metric]}, {score.dataset}", json.loads(score.setting)
        shown.append(("divergences", series, weight["weight"], score.value))
    frame = pd.DataFrame(shown, columns=["panel", "series", "x", "y"])
    frame["y"] = frame["y"].where(frame["y"].abs() >= ZERO, 0.0)
    same = {"kind": "curve", "method": "mixture", "variant": "as-published", "n": 1}
    return frame.assign(**same).reindex(columns=FIGURE_COLUMNS)


def draw_fig3(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the densities beside the divergences."""
    panels = {key: own.sort_values("x") for key, own in frame.groupby(["panel", "series"])}
    shape = {"columns": 2, "width_ratios": [1.15, 1], "stem": stem}
    with style.figure(style.PAGE, 2.5, **shape) as (made, (left, right)):
        top = max(panels["densities", series]["y"].max() for series in _DENSITIES)
        for series, (colour, label) in _DENSITIES.items():
            curve = panels["densities", series]
            # Zeros are left out: they would hide each other and the axis.
            shown = curve["y"].where((curve["y"] > 0) | (curve["y"].shift() > 0))
            left.plot(curve["x"], shown, color=colour, clip_on=False)
            peak = curve.loc[curve["y"].idxmax()]
            place = (0.0, 0.75 * top) if series == "q" else (peak["x"], peak["y"] + 0.02 * top)
            at = "center" if series == "q" else "bottom"
            left.text(*place, label, color=colour, ha="center", va=at)
        left.set(xlim=(-4, 4), ylim=(0, 1.15 * top), xlabel="$y$", ylabel="density")
        style.panel_title(left, "a", "Disjoint supports: $q$ ignores $x$")
        log_2 = {"color": style.GREY, "linewidth": 0.6}
        right.axhline(math.log(2), zorder=0, **log_2)
        keys = []
        for series, (colour, dashes, marker, label) in _DIVERGENCES.items():
            curve = panels["divergences", series]
            look = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 3}
            # Above the axis, on which J = 0 lies.
            right.plot(curve["x"], curve["y"], **look, clip_on=False, zorder=3)
            keys.append(style.key(label, **look))
        right.set(xlim=(0.08, 0.9), ylim=(0, None), xticks=[0.1, 0.3, 0.5, 0.7, 0.9])
        right.set(xlabel="weight $\\beta$ of $p_A$ in $q$", ylabel="KL (nats), $J$ ($1/y^2$)")
        style.panel_title(right, "b", "Divergence of $q$ from $p_0$")
        style.legend_above(made, [*keys, style.key("log 2", **log_2)])


_K11 = {"K11": claims.blind_to_mixtures}

FIG3 = Artefact(__name__, {"failure_case": {}}, build_fig3, draw_fig3, _K11, name="fig3")


_PANELS = {"norm_error": "norm", "kl": "KL"}
_QUIET = "without noise"
_COLOURS = {0.5: style.BLUE, 1.0: style.VERMILLION}  # by γ


def build_consistency(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the slopes with 95% intervals, and the error without noise.

    Panel `slopes`: the stat is `norm` (in the space of functions) or `KL` (nats), or the same with
    `bound` for the theorem's. Panel `norm`, stat `without noise`: x is n.
    """
    known = {"method": "KCEF", "variant": AS_PUBLISHED}
    rows = []
    for gamma, constant, series in claims.by_series(scores):
        at = known | {"panel": "norm", "kind": "curve", "series": _series_name(gamma, constant)}
        quiet = claims.by_repetition(series, REGULARIZATION_ERROR).iloc[0]
        rows += [at | {"stat": _QUIET, "x": n, "y": y, "n": 1} for n, y in quiet.items()]
    for slope in claims.slopes(scores).itertuples():
        name, stat = _series_name(slope.gamma, slope.constant), _PANELS[slope.metric]
        at = known | {"panel": "slopes", "kind": "scatter", "series": name}
        ends = {"y": slope.value, "y_low": slope.low, "y_high": slope.high, "n": slope.n}
        rows += [at | {"stat": stat} | ends, at | {"stat": f"{stat} bound", "y": slope.bound}]
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _series_name(gamma: float, constant: Constant) -> str:
    """Return the name of a series in the CSV; c is a multiple of ‖C‖ where it is not absolute."""
    return f"gamma={gamma:g} c={constant.value:g}" + " absolute" * constant.absolute


def _parts(name: str) -> tuple[float, str]:
    """Return γ, and c in words, from the name of a series."""
    gamma, value, *absolute = name.split()
    constant = Constant(bool(absolute), float(value.removeprefix("c=")))
    return float(gamma.removeprefix("gamma=")), claims.times(constant)


def _outside(frame: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield the series whose error without noise is not near its limit, and its slope."""
    quiet = frame[frame["stat"] == _QUIET].pivot(index="series", columns="x", values="y")
    for name, slope in zip(quiet.index, claims.fit(quiet), strict=True):
        if slope > claims.IN_REGIME * claims.limit(_parts(name)[0]):
            yield name, slope


def remarks_of_consistency(frame: pd.DataFrame) -> Iterator[str]:
    """Say how much was run, and which series are not in the limit that the theorem is about."""
    n, most = frame.loc[frame["stat"] == _QUIET, "x"], frame["n"].max()
    yield f"Shown are {most:.0f} repetitions of n from {n.min():.0f} to {n.max():.0f}."
    for name, slope in _outside(frame):
        gamma, constant = _parts(name)
        falls = f"the error without noise falls as n^{slope:.2f} at these n"
        limit = f"its limit is n^{claims.limit(gamma):.2f}: this series is no evidence"
        yield f"At γ = {gamma:g}, c = {constant} {falls}, {limit}."


def draw_consistency(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw the fitted slopes of both errors on bands of what the theorem allows."""
    shown = frame[frame["panel"] == "slopes"]
    names, outside = list(dict.fromkeys(shown["series"])), dict(_outside(frame))
    height = 0.8 + 0.24 * len(names)
    with style.figure(style.PAGE, height, 2, sharey=True, stem=stem) as (made, grid):
        panels = zip(grid, "ab", ("norm", "KL"), ("‖T − T₀‖", "divergence"), strict=True)
        for axes, letter, stat, words in panels:
            least = shown.loc[shown["stat"] == stat, "y_low"].min() - 0.05
            for place, name in enumerate(names):
                rows = shown[shown["series"] == name].set_index("stat")
                slope, bound = rows.loc[stat], rows.loc[f"{stat} bound", "y"]
                colour = _COLOURS[_parts(name)[0]]
                axes.fill_betweenx([place - 0.5, place + 0.5], least, bound, color="#E4E4E4", lw=0)
                axes.hlines(place, slope["y_low"], slope["y_high"], color=colour)
                face = "white" if name in outside else colour
                axes.plot(slope["y"], place, "o", markersize=4, mfc=face, mec=style.BLACK)
            axes.set(xlim=(least, 0.0), ylim=(len(names) - 0.5, -0.5))
            axes.set_xlabel(f"slope of log {words} in log n")
            style.panel_title(axes, letter, f"error: {words}")
        labels = [f"γ = {gamma:g}, c = {constant}" for gamma, constant in map(_parts, names)]
        grid[0].set_yticks(range(len(names)), labels)
        said = ["●  fitted slope, 95% interval", "grey: as steep as theorem 2 says, or steeper"]
        style.words_above(made, [*said, "○  λ too large at these n to tell"])


CONSISTENCY = Artefact(
    __name__,
    name="consistency",
    shows={"consistency": {}},
    build=build_consistency,
    draw=draw_consistency,
    claims={"K12": claims.converges_at_the_rates},
    remarks=remarks_of_consistency,
)


# Metric of a sampler to its summary over the seeds: the worst value, or all.
_SUMMARIES = {
    "acceptance_rate": "mean",
    R_HAT: "max",
    "effective_sample_size": "min",
    "divergences": "sum",
    DIVERGENCE_RATE: "max",
    **dict.fromkeys(claims.ERRORS, "median"),
}

_POINTS = 1000  # points of each kind in a panel, as published
_ACROSS = 3  # panels in a row


def build_samples(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the scatter plots, of the first seed that has samples.

    A panel is a data set. Rows without `stat` are points in standardised units, of the method
    `data` or of a sampler; the stats `x_label` and `y_label` name the two columns in `series`; the
    name of a diagnostic or an error stands in `stat`, its summary over the `n` seeds in `y`.
    Samples are read from the `.npz` beside each file, the columns to show from its `.json`.
    """
    files = sorted(files, key=lambda path: [*artefact.methods, path.stem].index(path.stem))
    kinds = variants(scores)
    rows = []
    for dataset in dict.fromkeys(path.parent.name for path in files):
        here = [path for path in files if path.parent.name == dataset]
        info = information(here[0])
        pair = info["shown_pair"]
        # Where only the pair is modelled, its places among all columns are stated apart.
        for axis, place, known in zip("xy", pair, info.get("places", pair), strict=True):
            label = f"{info['columns'][place - 1]}, $x_{{{known}}}$"
            rows.append(style.scatter_row(dataset, DATA, series=label, stat=f"{axis}_label"))
        rows += style.scatter_points(dataset, DATA, "", _columns(here[0], "reference")[0], _POINTS)
        for path in here:
            rows += _samples(scores, dataset, path, kinds[path.stem])
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _columns(path: Path, name: str) -> np.ndarray:
    """Return the two columns to show of an array (seeds, rows, columns) beside a score file."""
    return arrays_beside(path)[name][:, :, np.array(information(path)["shown_pair"]) - 1]


def _samples(scores: pd.DataFrame, dataset: str, path: Path, variant: str) -> list[dict]:
    cell = dataset, path.stem, variant
    drawn = _columns(path, "samples")
    complete = drawn[np.isfinite(drawn).all(axis=(1, 2))]  # seeds that did not fail
    rows = style.scatter_points(*cell, complete[0], _POINTS) if len(complete) else []
    for metric, summary in _SUMMARIES.items():
        values = splits(scores, *cell, metric)
        # Chains that never move have no finite R-hat.
        values = values.fillna(np.inf) if metric == R_HAT else values.dropna()
        if len(values):
            rows.append(style.scatter_row(*cell, y=values.agg(summary), stat=metric, n=len(values)))
    return rows


def _unconverged(frame: pd.DataFrame) -> dict[tuple[str, str], str]:
    """Return data set and method of the chains that have not converged, and why."""
    stats = frame.dropna(subset=["stat", "y"]).set_index("stat")
    found = {cell: dict(each["y"]) for cell, each in stats.groupby(["panel", "method"], sort=False)}
    return {cell: why for cell, each in found.items() if (why := obstacle(each))}


def remarks_of_samples(frame: pd.DataFrame) -> list[str]:
    """Say which panels show chains that have not converged."""
    wrong = _unconverged(frame).items()
    said = ", ".join(f"{method} on {dataset} ({why})" for (dataset, method), why in wrong)
    return [f"Chains that have not converged: {said}."] if said else []


def draw_samples(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> None:
    """Draw each sampler's points over the data of each set; those of one beside the data."""
    known = ["red-wine", "parkinsons", *frame["panel"]]
    datasets = sorted(frame["panel"].unique(), key=known.index)
    methods = [name for name in frame["method"].unique() if name != DATA]
    shown = methods if len(methods) > 1 else [DATA, *methods]
    across, rows = min(len(shown), _ACROSS), -(-len(shown) // _ACROSS)
    parts = (len(datasets), 1) if len(methods) > 1 else (1, len(datasets))
    wrong, letters = _unconverged(frame), iter(ascii_lowercase)
    with style.page(style.PAGE, parts[0] * (1.9 * rows + 0.35), stem=stem) as made:
        places = made.subfigures(*parts, squeeze=False).flat
        for part, dataset in zip(places, datasets, strict=True):
            own = frame[frame["panel"] == dataset]
            named = own.set_index("stat")["series"]
            part.supxlabel(f"{dataset}: {named['x_label']} (sd)", fontsize=8)
            part.supylabel(f"{named['y_label']} (sd)", fontsize=8)
            points = own[own["stat"].isna()]
            data = points[points["method"] == DATA]
            axes = part.subplots(rows, across, sharex=True, sharey=True, squeeze=False)
            for one in axes.flat[len(shown) :]:
                one.set_axis_off()
            for one, method in zip(axes.flat, shown, strict=False):
                samples = points[(points["method"] == method) & (method != DATA)]
                behind = style.BLACK if method == DATA else style.PALE
                out = style.draw_scatter(one, data, samples, method, 0.06, behind)
                style.panel_title(one, next(letters), display(method))
                if out:
                    one.set_title(f"{out} out", loc="right", fontsize=7)
                if (dataset, method) in wrong:
                    look = {"weight": "bold", "ha": "right", "va": "top", "bbox": style.WHITE}
                    at = {"transform": one.transAxes, "fontsize": 8}
                    one.text(0.99, 0.99, "not converged", color=style.VERMILLION, **look, **at)


_PUBLISHED, _BETTER = ["KEF", "KCEF-F", "NADE"], ["KEF-adapted", "KCEF-F-inverse"]
_PAIR = ["KEF-pair", "KCEF-F-pair", "NADE-pair", "KEF-pair-adapted", "KCEF-F-pair-inverse"]

FIG4 = Artefact(
    __name__,
    name="fig4",
    shows={"samples": {"methods": [*_PUBLISHED, *_BETTER, "KCEF-LL-F-inverse"]}},
    tolerance=verdicts.VERDICTS,
    build=build_samples,
    draw=draw_samples,
    claims={"K14": claims.samples_like_data},
    remarks=remarks_of_samples,
)


def build_pair(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the points of the models of the shown pair alone."""
    return build_samples(artefact, scores, [path for path in files if path.stem in _PAIR])


FIG2 = replace(FIG4, name="fig2", shows={"samples": {"methods": ["KCEF-F"]}}, claims={})
_OF_BOTH = {"samples": {"methods": [*_PAIR, *_PUBLISHED[:2], *_BETTER]}}
FIG4_OF_PAIR = replace(FIG2, name="fig4-pair", stage=READINGS, shows=_OF_BOTH, build=build_pair)


_CELL = ["dataset", "method", "variant"]
_LEAST = 1e-6  # p-value at the left end of the axis


def _against(*rivals: str) -> dict:
    """Return what a table shows of the tests of KCEF against rivals, and its columns."""
    columns = tuple(f"H0: {rival} closer than KCEF" for rival in rivals)
    return {"shows": {"similarity": {"methods": [*rivals]}}, "columns": columns}


def build_table3(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table with the range of each p-value over the seeds, and the worst of its chains.

    The ends of the range are metrics of their own, `LOWEST` and `HIGHEST`. Models of the pair have
    no column of the pair alone, as it would repeat that of all theirs.
    """
    repeated = scores["method"].str.contains("-pair ") & (scores["variant"] == "slice")
    scores = scores[~repeated]
    table = building.build(artefact, scores, files)
    for index, row in table[table["metric"] != P_VALUE].iterrows():
        worst = worst_chains(scores, *row[_CELL])
        table.loc[index, "mean"] = float(f"{worst[row['metric']]:.6g}")
    table = building.beside_published(artefact, table)
    ok = scores[(scores["metric"] == P_VALUE) & (scores["status"] == "ok")]
    ranges = ok.groupby(_CELL)["value"].agg(["min", "max"])
    ranges = ranges.set_axis([LOWEST, HIGHEST], axis=1).map(lambda value: float(f"{value:.6g}"))
    known = table.loc[table["metric"] == P_VALUE, [*_CELL, "n", "failed"]].assign(unit="")
    ends = ranges.rename_axis("metric", axis=1).stack().rename("mean").reset_index()
    return building.with_rows(table, known.merge(ends, on=_CELL).to_dict("records"))


def draw_table3(artefact: Artefact, table: pd.DataFrame, stem: Path) -> None:
    """Draw the p-values of the tests that claim K10 is about."""
    shown = table[table["variant"].isin([AS_PUBLISHED, EXACT_DRAWS])]
    shown = shown[shown["metric"] == P_VALUE].reset_index(drop=True)
    ranges = page.ranges(table)
    with style.figure(style.PAGE, 0.8 + 0.18 * len(shown), stem=stem) as (made, axes):
        for place, row in shown.iterrows():
            wrong = bool(page.unconverged(table, row))
            colour = style.line(row["method"].removeprefix("H0: ").partition(" ")[0])["color"]
            ends = ranges.get(tuple(row[_CELL]), (row["mean"],) * 2)
            low, high, ours, theirs = (
                max(value, _LEAST) for value in (*ends, row["mean"], row["published_mean"])
            )
            axes.hlines(place, low, high, colors=colour, linewidth=2.4, alpha=0.5)
            look = {"markersize": 5, "color": colour, "clip_on": False, "zorder": 3}
            axes.plot(ours, place, "o", mfc="white" if wrong else colour, **look)
            axes.plot(theirs, place, "|", **look | {"markersize": 11, "mew": 2.5})
            place_of = {"xycoords": axes.get_yaxis_transform(), "va": "center", "fontsize": 7}
            axes.annotate(probability(row["mean"]), (1.02, place), color=colour, **place_of)
        axes.axvspan(_LEAST, SIGNIFICANCE, color="#EEEEEE", zorder=0)
        axes.set(xscale="log", xlim=(_LEAST, 1.0), ylim=(len(shown) - 0.5, -0.5))
        titles = shown.apply(lambda row: column_title(row["method"], row["variant"]), axis=1)
        axes.set_yticks(range(len(shown)), shown["dataset"] + ": " + titles)
        axes.set_xlabel("p-value; in grey, below 5%, KCEF's samples are closer to the data")
        said = ["●  our median, and range over the seeds", "○  chains not converged"]
        said += ["|  published"] if shown["published_mean"].notna().any() else []
        style.words_above(made, said)


TABLE3 = Artefact(
    __name__,
    name="table3",
    kind="table",
    tolerance=verdicts.VERDICTS,
    build=build_table3,
    draw=draw_table3,
    claims={"K10": claims.kcef_samples_are_closer},
    metric=P_VALUE,
    trial="seed",
    **_against("KEF", "NADE", "KEF-grouped"),
)

_OF_PAIR = _against("KEF", "NADE", "KEF-pair", "NADE-pair")
TABLE3_OF_PAIR = replace(TABLE3, name="table3-pair", stage=READINGS, claims={}, **_OF_PAIR)
