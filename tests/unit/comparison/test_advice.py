"""The table of a comparison and the advice, from scores that are made up."""

import numpy as np
import pytest
from scipy import stats

from kcde.comparison.advice import advise, by_split, ranked
from kcde.comparison.running import REMEDY, Plan, Run, Scored, Split

OVERLAP = 0.25
WOBBLE = np.array([0.02, -0.01, 0.03, -0.02, 0.01, -0.03])
SCORES = {"MarginalKDE": -1.4 + WOBBLE, "KCEF": -0.6 + WOBBLE[::-1], "LSCDE": -0.5 + WOBBLE}
REASON = f"stopped after 9s: {REMEDY}"
SAME = SCORES | {"KCEF": -0.501 + WOBBLE + 0.1 * WOBBLE[::-1]}
CLOSE = SCORES | {"KCEF": -0.505 + (WOBBLE + WOBBLE[::-1]) / 2}
WORTHLESS = {"MarginalKDE": SCORES["LSCDE"], "LSCDE": SCORES["LSCDE"] - 0.001}
RIVAL = SCORES | {"KCEF": -0.505 + WOBBLE[::-1]}
STACK = {"estimators": ["LSCDE", "CDO-LL"], "weights": [0.75, 0.25]}
MIXED = {"MarginalKDE": SCORES["MarginalKDE"], "Stacked": SCORES["LSCDE"]}
NOISY = -1.3 + np.array([0.9, -0.8, 0.5, -0.6, 0.3, -0.2])


def compared(scores, risks=(), failed=(), covered=(), rank_by="log_density", **given):
    """The table and the advice where each method has one log density a split."""
    found, tested, kind = {}, given.pop("tested", 100), given.pop("kind", "forward")
    for method, values in scores.items():
        found[method] = []
        for split, value in enumerate(values):
            said = {"status": "ok", "detail": "", "log_density": value, "crps": -value}
            said |= {"worst_loss": dict(risks).get(method, 2.0), "coverage_50": 0.5}
            said |= {"coverage_90": dict(covered).get(method, 0.9), "width_90": 1.0, "error": 0.5}
            if (method, split) in failed:
                said = {"status": "failed", "detail": "singular"}
            said |= {"seconds": 1.0, "n_train": 40, "n_test": tested}
            found[method].append(Scored(said, {}))
    count = max(map(len, scores.values()), default=0)
    run = Run(40, splits=list(range(count)), scores=found, **given)
    split = Split(np.arange(40), np.arange(10))
    plan = Plan("", kind, (split,) * 6, None, None, column="when")
    splits = by_split(run)
    table = ranked(splits, run, OVERLAP, rank_by)
    return table, advise(table, splits, run, plan, rank_by)


def test_the_table_is_ranked_with_corrected_errors():
    behind = {"Left": (20, [Scored({"log_density": 9.0, "n_train": 20, "status": "ok"}, {})])}
    table = compared(SCORES, behind=behind, skipped={"Absent": "needs a library"})[0]
    assert list(table["method"]) == ["LSCDE", "KCEF", "MarginalKDE", "Left", "Absent"]
    assert "20 training rows" in table["reason"][3]
    assert table["reason"][4] == "needs a library"
    error = np.sqrt(1 / 6 + OVERLAP) * WOBBLE.std(ddof=1)
    assert table["log_density_stderr"][0] == pytest.approx(error)
    assert table["gain"][0] == pytest.approx(0.9)
    assert table["gain_stderr"][0] == pytest.approx(0.0, abs=1e-12)
    difference = SCORES["KCEF"] - SCORES["LSCDE"]
    t = difference.mean() / (np.sqrt(1 / 6 + OVERLAP) * difference.std(ddof=1))
    assert table["p_value"][1] == pytest.approx(2 * stats.t.sf(abs(t), 5))
    assert list(compared(SCORES, rank_by="crps")[0]["method"])[:2] == ["LSCDE", "KCEF"]
    table = compared(SCORES, failed={("LSCDE", 2)})[0]
    assert list(table["method"]) == ["KCEF", "MarginalKDE", "LSCDE"]
    assert table["failed"].tolist() == [0, 0, 1]


def test_methods_are_ranked_by_their_mean_rank_and_resampled():
    # Better on five of six splits, worse in the mean by one.
    jumps = SCORES["LSCDE"] + np.array([0.1, 0.1, 0.1, 0.1, 0.1, -5.0])
    table = compared(SCORES | {"KCEF": jumps})[0].set_index("method")
    assert list(table.index[:2]) == ["KCEF", "LSCDE"]
    assert table["mean_rank"]["KCEF"] == pytest.approx((5 * 1 + 3) / 6)
    # It is the first where the last split is taken less than twice, and half of it where twice.
    taken = stats.binom(6, 1 / 6)
    share = (taken.cdf(1) + taken.cdf(2)) / 2
    assert table["first_share"]["KCEF"] == pytest.approx(share, abs=0.04)
    assert table["first_share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("scores", "options", "advised"),
    [
        (SCORES, {}, "LSCDE"),
        (SAME, {"risks": {"LSCDE": 6.0, "KCEF": 2.5}}, "KCEF"),  # equivalent, and it risks less
        (SAME, {"risks": {"LSCDE": 2.0, "KCEF": 2.0}}, "LSCDE"),  # the same risk
        (CLOSE, {"risks": {"LSCDE": 6.0, "KCEF": 2.5}}, "LSCDE"),  # not shown to be equivalent
        (SAME, {"risks": {"LSCDE": 6.0}, "rank_by": "crps"}, "LSCDE"),  # y has ties
        (SAME, {"risks": {"LSCDE": 6.0}, "tested": 15}, None),  # too few rows
        (SCORES | {"KCEF": SCORES["LSCDE"] - [0.1, 0.1, 0.1, 0.1, 0.1, 9.0]}, {}, "LSCDE"),
        (RIVAL, {}, None),  # which may be better by more than the margin
        (WORTHLESS, {}, "MarginalKDE"),
        (SCORES | {"LSCDE": NOISY, "KCEF": NOISY - 1.0}, {}, None),
        (SCORES, {"skipped": {"NADE": REASON}}, None),  # not all could be scored
        (SCORES, {"skipped": {"NADE": "failed on every split: no"}}, "LSCDE"),
        ({name: SCORES[name] for name in ("KCEF", "LSCDE")}, {}, "LSCDE"),
        ({"LSCDE": SCORES["LSCDE"]}, {"failed": {("LSCDE", 0)}}, None),
        (SCORES, {"failed": {("LSCDE", 2)}}, "KCEF"),
        # The mixture has no rivals, and gives way to a single method that is equivalent.
        (MIXED | {"LSCDE": RIVAL["KCEF"]}, {"stack": STACK}, "Stacked"),
        (MIXED | {"LSCDE": SAME["KCEF"] - 0.005}, {"stack": STACK}, "LSCDE"),
        ({}, {}, None),
    ],
)
def test_who_is_advised(scores, options, advised):
    advice = compared(scores, **options)[1]
    assert advice.method == advised
    assert ("What would settle it" in advice.sentence) is (advised is None)


def test_the_sentence_says_what_x_is_worth_and_what_is_to_be_done():
    narrow = compared(SCORES, covered={"LSCDE": 0.7})[1].sentence
    assert "0.9 nats better than MarginalKDE" in narrow
    assert "kcde fit --time-column when --conformal" in narrow
    mixed = compared(MIXED, stack=STACK)[1].sentence
    assert "Take Stacked, the mixture 0.75 LSCDE, 0.25 CDO-LL: it is the first" in mixed
    hedged = compared(RIVAL | {"Stacked": NOISY}, kind="groups")[1].sentence
    assert "rows of more groups. Meanwhile Stacked, the mixture of them, hedges" in hedged
    assert "no other method" in compared({"LSCDE": SCORES["LSCDE"]})[1].sentence
    assert "KCEF may be better than it, by up to 0.03 nats" in compared(RIVAL)[1].sentence
    assert "nats" not in compared(SCORES, rank_by="crps")[1].sentence
