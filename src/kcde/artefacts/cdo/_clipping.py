"""cdo supplement B, a figure of ours: negative weights clipped, avoided or kept; claim C6."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from kcde.artefacts.cdo._donut_errors import CONDITIONAL, PLACES
from kcde.artefacts.cdo._terrain_claims import DATASET
from kcde.artefacts.cdo._terrain_tables import CENTRED, FOLDS
from kcde.artefacts.core.cells import AS_PUBLISHED, under, values, variants
from kcde.artefacts.core.declaration import FIGURE_COLUMNS, Artefact, Decision
from kcde.artefacts.judging.deciding import completed, decider
from kcde.artefacts.plots import box_statistics
from kcde.artefacts.tables.markdown import count_of

CLIPPED, SIGNED = "LSCDE", "LSCDE-signed"
REMEDIES = ("LSCDE-constrained", "LSCDE-projected")
"""The two that supplement B names: non-negative least squares, and the nearest such mixture."""

TERRAIN = "rough terrain"
DONUT = "donut"

_HALF = 0.5


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return boxes of the errors on rough terrain and on the donut.

    Parameters
    ----------
    artefact
        Gives the order of the methods.
    scores
        Of the experiments `donut` and `terrain`, or of one of them.
    files
        Their score files; not needed.

    Returns
    -------
    pandas.DataFrame
        With `FIGURE_COLUMNS`: boxes over folds and repetitions; `series` is the metric.
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


def remarks(frame: pd.DataFrame) -> list[str]:
    """Say over how many folds and repetitions the boxes are, and what failed.

    Parameters
    ----------
    frame
        As tracked.

    Returns
    -------
    list of str
        Sentences of the caption.
    """
    means = frame[frame["stat"] == box_statistics.MEAN]
    on_terrain = means["panel"] == TERRAIN
    counts = [
        count_of(means.loc[there, "n"].astype(int), noun)
        for noun, there in (("fold", on_terrain), ("repetition", ~on_terrain))
        if there.any()
    ]
    return [f"Boxes are over {' and '.join(counts)}.", *box_statistics.failures(frame, "fit")]


@decider
def clipping_is_the_cause(scores: pd.DataFrame) -> Decision:
    """Decide claim C6: LSCDE's errors come from clipping its negative weights.

    Mean `smae_centred` over the folds of rough terrain and mean error against the conditional
    density over the repetitions of the donut at each x. In all three the error must fall by more
    than half both where the weights stay signed and under the better of the two remedies
    that supplement B names, either of which is non-negative least squares.

    Parameters
    ----------
    scores
        Of the experiments `donut` and `terrain`.

    Returns
    -------
    Decision
        `undecided` where one of the three or a variant is missing, or too many fits failed.
    """
    held, parts, places = [], [], []
    for panel, metric, here in _panels(scores[scores["dataset"].isin([DATASET, DONUT])]):
        clipped = completed(here, [CLIPPED], metric, panel, AS_PUBLISHED)[CLIPPED].mean()
        others = completed(here, [SIGNED, *REMEDIES], metric, panel, "ours")
        shares = {name: each.mean() / clipped for name, each in others.items()}
        held += [shares[SIGNED] < _HALF, min(shares[name] for name in REMEDIES) < _HALF]
        each = (f"{name.removeprefix('LSCDE-')} {share:.2f}" for name, share in shares.items())
        parts.append(f"{panel}: {clipped:.3g} clipped, of which {', '.join(each)}")
        places.append(panel)
    if absent := [place for place in (TERRAIN, *_donut_panels()) if place not in places]:
        return Decision("undecided", f"no scores of {', '.join(absent)}")
    reason = (
        "mean error of LSCDE with clipped weights, and the share of it that is left with others, "
        f"wanted below {_HALF}: {'; '.join(parts)}"
    )
    return Decision("holds" if all(held) else "fails", reason)


def _donut_panels() -> dict[str, int]:
    return {f"donut, {panel}": x for panel, x in PLACES.items()}


def _panels(scores: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield the name of each panel with its metric and its scores."""
    terrain = under(scores[scores["experiment"] == "terrain"], protocol=FOLDS)
    if len(terrain):
        yield TERRAIN, CENTRED, terrain
    donut = scores[scores["experiment"] == "donut"]
    for panel, x in _donut_panels().items():
        if len(here := under(donut, x=x)):
            yield panel, CONDITIONAL, here
