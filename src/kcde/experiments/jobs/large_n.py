"""Jobs of conditional densities of a made-up bimodal y, from a thousand rows to a million."""

from dataclasses import dataclass
from typing import ClassVar

from kcde.experiments.job import MethodJob, parameter
from kcde.names import OURS

REGRESSORS = ("boosting", "linear")
"""Methods of this experiment alone (`kcde.experiments._regressors`), which have no estimator."""


@dataclass(frozen=True)
class Job(MethodJob):
    """Fit one method to n rows of a known density; measure the gap and the cost. Needs no data.

    The gap is the mean of log p - log p̂ over test rows, p the true density. LikelihoodKCEF is
    also compared with score matching in the space that it chose.

    \b
    python -m kcde run large-n --dataset bimodal-2-1000 --method LikelihoodKCEF --out large.csv
    """  # noqa: D301

    experiment: ClassVar[str] = "large_n"

    dataset: str = parameter(
        help="bimodal-<d>-<n>: d columns that do not matter, n rows.", kw_only=False
    )
    variant: str = parameter(OURS, "as-published, or ours.")
    test_rows: int = parameter(20_000, "Rows on which a fit is scored.", at_least=2)
    tuning_rows: int | None = parameter(
        1000,
        "Rows that take part in a likelihood selection of KCEF, at most; all if null in --job.",
    )
    path: tuple[float, ...] = parameter(
        (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7),
        "λ at which LikelihoodKCEF is compared with score matching.",
    )
