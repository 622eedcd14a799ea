"""Files that mean harm: mutated, cut short, with sizes that lie, or that unpack without end.

Each mutated file is read, where nothing in it shows, or refused in one line that names it. What is
compressed is mutated within as well, because a checksum of its own stops most other mutations.
"""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pems_files
import pytest

from kcde.data import bundled, catalogue, fetch, limits, loaders, matlab, pems

QUICK, MANY = 300, 2000


def mutated(content, rng):
    """Return bytes that are cut short, flipped, overwritten, or of which a stretch is moved."""
    found = bytearray(content)
    kind = rng.integers(6)
    if kind == 0:
        return bytes(found[: rng.integers(len(found))])
    for _ in range(rng.integers(1, 4)):
        # The sizes stand at the front.
        span = len(found) if rng.random() < 0.5 else min(len(found), 400)
        place = int(rng.integers(max(1, span - 8)))
        if kind == 1:
            found[place] ^= 1 << rng.integers(8)
        elif kind == 2:
            huge = rng.choice([0x7FFFFFFF, 0xFFFFFFFF, 0x80000000, 0x7FFFFFF0, 0x00FFFFFF])
            form = "<I" if rng.random() < 0.5 else ">I"
            struct.pack_into(form, found, place // 4 * 4, int(huge))
        elif kind == 3:
            found[place : place + 8] = rng.bytes(8)
        elif kind == 4:
            del found[place : place + int(rng.integers(1, 40))]
        else:
            start = int(rng.integers(len(found)))
            found[place:place] = found[start : start + int(rng.integers(1, 40))]
    return bytes(found)


def compressed_matrices(content):
    """Return a MATLAB file whose elements are compressed, as `save -v7` does it."""
    found, at = [content[:128]], 128
    while at + 8 <= len(content):
        (size,) = struct.unpack_from("<I", content, at + 4)
        packed = zlib.compress(content[at : at + 8 + size])
        found += [struct.pack("<II", 15, len(packed)), packed]
        at += 8 + size
    return b"".join(found)


def matrices():
    from scipy.io import savemat

    buffer, rng = io.BytesIO(), np.random.default_rng(0)
    values = {"p": rng.integers(0, 99, (20, 2)).astype(np.uint16), "v": rng.normal(size=(20, 1))}
    savemat(buffer, values | {"n": np.array([[3]], np.uint8), "text": "a name"})
    return buffer.getvalue()


def french():
    rows = "".join(f"2020{day:04d},{day / 7:.2f}, 0.1\n" for day in range(101, 130))
    return f"Some prose.\n\n,Mkt-RF, RF\n{rows}\n Annual\n".encode()


def zipped(content, method=zipfile.ZIP_DEFLATED, name="a.csv"):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def tarred(content, copies=3):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for each in ("a/b.csv", "a/other.txt", "a/last.txt")[:copies]:
            info = tarfile.TarInfo(each)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def entry(name, format, **changes):
    known = {"file": f"toy/toy.{format[:3]}", "format": format, "rows": None, "columns": None}
    return replace(catalogue.read()[name], **known | changes)


def workspace(name):
    """Return a bundled R workspace without its compression."""
    return limits.unpacked(bundled.folder() / name)


RDA, FACTORS = workspace("MASS/geyser.rda"), workspace("alr3/ufc.rda")
MATRICES = matrices()
TEXT = b"a,y\n" + b"1,2.5\n" * 400
UFC, GEYSER = catalogue.read()["ufc"], catalogue.read()["geyser"]
HILL = entry("geyser", "mat", x=("p[0]", "p[1]"), y=("v",))
POINTS = entry("geyser", "csv", x=("a",), y=("y",))
RATES = entry("geyser", "zip-french", x=("date",), y=("RF",))

READ = {
    "rda": lambda rng: (GEYSER, gzip.compress(mutated(RDA, rng), 1)),
    "rda-factors": lambda rng: (UFC, gzip.compress(mutated(FACTORS, rng), 1)),
    "rda-outside": lambda rng: (GEYSER, mutated(gzip.compress(RDA, 1), rng)),
    "mat": lambda rng: (HILL, mutated(MATRICES, rng)),
    "mat-inside": lambda rng: (HILL, compressed_matrices(mutated(MATRICES, rng))),
    "zip": lambda rng: (RATES, mutated(zipped(french()), rng)),
    "csv": lambda rng: (POINTS, mutated(TEXT, rng)),
    "zip-inside": lambda rng: (RATES, zipped(mutated(french(), rng))),
}
"""Format to the data set and the bytes of a mutated file."""

TAKEN = {
    "tar": lambda rng: gzip.compress(mutated(tarred(TEXT), rng), 1),
    "tar-outside": lambda rng: mutated(gzip.compress(tarred(TEXT), 1), rng),
    "zip": lambda rng: mutated(zipped(TEXT, name="a/b.csv"), rng),
    "zip-bzip2": lambda rng: mutated(zipped(TEXT, zipfile.ZIP_BZIP2, "a/b.csv"), rng),
    "zip-lzma": lambda rng: mutated(zipped(TEXT, zipfile.ZIP_LZMA, "a/b.csv"), rng),
}


def refusal(call, *arguments):
    """Return the error of a call in one line, or what it returns instead."""
    try:
        return "", call(*arguments)
    except ValueError as error:
        return str(error), None


def check_readers(path, kind, numbers):
    """Return how many mutated files were refused, each as it should be."""
    refused = 0
    for number in numbers:
        each, content = READ[kind](np.random.default_rng(number))
        path.write_bytes(content)
        said, data = refusal(loaders.read, each, path)
        if data is None:
            refused += 1
            assert f"{path}" in said, number
            assert "\n" not in said, number
        else:
            assert np.isfinite(data.X).all(), number
            assert np.isfinite(data.Y).all(), number
        # What a reader cannot see, the checksum does.
        said, _ = refusal(loaders.raw_file, replace(each, file=path.name), path.parent)
        assert f"{path} has the wrong checksum" in said, number
    return refused


def check_archives(folder, kind, numbers):
    """Return how many mutated archives were refused; of no other is more taken than is declared."""
    refused = 0
    for number in numbers:
        archive, target = folder / "archive", folder / "target.csv"
        archive.write_bytes(TAKEN[kind](np.random.default_rng(number)))
        said, _ = refusal(fetch.extract, archive, "a/b.csv", target, len(TEXT))
        refused += bool(said)
        assert "\n" not in said, number
        if target.exists():
            assert target.stat().st_size <= len(TEXT), number
            target.unlink()
    return refused


def check_pems(path, numbers):
    """Return how many mutated archives of PEMS-SF were refused, half of them mutated within."""
    refused, texts = 0, pems_files.members(*pems_files.small())
    for number in numbers:
        rng = np.random.default_rng(number)
        if number % 2:
            member = rng.choice(pems.MEMBERS)
            pems_files.write(path, texts | {member: mutated(texts[member].encode(), rng)})
        else:
            path.write_bytes(mutated(pems_files.write(path, texts).read_bytes(), rng))
        said, folds = refusal(lambda: pems.read(path, 1, sensors=4, slots=6))
        if folds is None:
            refused += 1
            assert said.startswith(f"{path}"), number
            assert "\n" not in said, number
        else:
            assert all(np.isfinite(fold.occupancy).all() for fold in folds.values()), number
    return refused


@pytest.mark.parametrize("kind", READ)
def test_a_mutated_file_is_read_or_refused_in_one_line(tmp_path, kind):
    share = QUICK // sum(each.split("-")[0] == kind.split("-")[0] for each in READ)
    assert check_readers(tmp_path / "toy", kind, range(share)) > share // 8


@pytest.mark.parametrize("kind", TAKEN)
def test_a_mutated_archive_gives_its_member_or_is_refused(tmp_path, kind):
    assert check_archives(tmp_path, kind, range(QUICK // 2)) > QUICK // 20


def test_a_mutated_archive_of_pems_is_read_or_refused(tmp_path):
    assert check_pems(tmp_path / "p.zip", range(QUICK // 2)) > QUICK // 20


@pytest.mark.slow
def test_thousands_of_mutated_archives_of_pems(tmp_path):
    check_pems(tmp_path / "p.zip", range(QUICK, QUICK + MANY))


@pytest.mark.slow
@pytest.mark.parametrize("kind", READ)
def test_thousands_of_mutated_files(tmp_path, kind):
    check_readers(tmp_path / "toy", kind, range(QUICK, QUICK + MANY))


@pytest.mark.slow
@pytest.mark.parametrize("kind", TAKEN)
def test_thousands_of_mutated_archives(tmp_path, kind):
    check_archives(tmp_path, kind, range(QUICK, QUICK + MANY))


# ---- what unpacks without end --------------------------------------------------------------------


@pytest.fixture
def small(monkeypatch):
    """Let compressed files hold no more than a million bytes."""
    monkeypatch.setattr(limits, "UNPACKED", 10**6)


BOMB = bytes(2 * 10**6)
BOMBS = {
    "rda": (GEYSER, gzip.compress(b"RDX2\nX\n" + BOMB)),
    "rda-bz2": (GEYSER, bz2.compress(b"RDX2\nX\n" + BOMB)),
    "rda-xz": (GEYSER, lzma.compress(b"RDX2\nX\n" + BOMB)),
    "mat": (HILL, MATRICES[:128] + struct.pack("<II", 15, 10**6) + zlib.compress(BOMB)),
    "csv": (POINTS, gzip.compress(BOMB)),
    "zip": (RATES, zipped(BOMB)),
}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("kind", BOMBS)
def test_a_file_that_unpacks_to_a_thousand_times_its_size_is_refused(tmp_path, kind):
    each, content = BOMBS[kind]
    if kind == "mat":
        content = content[:132] + struct.pack("<I", len(content) - 136) + content[136:]
    path = tmp_path / "toy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{path}: .*more than the 1000000 bytes"):
        loaders.read(each, path)


def test_a_sequence_of_a_declared_length_is_refused(tmp_path):
    # R writes 1:n as the list (n, 1, 1) of doubles, here with n = 1e12.
    def symbol(name):
        return struct.pack(">III", 1, 0x00040009, len(name)) + name

    information = (
        struct.pack(">I", 0x2)
        + symbol(b"compact_intseq")
        + struct.pack(">I", 0x2)
        + symbol(b"base")
        + struct.pack(">I", 0x2)
        + struct.pack(">III", 13, 1, 13)
        + struct.pack(">I", 254)
    )
    state = struct.pack(">II3d", 14, 3, 1e12, 1.0, 1.0)
    content = (
        b"RDX3\nX\n"
        + struct.pack(">III", 3, 0x40000, 0x30500)
        + struct.pack(">I", 5)
        + b"UTF-8"
        + struct.pack(">I", 0x402)
        + symbol(b"x")
        + struct.pack(">I", 238)
        + information
        + state
        + struct.pack(">II", 254, 254)
    )
    path = tmp_path / "toy.rda"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"{path}: it holds more than"):
        loaders.read(GEYSER, path)
    path.write_bytes(content.replace(struct.pack(">d", 1e12), struct.pack(">d", 10.0)))
    with pytest.raises(ValueError, match=r"holds 0 data frames, \['x'\]"):
        loaders.read(GEYSER, path)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("opened", [gzip.compress, zipped], ids=["tar", "zip"])
def test_of_an_archive_no_more_is_written_than_is_declared(tmp_path, opened):
    archive, target = tmp_path / "archive", tmp_path / "target.csv"
    content = bytes(9 * 10**5)
    packed = tarred(content, copies=1) if opened is gzip.compress else content
    archive.write_bytes(opened(packed))
    member = "a/b.csv" if opened is gzip.compress else "a.csv"
    with pytest.raises(ValueError, match="more than the 1000 bytes"):
        fetch.extract(archive, member, target, 1000)
    assert target.stat().st_size <= 1000
    fetch.extract(archive, member, target, len(content))
    assert target.read_bytes() == content


@pytest.mark.usefixtures("small")
def test_a_tar_whose_header_declares_any_size_is_refused(tmp_path):
    info = tarfile.TarInfo("a/b.csv")
    info.size, info.type = 10**9, tarfile.XHDTYPE
    archive = tmp_path / "archive"
    archive.write_bytes(gzip.compress(info.tobuf() + BOMB))
    with pytest.raises(ValueError, match="more than the 1000000 bytes"):
        fetch.extract(archive, "a/b.csv", tmp_path / "target.csv", 1000)


def test_a_link_in_an_archive_is_not_followed(tmp_path):
    info = tarfile.TarInfo("a/b.csv")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/hostname"
    archive = tmp_path / "archive"
    archive.write_bytes(info.tobuf() + bytes(1024))
    with pytest.raises(ValueError, match=r"the archive has no member a/b\.csv"):
        fetch.extract(archive, "a/b.csv", tmp_path / "target.csv", 1000)


def test_a_full_disk_is_no_damage(tmp_path):
    archive = tmp_path / "archive"
    archive.write_bytes(zipped(TEXT))
    with pytest.raises(OSError, match="No space left"):
        fetch.extract(archive, "a.csv", Path("/dev/full"), len(TEXT))


# ---- MATLAB files --------------------------------------------------------------------------------


@pytest.mark.parametrize("compressed", [False, True])
def test_matrices_are_those_that_scipy_reads(tmp_path, compressed):
    from scipy.io import loadmat, savemat

    rng = np.random.default_rng(1)
    values = {
        "doubles": rng.normal(size=(7, 3)),
        "single": rng.normal(size=(2, 5)).astype(np.float32),
        "small": np.array([[1, -2]], np.int8),
        "large": np.array([[2**40], [-3]], np.int64),
        "one": np.array([[4.0]]),
        "none": np.zeros((0, 0)),
        "mask": np.array([[True, False]]),
    }
    others = {
        "text": "abc",
        "many": {"a": 1.0},
        "complex": np.array([[1j]]),
        "cube": np.ones((2,) * 3),
    }
    savemat(tmp_path / "a.mat", values | others, do_compression=compressed)
    found, known = matlab.read(tmp_path / "a.mat"), loadmat(tmp_path / "a.mat")
    assert found.keys() == values.keys()
    for name, value in found.items():
        np.testing.assert_array_equal(value, known[name])
        assert value.dtype == known[name].dtype


@pytest.mark.data
def test_the_terrain_is_the_one_that_scipy_reads(raw_data):
    from scipy.io import loadmat

    path = raw_data / catalogue.read()["rough-terrain-mt-st-helens"].file
    found, known = matlab.read(path), loadmat(path)
    assert found.keys() == {name for name in known if not name.startswith("__")}
    for name, value in found.items():
        np.testing.assert_array_equal(value, known[name])


def test_other_levels_of_matlab_files_are_refused_with_the_remedy(tmp_path):
    from scipy.io import savemat

    savemat(tmp_path / "a.mat", {"x": np.ones((2, 2))}, format="4")
    with pytest.raises(ValueError, match=r"a\.mat is no MATLAB file of level 5: save it with"):
        matlab.read(tmp_path / "a.mat")
