"""Damaged files of every kind: a reader gives what is in them, or names them in one line.

`KCDE_MUTATIONS` says how many are read, in equal shares of the five kinds.
"""

import csv
import io
import json
import os
import re
import resource
import signal
import zipfile
from collections import Counter
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kcde import scores, tabular
from kcde.comparison import running
from kcde.data import catalogue
from kcde.evidence import tracked
from kcde.experiments.joint import Exact
from kcde.experiments.runner import run
from kcde.papers import registry
from kcde.table_model import TableModel

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

EACH, SECONDS, BYTES = int(os.environ.get("KCDE_MUTATIONS", 5000)) // 5, 30, 2**30
CELLS = ["", "nan", "-inf", "1e308", "-1", "1e12", "x", "a\nb", "é", "\0", "9" * 5000, '"']
VALUES = [None, True, -1, 0, 10**12, 1e308, np.nan, np.inf, "x", "a\nb", [], {}, [[]], "9" * 99]


def of_bytes(content, rng):
    start, stop = sorted(rng.integers(len(content) + 1, size=2))
    noise = bytes(rng.integers(256, size=8, dtype=np.uint8))
    new = [b"", noise, content[start:stop] * 2, b"[" * 99_999][rng.integers(4)]
    return content[:start] + new + content[(start + 8, stop, len(content))[rng.integers(3)] :]


def of_csv(content, rng):
    rows = list(csv.reader(io.StringIO(content.decode())))
    row, column = rng.integers(len(rows)), rng.integers(len(rows[0]))
    names, edited = rows[0].copy(), rows[row].copy()
    names[column], edited[column] = names[0], CELLS[rng.integers(len(CELLS))]
    doubled, lacking = zip(
        *((e + e[column:][:1], e[:column] + e[column + 1 :]) for e in rows), strict=True
    )
    other = [rows[:row] + rows[row + 1 :], rows[:row], [names, *rows[1:]], doubled, lacking]
    other += [[*rows[:row], edited, *rows[row + 1 :]]] * 3
    csv.writer(text := io.StringIO(), lineterminator="\n").writerows(other[rng.integers(8)])
    return text.getvalue().encode()


def of_json(content, rng):
    parts = [whole := json.loads(content)]
    for part in parts:
        inner = part.values() if isinstance(part, dict) else part
        parts += [each for each in inner if isinstance(each, dict | list) and each]
    part = parts[rng.integers(len(parts))]
    key = list(part if isinstance(part, dict) else range(len(part)))[rng.integers(len(part))]
    part[key] = VALUES[rng.integers(len(VALUES))]
    if rng.integers(3) == 0:
        del part[key]
    return json.dumps(whole).encode()


def of_npy(content, rng):
    if rng.integers(3) == 0:
        header = b"(1000000000000,), }"
        return re.sub(rb"\(\d*,.*", lambda old: header.ljust(len(old[0])), content, count=1)
    array = np.load(io.BytesIO(content))
    if array.dtype == np.uint8:  # the JSON of a part
        array = np.frombuffer(of_json(array.tobytes(), rng), dtype=np.uint8)
    else:
        changed = [array.astype(str), array[None], array.ravel()[:1], np.full(array.shape, np.nan)]
        array = changed[rng.integers(4)]
    np.save(stream := io.BytesIO(), array)
    return stream.getvalue()


@cache
def huge():
    archive = zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED)
    with archive, archive.open("huge.npy", "w") as member:
        for _ in range(64):
            member.write(bytes(2**24))
    return stream.getvalue()


def of_zip(content, rng):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts = [(each, file.read(each)) for each in file.namelist()]
    name, part = one = parts.pop(rng.integers(len(parts)))
    other = name, (of_json if name.endswith(".json") else of_npy)(part, rng)
    start, new = [(b"", [other]), (huge(), [one]), (b"", [one, one]), (b"", [])][
        rng.choice(4, p=[0.7, 0.1, 0.1, 0.1])
    ]
    with zipfile.ZipFile(stream := io.BytesIO(start), "a", zipfile.ZIP_DEFLATED) as file:
        for each in [*parts, *new]:
            file.writestr(*each)
    return stream.getvalue()


OF = {".csv": of_csv, ".json": of_json, ".npz": of_zip, ".kcde": of_zip, ".gz": of_bytes}


def of_scores(folder):
    rows = [{"metric": "mmd", "split": k, "value": k + 0.5, "status": "ok"} for k in range(4)]
    scores.write(folder / "LSCDE.csv", rows, {"job": {"dataset": "a"}}, {"pit": np.arange(4.0)})
    for end in ("csv", "json"):
        yield folder / f"LSCDE.{end}", lambda: scores.read([folder / "LSCDE.csv"])
    for end in ("npz", "json"):
        yield folder / f"LSCDE.{end}", lambda: scores.arrays_beside(folder / "LSCDE.csv")
    packed, _ = tracked.write([folder / "LSCDE.csv"], folder, "laptop")
    yield packed, lambda: scores.read([packed])


def of_parts(folder):
    job, parts = Exact("grid-60", "exact", runs=2), [folder / "1.part.npz", folder / "2.part.npz"]
    for i, path in enumerate(parts, 1):
        run(job, path, shard=(i, 2))
    yield parts[0], lambda: run(job, folder / "out.csv", parts=parts)
    plan, scored = SimpleNamespace(folder=folder), running.Scored({"a": 1}, {"pit": np.arange(3.0)})
    running.write(plan, "KEF", 9, 0, scored)
    yield running.path_of(plan, "KEF", 9, 0), lambda: running.read(plan, "KEF", 9, 0)


def of_tracked(folder):
    for key in ("jdl/fig9", "kcef/table1", "across/all_methods"):
        path = folder / f"{key}.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes((Path(__file__).parents[2] / f"figures/{key}.csv").read_bytes())
        yield path, partial(registry.ARTEFACTS[key].read, path)


def of_tables(folder):
    path, frame = folder / "catalogue.csv", pd.read_csv(catalogue.BUILT_IN, dtype=str)
    frame.to_csv(path, index=False)
    yield path, lambda: catalogue.read(path)
    own = folder / "own.csv"
    frame = pd.DataFrame({"x": range(30), "town": ["A", "B"] * 15, "y": np.arange(30.0)[::-1]})
    frame.to_csv(own, index=False)
    yield own, lambda: tabular.read(own)


def of_models(folder):
    frame = pd.DataFrame({"x": np.arange(40.0) % 7, "town": ["A", "B"] * 20})
    frame["y"] = np.sin(frame["x"]) + np.arange(40.0) % 3
    for name in ("LinearGaussian", "KernelCDE", "LSCDE-exact"):
        path = folder / f"{name}.kcde"
        TableModel(name, y="y").fit(frame).save(path)
        yield path, partial(TableModel.load, path)


def stop(*_):
    raise KeyboardInterrupt  # which a reader that catches every `Exception` lets through


@pytest.fixture
def limited():
    """Let memory grow by so many bytes, and a reader be interrupted."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + BYTES, before[1]))
    handler = signal.signal(signal.SIGALRM, stop)
    yield
    signal.signal(signal.SIGALRM, handler)
    resource.setrlimit(resource.RLIMIT_AS, before)


def wrong_with(path, read):
    signal.alarm(SECONDS)
    try:
        read()
    except (ValueError, FileNotFoundError) as error:
        if isinstance(error.__context__, MemoryError):
            return f"{path.name}: memory"
        if "\n" in str(error):
            return f"{path.name}: several lines"
        return "" if path.stem in str(error) else f"no name: {error}"
    except (Exception, KeyboardInterrupt) as error:
        return f"{path.name}: {type(error).__name__}"
    finally:
        signal.alarm(0)
    return ""


KINDS = [of_scores, of_parts, of_tracked, of_tables, of_models]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_named_in_one_line(kind, tmp_path, limited):
    rng, wrong, cases = np.random.default_rng(0), Counter(), list(kind(tmp_path))
    for path, read in cases:
        whole = path.read_bytes()
        read()
        for _ in range(EACH // len(cases)):
            path.write_bytes((OF[path.suffix] if rng.integers(4) else of_bytes)(whole, rng))
            wrong[wrong_with(path, read)] += 1
        path.write_bytes(whole)
    del wrong[""]
    assert not wrong
