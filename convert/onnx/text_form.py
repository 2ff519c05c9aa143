"""ONNX's text form, by ONNX's own parser and printer."""

from __future__ import annotations

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto

from ...passes.errors import InvalidModel, Unsupported

_REFUSALS = (onnx.parser.ParseError, DecodeError, UnicodeError, RuntimeError, ValueError)


def parsed(data: bytes) -> ModelProto:
    """The model in a text.

    Raises:
        InvalidModel: it isn't one; the line is in the message.
    """
    try:
        return onnx.parser.parse_model(data.decode())
    except _REFUSALS as error:
        raise InvalidModel(f"not ONNX text: {_told(error)}") from None


def printed(model: ModelProto) -> str:
    """The text of a model.

    Raises:
        Unsupported: it doesn't read back so: the printer doesn't quote all that names may hold.
    """
    try:
        text = onnx.printer.to_text(model)
        again = onnx.printer.to_text(onnx.parser.parse_model(text))
    except _REFUSALS as error:
        raise Unsupported("ONNX's text form", f"ONNX doesn't read back what it writes: {_told(error)}") from None
    if again != text:
        lines = zip(text.splitlines(), again.splitlines(), strict=False)
        first = next((line.strip() for line, other in lines if line != other), "the end")
        raise Unsupported("ONNX's text form", f"ONNX reads back something else than it writes: {first!r:.120}")
    return text


def _told(error: Exception) -> str:
    """The beginning of an error; the parser's is bytes."""
    told = error.args[0] if error.args else type(error).__name__
    text = told.decode(errors="replace") if isinstance(told, bytes) else str(told)
    return f"{' '.join(text.splitlines()[:2]):.300}"
