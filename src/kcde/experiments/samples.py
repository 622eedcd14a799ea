"""Samples of joint densities compared with data: kcef, figures 2 and 4 and table 3.

The model of run 0 is fitted, once a job or shard, also where jobs that run together sample it in
several ways; each seed gives 2000 samples.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kcde import scores
from kcde.arrays import asarray
from kcde.experiments import joint, methods, runner
from kcde.experiments._problems import Problem, open_problem
from kcde.experiments._samplers import sampler_kind, sampler_of
from kcde.experiments.factors import estimator_of, graph_label
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.samples import SHOWN_PAIR, Job
from kcde.experiments.runner import attempt
from kcde.joint import JointDensity, parents
from kcde.metrics import conditional_spread
from kcde.seeding import rng_of, seed_of

METRIC = "samples"
REFERENCE = 1000
"""Data points that the samples of each seed are compared with (kcef, figure 4)."""

RUN = 0


@dataclass(frozen=True)
class _Pair(Problem):
    """The two shown columns of a problem: its rows, runs and seeds, and no other column."""

    whole: Problem = field(kw_only=True)

    def rows(self, run: int) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test rows in original units."""
        columns = _columns(self.whole.shown_pair)
        train, test = self.whole.rows(run)
        return train[:, columns], test[:, columns]

    def description(self) -> dict:
        """Return the description of the data, with the places of the pair among all columns."""
        return super().description() | {"places": list(self.whole.shown_pair)}


def _pair_of(whole: Problem) -> _Pair:
    shown = [whole.columns[column] for column in _columns(whole.shown_pair)]
    others = {name: "not of the shown pair" for name in whole.columns if name not in shown}
    return _Pair(
        whole.name,
        tuple(shown),
        removed=whole.removed | others,
        sha256=whole.sha256,
        identity=whole.identity,
        whole=whole,
    )


def _columns(nodes: Sequence[int]) -> list[int]:
    """Return columns counted from 0."""
    return [node - 1 for node in nodes]


class _Data(NamedTuple):
    """The problem, and hyper-parameters of each factor, or None if they are selected here."""

    problem: Problem
    known: list[dict] | None


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds, in standardised units, `samples` (seeds, n, d), `reference` (seeds, 1000,
    d), rows drawn from all data, and `reference_test`, the test rows.
    """

    batch_fits = False

    def check(self, job: Job) -> None:
        """Raise `ValueError` for unknown options, samplers and factors that a job cannot use."""
        _kind(job)
        if job.factors and job.columns == SHOWN_PAIR:
            raise ValueError(
                "the factors of --factors are of all columns: a model of the shown pair selects "
                "its own hyper-parameters; leave --factors out"
            )

    def open(self) -> _Data:
        """Return the problem, and what factors chose where some are given."""
        job, places = self.job, self.places
        problem = open_problem(job.dataset, places.data_dir, places.catalogue, job.max_dim)
        if job.columns == SHOWN_PAIR:
            problem = _pair_of(problem)
        if job.graph is not None:
            parents(job.graph, problem.dim)
        return _Data(problem, _chosen_by(job, job.factors) if job.factors else None)

    def begin(self, units: Sequence[int]) -> Callable[[int], list[Outcome]]:
        """Fit, once for jobs with the same model, and return what draws under a seed."""
        split, known, problem = self.data.problem.split(RUN), self.data.known, self.data.problem
        train, models, draws = asarray(split.train, self._backend(self.job)), {}, []
        for job in self.jobs:
            what = job.estimator, json.dumps(job.options, sort_keys=True)
            if what not in models:
                models[what], _ = attempt(fit, job, problem, train, known)
            draws.append(attempt(sampler_of, models[what], _kind(job), train, job.samples)[0])

        def work(seed: int) -> list[Outcome]:
            reference = _reference(problem, split, seed)
            return [
                self._outcome(job, draw, split, reference, seed)
                for job, draw in zip(self.jobs, draws, strict=True)
            ]

        return work

    def _outcome(
        self, job: Job, draw: Callable, split, reference: np.ndarray, seed: int
    ) -> Outcome:
        """Return the samples of a job under a seed, with what is measured of them."""
        problem = self.data.problem
        sizes = {"n_train": len(split.train), "n_test": len(split.test), "dim": problem.dim}
        row = _row(job, problem.identity, seed, self._backend(job)) | sizes
        found, _ = attempt(_drawn, job, problem, draw, reference, seed)
        if isinstance(found, Exception):
            return Outcome([row | scores.failed(METRIC, found)])
        samples, measured = found
        cells = [scores.cell(*each) for each in measured]
        return Outcome([row | cell for cell in cells], arrays={"samples": samples})

    def not_run(self, job: Job, unit: int) -> list[dict]:
        """Return the row of a seed."""
        return [_row(job, job.dataset, unit, self._backend(job)) | {"metric": METRIC}]

    def info(self, job: Job) -> dict:
        """Return the information on a job that is known before it runs."""
        info = super().info(job)
        info["job"] |= {"graph": None if job.graph is None else graph_label(job.graph)}
        return info | (self.data.problem.description() if self.data else {})

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return nothing: the factors state what they chose."""
        return {}

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the samples, NaN where a seed failed, and the data to compare with."""
        problem = self.data.problem
        split = problem.split(RUN)
        blank = np.full((job.samples, problem.dim), np.nan)
        return {
            "reference": np.stack([_reference(problem, split, seed) for seed in range(job.seeds)]),
            "reference_test": split.test,
            "samples": np.stack([each.arrays.get("samples", blank) for each in outcomes]),
        }

    def identity(self) -> dict:
        """Return the information that the parts of a job share, with the factors' choices."""
        return super().identity() | {"known": self.data.known if self.data else None}

    def _backend(self, job: Job) -> str:
        return methods.backend_of(estimator_of(job, 0), job.backend)


def _kind(job: Job) -> str:
    """Return how a job samples."""
    graph = job.graph is not None
    return sampler_kind(estimator_of(job, 0), job.method, job.sampler, of_graph=graph)


def _drawn(job: Job, problem: Problem, draw: Callable, reference: np.ndarray, seed: int) -> tuple:
    """Return the samples of a seed, and (metric, value, unit) of them."""
    result = draw(job.samples, rng_of("samples", problem.identity, job.method, seed))
    spread = _spread(result.samples, reference, problem.shown_pair)
    return result.samples, [
        (name, value, "samples" if name.startswith("effective") else "")
        for name, value in (result.diagnostics | spread).items()
    ]


def fit(job: Job, problem: Problem, train, known: Sequence[Mapping] | None = None):
    """Return the fitted model of a job.

    Parameters
    ----------
    job
        Job whose model is fitted.
    problem
        Names the seeds.
    train
        Standardised rows, shape (n, d), on the backend.
    known
        Hyper-parameters of each factor; None: they are selected.

    Returns
    -------
    JointDensity, or the estimator itself where the job has no graph
    """
    estimator = estimator_of(job, problem.seed(RUN))
    if job.graph is None:
        return estimator.fit(None, train)
    if known is None:
        return JointDensity(estimator, job.graph).fit(None, train)
    names = estimator.get_params(deep=False)
    each = []
    for chosen in known:
        given = {name: value for name, value in chosen.items() if name in names}
        each.append(estimator_of(job, problem.seed(RUN)).set_params(**given))
    return JointDensity(each, job.graph).fit(None, train)


def _spread(samples: np.ndarray, reference: np.ndarray, pair: tuple[int, int]) -> dict[str, float]:
    columns = _columns(pair)
    return conditional_spread(samples[:, columns], reference[:, columns]).in_median_bin()


def _reference(problem: Problem, split, seed: int) -> np.ndarray:
    """Return up to 1000 rows of all data, without repetition; the same for every method."""
    rows = np.concatenate([split.train, split.test])
    order = rng_of("reference", problem.identity, seed).permutation(len(rows))
    return rows[order[:REFERENCE]]


def _chosen_by(job: Job, files: Sequence[Path]) -> list[dict]:
    """Return the choices of the factor jobs in run 0, in the order of the nodes."""
    factors = joint.read(files)
    theirs = factors.info["job"]
    ours = {"dataset": job.dataset, "estimator": job.estimator, "options": dict(job.options)}
    ours["graph"] = None if job.graph is None else graph_label(job.graph)
    if differing := [name for name in ours if theirs[name] != json.loads(json.dumps(ours[name]))]:
        name = differing[0]
        raise ValueError(
            f"the factors in {files[0]} are of {name} {theirs[name]!r}, not {ours[name]!r}; "
            "give those of the same method"
        )
    chosen = [each for info in factors.infos for each in info["chosen"] if each["run"] == RUN]
    return sorted(chosen, key=lambda each: each["node"])


def _row(job: Job, identity: str, seed: int, backend: str) -> dict:
    """Return a row with the seed of the samples, which is that of the data set, not of an alias."""
    number = seed_of("samples", identity, job.method, seed) % 2**32
    return job.row(seed, backend=backend, seed=number)
