"""Comparison of two samplers with the data: kcef, table 3.

For each seed the relative similarity test of the hypothesis that the rival is at least as close as
KCEF: a small p-value says that KCEF is closer. Beside it stands how well the Markov chains mixed
that made the samples.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kcde import scores
from kcde.arrays import asarray, resolve_backend
from kcde.experiments import runner
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.similarity import Job
from kcde.experiments.runner import attempt
from kcde.metrics import RelativeSimilarity, median_bandwidth, relative_similarity_test
from kcde.metrics.names import DIVERGENCE_RATE, P_VALUE, R_HAT
from kcde.names import EXACT_DRAWS

VARIANTS = ("as-published", "test-rows", "slice")
"""Against rows of all data; against the test rows; against rows of all data, shown pair only."""

_FILES = ("ours", "rival", "ours_exact", "rival_exact")
_OF_CHAINS = (R_HAT, DIVERGENCE_RATE)


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds `<variant>/statistic`, `<variant>/mmd2_ours`, `<variant>/mmd2_rival` and
    `<variant>/bandwidth`, one value a seed.
    """

    def check(self, job: Job) -> None:
        """Raise `ValueError` for a better sampled rival of nothing."""
        if job.rival_exact is not None and job.ours_exact is None:
            raise ValueError(
                "--rival-exact is compared with --ours-exact: give --ours-exact as well"
            )

    def open(self) -> dict[str, list["_Samples"]]:
        """Return our samples and the rival's by variant, all of the same data and seeds."""
        job = self.job
        given = (job.ours, job.rival, job.ours_exact, job.rival_exact)
        samples = {path: _Samples(path) for path in given if path is not None}
        ours, rival = samples[job.ours], samples[job.rival]
        for other in samples.values():
            if ours.dataset != other.dataset or ours.seeds != other.seeds:
                raise ValueError(
                    f"{ours.path} holds {ours.seeds} seeds of {ours.dataset}, {other.path} "
                    f"{other.seeds} of {other.dataset}; run both with the same data set and seeds"
                )
        pairs = {variant: [ours, rival] for variant in VARIANTS}
        if job.ours_exact is None:
            return pairs
        better = samples[job.rival_exact or job.rival]
        return {**pairs, EXACT_DRAWS: [samples[job.ours_exact], better]}

    def count(self) -> int:
        """Return the number of variants of the test, each of all seeds."""
        return len(self.data)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that tests all seeds with a variant."""
        job, variants, backend = self.job, list(self.data), resolve_backend(self.job.backend)
        hypothesis = f"H0: {job.rival_name} closer than {job.our_name}"

        def work(unit: int) -> Outcome:
            variant = variants[unit]
            pair = self.data[variant]
            tests = [_test(pair, variant, seed, backend) for seed in range(pair[0].seeds)]
            rows = [
                _row(job, pair[0], hypothesis, variant, seed) | {"backend": backend} | row
                for seed, (found, _) in enumerate(tests)
                for row in [found, *_mixing(pair, seed)]
            ]
            values = np.array([numbers for _, numbers in tests])
            names = ("statistic", "mmd2_rival", "mmd2_ours", "bandwidth")
            arrays = {f"{variant}/{name}": values[:, k] for k, name in enumerate(names)}
            return Outcome(rows, arrays=arrays)

        return work

    def info(self, job: Job) -> dict:
        """Return whose samples were compared."""
        files = {name: getattr(job, name) for name in _FILES}
        return {name: str(file) for name, file in files.items() if file} | {"code": self.code(job)}

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return nothing: nothing is chosen."""
        return {}

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the statistics of each variant."""
        return {name: array for each in outcomes for name, array in each.arrays.items()}


class _Samples:
    """Scores and samples of one `run samples`."""

    def __init__(self, path: Path):
        self.path = Path(path).with_suffix(".csv")
        self.frame = scores.read([self.path])
        self.dataset = self.frame["dataset"].iloc[0]
        self.seeds = self.frame["split"].nunique()
        self.info = json.loads(self.path.with_suffix(".json").read_text())
        with np.load(self.path.with_suffix(".npz")) as arrays:
            self.arrays = {name: arrays[name] for name in arrays}

    def obstacle(self, seed: int) -> tuple[str, str] | None:
        """Return the status and the reason where there are no samples of a seed."""
        of_seed = self.frame[(self.frame["split"] == seed) & (self.frame["metric"] == "samples")]
        if of_seed.empty:
            return None
        return of_seed["status"].iloc[0], f"{self.path.stem}: {of_seed['detail'].iloc[0]}"

    def stated(self, metric: str, seed: int) -> list[float]:
        """Return the value of a metric of a seed, in a list that is empty without one."""
        rows = self.frame[(self.frame["split"] == seed) & (self.frame["metric"] == metric)]
        return rows["value"].tolist()


def _test(
    pair: list[_Samples], variant: str, seed: int, backend: str
) -> tuple[dict, tuple[float, ...]]:
    """Return the status and value of a row, and statistic, both MMD² and the bandwidth."""
    for each in pair:
        if obstacle := each.obstacle(seed):
            return dict(zip(("status", "detail"), obstacle, strict=True)), (np.nan,) * 4
    result, _ = attempt(_relative_similarity, pair, variant, seed, backend)
    if isinstance(result, Exception):
        return scores.failed(P_VALUE, result), (np.nan,) * 4
    found, bandwidth = result
    numbers = (found.statistic, found.mmd2_a, found.mmd2_b, bandwidth)
    return {"value": found.p_value}, numbers


def _mixing(pair: list[_Samples], seed: int) -> list[dict]:
    """Return what is worse of the chains of both: nothing where both are drawn without chains."""
    worst = {name: [v for each in pair for v in each.stated(name, seed)] for name in _OF_CHAINS}
    return [scores.cell(name, np.max(found), "") for name, found in worst.items() if found]


def _relative_similarity(
    pair: list[_Samples], variant: str, seed: int, backend: str
) -> tuple[RelativeSimilarity, float]:
    ours, rival = (each.arrays["samples"][seed] for each in pair)
    arrays = pair[0].arrays
    reference = arrays["reference_test"] if variant == "test-rows" else arrays["reference"][seed]
    if variant == "slice":
        columns = [node - 1 for node in pair[0].info["shown_pair"]]
        reference, ours, rival = (rows[:, columns] for rows in (reference, ours, rival))
    bandwidth = median_bandwidth(reference, rival, ours)
    # The null hypothesis of the test is that its first candidate is at least as close.
    there = (asarray(rows, backend) for rows in (reference, rival, ours))
    return relative_similarity_test(*there, bandwidth), bandwidth


def _row(job: Job, ours: _Samples, hypothesis: str, variant: str, seed: int) -> dict:
    first = ours.frame[ours.frame["split"] == seed].iloc[0]
    sizes = {name: first[name] for name in ("dim", "n_train", "n_test")}
    named = {"dataset": ours.dataset, "method": hypothesis, "variant": variant}
    return job.row(seed, **named, **sizes, metric=P_VALUE, unit="")
