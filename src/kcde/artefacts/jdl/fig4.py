"""jdl figure 4: normalisation error of CME by tolerance at d = 1."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_normalisation

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="normalisation error of CME by tolerance at d = 1",
    shows={"moments": {"datasets": "jdl/fig2", "methods": ["CME"]}},
    caption="Largest |E[1|x] - 1| of CME without constraints over test points and correlation "
    "matrices; a line for each relative tolerance of the factors. The CSV also has the "
    f"mean over matrices of each one's largest. {_captions.COMMON} {_captions.REDUCED}",
    build=_moments_curves.normalisation_by_tolerance,
    draw=_moments_curves.NORMALISATIONS_BY_TOLERANCE,
    deciders={
        "J6": _moments_normalisation.falls_at_the_tightest,
        "J15": _moments_normalisation.lowest_in_the_middle,
    },
    trial="matrix",
    remarks=_moments_curves.remarks,
)
