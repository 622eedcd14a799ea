"""Experiments of jdl that several jobs compute, and one writes."""

import numpy as np
import pytest

from kcde import scores
from kcde.estimators import JDL
from kcde.experiments import _embedding
from kcde.experiments.moments import Moments
from kcde.experiments.portfolio import Portfolio
from kcde.experiments.runner import run

GRID = {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-4, 1e-1)}
GRID |= {"repetitions": 3, "test_rows": 20}
FILES = {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
JOBS = {
    "moments": (Moments, {"dataset": "gaussian-1-60", "tolerances": (1e-2, 1e-1)}),
    "portfolio": (Portfolio, {"dataset": "portfolios-1-100", "max_rank": 10} | FILES),
}


@pytest.fixture(params=JOBS)
def jobs(request, smoke):
    """Make JDL and CME with three repetitions, changed."""
    cls, axes = JOBS[request.param]
    places = {"data_dir": smoke[0], "catalogue": smoke[1]}
    return lambda **changes: [
        cls(method=method, **axes | GRID | places | changes) for method in ("JDL", "CME")
    ]


def outs_in(folder):
    return [folder / "JDL.csv", folder / "CME.csv"]


def sharded(jobs, folder, count):
    """Compute every shard; return the parts."""
    parts = [folder / f"{i}-of-{count}.npz" for i in range(1, count + 1)]
    for i, part in enumerate(parts, 1):
        run(jobs, part, shard=(i, count))
    return parts


def test_the_job_that_writes_fits_nothing_and_needs_no_device(jobs, tmp_path, monkeypatch):
    parts = sharded(jobs(), tmp_path, 2)

    def refuse(*given, **more):
        raise AssertionError("what the shards computed is not computed again")

    monkeypatch.setattr(_embedding, "resolve_backend", refuse)
    monkeypatch.setattr(JDL, "fit_path", refuse)
    run(jobs(), outs_in(tmp_path), parts=parts)
    assert set(scores.read(outs_in(tmp_path))["backend"]) == {"numpy"}
    for change in ({"backend": "numpy"}, {"repetitions": 2}):
        with pytest.raises(ValueError, match="another job"):
            run(jobs(**change), outs_in(tmp_path), parts=parts)


def test_a_part_holds_estimates_at_test_points_and_no_rows(jobs, tmp_path):
    """At the published sizes rows are ten million, and repetitions a hundred."""
    kind = jobs()[0].sized_names.kind
    sizes = []
    for n in (60, 240):
        part = tmp_path / f"{n}.npz"
        run(jobs(dataset=f"{kind}-1-{n}"), part, shard=(1, 3))
        sizes.append(part.stat().st_size)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    with np.load(part, allow_pickle=False) as stored:
        held = [stored[key] for key in stored if key != "json"]
    settings = len(jobs()[0].settings())
    assert {each.shape for each in held if each.dtype == np.float32} <= {(2, 20), (settings, 20)}
    others = {(each.shape, each.dtype.kind) for each in held if each.dtype != np.float32}
    assert others <= {((20,), "b"), ((), "f")}
