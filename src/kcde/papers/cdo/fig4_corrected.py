"""cdo figure 4_corrected: errors on the Gaussian donut against the conditional density."""

from pathlib import Path

import pandas as pd

from kcde.papers.artefact import Artefact
from kcde.papers.cdo import _donut, fig4


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the boxes of the error against the conditional density."""
    return _donut.build(artefact, scores, _donut.CONDITIONAL)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows=fig4.ARTEFACT.shows,
    build=build,
    draw=_donut.draw,
    trial="repetition",
    remarks=_donut.remarks,
)
