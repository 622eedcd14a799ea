"""kcef table 1 under readings of KCEF's bandwidths and of the criterion that chooses them."""

import numpy as np

import artefact_scores as made
from kcde.evidence import r_sets
from kcde.methods import METHODS
from kcde.papers import published, registry
from kcde.papers.kcef import table1, table1_bandwidths

ARTEFACT = registry.ARTEFACTS["kcef/table1-bandwidths"]
SETS = published.datasets("kcef", "table1")
WAVE = np.sin(np.arange(20.0))
NOISE = 0.01 * np.cos(3.0 * np.arange(20))


def scores(better):
    """KCEF under each reading; one method is below LSCDE on every set, the others above it."""
    cells = {}
    for name in SETS:
        cells[name, "LSCDE"] = list(WAVE)
        cells[name, "NADE"] = list(WAVE)
        for method in table1_bandwidths._SHOWN:
            cells[name, method] = list(WAVE + NOISE + (-0.3 if method == better else 0.3))
    return made.frame(cells)


def test_a_method_stands_in_the_place_of_kcef_under_its_reading_alone():
    for choice, named in table1_bandwidths._CHOICES.items():
        for better in named.values():
            table = scores(better)
            found = ARTEFACT.readers[f"K-{choice}"](table)
            assert set(found) == {"K7", "K8", "D3", "D6"}
            assert {words: each.verdict for words, each in found["K7"].items()} == {
                words: "holds" if name == better else "fails" for words, name in named.items()
            }
    own = table[~table["method"].str.startswith("KCEF-")]
    first = next(iter(named))
    assert found["K7"][first] == table1.kcef_beats_lscde(own)
    assert found["D6"][first] == r_sets.kcef_unstable(own)


def test_the_criterion_is_all_that_differs_from_the_drawn_reading():
    shared, drawn = METHODS["KCEF-LL-shared"], METHODS["KCEF"]
    assert drawn.options == {"selection": "score"}
    assert shared.options == {"selection": "shared-likelihood"}
    assert set(table1_bandwidths.CRITERIA.values()) == {"KCEF", "KCEF-LL-shared", "KCEF-LL"}


def test_the_nearest_is_counted_for_each_choice():
    table = ARTEFACT.build(ARTEFACT, scores("KCEF-LL-shared"), [])
    assert set(table["method"]) == set(table1_bandwidths._SHOWN)
    bandwidths, criterion = table1_bandwidths.remarks(table)
    assert bandwidths.startswith("By bandwidths, nearest to the published value of 14 sets")
    assert "KCEF-LL-shared" not in bandwidths
    # All medians are negative, and the published values positive: the lowest is farthest.
    assert "KCEF-LL-shared on 0" in criterion
