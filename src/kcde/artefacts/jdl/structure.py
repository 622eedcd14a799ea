"""jdl structure: negative densities, and whether CME can satisfy the tightened positivity (33)."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _structure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="negative densities, and whether CME can satisfy the tightened positivity (33)",
    shows={
        "moments": {"methods": ["JDL", "JPDL", "CME"]},
        "portfolio": {"methods": ["JDL", "CME"]},
    },
    caption="A figure of ours for two statements of the text. Above: share of test pairs (x, y) at "
    "which the density 1 + h against the product of the marginals is negative, without and "
    "with constraints; (33) is one inequality for all training pairs. Below: share of fits "
    "of CME without constraints for which coefficients exist that satisfy (53) and such an "
    "inequality; for the others it is proven that there are none. The vertical axis is "
    "linear below 0.001%. Left: the Gaussian pairs of section 5.1, at the tolerances of "
    "figure 1; claim J14 counts the other tolerances as well. Right: the portfolios of "
    "section 5.2. Lines are means over repetitions. Reduced at laptop as figures 1 and 7.",
    build=_structure.build,
    draw=_structure.DRAW,
    deciders={"J13": _structure.few_violations, "J14": _structure.never_feasible},
    trial="repetition",
    remarks=_structure.remarks,
)
