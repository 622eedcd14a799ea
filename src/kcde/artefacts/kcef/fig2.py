"""kcef figure 2: samples of KCEF over the data."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _captions, _slices, _slices_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="samples of KCEF over the data",
    shows={"samples": {"methods": ["KCEF-F"]}},
    caption=f"{_captions.SLICES} {_captions.SLICES_REDUCED}",
    build=_slices.build,
    draw=_slices_figure.draw,
    trial="seed",
    remarks=_slices.remarks,
)
