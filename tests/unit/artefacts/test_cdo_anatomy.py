"""cdo anatomy: CDO over its closed forms, and the donut's errors beside those of nothing."""

import cdo_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde import scores
from kcde.papers.cdo import anatomy
from kcde.papers import drawing, registry

ANATOMY = registry.ARTEFACTS["cdo/anatomy"]
CLOSED = "Nadaraya-Watson-CDO"


@pytest.fixture(scope="module")
def predictions():
    rng = np.random.default_rng(0)
    closed = rng.uniform(1000, 2500, (2, 900))
    return {CLOSED: closed, "CDO": closed * (1.0 + 0.01 * np.sign(rng.standard_normal((2, 900))))}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory, predictions):
    folder = tmp_path_factory.mktemp("anatomy")
    paths = made.donut_files(folder / "s", {"CDO": made.DONUT["CDO"]})
    for method, found in predictions.items():
        path = folder / "s" / "terrain" / "rough-terrain" / f"{method}.csv"
        rows = made.terrain(method, made.TERRAIN[method])
        scores.write(path, rows, {}, {"prediction_folds": found})
        paths.append(path)
    traffic = {name: made.TRAFFIC[name] for name in ("CDO", CLOSED)}
    paths += made.traffic_files(folder / "s", traffic)[:-1]
    drawing.make(ANATOMY, paths, folder)
    return folder


def read(drawn):
    return pd.read_csv(drawn / "cdo" / "anatomy.csv")


def test_scatters_are_of_the_first_fold_and_split(drawn, predictions):
    frame = read(drawn)
    shown = frame[(frame["panel"] == "terrain") & (frame["stat"] == anatomy.SHOWN)]
    assert 300 < len(shown) <= 400
    first = {f"{x:.6g}" for x in predictions[CLOSED][0]}
    assert {f"{x:.6g}" for x in shown["x"]} <= first
    agreement = frame[frame["stat"] == anatomy.AGREEMENT].set_index("panel")
    assert agreement.loc["terrain", "y"] == pytest.approx(0.01)
    assert agreement.loc["terrain", "n"] == 900
    assert agreement.loc["traffic sd", "n"] == 168
    for name, panel in (("mean", "traffic mean"), ("std", "traffic sd")):
        both = [
            made.arrays(made.TRAFFIC[m], seed=k)[name][0] for k, m in enumerate(("CDO", CLOSED))
        ]
        expected = np.median(np.abs(both[0] / both[1] - 1.0))
        assert agreement.loc[panel, "y"] == pytest.approx(expected, rel=1e-5)


def test_the_donut_has_errors_against_both_densities(drawn):
    donut = read(drawn).query("panel == 'donut'").set_index(["series", "method", "stat"])["y"]
    assert donut["x = 1, joint", "CDO", "error"] == pytest.approx(0.040, rel=0.02)
    assert donut["x = 0, conditional", "CDO", "error"] == pytest.approx(0.072, rel=0.02)
    assert donut["x = 1, joint", "predicting zero", "error"] == pytest.approx(0.0387, rel=0.02)
    assert donut["x = 1, joint", "CDO", "read_off"] == 0.040
    assert ("x = 1, conditional", "CDO", "read_off") not in donut.index


def test_the_page_has_a_formula_a_panel(drawn):
    page = (drawn / "cdo" / "anatomy.md").read_text()
    for formula in anatomy.FORMULAS.values():
        assert formula in page
    assert "|CDO/formula − 1| is 0.01 (900 points)" in page
    assert "Nadaraya–Watson, as CDO 0.04" in page
