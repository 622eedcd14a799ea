import itertools
import json

import numpy as np
import pytest

from kcde import scores
from kcde.data import made_up
from kcde.data import names as names_of_data
from kcde.estimators import CME, JDL
from kcde.estimators._low_rank import gaussian as jdl_gaussian
from kcde.experiments._low_rank import bandwidths
from kcde.experiments.moments import Moments
from kcde.experiments.runner import run
from kcde.metrics import low_rank, names

GRID = {"bandwidth_factors": (1.0, 4.0), "regularizations": (1e-4, 1e-2)}
LAW = {"law": names_of_data.DRAWN_LAW}
JDL_JOB = {"dataset": "gaussian-2-150", "method": "JDL", "estimator": "JDL"}
CME_JOB = JDL_JOB | {"method": "CME", "estimator": "CME"}


def launch(folder, **axes):
    """Scores, arrays and info of a job with two repetitions and 40 test points."""
    folder.mkdir(exist_ok=True)
    job = Moments(**{"repetitions": 2, "test_rows": 40, "matched_repetitions": 0} | GRID | axes)
    out = folder / f"{job.method}.csv"
    run(job, out)
    with np.load(out.with_suffix(".npz")) as stored:
        arrays = dict(stored)
    return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def by_jdl(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("jdl"), **JDL_JOB, tolerances=(1e-3, 1e-1))


@pytest.fixture(scope="module")
def by_cme(tmp_path_factory):
    return launch(tmp_path_factory.mktemp("cme"), **CME_JOB)


def values(frame, metric, **setting):
    """Values of a metric, a repetition each."""
    stated = scores.setting(**LAW | setting)
    rows = frame[frame["metric"].eq(metric) & frame["setting"].eq(stated)]
    return rows.sort_values("split")["value"].to_numpy()


def fitted(cls, info, place):
    """The model of the first repetition, fitted anew by its own `fit`."""
    (chosen,) = [
        each
        for each in info["chosen"]
        if each["split"] == 0 and {k: each[k] for k in ("tolerance", "constrained")} == place
    ]
    law = made_up.gaussian_random_pairs(2, 0)
    X, Y = made_up.gaussian_training_pairs(law, 150, 0)
    model = cls(**chosen["chosen"]["options"], **place, random_state=0)
    return model.fit(X[:120], Y[:120]), law, made_up.gaussian_held_out_pairs(law, 0, 40)


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("cls", [JDL, CME])
def test_metrics_by_hand(cls, constrained, by_jdl, by_cme):
    """Point by point, from a model fitted anew with what was chosen."""
    frame, arrays, info = {JDL: by_jdl, CME: by_cme}[cls]
    place = {"tolerance": 1e-3, "constrained": constrained}
    model, law, (X, _) = fitted(cls, info, place)
    losses, masses, violations = [], [], []
    for x in X:
        x = x[None]
        T = law.conditional_second_moment(x)[0]
        found = model.conditional_moments(x)[1][0]
        losses.append(np.linalg.norm(found - T, "fro") ** 2 / np.linalg.norm(T, "fro") ** 2)
        one = model.conditional_expectation(lambda Y: np.ones((len(Y), 1)), x)
        masses.append(abs(one.item() - 1))
        violations.append(np.linalg.eigvalsh(found)[0] < 0)
    assert values(frame, names.SECOND_MOMENT_LOSS, **place)[0] == pytest.approx(
        np.mean(losses), rel=1e-6
    )
    assert values(frame, names.PSD_VIOLATION_RATE, **place)[0] == pytest.approx(np.mean(violations))
    worst = values(frame, names.NORMALISATION_ERROR, **place)[0]
    assert worst == pytest.approx(np.max(masses), rel=1e-5, abs=1e-12)
    settings = info["settings"].index(place | LAW)
    np.testing.assert_allclose(arrays["error"][0, settings], losses, rtol=1e-4)
    np.testing.assert_allclose(np.abs(arrays["mass"][0, settings]), masses, rtol=1e-3, atol=1e-12)


def test_what_was_chosen_has_the_least_loss_at_the_validation_points(by_jdl):
    _, _, info = by_jdl
    law = made_up.gaussian_random_pairs(2, 0)
    X, Y = made_up.gaussian_training_pairs(law, 150, 0)
    chosen = info["chosen"][0]["chosen"]
    true = law.conditional_second_moment(X[120:])

    def loss(**options):
        found = JDL(**options).fit(X[:120], Y[:120]).conditional_moments(X[120:])[1]
        return low_rank.relative_errors(found, true).mean()

    names = ("bandwidth_x", "bandwidth_y", "regularization")
    tried = itertools.product(
        *(
            [each[f"bandwidth_{side}"] for each in bandwidths(JDL(), side, rows[:120], (1.0, 4.0))]
            for side, rows in (("x", X), ("y", Y))
        ),
        GRID["regularizations"],
    )
    losses = {each: loss(**dict(zip(names, each, strict=True))) for each in tried}
    best = min(losses, key=losses.get)
    assert chosen["options"] == pytest.approx(dict(zip(names, best, strict=True)))
    assert chosen["loss"] == pytest.approx(losses[best], rel=1e-8)
    assert chosen["tried"] == len(losses)


def test_joint_distributions_are_normalised_and_embeddings_are_not(by_jdl, by_cme):
    for place in by_jdl[2]["settings"]:
        assert values(by_jdl[0], names.NORMALISATION_ERROR, **place).max() < 1e-10
    place = {"tolerance": 1e-3, "constrained": False}
    assert values(by_cme[0], names.NORMALISATION_ERROR, **place).min() > 1e-4
    assert (values(by_jdl[0], "density_violation_rate", **place | {"constrained": True}) == 0).all()
    assert set(values(by_cme[0], "tightening_infeasible", **place)) <= {0.0, 1.0}
    assert not len(values(by_cme[0], "tightening_infeasible", **place | {"constrained": True}))


@pytest.fixture
def made(monkeypatch):
    """Rows and tolerance of each factor that is made of Gaussian kernels."""
    found, plain = [], jdl_gaussian.pivoted_cholesky

    def counted(kernel, points, tolerance, **options):
        found.append((len(points), tolerance))
        return plain(kernel, points, tolerance, **options)

    monkeypatch.setattr(jdl_gaussian, "pivoted_cholesky", counted)
    return found


def test_a_basis_serves_every_method(tmp_path, made):
    options = {"repetitions": 1, "test_rows": 20, "matched_repetitions": 0} | GRID
    jobs = [Moments(**each | options) for each in (JDL_JOB, CME_JOB)]
    run(jobs, [tmp_path / "JDL.csv", tmp_path / "CME.csv"])
    # Two bandwidths of x and two of y are tried; four fits to the same rows take what they chose.
    assert len(made) == 4
    for job in jobs:
        frame = scores.read([tmp_path / f"{job.method}.csv"])
        assert (frame.loc[frame["metric"].eq("seconds_factorise"), "value"] > 0).all()


def test_every_method_is_given_the_same():
    first, second = (Moments(**each, test_rows=30).repetition(1) for each in (JDL_JOB, CME_JOB))
    for one, other in zip(first[2:6], second[2:6], strict=True):
        np.testing.assert_array_equal(one, other)
    larger = Moments(**JDL_JOB | {"dataset": "gaussian-2-400"}, test_rows=30).repetition(1)
    np.testing.assert_array_equal(first.source.correlation, larger.source.correlation)
    np.testing.assert_array_equal(first.X_test, larger.X_test)


def test_few_rows_choose_where_that_is_asked_for(tmp_path, monkeypatch):
    seen = []
    plain = JDL.make_basis_x

    def counted(self, X):
        seen.append(len(X))
        return plain(self, X)

    monkeypatch.setattr(JDL, "make_basis_x", counted)
    launch(tmp_path, **JDL_JOB, repetitions=1, tuning_rows=50)
    # Two bandwidths are tried on four fifths of 50, and one or two are fitted to those of 150.
    assert seen[:2] == [40, 40]
    assert set(seen[2:]) == {120}


def test_a_solver_that_stops_early_is_a_failed_row(tmp_path, monkeypatch):
    message = "the two-multiplier dual stopped early: status iteration limit, residual 0.3"

    def failing(self, *given):
        raise FloatingPointError(message)

    plain = JDL._fit_summary
    monkeypatch.setattr(
        JDL,
        "_fit_summary",
        lambda self, *given: (failing if self.constrained else plain)(self, *given),
    )
    frame, arrays, info = launch(tmp_path, **JDL_JOB)
    bad = frame[frame["status"] == "failed"]
    assert bad["split"].tolist() == [0, 1]
    assert set(bad["metric"]) == {names.SECOND_MOMENT_LOSS}
    assert all(message in detail for detail in bad["detail"])
    assert set(bad["setting"]) == {scores.setting(tolerance=1e-3, constrained=True, **LAW)}
    assert np.isnan(arrays["error"][:, 1]).all()
    assert np.isfinite(arrays["error"][:, 0]).all()
    assert [each["chosen"] is None for each in info["chosen"]] == [False, True] * 2


def test_independence_and_the_size_of_the_choice_are_stated(by_jdl):
    frame, _, info = by_jdl
    law = made_up.gaussian_random_pairs(2, 1)
    _, Y = made_up.gaussian_training_pairs(law, 150, 1)
    at, _ = made_up.gaussian_held_out_pairs(law, 1, 40)
    T = law.conditional_second_moment(at)
    mean = np.mean([np.outer(y, y) for y in Y[:120]], axis=0)
    expected = np.mean([np.sum((mean - t) ** 2) / np.sum(t**2) for t in T])
    for stated in info["settings"]:
        place = {name: stated[name] for name in ("tolerance", "constrained")}
        assert values(frame, names.INDEPENDENCE_LOSS, **place)[1] == pytest.approx(expected)
        stated = values(frame, names.CANONICAL_CORRELATION, **place)[1]
        assert stated == pytest.approx(law.canonical_correlation)
        assert values(frame, names.TUNING_ROWS, **place).tolist() == [150, 150]


def test_relative_errors_against_a_loop(rng):
    true, found = rng.standard_normal((2, 5, 3, 3))
    expected = [
        sum((a - b) ** 2 for a, b in zip(F.ravel(), T.ravel(), strict=True)) / np.sum(T**2)
        for F, T in zip(found, true, strict=True)
    ]
    np.testing.assert_allclose(low_rank.relative_errors(found, true), expected)
    longer = np.hstack([found.reshape(5, 9), rng.standard_normal((5, 1))])
    np.testing.assert_allclose(low_rank.relative_errors(longer, true), expected)


def test_matrices_that_are_not_positive_semi_definite_are_counted():
    job = Moments(**JDL_JOB, test_rows=4)
    matrices = [[1, 0, 0, 1], [1, 2, 2, 1], [1, 1, 1, 1], [0, 0, 0, 0]]
    values = np.column_stack([matrices, [1.0, 0.5, 1.0, 1.2]])
    metrics = {name: value for name, value, _ in job.judged(job.repetition(0), values)[0]}
    # The third is singular and the fourth is zero: rounding is not a violation.
    assert metrics[names.PSD_VIOLATION_RATE] == 0.25
    assert metrics[names.NORMALISATION_ERROR] == 0.5


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "gaussian-1"},
        {"tuning_rows": 4},
        {"tolerances": (1e-3, 1e-3)},
        {"tolerances": (0.0,)},
        {"laws": ("normal-0",)},
        {"largest_factors": (0.25,)},
        {"options": {"sigma": 1}},
        {"estimator": "LSCDE"},
        {"bandwidth_factors": ()},
        {"regularizations": (1.0, 0.0)},
    ],
)
def test_wrong_settings_stop_the_job_before_it_starts(tmp_path, change):
    with pytest.raises(ValueError, match=r"."):
        launch(tmp_path, **JDL_JOB | change)
    assert not list(tmp_path.iterdir())
