"""Which of two samplers is closer to the data: kcef, table 3.

For each seed the relative similarity test of the hypothesis that the rival is at least as close as
KCEF: a small p-value says that KCEF is closer.
"""

import json
from pathlib import Path

import numpy as np

from kcde.arrays import asarray, resolve_backend
from kcde.experiments import scores
from kcde.metrics import RelativeSimilarity, median_bandwidth, relative_similarity_test
from kcde.provenance import digest

EXPERIMENT = "similarity"
VARIANTS = ("as-published", "test-rows", "slice")
"""Against rows of all data; against the test rows; against rows of all data, shown pair only."""


def run(
    ours: Path,
    rival: Path,
    rival_name: str,
    out: Path,
    *,
    our_name: str = "KCEF",
    backend: str = "auto",
) -> None:
    """Test every seed and write the p-values.

    Parameters
    ----------
    ours, rival
        What `run samples` wrote for two methods on one data set: its CSV or its `.npz`.
    rival_name, our_name
        What they are called in the hypothesis.
    out
        The score CSV. The `.npz` beside it holds `<variant>/statistic`, `<variant>/mmd2_ours`,
        `<variant>/mmd2_rival` and `<variant>/bandwidth`, one value a seed.
    backend
        "auto", "numpy" or "cupy".

    Raises
    ------
    ValueError
        If the files are of different data.
    RuntimeError
        If the backend is "cupy" and there is no GPU.
    """
    backend = resolve_backend(backend)
    pair = [_Samples(path) for path in (ours, rival)]
    if pair[0].dataset != pair[1].dataset or pair[0].seeds != pair[1].seeds:
        raise ValueError(
            f"{ours} holds {pair[0].seeds} seeds of {pair[0].dataset}, {rival} {pair[1].seeds} of "
            f"{pair[1].dataset}; run both with the same data set and seeds"
        )
    hypothesis = f"H0: {rival_name} closer than {our_name}"
    rows, arrays = [], {}
    for variant in VARIANTS:
        tests = [_test(pair, variant, seed, backend) for seed in range(pair[0].seeds)]
        rows += [
            _row(pair[0], hypothesis, variant, seed) | {"backend": backend} | row
            for seed, (row, _) in enumerate(tests)
        ]
        values = np.array([found for _, found in tests])
        names = ("statistic", "mmd2_rival", "mmd2_ours", "bandwidth")
        arrays |= {f"{variant}/{name}": values[:, k] for k, name in enumerate(names)}
    info = {"ours": str(ours), "rival": str(rival), "code": digest(__name__)}
    scores.write(out, rows, info, arrays)


class _Samples:
    """What one `run samples` wrote."""

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


def _test(
    pair: list[_Samples], variant: str, seed: int, backend: str
) -> tuple[dict, tuple[float, ...]]:
    """Return the status and value of a row, and statistic, both MMD² and the bandwidth."""
    for each in pair:
        if obstacle := each.obstacle(seed):
            return dict(zip(("status", "detail"), obstacle, strict=True)), (np.nan,) * 4
    try:
        found, bandwidth = _relative_similarity(pair, variant, seed, backend)
    except ValueError as error:
        return {"status": "failed", "detail": f"ValueError: {error}"}, (np.nan,) * 4
    row = {"status": "ok", "value": found.p_value, "detail": ""}
    return row, (found.statistic, found.mmd2_a, found.mmd2_b, bandwidth)


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


def _row(ours: _Samples, hypothesis: str, variant: str, seed: int) -> dict:
    first = ours.frame[ours.frame["split"] == seed].iloc[0]
    return {
        "experiment": EXPERIMENT,
        "dataset": ours.dataset,
        "dim": first["dim"],
        "setting": scores.setting(),
        "method": hypothesis,
        "variant": variant,
        "split": seed,
        "n_train": first["n_train"],
        "n_test": first["n_test"],
        "metric": "p_value",
        "unit": "",
        "dtype": "float64",
    }
