import threading

import numpy as np
import pytest

from kcde.experiments import scores
from kcde.files import atomic, locked
from kcde.seeding import rng_of, seed_of


def test_a_file_appears_whole_with_its_folders(tmp_path):
    path = tmp_path / "a" / "b.csv"
    with atomic(path) as temporary:
        temporary.write_text("new")
        assert temporary.suffix == ".csv"
        assert not path.exists()
    assert path.read_text() == "new"
    assert [p.name for p in path.parent.iterdir()] == ["b.csv"]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "b.csv"
    path.write_text("old")

    def fail():
        with atomic(path) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["b.csv"]


def test_a_locked_folder_makes_others_wait_and_keeps_no_file(tmp_path):
    folder, said = tmp_path / "new", []

    def second():
        with locked(folder):
            said.append("second")

    with locked(folder):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.2)
        said.append("first")
    waiting.join()
    assert said == ["first", "second"]
    assert not list(folder.iterdir())


def test_seeds_depend_on_names_alone():
    assert seed_of("split", "geyser", 3) == seed_of("split", "geyser", 3)
    assert (
        len({seed_of("split", name, k) for name in ("geyser", "caution") for k in range(9)}) == 18
    )
    assert seed_of("a", "bc") != seed_of("ab", "c")
    np.testing.assert_array_equal(rng_of("x").random(3), rng_of("x").random(3))


def test_scores_refuse_what_their_columns_do_not_know(tmp_path):
    with pytest.raises(ValueError, match=r"unknown columns \['colour'\]"):
        scores.write(tmp_path / "a.csv", [{"status": "ok", "colour": 1}], {})
    with pytest.raises(ValueError, match="status 'fine'; known"):
        scores.write(tmp_path / "a.csv", [{"status": "fine"}], {})
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match=r"b\.csv is not a score table"):
        scores.read([tmp_path / "b.csv"])
    assert not (tmp_path / "a.csv").exists()
