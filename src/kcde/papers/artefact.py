"""The declaration of an artefact, that is, of a table or figure, and of its callbacks.

To add an artefact, add a file to the folder of its paper that assigns
`ARTEFACT = Artefact(__name__, ...)`, or several under other names; workflow, drawing, claims,
scorecard and command line find it there. Such a file has, in this order: data, picture, `ARTEFACT`.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from kcde.evidence import verdicts
from kcde.evidence.checks import Claim
from kcde.files import refused

ACROSS = "across"
"""Stands for a paper where an artefact belongs to none."""

RUN, READINGS = "run", "readings"
"""Stages: what `snakemake` makes by default, and what `snakemake readings` does."""

Shows = Mapping[str, Mapping[str, list[str] | Mapping[str, list[str]] | str]]
"""Experiment to `datasets`, `methods`, `but`, `only` and `scale`, each where it is not the default:
see `Artefact.shows`."""


TABLE_COLUMNS = [
    *("dataset", "method", "variant", "metric", "unit", "mean", "median", "std", "stderr", "n"),
    *("failed", "best", "p_value", "published_mean", "published_std", "difference", "verdict"),
    *("p_value_corrected", "q25", "q75"),
]

FIGURE_COLUMNS = [
    *("panel", "kind", "method", "variant", "series", "x", "x_right", "y", "y_low", "y_high"),
    *("stat", "n"),
]


class Text(NamedTuple):
    """What a page says of an artefact, in words that hold at every scale.

    Attributes
    ----------
    title
        What it is, in a few words.
    caption
        What is shown and what it means, in at most 50 words. No numbers that may change.
    details
        How it was made, in at most 120 words.
    reduced
        What the scale laptop reduces against the paper; pages of the scale paper leave it out.
    """

    title: str
    caption: str
    details: str = ""
    reduced: str = ""


def texts(paper: str) -> dict[str, Text]:
    """Return the texts of a paper's artefacts by name, from its `pages.md`.

    A section is `## name: title`, the caption, and below `### Details` and `### Reduced` the rest.
    """
    page = Path(__file__).with_name(paper) / "pages.md"
    found = {}
    for section in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
        heading, _, body = section.partition("\n")
        name, _, title = heading.partition(": ")
        caption, *parts = re.split(r"^### (Details|Reduced)$", body, flags=re.M)
        below = zip(map(str.lower, parts[::2]), map(_unwrapped, parts[1::2]), strict=True)
        found[name] = Text(title, _unwrapped(caption), **dict(below))
    return found


def _unwrapped(text: str) -> str:
    """Return paragraphs without the line breaks inside them; lists and tables keep theirs."""
    return re.sub(r"\n(?![\n|-])", " ", text.strip()).replace("\n ", "\n\n")


Build = Callable[["Artefact", pd.DataFrame, list[Path]], pd.DataFrame]
"""From the artefact, its scores after `Artefact.measure` and the CSVs that they came from, beside
which arrays lie as `.npz`, to the frame of the tracked CSV: `TABLE_COLUMNS` or `FIGURE_COLUMNS`. It
holds all that drawing needs; cells may be empty where scores are missing."""

Draw = Callable[["Artefact", pd.DataFrame, Path], None]
"""Writes of the tracked CSV `.png` and `.pdf` at a path without suffix whose folder exists. The
same frame gives the same bytes."""

Page = Callable[["Artefact", pd.DataFrame], list[str]]
"""Returns of the tracked CSV the paragraphs of the page, its title first."""

Measure = Callable[[pd.DataFrame, list[Path]], pd.DataFrame]
"""Returns scores with those added that follow from the arrays beside their files."""

Remarks = Callable[[pd.DataFrame], Iterable[str]]
"""Returns of the tracked CSV whole sentences for the details of the page."""


@dataclass(frozen=True)
class Artefact:
    """A table or figure of a paper.

    Attributes
    ----------
    module
        `__name__` of its module, `kcde.papers.<paper>.<name>`: the folder is the paper as in
        `published_values.csv`, or `across` where it belongs to no single paper.
    kind
        `table` or `figure`.
    shows
        Experiment to which of its scores are shown: `datasets` and `methods`, in the order of the
        columns, by default those of the experiment's class; `but`, the methods that are not;
        `only`, method to the data sets on which it is shown alone, over the `only` of the class.
        With `"scale": "paper"` they have the sizes of the paper at the scale laptop as well.
    build, draw, measure, remarks
        What makes, draws and describes it: see `Build`, `Draw`, `Measure` and `Remarks`. `build`
        and the claims get the scores that `measure` returns.
    page
        What writes its page, where that is not the page of its kind: see `Page`.
    claims
        Each claim that it decides, as drawn, to its test.
    metric
        The primary metric of a table.
    name
        Only where it differs from that of the file (`table2-rows`).
    stage
        `run`: made by default; `readings`: made by `snakemake readings`, and tracked otherwise.
    columns
        Columns of a table in their order, where they differ from the methods that it shows.
    published_trials
        How many splits, runs or folds a published mean is over; 0 where no mean is published.
    overlap
        Test rows over training rows where trials are splits of the same rows, 1 for halves; 0 where
        each trial has data of its own. Where it is given, a table has p-values corrected for it.
    shown_as
        Name to (method, metric): further columns of a table, which show that metric of that method
        in place of the primary one. Under a method's own name, it replaces its primary metric.
    further
        Metrics that a table's page shows below the primary one, each with its heading.
    trial
        What is repeated, in the word of a table's page: split, run, seed.
    below
        Paragraphs of a page below its tables, or below a figure's caption, as `remarks` gives
        sentences.
    apart
        Methods of a table that answer another question: they take no part in the search for the
        best of a data set.
    tolerance
        How far its numbers may differ where it is made again, see `kcde.evidence.verdicts`;
        rows of methods that are trained in float32 and what is measured have their own.
    axis, axis_label
        Of a table's picture: the widest range that is shown, in the metric's unit, and the label.
    header
        Columns of its CSV, where they are not those of its kind.
    """

    module: str
    shows: Shows
    build: Build
    draw: Draw
    claims: Mapping[str, Claim] = field(default_factory=dict)
    name: str = ""
    kind: str = "figure"
    stage: str = RUN
    metric: str = ""
    columns: tuple[str, ...] = ()
    published_trials: int = 0
    overlap: float = 0.0
    shown_as: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    further: Mapping[str, str] = field(default_factory=dict)
    measure: Measure = lambda scores, files: scores
    trial: str = "split"
    axis: tuple[float, float] = (-3.0, 4.5)
    axis_label: str = "negative log-likelihood of standardised y (nats); lower is better"
    remarks: Remarks = lambda frame: []
    below: Remarks = lambda frame: []
    page: Page | None = None
    apart: tuple[str, ...] = ()
    tolerance: float = verdicts.EXACT
    header: Sequence[str] = ()

    def __post_init__(self):
        """Take the name from the module where none is given."""
        if not self.name:
            object.__setattr__(self, "name", self.module.rpartition(".")[2])

    def read(self, path: Path) -> pd.DataFrame:
        """Return its CSV; of a table `best` is false where it is empty, and text has no NaN."""
        table, words = self.kind == "table", ["variant", "unit", "best", "verdict"]
        with refused(path, "is no table that can be read", self.remedy(path)):
            frame = pd.read_csv(path, dtype=dict.fromkeys(words, str) if table else None)
        header = self.header or (TABLE_COLUMNS if table else FIGURE_COLUMNS)
        if lacking := [name for name in header if name not in frame]:
            raise ValueError(f"{path} lacks the column {lacking[0]!r}: {self.remedy(path)}")
        if not table:
            return frame
        frame["best"] = frame["best"].fillna("").eq("True")
        return frame.fillna({"unit": "", "verdict": "", "variant": ""})

    def remedy(self, path: Path) -> str:
        """Return what helps where its CSV is damaged."""
        return f"restore it with `git checkout {path}`, or make it with `snakemake {self.target}`"

    @property
    def text(self) -> "Text":
        """What its page says: its section of the `pages.md` of its paper."""
        return texts(self.paper)[self.name]

    @property
    def paper(self) -> str:
        """The paper that it belongs to, or `across`."""
        return self.module.split(".")[-2]

    @property
    def key(self) -> str:
        """`paper/name`, the artefact's name on the command line."""
        return f"{self.paper}/{self.name}"

    @property
    def methods(self) -> tuple[str, ...]:
        """The columns of a table, or the methods shown, in their order."""
        shown = [name for wanted in self.shows.values() for name in wanted.get("methods", ())]
        return self.columns or tuple(dict.fromkeys(shown))

    @property
    def target(self) -> str:
        """What to ask Snakemake for, e.g. `figures/kcef/table1.md`."""
        return f"figures/{self.key}.{'md' if self.kind == 'table' else 'png'}"
