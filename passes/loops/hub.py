"""The hub's words for integer arithmetic, for parts that are read and parts that are written."""

from __future__ import annotations

from ..graph import Node, Value
from ..protos import enum_of
from ..rewrite import Builder
from ..types import DType, TensorType
from .affine import Lines
from .ranges import Operation, hub_operation, scalar
from .vocabulary import Access


class HubVocabulary:
    """Gather of one place, Slice of a moving window, ScatterND and ScatterElements of one place."""

    def operation(self, node: Node) -> Operation:
        return hub_operation(node)

    def read(self, node: Node, lines: Lines) -> Access | None:
        whole = node.inputs[0] if node.inputs and not node.domain else None
        shape = whole.tensor.static_shape if whole is not None else None
        if whole is None or not shape:
            return None
        if node.op_type == "Gather" and node.inputs[1] is not None and node.inputs[1].tensor.shape in ((), (1,)):
            return _access(whole, shape, node.attributes.get("axis", 0), node.inputs[1], 1)
        if node.op_type != "Slice" or len(node.inputs) != 4 or None in node.inputs:  # with axes, without steps
            return None
        first, last, axes = (value for value in node.inputs[1:] if value is not None)
        axis, start, end = scalar(axes), lines.lines.get(first), lines.lines.get(last)
        if axis is None or start is None or end is None or start.scale != end.scale:
            return None
        return _access(whole, shape, axis, first, end.offset - start.offset)

    def written(self, node: Node) -> tuple[Access, Value] | None:
        if node.domain or node.op_type not in ("ScatterND", "ScatterElements") or len(node.inputs) != 3:
            return None
        whole, places, update = node.inputs
        shape = whole.tensor.static_shape if whole is not None else None
        if whole is None or places is None or update is None or not shape:
            return None
        if node.attributes.get("reduction", "none") != "none":
            return None
        if node.op_type == "ScatterND":
            return (_access(whole, shape, 0, places, 1), update) if places.tensor.shape in ((1,), (1, 1)) else None
        axis = node.attributes.get("axis", 0) % len(shape)
        if update.tensor.shape != (*shape[:axis], 1, *shape[axis + 1 :]) or update.tensor.shape != places.tensor.shape:
            return None
        maker = places.producer
        start = maker.inputs[0] if maker is not None and maker.op == ("", "Expand") else places
        return None if start is None else (_access(whole, shape, axis, start, 1), update)

    def call(self, op: Builder, name: str, *operands: Value) -> Value:
        return op.call(name, *operands)

    def cast(self, op: Builder, value: Value, dtype: DType) -> Value:
        return value if value.tensor.dtype is dtype else op.Cast(value, to=enum_of(dtype, value.name))

    def reshape(self, op: Builder, value: Value, type: TensorType) -> Value:
        if value.type == type:
            return value
        return op.Reshape(value, op.const(list(type.static_shape or ())), _types=[type])

    def inserted(self, op: Builder, whole: Value, part: Value, axis: int, start: int) -> Value:
        size = (part.tensor.static_shape or ())[axis]
        ends = [(0, start), (start + size, (whole.tensor.static_shape or ())[axis])]
        before, behind = (
            [op.Slice(whole, op.const([low]), op.const([high]), op.const([axis]))] if low < high else []
            for low, high in ends
        )
        return op.Concat(*before, part, *behind, axis=axis)


def _access(whole: Value, shape: tuple[int, ...], axis: int, start: Value, size: int) -> Access:
    """A part along one axis, the others whole."""
    axis %= len(shape)
    sizes = [size if place == axis else dim for place, dim in enumerate(shape)]
    return Access(whole, sizes, [start if place == axis else None for place in range(len(shape))])
