"""dde optimum: gaps of the loss and gains on test rows, by split."""

from pathlib import Path

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.papers import drawing, registry
from kcde.papers.dde import optimum
from kcde.evidence import causes
from kcde.metrics.names import of_optimum

ARTEFACT = registry.ARTEFACTS["dde/optimum"]
FIGURES = Path(__file__).parents[3] / "figures"
TRAINED = {"penalised_loss": 1.5, "negative_log_likelihood_trained": 1.2}
OPTIMA = {
    "optimum": {"penalised_loss": 1.1, "negative_log_likelihood_trained": 1.0},
    "prior": {"penalised_loss": 1.3, "negative_log_likelihood_trained": 1.1},
    "stopped": {"penalised_loss": 0.9, "negative_log_likelihood_trained": 1.3},
}


def cell(dataset, method, experiment="r_benchmark", width=0.1, splits=20):
    """Return the rows of a job; all four vary alike over the splits, so that gaps are constant."""
    rows = made.rows_of(dataset, method, made.around(1.0, splits, width))
    for name, values in {"trained": TRAINED, **OPTIMA}.items():
        for metric, mean in {**values, "negative_log_likelihood_training": 0.8}.items():
            each = made.around(mean, splits, width)
            rows += made.rows_of(dataset, method, each, of_optimum(name, metric))
    variant = "ours" if method == "DDE-penalised" else "as-published"
    return [row | {"variant": variant, "experiment": experiment} for row in rows]


def frame(rows):
    return pd.DataFrame(rows, columns=scores.COLUMNS).assign(detail="")


def table_of(rows):
    return optimum.build(ARTEFACT, optimum.measure(frame(rows), []), [])


@pytest.fixture
def rows():
    shown = cell("ring", "DDE", "planar", splits=2) + cell("ufc", "DDE")
    return shown + cell("geyser", "DDE-penalised") + cell("geyser", "DDE")


def test_gaps_are_differences_by_split(rows):
    table = table_of(rows).set_index(["metric", "dataset", "method"])
    for metric, gap in ((optimum.GAP, 0.4), (optimum.GAIN, 0.2), (optimum.CHOSEN_GAIN, -0.1)):
        assert table.loc[(metric, "geyser", "DDE"), "mean"] == pytest.approx(gap)
        assert table.loc[(metric, "geyser", "DDE"), "std"] == pytest.approx(0.0, abs=1e-9)
    assert table.loc[(optimum.GAP, "ring", "DDE"), "n"] == 2
    # As in table 2, then the plane.
    sets = table.loc[optimum.GAP].index.tolist()
    assert sets == [("geyser", "DDE"), ("geyser", "DDE-penalised"), ("ufc", "DDE"), ("ring", "DDE")]


def test_a_split_without_a_number_has_failed(rows):
    first = [row for row in rows if row["dataset"] == "ufc" and row["split"] == 3]
    lost = [row for row in rows if row not in first or row["metric"] == made.METRIC]
    table = table_of(lost).set_index(["metric", "dataset"])
    assert table.loc[(optimum.GAP, "ufc"), ["n", "failed"]].tolist() == [20, 1]


def test_scores_from_before_are_refused():
    with pytest.raises(ValueError, match="needs scores with the metric 'objective_gap'"):
        table_of(made.rows_of("geyser", "DDE", made.around(1.0)))


def test_page_and_picture_have_every_set(rows, tmp_path):
    table = table_of(rows)
    found = optimum.draw(ARTEFACT, table, tmp_path / "optimum")
    assert [path.suffix for path in found] == [".md", ".png", ".pdf"]
    page = found[0].read_text()
    assert "| geyser | DDE | 1.50 | 1.10 | 0.40 |" in page
    assert "on test rows the optimum is better in the median on 3 of 3 sets" in page
    assert "0 of 3 sets with the chosen penalty" in page
    assert np.all([path.stat().st_size > 1000 for path in found])


def test_it_draws_from_files(tmp_path):
    path = tmp_path / "r_benchmark/geyser/DDE.csv"
    scores.write(path, cell("geyser", "DDE"), {})
    drawing.make(ARTEFACT, [path], tmp_path / "figures")
    assert (tmp_path / "figures/dde/optimum.md").exists()


def test_causes_of_dde_say_what_the_tracked_tables_have():
    def means(artefact, metric):
        table = pd.read_csv(FIGURES / f"{artefact}.csv")
        return table[table["metric"] == metric].set_index(["dataset", "method"])["mean"]

    def states(dataset, method, verdict, *numbers, artefact="table2"):
        cause = causes.cause_of("dde", artefact, dataset, method, verdict)
        assert all(f"{number:.2f}" in cause for number in numbers), cause

    trained, optimum, chosen = (
        means("dde/optimum", f"{name}_negative_log_likelihood_trained")
        for name in ("trained", "optimum", "stopped")
    )
    states("geyser", "DDE", "worse", optimum["geyser", "DDE"], trained["geyser", "DDE"])
    of_gilgais = [each["gilgais", "DDE"] for each in (trained, optimum, chosen)]
    states("gilgais", "DDE", "worse", *of_gilgais)
    bandwidths = means("kcef/table1-bandwidths", "negative_log_likelihood")
    of_kcef = [bandwidths["gilgais", name] for name in ("KCEF-stopped", "KCEF")]
    states("gilgais", "KCEF", "better", *of_kcef)
    narrow = means("dde/table1", "negative_log_likelihood_inside")["ring", "DDE-narrow"]
    of_ring = [each["ring", "DDE"] for each in (trained, optimum, chosen)]
    states("ring", "DDE", "worse", *of_ring, narrow, artefact="table1")
    # Most of what f lacks is its norm, as the kernel is the same.
    assert of_ring[0] - of_ring[2] > 5 * (of_ring[2] - narrow)
