"""Tensors whose data lies in a file beside the model: mapped, never loaded whole; written chunk by chunk."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from onnx import TensorProto, numpy_helper

from ...passes.errors import InvalidModel
from ...passes.limits import FileBytes
from ...passes.protos import dtype_of, tensor_to_proto
from ...passes.tensor import TensorData
from ..file_state import FileState

_CHUNK = 1 << 24
ALIGNMENT = 4096
"""Offsets are multiples of this, as memory maps like them."""


class DataFile:
    """A file beside a model, as it was when the model was read.

    Raises:
        OSError: there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = FileState.of(path)
        self.used = FileBytes()

    @contextlib.contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """The file, to be read.

        Raises:
            InvalidModel: it isn't there any more, or isn't what it was.
        """
        try:
            file = self.path.open("rb")
        except OSError as error:
            raise InvalidModel(f"external data {self.path} can't be read: {error.strerror or error}") from None
        with file:
            if change := self.state.change(file.fileno()):
                raise InvalidModel(f"external data {self.path} was {change} since its model was read")
            yield file


@dataclass(frozen=True, slots=True)
class External:
    """Where external data was found; a TensorData's `origin`."""

    proto: TensorProto
    file: DataFile
    offset: int
    length: int


def read_external(proto: TensorProto, where: str, folder: Path, files: dict[Path, DataFile]) -> TensorData:
    """The data of a TensorProto with `data_location` EXTERNAL, mapped from a file in (or below) `folder`.

    Args:
        files: those of the model that were found so far.

    Raises:
        InvalidModel: the location leaves the folder or is missing, or the range lies outside the file
            or doesn't fill the shape.
    """
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get("location", "")
    dtype = dtype_of(proto.data_type, where)
    shape = tuple(proto.dims)
    if dtype is None or not dtype.bits or any(dim < 0 for dim in shape):
        raise InvalidModel(f"{where}: external data of an impossible type or shape")
    root = folder.resolve()
    path = (root / location).resolve()
    if not location or "\0" in location or not path.is_relative_to(root) or path == root:
        raise InvalidModel(f"{where}: external data {location!r} is outside of the model's folder")
    if not path.is_file():
        raise InvalidModel(f"{where}: external data file {location!r} is missing")
    file = files.get(path) or files.setdefault(path, DataFile(path))
    data = TensorData(dtype, shape)
    try:
        offset = int(entries.get("offset") or 0)
        length = int(entries.get("length") or data.nbytes)
    except ValueError:
        raise InvalidModel(f"{where}: external data offset or length is no number") from None
    if length != data.nbytes:
        raise InvalidModel(f"{where}: external data has {length} bytes, its shape {list(shape)} needs {data.nbytes}")
    if offset < 0 or offset + length > file.state.size:
        raise InvalidModel(f"{where}: external data ends past the end of {location!r}")
    file.used.add(length)
    origin = External(proto, file, offset, length)
    return TensorData(dtype, shape, load=_loader(origin), origin=origin)


def _loader(origin: External) -> Callable[[], np.ndarray[Any, Any]]:
    def load() -> np.ndarray[Any, Any]:
        dtype = dtype_of(origin.proto.data_type, str(origin.file.path))
        assert dtype is not None
        data = TensorData(dtype, tuple(origin.proto.dims))
        if not origin.length:
            return np.zeros(data.shape, data.dtype.numpy)
        with origin.file.opened() as file:
            raw = np.memmap(file, np.uint8, "r", origin.offset, (origin.length,))
        if data.dtype.bits >= 8:
            return raw.view(data.dtype.numpy).reshape(data.shape)
        packed = TensorProto(data_type=origin.proto.data_type, dims=origin.proto.dims, raw_data=raw.tobytes())
        return numpy_helper.to_array(packed)

    return load


class ExternalWriter:
    """Appends tensors to one data file; gives the protos that point there."""

    def __init__(self, file: BinaryIO, location: str) -> None:
        self._file = file
        self._location = location

    def add(self, data: TensorData, name: str) -> TensorProto:
        """Copy the data to the file (in chunks where it is mapped) and return its proto."""
        self._file.write(b"\0" * (-self._file.tell() % ALIGNMENT))
        offset = self._file.tell()
        proto = TensorProto(name=name, dims=list(data.shape), data_location=TensorProto.EXTERNAL)
        if isinstance(data.origin, External):
            source = data.origin
            proto.data_type = source.proto.data_type
            proto.doc_string = source.proto.doc_string
            proto.metadata_props.extend(source.proto.metadata_props)
            with source.file.opened() as file:
                file.seek(source.offset)
                left = source.length
                while left:
                    chunk = file.read(min(left, _CHUNK))
                    if not chunk:
                        raise InvalidModel(f"{name}: external data shrank while it was being copied")
                    self._file.write(chunk)
                    left -= len(chunk)
        else:
            whole = tensor_to_proto(data, name)
            proto.data_type = whole.data_type
            raw = whole.raw_data
            if not raw and data.size:
                raw = numpy_helper.from_array(np.ascontiguousarray(data.numpy())).raw_data
            self._file.write(raw)
        length = self._file.tell() - offset
        for key, value in (("location", self._location), ("offset", str(offset)), ("length", str(length))):
            proto.external_data.add(key=key, value=value)
        return proto
