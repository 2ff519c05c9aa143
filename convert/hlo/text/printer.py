"""A Module to HLO text that XLA's own parser reads."""

from __future__ import annotations

from collections.abc import Iterator

from .attributes import KINDS, RAW
from .lexer import spelled
from .literals import write_literal
from .shapes import write_shape
from .tree import Computation, Instruction, Module, Operand

_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def print_module(module: Module) -> str:
    """The module's text, one instruction on a line; parsing it gives the module back.

    Raises:
        InvalidModel: a name that HLO text has no spelling for.
    """
    return "".join(_module(module))


def _module(module: Module) -> Iterator[str]:
    header = {name: value for name, value in module.attributes.items() if name not in _TABLES}
    if module.name or header:
        yield f"HloModule {spelled(module.name or 'module')}"
        yield from (f", {name}={value.text}" for name, value in header.items())
        yield "\n\n"
    for name in _TABLES:
        if name in module.attributes:
            yield f"{name}\n{module.attributes[name].text}\n\n"
    for computation in module.computations:
        yield from _computation(computation, computation.name == module.entry)


def _computation(computation: Computation, entry: bool) -> Iterator[str]:
    yield f"{'ENTRY ' if entry else ''}{spelled(computation.name)} {{\n"
    for index, instruction in enumerate(computation.instructions):
        yield "  ROOT " if index == computation.root else "  "
        yield from _instruction(instruction)
        yield "\n"
    yield "}"
    yield from (f", {name}={value.text}" for name, value in computation.attributes.items())
    yield "\n\n"


def _instruction(instruction: Instruction) -> Iterator[str]:
    yield f"{spelled(instruction.name)} = "
    if instruction.shape is not None:
        yield f"{write_shape(instruction.shape)} "
    yield f"{instruction.opcode}("
    if instruction.opcode == "parameter":
        yield str(instruction.number)
    elif instruction.opcode == "constant":
        yield write_literal(instruction.literal)
    else:
        yield ", ".join(map(_operand, instruction.operands))
    yield ")"
    for name, value in instruction.attributes.items():
        kind = KINDS.get(name, RAW)
        yield f", {name}={kind.write(value)}"


def _operand(operand: Operand) -> str:
    return spelled(operand.name) + "".join(f"#{index}" for index in operand.path)
