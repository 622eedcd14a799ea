"""What table 1 and figures 1 to 3 share: the data sets in the plane and their description."""

METHOD = "DDE"
"""The method as published; its variations have panels of their own and do not enter the claims."""

DATASETS = ("ring", "grid", "two-moons")
"""In the order of figures 1 to 3; their claims need all three."""

POINTS = (
    "Each data set has 500 training points and 1500 (grid) or 5000 (ring, two moons) for testing, "
    "redrawn for every seed and the same for every method. In raw units the base density of "
    "DDE is uniform on the bounding box of the training points."
)

CODE_SETS = (
    "The ring's radii 1, 3, 5 have points in proportion to their length. Two moons has 500 "
    "training points as in the text (code: 1000). In the text each centre of the grid lies on one "
    "dimension; (0, 1) and (1, 1) here are those of the array in the code."
)

TRAINING = (
    "The paper does not mention repetitions. DDE is trained for 20000 iterations on every set, as "
    "in figure 2. The authors' code counts epochs of 5 such iterations, or 10 with its 1000 points "
    "of two moons, and stops after 9000 (grid) and 11000 (two moons), so that the published "
    "samples may come from a longer training than the paper says."
)


def panel(dataset: str, method: str) -> str:
    """Return the title of a panel that shows samples: of a variation of DDE with its name."""
    return dataset if method == METHOD else f"{dataset}, {method}"
