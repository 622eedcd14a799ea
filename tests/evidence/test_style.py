"""Figures: a colour a method that any reader can tell, short captions, and the same bytes."""

import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.layout_engine import ConstrainedLayoutEngine

from kcde.experiments import failure_case
from kcde.experiments.runner import run
from kcde.methods import METHODS, Method
from kcde.pages import style
from kcde.papers import drawing, published, registry

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
TOGETHER = {
    "kcef": ["KCEF", "KCEF-LL", "LSCDE", "NADE", "KEF"],
    "dde": ["DDE", "KCEF", "KCEF-LL", "epsilon-KDE", "LSCDE", "KEF"],
    "cdo": ["CDO", "GP", "CondRealNVP", "CondMAF", "LSCDE"],
    "jdl": ["JDL", "JPDL", "CME", "KLR"],
}
WITH_RULES = ("r_benchmark", "joint", "samples", "planar", "moments", "donut", "terrain", "traffic")


def lab(colour, deficiency):
    rgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(DEFICIENCIES[deficiency]) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(np.array(to_xyz) @ linear / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("paper", TOGETHER)
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_methods_of_a_figure_can_be_told_apart(paper, deficiency):
    for one, other in itertools.combinations(TOGETHER[paper], 2):
        distance = np.linalg.norm(
            lab(style.COLOURS[one], deficiency) - lab(style.COLOURS[other], deficiency)
        )
        assert distance > 14, (one, other, distance)


def test_every_published_method_has_one_colour():
    values = published.values()
    names = set(values.loc[values["metric"] != "p_value", "method"])
    for name in [*names, *registry.ARTEFACTS["dde/table2"].methods, "JDL", "JPDL", "CME", "KLR"]:
        assert style.line(name)["color"] in style.COLOURS.values()
    assert len(set(style.COLOURS.values())) == len(style.COLOURS)
    assert style.line("KCEF-F") == style.line("KCEF")
    assert style.line("KCEF-M") == {"color": style.COLOURS["KCEF"], "linestyle": "--"}
    assert style.line("KCEF-F-isotropic") == {"color": style.COLOURS["KCEF"], "linestyle": ":"}
    assert style.line("KCEF-LL-M")["color"] == style.COLOURS["KCEF-LL"]
    assert [style.marker(name) for name in ("KCEF-F", "KCEF-M", "NADE")] == ["o", "s", "o"]


def test_a_class_looks_like_the_method_that_it_is():
    assert style.line("EpsilonKDE") == style.line("epsilon-KDE")
    assert style.line("SmoothedJDL") == style.line("JDL-smoothed")
    assert style._without_colour() == []


@pytest.fixture
def new_methods(monkeypatch):
    """Ten methods that nobody has given a look."""
    names = [f"Toy{k}" for k in range(10)]
    monkeypatch.setattr(
        style, "METHODS", METHODS | {name: Method(name) for name in [*names, "Toy1-LL"]}
    )
    style._without_colour.cache_clear()
    yield names
    style._without_colour.cache_clear()


def test_new_methods_have_looks_of_their_own(new_methods):
    looks = [style.line(name) for name in new_methods]
    assert [style.line(name) for name in new_methods] == looks
    assert len({(look["color"], look["linestyle"]) for look in looks}) == len(looks)
    assert len({look["color"] for look in looks}) == len(style.RESERVE)
    assert {look["color"] for look in looks} == set(style.RESERVE)
    varied = style.line("Toy1-LL")
    assert varied["color"] == looks[1]["color"]
    assert varied["linestyle"] == style.VARIATIONS["-LL"]
    assert all(style.marker(name) for name in new_methods)


def test_a_method_of_a_configuration_alone_has_a_look():
    assert style.line("mine")["color"] in style.RESERVE
    assert style.line("KCEF-wide")["color"] in style.RESERVE


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_reserve_colours_can_be_told_from_all(deficiency):
    for colour in style.RESERVE:
        for other in {*style.RESERVE, *style.COLOURS.values(), "#FFFFFF"} - {colour}:
            assert np.linalg.norm(lab(colour, deficiency) - lab(other, deficiency)) > 14


def test_variations_of_a_method_in_a_figure_differ_in_line_and_marker():
    families = (
        ["CDO", "CDO-clipped", "CDO-projected", "CDO-narrow", "CDO-chosen", "CDO-LL"],
        ["LSCDE-exact", "LSCDE-signed", "LSCDE-constrained", "LSCDE-projected"],
        ["LSCDE", *(f"LSCDE-package-{name}" for name in ("signed", "constrained", "projected"))],
        ["LSCDE", "LSCDE-package-second", "LSCDE-package-traffic"],
        ["CDO", "CDO-quarter", "CDO-chosen"],
        ["CDO", "CDO-corrected", "CDO-narrow"],
        ["GP", "GP-ML"],
        ["KEF", "KEF-pair", "KEF-grouped"],
    )
    for family in families:
        assert {style.line(name)["color"] for name in family} == {style.COLOURS[family[0]]}
        for look in (style.marker, lambda name: style.line(name)["linestyle"]):
            assert len({look(name) for name in family}) == len(family)
    assert style.line("KCEF-LL")["color"] != style.COLOURS["KCEF"]  # a method of its own


@pytest.mark.nightly
def test_same_csv_same_bytes_in_another_process(tmp_path):
    run(failure_case.FailureCase(), tmp_path / "f.csv")
    drawing.make(registry.ARTEFACTS["kcef/fig3"], [tmp_path / "f.csv"], tmp_path)
    stem = tmp_path / "kcef" / "fig3"
    before = digests(stem)
    for suffix in (".png", ".pdf"):
        stem.with_suffix(suffix).unlink()
    command = [sys.executable, "-m", "kcde", "draw", "kcef/fig3", "--into", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    assert digests(stem) == before
    png = stem.with_suffix(".png").read_bytes()
    assert b"Software" not in png
    assert b"CreationDate" not in stem.with_suffix(".pdf").read_bytes()


def digests(stem):
    return [
        hashlib.sha256(stem.with_suffix(suffix).read_bytes()).hexdigest()
        for suffix in (".csv", ".png", ".pdf")
    ]


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
            for axes in panels:
                axes.plot([1.0, 2.0], [3.0, 1.0])
            style.save(made, tmp_path / name)
            places = [axes.get_position(original=True).bounds for axes in panels]
        return (tmp_path / f"{name}.pdf").read_bytes(), places

    exact, places = drawn("exact", 0.0)
    assert drawn("near", 1e-10)[0] == exact
    far, moved = drawn("far", 1e-3)
    assert far != exact
    np.testing.assert_allclose(np.subtract(moved, places)[:, :2], 1e-3, atol=1e-6)
