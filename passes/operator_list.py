"""Lists of the operators that a tool takes, as makers of importers and NPUs publish them.

A list is text, one operator a line, with what limits it:

    # whose list
    opset 7-17
    default types=float32,float16 rank=1..5
    Abs
    Conv rank=3..5 constant=1,2
    Resize mode=nearest,linear
    com.microsoft.QLinearAdd

- `opset`: the opsets of ai.onnx that the tool reads.
- `default`: limits of every operator that doesn't state the same limit itself.
- `types`: element types of the first input, of the first output where there is no input.
- `rank`: of the first input and the first output, `4` or `1..5`.
- `constant`: the inputs, counted from 0, that must be constants where they are given.
- anything else: an attribute, and the values that it may have. A negative axis stands for itself counted from the back.

Constants are no operators: `Constant` is always taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import onnx.defs

from . import operator_profiles
from .attributes import NodeAttributes
from .core import CORE
from .errors import InvalidModel
from .graph import Node, Value
from .operator_profiles import profile_path, profiles
from .types import DType

_TYPES = {dtype.value: dtype for dtype in DType}


@dataclass(frozen=True, slots=True)
class Limits:
    """What an operator is limited to; None or nothing: to nothing.

    Attributes:
        types: element types of the first input.
        rank: the least and the largest of the first input and output.
        constant: inputs that must be constants.
        attributes: name -> its values, as text.
    """

    types: frozenset[DType] | None = None
    rank: tuple[int, int] | None = None
    constant: tuple[int, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OperatorList:
    """The operators that a target takes.

    Attributes:
        name: of the list, for messages.
        operators: (domain, operator) -> its limits.
        opsets: the first and the last opset of ai.onnx that the target reads; None: all.
    """

    name: str
    operators: Mapping[tuple[str, str], Limits]
    opsets: tuple[int, int] | None = None

    def objection(self, node: Node) -> str:
        """Why the target doesn't take a node; "" where it does."""
        if node.op == ("", "Constant"):
            return ""
        limits = self.operators.get(node.op)
        if limits is None:
            return f"{self.name} doesn't list {_title(node)}"
        return next((f"{self.name} takes {_title(node)} {text}" for text in _exceeded(node, limits)), "")


def _title(node: Node) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _exceeded(node: Node, limits: Limits) -> Iterator[str]:
    """The limits that a node doesn't keep, in words that go on after "takes X"."""
    values = [value for value in (*node.formal_inputs[:1], *node.outputs[:1]) if value is not None and value.name]
    if limits.types is not None and values:
        dtype = values[0].tensor.dtype
        if dtype is None or dtype not in limits.types:
            names = ", ".join(sorted(one.value for one in limits.types))
            yield f"of {names} only, not of {'an unknown type' if dtype is None else dtype.value}"
    if limits.rank is not None:
        least, most = limits.rank
        for value in values:
            if value.rank is None:
                yield f"of rank {least} to {most} only; that of {value.name!r} isn't known"
            elif not least <= value.rank <= most:
                yield f"of rank {least} to {most} only; {value.name!r} has {value.rank}"
    for index in limits.constant:
        value = node.input(index)
        if value is not None and value.data is None:
            yield f"with a constant input {index} only; {value.name!r} is computed"
    attrs = NodeAttributes(node)
    for name, allowed in limits.attributes.items():
        value = attrs.get(name)
        if value is not None and not any(_is(node, value, text) for text in allowed):
            yield f"with {name}={' or '.join(allowed)} only, not {_text(value)}"


def _is(node: Node, value: object, text: str) -> bool:
    """Whether an attribute has the value that a list writes as `text`."""
    if isinstance(value, int | float):
        number = float(text) if _is_number(text) else None
        rank = _rank(node.input(0))
        if number is not None and isinstance(value, int) and value >= 0 > number and rank is not None:
            return value - rank == number
        return value == number
    return _text(value) == text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rank(value: Value | None) -> int | None:
    return None if value is None else value.rank


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


# reading -------------------------------------------------------------------------------------------


def operator_list(source: str | Path | Sequence[str]) -> OperatorList:
    """The list in a file, the one that comes with this package under a name, or one of operators' names.

    Raises:
        InvalidModel: there is none, or a line of it isn't understood.
    """
    if source == operator_profiles.CORE:
        return _parsed(str(source), list(CORE), str(source))
    if not isinstance(source, str | Path):
        return _parsed("the list", source, "the list")
    path = profile_path(str(source)) if str(source) in profiles() else Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = f"; there are the profiles {', '.join(profiles())}" if isinstance(error, FileNotFoundError) else ""
        reason = error.strerror if isinstance(error, OSError) else "it isn't text"
        raise InvalidModel(f"{source}: {reason}{why}") from None
    return _parsed(path.stem, text.splitlines(), str(source))


def _parsed(name: str, lines: Sequence[str], where: str) -> OperatorList:
    operators: dict[tuple[str, str], Limits] = {}
    opsets: tuple[int, int] | None = None
    default = Limits()
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        location = f"{where}, line {number}"
        if words[0] == "opset" and len(words) == 2:
            opsets = _range(words[1], "-", location)
        elif words[0] == "default":
            default = _limits(words[1:], Limits(), location)
        else:
            key = _operator(words[0], location)
            if key in operators:
                raise InvalidModel(f"{location}: {words[0]} is listed twice")
            operators[key] = _limits(words[1:], default, location)
    if not operators:
        raise InvalidModel(f"{where}: it lists no operator")
    return OperatorList(name, operators, opsets)


def _operator(text: str, location: str) -> tuple[str, str]:
    """(domain, name) of an operator; ONNX's own are written without their domain."""
    domain, _, name = text.rpartition(".")
    if domain in ("", "ai.onnx") and name not in _onnx_operators():
        raise InvalidModel(f"{location}: ONNX has no operator {text}")
    return ("" if domain == "ai.onnx" else domain), name


@cache
def _onnx_operators() -> frozenset[str]:
    return frozenset(entry.name for entry in onnx.defs.get_all_schemas_with_history() if not entry.domain)


def _limits(words: Sequence[str], default: Limits, location: str) -> Limits:
    types, rank, constant, attributes = default.types, default.rank, default.constant, dict(default.attributes)
    for word in words:
        key, _, text = word.partition("=")
        items = tuple(item for item in text.split(",") if item)
        if not items:
            raise InvalidModel(f"{location}: {word!r} is not of the form NAME=VALUE,...")
        if key == "types":
            unknown = [item for item in items if item not in _TYPES]
            if unknown:
                raise InvalidModel(f"{location}: there is no element type {unknown[0]}")
            types = frozenset(_TYPES[item] for item in items)
        elif key == "rank":
            rank = _range(text, "..", location)
        elif key == "constant":
            if not all(item.isdecimal() for item in items):
                raise InvalidModel(f"{location}: {word!r} doesn't name inputs by their numbers")
            constant = tuple(int(item) for item in items)
        else:
            attributes[key] = items
    return Limits(types, rank, constant, attributes)


def _range(text: str, separator: str, location: str) -> tuple[int, int]:
    first, _, last = text.partition(separator)
    if not first.isdecimal() or not (last or first).isdecimal():
        raise InvalidModel(f"{location}: {text!r} is not of the form A{separator}B")
    return int(first), int(last or first)
