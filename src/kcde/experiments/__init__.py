"""The experiments: a file each, found by their classes."""

from functools import cache
from importlib import import_module
from pathlib import Path

from kcde.experiments.base import Experiment
from kcde.names import nearest


@cache
def experiments() -> dict[str, type[Experiment]]:
    """Return the classes of all experiments, by name."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        for each in vars(import_module(f"{__name__}.{path.stem}")).values():
            if isinstance(each, type) and issubclass(each, Experiment) and "name" in vars(each):
                found[each.name] = each
    return dict(sorted(found.items()))


def experiment(name: str) -> type[Experiment]:
    """Return the class of an experiment."""
    known = experiments()
    if name not in known:
        unknown = f"there is no experiment {name!r}{nearest(name, known)}"
        raise ValueError(f"{unknown}; known: {', '.join(known)}")
    return known[name]
