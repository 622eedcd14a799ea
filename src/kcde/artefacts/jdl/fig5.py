"""jdl figure 5: second moments that are not positive semi-definite."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_violations

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="second moments that are not positive semi-definite",
    shows={"moments": {"methods": ["JDL", "JPDL", "CME"]}},
    caption="Share of test points at which the estimate of E[y yᵀ|x] has an eigenvalue below "
    "-1e-12 times the largest absolute one; the vertical axis is linear below 0.01%. "
    f"{_captions.COMMON} {_captions.SCHEDULE} {_captions.THROUGHOUT} "
    f"{_captions.CME_CONSTRAINTS} {_captions.BAND} {_captions.REDUCED}",
    build=_moments_curves.violations,
    draw=_moments_curves.SHARES,
    deciders={"J8": _moments_violations.semidefinite},
    trial="matrix",
    remarks=_moments_curves.remarks,
)
