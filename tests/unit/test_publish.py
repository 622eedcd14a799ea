"""Publishing, from files alone."""

import errno
import json
import shutil

import pytest
from kcde.publish import publish


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


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


def test_publish_refuses_a_scale_that_was_not_run(tmp_path):
    with pytest.raises(ValueError, match="run that scale first"):
        publish(tmp_path / "results/paper", tmp_path / "figures")
