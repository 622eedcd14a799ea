"""`fetch --check`: what addresses say of themselves, without a download."""

import csv
import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kcde import cli
from kcde.data import addresses, catalogue, hosts


class Handler(BaseHTTPRequestHandler):
    """Pages by their names; what was asked for is kept in `requests`."""

    requests: list

    def do_HEAD(self):
        if self.path == "/drip":
            with suppress(OSError):
                self.drip()
        self.requests.append(("HEAD", self.path))
        refused = {"/no-head": 405, "/gone": 404, "/broken": 500, "/refuses-all": 403}
        self.answer(refused.get(self.path, 200))

    def do_GET(self):
        self.requests.append(("GET", self.path, self.headers["Range"]))
        self.answer({"/no-head": 206, "/refuses-all": 403}.get(self.path, 404))

    def drip(self):
        """Send a header without end."""
        self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
        while True:
            self.wfile.write(b"a")
            time.sleep(0.02)

    def answer(self, status):
        self.send_response(status)
        page = self.path == "/sign-in"
        self.send_header("Content-Type", "text/html" if page else "application/octet-stream")
        if status == 206:
            self.send_header("Content-Range", "bytes 0-0/4321")
        self.send_header("Content-Length", "1" if status == 206 else "1234")
        self.end_headers()
        if status == 206:
            self.wfile.write(b"x")

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    handler = type("Fresh", (Handler,), {"requests": []})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}", handler.requests
    http.shutdown()
    http.server_close()


@pytest.fixture
def table(tmp_path):
    """Write a catalogue of data sets from their addresses; return its path."""

    def write(**urls):
        path = tmp_path / "catalogue.csv"
        with path.open("w", newline="") as handle:
            writer = csv.DictWriter(handle, catalogue.COLUMNS, restval="")
            writer.writeheader()
            for name, listed in urls.items():
                row = {"name": name, "file": f"{name}.csv", "format": "csv", "sha256": "a" * 64}
                writer.writerow(row | {"urls": listed})
        return path

    return write


def rows(report):
    """The lines of the table below its header: answer, bytes, address."""
    lines = report.split("\n\n")[0].splitlines()[1:]
    return [line.rsplit(maxsplit=2) for line in lines]


def test_addresses_are_asked_for_their_heads(server, table):
    url, requests = server
    report, well = addresses.check(catalogue=table(a=f"{url}/a", b=f"{url}/b"))
    assert well
    assert sorted(rows(report)) == [["ok", "1234", f"{url}/a"], ["ok", "1234", f"{url}/b"]]
    assert sorted(requests) == [("HEAD", "/a"), ("HEAD", "/b")]
    assert report.endswith("2 of 2 addresses answer")


def test_where_the_head_is_refused_the_first_byte_is_asked_for(server, table):
    url, requests = server
    report, well = addresses.check(catalogue=table(a=f"{url}/no-head"))
    assert well
    assert rows(report) == [["ok", "4321", f"{url}/no-head"]]
    assert requests == [("HEAD", "/no-head"), ("GET", "/no-head", "bytes=0-0")]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("gone", "HTTP 404 Not Found"),
        ("refuses-all", "HTTP 403 Forbidden"),
        ("sign-in", "a web page instead of the file"),
    ],
)
def test_a_data_set_without_any_address_is_named(server, table, page, words):
    url, _ = server
    served = f"{url}/{page} | {url}/good"
    report, well = addresses.check(catalogue=table(a=f"{url}/{page}", b=served))
    assert not well
    assert rows(report)[0][0] == words
    assert "1 of 2 addresses answer" in report
    assert "no address answers for a\n" in report
    assert addresses.check("b", table(a=f"{url}/{page}", b=served))[1]


def test_an_archive_is_asked_for_once(server, table):
    url, requests = server
    archive = f"{url}/a.zip"
    assert addresses.check(catalogue=table(a=f"{archive} :: a", b=f"{archive} :: b"))[1]
    assert requests == [("HEAD", "/a.zip")]


def test_no_network_is_said_plainly(table, monkeypatch, tmp_path, capsys):
    def refuse(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main(["fetch", "--check"])
    assert left.value.code == 1
    said = capsys.readouterr().out
    assert "\nno network: none of the hosts could be reached\n" in said
    assert "27 of these 29 data sets have a bundled copy" in said
    assert not list(tmp_path.iterdir())


def test_what_is_remembered_does_not_count(server, table, tmp_path, capsys):
    url, _ = server
    path = table(a=f"{url}/a")
    hosts.remember({hosts.host_of(url): "no answer in time"}, tmp_path)
    with pytest.raises(SystemExit) as left:
        cli.main(["fetch", "a", "--check", "--catalogue", f"{path}", "--data-dir", f"{tmp_path}"])
    assert not left.value.code
    assert "1 of 1 addresses answer" in capsys.readouterr().out


def test_an_answer_that_does_not_end_is_given_up(server, table, monkeypatch):
    monkeypatch.setattr(addresses, "PATIENCE", 0.2)
    url, _ = server
    start = time.monotonic()
    report, well = addresses.check(catalogue=table(a=f"{url}/drip"))
    assert time.monotonic() - start < 2
    assert "no answer in time" in report
    assert not well
