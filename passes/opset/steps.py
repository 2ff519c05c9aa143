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
from onnx import AttributeProto

from ..constant_analysis import static_array
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..protos import ENUMS, AttributeRef, TypedList
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
    """The value of an attribute (strings as str).

    Raises:
        Unsupported: it stands for an attribute of the function around it, whose value isn't known here.
    """
    value = node.attributes.get(name, default)
    if isinstance(value, AttributeRef):
        raise Unsupported(node, f"attribute {name} is given by the function around it; inline the function first")
    return value.decode() if isinstance(value, bytes) else value


def required_attribute(node: Node, name: str) -> Any:
    """The value of an attribute that must be there."""
    value = attribute(node, name)
    if value is None:
        raise InvalidModel(f"{node!r}: attribute {name} is missing")
    return value


def rank(node: Node, value: Value | None) -> int:
    """The rank of an input that must be known."""
    if value is None or value.rank is None:
        raise Unsupported(node, f"the rank of {value.name if value else 'an input'!r} isn't known")
    return value.rank


def dtype(node: Node, value: Value | None) -> DType:
    """The element type of an input that must be known."""
    found = value.tensor.dtype if value is not None else None
    if found is None:
        raise Unsupported(node, f"the element type of {value.name if value else 'an input'!r} isn't known")
    return found


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
    if DType.BFLOAT16 in (value.tensor.dtype, kind):
        op = op.at(max(op.opsets[""], 13))
    return op.Cast(value, to=ENUMS[kind], saturate=saturate, _types=[tensor_type(value, kind)])


def as_int64(op: Any, value: Value) -> Value:
    """An integer tensor in int64."""
    return as_type(op, value, DType.INT64)


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


# regular steps -------------------------------------------------------------------------------------


def dropped(*names: str) -> Step:
    """Attributes that said nothing were taken away."""

    def up(op: Builder, node: Node) -> Made:
        return changed(node, without=names) if node.attributes.keys() & set(names) else None

    return Step(for_attributes(names, up), same)


def added(**defaults: Any) -> Step:
    """New attributes, whose defaults are what was always done. A default of one number is also the list of it."""

    def down(op: Builder, node: Node) -> Made:
        for name, default in defaults.items():
            value = attribute(node, name, default)
            items = value if isinstance(value, list | tuple) and not isinstance(default, list) else [value]
            if any(item != default for item in items):
                raise Unsupported(node, f"{name}={value} can't be expressed before version {node.version}")
        return changed(node, without=tuple(defaults)) if node.attributes.keys() & defaults.keys() else None

    return Step(same, for_attributes(defaults, down))


def defaults(old: Mapping[str, Any], new: Mapping[str, Any]) -> Step:
    """The attributes' defaults changed: they are written out."""

    def stating(values: Mapping[str, Any]) -> Adapter:
        return lambda op, node: changed(node, **{**values, **node.attributes})

    return Step(stating(old), stating(new))


def to_inputs(*pairs: tuple[str, int], kind: str = "list", empty: bool = False) -> Adapter:
    """Integer attributes become int64 inputs; see `moved`."""

    def up(op: Builder, node: Node) -> Made:
        inputs: list[Value | None] = node.formal_inputs
        for name, index in pairs:
            value = attribute(node, name)
            if value is not None and (empty or value != []):
                made = op.const(value, DType.INT64) if kind == "scalar" else numbers(op, value)
                inputs = with_input(inputs, index, made)
        return changed(node, inputs=inputs, without=[name for name, _ in pairs])

    return for_attributes([name for name, _ in pairs], up)


def to_attributes(*pairs: tuple[str, int], kind: str = "list", empty: bool = False) -> Adapter:
    """Constant int64 inputs become attributes; see `moved`."""

    def down(op: Builder, node: Node) -> Made:
        inputs = node.formal_inputs
        values: dict[str, Any] = {}
        for name, index in pairs:
            if node.input(index) is None:
                continue
            inputs[index] = None
            array = constant(node, index)
            if array is None:
                raise Unsupported(node, f"{name} isn't constant, as it must be before version {node.version}")
            items = [int(item) for item in array.reshape(-1)]
            if items or empty:
                values[name] = TypedList(AttributeProto.INTS, items) if kind == "list" else items[0]
        return changed(node, inputs=inputs, **values)

    return for_inputs([index for _, index in pairs], down)


def moved(*pairs: tuple[str, int], kind: str = "list", empty: bool = False) -> Step:
    """Integer attributes became int64 inputs.

    Args:
        kind: "list" as a vector, "one" number as a vector of one, "one" as a "scalar".
        empty: an empty list means what it says; otherwise it is one not given.
    """
    return Step(to_inputs(*pairs, kind=kind, empty=empty), to_attributes(*pairs, kind=kind, empty=empty))


def added_output(name: str, index: int) -> Step:
    """A new optional output."""

    def down(op: Builder, node: Node) -> Made:
        if wanted(node, index):
            raise Unsupported(node, f"its output {name} came with version {node.version}")
        return changed(node, outputs=index) if len(node.outputs) > index else None

    return Step(same, down)


def positive(name: str) -> Step:
    """An axis attribute (or a list of them) may count from the back; where none is given, it doesn't."""

    def down(op: Builder, node: Node) -> Made:
        value = attribute(node, name)
        if value is None:
            return None
        axes = value if isinstance(value, list | tuple) else [value]
        if all(axis >= 0 for axis in axes):
            return None
        axes = [axis % rank(node, node.input(0)) if axis < 0 else axis for axis in axes]
        found: dict[str, Any] = {name: axes if isinstance(value, list | tuple) else axes[0]}
        return changed(node, **found)

    return Step(same, for_attributes([name], down))


def renamed(old: str, new: str) -> Step:
    """An attribute was renamed."""

    def to(before: str, after: str) -> Adapter:
        def adapt(op: Builder, node: Node) -> Made:
            return changed(node, without=(before,), **{after: node.attributes.get(before)})

        return adapt

    return Step(to(old, new), to(new, old))


def limited(name: str, *choices: str) -> Step:
    """An attribute knew fewer words before."""

    def down(op: Builder, node: Node) -> Made:
        value = attribute(node, name)
        if value is not None and value not in choices:
            raise Unsupported(node, f"{name}={value} came with version {node.version}")
        return None

    return Step(same, for_attributes([name], down))


def both(*parts: Step) -> Step:
    """Several things changed at once, none of which needs another operator."""

    def chain(adapters: Sequence[Adapter | str]) -> Adapter:
        conditions = [one.concerns for one in adapters if isinstance(one, Conditional)]

        def adapt(op: Builder, node: Node) -> Made:
            current = node
            for adapter in adapters:
                if isinstance(adapter, str):
                    raise Unsupported(node, adapter)
                made = adapter(op, current)
                assert made is None or isinstance(made, Node)
                current = made or current
            return None if current is node else current

        if len(conditions) + sum(one is same for one in adapters) < len(adapters):
            return adapt
        return Conditional(adapt, lambda node, kind_of: any(concerns(node, kind_of) for concerns in conditions))

    return Step(chain([part.up for part in parts]), chain([part.down for part in reversed(parts)]))


def or_else(step: Step, build: Callable[[Any, Node, str], Made]) -> Step:
    """A step whose way down, where it refuses, is to build something else; that is told the reason."""
    plain = step.down
    assert callable(plain)

    def down(op: Builder, node: Node) -> Made:
        try:
            return plain(op, node)
        except Unsupported as refusal:
            return build(op, node, refusal.reason)

    return Step(step.up, down)


def through(work: DType, *kinds: DType) -> Step:
    """More element types: going down these are computed in another one, which holds every result exactly enough.

    The first output is cast back, unless it was of yet another type.
    """

    def down(op: Builder, node: Node) -> Made:
        kind = node.inputs[0].tensor.dtype if node.inputs and node.inputs[0] else None
        if kind not in kinds:
            return None
        inputs = [
            as_type(op, value, work) if value is not None and value.tensor.dtype is kind else value
            for value in node.formal_inputs
        ]
        made = op.call(node.op_type, *inputs, _outputs=len(node.outputs), **node.attributes)
        first, *others = [made] if isinstance(made, Value) else made
        if first.tensor.dtype is work:
            first = as_type(op, first, kind)
        return [first, *others]

    def concerns(node: Node, kind_of: KindOf) -> bool:
        kind = kind_of(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
        return kind is None or kind in kinds

    return Step(same, Conditional(down, concerns))
