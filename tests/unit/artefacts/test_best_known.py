"""best_known: the choice by inner likelihood, beside the lowest published values."""

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde import published
from kcde.artefacts.across import best_known
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.tables import building
from kcde.metrics.names import INNER_LOG_LIKELIHOOD, NLL, NLL_QUADRATURE

ARTEFACT = registry.ARTEFACTS["across/best_known"]

# On geyser KCEF has the lowest test value by chance, LSCDE-exact the largest inner likelihood.
TEST = {
    ("geyser", "KCEF"): [0.4, 0.6],
    ("geyser", "LSCDE-exact"): [0.6, 0.8],
    ("geyser", "DDE"): [0.1, 0.2],
    ("mine", "KCEF"): [1.0, 1.2],
    ("red-wine", "NADE"): [10.0, 10.4],
}
INNER = {
    ("geyser", "KCEF"): [-0.9, -1.1],
    ("geyser", "LSCDE-exact"): [-0.7, -0.9],
    ("mine", "KCEF"): [-1.0, None],
}


def scores_of(test=TEST, inner=INNER):
    parts = [made.frame(test), made.frame(inner, INNER_LOG_LIKELIHOOD)]
    return pd.concat(parts, ignore_index=True)


def table_of(**more):
    return best_known.build(ARTEFACT, scores_of(**more), [])


def test_choice_is_by_inner_likelihood_and_not_by_test_rows():
    row = table_of().set_index("dataset").loc["geyser"]
    assert row["method"] == "LSCDE-exact"
    assert row["mean"] == pytest.approx(0.7)
    assert row["inner"] == pytest.approx(-0.8)
    assert (row["inner_n"], row["candidates"], row["n"]) == (2, 2, 2)
    # DDE is exempt: it may be the lowest in hindsight, and is never chosen.
    assert (row["lowest_method"], row["lowest_mean"]) == ("DDE", pytest.approx(0.15))


def test_published_value_is_the_lowest_of_all_papers():
    values = published.values()
    own = values[(values["dataset"] == "geyser") & (values["metric"] == NLL)]
    row = table_of().set_index("dataset").loc["geyser"]
    assert row["published_mean"] == own["value"].min()
    assert row["difference"] == pytest.approx(0.7 - own["value"].min())
    winner = own.loc[own["value"].idxmin()]
    assert row["published_method"] == winner["method"]
    assert row["published_in"] == f"{winner['paper']} {winner['artefact']}"


def test_every_published_likelihood_of_an_r_set_or_uci_set_takes_part():
    lowest = best_known.lowest_published()
    assert len(lowest) == 23
    assert lowest["value"].notna().all()


def test_failed_inner_fits_count_as_twenty_nats():
    inner = INNER | {("mine", "GP-ML"): [-1.0, -40.0], ("mine", "NADE"): [-9.0, -9.0]}
    test = TEST | {("mine", "GP-ML"): [1.0, 1.0], ("mine", "NADE"): [2.0, 2.0]}
    values = best_known.inner_values(scores_of(test=test, inner=inner).query("dataset == 'mine'"))
    assert values.mean().to_dict() == {"KCEF": -10.5, "GP-ML": -10.5, "NADE": -9.0}
    row = table_of(test=test, inner=inner).set_index("dataset").loc["mine"]
    assert row["method"] == "NADE"
    assert np.isnan(row["published_mean"])


def test_methods_scored_on_other_splits_are_refused():
    inner = INNER | {("geyser", "KCEF"): [-0.9]}
    with pytest.raises(ValueError, match="inner log likelihoods of geyser are of different splits"):
        table_of(inner=inner)


def test_value_by_quadrature_is_shown_where_there_is_one():
    scores = scores_of()
    exact = made.frame({("geyser", "LSCDE-exact"): [0.5, 0.5]}, NLL_QUADRATURE)
    found = best_known.build(ARTEFACT, pd.concat([scores, exact], ignore_index=True), [])
    assert found.set_index("dataset").loc["geyser", "mean"] == 0.5


def test_joint_densities_have_no_choice_and_the_lowest_in_hindsight():
    row = table_of().set_index("dataset").loc["red-wine"]
    assert pd.isna(row["method"])
    assert row["lowest_method"] == "NADE"
    assert row["candidates"] == 0


def test_answer_counts_sets_below_and_above():
    inner = {("geyser", "KCEF"): [-1.0] * 4, ("caution", "KCEF"): [-1.0] * 4}
    test = {("geyser", "KCEF"): [0.1, 0.2, 0.15, 0.1], ("caution", "KCEF"): [3.0, 3.1, 3.2, 3.1]}
    said = " ".join(best_known.sentences(table_of(test=test, inner=inner)))
    assert (
        "below the lowest published value on 1 of 2 sets and above it on 1; by more than two "
        "corrected standard errors it is below on 1 and above on 1." in said
    )
    assert "On 2 of the 2 sets the published value is that of DDE, whose evaluation used" in said
    assert "Chosen: KCEF (2)." in said
    assert "is 0.00 nats above the lowest in hindsight in the median over sets, 0.00 in" in said


def test_shared_rows_widen_the_standard_error_of_the_counts():
    """0.05 below with a standard deviation of 0.05: √20 times the usual error, less of theirs."""
    lowest = best_known.lowest_published().loc["geyser", "value"]
    values = list(lowest - 0.05 + 0.05 * np.tile([-1.0, 1.0], 10))
    table = table_of(
        test={("geyser", "KCEF"): values}, inner={("geyser", "KCEF"): [-1.0] * len(values)}
    )
    row = table.set_index("dataset").loc["geyser"]
    assert row["difference"] < -2.0 * row["stderr"]
    said = best_known.sentences(table)[0]
    assert "on 1 of 1 sets and above it on 0; by more than two" in said
    assert said.endswith("it is below on 0 and above on 0.")


def test_distance_from_hindsight_is_told_in_the_median_the_mean_and_at_most():
    """Of three sets the choice is the lowest on one, 0.3 above it and 0.9 above it."""
    test = {(name, "KCEF"): [1.0, 1.0] for name in ("geyser", "caution", "topo")}
    lower = {"geyser": 1.5, "caution": 0.7, "topo": 0.1}
    test |= {(name, "LSCDE-exact"): [value, value] for name, value in lower.items()}
    inner = {key: [-1.0 if key[1] == "KCEF" else -2.0] * 2 for key in test}
    said = " ".join(best_known.sentences(table_of(test=test, inner=inner)))
    assert "is 0.30 nats above" in said
    assert "median over sets, 0.40 in the mean and at most 0.90 (topo)." in said


def test_a_choice_in_each_split_by_its_own_rows_stands_beside_the_one_over_all():
    """LSCDE-exact over both splits; KCEF in the second, where its test value is 0.9 lower."""
    inner = {("geyser", "KCEF"): [-3.0, -1.0], ("geyser", "LSCDE-exact"): [-1.0, -1.5]}
    test = {("geyser", "KCEF"): [9.0, 1.0, 1.0], ("geyser", "LSCDE-exact"): [0.5, 1.9, 7.0]}
    table = table_of(test=test, inner=inner)
    row = table.set_index("dataset").loc["geyser"]
    assert row["method"] == "LSCDE-exact"
    assert row["anew_mean"] == pytest.approx(0.75)
    assert row["same_mean"] == pytest.approx(1.2)
    assert "is −0.45 nats above the one chosen" in " ".join(best_known.sentences(table))
    test["geyser", "KCEF"] = [9.0, None, 1.0]  # the fit that is chosen anew failed
    row = table_of(test=test, inner=inner).set_index("dataset").loc["geyser"]
    assert row["anew_mean"] == pytest.approx((0.5 + 20.0) / 2)


def test_page_and_picture_are_drawn_from_the_tracked_table(tmp_path):
    table = table_of()
    table.to_csv(tmp_path / "a.csv", index=False, float_format="%.6g")
    drawn = best_known.draw(ARTEFACT, building.read(tmp_path / "a.csv"), tmp_path / "best_known")
    assert sorted(path.suffix for path in drawn) == [".md", ".pdf", ".png"]
    text = (tmp_path / "best_known.md").read_text()
    assert "| mine | N/A |" in text
    assert "| red-wine | 9.98 | NADE, kcef table2 | – | not chosen |" in text
    assert "| LSCDE-exact | 0.80 |" in text  # the inner value, as a negative log-likelihood
    assert "N/A: no paper prints a value; ±" in text
    # Nothing is chosen for joint densities, so that no rule of theirs is stated.
    assert "- **KCEF**: " in text
    assert "(joint)" not in text
    again = best_known.draw(ARTEFACT, building.read(tmp_path / "a.csv"), tmp_path / "again")
    for one, other in zip(sorted(drawn), sorted(again), strict=True):
        if one.suffix != ".md":
            assert one.read_bytes() == other.read_bytes()


def test_scores_without_inner_likelihoods_choose_nothing(tmp_path):
    files = made.files(tmp_path / "scores", {("geyser", "KCEF"): [1.0, 1.1]})
    drawing.make(ARTEFACT, files, tmp_path / "figures")
    assert "No set has inner likelihoods" in (tmp_path / "figures/best_known.md").read_text()
