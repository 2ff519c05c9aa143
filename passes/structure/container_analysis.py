"""Rules that lower sequences and optionals to the values that they hold, told from how they are made."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..build import stack, taken
from ..constant_analysis import static_array
from ..graph import Node, Value
from ..protos import ENUMS
from ..rewrite import Builder, Rule
from ..types import DType, SequenceType, TensorType
from .abstract_containers import AbstractContainer, AbstractContainers

_MOST = 256  # elements of a sequence
_END = np.iinfo(np.int64).max

Results = Value | Sequence[Value] | None


class ContainerRules(AbstractContainers):
    """Rules that build plain values where it is known what sequences and optionals hold.

    What holds them is built all the same; where everybody could be told what it holds, it is dead.
    """

    def __init__(self) -> None:
        super().__init__()
        table: dict[str, Rule] = {
            "SequenceEmpty": self._empty,
            "SequenceConstruct": self._construct,
            "SequenceInsert": self._insert,
            "SequenceErase": self._erase,
            "SequenceAt": self._at,
            "SequenceLength": self._length,
            "ConcatFromSequence": self._concat_from_sequence,
            "SplitToSequence": self._split,
            "Identity": self._identity,
            "Optional": self._optional,
            "OptionalHasElement": self._has,
            "OptionalGetElement": self._get,
        }
        self.rules: dict[tuple[str, str], list[Rule]] = {("", name): [rule] for name, rule in table.items()}

    # sequences -------------------------------------------------------------------------------------

    def _kept(self, op: Builder, node: Node, form: AbstractContainer) -> Results:
        (value,) = op.copy(node)
        self.forms[value] = form
        return value

    def _empty(self, op: Builder, node: Node) -> Results:
        return self._kept(op, node, AbstractContainer("elements", ()))

    def _construct(self, op: Builder, node: Node) -> Results:
        return self._kept(
            op, node, AbstractContainer("elements", tuple(value for value in node.inputs if value is not None))
        )

    def _insert(self, op: Builder, node: Node) -> Results:
        elements, value, position = self.elements(node.input(0)), node.input(1), node.input(2)
        assert value is not None
        index = _position(position, None if elements is None else len(elements), end=True)
        if elements is not None and index is not None:
            return self._kept(op, node, AbstractContainer("elements", (*elements[:index], value, *elements[index:])))
        whole = self._stack(op, node.input(0), value.tensor.static_shape)
        if whole is None:
            return None
        parts = [op.Unsqueeze(value, op.const([0]))]
        if position is None:
            parts.insert(0, whole)
        else:
            split = _from_front(op, position, _count(op, whole))
            parts = [_slice(op, whole, op.const([0]), split), *parts, _slice(op, whole, split, op.const([_END]))]
        return self.unstacked(op, op.Concat(*parts, axis=0))

    def _erase(self, op: Builder, node: Node) -> Results:
        elements, position = self.elements(node.input(0)), node.input(1)
        index = _position(position, None if elements is None else len(elements))
        if elements is not None and index is not None:
            return self._kept(op, node, AbstractContainer("elements", (*elements[:index], *elements[index + 1 :])))
        whole = self._stack(op, node.input(0), self.element_shape(node.input(0)))
        if whole is None:
            return None
        if position is None:
            return self.unstacked(op, _slice(op, whole, op.const([0]), op.const([-1])))
        split = _from_front(op, position, _count(op, whole))
        behind = _slice(op, whole, op.Add(split, op.const([1])), op.const([_END]))
        return self.unstacked(op, op.Concat(_slice(op, whole, op.const([0]), split), behind, axis=0))

    def _stack(self, op: Builder, sequence: Value | None, shape: tuple[int, ...] | None) -> Value | None:
        """The elements of a sequence in one tensor; None where they may not all be of this shape."""
        return None if shape is None else self.stacked(op, sequence, shape)

    def _at(self, op: Builder, node: Node) -> Results:
        elements, position = self.elements(node.input(0)), node.input(1)
        if position is None:
            return None
        slices = self.slices(node.input(0))
        if slices is not None:
            value, axis, keep = slices
            found = taken(op, value, _scalar(op, position), axis)
            return op.Unsqueeze(found, op.const([axis])) if keep else found
        chunks = self.chunks(node.input(0))
        if chunks is not None:
            value, size, axis = chunks
            start = op.Mul(_from_front(op, position, _chunk_count(op, *chunks)), size)
            return op.Slice(value, start, op.Add(start, size), op.const([axis]))
        index = _position(position, None if elements is None else len(elements))
        if elements is None:
            return None
        if index is not None:
            return elements[index]
        whole = self._stack(op, node.input(0), self.element_shape(node.input(0)))
        if whole is None or static_array(position) is not None:
            return None
        return taken(op, whole, _scalar(op, position), 0)

    def _length(self, op: Builder, node: Node) -> Results:
        elements, slices = self.elements(node.input(0)), self.slices(node.input(0))
        chunks = self.chunks(node.input(0))
        if chunks is not None:
            return op.Reshape(_chunk_count(op, *chunks), op.const([], DType.INT64))
        if slices is not None:
            return op.Gather(op.Shape(slices[0]), op.const(slices[1], DType.INT64), axis=0)
        return None if elements is None else op.const(len(elements), DType.INT64)

    def _concat_from_sequence(self, op: Builder, node: Node) -> Results:
        elements, slices = self.elements(node.input(0)), self.slices(node.input(0))
        axis, new = int(node.attributes.get("axis", 0)), bool(node.attributes.get("new_axis", 0))
        chunks = self.chunks(node.input(0))
        whole, split, put_back = (*slices[:2], new is not slices[2]) if slices else (None, 0, False)
        if chunks is not None:
            whole, split, put_back = chunks[0], chunks[2], not new
        if whole is not None and whole.rank and put_back and split % whole.rank == axis % whole.rank:
            return op.Identity(whole)
        if slices is not None:
            rows = self._stack(op, node.input(0), self.element_shape(node.input(0)))
            return None if rows is None else _concat(op, rows, axis, new)
        if not elements:
            return None
        return stack(op, elements, axis) if new else op.Concat(*elements, axis=axis)

    def _split(self, op: Builder, node: Node) -> Results:
        value, sizes = node.input(0), node.input(1)
        assert value is not None
        axis, keep = int(node.attributes.get("axis", 0)), int(node.attributes.get("keepdims", 1))
        counts = _parts(value, axis, sizes)
        if counts is None or len(counts) > _MOST:
            if sizes is None:
                return self._kept(op, node, AbstractContainer("slices", (value,), (axis, keep)))
            if sizes.rank != 0:
                return None
            length = op.Cast(op.Reshape(sizes, op.const([1])), to=ENUMS[DType.INT64])
            return self._kept(op, node, AbstractContainer("chunks", (value, length), (axis,)))
        parts: list[Value] = [value]
        if len(counts) != 1:
            given = (
                op.const(np.array(counts, np.int64)) if None not in counts else op.Cast(sizes, to=ENUMS[DType.INT64])
            )
            parts = list(op.Split(value, given, axis=axis, _outputs=len(counts))) if counts else []
        if sizes is None and not keep:
            axes = op.const([axis])
            parts = [op.Squeeze(part, axes) for part in parts]
        return self.made(op, AbstractContainer("elements", tuple(parts)), node.outputs[0].type)

    def _identity(self, op: Builder, node: Node) -> Results:
        return node.input(0) if node.input(0) in self.forms else None

    # optionals -------------------------------------------------------------------------------------

    def _optional(self, op: Builder, node: Node) -> Results:
        return self._kept(
            op, node, AbstractContainer("optional", tuple(value for value in node.inputs if value is not None))
        )

    def _has(self, op: Builder, node: Node) -> Results:
        value = node.input(0)
        if value is None:
            return op.const(False, DType.BOOL)
        form = self.forms.get(value)
        if form is not None and form.kind == "optional":
            return op.const(bool(form.values), DType.BOOL)
        if form is not None and form.kind == "maybe":
            return form.values[0]
        return op.const(True, DType.BOOL) if isinstance(value.type, TensorType | SequenceType) else None

    def _get(self, op: Builder, node: Node) -> Results:
        value = node.input(0)
        form = self.forms.get(value) if value is not None else None
        if form is not None and form.kind == "optional":
            return form.values[0] if form.values else None
        if form is not None and form.kind == "maybe":
            return form.values[1]
        return value if value is not None and isinstance(value.type, TensorType | SequenceType) else None


def _slice(op: Builder, value: Value, start: Value, end: Value) -> Value:
    known = value.tensor
    type = TensorType(known.dtype, None if known.shape is None else (None, *known.shape[1:]))
    return op.Slice(value, start, end, op.const([0]), _types=[type])


def _count(op: Builder, value: Value, axis: int = 0) -> Value:
    """The size of an axis, int64 [1]."""
    rank = value.rank
    start = axis if axis >= 0 or rank is None else axis + rank
    return op.Slice(op.Shape(value), op.const([start]), op.const([start + 1 or _END]))


def _chunk_count(op: Builder, value: Value, size: Value, axis: int) -> Value:
    """How many chunks there are, the last of which may be shorter, int64 [1]."""
    return op.Div(op.Add(_count(op, value, axis), op.Sub(size, op.const([1]))), size)


def _from_front(op: Builder, position: Value, count: Value) -> Value:
    """A position in a sequence of so many elements counted from the front, int64 [1]."""
    index = op.Cast(op.Reshape(position, op.const([1])), to=ENUMS[DType.INT64])
    known = static_array(index)
    if known is not None and known[0] >= 0:
        return index
    return op.Where(op.Less(index, op.const([0])), op.Add(index, count), index)


def _concat(op: Builder, whole: Value, axis: int, new: bool) -> Value | None:
    """Elements that stand along axis 0, joined along one of their own axes or along a new one."""
    rank = whole.rank or 0
    axis %= rank if new else max(rank - 1, 1)
    others = list(range(1, rank))
    turned = op.Transpose(whole, perm=[*others[:axis], 0, *others[axis:]]) if axis else whole
    if new:
        return turned
    sizes = [-1 if index == axis else size for index, size in enumerate((whole.tensor.shape or ())[1:])]
    return None if 0 in sizes or not sizes else op.Reshape(turned, op.const(np.array(sizes)))


def _scalar(op: Builder, position: Value) -> Value:
    return position if position.rank == 0 else op.Reshape(position, op.const([], DType.INT64))


def _position(value: Value | None, length: int | None, end: bool = False) -> int | None:
    """A position in a sequence, from the front; None where it isn't known, or outside."""
    if length is None:
        return None
    last = length if end else length - 1
    if value is None:
        return last if last >= 0 else None
    array = static_array(value)
    if array is None:
        return None
    index = int(array.reshape(-1)[0])
    if not -length <= index <= last:
        return None
    return index + length if index < 0 else index


def _parts(value: Value, axis: int, sizes: Value | None) -> list[int | None] | None:
    """The sizes of the parts that SplitToSequence makes; None where it isn't known how many there are.

    A size that is told only at run time is None.
    """
    shape = value.tensor.shape
    size = shape[axis] if shape is not None and -len(shape) <= axis < len(shape) else None
    array = static_array(sizes)
    if sizes is not None and array is None:
        count = sizes.tensor.static_shape
        unknown: list[int | None] = [None]
        return unknown * count[0] if count else None
    if array is not None and array.ndim:
        return [int(part) for part in array]
    if not isinstance(size, int):
        return None
    step = 1 if array is None else int(array)
    if step <= 0:
        return None
    return [min(step, size - start) for start in range(0, size, step)]
