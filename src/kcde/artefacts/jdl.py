"""Filipovic, Multerer, Schneider 2024, Adaptive joint distribution learning."""

from kcde.artefacts import (
    moments_curves,
    moments_losses,
    moments_normalisation,
    moments_seconds,
    moments_violations,
    portfolio_claims,
    portfolio_curves,
    structure,
)
from kcde.artefacts.declaration import Artefact

_PAIRS = (
    "Gaussian pairs with d coordinates of x and of y each and one random correlation matrix C per "
    "repetition, by the algorithm of Archakov and Hansen; the elements of log C below its diagonal "
    "are independent standard normal (the paper does not state their law). Of n points four fifths "
    "train and one fifth validates; 5000 further ones test, the same for every method and n."
)
_CHOICE = (
    "Bandwidths of x and of y are ½, 1, 2 or 4 times the median distance between points over √2, "
    "λ is one of 1e-14, 1e-13, …, 10 (the paper states no grid; where ours ended at 1e-8, as for "
    "figure 7, 19 of 20 JDL at d = 3, n = 1e5 chose the end). Each combination of tolerance and "
    "constraints chooses its own, by the loss (40) at the validation points, which takes the true "
    "conditional moments there: an oracle, as in the paper. But JPDL with constraints at d = 3 "
    "takes the λ that is best without."
)
_LAW = (
    "The order depends on the law of C: benchmarks/correlation_law.csv has the losses at n = 1e4 "
    "for standard deviations 0.1 and 0.3 of log C, with which JDL comes before CME without "
    "constraints, and with 0.1 also with them."
)
_SCHEDULE = (
    "The factors have the relative tolerance 1e-3, from n = 1e6 on 1e-2 and at 1e7 1e-1, as in the "
    "paper; JPDL has none."
)
_THROUGHOUT = (
    "Dotted, not in the paper: tolerance 1e-3 at every n, without constraints alone, at d = 1 up "
    "to n = 1e7. It is not fitted at d = 2, n = 1e6 at laptop (the paper scale has it), nor at any "
    "scale at d = 2, n = 1e7 and at d = 3 from n = 1e6 on."
)
_BAND = (
    "Lines are means over the correlation matrices, bands reach from their 5% to 95% quantile "
    "where at least 20 have a number."
)
_REDUCED = (
    "Reduced at laptop: 20 correlation matrices (paper: 100), n up to 1e7 for d = 1, 1e6 for d = 2 "
    "and 1e5 for d = 3 (paper: 1e7), and parameters chosen on at most 100000, 100000 and 30000 of "
    "the n points; fits are to all of them, and no rank is capped. What is chosen on fewer points "
    "suits fewer: where n is larger, losses are higher than they would be after a choice on all."
)
_COMMON = f"{_PAIRS} {_CHOICE}"
_CME_CONSTRAINTS = (
    "Constraints are (23) and (33) for JDL, (23) and (39) for JPDL; for CME only (53) and (54), "
    "of the mean over x."
)
_TIMES = (
    "Wall-clock seconds on one thread, with as many jobs at once as the machine was given cores "
    "(paper: two processors without constraints, ten with them), so that only ratios compare. "
    "Solid: for the solution, which is cross moments and coefficients, and 5000 conditional "
    "expectations, as in the paper, which leaves out the rest; the expectations of JDL and JPDL "
    "pass over all n points of y, those of CME over the pivots alone. Dotted: the pivoted factors, "
    "and the polynomials of JPDL. Fits of JDL and CME with the same bandwidths share factors and "
    "cross moments, and have the same seconds of them. JPDL with constraints is solved as a "
    "reduced program by a solver of ours; unreduced: the semidefinite program as the paper states "
    "it, by Clarabel (paper: MOSEK), with the λ that is best without constraints. That is fitted "
    "at d = 1 and, at n = 1000, d = 2 alone; it is not run at d = 3, where its Gram matrix is 210 "
    "× 210 with 22155 entries in the cone, far beyond a laptop and our paper scale."
)

_DAYS = (
    "Daily returns of 25 portfolios over the risk-free rate, 1927 to 2022, from Kenneth French's "
    "data; days with a missing return are left out. x is what the first d portfolios returned on a "
    "day, and the event is that their sum on the next day is at most its 1% quantile over the n "
    "days. A repetition is a random subsample of n days, of which four fifths train and one fifth "
    "validates, and 5000 of the other days to test; it is the same for every method and d."
)
_DAYS_CHOICE = (
    "Bandwidths of x and of the sum are ½, 1, 2 or 4 times the median distance between points over "
    "√2, λ is one of 1e-8, 1e-7, …, 10 (the paper states no grid), chosen by the loss (41) on the "
    "validation days, without and with constraints apart. The factors have the relative tolerance "
    "1e-3 (the paper states none here)."
)
_DAYS_METHODS = (
    "Constraints are (23) and (33) for JDL and (53) and (54), of the mean over x, for CME. Kernel "
    "logistic regression (KLR) gives probabilities as it is, and stands beside both."
)
_DAYS_BAND = (
    "Lines are means over the subsamples, bands reach from their 5% to 95% quantile where at least "
    "20 have a number."
)
_OVERLAP = (
    "Subsamples overlap (at n = 20000 each has 25000 of 25248 pairs of days), so that the "
    "p-values of claim J10, which takes them as independent, are too small."
)
_DAYS_REDUCED = (
    "Reduced at laptop: 20 subsamples (paper: 100), and factors of at most 100 columns (paper: as "
    "many as the tolerance asks for, at d = 25 more than 6000)."
)
_DAYS_COMMON = f"{_DAYS} {_DAYS_CHOICE} {_DAYS_METHODS}"
_DAYS_TIMES = (
    "Wall-clock seconds on one thread, with as many jobs at once as the machine was given cores, "
    "so that only ratios compare. Solid: for the solution, which is cross moments and "
    "coefficients, and the probabilities of the 5000 test days, as in figure 6. Dotted: the "
    "pivoted factors. KLR has a factor of x alone and no cross moments; fits with the same "
    "bandwidths share factors and cross moments, and have the same seconds of them."
)

ARTEFACTS = (
    Artefact(
        paper="jdl",
        name="fig1",
        kind="figure",
        title="second-moment loss against n",
        caption=(
            f"Loss (40): the squared error of E[y yᵀ|x] over its squared norm, a mean over test "
            f"points. {_COMMON} {_LAW} {_SCHEDULE} {_THROUGHOUT} {_CME_CONSTRAINTS} {_BAND} "
            f"{_REDUCED}"
        ),
        experiment="moments",
        build=moments_curves.losses,
        draw=moments_curves.LOSSES,
        deciders={
            "J1": moments_losses.ordered,
            "J2": moments_losses.rises_when_loosened,
            "J4": moments_losses.worse_in_higher_dimensions,
        },
        methods=("JDL", "JPDL", "CME"),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig2",
        kind="figure",
        title="second-moment loss by tolerance at d = 1",
        caption=(
            "Loss (40) of JDL and CME without constraints at d = 1; a line for each relative "
            f"tolerance of the factors. {_COMMON} {_BAND} {_REDUCED}"
        ),
        experiment="moments",
        build=moments_curves.losses_by_tolerance,
        draw=moments_curves.LOSSES,
        deciders={"J3": moments_losses.robust_to_tolerance},
        methods=("JDL", "CME"),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig3",
        kind="figure",
        title="normalisation error against n",
        caption=(
            "Largest |E[1|x] - 1| over test points and correlation matrices, as in the paper; it "
            "grows with their number. Bands reach from the 5% to the 95% quantile of each matrix's "
            "largest, where at least 20 have a number; the vertical axis is linear below 1e-4, "
            "where JDL and JPDL have rounding errors. "
            f"{_COMMON} {_SCHEDULE} {_THROUGHOUT} {_CME_CONSTRAINTS} {_REDUCED}"
        ),
        experiment="moments",
        build=moments_curves.normalisation,
        draw=moments_curves.NORMALISATIONS,
        deciders={
            "J5": moments_normalisation.inverse_to_sample_size,
            "J7": moments_normalisation.mitigated_by_constraints,
        },
        methods=("JDL", "JPDL", "CME"),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig4",
        kind="figure",
        title="normalisation error of CME by tolerance at d = 1",
        caption=(
            "Largest |E[1|x] - 1| of CME without constraints over test points and correlation "
            "matrices; a line for each relative tolerance of the factors. The CSV also has the "
            f"mean over matrices of each one's largest. {_COMMON} {_REDUCED}"
        ),
        experiment="moments",
        build=moments_curves.normalisation_by_tolerance,
        draw=moments_curves.NORMALISATIONS_BY_TOLERANCE,
        deciders={
            "J6": moments_normalisation.falls_at_the_tightest,
            "J15": moments_normalisation.lowest_in_the_middle,
        },
        methods=("CME",),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig5",
        kind="figure",
        title="second moments that are not positive semi-definite",
        caption=(
            "Share of test points at which the estimate of E[y yᵀ|x] has an eigenvalue below "
            "-1e-12 times the largest absolute one; the vertical axis is linear below 0.01%. "
            f"{_COMMON} {_SCHEDULE} {_THROUGHOUT} {_CME_CONSTRAINTS} {_BAND} {_REDUCED}"
        ),
        experiment="moments",
        build=moments_curves.violations,
        draw=moments_curves.SHARES,
        deciders={"J8": moments_violations.semidefinite},
        methods=("JDL", "JPDL", "CME"),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig6",
        kind="figure",
        title="seconds of solution and conditional expectations",
        caption=f"{_TIMES} {_COMMON} {_SCHEDULE} {_CME_CONSTRAINTS} {_BAND} {_REDUCED}",
        experiment="moments",
        build=moments_curves.seconds,
        draw=moments_curves.SECONDS,
        deciders={
            "J9": moments_seconds.alike_and_faster,
            "J16": moments_seconds.constraints_cost_little,
        },
        methods=("JDL", "JPDL", "JPDL-unreduced", "CME"),
        trial="matrix",
        remarks=moments_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig7",
        kind="figure",
        title="logistic loss of the probability that portfolios lose much",
        caption=(
            "Loss (41), with probabilities clipped to 1e-12 and 1 as in the paper. "
            f"{_DAYS_COMMON} {_DAYS_BAND} {_OVERLAP} {_DAYS_REDUCED}"
        ),
        experiment="portfolio",
        build=portfolio_curves.losses,
        draw=portfolio_curves.LOSSES,
        deciders={"J10": portfolio_claims.jdl_like_klr},
        methods=("JDL", "CME", "KLR"),
        trial="subsample",
        remarks=portfolio_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig8",
        kind="figure",
        title="negative probabilities that portfolios lose much",
        caption=(
            "Share of test days with an estimated probability below 0; the vertical axis is linear "
            f"below 0.01%. {_DAYS_COMMON} {_DAYS_BAND} {_DAYS_REDUCED}"
        ),
        experiment="portfolio",
        build=portfolio_curves.negative,
        draw=portfolio_curves.SHARES,
        deciders={"J11": portfolio_claims.fewer_negative},
        methods=("JDL", "CME", "KLR"),
        trial="subsample",
        remarks=portfolio_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="fig9",
        kind="figure",
        title="seconds of solution and probabilities",
        caption=f"{_DAYS_TIMES} {_DAYS_COMMON} {_DAYS_BAND} {_DAYS_REDUCED}",
        experiment="portfolio",
        build=portfolio_curves.seconds,
        draw=portfolio_curves.SECONDS,
        deciders={"J12": portfolio_claims.comparable_seconds},
        methods=("JDL", "CME", "KLR"),
        trial="subsample",
        remarks=portfolio_curves.remarks,
    ),
    Artefact(
        paper="jdl",
        name="structure",
        kind="figure",
        title="negative densities, and whether CME can satisfy the tightened positivity (33)",
        caption=(
            "A figure of ours for two statements of the text. Above: share of test pairs (x, y) at "
            "which the density 1 + h against the product of the marginals is negative, without and "
            "with constraints; (33) is one inequality for all training pairs. Below: share of fits "
            "of CME without constraints for which coefficients exist that satisfy (53) and such an "
            "inequality; for the others it is proven that there are none. The vertical axis is "
            "linear below 0.001%. Left: the Gaussian pairs of section 5.1, at the tolerances of "
            "figure 1; claim J14 counts the other tolerances as well. Right: the portfolios of "
            "section 5.2. Lines are means over repetitions. Reduced at laptop as figures 1 and 7."
        ),
        experiment="moments",
        build=structure.build,
        draw=structure.DRAW,
        deciders={"J13": structure.few_violations, "J14": structure.never_feasible},
        methods=("JDL", "JPDL", "CME"),
        trial="repetition",
        remarks=structure.remarks,
        also="portfolio",
    ),
)
