"""Digests change with code, and with nothing else."""

import shutil
from pathlib import Path

import pytest

from kcde import provenance

PACKAGE = Path(provenance.__file__).parent
CLASSES = ("KCEF", "LSCDE", "EpsilonKDE")


def digests(root):
    """Return the digests of the r_benchmark jobs of each class, as the workflow takes them."""
    job, of = "kcde.experiments.r_benchmark", provenance.estimator_module
    return {name: provenance.digest(job, of(name), root=root) for name in CLASSES}


def edited(folder, edits):
    root = shutil.copytree(PACKAGE, folder / "kcde")
    for module, edit in edits.items():
        (root / module).write_text(edit((root / module).read_text()))
    return root


def added(text):
    return f"{text}\nADDED = 1\n"


def reworded(text):
    text = text.replace('"""', '"""Said otherwise. ', 1) + "\n# a remark\n"
    assert "selection_rule =" in text
    return text.replace("selection_rule =", "selection_rule: str =")


@pytest.mark.parametrize(
    ("module", "classes"),
    [
        ("estimators/lscde.py", {"LSCDE"}),
        ("estimators/base.py", {*CLASSES}),
        ("experiments/r_benchmark.py", {*CLASSES}),
    ],
)
def test_an_edit_changes_the_jobs_that_use_it(tmp_path, module, classes):
    before, after = digests(PACKAGE), digests(edited(tmp_path, {module: added}))
    assert {name for name in CLASSES if before[name] != after[name]} == classes


def test_words_and_what_lists_or_calls_experiments_do_not_count(tmp_path):
    edits = {"cli.py": added, "methods.py": added, "estimators/kcef.py": reworded}
    assert digests(edited(tmp_path, edits)) == digests(PACKAGE)


def test_imports_within_functions_count_and_relative_ones_are_refused(tmp_path):
    root = tmp_path / "kcde"
    for name, text in {
        "__init__.py": "",
        "near.py": "def f():\n    from kcde.far import g\n    return g()\n",
        "far.py": "from kcde import sub\nfrom kcde.sub.deep import x\ng = 1\n",
        "sub/__init__.py": "",
        "sub/deep.py": "from kcde.other import y\nx = 1\n",
        "other.py": "y = 1\n",
        "apart.py": "from . import other\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    needed = {f"kcde.{name}" for name in ("near", "far", "sub", "sub.deep", "other")}
    assert provenance.closure("kcde.near", root=root) == {"kcde"} | needed
    with pytest.raises(ValueError, match=r"apart\.py, line 1"):
        provenance.closure("kcde.apart", root=root)
