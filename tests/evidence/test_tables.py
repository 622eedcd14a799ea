"""Tables: order, best method, published values, picture, scorecard."""

from functools import partial

import numpy as np
import pytest

import artefact_scores as made
from kcde.evidence import scorecard
from kcde.pages import building
from kcde.papers import registry

TABLE1 = registry.ARTEFACTS["kcef/table1"]


def test_best_is_lowest_or_not_told_from_it():
    wave = list(1.0 + np.sin(np.arange(20)))
    close = [value + (0.3 if k % 2 else -0.28) for k, value in enumerate(wave)]
    far = [value + 0.5 + 0.01 * k for k, value in enumerate(wave)]
    cells = {("engel", "KCEF"): wave, ("engel", "KCEF-LL"): close, ("engel", "LSCDE"): far}
    table = building.build(TABLE1, made.frame(cells), [])
    assert table["best"].tolist() == [True, True, False]
    assert 1.0 == table["p_value"][0] > table["p_value"][1] > 0.05 > table["p_value"][2]
    cells = {("engel", "KCEF"): [*wave[:-1], None], ("engel", "LSCDE"): far}
    table = building.build(TABLE1, made.frame(cells), [])
    assert table["best"].tolist() == [False, True]
    assert table["failed"].tolist() == [1, 0]


def test_split_given_twice_is_refused():
    twice = made.frame({("geyser", "KCEF"): [1.0]})
    with pytest.raises(ValueError, match="twice"):
        building.build(TABLE1, twice.loc[[0, 0]], [])
    with pytest.raises(ValueError, match="metric"):
        building.build(TABLE1, twice.assign(metric="kl"), [])


def test_causes_most_specific_wins_and_stale_ones_never_show():
    cause = partial(scorecard.cause_of, "kcef", "table1")
    assert "different bandwidths" in cause("mcycle", "KCEF", "worse")
    assert "exploding" in cause("geyser", "KCEF", "worse")
    assert cause("geyser", "NADE", "worse") == scorecard.UNKNOWN
