"""dde cost: what one estimation costs, in memory and seconds."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.dde import _estimation_cost, _estimation_cost_figure

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="what one estimation costs, in memory and seconds",
    shows={"estimation_cost": {}},
    caption="Not in the paper, which states these costs as orders. One fit at given "
    "hyper-parameters, each in a process of its own on one thread: peak memory beyond the "
    "process with its libraries and data, and processor seconds; for DDE those of 5000 "
    "iterations (figure 2 shows 20000, the authors' code for the R data runs 50000), "
    "extrapolated from a few hundred that are timed, with the compiling, which takes most "
    "of its memory where n is small. Points around d vertices of the unit hypercube, as "
    "the grid of section 6. DDE: as the authors' code has it for the plane, f over all "
    "points, without penalty; penalised: η = 1/n, for which it keeps the n × n matrix of "
    "the kernel; features: 1000 random features, penalised. KEF: exact score matching, a "
    "system of n d unknowns; Nyström: 300 basis points. To choose bandwidths and λ or η "
    "multiplies all costs, or for DDE's bandwidth takes the n² distances of the median "
    "trick.",
    build=_estimation_cost.build,
    draw=_estimation_cost_figure.draw,
    deciders={"D7": _estimation_cost.decide},
    trial="fit",
    remarks=_estimation_cost.remarks,
)
