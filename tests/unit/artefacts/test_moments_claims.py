"""Claims of jdl section 5.1 on made-up scores: each comes out every way."""

import embedding_scores as made
import pandas as pd
import pytest

from kcde.papers.jdl import fig1, fig2, fig3, fig4, fig5, fig6

LEVELS = {"JPDL": 0.5, "JDL": 1.0, "CME": 2.0}


def loss(method, d, n, tolerance, constrained, split):
    """Losses as the paper finds them: CME's rise with the tolerance, and with d."""
    own = LEVELS[method] * (d if method == "CME" else 1.0)
    loosened = {"JPDL": 0.0, "JDL": 0.01, "CME": 40.0}[method] * tolerance
    return own * (1000 / n) ** 0.5 * (1.0 + loosened) * made.spread(split)


def changed(of, by):
    """Return a metric with another in its place where `by` gives a number."""

    def combined(*cell):
        other = by(*cell)
        return of(*cell) if other is None else other

    return combined


def losses(by=lambda *cell: None, **how):
    return made.frame({"second_moment_loss": changed(loss, by)}, **how)


PLAIN = losses()


@pytest.mark.parametrize(
    "decide",
    [
        fig1.ordered,
        fig1.rises_when_loosened,
        fig2.robust_to_tolerance,
        fig1.worse_in_higher_dimensions,
    ],
)
def test_claims_on_losses_as_published_hold_and_need_their_scores(decide):
    assert decide(PLAIN).verdict == "holds"
    small = made.frame({"second_moment_loss": loss}, [("JDL", 1, 200, 1e-3, False)], repetitions=2)
    assert decide(small).verdict == "undecided"
    without = decide(PLAIN[PLAIN["method"] != "CME"])
    assert without.verdict == "undecided"
    assert "no scores of CME at d = 1" in without.reason


def test_j1_fails_where_one_order_is_turned_or_not_significant():
    def turned(method, d, n, t, constrained, split):
        return 9.0 * (1000 / n) ** 0.5 * made.spread(split) if (method, d) == ("JDL", 3) else None

    decision = fig1.ordered(losses(turned))
    assert decision.verdict == "fails"
    assert "d = 3 unconstrained: JPDL/JDL 0.056 (p" in decision.reason

    def noisy(method, d, n, t, constrained, split):
        if (method, d, constrained) == ("JPDL", 2, True):
            return LEVELS["JDL"] * (1000 / n) ** 0.5 * made.spread(split + 3)
        return None

    assert fig1.ordered(losses(noisy)).verdict == "fails"


def test_j1_says_each_n_and_its_direction():
    reason = fig1.ordered(PLAIN).reason
    assert (
        "d = 1 unconstrained: JPDL/JDL 0.5 (p < 1e−6; 0.5* at 1e3, 0.5* at 1e4, 0.5* at 1e5, "
        "0.5* at 1e6, 0.5* at 1e7; 20 matrices)" in reason
    )
    assert reason.count("JDL/CME") == reason.count("JPDL/JDL") == 6


def five_beyond_1e5(method, d, n, *rest):
    """Fewer matrices at large n, as at laptop."""
    return made.REPETITIONS if n <= 10**5 else 5


def test_j1_is_read_at_the_n_that_all_matrices_reach_and_at_every_n():
    def turned(method, d, n, t, constrained, split):
        # JPDL is below JDL up to n = 1e5, and far above it beyond.
        return 1e3 * made.spread(split) if method == "JPDL" and n > 10**5 else None

    read = fig1.by_sizes(losses(turned, repetitions=five_beyond_1e5))["J1"]
    drawn, every = read.values()
    assert (drawn.verdict, every.verdict) == ("holds", "fails")
    assert "an n that fewer matrices reach does not count" in drawn.reason
    assert "0.5* at 1e5; 20 matrices)" in drawn.reason
    assert every.parts["d = 3 unconstrained"] == "holds"  # which ends at n = 1e5
    assert every.parts["d = 1 unconstrained"] == "fails"
    assert "; every n counts: " in every.reason
    assert "at 1e7; 5 matrices)" in every.reason
    small = losses(cells=made.fits(sizes={1: (200,)}), repetitions=2)
    assert {one.verdict for one in fig1.by_sizes(small)["J1"].values()} == {"undecided"}


def test_j1_is_read_by_either_mean_over_the_matrices():
    def heavy(method, d, n, t, constrained, split):
        # Lower in most matrices, and far higher in a few.
        if method == "JPDL":
            return LEVELS["JDL"] * (1000 / n) ** 0.5 * (0.1 if split < 16 else 20.0)
        return None

    read = fig1.by_statistic(losses(heavy))["J1"]
    assert list(read) == ["geometric mean", "arithmetic mean"]
    assert "by the geometric mean over matrices" in read["geometric mean"].reason
    one, other = (each.reason.partition("JPDL/JDL ")[2][:4] for each in read.values())
    assert float(one.split()[0]) < 1 < float(other.split()[0])
    assert {each.verdict for each in fig1.by_statistic(PLAIN)["J1"].values()} == {"holds"}


def test_j1_weighs_every_n_alike_under_arithmetic_means():
    def late(method, d, n, t, constrained, split):
        # Losses at n = 1000 are thirty times those at 1e6, where alone the order is turned.
        if method == "JPDL" and n == 10**3:
            return 1.9 * LEVELS["JDL"] * made.spread(split)
        return None

    assert fig1.by_statistic(losses(late))["J1"]["arithmetic mean"].verdict == "holds"


def test_j1_leaves_out_a_failed_fit_but_not_many():
    few = {("JDL", 2, 1000, 1e-3, True, 3)}
    assert fig1.ordered(losses(failed=few)).verdict == "holds"
    many = few | {("JDL", 2, 10_000, 1e-3, True, 4)}
    decision = fig1.ordered(losses(failed=many))
    assert decision.verdict == "undecided"
    assert "2 of 20 repetitions incomplete" in decision.reason


def test_j1_fails_out_of_order_whatever_is_missing():
    scores = losses(lambda method, *rest: 9.0 if method == "JPDL" else None)
    without = scores[(scores["method"] != "CME") | (scores["dim"] != 3)]
    assert fig1.ordered(without).verdict == "fails"


def test_j2_compares_the_rises_from_1e5_to_1e7():
    def rising(method, d, n, t, constrained, split):
        return 0.5 if method == "JPDL" and n == 10**7 else None

    decision = fig1.rises_when_loosened(losses(rising))
    assert decision.verdict == "fails"
    assert "2 of 3 dimensions do not reach these sizes" in decision.reason

    def robust(method, d, n, t, constrained, split):
        return 1e-9 if method == "CME" and n == 10**7 else None

    assert fig1.rises_when_loosened(losses(robust)).verdict == "fails"
    reason = fig1.rises_when_loosened(PLAIN).reason
    # (1e5/1e7)^0.5 times what the looser tolerance adds: (1 + 40/10)/(1 + 40/1000).
    assert f"CME {0.1 * 5 / 1.04:.3g}, JDL 0.1, JPDL 0.1, with constraints CME" in reason
    assert "; CME's loss is lower at 1e7 than at 1e5" in reason

    def risen(method, d, n, t, constrained, split):
        return 0.5 if method == "CME" and n == 10**7 else None

    decision = fig1.rises_when_loosened(losses(risen))
    assert decision.verdict == "holds"
    assert "is lower" not in decision.reason


def test_j2_looks_at_every_dimension_that_is_large_enough():
    sizes = {d: tuple(made.SCHEDULE) for d in (1, 2)}
    cells = made.fits(sizes=sizes)

    def rising(method, d, n, t, constrained, split):
        return 0.5 if (method, d, n) == ("JPDL", 2, 10**7) else None

    assert fig1.rises_when_loosened(losses(cells=cells)).verdict == "holds"
    assert fig1.rises_when_loosened(losses(rising, cells=cells)).verdict == "fails"


def test_j3_is_about_tolerances_at_1e6():
    decision = fig2.robust_to_tolerance(PLAIN)
    assert f"CME {5 / 1.04:.3g} (mean losses" in decision.reason

    def sensitive(method, d, n, t, constrained, split):
        return 1.0 + 6.0 * t if method == "JDL" and n == 10**6 else None

    assert fig2.robust_to_tolerance(losses(sensitive)).verdict == "fails"
    missing = losses(cells=made.fits(more=()))
    decision = fig2.robust_to_tolerance(missing)
    assert decision.verdict == "undecided"
    assert "tolerance 0.001" in decision.reason
    decision = fig2.robust_to_tolerance(PLAIN[PLAIN["dataset"] != "gaussian-1-1000000"])
    assert decision.verdict == "undecided"
    assert decision.reason == "no scores at d = 1 and n = 1e6"


def test_j4_is_about_d_at_1e5():
    reason = fig1.worse_in_higher_dimensions(PLAIN).reason
    one, three = 2 * 1.04, 6 * 1.04
    assert f"{one / 1.00001:.3g} at d = 1" in reason
    assert f"{three / 1.00001:.3g} at d = 3; with constraints" in reason

    def better(method, d, n, t, constrained, split):
        return 1e-3 if (method, d, n) == ("CME", 3, 10**5) else None

    assert fig1.worse_in_higher_dimensions(losses(better)).verdict == "fails"


def test_j4_is_read_by_the_loss_itself_and_by_what_is_lost_beside_jdl():
    def growing(method, d, n, t, constrained, split):
        # Both grow with d, JDL faster.
        return {"JDL": 1.0 * d**2, "CME": 2.0 * d**2 - d + 1.0}.get(method)

    read = fig1.by_losses(losses(growing))["J4"]
    assert {name: one.verdict for name, one in read.items()} == {
        "mean loss of CME over that of JDL": "fails",
        "mean loss of CME less that of JDL": "holds",
        "mean loss of CME": "holds",
    }
    assert "mean loss of CME less that of JDL at n = 1e5, without constraints: 1 at d = 1" in (
        read["mean loss of CME less that of JDL"].reason
    )
    shrinking = losses(lambda method, d, *rest: 1.0 / d if method == "CME" else 0.1)
    assert {one.verdict for one in fig1.by_losses(shrinking)["J4"].values()} == {"fails"}


def error(method, d, n, tolerance, constrained, split):
    """Normalisation errors as the paper finds them."""
    if method != "CME":
        return 1e-14
    turn = {1e-2: 0.1, 1e-1: 0.5}.get(tolerance, 0.0)
    shape = (1000 / n) ** 0.3 if n <= 10**5 or not turn else 0.25 * (n / 10**5) ** turn
    return shape * (0.5 if constrained else 1.0) * made.spread(split)


def errors(by=lambda *cell: None, **how):
    """Scores with errors; failures need a loss."""
    metrics = {"second_moment_loss": loss, "normalisation_error": changed(error, by)}
    return made.frame(metrics, **how)


ERRORS = errors()
NORMALISATION_CLAIMS = {
    "J5": fig3.inverse_to_sample_size,
    "J6": fig4.falls_at_the_tightest,
    "J7": fig3.mitigated_by_constraints,
    "J15": fig4.lowest_in_the_middle,
}


@pytest.mark.parametrize("decide", NORMALISATION_CLAIMS.values(), ids=NORMALISATION_CLAIMS)
def test_claims_on_normalisation_as_published_hold_and_need_their_scores(decide):
    assert decide(ERRORS).verdict == "holds"
    assert decide(ERRORS[ERRORS["dim"] != 1]).verdict == "undecided"
    assert decide(ERRORS[ERRORS["method"] != "CME"]).verdict == "undecided"
    # Fewer repetitions at one n than at the others: those that there are at every n count.
    fewer = ERRORS[(ERRORS["dataset"] != "gaussian-1-100000") | (ERRORS["split"] < 15)]
    same = ERRORS[ERRORS["split"] < 15]
    assert decide(fewer[fewer["dim"] == 1].pipe(lambda few: few)).reason == (
        decide(same[same["dim"] == 1]).reason
    )
    failed = {
        ("CME", 1, 10**5, tolerance, False, split)
        for tolerance in made.TOLERANCES
        for split in range(5)
    }
    decision = decide(errors(failed=failed))
    assert decision.verdict == "undecided"
    assert "5 of 20 repetitions incomplete" in decision.reason


@pytest.mark.parametrize(
    "decide",
    [
        fig1.rises_when_loosened,
        fig2.robust_to_tolerance,
        fig4.falls_at_the_tightest,
        fig4.lowest_in_the_middle,
    ],
)
def test_what_the_choice_on_fewer_points_may_decide_is_undecided(decide):
    metrics = {"second_moment_loss": loss, "normalisation_error": error}
    metrics["tuning_rows"] = lambda method, d, n, *rest: min(n, 10**5)
    decision = decide(made.frame(metrics))
    assert decision.verdict == "undecided"
    assert "chosen on fewer points than were fitted: 1e5 of 1e6" in decision.reason.replace(
        "1e5 of 1e7", "1e5 of 1e6"
    )


@pytest.mark.parametrize(
    ("claim", "cell", "value"),
    [
        ("J5", ("JDL", 2, 1000, 1e-3, True), 1e-9),
        ("J5", ("JDL", 1, 1000, 1e-1, False), 1e-9),
        ("J5", ("JPDL", 3, 1000, 0.0, False), 1e-9),
        ("J6", ("CME", 1, 10**7, 1e-3, False), 1.0),
        ("J15", ("CME", 1, 10**4, 1e-2, False), 1e-3),
        ("J15", ("CME", 1, 10**7, 1e-2, False), 1e3),
    ],
)
def test_claims_on_normalisation_fail_by_one_cell(claim, cell, value):
    changing = errors(lambda *where: value if where[:5] == cell else None)
    assert NORMALISATION_CLAIMS[claim](changing).verdict == "fails"


def test_j5_fails_where_errors_grow_or_are_small():
    def growing(method, d, n, tolerance, *rest):
        return n / 1e4 if (method, d, tolerance) == ("CME", 3, 1e-3) else None

    assert fig3.inverse_to_sample_size(errors(growing)).verdict == "fails"

    def small(method, d, n, *rest):
        return 1e-4 * 1000 / n if (method, d) == ("CME", 2) else None

    assert fig3.inverse_to_sample_size(errors(small)).verdict == "fails"


def test_j5_leaves_out_a_failed_fit_of_a_joint_distribution_but_not_many():
    one = {("JPDL", 3, 1000, 0.0, True, 4)}
    assert fig3.inverse_to_sample_size(errors(failed=one)).verdict == "holds"
    two = one | {("JPDL", 3, 1000, 0.0, True, 7)}
    decision = fig3.inverse_to_sample_size(errors(failed=two))
    assert decision.verdict == "undecided"
    assert "2 of 20 fits of JPDL failed at d = 3 constrained, n = 1e3" in decision.reason
    # Another tolerance is a cell of its own.
    loose = {("JDL", 1, 10**4, 1e-1, False, split) for split in (2, 3)}
    decision = fig3.inverse_to_sample_size(errors(failed=loose))
    assert "JDL failed at d = 1 unconstrained, n = 1e4, tolerance 0.1" in decision.reason


def test_j5_names_the_sizes_that_a_joint_distribution_lacks():
    held = ERRORS["method"].eq("JDL") & ERRORS["setting"].str.contains('"constrained": ?true')
    without = ERRORS[~(held & ERRORS["dataset"].eq("gaussian-2-100000"))]
    decision = fig3.inverse_to_sample_size(without)
    assert decision.verdict == "undecided"
    assert decision.reason == "no scores of JDL at d = 2 constrained, n = 1e5"


def test_j6_counts_the_largest_over_repetitions():
    def one_bad_matrix(method, d, n, tolerance, constrained, split):
        return 5.0 if method == "CME" and (d, n, tolerance, split) == (1, 10**6, 1e-3, 7) else None

    decision = fig4.falls_at_the_tightest(errors(one_bad_matrix))
    assert decision.verdict == "fails"
    assert "5 at 1e6" in decision.reason


def test_j6_and_j15_are_read_by_each_statistic_over_the_matrices():
    assert {
        one.verdict for read in fig4.by_statistic(ERRORS).values() for one in read.values()
    } == {"holds"}

    def one_bad_matrix(method, d, n, tolerance, constrained, split):
        # Lifts the maximum at n = 1e6 and hardly the means.
        if (method, d, n, tolerance, split) == ("CME", 1, 10**6, 1e-3, 7):
            return 1.5 * max(error(method, d, 10**5, tolerance, False, k) for k in range(20))
        return None

    read = fig4.by_statistic(errors(one_bad_matrix))["J6"]
    assert {name: one.verdict for name, one in read.items()} == {
        "geometric mean": "holds",
        "arithmetic mean": "holds",
        "maximum": "fails",
    }
    assert read["maximum"].reason == fig4.falls_at_the_tightest(errors(one_bad_matrix)).reason
    assert read["arithmetic mean"].reason.startswith("arithmetic mean over 20 matrices of the")

    def early(method, d, n, tolerance, constrained, split):
        # Nearly all matrices, but not the worst, have their lowest error at n = 1e4.
        usual = error(method, d, n, tolerance, constrained, split)
        worst = max(range(20), key=made.spread)
        return 1e-3 * usual if (method, n) == ("CME", 10**4) and split != worst else None

    read = fig4.by_statistic(errors(early))["J15"]
    assert read["maximum"].verdict == "holds"
    assert read["arithmetic mean"].verdict == read["geometric mean"].verdict == "fails"
    assert read["arithmetic mean"].reason == fig4.lowest_in_the_middle(errors(early)).reason


def test_j7_is_read_by_each_statistic_and_at_every_n():
    def alike(method, d, n, tolerance, constrained, split):
        # Constraints help in the worst matrix only.
        if (method, d, constrained) == ("CME", 3, True):
            worst = max(range(20), key=made.spread)
            free = error(method, d, n, tolerance, False, split)
            return 0.9 * free if split == worst else free * (1.001 if split % 2 else 0.999)
        return None

    read = fig3.by_statistic(errors(alike))["J7"]
    assert {name: one.verdict for name, one in read.items()} == {
        "geometric mean": "fails",
        "arithmetic mean": "fails",
        "maximum": "holds",
    }
    assert "geometric mean over n, without a test;" in read["maximum"].reason
    assert read["geometric mean"].reason == fig3.mitigated_by_constraints(errors(alike)).reason

    def late(method, d, n, tolerance, constrained, split):
        return 1e3 if (method, n, constrained) == ("CME", 10**7, True) else None

    drawn, every = fig3.by_sizes(errors(late, repetitions=five_beyond_1e5))["J7"].values()
    assert (drawn.verdict, every.verdict) == ("holds", "fails")
    assert every.parts == {"d = 1": "fails", "d = 2": "holds", "d = 3": "holds"}


def test_j7_needs_significance_in_every_dimension():
    def alike(method, d, n, tolerance, constrained, split):
        if (method, d, constrained) == ("CME", 3, True):
            return error(method, d, n, tolerance, False, split + 1)
        return None

    decision = fig3.mitigated_by_constraints(errors(alike))
    assert decision.verdict == "fails"
    assert "d = 1: 0.5 (p < 1e−6; 0.5* at 1e3" in decision.reason


def share(method, d, n, tolerance, constrained, split):
    return 0.2 if (method, d) == ("CME", 3) else 0.0005


def shares(by=lambda *cell: None, **how):
    metrics = {"second_moment_loss": loss, "psd_violation_rate": changed(share, by)}
    return made.frame(metrics, **how)


def test_j8_exempts_cme_in_three_dimensions_alone():
    decision = fig5.semidefinite(shares())
    assert decision.verdict == "holds"
    assert "CME at d = 3 unconstrained (exempt) 20% at 1e3, 20% at 1e4" in decision.reason

    def early(method, d, n, tolerance, constrained, split):
        # One of 20 repetitions lifts the mean above 0.1%.
        return 0.02 if (method, d, n, constrained, split) == ("JPDL", 2, 1000, False, 4) else None

    decision = fig5.semidefinite(shares(early))
    assert decision.verdict == "fails"
    assert "JPDL at d = 2 unconstrained 0.15% at 1e3;" in decision.reason
    below = "CME at d = 3, the paper's exception, is below it as well"
    assert below not in decision.reason
    alike = shares(lambda method, *rest: 0.0 if method == "CME" else None)
    assert fig5.semidefinite(alike).reason.endswith(f"or more: none; {below}")


def test_j8_needs_every_cell_but_the_exempt_one():
    scores = shares()
    exempt = (scores["method"] == "CME") & (scores["dim"] == 3)
    missing = fig5.semidefinite(scores[~exempt])
    assert missing.verdict == "holds"
    assert "exception" not in missing.reason
    without = scores[scores["method"] != "JPDL"]
    assert "JPDL at d = 1 unc" in fig5.semidefinite(without).reason
    assert fig5.semidefinite(without).verdict == "undecided"
    # Sizes that few repetitions reach have not failed.
    more = scores[(scores["dataset"].str.endswith("-1000")) & (scores["split"] < 5)]
    more = more.assign(dataset=more["dataset"].str.replace("-1000", "-2000000"))
    assert fig5.semidefinite(pd.concat([scores, more])).verdict == "holds"
    lost = {("JPDL", 3, 1000, 0.0, True, split) for split in (1, 2)}
    failed = fig5.semidefinite(shares(failed=lost))
    assert failed.verdict == "undecided"
    assert "missing or failed: JPDL at d = 3 constrained" in failed.reason


def seconds_of(method, d, n, constrained):
    """Return seconds of solution as the paper finds them."""
    if method == "JPDL":
        return 0.5 if constrained and d == 3 else 1e-8 * n
    return 1e-6 * n * d * (1.2 if constrained and method == "JDL" else 1.0) + (d == 3) * 0.01


def timings(by=lambda *cell: None, cells=None, summarise=lambda *cell: 0.0, matched=1.0, **how):
    def solve(method, d, n, tolerance, constrained, split):
        other = by(method, d, n, constrained)
        here = seconds_of(method, d, n, constrained) if other is None else other
        return here * made.spread(split)

    metrics = {"second_moment_loss": lambda *cell: 1.0} | made.timings(
        summarise=summarise,
        factorise=lambda *cell: 2.0 * solve(*cell[:4], False, cell[5]),
        solve=solve,
        evaluate=lambda *cell: 0.0,
        matched=matched,
    )
    cells = made.fits(sizes=SIZES) if cells is None else cells
    return made.frame(metrics, cells, **how)


SIZES = made.SIZES | {3: (1000, 10_000, 100_000, 10**6)}
TIMES = timings()


def test_j9_holds_where_jpdl_wins_at_large_n_only():
    decision = fig6.similar_and_faster(TIMES)
    assert decision.verdict == "holds"
    assert "constrained JPDL at d = 3 takes" in decision.reason
    assert "faster from n = 1e+06 on" in decision.reason
    assert "JPDL-unreduced at d = 3 was not run or failed" in decision.reason
    assert "d = 1: JDL/CME 1, 1, 1, 1, 1; JDL/JPDL 100, 100, 100, 100, 100;" in decision.reason
    assert set(decision.parts.values()) == {"holds"}
    assert "(without factors at own bandwidths)" in decision.reason
    assert decision.amended.verdict == "holds"
    assert "(with factors at matched bandwidths)" in decision.amended.reason


@pytest.mark.nightly
def test_j9_and_j16_as_amended_are_of_matched_bandwidths():
    """There JDL is four times as slow; JPDL does not win with constraints where factors count."""
    unlike = timings(matched=1.0)
    slower = unlike["metric"].str.startswith("matched_") & unlike["method"].eq("JDL")
    unlike.loc[slower, "value"] *= 4.0
    decision = fig6.similar_and_faster(unlike)
    assert (decision.verdict, decision.amended.verdict) == ("holds", "fails")
    assert decision.amended.parts["JDL and CME cost the same"] == "fails"
    assert decision.amended.parts["JPDL is ten times faster"] == "holds"
    costly = timings(matched=1.0)
    held = costly["setting"].str.contains('"constrained": ?true') & costly["method"].eq("CME")
    costly.loc[held & costly["metric"].str.startswith("matched_"), "value"] *= 2.0
    decision = fig6.constraints_cost_little(costly)
    assert (decision.verdict, decision.amended.verdict) == ("holds", "fails")
    assert decision.amended.parts["CME at d = 2"] == "fails"
    assert decision.amended.parts["JDL at d = 2"] == "holds"
    read = fig6.by_timing(costly)
    assert [one.verdict for one in read["J16"].values()] == ["fails", "fails", "holds", "holds"]
    assert list(read["J9"]) == list(read["J16"])
    without = costly[~costly["metric"].str.startswith("matched_")]
    assert fig6.similar_and_faster(without).amended is None
    assert fig6.by_timing(without)["J9"]["with factors at matched bandwidths"].verdict == (
        "undecided"
    )


@pytest.mark.parametrize(
    ("cell", "seconds", "verdict"),
    [
        (("CME", 2, 10_000, False), 0.1, "fails"),
        (("CME", 2, 10_000, False), 1e-3, "fails"),
        (("JPDL", 1, 1000, False), 5e-4, "fails"),
        (("JPDL", 3, 1000, True), 1e-5, "fails"),  # wins at the smallest n, but loses after
    ],
)
def test_j9_fails_by_one_cell(cell, seconds, verdict):
    scores = timings(lambda *where: seconds if where == cell else None)
    assert fig6.similar_and_faster(scores).verdict == verdict


def test_j9_counts_cross_moments_as_solution():
    def costly(method, d, n, *rest):
        return 1.0 if (method, d, n) == ("CME", 2, 10_000) else 0.0

    decision = fig6.similar_and_faster(timings(summarise=costly))
    assert decision.verdict == "fails"
    assert "d = 2: JDL/CME 1, 0.0" in decision.reason


def test_j9_is_open_where_a_faster_program_always_wins_or_n_ends_too_early():
    def fast(method, d, n, constrained):
        return 1e-8 * n if (method, d, constrained) == ("JPDL", 3, True) else None

    decision = fig6.similar_and_faster(timings(fast))
    assert decision.verdict == "undecided"
    assert "faster from n = 1000 on" in decision.reason
    early = TIMES[~TIMES["dataset"].eq("gaussian-3-1000000")]
    decision = fig6.similar_and_faster(early)
    assert decision.verdict == "undecided"
    assert "no crossing at these n" in decision.reason


def test_j9_is_judged_by_the_unreduced_program_where_there_is_one():
    cells = made.fits(sizes=SIZES) + [("JPDL-unreduced", 3, n, 0.0, True) for n in SIZES[3]]

    def by(of_unreduced):
        def seconds(method, d, n, constrained):
            if method == "JPDL-unreduced":
                return of_unreduced
            return 1e-8 * n if (method, d, constrained) == ("JPDL", 3, True) else None

        return timings(seconds, cells)

    assert fig6.similar_and_faster(by(0.5)).verdict == "holds"
    assert "unreduced program over ours, constrained, d = 3" in (
        fig6.similar_and_faster(by(0.5)).reason
    )
    assert fig6.similar_and_faster(by(1e-7)).verdict == "fails"


def test_j9_never_winning_at_all_published_sizes_fails():
    sizes = SIZES | {3: tuple(made.SCHEDULE)}
    slow = timings(
        lambda method, d, n, constrained: (
            1e6 if (method, d, constrained) == ("JPDL", 3, True) else None
        ),
        made.fits(sizes=sizes),
    )
    assert fig6.similar_and_faster(slow).verdict == "fails"


def test_j16_counts_the_whole_time():
    decision = fig6.constraints_cost_little(TIMES)
    assert decision.verdict == "holds"
    assert "JDL at d = 1 1.1, 1.1, 1.1, 1.1, 1.1;" in decision.reason

    def slow(method, d, n, constrained):
        return 3.0 if (method, d, n, constrained) == ("CME", 2, 1000, True) else None

    assert fig6.constraints_cost_little(timings(slow)).verdict == "fails"
    short = TIMES[TIMES["dim"] != 3]
    decision = fig6.constraints_cost_little(short)
    assert decision.verdict == "undecided"
    assert "no seconds of JDL at d = 3" in decision.reason
