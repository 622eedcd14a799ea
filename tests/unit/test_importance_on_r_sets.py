"""Importance sampling against quadrature on the data of the tables."""

import os
from pathlib import Path

import pytest

from kcde import published
from kcde.datasets.fetch import fetch
from kcde.datasets.loaders import load
from kcde.experiments.r_benchmark import Job, run_split

_TABLES = published.values().query("artefact in ('table1', 'table2') and unit == 'nats'")
R_SETS = sorted(set(_TABLES.query("paper == 'dde' or artefact == 'table1'")["dataset"]))


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory) -> Path:
    if not os.environ.get("KCDE_DATA_MIRROR"):
        pytest.skip("KCDE_DATA_MIRROR is not set")
    return tmp_path_factory.mktemp("data")


def test_there_are_twenty_sets():
    assert len(R_SETS) == 20


@pytest.mark.data
@pytest.mark.parametrize("dataset", R_SETS)
def test_both_normalisers_agree_within_the_stated_error(dataset, data_dir):
    assert fetch(dataset, data_dir, os.environ["KCDE_DATA_MIRROR"])["status"] == "available"
    job = Job(dataset, "KCEF", "KCEF", importance_samples=4000)
    outcome = run_split(job, load(dataset, data_dir), 0, "numpy")
    rows = {row["metric"]: row for row in outcome.rows}
    error = rows["importance_error"]
    assert 0 < error["stderr"] < 1
    assert abs(error["value"]) < 4 * error["stderr"]
    assert rows["negative_log_likelihood_quadrature"]["stderr"] < 1e-5
