"""`python -m kcde.comparison.worker FOLDER METHOD SPLIT...`: some splits of one method.

A process of its own: it can be stopped when the time is up, and what it needs of memory is its own.
"""

import sys
import warnings
from pathlib import Path

from kcde.comparison import plan, scoring


def work(folder: Path, method: str, numbers: list[int]) -> None:
    """Score those of some splits that are not done, one after the other.

    Where the memory does not suffice for one, the others are not tried and have its result.
    """
    planned = plan.load(folder)
    scored = None
    for number in numbers:
        if not scoring.is_done(folder, method, number):
            if scored is None or scored.said["status"] != scoring.TOO_LARGE:
                scored = scoring.score(method, planned, number)
            scoring.write(folder, method, number, scored)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    work(Path(sys.argv[1]), sys.argv[2], [int(word) for word in sys.argv[3:]])
