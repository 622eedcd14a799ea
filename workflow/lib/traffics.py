"""Traffic of cdo as jobs: what is simulated, and which data any experiment may do without."""

from collections.abc import Mapping

SIMULATED = "simulated-traffic"
"""The data set that is drawn at every scale, to measure what a fit costs."""

_WITH_TEST_DAYS = "zip-pems"  # the format of files that have days to train and days to test


def optional(config: Mapping, catalogue: Mapping) -> set[str]:
    """Return the data sets that an experiment may do without, by the names of their records."""
    listed = (chosen.get("optional", ()) for chosen in config["experiments"].values())
    return {catalogue[name]["name"] for names in listed for name in names if name in catalogue}


def splits_of_its_own(catalogue: Mapping, dataset: str) -> bool:
    """Return whether traffic has one split: of days set apart in its file, or none to draw."""
    return dataset == SIMULATED or catalogue.get(dataset, {}).get("format") == _WITH_TEST_DAYS
