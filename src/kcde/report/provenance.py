"""Where the numbers come from: code, versions, seeds, checksums, times; what is not recorded."""

from hashlib import sha256

import kcde
from kcde import split_scores
from kcde.data import catalogue
from kcde.evidence import checkout
from kcde.report.content import Tracked

_NO_MACHINE = (
    "Processor, memory and operating system of the runs: scores name the array library and the "
    "type of numbers, no machine."
)
_NO_SCORES = (
    "Scores of single splits, with versions, seeds and times of the runs, are not tracked here: "
    "figures/scores.csv.gz is written when a whole run ends. Until then they stand in results/ "
    "of the machine that ran it."
)


def provenance(tracked: Tracked) -> dict:
    """Return what is recorded of the tracked outputs, and what is not."""
    scored = split_scores.about(tracked.figures)
    lacking = [_NO_MACHINE, *([] if scored else [_NO_SCORES])]
    commits = dict.fromkeys(zip(tracked.read["commit"], tracked.read["scale"], strict=True))
    return {
        "package": f"kcde {kcde.__version__}, commit {checkout.commit()}",
        "readings": [f"{commit} ({scale})" for commit, scale in commits],
        "scored": scored,
        "data": [
            (entry.name, entry.sha256, entry.licence)
            for entry in catalogue.read().values()
            if entry.sha256 and (not entry.papers or {*entry.papers} & {*tracked.papers})
        ],
        "files": _checksums(tracked),
        "lacking": lacking,
    }


def _checksums(tracked: Tracked) -> list[tuple[str, str]]:
    """Return the SHA-256 of each tracked table that the page is made of."""
    wanted = ["[!.]*.csv", "[!.]*.csv.gz", *(f"{paper}/[!.]*.csv" for paper in tracked.papers)]
    found = [path for pattern in wanted for path in sorted(tracked.figures.glob(pattern))]
    return [
        (f"{path.relative_to(tracked.figures)}", sha256(path.read_bytes()).hexdigest())
        for path in found
    ]
