"""How each method chooses its hyper-parameters, in the words that captions use.

What stands here is special to an experiment. Otherwise the rule is that of the estimator's class
(`ConditionalDensity.selection_rule`).
"""

import itertools

from kcde import estimators
from kcde.methods import METHODS
from kcde.names import EXACT_DRAWS

_DDE = (
    "as published: the authors' λ, bandwidth scale, standard deviation of the base density and "
    "batch size for each set for which they ship them (else λ = 1, half the median squared "
    "distance, 1 and 100), η = 0, no stopping rule"
)

_R_BENCHMARK: dict[str, str] = {
    "KCEF-LL": (
        "ours: the model of KCEF with σ_x, σ_y and λ by 5-fold cross-validated log-likelihood, "
        "a coarse grid and one refinement, on at most `tuning_rows` training rows (500 at laptop, "
        "more than every set but heights has)"
    ),
    "LSCDE": (
        "as published: at most 100 Gaussian centres, σ (10^−1.5…10^1.5) and λ (10^−3…10) on a "
        "20 × 20 grid, 5-fold held-out likelihood; as in a public copy of the authors' code "
        "2.2e-16 is added to the density, which bounds a point's loss by 36 nats, and the "
        "normaliser is not below it"
    ),
    "NADE": (
        "as published: two hidden layers of {2, 10, 100} units and {1, 2, 5, 10} Gaussian "
        "components, 5-fold held-out likelihood with early stopping, at most 2500 updates; y is "
        "one column, so this is a mixture density network"
    ),
    "KCEF-converged": (
        "ours: one bandwidth for each dimension and λ by L-BFGS to convergence on the 5-fold "
        "cross-validated score, σ within 0.05…50 and λ within 1e-8…10"
    ),
    "KCEF-stopped": (
        "ours: one bandwidth for each dimension and λ by the rule of the authors' code for joint "
        "densities: L-BFGS on the 10-fold score plus 0.1 Σθ², θ = (1/2σ², λ), from 1 and 1e-4 "
        "within 1e-10…10, until an iteration gains less than 1e-4"
    ),
    "KCEF-LL-shared": (
        "ours: as KCEF, one σ for x and y and λ on the same 20 × 20 grid, by 5-fold held-out "
        "log-likelihood, the criterion of LSCDE, in place of the score"
    ),
    "NADE-joint": (
        "ours: as NADE, chosen in the same way, for x and y together; the columns are x, then y, "
        "in the order that the density is stated in, and training is on random orders"
    ),
    "DDE": (
        f"{_DDE}; log Z by 1000 draws from a Gaussian with mean and standard deviation of the test "
        "half"
    ),
    "DDE-quadrature": f"{_DDE}; log Z by quadrature, of the same fits as DDE's",
    "DDE-penalised": (
        "ours: as DDE, but η = 1/n and the weight λ of the training in the density as well; "
        "stopped where the likelihood of a fifth of the training rows, on which f is not trained, "
        "is largest; log Z by quadrature, and nothing from the test half"
    ),
    "LSCDE-exact": (
        "ours: LSCDE without the constant 2.2e-16 added to its density, so that it integrates to 1 "
        "at every x, in the selection as well"
    ),
    "CDO-chosen": (
        "ours: both bandwidths, α and α′ by 5-fold held-out squared error of the signed estimate; "
        "negative weights are then taken as 0 and the others renormalised, so that it is a density"
    ),
    "CDO-LL": "ours: as CDO-chosen, by 5-fold held-out likelihood of the clipped estimate",
    "GP-ML": (
        "ours: an exact Gaussian process; one bandwidth per column of x, amplitude and noise by "
        "marginal likelihood; p(y|x) is a Gaussian"
    ),
    "CondRealNVP": (
        "as published: 5 blocks with 100 hidden units and batch normalisation, 100 steps on all "
        "rows, learning rate 0.002 √n/28; nothing is chosen or stopped early; y is one column, so "
        "this is a Gaussian whose mean and standard deviation are networks of x"
    ),
    "CondMAF": "as Cond. Real NVP, with learning rate 0.005 √n/28",
    "CondRealNVP-tuned": (
        "ours: 2 blocks with 32 hidden units or 3 with 64, learning rate 0.003 or 0.01, and the "
        "number of steps, at most 200, by the likelihood of a held-out fifth of the training rows; "
        "then trained on all of them for as many steps"
    ),
    "CondMAF-tuned": "ours: conditional MAF, chosen as Cond. Real NVP tuned",
}
"""Method, as in the scores, to its declared selection rule; one line a method."""

_FULL, _MARKOV = "every earlier column is a parent", "only the column before is a parent"

_EARLY_STOPPING = (
    "as published: each factor has its own σ_y, λ and one σ_x for all parents, by the rule of the "
    "authors' code: L-BFGS on the 10-fold cross-validated score plus 0.1 Σθ², θ = (1/2σ_x², "
    "1/2σ_y², λ), from 1, 1 and 1e-4 within 1e-10…10 until an iteration gains less than 1e-4, on "
    "at most `tuning_rows` training rows (500 at laptop, 2000 at paper; the paper states no "
    "number); then solved on all rows"
)
_UNPENALISED = "ours: as KCEF-F, without the penalty, which no paper mentions"
_CONVERGED = (
    "ours: as the text reads: one bandwidth per dimension and λ by L-BFGS to convergence, on the "
    "5-fold cross-validated score without penalty, σ within 0.05…50 and λ within 1e-8…10"
)
_EACH_PARENT = "with a bandwidth for each parent"
_LIKELIHOOD = (
    "ours: the model of KCEF with σ_x, σ_y and λ by 5-fold held-out likelihood on at most 300 "
    "training rows, as KCEF-LL of table 1"
)
_JOINT_LSCDE = "as published: as in table 1, a factor at a time"

_JOINT: dict[str, str] = {
    "KCEF-F": f"{_EARLY_STOPPING}; {_FULL}",
    "KCEF-M": f"as KCEF-F; {_MARKOV}",
    "KCEF-F-anisotropic": f"as published for figure 1: as KCEF-F, but {_EACH_PARENT}",
    "KCEF-F-unpenalised": _UNPENALISED,
    "KCEF-M-unpenalised": f"as KCEF-F-unpenalised; {_MARKOV}",
    "KCEF-F-anisotropic-unpenalised": f"as KCEF-F-unpenalised, but {_EACH_PARENT}",
    "KCEF-F-500-rows": f"as KCEF-F, tuned on at most 500 rows at every scale; {_FULL}",
    "KCEF-M-500-rows": f"as KCEF-F-500-rows; {_MARKOV}",
    "KCEF-F-anisotropic-500-rows": f"as KCEF-F-500-rows, but {_EACH_PARENT}",
    "KCEF-F-1000-rows": f"as KCEF-F, tuned on at most 1000 rows; {_FULL}",
    "KCEF-M-1000-rows": f"as KCEF-F-1000-rows; {_MARKOV}",
    "KCEF-F-converged": f"{_CONVERGED}; {_FULL}",
    "KCEF-M-converged": f"as KCEF-F-converged; {_MARKOV}",
    "KCEF-F-converged-isotropic": "as KCEF-F-converged, but all parents share one bandwidth",
    "KCEF-LL-F": f"{_LIKELIHOOD}; {_FULL}",
    "NADE-unstopped": (
        "ours: as NADE, 2500 updates on all training rows, kept as it is after the last: nothing "
        "is chosen and no row held out"
    ),
    "LikelihoodKCEF-F": f"ours: as LikelihoodKCEF of table 1, a factor at a time; {_FULL}",
    "LSCDE-F": f"{_JOINT_LSCDE}; {_FULL}",
    "LSCDE-M": f"as LSCDE-F; {_MARKOV}",
    "LSCDE-F-anisotropic": (
        "as LSCDE-F, but from its σ on each column has its own, the best of the same values while "
        "all else stays, and then λ, until none changes or after five rounds"
    ),
    "LSCDE-M-anisotropic": f"as LSCDE-F-anisotropic; {_MARKOV}",
    "NADE": (
        "as published: one network with two hidden layers of 100 units and 10 Gaussian components, "
        "trained on random orders of the columns and kept from the update with the largest "
        "likelihood of a held-out tenth of the training rows, which choose between 2500 updates, "
        "those of the reference implementation for red wine, and 10,000, each with a learning rate "
        "that falls linearly to 0; its log-likelihood is the mean over 10 random orders"
    ),
}

_SAMPLED: dict[str, str] = {
    "KCEF-F": (
        "ancestral sampling by Hamiltonian Monte Carlo as published: the first column from 20 "
        "chains of 1000 iterations after 100 of burn-in, thinned by 10, every further column from "
        "a chain of 110 iterations for each row of its parents; mixing is checked on five rows "
        "with 20 chains each; parameters as in table 2"
    ),
    "KEF-adapted": (
        "ours: the same KEF, its chains with a burn-in of 1000 transitions in which all adapt one "
        "step size and a diagonal metric"
    ),
    "KCEF-F-inverse": "ours: KCEF-F, every column drawn by inverting its distribution function",
    "KCEF-LL-F-inverse": "ours: as KCEF-F-inverse, with the parameters of KCEF-LL-F in table 2",
    "KCEF-F-unpenalised-inverse": "ours: KCEF-F-unpenalised, drawn as KCEF-F-inverse",
    "KCEF-F-converged-inverse": "ours: KCEF-F-converged, drawn as KCEF-F-inverse",
    "KEF-grouped": "ours: as KEF, but copies of a row are in one fold of the cross-validation",
    "KEF": (
        "one unconditional kernel exponential family of all columns, one bandwidth (0.2…5) and λ "
        "(1e-6…0.1) on a 10 × 10 grid by the 5-fold cross-validated score on a subset; the exact "
        "system where rows times columns are at most 16000, else the Nyström one on 300 rows; 20 "
        "chains of Hamiltonian Monte Carlo as for a first column of KCEF-F"
    ),
    "NADE": "the network of table 2, sampled column by column",
    "KCEF-F-pair": (
        "ours: as KCEF-F, of the two shown columns alone, with parameters chosen on them by the "
        "rule of table 2"
    ),
    "KCEF-F-pair-inverse": "ours: KCEF-F-pair, drawn as KCEF-F-inverse",
    "KEF-pair": "ours: as KEF, of the two shown columns alone",
    "KEF-pair-adapted": "ours: KEF-pair, with chains as those of KEF-adapted",
    "NADE-pair": "ours: as NADE, of the two shown columns alone",
}

_PLANAR: dict[str, str] = {
    "DDE": (
        "as published: bandwidth by the median trick, a tenth of the median squared distance, η = "
        "0, 128 hidden units and 128 dimensions of noise, 4 layers (ν: 3 but on the grid)"
    ),
    "DDE-penalised": "ours: as DDE, with the penalty η = 1/n",
    "DDE-narrow": (
        "ours: as DDE, f with a hundredth of the median squared distance, the default of the "
        "authors' code, which ships settings for grid and two moons (a tenth) but none for the ring"
    ),
    "KEF": (
        "Nyström score matching on 300 rows, all their derivatives as basis; one bandwidth (0.2…5) "
        "and λ (1e-6…0.1) on a 10 × 10 grid by the 5-fold cross-validated score; standardised "
        "points, Gaussian base density; samples by Hamiltonian Monte Carlo with 10 leapfrog steps"
    ),
    "KEF-100-steps": (
        "ours: the same KEF, its chains with 100 leapfrog steps, as the notebook of the code that "
        "dde cites for KEF prints; their size follows the acceptance in place of 0.1"
    ),
}

_GAUSSIAN_GRID = (
    "both bandwidths and λ on a 4 × 4 × 16 grid by the loss of equation (40) on the validation "
    "fifth; the true moments that it takes are an oracle, as published, the grid is ours"
)

_OTHER_POSITIVITY = {
    "JDL-sub-grid": (
        "ours: as JDL without constraints, then equation (23) and 1 + h ≥ 0 at 30 training values "
        "of x and of y"
    ),
    "JDL-clipped": "ours: as JDL without constraints, negative values of 1 + h taken as 0",
}

_MOMENTS: dict[str, str] = {
    "JDL": f"Gaussian kernels; {_GAUSSIAN_GRID}",
    "JPDL": (
        "polynomials of degree 4 as published; λ among 16 by the loss of equation (40) on the "
        "validation fifth, an oracle as for JDL; with constraints at d = 3 the λ that is best "
        "without"
    ),
    "JPDL-unreduced": (
        "as JPDL, with the λ that is best without constraints; the semidefinite program with all "
        "monomials, as the paper states it"
    ),
    "CME": f"Gaussian kernels, of low rank in x and y; {_GAUSSIAN_GRID}",
    **_OTHER_POSITIVITY,
}

_DAYS_GRID = (
    "on a 4 × 4 × 10 grid by the loss of equation (41) on the validation fifth; the grid is ours"
)

_PORTFOLIO: dict[str, str] = {
    "JDL": f"Gaussian kernels; both bandwidths and λ {_DAYS_GRID}",
    "CME": f"Gaussian kernels, of low rank in x and y; both bandwidths and λ {_DAYS_GRID}",
    "KLR": (
        "Gaussian kernel of low rank in x, no intercept, loss summed over days plus λ‖c‖²; "
        "bandwidth and λ on a 4 × 10 grid by the loss of equation (41) on the validation fifth; "
        "the grid is ours; λ grows in proportion where fewer days choose it than are fitted"
    ),
    **_OTHER_POSITIVITY,
}

_FLOWS = {
    "CondRealNVP": (
        "as published: conditional Real NVP, 5 blocks of networks with 100 hidden units and batch "
        "normalisation, 100 steps of Adam on all training rows at once with learning rate "
        "0.002 √n/28; columns standardised; moments by 1000 draws per point"
    ),
    "CondMAF": "as published: conditional MAF, as Cond. Real NVP but learning rate 0.005 √n/28",
}
_STAGED_FLOWS = {
    "CondRealNVP": (
        "as published: conditional Real NVP, 10 blocks of networks with 100 hidden units and batch "
        "normalisation, on all training rows at once 100 steps of Adam with learning rate 0.01, "
        "100 with 0.001, 300 with 0.0001; columns standardised; moments by 1000 draws per point; "
        "with one y it is a Gaussian whose mean and standard deviation are networks of x; the "
        "authors' code is given y twice, as it refuses a single column"
    ),
    "CondMAF": "as published: conditional MAF, trained as Cond. Real NVP",
}
_UNTUNED_FLOWS = {
    "CondRealNVP": (
        "with the settings of the donut: 5 blocks of networks with 100 hidden units and batch "
        "normalisation, 100 steps of Adam on all training rows at once with learning rate "
        "0.002 √n/28, which grows with the rows; columns standardised; moments by 1000 draws per "
        "point. The authors' notebook reads the samples of its Real NVP from a file"
    ),
    "CondMAF": (
        "as Cond. Real NVP but learning rate 0.005 √n/28. The authors' notebook trains on columns "
        "as they are, two sensors at once, by batches of 1008 rows with learning rates of 1e-5 and "
        "5e-7"
    ),
}

_PACKAGE = (
    "that of the Python package `cde` with its H, of distances that are not squared, and centres "
    "by k-means; columns standardised"
)
_LSCDE = (
    "at most 100 Gaussian centres, one σ and λ on a 20 × 20 grid by 5-fold held-out likelihood; "
    "columns standardised"
)

_ALIKE = {
    "CDO-clipped": "ours: as CDO, negative weights taken as 0, the others over their sum",
    "CDO-projected": "ours: as CDO, with the nearest non-negative mixture in L2",
    "CDO-chosen": (
        "ours: Gaussian kernels, both bandwidths, α and α′ by 5-fold held-out squared error of the "
        "density; the regulariser corrected; weights signed"
    ),
    "GP-ML": (
        "ours: bandwidths, signal and noise by the marginal likelihood of at most 2000 training "
        "rows, exact solve on all"
    ),
    "LSCDE": (
        f"as published: {_PACKAGE}: 100 centres, bandwidth 1 and λ = 1, which the authors' "
        "notebook of the donut prints for eight repetitions of ten; negative weights clipped"
    ),
    "LSCDE-package-signed": "ours: as LSCDE, weights as they are over their sum",
    "LSCDE-package-constrained": (
        "ours: as LSCDE, the minimum of its objective over non-negative weights"
    ),
    "LSCDE-package-projected": "ours: as LSCDE, the nearest non-negative mixture in L2",
    "LSCDE-exact": f"ours: Sugiyama's, {_LSCDE}; negative weights clipped",
    "LSCDE-signed": (
        "ours: as LSCDE-exact, weights as they are over their sum; σ and λ are chosen for clipped "
        "weights"
    ),
    "LSCDE-constrained": (
        "ours: the minimum of LSCDE's objective over non-negative weights; σ and λ are chosen "
        "for clipped weights"
    ),
    "LSCDE-projected": "ours: the nearest non-negative mixture to LSCDE-exact's signed one in L2",
}

_BLOCKS = (
    "1000 training rows in four contiguous blocks at random places, one in each quarter of the grid"
)
_SMOOTHERS = {
    "linear-interpolation": "ours: linear on the triangles of Delaunay's triangulation (scipy)",
    "Clough-Tocher": "ours: piecewise cubic and smooth on these triangles (scipy)",
    "four-neighbours": "ours: the mean of the four nearest training points (scikit-learn)",
    "Nadaraya-Watson": (
        "ours: a mean under Gaussian weights, the bandwidth of 12 (a quarter to four times the "
        "grid's step) with the smallest 5-fold held-out absolute error"
    ),
    "Nadaraya-Watson-CDO": "ours: a mean under CDO's kernel of x at its published bandwidth",
}

_DONUT: dict[str, str] = {
    "CDO": (
        "as published: Laplace kernel on x whose scale is the median distance over √2, Gaussian "
        "density on y whose standard deviation is the median distance of the 62 × 62 reference "
        "points on [−2, 2]²; α = α′ = max(M^−½, 1/n) for M reference points; the formula as the "
        "paper prints it; weights signed, over their sum"
    ),
    "CDO-narrow": "ours: as CDO, with 3 steps of the reference grid as the standard deviation",
    "CDO-corrected": "ours: as CDO, by the corrected formula, with Mα′ in place of α′",
    "GP": (
        "as published: an independent Gaussian process for each of the two columns of y, noise of "
        "variance 0.1; Gaussian kernel with bandwidth and variance 1, the defaults of the library, "
        "where the authors' code begins a search for the bandwidth, which is not run here; the "
        "density is that of a Gaussian around its mean with a standard deviation of 1, as the "
        "authors' code has it"
    ),
    "GP-spread": "ours: as GP, with its own predictive variance",
    **_ALIKE,
    "CDO-chosen": f"{_ALIKE['CDO-chosen']}; on at most 500 training rows",
    "GP-ML": _ALIKE["GP-ML"].replace("2000", "500"),
    **_FLOWS,
}

_PRINTED = {
    "LSCDE-package-second": (
        "ours: as LSCDE, with bandwidth 0.7 and λ = 8, which the authors' notebook of the donut "
        "prints for one repetition of ten"
    ),
    "LSCDE-package-traffic": (
        "ours: as LSCDE, with 1000 centres, bandwidth 0.1 and λ = 0.1, as the authors' notebook of "
        "traffic"
    ),
}

_TERRAIN: dict[str, str] = {
    "CDO": (
        "as published: Gaussian kernel on x with bandwidth √(median distance)/2, as many reference "
        "points as training points over the range of y and 0.2 beyond, Gaussian density on y with "
        "50 steps of it; α = α′ = 0.1; the formula as the paper prints it; weights signed, over "
        "their sum"
    ),
    "CDO-quarter": (
        "ours: as CDO, with bandwidth √(median distance)/4, the fraction that the authors' "
        "notebook of traffic has; the median is that of all points, which differs from that of a "
        "fold's training points by less than 0.4%"
    ),
    "GP": (
        "as published: Gaussian kernel of variance 1 with bandwidths 2 · 5.358² and 2 · 3.567², "
        "noise of variance 0.1; the authors' code begins a search for the bandwidths there, by "
        "marginal likelihood on all rows, which is not run here"
    ),
    **_ALIKE,
    "CDO-chosen": f"{_ALIKE['CDO-chosen']}; on {_BLOCKS}",
    "GP-ML": (
        f"ours: bandwidths, signal and noise by the marginal likelihood of {_BLOCKS}; exact solve "
        "on all rows"
    ),
    "GP-Matern": "ours: as GP-ML, with the Matérn kernel of smoothness 3/2",
    **_PRINTED,
    **{
        f"{name}-{weights}": _ALIKE[f"LSCDE-package-{weights}"].replace("LSCDE", name)
        for name in _PRINTED
        for weights in ("signed", "constrained", "projected")
    },
    **_STAGED_FLOWS,
    **_SMOOTHERS,
}

_TRAFFIC: dict[str, str] = {
    "CDO": (
        "as published: product of Laplace kernels on day and time, each with scale √(median "
        "distance)/4; Gaussian density on y with one step of a reference grid of 1008 points over "
        "the range of y and a tenth of it beyond on each side; α = α′ = 1008^−0.441; the formula "
        "as the paper prints it; weights signed, over their sum"
    ),
    **_ALIKE,
    "LSCDE": (
        f"as published: {_PACKAGE}: 1000 centres, bandwidth 0.1 and λ = 0.1; negative weights "
        "clipped"
    ),
    **_UNTUNED_FLOWS,
    "Nadaraya-Watson-CDO": _SMOOTHERS["Nadaraya-Watson-CDO"],
}

_LARGE_N: dict[str, str] = {
    "NADE-grown": (
        "ours: NADE of kcef, table 1, with at most 10,000 updates at n = 1e3; from 1e4 on two "
        "layers of 100 units and 10 components, kept from the update with the largest likelihood "
        "of a held-out tenth of the training rows, which choose between 2500, 10,000 and 40,000 "
        "updates, from 1e5 on 10,000, 40,000 and 160,000, at 1e6 of 1000 rows each"
    ),
    "KCEF-LL": (
        "ours: σ_x, σ_y and λ of KCEF by 5-fold held-out likelihood on at most 1000 training rows, "
        "then solved on all"
    ),
    "boosting": (
        "scikit-learn's HistGradientBoostingRegressor on four fifths of the training rows, with "
        "early stopping; the residuals of the last fifth have a Gaussian kernel density, its "
        "bandwidth by their 5-fold held-out likelihood, and a share of a Student t as "
        "LikelihoodKCEF has it"
    ),
    "linear": "least squares, residuals normal",
}

_UP_TO_500 = "on at most `tuning_rows` training rows (500 at laptop); solved on all"

_LARGER_SETS: dict[str, str] = {
    "KCEF-LL": (
        "ours: σ_x, σ_y and λ of KCEF by 5-fold held-out likelihood, a coarse grid and one "
        f"refinement, {_UP_TO_500}"
    ),
    "CDO-LL": (
        "ours: both bandwidths, α and α′ of CDO by 5-fold held-out likelihood of the clipped "
        f"estimate, {_UP_TO_500}"
    ),
    "GP-ML": _R_BENCHMARK["GP-ML"],
}

_BY_EXPERIMENT = {
    "r_benchmark": _R_BENCHMARK,
    "joint": _JOINT,
    "samples": _JOINT | _SAMPLED,
    "planar": _PLANAR,
    "moments": _MOMENTS,
    "portfolio": _PORTFOLIO,
    "donut": _DONUT,
    "terrain": _TERRAIN,
    "traffic": _TRAFFIC,
    "larger_sets": _LARGER_SETS,
    "large_n": _LARGE_N,
}

_SELECTION = "selection"
"""The option of an estimator that names another rule."""

_BY_OWN_RULE = (
    "r_benchmark",
    "joint",
    "samples",
    "planar",
    "donut",
    "terrain",
    "traffic",
    "larger_sets",
    "large_n",
)
"""Experiments in which methods choose by their own rule; in others all by one, or nothing."""

_DISPLAY: dict[str, str] = {
    "epsilon-KDE": "ε-KDE",
    "CondRealNVP": "Cond. Real NVP",
    "CondMAF": "Cond. MAF",
    "CondRealNVP-tuned": "Cond. Real NVP tuned",
    "CondMAF-tuned": "Cond. MAF tuned",
    "LinearGaussian": "ridge, normal",
    "ResidualKDE": "ridge, residual KDE",
    "MarginalKDE": "marginal KDE",
    "KernelCDE": "kernel CDE",
    "QuantileForest": "quantile forest",
    "NADE-grown": "NADE, more updates",
    "boosting": "boosting, residual KDE",
    "GP-Matern": "GP-Matérn",
    "linear-interpolation": "linear interpolation",
    "Clough-Tocher": "Clough–Tocher",
    "four-neighbours": "four neighbours",
    "Nadaraya-Watson": "Nadaraya–Watson",
    "Nadaraya-Watson-CDO": "Nadaraya–Watson, as CDO",
    "linear": "linear, normal",
    "H0: KEF closer than KCEF": "KEF closer than KCEF",
    "H0: NADE closer than KCEF": "NADE closer than KCEF",
    "H0: KEF-grouped closer than KCEF": "KEF-grouped closer than KCEF",
    "H0: KEF-pair closer than KCEF": "KEF-pair closer than KCEF-pair",
    "H0: NADE-pair closer than KCEF": "NADE-pair closer than KCEF-pair",
}
"""Method to the name that readers see, where it differs."""

_AFTER_SCORES: dict[str, str] = {
    "LikelihoodKCEF": (
        "After test scores had been seen, faults of this search and of its solver were fixed, the "
        "whole grid was left for speed and the floor was lowered above 1000 rows; then the ratios "
        "and higher ranks were added, judged by training rows of white wine; then σ_x and σ_y were "
        "narrowed above 20,000 rows, judged by a draw of made-up data of its own"
    ),
}
"""Method to what of it was changed after test scores had been seen."""

_BRIEF: dict[str, str] = {
    "LikelihoodKCEF": (
        "ours: a σ for each column of x, σ_y and λ by the held-out likelihood of the mixture that "
        "is scored"
    ),
}
"""Method to its rule in brief, where that of its class is long."""

_VARIANTS: dict[str, str] = {
    "test-rows": "test rows only",
    "slice": "shown pair only",
    EXACT_DRAWS: "better draws",
    "code": "authors' set",
}
"""Variants that a table names, because the name of the method does not show them."""


def selection(method: str, experiment: str) -> str:
    """Return how a method chose its hyper-parameters in an experiment, "" where nothing is known.

    Parameters
    ----------
    method
        As in the scores.
    experiment
        Its name, e.g. `r_benchmark`.

    Returns
    -------
    str
        Without a full stop: what is declared here of the method in that experiment, else, where
        methods choose by their own rule, that of its class, or the selection in its place, with
        the other options that differ from the defaults. Nothing is known of methods that a
        configuration alone defines.
    """
    special = _BY_EXPERIMENT.get(experiment, {})
    if method in special or experiment not in _BY_OWN_RULE:
        return special.get(method, "")
    return _of_class(method, experiment)


def after_scores(method: str) -> str:
    """Return what of a method was changed after test scores had been seen, without a full stop."""
    return _AFTER_SCORES.get(method, "")


def brief(method: str) -> str:
    """Return the rule of a method in brief, without a full stop; "" where its rule is short."""
    return _BRIEF.get(method, "")


def _of_class(method: str, experiment: str) -> str:
    """Return the rule of a method's class, said to be as published or ours."""
    defined = METHODS.get(method)
    # What has the settings of cdo's authors chooses nothing; where it is fitted stands above.
    if defined is None or defined.settings is not None:
        return ""
    estimator = getattr(estimators, defined.estimator)
    rule, defaults = estimator.selection_rule, estimator().get_params()
    options = defined.options_for(experiment)
    other = {name: value for name, value in options.items() if value != defaults[name]}
    # The rule of a class is that of its default selection.
    if _SELECTION in other:
        rule = f"by the rule `{other.pop(_SELECTION)}` of {defined.estimator}"
    said = ", ".join(filter(None, [rule, *itertools.starmap(_in_words, other.items())]))
    return f"{defined.variant.replace('-', ' ')}: {said}" if said else ""


def _in_words(option: str, value: object) -> str:
    """Return an option of an estimator in words."""
    if option == "tuning_rows":
        return f"on at most {value} training rows"
    return f"with {option.replace('_', ' ')} {value}"


def display(method: str) -> str:
    """Return the name of a method that readers see."""
    return _DISPLAY.get(method, method)


def column_title(method: str, variant: str) -> str:
    """Return the title of a table's column: the method, and the variant where it needs saying."""
    said = _VARIANTS.get(variant)
    return f"{display(method)} ({said})" if said else display(method)
