"""cdo clipping: negative weights: clipped, kept, or avoided."""

from kcde.artefacts.cdo import _captions, _clipping, _clipping_figure
from kcde.artefacts.core.declaration import Artefact

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="negative weights: clipped, kept, or avoided",
    shows={
        "terrain": {
            "methods": [
                "LSCDE",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
                "CDO",
                "CDO-clipped",
                "CDO-projected",
            ]
        },
        "donut": {
            "methods": [
                "LSCDE",
                "LSCDE-signed",
                "LSCDE-constrained",
                "LSCDE-projected",
                "CDO",
                "CDO-clipped",
                "CDO-projected",
            ]
        },
    },
    caption="A figure of ours for supplement B, which suspects that LSCDE is bad because it clips "
    "negative weights, and names two remedies: to minimise its objective over "
    "non-negative weights (constrained), and the nearest non-negative mixture to its "
    "solution in L2 (projected). Signed: its weights as they are, over their sum. Beside "
    "it CDO, whose published weights are signed, with the same. (a) Σ|e| / Σ|y − ȳ| over "
    "the folds of table3_one_definition; (b, c) the error of fig4_corrected over its "
    "repetitions. Dotted: half the mean error of LSCDE with clipped weights, which claim "
    f"C6 wants the others to undercut. {_captions.BOXES}",
    build=_clipping.build,
    draw=_clipping_figure.draw,
    deciders={"C6": _clipping.clipping_is_the_cause},
    trial="fit",
    remarks=_clipping.remarks,
)
