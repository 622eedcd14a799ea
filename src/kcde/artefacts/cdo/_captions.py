"""What several captions of the paper say."""

from kcde.artefacts.plots import box_statistics

METHODS = (
    "CDO",
    "CDO-clipped",
    "CDO-projected",
    "CDO-narrow",
    "CDO-chosen",
    "GP",
    "GP-spread",
    "GP-ML",
    "CondRealNVP",
    "CondMAF",
    "LSCDE",
    "LSCDE-signed",
    "LSCDE-constrained",
    "LSCDE-projected",
)
EVERYWHERE = tuple(name for name in METHODS if name not in ("CDO-narrow", "GP-spread"))
BOXES = (
    "Boxes span the quartiles, whiskers reach the farthest values within 1.5 times the box's "
    f"length, small circles lie beyond (at most {box_statistics.KEPT} a box are kept, evenly by "
    "rank), the bar is the median, the dot the mean. Shaded and bold: as published; else ours. "
    "An arrow at the right edge states a median that lies beyond; means and circles beyond it are "
    "not shown."
)
TERRAIN = (
    "Mt St Helens, a grid of 120 × 117 points: elevation given the two coordinates, an estimate is "
    "a predictive mean."
)
TERRAIN_REDUCED = "Reduced at laptop: the first 3 of 10 folds"
DEFINITIONS = (
    "e = ŷ − y on the test points, ȳ is the mean elevation of the training points; elevations are "
    "as in the file, above sea level."
)
DONUT = (
    "The Gaussian donut: 50 means on a unit circle, turned by 0.5 rad about the first axis, with "
    "noise N(0, 0.01 I) and 75 points a mean; the first coordinate is x, the other two are y. "
    "Errors are means over 3000 uniform points of [−2, 2]², drawn for each repetition and the same "
    "for every method."
)
