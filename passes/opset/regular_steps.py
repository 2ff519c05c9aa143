"""Version steps that many operators have: attributes that came, went or became inputs, new outputs, axes from the back,
more element types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnx import AttributeProto

from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import rank_of, required
from ..protos import TypedList
from ..rewrite import Builder
from ..types import DType
from .steps import (
    Adapter,
    Conditional,
    KindOf,
    Made,
    Step,
    as_type,
    attribute,
    changed,
    constant,
    for_attributes,
    for_inputs,
    numbers,
    same,
    wanted,
    with_input,
)


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
        rank = rank_of(node, required(node, 0))
        if min(axes) < -rank:
            raise InvalidModel(f"{node!r}: axis {min(axes)} of a tensor of rank {rank}")
        axes = [axis % rank if axis < 0 else axis for axis in axes]
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
