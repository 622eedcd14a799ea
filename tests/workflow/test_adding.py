"""A method, a data set, an artefact or a paper takes one file or row, and one line to select it."""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from kcde.artefacts.core import listing
from kcde.artefacts.plots import style

pytestmark = pytest.mark.workflow

ROOT = Path(__file__).parents[2]

TOY = '''"""Toy: y is normal around the mean y of the nearest rows."""

import math
from typing import ClassVar

from kcde.arrays import array_namespace
from kcde.estimators._shared.pushforward import Pushforward


class Toy(Pushforward):
    """p(y|x) = N(y; m(x), s²): m the mean y of the nearest rows, s the spread around it."""

    selection_rule: ClassVar[str] = "the nearest five rows, nothing is searched"

    def __init__(self, neighbours=5):
        self.neighbours = neighbours

    def _fit(self, X, Y):
        xp = array_namespace(Y)
        self.X_, self.Y_ = X, Y
        rest = Y - self._centre(X)
        size = xp.max(xp.abs(rest), axis=0)
        if not bool(xp.all(size > 0)):
            raise ValueError("Y has no spread around its neighbours: bring it to unit scale")
        self.spread_ = size * xp.sqrt(xp.mean((rest / size) ** 2, axis=0))

    def _centre(self, X):
        xp = array_namespace(X)
        distance = xp.sum(xp.abs(X[:, None, :] - self.X_[None, :, :]), axis=2)
        last = min(self.neighbours, self.X_.shape[0]) - 1
        near = xp.astype(distance <= xp.sort(distance, axis=1)[:, last][:, None], X.dtype)
        return near @ self.Y_ / xp.sum(near, axis=1)[:, None]

    def log_density(self, X, Y):
        X, Y = self._check_pair(X, Y)
        return self._log_normal(Y - self._centre(X))

    def log_density_at(self, Y):
        Y = self._check_outputs(Y)[None, :, :]
        return lambda X: self._log_normal(Y - self._centre(self._check_features(X))[:, None, :])

    def _log_normal(self, rest):
        xp, scale = array_namespace(rest), math.sqrt(2.0 * math.pi) * self.spread_
        return xp.sum(-0.5 * (rest / self.spread_) ** 2 - xp.log(scale), axis=-1)

    def _line(self, X):
        return self._centre(X), self.spread_[None, :]

    def _push(self, X, Z):
        return self._centre(X)[:, None, :] + self.spread_ * Z
'''

TABLE = '''"""toys table1: the toy on its rows."""

from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.tables import building, dot_plot

ARTEFACT = Artefact(
    __name__,
    kind="table",
    title="a toy on rows of its own",
    shows={"r_benchmark": {"datasets": ["toy-rows"], "methods": ["Toy"]}},
    caption="Nothing that a paper has.",
    build=building.build,
    draw=dot_plot.write,
    metric="negative_log_likelihood",
)
'''

MIRROR = "own-mirror"
RULE = "- **Toy**: ours: the nearest five rows, nothing is searched."
AT_SMOKE = [
    f"results/smoke/r_benchmark/smoke-mixed/{method}.csv" for method in ("Toy", "LSCDE-exact")
]
RECORD = "results/laptop/artefacts/toys/table1.json"


def insert(path, above, below, text):
    found = path.read_text()
    assert found.count(above + below) == 1
    path.write_text(found.replace(above + below, above + text + below))


def rows_of_a_file(folder):
    """Write a raw file; return its row of the catalogue."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-2.0, 2.0, 60)
    content = pd.DataFrame({"dose": x, "effect": np.sin(x) + 0.2 * rng.standard_normal(60)})
    file = folder / MIRROR / "toy/rows.csv"
    file.parent.mkdir(parents=True)
    content.to_csv(file, index=False)
    return {
        "name": "toy-rows",
        "file": "toy/rows.csv",
        "urls": "https://example.org/toy/rows.csv",
        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        "bytes": file.stat().st_size,
        "licence": "CC0",
        "citation": "nobody",
        "y": "effect",
        "x": "dose",
        "format": "csv",
        "rows": 60,
        "columns": 2,
    }


@pytest.fixture(scope="module")
def added(project):
    """The copy with a file for a method, a row for a data set, a paper of one table, selected."""
    (project / "src/kcde/estimators/toy.py").write_text(TOY)
    paper = project / "src/kcde/artefacts/toys"
    paper.mkdir()
    (paper / "__init__.py").write_text('"""Toys, which no paper has."""')
    (paper / "table1.py").write_text(TABLE)
    catalogue = project / "src/kcde/data/catalogue.csv"
    with catalogue.open(encoding="utf-8", newline="") as file:
        columns = next(csv.reader(file))
    with catalogue.open("a", encoding="utf-8", newline="") as file:
        csv.DictWriter(file, columns, restval="").writerow(rows_of_a_file(project))
    config = project / "config.yaml"
    insert(config, "      - CondMAF\n", "    only:\n      # A reading", "      - Toy\n")
    insert(config, "      - ufc\n", "    methods:\n", "      - toy-rows\n")
    insert(config, "papers: [kcef, dde, jdl, cdo, across", "]", ", toys")
    return project


@pytest.fixture(scope="module")
def python(added):
    """Return a function that runs Python with the copy of the package."""

    def run(*arguments):
        environment = os.environ | {"PYTHONPATH": f"{added / 'src'}"}
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=added, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def plan(snakemake, added):
    """What a dry run of everything says."""
    done = snakemake("-n", "-p", "--quiet", "reason")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def fitted(snakemake, added, plan):
    """The copy, with the toy fitted on made-up data and on its rows; planned before."""
    done = snakemake(*AT_SMOKE, RECORD, KCDE_DATA_MIRROR=f"{added / MIRROR}")
    assert done.returncode == 0, done.stderr
    return added


def scores_drawn(plan, artefact):
    (found,) = re.findall(rf"kcde draw {artefact} --scores (.*?) --into", plan)
    return found.split()


@pytest.mark.slow
def test_jobs_of_a_new_method_are_planned(plan, added):
    chosen = yaml.safe_load((added / "config.yaml").read_text())["experiments"]["r_benchmark"]
    outputs = set(re.findall(r"^    output: ([^,\n]+)", plan, re.MULTILINE))
    wanted = {f"results/laptop/r_benchmark/{d}/Toy.csv" for d in chosen["datasets"]}
    assert len(wanted) == 21
    assert wanted <= outputs
    assert wanted <= set(scores_drawn(plan, "across/all_methods"))
    # A table of a paper shows what it lists.
    assert not wanted & set(scores_drawn(plan, "kcef/table1"))


def test_jobs_of_a_new_data_set_are_planned(plan, added):
    chosen = yaml.safe_load((added / "config.yaml").read_text())["experiments"]["r_benchmark"]
    outputs = set(re.findall(r"^    output: ([^,\n]+)", plan, re.MULTILINE))
    # All but those that the table of all methods leaves out, and those of certain data sets.
    left_out = listing.artefacts()["across/all_methods"].shows["r_benchmark"]["but"]
    shown = [m for m in chosen["methods"] if m not in left_out and m not in chosen["only"]]
    wanted = {f"results/laptop/r_benchmark/toy-rows/{m}.csv" for m in shown}
    assert wanted | {"results/data/toy-rows.json"} <= outputs


@pytest.mark.slow
def test_the_contract_suite_takes_a_new_method_in(added, python):
    for part in ("conftest.py", "contracted.py", "devices.py", "naive.py"):
        shutil.copy(ROOT / "tests" / part, added / part)
    shutil.copytree(ROOT / "tests/contract", added / "tests/contract")
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", added)
    said = python(
        "-m", "pytest", *options, added / "tests/contract", "-k", "Toy and not test_check_estimator"
    )
    passed = int(re.search(r"(\d+) passed", said)[1])
    assert passed > 40
    assert "failed" not in said


@pytest.mark.slow
def test_a_new_method_is_fitted_ranked_and_shown(fitted, python):
    for artefact, place in (("across/all_methods", "all_methods"), ("kcef/table1",) * 2):
        python("-m", "kcde", "draw", artefact, "--scores", *AT_SMOKE, "--into", "drawn")
        page = (fitted / f"drawn/{place}.md").read_text()
        assert RULE in page
        rows = pd.read_csv(fitted / f"drawn/{place}.csv")
        values = rows.loc[rows["method"] == "Toy", "mean"]
        assert np.isfinite(values.iloc[0])
        assert (fitted / f"drawn/{place}.png").stat().st_size > 1000
        (header,) = re.findall(r"^\| data set .*\|$", page, re.MULTILINE)
        assert " Toy " in header
    ranks = (fitted / "drawn/all_methods.md").read_text()
    assert re.search(r"^\| \**Toy\** \| [12]\.\d\d \|", ranks, re.MULTILINE)


def test_a_new_method_has_a_colour(python):
    said = python(
        "-c",
        "from kcde.artefacts.plots import style; import sys\n"
        "print(style.line('Toy')['color'], style.line('Toy-LL')['color'], 'jax' in sys.modules)",
    )
    assert said.split() == [style.RESERVE[0], style.RESERVE[0], "False"]


@pytest.mark.slow
def test_a_new_data_set_is_fetched_from_a_mirror_and_fitted(fitted):
    record = json.loads((fitted / "results/data/toy-rows.json").read_text())
    assert record["status"] == "available"
    assert record["origin"] == "mirror"
    scores = pd.read_csv(fitted / "results/laptop/r_benchmark/toy-rows/Toy.csv")
    own = scores[scores["metric"] == "negative_log_likelihood"]
    assert (own["status"] == "ok").all()
    assert len(own) == 20


@pytest.mark.slow
def test_an_artefact_of_a_new_paper_is_planned_and_drawn(plan, fitted):
    assert "kcde draw toys/table1 " in plan
    assert json.loads((fitted / RECORD).read_text())["files"]
    page = (fitted / "figures/toys/table1.md").read_text()
    assert page.startswith("# toys/table1: a toy on rows of its own")
    assert "| toy-rows |" in page
    assert RULE in page
