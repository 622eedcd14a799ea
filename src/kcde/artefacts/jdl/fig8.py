"""jdl figure 8: negative probabilities that portfolios lose much."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.jdl import _captions, _portfolio_claims, _portfolio_curves

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="negative probabilities that portfolios lose much",
    shows={"portfolio": {"methods": ["JDL", "CME", "KLR"]}},
    caption="Share of test days with an estimated probability below 0; the vertical axis is linear "
    f"below 0.01%. {_captions.DAYS_COMMON} {_captions.DAYS_BAND} {_captions.DAYS_REDUCED}",
    build=_portfolio_curves.negative,
    draw=_portfolio_curves.SHARES,
    deciders={"J11": _portfolio_claims.fewer_negative},
    trial="subsample",
    remarks=_portfolio_curves.remarks,
)
