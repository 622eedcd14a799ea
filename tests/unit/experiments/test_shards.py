"""One experiment as several jobs, and what they leave to one another."""

from dataclasses import dataclass
from typing import ClassVar

import joblib
import numpy as np
import pytest

from kcde.experiments import job, runner
from kcde.experiments.job import Outcome, parameter
from kcde.experiments.runner import outcomes
from kcde.experiments.shards import UNSHARDED, Shard, Sharding

COUNT = 7


@dataclass(frozen=True)
class Job(job.Job):
    experiment: ClassVar[str] = "thirds"
    repeated: ClassVar[tuple[str, ...]] = ("repetitions",)

    name: str = parameter("A")
    repetitions: int = parameter(COUNT, at_least=1)


class Thirds(runner.Experiment[Job]):
    """Thirds of the numbers of the repetitions."""

    def code(self, job):
        return "thirds"

    def begin(self, units):
        return self.third

    def third(self, unit):
        row = {"split": unit, "value": np.float64(unit) / 3, "seconds": np.nan, "detail": None}
        arrays = {"of/unit": np.full((2, 3), unit, dtype=np.float32), "flag": np.array(unit > 3)}
        return Outcome([row], [{"unit": unit}], arrays)


class Refusing(Thirds):
    def begin(self, units):
        raise AssertionError("what the shards computed is not computed again")


class Failing(Thirds):
    def third(self, unit):
        raise RuntimeError("out of memory")


class OnDevice(Thirds):
    def third(self, unit):
        return Outcome([], arrays={"x": memoryview(b"no array of the host")})


@pytest.mark.parametrize("count", [1, 2, 3, 7, 9])
def test_shards_together_are_the_whole(tmp_path, count):
    parts = tuple(tmp_path / f"{i}.npz" for i in range(1, count + 1))
    for i, path in enumerate(parts, 1):
        assert outcomes(Thirds([Job()]), path, Sharding(shard=Shard(i, count))) is None
    whole = outcomes(Thirds([Job()]), tmp_path / "x.csv", UNSHARDED)
    assert [each[0].rows[0]["split"] for each in whole] == list(range(COUNT))
    found = outcomes(Refusing([Job()]), tmp_path / "x.csv", Sharding(parts=parts))
    assert [repr(each[0].rows) for each in found] == [
        repr([row | {"value": float(row["value"])} for row in each[0].rows]) for each in whole
    ]
    for one, other in zip(found, whole, strict=True):
        assert list(one[0].arrays) == list(other[0].arrays)
        assert one[0].chosen == other[0].chosen
        for name, array in one[0].arrays.items():
            assert array.dtype == other[0].arrays[name].dtype
            np.testing.assert_array_equal(array, other[0].arrays[name])


def test_a_part_of_another_job_is_refused(tmp_path):
    part = tmp_path / "part.npz"
    outcomes(Thirds([Job(name="A")]), part, Sharding(shard=Shard(1, 1)))
    with pytest.raises(ValueError, match="part of another job"):
        outcomes(Thirds([Job(name="B")]), tmp_path / "x.csv", Sharding(parts=(part,)))


def test_parts_must_be_all_and_each_once(tmp_path):
    part, out = tmp_path / "part.npz", tmp_path / "x.csv"
    outcomes(Thirds([Job()]), part, Sharding(shard=Shard(1, 2)))
    with pytest.raises(ValueError, match=r"no part has the repetitions \[1, 3, 5\]"):
        outcomes(Thirds([Job()]), out, Sharding(parts=(part,)))
    with pytest.raises(ValueError, match="each part once"):
        outcomes(Thirds([Job()]), out, Sharding(parts=(part, part)))


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "a/b", "2/4/6", "", "1/0"])
def test_a_shard_out_of_its_range_is_refused(text):
    with pytest.raises(ValueError, match="as 2/4"):
        Shard.parse(text)


@pytest.mark.parametrize("experiment", [Failing, OnDevice])
def test_a_failing_shard_leaves_nothing(tmp_path, experiment):
    with pytest.raises((RuntimeError, TypeError), match=r"out of memory|no array of the host"):
        outcomes(experiment([Job()]), tmp_path / "part.npz", Sharding(shard=Shard(1, 2)))
    assert not list(tmp_path.iterdir())


def test_a_shard_without_repetitions_computes_nothing(tmp_path):
    two = Refusing([Job(repetitions=2)])
    assert outcomes(two, tmp_path / "3.npz", Sharding(shard=Shard(3, 3))) is None


def test_a_shard_is_no_score_table(tmp_path):
    with pytest.raises(ValueError, match=r"name its file .*scores\.part\.npz"):
        outcomes(Thirds([Job()]), tmp_path / "scores.csv", Sharding(shard=Shard(1, 2)))


def test_scores_do_not_replace_a_part(tmp_path):
    part = tmp_path / "scores.npz"
    outcomes(Thirds([Job()]), part, Sharding(shard=Shard(1, 1)))
    with pytest.raises(ValueError, match="would replace the part next to it"):
        outcomes(Thirds([Job()]), tmp_path / "scores.csv", Sharding(parts=(part,)))


class Bomb:
    """What a pickle may hold: reading it runs code."""

    def __reduce__(self):
        return pytest.fail, ("reading a part ran code",)


@pytest.mark.parametrize("kind", ["pickle", "pickle within", "scores", "text"])
def test_a_file_that_no_shard_left_is_refused_and_runs_no_code(tmp_path, kind):
    part = tmp_path / "part.npz"
    if kind == "pickle":
        joblib.dump(Bomb(), part)
    elif kind == "pickle within":
        np.savez(part, json=np.array([Bomb()], dtype=object))
    elif kind == "scores":
        np.savez(part, log_density=np.zeros(3))
    else:
        part.write_text("split,value\n")
    with pytest.raises(ValueError, match=r"part\.npz is no part that a shard left"):
        outcomes(Thirds([Job()]), tmp_path / "x.csv", Sharding(parts=(part,)))


def test_a_number_beyond_its_limit_is_refused():
    with pytest.raises(ValueError, match="repetitions must be at least 1; got 0"):
        Job(repetitions=0)
