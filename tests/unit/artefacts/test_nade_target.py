import artefact_scores as made
import numpy as np
import pandas as pd
import pytest

from kcde import published, scores
from kcde.artefacts.core import drawing, registry
from kcde.artefacts.core.cells import splits
from kcde.artefacts.kcef import table1
from kcde.artefacts.kcef._nade_target import against_joint, section
from kcde.artefacts.tables import building
from kcde.metrics.names import NLL_QUADRATURE, NLL_X

TABLE1 = registry.ARTEFACTS["kcef/table1"]
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
    table = building.build(TABLE1, joint_scores(), [])
    said = "\n".join(section(table))
    assert "| geyser | 1.43 | 0.60 | 1.60 | 1.00 | x and y |" in said
    assert "| topo | 4.26 | 8.75 | 4.60 | 3.00 | x and y |" in said
    assert "engel" not in said
    assert "nearer on 2 of 2 sets (geyser, topo), y given x on 0; by our medians, " in said
    assert "rules, the former on 1. x and y together reproduces 0 of the published means" in said


def test_the_page_says_which_published_means_the_joint_reproduces():
    cells = [("geyser", "NADE", made.around(1.0)), ("geyser", "NADE-joint", made.around(1.45))]
    table = building.build(TABLE1, rows(*cells, ("geyser", "NADE-joint", [0.8] * 20, NLL_X)), [])
    said = "\n".join(section(table))
    assert "| geyser | 1.43 | 1.00 | 1.45 ✓ | 0.80 | x and y |" in said
    assert said.endswith("together reproduces 1 of the published means, y given x 0.")


def test_the_joint_is_never_marked_as_the_best_nor_judged():
    table = building.build(TABLE1, joint_scores(), []).set_index(["dataset", "method", "metric"])
    assert table.loc[("engel", "KCEF", made.METRIC), "best"] is True
    joint = table.xs("NADE-joint", level="method")
    assert not joint["best"].fillna(False).any()
    assert joint["p_value"].isna().all()
    assert (joint["verdict"].fillna("") == "").all()


def test_a_table_without_the_joint_says_nothing_of_it(tmp_path):
    path = tmp_path / "scores" / "a.csv"
    scores.write(path, made.rows_of("geyser", "NADE", made.around(1.4)), {})
    drawing.make(TABLE1, [path], tmp_path)
    assert "What the published" not in (tmp_path / "kcef" / "table1.md").read_text()
