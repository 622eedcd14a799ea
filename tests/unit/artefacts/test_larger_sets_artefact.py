"""The figure of the larger sets: means, failed splits, what was not fitted, and its page."""

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde.artefacts.across import larger_sets
from kcde.artefacts.core import drawing, registry
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
    record = drawing.make(ARTEFACT, [path], tmp_path / "figures")
    assert record["status"] == drawing.REGENERATED
    page = (tmp_path / "figures/larger_sets.md").read_text()
    assert "| NADE | 7.40 | 0.400 | 45% | – | 3 |" in page
    assert "| KCEF | – | – | – | – | not fitted: about 2 h |" in page
    assert (tmp_path / "figures/larger_sets.png").exists()


def test_the_caption_has_at_most_80_words():
    assert len(ARTEFACT.caption.split()) <= 80


@pytest.mark.parametrize(
    ("seconds", "said"), [(75.0, "1 min"), (59.0, "60 s"), (86400.0, "20 h"), (600.0, "10 min")]
)
def test_times_are_to_one_digit(seconds, said):
    assert larger_sets._about(np.float64(seconds)) == f"about {said}"
