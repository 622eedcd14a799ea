"""The bundled copies of raw data, and the README with their sources and licences.

`python -m kcde.data.bundled` writes `resources/data/README.md` from the catalogue.
"""

import gzip
import lzma
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from kcde.data import catalogue as tables
from kcde.data import limits
from kcde.data.catalogue import Entry, Source

REMAKE = "python -m kcde.data.bundled"
"""The command that writes the README."""

NO_REPOSITORY = "no bundled copies: kcde is installed without its repository"

REMEDY = "clone the repository and install it with pip install -e ."

RESEARCH_ONLY = "research-only/"
"""The folder of the files that are not free for every use."""

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}

_PAGE = """# Bundled raw data

Small raw data files that come with the code, so that a machine without network can regenerate
what needs them. `python -m kcde fetch` takes them last: after the data folder, a mirror and the
original addresses.

**They are not under the code's licence (MIT).** The tables below give the licence and the source of
each file. Follow that licence if you redistribute a file, and cite what the table says if you use
it. The texts of the GPL, version 2, and of the MIT licence of GP_Derivatives are in
[licences](licences); those of the others at <https://creativecommons.org/licenses/by/4.0/legalcode>
and <https://www.gnu.org/licenses/agpl-3.0.txt>.

Every file has the SHA-256 of the catalogue; that of a file that ends in `.xz` is the SHA-256 of the
decompressed file. This page is made from `src/kcde/data/catalogue.csv` by `{remake}`.

## Data sets

{common}

## For research only

In [a folder apart]({folder}), with [Kenneth R. French's terms]({folder}TERMS.md): copyright Kenneth
R. French, free for research.

{restricted}
"""


def folder() -> Path | None:
    """Return `resources/data` of the repository that this package lies in, or None without one."""
    source = Path(__file__).resolve().parents[2]
    found = source.parent / "resources" / "data"
    return found if source.name == "src" and found.is_dir() else None


def is_there(entry: Entry, root: Path | None) -> bool:
    """Return whether a data set has a bundled copy in `root`; its content is not read."""
    return bool(entry.bundled) and root is not None and (root / entry.bundled).is_file()


def unpack(entry: Entry, root: str | Path, target: Path) -> None:
    """Write the bundled file of a data set to `target`, decompressed.

    Parameters
    ----------
    entry
        A row whose `bundled` is not empty.
    root
        The folder of the bundled files.
    target
        The file to write; its content is not checked here.

    Raises
    ------
    OSError
        If the bundled file is not there.
    ValueError
        If it cannot be decompressed, or is larger than the catalogue says.
    """
    path = Path(root) / entry.bundled
    opener = open if path.suffix == Path(entry.file).suffix else _OPENERS.get(path.suffix, open)
    with (
        limits.damaged("bundled copy"),
        opener(path, "rb") as content,
        target.open("wb") as out,
    ):
        limits.copy(content, out, limits.UNPACKED if entry.bytes is None else entry.bytes)


@contextmanager
def raw_files(*names: str) -> Iterator[Path]:
    """Give a folder with the raw files of data sets, for as long as the context lasts.

    Parameters
    ----------
    *names
        Of the catalogue, or aliases.

    Yields
    ------
    pathlib.Path
        A `data_dir` for `kcde.data.loaders.load`; no network is asked.

    Raises
    ------
    FileNotFoundError
        If the package is installed without its repository, or a data set has no bundled copy.
    ValueError
        If there is no such data set.

    Examples
    --------
    >>> from kcde.data import bundled, loaders
    >>> with bundled.raw_files("geyser") as raw:
    ...     geyser = loaders.load("geyser", raw)
    >>> geyser.x_columns, geyser.y_columns, geyser.X.shape
    (('waiting',), ('duration',), (299, 1))
    """
    root, known = folder(), tables.read()
    if root is None:
        raise FileNotFoundError(f"{NO_REPOSITORY}: {REMEDY}")
    with tempfile.TemporaryDirectory() as made:
        for entry in [tables.find(known, name) for name in names]:
            if not is_there(entry, root):
                raise FileNotFoundError(
                    f"data set {entry.name} has no bundled copy; run kcde fetch {entry.name}"
                )
            target = Path(made) / entry.file
            target.parent.mkdir(parents=True, exist_ok=True)
            unpack(entry, root, target)
        yield Path(made)


def readme(entries: Iterable[Entry]) -> str:
    """Return the README of the bundled files: what each is, whose, and under which licence."""
    copies = [entry for entry in entries if entry.bundled]
    restricted = [entry for entry in copies if entry.bundled.startswith(RESEARCH_ONLY)]
    apart = f"{Path(restricted[0].bundled).parent.as_posix()}/"
    common = [entry for entry in copies if entry not in restricted]
    return _PAGE.format(
        remake=REMAKE, folder=apart, common=_table(common), restricted=_table(restricted)
    )


def _table(entries: Iterable[Entry]) -> str:
    """Return a Markdown table, a row a data set."""
    head = ("data set", "file", "licence", "source", "cite", "SHA-256")
    rows = [
        (
            entry.all_names,
            f"[{Path(entry.bundled).name}]({entry.bundled})",
            entry.licence,
            ", ".join(map(_link, entry.urls)),
            entry.citation,
            f"`{entry.sha256}`",
        )
        for entry in entries
    ]
    cells = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', 'or') for cell in row)} |" for row in cells)


def _link(source: Source) -> str:
    """Return a link that is named by its host, and what to take out of an archive there."""
    link = f"[{urlsplit(source.url).netloc}]({source.url})"
    return link if source.member is None else f"{link}, `{source.member}`"


def write_readme() -> Path:
    """Write the README and return its path.

    Raises
    ------
    FileNotFoundError
        If the package is installed without its repository.
    """
    root = folder()
    if root is None:
        raise FileNotFoundError(f"{NO_REPOSITORY}; {REMEDY}")
    path = root / "README.md"
    path.write_text(readme(tables.read().values()), encoding="utf-8", newline="\n")
    return path


if __name__ == "__main__":
    print(write_readme())
