"""dde figures 1 to 3: the right points, surfaces and curves, claims D4 and D5 at their limits."""

import numpy as np
import pandas as pd
import planar_scores as made
import pytest
from scipy import stats

from kcde import scores
from kcde.papers import drawing, registry
from kcde.papers.dde import fig1, fig2
from kcde.data import made_up

FIG1, FIG2, FIG3 = (registry.ARTEFACTS[f"dde/fig{k}"] for k in (1, 2, 3))
DDE = {"DDE": (0.5, 0.02)}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return made.files(tmp_path_factory.mktemp("planar"), DDE)


def measured(artefact, paths):
    return artefact.measure(scores.read(paths), paths)


def frame_of(artefact, paths):
    return artefact.build(artefact, measured(artefact, paths), paths)


@pytest.mark.nightly
@pytest.mark.parametrize("artefact", [FIG1, FIG3])
def test_figures_are_redrawn_from_the_csv_with_the_same_bytes(artefact, paths, tmp_path):
    drawing.make(artefact, paths, tmp_path)
    stem = tmp_path / "dde" / artefact.name
    first = stem.with_suffix(".png").read_bytes()
    assert first.startswith(b"\x89PNG")
    drawing.redraw(artefact, tmp_path)
    assert stem.with_suffix(".png").read_bytes() == first
    page = stem.with_suffix(".md").read_text()
    assert all(sentence in page for sentence in artefact.remarks(pd.read_csv(f"{stem}.csv")))


def test_fig1_has_all_training_points_and_1000_samples_of_the_first_seed(paths):
    frame = frame_of(FIG1, paths)
    assert list(dict.fromkeys(frame["panel"])) == ["ring", "grid", "two-moons"]
    points = frame[(frame["kind"] == "scatter") & frame["stat"].isna()]
    counts = points.groupby(["panel", "method"]).size()
    assert set(counts.xs("data", level="method")) == {500}
    assert set(counts.xs("DDE", level="method")) == {1000}
    with np.load(paths[1].with_suffix(".npz")) as arrays:  # the ring
        samples = {tuple(point) for point in arrays["samples"]}
    shown = points[(points["panel"] == "ring") & (points["method"] == "DDE")]
    assert set(shown[["x", "y"]].itertuples(index=False, name=None)) <= samples


def test_fig1_surface_is_f_with_y_along_the_rows(paths):
    frame = frame_of(FIG1, paths)
    surface = frame[(frame["kind"] == "surface") & (frame["panel"] == "two-moons")]
    assert len(surface) == 50 * 50
    exact = made_up.planar_log_density("two-moons", surface[["x", "y"]].to_numpy())
    np.testing.assert_allclose(surface["y_high"], np.maximum(exact, -20.0))


def test_fig2_and_fig3_show_the_published_iterations(paths):
    ring, others = frame_of(FIG2, paths), frame_of(FIG3, paths)
    assert set(ring["panel"]) == {"ring"}
    assert set(others["panel"]) == {"grid", "two-moons"}
    assert set(ring["x_right"].dropna()) == {0, 500, 2500, 5000, 10000, 20000}
    assert set(others["x_right"].dropna()) == {0, 500, 1000, 2000}
    curves = ring[ring["kind"] == "curve"]
    with np.load(paths[1].with_suffix(".npz")) as arrays:
        history = arrays["history_mmd2"]
    table = curves.pivot(index="series", columns="x", values="y")
    np.testing.assert_array_equal(table, history)


@pytest.mark.nightly
def test_a_variation_has_panels_of_its_own_and_no_say_in_the_claims(paths, tmp_path):
    narrow = made.files(tmp_path, {"DDE-narrow": (0.5, 0.02)}, ("ring",), noise=3.0)
    for artefact, kind in ((FIG1, "surface"), (FIG2, "curve")):
        frame = frame_of(artefact, paths + narrow)
        panels = [name for name in dict.fromkeys(frame["panel"]) if name.startswith("ring")]
        assert panels == ["ring", "ring, DDE-narrow"]
        shown = frame[frame["panel"] == "ring, DDE-narrow"]
        assert set(shown["method"]) == {"data", "DDE-narrow"}
        assert set(shown.loc[shown["method"] == "DDE-narrow", "variant"]) == {"ours"}
        assert (shown["kind"] == kind).any()
    for artefact, module in ((FIG1, fig1), (FIG2, fig2)):
        without, beside = (measured(artefact, each) for each in (paths, paths + narrow))
        assert module.decide(without) == module.decide(beside)
    drawing.make(FIG1, paths + narrow, tmp_path)
    assert (tmp_path / "dde" / "fig1.png").read_bytes().startswith(b"\x89PNG")


def test_where_no_published_data_set_is_there_all_are_shown(paths, tmp_path):
    """At the scale smoke there is one set, and few iterations."""
    grid = [path for path in paths if path.parent.name == "grid"]
    drawing.make(FIG2, grid, tmp_path)
    frame = pd.read_csv(tmp_path / "dde" / "fig2.csv")
    assert set(frame["panel"]) == {"grid"}
    assert set(frame["x_right"].dropna()) == {0, 500, 20000}
    assert (tmp_path / "dde" / "fig2.png").read_bytes().startswith(b"\x89PNG")


def test_failed_seeds_leave_gaps_and_all_failed_no_points(tmp_path):
    paths = made.files(tmp_path, DDE, changes={("ring", "DDE"): [0.5, None, 0.5]}, seeds=3)
    table = measured(FIG1, paths)
    shares = table[(table["dataset"] == "ring") & table["metric"].str.startswith("mode_share")]
    assert set(shares["split"]) == {0, 2}
    ring = paths[1]
    np.savez(ring.with_suffix(".npz"), samples_all=np.full((3, 5000, 2), np.nan))
    for artefact in (FIG1, FIG2):
        frame = frame_of(artefact, paths)
        here = frame[frame["panel"] == "ring"]
        assert not (here["kind"] != "curve").any()
    d5 = fig2.decide(measured(FIG2, paths))
    assert d5.verdict == "fails"
    assert "both met by 0 of 3 seeds" in d5.reason


def test_mode_statistic_has_its_distribution_for_a_sampler_that_copies_its_training_points(
    tmp_path,
):
    """Resampling 500 training points is the best that a learner can do: p must be uniform."""
    rng = np.random.default_rng(1)

    def resample(dataset, n, _):
        return made_up.planar_draw(dataset, 500, rng)[rng.integers(500, size=n)]

    paths = made.files(tmp_path, DDE, ("ring", "grid"), seeds=300, draw=resample)
    table = fig1.measure(scores.read(paths), paths)
    for dataset, freedom in (("ring", 2), ("grid", 1)):
        mine = (table["dataset"] == dataset) & (table["metric"] == fig1.CHI_SQUARED)
        values = table.loc[mine, "value"]
        assert len(values) == 300
        assert stats.kstest(values, stats.chi2(freedom).cdf).pvalue > 0.001
        # Without the factor for the training points, the mean would be 11 or 4 times that.
        assert values.mean() == pytest.approx(freedom, abs=4 * np.sqrt(2 * freedom / 300))


def test_mode_shares_are_counted_by_the_nearest_mode(paths):
    table = fig1.measure(scores.read(paths), paths)
    with np.load(paths[2].with_suffix(".npz")) as arrays:  # the grid
        right = (arrays["samples_all"][:, :, 0] > 0.5).mean(axis=1)
    mine = (table["dataset"] == "grid") & (table["metric"] == "mode_share:(1, 1)")
    np.testing.assert_allclose(table.loc[mine, "value"], right)


def test_d4_holds_for_draws_in_proportion(paths):
    decision = fig1.decide(fig1.measure(scores.read(paths), paths))
    assert decision.verdict == "holds"
    assert "radius 5 0.5" in decision.reason


def inside_out(name, n, rng):
    """Draws whose outermost circle has the share of the innermost."""
    points = made_up.planar_draw(name, n, rng)
    if name != "ring":
        return points
    radius = np.hypot(*points.T)[:, None]
    return points * (6.0 - radius) / radius


@pytest.mark.parametrize(
    "draw",
    [
        inside_out,
        lambda name, n, rng: np.abs(made_up.planar_draw(name, n, rng)),  # one moon alone
    ],
)
def test_d4_fails_where_a_mode_has_another_share(draw, tmp_path):
    paths = made.files(tmp_path, DDE, draw=draw)
    decision = fig1.decide(fig1.measure(scores.read(paths), paths))
    assert decision.verdict == "fails"
    assert decision.amended.verdict == "fails"


def test_d4_and_d5_are_undecided_without_a_data_set(paths):
    for artefact, decide in ((FIG1, fig1.decide), (FIG2, fig2.decide)):
        table = measured(artefact, paths)
        decision = decide(table[table["dataset"] != "grid"])
        assert decision.verdict == decision.amended.verdict == "undecided"
        assert "grid" in decision.reason
        assert "grid" in decision.amended.reason


@pytest.mark.parametrize("name", ["ring", "grid", "two-moons"])
def test_draws_of_the_data_are_near_the_support_and_cover_it(name, rng):
    found = fig1._coverage(name, 0, made_up.planar_draw(name, made_up.planar_sizes(name)[1], rng))
    assert min(found.values()) > 0.98
    for label in (fig1._SUPPORT, fig1._TRAINING):
        fresh = found[f"{fig1.FRESH}:{label}"]
        assert found[f"{fig1.COVERAGE}:{label}"] == pytest.approx(fresh, abs=0.02)


def far_out(name, n, rng):
    """Draws with the modes of the data, of which two of three are far from any of it."""
    points = made_up.planar_draw(name, n, rng)
    if name != "grid":
        return points
    return points + [0.0, 1.0] * (rng.random((n, 1)) < 2 / 3)


def fifth_of_circles(name, n, rng):
    """Draws with the radii of the data, on a fifth of each circle."""
    points = made_up.planar_draw(name, n, rng)
    if name != "ring":
        return points
    radius, angle = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0]) / 5
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (far_out, "samples near the support 0.3"),
        (fifth_of_circles, "training points near a sample 0.2"),
    ],
)
def test_amended_d4_fails_where_the_modes_are_reached_and_the_data_not_covered(
    draw, said, tmp_path
):
    paths = made.files(tmp_path, DDE, draw=draw)
    amended = fig1.decide(measured(FIG1, paths)).amended
    assert amended.verdict == "fails"
    assert said in amended.reason
    assert "against 0.5" in amended.reason.split(said)[1].split(";")[0]


def shares(right):
    """Return measured scores whose shares are those of the data, but for modes of the grid."""
    rows = []
    for dataset in made.TEXT:
        modes = made_up.planar_modes(dataset)
        for seed, share in enumerate(right):
            rows.append(made.row(dataset, "DDE", seed, "mmd", 0.5))
            each = [1 - share, share] if dataset == "grid" else modes.weights
            rows += [
                made.row(dataset, "DDE", seed, f"mode_share:{label}", value)
                for label, value in zip(modes.labels, each, strict=True)
            ]
            rows += [
                made.row(dataset, "DDE", seed, f"{metric}:{label}", 0.99)
                for metric in (fig1.COVERAGE, fig1.FRESH)
                for label in (fig1._SUPPORT, fig1._TRAINING)
            ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        ([0.4, 0.35, 0.45, 0.4], "holds"),  # the chi-squared test would reject this
        ([0.26, 0.27, 0.26, 0.27], "holds"),
        ([0.24, 0.23, 0.24, 0.23], "fails"),
        ([0.5, 0.5, 0.5, 0.0], "undecided"),  # lost by one of the seeds
        ([0.5, 0.5], "undecided"),  # too few
    ],
)
def test_amended_d4_wants_half_the_weight_of_every_mode(right, verdict):
    decision = fig1.at_least_half(shares(right))
    assert decision.verdict == verdict
    n = len(right)
    if n > 2:
        # By hand: t(0.95, 3) = 2.3534.
        half = 2.3534 * np.std(right, ddof=1) / np.sqrt(n)
        limits = f"{np.mean(right):.3f} [{np.mean(right) - half:.3f}, {np.mean(right) + half:.3f}]"
        assert "grid, 4 seeds: (0, 1)" in decision.reason
        assert f"(1, 1) {limits} against 0.250" in decision.reason


@pytest.mark.nightly
def test_amended_d4_has_the_declared_level():
    """Where a mode receives exactly half its weight, it passes with a probability of 5%."""
    rng = np.random.default_rng(0)
    passed = [
        fig1.at_least_half(shares(0.25 + 0.02 * rng.standard_normal(3))).verdict == "holds"
        for _ in range(200)
    ]
    assert stats.binomtest(sum(passed), len(passed), 0.05).pvalue > 0.001


def test_amended_d4_is_undecided_where_seeds_failed(tmp_path):
    paths = made.files(tmp_path, DDE, changes={("ring", "DDE"): [0.5, 0.5, None, 0.5]}, seeds=4)
    amended = fig1.decide(measured(FIG1, paths)).amended
    assert amended.verdict == "undecided"
    assert "1 of 4 seeds of ring have no samples" in amended.reason


def test_fig1_says_the_shares_over_the_seeds(paths):
    said = fig1.remarks(frame_of(FIG1, paths))[0]
    assert "mean over 5 seeds" in said
    assert "radius 1 0.1" in said


def test_rank_correlation_is_that_of_ranks(paths):
    table = fig2.measure(scores.read(paths), paths)
    with np.load(paths[1].with_suffix(".npz")) as arrays:
        iteration, mmd2 = arrays["history_iteration"], arrays["history_mmd2"][3]
    ranks = (np.argsort(np.argsort(values)) for values in (iteration, mmd2))
    mine = (table["dataset"] == "ring") & (table["split"] == 3)
    found = table[mine].set_index("metric")["value"]
    assert found["mmd2_spearman"] == pytest.approx(np.corrcoef(*ranks)[0, 1])
    assert found["mmd2_last_over_first"] == pytest.approx(mmd2[-1] / mmd2[0])
    checks = int(found["mmd2_checks_to_plateau"])
    error = np.std(mmd2[-20:], ddof=1)  # of 201 checks
    assert mmd2[checks - 1] <= mmd2[-1] + 2 * error < mmd2[: checks - 1].min()
    falling = np.argsort(np.argsort(mmd2[:checks]))
    wanted = np.corrcoef(falling, np.arange(checks))[0, 1]
    assert found["mmd2_spearman_to_plateau"] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ({}, "holds"),
        ({"last": 0.06, "noise": 0.01}, "fails"),  # 0.12 of the first
        ({"last": 0.04, "noise": 0.01}, "holds"),  # 0.08
        ({"last": 0.04, "noise": 3.0}, "fails"),  # no clear trend
    ],
)
def test_d5_wants_a_trend_and_a_tenth(how, verdict, tmp_path):
    paths = made.files(tmp_path, DDE, **how)
    decision = fig2.decide(fig2.measure(scores.read(paths), paths))
    assert decision.verdict == verdict


@pytest.mark.parametrize(("lost", "verdict"), [(2, "holds"), (3, "fails")])
def test_d5_counts_diverged_seeds_against_the_median(lost, verdict, tmp_path):
    changes = {("ring", "DDE"): [None] * lost + [0.5] * (5 - lost)}
    paths = made.files(tmp_path, DDE, changes=changes)
    decision = fig2.decide(fig2.measure(scores.read(paths), paths))
    assert decision.verdict == verdict
    assert f"both met by {5 - lost} of 5 seeds" in decision.reason


def histories(tmp_path, mmd2):
    """Write DDE's files with the same history for every seed of every set; return the paths."""
    paths = made.files(tmp_path, DDE, seeds=3)
    for path in paths:
        with np.load(path.with_suffix(".npz")) as arrays:
            stored = dict(arrays)
        stored["history_iteration"] = 100 * np.arange(len(mmd2))
        stored["history_mmd2"] = np.tile(mmd2, (3, 1))
        np.savez(path.with_suffix(".npz"), **stored)
    return paths


def fall_to_a_plateau(checks, last):
    rng = np.random.default_rng(3)
    fall = np.geomspace(0.5, last, checks)
    return np.concatenate([fall, last * (1 + 0.2 * rng.standard_normal(200 - checks))])


@pytest.mark.parametrize(
    ("mmd2", "verdict", "amended"),
    [
        (fall_to_a_plateau(20, 0.002), "fails", "holds"),  # fast, then flat
        (fall_to_a_plateau(20, 0.06), "fails", "fails"),  # not to a tenth
        (fall_to_a_plateau(4, 0.002), "fails", "undecided"),  # before it can be ranked
        (np.r_[0.5, np.linspace(0.2, 0.45, 20), fall_to_a_plateau(9, 0.002)], "fails", "fails"),
        (np.geomspace(0.5, 0.002, 200), "holds", "holds"),
    ],
)
def test_amended_d5_ends_where_the_plateau_begins(mmd2, verdict, amended, tmp_path):
    paths = histories(tmp_path, mmd2)
    decision = fig2.decide(measured(FIG2, paths))
    assert decision.verdict == verdict
    assert decision.amended.verdict == amended


def test_a_history_without_a_change_has_no_fall(tmp_path):
    paths = histories(tmp_path, np.full(30, 0.4))
    decision = fig2.decide(measured(FIG2, paths))
    assert decision.verdict == decision.amended.verdict == "fails"
