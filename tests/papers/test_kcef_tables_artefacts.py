"""kcef's tables and theorem 2: every claim, its readings, and what build functions compute."""

import numpy as np
import pandas as pd
import pytest

from artefact_scores import frame
from kcde import scores
from kcde.evidence.checks import decide
from kcde.experiments.consistency import EXPONENTS, Constant
from kcde.metrics import DIVERGENCE_RATE, NLL, NLL_X, P_VALUE, R_HAT, REGULARIZATION_ERROR
from kcde.papers import published, registry
from kcde.papers.kcef import claims, tables

SETS = published.datasets("kcef", "table1")
P_VALUES = {("parkinsons", "KEF"): 0.52, ("parkinsons", "NADE"): 0.011}
P_VALUES |= {("red-wine", "KEF"): 8e-4, ("red-wine", "NADE"): 0.33}
K7, K8, K9 = claims.kcef_beats_lscde, claims.nade_loses_to_kcef, claims.kcef_after_nade
K10, K12 = claims.kcef_samples_are_closer, claims.converges_at_the_rates
NADE, BAD = ("parkinsons", "NADE"), {("parkinsons", "NADE", "as-published"): 1.06}


def differing(method, rival, sure, unsure=0):
    """Scores in which a method wins on so many sets by both tests, then by signed ranks alone."""
    wave, cells = np.sin(np.arange(20.0)), {}
    for k, name in enumerate(SETS):
        scatter = np.sin(3.0 * np.arange(20.0))
        gap = scatter * (0.1 if k < sure else 0.5) - 0.5 if k < sure + unsure else 0.1 * scatter
        cells[name, rival], cells[name, method] = wave, wave + gap
    return frame(cells)


def both_nades(sure, sure_joint):
    """Scores in which KCEF wins against NADE on so many sets, and against NADE of x and y."""
    table, joint = (differing("KCEF", "NADE", each) for each in (sure, sure_joint))
    own = joint[joint["method"] == "NADE"].assign(method="NADE-joint", variant="ours")
    kcef, of_joint = (t.loc[t["method"] == "KCEF", "value"].to_numpy() for t in (table, joint))
    moved = own["value"] + kcef - of_joint
    of_x = 3.0 + np.cos(np.arange(len(own)))
    parts = [own.assign(value=moved + of_x), own.assign(metric=NLL_X, value=of_x)]
    return pd.concat([table, *parts], ignore_index=True)


MEANS = {"NADE": 8.0, "KCEF-F": 9.0, "KCEF-M": 11.0, "LSCDE-F": 12.0, "LSCDE-M": 13.0}
ALIKE = {("parkinsons", name): 19.8 for name in MEANS}  # a run is above 20 nats, a failed one


def joint_densities(changes=None):
    known = {
        (name, method): mean - ((name, method) == ("parkinsons", "KCEF-F"))
        for name in ("white-wine", "red-wine", "parkinsons")
        for method, mean in MEANS.items()
    }
    wave = np.array([-0.2, 0.1, 0.0, 0.3, -0.1])
    known = {key: mean for key, mean in (known | (changes or {})).items() if mean is not None}
    return frame({key: mean + wave * (1 + 0.1 * len(key[1])) for key, mean in known.items()})


def similarity(changes=None, r_hats=None):
    """Scores of the four tests; `changes` has (data set, rival[, variant]) to a p-value."""
    cells = {}
    for (dataset, rival, *variant), p in (P_VALUES | (changes or {})).items():
        at = dataset, f"H0: {rival} closer than KCEF"
        kind = variant[0] if variant else "as-published"
        cells[*at, P_VALUE, kind] = [p / 2, p, min(1.0, 1.5 * p)]
        cells[*at, R_HAT, kind] = [1.0, 1.01, (r_hats or {}).get((dataset, rival, kind), 1.0)]
        cells[*at, DIVERGENCE_RATE, kind] = [0.0, 0.0, 0.0]
    return frame(cells)


def bound(gamma, metric):
    alpha = max(0.25, 0.5 / (gamma + 1))
    return {"kl": 2 * alpha - 1, "norm_error": alpha - 0.5}.get(metric, -alpha * gamma)


def powers(of_bound, constants=(0.03, 0.1, 1.0), absolute=False):
    """Errors that are powers of n: `of_bound` has (γ, c, metric) to the slope over its bound."""
    rows = [
        {"metric": metric, "split": split, "n_train": n, "dataset": "well-specified"}
        | {"setting": scores.setting(**Constant(absolute, c).axes(gamma)), "method": "KCEF"}
        | {"value": 3.0 * n ** (of_bound(gamma, c, metric) * bound(gamma, metric))}
        for gamma in EXPONENTS
        for c in constants
        for metric in ("norm_error", "kl", REGULARIZATION_ERROR)
        for split in range(1 if metric == REGULARIZATION_ERROR else 3)
        for n in (100, 200, 400)
    ]
    return pd.DataFrame(rows).assign(variant="as-published", experiment="consistency")


@pytest.mark.parametrize(
    ("claim", "table", "verdict", "how"),
    [
        (K7, differing("KCEF", "LSCDE", 8), "holds", {}),
        (K7, differing("KCEF", "LSCDE", 7), "fails", {}),
        (K7, differing("KCEF", "LSCDE", 7, 1), "undecided", {}),
        (K7, differing("KCEF", "LSCDE", 7, 1), "holds", {"test": "signed-rank"}),
        (K7, differing("KCEF", "LSCDE", 7), "fails", {"test": "signed-rank"}),
        (K7, differing("KCEF", "NADE", 8), "undecided", {}),
        (K8, both_nades(10, 12), "holds", {}),
        (K8, both_nades(9, 9), "fails", {}),
        (K8, both_nades(9, 10), "undecided", {}),
        (K8, both_nades(9, 10), "holds", {"nade": ["joint"]}),
        (K8, both_nades(9, 10), "fails", {"nade": ["conditional"]}),
        (K8, both_nades(2, 2), "holds", {"nade": ["joint beside conditional"]}),
        (K8, differing("KCEF", "NADE", 10), "undecided", {}),
        (K9, joint_densities(), "holds", {}),
        (K9, joint_densities({("parkinsons", "KCEF-F"): 10.0}), "fails", {}),
        (K9, joint_densities({("red-wine", "KCEF-F"): 7.0}), "fails", {}),
        (K9, joint_densities({("parkinsons", "KCEF-F"): 8.05}), "holds", {}),
        (K9, joint_densities({("parkinsons", "KCEF-F"): 8.05}), "fails", {"first": True}),
        (K9, joint_densities(ALIKE), "fails", {}),
        (K9, joint_densities(ALIKE), "holds", {"first": True}),
        (K9, joint_densities({("red-wine", "NADE"): None}), "undecided", {}),
        (K10, similarity(), "holds", {}),
        (K10, similarity({NADE: 0.05}), "holds", {}),
        (K10, similarity({NADE: 0.06}), "fails", {}),
        (K10, similarity({("red-wine", "NADE"): 0.96}), "fails", {}),
        (K10, similarity({}, BAD), "undecided", {}),
        (K10, similarity({}, BAD), "holds", {"chains_judged": False}),
        (K10, similarity({(*NADE, "exact-draws"): 0.02}, BAD), "holds", {}),
        (K10, similarity({(*NADE, "exact-draws"): 0.2}, BAD), "fails", {}),
        (K10, similarity().iloc[9:], "undecided", {}),
        (K12, powers(lambda *_: 1.1), "holds", {}),
        (K12, powers(lambda g, c, metric: 0.9 if metric == "kl" else 1.1), "fails", {}),
        (K12, powers(lambda g, c, metric: 0.5), "undecided", {}),
        (K12, powers(lambda g, c, metric: 0.5 if c == 1 else 1.1), "holds", {}),
        (K12, powers(lambda g, c, metric: 0.5 if c == 0.03 else 1.1), "undecided", {}),
        (K12, powers(lambda *_: 1.1, [0.1]), "undecided", {}),
        (K12, powers(lambda *_: 1.1, [1.0], absolute=True), "holds", {"constants": ["1"]}),
    ],
)
def test_a_claim_can_come_out_every_way(claim, table, verdict, how):
    assert decide(claim, table, **how).verdict == verdict


@pytest.mark.parametrize(("spread", "margin"), [(0.001, 10), (0.1, 5), (10.0, 0)])
def test_what_the_published_means_would_reach_follows_from_our_spreads(spread, margin):
    """Without spread KCEF is better on 12 sets and worse on 2, whatever ours are."""
    scatter = spread * np.tile([-1.0, 1.0], 10)
    cells = {(name, "LSCDE"): [0.0] * 20 for name in SETS}
    *_, said = K7(frame(cells | {(name, "KCEF"): 5.0 + scatter for name in SETS}))
    assert said.value == margin


def test_log_p_of_x_is_added_split_by_split():
    cells = {("a", "KCEF"): [1.0, 2.0, None], ("a", "NADE"): [9.0, 9.0, 9.0]}
    cells |= {("a", "KCEF", "crps"): [0.1, 0.1, 0.1]}
    cells |= {("a", "NADE-joint", NLL, "ours"): [3.0, None, 5.0]}
    table = frame(cells | {("a", "NADE-joint", NLL_X, "ours"): [1.5]})
    found = claims.with_column(table, "joint").set_index(["method", "metric"])["value"].sort_index()
    np.testing.assert_equal(found["KCEF", NLL].to_numpy(), [2.5, np.nan, np.nan])
    assert found["KCEF", "crps"].tolist() == [0.1, 0.1, 0.1]
    np.testing.assert_equal(found["NADE", NLL].to_numpy(), [3.0, np.nan, 5.0])


def test_the_table_of_nades_has_published_values_in_the_published_order(tmp_path):
    artefact = registry.ARTEFACTS["kcef/table1-nade"]
    cells = {}
    for name, of_y, of_both in (("topo", 4.0, 4.6), ("geyser", 1.0, 1.45)):
        cells[name, "NADE"] = of_y + np.linspace(-0.1, 0.1, 20)
        cells[name, "NADE-joint", NLL, "ours"] = of_both + np.linspace(-0.1, 0.1, 20)
        cells[name, "NADE-joint", NLL_X, "ours"] = [0.8] * 20
    table = artefact.build(artefact, frame(cells), [])
    assert list(dict.fromkeys(table["dataset"])) == ["geyser", "topo"]
    own = table[table["metric"] == NLL].set_index(["dataset", "method"])["published_mean"]
    assert own["geyser", "NADE"] == 1.43
    assert np.isnan(own["geyser", "NADE-joint"])
    *_, rows, counts = tables.nearer_nade(table)
    assert "| geyser | 1.43 | 1.00 | 1.45 ✓ | 0.80 | x and y |" in rows
    assert "| topo | 4.26 | 4.00 | 4.60 | 0.80 | y given x |" in rows
    assert "nearer on 1 of 2 sets" in counts
