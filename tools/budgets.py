"""Hold the size of each room: `python tools/budgets.py`, exit code 1 where one is over.

Lines of code are those without docstrings, comments and blanks. Who exceeds a budget raises it here
in the same change and says why in the commit.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/kcde"
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)

ROOMS = {
    "data": (1250, ["data"]),
    "experiments": (3850, ["experiments", "plan.py"]),
    "methods": (420, ["methods.py"]),
    "estimators": (10200, ["estimators"]),
    "numerics": (
        2600,
        [
            "arrays",
            "linalg",
            "kernels",
            "metrics",
            "sampling.py",
            "selection.py",
            "seeding.py",
            "normalisers.py",
            "panels.py",
            "streaming.py",
            "joint.py",
            "model_file.py",
        ],
    ),
    "artefacts": (13350, ["artefacts", "published"]),
    "table": (2100, ["comparison", "tabular.py", "table_model.py"]),
    "report": (550, ["report", "webpage"]),
    "the rest": (
        1050,
        [
            "cli",
            "verify.py",
            "scores.py",
            "split_scores.py",
            "provenance.py",
            "files.py",
            "memory.py",
            "names.py",
            "__init__.py",
            "__main__.py",
        ],
    ),
}
"""Room to its budget in lines of code and what belongs to it."""

WORKFLOW = 770
TESTS = 33_000
"""Lines of the Snakefile, rules, configuration, schema and resources; and of all tests."""


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


def sizes() -> dict[str, tuple[int, int]]:
    """Return the size and the budget of each room."""
    of_file = {path: code_lines(path) for path in PACKAGE.rglob("*.py")}
    found = {}
    for room, (budget, parts) in ROOMS.items():
        own = [path for path in of_file if path.relative_to(PACKAGE).parts[0] in parts]
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


def main() -> int:
    """Print the table, and return 1 where a budget is exceeded."""
    over = 0
    for room, (size, budget) in sizes().items():
        over |= size > budget
        print(f"{room:24} {size:7} of {budget:6}{'  OVER' if size > budget else ''}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main())
