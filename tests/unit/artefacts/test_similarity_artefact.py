"""kcef table 3: the median p-value stands for a cell, and claim K10 both ways."""

import joint_scores as made
import numpy as np
import pytest

from kcde.evidence import causes, scorecard
from kcde.evidence.verdicts import representative, summarise
from kcde.pages import building, markdown
from kcde.papers import drawing, registry
from kcde.papers.kcef import table3, table3_pair

TABLE3 = registry.ARTEFACTS["kcef/table3"]
PUBLISHED = {
    ("parkinsons", "KEF"): 0.52,
    ("parkinsons", "NADE"): 0.011,
    ("red-wine", "KEF"): 0.0008,
    ("red-wine", "NADE"): 0.33,
}


def p_values(changes=None, variant="as-published"):
    cells = PUBLISHED | (changes or {})
    return {(*key, variant): [p / 2, p, min(1.5 * p, 1.0)] for key, p in cells.items()}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "holds"),
        ({("parkinsons", "NADE"): 0.06}, "fails"),
        ({("red-wine", "NADE"): 0.04}, "fails"),
        ({("red-wine", "NADE"): 0.96}, "fails"),
        ({("red-wine", "KEF"): 0.5}, "fails"),
        ({("parkinsons", "KEF"): 0.01}, "fails"),
        ({("parkinsons", "NADE"): 0.05}, "holds"),
    ],
)
def test_k10_by_the_median_over_the_seeds(changes, expected):
    decision = table3.decide(made.similarity(p_values(changes)))
    assert decision.verdict == expected
    assert "of 3 seeds" in decision.reason


def test_k10_uses_the_published_variant_and_needs_all_four():
    ours = p_values({("parkinsons", "NADE"): 0.9}, "test-rows")
    assert table3.decide(made.similarity(p_values() | ours)).verdict == "holds"
    assert table3.decide(made.similarity(ours)).verdict == "undecided"


CHAINS = [
    ((1.06, 0.0), "R-hat 1.06"),
    ((1.0, 0.011), "1.1% of transitions diverge"),
    ((None, 0.0), "R-hat inf"),
]


@pytest.mark.parametrize(("mixing", "words"), CHAINS)
def test_k10_as_amended_takes_exact_draws_where_chains_have_not_converged(mixing, words):
    bad, cell = ("parkinsons", "NADE", "as-published"), "parkinsons, H0: NADE closer than KCEF"
    published = made.similarity(p_values(), {bad: mixing})
    decision = table3.decide(published)
    assert (decision.verdict, decision.amended.verdict) == ("holds", "undecided")
    assert decision.amended.parts[cell] == "undecided"
    assert f"published chains: {words}" in decision.amended.reason
    exact = {("parkinsons", "NADE", "exact-draws"): [0.01, 0.02, 0.03]}
    both = table3.decide(made.similarity(p_values() | exact, {bad: mixing}))
    assert both.amended.verdict == "holds"
    assert "0.02 (wanted at most .05; 3 of 3 seeds at most .05), better" in both.amended.reason
    exact = {("parkinsons", "NADE", "exact-draws"): [0.2, 0.3, 0.4]}
    both = table3.decide(made.similarity(p_values() | exact, {bad: mixing}))
    assert (both.verdict, both.amended.verdict) == ("holds", "fails")


def test_k10_as_amended_is_that_of_the_published_chains_where_they_have_converged():
    exact = p_values({("parkinsons", "NADE"): 0.9}, "exact-draws")
    decision = table3.decide(made.similarity(p_values() | exact))
    assert decision.amended.verdict == "holds"
    assert set(decision.parts.values()) == set(decision.amended.parts.values()) == {"holds"}
    assert len(decision.parts) == 4


def test_k10_as_amended_fails_where_a_test_on_sound_chains_does():
    wrong = {("red-wine", "KEF", "as-published"): (7.9, 0.0)}
    decision = table3.decide(made.similarity(p_values({("parkinsons", "NADE"): 0.9}), wrong))
    assert decision.amended.verdict == "fails"
    assert decision.amended.parts["red-wine, H0: KEF closer than KCEF"] == "undecided"


def test_a_cell_of_chains_that_have_not_converged_is_undecided_and_marked(tmp_path):
    wrong = {("red-wine", "KEF", "as-published"): (7.94, 0.02)}
    cells = p_values() | p_values(variant="exact-draws")
    drawing.make(TABLE3, made.files(tmp_path / "s", made.similarity(cells, wrong)), tmp_path)
    page = (tmp_path / "kcef" / "table3.md").read_text()
    assert "| 8e−4 (4e−4 … 0.0012) ‡ | 8e−4 |" in page
    assert "≠" not in page  # no cell has it
    assert "KEF closer than KCEF on red-wine (R-hat 7.94, 2.0% of transitions diverge)" in page
    assert "KEF closer than KCEF (better draws)" in page
    table = building.read(tmp_path / "kcef" / "table3.csv")
    stated = table[(table["metric"] == "r_hat") & (table["variant"] == "as-published")]
    assert stated["mean"].max() == 7.94
    card = scorecard.build(tmp_path, "laptop")
    row = card[card["artefact"] == "table3"].set_index(["dataset", "method"]).loc["red-wine"]
    assert row.loc[table3.KEF, "verdict"] == "undecided"
    assert "not converged: R-hat 7.94" in row.loc[table3.KEF, "reason"]
    assert row.loc[table3.NADE, "verdict"] == "reproduced"
    assert "1 undecided" in scorecard.write(card, tmp_path, "laptop")[1].read_text()


def test_a_p_value_of_chains_that_have_not_converged_is_drawn_as_a_marked_diamond(
    tmp_path, monkeypatch
):
    wrong = {("red-wine", "KEF", "as-published"): (7.94, 0.0)}
    table = table3.build(TABLE3, made.similarity(p_values(), wrong), [])
    table["verdict"] = table["verdict"].fillna("")
    said, shapes = [], []

    def save(picture, stem):
        (axes,) = picture.axes
        said.extend(text.get_text() for text in axes.texts if "e−4" in text.get_text())
        shapes.extend(line.get_marker() for line in axes.get_lines())
        return [stem]

    monkeypatch.setattr(table3.style, "save", save)
    TABLE3.draw(TABLE3, table, tmp_path / "table3")
    assert said == ["8e−4 ‡"]
    assert shapes.count("D") == 1


def test_the_median_stands_for_the_cell():
    values = np.array([0.001, 0.04, 0.9])
    summary = representative(summarise(values, ""), "p_value")
    assert (summary.mean, summary.median) == (0.04, 0.04)
    assert np.isnan(summary.stderr)
    assert representative(summarise(values, ""), "smae").mean == pytest.approx(values.mean())


def test_verdict_by_the_side_of_the_median_not_of_the_mean():
    cells = p_values() | {("parkinsons", "NADE", "as-published"): [0.001, 0.04, 0.9]}
    table = table3.build(TABLE3, made.similarity(cells), [])
    row = table[(table["dataset"] == "parkinsons") & (table["method"] == table3.NADE)].iloc[0]
    assert row["verdict"] == "reproduced"
    assert row["mean"] == 0.04
    assert table["best"].fillna(False).eq(False).all()


def test_page_and_scorecard(tmp_path):
    cells = p_values({("red-wine", "NADE"): 0.03}) | p_values(variant="slice")
    drawing.make(TABLE3, made.files(tmp_path / "scores", made.similarity(cells)), tmp_path)
    page = (tmp_path / "kcef" / "table3.md").read_text()
    assert "KEF closer than KCEF (shown pair only)" in page
    assert "| 0.52 (0.26 … 0.78) | 0.52 ✓ |" in page
    assert "| 0.03 (0.015 … 0.045) | 0.33 ≠ |" in page
    assert "Published: ✓ our median is on the same side of 5%; ≠ our median is on the" in page
    assert "median p-value over 3 seeds" in page
    assert "**Bold**" not in page
    card = scorecard.build(tmp_path, "laptop")
    card = card[card["artefact"] == "table3"].set_index(["dataset", "method"])
    assert card.loc[("red-wine", table3.NADE), "verdict"] == "different"
    assert card.loc[("red-wine", table3.KEF), "ours"] == pytest.approx(0.0008)
    assert np.isnan(card.loc[("red-wine", table3.KEF), "stderr"])


def test_failed_seeds_are_counted(tmp_path):
    cells = p_values() | {("red-wine", "KEF", "as-published"): [0.0001, None, 0.0002]}
    table = table3.build(TABLE3, made.similarity(cells), [])
    row = table[(table["dataset"] == "red-wine") & (table["method"] == table3.KEF)].iloc[0]
    assert (row["n"], row["failed"], row["verdict"]) == (3, 1, "different")
    drawing.make(TABLE3, made.files(tmp_path / "scores", made.similarity(cells)), tmp_path)
    assert "†1" in (tmp_path / "kcef" / "table3.md").read_text()
    lowest = building.read(tmp_path / "kcef" / "table3.csv").query("metric == 'p_value_lowest'")
    assert len(lowest) == 4


def test_other_splits_are_no_cause_for_a_p_value():
    cell = {"dataset": "red-wine", "method": table3.NADE, "verdict": "different"}
    cell |= {"std": 0.4, "n": 10, "failed": 0, "difference": -0.1, "mean": 0.02}
    assert causes.explain("kcef", "table3", cell) != causes.OTHER_SPLITS


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.523506, "0.52"), (0.0115, "0.011"), (0.00079, "8e−4"), (1e-9, "< 1e−6"), (np.nan, "–")],
)
def test_p_values_are_short(value, text):
    assert markdown.probability(value) == text


def of_pair(changes=None, variant="as-published"):
    return {
        (dataset, f"{rival}-pair", name): values
        for (dataset, rival, name), values in p_values(changes, variant).items()
    }


@pytest.mark.parametrize(("ours", "pair"), [(0.9, 0.011), (0.011, 0.9)])
def test_k10_is_decided_with_models_of_all_columns_and_of_the_pair(ours, pair):
    key = ("parkinsons", "NADE")
    table = made.similarity(p_values({key: ours}) | of_pair({key: pair}))
    found = table3_pair.read(table)["K10"]
    assert {reading: each.verdict for reading, each in found.items()} == {
        "all columns": "holds" if ours < 0.05 else "fails",
        "the shown pair alone": "holds" if pair < 0.05 else "fails",
    }
    assert found["all columns"] == table3.decide(made.similarity(p_values({key: ours})))


def test_k10_of_the_pair_as_amended_takes_its_own_better_draws():
    exact, bad = of_pair(variant="exact-draws"), {("red-wine", "KEF-pair", "as-published"): (7, 0)}
    found = table3_pair.read(made.similarity(p_values() | of_pair() | exact, bad))["K10"]
    assert found["the shown pair alone"].amended.verdict == "holds"
    assert "better draws" not in found["all columns"].amended.reason
    assert "at most .05; 3 of 3 seeds at most .05), better draws" in (
        found["the shown pair alone"].amended.reason
    )


def test_the_table_of_the_pair_has_it_beside_all_columns_and_no_column_twice(tmp_path):
    artefact = registry.ARTEFACTS["kcef/table3-pair"]
    cells = p_values() | p_values(variant="slice") | of_pair() | of_pair(variant="slice")
    drawing.make(artefact, made.files(tmp_path / "s", made.similarity(cells)), tmp_path)
    page = (tmp_path / "kcef" / "table3-pair.md").read_text()
    assert "KEF closer than KCEF (shown pair only)" in page
    assert "KEF-pair closer than KCEF-pair |" in page
    assert "KEF-pair closer than KCEF-pair (shown pair only)" not in page
