"""What the details of several artefacts say."""

TUNING_REDUCED = (
    "Reduced at laptop: hyper-parameters of KCEF tuned on 500 rows (paper scale: 2000)."
)
