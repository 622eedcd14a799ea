"""Artefacts are found by their files, and read without importing them."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from kcde.artefacts.core import listing, registry
from kcde.artefacts.core.declaration import Artefact
from kcde.artefacts.tables import building
from kcde.provenance import SourceError

FIGURES = Path(__file__).parents[3] / "figures"

DECLARED = '''"""A figure."""

ARTEFACT = Artefact(
    __name__,
    kind="figure",
    title="errors of mine",
    shows={"donut": {"datasets": ["donut"], "methods": ["CDO"]}},
    build=build,
)
'''


@pytest.fixture
def folder(tmp_path):
    listing.artefacts.cache_clear()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/fig1.py").write_text(DECLARED)
    (tmp_path / "mine/fig2.py").write_text(DECLARED.replace('["donut"]', '"mine/fig1"'))
    (tmp_path / "mine/parts.py").write_text('"""No artefact."""\n')
    (tmp_path / "mine/_hidden.py").write_text(DECLARED)
    return tmp_path


def test_a_file_is_an_artefact(folder):
    found = listing.artefacts(folder)
    assert list(found) == ["mine/fig1", "mine/fig2"]
    first, second = found.values()
    assert (first.paper, first.name, first.kind) == ("mine", "fig1", "figure")
    assert (first.module, first.title) == ("kcde.artefacts.mine.fig1", "errors of mine")
    assert second.shows == first.shows == {"donut": {"datasets": ["donut"], "methods": ["CDO"]}}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('    kind="figure",\n', "", "lacks kind"),
        ('"figure"', '"picture"', "kind 'picture'"),
        ('["CDO"]', "METHODS", "needs literals for name, kind, title, shows"),
        ('"methods": ', '"method": ', r"has shows.donut.method \(did you mean `methods`\?\)"),
        ('["CDO"]', "3", "has 3 for shows.donut.methods; allowed: a list"),
        ('{"datasets": ["donut"], "methods": ["CDO"]}', "3", "shows {'donut': 3}"),
        ("__name__,", "__name__,\n    def", r"fig1\.py, line 5: invalid syntax"),
        ('["donut"]', '"mine/fig9"', "mine/fig1.*mine/fig9"),
        (
            "title=",
            "titel=",
            r"fig1\.py: ARTEFACT has titel \(did you mean `title`\?\); known: mod",
        ),
        (
            "    build=build",
            "    build=build, unheard=3",
            "has unheard; known: module, kind, title",
        ),
        (
            "    kind",
            '    stage="late",\n    kind',
            "has the stage 'late'; allowed: run or readings",
        ),
        ('["CDO"]', '["CDO"], "scale": "paper"', "scale; allowed: readings"),
        ("    kind", '    name="fig2",\n    kind', "are both mine/fig2"),
    ],
)
def test_a_declaration_that_cannot_be_read_is_refused(folder, old, new, said):
    path = folder / "mine/fig1.py"
    path.write_text(DECLARED.replace(old, new))
    with pytest.raises(SourceError, match=said):
        listing.artefacts(folder)


def test_a_declaration_may_have_a_type(folder):
    path = folder / "mine/fig1.py"
    path.write_text(DECLARED.replace("ARTEFACT =", "ARTEFACT: Artefact ="))
    assert list(listing.artefacts(folder)) == ["mine/fig1", "mine/fig2"]


def test_the_known_arguments_are_the_fields_of_the_class():
    assert listing._arguments() == [field.name for field in dataclasses.fields(Artefact)]


def test_places_and_suffixes():
    assert listing.place("kcef", "table1") == "kcef/table1"
    assert listing.place(listing.ACROSS, "all_methods") == "all_methods"
    assert listing.suffixes("table")[:2] == ("csv", "md")
    assert listing.suffixes("figure")[:2] == ("csv", "png")


def test_reading_imports_no_numerics():
    program = (
        "import sys; from kcde.artefacts.core import listing; listing.artefacts(); "
        "print(sorted({'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_tracked_tables_have_their_columns_in_the_declared_order():
    wrong = []
    for artefact in registry.ARTEFACTS.values():
        if artefact.kind != "table" or not artefact.methods:  # ranked by what is found
            continue
        path = FIGURES / f"{artefact.place}.csv"
        if not path.exists():  # not made yet: `snakemake figures` names it
            continue
        table = building.read(path)
        for dataset, rows in table[table["metric"] == artefact.metric].groupby("dataset"):
            found = [name for name in rows["method"].unique() if name in artefact.methods]
            if found != [name for name in artefact.methods if name in found]:
                wrong.append((artefact.key, dataset, found))
    assert not wrong
