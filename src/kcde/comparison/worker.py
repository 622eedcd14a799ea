"""`python -m kcde.comparison.worker FOLDER METHOD SPLIT...`: some splits of one method.

A process of its own: it can be stopped when the time is up, and what it needs of memory is its own.
"""

import sys
import warnings
from pathlib import Path

from kcde.comparison import plan, scoring


def work(folder: Path, method: str, numbers: list[int]) -> None:
    """Score those of some splits that are not done, one after the other.

    Parameters
    ----------
    folder
        Of a plan.
    method
        A key of `kcde.methods.METHODS`.
    numbers
        Of the splits, from 0.
    """
    planned = plan.load(folder)
    for number in numbers:
        if scoring.read(folder, method, number) is None:
            scored = scoring.score(method, planned.X, planned.y, planned.splits[number], number)
            scoring.write(folder, method, number, scored)
            if scored.said["status"] == scoring.TOO_LARGE:
                return


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    work(Path(sys.argv[1]), sys.argv[2], [int(each) for each in sys.argv[3:]])
