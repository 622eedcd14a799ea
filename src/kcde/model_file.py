"""Fitted models as files of arrays and JSON, which can be read without running code of theirs.

A file is a zip: `model.json`, and an `.npy` for each array, read without pickle. An object is its
class, which must be one of the package's own, and its attributes: no constructor runs, and nothing
is imported but modules of estimators and what they are made of.
"""

import io
import json
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kcde.files import array_in, atomic, part_of, refused, require_small
from kcde.provenance import source

FORMAT = 4

_ROOMS = ("kcde.estimators.", "kcde.kernels.", "kcde.linalg.", "kcde.normalisers.")
"""Parts of the package whose classes a file may name."""

_SCORES = ("cv_results_", "history_", "validation_history_")
_JSON = "model.json"
_PLAIN = (type(None), bool, int, float, str)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same model, the same bytes


def write(
    path: str | Path, model: Any, about: dict[str, Any], arguments: dict[str, Any] | None = None
) -> None:
    """Write a fitted model.

    Parameters
    ----------
    path
        Of the file.
    model
        An estimator of the package.
    about
        What else is to be known of it, as JSON has it.
    arguments
        With which it is fitted again, of the same parts as a model.

    Raises
    ------
    ValueError
        If the model or an argument has a part that is neither array, number, text nor an object of
        the package.
    """
    writer = _Writer()
    content = {"format": FORMAT, "about": about, "model": writer.encode(model, "model")}
    if arguments is not None:
        content["arguments"] = writer.encode(arguments, "arguments")
    with atomic(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(zipfile.ZipInfo(_JSON, _EPOCH), json.dumps(content, ensure_ascii=False))
        for place, array in enumerate(writer.arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            file.writestr(zipfile.ZipInfo(f"{place}.npy", _EPOCH), buffer.getvalue())


def read(path: str | Path) -> tuple[Any, dict[str, Any], dict[str, Any] | None]:
    """Return the model of a file, what else is to be known of it, and the arguments of its fit.

    A file without arguments has None.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is no model of this package, damaged, or of another format.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no model {path}")
    with refused(path, "is no model that can be read"), zipfile.ZipFile(path) as file:
        require_small(file, path.stat().st_size)
        content = json.loads(part_of(file, _JSON))
        if content.get("format") != FORMAT:
            raise ValueError(f"it is of format {content.get('format')}, not {FORMAT}: fit again")
        reader = _Reader(file)
        model, about = reader.decode(content["model"]), content["about"]
        if not (hasattr(model, "predict") and isinstance(about, dict)):
            raise ValueError("it has no estimator, or nothing is said of it")
        arguments = reader.decode(content.get("arguments"))
        _require_answer(model)
        return model, about, arguments


def _require_answer(model: Any) -> None:
    """Refuse a model that cannot predict for one row: what it has is not of its class."""
    units = getattr(model, "_units", None)
    row = np.zeros((1, model.n_features_in_)) if units is None else units.mean_x[None, :]
    try:
        model.predict(row)
    except (FloatingPointError, NotImplementedError):
        return  # it may have none at this x
    except Exception as error:
        raise ValueError(f"it does not predict: {type(error).__name__}: {error}") from None


class _Writer:
    """Turns a model into JSON and a list of arrays; what stands in it twice is written once."""

    def __init__(self):
        self.arrays: list[np.ndarray] = []
        self._kept: list[Any] = []  # holds what `_places` knows by its id
        self._places: dict[int, dict] = {}

    def encode(self, value: Any, name: str) -> Any:
        if type(value) in _PLAIN:
            return value
        if id(value) in self._places:
            return self._places[id(value)]
        if isinstance(value, np.ndarray) and value.dtype != object:
            return self._known(value, {"array": self._array(value)})
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        return self._composed(value, name)

    def _composed(self, value: Any, name: str) -> dict:
        if isinstance(value, np.ndarray) and all(isinstance(each, str) for each in value.flat):
            return {"names": value.ravel().tolist(), "shape": list(value.shape)}
        if isinstance(value, dict):
            pairs = [
                [self.encode(key, f"{name} key"), self.encode(each, f"{name}[{key!r}]")]
                for key, each in value.items()
            ]
            return {"dict": pairs}
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if isinstance(value, tuple | list):
            of = [self.encode(each, f"{name}[{i}]") for i, each in enumerate(value)]
            if type(value) in (tuple, list):
                return {type(value).__name__: of}
            if kind.startswith(_ROOMS):
                return {"class": kind, "fields": of}
        if kind.startswith(_ROOMS) and hasattr(value, "__dict__"):
            number = len(self._kept)
            self._known(value, {"same": number})
            state = {key: self.encode(each, f"{name}.{key}") for key, each in vars(value).items()}
            return {"class": kind, "state": state, "number": number}
        raise ValueError(f"{name} is a {kind}, which no model file can hold")

    def _known(self, value: Any, entry: dict) -> dict:
        self._kept.append(value)
        self._places[id(value)] = entry
        return entry

    def _array(self, value: np.ndarray) -> int:
        if value.dtype.hasobject or value.dtype.kind not in "biufcUS":
            raise ValueError(f"an array of {value.dtype} cannot be written to a model file")
        self.arrays.append(value)
        return len(self.arrays) - 1


class _Reader:
    def __init__(self, file: zipfile.ZipFile):
        self._file = file
        self._objects: dict[int, Any] = {}
        self._arrays: dict[int, np.ndarray] = {}
        self._finite = True

    def decode(self, value: Any) -> Any:
        if isinstance(value, _PLAIN):
            if self._finite and value != value:
                raise ValueError("it has a number that is none (NaN)")
            return value
        if "class" in value:
            return self._object(value)
        if len(value) > 1:
            return np.array(value["names"], dtype=object).reshape(value["shape"])
        ((kind, of),) = value.items()
        match kind:
            case "array":
                return self._array(of)
            case "scalar":
                return self._array(of)[()]
            case "dict":
                return {self.decode(key): self.decode(each) for key, each in of}
            case "same":
                return self._objects[of]
            case "tuple" | "list":
                return {"tuple": tuple, "list": list}[kind](map(self.decode, of))
        raise ValueError(f"it has a part of kind {kind}")

    def _array(self, place: int) -> np.ndarray:
        if place not in self._arrays:
            self._arrays[place] = array_in(self._file, f"{int(place)}.npy")
        found = self._arrays[place]
        if self._finite and found.dtype.kind == "f" and np.isnan(found).any():
            raise ValueError(f"array {place} has values that are no numbers (NaN)")
        return found

    def _object(self, value: dict) -> Any:
        cls = _class(value["class"])
        if "fields" in value:
            return cls(*map(self.decode, value["fields"]))
        made = cls.__new__(cls)
        self._objects[value["number"]] = made
        for key, each in value["state"].items():
            self._finite = key not in _SCORES  # where a candidate failed there is none
            vars(made)[key] = self.decode(each)
        self._finite = True
        if missing := set(getattr(cls, "_get_param_names", list)()) - vars(made).keys():
            raise ValueError(f"it has no {', '.join(sorted(missing))} of {cls.__name__}")
        return made


def _class(name: str) -> type:
    """Return a class of the package by its full name, or raise `ValueError`."""
    module, _, qualname = name.rpartition(".")
    if f"{module}.".startswith(_ROOMS) and source(module) is not None:
        cls = getattr(import_module(module), qualname, None)
        if isinstance(cls, type) and cls.__module__ == module:
            return cls
    raise ValueError(f"it names {name}, which is no class of this version of the package")
