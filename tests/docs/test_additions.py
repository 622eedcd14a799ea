"""What a newcomer adds is as few files and entries as CONTRIBUTING.md says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOWTO = ROOT / "docs/howto"
ESTIMATOR = '''"""Lines."""
from kcde.estimators.baselines import LinearGaussian
class MyMethod(LinearGaussian):
    """Predict a normal density of y given x."""
'''
EXPERIMENT = """from dataclasses import dataclass
from kcde.experiments.base import Experiment, Outcome, sized
"""


def example(page, start):
    """Return the first block of code of a page that begins so."""
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", (HOWTO / page).read_text(), re.DOTALL)
    return next(block for block in blocks if block.startswith(start))


@pytest.fixture
def package(tmp_path):
    shutil.copytree(ROOT / "src/kcde", tmp_path / "kcde", ignore=shutil.ignore_patterns("__py*"))
    return tmp_path / "kcde"


def answer(package, *words):
    environment = os.environ | {"PYTHONPATH": f"{package.parent}"}
    command = [sys.executable, *words]
    done = subprocess.run(command, env=environment, cwd=package.parent, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_an_estimator_is_a_file_and_its_name(package):
    (package / "estimators/my_method.py").write_text(ESTIMATOR)
    init = package / "__init__.py"
    init.write_text(init.read_text().replace('"NADE",', '"NADE", "MyMethod",'))
    fitted = "import kcde; print(kcde.MyMethod().fit([[0.0], [1.0], [3.0]], [0.0, 1.0, 2.0]))"
    assert "MyMethod()" in answer(package, "-c", fitted)


def test_an_experiment_is_a_file(package):
    content = EXPERIMENT + example("paper.md", "@dataclass")
    (package / "experiments/coin.py").write_text(content)
    answer(package, "-m", "kcde", "run", "coin", "--scale", "smoke", "-o", "coin.csv")
    assert (package.parent / "coin.csv").read_text().count("heads") == 2


def test_a_paper_is_a_folder_and_a_row(package):
    folder = package / "papers/toys"
    folder.mkdir()
    (folder / "table1.py").write_text(example("artefact.md", '"""toys'))
    (folder / "pages.md").write_text("## table1: rows\n\nWhat is shown.\n\n### Details\n\nHow.\n")
    with (package / "papers/papers.csv").open("a") as papers:
        papers.write('toys,"Toy: On toys, 2026",It is small.,table1\n')
    asked = "from kcde import plan; print([a.key for a in plan.artefacts(plan.PAPERS, ['run'])])"
    assert "'toys/table1'" in answer(package, "-c", asked)
