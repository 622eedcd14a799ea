"""The table of a comparison and the sentence of advice, from scores that are made up."""

import json

import numpy as np
import pytest
from scipy import stats

from kcde.comparison import scoring, summary
from kcde.comparison.advice import advise
from kcde.comparison.plan import Plan
from kcde.comparison.running import Run
from kcde.comparison.splits import random_splits

COVERED = {"coverage_50": 0.5, "coverage_90": 0.9}
OVERLAP = 0.25


def compared(tmp_path, scores, risks=(), failed=(), covered=()):
    """A plan and a run in which each method has one log density a split."""
    plan = Plan(tmp_path, "random", tuple(random_splits(50, 6, 0)), np.zeros((50, 1)), np.zeros(50))
    risks, covered = dict(risks), dict(covered)
    for method, values in scores.items():
        for split, value in enumerate(values):
            said = {"status": "ok", "detail": "", "log_density": value, "crps": -value, **COVERED}
            said |= {"worst_loss": risks.get(method, 2.0), "seconds": 1.0}
            said["coverage_90"] = covered.get(method, 0.9)
            if (method, split) in failed:
                said = {"status": "failed", "detail": "singular", "seconds": 1.0}
            path = scoring.paths(tmp_path, method, split)[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(said | {"n_train": 40, "n_test": 10}))
    return plan, Run(list(scores), {"Slow": "too slow"}, list(range(6)))


def advice(plan, run, rank_by="log_density"):
    table = summary.table(plan, run, rank_by)
    return advise(table, summary.by_split(plan, run), OVERLAP, rank_by)


WOBBLE = np.array([0.02, -0.01, 0.03, -0.02, 0.01, -0.03])
SCORES = {
    "MarginalKDE": list(-1.4 + WOBBLE),
    "KCEF": list(-0.6 + WOBBLE[::-1]),
    "LSCDE": list(-0.5 + WOBBLE),
}


def test_the_table_is_ranked_with_corrected_errors(tmp_path):
    table = summary.table(*compared(tmp_path, SCORES))
    assert list(table["method"]) == ["LSCDE", "KCEF", "MarginalKDE", "Slow"]
    assert table["reason"].iloc[-1] == "too slow"
    error = np.sqrt(1 / 6 + OVERLAP) * WOBBLE.std(ddof=1)
    assert table["log_density_stderr"][0] == pytest.approx(error)
    assert table["gain"][0] == pytest.approx(0.9)
    assert table["gain_stderr"][0] == pytest.approx(0.0, abs=1e-12)
    difference = np.array(SCORES["KCEF"]) - SCORES["LSCDE"]
    t = difference.mean() / (np.sqrt(1 / 6 + OVERLAP) * difference.std(ddof=1))
    assert table["p_value"][1] == pytest.approx(2 * stats.t.sf(abs(t), 5))


def test_the_first_is_advised_with_what_x_is_worth(tmp_path):
    found = advice(*compared(tmp_path, SCORES))
    assert found.method == "LSCDE"
    assert "x is worth 0.90 ± 0.00 nats" in found.sentence
    assert "90% intervals hold 90%" in found.sentence
    assert found.sentence.count(". ") == 0


def test_of_equals_the_one_that_risks_less_is_advised(tmp_path):
    scores = SCORES | {"KCEF": list(-0.505 + WOBBLE[::-1])}
    found = advice(*compared(tmp_path, scores, {"LSCDE": 6.0, "KCEF": 2.5}))
    assert found.method == "KCEF"
    assert "risks less: 2.50 against 6.00 nats" in found.sentence
    assert advice(*compared(tmp_path, scores, {"LSCDE": 2.53, "KCEF": 2.5})).method == "LSCDE"


def test_risk_does_not_outweigh_a_rank_that_is_significantly_better(tmp_path):
    assert advice(*compared(tmp_path, SCORES, {"LSCDE": 9.0})).method == "LSCDE"


def test_a_method_that_failed_is_ranked_last_and_not_advised(tmp_path):
    plan, run = compared(tmp_path, SCORES, failed={("LSCDE", 2)})
    table = summary.table(plan, run)
    assert list(table["method"])[:3] == ["KCEF", "MarginalKDE", "LSCDE"]
    assert table["failed"][2] == 1
    assert advice(plan, run).method == "KCEF"


def test_x_that_is_worth_nothing_is_said(tmp_path):
    scores = {"MarginalKDE": list(-1.4 + WOBBLE), "LSCDE": list(-1.39 + WOBBLE[::-1])}
    found = advice(*compared(tmp_path, scores))
    assert found.method == "MarginalKDE"
    assert "x is worth nothing that these rows can show" in found.sentence


def test_ties_are_ranked_by_crps(tmp_path):
    plan, run = compared(tmp_path, SCORES)
    assert list(summary.table(plan, run, "crps")["method"])[:2] == ["LSCDE", "KCEF"]
    assert advice(plan, run, "crps").sentence.startswith("Take LSCDE: it has the best CRPS")


def test_wrong_coverage_is_said_with_the_remedy(tmp_path):
    found = advice(*compared(tmp_path, SCORES, covered={"LSCDE": 0.7}))
    assert "hold 70% of held-out rows, too narrow" in found.sentence
    assert "--conformal" in found.sentence


def test_without_a_sound_method_none_is_advised(tmp_path):
    scores = {"LSCDE": SCORES["LSCDE"]}
    found = advice(*compared(tmp_path, scores, failed={("LSCDE", 0)}))
    assert found.method is None
