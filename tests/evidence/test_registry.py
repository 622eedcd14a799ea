"""Artefacts are found by their files, and declare what can be planned and drawn."""

from pathlib import Path

import pytest

from kcde.methods import METHODS
from kcde.pages import building
from kcde.papers.artefact import ACROSS, READINGS, RUN
from kcde.papers.registry import ARTEFACTS

FIGURES = Path(__file__).parents[2] / "figures"


def test_artefacts_are_found_in_alphabetical_order():
    assert {"across/all_methods", "kcef/table1", "kcef/fig1-rows"} <= set(ARTEFACTS)
    assert list(ARTEFACTS) == sorted(ARTEFACTS)


@pytest.mark.parametrize("artefact", ARTEFACTS.values(), ids=ARTEFACTS)
def test_a_declaration_has_known_values(artefact):
    assert artefact.stage in (RUN, READINGS)
    assert artefact.target.endswith((".md", ".png"))
    for wanted in artefact.shows.values():
        assert set(wanted) <= {"datasets", "methods", "but", "only", "scale"}
        assert wanted.get("scale", "paper") == "paper"
        assert set(wanted.get("only", ())) <= set(wanted.get("methods", METHODS))


def test_what_belongs_to_no_paper_is_made_by_a_run():
    assert {each.stage for each in ARTEFACTS.values() if each.paper == ACROSS} == {RUN}


def test_tracked_tables_have_their_columns_in_the_declared_order():
    wrong = []
    for artefact in ARTEFACTS.values():
        if artefact.kind != "table" or not artefact.methods:  # ranked by what is found
            continue
        path = FIGURES / f"{artefact.key}.csv"
        if not path.exists():  # not made yet: `snakemake figures` names it
            continue
        table = building.read(path)
        for dataset, rows in table[table["metric"] == artefact.metric].groupby("dataset"):
            found = [name for name in rows["method"].unique() if name in artefact.methods]
            if found != [name for name in artefact.methods if name in found]:
                wrong.append((artefact.key, dataset, found))
    assert not wrong
