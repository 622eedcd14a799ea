"""Check of the original addresses: `python -m kcde fetch --check`."""

import re
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kcde.data import bundled as copies
from kcde.data import catalogue as tables
from kcde.data import hosts
from kcde.data.catalogue import Entry
from kcde.data.overview import aligned

AT_ONCE = 8
"""Addresses that are asked at the same time."""

TIMEOUT = (hosts.SECONDS, 15.0)
"""Seconds to wait for a connection, and for an answer."""

PATIENCE = 40.0
"""Seconds in which an address must answer, however often it leads elsewhere or sends a byte."""

# As it is stored: a compressed answer has another length.
_AS_IT_IS = {"Accept-Encoding": "identity"}


@dataclass(frozen=True)
class Answer:
    """The answer of an address.

    Attributes
    ----------
    url
        The address.
    words
        `ok`, or what is wrong.
    bytes
        The length in the answer, if it has one.
    """

    url: str
    words: str
    bytes: int | None = None

    @property
    def serves(self) -> bool:
        """Whether the file is available there."""
        return self.words == "ok"


def check(
    name: str | None = None, catalogue: str | Path | None = None, progress: bool = False
) -> tuple[str, bool]:
    """Ask every original address for its file, without downloading it.

    Parameters
    ----------
    name
        Name or alias of one data set; all when None.
    catalogue
        A catalogue CSV; the built-in one when None.
    progress
        Show a progress bar, if stderr is a terminal.

    Returns
    -------
    report : str
        A table of the addresses, and what follows from it.
    well : bool
        Whether every data set is available from some address.

    Raises
    ------
    ValueError
        If the catalogue has no such data set.
    """
    entries = tables.read(catalogue)
    asked = list(entries.values()) if name is None else [tables.find(entries, name)]
    urls = list(dict.fromkeys(source.url for entry in asked for source in entry.urls))
    lost = hosts.find_unreachable(urls)
    answers = _ask(urls, lost, progress and sys.stderr.isatty())
    without = [entry.name for entry in asked if not any(answers[s.url].serves for s in entry.urls)]
    no_network = bool(urls) and all(hosts.host_of(url) in lost for url in urls)
    lines = [_table(answers.values()), "", *_conclusion(asked, answers, without, no_network)]
    return "\n".join(lines), not without


def _ask(urls: list[str], lost: dict[str, str], progress: bool) -> dict[str, Answer]:
    """Return the answers by address; hosts that cannot be reached are not asked again."""
    from tqdm import tqdm

    def one(url: str) -> Answer:
        reason = lost.get(hosts.host_of(url))
        return _answer_in_time(url) if reason is None else Answer(url, reason)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = pool.map(one, urls)
        bar = tqdm(asked, "addresses", len(urls), leave=False, disable=not progress)
        return {answer.url: answer for answer in bar}


def _answer_in_time(url: str) -> Answer:
    """Ask in a thread that is left behind where the answer does not end."""
    given: list[Answer] = []
    thread = threading.Thread(target=lambda: given.append(_answer(url)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return given[0] if given else Answer(url, "no answer in time")


def _answer(url: str) -> Answer:
    """Request the head of a file or, if that is refused, its first byte."""
    import requests

    hooks = {"response": hosts.close_detour}
    options = {"timeout": TIMEOUT, "allow_redirects": True, "stream": True, "hooks": hooks}
    try:
        response = requests.head(url, headers=_AS_IT_IS, **options)
        if response.status_code >= 400:
            with requests.get(url, headers=_AS_IT_IS | {"Range": "bytes=0-0"}, **options) as said:
                response = said
    except requests.Timeout:
        return Answer(url, "no answer in time")
    except (requests.RequestException, ValueError) as error:  # ValueError: a broken redirection
        return Answer(url, " ".join(f"{type(error).__name__}: {error}".split())[:60])
    if response.status_code >= 400:
        return Answer(url, f"HTTP {response.status_code} {response.reason}")
    # A captive portal answers every request with a web page.
    if response.headers.get("Content-Type", "").startswith("text/html"):
        return Answer(url, "a web page instead of the file", _length(response.headers))
    return Answer(url, "ok", _length(response.headers))


def _length(headers) -> int | None:
    """Return the length of the whole file, if the headers state it."""
    whole = re.fullmatch(r"bytes .*/(\d+)", headers.get("Content-Range", ""))
    told = whole[1] if whole else headers.get("Content-Length", "")
    return int(told) if told.isdecimal() else None


def _table(answers: Iterable[Answer]) -> str:
    body = [
        (each.words, "-" if each.bytes is None else f"{each.bytes}", each.url) for each in answers
    ]
    return aligned([("answer", "bytes", "address"), *body])


def _conclusion(
    asked: list[Entry], answers: dict[str, Answer], without: list[str], no_network: bool
) -> list[str]:
    """Return a summary of the answers for the data sets."""
    served = sum(answer.serves for answer in answers.values())
    lines = [f"{served} of {len(answers)} addresses answer"]
    if no_network:
        lines = ["no network: none of the hosts could be reached"]
    elif without:
        lines += [f"no address answers for {', '.join(without)}"]
    if without:
        root = copies.folder()
        kept = sum(copies.is_there(entry, root) for entry in asked if entry.name in without)
        lines += [f"{kept} of these {len(without)} data sets have a bundled copy"]
    return lines
