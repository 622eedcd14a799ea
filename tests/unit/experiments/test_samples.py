import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ks_2samp

from kcde import scores
from kcde.estimators import KCEF, KEF, LSCDE
from kcde.experiments import similarity
from kcde.experiments._problems import open_problem
from kcde.experiments._samplers import ancestral_hmc, check_conditionals, sampler_of
from kcde.experiments.factors import Factors
from kcde.experiments.runner import run
from kcde.experiments.samples import Samples
from kcde.experiments.similarity import Similarity
from kcde.joint import JointDensity
from kcde.metrics import median_bandwidth, relative_similarity_test
from kcde.seeding import rng_of

BUNDLED = Path("resources/data")
QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}
KCEF_F = {"method": "KCEF-F", "estimator": "KCEF", "options": QUICK, "graph": "full"}
LSCDE_F = {"method": "LSCDE-F", "estimator": "LSCDE", "options": QUICK, "graph": "full"}


@pytest.fixture
def data(smoke):
    return dict(zip(("data_dir", "catalogue"), smoke, strict=True))


@pytest.fixture
def launch(data, tmp_path):
    """Run a job of 2 seeds and 120 samples; return the path of its scores."""

    def run_job(name=None, files=(), **axes):
        axes = {"dataset": "smoke-joint", "seeds": 2, "samples": 120} | axes
        out = tmp_path / f"{name or axes['method']}.csv"
        run(Samples(**axes, **data, files=tuple(files)), out)
        return out

    return run_job


@pytest.fixture
def curve(rng):
    """Eighty rows of a bent, heteroscedastic pair and a third coordinate that follows."""
    x = rng.standard_normal(80)
    y = np.cos(x) + (0.2 + 0.2 * np.abs(x)) * rng.standard_normal(80)
    return np.column_stack([x, y, 0.5 * y + 0.7 * rng.standard_normal(80)])


def test_hamiltonian_and_inverse_sampling_have_one_distribution(curve, rng):
    model = JointDensity(KCEF(1.0, 0.7, 0.01)).fit(None, curve)
    chains = ancestral_hmc(model, 1500, rng, check_conditionals(model, curve[:3], 200))
    exact = model.sample(None, 1500, rng)[0]
    directions = [*np.eye(3), [1, 1, 0], [1, -1, 0], [0, 1, -1]]
    for direction in directions:
        # Draws of the first column are correlated within a chain, which only widens the error.
        assert ks_2samp(chains.samples @ direction, exact @ direction).pvalue > 1e-3
    assert 0.5 < chains.diagnostics["acceptance_rate"] <= 1.0
    assert chains.diagnostics["r_hat"] < 1.2
    assert chains.diagnostics["effective_sample_size"] > 20
    assert chains.diagnostics["divergences"] == 0


@pytest.mark.nightly
def test_adapted_chains_mix_where_published_ones_do_not(rng):
    """Columns on scales a hundredfold apart, for which one step is too small."""
    rows = rng.standard_normal((100, 3)) * [0.05, 1.0, 5.0]
    model = KEF([0.2, 4.0, 20.0], 1e-2, base_std=5.0).fit(None, rows)
    found = {
        kind: sampler_of(model, kind, rows, 2000)(2000, np.random.default_rng(1)).diagnostics
        for kind in ("hmc", "adapted")
    }
    assert found["hmc"]["r_hat"] > 1.05 > found["adapted"]["r_hat"]
    assert found["adapted"]["divergence_rate"] == 0.0


def test_jobs_that_sample_one_model_in_two_ways_fit_it_once(data, tmp_path, monkeypatch):
    fits, plain = [], KCEF._fit

    def counting(self, X, Y):
        fits.append(self)
        plain(self, X, Y)

    monkeypatch.setattr(KCEF, "_fit", counting)
    shared = KCEF_F | data | {"dataset": "smoke-joint", "seeds": 2, "samples": 40}
    jobs = [Samples(**shared), Samples(**shared | {"method": "KCEF-F-inverse"})]
    together = [tmp_path / f"{job.method}.csv" for job in jobs]
    run(jobs, together)
    assert len(fits) == 3  # a factor a column
    for job, path in zip(jobs, together, strict=True):
        alone = tmp_path / "alone.csv"
        run(job, alone)
        first, second = (np.load(each.with_suffix(".npz")) for each in (path, alone))
        np.testing.assert_array_equal(first["samples"], second["samples"])
    assert "r_hat" not in set(scores.read([together[1]])["metric"])


def test_models_of_the_shown_pair_see_its_columns_and_the_rows_of_all(launch, smoke):
    whole, pair = launch(**KCEF_F), launch("pair", **KCEF_F, columns="shown-pair")
    every, shown = (np.load(path.with_suffix(".npz")) for path in (whole, pair))
    for name in ("reference", "reference_test"):
        np.testing.assert_allclose(shown[name], every[name][..., 1:], rtol=1e-12)
    assert shown["samples"].shape == (2, 120, 2)
    split = open_problem("smoke-joint", *smoke).split(0)
    model = JointDensity(KCEF(**QUICK)).fit(None, split.train[:, 1:])
    rng = rng_of("samples", "smoke-joint", "KCEF-F-pair-inverse", 0)
    expected = model.sample(None, 120, rng)[0]
    named = KCEF_F | {"method": "KCEF-F-pair-inverse"}
    drawn = np.load(launch(**named, columns="shown-pair").with_suffix(".npz"))
    np.testing.assert_allclose(drawn["samples"][0], expected)
    info = json.loads(pair.with_suffix(".json").read_text())
    assert (info["columns"], info["shown_pair"], info["places"]) == (
        ["damp", "wind"],
        [1, 2],
        [2, 3],
    )
    assert {"conditional_std_error", "r_hat"} <= set(scores.read([pair])["metric"])


def test_same_job_same_samples_and_the_same_reference_for_each_method(launch):
    paths = [launch(**LSCDE_F), launch("again", **LSCDE_F), launch(**KCEF_F)]
    first, again, other = (np.load(path.with_suffix(".npz")) for path in paths)
    np.testing.assert_array_equal(first["samples"], again["samples"])
    np.testing.assert_array_equal(first["reference"], other["reference"])


def test_hyperparameters_come_from_the_factors(launch, data, tmp_path, monkeypatch):
    axes = {"dataset": "smoke-joint", "method": "LSCDE-F", "estimator": "LSCDE"}
    path = tmp_path / "factors.csv"
    run(Factors(**axes, **data, runs=2), path)
    tuned = launch("tuned", **axes, graph="full")

    def refuse(self, *arguments):
        raise AssertionError("tuned again")

    monkeypatch.setattr(LSCDE, "_select", refuse)
    taken = launch("taken", files=[path], **axes, graph="full")
    np.testing.assert_array_equal(
        *(np.load(one.with_suffix(".npz"))["samples"] for one in (tuned, taken))
    )


def test_a_model_that_cannot_be_fitted_is_a_row_for_each_seed(launch, monkeypatch, tmp_path):
    good = launch(**KCEF_F)

    def fail(self, X, Y):
        raise np.linalg.LinAlgError("no luck")

    monkeypatch.setattr(LSCDE, "_fit", fail)
    bad = launch(**LSCDE_F)
    frame = scores.read([bad])
    assert frame["status"].tolist() == ["failed"] * 2
    assert frame["detail"][0] == "LinAlgError: no luck"
    compare(good, bad, "LSCDE", tmp_path / "similarity.csv", dataset="smoke-joint")
    frame = scores.read([tmp_path / "similarity.csv"])
    tests, mixing = frame[frame["metric"] == "p_value"], frame[frame["metric"] != "p_value"]
    assert set(tests["detail"]) == {"LSCDE-F: LinAlgError: no luck"}
    assert set(mixing["status"]) == {"ok"}


@pytest.fixture
def sampled(tmp_path):
    """Write samples as a job would, of given arrays; return the path."""

    def write(method, drawn, reference, test, pair=(1, 2), mixing=None):
        path = tmp_path / f"{method}.csv"
        stated = {"conditional_std_error": 0.1}
        stated |= dict(zip(("r_hat", "divergence_rate"), mixing or (), strict=False))
        rows = [
            {"experiment": "samples", "dataset": "toy", "method": method, "split": seed}
            | {"setting": "{}", "metric": metric, "value": value, "status": "ok"}
            for seed in range(len(drawn))
            for metric, value in stated.items()
        ]
        arrays = {"samples": drawn, "reference": reference, "reference_test": test}
        scores.write(path, rows, {"shown_pair": list(pair)}, arrays)
        return path

    return write


def test_a_close_rival_is_not_rejected_and_a_far_one_is(sampled, tmp_path, rng):
    near, data, test = (rng.standard_normal((2, 300, 3)) for _ in range(3))
    far = near + 0.8
    out = tmp_path / "out.csv"
    shared = (data, test[0])
    compare(sampled("A", near, *shared), sampled("B", far, *shared), "KEF", out)
    frame = scores.read([out])
    assert set(frame["method"]) == {"H0: KEF closer than KCEF"}
    assert set(frame["metric"]) == {"p_value"}
    variants = (*similarity.VARIANTS, "exact-draws")
    assert frame.groupby("variant").size().to_dict() == dict.fromkeys(variants, 2)
    assert (frame["value"] < 1e-3).all()
    compare(sampled("A", far, *shared), sampled("B", near, *shared), "KEF", out)
    assert (scores.read([out])["value"] > 0.99).all()


def test_variants_differ_in_reference_and_columns(sampled, tmp_path, rng):
    a, b, data = (rng.standard_normal((1, 100, 3)) for _ in range(3))
    test = rng.standard_normal((40, 3))
    out = tmp_path / "out.csv"
    paths = [sampled(name, drawn, data, test, pair=(1, 3)) for name, drawn in (("A", a), ("B", b))]
    compare(*paths, "NADE", out)
    found = scores.read([out]).set_index("variant")["value"]
    pair = [0, 2]
    cases = {
        "as-published": (data[0], b[0], a[0]),
        "test-rows": (test, b[0], a[0]),
        "slice": (data[0][:, pair], b[0][:, pair], a[0][:, pair]),
    }
    for variant, (reference, rival, ours) in cases.items():
        width = median_bandwidth(reference, rival, ours)
        expected = relative_similarity_test(reference, rival, ours, width).p_value
        assert found[variant] == pytest.approx(expected, rel=1e-8)


def test_exact_draws_take_the_place_of_ours_in_a_variant_of_their_own(sampled, tmp_path, rng):
    ours, exact, rival, data = (rng.standard_normal((2, 100, 2)) for _ in range(4))
    drawn = {"A": ours, "A-inverse": exact, "B": rival}
    stated = {"A": (1.02, 0.0), "B": (1.2, 0.03)}
    paths = {
        name: sampled(name, each, data, data[0], mixing=stated.get(name))
        for name, each in drawn.items()
    }
    out = tmp_path / "out.csv"
    compare(paths["A"], paths["B"], "B", out, better=[paths["A-inverse"], paths["B"]])
    frame = scores.read([out])
    found = frame[frame["variant"] == "exact-draws"].set_index(["metric", "split"])["value"]
    width = median_bandwidth(data[1], rival[1], exact[1])
    test = relative_similarity_test(data[1], rival[1], exact[1], width)
    assert found["p_value", 1] == pytest.approx(test.p_value, rel=1e-8)
    assert found["r_hat", 1] == 1.2
    compare(paths["A"], paths["B"], "B", out, better=[paths["A-inverse"], paths["A"]])
    worst = scores.read([out]).set_index(["variant", "metric", "split"])["value"]
    assert worst["as-published", "divergence_rate", 0] == 0.03
    assert worst["exact-draws", "r_hat", 0] == 1.02
    assert worst["slice", "r_hat", 0] == 1.2


def compare(ours, rival, name, out, better=None, dataset="toy"):
    files = (ours, rival, *(better or (ours, rival)))
    run(Similarity(dataset, name, files=files), out)
