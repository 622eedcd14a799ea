import tracemalloc
import zipfile

import numpy as np
import pems_files
import pytest

from kcde.data import pems

SHAPE = {"sensors": 4, "slots": 6}


@pytest.fixture
def texts():
    return pems_files.members(*pems_files.small())


def test_one_sensor_of_every_day(tmp_path):
    weekdays, occupancy = pems_files.small()
    path = pems_files.write(tmp_path / "p.zip", pems_files.members(weekdays, occupancy))
    for sensor in range(4):
        folds = pems.read(path, sensor, **SHAPE)
        for fold in pems.FOLDS:
            np.testing.assert_array_equal(folds[fold].weekdays, np.array(weekdays[fold]) - 1)
            np.testing.assert_array_equal(folds[fold].occupancy, occupancy[fold][:, sensor])


@pytest.mark.parametrize("layout", ["[ {} ]", "[{}; ]", "[{}]\r\n\n"])
def test_blanks_of_matlab_do_no_harm_but_an_empty_row_does(tmp_path, texts, layout):
    lines = texts["PEMS_train"].replace(";", " ; ").splitlines()
    texts["PEMS_train"] = "\n".join(layout.format(line.strip("[]")) for line in lines)
    path = pems_files.write(tmp_path / "p.zip", texts)
    if layout == "[ {} ]":
        np.testing.assert_array_equal(
            pems.read(path, 1, **SHAPE)["train"].occupancy, pems_files.small()[1]["train"][:, 1]
        )
    else:
        with pytest.raises(ValueError, match=r"PEMS_train, line [12]"):
            pems.read(path, 1, **SHAPE)


@pytest.mark.slow
def test_days_as_wide_as_the_real_ones_are_never_held_together(tmp_path):
    weekdays, occupancy = pems_files.small((10, 2), pems.SENSORS, pems.SLOTS)
    path = pems_files.write(tmp_path / "p.zip", pems_files.members(weekdays, occupancy))
    with zipfile.ZipFile(path) as archive:
        a_day = archive.getinfo("PEMS_train").file_size / 10
    assert a_day > 900_000
    pems.read(path, 2)
    tracemalloc.start()
    folds = pems.read(path, 2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(folds["train"].occupancy, occupancy["train"][:, 2])
    # A line, its copies without brackets, and its rows.
    assert peak < 6 * a_day


SPOILT = [
    ("PEMS_train", 2, ("[", ""), r"begins '0\..*; expected a matrix in brackets"),
    ("PEMS_test", 1, ("]", ""), "and ends .*; expected a matrix in brackets"),
    ("PEMS_train", 3, (";", " "), "3 rows; expected 4, one a sensor"),
    ("PEMS_train", 3, (" ", " 0.5 "), r"sensor 0 \(from 0\) has 7 values; expected 6"),
    ("PEMS_test", 2, (" 0", ""), "has 5 values; expected 6, one every ten minutes"),
    ("PEMS_train", 5, ("0.", "O."), r"'O\.[0-9]+'; expected numbers alone"),
    ("PEMS_train", 4, ("0.", "NaN"), "'NaN[0-9]+'; expected numbers alone"),
    ("PEMS_train", 4, ("[0.", "[0..5"), r"'0\.\.5[0-9]+'; expected a number"),
    ("PEMS_train", 4, ("[0.", "[1e999"), "'1e999[0-9]+'; expected a number"),
    ("PEMS_trainlabels", 1, ("[1 2", "[1 8"), "the label '8'; expected a day of the week, 1 to 7"),
    ("PEMS_trainlabels", 1, ("[1", "[0"), "the label '0'; expected a day of the week"),
    ("PEMS_trainlabels", 1, ("[1", "[1.5"), r"the label '1\.5'; expected"),
    ("PEMS_trainlabels", 1, ("[", ""), "expected a matrix in brackets"),
]


@pytest.mark.parametrize(("member", "line", "change", "said"), SPOILT)
def test_a_malformed_line_is_named_with_what_was_expected(
    tmp_path, texts, member, line, change, said
):
    lines = texts[member].splitlines(keepends=True)
    spoilt = lines[line - 1].replace(*change, 1)
    assert spoilt != lines[line - 1]
    texts[member] = "".join([*lines[: line - 1], spoilt, *lines[line:]])
    path = pems_files.write(tmp_path / "p.zip", texts)
    with pytest.raises(ValueError, match=said) as error:
        pems.read(path, 0, **SHAPE)
    assert str(error.value).startswith(f"{path}, {member}, line {line}: ")


@pytest.mark.parametrize(
    ("label_text", "said"),
    [
        ("[1 2 3 4]\n", "PEMS_trainlabels: 4 labels for the 5 days of PEMS_train; expected one"),
        ("[1 2 3]\n[4 5]\n", "PEMS_trainlabels: several lines; expected one"),
        ("", "PEMS_trainlabels: no line; expected one"),
    ],
)
def test_labels_and_days_must_agree(tmp_path, texts, label_text, said):
    path = pems_files.write(tmp_path / "p.zip", texts | {"PEMS_trainlabels": label_text})
    with pytest.raises(ValueError, match=said):
        pems.read(path, 0, **SHAPE)


def test_a_wrong_archive_says_what_it_holds(tmp_path, texts):
    del texts["PEMS_test"]
    path = pems_files.write(tmp_path / "p.zip", texts)
    with pytest.raises(ValueError, match=r"p.zip has no PEMS_test: it holds .*PEMS_train"):
        pems.read(path, 0, **SHAPE)
    with pytest.raises(ValueError, match="it holds nothing"):
        pems.read(pems_files.write(tmp_path / "empty.zip", {}), 0, **SHAPE)


@pytest.mark.parametrize("left", [0.0, 0.5, 0.97])
def test_an_archive_that_is_cut_short_is_refused(tmp_path, texts, left):
    path = pems_files.write(tmp_path / "p.zip", texts)
    content = path.read_bytes()
    path.write_bytes(content[: int(left * len(content))])
    with pytest.raises(
        ValueError, match=r"p\.zip: damaged or cut short, or no zip archive \(.*; delete it"
    ):
        pems.read(path, 0, **SHAPE)


def test_a_damaged_member_is_refused(tmp_path, texts):
    path = pems_files.write(tmp_path / "p.zip", texts)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        place = archive.getinfo("PEMS_train")
    middle = place.header_offset + 40 + place.compress_size // 2
    content[middle : middle + 8] = bytes(8)
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match=r"p\.zip: damaged|p\.zip, PEMS_train, line"):
        pems.read(path, 0, **SHAPE)


def test_there_are_only_so_many_sensors(tmp_path, texts):
    path = pems_files.write(tmp_path / "p.zip", texts)
    for sensor in (-1, 4):
        with pytest.raises(ValueError, match=f"sensor must be from 0 to 3; got {sensor}"):
            pems.read(path, sensor, **SHAPE)
