"""KCEF under every reading of the grid that kcef, table 1, leaves open.

The paper states a 20 × 20 grid over λ and one σ, and neither its ranges nor the folds. Each reading
is a grid and a number of folds of its own; splits, standardisation, fits and likelihoods are those
of `r_benchmark`. What the grids share is computed once a split: the scores of all σ, λ and folds,
and the fit of each pair that any reading chooses.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sklearn.base import BaseEstimator

from kcde import scores
from kcde.arrays import asarray
from kcde.data.loaders import Dataset
from kcde.estimators import KCEF, Standardised
from kcde.estimators.kcef import Hyperparameters, ScoreGrid, choose_from_grids
from kcde.experiments import r_benchmark
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.table1_readings import READINGS, Job, Reading
from kcde.experiments.runner import attempt
from kcde.metrics.names import NLL, NLL_QUADRATURE
from kcde.selection import log_grid

METRICS = (NLL, NLL_QUADRATURE)
POINTS = 20


def setting(reading: Reading) -> str:
    """Return the setting of the rows of a reading."""
    return scores.setting(**reading._asdict())


def grid(reading: Reading) -> ScoreGrid:
    """Return the candidates of a reading, 20 of σ and of λ as the paper states."""
    ends = reading.sigma, reading.regularization
    return ScoreGrid(*(log_grid(*each, POINTS) for each in ends), reading.folds)


class Choices(BaseEstimator):
    """An estimator that is fitted by choosing, for `Standardised` to give it its rows.

    Parameters
    ----------
    model
        KCEF, unfitted.
    grids
        Those that it chooses from.

    Attributes
    ----------
    chosen_
        For each grid the choice, or the error in its place.
    """

    def __init__(self, model: KCEF, grids: Sequence[ScoreGrid]):
        self.model = model
        self.grids = grids

    def fit(self, X, Y) -> "Choices":
        """Choose from each grid on X (n, d_x), Y (n, 1)."""
        self.chosen_ = choose_from_grids(self.model, X, Y, self.grids)
        self.n_features_in_ = X.shape[1]
        return self


class Experiment(r_benchmark.Experiment):
    """Rows of each reading, split and likelihood; no arrays."""

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown options, and for what chooses no σ and λ by score."""
        made = r_benchmark.make_estimator(_of_benchmark(job), 0)
        given = [name for name in Hyperparameters._fields if getattr(made, name, None) is not None]
        if type(made) is not KCEF or made.selection != "score" or given:
            raise ValueError(
                f"method {job.method} searches no grid of σ and λ: the readings are for KCEF with "
                "the selection 'score' and neither bandwidths nor λ given"
            )

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Send the data to where the estimator computes, and return what is done for a split."""
        job, backend = self.job, self._backend(self.job)
        data = replace(self.data, X=asarray(self.data.X, backend), Y=asarray(self.data.Y, backend))
        return lambda split: outcome(job, data, split, backend)

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return a row for each reading of a split."""
        rows = super().not_run(_of_benchmark(job), unit)
        return [_under(job, reading, row) for reading in READINGS for row in rows]

    def _backend(self, job) -> str:
        return super()._backend(_of_benchmark(job))


def outcome(job: Job, data: Dataset, split: int, backend: str) -> Outcome:
    """Choose under every reading, and fit and score each pair that was chosen once."""
    benchmark = _of_benchmark(job)
    chooser = Choices(r_benchmark.make_estimator(benchmark, split), list(map(grid, READINGS)))
    train, _ = r_benchmark.halves(benchmark, data, split)
    fitted, seconds = attempt(Standardised(chooser).fit, *train)
    choices = [fitted] * len(READINGS)
    if not isinstance(fitted, Exception):
        choices = fitted.estimator_.chosen_
    scored: dict[object, list[dict]] = {}
    rows, chosen = [], []
    for reading, choice in zip(READINGS, choices, strict=True):
        key = _rounded(choice)
        if key not in scored:
            scored[key] = _score(benchmark, data, split, backend, choice)
        rows += [_under(job, reading, row) for row in scored[key]]
        chosen.append({"reading": f"{reading}", "split": split} | _named(choice))
    share = seconds / len(rows)
    return Outcome([row | {"seconds": row.get("seconds", 0.0) + share} for row in rows], chosen)


def _of_benchmark(job: Job) -> r_benchmark.Job:
    """Return the job of `r_benchmark` with the same data, splits and likelihoods."""
    return r_benchmark.Job(
        job.dataset,
        job.method,
        job.estimator,
        variant=job.variant,
        options=job.options,
        backend=job.backend,
        splits=job.splits,
        importance_samples=job.importance_samples,
    )


def _score(job: r_benchmark.Job, data: Dataset, split: int, backend: str, choice) -> list[dict]:
    """Return the rows of one choice, or of the error in its place."""
    fitted = choice, 0.0
    if not isinstance(choice, Exception):
        job = replace(job, options={**job.options, **choice._asdict()})
        fitted = attempt(r_benchmark.fit, job, data, split)
    rows = r_benchmark.outcome(job, data, split, backend, *fitted, calibrated=False).rows
    return [row for row in rows if row["metric"] in METRICS]


def _under(job: Job, reading: Reading, row: dict) -> dict:
    return row | {"experiment": job.experiment, "setting": setting(reading)}


def _rounded(choice) -> object:
    """Return what identifies a choice: values of two grids may differ by rounding."""
    if isinstance(choice, Exception):
        return f"{choice}"
    return f"{choice.bandwidth_x:.9g}", f"{choice.regularization:.9g}"


def _named(choice) -> dict:
    if isinstance(choice, Exception):
        return {}
    return {"bandwidth": float(choice.bandwidth_x), "regularization": float(choice.regularization)}
