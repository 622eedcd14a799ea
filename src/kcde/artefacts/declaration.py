"""What an artefact is: one declaration a table or figure.

To add one, append an `Artefact` to the `ARTEFACTS` of its paper's module; drawing, claims,
scorecard and command line find it there.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

ACROSS = "across"
"""In the place of a paper: what compares the methods of all, drawn above the papers' folders."""

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
    paper, name
        As in `published_values.csv`, e.g. `kcef`, `table1`; `ACROSS` where no one paper has it.
    kind
        `table` or `figure`.
    title, caption
        What it is and what was reduced against the paper, in words that hold at every scale;
        counts come from the tracked CSV.
    experiment
        Which scores it reads; named in messages that say how to make it.
    build
        Maps (scores, files they came from) to the frame of the tracked CSV.
    draw
        Maps (frame as read from the tracked CSV, path without suffix) to the files written.
    deciders
        Claim to function of the scores, for the claims that this artefact decides.
    metric
        The primary metric of a table.
    methods
        Columns of a table in their order; others found in the scores follow.
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
        Maps the frame of the tracked CSV to sentences of the caption that need its numbers.
    also
        A second experiment whose scores it reads, "" where one is enough.
    optional
        Data sets without which it is made all the same where their scores say `not-run`.
    """

    paper: str
    name: str
    kind: str
    title: str
    caption: str
    experiment: str
    build: Callable[["Artefact", pd.DataFrame, list[Path]], pd.DataFrame]
    draw: Callable[["Artefact", pd.DataFrame, Path], list[Path]]
    deciders: Mapping[str, Callable[[pd.DataFrame], Decision]] = field(default_factory=dict)
    metric: str = ""
    methods: tuple[str, ...] = ()
    spread_over_splits: bool = False
    shown_as: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    further: Mapping[str, str] = field(default_factory=dict)
    measure: Callable[[pd.DataFrame, list[Path]], pd.DataFrame] = as_they_are
    trial: str = "split"
    axis: tuple[float, float] = (-3.0, 4.5)
    axis_label: str = "negative log-likelihood of standardised y (nats); lower is better"
    remarks: Callable[[pd.DataFrame], list[str]] = no_remarks
    also: str = ""
    optional: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """`paper/name`, the artefact's name on the command line."""
        return f"{self.paper}/{self.name}"

    @property
    def place(self) -> str:
        """Where it lies in the folder of the outputs, without suffix: `kcef/table1`."""
        return self.name if self.paper == ACROSS else self.key

    @property
    def experiments(self) -> tuple[str, ...]:
        """The one or two experiments whose scores it reads."""
        return (self.experiment, self.also) if self.also else (self.experiment,)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of the tracked files."""
        pictures = (".png", ".pdf")
        # The first drawn file is the one that its target names.
        return (".csv", ".md", *pictures) if self.kind == "table" else (".csv", *pictures, ".md")

    @property
    def target(self) -> str:
        """What to ask Snakemake for, e.g. `figures/kcef/table1.md`."""
        return f"figures/{self.place}{self.suffixes[1]}"
