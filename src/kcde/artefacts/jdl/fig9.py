"""jdl figure 9: seconds of solution and probabilities."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _portfolio_claims, _portfolio_curves

_DAYS_TIMES = (
    "Wall-clock seconds on one thread, with as many jobs at once as the machine was given cores, "
    "so that only ratios compare. Solid: for the solution, which is cross moments and "
    "coefficients, and the probabilities of the 5000 test days, as in figure 6. Dotted: the "
    "pivoted factors. KLR has a factor of x alone and no cross moments; fits with the same "
    "bandwidths share factors and cross moments, and have the same seconds of them."
)

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="seconds of solution and probabilities",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    caption=f"{_DAYS_TIMES} {_captions.DAYS_COMMON} {_captions.DAYS_BAND} {_captions.DAYS_REDUCED}",
    build=_portfolio_curves.seconds,
    draw=_portfolio_curves.SECONDS,
    deciders={"J12": _portfolio_claims.comparable_seconds},
    trial="subsample",
    remarks=_portfolio_curves.remarks,
)
