"""Elevation over a grid of coordinates: cdo, table 3, with every definition of its error.

The authors' code scores CDO, the Gaussian process and LSCDE on shuffled folds, 90% training rows,
with output less its training mean, and the flows on a random fifth of the rows; and it divides
differently for each (`kcde.metrics.smae`). Here all methods are fitted on the folds and scored by
every definition; flows once more on random splits, for the published number.
"""

from dataclasses import dataclass

import numpy as np

from kcde import scores
from kcde.experiments._conditional import COMPARED, FLOWS, SMOOTHERS, Conditional
from kcde.experiments.base import SCALES, Outcome, attempt, parameter, sized
from kcde.methods import METHODS
from kcde.metrics import SMAE, smae
from kcde.seeding import rng_of, row_seed
from kcde.selection import complement, kfold

FOLDS, RANDOM = "folds", "random"
FOLD_COUNT = 10

_TEST_SHARE = 5  # one row in five is a test row of a random split
_PUBLISHED = {"GaussianProcess": "predicted"} | dict.fromkeys(FLOWS, "pointwise")


def parts(dataset: str, n: int, folds: int, splits: int) -> list[tuple]:
    """Return the first of ten shuffled folds of n rows, and random splits.

    Each is its protocol, its number there, and sorted training and test rows. They depend on the
    data set's name and their number alone, and so are the same for all methods.
    """
    held_out = kfold(n, FOLD_COUNT, rng_of("terrain-folds", dataset))[:folds]
    found = [(FOLDS, i, complement(test, n), test) for i, test in enumerate(held_out)]
    for number in range(splits):
        order = rng_of("split", dataset, number).permutation(n)
        test, train = (np.sort(rows) for rows in np.split(order, [n // _TEST_SHARE]))
        found.append((RANDOM, number, train, test))
    return found


@dataclass(frozen=True)
class Terrain(Conditional):
    """Predict elevation from coordinates, with scaled absolute errors (cdo, table 3).

    All 14040 points take 1.3 GB for each matrix of kernel values. Under {"protocol":"folds"} the
    metrics are `smae_centred`, `smae_predicted`, `smae_pointwise` and `smae_total`, and under the
    authors' protocol for the method `smae`, by their definition; random splits have
    `smae_pointwise` and `smae_pointwise_std`, its spread over the test points.
    """

    name = "terrain"
    datasets = ("rough-terrain",)
    methods = ("CDO", "CDO-chosen", "GP", "GP-ML", "GP-Matern", *COMPARED, *SMOOTHERS)
    smoke = ("smoke-terrain",)
    beside = SMOOTHERS
    repeated = ("folds", "splits")
    reads_files = True

    folds: int = sized(1, 10, 10, "Of ten shuffled folds.", at_least=1, at_most=FOLD_COUNT)
    splits: int = parameter(0, "Random splits with 80% training rows, as for flows.", at_least=0)

    @classmethod
    def sizes_of(cls, scale: str, dataset: str, method: str) -> dict:
        """Return fewer folds, and as many random splits, of what takes long."""
        if method in cls.beside or METHODS[method].estimator not in FLOWS:
            return {}
        sizes = dict.fromkeys(cls.repeated, (1, 3, 10)[SCALES.index(scale)])
        return sizes | super().sizes_of(scale, dataset, method)

    def outcome(self, unit: int) -> Outcome:
        """Predict the test rows of a partition."""
        table = self.data
        each = parts(self.dataset, len(table.Y), self.folds, self.splits)
        protocol, number, train, test = each[unit]
        seed = row_seed(self.name, self.dataset, protocol, number)
        centre = table.Y[train].mean()

        model, fitting = self.fitted(table.X[train], table.Y[train] - centre, seed)
        found, seconds = attempt(self.moments, model, table.X[test], ["mean"])
        sizes = {"n_train": len(train), "n_test": len(test), "dim": table.X.shape[1]}
        setting = scores.setting(protocol=protocol)
        row = self.row(number, setting=setting, backend=self.device, seed=seed, **sizes)
        chosen = {"protocol": protocol, "split": number}
        names = self._metrics(protocol)
        if isinstance(found, Exception):
            rows = [row | scores.failed(name, found) for name in names]
        else:
            row["seconds"] = fitting + seconds
            measured = self._errors(found[0] + centre, table.Y[test, 0], centre)
            rows = [row | scores.cell(name, measured[name]) for name in names]
            chosen |= self.chosen(model)
        return Outcome(rows, [chosen])

    def _metrics(self, protocol: str) -> list[str]:
        """Return the metrics of a protocol, that of the published number first."""
        authors = RANDOM if self.estimator in FLOWS else FOLDS
        defined = ("centred", "predicted", "pointwise", "total")
        names = ("pointwise", "pointwise_std") if protocol == RANDOM else defined
        return [SMAE] * (protocol == authors) + [f"{SMAE}_{name}" for name in names]

    def _errors(self, found: np.ndarray, observed: np.ndarray, mean: float) -> dict[str, float]:
        """Return every metric of predictions, whose training rows have a mean."""
        values = smae(found, observed, float(mean))
        spread = float(np.abs(found / observed - 1.0).std(ddof=1))
        measured = {f"{SMAE}_{name}": value for name, value in values.items()}
        published = values[_PUBLISHED.get(self.estimator, "centred")]
        return measured | {SMAE: published, f"{SMAE}_pointwise_std": spread}
