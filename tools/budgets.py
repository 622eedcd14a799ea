"""Hold the size of each room: `python tools/budgets.py`, exit code 1 where one is over.

Lines of code are those without docstrings, comments and blanks. Who exceeds a budget raises it here
in the same change and says why in the commit.
"""

import ast
import io
import re
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kcde"
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)

ROOMS = {
    "data": (1057, ["data"]),
    "experiments": (2966, ["experiments", "plan"]),
    "methods": (296, ["methods", "declared"]),
    "estimators": (8490, ["estimators"]),
    "numerics": (
        1940,
        [
            "arrays",
            "linalg",
            "kernels",
            "metrics",
            "sampling",
            "selection",
            "seeding",
            "normalisers",
            "panels",
            "streaming",
            "joint",
            "numerics",
            "model_file",
        ],
    ),
    "evidence": (868, ["evidence"]),
    "pages": (616, ["pages"]),
    "papers": (4362, ["papers"]),
    "table": (2173, ["comparison", "tabular", "table_model"]),
    "the rest": (
        918,
        [
            "cli",
            "skpro",
            "scores",
            "provenance",
            "files",
            "memory",
            "names",
            "__init__",
            "__main__",
        ],
    ),
}
"""Room to its budget in lines of code and what belongs to it."""

WORKFLOW = 716
TESTS = 13776
"""Lines of the Snakefile, rules, configuration, schema and resources; and of all tests."""

WORDS, LONGEST, SENTENCE = 13_000, 1200, 20
"""Words of all pages under figures/ and of the longest, and of a sentence on average; tables and
code do not count."""


def code_lines(path: Path) -> int:
    """Return the lines of a Python file without docstrings, comments and blanks."""
    source = path.read_text(encoding="utf-8")
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in (*SKIPPED, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def room_of(path: Path) -> str:
    """Return the folder or module of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def sizes() -> dict[str, tuple[int, int]]:
    """Return the size and the budget of each room."""
    of_file = {path: code_lines(path) for path in PACKAGE.rglob("*.py")}
    found = {}
    for room, (budget, parts) in ROOMS.items():
        own = [path for path in of_file if room_of(path) in parts]
        found[room] = (sum(of_file.pop(path) for path in own), budget)
    found["without a room"] = (sum(of_file.values()), 0)
    workflow = [*ROOT.glob("workflow/**/*.*"), ROOT / "Snakefile", ROOT / "config.yaml"]
    workflow += [ROOT / "resources.csv"]
    kept = [path for path in workflow if path.suffix != ".txt"]
    for name, paths, budget in (
        ("workflow (all lines)", kept, WORKFLOW),
        ("tests (all lines)", ROOT.glob("tests/**/*.py"), TESTS),
    ):
        found[name] = (sum(len(path.read_text("utf-8").splitlines()) for path in paths), budget)
    return found


def prose(path: Path) -> str:
    """Return the sentences of a page: without code, tables, headings, pictures and tags."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    kept = [line for line in text.split("\n") if not line.lstrip().startswith(("|", "#", "!", "<"))]
    return re.sub(r"\]\([^)]*\)|[\[*`]", "", "\n".join(kept))


def words() -> dict[str, tuple[float, float]]:
    """Return how many words the pages have, the longest of them, and the length of sentences."""
    pages = {path: prose(path) for path in ROOT.glob("figures/**/*.md")}
    read = [*pages.values(), *map(prose, [ROOT / "README.md", *ROOT.glob("docs/**/*.md")])]
    sentences = [each.split() for text in read for each in re.split(r"(?<=[.?:])\s+|\n\n", text)]
    sentences = [each for each in sentences if len(each) > 2]
    return {
        "words of figures/": (sum(len(text.split()) for text in pages.values()), WORDS),
        "longest page": (max(len(text.split()) for text in pages.values()), LONGEST),
        "words a sentence": (sum(map(len, sentences)) / len(sentences), SENTENCE),
        "sentences beginning with Of": (sum(each[0] == "Of" for each in sentences), 0),
    }


def main() -> int:
    """Print the table, and return 1 where a budget is exceeded."""
    over = 0
    for room, (size, budget) in (sizes() | words()).items():
        over |= size > budget
        print(f"{room:24} {size:7.6g} of {budget:6}{'  OVER' if size > budget else ''}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
