"""cdo clipping, a figure of ours for supplement B: the cost of clipping weights; claim C6."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from kcde.evidence.cells import AS_PUBLISHED, under, values, variants
from kcde.evidence.deciding import Missing, all_of, completed
from kcde.methods import METHODS
from kcde.pages import box_plots, box_statistics, style
from kcde.pages.box_statistics import MEAN, MEDIAN, WHISKER_HIGH
from kcde.pages.markdown import count_of
from kcde.papers.artefact import FIGURE_COLUMNS, Artefact, Decision
from kcde.papers.cdo import _terrain
from kcde.papers.cdo._donut import CONDITIONAL, PLACES
from kcde.papers.cdo._terrain import CENTRED, DEFINITIONS

TERRAIN = "rough terrain"
DONUT = "donut"

FAMILIES = {"LSCDE": "LSCDE-package-", "LSCDE-exact": "LSCDE-"}
"""LSCDE with clipped weights, of the package and Sugiyama's, and the beginning of the others."""

_SIGNED, _REMEDIES = "signed", ("constrained", "projected")
OTHER_WEIGHTS = (_SIGNED, *_REMEDIES)
"""Endings of the names of LSCDE with other weights than clipped ones."""

_HALF = 0.5
_HEAD = 1.25  # inches besides the rows
_LABELS = {True: DEFINITIONS[CENTRED], False: "error against $p(y|x)$"}


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the errors over the folds of the terrain and the repetitions of the donut.

    `scores` may be of one of the two experiments only. `series` is the metric.
    """
    rows = []
    for panel, metric, here in _panels(scores):
        known = variants(here)
        for method in artefact.methods:
            if method in known:
                same = {"panel": panel, "method": method, "variant": known[method]}
                found = values(here, method, metric, known[method]).to_numpy()
                rows += box_statistics.rows(found, same | {"series": metric})
    return pd.DataFrame(rows, columns=FIGURE_COLUMNS)


def _donut_panels() -> dict[str, int]:
    return {f"donut, {panel}": x for panel, x in PLACES.items()}


def _panels(scores: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name of each panel with its metric and its scores."""
    terrain = under(scores[scores["experiment"] == "terrain"], protocol=_terrain.FOLDS)
    if len(terrain):
        yield TERRAIN, CENTRED, terrain
    donut = scores[scores["experiment"] == "donut"]
    for panel, x in _donut_panels().items():
        if len(here := under(donut, x=x)):
            yield panel, CONDITIONAL, here


def remarks(frame: pd.DataFrame) -> list[str]:
    """State the numbers of folds and repetitions, and what failed."""
    means = frame[frame["stat"] == MEAN]
    on_terrain = means["panel"] == TERRAIN
    counts = [
        count_of(means.loc[there, "n"].astype(int), noun)
        for noun, there in (("fold", on_terrain), ("repetition", ~on_terrain))
        if there.any()
    ]
    return [f"Boxes are over {' and '.join(counts)}.", *box_statistics.failures(frame, "fit")]


def draw(artefact: Artefact, frame: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw a panel for rough terrain and one for each x of the donut."""
    means = frame[frame["stat"] == MEAN]
    methods = [name for name in artefact.methods if name in set(means["method"])]
    as_published = set(means.loc[means["variant"] == AS_PUBLISHED, "method"])
    panels = list(dict.fromkeys(means["panel"]))
    height = _HEAD + box_plots.ROW_HEIGHT * len(methods)
    size = {"columns": max(len(panels), 1), "squeeze": False, "sharey": True}
    with style.figure(style.PAGE, height, **size) as (made, axes):
        box_plots.label_rows(axes[0, 0], methods, as_published, lines=len(FAMILIES))
        for one, letter, panel in zip(axes[0], "abc", panels, strict=False):
            here = frame[frame["panel"] == panel]
            ends, medians = (here.loc[here["stat"] == s, "y"] for s in (WHISKER_HIGH, MEDIAN))
            one.set_xlim(0.0, box_plots.axis_limit(ends, medians))
            box_plots.draw_boxes(one, here, methods, as_published)
            _draw_half(one, here)
            box_plots.separate_families(one, methods)
            one.tick_params(axis="y", length=0)
            style.panel_title(one, letter, panel.replace("x = ", "$x=$"))
            one.set_xlabel(_LABELS[panel == TERRAIN])
        style.legend_above(made, box_plots.keys())
        return style.save(made, stem)


def _draw_half(axes, here: pd.DataFrame) -> None:
    """Draw half the mean errors of clipped weights, the thresholds of claim C6."""
    clipped = here[here["method"].isin(FAMILIES) & (here["stat"] == MEAN)]
    for place, row in enumerate(clipped.sort_values("y", ascending=False).itertuples()):
        colour = style.line(row.method)["color"]
        line = box_plots.ReferenceLine(f"half of {row.method}'s mean", colour, ":")
        box_plots.draw_reference_line(axes, _HALF * row.y, line, place)


def clipping_is_the_cause(scores: pd.DataFrame) -> Decision:
    """Decide claim C6: LSCDE's errors come from clipping its negative weights.

    Mean `smae_centred` over the folds of rough terrain, and mean error against the conditional
    density over the repetitions of the donut at each x. In all three the error must fall by more
    than half both with signed weights and under the better of the two remedies that supplement B
    names, either of which is a form of non-negative least squares. Where too many fits of one
    failed, the claim still fails if another place refutes it. Of the package that the authors call.
    """
    return _is_the_cause(scores, "LSCDE")


def clipping_is_the_cause_of_sugiyama_s(scores: pd.DataFrame) -> Decision:
    """Decide claim C6 for Sugiyama's LSCDE with parameters by held-out likelihood."""
    return _is_the_cause(scores, "LSCDE-exact")


def _is_the_cause(scores: pd.DataFrame, name: str) -> Decision:
    verdicts = dict.fromkeys((TERRAIN, *_donut_panels()), "undecided")
    panels = list(_panels(scores[scores["dataset"].isin([_terrain.DATASET, DONUT])]))
    said = [f"no scores of {place}" for place in verdicts if place not in {p for p, *_ in panels}]
    for panel, metric, here in panels:
        try:
            clipped = _mean(here, name, metric, panel)
        except Missing as missing:
            said.append(f"{missing}")
            continue
        shares, lacking = {}, []
        for weights in OTHER_WEIGHTS:
            try:
                shares[weights] = _mean(here, FAMILIES[name] + weights, metric, panel) / clipped
            except Missing as missing:
                lacking.append(f"{missing}")
        verdicts[panel] = all_of([_falls(shares, [_SIGNED]), _falls(shares, _REMEDIES)])
        each = ", ".join(f"{weights} {share:.2f}" for weights, share in shares.items())
        said.append("; ".join([f"{panel}: {clipped:.3g} clipped, of which {each}", *lacking]))
    reason = (
        f"mean error of {name} with clipped weights, and the share of it that is left with others, "
        f"wanted below {_HALF}: {'; '.join(said)}"
    )
    return Decision(all_of(verdicts.values()), reason, verdicts)


def _mean(here: pd.DataFrame, method: str, metric: str, panel: str) -> float:
    return completed(here, [method], metric, panel, METHODS[method].variant)[method].mean()


def _falls(shares: dict[str, float], wanted: Sequence[str]) -> str:
    """Return whether one of the shares wanted is small enough, undecided while one may be."""
    if any(shares.get(weights, 1.0) < _HALF for weights in wanted):
        return "holds"
    return "fails" if set(wanted) <= set(shares) else "undecided"


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={
        "terrain": {
            "methods": [
                "LSCDE",
                "LSCDE-package-signed",
                "LSCDE-package-constrained",
                "LSCDE-package-projected",
                "LSCDE-exact",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
                "CDO",
            ]
        },
        "donut": {
            "methods": [
                "LSCDE",
                "LSCDE-package-signed",
                "LSCDE-package-constrained",
                "LSCDE-package-projected",
                "LSCDE-exact",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
                "CDO",
                "CDO-clipped",
                "CDO-projected",
            ]
        },
    },
    build=build,
    draw=draw,
    deciders={"C6": clipping_is_the_cause},
    trial="fit",
    remarks=remarks,
)
