"""jdl figure 3: normalisation error against n."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_normalisation

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="normalisation error against n",
    shows={"moments": {"methods": ["JDL", "JPDL", "CME"]}},
    caption="Largest |E[1|x] - 1| over test points and correlation matrices, as in the paper; it "
    "grows with their number. Bands reach from the 5% to the 95% quantile of each matrix's "
    "largest, where at least 20 have a number; the vertical axis is linear below 1e-4, "
    "where JDL and JPDL have rounding errors. "
    f"{_captions.COMMON} {_captions.SCHEDULE} {_captions.THROUGHOUT} "
    f"{_captions.CME_CONSTRAINTS} {_captions.REDUCED}",
    build=_moments_curves.normalisation,
    draw=_moments_curves.NORMALISATIONS,
    deciders={
        "J5": _moments_normalisation.inverse_to_sample_size,
        "J7": _moments_normalisation.mitigated_by_constraints,
    },
    trial="matrix",
    remarks=_moments_curves.remarks,
)
