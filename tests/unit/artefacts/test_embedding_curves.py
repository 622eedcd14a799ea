"""Curves of jdl's figures against their definition, and how they are drawn."""

import itertools

import embedding_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.papers.jdl import _curve_plots, _paired
from kcde.papers.jdl import _curves as curves
from kcde.papers.jdl._curve_plots import PlotSpec
from kcde.evidence.deciding import Missing

LOST = ("JDL", 2, 1000, 1e-3, True, 3)


def value(method, d, n, tolerance, constrained, split):
    return (split + 1) * d * (1 + tolerance) * (2 if constrained else 1) / n


def memory(method, d, n, tolerance, constrained, split):
    return 100.0 + split


METRICS = {"loss": value, "peak_memory": memory}
SCORES = made.frame(METRICS, failed={LOST})


def placed(arrange=curves.panels, scores=SCORES):
    return curves.placed_by(arrange, scores)


def drawn(*, scores=SCORES, arrange=curves.panels, **how):
    return curves.frame(curves.rows(placed(arrange, scores), "loss", **how))


def pick(frame, **equal):
    return frame[np.logical_and.reduce([frame[name] == value for name, value in equal.items()])]


def test_a_curve_is_mean_and_quantiles_over_repetitions():
    frame = drawn()
    assert list(frame.columns) == FIGURE_COLUMNS
    (row,) = pick(
        frame, panel="d=3 constrained", method="CME", x=10_000, stat="mean", series="as published"
    ).to_dict("records")
    values = [value("CME", 3, 10_000, 1e-3, True, split) for split in range(20)]
    expected = [np.mean(values), np.quantile(values, 0.05), np.quantile(values, 0.95)]
    assert [row[name] for name in ("y", "y_low", "y_high")] == pytest.approx(expected)
    assert row["n"] == 20
    assert row["kind"] == "curve"


def test_panels_come_without_constraints_first_and_by_dimension():
    expected = [f"d={d} {limits}" for limits in ("unconstrained", "constrained") for d in (1, 2, 3)]
    assert list(dict.fromkeys(drawn()["panel"])) == expected


def test_the_schedule_is_the_tolerance_of_the_constrained_fits():
    tidied = curves.tidy(SCORES)
    table = curves.by_repetition(tidied, "loss", "JDL", 1)
    expected = [
        np.mean([value("JDL", 1, n, t, False, s) for s in range(20)])
        for n, t in made.SCHEDULE.items()
    ]
    assert table.mean().to_list() == pytest.approx(expected)
    loose = curves.by_repetition(tidied, "loss", "JDL", 1, tolerance=0.1)
    assert loose[1000].mean() == pytest.approx(10.5 * 1.1 / 1000)


def test_the_other_series_parts_where_the_schedule_loosens():
    frame = pick(drawn(), series="same tolerance", stat="mean")
    assert set(frame["panel"]) == {"d=1 unconstrained"}
    assert set(frame["method"]) == {"JDL", "CME"}
    assert pick(frame, method="JDL")["x"].tolist() == [1e5, 1e6, 1e7]
    last = pick(frame, method="CME", x=1e7)["y"].item()
    assert last == pytest.approx(10.5 * 1.001 / 1e7)


def test_a_series_for_each_tolerance():
    one = SCORES[SCORES["dim"] == 1]
    frame = pick(drawn(scores=one, arrange=curves.by_tolerance), stat="mean", panel="JDL")
    assert list(dict.fromkeys(frame["series"])) == [f"tolerance {t:g}" for t in made.TOLERANCES]
    assert frame.groupby("series")["x"].nunique().unique().tolist() == [5]


def test_a_method_without_constraints_is_on_schedule():
    cells = [("KLR", 5, 1000, 1e-3, False), ("JDL", 5, 1000, 1e-3, False)]
    scores = made.frame(METRICS, cells, experiment="portfolio")
    frame = pick(drawn(scores=scores), stat="mean")
    assert set(frame["panel"]) == {"d=5 unconstrained"}
    assert set(frame["series"]) == {"as published"}


def test_the_largest_and_percent():
    cell = {"panel": "d=1 constrained", "method": "JPDL", "x": 1000}
    (row,) = pick(drawn(stats=("max",), scale=100.0), stat="max", **cell).to_dict("records")
    assert row["y"] == pytest.approx(100 * value("JPDL", 1, 1000, 0.0, True, 19))
    assert row["y_high"] < row["y"]


def test_failed_fits_are_in_no_curve_and_said():
    frame = drawn()
    cell = {"panel": "d=2 constrained", "method": "JDL", "x": 1000}
    assert pick(frame, stat="mean", **cell)["n"].item() == 19
    assert pick(frame, stat="failed", **cell)[["y", "n"]].to_numpy().tolist() == [[1, 20]]
    (said,) = curves.failures(frame)
    assert said.endswith("in no curve: JDL d=2 constrained at n = 1000: 1 of 20.")
    repeated = " ".join(curves.repetitions(frame))
    assert repeated == (
        "Here 20 repetitions. Where fewer: JDL d=2 constrained 19. Fewer than 20 have no "
        "quantiles and no band."
    )
    frame.loc[frame["x"] >= 10_000, "n"] = 5
    frame.loc[frame["x"] < 10_000, "n"] = 20
    assert curves.repetitions(frame)[0] == "Here 20 repetitions, 5 from n = 1e4 on."
    whole = curves.repetitions(drawn(scores=made.frame(METRICS)))
    assert whole == ["Here 20 repetitions."]
    assert curves.failures(drawn(scores=made.frame(METRICS))) == []


@pytest.mark.parametrize("stat", ["mean", "max"])
def test_fewer_than_twenty_numbers_have_no_quantiles(stat, tmp_path):
    frame = drawn(stats=("mean", "max"))
    path = tmp_path / "tracked.csv"
    frame.to_csv(path, index=False)
    shown = pick(pd.read_csv(path), stat=stat, kind="curve")
    few = shown["n"] < 20
    assert shown.loc[few, ["panel", "method", "x"]].to_numpy().tolist() == [
        ["d=2 constrained", "JDL", 1000]
    ]
    assert shown.loc[few, "y"].notna().all()
    assert shown.loc[few, ["y_low", "y_high"]].isna().all(axis=None)
    assert shown.loc[~few, ["y_low", "y_high"]].notna().all(axis=None)


def test_a_cell_without_any_number_has_no_point():
    cells = made.fits(("JDL",), {1: (1000, 10_000)}, ())
    lost = {(*cell, split) for cell in cells[:1] for split in range(20)}
    frame = drawn(scores=made.frame(METRICS, cells, failed=lost))
    free = pick(frame, panel="d=1 unconstrained")
    assert pick(free, stat="mean")["x"].tolist() == [10_000]
    assert pick(free, stat="failed")["y"].tolist() == [20]


def test_seconds_and_memory_stand_beside_each_point():
    frame = drawn()
    cell = {"panel": "d=1 constrained", "method": "CME", "x": 1000}
    assert pick(frame, stat="seconds", **cell)["y"].item() == pytest.approx(0.5)
    assert pick(frame, stat="memory", **cell)["y"].item() == pytest.approx(119.0)


def test_a_total_needs_all_its_parts():
    def second(method, d, n, tolerance, constrained, split):
        return None if split == 4 else 1.0

    cells = made.fits(("JDL",), {1: (1000,)}, ())
    scores = curves.total(made.frame(METRICS | {"more": second}, cells), ("loss", "more"), "both")
    table = curves.by_repetition(curves.tidy(scores), "both", "JDL", 1, True)
    assert np.isnan(table.loc[4, 1000])
    assert table.loc[5, 1000] == pytest.approx(1.0 + value("JDL", 1, 1000, 1e-3, True, 5))
    assert len(scores) == len(made.frame(METRICS | {"more": second}, cells)) + 2 * 19


def table(values, sizes=(1000, 10_000)):
    return pd.DataFrame(np.asarray(values, float), columns=list(sizes))


def test_pairs_are_complete_at_every_size():
    whole, holed = np.ones((20, 2)), np.ones((20, 2))
    holed[3, 1] = np.nan
    found = _paired.complete({"a": table(whole), "b": table(holed)}, (1000,))
    assert [len(found[name]) for name in "ab"] == [19, 19]
    assert 3 not in found["a"].index
    alone = _paired.complete({"b": table(holed)}, (1000,), further=False)
    assert alone["b"].shape == (20, 1)
    holed[4, 0] = np.nan
    with pytest.raises(Missing, match="2 of 20 repetitions incomplete for a, b"):
        _paired.complete({"a": table(whole), "b": table(holed)}, (1000,))
    with pytest.raises(Missing, match="no scores of a at n = 1e\\+06"):
        _paired.complete({"a": table(whole)}, (10**6,))
    with pytest.raises(Missing, match="1 repetitions complete for a; needs 2"):
        _paired.complete({"a": table(whole[:1])}, (1000,))


def test_pooling_gives_every_size_the_same_weight(rng):
    second = np.exp(rng.normal(size=(20, 2))) * [1.0, 1e-6]
    first = second * [1.1, 0.5] * np.exp(0.01 * rng.normal(size=(20, 2)))
    found = _paired.pooled(table(first), table(second))
    assert found.ratio == pytest.approx(np.sqrt(1.1 * 0.5), rel=0.01)
    assert found.lower
    assert [significant for _, significant in found.each.values()] == [True, True]
    turned = _paired.pooled(table(second), table(first))
    assert not turned.lower
    assert turned.p_value == pytest.approx(found.p_value)
    noise = second * np.exp(rng.normal(size=(20, 2)))
    assert not _paired.pooled(table(noise), table(second)).lower


def test_arithmetic_means_and_maxima_are_pooled_as_ratios_over_the_sizes():
    second = np.linspace(1.0, 2.0, 20)[:, None] * [1.0, 1e-6]
    first = second * [1.1, 0.5]
    assert _paired.pooled(table(first), table(second), _paired.ARITHMETIC).lower
    first[-1, 1] = 4.0 * second[-1, 1]  # of the largest, at the smaller values alone
    mean = _paired.pooled(table(first), table(second), _paired.ARITHMETIC)
    late = first[:, 1].mean() / second[:, 1].mean()
    assert mean.ratio == pytest.approx(np.sqrt(1.1 * late))
    most = _paired.pooled(table(first), table(second), _paired.MAXIMUM)
    assert most.ratio == pytest.approx(np.sqrt(1.1 * 4.0))
    assert not most.lower
    assert f"{most}" == "2.1 (1.1 at 1e3, 4 at 1e4; 20 matrices)"
    assert _paired.pooled(table(second), table(first), _paired.MAXIMUM).lower


def test_every_size_may_count_on_the_repetitions_that_reach_it():
    whole = table(np.ones((20, 2)))
    whole.attrs["tried"] = {1000: frozenset(range(20)), 10_000: frozenset(range(5))}
    assert _paired.complete({"a": whole}, (1000,))["a"].shape == (20, 1)
    assert _paired.complete({"a": whole}, (1000,), every=True)["a"].shape == (5, 2)


def draw_and_measure(frame, spec, tmp_path, monkeypatch):
    """Draw, and return the axes' y limits, their texts' boxes, and line colours, panel by panel."""
    seen = []

    def save(made_figure, stem):
        made_figure.canvas.draw()
        for axes in made_figure.axes:
            boxes = [text.get_window_extent() for text in axes.texts]
            seen.append((axes.get_ylim(), boxes, axes.get_lines()))
        return [stem]

    monkeypatch.setattr(_curve_plots.style, "save", save)
    _curve_plots.drawer(spec)(None, frame, tmp_path / "f")
    return seen


def test_every_panel_has_its_lines_and_names_that_do_not_collide(tmp_path, monkeypatch):
    seen = draw_and_measure(drawn(), PlotSpec("loss"), tmp_path, monkeypatch)
    assert len(seen) == 6
    for limits, boxes, _ in seen:
        assert limits == seen[0][0]
        assert len(boxes) == 3
        heights = sorted((box.y0, box.y1) for box in boxes)
        for (_, top), (bottom, _) in itertools.pairwise(heights):
            assert bottom > top - 3


@pytest.mark.parametrize(("repetitions", "bands"), [(19, [0] * 6), (20, [3] * 6)])
def test_bands_are_drawn_for_twenty_repetitions_only(repetitions, bands, tmp_path, monkeypatch):
    frame = drawn(scores=made.frame({"loss": value}, repetitions=repetitions))
    found = []

    def save(made_figure, stem):
        made_figure.canvas.draw()
        found.extend(len(axes.collections) for axes in made_figure.axes)
        assert all(np.isfinite(axes.get_ylim()).all() for axes in made_figure.axes)
        return [stem]

    monkeypatch.setattr(_curve_plots.style, "save", save)
    _curve_plots.drawer(PlotSpec("loss"))(None, frame, tmp_path / "f")
    assert found == bands


def test_a_band_has_a_gap_where_a_fit_failed(tmp_path, monkeypatch):
    lost = ("JDL", 1, 10**5, 1e-3, True, 3)
    frame = drawn(scores=made.frame({"loss": value}, failed={lost}))
    found = {}

    def save(made_figure, stem):
        for band in made_figure.axes[3].collections:
            ends = [sorted(set(path.vertices[:, 0])) for path in band.get_paths()]
            found[tuple(band.get_facecolor()[0][:3])] = ends
        return [stem]

    monkeypatch.setattr(_curve_plots.style, "save", save)
    _curve_plots.drawer(PlotSpec("loss"))(None, frame, tmp_path / "f")
    whole = sorted(made.SCHEDULE)
    assert sorted(found.values(), key=len) == [[whole], [whole], [whole[:2], whole[3:]]]


def test_zeros_are_on_the_axis(tmp_path, monkeypatch):
    def zero(method, d, n, tolerance, constrained, split):
        return 0.0 if method == "JDL" else 0.5

    frame = drawn(scores=made.frame({"loss": zero}))
    for (low, high), _, lines in draw_and_measure(
        frame, PlotSpec("share", linear_below=0.01), tmp_path, monkeypatch
    ):
        assert low < 0.0 < 0.5 < high
        # Those of the data, not those from a curve's end to its name.
        assert 0.0 in {y for line in lines for y in line.get_ydata()}


def test_one_size_and_only_zeros_can_be_drawn(tmp_path):
    cells = made.fits(("JDL", "JPDL"), {1: (200,)}, ())
    scores = made.frame({"loss": lambda *cell: 0.0}, cells, repetitions=2)
    spec = PlotSpec("share", linear_below=0.01)
    assert _curve_plots.drawer(spec)(None, drawn(scores=scores), tmp_path / "zero")
    scores = made.frame({"loss": lambda *cell: 0.5}, cells, repetitions=2)
    plain = _curve_plots.drawer(PlotSpec("loss"))
    written = plain(None, drawn(scores=scores), tmp_path / "plain")
    assert [path.suffix for path in written] == [".png", ".pdf"]
