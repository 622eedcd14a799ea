"""Pictures: a look a method, artefacts."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import boxplot_stats

from kcde.methods import METHODS, Method
from kcde.pages import style
from kcde.papers import published
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.cdo import artefacts


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
    assert [row["stat"] for row in artefacts.box_rows(np.array([np.nan]), same)] == [
        artefacts.FAILED
    ]
