"""Seconds, rounded so far that a second measurement gives about the same."""

import math

import numpy as np
import pytest

from kcde.pages.words import round_to_half_decade


def test_the_nearest_on_a_logarithmic_scale():
    marks = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]
    # √10 stands for 3, so that all steps are alike.
    exact = [10 ** (k / 2) for k in range(-4, 7)]
    for value in np.geomspace(0.012, 900, 200):
        nearest = min(range(11), key=lambda k: abs(math.log(value / exact[k])))
        assert round_to_half_decade(value) == marks[nearest]


def test_a_little_more_or_less_is_the_same():
    assert round_to_half_decade(2.9) == round_to_half_decade(3.4) == 3.0


@pytest.mark.parametrize("value", [math.nan, 0.0, -1.0, math.inf])
def test_no_positive_number_has_none(value):
    assert math.isnan(round_to_half_decade(value))
