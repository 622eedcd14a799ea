"""The bundled copies of raw data: their bytes, their licences, and the page that tells of them."""

import hashlib
import subprocess
import tomllib
from pathlib import Path

import pytest

from kcde.data import bundled, catalogue, loaders

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "resources/data"
ENTRIES = [entry for entry in catalogue.read().values() if entry.bundled]


def test_all_but_pems_sf_is_bundled():
    assert len(ENTRIES) == 27
    pinned = [entry.name for entry in catalogue.read().values() if entry.sha256]
    assert set(pinned) - {entry.name for entry in ENTRIES} == {"pems-sf"}


def test_the_folder_is_found_and_holds_nothing_else():
    assert bundled.folder() == FOLDER
    found = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    told = {"README.md", "research-only/fama_french/TERMS.md"}
    texts = {"licences/GPL-2.txt", "licences/MIT-GP_Derivatives.txt"}
    assert found == {entry.bundled for entry in ENTRIES} | told | texts
    size = sum((FOLDER / file).stat().st_size for file in found)
    assert size < 3.2e6


@pytest.mark.data
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_each_copy_has_the_bytes_of_the_catalogue(entry, tmp_path):
    bundled.unpack(entry, FOLDER, tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    assert hashlib.sha256(content).hexdigest() == entry.sha256
    assert len(content) == entry.bytes


@pytest.mark.data
def test_raw_files_are_there_for_as_long_as_they_are_wanted():
    names = "geyser", "metro-traffic-substitute"
    with bundled.raw_files(*names) as raw:
        assert loaders.load("geyser", raw).X.shape == (299, 1)
        # Compressed here, plain there.
        assert (raw / catalogue.read()[names[1]].file).stat().st_size > 1e6
    assert not raw.exists()


def test_what_has_no_copy_is_named():
    with (
        pytest.raises(FileNotFoundError, match="pems-sf has no bundled copy; run kcde fetch"),
        bundled.raw_files("pems-sf"),
    ):
        pass


def test_the_readme_is_made_from_the_catalogue():
    made = bundled.readme(catalogue.read().values())
    kept = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert kept == made, f"write resources/data/README.md anew: {bundled.REMAKE}"
    for entry in ENTRIES:
        (line,) = [line for line in made.splitlines() if line.startswith(f"| {entry.name} ")]
        shown = [entry.bundled, entry.citation, entry.sha256, entry.urls[0].url]
        assert all(text in line for text in [*shown, entry.licence.replace("|", "or")])
    assert "not under the code's licence (MIT)" in made


def test_the_readme_is_made_by_its_command(tmp_path, monkeypatch):
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path)
    assert bundled.write_readme().read_bytes() == (FOLDER / "README.md").read_bytes()
    monkeypatch.setattr(bundled, "folder", lambda: None)
    with pytest.raises(FileNotFoundError, match="installed without its repository; clone"):
        bundled.write_readme()


def test_what_is_for_research_only_lies_apart_with_its_terms():
    french = [entry for entry in ENTRIES if "French" in entry.licence]
    apart = [entry for entry in ENTRIES if entry.bundled.startswith(bundled.RESEARCH_ONLY)]
    assert [entry.name for entry in french] == [entry.name for entry in apart]
    assert len(apart) == 2
    terms = (FOLDER / "research-only/fama_french/TERMS.md").read_text()
    for entry in apart:
        assert entry.licence.startswith("free for research;")
        assert f"`{Path(entry.bundled).name}`" in terms
    page = bundled.readme(ENTRIES)
    before, _, after = page.partition("## For research only")
    assert not any(entry.bundled in before for entry in apart)
    assert "TERMS.md" in after


def test_no_checkout_changes_their_line_ends():
    # Of a copy of the repository without git there is nothing to ask.
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    files = [f"resources/data/{entry.bundled}" for entry in ENTRIES]
    done = subprocess.run(
        ["git", "check-attr", "text", *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert {line.rpartition(": ")[2] for line in done.stdout.splitlines()} == {"unset"}


def test_they_are_no_part_of_the_installed_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["setuptools"]
    assert packages["packages"]["find"]["where"] == ["src"]
    assert FOLDER.is_relative_to(ROOT / "src") is False


def test_without_a_repository_there_is_no_folder(tmp_path, monkeypatch):
    for place in ("site-packages/kcde/data", "src/kcde/data"):
        path = tmp_path / place / "bundled.py"
        path.parent.mkdir(parents=True)
        monkeypatch.setattr(bundled, "__file__", str(path))
        assert bundled.folder() is None
    (tmp_path / "resources/data").mkdir(parents=True)
    assert bundled.folder() == tmp_path.resolve() / "resources/data"
    monkeypatch.setattr(bundled, "__file__", str(tmp_path / "site-packages/kcde/data/b.py"))
    assert bundled.folder() is None
