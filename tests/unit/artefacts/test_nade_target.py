import numpy as np
import pandas as pd
import pytest

import artefact_scores as made
from kcde import scores
from kcde.evidence.cells import splits
from kcde.metrics.names import NLL_QUADRATURE, NLL_X
from kcde.papers import published, registry
from kcde.papers.kcef import table1, table1_nade
from kcde.papers.kcef._nade_target import against_joint, section

TABLE = registry.ARTEFACTS["kcef/table1-nade"]
NAMES = published.datasets("kcef", "table1")


def rows(*cells):
    """Scores of (data set, method, values) or (data set, method, values, metric)."""
    made_rows = [row for cell in cells for row in made.rows_of(*cell)]
    frame = pd.DataFrame(made_rows, columns=scores.COLUMNS).assign(detail="")
    return frame.assign(variant=frame["variant"].mask(frame["method"] == "NADE-joint", "ours"))


def test_the_joint_takes_the_place_of_nade_and_x_is_added_to_the_others_split_by_split():
    given = rows(
        ("a", "KCEF", [1.0, 2.0, None]),
        ("a", "KCEF", [1.1, 2.1], NLL_QUADRATURE),
        ("a", "KCEF", [0.1, 0.1], "importance_error"),
        ("a", "KCEF-LL", [0.5, 0.6, 0.7]),
        ("a", "NADE", [9.0, 9.0, 9.0]),
        ("a", "NADE-joint", [3.0, None, 5.0]),
        ("a", "NADE-joint", [1.5], NLL_X),
        ("b", "KCEF", [1.0]),
        ("b", "NADE-joint", [7.0]),
        ("b", "NADE-joint", [4.0], NLL_X),
    )
    before = given.copy()
    # Of the second and third split there is no part of x.
    found = against_joint(given)
    pd.testing.assert_frame_equal(given, before)
    assert list(found.columns) == list(given.columns)
    np.testing.assert_equal(splits(found, "a", "NADE").tolist(), [3.0, np.nan, 5.0])
    np.testing.assert_equal(splits(found, "a", "KCEF").tolist(), [2.5, np.nan, np.nan])
    np.testing.assert_equal(splits(found, "a", "KCEF-LL", "ours").tolist(), [2.0, np.nan, np.nan])
    np.testing.assert_equal(
        splits(found, "a", "KCEF", metric=NLL_QUADRATURE).tolist(), [2.6, np.nan]
    )
    assert splits(found, "a", "KCEF", metric="importance_error").tolist() == [0.1, 0.1]
    assert splits(found, "b", "KCEF").tolist() == [5.0]
    assert "NADE-joint" not in set(found["method"])


@pytest.mark.parametrize(("worse", "expected"), [(10, "holds"), (9, "fails")])
def test_k8_is_decided_on_the_joint_by_what_it_says_of_y_given_x(worse, expected):
    cells = []
    for k, name in enumerate(NAMES):
        kcef, of_x = np.array(made.around(1.0)), np.array(made.around(3.0, width=2.0))[::-1]
        of_y = kcef + (0.5 if k < worse else -0.5) + 0.01 * np.arange(20)
        cells += [
            (name, "KCEF", kcef),
            (name, "NADE", kcef - 1.0),
            (name, "NADE-joint", of_x + of_y),
            (name, "NADE-joint", of_x, NLL_X),
        ]
    given = rows(*cells)
    assert table1.nade_loses_to_kcef(given).verdict == "fails"
    decision = table1.nade_loses_to_kcef(against_joint(given))
    assert decision.verdict == expected
    assert f"significantly worse on {worse} (wanted 10)" in decision.reason


def joint_scores():
    return rows(
        ("geyser", "NADE", made.around(0.6)),  # published 1.43
        ("geyser", "NADE-joint", made.around(1.6)),
        ("geyser", "NADE-joint", made.around(1.0), NLL_X),
        ("topo", "NADE", [*made.around(4.0, 19), 99.0]),  # 4.26; its median is nearer
        ("topo", "NADE-joint", made.around(4.6)),
        ("topo", "NADE-joint", made.around(3.0), NLL_X),
        ("engel", "KCEF", made.around(0.2)),  # without NADE
        ("engel", "NADE-joint", made.around(-1.0)),
    )


def test_the_page_says_set_by_set_which_is_nearer():
    table = table1_nade.build(TABLE, joint_scores(), [])
    said = "\n".join(section(table))
    assert "| geyser | 1.43 | 0.60 | 1.60 | 1.00 | x and y |" in said
    assert "| topo | 4.26 | 8.75 | 4.60 | 3.00 | x and y |" in said
    assert "engel" not in said
    assert "nearer on 2 of 2 sets (geyser, topo), y given x on 0; by our medians, " in said
    assert "rules, the former on 1. x and y together reproduces 0 of the published means" in said


def test_the_page_says_which_published_means_the_joint_reproduces():
    cells = [("geyser", "NADE", made.around(1.0)), ("geyser", "NADE-joint", made.around(1.45))]
    table = table1_nade.build(TABLE, rows(*cells, ("geyser", "NADE-joint", [0.8] * 20, NLL_X)), [])
    said = "\n".join(section(table))
    assert "| geyser | 1.43 | 1.00 | 1.45 ✓ | 0.80 | x and y |" in said
    assert said.endswith("together reproduces 1 of the published means, y given x 0.")


def test_neither_is_marked_as_the_best_nor_judged():
    table = table1_nade.build(TABLE, joint_scores(), [])
    assert set(table["method"]) == {"NADE", "NADE-joint"}
    assert not table["best"].fillna(False).any()
    assert (table["verdict"].fillna("") == "").all()
    of_y = table.set_index(["dataset", "method"])["published_mean"].dropna()
    assert of_y.to_dict() == {("geyser", "NADE"): 1.43, ("topo", "NADE"): 4.26}


def nades(conditional, joint):
    """NADE of y given x and of x and y, worse than KCEF on so many sets."""
    cells = []
    for k, name in enumerate(NAMES):
        kcef, of_x = np.array(made.around(1.0)), np.array(made.around(3.0, width=2.0))[::-1]
        beyond = 0.5 + 0.01 * np.arange(20)
        cells += [
            (name, "KCEF", kcef),
            (name, "NADE", kcef + beyond * (1 if k < conditional else -1)),
            (name, "NADE-joint", kcef + of_x + beyond * (1 if k < joint else -1)),
            (name, "NADE-joint", of_x, NLL_X),
        ]
    return rows(*cells)


@pytest.mark.parametrize(
    ("conditional", "joint", "amended"),
    [(10, 10, "holds"), (9, 10, "undecided"), (10, 9, "undecided"), (2, 3, "fails")],
)
def test_amended_k8_takes_both_nades(conditional, joint, amended):
    given = nades(conditional, joint)
    read = table1_nade.read_nade(given)["K8"]
    verdicts = {name: read[name].amended.verdict for name in ("conditional", "joint")}
    assert verdicts == {
        "conditional": "holds" if conditional >= 10 else "fails",
        "joint": "holds" if joint >= 10 else "fails",
    }
    (decision,) = table1_nade.amended(given)["K8"].values()
    assert decision.verdict == amended
    assert decision.parts == {f"NADE, {name}": verdict for name, verdict in verdicts.items()}
    assert f"NADE, joint: by the t-test over splits corrected for shared rows: {joint} " in (
        decision.reason
    )


@pytest.mark.parametrize("joint", [10, 3])
def test_k8_says_how_the_columns_compare_as_they_stand(joint):
    """The part of x counts for NADE alone: it has the higher median on every set but one."""
    given = nades(2, joint)
    cell = (given["dataset"] == NAMES[0]) & (given["method"] == "NADE-joint")
    given.loc[cell & (given["metric"] == made.METRIC), "value"] -= 9.0
    decision = table1_nade.read_nade(given)["K8"]["joint beside conditional"]
    assert decision.verdict == "holds"
    assert "significantly worse on 13 (wanted 10)" in decision.reason
    assert "higher median on 13;" in decision.reason


def test_amended_k8_is_undecided_without_the_joint_nade():
    given = nades(10, 10)
    decision = table1_nade.loses_in_both(given[given["method"] != "NADE-joint"])
    assert decision.verdict == "undecided"
    assert "NADE, joint: no splits of NADE-joint" in decision.reason


def test_it_is_drawn_for_the_readings_and_decides_k8_for_the_scorecard(tmp_path):
    assert TABLE.stage == "readings"
    assert "NADE-joint" not in registry.ARTEFACTS["kcef/table1"].shows["r_benchmark"]["methods"]
    path = tmp_path / "laptop" / "r_benchmark" / "scores.csv"
    scores.write(path, nades(10, 9).drop(columns="detail").to_dict("records"), {})
    found = made.judged(TABLE, [path], tmp_path)
    page = (tmp_path / "kcef/table1-nade.md").read_text()
    assert "## Which of the two is nearer" in page
    read = found.set_index(["claim", "choice", "reading"])["verdict"]
    assert read.to_dict() == {
        ("K8", "K-nade", "conditional"): "holds",
        ("K8", "K-nade", "joint"): "fails",
        ("K8", "K-nade", "joint beside conditional"): "holds",
        ("K8", "amended", "both readings of NADE"): "undecided",
    }
