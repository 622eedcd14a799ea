"""Reachability of hosts: checked within seconds, remembered for some minutes.

Without a network every download would wait for its own failure: many data sets, each with several
hosts, each with several addresses. So a host is asked before a download: its name is resolved and a
connection is opened, within `SECONDS` in all. One that cannot be reached is recorded in a file
in the raw data folder, so that other processes do not wait for it again.
"""

import errno
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

from kcde.data import notes

SECONDS = 3.0
"""To resolve a name and connect."""

REMEMBERED = 180.0
"""Seconds for which a host that could not be reached is not asked again."""

MEMORY = ".unreachable.json"
"""The file in the data folder: when each host could not be reached, and why."""

_PORTS = {"http": 80, "https": 443}
_SOCKS = 1080
_UNDER_WAY = {0, errno.EINPROGRESS, errno.EWOULDBLOCK}


class Unreachable(OSError):
    """A host that no connection can be made to; the message says why."""


def require_reachable(url: str, data_dir: str | Path, others: Iterable[str] = ()) -> None:
    """Raise unless the host of a URL, or the proxy on the way to it, can be connected to.

    Parameters
    ----------
    url
        URL to download.
    data_dir
        The raw data folder, in which is remembered what could not be reached.
    others
        URLs that may be asked for next: if this host cannot be reached, theirs are asked at the
        same time, each for itself, so that a machine without network waits twice at most.

    Raises
    ------
    Unreachable
        If its name is not resolved, or a connection is refused or not made in time, now or within
        the last `REMEMBERED` seconds.
    """
    known = _remembered(data_dir)
    host = host_of(url)
    if host not in known:
        found = find_unreachable([url])
        if not found:
            return
        unknown = [other for other in others if host_of(other) not in known | found]
        found |= find_unreachable(unknown)
        remember(found, data_dir)
        known |= found
    raise Unreachable(known[host])


def find_unreachable(urls: Iterable[str]) -> dict[str, str]:
    """Return why hosts cannot be reached, by host; reachable hosts are left out.

    All are asked at once, so the answer takes `SECONDS` however many there are.
    """
    answers: dict[str, str] = {}
    firsts = {host_of(url): url for url in urls}

    def put(host: str, url: str) -> None:
        try:
            _connect(*_place(url))
            answers[host] = ""
        except (OSError, ValueError) as error:  # ValueError: a name that no host can have
            answers[host] = describe_error(error)

    # Name resolution cannot be interrupted, so threads may outlive this call.
    threads = [threading.Thread(target=put, args=pair, daemon=True) for pair in firsts.items()]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    given = dict(answers)
    reasons = {host: given.get(host, describe_error(TimeoutError())) for host in firsts}
    return {host: reason for host, reason in reasons.items() if reason}


def close_detour(response, **_) -> None:
    """Close an answer that says where else to ask, because requests would read all of it."""
    if response.is_redirect:
        response.close()


def connection_lost(url: str, reason: str, data_dir: str | Path) -> Unreachable:
    """Record that a host stopped answering during a download; return the error to raise."""
    remember({host_of(url): reason}, data_dir)
    return Unreachable(reason)


def remember(reasons: dict[str, str], data_dir: str | Path) -> None:
    """Note why hosts cannot be reached, by host."""
    now = time.time()
    notes.add(Path(data_dir) / MEMORY, {host: [now, why] for host, why in reasons.items()})


def forget(data_dir: str | Path) -> None:
    """Forget which hosts were unreachable, so that all are asked again."""
    with suppress(OSError):
        (Path(data_dir) / MEMORY).unlink(missing_ok=True)


def describe_error(error: Exception) -> str:
    """Return why a connection failed, in a few words."""
    if isinstance(error, socket.gaierror):
        return "host name not resolved (no network?)"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (getattr(error, "strerror", None) or f"{error}" or type(error).__name__).lower()


def host_of(url: str) -> str:
    """Return the host and port that a URL names."""
    return urlsplit(url).netloc.rpartition("@")[2]


def _place(url: str) -> tuple[str, int]:
    """Return the host and port to connect to, or those of the proxy in the environment."""
    from requests.utils import get_environ_proxies, prepend_scheme_if_needed, select_proxy

    proxy = select_proxy(url, get_environ_proxies(url))
    parts = urlsplit(prepend_scheme_if_needed(proxy, "http") if proxy else url)
    return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, _SOCKS)


def _connect(host: str, port: int) -> None:
    """Connect to the first of a host's addresses that answers; they are tried at once.

    Raises
    ------
    OSError
        The last error, if none answers in time.
    """
    end = time.monotonic() + SECONDS
    last: OSError = TimeoutError()
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    with ExitStack() as opened, selectors.DefaultSelector() as waiting:
        for family, kind, protocol, _, address in found:
            try:
                each = opened.enter_context(socket.socket(family, kind, protocol))
                each.setblocking(False)
                code = each.connect_ex(address)
            except OSError as error:  # a family of addresses that this machine lacks
                last = error
                continue
            if code in _UNDER_WAY:
                waiting.register(each, selectors.EVENT_WRITE)
            else:
                last = OSError(code, os.strerror(code))
        while waiting.get_map() and (left := end - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                code = key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if not code:
                    return
                waiting.unregister(key.fileobj)
                last = OSError(code, os.strerror(code))
    raise last


def _remembered(data_dir: str | Path) -> dict[str, str]:
    """Return why hosts could not be reached a short while ago, by host."""
    now, known = time.time(), {}
    for host, note in notes.read(Path(data_dir) / MEMORY).items():
        with suppress(TypeError, ValueError):  # of another version
            when, reason = note
            if abs(now - when) < REMEMBERED:
                known[host] = f"{reason}"
    return known
