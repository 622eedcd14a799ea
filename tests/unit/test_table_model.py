"""Models of tables by name, and the commands that fit, save and predict with them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from kcde import model_file
from kcde.table_model import TableModel, _share_of_floor


def table():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"area": rng.normal(size=60), "town": rng.choice(["A", "B"], 60)})
    frame["price"] = frame["area"] + 0.3 * rng.normal(size=60)
    return frame


@pytest.fixture
def data(tmp_path):
    table().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("forms", [["e\u0301tage", "\xe9tage"], ["\xe9tage", "e\u0301tage"]])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_name_is_found_however_its_accents_are_written(kind, forms, tmp_path, call):
    path, model = tmp_path / f"t.{kind}", tmp_path / "m.kcde"
    frame = table().rename(columns={"price": forms[0]})
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    assert call("fit", path, "--y", forms[1], "--method", "LinearGaussian", "--out", model)[0] == 0
    assert call("predict", model, path, "--keep", forms[1], "--out", tmp_path / "p.csv")[0] == 0


def test_fit_and_predict_give_what_python_gives(data, call):
    model, out = data / "price.kcde", data / "predictions.csv"
    fit = ("fit", data / "data.csv", "--y", "price", "--method", "GP-ML", "--out", model)
    assert call(*fit)[0] == 0
    words = ("--quantiles", ".05,.5,.95", "--interval", "0.8", "--density", "grid", "--out", out)
    assert call("predict", model, data / "data.csv", *words)[0] == 0
    made, frame = pd.read_csv(out), pd.read_csv(data / "data.csv")
    expected = TableModel("GaussianProcess-ML", y="price").fit(frame)
    quantiles = expected.quantile(frame, [0.05, 0.5, 0.95])
    np.testing.assert_allclose(made[["q0.05", "q0.5", "q0.95"]], quantiles, rtol=1e-12)
    np.testing.assert_allclose(made["log_density"], expected.log_density(frame), rtol=1e-9)
    np.testing.assert_allclose(made["mean"], expected.mean(frame), rtol=1e-12)
    np.testing.assert_allclose(made[["lower", "upper"]], expected.interval(frame, 0.8), rtol=1e-12)
    y = [float(name[2:-1]) for name in made if name.startswith("p(")]
    assert len(y) == 101
    density = made[[name for name in made if name.startswith("p(")]].to_numpy()
    np.testing.assert_allclose(np.trapezoid(density, y, axis=1), 1.0, atol=0.01)


def test_expectations_have_quantiles_and_no_density(data, call):
    model, out = data / "j.kcde", data / "predictions.csv"
    fit = ("fit", data / "data.csv", "--y", "price", "--method", "JDL", "--out", model)
    assert call(*fit)[0] == 0
    assert call("predict", model, data / "data.csv", "--interval", "0.9", "--out", out)[0] == 0
    made, y = pd.read_csv(out), table()["price"]
    assert list(made) == ["mean", "q0.05", "q0.5", "q0.95", "lower", "upper"]
    assert 0.8 < ((made["lower"] <= y) & (y <= made["upper"])).mean() <= 1.0
    assert np.corrcoef(made["mean"], y)[0, 1] > 0.9
    again, frame = TableModel.load(model), table()
    np.testing.assert_array_equal(made["mean"], again.mean(frame))
    np.testing.assert_array_equal(made.filter(like="q"), again.quantile(frame, [0.05, 0.5, 0.95]))
    np.testing.assert_array_equal(made[["lower", "upper"]], again.interval(frame, 0.9))
    code, _, error = call("predict", model, data / "data.csv", "--density", "grid", "--out", out)
    assert (code, "no density" in error) == (2, True)
    code, _, error = call("compare", data / "data.csv", "--y", "price", "--methods", "JDL")
    assert (code, "no density" in error) == (2, True)


def test_numbers_with_a_large_offset_keep_their_digits():
    frame = table().assign(price=lambda f: 1.7e9 + f["price"])
    model = TableModel("LinearGaussian", y="price")
    with pytest.raises(NotFittedError, match="call fit first"):
        model.predictions(frame)
    made = model.fit(frame).predictions(frame[:3], [0.5, 0.9999999, 0.99999999], density="grid")
    assert [name for name in made if name.startswith("q")] == ["q0.5", "q0.9999999", "q0.99999999"]
    y = np.array([float(name[2:-1]) for name in made if name.startswith("p(")])
    np.testing.assert_array_equal(made.filter(like="p("), model.density(frame[:3], y))
    assert np.ptp(np.diff(y)) < 0.01 * np.diff(y).mean()
    for numbers in ([0.5, 0.5], [1e-120]):
        with pytest.raises(ValueError, match=f"{numbers[0]:g}"):
            model.predictions(frame[:3], numbers)


@pytest.mark.parametrize("method", ["LinearGaussian", "GP-ML", "MarginalKDE", "NGBoost", "LSCDE"])
def test_a_row_far_out_costs_no_more_than_the_floor(method):
    frame = table()
    far = frame[:1].assign(price=frame["price"].mean() + 1e3 * frame["price"].std())
    assert -40.0 < TableModel(method, "price").fit(frame).log_density(far)[0] < -20.0


@pytest.mark.parametrize("lower", [None, -100.0])
def test_what_is_stacked_is_named_with_its_weights_and_has_a_floor(lower, data):
    names, frame = ["LinearGaussian", "KernelCDE", "MarginalKDE"], table()
    options = {"estimators": names, "weights": [0.5, 0.25, 0.25]}
    model = TableModel("Stacked", "price", lower=lower, options=options).fit(frame)
    assert model.notes_[-1] == "Weights: 0.50 LinearGaussian, 0.25 KernelCDE, 0.25 MarginalKDE."
    alone = [TableModel(name, "price", lower=lower).fit(frame) for name in names]
    mixed = np.array(options["weights"]) @ [np.exp(each.log_density(frame)) for each in alone]
    np.testing.assert_allclose(model.log_density(frame), np.log(mixed))
    assert _share_of_floor(model.model_) == pytest.approx(0.01)
    model.save(data / "m.kcde")
    again = TableModel.load(data / "m.kcde")
    np.testing.assert_array_equal(again.quantile(frame, [0.1]), model.quantile(frame, [0.1]))
    assert again.fit(frame).notes_ == model.notes_
    chosen = TableModel("Stacked", "price", options={"estimators": names, "folds": 3}).fit(frame)
    assert chosen.notes_[-1].startswith("Weights: ")
    for wrong, word in ((["JDL"], "JDL"), ("LSCDE", "a list")):
        with pytest.raises(ValueError, match=word):
            TableModel("Stacked", "price", options={"estimators": wrong}).fit(frame)


@pytest.mark.parametrize("method", ["LinearGaussian", "LikelihoodKCEF"])
def test_a_grid_shows_a_narrow_density_of_one_row(method):
    frame = table().assign(price=lambda f: 9.0 * f["area"] + 0.1 * f["price"])
    found = TableModel(method, "price").fit(frame).predictions(frame[:1], density="grid")
    density = found.filter(like="p(").iloc[0]
    y = [float(name[2:-1]) for name in density.index]
    assert np.trapezoid(density, y) == pytest.approx(0.99, abs=0.01)


@pytest.mark.parametrize("conformal", [None, 0.25])
def test_quantiles_of_the_floor_are_said(conformal):
    model, said = TableModel("LinearGaussian", "price", conformal=conformal).fit(table()), []
    for level in (0.99, 0.996):
        model.predictions(table()[:2], [0.5, level], interval=0.5, say=said.append)
    assert [line.split(": ")[1] for line in said] == [
        "the quantiles 0.996 are about those of y without x."
    ]


def test_a_loaded_model_is_fitted_again_with_the_same_arguments(data):
    options = {"bandwidth_x": np.array([0.7, 1.0]), "bandwidth_y": 0.3, "regularization": 0.1}
    asked = {"drop": ("town",), "groups": "group", "conformal": 0.3, "missing": "drop"}
    asked |= {"levels": ["code"], "lower": 0.0, "options": options, "seed": np.int64(5)}
    frame = table().assign(group=np.arange(60) // 2, hole=[np.nan, *range(59)], code=[1, 2] * 30)
    frame["price"] = np.exp(3.0 * frame["price"])
    model = TableModel("LSCDE-exact", "price", ["area", "code"], **asked).fit(frame)
    assert model.columns_.text == ["code"]
    assert (model.quantile(frame, [0.001]) > 0.0).all()
    model.save(data / "m.kcde")
    again = TableModel.load(data / "m.kcde").fit(frame)
    assert again.notes_[-1].endswith("new groups like these, at levels up to 0.9.")
    np.testing.assert_array_equal(again.interval(frame, 0.8), model.interval(frame, 0.8))
    again.save(data / "again.kcde")
    assert (data / "again.kcde").read_bytes() == (data / "m.kcde").read_bytes()


def test_rows_without_predictions_are_empty_and_counted_and_columns_are_kept(data, call):
    fit = ("fit", data / "data.csv", "--y", "price", "--na", "??,-7", "--out", data / "m.kcde")
    assert "LikelihoodKCEF" in call(*fit)[1]
    new = pd.DataFrame({"key": ["01", "02", "03", "04", "05"], "town": [*"ABAZ", "B "]})
    new["area"], new["price"] = ["0.5", "-7.0", "x", "0.5", "99"], ["1", "?", "", "2", "oops"]
    new.to_csv(data / "new.csv", index=False)
    predict = ("predict", data / "m.kcde", data / "new.csv", "--out", data / "p.csv")
    code, _, error = call(*predict)
    assert (code, "--keep" in error) == (2, True)
    code, _, error = call(*predict, "--keep", "key", "--keep", "town")
    assert (code, error.count("\n")) == (0, 3)
    for word in ("3 of 5", "missing", "'x' in row 3", "'Z'", "'area' above"):
        assert word in error
    made = pd.read_csv(data / "p.csv", dtype={"key": str})
    assert list(made)[:3] == ["key", "town", "mean"]
    assert made["key"].tolist() == new["key"].tolist()
    assert made["q0.5"].notna().tolist() == [True, False, False, False, True]
    assert made["log_density"].notna().tolist() == [True, False, False, False, False]
    # Points of thousands, which are found in a column that is kept as well.
    points = [f"1.{100 + i}" if i % 2 else str(850 + i) for i in range(30)]
    pd.DataFrame({"town": "A", "area": points}).to_csv(data / "new.csv", index=False)
    code, _, error = call(*predict, "--keep", "area")
    assert (code, "before three last digits" in error) == (2, True)


@pytest.mark.parametrize(
    ("method", "options", "word"),
    [
        ("KCEF-F", "{}", "joint density"),
        ("KCEF-l", "{}", "did you mean `KCEF"),
        ("LinearGaussian", '{"regularization": "x"}', "regularization"),
        ("JDL", '{"regularization": -1}', "regularization"),
        ("GP-ML", '{"none": 1}', "none"),
    ],
)
def test_a_wrong_method_or_option_is_one_line(data, call, method, options, word):
    fit = ("fit", data / "data.csv", "--y", "price", "--method", method, "--options", options)
    code, _, error = call(*fit, "--out", data / "m")
    assert code == 2
    assert word in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("part", ["method", "columns", "code", "versions"])
def test_a_model_that_does_not_say_what_it_is_of_is_refused(data, part):
    path, model = data / "m.kcde", TableModel("LinearGaussian", y="price").fit(table())
    del model.about_[part]
    model.save(path)
    with pytest.raises(ValueError, match=f"is no model of a table.*{part}"):
        TableModel.load(path)
    model_file.write(path, model.model_, model.about_)  # without the arguments of its fit
    with pytest.raises(ValueError, match="older"):
        TableModel.load(path)
