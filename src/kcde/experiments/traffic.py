"""Mean and spread of traffic by day of the week and time of day (cdo, figure 5).

Every method is fitted to the outputs of some days and asked for mean and standard deviation at each
input; those of the outputs of the other days say how far it is off. (The authors' notebook tests on
days that it trained on.) What is as the authors fixed it, Gaussian processes, and operators with
periods get the data in their own units; all else is standardised by the training rows.

``mean_error``, ``std_error``  median over the inputs of |estimate/test - 1|, of the mean and of the
                               standard deviation of the test outputs (divisor: their number)
``mean_error_of_training``,    the same of the mean and standard deviation of the training outputs
``std_error_of_training``      of an input alone, for which no method is needed
``mean_error_overlapping``,    the first two, with the training days added to the test days, as the
``std_error_overlapping``      authors' notebook tests (the second reading of C-split)
``negative_variance_share``    share of the inputs where the estimate of the variance is negative,
                               as with signed weights it may be: its standard deviation is NaN, and
                               in the median its error is larger than any other

An input is tested where at least two test days have it and their mean and spread are positive. Rows
with the setting `days` = `thinned` are of splits without holidays in which the first 32 training
days of each weekday train, the shape of PEMS-SF; the others have all days.

On `simulated-traffic` no error is measured but what a fit to traffic of PEMS-SF's size costs, 32256
pairs and 1008 distinct inputs (cdo, A.3.1), by CDO as its authors set it, in a process of its own.
Whether its factorisation over the distinct inputs is exact is seen on a part of the data, where a
plain solve with one row a pair is affordable.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.data import traffic as data_sets
from kcde.data.names import SIMULATED_TRAFFIC
from kcde.data.traffic import Split, Traffic, open_traffic
from kcde.estimators import CDO
from kcde.experiments import _conditional, _measured_fit
from kcde.experiments._conditional import AUTHORS, SMOOTHERS, Conditional
from kcde.experiments.base import Outcome, attempt, parameter, sized
from kcde.metrics import FIT_SECONDS, PEAK_MEMORY
from kcde.seeding import split_seed

PREDICT = "predict_seconds"
DIFFERENCE = "grouping_difference"
# Every 16th input is part of the comparison: 63 of 1008, with 2016 pairs.
PART = 16

_UNITS = {FIT_SECONDS: "s", PREDICT: "s", PEAK_MEMORY: "MiB", DIFFERENCE: ""}


def measure(options: Mapping) -> dict[str, float]:
    """Measure a fit of all simulated pairs in this process, with options beside the authors'.

    Seconds of fit and prediction (mean and variance at all inputs) are processor time on one
    thread, memory is beyond the process with its libraries and data.
    """
    data = data_sets.simulated()
    model = _model(data, options)
    before = _measured_fit.peak_memory()
    fitting = _measured_fit.seconds(lambda: model.fit(data.X, data.Y))
    both = _measured_fit.seconds(lambda: (model.mean(data.inputs), model.variance(data.inputs)))
    memory = (_measured_fit.peak_memory() - before) / 2**20
    return {FIT_SECONDS: fitting, PREDICT: both, PEAK_MEMORY: memory}


def grouping_difference(options: Mapping, data: Traffic | None = None) -> float:
    """Return how far means and variances are from those of a solve with one row a pair.

    The largest difference over the inputs, relative to the largest value; by default on every 16th
    input of the simulated data, with all its outputs.
    """
    if data is None:
        whole = data_sets.simulated()
        rows = (whole.X[:, None, :] == whole.inputs[None, ::PART, :]).all(axis=2).any(axis=1)
        data = Traffic(whole.name, whole.X[rows], whole.Y[rows], whole.days[rows])
    model = _model(data, options).fit(data.X, data.Y)
    plain = ungrouped_moments(model, data.X, data.Y, data.inputs)
    pairs = zip((model.mean(data.inputs), model.variance(data.inputs)), plain, strict=True)
    return max(float(np.max(np.abs(own[:, 0] - p)) / np.max(np.abs(p))) for own, p in pairs)


def ungrouped_moments(model: CDO, X: np.ndarray, Y: np.ndarray, at: np.ndarray) -> tuple:
    """Return mean and variance, shape (q,), by the formulas of cdo A.2, A.2.1: O(N³) time.

    The fitted model has a Laplace kernel of x and signed weights, and gives hyper-parameters and
    reference alone; all N pairs, shapes (N, d_x) and (N, 1), and where, (q, d_x), are given.
    """
    sigma, z = float(np.ravel(model.bandwidth_y_)[0]), model.reference_[:, 0]

    def input_kernel(A, B):
        distance = np.abs(A[:, None, :] - B[None, :, :]) / np.asarray(model.bandwidth_x_)
        return np.exp(-distance.sum(axis=2))

    def output_kernel(a, b):
        square = ((a[:, None] - b[None, :]) / sigma) ** 2
        return np.exp(-0.5 * square) / (np.sqrt(2.0 * np.pi) * sigma)

    ridge = len(Y) * model.regularization_
    weights = np.linalg.solve(input_kernel(X, X) + ridge * np.eye(len(Y)), input_kernel(X, at))
    points = len(z) if model.scaling == "corrected" else 1
    inner = output_kernel(z, z) + points * model.output_regularization_ * np.eye(len(z))
    beta = np.linalg.solve(inner, output_kernel(z, Y[:, 0]) @ weights)
    beta = np.linalg.solve(inner, beta)
    beta /= beta.sum(axis=0)
    mean = z @ beta
    return mean, z**2 @ beta - mean**2 + sigma**2


def _model(data: Traffic, options: Mapping) -> CDO:
    return CDO(**_conditional.authors("traffic", "CDO", data.X, data.Y) | dict(options))


MEAN, STD = "mean_error", "std_error"
NEGATIVE = "negative_variance_share"
THINNED = "thinned"
BINS = 40
FEWEST_TEST_OUTPUTS = 2

_FILES = ("pems-sf", "metro-traffic-substitute")
_COMPARED = ("CDO-chosen", "GP-ML", "CondRealNVP", "CondMAF", "LSCDE", "LSCDE-exact", SMOOTHERS[-1])


@dataclass(frozen=True)
class TrafficByTime(Conditional):
    """Predict mean and spread of traffic by day of the week and time of day (cdo, figure 5).

    pems-sf is a download of 250 MB; metro-traffic-substitute is treated in the same way, with 168
    inputs instead of 1008. On simulated-traffic, which needs no data, seconds and memory of a fit
    of 32256 pairs are measured, by CDO alone.

    The `.npz` has `inputs`, shape (splits, inputs, 2), and `mean`, `std`, `test_mean`,
    `test_std`, shape (splits, inputs), NaN where there is none; `overlapping_mean` and
    `overlapping_std`, the same of test and training outputs together; `thinned`, shape (splits,);
    and of the test outputs of split 0 `histogram`, shape (inputs, bins), over the bins between
    `edges`.
    """

    name = "traffic"
    datasets = (*_FILES, SIMULATED_TRAFFIC)
    methods = ("CDO", *_COMPARED)
    only = dict.fromkeys(_COMPARED, _FILES)
    smoke = ("smoke-traffic", SIMULATED_TRAFFIC)
    beside = SMOOTHERS[-1:]
    repeated = ("splits", "thinned")
    reads_files = True

    splits: int = sized(1, 3, 10, "Random splits by days; pems-sf has one of its own.", at_least=1)
    thinned: int = sized(1, 3, 10, "Of 32 training days a weekday, no holidays.", at_least=0)
    tuning_rows: int | None = parameter(2000, "Rows that choose, at most; null: all.", at_least=5)

    def check(self) -> None:
        """Raise `ValueError` as of every method, and for what costs are not measured of."""
        super().check()
        if self._simulated and (self.estimator, self.settings) != ("CDO", AUTHORS):
            raise ValueError(f"{self.dataset} is for CDO with the settings {AUTHORS!r} alone")

    @property
    def own_units(self) -> bool:
        """Whether the estimator sees the data as they are: CDO, if something is fixed in units."""
        return super().own_units and (self.settings == AUTHORS or self.estimator != "CDO")

    @property
    def _simulated(self) -> bool:
        return self.dataset == SIMULATED_TRAFFIC

    def open(self) -> Traffic:
        """Return the data set."""
        return open_traffic(self.dataset, self.data_dir, self.catalogue)

    def count(self) -> int:
        """Return the number of splits; one where there is one fit, or the data have their own."""
        return 1 if self._simulated or self.data.testing is not None else super().count()

    def outcome(self, unit: int) -> Outcome:
        """Fit and score a split; of simulated data only the costs."""
        if self._simulated:
            return Outcome(self._costs())
        data, inputs, thinned = self.data, self.data.inputs, unit >= self.splits
        number = unit - self.splits if thinned else unit
        split, seed = data.split(number, thinned=thinned), split_seed(data.name, number)
        row = self.row(number, seed=seed, dim=1, backend=self.device)
        row |= {"n_train": len(split.Y), "n_test": len(split.Y_test)}
        if thinned:
            row["setting"] = scores.setting(days=THINNED)

        model, fitting = self.fitted(split.X, split.Y, seed)
        found, seconds = attempt(self.moments, model, inputs)
        tested = _tested(split, inputs)
        of_training = data_sets.moments(split.X, split.Y, inputs)[1:]
        arrays = {"inputs": inputs, "thinned": np.array(thinned), **tested}
        if isinstance(found, Exception):
            arrays |= dict.fromkeys(("mean", "std"), np.full(len(inputs), np.nan))
            return Outcome([row | scores.failed(MEAN, found)], [{}], arrays)
        mean, variance = found
        std = np.sqrt(np.where(variance < 0.0, np.nan, variance))
        timed = row | {"seconds": fitting + seconds}
        rows = [timed | each for each in _cells((mean, std), of_training, tested)]
        return Outcome(rows, [self.chosen(model)], arrays | {"mean": mean, "std": std})

    def _costs(self) -> list[dict]:
        """Return the cost of fitting the simulated pairs, and the error of the grouping."""
        sizes = {"n_train": len(self.data.Y), "n_test": len(self.data.inputs), "dim": 1}
        row = self.row(0, backend="numpy", **sizes)

        def measured() -> dict[str, float]:
            found = _measured_fit.in_own_process(dict(self.options), module=__name__)
            return found | {DIFFERENCE: grouping_difference(self.options)}

        found, _ = attempt(measured)
        if isinstance(found, Exception):
            return [row | scores.failed(FIT_SECONDS, found)]
        return [row | scores.cell(name, found[name], unit) for name, unit in _UNITS.items()]

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return curves over the inputs, and how test outputs spread; nothing where simulated."""
        if self._simulated:
            return {}
        split = self.data.split(0)
        X, Y = split.X_test, split.Y_test
        edges = np.linspace(Y.min(), Y.max(), BINS + 1)
        counts = data_sets.counts_in_bins(X, Y, self.data.inputs, edges)
        return super().arrays(outcomes) | {"histogram": counts, "edges": edges}


def _tested(split: Split, inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Return moments of the test outputs, and of those with the training outputs.

    They are NaN at an input with too few test outputs, or constant ones.
    """
    count, mean, std = data_sets.moments(split.X_test, split.Y_test, inputs)
    tested = (count >= FEWEST_TEST_OUTPUTS) & (mean > 0.0) & (std > 0.0)
    both = np.vstack([split.X, split.X_test]), np.vstack([split.Y, split.Y_test])
    names = ("test_mean", "test_std", "overlapping_mean", "overlapping_std")
    values = (mean, std, *data_sets.moments(*both, inputs)[1:])
    return {name: np.where(tested, each, np.nan) for name, each in zip(names, values, strict=True)}


def _cells(estimate: tuple, of_training: tuple, tested: dict) -> list[dict]:
    """Return the score cells of estimated means and standard deviations."""
    counted = ~np.isnan(tested["test_mean"])
    negative = int(np.isnan(estimate[1]).sum())
    lacking = f"no standard deviation at {negative} inputs of negative variance" if negative else ""
    cells = []
    readings = [("", estimate, "test"), ("_of_training", of_training, "test")]
    for ending, ours, truth in (*readings, ("_overlapping", estimate, "overlapping")):
        for metric, moment, own in zip((MEAN, STD), ("mean", "std"), ours, strict=True):
            errors = np.abs(own / tested[f"{truth}_{moment}"] - 1.0)[counted]
            # A missing estimate counts as the largest error.
            errors = np.where(np.isnan(errors), np.inf, errors)
            median = float(np.median(errors)) if len(errors) else np.nan
            detail = lacking if own is estimate[1] else ""
            cells.append(scores.cell(f"{metric}{ending}", median, detail=detail))
    return [*cells, scores.cell(NEGATIVE, negative / len(estimate[1]))]
