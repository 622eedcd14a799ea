"""A card for each estimator: formula, cost, source, how it chooses, where it stands."""

import inspect
import re
import sys
from collections import defaultdict
from functools import cache

import pandas as pd
from markupsafe import Markup, escape

from kcde import estimators
from kcde.methods import METHODS
from kcde.pages.markdown import number, probability, significant
from kcde.pages.methods import display, selection
from kcde.papers.registry import ARTEFACTS
from kcde.report import drawn
from kcde.report.content import Tracked

_COSTS = re.compile(r"O\(|\bcosts?\b(?! at most)", re.IGNORECASE)  # a loss costs at most so much
_ALL_METHODS, _CALIBRATION = "across/all_methods", "across/calibration"
_EVERY = "all"  # data sets of a row of all_methods.csv


def cards(tracked: Tracked) -> list[dict]:
    """Return the cards, in the order of the mean rank of the best method of each estimator."""
    standing, calibrated = _standing(tracked), _calibrated(tracked)
    made = [_card(name, standing, calibrated) for name in estimators.estimator_names()]
    return sorted(made, key=lambda card: (card["rank"], card["name"].lower()))


def _card(estimator: str, standing: dict, calibrated: dict) -> dict:
    cls = getattr(estimators, estimator)
    source, text = inspect.getdoc(sys.modules[cls.__module__]), inspect.getdoc(cls)
    formula, *rest = text.partition("\nParameters\n")[0].strip().split("\n\n")
    costs = [each for each in rest if _COSTS.search(each)]
    methods = [name for name, method in METHODS.items() if method.estimator == estimator]
    shown = [name for name in _shown_names(methods) if name in standing or name in calibrated]
    ranks = [standing[name]["order"] for name in shown if name in standing]
    return {
        "name": estimator,
        "source": _words(source.partition("\n")[0]),
        "formula": _words(formula),
        "how": [_words(each) for each in rest if each not in costs],
        "costs": [_words(each) for each in costs],
        "rule": cls.selection_rule,
        "methods": [(display(name), METHODS[name].variant, _rules(name)) for name in methods],
        "standing": [
            {"name": display(name), **standing.get(name, {}), **calibrated.get(name, {})}
            for name in shown
        ],
        "rank": min(ranks, default=float("inf")),
    }


def _words(text: str) -> Markup:
    """Return a docstring's paragraph with code in it marked as such."""
    plain = str(escape(" ".join(text.split())))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", plain))


def _rules(method: str) -> list[tuple[str, str]]:
    """Return how a method chooses in the experiments that list it: (experiments, rule)."""
    rules = defaultdict(list)
    for experiment in _experiments().get(method, ()):
        if rule := selection(method, experiment):
            rules[rule].append(experiment)
    return [(", ".join(names), rule) for rule, names in rules.items()]


@cache
def _experiments() -> dict[str, list[str]]:
    """Return the experiments in which an artefact lists a method, by method."""
    found = defaultdict(list)
    for each in ARTEFACTS.values():
        for experiment, wanted in each.shows.items():
            for method in wanted.get("methods", ()):
                if experiment not in found[method]:
                    found[method].append(experiment)
    return found


def _shown_names(methods: list[str]) -> list[str]:
    """Return methods with the names that the table of all methods gives to other scores of them."""
    renamed = ARTEFACTS[_ALL_METHODS].shown_as
    more = [name for name, (method, _) in renamed.items() if method in methods]
    return list(dict.fromkeys([*methods, *more]))


def _table(tracked: Tracked, key: str) -> pd.DataFrame:
    path = tracked.path(key, "csv")
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def _standing(tracked: Tracked) -> dict[str, dict]:
    """Return where each method stands on all sets of the R benchmark data, by method."""
    table = _table(tracked, _ALL_METHODS)
    if not len(table):
        return {}
    own = table[(table["dataset"] == _EVERY) & table["against"].isna()]
    sets = int(own["n"].max()) if len(own) else 0
    return {
        row.method: {
            "order": row.rank,
            "rank": number(row.rank),
            "best": f"{row.sets_best:.0f} of {sets}",
            "excess": number(row.excess),
            "p_value": "" if pd.isna(row.p_value) else probability(row.p_value),
            "failed": f"{row.failed:.0f}" if row.failed else "",
            "seconds": significant(row.seconds),
        }
        for row in own.itertuples()
    }


def _calibrated(tracked: Tracked) -> dict[str, dict]:
    """Return mean coverages and the histogram of F(y|x), by method."""
    table = _table(tracked, _CALIBRATION)
    if not len(table):
        return {}
    found = {}
    for method, rows in table.groupby("method"):
        means = rows[rows["stat"] == "mean"].set_index("series")["y"]
        heights = rows.loc[rows["kind"] == "histogram", "y"].to_list()
        ends = 0.5 * (heights[0] + heights[-1]) if heights else 0.0
        middle = sum(heights[8:12]) / 4 if heights else 0.0
        words = (
            f"Histogram of F(y|x) of {display(method)}: {ends:.2f} at the ends and {middle:.2f} in "
            "the middle, where 1 is calibrated."
        )
        found[method] = {
            "coverage": [f"{share:.0%}" for share in means],
            "bars": drawn.bars(heights, words) if heights else "",
        }
    return found
