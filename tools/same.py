"""Compare two folders of results file by file: numbers exactly, what is measured left out.

python tools/same.py OLD NEW [--ignore GLOB] [--ignore-key KEY] [--part]

CSV, JSON and pages are compared by their numbers and words, arrays of `.npz` exactly, pictures by
their bytes where the table that they show has the same. With `--part` OLD may hold more. Prints a
line a differing file; exits 1 if there is one.
"""

import argparse
import fnmatch
import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

MEASURED = re.compile(r"seconds|per_second|memory|MiB|(?<![a-z])time(?![a-z])", re.IGNORECASE)
LEFT_OUT = {"seconds", "commit", "code", "versions"}
TIMES = re.compile(r"\d[\d.,]*\s*(?:ms|s|min|h|seconds?|minutes?|hours?|MiB|GiB)\b")
WORD = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\w+|[^\w\s]")
TABLE_RULE = re.compile(r"[\s|:-]+")


def is_left_out(name: str) -> bool:
    """Return whether the name of a column, key or array says that it differs from run to run."""
    return name in LEFT_OUT or MEASURED.search(name) is not None


def same(old: str, new: str) -> bool:
    """Return whether two cells or words are the same number or, without times, the same text."""
    try:
        a, b = float(old or "nan"), float(new or "nan")
    except ValueError:
        return TIMES.sub("", old) == TIMES.sub("", new)
    return a == b or (a != a and b != b)


def csv(path: Path) -> dict[str, str]:
    """Return the cells of a table, by row and column."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    kinds = table[[name for name in table if name in ("metric", "unit", "panel")]]
    table = table[~kinds.map(is_left_out).any(axis=1)]
    table = table[[name for name in table if not is_left_out(name)]].reset_index(drop=True)
    columns = {f"column {name}": "" for name in table}
    return columns | {f"{name}:{k}": v for name in table for k, v in enumerate(table[name])}


def leaves(value, at: str = "") -> dict[str, str]:
    """Return the leaves of JSON, by their path."""
    if not isinstance(value, dict | list) or not value:
        return {at: str(value)}
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    kept = [(name, part) for name, part in pairs if not is_left_out(str(name))]
    return {key: leaf for name, part in kept for key, leaf in leaves(part, f"{at}/{name}").items()}


def page(path: Path) -> dict[str, str]:
    """Return the numbers and words of a page, without tags and measured columns of tables."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = re.sub(r"<[^>]*>", " ", text)
    lines, head = [], []
    for line in text.splitlines():
        cells = line.strip().strip("|").split("|") if line.startswith("|") else []
        head = cells and (head or cells)
        if not cells:
            lines.append(TIMES.sub("", line))
        elif not TABLE_RULE.fullmatch(line) and not is_left_out(cells[0].strip()):
            pairs = zip(cells, head, strict=False)
            lines.append(" ".join(each for each, name in pairs if not is_left_out(name.strip())))
    return {f"word {k}": word for k, word in enumerate(WORD.findall("\n".join(lines)))}


def arrays(path: Path) -> dict[str, str | np.ndarray]:
    """Return the arrays of a file, by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files if not is_left_out(name)}


def document(path: Path) -> dict[str, bytes]:
    """Return the bytes of any other file, without the date that a PDF has."""
    return {"bytes": re.sub(rb"/(Creation|Mod)Date \([^)]*\)", b"", path.read_bytes())}


READERS = dict.fromkeys((".md", ".txt", ".html"), page) | {
    ".csv": csv,
    ".gz": csv,
    ".json": lambda path: leaves(json.loads(path.read_text(encoding="utf-8"))),
    ".npz": arrays,
}


def differences(old: Path, new: Path) -> list[str]:
    """Return what differs between two files: where, the old and the new value."""
    tables = [path.with_suffix(".csv") for path in (old, new)]
    pictured = old.suffix in (".png", ".pdf") and all(path.is_file() for path in tables)
    if old.read_bytes() == new.read_bytes():
        return []
    if pictured and tables[0].read_bytes() != tables[1].read_bytes():
        return []  # the table says what differs; seconds cannot be left out of a picture
    read = READERS.get(old.suffix, document)
    a, b = read(old), read(new)
    found = [f"{key} only old" for key in a if key not in b]
    found += [f"{key} only new" for key in b if key not in a]
    for key in [key for key in a if key in b]:
        x, y = a[key], b[key]
        if isinstance(x, np.ndarray):
            nan = x.dtype.kind in "fc" and y.dtype.kind in "fc"
            if x.dtype != y.dtype or x.shape != y.shape:
                found.append(f"{key} {x.dtype}{x.shape} -> {y.dtype}{y.shape}")
            elif not np.array_equal(x, y, equal_nan=nan):
                k = int(np.flatnonzero((x != y) & ~((x != x) & (y != y)))[0])
                found.append(f"{key}[{k}] {x.flat[k]} -> {y.flat[k]}")
        elif x != y and not (isinstance(x, str) and same(x, y)):
            found.append(f"{key} {x!r:.60} -> {y!r:.60}" if isinstance(x, str) else key)
    return found


def listing(folder: Path, ignored: list[str]) -> dict[str, Path]:
    """Return the files below a folder, by their paths in it."""
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    kept = (name for name in files if not any(fnmatch.fnmatch(name, glob) for glob in ignored))
    return {name: files[name] for name in kept if files[name].is_file()}


def main(arguments: list[str] | None = None) -> int:
    """Compare two folders; return 1 if they differ."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    for option, what in (("ignore", "GLOB"), ("ignore-key", "KEY")):
        parser.add_argument(f"--{option}", action="append", default=[], metavar=what)
    parser.add_argument("--part", action="store_true", help="NEW has some of the files")
    given = parser.parse_args(arguments)
    LEFT_OUT.update(given.ignore_key)
    old, new = listing(given.old, given.ignore), listing(given.new, given.ignore)
    bad = 0
    for name in sorted(new if given.part else old.keys() | new.keys()):
        if name not in old or name not in new:
            found = ["only old" if name in old else "only new"]
        else:
            found = differences(old[name], new[name])
        bad += bool(found)
        if found:
            print(f"{name}: {len(found)} differ: {'; '.join(found[:3])}")
    print(f"{len(old.keys() & new.keys())} files in both, {bad} differ")
    return int(bad > 0 or not new)


if __name__ == "__main__":
    sys.exit(main())
