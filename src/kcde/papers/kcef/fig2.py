"""kcef figure 2: samples of KCEF over the data."""

from kcde.evidence import tolerances
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import _captions, _slices

_CAPTION = (
    "Two columns of samples of KCEF-F (in colour) beside the same columns of the UCI data (black). "
    "The paper concludes from them that KCEF captures heteroscedasticity and sharp thresholds; "
    "claim K14, which is decided with figure 4, tests this by the conditional spread and "
    "quantiles of the samples."
)

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="samples of KCEF over the data",
    shows={"samples": {"methods": ["KCEF-F"]}},
    caption=_CAPTION,
    details=_slices.DETAILS,
    reduced=_captions.REDUCED,
    tolerance=tolerances.VERDICTS,
    build=_slices.build,
    draw=_slices.draw,
    trial="seed",
    remarks=_slices.remarks,
)
