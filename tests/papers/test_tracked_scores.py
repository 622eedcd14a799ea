"""The tracked scores of all splits make the tracked tables, curves and verdicts again."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.api.types import is_numeric_dtype

from kcde import scores
from kcde.evidence import readings
from kcde.papers import drawing
from kcde.papers.registry import ARTEFACTS

FIGURES = Path(__file__).parents[2] / "figures"
PACKED = FIGURES / "scores.csv.gz"
KEYS = {
    "across": "all_methods",
    "kcef": "fig1 fig5 consistency table1 table2 table3",
    "dde": "table1 table2 table2-likelihood optimum cost",
    "jdl": "fig1 fig2 fig3 fig4 fig5 fig6 fig7 fig8 fig9 structure",
    "cdo": "fig4 fig4_corrected clipping table3",
}
QUICK = ["across/all_methods", "kcef/fig1", "kcef/table1", "jdl/fig1", "cdo/table3"]
QUICK += ["dde/table1", "dde/table2", "dde/table2-likelihood", "dde/optimum"]
MADE = [
    key if key in QUICK else pytest.param(key, marks=pytest.mark.nightly)
    for key in (f"{paper}/{each}" for paper, own in KEYS.items() for each in own.split())
]
WHOLE = cache(lambda: scores.read([PACKED]))


def in_order(frame):
    """Return rows in an order of their own, without seconds."""
    frame = frame.drop(columns="seconds", errors="ignore").dropna(axis=1, how="all")
    words = [c for c in frame if not is_numeric_dtype(frame[c]) and c not in ("best", "verdict")]
    order = words + [c for c in ("x", "n") if c in frame]
    text = frame.assign(**{c: frame[c].fillna("") for c in words})
    return text.sort_values(order, kind="stable", ignore_index=True)


@pytest.mark.parametrize("key", MADE)
def test_an_artefact_is_made_again(key, tmp_path):
    artefact = ARTEFACTS[key]
    own = artefact.measure(drawing.shown(artefact, WHOLE(), PACKED), [PACKED])
    artefact.build(artefact, own, [PACKED]).to_csv(tmp_path / "made.csv", index=False)
    paths = tmp_path / "made.csv", FIGURES / f"{key}.csv"
    made, tracked = map(pd.read_csv, paths)
    if "dataset" in made:
        assert made["dataset"].unique().tolist() == tracked["dataset"].unique().tolist()
    made, tracked = in_order(made), in_order(tracked)
    assert list(made) == list(tracked)
    for name in made:
        if is_numeric_dtype(made[name]):
            np.testing.assert_allclose(made[name], tracked[name], rtol=5e-3, atol=1e-4)
        else:
            assert made[name].fillna("").tolist() == tracked[name].fillna("").tolist()
    judged = readings.judge(artefact, own, "laptop")
    judged = judged[judged["verdict"] != "not-run"]
    known = readings.read(FIGURES).query("artefact == @key and scale == 'laptop'")
    key = ["claim", "choice", "reading"]
    found, wanted = (each.set_index(key)["verdict"] for each in (judged, known))
    assert found.to_dict() == wanted[found.index].to_dict()
