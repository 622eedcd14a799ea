"""jdl figure 2: second-moment loss by tolerance at d = 1."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_losses

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="second-moment loss by tolerance at d = 1",
    shows={
        "moments": {
            "datasets": [
                "gaussian-1-1000",
                "gaussian-1-10000",
                "gaussian-1-100000",
                "gaussian-1-1000000",
                "gaussian-1-10000000",
            ],
            "methods": ["JDL", "CME"],
        }
    },
    caption="Loss (40) of JDL and CME without constraints at d = 1; a line for each relative "
    f"tolerance of the factors. {_captions.COMMON} {_captions.BAND} {_captions.REDUCED}",
    build=_moments_curves.losses_by_tolerance,
    draw=_moments_curves.LOSSES,
    deciders={"J3": _moments_losses.robust_to_tolerance},
    trial="matrix",
    remarks=_moments_curves.remarks,
)
