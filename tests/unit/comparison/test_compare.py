"""A comparison from table to page, with quick methods."""

import gc
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import scoringrules

import kcde
from kcde.cli.own import duration, names
from kcde.comparison import costs, figures, looking, page, plan, running, scoring
from kcde.methods import METHODS
from kcde.seeding import seed_of
from kcde.table_model import TableModel, unfitted

EVIL = '<script>alert("1")</script>&$x'


def table(n=60):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area m²": rng.normal(size=n), EVIL: rng.choice(["<b>", "c", "d"], n)})
    frame["price"] = np.sin(frame["area m²"]) + 0.3 * rng.normal(size=n)
    return frame


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    said = []
    made = kcde.compare(
        table(),
        "price",
        methods=["GP-ML", "LSCDE-exact"],
        splits=3,
        budget=300,
        out=folder,
        source="houses.csv",
        say=said.append,
    )
    return made, folder, said


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


def test_all_methods_have_the_same_splits_and_true_scores(found):
    comparison, folder, _ = found
    assert set(comparison.by_split["method"]) >= {"GP-ML", "LSCDE-exact"}
    assert (comparison.by_split["status"] == "ok").all()
    assert comparison.by_split.groupby("method")["n_test"].apply(tuple).nunique() == 1
    scored = scoring.score("GP-ML", comparison.plan, 0)
    kept = scoring.read(folder, "GP-ML", 0)
    assert kept["log_density"] == scored.said["log_density"]
    inside = np.abs(scored.arrays["pit"] - 0.5) <= 0.45
    assert kept["coverage_90"] == pytest.approx(inside.mean())


def test_crps_is_that_of_scoringrules(found):
    plan = found[0].plan
    split = plan.splits[1]
    X, y = plan.X[split.test], plan.y[split.test]
    model = unfitted("GP-ML", 0).fit(plan.X[split.train], plan.y[split.train])
    expected = scoringrules.crps_normal(y, model.mean(X)[:, 0], np.sqrt(model.variance(X)[:, 0]))
    np.testing.assert_allclose(scoring.arrays(found[1], "GP-ML", 1)["crps"], expected, rtol=1e-6)


def test_the_page_needs_nothing_else_and_escapes_names(found):
    comparison, folder, _ = found
    page = Page((folder / "comparison.html").read_text(encoding="utf-8"))
    assert "script" not in [tag for tag, _ in page.tags]
    assert EVIL in "".join(page.words)
    links = [
        value for _, attrs in page.tags for key, value in attrs.items() if key in ("src", "href")
    ]
    assert links
    assert all(link.startswith("data:") for link in links)
    assert all(attrs.get("alt") for tag, attrs in page.tags if tag == "img")
    assert comparison.advice.sentence in "".join(page.words)


def test_tables_and_terminal_say_the_same(found):
    comparison, folder, said = found
    written = pd.read_csv(folder / "comparison.csv")
    assert list(written["method"]) == list(comparison.table["method"])
    assert (folder / "comparison.png").read_bytes()[:4] == b"\x89PNG"
    lines = str(comparison).splitlines()
    assert len(lines) <= 10
    assert lines[-1] == comparison.advice.sentence
    assert any("left" in line for line in said)


def test_the_six_lines_run(found, tmp_path, monkeypatch):
    comparison, folder, _ = found
    code = re.search(
        r"<pre><code>(.*?)</code>", (folder / "comparison.html").read_text("utf-8"), re.DOTALL
    )[1]
    page = Page(code)
    lines = "".join(page.words)
    assert len(lines.splitlines()) == 6
    table().to_csv(tmp_path / "houses.csv", index=False)
    monkeypatch.chdir(tmp_path)
    place = {}
    exec(lines, place)
    np.testing.assert_allclose(
        place["model"].quantile(table(), [0.5]), comparison.model.quantile(table(), [0.5])
    )


def test_the_lines_leave_out_what_the_comparison_left_out(tmp_path, monkeypatch):
    """A leak and a time among more columns than are named one by one, in a German file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 9)), columns=[*"abcdefghi"])
    frame = frame.assign(price=frame["a"] + rng.normal(size=60), when=range(60))
    frame["leak"] = frame["price"]
    asked = {"methods": ["LinearGaussian"], "splits": 3, "drop": ["leak"], "time_column": "when"}
    reading = {"delimiter": ";", "decimal": ","}
    made = kcde.compare(frame, "price", source="data.csv", reading=reading, **asked)
    lines = page.python_lines(made, "data.csv")
    assert "tabular.read('data.csv', delimiter=';', decimal=',')" in lines
    assert "y='price', drop=['when', 'leak']" in lines
    frame.to_csv(tmp_path / "data.csv", sep=";", decimal=",", index=False)
    monkeypatch.chdir(tmp_path)
    place = {}
    exec(lines, place)
    assert place["model"].columns_.x == made.checked.columns.x
    # Without `out` the scores of the splits are kept as long as the comparison.
    assert all(path.exists() for path in made.write(tmp_path / "found"))
    folder = made.plan.folder
    assert folder.exists()
    del made
    gc.collect()
    assert not folder.exists()


def test_the_lines_predict_where_rows_with_missing_values_were_left_out(tmp_path, monkeypatch):
    frame = table(60).assign(empty=np.nan)
    frame.loc[3, frame.columns[0]] = np.nan
    asked = {"methods": ["LinearGaussian"], "splits": 3, "missing": "drop", "drop": ["empty"]}
    made = kcde.compare(frame, "price", source="data.csv", **asked)
    frame.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)
    place = {}
    exec(page.python_lines(made, "data.csv"), place)
    assert len(place["frame"]) == 59


def test_a_histogram_that_is_cut_says_how_high_it_is():
    assert figures.pit("KCEF", np.linspace(0, 1, 200)).caption == "KCEF"
    assert figures.pit("KCEF", np.zeros(50)).caption == "KCEF (cut at 3; the highest bar is 20.0)"


@pytest.mark.nightly
def test_groups_stay_together_in_the_folds_as_in_the_splits(tmp_path):
    frame = pd.concat([table(12)] * 5, ignore_index=True).assign(person=[*"abcdefghijkl"] * 5)
    frame["price"] += 0.05 * np.random.default_rng(0).normal(size=len(frame))
    asked = {"methods": ["GP-ML", "LSCDE-exact"], "splits": 2, "groups": "person"}
    made = kcde.compare(frame, "price", out=tmp_path, budget=300, source="visits.csv", **asked)
    loaded, split = plan.load(tmp_path), made.plan.splits[0]
    assert loaded.group_column == "person"
    person = frame["person"].to_numpy()
    X, y = loaded.X, loaded.y
    model = unfitted("LSCDE-exact", seed_of("own", "split", 0) % 2**32)
    model.fit(X[split.train], y[split.train], groups=person[split.train])
    scored = scoring.score("LSCDE-exact", loaded, 0)
    assert scored.said["log_density"] == model.score(X[split.test], y[split.test])
    plain = scoring.score("LSCDE-exact", replace(loaded, groups=None), 0)
    assert plain.said["log_density"] != scored.said["log_density"]
    # The advised model is fitted in the same way, and so is that of the page's lines.
    advised = made.advice.method
    again = TableModel(advised, y="price", groups="person").fit(frame)
    np.testing.assert_array_equal(again.quantile(frame, 0.9), made.model.quantile(frame, 0.9))
    assert "groups='person'" in page.python_lines(made, "visits.csv")
    assert " choose without regard to groups." in page.render(made, "visits.csv")


def test_a_stopped_comparison_goes_on(found, monkeypatch):
    folder = found[1]
    before = (folder / "comparison.csv").read_bytes()
    monkeypatch.setattr(running, "_score", None)  # nothing is left to do
    options = {"methods": ["GP-ML", "LSCDE-exact"], "splits": 3, "out": folder}
    kcde.compare(table(), "price", **options)
    assert (folder / "comparison.csv").read_bytes() == before
    with pytest.raises(ValueError, match="has a comparison of other data, columns or splits"):
        kcde.compare(table(50), "price", **options)


def made_plan(tmp_path, n=60):
    rng = np.random.default_rng(0)
    checked = kcde.comparison.tabular.check(
        pd.DataFrame({"x": rng.normal(size=n), "y": rng.normal(size=n)}), "y"
    )
    return plan.make(checked, tmp_path, count=5)


def fake(seconds, monkeypatch, clock):
    """Let each method take so many seconds a split, of a clock that is made up."""

    def score(planned, method, numbers, left, jobs=1):
        for number in numbers:
            if seconds[method] > left:
                return ""
            left -= seconds[method]
            clock[0] += seconds[method]
            scored = scoring.Scored({"status": "ok", "seconds": seconds[method]}, {})
            scoring.write(planned.folder, method, number, scored)
        return ""

    monkeypatch.setattr(running, "_score", score)
    monkeypatch.setattr(running.time, "monotonic", lambda: clock[0])


def test_quick_methods_come_first_and_slow_ones_are_skipped_with_the_size(tmp_path, monkeypatch):
    seconds = {"LSCDE-exact": 1.0, "GP-ML": 1.0, "KCEF-LL": 1.0}
    cost = {"LSCDE-exact": costs.Cost(2.0, 1.0), "GP-ML": costs.Cost(1.0, 1.0)}
    cost["KCEF-LL"] = costs.Cost(10_000.0, 1.0)
    monkeypatch.setattr(costs, "cost", cost.__getitem__)
    fake(seconds, monkeypatch, [0.0])
    said = []
    run = running.run(made_plan(tmp_path), list(seconds), 100.0, said.append)
    assert run.methods == ["GP-ML", "LSCDE-exact", "KCEF-LL"]
    assert list(run.skipped) == ["KCEF-LL"]
    remedy = r"are left, enough for about \d+ rows: a larger --budget, or fewer --rows$"
    assert re.search(remedy, run.skipped["KCEF-LL"])
    assert run.skipped["KCEF-LL"].startswith("3 splits of ")
    assert run.splits == [0, 1, 2, 3, 4]


def test_what_is_too_slow_says_as_many_splits_as_there_are(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "cost", lambda name: costs.Cost(10_000.0, 1.0))
    fake({"KCEF-LL": 1.0}, monkeypatch, [0.0])
    whole = made_plan(tmp_path)
    two = replace(whole, splits=whole.splits[:2])
    run = running.run(two, ["KCEF-LL"], 100.0, lambda line: None)
    assert run.skipped["KCEF-LL"].startswith("2 splits of ")


def test_all_do_as_many_further_splits_as_there_is_time_for(tmp_path, monkeypatch):
    seconds = {"LSCDE-exact": 4.0, "GP-ML": 4.0}
    fake(seconds, monkeypatch, [0.0])
    # 24 s in the first round, 9 s a further split of both, 8 s to start their processes.
    run = running.run(made_plan(tmp_path), list(seconds), 50.0, lambda line: None)
    assert run.splits == [0, 1, 2, 3]


def test_what_fails_or_does_not_fit_is_a_result(found, monkeypatch):
    planned = found[0].plan

    def refuse(error):
        def raising(*_):
            raise error

        monkeypatch.setattr(scoring, "_scores", raising)
        return scoring.score("GP-ML", planned, 0).said

    from kcde.memory import InsufficientMemory

    assert refuse(InsufficientMemory("the largest n that fits is 7"))["status"] == "too large"
    said = refuse(np.linalg.LinAlgError("singular"))
    assert (said["status"], said["detail"]) == ("failed", "LinAlgError: singular")


@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("damage", [b"", b"half", None])
def test_a_split_with_a_damaged_or_missing_file_is_scored_again(place, damage, tmp_path):
    made = made_plan(tmp_path)
    scoring.write(tmp_path, "GP-ML", 0, scoring.Scored({"status": "ok"}, {"pit": np.zeros(3)}))
    assert running._missing(made, "GP-ML", [0, 1]) == [1]
    path = scoring.paths(tmp_path, "GP-ML", 0)[place]
    path.unlink() if damage is None else path.write_bytes(damage)
    assert running._missing(made, "GP-ML", [0, 1]) == [0, 1]


def test_a_worker_that_fails_is_named(tmp_path):
    made = made_plan(tmp_path)
    assert "there is no method 'None'" in running._score(made, "None", [0], 60.0)


def test_scores_do_not_depend_on_the_number_of_processes(found, tmp_path):
    options = {"methods": ["GP-ML", "LSCDE-exact"], "splits": 3, "budget": 300}
    at_once = kcde.compare(table(), "price", jobs=3, out=tmp_path, **options)
    columns = [name for name in found[0].by_split if "seconds" not in name]
    pd.testing.assert_frame_equal(at_once.by_split[columns], found[0].by_split[columns])


def test_every_method_is_listed_once_and_can_be_compared():
    listed = costs.default_methods()
    assert len(set(listed)) == len(listed) >= 14
    assert set(listed) <= set(METHODS)
    # One without a declared cost counts as expensive and is not begun on larger tables.
    assert set(listed) == set(costs.declared())
    assert not {"KEF", "KernelLogisticRegression", "NADE-joint"} & set(listed)
    with pytest.raises(ValueError, match="KCEF-F: it is a joint density"):
        kcde.compare(table(), "price", methods=["KCEF-F"])


def test_options_that_contradict_are_refused(tmp_path):
    with pytest.raises(ValueError, match="--groups or --time-column, not both"):
        kcde.compare(table().assign(g=range(60), t=range(60)), "price", groups="g", time_column="t")
    with pytest.raises(ValueError, match="at least 2 splits"):
        kcde.compare(table(), "price", splits=1)


def test_durations_and_names_of_options_are_read():
    assert [duration(text, "-b") for text in ("90s", "10m", "2h", "5")] == [90, 600, 7200, 5]
    assert names('a, "b,c",d', "--x") == ["a", "b,c", "d"]
    for text in ("ten", "0s", "-1m"):
        with pytest.raises(ValueError, match="must be a time as 90s"):
            duration(text, "--budget")
    with pytest.raises(ValueError, match="each once"):
        names("a,a", "--x")


def test_a_method_that_is_slower_than_declared_leaves_time_for_others(tmp_path, monkeypatch):
    seconds = {"LSCDE-exact": 1.0, "GP-ML": 1000.0}
    declared = {"LSCDE-exact": costs.Cost(2.0, 1.0), "GP-ML": costs.Cost(1.0, 1.0)}
    monkeypatch.setattr(costs, "cost", declared.__getitem__)
    fake(seconds, monkeypatch, [0.0])
    run = running.run(made_plan(tmp_path), list(seconds), 100.0, lambda line: None)
    assert run.compared == ["LSCDE-exact"]
    # Half of the 90 s that two methods share, and the start.
    said = run.skipped["GP-ML"]
    assert said == f"stopped after 49s with 0 of 3 splits of 48 training rows: {running.REMEDY}"


@pytest.mark.parametrize(("each", "compared"), [(14.0, True), (46.0, False)])
def test_the_density_that_ignores_x_may_take_half_of_the_time(
    each, compared, tmp_path, monkeypatch
):
    seconds = {"MarginalKDE": each, "LSCDE-exact": 1.0, "GP-ML": 1.0}
    monkeypatch.setattr(costs, "cost", lambda name: costs.Cost(1.0, 1.0))
    fake(seconds, monkeypatch, [0.0])
    # A third of the 90 s is the share of each.
    run = running.run(made_plan(tmp_path), list(seconds), 100.0, lambda line: None)
    assert run.compared == ["MarginalKDE"] * compared + ["LSCDE-exact", "GP-ML"]


def test_the_density_that_ignores_x_has_what_is_left_in_the_end(tmp_path, monkeypatch):
    seconds = {"MarginalKDE": 20.0, "GP-ML": 1.0}
    monkeypatch.setattr(costs, "cost", lambda name: costs.Cost(1.0, 1.0))
    fake(seconds, monkeypatch, [0.0])
    # Two splits in the half of 90 s, the third after the others.
    run = running.run(made_plan(tmp_path), list(seconds), 100.0, lambda line: None)
    assert run.compared == ["MarginalKDE", "GP-ML"]
    assert run.splits == [0, 1, 2]


def test_what_takes_far_less_comes_before_the_density_that_ignores_x():
    names = ["KCEF", "LinearGaussian", "ResidualKDE", "MarginalKDE"]
    order = ["LinearGaussian", "MarginalKDE", "ResidualKDE", "KCEF"]
    assert costs.by_cost(names, 16_000) == order


def test_a_method_that_is_quicker_than_declared_is_tried_and_scored(tmp_path, monkeypatch):
    # 40 s a split of 48 rows, so that three do not fit into the 90 s.
    declared = {"LSCDE-exact": costs.Cost(1.0, 1.0), "GP-ML": costs.Cost(40.0, 0.0)}
    monkeypatch.setattr(costs, "cost", declared.__getitem__)
    fake({"LSCDE-exact": 1.0, "GP-ML": 1.0}, monkeypatch, [0.0])
    run = running.run(made_plan(tmp_path), list(declared), 100.0, lambda line: None)
    assert run.compared == ["LSCDE-exact", "GP-ML"]


def test_what_was_measured_decides_and_a_flat_cost_names_no_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "cost", lambda name: costs.Cost(40.0, 0.3))
    monkeypatch.setattr(costs.Cost, "at", lambda self, rows: self.seconds)
    fake({"GP-ML": 35.0}, monkeypatch, [0.0])
    run = running.run(made_plan(tmp_path), ["GP-ML"], 100.0, lambda line: None)
    said = "1 split of 48 training rows takes about 39s, 20s are left: "
    assert run.skipped["GP-ML"] == said + running.REMEDY


def test_a_slow_start_of_processes_stops_no_method(tmp_path, monkeypatch):
    clock = [0.0]
    fake({"GP-ML": 1.0, "LSCDE-exact": 1.0}, monkeypatch, clock)
    score = running._score

    def late(planned, method, numbers, left, jobs=1):
        clock[0] += min(20.0, left)
        return score(planned, method, numbers, left - 20.0)

    monkeypatch.setattr(running, "_score", late)
    monkeypatch.setattr(costs, "cost", lambda name: costs.Cost(1.0, 1.0))
    run = running.run(made_plan(tmp_path), ["GP-ML", "LSCDE-exact"], 100.0, lambda line: None)
    assert run.compared == ["GP-ML", "LSCDE-exact"]
    assert run.splits == [0, 1, 2]


def test_one_slow_method_does_not_make_others_count_as_slow(tmp_path, monkeypatch):
    seconds = {"MarginalKDE": 14.0, "LSCDE-exact": 2.0}
    declared = {"MarginalKDE": costs.Cost(1.1, 0.0), "LSCDE-exact": costs.Cost(12.0, 0.0)}
    monkeypatch.setattr(costs, "cost", declared.__getitem__)
    fake(seconds, monkeypatch, [0.0])
    # Times 14/1.1 a split would take 153 s, of which the 48 s left are the fourth part at most.
    run = running.run(made_plan(tmp_path), list(seconds), 100.0, lambda line: None)
    assert run.compared == ["MarginalKDE", "LSCDE-exact"]


def test_numbers_of_rows_keep_the_digits_that_tell_them_apart():
    shown = [looking._text(value) for value in (1.7e9 + 3, 412345.6, np.int64(2024), 0.123456, "a")]
    assert shown == ["1700000003", "412346", "2024", "0.1235", "a"]
