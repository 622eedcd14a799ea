"""By which rate DDE takes its 2500 iterations at the scale laptop: on held-out training rows.

The authors take 50,000 steps at a rate of 1e-4. 2500 steps at 5, 10, 20 and 40 times that rate
cost the same as each other. On the training half of the first three splits of each R set, four
fifths are fitted and the last fifth is scored, with a proposal from the rows fitted; no test row
is read. The rule, written before it was run: 20 stays unless another rate is better on more sets
than chance allows (sign test over the 16 sets, p below .05) with a smaller median; a fit that
diverges loses. crabs, cpus and birthwt count as one set each like the others, since signs alone
decide.

Run: python benchmarks/dde_schedule.py FOLDER (of raw data; five minutes on two cores)
"""

import sys
from pathlib import Path

import timing

import numpy as np
from joblib import Parallel, delayed

from kcde.arrays import to_numpy
from kcde.estimators import Standardised
from kcde.experiments.r_benchmark import RBenchmark
from kcde.seeding import rng_of

SPEEDS = (5, 10, 20, 40)
SPLITS = 3


def measure(dataset: str) -> list[dict]:
    """Return a row a split and rate: nats that a held-out row loses."""
    job = RBenchmark.at("laptop", dataset, "DDE", data_dir=sys.argv[1])
    rows = []
    for split in range(SPLITS):
        X, Y = (to_numpy(each) for each in job.halves(split)[0])
        left = len(X) * 4 // 5
        for speed in SPEEDS:
            model = Standardised(job.unfitted(split, learning_rate=1e-4 * speed))
            try:
                model.fit(X[:left], Y[:left])
                inner = model.estimator_
                x, y = model.transform_x(X[left:]), model.transform_y(Y[left:])
                rng = rng_of("schedule", dataset, split)
                drawn = inner.log_normaliser(x, method="importance", n_samples=10_000, rng=rng)
                nll = (to_numpy(drawn.log_z) - to_numpy(inner.log_unnormalized(x, y))).mean()
            except FloatingPointError:
                nll = np.inf
            rows.append({"dataset": dataset, "split": split, "speed": speed, "nll": f"{nll:.4f}"})
    return rows


found = Parallel(n_jobs=2)(delayed(measure)(each) for each in RBenchmark.only["DDE"])
timing.write(Path(__file__).with_suffix(".csv"), [row for rows in found for row in rows])
