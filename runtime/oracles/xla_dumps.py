"""What XLA's compiler writes and its own entrance doesn't take, as what it stands for.

A module that is dumped after optimization holds fusions, bitcasts and layouts, which only the compiler's end may make:
given one, XLA refuses it ("unexpected bitcast operation", "fusion must have backend config") or ends the process.

| in the dump | here |
|---|---|
| fusion | a call of its computation |
| bitcast | the memory of its operand: transpose, bitcast-convert, reshape, transpose |
| domain, add-dependency | a copy: StableHLO has none of tuples |
| layouts | none; but of custom calls, whose routines go by them |
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from ...passes.errors import Unsupported
from .xla_files import bindings, without_strings

_FOUND = re.compile(r" (?:fusion|bitcast|domain|add-dependency)\(")
_LAYOUT = re.compile(r"(?<=\])\{[\d,]*(?::[^{}]*)?\}")
_ARRAY = r"(\w+)\[([\d,]*)\](?:\{([\d,]*)([^{}]*)\})?"
_BITCAST = re.compile(rf"(\s*(?:ROOT )?)(\S+) = {_ARRAY} bitcast\({_ARRAY} (\S+)\)(?:,.*)?")
_FUSION = re.compile(r", kind=k\w+|, output_to_operand_aliasing=\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_HANDED_ON = re.compile(r" (?:domain|add-dependency)\((.+?)(?:, token\[\] \S+)?\)(?:, .*)?$")


def plain(text: str) -> str:
    """A module without what only the compiler may write; the text itself where it has none of that.

    Args:
        text: the module, as XLA prints it.

    Raises:
        Unsupported: a bitcast whose operand's memory isn't told.
    """
    if _FOUND.search(without_strings(text)) is None:
        return text
    hlo, _ = bindings()
    options = hlo.HloPrintOptions()
    options.print_large_constants = options.print_operand_shape = True
    options.print_metadata = False
    header, _, rest = hlo.hlo_module_from_text(text).to_string(options).partition("\n")
    lines = [made for line in rest.split("\n") for made in _line(line)]
    return "\n".join([header.partition(",")[0], *lines])


def _line(line: str) -> Iterator[str]:
    """What stands for a line of the module."""
    if " custom-call(" in line:
        yield line
        return
    if found := _BITCAST.fullmatch(line):
        yield from _bitcast(*found.groups(default=""))
        return
    if " fusion(" in line:
        line = _FUSION.sub("", line).replace(" fusion(", " call(").replace(", calls=", ", to_apply=")
    yield _LAYOUT.sub("", _HANDED_ON.sub(r" copy(\1)", line))


def _bitcast(start: str, name: str, *parts: str) -> Iterator[str]:
    to, sizes, layout, more, kind, dims, order, other, operand = parts
    if "T(" in more + other or ("pred" in (to, kind) and to != kind):
        raise Unsupported("bitcast", f"how {kind}[{dims}] lies in memory isn't told")
    shape, wanted = ([int(size) for size in text.split(",") if size] for text in (dims, sizes))
    inner, outer = _slowest_first(order, len(shape)), _slowest_first(layout, len(wanted))
    count, total = math.prod(shape), math.prod(wanted)
    steps = [(kind, [shape[axis] for axis in inner], "transpose", inner), (kind, [count], "reshape", None)]
    if count > total:
        steps.append((kind, [total, count // total], "reshape", None))
    if kind != to:
        steps.append((to, [count, total // count] if total > count else [total], "bitcast-convert", None))
    steps.append((to, [wanted[axis] for axis in outer], "reshape", None))
    steps.append((to, wanted, "transpose", [outer.index(axis) for axis in range(len(outer))]))
    for place, (dtype, result, opcode, perm) in enumerate(steps, 1):
        last = place == len(steps)
        mine = name if last else f"{name}.memory{place}"
        moved = "" if perm is None else f", dimensions={{{_text(perm)}}}"
        yield f"{start if last else '  '}{mine} = {dtype}[{_text(result)}] {opcode}({operand}){moved}"
        operand = mine


def _slowest_first(layout: str, rank: int) -> list[int]:
    """The dimensions in the order in which they lie in memory."""
    return [int(axis) for axis in layout.split(",")][::-1] if layout else list(range(rank))


def _text(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
