import numpy as np
import pytest

from kcde.metrics import smae
from kcde.seeding import rng_of


def test_every_definition_by_hand():
    found = smae(np.array([2.0, 5.0, 11.0]), np.array([1.0, 5.0, 10.0]), 4.0)
    assert found["centred"] == pytest.approx(2 / (3 + 1 + 6))
    assert found["predicted"] == pytest.approx(2 / (2 + 1 + 7))
    assert found["pointwise"] == pytest.approx((1 + 0 + 0.1) / 3)
    assert found["total"] == pytest.approx(2 / 16)


def test_what_moves_with_the_zero_of_y():
    rng = rng_of("test-smae")
    y = 5 + rng.standard_normal(50)
    guess = y + 0.1 * rng.standard_normal(50)
    here, there = smae(guess, y, y.mean()), smae(guess + 9, y + 9, y.mean() + 9)
    for name in ("centred", "predicted"):
        assert here[name] == pytest.approx(there[name])
    for name in ("pointwise", "total"):
        assert there[name] < 0.6 * here[name]
    assert smae(np.full(50, y.mean()), y, y.mean())["centred"] == pytest.approx(1.0)
    assert smae(np.full(50, y.mean()), y, y.mean())["predicted"] == np.inf


@pytest.mark.parametrize("shape", [(3,), (0,), (4, 1)])
def test_shapes_are_checked(shape):
    with pytest.raises(ValueError, match=r"one shape \(n,\)"):
        smae(np.zeros(shape), np.ones(4), 0.0)
