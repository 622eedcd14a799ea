"""Model files: what is written comes back the same, and nothing else is run or read."""

import io
import json
import zipfile
from functools import partial

import numpy as np
import pytest

from contracted import densities, make
from kcde import model_file
from kcde.estimators import Standardised

SLOW = ("DDE", "NADE", "ConditionalMAF", "ConditionalRealNVP")  # to compile
NAMES = [pytest.param(n, marks=[pytest.mark.nightly] * (n in SLOW)) for n in densities()]


def fitted(name, pairs):
    X, Y = pairs
    model = Standardised(make(name, fewer=True))
    X = X[:, :0] if model.tags.unconditional else X
    return model.fit(X, Y), X, Y


@pytest.mark.parametrize("name", NAMES)
def test_every_density_comes_back_bit_by_bit(name, pairs, tmp_path):
    model, X, Y = fitted(name, pairs)
    path = tmp_path / "model.kcde"
    model_file.write(path, model, {"columns": ["größe"]})
    read, about, arguments = model_file.read(path)
    assert about == {"columns": ["größe"]}
    assert arguments is None
    assert type(read.estimator_) is type(model.estimator_)
    for method in ("log_density", "cdf"):
        np.testing.assert_array_equal(getattr(read, method)(X, Y), getattr(model, method)(X, Y))
    np.testing.assert_array_equal(read.quantile(X, [0.1, 0.9]), model.quantile(X, [0.1, 0.9]))
    draws = [each.sample(X, 3, np.random.default_rng(0)) for each in (read, model)]
    np.testing.assert_array_equal(*draws)


@pytest.mark.parametrize("name", ["KCEF", "KEF"])
def test_a_model_can_be_saved_after_it_was_used(name, pairs, tmp_path):
    X, Y = pairs
    X = X[:, :0] if name == "KEF" else X
    model = make(name).fit(X, Y)
    gradient, loss = model.log_unnormalized_gradient(X, Y), model.score_matching_loss(X, Y)
    model.sample_hmc(X[:2], 2, np.random.default_rng(0))
    model_file.write(tmp_path / "model.kcde", model, {})
    read, *_ = model_file.read(tmp_path / "model.kcde")
    np.testing.assert_array_equal(read.log_unnormalized_gradient(X, Y), gradient)
    assert read.score_matching_loss(X, Y) == loss


def changed(path, content=lambda whole: {}, arrays=(), packed=False):
    """Write a file with other entries of its JSON, or arrays."""
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    parts |= dict(arrays)
    whole = json.loads(parts["model.json"])
    parts["model.json"] = json.dumps(whole | content(whole)).encode()
    how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", how) as file:
        for name, data in parts.items():
            file.writestr(name, data)


@pytest.fixture
def path(pairs, tmp_path):
    model_file.write(tmp_path / "model.kcde", fitted("LSCDE", pairs)[0], {})
    return tmp_path / "model.kcde"


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


# An array whose header says that it has many more rows than there are.
LONGER = saved(np.zeros((40, 2)))
LONGER = LONGER.replace(b"(40, 2), }".ljust(24), b"(4000000000000, 2), }".ljust(24))


def within(whole):
    """The entry of a model that is a part of itself."""
    state = whole["model"]["state"] | {"estimator_": {"same": whole["model"]["number"]}}
    return {"model": whole["model"] | {"state": state}}


CLASSES = ("os.system", "kcde.files.Path", "kcde.estimators.standardised.clone")
OTHER = [lambda whole, name=name: {"model": whole["model"] | {"class": name}} for name in CLASSES]
WRONG = ({"format": 99}, {"about": None}, {"model": None}, {"model": {"list": []}})
OTHER += [within, *(lambda _, entries=entries: entries for entries in WRONG)]


@pytest.mark.parametrize(
    "damage",
    [
        *(partial(changed, content=content) for content in OTHER),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: changed(path, arrays={"0.npy": saved(np.full((40, 2), np.nan))}),
        lambda path: changed(path, arrays={"0.npy": saved(np.array("text"))}),
        lambda path: changed(path, arrays={"0.npy": LONGER}),
        lambda path: changed(path, arrays={"bomb": bytes(2**26)}, packed=True),
    ],
)
def test_only_arrays_and_classes_of_the_package_are_read(path, damage):
    damage(path)
    with pytest.raises(ValueError, match="no model"):
        model_file.read(path)


def test_what_is_no_array_number_text_or_object_of_the_package_is_not_written(pairs, tmp_path):
    model = fitted("LSCDE", pairs)[0]
    model.other = np.random.default_rng(0)
    with pytest.raises(ValueError, match="no model file can hold"):
        model_file.write(tmp_path / "model.kcde", model, {})
    assert not list(tmp_path.iterdir())
