"""Conditional densities on sets of 1,000 to 10,000 rows, as `kcde.experiments.r_benchmark`.

Splits are those of the data set (`kcde.data.larger`), each fitted by itself. A method that
states up to how many rows a fit takes at most a minute is not fitted where a split has more: in the
place of scores there is `needed_seconds` of each split, from that number by the cube of the rows,
the cost of a factorisation.
"""

from collections.abc import Callable, Sequence

from kcde import scores
from kcde.data.larger import open_larger
from kcde.data.loaders import Dataset
from kcde.experiments import r_benchmark
from kcde.experiments.job import Outcome
from kcde.experiments.jobs.larger_sets import MOST_SECONDS, Job
from kcde.metrics.names import NEEDED_SECONDS

_EXPONENT = 3.0


class Experiment(r_benchmark.Experiment):
    """The `.npz` is that of `r_benchmark`; rows of shorter tests end in NaN, or -1."""

    batch_fits = False

    def open(self) -> Dataset:
        """Return the data set with its own splits."""
        return open_larger(self.job.dataset, self.places.data_dir, self.places.catalogue)

    def begin(self, units: Sequence[int]) -> Callable[[int], Outcome]:
        """Fit as on the R sets, or say of each split what a fit would need."""
        job: Job = self.job
        splits = range(job.splits)
        sizes = [len(r_benchmark.split_rows(job, self.data, k)[0]) for k in splits]
        if job.most_rows is None or max(sizes) <= job.most_rows:
            return super().begin(units)
        return lambda split: self._skipped(split)

    def _skipped(self, split: int) -> Outcome:
        job: Job = self.job
        train, test = r_benchmark.split_rows(job, self.data, split)
        needed = MOST_SECONDS * (len(train) / job.most_rows) ** _EXPONENT
        why = f"not fitted: a fit takes {MOST_SECONDS:.0f} s from about {job.most_rows} rows on"
        row = self.not_run(job, split)[0] | {"n_train": len(train), "n_test": len(test)}
        return Outcome([row | scores.cell(NEEDED_SECONDS, needed, "s", detail=why)], [{}])
