"""kcef figure 2: samples of KCEF over the data."""

from kcde.evidence import tolerances
from kcde.papers.artefact import Artefact
from kcde.papers.kcef import _slices

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    shows={"samples": {"methods": ["KCEF-F"]}},
    tolerance=tolerances.VERDICTS,
    build=_slices.build,
    draw=_slices.draw,
    trial="seed",
    remarks=_slices.remarks,
)
