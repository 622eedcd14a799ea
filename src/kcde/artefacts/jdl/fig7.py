"""jdl figure 7: logistic loss of the probability that portfolios lose much."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _portfolio_claims, _portfolio_curves

_OVERLAP = (
    "Subsamples overlap (at n = 20000 each has 25000 of 25248 pairs of days), so that the "
    "p-values of claim J10, which takes them as independent, are too small."
)

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="logistic loss of the probability that portfolios lose much",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    caption="Loss (41), with probabilities clipped to 1e-12 and 1 as in the paper. "
    f"{_captions.DAYS_COMMON} {_captions.DAYS_BAND} {_OVERLAP} {_captions.DAYS_REDUCED}",
    build=_portfolio_curves.losses,
    draw=_portfolio_curves.LOSSES,
    deciders={"J10": _portfolio_claims.jdl_like_klr},
    trial="subsample",
    remarks=_portfolio_curves.remarks,
)
