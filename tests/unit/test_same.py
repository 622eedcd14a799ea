"""`tools/same.py`: what counts as a difference between two folders of results."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "tools" / "same.py"
spec = importlib.util.spec_from_file_location("same", PATH)
same = importlib.util.module_from_spec(spec)
spec.loader.exec_module(same)


def write(path, content):
    """Write arrays or text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, dict):
        np.savez(path, **content)
    else:
        path.write_text(content)


@pytest.mark.parametrize(
    ("name", "old", "new", "differs"),
    [
        ("a.csv", "x,seconds\n1.0,2\nnan,3\n", "seconds,x\n9,1\n8,\n", False),
        ("a.csv", "x\n1\n", "x\n1.0000000001\n", True),
        ("a.csv", "metric,x\nfit_seconds,1\nsmae,2\n", "metric,x\nfit_seconds,5\nsmae,2\n", False),
        ("a.json", json.dumps({"a": [1], "code": "b"}), '{"code": "c",\n "a": [1.0]}', False),
        ("a.json", '{"a": {"b": 1}}', '{"a": {"b": 2}}', True),
        ("a.md", "n = 3,  in 2.5 s", "n = 3,\nin 7 minutes", False),
        ("a.md", "| n | time |\n| - | - |\n| 1 | 2 |", "| n | time |\n| - | - |\n| 1 | 3 |", False),
        ("a.html", "<p>1 b</p>", "<div>1 <b>b</b></div>", False),
        ("a.npz", {"x": np.array([1.0, np.nan])}, {"x": np.array([1.0, np.nan])}, False),
        ("a.npz", {"x": np.ones(2)}, {"x": np.ones(2) + 1e-15}, True),
    ],
)  # fmt: skip
def test_two_files(tmp_path, name, old, new, differs):
    write(tmp_path / "old" / name, old)
    write(tmp_path / "new" / name, new)
    assert same.main([str(tmp_path / "old"), str(tmp_path / "new")]) == differs
