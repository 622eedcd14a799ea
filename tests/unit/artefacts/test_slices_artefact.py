"""kcef figures 2 and 4: the right points of the right columns, and claim K14 both ways."""

import joint_scores as made
import numpy as np
import pytest

from kcde import scores
from kcde.papers import drawing, registry
from kcde.papers.kcef import fig4, fig4_pair
from kcde.pages import scatter_panel

FIG2, FIG4 = registry.ARTEFACTS["kcef/fig2"], registry.ARTEFACTS["kcef/fig4"]
METHODS = {"KEF": 1.6, "KCEF-F": 1.05, "NADE": 1.2}
SPREADS = {(data, name): s for data in ("red-wine", "parkinsons") for name, s in METHODS.items()}


@pytest.fixture
def paths(tmp_path):
    return made.samples(tmp_path / "scores", SPREADS)


def test_points_are_those_of_the_shown_columns(paths):
    frame = FIG4.build(FIG4, scores.read(paths), paths)
    points = frame[frame["stat"].isna()]
    counts = points.groupby(["panel", "method"], sort=False).size()
    assert (counts == 1000).all()
    assert list(counts["red-wine"].index) == ["data", "KEF", "KCEF-F", "NADE"]
    with np.load(paths[1].with_suffix(".npz")) as arrays:  # red wine, KCEF-F
        everything, reference = arrays["samples"][0][:, 2:], arrays["reference"][0][:, 2:]
    ours = points[(points["panel"] == "red-wine") & (points["method"] == "KCEF-F")]
    rows = {tuple(row) for row in everything}
    assert all(tuple(row) in rows for row in ours[["x", "y"]].to_numpy())
    data = points[(points["panel"] == "red-wine") & (points["method"] == "data")]
    np.testing.assert_array_equal(data[["x", "y"]], reference)
    label = frame[frame["stat"] == "y_label"]["series"].iloc[0]
    assert label == "total sulfur dioxide, $x_{4}$"


def test_diagnostics_are_the_worst_over_the_seeds_and_in_the_caption(paths):
    frame = FIG4.build(FIG4, scores.read(paths), paths)
    stats = frame[frame["stat"].notna()].set_index(["panel", "method", "stat"])["y"]
    assert stats["red-wine", "KCEF-F", "r_hat"] == pytest.approx(1.03)
    assert stats["red-wine", "KCEF-F", "effective_sample_size"] == pytest.approx(400.0)
    assert stats["red-wine", "KCEF-F", "divergences"] == pytest.approx(6.03)
    said = FIG4.remarks(frame)
    assert len(said) == 4  # NADE has no chains
    assert "Chains of KEF on red-wine" in said[0]
    assert "6 divergences" in said[0]


@pytest.mark.nightly
@pytest.mark.parametrize("artefact", [FIG2, FIG4])
def test_figures_are_drawn_from_the_csv(artefact, paths, tmp_path):
    mine = [path for path in paths if path.stem in artefact.methods]
    drawing.make(artefact, mine, tmp_path)
    stem = tmp_path / "kcef" / artefact.name
    first = stem.with_suffix(".png").read_bytes()
    drawing.redraw(artefact, tmp_path)
    assert stem.with_suffix(".png").read_bytes() == first
    assert "largest R-hat 1.030" in stem.with_suffix(".md").read_text()


def test_samples_outside_the_frame_are_counted(paths):
    frame = FIG4.build(FIG4, scores.read(paths), paths)
    points = frame[(frame["stat"].isna()) & (frame["panel"] == "red-wine")]
    data, kef = points[points["method"] == "data"], points[points["method"] == "KEF"]
    limits = [scatter_panel.limits(data[name], 0.06) for name in "xy"]
    assert scatter_panel.outside(data, limits) == 0
    beyond = (kef["x"] > limits[0][1]) | (kef["y"] > limits[1][1])
    assert scatter_panel.outside(kef, limits) == beyond.sum() > 0


def test_a_failed_seed_gives_way_to_the_next(paths):
    path = paths[1]
    with np.load(path.with_suffix(".npz")) as arrays:
        samples, reference = arrays["samples"].copy(), arrays["reference"]
    samples[0] = np.nan
    np.savez(path.with_suffix(".npz"), samples=samples, reference=reference)
    frame = FIG2.build(FIG2, scores.read([path]), [path])
    points = frame[frame["stat"].isna() & (frame["method"] == "KCEF-F")]
    assert len(points) == 1000
    assert points["x"].iloc[0] == samples[1, 0, 2]
    np.savez(path.with_suffix(".npz"), samples=samples * np.nan, reference=reference)
    frame = FIG2.build(FIG2, scores.read([path]), [path])
    assert not (frame["stat"].isna() & (frame["method"] == "KCEF-F")).any()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "holds"),
        ({("parkinsons", "KCEF-F"): (0.1, 0.26, 0.1)}, "fails"),
        ({("red-wine", "KEF"): (0.05, 0.6, 0.6)}, "fails"),  # KEF's is smaller
        ({("red-wine", "KCEF-F"): (0.1, 0.1, None)}, "fails"),  # a bin without samples
    ],
)
def test_k14_needs_small_errors_smaller_than_kefs(changes, expected, tmp_path):
    errors = {key: (0.1,) * 3 if key[1] == "KCEF-F" else (0.6,) * 3 for key in SPREADS}
    paths = made.samples(tmp_path, SPREADS, errors=errors | changes)
    decision = fig4.decide(scores.read(paths))
    assert decision.verdict == expected
    assert "standard deviation" in decision.reason


@pytest.mark.parametrize(
    ("r_hats", "changes", "expected"),
    [
        ({}, {}, "holds"),
        ({"KCEF-F": 1.8}, {}, "holds"),
        ({"KCEF-F": 1.8}, {"KCEF-F-inverse": (0.3,) * 3}, "fails"),
        ({"KCEF-F": 1.02}, {"KCEF-F-inverse": (0.3,) * 3}, "holds"),
        ({"KCEF-F": 1.8}, {"KCEF-F-inverse": None}, "undecided"),
        ({"KEF": 7.9}, {}, "undecided"),
        ({"KEF": 7.9}, {"KCEF-F": (0.3,) * 3}, "fails"),
    ],
)
def test_k14_as_amended_rests_on_chains_that_have_converged(r_hats, changes, expected, tmp_path):
    small = ("KCEF-F", "KCEF-F-inverse")
    methods = dict.fromkeys((*METHODS, "KCEF-F-inverse"), (0.6,) * 3) | dict.fromkeys(
        small, (0.1,) * 3
    )
    methods = {name: each for name, each in (methods | changes).items() if each}
    datasets = ("red-wine", "parkinsons")
    errors = {(data, name): each for data in datasets for name, each in methods.items()}
    hats = {("red-wine", name): value for name, value in r_hats.items()}
    paths = made.samples(tmp_path, dict.fromkeys(errors, 1.0), errors=errors, r_hats=hats)
    decision = fig4.decide(scores.read(paths))
    assert decision.amended.verdict == expected
    assert decision.amended.parts["parkinsons"] == decision.parts["parkinsons"]
    for name in r_hats:
        assert (f"{name}: R-hat" in decision.amended.reason) == (r_hats[name] > 1.05)


def test_panels_of_chains_that_have_not_converged_are_named(tmp_path):
    paths = made.samples(tmp_path, SPREADS, r_hats={("red-wine", "KEF"): 7.9})
    said = FIG4.remarks(FIG4.build(FIG4, scores.read(paths), paths))
    assert "KEF on red-wine (R-hat 7.92)" in said[-1]
    assert "parkinsons" not in said[-1]


def test_k14_is_undecided_without_kef(paths):
    table = scores.read(paths)
    assert fig4.decide(table[table["method"] != "KEF"]).verdict == "undecided"


PAIR = registry.ARTEFACTS["kcef/fig4-pair"]
BOTH = [*fig4_pair.METHODS, *fig4_pair.METHODS.values()]


def both(folder, better, r_hats=None):
    """Samples of all methods of the reading; KCEF's errors are small where `better` has it."""
    errors = {
        (dataset, name): ((0.1 if name in better else 0.6),) * 3
        for dataset in ("red-wine", "parkinsons")
        for name in dict.fromkeys(BOTH)
    }
    return made.samples(folder, dict.fromkeys(errors, 1.0), errors=errors, r_hats=r_hats)


@pytest.mark.parametrize(
    ("better", "expected"),
    [
        (("KCEF-F-pair", "KCEF-F-pair-inverse"), {"all columns": "fails"}),
        (("KCEF-F", "KCEF-F-inverse"), {"the shown pair alone": "fails"}),
    ],
)
def test_k14_is_decided_with_models_of_all_columns_and_of_the_pair(better, expected, tmp_path):
    table = scores.read(both(tmp_path, better))
    found = fig4_pair.read(table)["K14"]
    verdicts = dict.fromkeys((fig4_pair.ALL, fig4_pair.PAIR), "holds") | expected
    assert {reading: each.verdict for reading, each in found.items()} == verdicts
    own = table[~table["method"].isin(list(fig4_pair.METHODS))]
    assert found[fig4_pair.ALL] == fig4.decide(own)
    # As amended, exact draws of the pair stand for its chains where these have not converged.
    hats = {("red-wine", name): 1.8 for name in ("KCEF-F-pair", "KEF-pair")}
    found = fig4_pair.read(scores.read(both(tmp_path / "r", better, hats)))["K14"]
    amended = found[fig4_pair.PAIR].amended
    assert amended.verdict == verdicts[fig4_pair.PAIR]
    assert "KCEF-F: R-hat 1.82" in amended.reason
    assert "KCEF-F-inverse: standard deviation" in amended.reason
    assert "R-hat" not in found[fig4_pair.ALL].amended.reason


def test_figure_4_of_the_pair_shows_its_models_alone_at_the_places_of_the_columns(tmp_path):
    paths = both(tmp_path, ("KCEF-F-pair",))
    for path in paths:
        info = path.with_suffix(".json")
        info.write_text(info.read_text().replace('"shown_pair"', '"places": [6, 7], "shown_pair"'))
    frame = PAIR.build(PAIR, scores.read(paths), paths)
    assert list(dict.fromkeys(frame["method"])) == ["data", *fig4_pair.METHODS]
    label = frame[frame["stat"] == "x_label"]["series"].iloc[0]
    assert label == "free sulfur dioxide, $x_{6}$"
    assert all(path.exists() for path in PAIR.draw(PAIR, frame, tmp_path / "fig4-pair"))


def test_data_are_drawn_once_and_axes_are_labelled_where_no_panel_stands_below(
    tmp_path, monkeypatch
):
    paths = both(tmp_path, ("KCEF-F-pair",), {("red-wine", "KCEF-F-pair"): 1.8})
    frame = PAIR.build(PAIR, scores.read(sorted(paths)), sorted(paths))
    headings, labelled, notes = [], [], []

    def save(picture, stem):
        for axes in filter(lambda axes: axes.axison, picture.axes):
            headings.append(axes.get_title(loc="left"))
            labelled.append((axes.get_xlabel() != "", axes.get_ylabel() != ""))
            notes.append(axes.get_title(loc="right"))
        return [stem]

    monkeypatch.setattr(fig4_pair._slices.style, "save", save)
    PAIR.draw(PAIR, frame, tmp_path / "fig4-pair")
    data = [heading.split("  ")[1] for heading in headings if heading.endswith("data")]
    assert data == ["red-wine: data", "parkinsons: data"]
    of_set = [(False, True), (False, False), (True, False), (True, False)]
    assert labelled == [*of_set, (True, True), (True, False)] * 2
    assert [note.startswith("not converged") for note in notes].index(True) == 2


def test_k14_of_the_pair_is_undecided_without_its_models(paths):
    found = fig4_pair.read(scores.read(paths))["K14"]
    assert found[fig4_pair.PAIR].verdict == "undecided"
    assert found[fig4_pair.ALL].verdict != "undecided"
