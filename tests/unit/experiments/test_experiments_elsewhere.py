"""Experiments on arrays that are not on the host: the scores, and what may leave the device.

The strict namespace stands in for cupy: its arrays refuse to become numpy arrays unless asked.
"""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from kcde import scores
from kcde.estimators import DDE, KCEF, NADE
from kcde.experiments import (
    _planar_models,
    _well_specified,
    consistency,
    factors,
    methods,
    planar,
    r_benchmark,
    samples,
    similarity,
)
from kcde.experiments.runner import run
from kcde.experiments.shards import UNSHARDED, Shard, Sharding
from kcde.metrics import median_bandwidth, mmd2_biased, mmd2_unbiased, relative_similarity_test
from kcde.metrics.names import REGULARIZATION_ERROR

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
ONE = {"bandwidth_y": 0.7, "regularization": 1e-2}
MODULES = (r_benchmark, factors, samples, planar, _planar_models, consistency, similarity)


@pytest.fixture(scope="module", autouse=True)
def targets():
    """Solve for each target once; it is the same every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_well_specified, "target", functools.cache(_well_specified.target))
        yield


@pytest.fixture
def elsewhere(strict, monkeypatch):
    """Return a function from whose call on the backend cupy is that of strict arrays."""

    def asarray(values, backend="numpy"):
        on_host = np.asarray(values, dtype=np.float64)
        return strict.asarray(on_host) if backend == "cupy" else on_host

    def resolve_to(backend):
        for module in (methods, similarity):
            monkeypatch.setattr(module, "resolve_backend", lambda name: backend)

    def begin():
        for module in MODULES:
            monkeypatch.setattr(module, "asarray", asarray)
        resolve_to("cupy")

    # Until then on the host, also where `auto` would find a GPU.
    resolve_to("numpy")
    return begin


def splits(smoke, out, sharding, estimator, **axes):
    job = r_benchmark.Job("smoke-linear", estimator, estimator, splits=2, **axes)
    run(job, out, smoke[0], catalogue=smoke[1], sharding=sharding)


def runs(smoke, out, sharding, estimator, **axes):
    job = factors.Job("smoke-joint", estimator, nodes=(1, 3), runs=2, **axes)
    run(job, out, smoke[0], catalogue=smoke[1], sharding=sharding)


def seeds(smoke, out, sharding, estimator, **axes):
    job = samples.Job("smoke-joint", estimator, estimator, seeds=2, samples=100, **axes)
    run(job, out, smoke[0], catalogue=smoke[1], sharding=sharding)


def points(smoke, out, sharding, **options):
    job = planar.Job("grid", "KEF", "KEF", options=options, seeds=2, samples=100)
    run(job, out, sharding=sharding)


def streams(smoke, out, sharding):
    run(consistency.Job(repetitions=2, largest=200), out, sharding=sharding)


CASES = {
    "r_benchmark-KCEF": (splits, {"estimator": "KCEF", "options": QUICK}),
    "r_benchmark-KCEF-test-half": (
        splits,
        {"estimator": "KCEF", "options": QUICK, "evaluation": "test-half"},
    ),
    "r_benchmark-LSCDE": (splits, {"estimator": "LSCDE"}),
    "r_benchmark-EpsilonKDE": (splits, {"estimator": "EpsilonKDE"}),
    "r_benchmark-GaussianProcess": (splits, {"estimator": "GaussianProcess"}),
    "factors-KCEF": (
        runs,
        {"estimator": "KCEF", "options": QUICK, "importance_samples": 50},
    ),
    "samples-KCEF": (seeds, {"estimator": "KCEF", "options": QUICK, "graph": "full"}),
    "samples-KCEF-direct": (
        seeds,
        {"estimator": "KCEF", "options": QUICK, "graph": "markov", "sampler": "direct"},
    ),
    "samples-LSCDE": (seeds, {"estimator": "LSCDE", "options": QUICK, "graph": "full"}),
    "samples-KEF": (seeds, {"estimator": "KEF", "options": ONE}),
    "samples-LSCDE-of-all": (seeds, {"estimator": "LSCDE", "options": QUICK}),
    "planar": (points, ONE | {"n_basis": 10}),
    "consistency": (streams, {}),
}
CHAINS = {"samples-KCEF", "samples-KEF", "planar"}
"""Rounding errors of 1e-15 grow to the spread of the density within twenty transitions of
Hamiltonian Monte Carlo: its draws are those of numpy in distribution alone."""

TIMED = ["sampling_time", "effective_samples_per_second"]
OF_DRAWS = ["acceptance_rate", "r_hat", "effective_sample_size", "mmd", "mmd_train"]
OF_DRAWS += [f"conditional_{name}_error" for name in ("std", "q01", "q99")]


def assert_close(one, other, chains=False):
    """Compare two score files: all but numbers equal, numbers equal to rounding."""
    ours, theirs = (scores.read([path]) for path in (one, other))
    told = ["dataset", "setting", "split", "n_train", "metric", "unit", "status", "detail", "seed"]
    pd.testing.assert_frame_equal(ours[told], theirs[told])
    kept = ~ours["metric"].isin(TIMED + (OF_DRAWS if chains else []))
    for column in ("value", "stderr"):
        np.testing.assert_allclose(ours[column][kept], theirs[column][kept], rtol=1e-7, atol=1e-9)
    with np.load(one.with_suffix(".npz")) as a, np.load(other.with_suffix(".npz")) as b:
        assert list(a) == list(b)
        for name in a:
            if chains and name.startswith("samples"):
                assert a[name].shape == b[name].shape
                for column in range(a[name].shape[-1]):
                    pair = (each[name][..., column].ravel() for each in (a, b))
                    assert ks_2samp(*pair).pvalue > 1e-3
            else:
                np.testing.assert_allclose(a[name], b[name], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow) if c in CHAINS else c for c in CASES],
)
def test_scores_are_those_of_numpy(case, smoke, elsewhere, tmp_path):
    launch, axes = CASES[case]
    launch(smoke, tmp_path / "numpy.csv", UNSHARDED, **axes)
    assert set(scores.read([tmp_path / "numpy.csv"])["status"]) == {"ok"}
    elsewhere()
    parts = tmp_path / "1.npz", tmp_path / "2.npz"
    for i, path in enumerate(parts, 1):
        launch(smoke, path, Sharding(Shard(i, 2)), **axes)
        with np.load(path, allow_pickle=False) as stored:
            assert {stored[name].dtype.kind for name in stored} <= set("fiub")
    launch(smoke, tmp_path / "device.csv", Sharding(parts=parts), **axes)
    assert_close(tmp_path / "device.csv", tmp_path / "numpy.csv", case in CHAINS)
    found = scores.read([tmp_path / "device.csv"])
    fitted = found[found["metric"] != REGULARIZATION_ERROR]
    assert set(fitted["backend"]) == {"cupy"}
    assert set(scores.read([tmp_path / "numpy.csv"])["backend"]) == {"numpy"}


def test_data_go_to_the_device_once_a_data_set(smoke, elsewhere, tmp_path, monkeypatch):
    elsewhere()
    sent, plain = [], r_benchmark.asarray

    def counted(values, backend="numpy"):
        sent.append(values.shape)
        return plain(values, backend)

    monkeypatch.setattr(r_benchmark, "asarray", counted)
    splits(smoke, tmp_path / "out.csv", UNSHARDED, "KCEF", options=QUICK)
    assert len(sent) == 2


def test_relative_similarity_is_that_of_numpy(smoke, elsewhere, tmp_path):
    for name in ("KCEF", "LSCDE"):
        seeds(smoke, tmp_path / f"{name}.csv", UNSHARDED, name, options=QUICK, graph="full")
    ours, rival = tmp_path / "KCEF.csv", tmp_path / "LSCDE.csv"
    compared = similarity.Job(ours=ours, rival=rival, rival_name="LSCDE")
    run(compared, tmp_path / "numpy.csv")
    elsewhere()
    run(compared, tmp_path / "device.csv")
    assert_close(tmp_path / "device.csv", tmp_path / "numpy.csv")
    assert set(scores.read([tmp_path / "device.csv"])["backend"]) == {"cupy"}


def test_metrics_of_samples_on_a_device(strict, rng):
    on_host = [rng.standard_normal((n, 2)) for n in (30, 40, 50)]
    there = [strict.asarray(sample) for sample in on_host]
    for metric in (mmd2_unbiased, mmd2_biased):
        assert metric(*there[:2], 0.7) == pytest.approx(metric(*on_host[:2], 0.7), rel=1e-12)
    assert median_bandwidth(*there) == median_bandwidth(*on_host)
    found, expected = (relative_similarity_test(*three, 0.7) for three in (there, on_host))
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-10)


def test_estimators_on_jax_stay_where_they_are(monkeypatch):
    monkeypatch.setattr(methods, "resolve_backend", lambda name: "cupy")
    assert methods.backend_of(KCEF(), "auto") == "cupy"
    for estimator in (NADE(), DDE()):
        assert methods.backend_of(estimator, "cupy") == "numpy"


def test_an_unknown_backend_is_refused_whatever_the_estimator():
    for estimator in (KCEF(), NADE()):
        with pytest.raises(ValueError, match="backend must be one of auto, numpy, cupy"):
            methods.backend_of(estimator, "torch")
