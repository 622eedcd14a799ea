import itertools
import json

import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.data import made_up
from kcde.data import names as names_of_data
from kcde.estimators import CME, JDL, JPDL
from kcde.estimators._low_rank import basis as jdl_basis
from kcde.estimators._low_rank.constraints import ConstrainedSolution
from kcde.experiments import _shared_bases
from kcde.experiments._embedding import Setting
from kcde.experiments._low_rank import bandwidths
from kcde.experiments.moments import Moments
from kcde.experiments.runner import run
from kcde.metrics import low_rank, names

GRID = {"bandwidth_factors": (1.0, 4.0), "regularizations": (1e-4, 1e-2)}
LAW = {"law": names_of_data.DRAWN_LAW}
JDL_JOB = {"dataset": "gaussian-2-150", "method": "JDL", "estimator": "JDL"}
CME_JOB = JDL_JOB | {"method": "CME", "estimator": "CME"}
JPDL_JOB = {"dataset": "gaussian-1-150", "method": "JPDL", "estimator": "JPDL"}


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


def test_every_setting_has_its_rows(by_jdl):
    frame, arrays, info = by_jdl
    assert info["settings"] == [
        {"tolerance": 1e-3, "constrained": False} | LAW,
        {"tolerance": 1e-3, "constrained": True} | LAW,
        {"tolerance": 1e-1, "constrained": False} | LAW,
    ]
    assert arrays["error"].shape == (2, 3, 40)
    assert (frame["status"] == "ok").all()
    assert set(frame["n_train"]) == {120}
    assert set(frame["n_test"]) == {40}
    counts = frame.groupby(["setting", "metric"]).size()
    assert (counts == 2).all()
    measured = {"seconds_factorise", "seconds_summarise", "seconds_solve", "seconds_evaluate"}
    measured |= {"rank_x", "rank_y", "peak_memory", "solver_residual"}
    assert measured <= set(frame["metric"])
    for stated in info["settings"]:
        place = {name: stated[name] for name in ("tolerance", "constrained")}
        model, *_ = fitted(JDL, info, place)
        assert values(frame, "rank_x", **place)[0] == model.rank_x_
        assert values(frame, "rank_y", **place)[0] == model.rank_y_


def without_costs(frame):
    """What must not depend on which methods run together."""
    costly = frame["metric"].str.startswith("seconds_") | frame["metric"].eq("peak_memory")
    return frame[~costly].drop(columns="seconds").reset_index(drop=True)


def test_methods_that_run_together_have_the_scores_of_each_alone(tmp_path, by_jdl, by_cme):
    """JPDL has other bases, and its tolerance is 0."""
    options = {"repetitions": 2, "test_rows": 40, "matched_repetitions": 0} | GRID
    named = (JDL_JOB, CME_JOB, JDL_JOB | {"method": "JPDL", "estimator": "JPDL"})
    jobs = [Moments(**each | options) for each in named]
    outs = [tmp_path / f"{job.method}-too.csv" for job in jobs]
    run(jobs, outs)
    for job, out in zip(jobs, outs, strict=True):
        frame, arrays, info = launch(tmp_path, **named[jobs.index(job)])
        pd.testing.assert_frame_equal(without_costs(scores.read([out])), without_costs(frame))
        again = json.loads(out.with_suffix(".json").read_text())
        assert (again["chosen"], again["job"]) == (info["chosen"], info["job"])
        with np.load(out.with_suffix(".npz")) as stored:
            for name, values in arrays.items():
                np.testing.assert_array_equal(stored[name], values)


@pytest.fixture
def made(monkeypatch):
    """Rows and tolerance of each factor that is made of Gaussian kernels."""
    found, plain = [], jdl_basis.pivoted_cholesky

    def counted(kernel, points, tolerance, **options):
        found.append((len(points), tolerance))
        return plain(kernel, points, tolerance, **options)

    monkeypatch.setattr(jdl_basis, "pivoted_cholesky", counted)
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


def test_factors_that_were_not_held_are_made_anew_where_seconds_are_shown(
    tmp_path, made, monkeypatch
):
    monkeypatch.setattr(_shared_bases, "MOST_HELD", 0)
    launch(tmp_path, **JDL_JOB, repetitions=1, tolerances=(1e-3,))
    # Of y, whose factors were recomputed in every pass of the selection.
    assert len(made) > 4


def test_the_published_tolerance_has_factors_of_its_own(tmp_path, made):
    """What it costs is measured; the others take the factors of the tightest."""
    options = {"repetitions": 1, "tuning_rows": 100}
    launch(tmp_path, **JDL_JOB, **options, tolerances=(1e-1, 1e-3, 1e-2))
    # On 80 rows parameters are chosen, and fits are to 120.
    assert {tolerance for n, tolerance in made if n == 80} == {1e-3}
    assert {tolerance for n, tolerance in made if n == 120} == {1e-1, 1e-3}
    del made[:]
    launch(tmp_path, **JDL_JOB, **options, tolerances=(1e-3, 1e-1))
    assert {tolerance for _, tolerance in made} == {1e-3}


def test_other_tolerances_take_the_factors_of_a_selection_on_the_same_rows(tmp_path, made):
    found = {}
    for name, others in (("one", (1e-3,)), ("more", (1e-1, 1e-3, 1e-2))):
        del made[:]
        found[name] = launch(tmp_path / name, **JDL_JOB, repetitions=1, tolerances=others)
        # Two bandwidths of each side are tried; a looser published tolerance has its own factors.
        assert [tolerance for _, tolerance in made].count(1e-3) == 4
        assert ((120, 1e-1) in made) == (name == "more")
    place = {"tolerance": 1e-3, "constrained": False}
    one, more = (values(found[name][0], names.SECOND_MOMENT_LOSS, **place) for name in found)
    assert more == pytest.approx(one, rel=1e-8)


def test_the_loss_of_a_selection_is_the_mean_of_relative_errors():
    rng = np.random.default_rng(0)
    true, found = rng.normal(size=(40, 2, 2)), rng.normal(size=(40, 5))
    expected = np.mean(low_rank.relative_errors(found, true))
    assert low_rank.mean_relative_error(true)(found) == pytest.approx(expected, rel=1e-14)


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


def test_polynomials_have_no_tolerance_and_may_share_a_choice(tmp_path, monkeypatch):
    solved = []

    def constrained(self, summary, curvature, linear, marginal):
        solved.append(self.regularization)
        return ConstrainedSolution(0.5 * linear / curvature, "optimal", 1e-9, 7)

    monkeypatch.setattr(JPDL, "_constrained", constrained)
    options = {"choice": "shared", "constrained_repetitions": 1}
    frame, arrays, info = launch(tmp_path, **JPDL_JOB, **options)
    assert info["settings"] == [
        {"tolerance": 0.0, "constrained": False} | LAW,
        {"tolerance": 0.0, "constrained": True} | LAW,
    ]
    free, tight, *others = info["chosen"]
    assert free["chosen"] == tight["chosen"]
    assert solved == [free["chosen"]["options"]["regularization"]]
    assert [(each["split"], each["constrained"]) for each in others] == [(1, False)]
    assert np.isfinite(arrays["error"][0]).all()
    assert np.isnan(arrays["error"][1, 1]).all()
    assert len(values(frame, names.SECOND_MOMENT_LOSS, tolerance=0.0, constrained=True)) == 1
    assert values(frame, "solver_iterations", tolerance=0.0, constrained=True) == [7]


LINE = {"dataset": "gaussian-1-150"}
LAWS = ("normal-0.1", "normal-1", "uniform-1")


def test_laws_of_one_job_have_the_scores_of_each_alone(tmp_path, monkeypatch):
    """In one dimension their x are the same, and so its bases are made once for all."""
    made = []
    plain = jdl_basis.pivoted_cholesky

    def counted(kernel, points, tolerance, **options):
        made.append(points[:, 0].tobytes())
        return plain(kernel, points, tolerance, **options)

    monkeypatch.setattr(jdl_basis, "pivoted_cholesky", counted)
    together, arrays, info = launch(tmp_path, **JDL_JOB | LINE, laws=LAWS, repetitions=1)
    of_x = made_up.gaussian_training_pairs(made_up.gaussian_random_pairs(1, 0), 150, 0)[0][
        :120, 0
    ].tobytes()
    assert made.count(of_x) == 2
    assert len(info["settings"]) == arrays["error"].shape[1] == 2 * len(LAWS)
    for law in LAWS:
        del made[:]
        alone, *_ = launch(tmp_path / law, **JDL_JOB | LINE, laws=(law,), repetitions=1)
        assert made.count(of_x) == 2
        rows = together[together["setting"].str.contains(f'"{law}"')].reset_index(drop=True)
        pd.testing.assert_frame_equal(without_costs(rows), without_costs(alone))


def test_a_smaller_grid_chooses_what_a_job_with_that_grid_does(tmp_path):
    frame, _, info = launch(tmp_path, **JDL_JOB, largest_factors=(1.0,))
    alone, _, of_alone = launch(tmp_path / "alone", **JDL_JOB, bandwidth_factors=(1.0,))
    place = {"tolerance": 1e-3, "constrained": True}
    assert {**place, "largest_factor": 1.0} | LAW in info["settings"]
    for metric in (names.SECOND_MOMENT_LOSS, "rank_x"):
        np.testing.assert_array_equal(
            values(frame, metric, **place, largest_factor=1.0), values(alone, metric, **place)
        )
    tried = [each["chosen"] for each in info["chosen"] if each.get("largest_factor") == 1.0]
    assert tried == [each["chosen"] for each in of_alone["chosen"]]


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


def test_some_repetitions_also_time_one_bandwidth_for_all(tmp_path, made):
    options = {"tuning_rows": 50, "tolerances": (1e-2, 1e-1), "repetitions": 1}
    launch(tmp_path / "without", **JDL_JOB, **options)
    without = made.count((120, 1e-2))
    del made[:]
    options |= {"matched_repetitions": 1, "repetitions": 2}
    frame, *_ = launch(tmp_path, **JDL_JOB, **options)
    for constrained in (False, True):
        for part in ("factorise", "summarise", "solve", "evaluate"):
            place = {"tolerance": 1e-2, "constrained": constrained}
            timed = values(frame, f"matched_seconds_{part}", **place)
            assert len(timed) == 1
            assert timed[0] > 0.0
    assert not len(values(frame, "matched_seconds_solve", tolerance=1e-1, constrained=False))
    # One basis of x and one of y more, whatever was chosen.
    assert made.count((120, 1e-2)) >= without + 2


def test_candidates_may_be_compared_at_fewer_rows(tmp_path):
    _, _, info = launch(tmp_path, **JDL_JOB, validation_rows=7)
    _, _, whole = launch(tmp_path / "whole", **JDL_JOB)
    losses = [[each["chosen"]["loss"] for each in given["chosen"]] for given in (info, whole)]
    assert losses[0] != losses[1]
    law = made_up.gaussian_random_pairs(2, 0)
    X, Y = made_up.gaussian_training_pairs(law, 150, 0)
    model = JDL(**info["chosen"][0]["chosen"]["options"]).fit(X[:120], Y[:120])
    found = model.conditional_moments(X[120:127])[1]
    true = law.conditional_second_moment(X[120:127])
    assert losses[0][0] == pytest.approx(low_rank.relative_errors(found, true).mean(), rel=1e-8)


def test_a_method_may_name_its_constraints(tmp_path):
    job = JDL_JOB | {"method": "JDL-clipped", "options": {"constrained": "clipped"}}
    frame, _, info = launch(tmp_path, **job, choice="shared")
    free, held = info["chosen"][:2]
    assert (free["constrained"], held["constrained"]) == (False, True)
    assert free["chosen"] == held["chosen"]
    model, law, (X, _) = fitted(JDL, {"chosen": [held]}, {"tolerance": 1e-3, "constrained": True})
    clipped = model.set_params(constrained="clipped").fit(
        *(rows[:120] for rows in made_up.gaussian_training_pairs(law, 150, 0))
    )
    errors = low_rank.relative_errors(
        clipped.conditional_moments(X)[1], law.conditional_second_moment(X)
    )
    place = {"tolerance": 1e-3, "constrained": True}
    found = values(frame, names.SECOND_MOMENT_LOSS, **place)[0]
    assert found == pytest.approx(errors.mean(), rel=1e-6)


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


def test_methods_that_differ_in_more_do_not_run_together(tmp_path):
    jobs = [Moments(**JDL_JOB), Moments(**CME_JOB, repetitions=3)]
    with pytest.raises(ValueError, match="repetitions"):
        run(jobs, [tmp_path / "1.csv", tmp_path / "2.csv"])


def test_settings_follow_the_tolerances():
    law = names_of_data.DRAWN_LAW
    first = [Setting(1e-2, False, law), Setting(1e-2, True, law)]
    job = Moments(**JDL_JOB, tolerances=(1e-2, 1e-3))
    assert job.settings() == [*first, Setting(1e-3, False, law)]


@pytest.mark.parametrize(
    ("scale", "dataset", "method", "expected"),
    [
        ("laptop", "gaussian-2-1000000", "JDL", {"tolerances": (1e-2,), "repetitions": 5}),
        ("paper", "gaussian-2-1000000", "JDL", {"tolerances": (1e-2, 1e-3), "repetitions": 100}),
        ("laptop", "gaussian-1-10000000", "JDL", {"tolerances": (1e-1, 1e-3, 1e-2)}),
        ("laptop", "gaussian-1-1000-factors", "JDL", {"largest_factors": (0.5, 1.0, 2.0)}),
        ("laptop", "gaussian-1-1000000-fewer", "JDL", {"tuning_rows": 100_000}),
        ("laptop", "gaussian-3-1000", "JPDL", {"choice": "shared"}),
        ("paper", "gaussian-2-1000", "JPDL-unreduced", {"constrained_repetitions": 20}),
        ("smoke", "gaussian-1-200-laws", "JDL-clipped", {"choice": "shared", "test_rows": 90}),
    ],
)
def test_sizes_depend_on_data_and_method(scale, dataset, method, expected):
    job = Moments.at(scale, dataset, method)
    assert {name: getattr(job, name) for name in expected} == expected
    assert Moments.within(scale, dataset)


def test_large_data_are_left_out():
    assert not Moments.within("laptop", "gaussian-3-1000000")


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
