"""kcef theorem 2: what is run, and with which λ."""

import numpy as np
import pytest

from kcde.experiments import consistency
from kcde.experiments.consistency import CONSTANTS, Consistency
from kcde.experiments.runner import run


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


@pytest.mark.parametrize(("argument", "value"), [("repetitions", 1), ("largest", 150)])
def test_too_little_for_a_slope_is_refused(tmp_path, argument, value):
    with pytest.raises(ValueError, match=f"{argument} must be at least .*; got {value}"):
        run(Consistency(**{argument: value}), tmp_path / "c.csv")


def test_c_is_one_or_a_multiple_of_the_norm():
    class Target:
        gamma, operator_norm = 1.0, 0.1

    values = [consistency._regularization(Target, each, 16) for each in CONSTANTS]
    assert values == pytest.approx([0.0015, 0.005, 0.05, 0.5])
