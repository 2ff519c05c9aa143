"""The files XLA's programs come in, told apart by what they hold, and read by jaxlib's own bindings.

Everything here may abort the process when a file is damaged: call it in a process of its own.
"""

from __future__ import annotations

import importlib
import re
from typing import Any, Literal

from ...passes.errors import InvalidModel

Kind = Literal["hlo", "mlir", "bytecode", "export", "proto"]
"""HLO text, MLIR text, MLIR bytecode (portable artifacts are that), what `jax.export` writes, a serialized
HloModuleProto or HloProto."""

_BYTECODE = b"ML\xefR"
_MLIR = re.compile(
    rb"\s*(?:(?://[^\n]*\n|[#!][\w.-]+\s*=[^\n]*\n|\{-#.*?#-\})\s*)*"  # comments, aliases, resources
    rb'"?(?:builtin\.)?(?:module|func\.func)\b',
    re.DOTALL,
)
_HLO = re.compile(rb"\bHloModule\b|\bENTRY\b| = ")
_NOT_TEXT = re.compile(rb"[\0-\x08\x0e-\x1f]")
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NAME_TAG = 0x0A  # field 1, length-delimited: a HloModuleProto's name, a HloProto's module


def bindings() -> tuple[Any, Any]:
    """jaxlib's modules `_hlo`, which stands in `_jax` before jaxlib 0.10, and `_jax`."""
    jax = importlib.import_module("jaxlib._jax")
    try:
        return importlib.import_module("jaxlib._hlo"), jax
    except ImportError:
        return jax, jax


def kind_of(data: bytes) -> Kind:
    """What a file holds.

    Raises:
        InvalidModel: none of these.
    """
    if data.startswith(_BYTECODE):
        return "bytecode"
    if _NOT_TEXT.search(data[:4096]) is None:
        if _MLIR.match(data):
            return "mlir"
        if _HLO.search(data):
            return "hlo"
    elif _BYTECODE in data:
        return "export"
    elif data[:1] == bytes([_NAME_TAG]):
        return "proto"
    raise InvalidModel("this is neither HLO nor StableHLO: no text, no MLIR bytecode, no jax.export, no HloModuleProto")


def exported_bytecode(data: bytes) -> bytes:
    """The module inside what `jax.export` wrote: a vector of a FlatBuffer, so its length stands before it.

    Raises:
        InvalidModel: the file is cut off.
    """
    start = data.index(_BYTECODE)
    length = int.from_bytes(data[max(0, start - 4) : start], "little")
    if start < 4 or start + length > len(data):
        raise InvalidModel("the file of jax.export is cut off")
    return data[start : start + length]


def stablehlo_of(data: bytes) -> bytes | None:
    """The StableHLO in a file, as text or bytecode; None where it holds HLO.

    Raises:
        InvalidModel: it holds neither, is cut off, or constants are left out of it.
    """
    kind = kind_of(data)
    if kind in ("hlo", "proto"):
        return None
    refuse_elided_data(data)
    return exported_bytecode(data) if kind == "export" else data


def module_proto(data: bytes) -> bytes:
    """The HloModuleProto in a file that holds it alone or in a HloProto.

    Raises:
        InvalidModel: the file is cut off.
    """
    length = shift = 0
    at = 1
    while True:
        if at >= len(data) or shift > 35:
            raise InvalidModel("the file of an HloModuleProto is cut off")
        length |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            break
    content = data[at : at + length]
    return content if content[:1] == bytes([_NAME_TAG]) else data  # no module's name begins with a line's end


def without_strings(text: str) -> str:
    """HLO text with every string empty, so that only what it computes is found in it."""
    return _STRINGS.sub('""', text)


def refuse_elided(text: str) -> None:
    """XLA reads `constant({...})`, whose numbers a dump left out, as some numbers or other.

    Raises:
        InvalidModel: the text has one.
    """
    if "{...}" in without_strings(text):
        raise InvalidModel("constants are left out of this text ({...}): print it with print_large_constants")


def refuse_elided_data(data: bytes) -> None:
    """
    Raises:
        InvalidModel: constants are left out of MLIR's text.
    """
    if b"__elided__" in data:
        raise InvalidModel("constants are left out of this text (__elided__)")


def hlo_computation(text: str) -> Any:
    """A jaxlib XlaComputation of HLO text.

    Raises:
        Exception: jaxlib's refusals.
    """
    hlo, _ = bindings()
    return hlo.XlaComputation(hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def read_computation(data: bytes) -> Any:
    """A jaxlib XlaComputation of a file of any kind.

    Raises:
        InvalidModel: it isn't one, or numbers are left out of it.
        Exception: jaxlib's own refusals.
    """
    hlo, jax = bindings()
    kind = kind_of(data)
    if kind == "proto":
        return hlo.XlaComputation(module_proto(data))
    if kind == "hlo":
        text = data.decode(errors="replace")
        refuse_elided(text)
        return hlo_computation(text)
    module = stablehlo_of(data)
    assert module is not None
    return jax.mlir.mlir_module_to_xla_computation(module.decode(errors="replace") if kind == "mlir" else module)
