"""Models of tables by name, and the commands that fit, save and predict with them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde import cli
from kcde.table_model import TableModel


def table(n=60):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"area": rng.normal(size=n), "town": rng.choice(["A", "B"], n)})
    frame["price"] = frame["area"] + 0.3 * rng.normal(size=n)
    return frame


@pytest.fixture
def data(tmp_path):
    table().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


def call(capsys, *words):
    """Return the exit code of a command, what it says, and its error."""
    code = 0
    try:
        cli.main([str(word) for word in words])
    except SystemExit as ended:
        code = ended.code or 0
    said = capsys.readouterr()
    return code, said.out, said.err


def test_fit_and_predict_give_what_python_gives(data, capsys):
    model, out = data / "price.kcde", data / "predictions.csv"
    fit = ("fit", data / "data.csv", "--y", "price", "--method", "GP-ML", "--out", model)
    assert call(capsys, *fit)[0] == 0
    words = ("--quantiles", ".05,.5,.95", "--interval", "0.8", "--density", "grid", "--out", out)
    assert call(capsys, "predict", model, data / "data.csv", *words)[0] == 0
    made, frame = pd.read_csv(out), pd.read_csv(data / "data.csv")
    expected = TableModel("GP-ML", y="price").fit(frame)
    quantiles = expected.quantile(frame, [0.05, 0.5, 0.95])
    np.testing.assert_allclose(made[["q0.05", "q0.5", "q0.95"]], quantiles, rtol=1e-12)
    np.testing.assert_allclose(made["log_density"], expected.log_density(frame), rtol=1e-9)
    np.testing.assert_allclose(made["mean"], expected.mean(frame), rtol=1e-12)
    np.testing.assert_allclose(made[["lower", "upper"]], expected.interval(frame, 0.8), rtol=1e-12)
    y = [float(name[2:-1]) for name in made if name.startswith("p(")]
    assert len(y) == 101
    density = made[[name for name in made if name.startswith("p(")]].to_numpy()
    np.testing.assert_allclose(np.trapezoid(density, y, axis=1), 1.0, atol=0.01)


def test_numbers_with_a_large_offset_keep_their_digits():
    frame = table().assign(price=lambda f: 1.7e9 + f["price"])
    model = TableModel("LinearGaussian", y="price").fit(frame)
    made = model.predictions(frame[:3], [0.5, 0.9999999, 0.99999999], density="grid")
    assert [name for name in made if name.startswith("q")] == ["q0.5", "q0.9999999", "q0.99999999"]
    y = np.array([float(name[2:-1]) for name in made if name.startswith("p(")])
    np.testing.assert_array_equal(made.filter(like="p("), model.density(frame[:3], y))
    assert np.ptp(np.diff(y)) < 0.01 * np.diff(y).mean()


@pytest.mark.parametrize(("option", "number"), [("--interval", "90"), ("--quantiles", "5,95")])
def test_percentages_are_refused(data, capsys, option, number):
    fit = ("fit", data / "data.csv", "--y", "price", "--method", "LinearGaussian", "--out")
    assert call(capsys, *fit, data / "m.kcde")[0] == 0
    asked = ("predict", data / "m.kcde", data / "data.csv", "--out", data / "p.csv")
    code, _, error = call(capsys, *asked, option, number)
    assert code == 2
    assert "between 0 and 1" in error
    assert not (data / "p.csv").exists()


def test_levels_of_a_file_stay_text(data, capsys):
    """As numbers alone, 01 would be 1, which is another level."""
    model, new, out = data / "m.kcde", data / "new.csv", data / "p.csv"
    frame = pd.DataFrame({"code": ["01", "1", "A", "B", "C"] * 8})
    frame["y"] = 50.0 * (frame["code"] == "01") + np.arange(40) / 40
    frame.to_csv(data / "codes.csv", index=False)
    fit = ("fit", data / "codes.csv", "--y", "y", "--method", "LinearGaussian", "--out", model)
    assert call(capsys, *fit)[0] == 0
    new.write_text("code\n01\n1\n")
    assert call(capsys, "predict", model, new, "--out", out)[0] == 0
    first, second = pd.read_csv(out)["mean"]
    assert first - second > 40


def test_a_loaded_model_is_fitted_again_with_the_same_arguments(data):
    options = {"bandwidth_x": np.array([0.7]), "bandwidth_y": 0.3, "regularization": 0.1}
    asked = {"drop": ("town",), "groups": "group", "conformal": 0.3, "missing": "drop"}
    frame = table().assign(group=np.arange(60) // 2, hole=[np.nan, *range(59)])
    model = TableModel(
        "LSCDE-exact", "price", ["area"], **asked, options=options, seed=np.int64(5)
    ).fit(frame)
    model.save(data / "m.kcde")
    again = TableModel.load(data / "m.kcde").fit(frame)
    assert again.columns_ == model.columns_
    np.testing.assert_array_equal(again.interval(frame, 0.8), model.interval(frame, 0.8))
    again.save(data / "again.kcde")
    assert (data / "again.kcde").read_bytes() == (data / "m.kcde").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="area"), "missing column(s) 'area'"),
        (lambda f: f.assign(more=1), "column(s) 'more' were not in the training data"),
        (lambda f: f.assign(area=[*map(str, f["area"][:-1]), "x"]), "'x' in row 60"),
        (lambda f: f.assign(town="C"), "'C', which training did not have"),
    ],
)
def test_wrong_new_rows_are_one_line_and_exit_code_2(data, capsys, change, message):
    TableModel("GP-ML", y="price").fit(table()).save(data / "m.kcde")
    change(table()).to_csv(data / "new.csv", index=False)
    words = ("predict", data / "m.kcde", data / "new.csv", "--out", data / "p.csv")
    code, _, error = call(capsys, *words)
    assert code == 2
    assert message in error
    assert error.count("\n") == 1
    assert not (data / "p.csv").exists()


def test_what_cannot_be_saved_is_refused_before_it_is_fitted(data, capsys):
    words = ("fit", data / "none.csv", "--y", "price", "--out", data / "m", "--method")
    code, _, error = call(capsys, *words, "DDE")
    assert code == 2
    assert "no model file can hold it; those that can: " in error
    assert "KCEF-LL" in error
    code, _, error = call(capsys, *words, "KCEF-F")
    assert "KCEF-F cannot be used here: it is a joint density" in error
    code, _, error = call(capsys, *words, "KCEF-l")
    assert "there is no method 'KCEF-l' (did you mean `KCEF" in error


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("LinearGaussian", '{"regularization": "x"}', "--options"),
        ("KCEF-LL", '{"folds": "x"}', "--options"),
        ("GP-ML", '{"kernel": "none"}', "kernel must be one of"),
        ("GP-ML", '{"none": 1}', "has no option none"),
    ],
)
def test_options_of_another_kind_are_one_line(data, capsys, method, options, message):
    fit = ("fit", data / "data.csv", "--y", "price", "--method", method, "--options", options)
    code, _, error = call(capsys, *fit, "--out", data / "m")
    assert code == 2
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("part", ["method", "columns", "code", "versions"])
def test_a_model_that_does_not_say_what_it_is_of_is_refused(data, part):
    path, model = data / "m.kcde", TableModel("LinearGaussian", y="price").fit(table())
    del model.about_[part]
    model.save(path)
    with pytest.raises(ValueError, match=f"is no model of a table.*{part}"):
        TableModel.load(path)


@pytest.mark.parametrize(("method", "said"), [("KernelCDE", True), ("LSCDE-exact", False)])
def test_groups_that_a_method_has_no_regard_to_are_said(method, said):
    frame = table().assign(person=np.arange(60) // 4)
    model = TableModel(method, y="price", groups="person").fit(frame)
    assert (f"{method} chooses without regard to groups." in model.notes_) is said


def test_calibrated_intervals_hold_their_share(data, capsys):
    """A density that is far too narrow: the calibration makes up for it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=3000)})
    frame["y"] = frame["x"] + rng.normal(size=3000)
    options = {"bandwidth_x": 1.0, "signal_std": 1.0, "noise_std": 0.3}
    plain = TableModel("GP-ML", "y", options=options).fit(frame[:500])
    fitted = TableModel("GP-ML", "y", options=options, conformal=0.5).fit(frame[:500])
    y = frame["y"][500:].to_numpy()
    held = [
        np.mean((low <= y) & (y <= high))
        for low, high in (each.interval(frame[500:], 0.9).T for each in (plain, fitted))
    ]
    assert held[0] < 0.6
    # The share given 250 calibration rows follows a beta distribution (Vovk 2012).
    low, high = stats.beta(226, 25).ppf([0.001, 0.999])
    assert low - 0.02 <= held[1] <= high + 0.02
