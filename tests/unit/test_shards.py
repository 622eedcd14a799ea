"""One experiment as several jobs."""

import pytest

from kcde.experiments.shards import WHOLE, Cut, Shard, outcomes

UNITS = range(7)


def squares(units):
    return [unit**2 for unit in units]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 9])
def test_shards_together_are_the_whole(tmp_path, count):
    parts = tuple(tmp_path / f"{i}.joblib" for i in range(1, count + 1))
    for i, path in enumerate(parts, 1):
        assert outcomes({}, UNITS, squares, path, Cut(shard=Shard(i, count))) is None

    def refuse(units):
        raise AssertionError("what the shards computed is not computed again")

    whole = outcomes({}, UNITS, squares, tmp_path / "x.csv", WHOLE)
    assert outcomes({}, UNITS, refuse, tmp_path / "x.csv", Cut(parts=parts)) == whole
    assert whole == squares(UNITS)


def test_a_part_of_another_job_is_refused(tmp_path):
    part = tmp_path / "part.joblib"
    outcomes({"method": "A"}, UNITS, squares, part, Cut(shard=Shard(1, 1)))
    with pytest.raises(ValueError, match="part of another job"):
        outcomes({"method": "B"}, UNITS, squares, part, Cut(parts=(part,)))


def test_parts_must_be_all_and_each_once(tmp_path):
    part = tmp_path / "part.joblib"
    outcomes({}, UNITS, squares, part, Cut(shard=Shard(1, 2)))
    with pytest.raises(ValueError, match=r"no part has the repetitions \[1, 3, 5\]"):
        outcomes({}, UNITS, squares, part, Cut(parts=(part,)))
    with pytest.raises(ValueError, match="each part once"):
        outcomes({}, UNITS, squares, part, Cut(parts=(part, part)))


@pytest.mark.parametrize("text", ["0/4", "5/4", "2", "a/b", "2/4/6", "", "1/0"])
def test_a_shard_out_of_its_range_is_refused(text):
    with pytest.raises(ValueError, match="as 2/4"):
        Shard.parse(text)


def test_a_failing_shard_leaves_nothing(tmp_path):
    def fail(units):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError):
        outcomes({}, UNITS, fail, tmp_path / "part.joblib", Cut(shard=Shard(1, 2)))
    assert not list(tmp_path.iterdir())


def test_a_shard_without_repetitions_computes_nothing(tmp_path):
    def refuse(units):
        raise AssertionError("there is nothing to compute")

    assert outcomes({}, range(2), refuse, tmp_path / "3.joblib", Cut(shard=Shard(3, 3))) is None


def test_a_shard_is_no_score_table(tmp_path):
    with pytest.raises(ValueError, match=r"name its file .*scores\.joblib"):
        outcomes({}, UNITS, squares, tmp_path / "scores.csv", Cut(shard=Shard(1, 2)))
