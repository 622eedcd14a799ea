"""The figure of large_n: gap and cost along n."""

import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.papers import registry
from kcde.papers.artefact import FIGURE_COLUMNS

LARGE = registry.ARTEFACTS["across/large_n"]
METHODS = ("LikelihoodKCEF", "NADE-grown", "boosting", "linear")
COST = {"fit_seconds": "s", "peak_memory": "MiB"}


def row(method, n, metric, value, stderr=np.nan, setting="{}", unit="nats"):
    known = {"experiment": "large_n", "dataset": f"bimodal-2-{n}", "dim": 5, "split": 0}
    known |= {"method": method, "variant": "ours", "n_train": n, "n_test": 100, "seed": 1}
    known |= {"backend": "numpy", "dtype": "float64", "seconds": 1.0, "setting": setting}
    return known | scores.cell(metric, value, unit, stderr)


@pytest.fixture
def made():
    """Scores of two n; at the larger one a fit failed."""
    rows = []
    for place, method in enumerate(METHODS):
        for n in (10_000, 1000):
            gap = np.inf if (method, n) == ("linear", 10_000) else (1 + place) / np.sqrt(n)
            rows.append(row(method, n, "log_density_gap", gap, 0.001))
            rows += [row(method, n, metric, n / 50, unit=unit) for metric, unit in COST.items()]
    return pd.DataFrame(rows)


def test_a_curve_has_gap_and_cost_by_ascending_n(made):
    table = LARGE.build(LARGE, made, [])
    assert list(table.columns) == FIGURE_COLUMNS
    assert list(dict.fromkeys(table["method"])) == list(METHODS)
    ours = table[(table["method"] == "LikelihoodKCEF") & (table["panel"] == "gap")]
    assert list(ours["x"]) == [1000, 10_000]
    np.testing.assert_allclose(ours["y"], 1 / np.sqrt([1000, 10_000]))
    np.testing.assert_allclose(ours["y_high"] - ours["y"], 0.002)
    seconds = table[(table["method"] == "boosting") & (table["panel"] == "seconds")]
    np.testing.assert_allclose(seconds["y"], [20, 200])
    assert seconds["y_low"].isna().all()


def test_a_failed_fit_is_said_and_left_out_of_the_tables(made):
    table = LARGE.build(LARGE, made, [])
    assert list(table.loc[table["stat"] == "failed", "method"]) == ["linear"]
    said = ["The fit of linear, normal to 10000 rows failed, or its likelihood is not finite."]
    assert LARGE.remarks(table) == said
    gaps, seconds = LARGE.below(table)
    assert "| linear, normal | 0.126 | – |" in gaps
    assert "| LikelihoodKCEF | 0.0316 | 0.01 |" in gaps
    assert "n = 1e4" in seconds


@pytest.mark.nightly
def test_the_figure_is_drawn_with_the_same_bytes(made, tmp_path):
    table = LARGE.build(LARGE, made, [])
    stored = tmp_path / "table.csv"
    table.to_csv(stored, index=False)
    drawn = [LARGE.draw(LARGE, pd.read_csv(stored), tmp_path / name) for name in ("one", "two")]
    for first, second in zip(*drawn, strict=True):
        assert first.read_bytes() == second.read_bytes()
    assert {path.suffix for path in drawn[0]} == {".png", ".pdf"}


def test_methods_of_the_figure_look_different():
    looks = [tuple(LARGE.build.__globals__["look"](name).values()) for name in METHODS]
    assert len(set(looks)) == len(METHODS)
