"""Arbel and Gretton 2018, Kernel conditional exponential family."""

from kcde.artefacts import failure_case, r_benchmark, table_figure, tables
from kcde.artefacts.declaration import Artefact

ARTEFACTS = (
    Artefact(
        paper="kcef",
        name="table1",
        kind="table",
        title="negative log-likelihood on the R benchmark data",
        caption=(
            "Each set is shuffled and halved into training and test rows, x and y are standardised "
            "by the training half, and the negative log-likelihood of the standardised y is "
            "averaged over the test half; every method sees the same splits (the paper: 20). The "
            "spread printed in the paper, about 0.01, is far below the spread over splits, so "
            "means are compared."
        ),
        experiment="r_benchmark",
        build=tables.build,
        draw=table_figure.write,
        deciders={"K7": r_benchmark.kcef_beats_lscde},
        metric=r_benchmark.METRIC,
        methods=("KCEF", "KCEF-LL", "NADE", "LSCDE", "LSCDE-exact"),
    ),
    Artefact(
        paper="kcef",
        name="fig3",
        kind="figure",
        title="a failure case of expected conditional score matching",
        caption=(
            "(a) A conditional density that is p_A for x > 0 and p_B otherwise, with disjoint "
            "supports, and the mixture q that ignores x. (b) The expected conditional score "
            "J(p_0||q) is zero at every weight of the mixture, while the Kullback-Leibler "
            "divergence is not; with overlapping supports J is positive. By quadrature; p_A and "
            "p_B are smooth bumps (Gaussians where they overlap), P(x > 0) = 1/2."
        ),
        experiment="failure_case",
        build=failure_case.build,
        draw=failure_case.draw,
        deciders={"K11": failure_case.decide},
    ),
)
