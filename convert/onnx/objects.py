"""ONNX models in memory <-> files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx

from ...passes.errors import InvalidModel
from ...passes.libraries import needed

if TYPE_CHECKING:
    import onnx_ir

_FIELDS = b"\x08\x12\x1a\x3a"  # the tags of ir_version, producer_name, producer_version and graph
_TEXT = re.compile(rb"\s*<\s*ir_version\s*:")
_LARGEST = 1 << 31  # bytes; protobuf stops there


def suffix_of(data: bytes) -> str:
    """The suffix of a file with this content, "" where it is of another format."""
    if _TEXT.match(data):
        return ".onnxtxt"
    return ".onnx" if data[:1] and data[:1] in _FIELDS else ""


def store_proto(model: onnx.ModelProto, folder: Path) -> Path:
    """A ModelProto as a file.

    Raises:
        InvalidModel: it has more than 2 GiB, and onnx-ir, which writes such models, isn't installed.
    """
    path = folder / "model.onnx"
    if model.ByteSize() >= _LARGEST:
        with needed("onnx_ir", "a ModelProto of more than 2 GiB"):
            import onnx_ir
        return store_ir(onnx_ir.from_proto(model), folder)
    path.write_bytes(model.SerializeToString())
    return path


def store_ir(model: onnx_ir.Model, folder: Path) -> Path:
    """An onnx_ir model as a file; its large constants beside it."""
    import onnx_ir

    path = folder / "model.onnx"
    onnx_ir.save(model, path, external_data="model.onnx.data")
    return path


def store_script(function: Any, folder: Path) -> Path:
    """A function of ONNX Script, whose parameters are annotated, as a file."""
    return store_proto(function.to_model_proto(), folder)


def store_program(program: Any, folder: Path) -> Path:
    """What `torch.onnx.export` gives, as a file."""
    return store_ir(program.model, folder)


def to_object(path: Path) -> onnx.ModelProto:
    """A file as a ModelProto, with its external data where these fit.

    Raises:
        InvalidModel: protobuf can't hold it.
    """
    try:
        return onnx.load(path)
    except Exception as error:
        raise InvalidModel(f"the model doesn't fit a ModelProto, convert it to a file: {error}") from None
