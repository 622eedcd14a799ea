"""What an artefact is: one declaration a table or figure.

To add one, add a file to the folder of its paper that assigns `ARTEFACT = Artefact(__name__, ...)`;
workflow, drawing, claims, scorecard and command line find it there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from kcde.artefacts.core import listing

TABLE_COLUMNS = [
    "dataset",
    "method",
    "variant",
    "metric",
    "unit",
    "mean",
    "median",
    "std",
    "stderr",
    "n",
    "failed",
    "best",
    "p_value",
    "published_mean",
    "published_std",
    "difference",
    "verdict",
]

FIGURE_COLUMNS = [
    "panel",
    "kind",
    "method",
    "variant",
    "series",
    "x",
    "x_right",
    "y",
    "y_low",
    "y_high",
    "stat",
    "n",
]


@dataclass(frozen=True)
class Decision:
    """A decided claim.

    Attributes
    ----------
    verdict
        `holds`, `fails`, `undecided`, or `not-run` where data that it needs cannot be had.
    reason
        The numbers of the test.
    """

    verdict: str
    reason: str


def no_remarks(frame: pd.DataFrame) -> list[str]:
    """Return nothing to say: the default of `Artefact.remarks`."""
    return []


def as_they_are(scores: pd.DataFrame, files: list[Path]) -> pd.DataFrame:
    """Return the scores: the default of `Artefact.measure`."""
    return scores


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Attributes
    ----------
    module
        `__name__` of its module, `kcde.artefacts.<paper>.<name>`: the folder is the paper as in
        `published_values.csv`, or `across` where no one paper has it.
    kind
        `table` or `figure`; this, `title`, `shows` and `name` are literals, which planning reads.
    title, caption
        What it is; and in at most 80 words what is shown and what it means.
    details
        What folds below the caption on its page: how it was made and what was reduced against the
        paper, in words that hold at every scale; counts come from the tracked CSV.
    shows
        Experiment to `datasets` and `methods`: what it shows of that experiment's scores, of
        methods in the order of its columns. All that is configured where a key is missing, of
        methods all but those under `but`: so a new method of that experiment is shown by itself,
        and elsewhere once it is listed. In the place of data sets, `paper/name` means those of
        another artefact.
    build
        Maps (scores, files they came from) to the frame of the tracked CSV.
    draw
        Maps (frame as read from the tracked CSV, path without suffix) to the files written.
    deciders
        Claim to function of the scores, for the claims that this artefact decides.
    metric
        The primary metric of a table.
    name
        Where it is not that of the file (`table2-rules`).
    columns
        Columns of a table in their order, where they are not the methods that it shows.
    spread_over_splits
        Whether the published spread is a standard deviation over splits, so that it has a standard
        error.
    shown_as
        Name to (method, metric): further columns of a table, each a metric of a method that stands
        where the others have the primary one. A method's own name replaces its primary metric.
    further
        Metrics that a table's page shows below the primary one, each with the words above it.
    measure
        Maps (scores, files) to the scores with those added that follow from the arrays beside the
        files; `build` and the deciders see them.
    trial
        What is repeated, in one word: a split, a run, a seed.
    axis, axis_label
        Of a table's picture: the widest range that is shown, in the metric's unit, and its name.
    remarks
        Maps the frame of the tracked CSV to sentences of the details that need its numbers.
    optional
        Data sets without which it is made all the same where their scores say `not-run`.
    """

    module: str
    kind: str
    title: str
    shows: Mapping[str, Mapping[str, list[str] | str]]
    caption: str
    build: Callable[["Artefact", pd.DataFrame, list[Path]], pd.DataFrame]
    draw: Callable[["Artefact", pd.DataFrame, Path], list[Path]]
    deciders: Mapping[str, Callable[[pd.DataFrame], Decision]] = field(default_factory=dict)
    name: str = ""
    details: str = ""
    metric: str = ""
    columns: tuple[str, ...] = ()
    spread_over_splits: bool = False
    shown_as: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    further: Mapping[str, str] = field(default_factory=dict)
    measure: Callable[[pd.DataFrame, list[Path]], pd.DataFrame] = as_they_are
    trial: str = "split"
    axis: tuple[float, float] = (-3.0, 4.5)
    axis_label: str = "negative log-likelihood of standardised y (nats); lower is better"
    remarks: Callable[[pd.DataFrame], list[str]] = no_remarks
    optional: tuple[str, ...] = ()

    def __post_init__(self):
        """Take the name from the module where none is given."""
        if not self.name:
            object.__setattr__(self, "name", self.module.rpartition(".")[2])

    @property
    def paper(self) -> str:
        """The paper whose artefact it is, or `across`."""
        return self.module.split(".")[-2]

    @property
    def key(self) -> str:
        """`paper/name`, the artefact's name on the command line."""
        return f"{self.paper}/{self.name}"

    @property
    def place(self) -> str:
        """Where it lies in the folder of the outputs, without suffix: `kcef/table1`."""
        return listing.place(self.paper, self.name)

    @property
    def experiments(self) -> tuple[str, ...]:
        """The experiments whose scores it reads."""
        return tuple(self.shows)

    @property
    def methods(self) -> tuple[str, ...]:
        """The columns of a table, or the methods shown, in their order; others found follow."""
        shown = [name for wanted in self.shows.values() for name in wanted.get("methods", ())]
        return self.columns or tuple(dict.fromkeys(shown))

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the tracked files."""
        return tuple(f".{suffix}" for suffix in listing.suffixes(self.kind))

    @property
    def target(self) -> str:
        """What to ask Snakemake for, e.g. `figures/kcef/table1.md`."""
        return f"figures/{self.place}{self.suffixes[1]}"
