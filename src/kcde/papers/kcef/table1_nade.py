"""kcef table1-nade: what the column NADE of table 1 measures, and claim K8 under both readings."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from kcde.metrics.names import NLL
from kcde.pages import building, dot_plot, table_page
from kcde.papers import published
from kcde.papers.artefact import Artefact, Decision
from kcde.papers.kcef import _nade_target, table1

_BOTH = "both readings of NADE"


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the table of the two NADE alone; those of y given x have the published mean."""
    own = scores[scores["method"].isin([_nade_target.CONDITIONAL, _nade_target.JOINT])]
    table = building.build(artefact, own, files)
    known = published.values()
    known = known[(known["artefact"] == "table1") & (known["paper"] == artefact.paper)]
    means = known[known["method"] == _nade_target.CONDITIONAL].set_index("dataset")["value"]
    of_y = (table["method"] == _nade_target.CONDITIONAL) & (table["metric"] == NLL)
    table["published_mean"] = table["dataset"].map(means).where(of_y)
    place = {name: k for k, name in enumerate(means.index)}
    ordered = table["dataset"].map(lambda name: place.get(name, len(place)))
    first = table["metric"] != NLL
    return table.iloc[np.lexsort((ordered, first))].reset_index(drop=True)


def draw(artefact: Artefact, table: pd.DataFrame, stem: Path) -> list[Path]:
    """Draw the page, and a picture in which both rows show how far they are from the published."""
    pages = table_page.write(artefact, table, stem)
    return [*pages, *dot_plot.picture(artefact, table, stem, through=True)]


def read_nade(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Return K8 under each reading of the column."""
    joint = {
        _nade_target.JOINT_READING: _nade_target.against_joint,
        _nade_target.PRINTED_READING: _nade_target.as_printed,
    }
    return {"K8": _nade_target.by_target(scores, table1.nade_loses_to_kcef, joint)}


def amended(scores: pd.DataFrame) -> dict[str, Mapping[str, Decision]]:
    """Decide claim K8 by its amended test, which takes both readings."""
    return {"K8": {_BOTH: loses_in_both(scores)}}


def loses_in_both(scores: pd.DataFrame) -> Decision:
    """Decide claim K8 as amended: the verdict of both NADE, undecided where they differ."""
    found = _nade_target.by_target(scores, table1.nade_loses_to_kcef)
    verdicts = {f"NADE, {words}": decision.amended.verdict for words, decision in found.items()}
    both = set(verdicts.values())
    return Decision(
        both.pop() if len(both) == 1 else "undecided",
        "; ".join(f"NADE, {words}: {decision.amended.reason}" for words, decision in found.items()),
        verdicts,
    )


ARTEFACT = Artefact(
    __name__,
    name="table1-nade",
    kind="table",
    stage="readings",
    shows={
        "r_benchmark": {
            "datasets": table1.ARTEFACT.shows["r_benchmark"]["datasets"],
            "methods": ["NADE", "NADE-joint", "KCEF", "KCEF-LL"],
        }
    },
    build=build,
    draw=draw,
    readers={"K-nade": read_nade, "amended": amended},
    metric=NLL,
    columns=("NADE", "NADE-joint"),
    axis=(-4.0, 80.0),
    axis_label="negative log-likelihood of standardised rows (nats); lower is better",
    below=_nade_target.section,
    apart=("NADE", "NADE-joint"),
)
