"""Small archives in exactly the format of PEMS-SF, sound and spoilt."""

import zipfile

import numpy as np

from kcde.data import pems


def matrix(values):
    """Return a day as a line of the file: Matlab's syntax, at most five digits."""
    rows = (" ".join(f"{value:.5g}" for value in row) for row in values)
    return f"[{'; '.join(rows)}]\n".replace("; ", ";")


def members(weekdays, occupancy):
    """Return member to text.

    Parameters
    ----------
    weekdays
        Fold to labels 1 to 7.
    occupancy
        Fold to an array (days, sensors, slots).
    """
    texts = {"stations_list": "[400000 400001]\n", "randperm": "[2 1]\n"}
    for fold in pems.FOLDS:
        texts[f"PEMS_{fold}"] = "".join(map(matrix, occupancy[fold]))
        texts[f"PEMS_{fold}labels"] = f"[{' '.join(map(str, weekdays[fold]))}]\n"
    return texts


def small(days=(5, 3), sensors=4, slots=6):
    """Return labels and occupancies of two folds, of random numbers in [0, 1] with five digits."""
    rng = np.random.default_rng(1)
    weekdays = {
        fold: (1 + np.arange(n) % 7).tolist() for fold, n in zip(pems.FOLDS, days, strict=True)
    }
    occupancy = {
        fold: rng.random((n, sensors, slots)).round(4)
        for fold, n in zip(pems.FOLDS, days, strict=True)
    }
    return weekdays, occupancy


def write(path, texts):
    """Write an archive of member to text; return its path."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return path
