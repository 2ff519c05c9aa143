"""The recorded node tests that ship in onnx wheels, fetched with pip into a cache."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper

CACHE = Path(os.environ.get("BACKEDGE_CORPUS", Path.home() / ".cache" / "backedge-corpus"))


def fetch(version: str) -> Path:
    """The unpacked `backend/test/data/node` folder of an onnx wheel."""
    folder = CACHE / f"onnx-{version}"
    data = folder / "onnx" / "backend" / "test" / "data" / "node"
    if data.is_dir():
        return data
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    subprocess.run([*command, f"onnx=={version}"], check=True, capture_output=True, timeout=600)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if "/backend/test/data/node/" in name])
    return data


@dataclass(frozen=True)
class Recorded:
    """One node test: its model file, and recorded inputs and outputs in the model's order."""

    name: str
    path: Path

    def model(self) -> onnx.ModelProto:
        return onnx.load(self.path)

    def sets(self) -> Iterator[tuple[list[Any], list[Any]]]:
        model = onnx.load(self.path, load_external_data=False)
        constants = {tensor.name for tensor in model.graph.initializer}
        fed = [info for info in model.graph.input if info.name not in constants or model.ir_version >= 4]
        for folder in sorted(self.path.parent.glob("test_data_set_*")):
            inputs = [_value(folder / f"input_{k}.pb", info) for k, info in enumerate(fed)]
            outputs = [_value(folder / f"output_{k}.pb", info) for k, info in enumerate(model.graph.output)]
            yield inputs, outputs


def _value(path: Path, info: onnx.ValueInfoProto) -> Any:
    if not path.exists():
        return None
    kind = info.type.WhichOneof("value")
    raw = path.read_bytes()
    if kind == "sequence_type":
        proto = SequenceProto()
        proto.ParseFromString(raw)
        return [_array(item) for item in numpy_helper.to_list(proto)]
    if kind == "optional_type":
        optional = OptionalProto()
        optional.ParseFromString(raw)
        found = numpy_helper.to_optional(optional)
        return [_array(item) for item in found] if isinstance(found, list) else None if found is None else _array(found)
    tensor = TensorProto()
    tensor.ParseFromString(raw)
    return _array(numpy_helper.to_array(tensor))


def _array(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype(object) if array.dtype.kind in "US" else array


def recorded(version: str) -> list[Recorded]:
    """All recorded node tests of a release."""
    return [Recorded(path.parent.name, path) for path in sorted(fetch(version).glob("*/model.onnx"))]


def same(expected: Any, actual: Any, rtol: float = 1e-3, atol: float = 1e-5) -> bool:
    """The corpus' own rule: exact dtype and shape, floats within rtol and atol."""
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(same(one, other, rtol, atol) for one, other in zip(expected, actual, strict=True))
        )
    if expected is None or actual is None or isinstance(actual, list):
        return expected is None and actual is None
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return False
    if expected.dtype.kind in "OUSbiu":
        return bool(np.array_equal(expected, actual))
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    return bool(np.allclose(actual.astype(wide), expected.astype(wide), rtol, atol, equal_nan=True))
