"""Probability that portfolios lose much on the next day (jdl, section 5.2, figures 7 to 9).

A repetition is a subsample of days; every method is given the same. The event is that the summed
excess return of the first d portfolios is at most q, its 1% quantile over the n days that train and
validate; x is what the d portfolios returned on the day before. Parameters are chosen by the
logistic loss (41) on the days that validate.

``logistic_loss``              (41) over the test days, probabilities clipped to 1e-12 and 1
``negative_probability_rate``  share of test days with an estimate below 0
``base_rate_loss``             (41) of the share of events in the n days, whatever x
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kcde.arrays import array_namespace, asarray, to_numpy
from kcde.data import french
from kcde.data.names import PORTFOLIOS
from kcde.experiments._embedding import EmbeddingExperiment, Repetition
from kcde.experiments._low_rank import Bases, Fit, is_classifier, with_options
from kcde.experiments.base import parameter, sized
from kcde.methods import METHODS
from kcde.metrics import BASE_RATE_LOSS, LOGISTIC_LOSS, NEGATIVE_PROBABILITY_RATE, logistic_loss

TOLERANCE = 1e-3
QUANTILE = 0.01


_RETURNS = "fama-french-25-daily"
_RISK_FREE = "fama-french-factors-daily"


@dataclass(frozen=True)
class Portfolio(EmbeddingExperiment):
    """How likely portfolios lose much on the next day (jdl figures 7 to 9)."""

    name = "portfolio"
    datasets = tuple(f"portfolios-{d}-{1000 * k}" for d in (1, 5, 10, 25) for k in (1, 5, 10, 20))
    methods = ("JDL", "CME", "KLR")
    smoke = ("portfolios-2-300",)
    together = (("JDL", "CME", "KLR"), ("JDL-sub-grid", "JDL-clipped"))
    reads_files = True
    sized_names = PORTFOLIOS
    loss = LOGISTIC_LOSS

    portfolios: str = sized("smoke-portfolios", _RETURNS, _RETURNS, "Data set of returns.")
    risk_free: str = sized("smoke-risk-free", _RISK_FREE, _RISK_FREE, "Data set of risk-free ones.")
    tuning_rows: int | None = sized(300, 20_000, 20_000, "Rows that choose, at most.", at_least=5)
    tolerance: float = parameter(TOLERANCE, "Relative, of the factors.")
    max_rank: int | None = sized(20, 150, 16_000, "Pivots of a factor, at most.", at_least=1)
    # More is left where the rank of the factor is capped; such a bandwidth is not tried.
    most_trace: float = parameter(0.1, "Left by a factor of x.", at_least=0.0, at_most=1.0)

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return the sizes that depend on the method."""
        # One that names its own constraints is a reading of positivity alone.
        return {"choice": "shared"} if "constrained" in METHODS[method].options else {}

    @property
    def tolerances(self) -> tuple[float]:
        """The only tolerance."""
        return (self.tolerance,)

    def raw_data(self) -> list[str]:
        """Return the data sets of the returns and of the risk-free returns."""
        return [self.portfolios, self.risk_free]

    def open(self) -> french.ExcessReturns:
        """Return the excess returns."""
        return french.excess_returns(*self.raw_data(), self.data_dir, self.catalogue)

    def repetition(self, number: int, backend: str = "numpy") -> Repetition:
        """Return the data of a repetition, the same for every method and backend."""
        dim, n = PORTFOLIOS.sizes(self.dataset)
        days = french.subsample(self.data.pairs(dim), n, number, self.test_rows)
        # The smallest sum that at least one in a hundred does not exceed, without interpolation.
        threshold = float(np.quantile(days.Y, QUANTILE, method="inverted_cdf"))

        def event(Y):
            xp = array_namespace(Y)
            return xp.astype(xp.less_equal(Y, threshold), xp.float64)

        def loss(X, Y) -> Callable:
            happens, xp = event(Y)[:, 0], array_namespace(Y)
            return lambda values: logistic_loss(xp.reshape(values, (-1,)), happens)

        placed = (asarray(rows, backend) for rows in (days.X, days.Y, days.X_test, days.Y_test))
        return Repetition(number, backend, *placed, event, loss, threshold)

    def fit(self, given: Repetition, model, bases: Bases) -> Fit:
        """Fit an estimator to the training rows; a classifier to the event."""
        if not is_classifier(model):
            return bases.fit(model)
        # Its loss is a sum over rows, so that λ grows with them where fewer rows chose it.
        n = given.X.shape[0]
        factor = n / min(n, self.tuning_rows or n)
        model = with_options(model, {"regularization": factor * model.regularization})
        return bases.fit_classifier(model, to_numpy(given.f(bases.Y))[:, 0].astype(np.int64))

    def judged(self, given: Repetition, values: np.ndarray) -> list[tuple]:
        """Judge the probabilities on the test days."""
        probability, event = values[:, 0], to_numpy(given.f(given.Y_test))[:, 0]
        rate = float(to_numpy(given.f(given.Y)).mean())
        return [
            (LOGISTIC_LOSS, logistic_loss(probability, event), "nats"),
            (NEGATIVE_PROBABILITY_RATE, float(np.mean(probability < 0)), ""),
            (BASE_RATE_LOSS, logistic_loss(np.full(event.shape, rate), event), "nats"),
        ]
