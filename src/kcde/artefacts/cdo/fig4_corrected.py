"""cdo figure 4_corrected: errors on the Gaussian donut against the conditional density."""

from kcde.artefacts.cdo import _captions, _donut_errors, _donut_figure
from kcde.artefacts.core.declaration import Artefact

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="errors on the Gaussian donut against the conditional density",
    shows={
        "donut": {
            "methods": [
                "CDO",
                "CDO-clipped",
                "CDO-projected",
                "CDO-narrow",
                "CDO-chosen",
                "GP",
                "GP-spread",
                "GP-ML",
                "CondRealNVP",
                "CondMAF",
                "LSCDE",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
            ]
        }
    },
    caption=(
        f"Not in the paper. {_captions.DONUT} The error against what is estimated: mean "
        "|p̂(y|x) − p(y|x)|. The exact conditional density has none; dashed: a density of 0. "
        f"{_captions.BOXES}"
    ),
    build=_donut_errors.conditional,
    draw=_donut_figure.draw,
    trial="repetition",
    remarks=_donut_errors.remarks,
)
