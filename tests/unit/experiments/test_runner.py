"""Experiments as such: what a job may be, shards, and what a run leaves behind."""

import dataclasses
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.estimators import DDE, KCEF, LSCDE, NADE
from kcde.experiments import experiment, experiments, methods, runner
from kcde.experiments.base import SCALES, Experiment, Outcome, parameter, sized
from kcde.experiments.estimation_cost import EstimationCost
from kcde.experiments.large_n import LargeN
from kcde.experiments.r_benchmark import RBenchmark
from kcde.experiments.runner import run
from kcde.seeding import split_seed

COUNT = 7


@dataclass(frozen=True)
class Thirds(Experiment):
    """Thirds of the numbers of the repetitions."""

    name: ClassVar[str] = "thirds"
    repeated: ClassVar = ("repetitions",)

    repetitions: int = sized(2, COUNT, 20, at_least=1, at_most=30)
    kind: str = parameter("plain", choices=("plain", "failing"))
    factors: tuple[float, ...] = parameter((1.0,))

    def code(self):
        return "thirds"

    def begin(self, units):
        return self.third

    def third(self, unit):
        if self.kind == "failing":
            raise RuntimeError("out of memory")
        row = self.row(unit, metric="third", value=np.float64(unit) / 3)
        arrays = {"of/unit": np.full((2, 3), unit, dtype=np.float32), "flag": np.array(unit > 3)}
        return Outcome([row], [{"unit": unit}], arrays)


def in_shards(job, folder, count):
    """Run a job in so many shards; return the paths of the parts."""
    parts = [folder / f"{i}.npz" for i in range(1, count + 1)]
    for i, path in enumerate(parts, 1):
        run(job, path, shard=(i, count))
    return parts


def assert_same_files(one, other):
    frames = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in (one, other)]
    pd.testing.assert_frame_equal(*[frame.drop(columns="seconds") for frame in frames])
    for suffix in (".json", ".npz"):
        assert one.with_suffix(suffix).read_bytes() == other.with_suffix(suffix).read_bytes()


@pytest.fixture
def halves(smoke):
    """A job over three splits of smoke data."""
    quick = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
    files = {"data_dir": smoke[0], "catalogue": smoke[1]}
    return RBenchmark("smoke-linear", "LSCDE", options=quick, splits=3, **files)


def test_a_job_has_the_sizes_of_its_scale():
    assert [Thirds.at(scale).repetitions for scale in SCALES] == [2, 7, 20]
    assert Thirds.at("smoke", repetitions=5).repetitions == 5
    assert Thirds().count() == COUNT
    fitted = RBenchmark.at("paper", "geyser", "DDE")
    assert (fitted.splits, fitted.evaluation, fitted.estimator) == (20, "test-half", "DDE")
    assert fitted.options["iterations"] == 50_000
    assert fitted.options["bandwidth_scale"] == 0.5
    assert LargeN.at("smoke", "bimodal-2-200", "boosting").variant == "ours"


@pytest.mark.parametrize("name", ["r_benchmark", "larger_sets", "table1_readings", "large_n"])
def test_every_job_can_be_made(name):
    cls = experiments()[name]
    for scale in SCALES:
        for method in cls.methods:
            for dataset in cls.smoke if scale == "smoke" else cls.only.get(method, cls.datasets):
                json.dumps(cls.at(scale, dataset, method).identity())


def test_a_job_is_made_of_plain_values():
    made = Thirds.make(json.loads('{"factors": [2, 0.5], "data_dir": "raw"}'))
    assert made.factors == (2.0, 0.5)
    assert [type(each) for each in made.factors] == [float, float]
    assert made.data_dir == Path("raw")
    assert made.identity() == Thirds(factors=(2.0, 0.5)).identity()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Thirds.make({"repetition": 2}), "has no parameter 'repetition'.*repetitions"),
        (lambda: Thirds.make({"repetitions": 2.5}), "repetitions must be of the kind int"),
        (lambda: Thirds.make({"repetitions": True}), "repetitions must be of the kind int"),
        (lambda: Thirds.make({"factors": [1, "small"]}), "factors must be of the kind float"),
        (lambda: Thirds.make({"factors": 1}), "factors must be of the kind tuple"),
        (lambda: Thirds(repetitions=0), "repetitions must be at least 1; got 0"),
        (lambda: Thirds(repetitions=31), "repetitions must be at most 30; got 31"),
        (lambda: Thirds(kind="plane"), "kind must be one of plain"),
        (lambda: EstimationCost(points=400), "points must be at least 500"),
        (lambda: RBenchmark.at("laptop", "geyser", "KCEV"), "no method 'KCEV'.*KCEF"),
        (lambda: LargeN.at("laptop", "bimodal-2-1000", "bosting"), "boosting"),
        (lambda: experiment("r_bench"), "no experiment 'r_bench'.*r_benchmark"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(made, words):
    with pytest.raises(ValueError, match=words):
        made()


@pytest.mark.parametrize("count", [1, 3, 9])
def test_shards_together_are_the_whole(tmp_path, monkeypatch, count):
    run(Thirds(), tmp_path / "whole.csv")
    parts = in_shards(Thirds(), tmp_path, count)
    monkeypatch.setattr(runner, "computed", None)  # who collects computes nothing
    run(Thirds(), tmp_path / "out.csv", parts=parts)
    assert_same_files(tmp_path / "out.csv", tmp_path / "whole.csv")
    assert scores.read([tmp_path / "out.csv"])["split"].tolist() == list(range(COUNT))


@pytest.mark.parametrize("unlucky", [None, 1])
def test_shards_of_fits_are_the_whole_and_a_failed_fit_is_a_row(
    halves, tmp_path, monkeypatch, unlucky
):
    fit = LSCDE._fit

    def sometimes(self, X, Y):
        if unlucky and self.random_state == split_seed("smoke-linear", unlucky):
            raise np.linalg.LinAlgError("no luck")
        fit(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", sometimes)
    run(halves, tmp_path / "whole.csv")
    parts = in_shards(halves, tmp_path, 2)
    monkeypatch.setattr(methods, "resolve_backend", None)  # who collects needs no GPU
    run(halves, tmp_path / "out.csv", parts=parts)
    assert_same_files(tmp_path / "out.csv", tmp_path / "whole.csv")
    failed = scores.read([tmp_path / "out.csv"]).query("status == 'failed'")
    assert failed["split"].tolist() == ([unlucky] if unlucky else [])
    assert set(failed["detail"]) <= {"LinAlgError: no luck"}


def test_parts_must_be_of_the_job_all_and_each_once(tmp_path):
    (part, _), out = in_shards(Thirds(), tmp_path, 2), tmp_path / "x.csv"
    for job, parts, words in (
        (Thirds(factors=(2.0,)), [part], "part of another job"),
        (Thirds(), [part], r"no part has the repetitions \[1, 3, 5\]"),
        (Thirds(), [part, part], "each part once"),
    ):
        with pytest.raises(ValueError, match=words):
            run(job, out, parts=parts)
    assert not out.exists()


class Bomb:
    """What a pickle may hold: reading it runs code."""

    def __reduce__(self):
        return pytest.fail, ("reading a part ran code",)


@pytest.mark.parametrize("kind", ["pickle", "pickle within", "scores", "text"])
def test_a_file_that_no_shard_left_is_refused_and_runs_no_code(tmp_path, kind):
    part = tmp_path / "part.npz"
    if kind == "pickle":
        joblib.dump(Bomb(), part)
    elif kind == "pickle within":
        np.savez(part, json=np.array([Bomb()], dtype=object))
    elif kind == "scores":
        np.savez(part, log_density=np.zeros(3))
    else:
        part.write_text("split,value\n")
    with pytest.raises(ValueError, match=r"part\.npz is no part that a shard left"):
        run(Thirds(), tmp_path / "x.csv", parts=[part])


def test_a_failing_shard_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError, match="out of memory"):
        run(Thirds(kind="failing"), tmp_path / "part.npz", shard=(1, 2))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("job", "how", "words"),
    [
        (Thirds(), {"outs": "1.npz", "shard": (0, 4)}, "as 2/4"),
        (Thirds(), {"outs": "1.npz", "shard": (5, 4)}, "as 2/4"),
        (Thirds(), {"outs": "1.csv", "shard": (1, 2)}, r"name its file 1\.part\.npz"),
        (Thirds(), {"outs": ["1.csv", "2.csv"]}, "give a file for each"),
        ([Thirds()] * 2, {"outs": ["1.csv", "2.csv"]}, "run one at a time"),
        (RBenchmark("d", "NADE"), {"outs": "1.npz", "shard": (1, 2)}, "as one batch"),
        (RBenchmark("d", "NADE"), {"outs": "1.csv", "parts": ["1.npz"]}, "as one batch"),
    ],
)
def test_runs_that_cannot_be_are_refused(tmp_path, monkeypatch, job, how, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        run(job, **how)
    assert not list(tmp_path.iterdir())


def test_progress_counts_the_repetitions_of_the_shard(tmp_path, caplog):
    with caplog.at_level(logging.INFO):
        run(Thirds(), tmp_path / "1.npz", shard=(1, 4))
    assert [message.split(",")[0].split()[-1] for message in caplog.messages] == ["1/2", "2/2"]


def test_experiments_are_found_by_their_classes():
    for name, cls in experiments().items():
        assert cls.name == name
        assert dataclasses.is_dataclass(cls)
        assert all(each.metadata["help"] for each in cls.parameters().values())


def test_estimators_on_jax_stay_where_they_are(monkeypatch):
    monkeypatch.setattr(methods, "resolve_backend", lambda name: "cupy")
    assert methods.backend_of(KCEF(), "auto") == "cupy"
    for estimator in (NADE(), DDE()):
        assert methods.backend_of(estimator, "cupy") == "numpy"
