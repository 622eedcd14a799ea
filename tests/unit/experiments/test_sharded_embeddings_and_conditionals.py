"""Experiments of jdl and cdo that several jobs compute, and one writes."""

import json
import logging
import time

import numpy as np
import pytest

from kcde import scores
from kcde.cli import main
from kcde.data import smoke
from kcde.data.names import SIMULATED_TRAFFIC
from kcde.estimators import JDL, LSCDE
from kcde.experiments import _measured_fit, methods, moments, portfolio

LSCDE_WORDS = ["--method", "LSCDE", "--options"]
LSCDE_WORDS += ['{"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}']
GRID = ["--bandwidth-factors", "1,2", "--regularizations", "1e-4,1e-1", "--test-rows", "20"]
JDL_WORDS = ["--method", "JDL", "--method", "CME", "--repetitions", "3", *GRID]
FILES = ["--portfolios", "smoke-portfolios", "--risk-free", "smoke-risk-free"]
JOBS = {
    "moments": ["--dataset", "gaussian-1-60", "--tolerances", "1e-2,1e-1", *JDL_WORDS],
    "portfolio": ["--dataset", "portfolios-1-100", "--max-rank", "10", *JDL_WORDS, *FILES],
    "donut": ["--repetitions", "3", "--points", "2", *LSCDE_WORDS],
    "terrain": ["--dataset", "smoke-terrain", "--folds", "2", "--splits", "1", *LSCDE_WORDS],
    "traffic": ["--dataset", "smoke-traffic", "--splits", "3", *LSCDE_WORDS],
}
"""Three repetitions, splits or folds of each."""

OF_DATA = ("portfolio", "terrain", "traffic")
ENDINGS = (".csv", ".json", ".npz")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Where made-up data lie, as options."""
    folder = tmp_path_factory.mktemp("data")
    catalogue = smoke.write_smoke_data(folder)
    return ["--data-dir", str(folder), "--catalogue", str(catalogue)]


@pytest.fixture
def launch(places, capsys):
    """Run a job from the command line."""

    def launched(name, *words):
        given = [*JOBS[name], *map(str, words), *(places if name in OF_DATA else [])]
        with pytest.raises(SystemExit) as finished:
            main(["run", name, *given])
        return finished.value.code, capsys.readouterr()

    return launched


@pytest.fixture
def timeless(monkeypatch):
    """Measured seconds and memory are 0."""
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)
    monkeypatch.setattr(_measured_fit, "peak_memory", lambda: 0.0)


def outs_of(name, folder):
    """A file for each method of a job."""
    methods = [JOBS[name][i + 1] for i, word in enumerate(JOBS[name]) if word == "--method"]
    return [folder / f"{method}.csv" for method in methods]


def repeated(option, values):
    return [word for value in values for word in (option, value)]


def shard_into(launch, name, folder, count, *words):
    """Compute every shard; return the options that name their parts."""
    parts = [folder / f"{i}-of-{count}.npz" for i in range(1, count + 1)]
    for i, part in enumerate(parts, 1):
        code, said = launch(name, *words, "--shard", f"{i}/{count}", "--out", part)
        assert not code, said.err
    assert sorted(folder.iterdir()) == sorted(parts)
    return repeated("--part", parts)


def contents(outs):
    return {(out.name, end): out.with_suffix(end).read_bytes() for out in outs for end in ENDINGS}


@pytest.mark.parametrize("name", JOBS)
def test_files_are_those_of_one_job_for_any_number_of_shards(launch, tmp_path, timeless, name):
    (tmp_path / "whole").mkdir()
    outs = outs_of(name, tmp_path / "whole")
    assert not launch(name, *repeated("--out", outs))[0]
    expected = contents(outs)
    for count in (1, 2, 3, 5):
        folder = tmp_path / str(count)
        folder.mkdir()
        parts = shard_into(launch, name, folder, count)
        outs = outs_of(name, folder)
        assert not launch(name, *repeated("--out", outs), *parts)[0]
        assert contents(outs) == expected, f"{count} shards"


@pytest.mark.parametrize("name", JOBS)
def test_the_job_that_writes_fits_nothing_and_needs_no_device(launch, tmp_path, monkeypatch, name):
    parts = shard_into(launch, name, tmp_path, 2)

    def refuse(*given, **more):
        raise AssertionError("what the shards computed is not computed again")

    for module in (moments, portfolio, methods):
        monkeypatch.setattr(module, "resolve_backend", refuse)
    monkeypatch.setattr(LSCDE, "_fit", refuse)
    monkeypatch.setattr(JDL, "fit_path", refuse)
    outs = outs_of(name, tmp_path)
    assert not launch(name, *repeated("--out", outs), *parts)[0]
    for out in outs:
        assert set(scores.read([out])["backend"]) == {"numpy"}


@pytest.mark.parametrize("name", OF_DATA)
def test_shards_of_data_that_cannot_be_had_leave_the_same_reason(launch, tmp_path, name):
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"status": "unavailable", "remedy": "ask for them"}))
    words = repeated("--record", [record] * (2 if name == "portfolio" else 1))
    files = []
    for count in (0, 2):
        folder = tmp_path / str(count)
        folder.mkdir()
        parts = shard_into(launch, name, folder, count, *words)
        outs = outs_of(name, folder)
        assert not launch(name, *words, *repeated("--out", outs), *parts)[0]
        files.append(contents(outs))
        for out in outs:
            assert set(scores.read([out])["status"]) == {"not-run"}
    assert files[0] == files[1]
    code, said = launch(name, *repeated("--out", outs), *parts)
    assert code == 2
    assert "is a part of another job" in said.err


FEWER = {"terrain": "--folds", "traffic": "--splits"}


@pytest.mark.parametrize("name", JOBS)
def test_parts_of_another_job_are_refused(launch, tmp_path, name):
    part = tmp_path / "part.npz"
    assert not launch(name, "--shard", "1/1", "--out", part)[0]
    for words in (["--backend", "numpy"], [FEWER.get(name, "--repetitions"), "1"]):
        outs = repeated("--out", outs_of(name, tmp_path))
        code, said = launch(name, *outs, "--part", part, *words)
        assert code == 2
        assert "is a part of another job" in said.err
    assert list(tmp_path.iterdir()) == [part]


@pytest.mark.parametrize("name", ["moments", "donut", "traffic"])
def test_progress_counts_what_this_shard_computes(launch, tmp_path, caplog, name):
    caplog.set_level(logging.INFO)
    assert not launch(name, "--shard", "1/2", "--out", tmp_path / "1.npz")[0]
    said = [line for line in caplog.messages if "/2" in line]
    assert ["1/2" in line for line in said] == [True, False]
    assert not [line for line in caplog.messages if "/3" in line]


@pytest.mark.parametrize("name", ["moments", "portfolio"])
def test_a_part_holds_estimates_at_test_points_and_no_rows(launch, tmp_path, name):
    """At the published sizes rows are ten million, and repetitions a hundred."""
    word = JOBS[name][1]
    sizes = []
    for n in (60, 240):
        part = tmp_path / f"{n}.npz"
        dataset = f"{word.rpartition('-')[0]}-{n}"
        assert not launch(name, "--dataset", dataset, "--shard", "1/3", "--out", part)[0]
        sizes.append(part.stat().st_size)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    settings = 3 if name == "moments" else 2
    with np.load(part, allow_pickle=False) as stored:
        held = {key: stored[key] for key in stored if key != "json"}
    estimates = {key: each for key, each in held.items() if each.dtype == np.float32}
    assert {each.shape for each in estimates.values()} == {(settings, 20)}
    others = [each for key, each in held.items() if key not in estimates]
    assert {(each.shape, each.dtype.kind) for each in others} <= {((20,), "b"), ((), "f")}


@pytest.mark.parametrize("name", ["donut", "terrain"])
@pytest.mark.parametrize("estimator", ["NADE", "ConditionalMAF"])
def test_what_is_batch_fitted_is_not_sharded(launch, tmp_path, name, estimator):
    words = ["--method", estimator, "--options", "{}", "--shard", "1/2"]
    code, said = launch(name, *words, "--out", tmp_path / "1.npz")
    assert code == 2
    assert f"{estimator} trains all repetitions as one batch" in said.err
    assert "without --shard and --part" in said.err
    assert not list(tmp_path.iterdir())


def test_simulated_traffic_is_not_sharded(tmp_path):
    words = ["--dataset", SIMULATED_TRAFFIC, "--method", "CDO", "--settings", "authors"]
    with pytest.raises(SystemExit):
        main(["run", "traffic", *words, "--shard", "1/2", "--out", str(tmp_path / "1.npz")])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["moments", "portfolio"])
def test_a_shard_of_several_methods_leaves_one_part(launch, tmp_path, name):
    outs = repeated("--out", [tmp_path / "1.npz", tmp_path / "2.npz"])
    code, said = launch(name, "--shard", "1/2", *outs)
    assert code == 2
    assert "give --out once; got 2" in said.err


@pytest.mark.parametrize("name", JOBS)
def test_help_says_what_shards_and_parts_are(launch, name):
    code, said = launch(name, "--help")
    assert not code
    for word in ("--shard", "--part", "--backend"):
        assert word in said.out
    assert "example" in said.out
