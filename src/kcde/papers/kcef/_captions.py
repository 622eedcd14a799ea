"""What the details of several artefacts say."""

TUNING = "hyper-parameters of KCEF tuned on 500 rows (paper scale: 2000)."
"""What the scale laptop reduces wherever the score chooses the parameters of KCEF."""
