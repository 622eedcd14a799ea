"""Samples of joint densities compared with data: kcef, figures 2 and 4 and table 3.

The model of run 0 is fitted, once a job or shard, also where jobs that run together sample it in
several ways; each seed gives 2000 samples.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator

from kcde import scores
from kcde.arrays import asarray
from kcde.experiments import methods
from kcde.experiments.base import ArrayExperiment, Outcome, attempt, parameter, sized
from kcde.experiments.factors import Problem, ProblemExperiment, Split, information, jobs_of
from kcde.joint import JointDensity, sampler_kind, sampler_of
from kcde.methods import METHODS, Method
from kcde.metrics import conditional_spread
from kcde.seeding import rng_of, row_seed

METRIC = "samples"
REFERENCE = 1000  # data points that those of each seed are compared with (kcef, figure 4)
RUN = 0
SHOWN_PAIR = "shown-pair"


@dataclass(frozen=True)
class Samples(ProblemExperiment, ArrayExperiment):
    """A joint density fitted to the rows of run 0, and samples of it, once a seed.

    The `.npz` holds, in standardised units, `samples` (seeds, n, d), `reference` (seeds, 1000, d),
    rows drawn from all data, and `reference_test`, the test rows. Methods that end in -inverse draw
    every column by inverting its distribution function, -adapted: by chains of one step size and
    metric, both from the same fit; of KEF-grouped copies of a row are in one fold.
    """

    name = "samples"
    datasets = ("red-wine", "parkinsons")
    methods = ("KCEF-F", "KEF", "NADE", "KCEF-F-inverse", "KCEF-LL-F-inverse")
    methods += ("KEF-adapted", "KEF-grouped")
    only = {"KEF-grouped": ("red-wine",)}  # the other has no copies of rows
    smoke = ("smoke-joint",)
    together = (("KCEF-F", "KCEF-F-inverse"), ("KEF", "KEF-adapted"))
    repeated = ("seeds",)

    # One model of all columns by default.
    graph: str | list | None = parameter(None, "full, markov, or JSON parents from 0.")
    # Those that are fitted and sampled: all, or the two that the figures show.
    columns: str = parameter("all", "all, or shown-pair.", choices=("all", SHOWN_PAIR))
    seeds: int = sized(2, 10, 10, "How often samples are drawn.", at_least=1)
    samples: int = sized(400, 2000, 2000, "Samples of each seed.", at_least=2)

    @classmethod
    def options_of(cls, method: Method, dataset: str) -> dict:
        """Return the constructor arguments: those of one model where there is no graph."""
        return method.options_for("" if method.graph else "joint", dataset)

    @classmethod
    def needs(cls, dataset: str, method: str) -> list[tuple[str, str, str]]:
        """Return the jobs that choose the hyper-parameters of the factors of all columns."""
        defined = METHODS[method]
        of_factors = defined.graph is not None and defined.columns != SHOWN_PAIR
        return jobs_of(dataset, method) if of_factors else []

    def open(self) -> Problem:
        """Return the problem, of all columns or the shown pair, with the runs and seeds of all."""
        whole = super().open()
        if self.columns == "all":
            return whole
        places = [node - 1 for node in whole.shown_pair]

        def rows(run: int) -> tuple:
            return tuple(every[:, places] for every in whole.rows(run))

        columns = tuple(whole.columns[place] for place in places)
        shown = {"shown_pair": (1, 2), "places": whole.shown_pair}
        return replace(whole, columns=columns, rows=rows, **shown)

    @cached_property
    def known(self) -> list[dict] | None:
        """Hyper-parameters of each factor; None if they are selected here."""
        chosen = information(self.files)["chosen"] if self.files else []
        return [each for each in chosen if each["run"] == RUN] or None

    @classmethod
    def begin_together(cls, jobs: "list[Samples]") -> Callable[[int], list]:
        """Fit, once for jobs with the same model, and return what draws under a seed."""
        problem, known = jobs[0].data, jobs[0].known
        split = problem.split(RUN)
        train, models, draws = asarray(split.train, jobs[0]._on()), {}, []
        for job in jobs:
            what = job.estimator, json.dumps(job.options, sort_keys=True)
            if what not in models:
                models[what], _ = attempt(fit, job, problem, train, known)
            kind = sampler_kind(job.unfitted(0), job.method)
            draws.append(attempt(sampler_of, models[what], kind, train, job.samples)[0])

        def work(seed: int) -> list[Outcome]:
            reference = _reference(problem, split, seed)
            each = zip(jobs, draws, strict=True)
            return [job._outcome(draw, split, reference, seed) for job, draw in each]

        return work

    def _outcome(self, draw: Callable, split: Split, reference: np.ndarray, seed: int) -> Outcome:
        """Return the samples under a seed, with what is measured of them."""
        problem = self.data
        key = ("samples", problem.identity, self.method, seed)
        # The seed is that of the data set, not of an alias.
        row = self.row(seed, backend=self._on()) | problem.sizes(RUN, split)
        row["seed"] = row_seed(*key)

        def drawn(draw: Callable) -> tuple:
            result = draw(self.samples, rng_of(*key))
            pair = [node - 1 for node in problem.shown_pair]
            spread = conditional_spread(result.samples[:, pair], reference[:, pair]).in_median_bin()
            data = np.concatenate([split.train, split.test])[:, pair]
            rng = rng_of("floor", problem.identity, seed)
            floor = _floor(data, reference[:, pair], self.samples, rng)
            return result.samples, result.diagnostics | spread | floor

        found, _ = attempt(drawn, draw)
        if isinstance(found, Exception):
            return Outcome([row | scores.failed(METRIC, found)])
        samples, measured = found
        units = {name: "samples" * name.startswith("effective") for name in measured}
        cells = scores.cells(units, measured.values())
        return Outcome([row | cell for cell in cells], arrays={"samples": samples})

    def info(self) -> dict:
        """Return the information on the job that is known before it runs."""
        return super().info() | self.data.description() | {"known": self.known}

    def arrays(self, outcomes: list[Outcome]) -> dict[str, np.ndarray]:
        """Return the samples, NaN where a seed failed, and the data to compare with."""
        problem = self.data
        split = problem.split(RUN)
        blank = np.full((self.samples, problem.dim), np.nan)
        samples = np.stack([each.arrays.get("samples", blank) for each in outcomes])
        reference = np.stack([_reference(problem, split, seed) for seed in range(self.seeds)])
        return {"reference": reference, "reference_test": split.test, "samples": samples}

    def _on(self) -> str:
        return methods.backend_of(self.unfitted(0), self.backend)


def fit(job: Samples, problem: Problem, train, known: list[dict] | None = None):
    """Return the fitted `JointDensity`, or the estimator itself where the job has no graph.

    `known`: hyper-parameters of each factor; None: they are selected.
    """
    estimator = job.unfitted(problem.seed(RUN))
    if job.graph is None:
        return estimator.fit(None, train)
    if known is not None:
        names = estimator.get_params(deep=False)
        given = [{name: chosen[name] for name in chosen if name in names} for chosen in known]
        estimator = [job.unfitted(problem.seed(RUN)).set_params(**chosen) for chosen in given]
    return JointDensity(estimator, job.graph).fit(None, train)


def _floor(data: np.ndarray, reference: np.ndarray, count: int, rng: Generator) -> dict:
    """Return the errors of rows drawn from the data with repetition: medians of 100 draws."""
    rows = (data[rng.integers(len(data), size=count)] for _ in range(100))
    errors = [conditional_spread(drawn, reference).in_median_bin() for drawn in rows]
    return {f"{name}_floor": np.median([each[name] for each in errors]) for name in errors[0]}


def _reference(problem: Problem, split: Split, seed: int) -> np.ndarray:
    """Return up to 1000 rows of all data, without repetition; the same for every method."""
    rows = np.concatenate([split.train, split.test])
    return rows[rng_of("reference", problem.identity, seed).permutation(len(rows))[:REFERENCE]]
