"""Whether two runs of the workflow agree, and which files a run had finished.

`compare.py same ONE OTHER`: the results of two checkouts at a scale are the same, byte for byte,
but for what is measured, seconds and memory. `compare.py finished CHECKOUT` lists the outputs that
Snakemake takes for complete, with what the file system says of each; `compare.py kept CHECKOUT
LIST` fails where one of such a list was written again.
"""

import argparse
import csv
import gzip
import json
import re
import sys
from base64 import urlsafe_b64decode
from collections import defaultdict
from pathlib import Path

import numpy as np

MEASURED = re.compile(r"seconds|per_second|memory|MiB|(?<![a-z])time(?![a-z])", re.IGNORECASE)
"""What a column, row or key says if its number is measured, and differs from run to run."""

OF_THE_RUN = {"benchmarks", "parts"}
"""Folders of what says how a run was made: its times, and the parts that scores come from."""

PICTURES = {".png", ".pdf", ".md"}
"""Suffixes of files that show the table of the same name."""


AGAINST_SECONDS = {"jdl/fig6", "jdl/fig9"}
"""Figures whose curves are drawn against measured seconds."""


def same(one: Path, other: Path, scale: str, part: bool) -> bool:
    """Print how the results of two checkouts compare, and return whether they agree.

    Where the other checkout has a `part`, that is compared, and one may hold more.

    A table is compared without the columns and rows that are measured; the picture and the page of
    a table that differs in those alone are counted apart, since nothing in them can be left out.
    """
    trees = [checkout / "results" / scale for checkout in (one, other)]
    listed = [_results(tree) for tree in trees]
    found = defaultdict(list)
    for name in sorted(listed[1] - listed[0] if part else listed[0] ^ listed[1]):
        found["in one run alone"].append(name)
    for name in sorted(listed[0] & listed[1], key=lambda path: (path.suffix in PICTURES, path)):
        found[_verdict(*(tree / name for tree in trees), trees)].append(name)
    for verdict, names in found.items():
        print(f"{len(names)} files: {verdict}")
        if verdict != "byte-identical":
            print(*(f"    {name}" for name in names), sep="\n")
    good = {"byte-identical", "the same but for what is measured", "show what is measured"}
    return bool(listed[1]) and found.keys() <= good


def _results(tree: Path) -> set[Path]:
    files = (path for path in tree.rglob("*") if path.is_file())
    return {
        path.relative_to(tree)
        for path in files
        if path.relative_to(tree).parts[0] not in OF_THE_RUN
    }


def _verdict(one: Path, other: Path, trees: list[Path]) -> str:
    if one.read_bytes() == other.read_bytes():
        return "byte-identical"
    if "/".join(one.with_suffix("").parts[-2:]) in AGAINST_SECONDS:
        return "show what is measured"
    table = one.with_suffix(".csv")
    if one.suffix in PICTURES and table.is_file():
        pair = [table, trees[1] / table.relative_to(trees[0])]
        if pair[0].read_bytes() != pair[1].read_bytes() and _unmeasured_equal(*pair):
            return "show what is measured"
    elif one.suffix in READERS and _unmeasured_equal(one, other):
        return "the same but for what is measured"
    return "DIFFERENT"


def _unmeasured_equal(one: Path, other: Path) -> bool:
    read = READERS[one.suffix]
    return read(one) == read(other)


def _table(path: Path) -> list[list[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    measured = [bool(MEASURED.search(name)) for name in header]
    return [
        [cell for place, cell in enumerate(row) if not any(measured[place : place + 1])]
        for row in [header, *rows]
        if row is header or not any(MEASURED.search(cell) for cell in row)
    ]


def _document(path: Path) -> object:
    document = json.loads(path.read_text(encoding="utf-8"))
    if path.name == "scores.json":  # of the table beside it, which has seconds
        document = {key: document[key] for key in document.keys() - {"bytes", "sha256"}}
    return _unmeasured(document)


def _unmeasured(value: object) -> object:
    if isinstance(value, dict):
        return {key: _unmeasured(v) for key, v in value.items() if not MEASURED.search(key)}
    if isinstance(value, list):
        return [_unmeasured(entry) for entry in value]
    return value


def _arrays(path: Path) -> dict:
    with np.load(path) as arrays:
        return {
            name: (arrays[name].dtype.str, arrays[name].shape, arrays[name].tobytes())
            for name in arrays.files
            if not MEASURED.search(name)
        }


READERS = {".csv": _table, ".gz": _table, ".json": _document, ".npz": _arrays}
"""How to read what a file says, without what is measured."""


def finished(checkout: Path, recorded: bool = False) -> dict[str, list[int]]:
    """Return the outputs that no job would be run for, with inode and time of modification.

    Snakemake marks the outputs of a job as incomplete from its submission until it ends on its
    node, and may be ended between the marks of two; the files of one job differ in their suffix.
    Those `recorded` are fewer: of them Snakemake has been told by Slurm that the job is over.
    """
    outputs = {
        f"{path.relative_to(checkout)}": [path.stat().st_ino, path.stat().st_mtime_ns]
        for path in sorted((checkout / "results").rglob("*"))
        if path.suffix in READERS
        and path.is_file()
        and not {"figures", "judged"} & {*path.parts}
        # A job writes its table last: without it, it was ended before.
        and ("scores" not in path.parts or path.with_suffix(".csv").is_file())
    }
    open_jobs = {Path(name).with_suffix("") for name in _named(checkout / ".snakemake/incomplete")}
    over = {name for name in outputs if Path(name).with_suffix("") not in open_jobs}
    if recorded:
        over &= _named(checkout / ".snakemake/metadata")
    return {name: stat for name, stat in outputs.items() if name in over}


def _named(folder: Path) -> set[str]:
    # Files are called as the output in base64, cut into folders with an @ where that is long.
    names = ("".join(p.relative_to(folder).parts) for p in folder.rglob("*") if p.is_file())
    return {urlsafe_b64decode(name.replace("@", "")).decode() for name in names}


def kept(checkout: Path, before: dict[str, list[int]]) -> bool:
    """Print how many of the outputs finished before are still those files; return whether all."""
    now = finished(checkout)
    again = [name for name, stat in before.items() if now.get(name) != stat]
    new = len(now.keys() - before.keys())
    print(f"{len(before)} outputs were finished, {len(again)} of them written again, {new} are new")
    print(*(f"    {name}" for name in again), sep="\n", end="\n" if again else "")
    return bool(before) and not again


def main() -> int:
    """Read the command line, do what it says, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    two = commands.add_parser("same")
    two.add_argument("one", type=Path)
    two.add_argument("other", type=Path)
    two.add_argument("--scale", default="smoke")
    two.add_argument("--part", action="store_true", help="OTHER ran some of the targets")
    listing = commands.add_parser("finished")
    listing.add_argument("checkout", type=Path)
    listing.add_argument("--recorded", action="store_true")
    again = commands.add_parser("kept")
    again.add_argument("checkout", type=Path)
    again.add_argument("list", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "same":
        return 0 if same(chosen.one, chosen.other, chosen.scale, chosen.part) else 1
    if chosen.command == "finished":
        print(json.dumps(finished(chosen.checkout, chosen.recorded), indent=1))
        return 0
    return 0 if kept(chosen.checkout, json.loads(chosen.list.read_text(encoding="utf-8"))) else 1


if __name__ == "__main__":
    sys.exit(main())
