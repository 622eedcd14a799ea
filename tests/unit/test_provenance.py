"""Digests change with code, and with nothing else."""

import shutil
from pathlib import Path

import pytest

from kcde import provenance

PACKAGE = Path(provenance.__file__).parent
CLASSES = ("KCEF", "LSCDE", "EpsilonKDE")


@pytest.fixture
def copy(tmp_path):
    """Return a function that makes a folder of the package's sources, one edited or added."""

    def edited(module, edit):
        root = shutil.copytree(PACKAGE, tmp_path / "kcde")
        (root / module).write_text(edit((root / module).read_text()))
        return root

    return edited


def job_digests(root):
    """Digests of the r_benchmark jobs of each class, as the workflow takes them."""
    return {
        name: provenance.digest(
            "kcde.experiments.r_benchmark", provenance.estimator_module(name), root=root
        )
        for name in CLASSES
    }


def changed(before, after):
    return {name for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("module", "classes"),
    [
        ("estimators/lscde.py", {"LSCDE"}),
        ("estimators/base.py", set(CLASSES)),
        ("experiments/r_benchmark.py", set(CLASSES)),
        ("cli.py", set()),
        ("methods.py", set()),
    ],
)
def test_an_edit_changes_the_jobs_that_use_it(copy, module, classes):
    before = job_digests(PACKAGE)
    after = job_digests(copy(module, lambda text: text + "\nADDED = 1\n"))
    assert changed(before, after) == classes


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text + "\n# a remark\n",
        lambda text: text.replace('"""', '"""Said otherwise. ', 1),
        lambda text: text.replace("selection_rule: ClassVar[str] =", "selection_rule ="),
    ],
)
def test_words_do_not_count(copy, edit):
    assert edit(text := (PACKAGE / "estimators/kcef.py").read_text()) != text
    before, after = job_digests(PACKAGE), job_digests(copy("estimators/kcef.py", edit))
    assert changed(before, after) == set()


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
    assert provenance.closure("kcde.near", root=root) == {
        "kcde",
        "kcde.near",
        "kcde.far",
        "kcde.sub",
        "kcde.sub.deep",
        "kcde.other",
    }
    with pytest.raises(ValueError, match=r"apart\.py, line 1"):
        provenance.closure("kcde.apart", root=root)


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"no module 'kcde\.nowhere'"):
        provenance.digest("kcde.nowhere")
    with pytest.raises(
        ValueError, match=r"no estimator 'NADA' \(did you mean `NADE`\?\); known: .*LSCDE"
    ):
        provenance.estimator_module("NADA")
