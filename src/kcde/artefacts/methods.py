"""How each method chooses its hyper-parameters, in the words that captions use."""

SELECTION: dict[str, str] = {
    "KCEF": (
        "as published: one bandwidth for x and y and λ on a 20 × 20 grid (σ 0.2…8, λ 1e-5…1), "
        "5-fold cross-validated conditional score"
    ),
    "KCEF-LL": (
        "ours: the same model with σ_x, σ_y and λ by 5-fold cross-validated log-likelihood, "
        "a coarse grid and one refinement, on at most `tuning_rows` training rows (500 at laptop, "
        "more than every set but heights has)"
    ),
    "LSCDE": (
        "as published: at most 100 Gaussian centres, σ (10^−1.5…10^1.5) and λ (10^−3…10) on a "
        "20 × 20 grid, 5-fold held-out likelihood; as in a public copy of the authors' code "
        "2.2e-16 is added to the density, which bounds a point's loss by 36 nats, and the "
        "normaliser is not below it"
    ),
    "LSCDE-exact": (
        "ours: LSCDE without that floor, so that the density integrates to 1 at every x, in the "
        "selection as well"
    ),
    "epsilon-KDE": (
        "as published: ε in {0.2, 0.4, 0.8, 1.6} with at least 5 neighbours, bandwidth 0.05…1 in "
        "10 steps, 5-fold held-out likelihood"
    ),
}
"""Method, as in the scores, to its declared selection rule; one line a method."""

DISPLAY: dict[str, str] = {"epsilon-KDE": "ε-KDE"}
"""Method to the name that readers see, where it differs."""


def display(method: str) -> str:
    """Return the name of a method that readers see."""
    return DISPLAY.get(method, method)
