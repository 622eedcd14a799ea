"""The figure of the larger sets: means, failed splits, what was not fitted, and its page."""

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde.papers.across import larger_sets
from kcde.papers import drawing, registry
from kcde.pages.markdown import details
from kcde.estimators import LikelihoodKCEF
from kcde.metrics.names import CRPS, NLL

ARTEFACT = registry.ARTEFACTS["across/larger_sets"]


@pytest.fixture
def scores():
    cells = {
        ("wine", "NADE"): [1.0, 1.2, None],
        ("wine", "KCEF"): [9.0, 9.0, 9.0],
        ("traffic", "NADE"): [0.5, 31.0, 0.6],
    }
    frames = [
        made.frame(cells),
        made.frame({("wine", "KCEF"): [0.8, 0.9, 1.0]}, metric=f"{NLL}_quadrature"),
        made.frame({("wine", "NADE"): [0.3, 0.5]}, metric="crps", unit=""),
        made.frame({("wine", "NADE"): [0.4, 0.5]}, metric="coverage_50", unit=""),
        made.frame({("traffic", "KCEF"): [80.0, 7300.0]}, metric="needed_seconds", unit="s"),
    ]
    return pd.concat(frames, ignore_index=True).assign(
        n_train=1000, seconds=2.0, experiment="larger_sets"
    )


def test_means_and_failed_splits(scores):
    found = larger_sets.build(ARTEFACT, scores, []).set_index(["panel", "method", "series"])
    own = found.loc[("wine", "NADE", NLL)]
    assert (own["y"], own["y_low"], own["y_high"]) == (pytest.approx(22.2 / 3), 1.0, 20.0)
    assert found.loc[("traffic", "NADE", NLL), "y"] == pytest.approx(21.1 / 3)
    assert found.loc[("wine", "KCEF", NLL), "y"] == pytest.approx(0.9)
    assert found.loc[("wine", "NADE", CRPS), "y"] == pytest.approx(0.4)
    assert found.loc[("wine", "NADE", "seconds"), "y"] == 3.0
    skipped = found.loc[("traffic", "KCEF", "seconds")]
    assert (skipped["stat"], skipped["y"], skipped["n"]) == ("skipped", 7300.0, 2)


def test_files_and_page(scores, tmp_path):
    path = tmp_path / "scores.csv"
    scores.to_csv(path, index=False)
    drawing.make(ARTEFACT, [path], tmp_path / "figures")
    page = (tmp_path / "figures/across/larger_sets.md").read_text()
    assert "| NADE | 7.40 | 0.400 | 45% | – | 3 |" in page
    assert "| KCEF | – | – | – | – | not fitted: planned at 2 h |" in page
    assert (tmp_path / "figures/across/larger_sets.png").exists()


def test_a_method_that_was_not_fitted_on_all_sets_comes_after_those_that_were():
    """GP-ML is first on one set, NADE mostly behind KCEF, and LSCDE was fitted nowhere."""
    cells = {
        ("red-wine", "GP-ML"): [0.1],
        ("red-wine", "NADE"): [0.9],
        ("red-wine", "KCEF"): [0.5],
        ("parkinsons", "NADE"): [0.9],
        ("parkinsons", "KCEF"): [0.5],
        ("parkinsons-people", "NADE"): [0.1],
        ("parkinsons-people", "GP-ML"): [0.2],
    }
    planned = {("parkinsons", "GP-ML"): [80.0], ("parkinsons", "LSCDE"): [90.0]}
    frames = [made.frame(cells), made.frame(planned, metric="needed_seconds", unit="s")]
    scores = pd.concat(frames, ignore_index=True).assign(n_train=1000, seconds=2.0)
    found = larger_sets.build(ARTEFACT, scores, [])
    assert larger_sets.in_order(found) == ["KCEF", "NADE", "GP-ML", "LSCDE"]


def test_the_page_says_how_methods_choose(scores, tmp_path):
    path = tmp_path / "scores.csv"
    likelihood = made.frame({("wine", "LikelihoodKCEF"): [0.7] * 3, ("wine", "KCEF-LL"): [0.9] * 3})
    more = likelihood.assign(n_train=1000, seconds=2.0, experiment="larger_sets")
    pd.concat([scores, more]).to_csv(path, index=False)
    drawing.make(ARTEFACT, [path], tmp_path / "figures")
    page = (tmp_path / "figures/across/larger_sets.md").read_text()
    rules = page[page.index("Selection:") :]
    assert "- **KCEF-LL**: ours: σ_x, σ_y and λ of KCEF by 5-fold held-out likelihood" in rules
    assert "(500 at laptop)" in rules
    (line,) = (line for line in rules.splitlines() if line.startswith("- **LikelihoodKCEF**"))
    assert (
        "is scored. [The whole rule](../across/all_methods.md) also says what was changed" in line
    )


def test_a_long_rule_stands_whole_on_one_page_and_others_link_it():
    whole, beside = (
        "".join(details(registry.ARTEFACTS[key], (), ["LikelihoodKCEF"]))
        for key in ("across/all_methods", "kcef/table1")
    )
    assert f"{LikelihoodKCEF.selection_rule}. After test scores had been seen" in whole
    assert "[The whole rule](../across/all_methods.md)" in beside
    assert LikelihoodKCEF.selection_rule not in beside


def test_the_caption_has_at_most_80_words():
    assert len(ARTEFACT.caption.split()) <= 80


@pytest.mark.parametrize(
    ("seconds", "said"), [(75.0, "1 min"), (59.0, "60 s"), (86400.0, "20 h"), (600.0, "10 min")]
)
def test_times_are_to_one_digit(seconds, said):
    assert larger_sets._planned(np.float64(seconds)) == f"planned at {said}"
