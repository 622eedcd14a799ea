import json

import numpy as np
import pytest

from kcde import scores
from kcde.data import fetch, made_up
from kcde.estimators import KCEF, LSCDE
from kcde.experiments import exact, factors, joint
from kcde.experiments._problems import open_problem
from kcde.experiments.factors import Job
from kcde.experiments.runner import run
from kcde.metrics.names import NLL

QUICK = {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a factor job; return the path of its scores."""
    folder, catalogue = smoke

    def run_job(nodes, name=None, **axes):
        out = tmp_path / f"{name or '-'.join(map(str, nodes))}.csv"
        axes = {"dataset": "smoke-joint", "method": "LSCDE-F", "estimator": "LSCDE"} | axes
        job = Job(nodes=tuple(nodes), **{"options": QUICK, "runs": 2, **axes})
        run(job, out, folder, catalogue=catalogue)
        return out

    return run_job


def info_of(path):
    return json.loads(path.with_suffix(".json").read_text())


def test_a_score_is_that_of_a_standardised_fit_by_hand(launch, smoke):
    out = launch([3, 2], method="KCEF-F", estimator="KCEF")
    frame = scores.read([out])
    split = open_problem("smoke-joint", *smoke).split(1)
    assert abs(split.train.mean(axis=0)).max() < 1e-12
    np.testing.assert_allclose(split.train.std(axis=0), 1.0)
    model = KCEF(**QUICK).fit(split.train[:, :2], split.train[:, 2:])
    expected = model.log_density(split.test[:, :2], split.test[:, 2:])
    label = '{"graph":"full","node":3,"parents":[1,2]}'
    row = frame[(frame["setting"] == label) & (frame["split"] == 1)].iloc[0]
    assert row["value"] == pytest.approx(-expected.mean(), rel=1e-8)
    assert (row["n_train"], row["n_test"], row["dim"]) == (135, 15, 3)
    arrays = np.load(out.with_suffix(".npz"))
    np.testing.assert_allclose(arrays["log_density"][1, 0], expected, rtol=1e-9)
    assert arrays["nodes"].tolist() == [3, 2]


def test_a_joint_density_is_the_sum_of_its_factors(launch, tmp_path):
    files = [launch([3]), launch([1, 2])]
    run(joint.Job(factors=tuple(files)), tmp_path / "joint.csv")
    frame = scores.read([tmp_path / "joint.csv"])
    single = scores.read(files)
    np.testing.assert_allclose(frame["value"], single.groupby("split")["value"].sum(), rtol=1e-9)
    assert frame["dim"].tolist() == [3, 3]
    assert set(frame["setting"]) == {"{}"}
    arrays = np.load(tmp_path / "joint.npz")
    assert arrays["factor_log_density"].shape == (2, 3, 15)
    for node, path in ((0, files[1]), (2, files[0])):
        part = np.load(path.with_suffix(".npz"))["log_density"][:, 0]
        np.testing.assert_array_equal(arrays["factor_log_density"][:, node], part)
    np.testing.assert_allclose(-arrays["log_density"].mean(axis=1), frame["value"], rtol=1e-9)
    info = info_of(tmp_path / "joint.csv")
    assert [(each["run"], each["node"]) for each in info["chosen"]] == [
        (run, node) for run in (0, 1) for node in (1, 2, 3)
    ]
    reasons = {each["column"]: each["reason"] for each in info["removed"]}
    assert "discrete" in reasons.values()
    assert not set(reasons) & set(info["columns"])


def test_joint_scores_are_those_of_a_joint_density(launch, smoke, tmp_path):
    from kcde.experiments.factors import estimator_of
    from kcde.joint import JointDensity

    dag = [[], [0], [0]]
    run(joint.Job(factors=(launch([1, 2, 3], graph=dag),)), tmp_path / "joint.csv")
    found = scores.read([tmp_path / "joint.csv"])["value"][0]
    problem = open_problem("smoke-joint", *smoke)
    split = problem.split(0)
    job = Job("smoke-joint", "LSCDE-F", "LSCDE", nodes=(1,), options=QUICK)
    model = JointDensity(estimator_of(job, problem.seed(0)), dag).fit(None, split.train)
    assert found == pytest.approx(-model.score(None, split.test), rel=1e-9)
    assert info_of(tmp_path / "joint.csv")["job"]["graph"] == [[], [1], [1]]


def test_every_dimension_of_the_long_chain_has_its_score(launch, tmp_path):
    axes = {"dataset": "grid-2000", "max_dim": 4, "runs": 1}
    run(joint.Job(factors=(launch([1, 2, 3, 4], **axes),)), tmp_path / "joint.csv")
    frame = scores.read([tmp_path / "joint.csv"])
    assert frame["dim"].tolist() == [1, 2, 3, 4]
    assert frame["setting"].tolist() == [f'{{"dim":{d}}}' for d in (1, 2, 3, 4)]
    terms = np.load(tmp_path / "joint.npz")["factor_log_density"][0].mean(axis=1)
    np.testing.assert_allclose(frame["value"], -np.cumsum(terms), rtol=1e-9)


def test_a_dimension_without_all_its_parents_has_no_score(launch, tmp_path):
    axes = {"dataset": "grid-2000", "max_dim": 3, "runs": 1, "graph": [[1], [], [1]]}
    run(joint.Job(factors=(launch([1, 2, 3], **axes),)), tmp_path / "joint.csv")
    assert scores.read([tmp_path / "joint.csv"])["dim"].tolist() == [2, 3]


def test_a_factor_that_fails_fails_its_run_with_the_reason(launch, tmp_path, monkeypatch):
    plain, fits = LSCDE._fit, []

    def fail_once(self, X, Y):
        fits.append(X.shape[1])
        if fits == [0, 1]:
            raise np.linalg.LinAlgError("no luck")
        plain(self, X, Y)

    monkeypatch.setattr(LSCDE, "_fit", fail_once)
    out = launch([1, 2, 3])
    frame = scores.read([out])
    assert frame["status"].tolist() == ["ok", "failed", *["ok"] * 4]
    assert frame["detail"][1] == "LinAlgError: no luck"
    run(joint.Job(factors=(out,)), tmp_path / "joint.csv")
    frame = scores.read([tmp_path / "joint.csv"])
    assert frame["status"].tolist() == ["failed", "ok"]
    assert frame["detail"][0] == "node 2: LinAlgError: no luck"
    assert np.isnan(frame["value"][0])
    assert np.isnan(np.load(tmp_path / "joint.npz")["log_density"][0]).all()


def test_a_density_that_is_not_finite_is_a_failure(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "log_density", lambda self, X, Y: np.full(len(Y), -np.inf))
    frame = scores.read([launch([1])])
    assert set(frame["status"]) == {"failed"}
    assert f"{NLL} is inf" in frame["detail"][0]


def test_programming_errors_are_not_hidden(launch, monkeypatch):
    monkeypatch.setattr(LSCDE, "_fit", lambda self, X, Y: self.nonsense)
    with pytest.raises(AttributeError):
        launch([1])


def test_unavailable_data_are_not_run_from_factor_to_joint(smoke, tmp_path):
    folder, catalogue = smoke
    record = tmp_path / "record.json"
    fetch.write_record(fetch.fetch("smoke-joint", tmp_path / "empty", None, catalogue), record)
    job = Job("smoke-joint", "LSCDE-F", "LSCDE", nodes=(1, 2, 3), runs=2)
    run(job, tmp_path / "f.csv", folder, record=record)
    assert set(scores.read([tmp_path / "f.csv"])["status"]) == {"not-run"}
    run(joint.Job(factors=(tmp_path / "f.csv",)), tmp_path / "joint.csv")
    frame = scores.read([tmp_path / "joint.csv"])
    assert frame["status"].tolist() == ["not-run"] * 2
    assert "smoke-joint is unavailable; set KCDE_DATA_MIRROR" in frame["detail"][0]


def test_importance_sampling_agrees_with_quadrature(launch):
    frame = scores.read(
        [launch([1, 3], method="KCEF-F", estimator="KCEF", importance_samples=4000)]
    )
    error = frame[frame["metric"] == "importance_error"]
    assert len(error) == 4
    assert (error["value"].abs() < 5 * error["stderr"]).all()
    assert (error["stderr"] > 0).all()
    assert (frame[frame["metric"] == "effective_sample_size"]["value"] > 50).all()


def test_tuning_rows_reach_the_estimator_unless_the_options_say_otherwise():
    job = Job("d", "KCEF-F", "KCEF", nodes=(1,), tuning_rows=50)
    assert factors.estimator_of(job, 3).tuning_rows == 50
    assert factors.estimator_of(job, 3).random_state == 3
    own = Job("d", "KCEF-F", "KCEF", nodes=(1,), tuning_rows=50, options={"tuning_rows": 60})
    assert factors.estimator_of(own, 3).tuning_rows == 60
    assert not hasattr(factors.estimator_of(Job("d", "L", "LSCDE", nodes=(1,)), 3), "tuning_rows")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [1, 4]}, r"smoke-joint has the nodes 1 to 3; got \[4\]"),
        ({"options": {"sigma": 1}}, "LSCDE has no option sigma; it has bandwidth_x"),
        ({"graph": [[2], [0], [1]]}, "graph has the cycle"),
        ({"graph": [[], [0]]}, "2 lists of parents for 3 columns"),
        ({"runs": 0}, "runs must be at least 1"),
        ({"estimator": "Nothing"}, "there is no estimator 'Nothing'"),
        ({"dataset": "smoke-linear"}, "conditional densities: it has the x"),
        ({"dataset": "grid-9000"}, "2 to 8000 training rows; got grid-9000"),
        ({"dataset": "grid-2000", "max_dim": 1}, "at least 2 columns"),
    ],
)
def test_wrong_settings_stop_the_job_before_it_starts(launch, tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        launch(**{"nodes": [1], **change})
    assert not list(tmp_path.iterdir())


def test_factors_that_do_not_belong_together_are_refused(launch, tmp_path):
    first = launch([1, 2])
    out = tmp_path / "joint.csv"
    with pytest.raises(ValueError, match=r"node\(s\) \[3\] of 1 to 3 are missing"):
        run(joint.Job(factors=(first,)), out)
    with pytest.raises(ValueError, match=r"node\(s\) \[2\] stand in more than one file"):
        run(
            joint.Job(
                factors=(
                    first,
                    launch([2, 3]),
                )
            ),
            out,
        )
    with pytest.raises(ValueError, match="graph is 'markov' and not 'full'"):
        run(
            joint.Job(
                factors=(
                    first,
                    launch([3], graph="markov"),
                )
            ),
            out,
        )
    with pytest.raises(ValueError, match="none were given"):
        run(joint.Job(factors=()), out)
    assert not out.exists()


def test_an_alias_has_the_rows_of_its_name(smoke):
    folder, catalogue = smoke
    text = catalogue.read_text().replace("\nsmoke-joint,,", "\nsmoke-joint,other,")
    renamed = folder / "renamed.csv"
    renamed.write_text(text)
    problems = [open_problem(name, folder, renamed) for name in ("smoke-joint", "other")]
    np.testing.assert_array_equal(*(problem.split(1).train for problem in problems))
    assert problems[0].seed(1) == problems[1].seed(1)
    assert problems[0].seed(1) != problems[0].seed(0)


def test_exact_scores_are_the_bounds_of_the_grid_data(tmp_path):
    run(exact.Job(dataset="grid-400", runs=2), tmp_path / "exact.csv")
    frame = scores.read([tmp_path / "exact.csv"])
    wide = frame.pivot(index="split", columns="metric", values="value")
    gain = wide["independence"] - wide["entropy"]
    np.testing.assert_allclose(gain, -made_up.grid_entropy(3).sum(), rtol=1e-8)
    terms = np.load(tmp_path / "exact.npz")["factor_log_density"]
    error = terms.sum(axis=1).std(axis=1) / np.sqrt(terms.shape[2])
    assert np.all(np.abs(wide[NLL] - wide["entropy"]) < 4 * error)
    # In standardised units independent uniforms have the density Π s_i on their box.
    split = open_problem("grid-400", "").split(1)
    assert wide["independence"][1] == pytest.approx(-np.log(split.std).sum(), rel=1e-8)
    volume = np.ptp(split.train, axis=0).prod()
    assert wide["independence"][1] == pytest.approx(np.log(volume), abs=0.05)


def test_no_method_beats_the_exact_density_beyond_chance(launch, tmp_path):
    run(
        joint.Job(factors=(launch([1, 2, 3], dataset="grid-700", runs=1),)),
        tmp_path / "joint.csv",
    )
    run(exact.Job(dataset="grid-700", runs=1), tmp_path / "exact.csv")
    ours = np.load(tmp_path / "joint.npz")["log_density"][0]
    best = np.load(tmp_path / "exact.npz")["factor_log_density"][0].sum(axis=0)
    assert (best - ours).mean() > 0


def test_exact_scores_have_every_dimension_of_the_long_chain(tmp_path):
    run(exact.Job(dataset="grid-2000", runs=1, max_dim=5), tmp_path / "exact.csv")
    frame = scores.read([tmp_path / "exact.csv"])
    entropy = frame[frame["metric"] == "entropy"]
    assert entropy["dim"].tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="only the grid data have a known density"):
        run(exact.Job(dataset="red-wine"), tmp_path / "none.csv")
