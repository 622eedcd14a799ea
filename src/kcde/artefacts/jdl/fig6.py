"""jdl figure 6: seconds of solution and conditional expectations."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _moments_curves, _moments_seconds

_TIMES = (
    "Wall-clock seconds on one thread, with as many jobs at once as the machine was given cores "
    "(paper: two processors without constraints, ten with them), so that only ratios compare. "
    "Solid: for the solution, which is cross moments and coefficients, and 5000 conditional "
    "expectations, as in the paper, which leaves out the rest; the expectations of JDL and JPDL "
    "pass over all n points of y, those of CME over the pivots alone. Dotted: the pivoted factors, "
    "and the polynomials of JPDL. Fits of JDL and CME with the same bandwidths share factors and "
    "cross moments, and have the same seconds of them. JPDL with constraints is solved as a "
    "reduced program by a solver of ours; unreduced: the semidefinite program as the paper states "
    "it, by Clarabel (paper: MOSEK), with the λ that is best without constraints. That is fitted "
    "at d = 1 and, at n = 1000, d = 2 alone; it is not run at d = 3, where its Gram matrix is 210 "
    "× 210 with 22155 entries in the cone, far beyond a laptop and our paper scale."
)

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="seconds of solution and conditional expectations",
    shows={"moments": {"methods": ["JDL", "JPDL", "JPDL-unreduced", "CME"]}},
    caption=(
        f"{_TIMES} {_captions.COMMON} {_captions.SCHEDULE} {_captions.CME_CONSTRAINTS} "
        f"{_captions.BAND} {_captions.REDUCED}"
    ),
    build=_moments_curves.seconds,
    draw=_moments_curves.SECONDS,
    deciders={
        "J9": _moments_seconds.alike_and_faster,
        "J16": _moments_seconds.constraints_cost_little,
    },
    trial="matrix",
    remarks=_moments_curves.remarks,
)
