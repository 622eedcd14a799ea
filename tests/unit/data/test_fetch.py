"""Raw data from every source in turn, and what a server or an archive must not do."""

import csv
import gzip
import hashlib
import io
import subprocess
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kcde.cli import app
from kcde.data import catalogue, fetch, loaders

CONTENT = b"a,y\n1,2\n"
OTHER = b"a,y\n3,4\n"
ROOT = Path(__file__).parents[3]
BUNDLED = [entry for entry in catalogue.read().values() if entry.bundled]


def tar_of(member, content):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zip_of(member, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, content)
    return buffer.getvalue()


class Server:
    """A web server on this machine: `pages` maps a path to bytes, a status or a behaviour."""

    def __init__(self):
        self.pages, self.requests = {}, []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.path)
                page = server.pages.get(self.path, 404)
                if isinstance(page, int):
                    self.send_error(page)
                    return
                if page == "silent":
                    time.sleep(0.6)
                    return
                self.send_response(200)
                if page == "cut":
                    self.send_header("Content-Length", str(len(CONTENT)))
                self.end_headers()
                with suppress(OSError):
                    if page == "cut":
                        self.wfile.write(CONTENT[:3])
                    while page in ("endless", "drip"):
                        self.wfile.write(CONTENT if page == "endless" else b"a")
                        time.sleep(0.0 if page == "endless" else 0.02)
                    if isinstance(page, bytes):
                        self.wfile.write(page)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetch, "TIMEOUT", (0.3, 0.3))
    monkeypatch.setattr(fetch, "_unreachable", set())
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of rows that default to the file toy/toy.csv with CONTENT."""

    def write(*rows):
        digest = hashlib.sha256(CONTENT).hexdigest()
        good = {"name": "toy", "file": "toy/toy.csv", "format": "csv", "sha256": digest}
        with (tmp_path / "catalogue.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, catalogue.COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(good | {"bytes": str(len(CONTENT))} | row for row in rows)
        return tmp_path / "catalogue.csv"

    return write


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """A folder of bundled copies that has CONTENT at toy/toy.csv."""
    monkeypatch.setattr(fetch, "bundled_folder", lambda: tmp_path / "bundled")
    put(tmp_path / "bundled/toy/toy.csv", CONTENT)
    return tmp_path / "bundled"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# ---- sources -------------------------------------------------------------------------------------


def test_sources_are_tried_in_turn(server, table, data, tmp_path, copies):
    server.pages = {"/b.csv": OTHER, "/c.csv": CONTENT}
    urls = " | ".join(f"{server.url}/{letter}.csv" for letter in "abcd")
    toy = table({"urls": urls, "bundled": "toy/toy.csv"})
    found = fetch.fetch("toy", data, tmp_path / "mirror", toy)
    assert (found.origin, found.source) == ("original", f"{server.url}/c.csv")
    reasons = ["No such file", "404", "does not match the known hash"]
    assert all(why in each for why, each in zip(reasons, found.failed, strict=True))
    assert server.requests == ["/a.csv", "/b.csv", "/c.csv"]
    assert files(data) == ["toy/toy.csv"]
    assert found.path.stat().st_mode & 0o777 == 0o644
    assert fetch.fetch("toy", data, None, toy).origin == "data folder"
    put(found.path, OTHER)
    put(tmp_path / "mirror/toy/toy.csv", CONTENT)
    again = fetch.fetch("toy", data, tmp_path / "mirror", toy)
    assert (again.origin, again.failed) == ("mirror", (f"{found.path} (wrong checksum)",))
    assert found.path.read_bytes() == CONTENT
    assert len(server.requests) == 3


def test_a_mirror_may_be_an_address(server, table, data):
    server.pages = {"/copies/toy/toy%20%2B.csv": CONTENT}
    toy = table({"file": "toy/toy +.csv", "urls": f"{server.url}/toy.csv"})
    assert fetch.fetch("toy", data, f"{server.url}/copies/", toy).origin == "mirror"
    assert server.requests == ["/copies/toy/toy%20%2B.csv"]


@pytest.mark.parametrize(("name", "pack"), [("toy.tar.gz", tar_of), ("toy.zip", zip_of)])
def test_an_archive_is_downloaded_once_for_all_its_members(server, table, data, name, pack):
    server.pages = {f"/{name}": pack("toy/toy.csv", CONTENT)}
    row = {"urls": f"{server.url}/{name} :: toy/toy.csv"}
    toy = table(row, row | {"name": "two", "file": "two/two.csv"})
    assert [fetch.fetch(each, data, None, toy).origin for each in ("toy", "two")] == [
        "original"
    ] * 2
    assert server.requests == [f"/{name}"]
    assert (data / "two/two.csv").read_bytes() == CONTENT


def test_a_compressed_member_is_decompressed(tmp_path):
    put(tmp_path / "a.zip", zip_of("toy.csv.gz", gzip.compress(CONTENT)))
    fetch.extract(tmp_path / "a.zip", "toy.csv.gz", tmp_path / "toy.csv", 100)
    assert (tmp_path / "toy.csv").read_bytes() == CONTENT


# ---- what must not happen ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("silent", "timed out"),
        ("drip", "too slow after"),
        ("endless", "it sends more than 8 bytes"),
        ("cut", "IncompleteRead"),
        (OTHER, "does not match the known hash"),
        (503, "503"),
    ],
)
def test_a_bad_download_ends_and_the_bundled_copy_is_taken(
    server, table, data, monkeypatch, copies, page, reason
):
    if page == "drip":
        monkeypatch.setattr(fetch, "PATIENCE", 0.1)
        monkeypatch.setattr(fetch, "SLOWEST", 1e9)
    server.pages = {"/toy.csv": page}
    toy = table({"urls": f"{server.url}/toy.csv", "bundled": "toy/toy.csv"})
    started = time.monotonic()
    found = fetch.fetch("toy", data, None, toy)
    assert time.monotonic() - started < 2
    assert found.origin == "bundled"
    assert reason in found.failed[0]
    assert files(data) == ["toy/toy.csv"]


BOMB = bytes(10**6)


@pytest.mark.parametrize(
    ("name", "archive", "reason"),
    [
        ("toy.tar.gz", tar_of("toy/toy.csv", CONTENT + b"5"), "holds more than 8 bytes"),
        ("toy.zip", zip_of("toy/toy.csv", BOMB), "holds more than 8 bytes"),
        ("toy.zip", zip_of("toy/toy.csv", OTHER), "wrong checksum"),
        ("toy.zip", zip_of("other.csv", CONTENT), "no item named"),
        ("toy.tar.gz", tar_of("other.csv", CONTENT), "not found"),
        ("toy.tar.gz", gzip.compress(BOMB), "unpacks to more than"),
        ("toy.tar.gz", tar_of("toy/toy.csv", CONTENT)[:60], "end-of-stream marker"),
        ("toy.zip", zip_of("toy/toy.csv", CONTENT)[:60], "toy/toy.csv"),
        ("toy.zip", b"<html>", "toy/toy.csv"),
        ("toy.zip", "endless", "it sends more than 50000 bytes"),
    ],
    ids=range(10),  # archives hold the time at which they were made
)
def test_of_a_bad_archive_nothing_is_left(server, table, data, monkeypatch, name, archive, reason):
    monkeypatch.setattr(fetch, "UNPACKED", 10**5)
    monkeypatch.setattr(fetch, "LARGEST_ARCHIVE", 50_000)
    server.pages = {f"/{name}": archive}
    toy = table({"urls": f"{server.url}/{name} :: toy/toy.csv"})
    with pytest.raises(fetch.UnavailableError, match=reason):
        fetch.fetch("toy", data, None, toy)
    assert files(data) == []


@pytest.mark.parametrize("place", ["mirror", "bundled"])
@pytest.mark.parametrize("content", [CONTENT + b"5,6\n", OTHER])
def test_a_wrong_copy_is_refused(table, data, tmp_path, copies, place, content):
    put(tmp_path / place / "toy/toy.csv", content)
    row = table({"bundled": "toy/toy.csv" if place == "bundled" else ""})
    with pytest.raises(fetch.UnavailableError, match=r"more than 8 bytes|wrong checksum"):
        fetch.fetch("toy", data, tmp_path / "mirror", row)
    assert files(data) == []


def test_a_host_without_connection_is_asked_once(server, table, data):
    server.http.shutdown()
    server.http.server_close()
    toy = table({"urls": f"{server.url}/a.csv | {server.url}/b.csv"})
    with pytest.raises(fetch.UnavailableError) as caught:
        fetch.fetch("toy", data, None, toy)
    told = str(caught.value)
    assert "a.csv (ConnectionError: no connection); " in told
    assert "b.csv (ConnectionError: no connection a moment ago)" in told
    # Which data set, and what helps.
    assert all(part in told for part in ("data set toy", "KCDE_DATA_MIRROR", f"{data}/toy/toy.csv"))


def test_without_a_checksum_nothing_is_downloaded(server, table, data):
    toy = table({"sha256": "", "urls": f"{server.url}/toy.csv", "notes": "rewritten"})
    with pytest.raises(fetch.UnavailableError, match="never downloaded: rewritten"):
        fetch.fetch("toy", data, None, toy)
    assert server.requests == []


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_says_what_it_fetched_and_what_it_could_not(table, data, copies):
    digest = hashlib.sha256(CONTENT).hexdigest()
    urls = "http://127.0.0.1:9/toy.csv"
    lost = {"name": "lost", "file": "lost.csv"}
    toy = table({"bundled": "toy/toy.csv", "urls": urls}, lost, {"name": "un", "sha256": ""})
    flags = ["--data-dir", str(data), "--catalogue", str(toy)]
    done = CliRunner().invoke(app, ["fetch", "toy", *flags])
    assert done.exit_code == 0
    path = data / "toy/toy.csv"
    line = f"toy: {path}, from bundled {copies}/toy/toy.csv, sha256 {digest}"
    assert done.stdout.splitlines() == [line]
    assert done.stderr.count("\n") == done.stderr.count("bundled copies") == 1
    done = CliRunner().invoke(app, ["fetch", "all", *flags])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [f"toy: {path}, from data folder, sha256 {digest}"]
    assert "data set lost is unavailable; tried: nothing; remedy:" in done.stderr
    listed = CliRunner().invoke(app, ["fetch", "--list", *flags]).stdout.splitlines()
    assert [each.split()[0] for each in listed] == ["toy", "lost", "un"]
    assert files(data) == ["toy/toy.csv"]


# ---- the bundled copies --------------------------------------------------------------------------


def test_all_but_pems_sf_is_bundled_and_nothing_else_lies_there():
    folder = fetch.bundled_folder()
    assert folder == ROOT / "resources/data"
    pinned = {entry.name for entry in catalogue.read().values() if entry.sha256}
    assert pinned - {entry.name for entry in BUNDLED} == {"pems-sf"}
    told = {"README.md", "research-only/fama_french/TERMS.md"}
    texts = {"licences/GPL-2.txt", "licences/MIT-GP_Derivatives.txt"}
    assert set(files(folder)) == {entry.bundled for entry in BUNDLED} | told | texts
    assert sum((folder / file).stat().st_size for file in files(folder)) < 3.2e6


def test_the_page_of_the_copies_has_the_licence_and_the_checksum_of_each():
    page = (ROOT / "resources/data/README.md").read_text(encoding="utf-8")
    _, _, apart = page.partition("## For research only")
    for entry in BUNDLED:
        (line,) = [each for each in page.splitlines() if each.startswith(f"| {entry.name} ")]
        licence = entry.licence.replace("|", "or")
        shown = [entry.bundled, entry.citation, entry.sha256, entry.urls[0].url, licence]
        assert all(text in line for text in shown)
        research = entry.licence.startswith("free for research")
        assert research == ("French" in entry.licence) == (line in apart)
        assert research == entry.bundled.startswith("research-only/")


@pytest.mark.data
def test_bundled_files_are_there_for_as_long_as_they_are_wanted():
    with fetch.bundled_files(*(entry.name for entry in BUNDLED)) as raw:
        for entry in BUNDLED:
            assert loaders.raw_file(entry, raw).stat().st_size == entry.bytes
    assert not raw.exists()
    with pytest.raises(FileNotFoundError, match="pems-sf"), fetch.bundled_files("pems-sf"):
        pass


def test_no_checkout_changes_the_line_ends_of_the_copies():
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    names = [f"resources/data/{entry.bundled}" for entry in BUNDLED]
    told = subprocess.run(
        ["git", "check-attr", "text", *names], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert {line.rpartition(": ")[2] for line in told.splitlines()} == {"unset"}


def test_without_a_repository_there_are_no_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "__file__", str(tmp_path / "site-packages/kcde/data/fetch.py"))
    (tmp_path / "resources/data").mkdir(parents=True)
    assert fetch.bundled_folder() is None
    with pytest.raises(FileNotFoundError, match="repository"), fetch.bundled_files("geyser"):
        pass
