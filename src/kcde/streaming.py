"""Pairs larger than memory, read in blocks: arrays, memory maps and Parquet files.

`LikelihoodKCEF.fit_rows` and `Quantiles.fit_rows` fit to them.

Examples
--------
>>> import numpy as np
>>> from kcde import LikelihoodKCEF
>>> from kcde.streaming import ArrayRows
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(500, 1))
>>> rows = ArrayRows(X, X[:, 0] + rng.normal(size=500), block=100)
>>> model = LikelihoodKCEF(1.0, 2.0, 1e-3).fit_rows(rows)
>>> model.mean(np.array([[1.0]])).shape
(1, 1)
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from kcde.estimators._likelihood.objective import BLOCK, ArrayRows
from kcde.estimators._shared.rows import check_rows

__all__ = ["ArrayRows", "ParquetRows"]

# What pyarrow reads ahead by itself held .6 GB of ten million rows of five columns.
_AHEAD = {"fragment_readahead": 1, "batch_readahead": 1}


class ParquetRows:
    """Pairs of columns of a Parquet file, or of all those in a folder; needs pyarrow.

    Parameters
    ----------
    path
        File or folder.
    x
        Names of the columns of x.
    y
        Name of the column of y.
    block
        Most rows of a block.

    Raises
    ------
    ModuleNotFoundError
        Without pyarrow: `pip install 'kcde[parquet]'`.
    FileNotFoundError
        If there is no such file.
    ValueError
        If a column is missing or not of numbers, or there are no rows; in `blocks` and `take`, if a
        value is missing or not finite.
    """

    def __init__(self, path: str | Path, x: Sequence[str], y: str, block: int = BLOCK):
        self._names, self._block, self._path = [*x, y], block, Path(path)
        if not self._path.exists():
            raise FileNotFoundError(f"there is no file or folder {path}")
        try:
            from pandas import DataFrame
            from pyarrow import dataset, types
        except ModuleNotFoundError as error:
            needed = "Parquet files need pyarrow: pip install 'kcde[parquet]'"
            raise ModuleNotFoundError(needed) from error
        self._data = dataset.dataset(self._path, format="parquet")
        self.given = DataFrame(columns=list(x)), np.empty(0)
        options = dataset.ParquetFragmentScanOptions(pre_buffer=False)
        self._how = {"columns": self._names, "fragment_scan_options": options, **_AHEAD}
        known = self._data.schema
        if missing := ", ".join(name for name in self._names if name not in known.names):
            raise ValueError(f"{path} has no column {missing}; it has {', '.join(known.names)}")
        for name in self._names:
            kind = known.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind)):
                raise ValueError(f"column {name} of {path} is of {kind}, not of numbers")
        self._rows = self._data.count_rows()
        if not self._rows:
            raise ValueError(f"{path} has no rows")

    def __len__(self) -> int:
        return self._rows

    def blocks(self) -> Iterator[tuple]:
        """Yield X (b, d) and Y (b, 1) in float64."""
        for batch in self._data.to_batches(batch_size=self._block, **self._how):
            if len(batch):
                yield self._pairs(batch)

    def take(self, rows: np.ndarray) -> tuple:
        """Return X and Y of some rows, sorted row numbers."""
        return self._pairs(self._data.take(rows, **self._how))

    def _pairs(self, batch) -> tuple:
        frame = batch.to_pandas()
        for name in self._names:
            check_rows(f"column {name} of {self._path}", frame[name], vector=True)
        table = frame[self._names].to_numpy(dtype=np.float64)
        return table[:, :-1], table[:, -1:]
