"""`python -m kcde.comparison.worker [--again] FOLDER METHOD SPLIT...`: some splits of one method.

A process of its own: it can be stopped when the time is up, and what it needs of memory is its own.
"""

import sys
import warnings
from pathlib import Path

from kcde.comparison import plan, scoring


def work(folder: Path, method: str, numbers: list[int], *, again: bool = False) -> None:
    """Score those of some splits that are not done, one after the other.

    Where the memory does not suffice for one, the others are not tried and have its result.

    Parameters
    ----------
    folder
        Of a plan.
    method
        A key of `kcde.methods.METHODS`.
    numbers
        Of the splits, from 0.
    again
        Whether those that are done are scored as well: what scored them may have changed.
    """
    planned = plan.load(folder)
    scored = None
    for number in numbers:
        if again or not scoring.is_done(folder, method, number):
            if scored is None or scored.said["status"] != scoring.TOO_LARGE:
                scored = scoring.score(method, planned, number)
            scoring.write(folder, method, number, scored)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    words = [word for word in sys.argv[1:] if word != "--again"]
    numbers = [int(word) for word in words[2:]]
    work(Path(words[0]), words[1], numbers, again="--again" in sys.argv)
