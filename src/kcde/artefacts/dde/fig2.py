"""dde figure 2: the sampler over the iterations on the ring."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde import _captions, _planar_convergence, _planar_convergence_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="the sampler over the iterations on the ring",
    shows={"planar": {"datasets": ["ring", "grid", "two-moons"], "methods": ["DDE", "DDE-narrow"]}},
    caption=f"{_captions.OVER_ITERATIONS} {_captions.PLANAR_REDUCED}",
    build=_planar_convergence.build,
    draw=_planar_convergence_figure.draw,
    deciders={"D5": _planar_convergence.decide},
    measure=_planar_convergence.measure,
    trial="seed",
    remarks=_planar_convergence.remarks,
)
