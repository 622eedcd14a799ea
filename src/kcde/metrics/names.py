"""Names of metrics in score tables, which experiments write and artefacts read."""

NLL = "negative_log_likelihood"
"""In nats, of one row of the standardised test data; `<NLL>_quadrature` where log Z is exact."""

NLL_QUADRATURE = f"{NLL}_quadrature"

NLL_X, NLL_CONDITIONAL = f"{NLL}_x", f"{NLL}_conditional"
"""The parts of the joint one of x and y: of x alone, and of y given x."""

COVERAGES = {"coverage_50": 0.5, "coverage_90": 0.9}
"""Share of the test rows within the central interval, by metric the probability of that."""

CRPS = "crps"
"""Mean continuous ranked probability score of the test rows, y in its standardised units."""

MMD = "mmd"
"""Unbiased squared maximum mean discrepancy, times 1000."""

P_VALUE = "p_value"
"""Of the test of relative similarity."""

R_HAT, DIVERGENCE_RATE = "r_hat", "divergence_rate"
"""Of Markov chains: the largest R-hat; the share of transitions after the burn-in that diverged, in
the worst column."""

SMAE = "smae"
"""Scaled mean absolute error."""

SECOND_MOMENT_LOSS = "second_moment_loss"
"""Error of the conditional second moments, jdl equation (40)."""

NORMALISATION_ERROR = "normalisation_error"
"""Largest |E[1|x] - 1| over the test points."""

PSD_VIOLATION_RATE = "psd_violation_rate"
"""Share of test points whose estimated second moments are not positive semi-definite."""

INDEPENDENCE_LOSS = "independence_loss"
"""The same error of the mean over the training points, which ignores x."""

CANONICAL_CORRELATION = "canonical_correlation"
"""Largest correlation of a linear function of x with one of y."""

TUNING_ROWS = "tuning_rows"
"""Rows on which the parameters of a fit were chosen."""

BASE_RATE_LOSS = "base_rate_loss"
"""Logistic loss of the share of events in the days that train and validate."""

LOGISTIC_LOSS = "logistic_loss"
"""Of the probability of a tail event in nats, jdl equation (41)."""

NEGATIVE_PROBABILITY_RATE = "negative_probability_rate"
"""Share of test points with an estimated probability below 0."""

NEGATIVE_NORMALISER = "turned_over"
"""Points at which the signed weights of a CDO have a negative sum."""

REGULARIZATION_ERROR = "regularization_error"
"""Norm of T_λ - T_0, what regularisation alone leaves."""

PEAK_MEMORY, SYSTEM_MEMORY = "peak_memory", "system_memory"
"""MiB of a process at its largest, and of the matrix of its linear system."""

FIT_SECONDS = "fit_seconds"

NEEDED_SECONDS = "needed_seconds"
"""About what a fit would take that was not made for that."""

MATCHED = "matched_"
"""Begins the metrics of seconds with the same bandwidths for all methods."""

DENSITY_SECONDS = "density_seconds"
"""Of processor time, for the log densities of the test rows."""

LOG_DENSITY_GAP = "log_density_gap"
"""Mean of log p - log p̂ over the test rows, p the true density, in nats."""

PENALISED_LOSS = "penalised_loss"
"""Of training rows: `TRAINING_NLL` and the penalty of a function of an RKHS."""

TRAINING_NLL, TRAINED_NLL = f"{NLL}_training", f"{NLL}_trained"
"""Of training rows, and of test rows under the density that was trained: with its own weight."""

PENALTY = "penalty"
"""η of that loss."""

TRAINED, OPTIMUM, PRIOR, STOPPED = "trained", "optimum", "prior", "stopped"
"""What `dde/optimum` compares: f as trained, the optimum of its objective, that with η = 1/n, and
that with the η that held-out rows choose."""


def of_optimum(name: str, metric: str) -> str:
    """Return the metric of one of the four."""
    return f"{name}_{metric}"
