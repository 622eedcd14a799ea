"""cdo figure 4_corrected: errors on the Gaussian donut against the conditional density."""

from pathlib import Path

import pandas as pd

from kcde.papers.cdo import _donut, fig4
from kcde.papers.artefact import Artefact
from kcde.pages import box_plots

CAPTION = (
    "Figure 4 with the error against the density that is estimated, mean |p̂(y|x) − p(y|x)|, at "
    "x = 1 and x = 0 of the Gaussian donut; not in the paper. The exact conditional density has no "
    "error. The dashed line is the error of predicting a density of 0: a method to the right of it "
    "does worse than no estimate at all."
)


def build(artefact: Artefact, scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the boxes of the error against the conditional density."""
    return _donut.build(artefact, scores, _donut.CONDITIONAL)


ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="errors on the Gaussian donut against the conditional density",
    shows=fig4.ARTEFACT.shows,
    caption=CAPTION,
    details=f"{_donut.SETTING}\n\n{box_plots.EXPLANATION}",
    build=build,
    draw=_donut.draw,
    trial="repetition",
    remarks=_donut.remarks,
)
