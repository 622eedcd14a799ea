"""The table of a comparison and the sentence of advice, from scores that are made up."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kcde.comparison import scoring, summary
from kcde.comparison.advice import advise
from kcde.comparison.plan import Plan
from kcde.comparison.running import REMEDY, Run
from kcde.comparison.splits import random_splits
from kcde.metrics.paired import paired_t_test

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
    assert "loses 2.00 nats on the worst twentieth" in found.sentence
    assert found.sentence.count(". ") == 0


def test_of_equals_the_one_that_risks_less_is_advised(tmp_path):
    scores = SCORES | {"KCEF": list(-0.505 + WOBBLE[::-1])}
    found = advice(*compared(tmp_path, scores, {"LSCDE": 6.0, "KCEF": 2.5}))
    assert found.method == "KCEF"
    assert "number 2 of 3, not significantly (0.01 nats, p = " in found.sentence
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
    assert "it is number 2 of 2; on the worst twentieth of the rows it loses" in found.sentence
    assert "its 90% intervals hold 90% of held-out rows" in found.sentence
    by_crps = advice(*compared(tmp_path / "again", scores), "crps").sentence
    assert by_crps.startswith("Take MarginalKDE")
    assert "nats" not in by_crps


def test_a_method_below_the_density_that_ignores_x_is_said_to_be_worse(tmp_path):
    scores = {"MarginalKDE": list(-1.4 + WOBBLE), "LSCDE": list(-1.5 + WOBBLE[::-1])}
    found = advice(*compared(tmp_path, scores))
    assert "LSCDE, is worse by 0.10 nats" in found.sentence


def test_without_the_density_that_ignores_x_its_worth_is_not_known(tmp_path):
    scores = {name: SCORES[name] for name in ("KCEF", "LSCDE")}
    found = advice(*compared(tmp_path, scores))
    assert found.method == "LSCDE"
    assert "what x is worth is not known, as MarginalKDE" in found.sentence


def test_ties_are_ranked_by_crps(tmp_path):
    plan, run = compared(tmp_path, SCORES)
    assert list(summary.table(plan, run, "crps")["method"])[:2] == ["LSCDE", "KCEF"]
    assert advice(plan, run, "crps").sentence.startswith("Take LSCDE: it has the best CRPS")


def test_where_y_has_ties_no_log_density_is_an_argument(tmp_path):
    scores = {**SCORES, "KCEF": list(np.array(SCORES["LSCDE"]) - 0.001 * WOBBLE**2)}
    found = advice(*compared(tmp_path, scores, risks={"LSCDE": 9.0, "KCEF": 1.0}), "crps")
    assert found.method == "LSCDE"
    assert "nats" not in found.sentence
    assert "x lowers the CRPS from 1.4, of the density that ignores it, to 0.5" in found.sentence


def test_two_splits_do_not_decide_that_x_is_worth_nothing(tmp_path):
    plan, run = compared(tmp_path, {"MarginalKDE": [-1.4, -1.2], "LSCDE": [-0.9, -0.6]})
    run.splits = [0, 1]
    found = advice(plan, run)
    assert found.method == "MarginalKDE"
    assert (
        "worth nothing that 2 splits can show: more of them, or a larger budget, may decide it."
    ) in found.sentence


def test_wrong_coverage_is_said_with_the_remedy(tmp_path):
    found = advice(*compared(tmp_path, SCORES, covered={"LSCDE": 0.7}))
    assert "hold 70% of held-out rows, too narrow" in found.sentence
    assert "--conformal" in found.sentence


def test_a_method_that_no_file_can_hold_is_not_said_to_be_one_for_kcde_fit(tmp_path):
    scores = {"MarginalKDE": SCORES["MarginalKDE"], "KCEF": SCORES["KCEF"]}
    scores["NGBoost"] = SCORES["LSCDE"]
    found = advice(*compared(tmp_path, scores, covered={"NGBoost": 0.7}))
    assert found.method == "NGBoost"
    assert "it cannot be saved to a file: fit it in Python" in found.sentence
    assert found.sentence.endswith("the first that can be saved is KCEF.")
    assert "TableModel(..., conformal=0.25)" in found.sentence
    assert "kcde fit" not in found.sentence
    saved = advice(*compared(tmp_path, SCORES))
    assert "saved" not in saved.sentence


def test_without_a_sound_method_none_is_advised(tmp_path):
    scores = {"LSCDE": SCORES["LSCDE"]}
    plan, run = compared(tmp_path, scores, failed={("LSCDE", 0)})
    found = advice(plan, run)
    assert found.method is None
    assert found.sentence.endswith("none has scores on every split.")
    run.skipped["Slow"] = f"3 splits take a day: {REMEDY}"
    assert "a larger --budget, or fewer --rows, lets more" in advice(plan, run).sentence


def test_a_method_that_is_often_worse_than_the_density_without_x_is_not_advised(tmp_path):
    """Though the best by mean and with the least risk: two of six splits are worse."""
    gains = np.array([1.5, 1.4, 1.6, 1.5, -0.1, -0.1])
    baseline = -1.4 + WOBBLE
    scores = {"MarginalKDE": list(baseline), "LSCDE": list(baseline + gains)}
    scores["KCEF"] = list(baseline + 0.9 + 0.1 * WOBBLE[::-1])
    found = advice(*compared(tmp_path, scores, {"LSCDE": 1.0}))
    assert found.method == "KCEF"
    assert "behind LSCDE, the first, which is worse than MarginalKDE on 33% of" in found.sentence
    alone = {name: scores[name] for name in ("MarginalKDE", "LSCDE")}
    alone["LSCDE"] = list(baseline + np.array([1.5, 1.4, 1.6, 1.5, -0.01, -0.01]))
    assert advice(*compared(tmp_path, alone)).method == "MarginalKDE"


def test_x_is_worth_something_if_any_method_shows_it(tmp_path):
    """The first by mean is not significantly better than the density without x, the second is."""
    baseline = -1.4 + WOBBLE
    scores = {"MarginalKDE": list(baseline)}
    scores["LSCDE"] = list(baseline + np.array([4.0, 0.1, 0.1, 4.0, 0.1, 0.1]))
    scores["KCEF"] = list(baseline + 0.5 + 0.1 * WOBBLE[::-1])
    assert advice(*compared(tmp_path, scores, {"KCEF": 1.0})).method == "KCEF"


def made_up(rng):
    """A table and its splits: some methods, one that may fail, and the density without x."""
    count, methods = int(rng.integers(3, 9)), [f"M{i}" for i in range(rng.integers(1, 6))]
    common = rng.normal(size=count)
    rows = []
    for _ in ["MarginalKDE", *methods]:
        own = rng.normal(0.0, 0.6) + rng.gamma(0.5) * rng.standard_t(3, size=count)
        own[rng.random(count) < 0.03] = np.nan
        rows.append(common + own)
    values = np.array(rows)
    names = ["MarginalKDE", *methods]
    splits = pd.DataFrame(
        {
            "method": np.repeat(names, count),
            "split": np.tile(np.arange(count), len(names)),
            "log_density": values.ravel(),
            "crps": -values.ravel(),
        }
    )
    failed = np.isnan(values).sum(axis=1)
    means = np.array([np.nanmean(each) if np.isfinite(each).any() else np.nan for each in values])
    table = pd.DataFrame({"method": names, "failed": failed, "splits": float(count)})
    table = table.assign(reason="", log_density=means, crps=-means, gain=0.1, gain_stderr=0.0)
    table = table.assign(worst_loss=rng.gamma(2.0, size=len(names)), coverage_90=0.9)
    order = np.lexsort([-means, failed])
    table = table.iloc[order].reset_index(drop=True)
    return table.assign(rank=np.arange(1, len(names) + 1)), splits


def test_what_is_advised_is_never_significantly_behind_the_first(rng):
    """Of the methods without a failure; on tables where the least risk alone would be."""
    kinds, tempting = Counter(), 0
    for place in range(60):
        rank_by = ("log_density", "crps")[place % 2]
        table, splits = made_up(rng)
        found = advise(table, splits, OVERLAP, rank_by)
        values = {name: own[rank_by].to_numpy() for name, own in splits.groupby("method")}
        sound = table[table["failed"] == 0]
        if found.method is None:
            kinds["none"] += 1
            continue
        first = sound["method"].iloc[0]
        behind = {
            name: paired_t_test(values[name], values[first], OVERLAP).p_value < 0.05
            for name in (found.method, sound.loc[sound["worst_loss"].idxmin(), "method"])
        }
        assert behind[found.method] is False, (table, splits)
        tempting += any(behind.values())
        kinds[found.method if found.method in ("MarginalKDE", first) else "other"] += 1
    assert {"MarginalKDE", "other", "none"} < set(kinds), kinds
    assert tempting >= 3
