"""Inputs of files: out of .npz files, as the models declare them, or designed."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from ..passes.errors import InvalidModel
from ..passes.graph import Value
from ..passes.tensor import typed_array
from ..passes.types import DType, TensorType
from ..runtime.compare.input_roles import signature_of
from ..runtime.compare.inputs import design
from ..runtime.oracles import Values
from .files import hub_of, judged, load


@dataclass(frozen=True, slots=True)
class Samples:
    """Sets of inputs out of files, and the names of these."""

    names: list[str]
    sets: list[dict[str, np.ndarray[Any, Any]]]


def read_samples(path: Path) -> Samples:
    """Inputs from a .npz file, or from all of a folder, in the order of their names.

    Raises:
        InvalidModel: there is no such file, or none in the folder, or one isn't a .npz of plain arrays.
    """
    files = sorted(path.glob("*.npz")) if path.is_dir() else [path]
    if not files:
        raise InvalidModel(f"{path}: no .npz file in this folder")
    return Samples([file.name for file in files], [read_inputs(file) for file in files])


def read_inputs(path: str | Path) -> dict[str, np.ndarray[Any, Any]]:
    """Inputs from a .npz file: one array for each input name.

    Raises:
        InvalidModel: no such file, or not a .npz of plain arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not hasattr(archive, "files"):
                raise InvalidModel(f"{path}: no .npz file")
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror or 'no .npz file'}") from None
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InvalidModel(f"{path}: no .npz file of plain arrays ({str(error).splitlines()[0]})") from None


def as_declared(path: str | Path, inputs: Mapping[str, Any], format: str | None = None) -> Mapping[str, Any]:
    """Inputs for a file, see `typed`.

    Raises:
        InvalidModel: the file has to be read for that, and can't be.
    """
    if not any(is_untyped(value) or _is_python(value) for value in inputs.values()):
        return inputs
    with judged(Path(path), format):
        return typed(inputs, load(path, format).inputs)


def typed(inputs: Mapping[str, Any], declared: Iterable[Value]) -> Mapping[str, Any]:
    """Inputs with the element types that a model declares, where they have none of their own: numbers and lists of
    Python, and arrays of bfloat16, float8, int4 and their like, which a .npz file stores as bytes without a type.

    Raises:
        InvalidModel: an input can't be of the type.
    """
    found = dict(inputs)
    for value in declared:
        array = found.get(value.name)
        if not isinstance(value.type, TensorType) or value.type.dtype is None or array is None:
            continue
        wanted = np.dtype(value.type.dtype.numpy)
        if is_untyped(array) and array.itemsize == wanted.itemsize:
            found[value.name] = array.view(wanted)
        elif _is_python(array):
            found[value.name] = typed_array(array, value.type, f"input {value.name!r}")
    return found


def _is_python(value: Any) -> bool:
    """Whether a value is numbers or text of Python."""
    return isinstance(value, bool | int | float | complex | str | list | tuple)


def check_types(samples: Samples, declared: Iterable[Value]) -> None:
    """
    Raises:
        InvalidModel: an array is of no input, or of another element type than the input is.
    """
    inputs = {value.name: value for value in declared}
    for file, arrays in zip(samples.names, samples.sets, strict=True):
        for name, array in arrays.items():
            if name not in inputs:
                raise InvalidModel(f"{file}: no input {name!r}; there are {', '.join(inputs) or 'none'}")
            type_ = inputs[name].type
            dtype = type_.dtype if isinstance(type_, TensorType) else None
            is_text = array.dtype.kind in "US"
            fits = dtype is None or (dtype is DType.STRING if is_text else array.dtype == np.dtype(dtype.numpy))
            if not fits and not is_untyped(array):
                raise InvalidModel(f"{file}: input {name!r} is {type_}, not {array.dtype}")


def is_untyped(value: Any) -> TypeGuard[np.ndarray[Any, Any]]:
    """Whether an array is of bytes without a type."""
    return isinstance(value, np.ndarray) and value.dtype.type is np.void and value.dtype.names is None


def designed_inputs(path: str | Path, seed: int = 0, format: str | None = None) -> dict[str, Values]:
    """One set of plain inputs for a file: sizes 2 and 3, three trips, conditions true, normal data."""
    (batch,) = design(signature_of(hub_of(path, format)), 1, seed)
    return batch
