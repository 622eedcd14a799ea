"""A small job of every experiment: in shards, and with arrays that stay off the host.

The strict namespace stands in for cupy: its arrays refuse to become numpy arrays unless asked.
"""

import functools

import numpy as np
import pytest
from scipy.stats import ks_2samp

from kcde import scores
from kcde.experiments import _well_specified, experiments, methods, runner
from kcde.experiments.runner import run
from kcde.metrics.names import P_VALUE, REGULARIZATION_ERROR

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
NARROW = {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}
ONE = {"bandwidth_y": 0.7, "regularization": 1e-2}
GRID = {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-4, 1e-1), "test_rows": 20}
GRID |= {"repetitions": 2, "matched_repetitions": 0}
LSCDE_JOB = {"method": "LSCDE", "options": QUICK}
SAMPLED = {"dataset": "smoke-joint", "seeds": 2, "samples": 100, "options": QUICK, "graph": "full"}
PLANAR = {"dataset": "grid", "seeds": 2, "samples": 100, "method": "KEF"}
PORTFOLIO = {"dataset": "portfolios-1-100", "max_rank": 10, "most_trace": 1.0} | GRID
PORTFOLIO |= {"portfolios": "smoke-portfolios", "risk_free": "smoke-risk-free"}
PARTITIONED = {
    "donut": {"repetitions": 2, "points": 2},
    "terrain": {"dataset": "smoke-terrain", "folds": 1, "splits": 1},
    "traffic": {"dataset": "smoke-traffic", "splits": 1, "thinned": 1},
}

# One of each experiment with repetitions, each with two or three of them.
JOBS = {
    "consistency": {"repetitions": 2, "largest": 200},
    "factors": LSCDE_JOB | {"dataset": "smoke-joint", "nodes": (1, 3), "runs": 2},
    "larger_sets": LSCDE_JOB | {"dataset": "smoke-linear", "splits": 2},
    "moments": {"dataset": "gaussian-1-60", "method": ("JDL", "CME"), "tolerances": (1e-2, 1e-1)}
    | GRID,
    "planar": PLANAR | {"options": ONE | {"n_basis": 10}},
    "portfolio": PORTFOLIO | {"method": ("JDL", "CME")},
    "r_benchmark": {"dataset": "smoke-linear", "splits": 3} | LSCDE_JOB,
    "samples": SAMPLED | {"method": ("LSCDE", "LSCDE-inverse"), "estimator": "LSCDE"},
    "table1_readings": {"dataset": "smoke-mixed", "method": "KCEF", "splits": 2},
    **{name: {"method": "LSCDE", "options": NARROW} | own for name, own in PARTITIONED.items()},
}

_OF_CDO = {
    f"{name} {method}{ending}": {"method": method, "settings": "authors"} | own | more
    for name, own in PARTITIONED.items()
    for method, ending, more in (
        ("CDO", "", {"options": {"reference": 30}}),
        ("GaussianProcess", "", {"tuning_rows": 40} if name == "traffic" else {}),
    )
}
ON_A_DEVICE = {
    **{name: job for name, job in JOBS.items() if name not in ("larger_sets", "table1_readings")},
    **_OF_CDO,
    "donut GaussianProcess ours": _OF_CDO["donut GaussianProcess"] | {"variant": "ours"},
    "moments JPDL": {"dataset": "gaussian-1-80", "method": "JPDL", "options": {"degree": 2}} | GRID,
    "portfolio KLR": PORTFOLIO | {"method": "KernelLogisticRegression"},
    "r_benchmark KCEF": JOBS["r_benchmark"] | {"method": "KCEF", "evaluation": "test-half"},
    "samples KCEF": SAMPLED | {"method": "KCEF"},
    "samples KCEF-inverse": SAMPLED | {"method": "KCEF-inverse", "estimator": "KCEF"},
    "samples KEF": SAMPLED | {"method": "KEF", "options": ONE, "graph": None},
}

CHAINS = ("planar", "samples KCEF", "samples KEF")
"""Rounding errors of 1e-15 grow to the spread of the density within twenty transitions of
Hamiltonian Monte Carlo: its draws are those of numpy in distribution alone."""

OF_DRAWS = ["acceptance_rate", "r_hat", "effective_sample_size", "mmd", "mmd_train"]
OF_DRAWS += [f"conditional_{name}_error" for name in ("std", "q01", "q99")]
OF_SOLVERS = ["solver_residual", "solver_iterations"]
"""What rounding leaves of a solved condition, and how many steps it took."""

SLOW = (*CHAINS, "consistency", "table1_readings")


def cases(jobs):
    return pytest.mark.parametrize(
        "case", [pytest.param(c, marks=pytest.mark.nightly) if c in SLOW else c for c in jobs]
    )


@pytest.fixture(scope="module", autouse=True)
def targets():
    """Solve for each target of consistency once; it is the same every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_well_specified, "target", functools.cache(_well_specified.target))
        yield


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a case, with what `run` is given, into a folder; return its score files."""

    def launched(case, folder, *, backend="auto", shard=None, parts=()):
        cls, own = experiments()[case.split()[0]], ON_A_DEVICE.get(case) or JOBS[case]
        own = own | {"data_dir": smoke[0], "catalogue": smoke[1]}
        own |= {"backend": backend} if "backend" in cls.parameters() else {}
        names = own.pop("method", "")
        names = [names] if isinstance(names, str) else names
        jobs = [cls(**own | ({"method": name} if name else {})) for name in names]
        outs = [tmp_path / folder / f"{name or case}.csv" for name in names]
        if shard:
            outs = [tmp_path / folder / f"{shard[0]}.npz"]
        run(jobs, outs, shard=shard, parts=parts)
        return outs

    return launched


def test_every_experiment_with_repetitions_is_here():
    assert set(JOBS) == {name for name, cls in experiments().items() if cls.repeated}


@cases(JOBS)
def test_shards_write_what_the_whole_job_writes_and_who_collects_fits_nothing(
    launch, case, monkeypatch
):
    whole = launch(case, "whole")
    parts = {n: [launch(case, f"{n}", shard=(i + 1, n))[0] for i in range(n)] for n in (2, 5)}

    def refuse(*given, **more):
        raise AssertionError("what the shards computed is not computed again")

    monkeypatch.setattr(methods, "resolve_backend", refuse)
    monkeypatch.setattr(runner, "computed", refuse)
    for count, found in parts.items():
        for one, other in zip(whole, launch(case, f"{count}", parts=found), strict=True):
            # In the JSON there is a digest of all cells but seconds and memory.
            for end in (".json", ".npz"):
                assert one.with_suffix(end).read_bytes() == other.with_suffix(end).read_bytes()
            assert set(scores.read([other])["status"]) == {"ok"}


@cases(ON_A_DEVICE)
def test_scores_on_a_device_are_those_of_the_host(launch, device, case):
    ours, theirs = (launch(case, name, backend=name) for name in ("numpy", "cupy"))
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one, other, case in CHAINS)


def test_relative_similarity_on_a_device_is_that_of_the_host(launch, device, smoke, tmp_path):
    files = (*launch("samples KCEF-inverse", "a"), *launch("samples", "a")[:1]) * 2
    compared = experiments()["similarity"]
    for backend in ("numpy", "cupy"):
        job = compared("smoke-joint", "LSCDE", files=files, backend=backend)
        run(job, tmp_path / f"{backend}.csv")
    assert_close(tmp_path / "numpy.csv", tmp_path / "cupy.csv")
    assert P_VALUE in set(scores.read([tmp_path / "cupy.csv"])["metric"])


def assert_close(one, other, chains=False):
    """Compare two score files: all but numbers equal, numbers equal to rounding."""
    ours, theirs = (scores.read([path]) for path in (one, other))
    assert set(ours["backend"]) == {"numpy"}
    assert set(theirs["backend"][theirs["metric"] != REGULARIZATION_ERROR]) == {"cupy"}
    assert set(ours["status"]) == {"ok"}
    told = ["dataset", "setting", "split", "n_train", "metric", "unit", "status", "detail", "seed"]
    assert ours[told].equals(theirs[told])
    varying = ours["metric"].isin([*OF_SOLVERS, *(OF_DRAWS if chains else [])])
    kept = ~(varying | ours["unit"].isin(["s", "samples/s", "MiB"]))
    np.testing.assert_allclose(theirs["value"][kept], ours["value"][kept], rtol=1e-6, atol=1e-9)
    with np.load(one.with_suffix(".npz")) as a, np.load(other.with_suffix(".npz")) as b:
        for name in a:
            if chains and name.startswith("samples"):
                for column in range(a[name].shape[-1]):
                    pair = (each[name][..., column].ravel() for each in (a, b))
                    assert ks_2samp(*pair).pvalue > 1e-3
            else:
                np.testing.assert_allclose(b[name], a[name], rtol=1e-5, atol=1e-6, err_msg=name)
