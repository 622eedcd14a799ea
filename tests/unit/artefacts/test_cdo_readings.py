"""cdo's claims under each reading of what the paper leaves open, and the table beside them."""

import cdo_scores as made
import pandas as pd
import pytest

from kcde import published, scores
from kcde.artefacts.cdo import table3_readings
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.judging import readings

READINGS = registry.ARTEFACTS["cdo/table3-readings"]


def frame(terrain=None, donut=None, traffic=None):
    """Return made-up scores of all three experiments, with some cells changed."""
    rows = []
    for method, error in (made.TERRAIN | (terrain or {})).items():
        rows += made.terrain(method, error)
    for method, errors in (made.DONUT | (donut or {})).items():
        rows += made.donut(method, *errors)
    for method, errors in (made.TRAFFIC | (traffic or {})).items():
        rows += made.traffic(made.PEMS, method, errors)
    return pd.DataFrame(rows, columns=scores.COLUMNS)


def verdicts(found):
    return {
        claim: {name: (each.amended or each).verdict for name, each in by_reading.items()}
        for claim, by_reading in found.items()
    }


def test_lscde_is_read_both_ways():
    own, other = table3_readings.PACKAGE, table3_readings.SUGIYAMA
    low = {"CondMAF": 0.1, "CondRealNVP": 0.12, "LSCDE-exact": 0.3}
    found = verdicts(table3_readings.read_lscde(frame(low)))
    assert found["C2"] == {own: "holds", other: "fails"}
    # LSCDE-exact is nearer to the joint density at x = 1 than CDO.
    assert found["C3"] == {own: "holds", other: "fails"}
    # Its signed weights leave more than half of its error.
    assert found["C6"] == {own: "holds", other: "fails"}


def test_the_process_is_read_both_ways():
    found = table3_readings.read_gp(frame())
    assert verdicts(found) == {
        "C1": {table3_readings.START: "holds", table3_readings.TUNED: "fails"}
    }
    assert "GP-ML 0.025" in found["C1"][table3_readings.TUNED].reason
    assert all(each.amended is None for each in found["C1"].values())


def test_the_target_is_read_both_ways():
    donut = {"GP": ((0.082, 0.072), (0.05, 0.085))}
    found = table3_readings.read_target(frame(donut=donut))
    own, other = table3_readings.JOINT, table3_readings.CONDITIONAL
    assert verdicts(found) == {"C3": {own: "holds", other: "fails"}}
    assert "against the conditional density over 10" in found["C3"][other].reason


def test_the_split_is_read_both_ways():
    found = table3_readings.read_split(frame())
    assert verdicts(found) == {
        "C5": {table3_readings.HONEST: "holds", table3_readings.NOTEBOOK: "holds"}
    }
    honest, other = (each.reason for each in found["C5"].values())
    assert "of the mean CDO 0.0505," in honest
    assert "of the mean CDO 0.0253," in other
    assert "of the training days themselves" not in other
    without = frame()
    without = without[~without["metric"].str.endswith("overlapping")]
    assert table3_readings.read_split(without)["C5"][table3_readings.NOTEBOOK].verdict == (
        "undecided"
    )


def test_every_choice_of_the_paper_has_a_reader():
    choices = published.readings()
    wanted = choices[choices["paper"] == "cdo"]["id"]
    assert set(READINGS.readers) == set(wanted)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    paths = made.terrain_files(folder / "scores")
    paths += made.donut_files(folder / "scores") + made.traffic_files(folder / "scores")
    drawing.make(READINGS, paths, folder)
    return folder


def test_the_table_has_both_protocols_and_the_claims_are_tracked(drawn):
    table = pd.read_csv(drawn / "cdo" / "table3-readings.csv")
    flows = table[table["method"] == "CondMAF"].set_index("metric")
    assert flows.loc["smae_centred", "mean"] == pytest.approx(0.16, rel=0.01)
    assert flows.loc["smae", "mean"] == pytest.approx(0.035, rel=0.01)
    assert set(flows["n"]) == {10}
    assert set(table["method"]) <= {*READINGS.methods, "data"}
    tracked = readings.read(drawn)
    assert set(tracked["claim"]) == {"C1", "C2", "C3", "C5", "C6"}
    assert "Each as published" in (drawn / "cdo" / "table3-readings.md").read_text()
