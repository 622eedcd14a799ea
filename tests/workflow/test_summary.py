"""The closing summary and the announcement, from files alone."""

import json
from pathlib import Path
from types import SimpleNamespace

import configuration
import planning
import pytest
import resources
import yaml

from kcde.publish import publish
from kcde.summary import bundled_copies, summarise

ROOT = Path(__file__).parents[2]
REMEDY = "name a folder in KCDE_DATA_MIRROR"


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.fixture
def results(tmp_path):
    """One artefact made, one without its data, one whose job failed."""
    results = tmp_path / "results/laptop"
    made = {"status": "regenerated", "reason": "", "remedy": "", "missing": [], "files": []}
    put(results / "artefacts/kcef/fig3.json", made)
    absent = {"status": "not regenerated", "reason": "no data", "remedy": REMEDY}
    put(results / "artefacts/dde/table2.json", absent | {"missing": ["geyser"], "files": []})
    tried = [{"url": "u", "error": "mirror\nempty"}, {"url": "v", "error": "no such host"}]
    lost = {"status": "unavailable", "tried": tried, "remedy": "download v"}
    for name in ("geyser", "unasked"):
        put(tmp_path / f"results/data/{name}.json", lost | {"dataset": name})
    put(tmp_path / "results/data/engel.json", {"status": "available", "dataset": "engel"})
    put(tmp_path / "results/logs/laptop/r_benchmark/engel/KCEF.log", "start\nkcde: singular\n\n")
    put(results / "r_benchmark/engel/LSCDE.csv", "")
    put(tmp_path / "results/logs/laptop/r_benchmark/engel/LSCDE.log", "")
    put(results / "scorecard.txt", "")
    put(tmp_path / "figures/scorecard.md", "# Scorecard\n\n- **kcef**: 1 reproduced\n\n## kcef\n")
    return results


def test_the_summary_says_what_why_and_the_remedy(results, tmp_path):
    expected = ["kcef/fig3", "kcef/table1", "dde/table2"]
    closing = summarise(results, tmp_path / "figures", expected)
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    assert any(line.startswith("regenerated kcef/fig3 (in") for line in lines)
    assert any("dde/table2: needs geyser" in line for line in lines)
    assert any("kcef/table1: jobs that it needs did not finish" in line for line in lines)
    told = "geyser: none of 2 sources had it, the last said: no such host"
    assert sum(told in line for line in lines) == 1
    assert sum(REMEDY in line for line in lines) == 1
    assert "unasked" not in closing.text
    (failed,) = (line for line in lines if line.startswith("failed jobs"))
    assert failed.endswith("results/logs/laptop/r_benchmark/engel/KCEF.log: kcde: singular")
    assert "scorecard kcef: 1 reproduced" in lines
    assert closing.problems == [
        "2 artefacts not regenerated",
        "1 data set not available",
        "1 job not finished",
    ]


def test_all_is_well(results, tmp_path):
    closing = summarise(results, tmp_path / "figures", ["kcef/fig3"], jobs=[])
    assert closing.problems == []
    assert "not" not in closing.text.split("scorecard")[0].replace(str(tmp_path), "")


def test_jobs_that_wait_are_counted(results, tmp_path):
    waiting = [(str(results / f"r_benchmark/{k}.csv"), str(tmp_path / f"{k}.log")) for k in "ab"]
    closing = summarise(results, tmp_path / "figures", [], jobs=waiting)
    assert "2 jobs waiting for the above" in closing.text
    assert closing.problems == ["2 jobs not finished"]


def job(rule, benchmark=None, **wildcards):
    return SimpleNamespace(
        rule=SimpleNamespace(name=rule),
        wildcards=SimpleNamespace(**wildcards),
        benchmark=benchmark,
        output=["o"],
        log=["l"],
    )


def test_what_an_earlier_run_left_is_not_called_regenerated(results, tmp_path):
    stale = [results / "artefacts/kcef/fig3.json", results / "scorecard.txt"]
    closing = summarise(results, tmp_path / "figures", ["kcef/fig3"], jobs=[], stale=stale)
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    assert not any(line.startswith("regenerated") for line in lines)
    assert any("kcef/fig3: jobs that it needs did not finish" in line for line in lines)
    assert any(line.startswith("scorecard not judged again") for line in lines)
    assert closing.problems == ["1 artefact not regenerated"]


@pytest.fixture
def needs():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    return resources.Needs(config, ROOT, configuration.catalogue(ROOT))


def test_the_announcement_heeds_measured_times(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n600.0\t0:10:00\n")
    jobs = [job("r_benchmark", tmp_path / "b.tsv", scale="laptop", method="KCEF")] * 2
    said = planning.announcement(jobs, 2, needs)
    assert "2 jobs (2 r_benchmark), about 10 minutes on 2 cores" in said
    # No more cores than jobs make it shorter.
    assert "about 10 minutes" in planning.announcement(jobs, 64, needs)
    new = [job("unheard_of", tmp_path / "none.tsv")]
    assert "1 job (1 unheard_of), about 60 seconds on 1 core;" in planning.announcement(
        new, 1, needs
    )


def test_jobs_of_several_methods_count_as_one_kind(tmp_path, needs):
    names = ("moments+JDL+CME", "moments+JPDL", "portfolio+JDL")
    jobs = [job(name, tmp_path / "none.tsv", scale="smoke") for name in names]
    usual = {(rule, method): seconds for rule, method, seconds in typical_smoke()}
    total = usual["moments", "JDL+CME"] + usual["moments", "JPDL"] + usual["portfolio", ""]
    said = planning.announcement(jobs, 1, needs)
    assert f"3 jobs (2 moments, 1 portfolio), about {planning.duration(total)}" in said


def typical_smoke():
    """The rule, method and seconds at the scale `smoke` of the rows for all data sets."""
    rows = resources.table(ROOT).items()
    return [(rule, method, float(row["seconds_smoke"])) for (rule, method, d), row in rows if not d]


def test_parts_are_announced_with_their_share_of_the_time(tmp_path, needs):
    part = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL", "shards": "2"}
    alone = needs.seconds(needs.work("r_benchmark", SimpleNamespace(**(part | {"shards": "1"}))))
    halves = [job("r_benchmark_part", tmp_path / "none.tsv", **part)] * 2
    said = planning.announcement(halves, 1, needs)
    total = needs.seconds(needs.work("r_benchmark", SimpleNamespace(**part))) * 2
    assert alone < total < 2 * alone
    assert f"2 jobs (2 r_benchmark_part), about {planning.duration(total)}" in said


def test_a_collecting_job_takes_no_time_of_an_uncut_run(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n600.0\t0:10:00\n")
    needs._config["shards"]["r_benchmark"] = 2
    names = {"scale": "laptop", "dataset": "geyser", "method": "KCEF-LL"}
    said = planning.announcement([job("r_benchmark", tmp_path / "b.tsv", **names)], 1, needs)
    assert "second" in said.partition("about")[2]


def test_a_job_beyond_the_machine_is_warned_of(tmp_path, needs):
    large = {"scale": "laptop", "dataset": "red-wine", "method": "KEF"}
    jobs = [
        job("samples", tmp_path / "b.tsv", **large),
        job("r_benchmark", tmp_path / "b.tsv", scale="laptop", dataset="geyser", method="LSCDE"),
    ]
    wanted = needs.memory(needs.work("samples", SimpleNamespace(**large)))
    jobs[1].output = ["another"]
    (said,) = planning.beyond(jobs, wanted - 1, needs)
    assert "1 job may need more memory" in said
    assert f"{wanted - 1} MiB" in said
    assert f"{wanted} MiB" in said
    assert planning.beyond(jobs, wanted, needs) == []


def test_a_quick_job_without_data_does_not_promise_a_quick_run(tmp_path, needs):
    put(tmp_path / "b.tsv", "s\th:m:s\n0.5\t0:00:00\n")
    jobs = [job("r_benchmark", tmp_path / "b.tsv", scale="laptop", method="a new method")]
    assert "about 10 seconds" in planning.announcement(jobs, 1, needs)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "1 second"), (99, "99 seconds"), (600, "10 minutes"), (7200, "2.0 hours")],
)
def test_durations_in_words(seconds, words):
    assert planning.duration(seconds) == words


def test_publish_copies_what_was_regenerated_and_keeps_other_claims(tmp_path):
    drawn, tracked = tmp_path / "results/paper/figures", tmp_path / "figures"
    put(drawn / "kcef/fig3.csv", "new")
    head = "claim,artefact,verdict,reason\n"
    put(drawn / "kcef/claims.csv", f"{head}failure-case,fig3,holds,new\nother,table1,fails,new\n")
    put(tracked / "kcef/claims.csv", f"{head}other,table1,holds,old\n")
    put(tracked / "dde/table2.csv", "old")
    files = [str(drawn / "kcef/fig3.csv"), str(drawn / "kcef/claims.csv")]
    record = {"paper": "kcef", "artefact": "fig3", "status": "regenerated", "files": files}
    put(tmp_path / "results/paper/artefacts/kcef/fig3.json", record)
    put(drawn / "all_methods.md", "across")
    crossed = {"paper": "across", "artefact": "all_methods", "status": "regenerated"}
    crossed["files"] = [str(drawn / "all_methods.md")]
    put(tmp_path / "results/paper/artefacts/across/all_methods.json", crossed)
    lost = {"paper": "dde", "artefact": "table2", "status": "not regenerated", "files": []}
    put(tmp_path / "results/paper/artefacts/dde/table2.json", lost)
    publish(tmp_path / "results/paper", tracked)
    assert (tracked / "kcef/fig3.csv").read_text() == "new"
    assert (tracked / "all_methods.md").read_text() == "across"
    assert (tracked / "dde/table2.csv").read_text() == "old"
    claims = (tracked / "kcef/claims.csv").read_text().splitlines()
    assert sorted(claims[1:]) == ["failure-case,fig3,holds,new", "other,table1,holds,old"]


def test_publish_refuses_a_scale_that_was_not_run(tmp_path):
    with pytest.raises(ValueError, match="run that scale first"):
        publish(tmp_path / "results/paper", tmp_path / "figures")


def test_optional_data_are_named_but_are_no_problem(results, tmp_path):
    tried = [{"url": "u", "error": "no such host"}]
    lost = {"dataset": "pems-sf", "status": "unavailable", "tried": tried, "remedy": "download u"}
    put(tmp_path / "results/data/pems-sf.json", lost | {"optional": True})
    made = {"status": "regenerated", "reason": "", "remedy": "", "files": []}
    put(results / "artefacts/cdo/fig5.json", made | {"missing": ["pems-sf"]})
    closing = summarise(results, tmp_path / "figures", ["cdo/fig5"], jobs=[])
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    assert closing.problems == []
    assert any(line.startswith("regenerated cdo/fig5 (in") for line in lines)
    (told,) = (k for k, line in enumerate(lines) if line.startswith("optional data"))
    assert "pems-sf: none of 1 source had it, the last said: no such host" in lines[told]
    assert lines[told].endswith("all else was made without")
    assert lines[told + 1] == "download u"
    assert not any(line.startswith(("missing data", "remedy")) for line in lines)
    # Asked for by the job that fetches it, it is no problem either; with others, they are.
    fetched = [(str(tmp_path / "results/data/pems-sf.json"), "fetch.log")]
    assert summarise(results, tmp_path / "figures", [], jobs=fetched).problems == []
    both = summarise(results, tmp_path / "figures", ["cdo/fig5", "dde/table2"], jobs=[])
    assert both.problems == ["1 artefact not regenerated", "1 data set not available"]
    assert both.text.count("download u") == 1
    # Where nobody said that it is optional, it is missed.
    put(tmp_path / "results/data/pems-sf.json", lost)
    needed = summarise(results, tmp_path / "figures", ["cdo/fig5"], jobs=[])
    assert needed.problems == ["1 data set not available"]


def copied(name, offline=True, url="https://a.example/toy"):
    tried = [{"url": url, "error": "e"}, {"url": "/mirror/toy", "error": "no such file"}]
    had = {"dataset": name, "status": "available", "origin": "bundled", "tried": tried}
    return had | {"offline": offline}


def test_bundled_copies_are_told_of_in_one_line(results, tmp_path):
    elsewhere = {"dataset": "engel", "status": "available", "origin": "original", "offline": False}
    assert bundled_copies([]) == bundled_copies([elsewhere]) == ""
    one, two = copied("geyser"), copied("topo", url="https://b.example/toy")
    assert bundled_copies([one, elsewhere]) == "1 data set from the bundled copies: no network"
    assert bundled_copies([one, two]) == "2 data sets from the bundled copies: no network"
    mixed = [one, two | {"offline": False}, copied("mcycle")]
    told = "3 data sets from the bundled copies: 2 addresses did not answer as expected"
    assert bundled_copies(mixed) == told
    # Only what the run asked for counts, and a record of an earlier version has no origin.
    for name in ("geyser", "topo"):
        put(tmp_path / f"results/data/{name}.json", copied(name))
    fetched = [(f"{tmp_path}/results/data/{name}.json", "l") for name in ("geyser", "engel")]
    closing = summarise(results, tmp_path / "figures", [], jobs=fetched)
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    assert lines.count("data 1 data set from the bundled copies: no network") == 1
    assert closing.problems == []
