"""What is written beside the scores of a job."""

import gzip

import pytest

from kcde import scores


def test_what_is_said_beside_a_table_repeats_though_seconds_do_not(tmp_path):
    def written(name, seconds, value):
        rows = [
            {"metric": "mmd", "value": value, "unit": "1e-3", "seconds": seconds, "status": "ok"},
            {"metric": "fit_seconds", "value": seconds, "unit": "s", "status": "ok"},
        ]
        scores.write(tmp_path / f"{name}.csv", rows, {"code": "abc"})
        return (tmp_path / f"{name}.json").read_bytes()

    assert written("a", 1.5, 2.5) == written("b", 1.75, 2.5)
    assert written("a", 1.5, 2.5) != written("b", 1.5, 2.75)
    path = tmp_path / "a.csv"
    path.write_text(path.read_text().replace("1.5", "1.25"))
    assert len(scores.read([path])) == 2
    path.write_text(path.read_text().replace("2.5", "2.25"))
    with pytest.raises(ValueError, match="was changed after its job had written it"):
        scores.read([path])


def flipped(content):
    """With one bit changed in the middle of the compressed data."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[:-20], lambda _: b"", lambda _: b"no gzip", flipped],
    ids=["truncated", "empty", "another format", "a flipped bit"],
)
def test_damaged_split_scores_are_named_with_the_remedy(tmp_path, damage):
    path = tmp_path / "scores.csv.gz"
    path.write_bytes(damage(gzip.compress(bytes(range(256)) * 40, mtime=0)))
    with pytest.raises(ValueError, match=r"scores\.csv\.gz.*run its job again"):
        scores.read([path])
