"""The table of a comparison and the advice, from scores that are made up."""

import numpy as np
import pytest
from scipy import stats

from kcde.comparison.advice import advise, by_split, ranked
from kcde.comparison.running import REMEDY, Run, Scored

OVERLAP = 0.25
WOBBLE = np.array([0.02, -0.01, 0.03, -0.02, 0.01, -0.03])
SCORES = {
    "MarginalKDE": -1.4 + WOBBLE,
    "KCEF": -0.6 + WOBBLE[::-1],
    "LSCDE": -0.5 + WOBBLE,
}


def compared(scores, risks=(), failed=(), covered=(), rank_by="log_density", reason="too slow"):
    """The table and the advice where each method has one log density a split."""
    found = {}
    for method, values in scores.items():
        found[method] = []
        for split, value in enumerate(values):
            said = {"status": "ok", "detail": "", "log_density": value, "crps": -value}
            said |= {"worst_loss": dict(risks).get(method, 2.0), "coverage_50": 0.5}
            said["coverage_90"] = dict(covered).get(method, 0.9)
            if (method, split) in failed:
                said = {"status": "failed", "detail": "singular"}
            said |= {"seconds": 1.0, "n_train": 40, "n_test": 10}
            found[method].append(Scored(said, {}))
    splits = by_split(Run(list(scores), splits=list(range(6)), scores=found))
    table = ranked(splits, {"Slow": reason}, OVERLAP, rank_by)
    return table, advise(table, splits, OVERLAP, rank_by)


def test_the_table_is_ranked_with_corrected_errors():
    table = compared(SCORES)[0]
    assert list(table["method"]) == ["LSCDE", "KCEF", "MarginalKDE", "Slow"]
    assert table["reason"].iloc[-1] == "too slow"
    error = np.sqrt(1 / 6 + OVERLAP) * WOBBLE.std(ddof=1)
    assert table["log_density_stderr"][0] == pytest.approx(error)
    assert table["gain"][0] == pytest.approx(0.9)
    assert table["gain_stderr"][0] == pytest.approx(0.0, abs=1e-12)
    difference = SCORES["KCEF"] - SCORES["LSCDE"]
    t = difference.mean() / (np.sqrt(1 / 6 + OVERLAP) * difference.std(ddof=1))
    assert table["p_value"][1] == pytest.approx(2 * stats.t.sf(abs(t), 5))
    by_crps = compared(SCORES, rank_by="crps")[0]
    assert list(by_crps["method"])[:2] == ["LSCDE", "KCEF"]


def test_a_method_that_failed_is_ranked_last_and_not_advised():
    table, advice = compared(SCORES, failed={("LSCDE", 2)})
    assert list(table["method"])[:3] == ["KCEF", "MarginalKDE", "LSCDE"]
    assert table["failed"][2] == 1
    assert advice.method == "KCEF"


CLOSE = SCORES | {"KCEF": -0.505 + WOBBLE[::-1]}
LOSES = -1.4 + WOBBLE + np.array([1.5, 1.4, 1.6, 1.5, -0.1, -0.1])
JUMPS = -1.4 + WOBBLE + np.array([4.0, 0.1, 0.1, 4.0, 0.1, 0.1])
SURE = -0.9 + WOBBLE + 0.1 * WOBBLE[::-1]


@pytest.mark.parametrize(
    ("scores", "options", "advised"),
    [
        (SCORES, {}, "LSCDE"),
        (CLOSE, {"risks": {"LSCDE": 6.0, "KCEF": 2.5}}, "KCEF"),  # of equals, who risks less
        (CLOSE, {"risks": {"LSCDE": 2.53, "KCEF": 2.5}}, "LSCDE"),  # the same risk
        (SCORES, {"risks": {"LSCDE": 9.0}}, "LSCDE"),  # significantly better
        (CLOSE, {"risks": {"LSCDE": 9.0}, "rank_by": "crps"}, "LSCDE"),  # y has ties
        (SCORES | {"LSCDE": -1.39 + WOBBLE[::-1], "KCEF": -1.5 + WOBBLE}, {}, "MarginalKDE"),
        # The first is often worse than the density without x, or not surely better than it.
        (SCORES | {"LSCDE": LOSES, "KCEF": SURE + 0.4}, {"risks": {"LSCDE": 1.0}}, "KCEF"),
        (SCORES | {"LSCDE": JUMPS, "KCEF": SURE}, {"risks": {"KCEF": 1.0}}, "KCEF"),
        ({name: SCORES[name] for name in ("KCEF", "LSCDE")}, {}, "LSCDE"),
    ],
)
def test_who_is_advised(scores, options, advised):
    assert compared(scores, **options)[1].method == advised


def test_the_sentence_says_what_x_is_worth_and_what_is_to_be_done():
    narrow = compared(SCORES, covered={"LSCDE": 0.7})[1].sentence
    assert "0.9 nats better than MarginalKDE" in narrow
    assert "kcde fit --conformal" in narrow
    unsaved = {"MarginalKDE": SCORES["MarginalKDE"], "NGBoost": SCORES["LSCDE"]}
    assert "cannot be saved" in compared(unsaved)[1].sentence
    alone = compared({"LSCDE": SCORES["LSCDE"]})[1].sentence
    assert "no other method has scores" in alone
    assert "significantly" not in alone
    assert "nats" not in compared(SCORES, rank_by="crps")[1].sentence


def test_without_a_sound_method_none_is_advised():
    failed = {"scores": {"LSCDE": SCORES["LSCDE"]}, "failed": {("LSCDE", 0)}}
    assert compared(**failed)[1].method is None
    assert REMEDY in compared(**failed, reason=f"a day: {REMEDY}")[1].sentence
    assert compared({})[1].method is None
