"""The site and the README: Python blocks and docstrings run, examples draw, links lead somewhere.

Sphinx itself is no part of this: it has an environment of its own.
"""

import ast
import doctest
import importlib
import inspect
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import typer

import kcde
import kcde.joint
from kcde import comparison, methods, metrics, numerics, streaming, table_model, tabular
from kcde.cli import app
from kcde.data import fetch
from kcde.evidence import scorecard
from kcde.names import ESTIMATORS
from kcde.papers import published
from kcde.papers.registry import ARTEFACTS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MADE = ("_build", "evidence", "examples", "figures", "generated")
PAGES = sorted(path for path in DOCS.rglob("*.md") if not {*path.relative_to(DOCS).parts} & {*MADE})
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
README = ROOT / "README.md"
SLOW = {"README.md", "own-data.md", "tutorial.md"}
# What takes hours, a GPU or a cluster, is the test suite itself, or makes environments.
ELSEWHERE = re.compile(r"--cores all|scale=paper|KCDE_ENV|pytest|tar |pip install")
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
ROOMS = "benchmarks|docs|envs|examples|figures|profiles|resources|src|tests|workflow"
NAMED = re.compile(rf"`((?:{ROOMS})/[^` ]+)`")
MADE_UP = re.compile(r"my_method|toys|<")


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def fences(path, language):
    """The contents of fenced blocks with these words behind the fence."""
    found = FENCE.findall(path.read_text(encoding="utf-8"))
    return [content for _, words, content in found if words.strip() == language]


def is_made(path):
    """Whether a file that is not there is one that a build makes, or `snakemake readings`."""
    if path.is_relative_to(ROOT / "figures"):
        return path.stem in {name.partition("/")[2] for name in ARTEFACTS}
    examples = "|".join(example.stem for example in EXAMPLES)
    made = rf"examples/(images/.*glr_({examples})_0.*|(index|{examples})\.rst)"
    made += rf"|evidence/({'|'.join(published.PAPERS)})-causes\.\w+"
    made += rf"|reference/generated/.*\b(estimators|kcde\.({'|'.join(ESTIMATORS)}))\.\w+"
    return re.fullmatch(made, f"{path}".removeprefix(f"{DOCS}/")) is not None


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder to write into, where pictures are drawn without a screen."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    yield tmp_path
    importlib.import_module("matplotlib.pyplot").close("all")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.nightly if page.name in SLOW else ())
        for page in [*PAGES, README]
        if fences(page, "python")
    ],
    ids=name_of,
)
def test_the_python_of_a_page_runs(page, elsewhere):
    X = np.random.default_rng(0).normal(size=(120, 2))
    of_readme = {"X": X, "y": X[:, 0] + X[::-1, 1], "X_new": X[:5]}  # as its comments say
    namespace = {"__name__": page.stem} | (of_readme if page == README else {})
    for block in fences(page, "python"):
        exec(compile(block, name_of(page), "exec"), namespace)  # our own pages
    if page.name == "own-data.md":
        assert namespace["found"].advice.method in ("LinearGaussian", "LSCDE-exact")
    if page.name == "tutorial.md":
        assert (elsewhere / "geyser.png").stat().st_size > 10_000
        first, middle, last = namespace["chance"]
        assert first > 0.9 > middle > 0.5 > last
        rest = namespace["X"][200:], namespace["Y"][200:]
        assert namespace["model"].score(*rest) > namespace["plain"].score(*rest) + 0.3


@pytest.mark.parametrize("page", [*PAGES, README], ids=name_of)
def test_blocks_of_a_page_are_python_and_commands_that_are_there(page):
    for block in [*fences(page, "python no-run"), *fences(page, "python")]:
        ast.parse(block)
    known = typer.main.get_command(app).commands
    for block in fences(page, "sh"):
        for line in block.splitlines():
            words, _, _ = re.sub(r"^(?:\w+=\S+ )?envs/run ", "", line).partition("#")
            if words.startswith("kcde "):
                command = known[words.split()[1]]
                parts = [command, *getattr(command, "commands", {}).values()]
                options = {each for part in parts for own in part.params for each in own.opts}
                assert set(re.findall(r"--[\w-]+", words)) <= options
        named = re.findall(r"figures/[a-z]+/[\w-]+\.\w+", block)
        assert all((ROOT / name).is_file() for name in named)


@pytest.mark.nightly
@pytest.mark.parametrize("page", [*PAGES, README], ids=name_of)
def test_commands_of_a_page_run_in_a_clean_clone(page, tmp_path):
    lines = [line for block in fences(page, "sh") for line in block.splitlines()]
    lines = [line.replace("envs/run ", "") for line in lines if not ELSEWHERE.search(line)]
    if not lines:
        pytest.skip("no command that runs here")
    subprocess.run(["git", "clone", "--quiet", os.fspath(ROOT), "clone"], cwd=tmp_path, check=True)
    clone = tmp_path / "clone"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    known = os.environ | {"PATH": path, "PYTHONPATH": f"{clone}/src"}
    subprocess.run(["bash", "-euxc", "\n".join(lines)], cwd=clone, check=True, env=known)


@pytest.mark.parametrize("page", [*PAGES, README], ids=name_of)
def test_links_files_and_shown_parts_of_a_page_are_there(page):
    text = page.read_text(encoding="utf-8")
    prose = FENCE.sub("", text)
    links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", prose)]
    others = [link for link in links if "://" in link]
    assert page == README or not others, "pages name no other host"
    files = {link for link in links if link and link not in others}
    files |= set(re.findall(r"\{(?:include|literalinclude|figure)\} (\S+)", text))
    files = [(page.parent / each).resolve() for each in files]
    named = [each for each in NAMED.findall(prose) if not MADE_UP.search(each)]
    built = "docs/_build", "docs/evidence"
    files += [ROOT / each for each in named if not each.startswith(built)]
    assert not [path for path in files if not (path.exists() or is_made(path))]
    ends = re.compile(r":(?:start-at|start-after|end-before): (?:[\"'](.*)[\"']|(.*))\n")
    for target, options in re.findall(r"\{(?:literal)?include\} (\S+)\n((?::.*\n)*)", text):
        for quoted, plain in ends.findall(options):
            assert (quoted or plain) in (page.parent / target).read_text(encoding="utf-8")


def test_parts_are_made_from_what_is_tracked(tmp_path):
    runpy.run_path(f"{DOCS}/extensions/evidence.py")["write"](tmp_path)
    for paper in published.PAPERS:
        made = (tmp_path / f"evidence/{paper}-causes.md").read_text()
        assert made.count("*Evidence:*") == len(published.causes().query("paper == @paper"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_repeats_itself(example):
    """It draws random numbers from seeds that it states, and asks no network."""
    tree = ast.parse(example.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in calls:
        called = ast.unparse(call.func)
        assert not called.startswith(("np.random.rand", "np.random.normal", "fetch.fetch"))
        if called.endswith("default_rng"):
            assert call.args
        if called.endswith(".sample"):
            assert {"random_state", "rng"} & {word.arg for word in call.keywords} or call.args[2:]


@pytest.mark.nightly
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_draws(example, elsewhere, monkeypatch):
    plt = importlib.import_module("matplotlib.pyplot")
    drawn = []
    monkeypatch.setattr(plt, "show", lambda: drawn.extend(map(plt.figure, plt.get_fignums())))
    runpy.run_path(os.fspath(example))
    assert drawn
    for figure in drawn:
        figure.canvas.draw()
        assert any(ax.get_ylabel() for ax in figure.axes)
        bars = [ax for ax in figure.axes if ax.get_label() == "<colorbar>"]
        assert all(bar.get_ylabel() for bar in bars)


CLASSES = [getattr(kcde, name) for name in kcde.LAZY if name[0].isupper()]
PUBLIC = [getattr(package, n) for package in (numerics, metrics) for n in package.__all__]
FUNCTIONS = [each for each in PUBLIC if inspect.isfunction(each)]
KERNELS = [each for each in PUBLIC if hasattr(each, "diagonal")]
MODULES = [methods, numerics, streaming, table_model, tabular, comparison]
SLOW_EXAMPLES = {"DDE", "NADE", "ConditionalMAF", "ConditionalRealNVP", "kcde.comparison"}
SHOWN = [
    pytest.param(each, marks=pytest.mark.nightly) if each.__name__ in SLOW_EXAMPLES else each
    for each in [*CLASSES, fetch.bundled_files, *FUNCTIONS, *KERNELS, *MODULES]
]


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_examples_show_what_happens(shown):
    parsed = doctest.DocTestParser().get_examples(inspect.getdoc(shown))
    assert parsed, f"{shown.__name__} has no example"
    test = doctest.DocTest(parsed, {}, shown.__name__, None, None, None)
    said = []
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not outcome.failed, "".join(said)


def test_the_readme_is_short_and_its_counts_are_those_of_the_scorecard():
    text = README.read_text(encoding="utf-8")
    assert len(text.split()) <= 600
    frame = scorecard.read(ROOT / "figures")
    classes = frame.loc[frame["kind"] == "claim", "class"].value_counts()
    numbers = frame.loc[frame["kind"] == "number", "verdict"].value_counts()
    informative = numbers[numbers.index.isin(scorecard.INFORMATIVE)]
    counted = [classes.sum(), *(classes.get(name, 0) for name in scorecard.CLASSES)]
    counted += [informative.sum(), informative["compatible"]]
    (paragraph,) = (each for each in text.split("\n\n") if each.startswith("**Scorecard.**"))
    assert [int(each) for each in re.findall(r"\b\d+\b", paragraph)] == counted
