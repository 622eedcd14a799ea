"""The order of work: what the first tables show comes before what later ones do."""

from types import SimpleNamespace

import pytest

from lib.order import Order


def priority(order, experiment, dataset="", method="", *, methods=(), scale="laptop"):
    names = SimpleNamespace(scale=scale, dataset=dataset, method=method)
    return order.priority(experiment, methods, names)


def test_papers_come_in_their_order_and_tables_first(config):
    order = Order(config | {"papers": ["kcef", "dde", "jdl", "cdo", "across"]})
    ranks = [
        priority(order, "r_benchmark", "geyser", "KCEF"),  # kcef, table 1
        priority(order, "factors", "red-wine", "KCEF-F"),  # table 2
        priority(order, "samples", "red-wine", methods=("KEF", "KEF-adapted")),  # table 3
        priority(order, "joint_network", "grid-2000", "NADE"),  # figure 5
        priority(order, "r_benchmark", "geyser", "DDE"),
        priority(order, "moments", "gaussian-1-1000", methods=("JDL", "CME")),
        priority(order, "terrain", "rough-terrain", "CDO"),
        priority(order, "r_benchmark", "geyser", "NGBoost"),
        priority(order, "large_n", "bimodal-2-1000", "LikelihoodKCEF"),  # of `readings`
        0,
    ]
    assert ranks == sorted(set(ranks), reverse=True)
    assert order.first > ranks[0]


def test_the_longest_jobs_of_a_table_come_first_but_not_before_an_earlier_table(config):
    """Also longest jobs of a day, and jobs of which nothing is known."""
    known = {"caution": 1.0, "geyser": 40.0, "heights": 200.0, "engel": 90_000.0, "topo": None}
    order = Order(config, lambda experiment, names, methods: known.get(names.dataset))
    ranks = [
        priority(order, "r_benchmark", dataset, "KCEF")
        for dataset in ("engel", "heights", "geyser", "caution", "topo")
    ]
    assert ranks == sorted(set(ranks), reverse=True)
    assert order.first > ranks[0]
    assert priority(order, "factors", "red-wine", "KCEF-F") < ranks[-1]


def test_of_the_readings_of_a_paper_the_longest_jobs_come_first(config):
    """Of whichever artefact: one left to the end would be waited for."""
    known = {"gaussian-3-100000-laws": 1500.0, "gaussian-3-10000-factors": 150.0}
    order = Order(config, lambda experiment, names, methods: known.get(names.dataset, 1.0))
    both = {"methods": ("JDL", "CME"), "scale": "readings"}
    ranks = [
        priority(order, "moments", dataset, **both)
        for dataset in (*known, "gaussian-1-1000-laws", "gaussian-1-1000-factors")
    ]
    assert ranks[0] > ranks[1] > ranks[2] == ranks[3] > 0


def test_another_order_of_papers_is_another_order_of_work(config):
    order = Order(config | {"papers": ["jdl", "kcef"]})
    assert priority(order, "moments", "gaussian-1-1000", methods=("JDL", "CME")) > priority(
        order, "r_benchmark", "geyser", "KCEF"
    )
    assert priority(order, "terrain", "rough-terrain", "CDO") == 0


@pytest.mark.parametrize("experiment", ["consistency", "failure_case"])
def test_experiments_without_data_sets_have_a_place(config, experiment):
    assert priority(Order(config), experiment) > 0


def test_made_up_data_come_in_the_same_order(config):
    order = Order(config)
    first = priority(order, "r_benchmark", "smoke-mixed", "KCEF", scale="smoke")
    assert first > priority(order, "r_benchmark", "smoke-mixed", "NGBoost", scale="smoke") > 0
