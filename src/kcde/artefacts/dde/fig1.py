"""dde figure 1: samples and learned functions on ring, grid and two moons."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde import _captions, _planar_modes, _planar_samples, _planar_samples_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="samples and learned functions on ring, grid and two moons",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    caption="(above) 1000 samples of the learned sampler over the training points of the first "
    "seed; the frame is that of the training points with a tenth of their range on each "
    "side, samples outside are counted (out). (below) The learned f in the same frame; the "
    f"density is in proportion to exp(f) on the bounding box. {_captions.PLANAR} "
    f"{_captions.CODE_SETS} "
    f"{_captions.PLANAR_REDUCED}",
    build=_planar_samples.build,
    draw=_planar_samples_figure.draw,
    deciders={"D4": _planar_modes.decide},
    measure=_planar_modes.measure,
    trial="seed",
    remarks=_planar_samples.remarks,
)
