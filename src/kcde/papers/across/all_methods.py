"""all_methods: every conditional density on the R benchmark data, ranked and tested."""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.evidence import verdicts
from kcde.files import atomic
from kcde.metrics.names import COVERAGES, NLL, NLL_QUADRATURE
from kcde.pages import style
from kcde.pages.markdown import count_of, details, number, pipe_table, probability
from kcde.pages.methods import display
from kcde.papers.across._all_methods_table import (
    GIVEN,
    MARGINAL,
    OUTLYING,
    build,
    of_methods,
    of_pairs,
    of_sets,
)
from kcde.papers.artefact import Artefact

_MEDIAN_SHOWN = 0.1  # nats between mean and median from which on the median is shown
_MOST = 1.0  # nats of excess from which on the colour is the same
_DARK = 0.55  # of the colour scale, from where on letters on it are white
_ROW, _HEAD, _FOOT = 0.2, 0.7, 1.2  # inches a method, of the colour scale, and of the names below
_FAILED = "✕"


def answer(table: pd.DataFrame) -> str:
    """Return which method to take: the first by mean rank of those that failed on no split.

    None of `GIVEN` is recommended.
    """
    methods = of_methods(table)
    choosing = methods[~methods["method"].isin(GIVEN)]
    sound = choosing[choosing["failed"] == 0]
    if len(methods) < 2:
        return "No two methods were fitted on the same sets, so that none can be compared."
    if not len(sound):
        return "No method that chooses its parameters was without failures: none is recommended."
    taken, first = sound.iloc[0], methods.iloc[0]
    said = (
        f"**Take {display(taken['method'])}**: mean rank {taken['rank']:.1f}, mean loss "
        f"{number(taken['capped'])} nats, no failed split on {taken['n']:.0f} sets."
    )
    if taken["method"] != first["method"]:
        said += f" {display(first['method'])} has the lowest mean rank ({first['rank']:.1f})."
    same = methods.loc[methods["best"] & (methods.index > 0), "method"]
    said += f" Not significantly different from {display(first['method'])}, the first by rank: "
    return f"{said}{', '.join(map(display, same)) or 'none'}."


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and the picture of excess."""
    cells, methods, pairs = of_sets(frame), of_methods(frame), of_pairs(frame)
    # Those without a rank come last.
    names = list(dict.fromkeys([*methods["method"], *cells["method"]]))
    over = f"{count_of(cells['n'], 'split')} of each of {cells['dataset'].nunique()} sets"
    if len(methods):
        over += f"; ranks are over {methods['n'].iloc[0]:.0f} of them"
    own = list(methods["method"])
    matrix = [[display(one), *(_score(pairs, one, other) for other in own)] for one in own]
    parts = [
        f"# {artefact.name}: {artefact.text.title}",
        answer(frame),
        _by_rank(methods) if len(methods) else "",
        f"![{artefact.text.title}]({stem.name}.png)",
        f"{artefact.text.caption} {over}.",
        *details(artefact, (), names),
        "## Every set",
        _grid(cells, names),
        "Mean over splits, **bold** where a method is the first of a set by rank, or not "
        "significantly different from it; in parentheses the median, where it is more than "
        f"{_MEDIAN_SHOWN} from the mean. †k: k splits failed. ‡: not ranked.",
        "## Every pair",
        pipe_table(["", *map(display, own)], matrix),
        "Number of sets on which the method of the row is significantly better – worse than that "
        "of the column, by the corrected test over splits. **Bold**: different by the test over "
        "sets, adjusted for all pairs.",
    ]
    path = stem.with_suffix(".md")
    with atomic(path) as temporary:
        temporary.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return [path, *_picture(cells, methods.set_index("method")["rank"].reindex(names), stem)]


def _score(pairs: pd.DataFrame, one: str, other: str) -> str:
    if one == other:
        return ""
    pair = pairs.loc[(one, other)]
    text = f"{pair['wins']:.0f} – {pair['losses']:.0f}"
    return f"**{text}**" if pair["p_value"] < verdicts.SIGNIFICANCE else text


def _known(form: str):
    """Return what formats a number, `–` for NaN."""
    return lambda value: "–" if math.isnan(value) else format(value, form)


def _by_rank(methods: pd.DataFrame) -> str:
    rounded, percent = _known(".2f"), _known(".0%")
    columns = {
        "method": lambda row: f"**{display(row.method)}**" if row.best else display(row.method),
        "mean rank": lambda row: rounded(row.rank),
        f"without {', '.join(OUTLYING)}": lambda row: rounded(row.rank_without),
        "first in resamples of sets": lambda row: percent(row.first_share),
        f"p against {display(methods['method'].iloc[0])}": lambda row: (
            "" if math.isnan(row.p_value) else probability(row.p_value)
        ),
        "mean loss (nats)": lambda row: number(row.capped),
        "worst set": lambda row: f"{row.worst} {number(row.worst_capped)}",
        f"worse than {display(MARGINAL)}": lambda row: (
            f"{_known('.0f')(row.below_marginal)} of {_known('.0f')(row.of_marginal)}"
        ),
        "sets with failed splits": lambda row: f"{row.failed:.0f}" if row.failed else "",
        "CRPS": lambda row: _known(".3f")(row.crps),
        "rank by CRPS": lambda row: rounded(row.crps_rank),
        **{
            f"coverage of {100 * level:.0f}%": lambda row, name=name: percent(getattr(row, name))
            for name, level in COVERAGES.items()
        },
        "seconds": lambda row: _known("g")(row.seconds),
    }
    rows = [[text(row) for text in columns.values()] for row in methods.itertuples()]
    return (
        f"{pipe_table(list(columns), rows)}\n\n**Bold**: not significantly different from the "
        "first by the test over sets at 5%, adjusted for its rivals. A loss is the median over "
        f"splits, at most {verdicts.LIMIT_NATS:.0f} nats."
    )


def _grid(cells: pd.DataFrame, names: list[str]) -> str:
    found = {(row.dataset, row.method): row for row in cells.itertuples()}
    rows = []
    for dataset, n in cells.groupby("dataset", sort=False)["n_train"].first().items():
        row = [dataset, "" if math.isnan(n) else f"{n:.0f}"]
        row += [_cell(found[dataset, m]) if (dataset, m) in found else "" for m in names]
        rows.append(row)
    titles = [f"{display(name)} ‡" if name in GIVEN else display(name) for name in names]
    return pipe_table(["data set", "rows", *titles], rows)


def _cell(row) -> str:
    text = f"**{number(row.mean)}**" if row.best else number(row.mean)
    if abs(row.mean - row.median) > _MEDIAN_SHOWN:
        text += f" ({number(row.median)})"
    return f"{text} †{row.failed:.0f}" if row.failed else text


def _picture(cells: pd.DataFrame, ranks: pd.Series, stem: Path) -> list[Path]:
    """Draw the excess over the best of each set, with methods by rank."""
    from matplotlib import colormaps

    sizes = cells.groupby("dataset", sort=False)["n_train"].first()
    names, datasets = list(ranks.index), list(sizes.index)
    wide = cells.pivot(index="method", columns="dataset", values="excess")
    values = wide.reindex(index=names, columns=datasets).to_numpy(float)
    with style.figure(style.PAGE, _HEAD + _FOOT + _ROW * max(len(names), 4)) as (made, axes):
        colours = colormaps["Oranges"].with_extremes(bad="white")
        image = axes.imshow(values, cmap=colours, vmin=0.0, vmax=_MOST, aspect="auto")
        for cell in cells.itertuples():
            _number(axes, cell, datasets.index(cell.dataset), names.index(cell.method))
        rows = [name if np.isnan(n) else f"{name}  {n:.0f}" for name, n in sizes.items()]
        axes.set_xticks(range(len(datasets)), rows, rotation=90)
        shown = ["‡" if np.isnan(rank) else f"{rank:.1f}" for rank in ranks]
        own = [f"{display(name)}  {rank}" for name, rank in zip(names, shown, strict=True)]
        axes.set_yticks(range(len(names)), own)
        axes.set_xticks(np.arange(1, len(datasets)) - 0.5, minor=True)
        axes.set_yticks(np.arange(1, len(names)) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.0)
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(
            f"data set, training rows; ▪ best or not significantly different; {_FAILED} > 5% "
            "failed\nmethod, mean rank; ‡ parameters given, not ranked",
            fontsize=7,
        )
        scale = made.colorbar(image, location="top", shrink=0.55, aspect=45, pad=0.015)
        scale.set_label("median over splits above the lowest of the set (nats)", fontsize=8)
        scale.set_ticks([0.0, 0.25, 0.5, 0.75, _MOST], labels=["0", ".25", ".5", ".75", "≥ 1"])
        scale.outline.set_visible(False)
        return style.save(made, stem)


def _number(axes, cell, column: int, row: int) -> None:
    """Write the excess into its cell; mark where the method is best, and where splits failed."""
    colour = "white" if cell.excess > _DARK * _MOST else "black"
    weight = "bold" if cell.best else "normal"
    options = {"ha": "center", "va": "center", "color": colour, "weight": weight}
    axes.text(column, row, _short(cell.excess), fontsize=7, **options)
    if cell.best:
        axes.plot(column - 0.38, row - 0.3, "s", color=style.BLUE, markersize=2.5)
    if verdicts.too_many_failed(cell.failed, cell.n):
        axes.text(column + 0.38, row - 0.26, _FAILED, fontsize=5, **options)


def _short(value: float) -> str:
    """Return nats in at most three letters, and a sign."""
    if value <= -0.005:
        return f"−{_short(-value)}"
    if value >= 0.995:
        return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"
    return f"{value:.2f}".removeprefix("0") if value >= 0.005 else "0"


ARTEFACT = Artefact(
    __name__,
    kind="table",
    # Every conditional density that r_benchmark fits: LSCDE with its floor is no density, and
    # NADE-joint is one of x and y together; those of KCEF are readings of table 1 of kcef.
    shows={
        "r_benchmark": {
            "but": ["LSCDE", "NADE-joint", "KCEF-stopped", "KCEF-converged", "KCEF-LL-shared"]
        }
    },
    build=build,
    draw=draw,
    metric=NLL,
    shown_as={"DDE-quadrature": ("DDE", NLL_QUADRATURE)},
)
