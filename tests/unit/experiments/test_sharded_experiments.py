"""Experiments as several jobs: what they write does not depend on how many."""

import functools
import json
import logging

import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.cli import main
from kcde.data import fetch
from kcde.estimators import KEF, LSCDE
from kcde.experiments import _well_specified, methods, planar, r_benchmark, runner
from kcde.experiments.runner import run
from kcde.experiments.shards import Shard, Sharding
from kcde.seeding import split_seed

QUICK = json.dumps({"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1})
BASIS = json.dumps({"n_basis": 10, "bandwidth_y": 0.7, "regularization": 1e-3})
LINEAR = ("--dataset", "smoke-linear", "--options", QUICK, "--splits", 3)
JOINT = ("--dataset", "smoke-joint", "--options", QUICK)
SEEDS = ("--seeds", 3, "--samples", 100, "--graph", "markov")
POINTS = ("--dataset", "grid", "--options", BASIS, "--seeds", 2, "--samples", 100)
CASES = {
    "r-benchmark": ("--method", "KCEF", *LINEAR),
    "table1-readings": ("--method", "KCEF", "--dataset", "smoke-mixed", "--splits", 3),
    "factors": ("--method", "LSCDE", *JOINT, "--runs", 3, "--nodes", "1,3"),
    "samples": ("--method", "KCEF", *JOINT, *SEEDS),
    "planar": ("--method", "KEF", *POINTS),
    "consistency": ("--repetitions", 3, "--largest", 200),
}
WITH_DATA = ("r-benchmark", "table1-readings", "factors", "samples")
TIMED = {"sampling_time", "effective_samples_per_second"}


def slow(name):
    """A case like others that are always run."""
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(scope="module", autouse=True)
def targets():
    """Solve for each target once; it is the same every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_well_specified, "target", functools.cache(_well_specified.target))
        yield


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a command of `run`; return the path of what it wrote."""

    def run_command(name, out, *more):
        folder, catalogue = smoke
        data = ("--data-dir", folder, "--catalogue", catalogue) if name in WITH_DATA else ()
        path = tmp_path / out
        given = ("run", name, *CASES[name], *data, *more, "--out", path)
        with pytest.raises(SystemExit) as finished:
            main([str(each) for each in given])
        assert finished.value.code == 0
        return path

    return run_command


@pytest.fixture
def in_shards(launch, monkeypatch):
    """Run a command in so many shards and collect them; return the path of the scores."""

    def run_all(name, count, *more):
        parts = [
            launch(name, f"{count}/{i}.npz", *more, "--shard", f"{i}/{count}")
            for i in range(1, count + 1)
        ]
        given = [each for part in parts for each in ("--part", part)]

        def refuse(*arguments):
            raise AssertionError("whoever collects computes nothing and needs no GPU")

        with monkeypatch.context() as patch:
            patch.setattr(runner, "computed", refuse)
            patch.setattr(methods, "resolve_backend", refuse)
            return launch(name, f"{count}/out.csv", *more, *given)

    return run_all


def without_seconds(path):
    """Cells as they stand in the file, but for what is measured in seconds."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame.loc[frame["metric"].isin(TIMED), "value"] = ""
    return frame.drop(columns="seconds")


def assert_same_files(one, other):
    pd.testing.assert_frame_equal(without_seconds(one), without_seconds(other))
    for suffix in (".json", ".npz"):
        assert one.with_suffix(suffix).read_bytes() == other.with_suffix(suffix).read_bytes()


SLOW = ("samples", "planar", "consistency", "table1-readings")


@pytest.mark.parametrize("name", ["r-benchmark", "factors", *map(slow, SLOW)])
def test_shards_write_what_the_whole_job_writes(launch, in_shards, name):
    whole = launch(name, "whole.csv")
    assert set(scores.read([whole])["status"]) == {"ok"}
    for count in (1, 2, 3, 5):
        assert_same_files(in_shards(name, count), whole)


@pytest.mark.parametrize("name", ["r-benchmark", "planar"])
def test_shards_with_a_failure_write_what_the_whole_job_writes(
    launch, in_shards, name, monkeypatch
):
    unlucky = {split_seed("smoke-linear", 1), planar._seed("grid", 0)}

    def sometimes(plain):
        def fit(self, X, Y):
            if self.random_state in unlucky:
                raise np.linalg.LinAlgError("no luck")
            plain(self, X, Y)

        return fit

    for cls in (LSCDE, KEF):
        monkeypatch.setattr(cls, "_fit", sometimes(cls._fit))
    more = ("--estimator", "LSCDE") if name == "r-benchmark" else ()
    whole = launch(name, "whole.csv", *more)
    assert scores.read([whole])["status"].value_counts()["failed"] == 1
    assert_same_files(in_shards(name, 2, *more), whole)


@pytest.mark.parametrize("name", WITH_DATA)
def test_shards_of_data_that_are_unavailable(launch, in_shards, name, smoke, tmp_path):
    record = tmp_path / "record.json"
    dataset = CASES[name][CASES[name].index("--dataset") + 1]
    fetch.write_record(fetch.fetch(dataset, tmp_path / "empty", None, smoke[1]), record)
    whole = launch(name, "whole.csv", "--record", record)
    assert set(scores.read([whole])["status"]) == {"not-run"}
    parts = [launch(name, f"{i}.npz", "--record", record, "--shard", f"{i}/2") for i in (1, 2)]
    given = [each for part in parts for each in ("--part", part)]
    assert_same_files(launch(name, "out.csv", "--record", record, *given), whole)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("r-benchmark", ("--splits", 4)),
        ("factors", ("--nodes", "2")),
        ("samples", ("--sampler", "direct")),
        ("planar", ("--samples", 120)),
        ("consistency", ("--largest", 400)),
    ],
)
def test_parts_of_another_job_are_refused(launch, name, change, capsys):
    part = launch(name, "1.npz", "--shard", "1/9")
    with pytest.raises(AssertionError):
        launch(name, "out.csv", *change, "--part", part)
    assert "is a part of another job: delete it" in capsys.readouterr().err
    assert not (part.parent / "out.csv").exists()


@pytest.mark.parametrize("how", [("--shard", "1/2"), ("--part", "1.npz")])
@pytest.mark.parametrize(("name", "estimator"), [("r-benchmark", "NADE"), ("planar", "DDE")])
def test_repetitions_that_are_batch_fitted_are_not_sharded(launch, capsys, name, estimator, how):
    with pytest.raises(AssertionError):
        launch(name, "out", "--estimator", estimator, "--options", "{}", *how)
    expected = f"{estimator} trains all repetitions as one batch"
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("name", CASES)
def test_shard_and_part_exclude_each_other(launch, capsys, name):
    with pytest.raises(AssertionError):
        launch(name, "out", "--shard", "1/2", "--part", "1.npz")
    assert "give one of the two" in capsys.readouterr().err


def test_an_interrupted_shard_leaves_no_part(smoke, tmp_path, monkeypatch):
    folder, catalogue = smoke
    job = r_benchmark.Job("smoke-linear", "LSCDE", "LSCDE", options=json.loads(QUICK), splits=3)
    plain, done = r_benchmark.outcome, []

    def interrupted(job, data, split, *fitted):
        if split == 2:
            raise KeyboardInterrupt
        done.append(split)
        return plain(job, data, split, *fitted)

    monkeypatch.setattr(r_benchmark, "outcome", interrupted)
    out = tmp_path / "parts" / "1.npz"
    with pytest.raises(KeyboardInterrupt):
        run(job, out, folder, catalogue=catalogue, sharding=Sharding(Shard(1, 2)))
    assert done == [0]
    assert not list(out.parent.iterdir())


def test_progress_counts_the_repetitions_of_the_shard(launch, caplog):
    with caplog.at_level(logging.INFO):
        launch("r-benchmark", "1.npz", "--shard", "1/2")
    said = [message for message in caplog.messages if "/2" in message]
    assert [message.split(",")[0] for message in said] == [
        "smoke-linear KCEF: 1/2",
        "smoke-linear KCEF: 2/2",
    ]


@pytest.mark.parametrize("name", CASES)
def test_help_says_what_shards_and_parts_are(name, capsys):
    with pytest.raises(SystemExit):
        main(["run", name, "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "every k-th repetition from the i-th" in said
    assert "The part of a shard" in said
