"""kcef figure 3: a failure case of expected conditional score matching."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _failure_case

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="a failure case of expected conditional score matching",
    shows={"failure_case": {}},
    caption="(a) A conditional density that is p_A for x > 0 and p_B otherwise, with disjoint "
    "supports, and the mixture q that ignores x. (b) The expected conditional score "
    "J(p_0||q) is zero at every weight of the mixture, while the Kullback-Leibler "
    "divergence is not; with overlapping supports J is positive. By quadrature; p_A and "
    "p_B are smooth bumps (Gaussians where they overlap), P(x > 0) = 1/2.",
    build=_failure_case.build,
    draw=_failure_case.draw,
    deciders={"K11": _failure_case.decide},
)
