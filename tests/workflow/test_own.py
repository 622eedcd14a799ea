"""A table of one's own in the configuration, and `snakemake own` beside `kcde compare`."""

import copy
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from plans import LISTING, Plan
from snakemake.exceptions import WorkflowError
from typer.testing import CliRunner

import kcde
from kcde import cli, comparison, tabular
from kcde.comparison import costs, scoring, worker
from kcde.comparison import plan as plans
from kcde.data import catalogue as tables
from lib import config as configuration
from lib import own, resources

ROOT = Path(__file__).parents[2]
CATALOGUE = tables.by_any_name(tables.read())
METHODS = ["LinearGaussian", "LSCDE-exact"]


def houses(n=60):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"area": rng.normal(size=n), "rooms, all": rng.integers(1, 6, n)})
    frame["price"] = np.sin(frame["area"]) + 0.3 * rng.normal(size=n)
    return frame


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return "houses.csv"


def chosen(config, **keys):
    changed = copy.deepcopy(config)
    changed["experiments"]["own"] = keys
    return changed


def whole(config, **keys):
    return chosen(config, **{"file": "houses.csv", "y": "price", "methods": METHODS} | keys)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"file": "a.csv"}, ["`experiments.own` lacks the key `y`, `methods`"]),
        ({"splits": 1}, ["`experiments.own.splits` is 1", "a whole number from 2"]),
        ({"fiel": "a.csv"}, ["unknown key `experiments.own.fiel` (did you mean `file`?)"]),
        ({"y": 3}, ["`experiments.own.y` is 3", "the name of a column"]),
    ],
)
def test_a_wrong_block_is_refused(config, keys, words):
    with pytest.raises(configuration.ConfigurationError) as caught:
        configuration.check(chosen(config, **keys), ROOT, CATALOGUE)
    assert all(each in str(caught.value) for each in words), caught.value


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"groups": "a", "time_column": "b"}, ["has both `groups` and `time_column`"]),
        ({"methods": ["LSCDE-exat"]}, ["names 'LSCDE-exat' (did you mean `LSCDE-exact`?)"]),
        ({"methods": ["KCEF-F"]}, ["names 'KCEF-F', which has a `graph`"]),
        ({"methods": ["JDL"]}, ["names JDL, which cannot be compared: it has no density"]),
        (
            {"methods": ["NADE-joint"]},
            ["names NADE-joint, which cannot be compared: it is a joint"],
        ),
    ],
)
def test_a_whole_block_with_a_mistake_is_refused(config, keys, words):
    with pytest.raises(configuration.ConfigurationError) as caught:
        configuration.check(whole(config, **keys), ROOT, CATALOGUE)
    assert all(each in str(caught.value) for each in words), caught.value


def test_methods_that_the_configuration_changes_are_refused(config):
    changed = whole(config)
    changed["methods"]["LSCDE-exact"] = {"estimator": "LSCDE", "options": {"n_centres": 7}}
    with pytest.raises(configuration.ConfigurationError, match="LSCDE-exact, which `methods`"):
        configuration.check(changed, ROOT, CATALOGUE)


def test_a_right_block_changes_no_figure(config, file):
    standing = configuration.default(ROOT)
    changed = whole(config, groups="rooms, all")
    configuration.check(changed, ROOT, CATALOGUE)
    assert configuration.figures_folder(changed, ROOT, "laptop") == "figures"
    assert own.section(standing) == {}
    assert own.table(changed) == file


def test_the_file_and_its_columns_are_looked_at_when_the_target_is_asked_for(config, file):
    for keys, said in (
        ({"file": "house.csv"}, "there is no file house.csv"),
        ({"y": "prize"}, r"own.y` names 'prize' \(did you mean `price`\?\)"),
        ({"x": ["area", "room"]}, "own.x` names 'room'"),
        ({"time_column": "date"}, "own.time_column` names 'date'"),
        ({"delimiter": ";"}, "looks divided by a comma"),
    ):
        changed = whole(config, **keys)
        configuration.check(changed, ROOT, CATALOGUE)
        with pytest.raises(WorkflowError, match=said):
            own.page(changed)


def test_the_time_of_a_method_follows_from_its_cost_and_the_rows(config, file):
    table = resources.ResourceTable(whole(config, splits=5), ROOT, CATALOGUE)
    seconds = costs.start_seconds() + 5 * costs.cost("KCEF-LL").at(0.8 * 60)
    job = resources.Work("own_score", "laptop", methods=("KCEF-LL",))
    assert table.seconds(job) == pytest.approx(seconds)
    houses(20_640).to_csv("large.csv", index=False)
    large = resources.ResourceTable(whole(config, splits=5, file="large.csv"), ROOT, CATALOGUE)
    assert large.seconds(job) > 100 * table.seconds(job)
    few = whole(config, splits=5, file="large.csv", rows=48)
    few = resources.ResourceTable(few, ROOT, CATALOGUE)
    assert few.seconds(job) == pytest.approx(seconds)
    assert resources.ResourceTable(config, ROOT, CATALOGUE).seconds(job) == 300


def test_text_of_a_table_that_looks_like_a_number_stays_text():
    given = {"experiments": {"own": {"file": "a.csv", "y": "2", "x": ["1", "nan"], "splits": "5"}}}
    own_part = configuration.typed(given)["experiments"]["own"]
    assert own_part == {"file": "a.csv", "y": "2", "x": ["1", "nan"], "splits": 5}


def test_without_a_table_the_target_says_what_to_write(config):
    with pytest.raises(WorkflowError, match=r"write `own: \{file: houses\.csv, y: price, "):
        own.page(config)


def test_shards_divide_the_splits(config):
    changed = whole(config, splits=5)
    assert own.scored(changed)[0].endswith("own/splits/MarginalKDE/1-of-1.done")
    changed["shards"]["own"] = 3
    assert len(own.scored(changed)) == 3 * (1 + len(METHODS))
    parts = [own.numbers(changed, SimpleNamespace(shard=i, shards="3")) for i in "123"]
    assert parts == ["0 3", "1 4", "2"]
    changed["shards"]["own"] = 99
    assert own.shards(changed) == 5


def test_every_key_is_an_option_of_the_command(config, file):
    schema = configuration.schema(ROOT)["properties"]["experiments"]["properties"]["own"]
    values = {
        "x": ["area", "rooms, all"],
        "groups": "g",
        "time_column": "t",
        "drop": ["d"],
        "missing": "drop",
        "delimiter": ",",
        "decimal": ".",
        "splits": 3,
        "rows": 0,
        "seed": 1,
    }
    assert {"file", "y", "methods", *values} == set(schema["properties"])
    changed = whole(config, **values)
    done = CliRunner().invoke(
        cli.app, ["compare", *shlex.split(own.flags(changed)), "--step", "none"]
    )
    assert "--step must be plan or page" in str(done.exception)


@pytest.mark.slow
def test_steps_give_what_the_whole_gives(file, tmp_path):
    """A plan, each method's splits by themselves, and the page, in processes of a cluster."""
    frame = tabular.read(file)
    folder, say = tmp_path / "steps", lambda line: None
    prepared = comparison.prepare(frame, "price", folder=folder, splits=3)
    methods = comparison.compared(["LinearGaussian"])
    with pytest.raises(ValueError, match="LinearGaussian has no result of the splits 0, 1, 2"):
        comparison.running.collected(prepared.plan, methods)
    for method in methods:
        worker.work(folder, method, [2, 0])
        worker.work(folder, method, [1])
    run = comparison.running.collected(prepared.plan, methods)
    found = comparison.finish(prepared, run, say=say)
    one = kcde.compare(frame, "price", methods=["LinearGaussian"], splits=3, budget=120)
    for ours, theirs in ((found.table, one.table), (found.by_split, one.by_split)):
        pd.testing.assert_frame_equal(ours.drop(columns="seconds"), theirs.drop(columns="seconds"))
    assert found.advice == one.advice


def test_a_method_that_memory_does_not_suffice_for_has_a_result_of_every_split(
    file, tmp_path, monkeypatch
):
    comparison.prepare(tabular.read(file), "price", folder=tmp_path / "plan", splits=3)
    asked = []

    def refuse(method, plan, number):
        asked.append(number)
        return scoring.Scored({"status": scoring.TOO_LARGE, "detail": "at most 7 rows"}, {})

    monkeypatch.setattr(scoring, "score", refuse)
    worker.work(tmp_path / "plan", "GP-ML", [0, 1, 2])
    assert asked == [0]
    run = comparison.running.collected(plans.load(tmp_path / "plan"), ["GP-ML"])
    assert run.skipped == {"GP-ML": "at most 7 rows"}


@pytest.mark.slow
@pytest.mark.workflow
def test_the_target_gives_the_scores_of_the_command(snakemake, project, tmp_path):
    houses().to_csv(project / "houses.csv", index=False)
    (project / "mine.yaml").write_text(
        "experiments: {own: {file: houses.csv, y: price, methods: [LinearGaussian], splits: 3}}\n"
        "shards: {own: 2}\n"
    )
    asked = snakemake("own")
    assert asked.returncode
    assert "`experiments.own` names no table: write" in asked.stderr
    done = snakemake("own", "--configfile", "mine.yaml", "--cores", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "own score: LinearGaussian, part 2 of 2" in done.stderr
    made = project / "results/laptop/own"
    kcde.compare(houses(), "price", methods=["LinearGaussian"], splits=3, out=tmp_path)
    for name in ("comparison.csv", "splits.csv"):
        ours, theirs = (pd.read_csv(f / name).drop(columns="seconds") for f in (made, tmp_path))
        pd.testing.assert_frame_equal(ours, theirs)
    assert (made / "comparison.html").stat().st_size > 10_000
    assert (made / "comparison.png").read_bytes() == (tmp_path / "comparison.png").read_bytes()
    again = snakemake("own", "--configfile", "mine.yaml", "--cores", "1")
    assert "Nothing to be done" in again.stderr
    template = project / "src/kcde/comparison/page.html.j2"
    template.write_text(template.read_text() + "\n")
    edited = Plan.of(snakemake("own", "--configfile", "mine.yaml", *LISTING))
    assert edited.outputs == ["results/laptop/own/comparison.html"]
