"""Pictures: a look a method that any reader can tell, labels apart, boxes, and the same bytes."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import boxplot_stats
from matplotlib.layout_engine import ConstrainedLayoutEngine
from scipy import optimize

from kcde.methods import METHODS, Method
from kcde.pages import style
from kcde.pages.words import round_to_half_decade
from kcde.papers import published, registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.cdo import boxes
from kcde.papers.kcef import labels

# Machado, Oliveira and Fernandes (2009), full deficiency, in linear RGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
TOGETHER = [
    ["KCEF", "KCEF-LL", "LSCDE", "NADE", "KEF"],
    ["DDE", "KCEF", "KCEF-LL", "epsilon-KDE", "LSCDE", "KEF"],
    ["CDO", "GP", "CondRealNVP", "CondMAF", "LSCDE"],
    ["JDL", "JPDL", "CME", "KLR"],
]


def lab(colour, deficiency):
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ linear / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colours_can_be_told_apart(deficiency):
    pairs = [
        (style.COLOURS[a], style.COLOURS[b])
        for m in TOGETHER
        for a, b in itertools.combinations(m, 2)
    ]
    every = {*style.RESERVE, *style.COLOURS.values(), "#FFFFFF"}
    pairs += [(one, other) for one in style.RESERVE for other in every - {one}]
    for one, other in pairs:
        assert np.linalg.norm(lab(one, deficiency) - lab(other, deficiency)) > 14, (one, other)


def test_every_published_method_and_class_has_one_look():
    values = published.values()
    names = set(values.loc[values["metric"] != "p_value", "method"])
    for name in [*names, *registry.ARTEFACTS["dde/table2"].methods, *TOGETHER[-1]]:
        assert style.line(name)["color"] in style.COLOURS.values()
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)
    kcef = style.COLOURS["KCEF"]
    for name, dashes, mark in (("F", "-", "o"), ("M", "--", "s"), ("M-anisotropic", "-.", "D")):
        assert style.line(f"KCEF-{name}") == {"color": kcef, "linestyle": dashes}
        assert style.marker(f"KCEF-{name}") == mark
    assert style.line("KCEF-LL-M")["color"] == style.COLOURS["KCEF-LL"] != kcef
    assert style.line("EpsilonKDE") == style.line("epsilon-KDE")
    assert style.line("SmoothedJDL") == style.line("JDL-smoothed")
    assert style._without_colour() == []


@pytest.fixture
def new_methods(monkeypatch):
    """Ten methods that nobody has given a look."""
    names = [f"Toy{k}" for k in range(10)]
    more = {name: Method(name) for name in [*names, "Toy1-LL"]}
    monkeypatch.setattr(style, "METHODS", METHODS | more)
    style._without_colour.cache_clear()
    yield names
    style._without_colour.cache_clear()


def test_new_methods_have_looks_of_their_own(new_methods):
    looks = [style.line(name) for name in new_methods]
    assert len({(look["color"], look["linestyle"]) for look in looks}) == len(looks)
    assert {look["color"] for look in looks} == set(style.RESERVE)
    wanted = {"color": looks[1]["color"], "linestyle": style.VARIATIONS["-LL"]}
    assert style.line("Toy1-LL") == wanted
    assert all(style.marker(name) for name in [*new_methods, "mine", "KCEF-wide"])


def test_the_last_digit_of_the_solver_of_the_layout_moves_nothing(tmp_path, monkeypatch):
    solved = ConstrainedLayoutEngine.execute

    def drawn(name, error):
        def execute(engine, figure):
            found = solved(engine, figure)
            for axes in figure.axes:
                place = axes.get_position(original=True)
                axes.set_position(place.translated(error, error), which="original")
                axes.set_in_layout(True)
            return found

        monkeypatch.setattr(ConstrainedLayoutEngine, "execute", execute)
        with style.figure(style.COLUMN, 2.0, columns=2) as (made, panels):
            panels[0].plot([1.0, 2.0], [3.0, 1.0])
            style.save(made, tmp_path / name)
        return (tmp_path / f"{name}.pdf").read_bytes()

    assert drawn("exact", 0.0) == drawn("near", 1e-10) != drawn("far", 1e-3)


def test_touching_labels_are_moved_least_and_stay_on_the_axis():
    assert labels.apart([0.1, 0.9, 0.5], 0.2).tolist() == pytest.approx([0.1, 0.9, 0.5])
    wanted = np.array([0.5, 0.52, 0.1, 0.51])
    found, order = labels.apart(wanted, 0.1), np.argsort(wanted)
    assert np.diff(found[order]).min() == pytest.approx(0.1)
    gaps = {"type": "ineq", "fun": lambda places: np.diff(places[order]) - 0.1}
    best = optimize.minimize(lambda places: ((places - wanted) ** 2).sum(), found, constraints=gaps)
    assert ((found - wanted) ** 2).sum() == pytest.approx(best.fun, abs=1e-6)
    found = labels.apart([0.0, 0.97, 1.0, 0.98], 0.1)
    assert np.sort(found).tolist() == pytest.approx([0.0, 0.8, 0.9, 1.0])
    assert labels.apart([0.5] * 3, 1.0).tolist() == [0.0, 1.0, 2.0]  # no room: apart all the same


def rows_of(values):
    same = {"panel": "a", "method": "CDO", "variant": "as-published"}
    return pd.DataFrame(boxes.box_rows(np.array(values), same), columns=FIGURE_COLUMNS)


def test_a_box_is_that_of_matplotlib_with_few_outliers_and_what_is_not_finite_counted():
    values = np.concatenate([np.random.default_rng(0).standard_t(2, size=200), np.arange(10, 110)])
    rows, theirs = rows_of([*values, np.nan, np.inf]), boxplot_stats(values)[0]
    mine = rows[rows["stat"] != boxes.OUTLIER].set_index("stat")["y"]
    for stat, key in boxes._STATS.items():
        assert mine[stat] == pytest.approx(theirs[key])
    outliers = rows.loc[rows["stat"] == boxes.OUTLIER, "y"]
    assert len(outliers) == boxes.KEPT
    assert {theirs["fliers"].min(), 109.0} <= set(outliers) <= set(theirs["fliers"])
    assert (mine[boxes.FAILED], set(rows["n"])) == (2, {300})
    assert boxes.failures(rows, "fold")[0].endswith("folds 2 of CDO (a).")
    assert rows_of([np.nan])["stat"].tolist() == [boxes.FAILED]


def test_seconds_are_rounded_to_the_nearest_half_decade():
    marks = [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]
    # √10 stands for 3, so that all steps are alike.
    exact = [10 ** (k / 2) for k in range(-4, 7)]
    for value in np.geomspace(0.012, 900, 200):
        nearest = min(range(11), key=lambda k: abs(math.log(value / exact[k])))
        assert round_to_half_decade(value) == marks[nearest]
    assert all(math.isnan(round_to_half_decade(value)) for value in (math.nan, 0.0, -1.0, math.inf))
