import csv
import gzip
import hashlib
import io
import json
import lzma
import os
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kcde import cli
from kcde.data import bundled, catalogue, fetch, hosts, synthetic

CONTENT = b"a,y\n1,2\n"
OTHER = b"a,y\n3,4\n"


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def tar_of(members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def send_without_end(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(CONTENT)


def send_elsewhere(handler):
    """Say where else to ask, and then go on without end."""
    handler.send_response(302)
    handler.send_header("Location", "/toy.csv")
    handler.end_headers()
    while True:
        handler.wfile.write(CONTENT)


def drip(handler):
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"a")
        time.sleep(0.05)


def drip_a_header(handler):
    handler.wfile.write(b"HTTP/1.0 200 OK\r\n")
    drip(handler)


def send_a_bomb(handler):
    """Send what the client unpacks by itself to a thousand times its size."""
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(gzip.compress(bytes(10**7)))


ENDLESS = {
    "endless": send_without_end,
    "elsewhere": send_elsewhere,
    "drip": drip,
    "drip a header": drip_a_header,
    "bomb": send_a_bomb,
}


class Server:
    """A web server on this machine: `pages` maps a path to bytes, a status, or a list of those."""

    def __init__(self):
        self.pages, self.requests = {}, []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(self.path)
                page = server.pages.get(self.path, 404)
                if isinstance(page, list):
                    page = page.pop(0) if len(page) > 1 else page[0]
                if page == "slow":
                    time.sleep(0.5)
                elif page == "cut":
                    self.send_response(200)
                    self.send_header("Content-Length", "1000")
                    self.end_headers()
                    self.wfile.write(b"a,y")
                elif page in ENDLESS:
                    with suppress(OSError):
                        ENDLESS[page](self)
                elif isinstance(page, int):
                    self.send_error(page)
                else:
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(page)))
                    self.end_headers()
                    self.wfile.write(page)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(fetch, "PAUSES", (0.0, 0.0))
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of rows that default to the file toy/toy.csv with CONTENT."""

    def write(*rows):
        good = {"name": "toy", "file": "toy/toy.csv", "format": "csv", "sha256": sha256(CONTENT)}
        with (tmp_path / "catalogue.csv").open("w", newline="") as handle:
            writer = csv.DictWriter(handle, catalogue.COLUMNS, restval="")
            writer.writeheader()
            writer.writerows(good | row for row in rows)
        return tmp_path / "catalogue.csv"

    return write


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


def files(folder):
    """Return the files below a folder, but for the notes that `fetch` keeps."""
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return [file for file in found if file not in (fetch.SOURCES, hosts.MEMORY)]


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


# ---- downloads that mean harm --------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(fetch, "PATIENCE", 0.2)
    monkeypatch.setattr(fetch, "SLOWEST", 1e9)
    monkeypatch.setattr(fetch, "LARGEST_ARCHIVE", 10**5)


TOO_LARGE, TOO_SLOW = "it holds more than the", "given up after 0 s, in which"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("member", ["", " :: toy/toy.csv"], ids=["file", "archive"])
@pytest.mark.parametrize(
    ("page", "error"),
    [("endless", TOO_LARGE), ("bomb", TOO_LARGE), ("drip", TOO_SLOW), ("drip a header", TOO_SLOW)],
)
def test_every_download_ends(server, table, data, monkeypatch, page, error, member):
    if error == TOO_LARGE:
        monkeypatch.setattr(fetch, "PATIENCE", 60.0)
    server.pages = {"/bad.csv": page, "/toy.csv": CONTENT}
    urls = f"{server.url}/bad.csv{member} | {server.url}/toy.csv"
    start = time.monotonic()
    record = fetch.fetch("toy", data, None, table({"urls": urls, "bytes": str(len(CONTENT))}))
    assert time.monotonic() - start < 2
    assert record["tried"][0]["error"].startswith(error)
    assert (record["status"], record["source"]) == ("available", f"{server.url}/toy.csv")
    assert server.requests.count("/bad.csv") == 1
    assert files(data) == ["toy/toy.csv"]


def test_of_an_answer_that_leads_elsewhere_nothing_is_read(server, table, data):
    server.pages = {"/old.csv": "elsewhere", "/toy.csv": CONTENT}
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/old.csv"}))
    assert (record["status"], record["tried"]) == ("available", [])


@pytest.mark.parametrize("place", ["mirror", "bundled"])
def test_of_a_copy_no_more_is_written_than_the_catalogue_says(table, data, tmp_path, place):
    put(tmp_path / place / "toy/toy.csv", CONTENT + b"5,6\n")
    row = table(
        {"bytes": str(len(CONTENT)), "bundled": "toy/toy.csv" if place == "bundled" else ""}
    )
    folders = {place: tmp_path / place, "catalogue": row}
    record = fetch.fetch("toy", data, **folders)
    assert record["status"] == "unavailable"
    assert record["tried"][0]["error"] == "it holds more than the 8 bytes that are expected at most"
    assert files(data) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_a_mirror_is_not_waited_for(table, data, tmp_path):
    (tmp_path / "mirror/toy").mkdir(parents=True)
    os.mkfifo(tmp_path / "mirror/toy/toy.csv")
    record = fetch.fetch("toy", data, tmp_path / "mirror", table({}))
    assert record["tried"] == [{"url": f"{tmp_path}/mirror/toy/toy.csv", "error": "not a file"}]


# ---- sources -------------------------------------------------------------------------------------


def test_a_mirror_folder_comes_first(server, table, data, tmp_path):
    put(tmp_path / "mirror/toy/toy.csv", CONTENT)
    toy = table({"urls": f"{server.url}/toy.csv"})
    record = fetch.fetch("toy", data, tmp_path / "mirror", toy)
    assert record == {
        "dataset": "toy",
        "status": "available",
        "path": str(data / "toy/toy.csv"),
        "sha256": sha256(CONTENT),
        "bytes": len(CONTENT),
        "source": str(tmp_path / "mirror/toy/toy.csv"),
        "origin": "mirror",
        "offline": False,
        "tried": [],
        "remedy": None,
        "catalogue": str(toy),
    }
    assert (data / "toy/toy.csv").read_bytes() == CONTENT
    assert server.requests == []


def test_a_mirror_url_comes_first(server, table, data):
    server.pages = {"/copies/toy/toy%20%2B.csv": CONTENT, "/toy.csv": CONTENT}
    toy = table({"urls": f"{server.url}/toy.csv", "file": "toy/toy +.csv"})
    record = fetch.fetch("toy", data, f"{server.url}/copies/", toy)
    assert record["source"] == f"{server.url}/copies/toy/toy%20%2B.csv"
    assert server.requests == ["/copies/toy/toy%20%2B.csv"]


def test_what_the_mirror_lacks_comes_from_the_urls_in_turn(server, table, data, tmp_path):
    server.pages = {"/b.csv": OTHER, "/c.csv": CONTENT}
    urls = " | ".join(f"{server.url}/{letter}.csv" for letter in "abcd")
    record = fetch.fetch("toy", data, tmp_path / "none", table({"urls": urls}))
    assert record["status"] == "available"
    assert record["source"] == f"{server.url}/c.csv"
    assert (record["origin"], record["offline"]) == ("original", False)
    assert [attempt["error"].split(":")[0] for attempt in record["tried"]] == [
        "no such file",
        "HTTP 404 Not Found",
        "wrong checksum",
    ]
    assert server.requests == ["/a.csv", "/b.csv", "/c.csv"]
    assert files(data) == ["toy/toy.csv"]


def test_an_existing_good_file_needs_no_network(server, table, data):
    put(data / "toy/toy.csv", CONTENT)
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert (record["status"], record["source"]) == ("available", "already there")
    assert (record["origin"], record["offline"]) == ("data folder", False)
    assert server.requests == []


def test_an_existing_wrong_file_is_replaced(server, table, data):
    put(data / "toy/toy.csv", OTHER)
    server.pages = {"/toy.csv": CONTENT}
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert record["status"] == "available"
    assert f"found {sha256(OTHER)}" in record["tried"][0]["error"]
    assert (data / "toy/toy.csv").read_bytes() == CONTENT


# ---- failures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mirrored", [True, False])
def test_a_wrong_checksum_names_both_digests_and_leaves_nothing(
    server, table, data, tmp_path, mirrored
):
    put(tmp_path / "mirror/toy/toy.csv", OTHER)
    server.pages = {"/toy.csv": OTHER}
    toy = table({"urls": f"{server.url}/toy.csv"})
    record = fetch.fetch("toy", data, tmp_path / "mirror" if mirrored else None, toy)
    assert record["status"] == "unavailable"
    wanted = f"wrong checksum: expected sha256 {sha256(CONTENT)}, found {sha256(OTHER)}"
    assert {attempt["error"] for attempt in record["tried"]} == {wanted}
    assert len(record["tried"]) == 1 + mirrored
    assert files(data) == []


def test_an_unavailable_record_says_what_was_tried_and_what_helps(table, data, no_network):
    urls = "https://cran.example/toy.tar.gz :: toy/toy.csv | https://raw.example/toy.csv"
    start = time.perf_counter()
    record = fetch.fetch("toy", data, None, table({"urls": urls, "bytes": "9"}))
    assert time.perf_counter() - start < 1.0
    assert record["status"] == "unavailable"
    assert record["source"] is record["origin"] is None
    assert record["offline"] is True
    assert record["bytes"] == 9
    error = "host name not resolved (no network?)"
    assert record["tried"] == [
        {"url": "https://cran.example/toy.tar.gz :: toy/toy.csv", "error": error},
        {"url": "https://raw.example/toy.csv", "error": error},
    ]
    assert "KCDE_DATA_MIRROR" in record["remedy"]
    assert "toy/toy.csv below it" in record["remedy"]
    assert f"download https://raw.example/toy.csv and put it at {data}" in record["remedy"]
    assert files(data) == []


def test_a_data_set_without_checksum_is_never_downloaded(server, table, data):
    toy = table({"urls": f"{server.url}/toy.csv", "sha256": "", "notes": "rewritten every month"})
    record = fetch.fetch("toy", data, None, toy)
    assert record["status"] == "unavailable"
    assert "rewritten every month" in record["remedy"]
    assert server.requests == []
    assert fetch.pinned(toy) == []


@pytest.mark.parametrize("passing", [503, 429, "cut"])
def test_errors_that_pass_are_retried(server, table, data, passing):
    server.pages = {"/toy.csv": [passing, passing, CONTENT]}
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert record["status"] == "available"
    assert len(server.requests) == 3
    assert files(data) == ["toy/toy.csv"]


def test_retries_end(server, table, data):
    server.pages = {"/toy.csv": 503}
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert len(server.requests) == 3
    assert record["tried"][0]["error"] == "HTTP 503 Service Unavailable"


@pytest.mark.parametrize("lasting", [404, 403, 410])
def test_errors_that_last_are_not_retried(server, table, data, lasting):
    server.pages = {"/toy.csv": lasting}
    fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert len(server.requests) == 1


def test_a_refused_connection_is_not_retried(server, table, data, monkeypatch):
    server.http.shutdown()
    server.http.server_close()
    monkeypatch.setattr(fetch, "PAUSES", (30.0, 30.0))
    start = time.perf_counter()
    record = fetch.fetch("toy", data, None, table({"urls": f"{server.url}/toy.csv"}))
    assert record["tried"][0]["error"] == "connection refused"
    assert time.perf_counter() - start < 10.0


# ---- bundled copies ------------------------------------------------------------------------------


@pytest.fixture
def copied(table, tmp_path):
    """Write a catalogue of one data set with a bundled copy and a URL; return it as options."""

    def write(url, content=CONTENT, name="toy.csv", **row):
        put(tmp_path / "copies" / name, content)
        toy = table({"urls": url, "bundled": name} | row)
        return {"catalogue": toy, "bundled": tmp_path / "copies"}

    return write


def test_the_bundled_copy_comes_last(server, copied, data, tmp_path):
    server.pages = {"/toy.csv": CONTENT}
    toy = copied(f"{server.url}/toy.csv")
    assert fetch.fetch("toy", data, **toy)["origin"] == "original"
    (data / "toy/toy.csv").unlink()
    put(tmp_path / "mirror/toy/toy.csv", CONTENT)
    assert fetch.fetch("toy", data, tmp_path / "mirror", **toy)["origin"] == "mirror"
    (data / "toy/toy.csv").unlink()
    server.pages = {"/toy.csv": 404}
    record = fetch.fetch("toy", data, tmp_path / "none", **toy)
    assert (record["status"], record["origin"]) == ("available", "bundled")
    assert record["source"] == str(tmp_path / "copies/toy.csv")
    assert record["offline"] is False
    assert [each["error"] for each in record["tried"]] == ["no such file", "HTTP 404 Not Found"]
    assert (data / "toy/toy.csv").read_bytes() == CONTENT
    assert fetch.fetch("toy", data, **toy)["origin"] == "data folder"


def test_without_network_the_bundled_copy_is_taken_and_that_is_said(copied, data, no_network):
    record = fetch.fetch("toy", data, **copied("https://raw.example/toy.csv"))
    assert (record["status"], record["origin"], record["offline"]) == ("available", "bundled", True)
    assert files(data) == ["toy/toy.csv"]
    # A mirror at an address that cannot be reached is no network either.
    (data / "toy/toy.csv").unlink()
    options = copied("https://raw.example/toy.csv")
    assert fetch.fetch("toy", data, "https://mirror.example", **options)["offline"] is True


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_a_compressed_copy_is_checked_as_what_is_in_it(copied, data, no_network, compress):
    name = f"toy.csv.{'gz' if compress is gzip.compress else 'xz'}"
    record = fetch.fetch("toy", data, **copied("https://a.example/t", compress(CONTENT), name))
    assert record["origin"] == "bundled"
    assert (data / "toy/toy.csv").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("archive", "error"), [(False, "wrong checksum"), (True, "damaged archive")]
)
def test_a_page_to_sign_in_is_no_data(server, copied, data, archive, error):
    server.pages = {"/toy": b"<html>sign in</html>"}
    url = f"{server.url}/toy" + " :: toy.csv" * archive
    record = fetch.fetch("toy", data, **copied(url))
    assert (record["origin"], record["offline"]) == ("bundled", False)
    assert record["tried"][0]["error"].startswith(error)


@pytest.mark.parametrize(
    ("content", "name", "error"),
    [
        (OTHER, "toy.csv", "wrong checksum"),
        (CONTENT, "toy.csv.gz", "damaged bundled copy"),
        (CONTENT, "toy.csv.xz", "damaged bundled copy"),
        (lzma.compress(CONTENT)[:-9], "toy.csv.xz", "damaged bundled copy"),
    ],
)
def test_a_damaged_copy_is_refused(copied, data, no_network, content, name, error):
    record = fetch.fetch("toy", data, **copied("https://a.example/toy", content, name))
    assert (record["status"], record["origin"]) == ("unavailable", None)
    assert record["tried"][-1]["error"].startswith(error)
    assert "git checkout -- resources/data" in record["remedy"]
    assert files(data) == []


def test_without_the_repository_the_remedy_says_so(
    copied, data, no_network, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(bundled, "folder", lambda: None)
    toy = copied("https://a.example/toy", licence="CC BY 4.0; whoever")["catalogue"]
    remedy = fetch.fetch("toy", data, catalogue=toy)["remedy"]
    assert remedy.startswith("no bundled copies: kcde is installed without its repository; clone")
    assert "set KCDE_DATA_MIRROR" in remedy
    assert run("fetch", "--list", "--data-dir", data, "--catalogue", toy) == 0
    _, row, _, told = capsys.readouterr().out.splitlines()
    assert row.split() == ["toy", "-", "-", "-", "CC", "BY", "4.0", "no", "missing"]
    assert told.startswith("no bundled copies: kcde is installed without its repository; clone")


def test_a_host_that_falls_silent_is_not_waited_for_twice(server, copied, data, monkeypatch):
    monkeypatch.setattr(fetch, "TIMEOUT", (1.0, 0.1))
    server.pages = {"/toy.csv": "slow"}
    toy = copied(f"{server.url}/toy.csv")
    for _ in range(2):
        record = fetch.fetch("toy", data, **toy)
        assert (record["origin"], record["offline"]) == ("bundled", True)
        assert record["tried"][0]["error"] == "no answer in time"
        (data / "toy/toy.csv").unlink()
    assert len(server.requests) == 3


def test_an_answer_from_another_than_the_host_is_no_lack_of_network(server, copied, data):
    record = fetch.fetch("toy", data, **copied(server.url.replace("http:", "https:") + "/toy.csv"))
    assert (record["origin"], record["offline"]) == ("bundled", False)
    assert not (data / hosts.MEMORY).exists()


# ---- archives ------------------------------------------------------------------------------------


@pytest.fixture
def pair(server, table):
    """Two data sets in one archive, the second with a plain copy elsewhere."""
    archive = f"{server.url}/pkg/toy_1.0.tar.gz"
    second = {"name": "too", "file": "toy/too.csv", "sha256": sha256(OTHER)}
    return table(
        {"urls": f"{archive} :: toy/toy.csv"},
        second | {"urls": f"{archive} :: toy/too.csv | {server.url}/too.csv"},
    )


def test_an_archive_is_downloaded_once_for_all_its_members(server, pair, data):
    server.pages = {"/pkg/toy_1.0.tar.gz": tar_of({"toy/toy.csv": CONTENT, "toy/too.csv": OTHER})}
    for name, content in (("toy", CONTENT), ("too", OTHER)):
        record = fetch.fetch(name, data, None, pair)
        assert record["source"].endswith(f"toy_1.0.tar.gz :: toy/{name}.csv")
        assert (data / f"toy/{name}.csv").read_bytes() == content
    assert server.requests == ["/pkg/toy_1.0.tar.gz"]
    (kept,) = (data / "archives").glob("*-toy_1.0.tar.gz")
    assert kept.read_bytes() == server.pages["/pkg/toy_1.0.tar.gz"]


def test_processes_at_once_download_an_archive_once(server, pair, data):
    server.pages = {"/pkg/toy_1.0.tar.gz": tar_of({"toy/toy.csv": CONTENT, "toy/too.csv": OTHER})}
    command = [sys.executable, "-m", "kcde", "fetch", "--data-dir", data, "--catalogue", pair]
    running = [subprocess.Popen([*command, name]) for name in ("toy", "too", "toy", "too")]
    assert [process.wait(timeout=30) for process in running] == [0, 0, 0, 0]
    assert server.requests == ["/pkg/toy_1.0.tar.gz"]
    assert len(files(data)) == 3


@pytest.mark.parametrize(
    ("damaged", "error"),
    [
        (b"<html>sign in</html>", "damaged archive"),
        (tar_of({"toy/too.csv": OTHER})[:-20], "damaged archive"),
        (tar_of({"toy/elsewhere.csv": OTHER}), "the archive has no member toy/too.csv"),
        (tar_of({"toy/too.csv": CONTENT}), "wrong checksum"),
    ],
    ids=["page", "cut short", "without the member", "another file"],
)
def test_a_damaged_archive_is_deleted_and_the_next_url_tried(server, pair, data, damaged, error):
    server.pages = {"/pkg/toy_1.0.tar.gz": damaged, "/too.csv": OTHER}
    record = fetch.fetch("too", data, None, pair)
    assert record["status"] == "available"
    assert record["source"] == f"{server.url}/too.csv"
    assert record["tried"][0]["error"].startswith(error)
    assert files(data) == ["toy/too.csv"]


def test_a_kept_archive_that_is_damaged_is_downloaded_again(server, pair, data):
    server.pages = {"/pkg/toy_1.0.tar.gz": tar_of({"toy/toy.csv": CONTENT})}
    fetch.fetch("toy", data, None, pair)
    (kept,) = (data / "archives").glob("*-toy_1.0.tar.gz")
    kept.write_bytes(b"half of it")
    (data / "toy/toy.csv").unlink()
    assert fetch.fetch("toy", data, None, pair)["status"] == "available"
    assert len(server.requests) == 2


def test_a_member_is_read_not_unpacked(server, table, data):
    # The path of the member leads out of the folder; only its bytes may arrive, at our place.
    server.pages = {"/toy.tar.gz": tar_of({"../../evil.csv": CONTENT})}
    toy = table({"urls": f"{server.url}/toy.tar.gz :: ../../evil.csv"})
    assert fetch.fetch("toy", data, None, toy)["status"] == "available"
    assert [file for file in files(data.parent) if "evil" in file] == []


@pytest.mark.parametrize("member", ["toy.csv", "toy.csv.gz"])
def test_zip_members_and_compressed_members(server, table, data, member):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr(member, gzip.compress(CONTENT) if member.endswith(".gz") else CONTENT)
    server.pages = {"/static/186/wine+quality.zip": buffer.getvalue()}
    toy = table({"urls": f"{server.url}/static/186/wine+quality.zip :: {member}"})
    assert fetch.fetch("toy", data, None, toy)["tried"] == []
    assert (data / "toy/toy.csv").read_bytes() == CONTENT


# ---- progress, command line ----------------------------------------------------------------------


@pytest.mark.parametrize("terminal", [True, False])
def test_the_progress_bar_is_for_terminals(server, table, data, monkeypatch, capsys, terminal):
    server.pages = {"/toy.csv": CONTENT}
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    toy = table({"urls": f"{server.url}/toy.csv"})
    fetch.fetch("toy", data, None, toy, progress=True)
    assert ("toy.csv" in capsys.readouterr().err) is terminal


def run(*arguments):
    """Run the command line in this process and return its exit code."""
    with pytest.raises(SystemExit) as caught:
        cli.main([str(argument) for argument in arguments])
    return caught.value.code or 0


@pytest.fixture
def tour(tmp_path, monkeypatch):
    """The made-up data as a mirror, chosen by the environment; return the common options."""
    table = synthetic.write_smoke_data(tmp_path / "mirror")
    monkeypatch.setenv("KCDE_DATA_MIRROR", str(tmp_path / "mirror"))
    return "--catalogue", table, "--data-dir", tmp_path / "data"


def test_fetch_from_the_mirror_of_the_environment(tour, tmp_path, capsys):
    assert run("fetch", "all", *tour) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert files(tmp_path / "data") == [
        "smoke/smoke-joint.csv",
        "smoke/smoke-linear.rda",
        "smoke/smoke-mixed.rda",
        "smoke/smoke-portfolios.rda",
        "smoke/smoke-risk-free.zip",
        "smoke/smoke-terrain.mat",
        "smoke/smoke-traffic.csv",
    ]


def test_unavailable_is_exit_code_1_or_a_record(tour, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KCDE_DATA_MIRROR", str(tmp_path / "none"))
    assert run("fetch", "smoke-linear", *tour) == 1
    error = capsys.readouterr().err
    assert "smoke-linear.rda: no such file" in error
    assert "remedy: set KCDE_DATA_MIRROR" in error
    record = tmp_path / "records/smoke-linear.json"
    assert run("fetch", "smoke-linear", *tour, "--record", record) == 0
    assert json.loads(record.read_text())["status"] == "unavailable"


def test_list_shows_what_is_on_disk(tour, tmp_path, capsys):
    run("fetch", "smoke-linear", *tour)
    put(tmp_path / "data/smoke/smoke-mixed.rda", b"broken")
    capsys.readouterr()
    assert run("fetch", "--list", *tour) == 0
    head, linear, mixed, joint, *_ = capsys.readouterr().out.splitlines()
    titles = ["name", "papers", "rows", "columns", "licence", "bundled", "on", "disk"]
    assert head.split() == titles
    assert linear.split() == ["smoke-linear", "-", "80", "2", "MIT", "no", "present", "(mirror)"]
    assert mixed.endswith("wrong checksum")
    assert joint.split()[:4] == ["smoke-joint", "-", "150", "3"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "smoke-liner"], "did you mean smoke-linear"),
        (["fetch"], "needs the name of a data set"),
        (["fetch", "all", "--record", "x.json"], "--record belongs to one data set"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(tour, capsys, arguments, message):
    assert run(*arguments, *tour) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_help_teaches_with_an_example_and_imports_nothing_heavy():
    script = (
        "import sys; from kcde.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print(*sorted({'numpy', 'pandas', 'scipy', 'jax'} & set(sys.modules)))"
    )
    for command, example in (([], "kcde fetch geyser"), (["fetch"], "fetch all --mirror")):
        result = subprocess.run(
            [sys.executable, "-c", script, *command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        )
        *text, heavy = result.stdout.split("\n")[:-1]
        assert example in " ".join(" ".join(text).split())
        assert heavy == ""


def test_all_that_is_bundled_is_had_without_network(data, monkeypatch, no_network, capsys):
    monkeypatch.delenv("KCDE_DATA_MIRROR", raising=False)
    start = time.perf_counter()
    assert run("fetch", "all", "--data-dir", data) == 1
    assert time.perf_counter() - start < 10.0
    said = capsys.readouterr()
    assert said.out.splitlines()[-1] == "27 data sets from the bundled copies: no network"
    assert [line for line in said.err.splitlines() if "unavailable" in line] == [
        "pems-sf: unavailable"
    ]
    assert run("fetch", "--list", "--data-dir", data) == 0
    table = capsys.readouterr().out.splitlines()
    assert sum(line.endswith("yes      present (bundled)") for line in table) == 27
    assert max(map(len, table[:-1])) <= 125


def test_a_person_who_asks_again_is_not_told_what_was_remembered(
    server, copied, data, monkeypatch, capsys
):
    monkeypatch.delenv("KCDE_DATA_MIRROR", raising=False)
    server.pages = {"/toy.csv": CONTENT}
    toy = copied(f"{server.url}/toy.csv")["catalogue"]
    hosts.remember({hosts.host_of(server.url): "no answer in time"}, data)
    record = data / "toy.json"
    assert run("fetch", "toy", "--data-dir", data, "--catalogue", toy, "--record", record) == 0
    assert json.loads(record.read_text())["tried"][0]["error"] == "no answer in time"
    assert run("fetch", "toy", "--data-dir", data, "--catalogue", toy) == 0
    assert "original: http" in capsys.readouterr().out
