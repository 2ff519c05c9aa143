"""One version step of an operator, both ways: what a row of the tables says.

A step lies between two neighbouring versions of an operator and is found under the later one. An
adapter is a function `(op, node) -> made`: `node` stands at the one version, and `made` is

- None: nothing to do, the node means the same at the other version;
- a Node: the same outputs from other inputs, attributes, or another operator (`changed`);
- values, one for each output: what was built with `op.X(...)` instead.

What is built is at the opset of the step (going up: the one that brought the later version; going
down: the last one before it) and goes on through its own steps from there. An adapter that can't
say the same refuses: it raises `Unsupported(node, reason)`. A string in place of an adapter is the
reason why nothing can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attributes import single
from ..constant_analysis import static_array
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..protos import ENUMS, AttributeRef
from ..rewrite import Builder, Rule
from ..schemas import HUB_OPSET
from ..types import DType, TensorType

Made = Node | Value | Sequence[Value] | None
Adapter = Callable[[Any, Node], Made]


def same(op: Builder, node: Node) -> None:
    """The other version means the same for everything that its types allow."""


KindOf = Callable[[Value], DType | None]
"""Tells the element type of a value."""


@dataclass(frozen=True, slots=True)
class Conditional:
    """An adapter that leaves a node as it is, unless the node is of those that it concerns: that is cheap to tell."""

    adapt: Adapter
    concerns: Callable[[Node, KindOf], bool]

    def __call__(self, op: Any, node: Node) -> Made:
        return self.adapt(op, node)


def for_attributes(names: Iterable[str], adapt: Adapter) -> Adapter:
    """An adapter that concerns nodes with one of some attributes."""
    found = frozenset(names)
    return Conditional(adapt, lambda node, _: not found.isdisjoint(node.attributes))


def for_inputs(indices: Iterable[int], adapt: Adapter) -> Adapter:
    """An adapter that concerns nodes with one of some optional inputs."""
    found = tuple(indices)
    return Conditional(adapt, lambda node, _: any(node.input(index) is not None for index in found))


@dataclass(frozen=True, slots=True)
class Step:
    """A version step: its adapters, or the reason for having none."""

    up: Adapter | str
    down: Adapter | str


SAME = Step(same, same)

SHORT_INTEGERS = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)
INT64_MIN, INT64_MAX = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)

Key = tuple[str, int]
"""(operator, later version) of a step; an operator of another domain than ai.onnx is "domain.Operator"."""
Rows = Mapping[Key, Step]


def rows(operators: str, version: int, step: Step) -> dict[Key, Step]:
    """The same step for several operators (their names with blanks between)."""
    return {(name, version): step for name in operators.split()}


# what adapters ask ---------------------------------------------------------------------------------


def attribute(node: Node, name: str, default: Any = None) -> Any:
    """The value of an attribute (strings as str, numbers as the float32 that they are).

    Raises:
        Unsupported: it stands for an attribute of the function around it, whose value isn't known here.
    """
    value = node.attributes.get(name, default)
    if isinstance(value, AttributeRef):
        raise Unsupported(node, f"attribute {name} is given by the function around it; inline the function first")
    if isinstance(value, float):
        return single(value)
    return value.decode() if isinstance(value, bytes) else value


def required_attribute(node: Node, name: str) -> Any:
    """The value of an attribute that must be there."""
    value = attribute(node, name)
    if value is None:
        raise InvalidModel(f"{node!r}: attribute {name} is missing")
    return value


def static_shape(node: Node, value: Value | None) -> tuple[int | str, ...]:
    """The shape of a value, of sizes and symbols, that must be known."""
    shape = value.tensor.shape if value is not None else None
    dims = tuple(dim for dim in shape or () if isinstance(dim, int | str))
    if shape is None or len(dims) < len(shape):
        raise Unsupported(node, f"the shape of {value.name if value else 'an input'!r} isn't known")
    return dims


def constant(node: Node, index: int) -> np.ndarray[Any, Any] | None:
    """The array of a formal input that is certain before anything runs; None where it is left out or isn't."""
    return static_array(node.input(index))


def wanted(node: Node, index: int) -> bool:
    """Whether an optional output is asked for."""
    return index < len(node.outputs) and bool(node.outputs[index].name)


# what adapters make --------------------------------------------------------------------------------


def changed(
    node: Node,
    *,
    inputs: Sequence[Value | None] | None = None,
    without: Sequence[str] = (),
    outputs: int | None = None,
    op_type: str | None = None,
    **attributes: Any,
) -> Node:
    """The node with other formal inputs, without or with other attributes, with fewer outputs, renamed."""
    twin = Node(node.domain, op_type or node.op_type, node.version, node.name)
    twin.meta = node.meta
    twin.captured = node.captured
    twin.regions = node.regions
    twin.outputs = node.outputs[:outputs]
    twin.attributes = {name: value for name, value in node.attributes.items() if name not in without}
    twin.attributes.update({name: value for name, value in attributes.items() if value is not None})
    formal = list(node.formal_inputs if inputs is None else inputs)
    while formal and formal[-1] is None:
        formal.pop()
    twin.inputs = [*formal, *node.captures]
    return twin


def with_input(inputs: Sequence[Value | None], index: int, value: Value | None) -> list[Value | None]:
    """Inputs with another one at `index`, which may lie behind their end."""
    longer = [*inputs, *[None] * (index + 1 - len(inputs))]
    longer[index] = value
    return longer


def as_type(op: Any, value: Value, kind: DType, saturate: int | None = None) -> Value:
    """A tensor cast to another element type, unless it has it. (bfloat16 can be cast from version 13 on.)"""
    if value.tensor.dtype is kind:
        return value
    least = 13 if DType.BFLOAT16 in (value.tensor.dtype, kind) else 6  # before, Cast spelled its target
    if op.opsets[""] < least:
        op = op.at(least)
    return op.Cast(value, to=ENUMS[kind], saturate=saturate, _types=[tensor_type(value, kind)])


def tensor_type(value: Value, dtype: DType) -> TensorType:
    """The type of a value with another element type."""
    return TensorType(dtype, value.tensor.shape)


def work_type(kind: DType) -> DType:
    """The type in which floats of a type are computed: at least float32."""
    return kind if kind in (DType.FLOAT32, DType.FLOAT64) else DType.FLOAT32


def chained(op: Builder, op_type: str, values: Sequence[Value]) -> Value:
    """Values joined by a binary operator, one after the other."""
    made = values[0]
    for value in values[1:]:
        made = op.call(op_type, made, value)
    return made


def numbers(op: Builder, values: Any, dtype: DType = DType.INT64) -> Value:
    """A constant vector."""
    return op.const(np.asarray(values).reshape(-1), dtype)


def decomposed(rule: Rule) -> Adapter:
    """What a decomposition builds of the hub's operators."""
    return lambda op, node: rule(op.at(HUB_OPSET), node)
