"""Traffic of cdo as jobs: what is simulated, and which data any experiment may do without."""

from collections.abc import Mapping

SIMULATED = "simulated-traffic"
"""The data set that is drawn at every scale, to measure what a fit costs."""


def optional(config: Mapping, catalogue: Mapping) -> set[str]:
    """Return the data sets that an experiment may do without, by the names of their records."""
    listed = (chosen.get("optional", ()) for chosen in config["experiments"].values())
    return {catalogue[name]["name"] for names in listed for name in names if name in catalogue}
