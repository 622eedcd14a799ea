"""dde figure 3: the sampler over the iterations on grid and two moons."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde import _captions, _planar_convergence, _planar_convergence_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="the sampler over the iterations on grid and two moons",
    shows={"planar": {"datasets": ["grid", "two-moons"], "methods": ["DDE"]}},
    caption=f"{_captions.OVER_ITERATIONS} {_captions.PLANAR_REDUCED}",
    build=_planar_convergence.build,
    draw=_planar_convergence_figure.draw,
    trial="seed",
    remarks=_planar_convergence.remarks,
)
