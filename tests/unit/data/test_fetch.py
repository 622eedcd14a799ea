"""Raw data from every source in turn, and what a server or an archive must not do."""

import hashlib
import io
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pytest

from kcde.data import catalogue, fetch

CONTENT = b"a,y\n1,2\n"
OTHER = b"a,y\n3,4\n"
BUNDLED = [entry for entry in catalogue.read().values() if entry.bundled]


def packed(member, content, kind=".zip"):
    buffer = io.BytesIO()
    if kind == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, content)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
            info = tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Serves the bytes of `server.pages`; of what begins with /cut it announces more."""

    def do_GET(self):
        self.server.requests.append(self.path)
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(page) + 5 * self.path.startswith("/cut")))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.pages, http.requests = {}, []
        http.url = f"http://127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
        yield http
        http.shutdown()


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of rows that default to the file toy/toy.csv with CONTENT."""

    def write(*rows):
        digest = hashlib.sha256(CONTENT).hexdigest()
        good = {"name": "toy", "file": "toy/toy.csv", "format": "csv", "sha256": digest}
        good |= {"bytes": str(len(CONTENT))}
        frame = pd.DataFrame([good | row for row in rows], columns=catalogue.COLUMNS)
        frame.to_csv(tmp_path / "catalogue.csv", index=False)
        return tmp_path / "catalogue.csv"

    return write


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder for data, beside one of bundled copies that has CONTENT at toy/toy.csv."""
    monkeypatch.setattr(fetch, "bundled_folder", lambda: tmp_path / "bundled")
    put(tmp_path / "bundled/toy/toy.csv", CONTENT)
    return tmp_path / "data"


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_sources_are_tried_in_turn(server, table, data, tmp_path):
    server.pages = {"/b.csv": OTHER, "/c.csv": CONTENT}
    urls = " | ".join(f"{server.url}/{letter}.csv" for letter in "abcd")
    toy = table({"urls": urls, "bundled": "toy/toy.csv"})
    found = fetch.fetch("toy", data, tmp_path / "mirror", toy)
    assert (found.origin, found.source) == ("original", f"{server.url}/c.csv")
    assert server.requests == ["/a.csv", "/b.csv", "/c.csv"]
    assert files(data) == ["toy/toy.csv"]
    assert fetch.fetch("toy", data, None, toy).origin == "data folder"
    put(found.path, OTHER)
    put(tmp_path / "mirror/toy/toy.csv", CONTENT)
    assert fetch.fetch("toy", data, tmp_path / "mirror", toy).origin == "mirror"
    assert found.path.read_bytes() == CONTENT
    assert len(server.requests) == 3


@pytest.mark.parametrize("kind", [".tar.gz", ".zip"])
def test_an_archive_is_downloaded_once_for_all_its_members(server, table, data, kind):
    name = f"toy{kind}"
    server.pages = {f"/{name}": packed("toy/toy.csv", CONTENT, kind)}
    row = {"urls": f"{server.url}/{name} :: toy/toy.csv"}
    toy = table(row, row | {"name": "two", "file": "two/two.csv"})
    origins = [fetch.fetch(each, data, None, toy).origin for each in ("toy", "two")]
    assert origins == ["original"] * 2
    assert server.requests == [f"/{name}"]
    assert (data / "two/two.csv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("path", "page"), [("/cut", CONTENT), ("/long", CONTENT * 9), ("/other", OTHER), ("/no", None)]
)
def test_of_a_bad_download_nothing_is_left_but_the_bundled_copy(server, table, data, path, page):
    server.pages = {path: page}
    toy = table({"urls": f"{server.url}{path}", "bundled": "toy/toy.csv"})
    found = fetch.fetch("toy", data, None, toy)
    assert found.origin == "bundled"
    assert len(found.failed) == 1
    assert files(data) == ["toy/toy.csv"]


@pytest.mark.parametrize(
    "archive",
    [
        packed("toy/toy.csv", CONTENT + b"5", ".tar.gz"),
        packed("toy/toy.csv", bytes(10**6)),
        packed("toy/toy.csv", OTHER),
        packed("other.csv", CONTENT, ".tar.gz"),
        packed("toy/toy.csv", CONTENT)[:60],
    ],
    ids=["large", "bomb", "other", "without", "cut"],
)
def test_of_a_bad_archive_nothing_is_left(server, table, data, archive):
    server.pages = {"/toy": archive}
    toy = table({"urls": f"{server.url}/toy :: toy/toy.csv"})
    with pytest.raises(fetch.UnavailableError, match="toy"):
        fetch.fetch("toy", data, None, toy)
    assert files(data) == []


@pytest.mark.parametrize("place", ["mirror", "bundled"])
@pytest.mark.parametrize("content", [CONTENT + b"5,6\n", OTHER])
def test_a_wrong_copy_is_refused(table, data, tmp_path, place, content):
    put(tmp_path / place / "toy/toy.csv", content)
    row = table({"bundled": "toy/toy.csv" if place == "bundled" else ""})
    with pytest.raises(fetch.UnavailableError, match="toy"):
        fetch.fetch("toy", data, tmp_path / "mirror", row)
    assert files(data) == []


def test_without_a_checksum_nothing_is_downloaded(server, table, data):
    toy = table({"sha256": "", "urls": f"{server.url}/toy.csv"})
    with pytest.raises(fetch.UnavailableError, match="toy"):
        fetch.fetch("toy", data, None, toy)
    assert server.requests == []


def test_all_but_pems_sf_is_bundled_with_its_licence_and_checksum_on_the_page():
    folder = Path(__file__).parents[3] / "resources/data"
    pinned = {entry.name for entry in catalogue.read().values() if entry.sha256}
    assert pinned - {entry.name for entry in BUNDLED} == {"pems-sf"}
    page = (folder / "README.md").read_text(encoding="utf-8")
    _, _, apart = page.partition("## For research only")
    for entry in BUNDLED:
        assert (folder / entry.bundled).is_file()
        (line,) = [each for each in page.splitlines() if each.startswith(f"| {entry.name} ")]
        licence = entry.licence.replace("|", "or")
        shown = [entry.bundled, entry.citation, entry.sha256, entry.urls[0].url, licence]
        assert all(text in line for text in shown)
        research = entry.licence.startswith("free for research")
        assert research == (line in apart) == entry.bundled.startswith("research-only/")
