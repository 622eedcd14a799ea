"""A small job of every experiment: its scores as tracked, in shards, and with arrays elsewhere.

The strict namespace stands in for cupy: its arrays refuse to become numpy arrays unless asked.
Who changes scores on purpose writes them anew:
`python tests/unit/experiments/test_golden_scores.py`.
"""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from kcde import scores
from kcde.data.smoke import write_smoke_data
from kcde.experiments import consistency, experiments, methods, runner
from kcde.experiments.runner import run
from kcde.metrics import REGULARIZATION_ERROR

GOLDEN = Path(__file__).parents[2] / "golden/smoke_scores.csv"
KEYS = ["variant", "setting", "split", "metric", "n_train"]

QUICK = {"options": {"bandwidth_x": 1.0, "bandwidth_y": 1.0, "regularization": 0.1}}
NARROW = {"options": {"bandwidth_x": 0.4, "bandwidth_y": 0.4, "regularization": 0.01}}
BASIS = {"options": {"n_basis": 10, "bandwidth_y": 0.7, "regularization": 1e-2}}
COARSE = {"options": {"reference": 30}}
TWO = {"points": 2}
GRID = {"bandwidth_factors": (1.0, 2.0), "regularizations": (1e-4, 1e-1), "test_rows": 20}
GRID |= {"repetitions": 2, "matched_repetitions": 0}
PAIRS = GRID | {"laws": ("normal-0.2",)}
FEW = {"max_rank": 10, "most_trace": 1.0} | GRID
DRAWN = {"samples": 60, "seeds": 2}
HOURS = {"splits": 2, "thinned": 1}

# The scale smoke with these changes; `files` names the cases whose files it reads.
CASES = {
    "consistency": {"repetitions": 2, "largest": 200},
    "donut donut CDO": TWO | COARSE,
    "donut donut GP": TWO,
    "donut donut GP-spread": TWO,
    "donut donut LSCDE": TWO | NARROW,
    "factors smoke-joint LSCDE-F/01-03": QUICK,
    "factors grid-60 KCEF-M": {"nodes": (1, 3)},
    "failure_case": {},
    "joint grid-60 exact": {},
    "joint smoke-joint LSCDE-F": {"files": ["factors smoke-joint LSCDE-F/01-03"]},
    "large_n bimodal-2-200 linear": {},
    "large_n bimodal-2-200 boosting": {},
    "large_n bimodal-2-200 LSCDE-exact": {},
    "larger_sets smoke-mixed LSCDE-exact": {},
    "moments gaussian-1-200 JDL": PAIRS | {"tolerances": (1e-2, 1e-1)},
    "moments gaussian-1-200 CME": PAIRS | {"tolerances": (1e-2, 1e-1)},
    "moments gaussian-1-200 JPDL": PAIRS | {"options": {"degree": 2}},
    "moments gaussian-1-200-laws JDL-clipped": GRID | {"laws": ("normal-1", "uniform-1")},
    "moments gaussian-1-200-factors JDL": PAIRS | {"largest_factors": (1.0,)},
    "planar ring KEF": {"samples": 100} | BASIS,
    "portfolio portfolios-2-300 JDL": FEW,
    "portfolio portfolios-2-300 CME": FEW,
    "portfolio portfolios-2-300 KLR": FEW,
    "r_benchmark smoke-mixed KCEF": QUICK | {"evaluation": "test-half"},
    "r_benchmark smoke-mixed KCEF-LL": {"splits": 2},
    "r_benchmark smoke-mixed LSCDE": {},
    "samples smoke-joint LSCDE-F": DRAWN | QUICK,
    "samples smoke-joint KCEF-F-inverse": DRAWN | QUICK,
    "samples smoke-joint KCEF-F": DRAWN | QUICK,
    "similarity smoke-joint LSCDE": {
        "files": ["samples smoke-joint KCEF-F-inverse", "samples smoke-joint LSCDE-F"] * 2
    },
    "table1_readings smoke-mixed KCEF": {"splits": 2},
    "terrain smoke-terrain CDO": COARSE,
    "terrain smoke-terrain GP": {"splits": 1},
    "terrain smoke-terrain LSCDE": {"splits": 1} | NARROW,
    "terrain smoke-terrain Nadaraya-Watson": {"splits": 1},
    "traffic smoke-traffic CDO": HOURS | COARSE,
    "traffic smoke-traffic GP": HOURS | {"tuning_rows": 40},
    "traffic smoke-traffic Nadaraya-Watson-CDO": HOURS,
}

CHAINS = ("planar ring KEF", "samples smoke-joint KCEF-F")
"""Rounding errors of 1e-15 grow to the spread of the density within twenty transitions of
Hamiltonian Monte Carlo: its draws are those of numpy in distribution alone."""

OF_DRAWS = ["acceptance_rate", "r_hat", "effective_sample_size", "divergences", "divergence_rate"]
OF_DRAWS += ["mmd", "mmd_train", *(f"conditional_{name}_error" for name in ("std", "q01", "q99"))]
OF_ROUNDING = ["solver_residual", "solver_iterations", "normalisation_error"]
"""What rounding leaves of a solved condition, and how many steps it took."""

SLOW = ("consistency", "table1_readings smoke-mixed KCEF")
ON_A_DEVICE = [case for case in CASES if "backend" in experiments()[case.split()[0]].parameters()]
HOST = ("table1", "factors grid", "Nadaraya", "KCEF-LL", "larger_sets", "-factors")
ON_A_DEVICE = [case for case in ON_A_DEVICE if not any(part in case for part in HOST)]
IN_SHARDS = [
    *("consistency", "donut donut LSCDE", "factors smoke-joint LSCDE-F/01-03"),
    *("larger_sets smoke-mixed LSCDE-exact", "moments gaussian-1-200 JDL", "planar ring KEF"),
    *("portfolio portfolios-2-300 JDL", "r_benchmark smoke-mixed LSCDE"),
    *("table1_readings smoke-mixed KCEF", "terrain smoke-terrain LSCDE"),
    "traffic smoke-traffic CDO",
]


def cases(names, slow=SLOW):
    return pytest.mark.parametrize(
        "case", [pytest.param(c, marks=pytest.mark.nightly) if c in slow else c for c in names]
    )


class Launch:
    """Runs cases; each on the host once."""

    def __init__(self, folder):
        self.folder = folder
        self.raw = {"data_dir": folder / "raw", "catalogue": write_smoke_data(folder / "raw")}
        self.whole = functools.cache(self.whole)

    def job(self, case, backend="numpy"):
        name, *given = case.split()
        changes = dict(CASES[case])
        made = experiments()[name].at("smoke", *given, **self.raw)
        if "options" in changes:
            changes["options"] = {**made.options, **changes["options"]}
        changes["files"] = tuple(map(self.whole, changes.get("files", ())))
        here = {"backend": backend} if "backend" in made.parameters() else {}
        return replace(made, **changes, **here)

    def whole(self, case):
        out = self.folder / f"{case.replace('/', '_')}.csv"
        run(self.job(case), out)
        return out


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    return Launch(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module", autouse=True)
def targets():
    """Solve for each target of consistency once; it is the same every time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(consistency, "target", functools.cache(consistency.target))
        yield


def lasting(frame, case):
    """Return what is the same number on every machine."""
    varying = [*OF_ROUNDING, *(OF_DRAWS if case in CHAINS else [])]
    kept = ~frame["metric"].isin(varying) & ~frame["unit"].isin(["s", "samples/s", "MiB"])
    return frame.loc[kept, [*KEYS, "value"]]


def test_every_experiment_is_here():
    # What estimation_cost scores is time and memory.
    named = {case.split()[0] for case in CASES}
    assert named == experiments().keys() - {"estimation_cost"}
    repeated = {name for name, cls in experiments().items() if cls.repeated}
    assert repeated <= {case.split()[0] for case in IN_SHARDS} | {"samples"}


@cases(CASES)
def test_scores_are_those_tracked(launch, case):
    table = pd.read_csv(GOLDEN)
    wanted = table[table["case"] == case].reset_index(drop=True)
    found = lasting(scores.read([launch.whole(case)]), case).reset_index(drop=True)
    pd.testing.assert_frame_equal(found[KEYS], wanted[KEYS], check_dtype=False)
    np.testing.assert_allclose(found["value"], wanted["value"], rtol=1e-5, atol=1e-9)


@cases(IN_SHARDS, (*SLOW, *CHAINS))
def test_shards_write_what_the_whole_job_writes(launch, case, monkeypatch, tmp_path):
    """Of methods that share bases the shards run together, and the whole jobs alone."""
    together = {"moments": ["CME"], "portfolio": ["CME", "KLR"]}.get(case.split()[0], [])
    every = [case, *(case.replace("JDL", each) for each in together)]
    jobs = [launch.job(each) for each in every]
    parts = [tmp_path / f"{i}.npz" for i in (1, 2)]
    for i, part in enumerate(parts, 1):
        run(jobs, part, shard=(i, 2))
    wholes = [launch.whole(each) for each in every]
    monkeypatch.setattr(methods, "resolve_backend", None)  # what the shards computed stays
    monkeypatch.setattr(runner, "computed", None)
    outs = [tmp_path / f"{i}.csv" for i in range(len(jobs))]
    run(jobs, outs, parts=parts)
    for one, other in zip(wholes, outs, strict=True):
        # In the JSON there is a digest of all cells but seconds and memory.
        for end in (".json", ".npz"):
            assert one.with_suffix(end).read_bytes() == other.with_suffix(end).read_bytes()


@cases(ON_A_DEVICE, (*SLOW, *CHAINS))
def test_scores_on_a_device_are_those_of_the_host(launch, request, case, tmp_path):
    one, other = launch.whole(case), tmp_path / "cupy.csv"
    request.getfixturevalue("device")
    run(launch.job(case, "cupy"), other)
    ours, theirs = (scores.read([path]) for path in (one, other))
    assert set(theirs["backend"][theirs["metric"] != REGULARIZATION_ERROR]) <= {"cupy"}
    pair = [lasting(frame, case) for frame in (ours, theirs)]
    assert pair[0][KEYS].equals(pair[1][KEYS])
    np.testing.assert_allclose(pair[1]["value"], pair[0]["value"], rtol=1e-6, atol=1e-9)
    with np.load(one.with_suffix(".npz")) as a, np.load(other.with_suffix(".npz")) as b:
        for name in a:
            if case in CHAINS and name.startswith("samples"):
                for column in range(a[name].shape[-1]):
                    drawn = (each[name][..., column].ravel() for each in (a, b))
                    assert ks_2samp(*drawn).pvalue > 1e-3
            else:
                np.testing.assert_allclose(b[name], a[name], rtol=1e-5, atol=1e-6, err_msg=name)


if __name__ == "__main__":
    launched = Launch(Path(tempfile.mkdtemp()))
    frames = [lasting(scores.read([launched.whole(c)]), c).assign(case=c) for c in CASES]
    pd.concat(frames)[["case", *KEYS, "value"]].to_csv(GOLDEN, index=False, float_format="%.10g")
