"""Joint densities from their factors: kcef, table 2 and figures 1 and 5.

log p(y) = Σ_i log p(y_i | y_π(i)): the log densities that the jobs of `kcde.experiments.factors`
found at the test rows, summed. Where the data are a chain of any length (`grid-2000`), the first d
factors are the joint density of the first d columns, and every d has its score.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kcde import scores
from kcde.experiments import runner
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.joint import Job
from kcde.metrics.names import NLL
from kcde.provenance import digest

_OWN = ("nodes",)
"""Parameters in which the jobs of one joint density may differ."""


@dataclass(frozen=True)
class Factors:
    """All factors of one joint density, in the order of the nodes.

    Attributes
    ----------
    frame
        The rows of their log likelihood, with the column `node`.
    infos
        The `.json` of each job.
    log_density
        Shape (runs, d, test rows); NaN where a factor failed.
    parents
        Parents of each node, counted from 1.
    """

    frame: pd.DataFrame
    infos: list[dict]
    log_density: np.ndarray
    parents: list[list[int]]

    @property
    def info(self) -> dict:
        """Common information of the jobs."""
        return self.infos[0]


class Experiment(runner.Experiment[Job]):
    """The `.npz` holds `factor_log_density` (runs, d, test rows) in standardised units, and its
    sum `log_density` (runs, test rows).
    """

    def open(self) -> Factors:
        """Return the factors."""
        return read(self.job.factors)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Return a function that sums the factors of all runs."""
        runs = self.data.frame.groupby("split")
        rows = [row for _, of_run in runs for row in _rows(self.data, of_run)]
        return lambda unit: Outcome(rows)

    def info(self, job: Job) -> dict:
        """Return the information on the jobs of the factors."""
        return _info(self.data)

    def results(self, job: Job, outcomes: Sequence[Outcome]) -> dict:
        """Return nothing: the factors state what they chose."""
        return {}

    def arrays(self, job: Job, outcomes: Sequence[Outcome]) -> dict[str, np.ndarray]:
        """Return the log densities of the factors, and their sums."""
        each = self.data.log_density
        return {"factor_log_density": each, "log_density": each.sum(axis=1)}


def read(files: Sequence[str | Path]) -> Factors:
    """Read the factors of one joint density.

    Parameters
    ----------
    files
        Score CSVs of `run factors`.

    Returns
    -------
    Factors

    Raises
    ------
    ValueError
        If the files do not belong together, or a node is missing or stands twice.
    """
    if not files:
        raise ValueError("a joint density needs the score files of its factors; none were given")
    infos = [json.loads(Path(path).with_suffix(".json").read_text()) for path in files]
    _check_common(files, infos)
    frame = scores.read(files)
    frame = frame[frame["metric"] == NLL]
    frame = frame.assign(node=[json.loads(text)["node"] for text in frame["setting"]])
    frame = frame.sort_values(["split", "node"], ignore_index=True)
    nodes = [node for info in infos for node in info["job"]["nodes"]]
    _check_nodes(nodes, len(infos[0].get("columns", nodes)))
    blocks = [_log_density(path) for path in files]
    stacked = np.concatenate(blocks, axis=1)[:, np.argsort(nodes)]
    return Factors(frame, infos, stacked, infos[0]["parents"])


def _check_common(files: Sequence[str | Path], infos: Sequence[dict]) -> None:
    def common(info: dict) -> dict:
        job = {name: value for name, value in info["job"].items() if name not in _OWN}
        return job | {"data_sha256": info.get("data_sha256"), "code": info["code"]}

    first = common(infos[0])
    for path, info in zip(files, infos, strict=True):
        other = common(info)
        if differing := sorted(name for name in first if first[name] != other.get(name)):
            name = differing[0]
            raise ValueError(
                f"{path} is no factor of the same joint density as {files[0]}: {name} is "
                f"{other.get(name)!r} and not {first[name]!r}; run both jobs again"
            )


def _check_nodes(nodes: list[int], d: int) -> None:
    if twice := sorted({node for node in nodes if nodes.count(node) > 1}):
        raise ValueError(f"node(s) {twice} stand in more than one file; give each once")
    if missing := sorted(set(range(1, d + 1)) - set(nodes)):
        raise ValueError(f"node(s) {missing} of 1 to {d} are missing; give the files of all nodes")


def _log_density(path: str | Path) -> np.ndarray:
    """Return the per-point log densities (runs, nodes, test rows) of a job; none if not run."""
    with np.load(Path(path).with_suffix(".npz")) as arrays:
        if "log_density" in arrays:
            return arrays["log_density"]
    frame = scores.read([path])
    return np.empty((frame["split"].nunique(), len(frame) // frame["split"].nunique(), 0))


def _rows(factors: Factors, of_run: pd.DataFrame) -> list[dict]:
    """Return the score of one run, or of each dimension where every dimension is a problem."""
    d = len(of_run)
    if not factors.info.get("every_dimension"):
        return [_row(of_run, d, {})]
    closed = [k for k in range(1, d + 1) if all(p <= k for c in factors.parents[:k] for p in c)]
    return [_row(of_run.head(k), k, {"dim": k}) for k in closed]


def _row(factors: pd.DataFrame, dim: int, axes: dict) -> dict:
    """Return the sum over some factors of one run, with the worst of their statuses."""
    ok = factors["status"] == "ok"
    reasons = factors[~ok].drop_duplicates("detail")
    told = [f"node {row.node}: {row.detail}" for row in reasons.itertuples()]
    first = factors.iloc[0].to_dict()
    shared = ("dataset", "method", "variant", "split", "n_train", "n_test")
    return {name: first[name] for name in (*shared, "unit", "backend", "dtype", "seed")} | {
        "experiment": Job.experiment,
        "dim": dim,
        "setting": scores.setting(**axes),
        "metric": NLL,
        "value": factors["value"].sum() if ok.all() else np.nan,
        "stderr": 0.0 if ok.all() else np.nan,
        "seconds": factors["seconds"].sum(),
        "status": "ok" if ok.all() else _worst(factors["status"]),
        "detail": "; ".join(told),
    }


def _worst(statuses: pd.Series) -> str:
    return "not-run" if (statuses == "not-run").any() else "failed"


def _info(factors: Factors) -> dict:
    own = {"chosen", "code", "versions"}
    job = {name: value for name, value in factors.info["job"].items() if name not in _OWN}
    chosen = [each for info in factors.infos for each in info["chosen"]]
    return {name: value for name, value in factors.info.items() if name not in own} | {
        "job": job,
        "chosen": sorted(chosen, key=lambda each: (each["run"], each["node"])),
        "code": {"factors": factors.info["code"], "joint": digest(__name__)},
    }
