"""Jobs of the probability that portfolios lose much (jdl, section 5.2, figures 7 to 9)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import parameter
from kcde.experiments.jobs._embedding import EmbeddingJob

TOLERANCE = 1e-3


@dataclass(frozen=True)
class Job(EmbeddingJob):
    """Estimate how likely portfolios lose much on the next day (jdl figures 7 to 9).

    Of several jobs, --shard and --part, `run moments --help` has an example. Of --record the first
    is of the returns, the second of the risk-free ones.

    \b
    python -m kcde fetch fama-french-25-daily
    python -m kcde fetch fama-french-factors-daily
    python -m kcde run portfolio --dataset portfolios-5-1000 --method JDL --repetitions 2 \\
        --out portfolio.csv
    python -m kcde run portfolio --dataset portfolios-5-1000 --method JDL --out JDL.csv \\
        --method KLR --out KLR.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "portfolio"
    reads_files: ClassVar[bool] = True

    dataset: str = parameter(help="portfolios-<d>-<n>: the first d, n days.", kw_only=False)
    portfolios: str = parameter("fama-french-25-daily", "The data set of returns.")
    risk_free: str = parameter("fama-french-factors-daily", "The data set of risk-free returns.")
    repetitions: int = parameter(20, "Random subsamples of days.", at_least=1)
    tolerance: float = parameter(TOLERANCE, "Relative, of the factors.")
    max_rank: int | None = parameter(
        None, "Pivots of a factor, at most; as many as needed by default.", at_least=1
    )
    most_trace: float = parameter(
        1.0,
        "Share of the trace that a factor of x may leave; other bandwidths are not tried.",
        at_least=0.0,
        at_most=1.0,
    )
    test_rows: int = parameter(5000, "Days on which each fit is tested.", at_least=1)

    def __post_init__(self):
        super().__post_init__()
        if not 0.0 < self.tolerance < 1.0:
            raise ValueError(f"tolerance must be above 0 and below 1; got {self.tolerance}")
