"""Experiments as such: what a job may be, shards, and what a run leaves behind."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import DDE, KCEF, LSCDE, NADE, Defensive
from kcde.experiments import experiment, methods
from kcde.experiments.base import SCALES, Experiment, Outcome, parameter, sized
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

    def outcome(self, unit):
        if self.kind == "failing":
            raise RuntimeError("out of memory")
        row = self.row(unit, metric="third", value=np.float64(unit) / 3)
        arrays = {"of/unit": np.full((2, 3), unit, dtype=np.float32), "flag": np.array(unit > 3)}
        return Outcome([row], [{"unit": unit}], arrays)


def in_shards(job, folder, count):
    parts = {i: folder / f"{i}.npz" for i in range(1, count + 1)}
    for i, path in parts.items():
        run(job, path, shard=(i, count))
    return [*parts.values()]


def test_a_job_has_the_sizes_of_its_scale_and_is_made_of_plain_values():
    assert [Thirds.at(scale).repetitions for scale in SCALES] == [2, 7, 20]
    assert Thirds.at("smoke", repetitions=5).repetitions == 5
    assert Thirds().count() == COUNT
    fitted = RBenchmark.at("paper", "geyser", "DDE")
    assert (fitted.splits, fitted.evaluation, fitted.estimator) == (20, "test-half", "DDE")
    assert fitted.options["iterations"] == 50_000
    assert fitted.options["bandwidth_scale"] == 0.5
    made = Thirds.at("laptop", **json.loads('{"factors": [2, 0.5], "data_dir": "raw"}'))
    assert made.factors == (2.0, 0.5)
    assert [type(each) for each in made.factors] == [float, float]
    assert made.data_dir == Path("raw")
    assert made.identity() == Thirds(factors=(2.0, 0.5)).identity()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Thirds.at("laptop", repetition=2), "repetitions"),
        (lambda: Thirds.at("laptop", repetitions=2.5), "repetitions"),
        (lambda: Thirds.at("laptop", factors=[1, "small"]), "factors"),
        (lambda: Thirds(repetitions=0), "repetitions"),
        (lambda: Thirds(repetitions=31), "repetitions"),
        (lambda: Thirds(kind="plane"), "kind"),
        (lambda: RBenchmark.at("laptop", "geyser", "KCEV"), "KCEF"),
        (lambda: experiment("r_bench"), "r_benchmark"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(made, words):
    with pytest.raises(ValueError, match=words):
        made()


def test_a_failed_fit_is_a_row_and_programming_errors_are_not_hidden(smoke, tmp_path, monkeypatch):
    quick = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
    files = {"data_dir": smoke[0], "catalogue": smoke[1]}
    job = RBenchmark("smoke-linear", "LSCDE", options=quick, splits=3, **files)
    fit = LSCDE._fit

    def sometimes(self, X, Y):
        if self.random_state == split_seed("smoke-linear", 1):
            raise np.linalg.LinAlgError("no luck")
        fit(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", sometimes)
    parts = in_shards(job, tmp_path, 4)  # of which one has nothing to do
    monkeypatch.setattr(methods, "resolve_backend", None)  # who collects needs no GPU
    run(job, tmp_path / "out.csv", parts=parts)
    frame = scores.read([tmp_path / "out.csv"])
    failed = frame[frame["status"] == "failed"]
    assert failed[["split", "detail"]].values.tolist() == [[1, "LinAlgError: no luck"]]
    monkeypatch.setattr(LSCDE, "_fit", lambda self, X, Y: self.nonsense)
    with pytest.raises(AttributeError):
        job.outcome(0)


def test_parts_must_be_whole_of_the_job_all_and_each_once(tmp_path):
    (part, _), out = in_shards(Thirds(), tmp_path, 2), tmp_path / "x.csv"
    (text := tmp_path / "text.npz").write_text("split,value\n")
    for job, parts, words in (
        (Thirds(), [text], r"text\.npz"),
        (Thirds(factors=(2.0,)), [part], "another"),
        (Thirds(), [part], "repetitions"),
        (Thirds(), [part, part], "once"),
    ):
        with pytest.raises(ValueError, match=words):
            run(job, out, parts=parts)
    assert not out.exists()


@pytest.mark.parametrize(
    ("job", "how", "words"),
    [
        (Thirds(kind="failing"), {"outs": "part.npz", "shard": (1, 2)}, "out of memory"),
        (Thirds(), {"outs": "1.csv", "shard": (1, 2)}, "part"),
        (Thirds(), {"outs": "1.json"}, r"name 1\.csv"),
        (Thirds(), {"outs": ["1.csv", "2.csv"]}, "file"),
        ([Thirds()] * 2, {"outs": ["1.csv", "2.csv"]}, "one"),
    ],
)
def test_runs_that_fail_or_cannot_be_leave_nothing(tmp_path, monkeypatch, job, how, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((ValueError, RuntimeError), match=words):
        run(job, **how)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("job", "changes", "words"),
    [
        ("consistency", {"largest": 150}, "largest"),
        ("factors smoke-joint LSCDE-F", {"graph": [[2], [0], [1]]}, "cycle"),
        ("joint smoke-joint NADE", {"dims": [0]}, "dims"),
        ("large_n bimodal-60 linear", {}, "bimodal-60"),
        ("moments gaussian-1-200 JDL", {"tolerances": [1e-3, 1e-3]}, "tolerances"),
        ("moments gaussian-1-200 JDL", {"largest_factors": [0.25]}, "largest_factors"),
        ("planar geyser KEF", {}, "geyser"),
        ("portfolio portfolios-2-390 JDL", {}, "pairs"),
        ("r_benchmark smoke-linear LSCDE", {"options": {"sigma": 1}}, "sigma"),
        ("samples smoke-joint KCEF-F", {"columns": "last"}, "columns"),
        ("terrain smoke-terrain LSCDE", {"folds": 11}, "folds"),
        ("traffic smoke-linear CDO", {}, "times"),
    ],
)
def test_bad_sizes_are_refused_and_nothing_is_written(smoke, tmp_path, job, changes, words):
    name, *given = job.split()
    places = {"data_dir": smoke[0], "catalogue": smoke[1]}
    with pytest.raises(ValueError, match=words):
        run(experiment(name).at("smoke", *given, **places, **changes), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_networks_stay_where_they_are_also_under_a_floor(monkeypatch):
    monkeypatch.setattr(methods, "resolve_backend", lambda name: "cupy")
    assert methods.backend_of(KCEF(), "auto") == "cupy"
    for estimator in (NADE(), DDE(), Defensive(NADE())):
        assert methods.backend_of(estimator, "cupy") == "numpy"
