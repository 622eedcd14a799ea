"""Comparison of two samplers with the data: kcef, table 3.

For each seed the relative similarity test of the hypothesis that the rival is at least as close as
KCEF: a small p-value says that KCEF is closer. Beside it stands how well the Markov chains mixed
that made the samples.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kcde import scores
from kcde.arrays import asarray, resolve_backend
from kcde.experiments.base import Experiment, Outcome, attempt, parameter
from kcde.experiments.samples import METRIC
from kcde.metrics import DIVERGENCE_RATE, P_VALUE, R_HAT, median_bandwidth, relative_similarity_test
from kcde.names import EXACT_DRAWS

# Against rows of all data; against the test rows; against rows of all data, shown pair only.
VARIANTS = ("as-published", "test-rows", "slice")

# What is compared with a rival that models the shown pair alone; with the others KCEF-F.
_PAIRS = {"KEF-pair": "KCEF-F-pair", "NADE-pair": "KCEF-F-pair"}

# The same density as a rival's, sampled better.
_BETTER = {"KEF": "KEF-adapted", "KEF-pair": "KEF-pair-adapted"}


class _Samples:
    """Scores and samples of one job of `samples`."""

    def __init__(self, path: Path):
        self.path, self.frame = path, scores.read([path])
        self.pair = scores.information(path)["shown_pair"]
        self.arrays = scores.arrays_beside(path)

    def of(self, metric: str, seed: int):
        """Return the rows of a metric under a seed: none or one."""
        return self.frame[(self.frame["split"] == seed) & (self.frame["metric"] == metric)]


@dataclass(frozen=True)
class Similarity(Experiment):
    """For each seed, whether KCEF's samples are closer to the data than a rival's, the method."""

    name = "similarity"
    datasets = ("parkinsons", "red-wine")
    methods = ("KEF", "NADE", "KEF-grouped")
    only = {"KEF-grouped": ("red-wine",)}
    smoke = ("smoke-joint",)

    dataset: str = parameter(help="A data set of the catalogue.", kw_only=False)
    method: str = parameter(help="The method compared with.", kw_only=False)
    backend: str = parameter("auto", "auto, numpy or cupy.")

    @classmethod
    def needs(cls, dataset: str, method: str) -> list[tuple[str, str, str]]:
        """Return the jobs of our samples and the rival's, then of both drawn exactly or better."""
        ours = _PAIRS.get(method, "KCEF-F")
        compared = (ours, method, f"{ours}-inverse", _BETTER.get(method, method))
        return [("samples", dataset, each) for each in compared]

    def open(self) -> dict[str, list[_Samples]]:
        """Return our samples and the rival's by variant."""
        if len(self.files) != 4:
            raise ValueError(f"give --files of {self.needs(self.dataset, self.method)}, in order")
        each = [_Samples(path) for path in self.files]
        return dict.fromkeys(VARIANTS, each[:2]) | {EXACT_DRAWS: each[2:]}

    def count(self) -> int:
        """Return the number of variants of the test, each of all seeds."""
        return len(self.data)

    def outcome(self, unit: int) -> Outcome:
        """Test all seeds with a variant."""
        (variant, pair), backend = [*self.data.items()][unit], resolve_backend(self.backend)
        named = {"dataset": self.dataset, "method": f"H0: {self.method} closer than KCEF"}
        named |= {"metric": P_VALUE, "unit": "", "variant": variant, "backend": backend}
        rows = []
        sizes = pair[0].frame.groupby("split")[["dim", "n_train", "n_test"]].first()
        for seed, first in sizes.iterrows():
            row = self.row(seed, **named) | first.to_dict()
            tested = _test(pair, variant, seed, backend)
            rows += [row | each for each in (tested, *_mixing(pair, seed))]
        return Outcome(rows)


def _test(pair: list[_Samples], variant: str, seed: int, backend: str) -> dict:
    """Return the status and value of a row."""
    for each in pair:
        if not (failed := each.of(METRIC, seed)).empty:
            return {"status": "failed", "detail": f"{each.path.stem}: {failed['detail'].iloc[0]}"}

    def compared() -> float:
        ours, rival = (each.arrays["samples"][seed] for each in pair)
        arrays = pair[0].arrays
        data = arrays["reference_test"] if variant == "test-rows" else arrays["reference"][seed]
        if variant == "slice":
            columns = [node - 1 for node in pair[0].pair]
            data, ours, rival = (rows[:, columns] for rows in (data, ours, rival))
        bandwidth = median_bandwidth(data, rival, ours)
        # The null hypothesis of the test is that its first candidate is at least as close.
        there = (asarray(rows, backend) for rows in (data, rival, ours))
        return relative_similarity_test(*there, bandwidth).p_value

    found, _ = attempt(compared)
    if isinstance(found, Exception):
        return scores.failed(P_VALUE, found)
    return {"value": found}


def _mixing(pair: list[_Samples], seed: int) -> list[dict]:
    """Return what is worse of the chains of both: nothing where both are drawn without chains."""
    cells = []
    for name in (R_HAT, DIVERGENCE_RATE):
        if found := [value for each in pair for value in each.of(name, seed)["value"]]:
            cells.append(scores.cell(name, np.max(found)))
    return cells
