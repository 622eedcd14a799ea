"""kcef theorem 2: scores, fitted slopes, the claim and its figure."""

import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.experiments import consistency
from kcde.experiments.consistency import CONSTANTS, Consistency, Constant
from kcde.experiments.runner import run
from kcde.metrics.names import REGULARIZATION_ERROR
from kcde.papers import registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.kcef import consistency as artefact

N = (100, 200, 400)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("scores") / "consistency.csv"
    run(Consistency(repetitions=3, largest=200), path)
    return path


MULTIPLES = [constant for constant in CONSTANTS if not constant.absolute]


def powers(slope_of, noise=0.0, constants=MULTIPLES):
    """Scores whose errors are exact powers of n but for noise between repetitions."""
    rng = np.random.default_rng(0)
    rows = []
    for gamma in consistency.EXPONENTS:
        for constant in constants:
            for metric in ("norm_error", "kl", REGULARIZATION_ERROR):
                for split in range(1 if metric == REGULARIZATION_ERROR else 5):
                    slope = slope_of(gamma, constant.value, metric) + noise * rng.standard_normal()
                    rows += [
                        {
                            "setting": scores.setting(**constant.axes(gamma)),
                            "metric": metric,
                            "split": split,
                            "n_train": n,
                            "value": 3.0 * n**slope,
                        }
                        for n in N
                    ]
    return pd.DataFrame(rows)


def bound(gamma, metric):
    alpha = max(0.25, 0.5 / (gamma + 1))
    return {"kl": 2 * alpha - 1, "norm_error": alpha - 0.5}.get(metric, -alpha * gamma)


def test_n_doubles_up_to_the_largest():
    assert Consistency(largest=3200).rows_fitted == [100, 200, 400, 800, 1600, 3200]
    assert Consistency(largest=799).rows_fitted == [100, 200, 400]


@pytest.mark.nightly
def test_scores_are_complete_and_reproducible(made, tmp_path, monkeypatch):
    frame = scores.read([made])
    fits = frame[frame["metric"] != REGULARIZATION_ERROR]
    assert len(fits) == 2 * 4 * 3 * 2 * 2  # exponents, constants, repetitions, n, metrics
    assert len(frame) - len(fits) == 2 * 4 * 2
    assert set(frame["status"]) == {"ok"}
    assert (frame["value"] > 0).all()
    monkeypatch.setattr(consistency, "EXPONENTS", (1.0,))
    run(Consistency(repetitions=2, largest=200), tmp_path / "again.csv")
    again = scores.read([tmp_path / "again.csv"])
    first = frame[(frame["split"] < 2) & frame["setting"].str.contains('"gamma":1.0')]
    first = first.drop(columns="seconds").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, again.drop(columns="seconds"))


def test_samples_of_a_repetition_are_nested(monkeypatch):
    seen = []

    class Target:
        gamma, operator_norm = 1.0, 1.0

        def sample(self, n, rng):
            return rng.random(n), rng.random(n)

    def keep(target, x, y, regularization):
        seen.append((x, regularization))
        return 1.0, 1.0

    monkeypatch.setattr(consistency, "errors", keep)
    Consistency(largest=200)._repetition(Target(), 0, "numpy")
    small, *_, large = (x for x, _ in seen)
    assert np.array_equal(small, large[:100])
    assert len(large) == 200
    ratio = seen[0][1] / seen[len(CONSTANTS)][1]
    assert ratio == pytest.approx(2**0.25)


def test_a_failed_fit_is_two_rows_with_the_reason(monkeypatch):
    def fail(*arguments):
        raise np.linalg.LinAlgError("not positive definite")

    monkeypatch.setattr(consistency, "errors", fail)
    rows = Consistency(largest=200).begin([0])(0).rows
    assert [row["metric"] for row in rows[:2]] == ["norm_error", "kl"]
    assert {row["status"] for row in rows} == {"failed"}
    assert rows[0]["detail"] == "LinAlgError: not positive definite"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"repetitions": 1}, "repetitions must be at least 2; got 1"),
        ({"largest": 150}, "largest must be at least 200; got 150"),
    ],
)
def test_too_little_for_a_slope_is_refused(tmp_path, arguments, words):
    with pytest.raises(ValueError, match=words):
        run(Consistency(**arguments), tmp_path / "c.csv")


def test_slopes_of_exact_powers_are_found():
    fitted = artefact.slopes(powers(lambda gamma, constant, metric: -0.4 - gamma * constant))
    for slope in fitted:
        assert slope.value == pytest.approx(-0.4 - slope.gamma * slope.constant.value)
        assert slope.high - slope.low == pytest.approx(0, abs=1e-9)
        assert slope.bound == pytest.approx(bound(slope.gamma, slope.metric))
        assert slope.repetitions == 5
    assert len(fitted) == 12


def test_intervals_are_students_over_repetitions():
    frame = powers(lambda *_: -0.5, 0.1)
    for slope in artefact.slopes(frame):
        here = scores.setting(**slope.constant.axes(slope.gamma))
        series = frame[(frame["metric"] == slope.metric) & (frame["setting"] == here)]
        ends = series.pivot(index="split", columns="n_train", values="value")
        each = np.log(ends[400] / ends[100]) / np.log(4)
        assert slope.value == pytest.approx(each.mean())
        # t = 2.7764 at 4 degrees of freedom.
        half = 2.7764 * each.std() / np.sqrt(5)
        assert slope.high - slope.value == pytest.approx(half, rel=1e-4)


@pytest.mark.parametrize(
    ("slope_of", "verdict", "amended"),
    [
        (lambda gamma, c, metric: bound(gamma, metric) - 0.05, "holds", "holds"),
        (lambda gamma, c, metric: bound(gamma, metric) + 0.05 * (metric == "kl"), "fails", "fails"),
        # Where the error without noise does not fall yet, a series can only leave it open.
        (
            lambda gamma, c, metric: bound(gamma, metric) * (0.5 if c == 1 else 1.1),
            "undecided",
            "holds",
        ),
        (
            lambda gamma, c, metric: bound(gamma, metric) * (0.5 if c == 0.03 else 1.1),
            "holds",
            "undecided",
        ),
        (lambda gamma, c, metric: bound(gamma, metric) * 0.5, "undecided", "undecided"),
    ],
)
def test_k12_can_come_out_every_way(slope_of, verdict, amended):
    decision = artefact.decide(powers(slope_of))
    assert decision.verdict == verdict
    assert decision.amended.verdict == amended
    assert "c = 0.03‖C‖" not in decision.reason
    assert "c = ‖C‖" not in decision.amended.reason


@pytest.mark.parametrize(
    ("factor", "expected"), [(1.1, "holds"), (0.5, "undecided"), (None, "fails")]
)
def test_k12_is_read_with_the_constant_of_the_theorem_as_well(factor, expected):
    """The series of c = 1 decides alone, and has no part in the drawn tests."""

    def slope_of(gamma, c, metric):
        if factor is None:
            return bound(gamma, metric) + 0.05 * (metric == "kl")
        return bound(gamma, metric) * factor

    drawn = powers(lambda gamma, c, metric: bound(gamma, metric) - 0.05)
    table = pd.concat([drawn, powers(slope_of, constants=[Constant(True, 1.0)])])
    found = artefact.ARTEFACT.readers["K-constant"](table)["K12"]
    assert found["multiples of ‖C‖"] == artefact.decide(table) == artefact.decide(drawn)
    assert found["c = 1"].verdict == found["c = 1"].amended.verdict == expected
    assert ", c = 1" in found["c = 1"].reason
    names = set(artefact.build(None, table, [])["series"])
    assert {"gamma=0.5 c=1", "gamma=0.5 c=1 absolute"} <= names
    assert [artefact._series_name(*artefact._parts(name)) for name in names] == list(names)
    without = artefact.ARTEFACT.readers["K-constant"](drawn)["K12"]["c = 1"]
    assert without.verdict == "undecided"


def test_c_is_one_or_a_multiple_of_the_norm():
    class Target:
        gamma, operator_norm = 1.0, 0.1

    values = [consistency._regularization(Target, each, 16) for each in CONSTANTS]
    assert values == pytest.approx([0.0015, 0.005, 0.05, 0.5])


def test_k12_needs_every_series_of_its_test():
    frame = powers(lambda gamma, c, metric: bound(gamma, metric) - 0.05)
    decision = artefact.decide(frame[~frame["setting"].str.contains('"constant":0.03')])
    assert decision.verdict == "holds"
    assert decision.amended.verdict == "undecided"
    assert "repetitions of γ = 0.5, c = 0.03‖C‖, γ = 1, c = 0.03‖C‖" in decision.amended.reason


def test_k12_is_undecided_within_the_noise():
    frame = powers(lambda gamma, c, metric: bound(gamma, metric) - 0.01, noise=0.0)
    rng = np.random.default_rng(1)
    fits = frame["metric"] != REGULARIZATION_ERROR
    shake = np.exp(np.where(fits, 0.3 * rng.standard_normal(len(frame)), 0))
    decision = artefact.decide(frame.assign(value=frame["value"] * shake))
    assert decision.verdict == "undecided"
    assert "γ = 0.5" in decision.reason


@pytest.mark.nightly
def test_the_figure_shows_means_fits_and_slopes(made, tmp_path):
    frame = scores.read([made])
    declared = registry.ARTEFACTS["kcef/consistency"]
    table = artefact.build(declared, frame, [made])
    assert list(table.columns) == FIGURE_COLUMNS
    means = table[(table["panel"] == "KL") & (table["stat"] == "mean")]
    assert len(means) == 2 * 4 * 2
    assert (means["n"] == 3).all()
    kl = frame[(frame["metric"] == "kl") & (frame["n_train"] == 100)]
    one = kl[kl["setting"] == scores.setting(gamma=1.0, constant=1.0)]["value"]
    shown = means[(means["series"] == "gamma=1 c=1") & (means["x"] == 100)]["y"].item()
    assert shown == pytest.approx(np.exp(np.log(one).mean()))
    (counts, *_) = declared.remarks(table)
    assert counts == "Here 3 repetitions of n from 100 to 200."
    drawn = declared.draw(declared, table, tmp_path / "consistency")
    assert [path.suffix for path in drawn] == [".png", ".pdf"]
    assert all(path.stat().st_size > 10_000 for path in drawn)


def test_the_caption_names_series_that_cannot_speak():
    frame = powers(lambda gamma, c, metric: bound(gamma, metric) * (0.4 if c == 1 else 1.1))
    table = artefact.build(None, frame, [])
    said = artefact.remarks(table)
    assert len(said) == 3
    assert said[1].startswith("At γ = 0.5, c = ‖C‖ the error without noise itself falls only as n^")
    assert "n^-0.10 at these n, not yet as its limit n^-0.25" in said[2]
