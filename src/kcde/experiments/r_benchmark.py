"""Conditional densities on the R benchmark data (kcef, table 1; dde, table 2).

Each data set is split at random into halves, twenty times; x and y are standardised by the
training half; the score is the negative log likelihood of the standardised y, averaged over the
test half (kcef, section 4; dde, section 6).

Beside it, for every method whose density has a distribution function F: the probability integral
transform F(y|x) of the test rows, the shares of them within the central intervals of 50 and 90%,
and the mean of their continuous ranked probability scores, of standardised y. And, on the first
`inner_splits` splits, the inner log likelihood: the mean log density of a held-out fifth of the
training half, fitted by the method's whole rule to the other four fifths and standardised by these,
in nats of y standardised by the training half. The rows held out are the same for every method, and
no test row has a part in it. Of DDE there is also the objective that its training reaches, and the
optimum of that (`kcde.experiments._dde_optimum`).

A job of the target `joint` models x and y together by a network for all columns, and scores both:
the published column NADE of kcef, table 1, is nearer to that on some sets. Its columns are x, then
y. The sum in that order is exact in two parts, log p(x) + log p(y|x), unlike the mean over orders.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from kcde import scores
from kcde.arrays import array_namespace, asarray, take_columns, take_rows, to_numpy
from kcde.data.loaders import Dataset, load
from kcde.estimators import Standardised, estimator_class
from kcde.experiments import _dde_optimum, methods, runner
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.r_benchmark import JOINT, Job
from kcde.experiments.runner import attempt, fits
from kcde.metrics.names import (
    COVERAGES,
    CRPS,
    INNER_LOG_LIKELIHOOD,
    NLL,
    NLL_CONDITIONAL,
    NLL_X,
)
from kcde.normalisers import GaussianProposal, Normaliser, importance_sampling
from kcde.seeding import rng_of, split_seed

Rows = Callable[[Job, Dataset, int], tuple[np.ndarray, np.ndarray]]

TEST_HALF = "test-half"
TEST_HALF_DRAWS = 1000
HELD_OUT_PARTS = 5
"""One of so many parts of the training half is held out for the inner log likelihood."""

_BY_COLUMN = "factor_log_density"


def half_split(dataset: str, split: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the training rows, the first n//2 of a shuffle, and the test rows.

    The shuffle depends on the data set's name and the split's number alone.
    """
    order = rng_of("split", dataset, split).permutation(n)
    return order[: n // 2], order[n // 2 :]


def split_rows(job: Job, data: Dataset, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows: as the data set splits them, else those of `half_split`."""
    if data.rows is not None:
        return data.rows(split)
    return half_split(job.dataset, split, data.X.shape[0])


def inner_rows(job: Job, data: Dataset, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the inner fit and those held out, both of the training rows.

    The fifth is drawn from them by the data set's name and the split's number alone.
    """
    train, _ = split_rows(job, data, split)
    order = rng_of("inner", job.dataset, split).permutation(train)
    held = max(1, len(train) // HELD_OUT_PARTS)
    return order[held:], order[:held]


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds per-point log densities, `pit` and `test_rows`, a row a split.

    Of a joint density `log_density` is that of x and y, `log_density_x` that of x.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for options, evaluations and targets that the estimator lacks."""
        lacks = not hasattr(make_estimator(job, 0), "log_normaliser")
        if job.evaluation == TEST_HALF and lacks:
            raise ValueError(
                f"{job.estimator} has no normaliser to draw for: evaluation {TEST_HALF!r} "
                "is for kernel exponential families"
            )
        if job.target == JOINT and not hasattr(estimator_class(job.estimator), _BY_COLUMN):
            raise ValueError(
                f"{job.estimator} has no {_BY_COLUMN}: target {JOINT!r} is for estimators with a "
                "density of each column given those before, as NADE"
            )
        if job.target == JOINT and job.inner_splits:
            raise ValueError(
                "the inner log likelihood is of y given x, and a joint density has none: "
                f"inner_splits must be 0 for target {JOINT!r}; got {job.inner_splits}"
            )

    def open(self) -> Dataset:
        """Return the data set."""
        return load(self.job.dataset, self.places.data_dir, catalogue=self.places.catalogue)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Send the data to where the estimator computes, once, and fit."""
        job, backend = self.job, self._backend(self.job)
        data = replace(self.data, X=asarray(self.data.X, backend), Y=asarray(self.data.Y, backend))
        fitted, inner = self._fits(data, units, split_rows), self._inner(data, units)

        def work(split: int) -> Outcome:
            found = outcome(job, data, split, backend, *fitted(split))
            row = _row(job, split, backend)
            found.rows.extend(row | cells for cells in inner(split))
            return found

        return work

    def _inner(self, data: Dataset, units: Sequence[int]) -> Callable[[int], list[dict]]:
        """Return a function from a split to the cells of its inner log likelihood, if it has it."""
        job = self.job
        scored = [split for split in units if split < job.inner_splits]
        if not scored:
            return lambda split: []
        fitted = self._fits(data, scored, inner_rows)

        def cells(split: int) -> list[dict]:
            return _inner_cells(job, data, split, *fitted(split)) if split in scored else []

        return cells

    def _fits(self, data: Dataset, splits: Sequence[int], rows_of: Rows) -> Callable:
        job = self.job
        if not self.batch_fits:
            return lambda split: attempt(fit, job, data, split, rows_of)
        return fits(
            job.estimator,
            splits,
            lambda split: fit(job, data, split, rows_of),
            lambda splits: _fit_batch(job, data, splits, rows_of),
        )

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return the row of a split."""
        return [_row(job, unit, self._backend(job)) | {"metric": NLL, "unit": "nats"}]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        return super().info(job) | {"data_sha256": self.data.sha256 if self.data else None}

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return the chosen hyper-parameters and the backend."""
        backend = scores.backends(self.rows(job, outcomes))
        return super().results(job, outcomes) | {"backend": backend}

    def _backend(self, job: Job) -> str:
        return methods.backend_of(make_estimator(job, 0), job.backend)


def make_estimator(job: Job, split: int):
    """Return the unfitted estimator of one split.

    Raises
    ------
    ValueError
        If the class does not know one of the options.
    """
    by_likelihood = job.options.get("selection") == "likelihood"
    return methods.build(
        job.method,
        job.estimator,
        job.options,
        random_state=split_seed(job.dataset, split),
        tuning_rows=job.tuning_rows if by_likelihood else None,
    )


def fit(job: Job, data: Dataset, split: int, rows_of: Rows = split_rows) -> Standardised:
    """Return the fitted model of one split of data that lie where it computes."""
    groups = None if data.groups is None else data.groups[rows_of(job, data, split)[0]]
    model = Standardised(make_estimator(job, split))
    return model.fit(*halves(job, data, split, rows_of)[0], groups)


def _fit_batch(job: Job, data: Dataset, splits: Sequence[int], rows_of: Rows) -> list:
    models = [Standardised(make_estimator(job, split)) for split in splits]
    pairs = [halves(job, data, split, rows_of)[0] for split in splits]
    return Standardised.fit_many(models, *zip(*pairs, strict=True))


def halves(job: Job, data: Dataset, split: int, rows_of: Rows = split_rows) -> tuple[tuple, tuple]:
    """Return (X, Y) of the rows to fit to and of the others, where the data lie.

    Of a joint density X has no columns, and Y has those of x that vary in the former, then y.
    """
    X, Y = data.X, data.Y
    fitted, held = rows_of(job, data, split)
    if job.target == JOINT:
        varying = np.flatnonzero(~_constant(X, fitted))
        Y = array_namespace(Y).concat([take_columns(X, varying), Y], axis=1)
        X = X[:, :0]
    return (take_rows(X, fitted), take_rows(Y, fitted)), (take_rows(X, held), take_rows(Y, held))


def _constant(X, rows: np.ndarray) -> np.ndarray:
    """Return which columns of X are constant in some rows."""
    return np.ptp(to_numpy(take_rows(X, rows)), axis=0) == 0


def outcome(
    job: Job,
    data: Dataset,
    split: int,
    backend: str,
    model,
    seconds: float,
    *,
    calibrated: bool = True,
) -> Outcome:
    """Score a fitted model, by likelihoods alone if not `calibrated`, or report a fit's error."""
    train, test = split_rows(job, data, split)
    row = _row(job, split, backend) | {"n_train": len(train), "n_test": len(test)}
    found, scoring = attempt(_evaluate, job, data, model, split)
    if isinstance(found, Exception):
        return Outcome([row | scores.failed(NLL, found, "nats")], [{}])
    metrics, arrays = found
    row |= {"seconds": seconds + scoring, "dim": data.X.shape[1]}
    dropped = np.flatnonzero(_constant(data.X, train)).tolist()
    chosen = methods.chosen(model.estimator_) | {"dropped": dropped}
    cells, pit = _calibration(job, data, model, split) if calibrated else ([], {})
    cells += _optimum(job, data, model, split) if calibrated else []
    cells = [scores.cell(*metric) for metric in metrics] + cells
    return Outcome([row | cell for cell in cells], [chosen], arrays | pit | {"test_rows": test})


def _evaluate(job: Job, data: Dataset, model: Standardised, split: int):
    """Return (metric, value, unit, stderr) tuples and per-point arrays, for standardised y."""
    X, Y = halves(job, data, split)[1]
    inner, X, Y = model.estimator_, model.transform_x(X), model.transform_y(Y)
    if job.target == JOINT:
        return _by_parts(inner.factor_log_density(X, Y), data.Y.shape[1])
    if not hasattr(inner, "log_normaliser"):
        log_density = to_numpy(inner.log_density(X, Y))
        return [(NLL, -log_density.mean(), "nats", 0.0)], {"log_density": log_density}
    log_f = to_numpy(inner.log_unnormalized(X, Y))
    count = TEST_HALF_DRAWS if job.evaluation == TEST_HALF else job.importance_samples
    drawn = _by_importance(job, inner, X, Y, count, rng_of("importance", job.dataset, split))
    exact = inner.log_normaliser(X, method="quadrature")
    log_z, size = to_numpy(drawn.log_z), to_numpy(drawn.effective_sample_size)
    reference = to_numpy(exact.log_z)
    error = drawn.mean_stderr
    metrics = [
        (NLL, (log_z - log_f).mean(), "nats", error),
        (f"{NLL}_quadrature", (reference - log_f).mean(), "nats", exact.mean_stderr),
        ("importance_error", (log_z - reference).mean(), "nats", error),
        ("effective_sample_size", size.min(), "samples"),
        ("importance_samples", count, "samples"),
        *_training(inner, X),
    ]
    arrays = {
        "log_density": log_f - log_z,
        "log_density_quadrature": log_f - reference,
        "log_z_stderr": to_numpy(drawn.stderr),
        "effective_sample_size": size,
    }
    return metrics, arrays


def _by_parts(log_density: np.ndarray, outputs: int) -> tuple[list[tuple], dict]:
    """Return the scores of a joint density from those of its columns, the last of which are y."""
    of_x = log_density[:, :-outputs].sum(axis=1)
    of_y = log_density[:, -outputs:].sum(axis=1)
    parts = {NLL: of_x + of_y, NLL_X: of_x, NLL_CONDITIONAL: of_y}
    metrics = [(name, -values.mean(), "nats", 0.0) for name, values in parts.items()]
    return metrics, {"log_density": of_x + of_y, "log_density_x": of_x}


def _calibration(job: Job, data: Dataset, model: Standardised, split: int):
    """Return score cells of coverages and CRPS, and F(y|x) of the test rows, if there is an F."""
    if job.target == JOINT or not hasattr(model.estimator_, "cdf"):
        return [], {}
    X, Y = halves(job, data, split)[1]
    inner, X, Y = model.estimator_, model.transform_x(X), model.transform_y(Y)
    found, seconds = attempt(inner.cdf_and_crps, X, Y)
    if isinstance(found, Exception):
        failed = [scores.failed(name, found) for name in (*COVERAGES, CRPS)]
        return [cell | {"seconds": seconds} for cell in failed], {}
    pit, crps = map(to_numpy, found)
    cells = [
        scores.cell(name, np.mean(np.abs(pit - 0.5) <= level / 2))
        for name, level in COVERAGES.items()
    ]
    cells.append(scores.cell(CRPS, crps.mean()))
    return [cell | {"seconds": seconds} for cell in cells], {"pit": pit}


def _optimum(job: Job, data: Dataset, model: Standardised, split: int) -> list[dict]:
    """Return score cells of a training and of the optimum of its objective, for DDE."""
    X, Y = halves(job, data, split)[1]
    return _dde_optimum.cells(model.estimator_, model.transform_x(X), model.transform_y(Y))


def _inner_cells(job: Job, data: Dataset, split: int, model, seconds: float) -> list[dict]:
    """Return the score cells of the inner log likelihood of a fitted model or a failed fit."""
    row = {"seconds": seconds, "dim": data.X.shape[1]}
    found, scoring = attempt(_inner_log_likelihood, job, data, model, split)
    if isinstance(found, Exception):
        return [row | scores.failed(INNER_LOG_LIKELIHOOD, found, "nats")]
    value, stderr, n_train, n_test = found
    row |= {"seconds": seconds + scoring, "n_train": n_train, "n_test": n_test}
    return [row | scores.cell(INNER_LOG_LIKELIHOOD, value, "nats", stderr)]


def _inner_log_likelihood(job: Job, data: Dataset, model: Standardised, split: int) -> tuple:
    """Return the mean log density of the held-out rows, its standard error, and numbers of rows."""
    (X_fitted, _), (X, Y) = halves(job, data, split, inner_rows)
    scale = to_numpy(halves(job, data, split)[0][1]).std(axis=0)
    log_density = to_numpy(model.log_density(X, Y)) + np.log(scale).sum()
    error = log_density.std() / np.sqrt(len(log_density))
    return log_density.mean(), error, X_fitted.shape[0], X.shape[0]


def _by_importance(job: Job, inner, X, Y, count: int, rng: np.random.Generator) -> Normaliser:
    """Estimate log Z at X from draws that all x share.

    The authors of dde used separate draws for each test point, with the same error distribution.
    """
    if job.evaluation != TEST_HALF:
        return inner.log_normaliser(X, method="importance", n_samples=count, rng=rng)
    labels = to_numpy(Y)
    proposal = GaussianProposal(labels.mean(axis=0), labels.std(axis=0))
    return importance_sampling(inner.log_unnormalized_at, X, proposal, count, rng)


def _training(inner, X) -> list[tuple]:
    """Return how the training went, of estimators that keep a history; the worst test x."""
    history = getattr(inner, "history_", None)
    if history is None:
        return []
    proposed = to_numpy(inner.log_normaliser(X, method="sampler").effective_sample_size)
    return [
        ("iterations", inner.iterations_, "iterations"),
        ("objective", history["objective"][-1], "nats"),
        ("mmd2_biased", history["mmd2_biased"][-1], ""),
        ("sampler_effective_sample_size", proposed.min(), "samples"),
    ]


def _row(job: Job, split: int, backend: str) -> dict:
    return job.row(split, backend=backend, seed=split_seed(job.dataset, split))
