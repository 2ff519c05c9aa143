"""Which functions outside of it a module may call: those that need nothing but their operands.

A custom call names a function that is registered in the process, and XLA hands it what the file says. The functions
that call Python take an address from the file and run what stands there; others take sizes or pointers on trust. So a
module is run where all that it calls stands in this list, whatever a later jaxlib registers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from ...passes.errors import Unsupported

ANNOTATIONS = frozenset(
    """
    LayoutConstraint MoveToDevice MoveToHost SPMDFullToShardShape SPMDShardToFullShape ShardBarrierFrom ShardBarrierTo
    Sharding annotate_device_placement
    """.split()  # noqa: SIM905
)
"""Targets that say where a value is to be, and leave it as it is."""

_EXPANDED = frozenset(["Eigh", "ProductOfElementaryHouseholderReflectors", "Qr", "TopK"])
"""Targets that XLA's compiler replaces by instructions."""

_DIALECTS = re.compile(r"(?:chlo|mhlo|stablehlo|xla\.sdy)\.\w+")
"""Operations of MLIR's dialects under their own names, which no function can have."""

_PYTHON = re.compile(r"python_\w*callback")

_COMPUTATIONS, _INSTRUCTIONS, _NAME, _OPCODE, _TARGET = 3, 2, 1, 2, 28
"""Fields of HloModuleProto, HloComputationProto and, the last three, HloInstructionProto."""


def calls_python(target: str) -> bool:
    """Whether a target calls a function of the Python process that traced the model, by an address in the file."""
    return _PYTHON.search(target) is not None


def is_annotation(target: str) -> bool:
    """Whether a target leaves its operands as they are."""
    return target in ANNOTATIONS or target.startswith("xla.sdy.")


def refuse_calls(computation: Any, registered: Collection[str]) -> None:
    """Refuse a module that calls anything else than is told above.

    The module's own record is asked, of which XLA makes what it runs: in text a name may be spelled in many ways.

    Args:
        computation: a jaxlib XlaComputation.
        registered: LAPACK's routines.

    Raises:
        Unsupported: with the instruction's name and the target.
    """
    for name, target in calls_in(computation.as_serialized_hlo_module_proto()):
        if target in registered or target in ANNOTATIONS or target in _EXPANDED or _DIALECTS.fullmatch(target):
            continue
        if calls_python(target):
            raise Unsupported(
                f"custom-call {name}", f"{target} calls a function of the Python process that traced the model"
            )
        raise Unsupported(f"custom-call {name}", f"{target!r} isn't among the functions that are called here")


def calls_in(module: bytes) -> Iterator[tuple[str, str]]:
    """(name, target) of all custom calls in all computations of a serialized HloModuleProto."""
    for _, computation in _fields(memoryview(module), (_COMPUTATIONS,)):
        for _, instruction in _fields(computation, (_INSTRUCTIONS,)):
            found = list(_fields(instruction, (_NAME, _OPCODE, _TARGET)))
            named = {field: _text(content) for field, content in found}
            targets = [_text(content) for field, content in found if field == _TARGET]
            if targets or named.get(_OPCODE) == "custom-call":
                yield from ((named.get(_NAME, "custom-call"), target) for target in targets or [""])


def _text(content: memoryview) -> str:
    return bytes(content).decode(errors="backslashreplace")


def _fields(message: memoryview, wanted: Collection[int]) -> Iterator[tuple[int, memoryview]]:
    """The fields of a message of protobuf that are wanted and have a length, in order."""
    at = 0
    while at < len(message):
        tag, at = _number(message, at)
        kind = tag & 7
        if kind == 0:
            _, at = _number(message, at)
        elif kind == 2:
            length, at = _number(message, at)
            if tag >> 3 in wanted:
                yield tag >> 3, message[at : at + length]
            at += length
        else:
            at += {1: 8, 5: 4}[kind]


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """A varint, and where it ends."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return number, at
