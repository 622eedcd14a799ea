"""calibration: histograms and coverages against loops, and what is said of them."""

import artefact_scores as made
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from kcde import scores
from kcde.papers.across import calibration
from kcde.papers import drawing, registry
from kcde.papers.artefact import FIGURE_COLUMNS
from kcde.metrics.names import COVERAGES

ARTEFACT = registry.ARTEFACTS["across/calibration"]
WIDTHS = {"NADE": 1.0, "LSCDE-exact": 1.9, "GP-ML": 0.5}
SIZES = {"a": 400, "b": 100, "crabs": 50}


@pytest.fixture
def files(tmp_path):
    """Scores of a calibrated density, one that is too narrow and one that is too wide."""
    rng, paths = np.random.default_rng(0), []
    for dataset, n in SIZES.items():
        for method, width in WIDTHS.items():
            pit = norm.cdf(width * rng.standard_normal((4, n)))
            pit[3] = np.nan  # a split without a fit
            rows = made.rows_of(dataset, method, [1.0, 1.0, 1.0, None])
            for name, level in COVERAGES.items():
                inside = np.mean(np.abs(pit[:3] - 0.5) <= level / 2, axis=1)
                rows += made.rows_of(dataset, method, list(inside), name, "")
            paths.append(tmp_path / dataset / f"{method}.csv")
            scores.write(paths[-1], rows, {}, {"pit": pit})
    return paths


@pytest.fixture
def frame(files):
    return calibration.build(ARTEFACT, scores.read(files), files)


def pits(files, method):
    return [
        np.load(path.with_suffix(".npz"))["pit"][:3].ravel()
        for path in files
        if path.stem == method and path.parent.name != "crabs"
    ]


def test_histogram_gives_each_set_the_same_weight(files, frame):
    for method in WIDTHS:
        own = frame[(frame["method"] == method) & (frame["panel"] == "histogram")]
        assert (own["n"] == 2).all()
        widths = own["x_right"] - own["x"]
        assert (own["y"] * widths).sum() == pytest.approx(1.0)
        for bar in own.itertuples():
            shares = [np.mean((p >= bar.x) & (p < bar.x_right)) for p in pits(files, method)]
            assert bar.y * 0.05 == pytest.approx(np.mean(shares))


def test_coverage_is_the_mean_over_sets_with_its_range(files, frame):
    for method in WIDTHS:
        for name, level in COVERAGES.items():
            own = frame[(frame["method"] == method) & (frame["series"] == name)]
            shares = [np.mean(np.abs(p - 0.5) <= level / 2) for p in pits(files, method)]
            mean = own[own["stat"] == "mean"].iloc[0]
            assert mean["y"] == pytest.approx(np.mean(shares))
            assert (mean["y_low"], mean["y_high"]) == pytest.approx((min(shares), max(shares)))
            assert set(own["stat"]) == {"mean", "quartiles", "set a", "set b"}


def test_columns_and_order(frame):
    assert list(frame.columns) == FIGURE_COLUMNS
    assert frame["method"].iloc[0] == "NADE"
    assert not frame["stat"].astype(str).str.contains("crabs").any()


def test_it_says_which_densities_are_too_narrow_or_too_wide(frame):
    said = calibration.remarks(frame)
    assert said[0] == "Over 2 sets."
    assert said[1].startswith("Calibrated, with the coverages of the 50% and 90% intervals: NADE (")
    assert said[2].startswith("Too narrow, with less than the nominal coverage: LSCDE-exact (")
    assert said[3].startswith("Too wide, with more than it: GP-ML (")


def test_it_says_which_methods_were_fitted_on_fewer_sets(files):
    """DDE, whose density is that by quadrature and named so, on one set of two."""
    files = [path for path in files if (path.stem, path.parent.name) != ("GP-ML", "b")]
    for path in [path for path in files if path.stem == "GP-ML"]:
        own = scores.read([path]).assign(method="DDE")
        files.append(path.with_name("DDE.csv"))
        with np.load(path.with_suffix(".npz")) as arrays:
            scores.write(files[-1], own.to_dict("records"), {}, dict(arrays))
    found = calibration.build(ARTEFACT, scores.read(files), files)
    assert set(found["method"]) == {"NADE", "LSCDE-exact", "GP-ML", "DDE-quadrature"}
    bars = found[(found["method"] == "DDE-quadrature") & (found["panel"] == "histogram")]
    assert len(bars) == 20
    assert calibration.remarks(found)[0] == "Over 2 sets; DDE-quadrature 1, GP-ML 1."


@pytest.mark.parametrize(
    ("coverage", "expected"),
    [((0.5, 0.9), True), ((0.54, 0.86), True), ((0.56, 0.9), False), ((0.5, 0.84), False)],
)
def test_rule(coverage, expected):
    assert calibration.is_calibrated(pd.Series(coverage, index=list(COVERAGES))) is expected


def test_scores_without_coverage_are_refused(tmp_path):
    files = made.files(tmp_path, {("a", "NADE"): [1.0, 2.0]})
    with pytest.raises(ValueError, match="needs scores with the metrics coverage_50, coverage_90"):
        calibration.build(ARTEFACT, scores.read(files), files)


def test_method_without_a_histogram_is_drawn(files, tmp_path):
    with np.load(files[0].with_suffix(".npz")) as arrays:
        assert "pit" in arrays
    for path in files:
        if path.stem == "GP-ML":
            np.savez(path.with_suffix(".npz"), log_density=np.zeros(3))
    drawing.make(ARTEFACT, files, tmp_path / "figures")
    assert (tmp_path / "figures/across/calibration.png").stat().st_size > 10_000
