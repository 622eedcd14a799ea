"""The cross table against naive loops; the rule on failed splits; the answer; files that it has."""

import itertools
import math

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde.papers.across import _all_methods_answer, _all_methods_risk, all_methods
from kcde.papers.across._all_methods_rows import (
    COLUMNS,
    EVERY,
    GIVEN,
    of_methods,
    of_pairs,
    of_sets,
)
from kcde.papers import drawing, registry
from kcde.pages import building
from kcde.methods import METHODS

ARTEFACT = registry.ARTEFACTS["across/all_methods"]
SETS = ("a", "b", "c", "d", "e", "f")
ROWS = {name: 10 * k for k, name in enumerate("abcdefgh", 1)}


def scores_of(cells, rows=None, seconds=None):
    """Return scores from {(dataset, method): values}, with training rows and seconds."""
    frame = made.frame(cells)
    return frame.assign(
        n_train=frame["dataset"].map(rows or {name: 10 * k for k, name in enumerate(SETS, 1)}),
        seconds=frame["method"].map(seconds or {}).astype(float),
    )


def table_of(cells, **more):
    return all_methods.build(ARTEFACT, scores_of(cells, **more), [])


@pytest.fixture(scope="module")
def cells():
    """Four methods on six sets, one of them best, another failing now and then."""
    rng, found = np.random.default_rng(0), {}
    levels = {"NADE": 1.0, "LSCDE-exact": 1.3, "JDL-smoothed": 0.4, "CME-smoothed": 0.8}
    for dataset, (method, level) in itertools.product(SETS, levels.items()):
        values = list(level + 0.5 * rng.normal(size=12))
        if method == "CME-smoothed":
            values[rng.integers(1, 12)] = None
            values[0] = 31.0
        found[dataset, method] = values
    return found


@pytest.fixture(scope="module")
def table(cells):
    return table_of(cells)


def capped(values):
    return np.array([20.0 if v is None or v > 20 else v for v in values])


def methods_of(cells):
    return list(dict.fromkeys(method for _, method in cells))


def test_ranks_and_excess_are_those_of_loops(cells, table):
    found, means = of_sets(table).set_index(["dataset", "method"]), {m: [] for _, m in cells}
    for dataset in SETS:
        values = {m: capped(cells[dataset, m]) for m in methods_of(cells)}
        lowest = min(np.median(v) for v in values.values())
        for method, own in values.items():
            ranks = [
                1.0
                + sum(other[k] < own[k] for other in values.values())
                + 0.5 * sum(v[k] == own[k] for m, v in values.items() if m != method)
                for k in range(12)
            ]
            row = found.loc[(dataset, method)]
            assert row["rank"] == pytest.approx(np.mean(ranks))
            assert row["excess"] == pytest.approx(np.median(own) - lowest)
            means[method].append(np.mean(ranks))
    over_all = of_methods(table).set_index("method")
    for method, ranks in means.items():
        assert over_all.loc[method, "rank"] == pytest.approx(np.mean(ranks))
    assert over_all["rank"].is_monotonic_increasing
    assert (over_all["n"] == len(SETS)).all()


def test_pairs_are_tested_over_sets_and_adjusted_together(cells, table):
    raw = {}
    for pair in itertools.combinations(methods_of(cells), 2):
        shifts = [np.median(capped(cells[d, pair[0]]) - capped(cells[d, pair[1]])) for d in SETS]
        raw[frozenset(pair)] = stats.wilcoxon(shifts).pvalue
    ordered = sorted(raw, key=raw.get)
    expected = {
        pair: min(1.0, max((len(raw) - k) * raw[p] for k, p in enumerate(ordered[: i + 1])))
        for i, pair in enumerate(ordered)
    }
    pairs = of_pairs(table)
    assert len(pairs) == 12
    for one, other in itertools.permutations(methods_of(cells), 2):
        row, mirrored = pairs.loc[(one, other)], pairs.loc[(other, one)]
        assert row["p_value"] == pytest.approx(expected[frozenset((one, other))])
        assert (row["wins"], row["losses"]) == (mirrored["losses"], mirrored["wins"])
        assert row["excess"] == pytest.approx(-mirrored["excess"])


def test_the_first_is_tested_against_its_rivals_alone(cells, table):
    found = of_methods(table).set_index("method")
    first, *rivals = found.index
    raw = {}
    for name in rivals:
        shifts = [np.median(capped(cells[d, name]) - capped(cells[d, first])) for d in SETS]
        raw[name] = stats.wilcoxon(shifts).pvalue
    ordered = sorted(raw, key=raw.get)
    for i, name in enumerate(ordered):
        stepped = [(3 - k) * raw[each] for k, each in enumerate(ordered[: i + 1])]
        assert found.loc[name, "p_value"] == pytest.approx(min(1.0, max(stepped)))
        assert found.loc[name, "best"] == (found.loc[name, "p_value"] >= 0.05)
    assert math.isnan(found.loc[first, "p_value"])
    assert found.loc[first, "best"]


def test_wins_and_losses_count_the_tests_over_splits(cells, table):
    pairs = of_pairs(table)
    for one, other in itertools.permutations(methods_of(cells), 2):
        wins = losses = 0
        for dataset in SETS:
            first, second = capped(cells[dataset, one]), capped(cells[dataset, other])
            gap = first - second
            t = gap.mean() / math.sqrt((1 / 12 + 1) * gap.var(ddof=1))
            if 2 * stats.t.sf(abs(t), 11) < 0.05:
                # Far apart here, so that medians say which of the two is lower.
                wins += np.median(first) < np.median(second)
                losses += np.median(first) > np.median(second)
        assert (pairs.loc[(one, other), "wins"], pairs.loc[(one, other), "losses"]) == (
            wins,
            losses,
        )


def test_the_best_of_a_set_is_by_the_corrected_test():
    """A difference that the signed-rank test alone finds says nothing of the population."""
    low = np.sin(np.arange(20.0))
    high = low + 0.3 + 0.4 * np.sin(3.0 * np.arange(20.0))
    found = of_sets(table_of({("a", "NADE"): list(low), ("a", "GP-ML"): list(high)}))
    row = found.set_index("method").loc["GP-ML"]
    assert row["p_value"] == pytest.approx(stats.wilcoxon(high, low).pvalue)
    assert row["p_value"] < 0.05 < row["p_value_corrected"]
    assert row["best"]


def test_a_failed_split_is_the_last_and_no_worse_than_that():
    good, bad = [1.0] * 20, [0.9] * 20
    ranks = []
    for failure in (None, 20.1, 1e9, math.inf):
        bad[7] = failure
        found = of_sets(table_of({("a", "NADE"): good, ("a", "GP-ML"): bad}))
        found = found.set_index("method")
        assert found.loc["GP-ML", "failed"] == 1
        ranks.append(found["rank"].to_dict())
        assert found.loc["GP-ML", "excess"] == 0
    assert all(each == {"NADE": 1.95, "GP-ML": 1.05} for each in ranks)


def test_methods_that_fail_together_share_the_rank():
    cells = {
        ("a", "NADE"): [1.0, None],
        ("a", "GP-ML"): [2.0, 50.0],
        ("a", "LSCDE-exact"): [3.0] * 2,
    }
    found = of_sets(table_of(cells)).set_index("method")["rank"]
    assert found.to_dict() == {"NADE": 1.75, "GP-ML": 2.25, "LSCDE-exact": 2.0}


def test_more_than_one_failed_split_in_twenty_is_never_best():
    cells = {("a", "NADE"): [0.1] * 18 + [None] * 2, ("a", "GP-ML"): made.around(1.0)}
    found = of_sets(table_of(cells)).set_index("method")
    assert found["rank"].idxmin() == "NADE"
    assert found["best"].to_dict() == {"NADE": False, "GP-ML": True}
    assert of_methods(table_of(cells)).set_index("method")["failed"].to_dict() == {
        "NADE": 1,
        "GP-ML": 0,
    }


def test_what_is_sampled_is_replaced_by_quadrature():
    cells = {("a", "KCEF"): [9.0] * 3, ("a", "DDE"): [0.0] * 3, ("a", "NADE"): [2.0] * 3}
    exact = {("a", "KCEF"): [1.0] * 3, ("a", "DDE"): [3.0] * 3}
    quadrature = made.frame(exact, metric=f"{made.METRIC}_quadrature")
    found = all_methods.build(ARTEFACT, pd.concat([scores_of(cells), quadrature]), [])
    means = of_sets(found).set_index("method")["mean"].to_dict()
    assert means == {"KCEF": 1.0, "DDE-quadrature": 3.0, "NADE": 2.0}
    assert list(means) == ["KCEF", "DDE-quadrature", "NADE"]


def test_a_new_method_that_is_scored_by_quadrature_is_shown_so():
    cells, exact = {("a", "mine"): [9.0] * 3, ("a", "NADE"): [2.0] * 3}, {("a", "mine"): [1.0] * 3}
    quadrature = made.frame(exact, metric=f"{made.METRIC}_quadrature")
    found = all_methods.build(ARTEFACT, pd.concat([scores_of(cells), quadrature]), [])
    assert of_sets(found).set_index("method")["mean"].to_dict() == {"mine": 1.0, "NADE": 2.0}


def test_every_density_of_the_experiment_is_ranked():
    """But LSCDE with its floor and readings; a new method of the experiment needs no line here."""
    (wanted,) = ARTEFACT.shows.values()
    assert wanted == {
        "but": ["LSCDE", "NADE-joint", "KCEF-stopped", "KCEF-converged", "KCEF-LL-shared"]
    }
    assert METHODS["LSCDE"].r_benchmark_options["density_floor"] > 0


def test_only_sets_that_every_method_has_are_summarised(cells):
    fewer = {key: values for key, values in cells.items() if key != ("a", "NADE")}
    found = table_of(fewer)
    assert set(of_sets(found)["dataset"]) == set(SETS)
    assert (of_methods(found)["n"] == 5).all()
    rest = table_of({key: values for key, values in cells.items() if key[0] != "a"})
    columns = ["method", "rank", "excess", "p_value", "sets_best"]
    pd.testing.assert_frame_equal(of_methods(found)[columns], of_methods(rest)[columns])


def test_other_splits_are_refused(cells):
    wrong = cells | {("a", "NADE"): [1.0] * 5}
    with pytest.raises(ValueError, match=r"NADE lacks splits of a .* same --splits"):
        table_of(wrong)


def test_sets_come_by_their_rows_and_methods_in_the_order_of_their_scores(cells):
    found = table_of(cells, rows={name: 100 - 10 * k for k, name in enumerate(SETS)})
    assert list(dict.fromkeys(of_sets(found)["dataset"])) == list(reversed(SETS))
    assert list(dict.fromkeys(found["method"])) == methods_of(cells)
    turned = dict(reversed(cells.items()))
    assert list(dict.fromkeys(table_of(turned)["method"])) == methods_of(turned)
    assert list(found.columns) == COLUMNS


def level(**levels):
    """Cells of methods far apart on eight sets, lowest first where the level is."""
    rng = np.random.default_rng(3)
    return {
        (dataset, name.replace("_", "-")): list(value + 0.01 * rng.normal(size=20))
        for dataset in ("a", "b", "c", "d", "e", "f", "g", "h")
        for name, value in levels.items()
    }


def answered(cells, **more):
    return " ".join(_all_methods_answer.sentences(table_of(cells, rows=ROWS, **more)))


def test_risk_is_that_of_loops():
    """On four sets with failed splits: the mean, the largest, and what the marginal does better."""
    rng, cells, names = np.random.default_rng(5), {}, ("a", "b", "crabs", "cpus")
    for dataset, mean in zip(names, (0.2, 1.4, 0.9, -1.0), strict=True):
        cells[dataset, "NADE"] = list(mean + 0.3 * rng.normal(size=9))
        cells[dataset, "MarginalKDE"] = list(1.0 + 0.3 * rng.normal(size=9))
    cells["b", "NADE"][:6] = [None, 35.0, None, 80.0, math.inf, None]
    found = table_of(cells, rows={name: 10 * k for k, name in enumerate(names, 1)})
    medians = {key: np.median(capped(values)) for key, values in cells.items()}
    own = of_methods(found).set_index("method").loc["NADE"]
    assert own["capped"] == pytest.approx(np.mean([medians[d, "NADE"] for d in names]))
    assert (own["worst"], own["worst_capped"]) == ("b", 20.0)
    worse = sum(medians[d, "NADE"] > medians[d, "MarginalKDE"] for d in names)
    assert (own["below_marginal"], own["of_marginal"]) == (worse, 4)
    assert own["failed"] == 1
    ranks = of_sets(found).set_index(["dataset", "method"])["rank"]
    assert own["rank_without"] == pytest.approx((ranks["a", "NADE"] + ranks["b", "NADE"]) / 2)
    assert of_methods(found).set_index("method").loc["MarginalKDE", "below_marginal"] == 0


def test_without_the_marginal_density_there_is_no_comparison_with_it(table):
    assert of_methods(table)["below_marginal"].isna().all()
    assert of_methods(table)["rank_without"].isna().all()


def test_how_often_a_method_is_first_when_sets_are_drawn_anew():
    """Exactly: of four draws two or more, a tie included, are sets on which the first is lower."""
    ranks = pd.DataFrame({"one": [1.0, 1.0, 1.0, 2.0], "other": [2.0, 2.0, 2.0, 1.0]})
    equal = ranks * 0.0
    losses = equal + {"one": 0.4, "other": 0.5}
    found = _all_methods_risk.first_shares(ranks, losses)
    assert found["one"] == pytest.approx(stats.binom.sf(1, 4, 0.75), abs=0.02)
    assert found.sum() == 1.0
    # Where the other has the lower loss, a tie makes it the first.
    turned = _all_methods_risk.first_shares(ranks, equal + {"one": 0.5, "other": 0.4})
    assert turned["one"] == pytest.approx(stats.binom.sf(2, 4, 0.75), abs=0.02)
    for table in (losses, equal):
        found = _all_methods_risk.first_shares(ranks, table)
        again = _all_methods_risk.first_shares(ranks.iloc[::-1, ::-1], table)
        pd.testing.assert_series_equal(found, again[found.index])


def with_crps(cells, crps, coverage):
    """Return scores of likelihoods with CRPS and both coverages."""
    more = [
        made.frame(crps, metric="crps", unit=""),
        made.frame(coverage, metric="coverage_50", unit=""),
        made.frame(coverage, metric="coverage_90", unit=""),
    ]
    return pd.concat([scores_of(cells), *more], ignore_index=True)


def test_crps_and_coverage_are_means_over_sets():
    cells, rng = level(NADE=0.1, GP_ML=0.5), np.random.default_rng(7)
    crps = {key: list(0.5 + 0.1 * rng.random(20)) for key in cells}
    crps["a", "NADE"][3] = None
    coverage = {key: list(rng.random(20)) for key in cells}
    found = all_methods.build(ARTEFACT, with_crps(cells, crps, coverage), [])
    own, medians, ranks = of_methods(found).set_index("method").loc["NADE"], [], []
    for dataset in "abcdefgh":
        mine = [np.inf if v is None else v for v in crps[dataset, "NADE"]]
        medians.append(np.median([v for v in mine if v < np.inf]))
        pairs = zip(mine, crps[dataset, "GP-ML"], strict=True)
        ranks.append(np.mean([1.0 + (other < one) for one, other in pairs]))
    assert own["crps"] == pytest.approx(np.mean(medians))
    assert own["crps_rank"] == pytest.approx(np.mean(ranks))
    shares = [np.mean(coverage[dataset, "NADE"]) for dataset in "abcdefgh"]
    assert own["coverage_50"] == own["coverage_90"] == pytest.approx(np.mean(shares))


def test_the_crps_of_what_is_shown_by_quadrature_is_that_of_its_fit():
    cells = {("a", "DDE"): [0.0] * 3, ("a", "NADE"): [2.0] * 3}
    quadrature = made.frame({("a", "DDE"): [3.0] * 3}, metric=f"{made.METRIC}_quadrature")
    crps = made.frame({("a", "DDE"): [0.25] * 3}, metric="crps", unit="")
    scores = pd.concat([scores_of(cells), quadrature, crps], ignore_index=True)
    found = of_sets(all_methods.build(ARTEFACT, scores, [])).set_index("method")
    assert found.loc["DDE-quadrature", "crps"] == 0.25
    assert math.isnan(found.loc["NADE", "crps"])


def test_the_advice_names_rank_and_risk_in_one_sentence():
    said = answered(level(NADE=0.1, GP_ML=0.5, MarginalKDE=0.9))
    advice = said.partition(". Of the")[0]
    assert advice.startswith("**Take NADE**: mean rank 1.0, mean loss 0.10 nats, at worst 0.1")
    assert advice.endswith("worse than marginal KDE on 0 of 8 sets, no failed split on 8 sets")
    assert "(Holm over the rivals): none." in said
    assert "First in 2000 resamples of sets: NADE 100%." in said
    assert "On the 4 sets with at most 40 training rows the first is NADE" in said


def test_equals_of_the_first_are_named():
    cells = level(NADE=0.1, GP_ML=0.1, MarginalKDE=0.9)
    first, other, _ = of_methods(table_of(cells, rows=ROWS))["method"]
    said = answered(cells)
    assert f"Of the 2 rivals of {first}, the first by mean rank, not significantly" in said
    assert f"(Holm over the rivals): {other}." in said


def test_a_lower_mean_loss_is_named_beside_the_first():
    cells = level(NADE=0.1, GP_ML=0.2)
    cells["h", "NADE"] = [9.0] * 20
    said = answered(cells)
    assert said.startswith("**Take NADE**: mean rank 1.1, mean loss 1.21 nats, at worst 9.00 on h")
    assert "; GP-ML has the lowest mean loss (0.20 nats, mean rank 1.9)." in said


@pytest.mark.parametrize("reverse", [False, True])
def test_the_lower_mean_loss_decides_between_equal_mean_ranks(reverse):
    """GP-ML and NADE share ranks 1 and 2 on eight sets; GP-ML is worse where it is second."""
    cells = level(NADE=0.3, GP_ML=0.2, LSCDE_exact=0.9)
    for dataset in "efgh":
        cells[dataset, "GP-ML"] = [0.6] * 20
    cells = dict(reversed(cells.items())) if reverse else cells
    assert list(of_methods(table_of(cells, rows=ROWS))["method"])[:2] == ["NADE", "GP-ML"]
    said = answered(cells)
    assert said.startswith(
        "**Take NADE**, tied by mean rank with GP-ML (mean loss 0.40): mean rank 1.5, mean loss "
        "0.30 nats"
    )
    assert "Of the 2 rivals of NADE, the first by mean rank" in said
    assert "the first is GP-ML (1.0), on the larger ones NADE (1.0)" in said
    assert "tied" not in answered(level(NADE=0.1, GP_ML=0.5))


def test_the_first_of_a_set_is_by_the_lower_median_where_ranks_are_equal():
    """Each is lower on two of four splits; the first has no signed-rank test against itself."""
    cells = {("a", "NADE"): [1.0, 1.0, 4.0, 4.0], ("a", "GP-ML"): [2.0, 2.0, 2.1, 2.1]}
    found = of_sets(table_of(cells)).set_index("method")
    assert found["rank"].to_dict() == {"NADE": 1.5, "GP-ML": 1.5}
    assert found["p_value"].to_dict() == {"NADE": pytest.approx(0.5), "GP-ML": 1.0}


def test_what_failed_on_a_set_is_never_recommended():
    cells = level(NADE=0.1, GP_ML=0.5, LSCDE_exact=0.9)
    cells["c", "NADE"][0] = None
    said = answered(cells)
    assert said.startswith("**Take GP-ML**: mean rank 2.0")
    assert "NADE, the first by mean rank (1.0), failed on 1 of 8 sets." in said
    cells["d", "GP-ML"][0] = cells["e", "LSCDE-exact"][0] = 21.0
    assert answered(cells).startswith("Every method failed on some set, so that none is rec")


@pytest.mark.nightly
def test_the_page_begins_with_few_words_and_has_all_columns(tmp_path):
    """Of 22 methods on 20 sets, many of them as good as the first."""
    rng = np.random.default_rng(11)
    names = ["MarginalKDE", *(f"Some-method-{k}" for k in range(21))]
    sets = ["crabs", "cpus", *(f"set-{k}" for k in range(18))]
    cells = {(d, m): list(1.0 + 0.3 * rng.normal(size=5)) for d in sets for m in names}
    cells["set-3", names[4]][1] = None
    values = {key: list(rng.random(5)) for key in cells}
    scores = with_crps(cells, values, values)
    scores["n_train"] = scores["dataset"].map({name: 20 + k for k, name in enumerate(sets)})
    found = all_methods.build(ARTEFACT, scores, [])
    page = ARTEFACT.draw(ARTEFACT, found, tmp_path / "all_methods")[0].read_text()
    _, start, header = page[: page.index("\n| :---")].split("\n\n")
    assert 60 < len(start.split()) <= 150
    for title in ("without crabs, cpus", "first in resamples of sets", "worst set", "seconds"):
        assert f"| {title} |" in header
    for title in ("worse than marginal KDE", "CRPS", "rank by CRPS", "coverage of 90%"):
        assert f"| {title} |" in header


def test_a_table_without_the_newer_columns_is_drawn(cells, tmp_path):
    older = table_of(cells).drop(columns=["capped", "worst", "first_share", "crps", "coverage_50"])
    page = ARTEFACT.draw(ARTEFACT, older, tmp_path / "all_methods")[0].read_text()
    assert "**Take " in page
    assert "nan" not in page.replace("nats", "")


def test_parameters_that_were_given_are_shown_and_neither_ranked_nor_taken(tmp_path):
    chosen, given = level(GP_ML=0.5, LSCDE_exact=0.9), level(DDE_penalised=0.1)
    given = {key: values for key, values in given.items() if key[0] in ("a", "b")}
    scores = [scores_of(chosen), made.frame(given, metric=f"{made.METRIC}_quadrature")]
    found = all_methods.build(ARTEFACT, pd.concat(scores, ignore_index=True), [])
    assert set(found["method"]) & set(GIVEN) == {"DDE-penalised"}
    own = of_sets(found).set_index("method").loc["DDE-penalised"]
    assert set(own["dataset"]) == {"a", "b"}
    assert own["rank"].isna().all()
    assert not own["best"].any()
    assert own["excess"].between(-0.5, -0.3).all()
    # The others are compared as if it were not there, on all sets.
    without = all_methods.build(ARTEFACT, scores[0], [])
    pd.testing.assert_frame_equal(of_methods(found), of_methods(without))
    pd.testing.assert_frame_equal(of_pairs(found), of_pairs(without))
    said = " ".join(_all_methods_answer.sentences(found))
    assert said.startswith("**Take GP-ML**: mean rank 1.0")
    assert said == " ".join(_all_methods_answer.sentences(without))
    drawn = ARTEFACT.draw(ARTEFACT, found.assign(n_train=30.0), tmp_path / "all_methods")
    page = drawn[0].read_text()
    assert "| data set | rows | GP-ML | LSCDE-exact | DDE-penalised ‡ |" in page
    assert "Parameters given by the authors: not ranked" in page


def test_given_parameters_alone_are_ranked_and_not_recommended():
    """A configuration may select no other method."""
    found = table_of(level(DDE_penalised=0.1, DDE_quadrature=0.5))
    assert of_methods(found)["rank"].tolist() == [1.0, 2.0]
    assert "none is recommended" in _all_methods_answer.sentences(found)[0]


def test_seconds_and_failures_stand_in_table_and_page(cells, tmp_path):
    scores = scores_of(cells, seconds={"NADE": 2.0})
    path = tmp_path / "scores.csv"
    scores.to_csv(path, index=False)
    drawing.make(ARTEFACT, [path], tmp_path / "figures")
    read = building.read(tmp_path / "figures/across/all_methods.csv")
    assert read.loc[read["dataset"] == EVERY, "seconds"].dropna().tolist() == [3.0]
    page = (tmp_path / "figures/across/all_methods.md").read_text()
    assert "| data set | rows | JDL-smoothed |" in page
    assert "| a | 10 | **" in page
    assert page.count("†2") == len(SETS)
    assert "## Every pair" in page
    assert "- **NADE**: as published" in page


def test_one_method_alone_is_drawn_and_not_compared(tmp_path):
    path = tmp_path / "scores.csv"
    scores_of({("a", "NADE"): made.around(1.0), ("b", "NADE"): [None] * 20}).to_csv(
        path, index=False
    )
    drawing.make(ARTEFACT, [path], tmp_path / "figures")
    page = (tmp_path / "figures/across/all_methods.md").read_text()
    assert "so that none can be compared" in page
    assert "| b | 20 | – †20 |" in page
