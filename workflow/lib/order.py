"""The order of work: paper by paper, tables before figures, so that first results come first.

Of one table or figure the longest jobs come first, and of all readings of a paper: one that came
last would have a machine to itself. Without an order Snakemake starts whatever is ready, and
nothing is drawn before most of a run is done.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kcde.artefacts.core import listing
from kcde.names import fitted
from lib import selection
from lib.jobs import LAPTOP, SECTIONS, is_single

_SERVES = SECTIONS | {"samples": "similarity"}
"""An experiment to the one that artefacts show, where that has another name or reads its files."""

_LENGTHS = 50
"""Lengths of jobs that are told apart, ten for a factor of ten: the longest take a day."""


class Order:
    """Priorities of jobs: the earlier the first artefact that shows a job's scores, the higher.

    Artefacts come in the order of `papers` in the configuration, within a paper tables first; those
    of `snakemake readings` come last, all of a paper together.

    Parameters
    ----------
    config
        The configuration.
    seconds
        Maps experiment, wildcards and methods of a job to the seconds that it is to take, None
        where that is not known. By default nothing is known.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        seconds: Callable[[str, Any, tuple[str, ...]], float | None] = lambda *job: None,
    ):
        self._config, self._seconds = config, seconds
        self._known: dict[str, dict[tuple[str, ...], int]] = {}
        listed = listing.artefacts()
        # Artefacts that come together, in order.
        self._groups: list[list[str]] = [
            [key]
            for paper in config["papers"]
            for key in sorted(
                selection.artefacts(config, [paper], [listing.RUN]),
                key=lambda key: listed[key].kind != "table",
            )
        ]
        self._groups += [
            selection.artefacts(config, [paper], [listing.READINGS]) for paper in config["papers"]
        ]

    @property
    def first(self) -> int:
        """The highest priority: of raw data, and of drawing, which takes seconds."""
        return _LENGTHS * (len(self._groups) + 1)

    def priority(self, experiment: str, methods: Iterable[str], wildcards: Any) -> int:
        """Return the priority of a job; 0 where no artefact of the chosen papers shows it.

        Parameters
        ----------
        experiment
            Its experiment.
        methods
            Those that it fits, where the wildcard `method` does not say which.
        wildcards
            Of the job.
        """
        place = self._place(experiment, methods, wildcards)
        seconds = self._seconds(experiment, wildcards, tuple(methods)) or 0.0
        length = min(_LENGTHS - 1, round(10 * math.log10(1.0 + seconds)))
        return _LENGTHS * place + length if place else 0

    def _place(self, experiment: str, methods: Iterable[str], wildcards: Any) -> int:
        scale = LAPTOP if wildcards.scale == listing.READINGS else wildcards.scale
        known = self._of(scale)
        if is_single(experiment):
            return known.get((experiment,), 0)
        methods = [fitted(name) for name in methods or [getattr(wildcards, "method", "")]]
        shown = [(each, wildcards.dataset) for each in {experiment, _SERVES.get(experiment)}]
        exact = max(known.get((*each, method), 0) for each in shown for method in methods)
        return exact or max(known.get(each, 0) for each in shown)

    def _of(self, scale: str) -> dict[tuple[str, ...], int]:
        """Return the priority of each experiment, with a data set, and with a method as well."""
        if scale in self._known:
            return self._known[scale]
        found: dict[tuple[str, ...], int] = {}
        places = [(key, place) for place, group in enumerate(self._groups) for key in group]
        for key, place in places:
            shown = listing.artefacts()[key].shows
            single = [(experiment,) for experiment in shown if is_single(experiment)]
            for each in [*single, *selection.selected(self._config, key, scale)]:
                whole = each if len(each) < 3 else (*each[:2], fitted(each[2]))
                for part in {whole, whole[:2]}:
                    found.setdefault(part, len(self._groups) - place)
        self._known[scale] = found
        return found
