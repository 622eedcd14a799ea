"""Jobs of traffic by day of the week and time of day (cdo, figure 5)."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import parameter
from kcde.experiments.jobs._conditional import ConditionalJob


@dataclass(frozen=True)
class Job(ConditionalJob):
    """Predict mean and spread of traffic by day of the week and time of day (cdo figure 5).

    Training and test days are different. pems-sf is a download of 250 MB; if it is unavailable,
    metro-traffic-substitute is treated in the same way, with 168 inputs instead of 1008. On
    simulated-traffic, which needs no data, seconds and memory of a fit of 32256 pairs are measured.
    Shards count splits as repetitions; `run donut --help` has an example.

    \b
    python -m kcde fetch metro-traffic-substitute
    python -m kcde run traffic --dataset metro-traffic-substitute --method CDO \\
        --settings authors --splits 3 --out traffic.csv
    python -m kcde run traffic --dataset simulated-traffic --method CDO --settings authors \\
        --out cost.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "traffic"
    repeated: ClassVar[tuple[str, ...]] = ("splits", "thinned")
    reads_files: ClassVar[bool] = True

    dataset: str = parameter(
        help="pems-sf, simulated-traffic, or a table of hours as metro-traffic-substitute.",
        kw_only=False,
    )
    splits: int = parameter(
        10, "Random splits by days, at most; pems-sf has one of its own.", at_least=1
    )
    thinned: int = parameter(
        0,
        "Random splits without holidays, in which 32 days of each weekday train; pems-sf has none.",
        at_least=0,
    )
    tuning_rows: int | None = parameter(
        2000, "Training rows that choose parameters, at most; all if null in --job."
    )
