"""The scorecard, tables and packed scores: every number and claim once; a look a method."""

import json
import re
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import boxplot_stats

import artefact_scores as made
from kcde import scores
from kcde.evidence import readings, scorecard, tracked
from kcde.methods import METHODS, Method
from kcde.pages import building, style
from kcde.papers import published, registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.cdo import artefacts

FIGURES = Path(__file__).parents[2] / "figures"
TABLE1 = registry.ARTEFACTS["kcef/table1"]
CELLS = {
    ("geyser", "KCEF"): made.around(1.2, 4),
    ("geyser", "LSCDE"): [0.7123456789, None, 0.65, 0.7],
    ("mcycle", "GP-ML"): made.around(1.0, 4),
}


def test_every_number_and_claim_stands_in_it_once_and_pages_are_short_and_need_nothing_else():
    frame, built = scorecard.read(FIGURES), scorecard.build(FIGURES, "laptop")
    pd.testing.assert_frame_equal(built, frame, check_dtype=False, rtol=1e-5)
    context = scorecard.context(frame, readings.read(FIGURES), "laptop")
    assert len(frame) == len(published.values()) + len(published.claims())
    assert len(context["claims"]) == len(published.claims())
    assert {claim["class"] for claim in context["claims"]} <= set(scorecard.CLASSES)
    assert (frame["kind"] == "copy").sum() == 20
    pages = scorecard.pages_of(context)
    assert len(pages["scorecard.md"].split()) <= 1500
    html = pages["scorecard.html"]
    assert len(html.encode()) < 1_000_000
    assert not re.findall(r'(?:src|href)="https?:', html)
    assert all(f'id="{claim["claim"]}"' in html for claim in context["claims"])


def test_the_report_is_of_one_paper_or_of_all(tmp_path):
    page = scorecard.report(FIGURES, tmp_path / "cdo.html", "laptop", "cdo").read_text()
    assert 'id="cdo-fig4"' in page
    assert 'id="kcef-fig1"' not in page
    with pytest.raises(ValueError, match="kcf"):
        scorecard.report(FIGURES, tmp_path / "no.html", "laptop", "kcf")


def test_a_method_that_failed_on_a_split_is_not_best_and_a_split_given_twice_is_refused():
    cells = {("engel", "KCEF"): [*made.around(0.1, 19), None], ("engel", "LSCDE"): made.around(0.9)}
    table = building.build(TABLE1, made.frame(cells), [])
    assert table["best"].tolist() == [False, True]
    assert table["failed"].tolist() == [1, 0]
    twice = made.frame({("geyser", "KCEF"): [1.0]})
    with pytest.raises(ValueError, match="twice"):
        building.build(TABLE1, twice.loc[[0, 0]], [])
    with pytest.raises(ValueError, match="metric"):
        building.build(TABLE1, twice.assign(metric="kl"), [])


def test_causes_most_specific_wins_and_stale_ones_never_show():
    cause = partial(scorecard.cause_of, "kcef", "table1")
    assert "different bandwidths" in cause("mcycle", "KCEF", "worse")
    assert "exploding" in cause("geyser", "KCEF", "worse")
    assert cause("geyser", "NADE", "worse") == scorecard.UNKNOWN


def test_every_published_method_and_class_has_one_look():
    values = published.values()
    names = set(values.loc[values["metric"] != "p_value", "method"])
    assert {style.line(name)["color"] for name in names} <= set(style.COLOURS.values())
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)
    assert style.line("KCEF-M-anisotropic") == {"color": style.BLUE, "linestyle": "-."}
    assert style.marker("KCEF-M-anisotropic") == "D"
    assert style.line("KCEF-LL-M")["color"] == style.COLOURS["KCEF-LL"] == style.SKY
    assert style.line("EpsilonKDE") == style.line("epsilon-KDE")


def test_new_methods_have_looks_of_their_own(monkeypatch):
    names = [f"Toy{k}" for k in range(10)]
    monkeypatch.setattr(style, "METHODS", METHODS | {name: Method(name) for name in names})
    monkeypatch.setattr(style, "_without_colour", style._without_colour.__wrapped__)
    looks = [style.line(name) for name in names]
    assert len({(look["color"], look["linestyle"]) for look in looks}) == len(looks)
    assert {look["color"] for look in looks} == set(style.RESERVE)
    assert style.line("Toy1-LL") == looks[1] | {"linestyle": style.VARIATIONS["-LL"]}


def test_a_box_is_that_of_matplotlib_with_few_outliers_and_what_is_not_finite_counted():
    values = np.concatenate([np.random.default_rng(0).standard_t(2, size=200), np.arange(10, 110)])
    same = {"panel": "a", "method": "CDO", "variant": "as-published"}
    rows = artefacts.box_rows(np.array([*values, np.nan, np.inf]), same)
    rows, theirs = pd.DataFrame(rows, columns=FIGURE_COLUMNS), boxplot_stats(values)[0]
    mine = rows[rows["stat"] != artefacts.OUTLIER].set_index("stat")["y"]
    for stat, key in artefacts._STATS.items():
        assert mine[stat] == pytest.approx(theirs[key])
    outliers = rows.loc[rows["stat"] == artefacts.OUTLIER, "y"]
    assert len(outliers) == artefacts.KEPT
    assert {theirs["fliers"].min(), 109.0} <= set(outliers) <= set(theirs["fliers"])
    assert (mine[artefacts.FAILED], set(rows["n"])) == (2, {300})
    assert artefacts.failures(rows, "fold")[0].endswith("folds 2 of CDO (a).")
    (lost,) = artefacts.box_rows(np.array([np.nan]), same)
    assert lost["stat"] == artefacts.FAILED


def test_the_table_has_the_same_bytes_in_any_order_and_what_was_written_to_six_digits(tmp_path):
    beside = {"seed": 7, "seconds": 1.23456, "backend": "numpy", "dtype": "float64"}
    info = {"job": {"dataset": "geyser"}, "data_sha256": "of geyser"}
    files = made.files(tmp_path / "laptop/r_benchmark", CELLS, info, **beside)
    table, about = tracked.write(files, tmp_path / "a", "laptop")
    for other in tracked.write(files[::-1], tmp_path / "b", "laptop"):
        assert (tmp_path / "a" / other.name).read_bytes() == other.read_bytes()
    assert table.read_bytes()[4:8] == bytes(4)  # no time of gzip
    key = ["dataset", "method", "split"]
    back, wanted = (scores.read(each).sort_values(key) for each in ([table], files))
    np.testing.assert_allclose(back["value"], wanted["value"], rtol=1e-5)
    for name in ("dataset", "method", "variant", "status", "setting", "split", "seed"):
        assert back[name].tolist() == wanted[name].tolist()
    assert set(back["seconds"]) == {1.2}
    known = json.loads(about.read_text())
    assert (known["scale"], known["files"], known["rows"]) == ("laptop", 3, 12)
    assert known["sha256"] == sha256(table.read_bytes()).hexdigest()
    assert known["data"] == {"geyser": ["of geyser"]}
    assert known["versions"]["numpy"] == [np.__version__]
    said = known["experiments"]["r_benchmark"]
    assert (said["methods"], said["splits"], said["failed"]) == (3, 4, 1)
