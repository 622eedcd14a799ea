"""The closing summary and publishing, from files alone."""

import errno
import json
import shutil

import pytest

from kcde.publish import publish
from kcde.summary import last_line, summarise
from lib import records

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
    assert any(line.startswith("regenerated kcef fig3 (in") for line in lines)
    assert any("dde table2: geyser not available" in line for line in lines)
    assert any("kcef table1: jobs that it needs did not finish" in line for line in lines)
    told = "geyser: no source has it; error of the last one: no such host"
    assert sum(told in line for line in lines) == 1
    assert sum(REMEDY in line for line in lines) == 1
    assert "unasked" not in closing.text
    (failed,) = (line for line in lines if line.startswith("failed jobs"))
    assert failed.startswith("failed jobs 1 job: kcde: singular (")
    assert failed.endswith("results/logs/laptop/r_benchmark/engel/KCEF.log)")
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


def test_a_method_that_never_fitted_is_named_with_the_reason(results, tmp_path):
    """As where an option of the configuration is out of range."""
    header, jobs = "dataset,method,status,detail\n", []
    refused, other = "n_centres must be at least 1; got -5", "singular"
    for dataset, statuses in {
        "geyser": [("failed", refused), ("failed", refused), ("failed", other)],
        "engel": [("failed", refused)],
        "crabs": [("failed", refused), ("ok", "")],
    }.items():
        out = results / f"r_benchmark/{dataset}/LSCDE.csv"
        put(out, header + "".join(f"{dataset},LSCDE,{s},{why}\n" for s, why in statuses))
        jobs.append((f"{out}", f"{out}.log"))
    told = summarise(results, tmp_path / "figures", [], jobs=jobs)
    assert f"all fits failed  LSCDE on geyser, LSCDE on engel: {refused}\n" in told.text
    assert "crabs" not in told.text
    assert told.problems == []


def test_jobs_that_wait_are_counted(results, tmp_path):
    waiting = [(str(results / f"r_benchmark/{k}.csv"), str(tmp_path / f"{k}.log")) for k in "ab"]
    closing = summarise(results, tmp_path / "figures", [], jobs=waiting)
    assert "2 jobs; the same command goes on with them" in closing.text
    assert closing.problems == ["2 jobs not finished"]


def test_one_cause_is_one_line_however_many_artefacts(tmp_path):
    """Four artefacts and nine data sets without network, three jobs with one error."""
    results = tmp_path / "results/laptop"
    sets = [f"set{i}" for i in range(9)]
    lost = {"status": "unavailable", "tried": [{"url": "u", "error": "no network"}], "remedy": "r"}
    for name in sets:
        put(tmp_path / f"results/data/{name}.json", lost | {"dataset": name})
    artefacts = [f"kcef/table{i}" for i in range(4)]
    absent = {"status": "not regenerated", "reason": "no data", "remedy": REMEDY, "missing": sets}
    for name in artefacts:
        put(results / f"artefacts/{name}.json", absent)
    logs = [tmp_path / f"{k}.log" for k in range(3)]
    for log in logs:
        put(log, "kcde: no memory (KCDE_TRACEBACK=1 shows where)\n")
    jobs = [(f"{log.with_suffix('.csv')}", f"{log}") for log in logs]
    closing = summarise(results, tmp_path / "figures", artefacts, jobs=jobs)
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    (drawn,) = [line for line in lines if "table0" in line]
    assert "kcef table0, table1, table2, table3: set0" in drawn
    assert "and 3 more" in drawn
    assert sum("no network" in line for line in lines) == 1
    (failed,) = [line for line in lines if "no memory" in line]
    assert failed.startswith("failed jobs 3 jobs: kcde: no memory (")


def test_what_was_interrupted_is_not_called_failed(results, tmp_path):
    log = tmp_path / "results/logs/laptop/r_benchmark/engel/KCEF.log"
    jobs = [(f"{results}/r_benchmark/engel/KCEF.csv", f"{log}")]
    told = summarise(results, tmp_path / "figures", [], jobs=jobs, failed=[])
    assert "failed" not in told.text
    assert "1 job; the same command" in told.text
    told = summarise(results, tmp_path / "figures", [], jobs=jobs, failed=[jobs[0][0]])
    assert "failed jobs      1 job: kcde: singular" in told.text


def test_what_an_earlier_run_left_is_not_called_regenerated(results, tmp_path):
    stale = [results / "artefacts/kcef/fig3.json", results / "scorecard.txt"]
    closing = summarise(results, tmp_path / "figures", ["kcef/fig3"], jobs=[], stale=stale)
    lines = [" ".join(line.split()) for line in closing.text.splitlines()]
    assert not any(line.startswith("regenerated") for line in lines)
    assert any("kcef fig3: jobs that it needs did not finish" in line for line in lines)
    assert any(line.startswith("scorecard not made again") for line in lines)
    assert closing.problems == ["1 artefact not regenerated"]


def test_what_is_drawn_beside_its_scores_is_named_apart(tmp_path):
    results = tmp_path / "results/laptop"
    for name, folder in (("fig3", tmp_path / "figures"), ("table1", results / "figures")):
        record = {"paper": "kcef", "artefact": name, "status": "regenerated"}
        record["files"] = [str(folder / f"kcef/{name}.csv")]
        put(results / f"artefacts/kcef/{name}.json", record)
    said = summarise(results, tmp_path / "figures").text
    assert f"kcef fig3 (in {tmp_path}/figures/)" in said
    assert f"kcef table1 (in {results}/figures/, as {tmp_path}/figures/ has a larger scale)" in said
    assert "has a larger scale" not in summarise(results, results / "figures").text


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
    rows = sorted(row.split(",")[:4] for row in claims[1:])
    assert rows == [["failure-case", "fig3", "holds", "new"], ["other", "table1", "holds", "old"]]


def test_publish_copies_the_readings_of_an_artefact_and_keeps_others(tmp_path):
    drawn, tracked = tmp_path / "results/paper/figures", tmp_path / "figures"
    head = "paper,claim,choice,reading,artefact,verdict,reason,scale,commit\n"
    own, other = "kcef,K7,K-grid,wide,kcef/fig3,{}\n", "kcef,K8,K-nade,joint,kcef/table1,{}\n"
    new, old = "holds,new,paper,b", "fails,old,laptop,a"
    put(drawn / "readings.csv", head + own.format(new) + other.format(new))
    put(tracked / "readings.csv", head + own.format(old) + other.format(old))
    files = [str(drawn / "readings.csv")]
    record = {"paper": "kcef", "artefact": "fig3", "status": "regenerated", "files": files}
    put(tmp_path / "results/paper/artefacts/kcef/fig3.json", record)
    written = [tracked / "readings.csv", tracked / "scales.csv"]
    assert publish(tmp_path / "results/paper", tracked) == written
    found = (tracked / "readings.csv").read_text().splitlines()
    assert [row.split(",")[5:9] for row in found[1:]] == [new.split(","), old.split(",")]
    assert not (tracked / "kcef").exists() or not list((tracked / "kcef").iterdir())


def test_publish_changes_an_artefact_whole_or_not_at_all(tmp_path, monkeypatch):
    drawn, tracked = tmp_path / "results/paper/figures", tmp_path / "figures"
    files = [drawn / f"kcef/fig3.{suffix}" for suffix in ("csv", "md", "png")]
    for path in files:
        put(path, "new")
        put(tracked / "kcef" / path.name, "old")
    record = {"paper": "kcef", "artefact": "fig3", "status": "regenerated"}
    kept = tmp_path / "results/paper/artefacts/kcef/fig3.json"
    put(kept, record | {"files": [f"{path}" for path in files]})
    copyfile = shutil.copyfile

    def full(source, target):
        if target.is_relative_to(tracked) and "md" in target.suffix:
            raise OSError(errno.ENOSPC, "No space left on device")
        return copyfile(source, target)

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space"):
        publish(tmp_path / "results/paper", tracked)
    monkeypatch.setattr(shutil, "copyfile", copyfile)
    found = {path.name: path.read_text() for path in (tracked / "kcef").iterdir()}
    assert found == {f"fig3.{suffix}": "old" for suffix in ("csv", "md", "png")}
    assert len(publish(tmp_path / "results/paper", tracked)) == 4
    put(kept, '{"paper": "kc')
    with pytest.raises(ValueError, match=r"damaged records: .*fig3\.json; run that scale again"):
        publish(tmp_path / "results/paper", tracked)


def test_what_a_killed_process_leaves_stops_no_summary(results, tmp_path):
    for folder in (tmp_path / "results/data", results / "artefacts/kcef"):
        put(folder / ".geyser-abcd1234.json", "")
    put(tmp_path / "results/data/engel.json", '{"status": "avail')
    put(results / "artefacts/kcef/fig3.json", '{"status": "regen')
    closing = summarise(results, tmp_path / "figures")
    assert "fig3.json is damaged; the same command makes it again" in closing.text
    assert "abcd1234" not in closing.text
    assert "2 artefacts not regenerated" in closing.problems


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
    assert any(line.startswith("regenerated cdo fig5 (in") for line in lines)
    (told,) = (k for k, line in enumerate(lines) if line.startswith("optional data"))
    assert "pems-sf: no source has it; error of the last one: no such host" in lines[told]
    assert lines[told].endswith("everything else was made without it")
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


def test_only_readings_that_the_default_run_does_not_make_are_watched(tmp_path):
    path, watched = tmp_path / "readings.csv", {"kcef/table1-readings"}
    assert records.readings(str(path), watched) == ""
    put(path, "claim,artefact,verdict\nK7,kcef/table1,holds\n")
    assert records.readings(str(path), watched) == ""
    rows = path.read_text() + "K7,kcef/table1-readings,holds\n"
    put(path, rows)
    before = records.readings(str(path), watched)
    put(path, rows.replace("table1,holds", "table1,fails"))
    assert records.readings(str(path), watched) == before != ""
    put(path, rows.replace("readings,holds", "readings,fails"))
    assert records.readings(str(path), watched) != before


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("kcde: y is constant (KCDE_TRACEBACK=1 shows where)\n\n", "kcde: y is constant"),
        ("", "nothing was logged: it was killed, as the system does when memory is short, or the"),
        ("backend auto: numpy, because cupy is not installed\n", "is not installed; then it was"),
        ("a LSCDE: 3/12, about 2 s left\n", "2 s left; then it was killed, as the system does"),
    ],
)
def test_a_job_that_could_not_say_why_it_ended_was_killed(tmp_path, log, said):
    path = tmp_path / "a.log"
    path.write_text(log)
    found = last_line(path)
    assert said in found
    assert ("killed" in found) == (not log.startswith("kcde: "))
