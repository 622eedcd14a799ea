"""What the unknown law of the random correlations does to the order of the methods of jdl.

The paper draws correlation matrices by their logarithm's off-diagonal and does not say from which
law; `config.yaml` takes independent normal elements with standard deviation 1. Here 0.1 and 0.3
stand beside it: the means over 20 matrices of the loss (40) at n = 10⁴, all else as in figure 1.

Run: python benchmarks/correlation_law.py (three minutes on one core)
"""

import tempfile
from itertools import product
from pathlib import Path

import timing

from kcde import scores
from kcde.artefacts.jdl._curves import by_repetition, tidy
from kcde.experiments import moments
from kcde.experiments.runner import run
from kcde.metrics import names

STANDARD_DEVIATIONS = (0.1, 0.3, 1.0)
DIMENSIONS = (1, 2)
ROWS, REPETITIONS = 10_000, 20


def measure(dim: int, gamma_std: float, folder: Path) -> list[dict]:
    """Return a row a method and limit."""
    common = {"dataset": f"gaussian-{dim}-{ROWS}", "repetitions": REPETITIONS}
    common |= {"gamma_std": gamma_std}
    both = [moments.Job(method=name, estimator=name, **common) for name in ("JDL", "CME")]
    alone = [moments.Job(method="JPDL", estimator="JPDL", options={"degree": 4}, **common)]
    found = []
    for jobs in (both, alone):
        outs = [folder / f"{job.method}-{dim}-{gamma_std:g}.csv" for job in jobs]
        run(jobs, outs)
        found += outs
    tidied = tidy(scores.read(found))

    def loss(name: str, constrained: bool) -> str:
        table = by_repetition(tidied, names.SECOND_MOMENT_LOSS, name, dim, constrained)
        return f"{table[ROWS].mean():.2g}"

    return [
        {
            "gamma_std": gamma_std,
            "d": dim,
            "constrained": constrained,
            "method": name,
            "mean_loss": loss(name, constrained),
            "matrices": REPETITIONS,
        }
        for constrained, name in product((False, True), ("JDL", "JPDL", "CME"))
    ]


with tempfile.TemporaryDirectory() as made:
    rows = [
        row
        for dim, gamma_std in product(DIMENSIONS, STANDARD_DEVIATIONS)
        for row in measure(dim, gamma_std, Path(made))
    ]
timing.write(Path(__file__).with_suffix(".csv"), rows)
