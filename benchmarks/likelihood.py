"""KCEF log likelihood of 200 test points with 1000 importance samples: ours against others.

Run: python benchmarks/likelihood.py [--authors FOLDER]

FOLDER holds the package `KCEF` of the paper's authors in a form that Python 3 can import. Without
it the peer is their scheme in our own code: fresh draws for every test point.
"""

import argparse
import sys
from pathlib import Path

import timing

import numpy as np

from kcde.estimators import KCEF

SIGMA_X, SIGMA_Y, LAMBDA, DRAWS, TEST = 1.0, 1.0, 1e-3, 1000, 200


def shared(model: KCEF, X, Y):
    """Return the log density with samples shared over x: one matrix product."""
    draws = model.log_normaliser(X, method="importance", n_samples=DRAWS)
    return model.log_unnormalized(X, Y) - draws.log_z


def own_draws(model: KCEF, X, Y):
    """Return the log density with fresh samples for every test point."""
    rng = np.random.default_rng(0)
    log_z = [
        model.log_normaliser(x[None], method="importance", n_samples=DRAWS, rng=rng).log_z[0]
        for x in X
    ]
    return model.log_unnormalized(X, Y) - np.array(log_z)


def authors(folder: Path, X, Y):
    """Return the authors' fitted model and a function that evaluates its log likelihood."""
    sys.path[:0] = [str(folder), str(folder / "KCEF")]
    from KCEF.estimators.kcef import KCEF_Gaussian

    d = X.shape[1]
    graph = [[[d], list(range(d))]]
    # Their kernel is exp(-d²/σ).
    theirs = KCEF_Gaussian("custom", d + 1, 2 * SIGMA_X**2, 2 * SIGMA_Y**2, LAMBDA, graph)
    theirs.fit(np.hstack([X, Y]))

    def log_density(X, Y):
        return theirs.log_pdf(Y, X, 0) - theirs.log_partition(Y, X, 0)[0]

    return theirs, log_density


def main() -> None:
    """Time, compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--authors", type=Path)
    folder = parser.parse_args().authors
    rng, rows = np.random.default_rng(0), []
    for n in (500, 2000):
        X = rng.standard_normal((n + TEST, 3))
        Y = np.sin(X[:, :1]) + 0.5 * rng.standard_normal((n + TEST, 1))
        model = KCEF(SIGMA_X, SIGMA_Y, LAMBDA, standardize=False).fit(X[:n], Y[:n])
        test = X[n:], Y[n:]
        ours = timing.fastest(lambda m=model, t=test: shared(m, *t), 5)
        peers = {"own draws for every point": lambda m=model, t=test: own_draws(m, *t)}
        if folder:
            theirs, evaluate = authors(folder, X[:n], Y[:n])
            same = np.abs(theirs.log_pdf(test[1], test[0], 0) - model.log_unnormalized(*test)).max()
            print(f"n = {n}: unnormalised log densities agree to {same:.1e}", file=sys.stderr)
            peers["authors' code"] = lambda e=evaluate, t=test: e(*t)
        for name, peer in peers.items():
            ratio = timing.fastest(peer, 2) / ours
            rows.append({"n": n, "d_x": 3, "peer": name, "peer_over_ours": f"{ratio:.0f}"})
    timing.write(Path(__file__).with_suffix(".csv"), rows)


if __name__ == "__main__":
    main()
