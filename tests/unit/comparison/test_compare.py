"""A comparison from table to page, with quick methods."""

import html
import re
import shutil
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import kcde
from kcde import comparison
from kcde.cli import duration, names
from kcde.comparison import page, running
from kcde.comparison.advice import by_split
from kcde.estimators._shared import rows
from kcde.estimators.stacked import stacking_weights
from kcde.memory import InsufficientMemory
from kcde.methods import BASELINE, STACKED, key_of, shown
from kcde.table_model import TableModel
from kcde.tabular import check

GP = "GaussianProcess-ML"
A, B = GP, "LSCDE-exact"
ROWS = np.array([f"house {k}" for k in range(7, 207)])  # labels of the rows of its table
EVIL = '<script>alert("1")</script>&$x'


def table(n=200):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area m²": rng.normal(size=n), EVIL: rng.choice(["<b>", "c", "d"], n)})
    frame["price"] = np.sin(frame["area m²"]) + 0.3 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    said = []
    asked = {"methods": ["GP-ML", "LSCDE-exact"], "splits": 4, "budget": 300, "out": folder}
    asked |= {"source": "houses.csv", "say": said.append}
    made = kcde.compare(table().set_axis(ROWS), "price", **asked)
    return made, folder, said


def test_all_methods_have_the_same_splits_and_true_scores(found):
    comparison = found[0]
    assert set(comparison.by_split["method"]) >= {GP, "LSCDE-exact"}
    assert (comparison.by_split["status"] == "ok").all()
    assert comparison.by_split.groupby("method")["n_test"].apply(tuple).nunique() == 1
    with np.load(found[1] / "rows.npz") as rows:
        np.testing.assert_array_equal(rows["test_2"], ROWS[comparison.plan.splits[2].test])
    scored = running.score(GP, comparison.plan, 160, 0)
    kept = running.read(comparison.plan, GP, 160, 0).said
    assert kept["log_density"] == scored.said["log_density"]
    inside = np.abs(scored.arrays["pit"] - 0.5) <= 0.45
    assert kept["coverage_90"] == pytest.approx(inside.mean())
    widths = np.ptp(comparison.model.interval(table(), 0.9), axis=1)
    assert kept["width_90"] == pytest.approx(np.median(widths), rel=0.3)


def test_the_page_needs_nothing_else_and_its_lines_run(found, tmp_path, monkeypatch):
    comparison, folder, said = found
    text = (folder / "comparison.html").read_text(encoding="utf-8")
    words = [html.unescape(each) for each in re.split(r"<[^>]+>", text)]
    assert "<script" not in text.lower()
    assert {EVIL, comparison.advice.sentence} <= set(words)
    links = re.findall(r"\s(?:src|href)=[\"']?([^\"'>]+)", text)
    assert {link.partition(":")[0] for link in links} == {"data"}
    assert all(re.search(r' alt="[^"]', each) for each in re.findall(r"<img[^>]*>", text))
    assert any("left" in line for line in said)
    assert str(comparison).splitlines()[-1] == comparison.advice.sentence
    written = pd.read_csv(folder / "comparison.csv")
    assert list(written["method"]) == list(comparison.table["method"])
    (code,) = (each for each in words if "import" in each)
    table().to_csv(tmp_path / "houses.csv", index=False)
    monkeypatch.chdir(tmp_path)
    exec(code, place := {})
    expected = comparison.model.quantile(table(), [0.5])
    np.testing.assert_allclose(place["model"].quantile(table(), [0.5]), expected)


def test_the_lines_leave_out_what_the_comparison_left_out(tmp_path, monkeypatch):
    """A leak and a time among more columns than are named one by one, in a German file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 9)), columns=[*"abcdefghi"])
    frame = frame.assign(price=frame["a"] + 0.2 * rng.normal(size=200), when=range(200))
    frame["leak"] = frame["price"]
    asked = {"methods": ["LinearGaussian"], "splits": 3, "drop": ["leak"], "time_column": "when"}
    reading = {"delimiter": ";", "decimal": ","}
    made = kcde.compare(frame, "price", source="data.csv", reading=reading, **asked)
    lines = page.python_lines(made)
    assert "tabular.read('data.csv', delimiter=';', decimal=',')" in lines
    frame.to_csv(tmp_path / "data.csv", sep=";", decimal=",", index=False)
    monkeypatch.chdir(tmp_path)
    exec(lines, place := {})
    assert place["model"].columns_.x == made.checked.columns.x
    # Without `out` nothing is kept, and it can be written later all the same.
    assert not made.plan.folder.exists()
    assert all(path.exists() for path in made.write(tmp_path / "found"))


def test_a_comparison_of_log_y_says_so_in_its_lines():
    frame = table().assign(when=range(200), grows=np.arange(200) + 0.5, code=[0, 1] * 100)
    frame["price"] = np.exp(3.0 * frame["price"])
    asked = {"methods": ["KernelCDE"], "splits": 5, "lower": 0.0, "levels": ["code"]}
    made = kcde.compare(frame, "price", **asked, time_column="when")
    assert "'grows'" in made.warnings[-1]
    assert made.by_split[["log_density", "crps"]].notna().all(axis=None)
    assert "levels=['code'], lower=0.0)" in page.python_lines(made)


def test_a_stopped_comparison_goes_on(found, monkeypatch):
    folder = found[1]
    before = (folder / "comparison.csv").read_bytes()
    monkeypatch.setattr(running.Workers, "score", None)  # nothing is left to do
    options = {"methods": [GP, "LSCDE-exact"], "splits": 4, "out": folder}
    kcde.compare(table(), "price", **options)
    assert (folder / "comparison.csv").read_bytes() == before
    with pytest.raises(ValueError, match="other data"):
        kcde.compare(table(50), "price", **options)


def test_a_mixture_is_scored_with_the_weights_that_the_other_splits_give(tmp_path, monkeypatch):
    asked = {"methods": ["LinearGaussian", "KernelCDE", STACKED], "splits": 3, "out": tmp_path}
    made = kcde.compare(table(), "price", **asked)
    scores, said = made.run.scores, [each.said for each in made.run.scores[STACKED]]
    parts = [BASELINE, "LinearGaussian", "KernelCDE"]
    held = [np.stack([scores[m][i].arrays["log_density"] for m in parts], 1) for i in range(3)]
    for i, others in enumerate(([1, 2], [0, 2], [0, 1])):
        weights = stacking_weights(np.concatenate([held[j] for j in others])).round(3)
        options = said[i]["options"]
        assert options["estimators"] == [m for m, w in zip(parts, weights, strict=True) if w]
        assert options["weights"] == weights[weights > 0].tolist()
        mixed = np.log(np.exp(held[i]) @ weights / weights.sum())
        np.testing.assert_allclose(scores[STACKED][i].arrays["log_density"], mixed)
    # It had the fits of its parts, which are not kept: fitted again they say the same.
    assert not list(tmp_path.rglob("*.kcde"))
    place = made.plan, made.run.rows, 0
    again = running.score(STACKED, *place, said[0]["options"]).arrays
    np.testing.assert_equal(again, scores[STACKED][0].arrays)
    running.score("LinearGaussian", *place)
    (kept,) = tmp_path.rglob("*.kcde")
    shutil.move(kept, str(kept).replace("LinearGaussian", "KernelCDE"))
    other = running.score(STACKED, *place, said[0]["options"]).arrays
    assert (other["log_density"] != again["log_density"]).all()
    whole = stacking_weights(np.concatenate(held)).round(3)
    assert made.run.stack["weights"] == whole[whole > 0].tolist()
    later = asked | {"out": None, "time_column": "t"}
    run = kcde.compare(table().assign(t=range(200)), "price", **later).run
    earliest = np.stack([run.scores[m][2].arrays["log_density"] for m in parts], 1)
    options = [each.said["options"]["weights"] for each in run.scores[STACKED]]
    weights = stacking_weights(earliest).round(3)
    assert options[1:] == [weights[weights > 0].tolist(), [0.333] * 3]
    with monkeypatch.context() as patch:
        patch.setattr(running.Workers, "score", None)  # nothing is left to do
        kcde.compare(table(), "price", **asked)
    rounded = table().assign(price=lambda f: f["price"].round())
    tied = kcde.compare(rounded, "price", methods=asked["methods"][1:], splits=3)
    assert STACKED in tied.run.skipped
    assert [label for label, *_ in page.cards(tied)][2:] == ["typical error of price", "first in"]


def test_shards_leave_only_the_mixture_to_a_comparison(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "FIRST_ROWS", 80)
    asked = {"methods": ["LinearGaussian", "KernelCDE", STACKED], "splits": 3}
    whole = kcde.compare(table(), "price", **asked)
    said, score, rest = [], running.Workers.score, []
    asked |= {"out": tmp_path, "say": said.append}
    for part in (1, 2):
        assert kcde.compare(table(), "price", **asked, shard=(part, 2)) is None
    assert sum(line.startswith("KernelCDE: splits") for line in said) == 2
    patched = lambda self, method, *args: rest.append(method) or score(self, method, *args)  # noqa: E731
    monkeypatch.setattr(running.Workers, "score", patched)
    made = kcde.compare(table(), "price", **asked)
    assert rest == [STACKED]
    assert made.run.rows == whole.run.rows == 160
    same = ["method", "rank", "log_density", "crps", "n_train", "splits"]
    pd.testing.assert_frame_equal(made.table[same], whole.table[same])
    for wrong in ({"shard": (3, 2), "out": tmp_path}, {"shard": (1, 2), "out": None}):
        with pytest.raises(ValueError, match="a part and the number of parts"):
            kcde.compare(table(), "price", **asked | wrong)


def test_the_advised_method_is_fitted_to_no_more_rows_than_there_was_time_for(monkeypatch):
    monkeypatch.setattr(running, "FIRST_ROWS", 80)
    monkeypatch.setattr(running, "_grown", lambda *args: False)
    made = kcde.compare(table(300), "price", methods=["KernelCDE"], splits=2)
    assert made.advice.method == "KernelCDE"
    assert made.model.about_["rows"] == made.run.rows == 80


def test_every_method_is_listed_once_and_can_be_compared():
    listed = running.all_methods()
    assert len(set(listed)) == len(listed) >= 14
    assert [shown(key_of(name)) for name in listed] == listed
    # One without a declared cost counts as expensive.
    assert set(listed) == set(running._declared())


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"methods": ["KCEF-F"]}, "joint"),
        ({"groups": "g", "time_column": "t"}, "--groups"),
        ({"splits": 1}, "splits"),
    ],
)
def test_options_that_contradict_are_refused(options, word):
    with pytest.raises(ValueError, match=word):
        kcde.compare(table().assign(g=range(200), t=range(200)), "price", **options)


def test_methods_whose_library_is_missing_are_said_in_one_line(monkeypatch):
    monkeypatch.setattr(comparison, "CONTENDERS", ("LinearGaussian", "NGBoost", "NADE"))
    monkeypatch.setattr(rows, "find_spec", lambda module: None)
    said = []
    made = kcde.compare(table(), "price", splits=3, say=said.append)
    assert set(made.run.skipped) == {"NADE", "NGBoost"}
    assert sum("kcde[networks]" in line and "kcde[trees]" in line for line in said) == 1
    with pytest.raises(ValueError, match=r"NADE.*kcde\[networks\]"):
        kcde.compare(table(), "price", methods=["NADE"])


def test_durations_and_names_of_options_are_read():
    assert [duration(text, "-b") for text in ("90s", "10m", "2h", "5")] == [90, 600, 7200, 5]
    assert names('a, "b,c",d', "--x") == ["a", "b,c", "d"]
    for text in ("ten", "0s", "-1m"):
        with pytest.raises(ValueError, match="must be a time as 90s"):
            duration(text, "--budget")
    with pytest.raises(ValueError, match="each once"):
        names("a,a", "--x")


@pytest.fixture
def plan(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=6000), "y": rng.normal(size=6000)})
    return running.make(check(frame, "y"), tmp_path, count=5)


@pytest.fixture
def run(plan, monkeypatch):
    """Let methods take so many seconds a split of 500 rows, of a made-up clock, and score so."""

    def run(seconds, budget, scores=(), exponent=1.0):
        clock = [0.0]

        def score(workers, method, rows, numbers, left):
            for number in numbers:
                needed = seconds[method] * (rows / 500) ** exponent
                if needed > left:
                    return ""
                left -= needed
                clock[0] += needed
                said = {"status": "ok", "seconds": needed}
                said["log_density"] = dict(scores).get(method, 0.0)
                running.write(plan, method, rows, number, running.Scored(said, {}))
            return ""

        monkeypatch.setattr(running.Workers, "score", score)
        monkeypatch.setattr(running.time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(running, "_declared", lambda: dict.fromkeys(seconds, (1.0, 1.0)))
        return running.run(plan, list(seconds), budget, lambda line: None)

    return run


@pytest.mark.parametrize(
    ("budget", "seconds", "scores", "rows", "splits", "behind", "skipped"),
    [
        # Two splits of both on 500 and on 2000 rows take 20 s, those on 4800 further 38 s.
        (1000.0, {A: 1.0, B: 1.0}, {}, 4800, 5, {}, []),
        (75.0, {A: 1.0, B: 1.0}, {}, 4800, 2, {}, []),
        # What is too slow for more rows is left, unless it is the first so far.
        (120.0, {A: 1.0, B: 15.0}, {A: 1.0}, 4800, 5, {B: 500}, []),
        (120.0, {A: 1.0, B: 15.0}, {B: 1.0}, 500, 5, {}, []),
        # The next step of the more useful comes first.
        (120.0, {A: 6.0, B: 6.0}, {A: 1.0}, 2000, 3, {B: 500}, []),
        (120.0, {A: 1.0, B: 1000.0}, {}, 4800, 5, {}, [B]),
    ],
)
def test_who_gets_the_time(plan, run, budget, seconds, scores, rows, splits, behind, skipped):
    assert running.sizes(plan) == [500, 2000, 4800]
    found = run(seconds, budget, scores)
    assert (found.rows, found.splits) == (rows, list(range(splits)))
    assert {name: reached for name, (reached, _) in found.behind.items()} == behind
    assert set(found.scores) == {A, B} - {*behind, *skipped}
    assert list(found.skipped) == skipped
    assert all(why.endswith(running.REMEDY) for why in found.skipped.values())


@pytest.mark.parametrize("error", [InsufficientMemory("7 rows fit"), np.linalg.LinAlgError("no")])
def test_what_fails_is_a_result_with_the_reason(plan, monkeypatch, error):
    monkeypatch.setattr(running, "_scores", Mock(side_effect=error))
    said = running.score(GP, plan, 500, 0).said
    assert (said["status"], said["detail"]) == ("failed", f"{type(error).__name__}: {error}")
    run = running.Run(500, scores={GP: []}, splits=[])
    assert not len(by_split(run))


@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_split_with_a_damaged_or_missing_file_is_scored_again(plan, damage):
    running.write(plan, GP, 500, 0, running.Scored({"status": "ok"}, {"pit": np.zeros(3)}))
    assert running._missing(plan, GP, 500, [0, 1]) == [1]
    path = running.path_of(plan, GP, 500, 0)
    path.unlink() if damage is None else path.write_bytes(damage)
    assert running._missing(plan, GP, 500, [0, 1]) == [0, 1]


def test_scores_do_not_depend_on_processes_and_one_that_fails_is_named(found):
    plan = replace(found[0].plan, folder=found[1] / "again")
    workers = running.Workers(plan, 300.0, 2)
    assert "no method" in workers.score("None", 160, [0], 60.0)
    assert workers.score(GP, 160, [0, 1], 60.0) == ""
    assert workers.score("KCEF-LL", 160, [0, 1, 2], 0.1) == ""  # stopped
    workers.stop()
    for number in (0, 1):
        said, kept = running.read(plan, GP, 160, number).said, found[0].run.scores[GP]
        assert said | {"seconds": 0.0} == kept[number].said | {"seconds": 0.0}
    assert running._missing(plan, "KCEF-LL", 160, [0, 1, 2])


def test_pages_keep_the_digits_that_tell_rows_apart_and_say_where_a_bar_is_cut():
    shown = [page._text(value) for value in (1.7e9 + 3, 9999.6, np.int64(2024), 0.123456, "a")]
    assert shown == ["1700000003", "10000", "2024", "0.1235", "a"]
    drawn = page.fan("price", np.array([1950, 2020]), np.arange(10.0).reshape(2, 5), table(2))
    assert "2 at 1950 to 7 at 2020" in drawn.alternative
    checked = check(table().assign(rooms=[1.0, np.nan, 2.0, 3.0] * 50), "price", missing="indicate")
    drawn = page.fans(TableModel("LinearGaussian", "price").fit_checked(checked), checked)
    assert not [each for each in drawn if "nan" in each.alternative]
    assert page.pit("KCEF", np.linspace(0, 1, 200)).caption == "KCEF"
    assert "highest bar is 20.0" in page.pit("KCEF", np.zeros(50)).caption
