"""jdl figure 1: second-moment loss against n."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_losses

_LAW = (
    "The order depends on the law of C: benchmarks/correlation_law.csv has the losses at n = 1e4 "
    "for standard deviations 0.1 and 0.3 of log C, with which JDL comes before CME without "
    "constraints, and with 0.1 also with them."
)

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="second-moment loss against n",
    shows={"moments": {"methods": ["JDL", "JPDL", "CME"]}},
    caption=f"Loss (40): the squared error of E[y yᵀ|x] over its squared norm, a mean over test "
    f"points. {_captions.COMMON} {_LAW} {_captions.SCHEDULE} {_captions.THROUGHOUT} "
    f"{_captions.CME_CONSTRAINTS} {_captions.BAND} "
    f"{_captions.REDUCED}",
    build=_moments_curves.losses,
    draw=_moments_curves.LOSSES,
    deciders={
        "J1": _moments_losses.ordered,
        "J2": _moments_losses.rises_when_loosened,
        "J4": _moments_losses.worse_in_higher_dimensions,
    },
    trial="matrix",
    remarks=_moments_curves.remarks,
)
