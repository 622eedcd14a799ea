"""Which of 300 fixed random changes of the code the tests notice.

    pip install pytest-cov
    python tools/mutants.py [--jobs 2] [--only FILE]

A change swaps an operator, a bound, a sign, and and or, min and max, or adds one to a number. Those
tests run on it that reach its line, or of compiled lines its module, quickest first, up to 25
seconds of them. What they do not notice in a paper's folder may be seen where its tables and
figures are redrawn, as .ci/run does. What is known is kept in tests/mutants.csv, a row a change, so
that a run goes on where it was stopped; a survivor changes what is not stated, or nothing at all.
"""

import argparse
import ast
import copy
import csv
import filecmp
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from coverage import CoverageData
from tqdm import tqdm

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kcde"
TABLE = ROOT / "tests/mutants.csv"
REACHED = ROOT / "results/mutants"
NUMERICS = "arrays kernels linalg metrics normalisers panels sampling selection seeding streaming"
ROOMS = {**dict.fromkeys(["estimators", *NUMERICS.split()], 150), "evidence": 100, "papers": 100}
"""Module or folder of modules to the number of changes in all of its kind; 50 elsewhere."""
SECONDS = 25.0

SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


def changed(node: ast.expr) -> ast.expr | None:
    """Return a changed copy of an expression, None of one that is left as it is."""
    new = copy.deepcopy(node)
    match new:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in SWAPS:
            new.op = SWAPS[type(op)]()
        case ast.Compare(ops=[op]):
            new.ops = [SWAPS[type(op)]()]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return new.operand
        case ast.Constant(value=bool()):
            new.value = not new.value
        case ast.Constant(value=int() | float()):
            new.value += 1
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            new.func.id = NAMES[name]
        case ast.Call(func=ast.Attribute(attr=name)) if name in NAMES:
            new.func.attr = NAMES[name]
        case _:
            return None
    return new


def expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that run; annotations do not."""
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST):
                    yield from expressions(each)
    if isinstance(node, ast.expr):
        yield node


def drawn() -> list[dict]:
    """Return the changes: file, line, columns, what stands there and what comes in its place.

    Those of the smallest checksums, so that an edit elsewhere leaves them as they are.
    """
    places: dict[int, list[dict]] = {150: [], 100: [], 50: []}
    for path in sorted(PACKAGE.rglob("*.py")):
        count = ROOMS.get(path.relative_to(PACKAGE).parts[0].removesuffix(".py"), 50)
        for node in expressions(ast.parse(path.read_text())):
            new = changed(node)
            if new is not None and node.lineno == node.end_lineno:
                place = {"file": str(path.relative_to(ROOT)), "line": node.lineno}
                place |= {"from": node.col_offset, "to": node.end_col_offset}
                places[count].append(place | {"old": ast.unparse(node), "new": ast.unparse(new)})

    def checksum(each: dict) -> str:
        return hashlib.sha256(f"{each['file']}{each['old']}{each['from']}".encode()).hexdigest()

    return [each for count in places for each in sorted(places[count], key=checksum)[:count]]


def run(arguments: list[str], root: Path, seconds: float | None = None) -> int:
    """Return what pytest ends with; -1 after so many seconds."""
    environment = os.environ | {"PYTHONPATH": f"{root}/src:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        done = subprocess.run(command, cwd=root, env=environment, timeout=seconds, **quiet)
    except subprocess.TimeoutExpired:
        return -1
    if done.returncode in (4, 5):  # an unknown test, or none
        raise SystemExit(f"pytest does not take {arguments}")
    return done.returncode


def reach() -> tuple[CoverageData, dict[str, float]]:
    """Return which tests reach which lines, and the seconds of each test; measured once."""
    data, times = REACHED / "coverage", REACHED / "times.xml"
    if not times.exists():
        REACHED.mkdir(parents=True, exist_ok=True)
        os.environ["COVERAGE_FILE"] = str(data)
        measured = ["--cov=src/kcde", "--cov-context=test", "--cov-report=", f"--junitxml={times}"]
        if run(["-n", "auto", *measured], ROOT):
            times.unlink(missing_ok=True)
            raise SystemExit("the tests fail before anything is changed")
    found = CoverageData(str(data))
    found.read()
    seconds = {}
    for case in xml.etree.ElementTree.parse(times).iter("testcase"):
        test = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
        seconds[test] = float(case.get("time"))
    return found, seconds


def tests_of(change: dict, found: CoverageData, seconds: dict[str, float]) -> list[str]:
    """Return the tests that reach a line; where none is seen to, those that reach its module."""
    lines = found.contexts_by_lineno(str(ROOT / change["file"]))
    reached = {each.split("|")[0] for each in lines.get(change["line"], [])} - {""}
    if not reached:
        reached = {each.split("|")[0] for of_line in lines.values() for each in of_line} - {""}
    chosen, total = [], 0.0
    for test in sorted(reached, key=lambda test: (seconds.get(test, SECONDS), test)):
        total += seconds.get(test, SECONDS)
        if chosen and total > SECONDS:
            break
        chosen.append(test)
    return chosen


def redrawn_alike(paper: str, root: Path) -> bool:
    """Return whether the tables and figures of a paper are drawn as they are tracked."""
    environment = os.environ | {"PYTHONPATH": f"{root}/src"}
    command = [sys.executable, "-m", "kcde", "draw", paper, "--into", "figures"]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True)
    tracked, drawn = ROOT / "figures" / paper, root / "figures" / paper
    names = [path.name for path in tracked.iterdir() if path.suffix != ".pdf"]
    alike = done.returncode == 0 and filecmp.cmpfiles(tracked, drawn, names, shallow=False)[0]
    shutil.copytree(tracked, drawn, dirs_exist_ok=True)
    return alike == names


def key_of(change: dict) -> tuple[str, ...]:
    """Return what makes a change the same in a file whose lines have moved."""
    return tuple(str(change[name]) for name in ("file", "from", "old", "new"))


def outcome(change: dict, tests: list[str], root: Path) -> str:
    """Return by what a change in a copy of the project is killed, or that it survived."""
    path = root / change["file"]
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    line = lines[change["line"] - 1].encode()
    new = f"({change['new']})".encode()
    lines[change["line"] - 1] = (line[: change["from"]] + new + line[change["to"] :]).decode()
    path.write_text("".join(lines))
    try:
        if tests and run(["-x", *tests], root, 10.0 * SECONDS):
            return "killed"
        paper = path.parent.name
        drawn = path.parent.parent.name == "papers" and not redrawn_alike(paper, root)
        return "killed by a drawing" if drawn else "survived"
    finally:
        path.write_text(text)


def main() -> None:
    """Try what has not been tried, and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="changes tried at once")
    parser.add_argument("--only", default="", help="a part of the path of the files changed")
    asked = parser.parse_args()
    known = set()
    if TABLE.exists():
        with TABLE.open() as file:
            known = {key_of(row) for row in csv.DictReader(file)}
    changes = [each for each in drawn() if asked.only in each["file"]]
    left = [each for each in changes if key_of(each) not in known]
    found, seconds = reach()
    copies: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory() as folder, TABLE.open("a", newline="", buffering=1) as file:
        writer = csv.writer(file, lineterminator="\n")
        if not known:
            writer.writerow([*changes[0], "outcome"])
        for job in range(asked.jobs):
            left_out = shutil.ignore_patterns("results", ".git", ".venv", ".snakemake", "_build")
            copies.put(Path(shutil.copytree(ROOT, f"{folder}/{job}", ignore=left_out)))

        def tried(change: dict) -> None:
            root = copies.get()
            came = outcome(change, tests_of(change, found, seconds), root)
            copies.put(root)
            writer.writerow([*change.values(), came])

        with ThreadPoolExecutor(asked.jobs) as pool:
            list(tqdm(pool.map(tried, left), total=len(left)))


if __name__ == "__main__":
    main()
