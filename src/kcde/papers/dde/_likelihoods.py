"""The likelihoods by which table2 and table2-likelihood evaluate DDE, and how it is trained."""

from kcde.metrics.names import NLL

QUADRATURE = f"{NLL}_quadrature"
"""Metric of the negative log-likelihood with log Z by quadrature."""

SHOWN_AS = {
    "DDE-quadrature": ("DDE", QUADRATURE),
    "DDE-penalised": ("DDE-penalised", QUADRATURE),
}
"""Column to the method and metric that it shows (`Artefact.shown_as`)."""

CONFLICTS = (
    "Text and code of the paper conflict; for DDE the code is followed: the base density is a "
    "Gaussian whose standard deviation is one or three times that of y (text: 2, as in kcef), the "
    "weight λ of the training is left out of the evaluation, the penalty η is 0 (text: penalised "
    "likelihood), and the networks have 3 layers, as in appendix E (section 6: 5). Gradients are "
    "clipped for f and ν (text: all updates; code: ν alone). The authors train for 50000 "
    "iterations without a stopping rule. Appendix E says that parameters are tuned by "
    "cross-validation, not of what, and the code has no such step; nor is known which of the test "
    "likelihoods that are printed every 100 iterations they report."
)
