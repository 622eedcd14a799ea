"""The tables across papers: ranks and tests against naive loops, calibration, and larger sets."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import artefact_scores as made
from kcde import scores
from kcde.metrics import COVERAGES, NLL, NLL_QUADRATURE
from kcde.papers import drawing, registry
from kcde.papers.across import all_methods as cross
from kcde.papers.across import calibration, larger

ALL, CALIBRATION, LARGER, LARGE_N = (
    registry.ARTEFACTS[f"across/{name}"]
    for name in ("all_methods", "calibration", "larger_sets", "large_n")
)


def frame(cells, metric=NLL, experiment="r_benchmark", **more):
    """Return scores as `made.frame` does, of data of ten rows more by letter."""
    found = made.frame(cells).assign(experiment=experiment, metric=metric, variant="ours")
    n_train = found["dataset"].map(lambda name: 10 * (ord(name[0]) - 96))
    unit = "nats" if metric == NLL else ""
    return found.assign(unit=unit, n_train=n_train, seconds=2.0).assign(**more)


def table_of(cells, *others):
    return cross.build(ALL, pd.concat([frame(cells), *others], ignore_index=True), [])


def level(**levels):
    """Cells of methods far apart on eight sets, lowest first where the level is."""
    rng = np.random.default_rng(3)
    return {
        (dataset, name.replace("_", "-")): list(value + 0.01 * rng.normal(size=20))
        for dataset in "abcdefgh"
        for name, value in levels.items()
    }


def test_how_often_a_method_is_first_when_sets_are_drawn_anew():
    """Exactly: of four draws two or more, a tie included, are sets on which the first is lower."""
    ranks = pd.DataFrame({"one": [1.0, 1.0, 1.0, 2.0], "other": [2.0, 2.0, 2.0, 1.0]})
    losses = ranks * 0.0 + {"one": 0.4, "other": 0.5}
    found = cross.first_shares(ranks, losses)
    assert found["one"] == pytest.approx(stats.binom.sf(1, 4, 0.75), abs=0.02)
    again = cross.first_shares(ranks.iloc[::-1, ::-1], losses)
    pd.testing.assert_series_equal(found, again[found.index])


def test_given_parameters_are_shown_and_neither_ranked_nor_recommended():
    chosen = level(GP_ML=0.5, LSCDE_exact=0.9)
    given = {key: v for key, v in level(DDE_penalised=0.1).items() if key[0] in "ab"}
    found, without = table_of(chosen, frame(given, NLL_QUADRATURE)), table_of(chosen)
    own = cross.of_sets(found).set_index("method").loc["DDE-penalised"]
    assert own["rank"].isna().all()
    assert not own["best"].any()
    pd.testing.assert_frame_equal(cross.of_methods(found), cross.of_methods(without))
    assert cross.answer(found) == cross.answer(without)
    assert "none is recommended" in cross.answer(table_of(level(CondMAF=1.0, DDE_quadrature=2)))


def test_the_first_without_a_failure_is_recommended_by_rank_then_loss(tmp_path):
    """GP-ML and NADE share ranks 1 and 2 on eight sets; GP-ML is worse where it is second."""
    cells = level(NADE=0.3, GP_ML=0.2, LSCDE_exact=0.9)
    cells |= {(dataset, "GP-ML"): [0.6] * 20 for dataset in "efgh"}
    assert cross.answer(table_of(cells)).startswith("**Take NADE**")
    cells["c", "NADE"][0] = None
    path = tmp_path / "scores.csv"
    scores.write(path, frame(cells).to_dict("records"), {})
    drawing.make(ALL, [path], tmp_path)
    page = (tmp_path / "across/all_methods.md").read_text(encoding="utf-8")
    assert "**Take GaussianProcess-ML**" in page


def test_calibration_gives_each_set_the_same_weight(tmp_path):
    rng, paths, pits = np.random.default_rng(0), [], {}
    for dataset, n in {"a": 400, "b": 100, "crabs": 50}.items():
        for method, width in {"NADE": 1.0, "LSCDE-exact": 1.9, "GP-ML": 0.5}.items():
            pit = stats.norm.cdf(width * rng.standard_normal((4, n)))
            pit[3] = np.nan  # a split without a fit
            inside = [np.mean(np.abs(pit[:3] - 0.5) <= c / 2, axis=1) for c in COVERAGES.values()]
            rows = [frame({(dataset, method): [1.0, 1.0, 1.0, None]})]
            for name, shares in zip(COVERAGES, inside, strict=True):
                rows.append(frame({(dataset, method): shares}, name))
            paths.append(tmp_path / dataset / f"{method}.csv")
            scores.write(paths[-1], pd.concat(rows).to_dict("records"), {}, {"pit": pit})
            pits[dataset, method] = pit[:3]
    drawing.make(CALIBRATION, paths, tmp_path)
    found = pd.read_csv(tmp_path / "across/calibration.csv")
    assert calibration.calibrated(found) == ["NADE"] == [found["method"].iloc[0]]
    for method, own in found.groupby("method"):
        each = [pits[dataset, method] for dataset in "ab"]
        bars = own[own["panel"] == "histogram"]
        heights = [20 * np.histogram(p, 20, (0, 1))[0] / p.size for p in each]
        np.testing.assert_allclose(bars["y"], np.mean(heights, axis=0), rtol=1e-5)
        for name, nominal in COVERAGES.items():
            mean = own[(own["series"] == name) & (own["stat"] == "mean")].iloc[0]
            shares = [np.mean(np.abs(p - 0.5) <= nominal / 2) for p in each]
            wanted = [np.mean(shares), min(shares), max(shares)]
            assert mean[["y", "y_low", "y_high"]].tolist() == pytest.approx(wanted, rel=1e-5)


def test_larger_sets_have_means_failed_splits_and_what_was_not_fitted(tmp_path):
    cells = {("b", "NADE"): [1.0, 1.2, None], ("b", "KCEF"): [9.0] * 3, ("a", "NADE"): [0.5, 31.0]}
    both = [frame(cells, NLL, "larger_sets")]
    both.append(frame({("b", "KCEF"): [0.8, 0.9, 1.0]}, NLL_QUADRATURE, "larger_sets"))
    both.append(frame({("a", "KCEF"): [80.0, 7300.0]}, "needed_seconds", "larger_sets"))
    path = tmp_path / "scores.csv"
    scores.write(path, pd.concat(both).to_dict("records"), {})
    drawing.make(LARGER, [path], tmp_path)
    found = pd.read_csv(tmp_path / "across/larger_sets.csv")
    found = found.set_index(["panel", "method", "series"])
    own = found.loc[("b", "NADE", NLL), ["y", "y_low", "y_high"]].tolist()
    assert own == pytest.approx([22.2 / 3, 1.0, 20.0])
    assert found.loc[("b", "KCEF", NLL), "y"] == pytest.approx(0.9)
    assert found.loc[("b", "NADE", "seconds"), "y"] == 3.0
    skipped = found.loc[("a", "KCEF", "seconds")]
    assert (skipped["stat"], skipped["y"], skipped["n"]) == ("skipped", 7300.0, 2)


def test_a_method_that_was_not_fitted_on_all_sets_comes_after_those_that_were():
    cells = {("red-wine", "GP-ML"): [0.1], ("red-wine", "NADE"): [0.9], ("red-wine", "KCEF"): [0.5]}
    cells |= {("parkinsons", "NADE"): [0.9], ("parkinsons", "KCEF"): [0.5]}
    cells |= {("parkinsons-people", "NADE"): [0.1], ("parkinsons-people", "GP-ML"): [0.2]}
    planned = frame({("parkinsons", "LSCDE"): [90.0]}, "needed_seconds")
    found = larger.build(LARGER, pd.concat([frame(cells), planned]), [])
    assert larger.in_order(found) == ["KCEF", "NADE", "GP-ML", "LSCDE"]


def test_large_n_has_gap_and_cost_by_rows():
    gaps = {("b", "linear"): [0.2], ("a", "linear"): [None], ("a", "NADE-grown"): [0.1]}
    both = [frame(gaps, "log_density_gap", "large_n", stderr=0.001)]
    both.append(frame({("a", "NADE-grown"): [20.0]}, "fit_seconds", "large_n"))
    both.append(frame({("a", "linear"): [7.0]}, "log_density_gap", setting='{"fixed": 1}'))
    found = LARGE_N.build(LARGE_N, pd.concat(both), []).set_index(["panel", "method", "x"])
    assert found.index.tolist()[:2] == [("gap", "linear", 10), ("gap", "linear", 20)]
    assert found.loc[("gap", "linear", 10), "stat"] == "failed"
    ends = found.loc[("gap", "linear", 20), ["y_low", "y", "y_high"]].tolist()
    assert ends == pytest.approx([0.198, 0.2, 0.202])
    assert found.loc[("seconds", "NADE-grown", 10), "y"] == 20
