"""kcef consistency: convergence where the model is well specified (theorem 2)."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.kcef import _consistency, _consistency_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="convergence where the model is well specified (theorem 2)",
    shows={"consistency": {}},
    caption="Not in the paper, which proves these rates and shows no such figure. T_0 lies in "
    "R(C^γ) by construction, C being the covariance operator of p_0 itself; x is uniform "
    "on (-1, 1), q_0 = N(0, 2²), both kernels Gaussian; λ = c n^-α, "
    "α = max(1/(2(γ+1)), 1/4). (a) Error in the norm of the function space, in which T_0 "
    "has norm 3, and dotted ‖T_λ - T_0‖, what is left of it without noise. (b) "
    "Kullback-Leibler divergence, by quadrature. Points: geometric means over repetitions "
    "with 95% intervals; lines: least squares. (c) Fitted slopes with 95% intervals "
    "(circles: norm, squares: divergence) and the theorem's bounds, α - 1/2 and 2α - 1 "
    "(bars), which over all γ range from -1/4 to 0 and from -1/2 to 0. The theorem bounds "
    "slopes from above, as n grows, for every c.",
    build=_consistency.build,
    draw=_consistency_figure.draw,
    deciders={"K12": _consistency.decide},
    trial="repetition",
    remarks=_consistency.remarks,
)
