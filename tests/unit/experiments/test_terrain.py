import json
from pathlib import Path

import numpy as np
import pytest

from kcde import scores
from kcde.data import loaders
from kcde.estimators import CDO, LSCDE, Standardised
from kcde.experiments import _cdo_settings, terrain
from kcde.experiments._smoothers import SMOOTHERS
from kcde.experiments.runner import run
from kcde.experiments.terrain import FOLDS, RANDOM, Terrain

OPTIONS = {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}
FLOW = {"hidden_units": 4, "blocks": 1, "steps": 5, "moment_samples": 20}
DEFINED = ["smae_centred", "smae_predicted", "smae_pointwise", "smae_total"]


@pytest.fixture(scope="module")
def data(smoke):
    return loaders.load("smoke-terrain", *smoke)


@pytest.fixture
def launch(smoke, tmp_path):
    """Run a job on the made-up terrain; return scores, arrays and info."""

    def launched(method, **given):
        out = tmp_path / "out.csv"
        named = {"dataset": "smoke-terrain", "method": method, "folds": 2}
        run(Terrain(**named | given, data_dir=smoke[0], catalogue=smoke[1]), out)
        with np.load(out.with_suffix(".npz")) as stored:
            arrays = dict(stored)
        return scores.read([out]), arrays, json.loads(out.with_suffix(".json").read_text())

    return launched


def values(frame, protocol=FOLDS, split=0):
    setting = scores.setting(protocol=protocol)
    rows = frame[(frame["setting"] == setting) & (frame["split"] == split)]
    return dict(zip(rows["metric"], rows["value"], strict=True))


def test_folds_are_a_partition_and_splits_a_fifth():
    every = terrain.parts("some", 57, 10, 3)
    folds = [part for part in every if part.protocol == FOLDS]
    assert sorted(np.concatenate([part.test for part in folds])) == list(range(57))
    for part in every:
        assert sorted([*part.train, *part.test]) == list(range(57))
    random = [part for part in every if part.protocol == RANDOM]
    assert [len(part.test) for part in random] == [11] * 3
    assert set(random[0].test) != set(random[1].test)
    # Fewer of them are the first of them.
    fewer = terrain.parts("some", 57, 2, 1)
    for part, same in zip(fewer, [*folds[:2], random[0]], strict=True):
        np.testing.assert_array_equal(part.test, same.test)


def test_most_test_points_of_the_terrain_lie_between_training_points():
    shape = (120, 117)  # of rough-terrain, one column of the grid after the other in the file
    between = []
    for part in terrain.parts("rough-terrain", shape[0] * shape[1], 10, 0):
        trains = np.zeros(np.add(shape, 2), dtype=bool)
        trains[1:-1, 1:-1].T.flat[part.train] = True
        column, row = (1 + each for each in np.divmod(part.test, shape[0]))
        sides = [
            trains[row - down, column - right] & trains[row + down, column + right]
            for down, right in ((1, 0), (0, 1))
        ]
        between.append(np.logical_or(*sides))
    share = np.concatenate(between).mean()
    page = Path(__file__).parents[3] / "docs/papers/cdo.md"
    assert f"{share:.1%} of the test points lie between" in page.read_text(encoding="utf-8")


def test_scores_are_those_of_a_fit_by_hand(launch, data):
    frame, arrays, info = launch("LSCDE", options=OPTIONS)
    part = terrain.parts("smoke-terrain", 340, 2, 0)[1]
    seed = int(frame[frame["split"] == 1]["seed"].iloc[0])
    model = Standardised(LSCDE(**OPTIONS, random_state=seed))
    model.fit(data.X[part.train], data.Y[part.train])
    predicted, y = model.mean(data.X[part.test])[:, 0], data.Y[part.test, 0]
    mean, found = data.Y[part.train].mean(), values(frame, split=1)
    expected = np.abs(predicted - y).sum() / np.abs(y - mean).sum()
    assert found["smae"] == found["smae_centred"] == pytest.approx(expected)
    assert found["smae_pointwise"] == pytest.approx(np.abs(predicted / y - 1).mean())
    np.testing.assert_array_equal(arrays["test_rows_folds"][1], part.test)
    np.testing.assert_allclose(arrays["prediction_folds"][1], predicted)
    assert info["data_sha256"] == data.sha256
    assert sorted(values(frame)) == sorted(["smae", *DEFINED])


def test_cdo_predicts_with_the_authors_settings_on_centred_heights(launch, data):
    frame, arrays, info = launch("CDO", settings="authors", folds=1)
    part = terrain.parts("smoke-terrain", 340, 1, 0)[0]
    X, Y = data.X[part.train], data.Y[part.train]
    theirs = _cdo_settings.authors("terrain", "CDO", X, Y - Y.mean())
    model = CDO(**theirs).fit(X, Y - Y.mean())
    # By the definition of a mixture, not by the shortcut for signed means.
    expected = model.weights_at(data.X[part.test]) @ model.reference_ + Y.mean()
    np.testing.assert_allclose(arrays["prediction_folds"][0], expected[:, 0], rtol=1e-6)
    assert info["chosen"][0]["bandwidth_x"] == pytest.approx([theirs["bandwidth_x"]] * 2)
    assert 0 < values(frame)["smae"] < 0.5


def test_a_process_is_scored_against_the_spread_of_its_predictions(launch):
    frame, _, _ = launch("GaussianProcess", settings="authors", folds=1)
    found = values(frame)
    assert found["smae"] == found["smae_predicted"] != found["smae_centred"]


@pytest.mark.nightly
def test_flows_have_their_published_score_on_random_splits_alone(launch, data):
    frame, arrays, info = launch("ConditionalMAF", options=FLOW, folds=1, splits=2)
    assert sorted(values(frame)) == sorted(DEFINED)
    found = values(frame, RANDOM, 1)
    assert sorted(found) == ["smae", "smae_pointwise", "smae_pointwise_std"]
    rows = arrays["test_rows_random"][1]
    ratio = np.abs(arrays["prediction_random"][1] / data.Y[rows, 0] - 1)
    assert found["smae"] == found["smae_pointwise"] == pytest.approx(ratio.mean())
    assert found["smae_pointwise_std"] == pytest.approx(ratio.std(ddof=1))
    assert [each["protocol"] for each in info["chosen"]] == [FOLDS, RANDOM, RANDOM]
    assert set(frame["n_test"]) == {34, 68}


@pytest.mark.parametrize("name", SMOOTHERS)
def test_interpolation_and_smoothing_are_scored_as_every_method(launch, name):
    frame, arrays, info = launch(name)
    assert set(frame["status"]) == {"ok"}
    assert Terrain.at("laptop", "rough-terrain", name).variant == "ours"
    assert 0 < values(frame)["smae_centred"] < 0.5
    assert np.isfinite(arrays["prediction_folds"]).all()
    known = info["chosen"][0]
    assert ("bandwidth_x" in known) == name.startswith("Nadaraya")


def test_a_failed_fit_is_rows_that_say_why(launch):
    frame, arrays, _ = launch("LSCDE", options={"bandwidth_x": -1.0})
    assert set(frame["status"]) == {"failed"}
    assert set(frame["metric"]) == {"smae", *DEFINED}
    assert frame["detail"].str.contains("bandwidth_x must be positive").all()
    assert np.isnan(arrays["prediction_folds"]).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"folds": 11}, "folds must be at most 10"),
        ({"splits": -1}, "splits must be at least 0"),
        ({"options": {"sigma": 1}}, "LSCDE has no option sigma"),
        ({"dataset": "smoke-hill"}, "no data set named 'smoke-hill'"),
    ],
)
def test_wrong_jobs_are_refused(launch, tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        launch(**{"method": "LSCDE", "options": OPTIONS} | given)
    assert not list(tmp_path.iterdir())
