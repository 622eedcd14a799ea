"""Made-up scores of portfolios in the real format, for the tests of jdl's artefacts."""

import itertools

import embedding_scores as made

DIMENSIONS, SIZES = (1, 5, 10, 25), (1000, 5000, 10000, 20000)

CELLS = [
    (method, d, n, 1e-3, constrained)
    for d, n in itertools.product(DIMENSIONS, SIZES)
    for method in ("JDL", "CME", "KLR")
    for constrained in ((False,) if method == "KLR" else (False, True))
]

LOSS = {("JDL", False): 0.8, ("CME", False): 1.0, ("KLR", False): 1.0}
LOSS |= {("JDL", True): 1.02, ("CME", True): 2.0}
NEGATIVE = {("CME", False): 0.06, ("CME", True): 0.02, ("JDL", False): 0.03}
SOLVE = {("JDL", False): 0.02, ("CME", False): 0.02, ("KLR", False): 0.06}
SOLVE |= {("JDL", True): 0.03, ("CME", True): 0.025}


def of(table, otherwise=0.0, changes=None, spread=True):
    """Return a metric: a table by (method, constrained), with changes by (…, d, n)."""

    def value(method, d, n, tolerance, constrained, split):
        usual = table.get((method, constrained), otherwise)
        chosen = (changes or {}).get((method, constrained, d, n), usual)
        # Every method on a scale of its subsample, and a little of its own.
        own = 1.0 + 0.01 * ((7 * split + len(method) + constrained) % 5 - 2)
        return chosen * (made.spread(split) * own if spread else 1.0)

    return value


def frame(loss=None, negative=None, solve=None, failed=(), cells=CELLS, **options):
    """Return scores of which J10, J11 and J12 hold, but for changes by (method, constrained, d, n).

    Failed are cells with the number of a subsample.
    """
    metrics = {
        "logistic_loss": of(LOSS, changes=loss),
        "negative_probability_rate": of(NEGATIVE, changes=negative),
        "base_rate_loss": of({}, 1.5, spread=False),
        **made.timings(
            summarise=of({("KLR", False): 0.0}, 0.002, spread=False),
            factorise=of({}, 0.1, spread=False),
            solve=of(SOLVE, changes=solve),
            evaluate=of({}, 0.01, spread=False),
        ),
        "trace_error_x": lambda method, d, *rest: 0.04 if d == 25 else 5e-4,
        "peak_memory": of({}, 300.0, spread=False),
    }
    return made.frame(metrics, cells, failed=set(failed), experiment="portfolio", **options)
