"""Hosts that cannot be reached: found out within seconds, and remembered for some minutes."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kcde.data import hosts


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def listening():
    """A URL on this machine where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/file"


@pytest.fixture
def refusing():
    """A URL on this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/file"
    return url


@pytest.fixture
def lookups(monkeypatch):
    """Names that are looked up; those that end in .example are not resolved."""
    asked, resolve = [], socket.getaddrinfo

    def look_up(host, *rest, **options):
        asked.append(host)
        if host.endswith(".example"):
            raise socket.gaierror(-2, "Name or service not known")
        return resolve(host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_host_that_answers_is_not_remembered(listening, tmp_path):
    hosts.require_reachable(listening, tmp_path)
    assert not (tmp_path / hosts.MEMORY).exists()


def test_why_a_host_cannot_be_reached(refusing, lookups, tmp_path):
    with pytest.raises(hosts.Unreachable, match=r"^connection refused$"):
        hosts.require_reachable(refusing, tmp_path)
    with pytest.raises(hosts.Unreachable, match=r"^host name not resolved"):
        hosts.require_reachable("https://a.example/file", tmp_path)


def test_it_is_asked_once_and_again_when_the_memory_is_old(lookups, tmp_path, monkeypatch):
    for _ in range(3):
        with pytest.raises(hosts.Unreachable):
            hosts.require_reachable("https://a.example/file", tmp_path)
    assert lookups == ["a.example"]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + hosts.REMEMBERED + 1)
    with pytest.raises(hosts.Unreachable):
        hosts.require_reachable("https://a.example/file", tmp_path)
    assert len(lookups) == 2
    # A clock that was set back does not make the memory last.
    monkeypatch.setattr(time, "time", lambda: now - 2 * hosts.REMEMBERED)
    with pytest.raises(hosts.Unreachable):
        hosts.require_reachable("https://a.example/file", tmp_path)
    assert len(lookups) == 3
    hosts.forget(tmp_path)
    assert not (tmp_path / hosts.MEMORY).exists()


def test_one_lost_host_says_nothing_of_another(listening, refusing, lookups, tmp_path):
    with pytest.raises(hosts.Unreachable):
        hosts.require_reachable("https://a.example/file", tmp_path, [listening, refusing])
    noted = json.loads((tmp_path / hosts.MEMORY).read_text())
    assert set(noted) == {"a.example", hosts.host_of(refusing)}
    hosts.require_reachable(listening, tmp_path)


def test_the_others_are_asked_at_the_same_time(lookups, tmp_path):
    others = [f"https://{letter}.example/{k}" for letter in "abcde" for k in "12"]
    for url in others:
        with pytest.raises(hosts.Unreachable):
            hosts.require_reachable(url, tmp_path, others)
    assert sorted(lookups) == [f"{letter}.example" for letter in "abcde"]


def test_names_that_are_never_resolved_cost_seconds_in_all(tmp_path, monkeypatch):
    """Also a resolver that hangs, which nothing can interrupt."""
    done = threading.Event()

    def hang(*_, **__):
        done.wait(60)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    monkeypatch.setattr(hosts, "SECONDS", 0.3)
    others = [f"https://{k}.example/file" for k in range(20)]
    start = time.perf_counter()
    for url in others:
        with pytest.raises(hosts.Unreachable, match="no answer in time"):
            hosts.require_reachable(url, tmp_path, others)
    assert time.perf_counter() - start < 3.0
    done.set()


def test_the_first_address_that_answers_counts(listening, monkeypatch):
    """A name with addresses of a network that swallows everything, and one that answers."""
    port = int(listening.rpartition(":")[2].partition("/")[0])
    kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
    places = [("192.0.2.1", 9), ("127.0.0.1", port)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(*kind, p) for p in places])
    start = time.perf_counter()
    assert hosts.find_unreachable(["https://a.example/file"]) == {}
    assert time.perf_counter() - start < 1.0


def test_a_proxy_is_what_is_connected_to(listening, refusing, lookups, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTPS_PROXY", listening)
    hosts.require_reachable("https://a.example/file", tmp_path)
    monkeypatch.setenv("HTTPS_PROXY", refusing)
    with pytest.raises(hosts.Unreachable, match="connection refused"):
        hosts.require_reachable("https://a.example/file", tmp_path)
    assert "a.example" not in lookups


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "3", '{"a.example": 1}', '{"a.example": [1]}', '{"a.example": ["x", 1]}'],
)
def test_a_damaged_memory_is_none(lookups, tmp_path, content):
    (tmp_path / hosts.MEMORY).write_text(content)
    with pytest.raises(hosts.Unreachable):
        hosts.require_reachable("https://a.example/file", tmp_path)
    assert lookups == ["a.example"]
    with pytest.raises(hosts.Unreachable):
        hosts.require_reachable("https://a.example/file", tmp_path)
    assert lookups == ["a.example"]


def test_notes_at_once_lose_none(tmp_path):
    def note(k):
        hosts.remember({f"{k}.example": "refused"}, tmp_path)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(note, range(64)))
    assert len(json.loads((tmp_path / hosts.MEMORY).read_text())) == 64
    assert [path.name for path in tmp_path.iterdir()] == [hosts.MEMORY]


def test_a_folder_that_cannot_be_written_is_no_error(lookups, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(hosts.Unreachable, match="not resolved"):
        hosts.require_reachable("https://a.example/file", tmp_path / "file")
