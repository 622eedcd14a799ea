"""Importance sampling against quadrature on the data of the tables."""

import pytest

from kcde import published
from kcde.experiments.r_benchmark import Experiment, Job
from kcde.experiments.runner import Places

_TABLES = published.values().query("artefact in ('table1', 'table2') and unit == 'nats'")
R_SETS = sorted(set(_TABLES.query("paper == 'dde' or artefact == 'table1'")["dataset"]))


def test_there_are_twenty_sets():
    assert len(R_SETS) == 20


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("dataset", R_SETS)
def test_both_normalisers_agree_within_the_stated_error(dataset, raw_data):
    job = Job(dataset, "KCEF", importance_samples=4000, backend="numpy")
    outcome = Experiment([job], Places(raw_data)).begin([0])(0)
    rows = {row["metric"]: row for row in outcome.rows}
    error = rows["importance_error"]
    assert 0 < error["stderr"] < 1
    assert abs(error["value"]) < 4 * error["stderr"]
    assert rows["negative_log_likelihood_quadrature"]["stderr"] < 1e-5
