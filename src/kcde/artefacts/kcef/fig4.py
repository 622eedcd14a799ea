"""kcef figure 4: samples of KEF, KCEF and NADE over the data."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _captions, _slices, _slices_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="samples of KEF, KCEF and NADE over the data",
    shows={"samples": {"methods": ["KEF", "KCEF-F", "KCEF-LL-F", "NADE"]}},
    caption=f"{_captions.SLICES} {_captions.SLICES_REDUCED}",
    build=_slices.build,
    draw=_slices_figure.draw,
    deciders={"K14": _slices.decide},
    trial="seed",
    remarks=_slices.remarks,
)
