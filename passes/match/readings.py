"""How a hub node's operator is read into terms: axes and sizes resolved, defaults filled in, several outputs as slices."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node
from ..tensor import TensorData
from ..types import DType
from .layout import concat, count_of, expand, reshape, select, sliced, transpose
from .maker import Attributes, Maker
from .polynomials import Size, quotient
from .terms import Contradiction, Term


@dataclass(slots=True)
class Reading:
    """A node whose operands are terms."""

    m: Maker
    node: Node
    attributes: NodeAttributes
    operands: tuple[Term | None, ...]

    def operand(self, index: int) -> Term | None:
        return self.operands[index] if index < len(self.operands) else None

    def sizes(self, index: int) -> tuple[Size, ...] | None:
        """The elements of a list of integers, None where it is left out or isn't followed."""
        return self.m.table.elements(self.operand(index))


Read = Callable[[Reading], "Term | Sequence[Term] | None"]


def _reads(*operators: str) -> Callable[[Read], Read]:
    def mark(function: Read) -> Read:
        function.operators = operators  # type: ignore[attr-defined]
        return function

    return mark


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Contradiction
    return axis % rank


@_reads("Identity")
def _identity(r: Reading) -> Term | None:
    return r.operand(0)


@_reads("Constant")
def _constant(r: Reading) -> Term | None:
    value = r.node.attributes.get("value")
    if isinstance(value, TensorData):
        return r.m.table.constant(value)
    for name, dtype in (
        ("value_int", np.int64),
        ("value_ints", np.int64),
        ("value_float", np.float32),
        ("value_floats", np.float32),
    ):
        if name in r.node.attributes:
            return r.m.array(np.asarray(r.node.attributes[name], dtype))
    return None


@_reads("Cast", "CastLike")
def _cast(r: Reading) -> Term | None:
    x, like = r.operand(0), r.operand(1)
    to = r.attributes.dtype("to") if r.node.op_type == "Cast" else None if like is None else like.dtype
    if x is None or to is None:
        return None
    return r.m.make("Cast", x, to=to, saturate=r.attributes.int("saturate", 1), **_rounding(r))


def _rounding(r: Reading) -> dict[str, Any]:
    mode = r.attributes.get("round_mode")
    return {} if mode in (None, "up", b"up") else {"round_mode": mode}


@_reads("Shape")
def _shape(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    end = r.attributes.get("end")
    sizes = x.shape[slice(r.attributes.int("start", 0), end)]
    return r.m.table.integers(DType.INT64, (len(sizes),), sizes)


@_reads("Size")
def _size(r: Reading) -> Term | None:
    x = r.operand(0)
    return None if x is None or x.shape is None else r.m.table.scalar(count_of(x.shape))


@_reads("Reshape")
def _reshape(r: Reading) -> Term | None:
    x, sizes = r.operand(0), r.sizes(1)
    if x is None or sizes is None:
        return None
    allowzero = r.attributes.flag("allowzero")
    found: list[Size | None] = []
    for axis, size in enumerate(sizes):
        if size == -1:
            found.append(None)
        elif size == 0 and not allowzero:
            if x.shape is None or axis >= len(x.shape):
                return None
            found.append(x.shape[axis])
        elif isinstance(size, int) or allowzero or _copies_nothing(r.m, x, axis, size):
            found.append(size)
        else:
            return None
    if None not in found:
        total = count_of([size for size in found if size is not None])
        if x.shape is not None and isinstance(total - count_of(x.shape), int) and total != count_of(x.shape):
            raise Contradiction
        return reshape(r.m, x, [size for size in found if size is not None])
    if x.shape is None:
        return None
    rest = _rest(x.shape, [size for size in found if size is not None])
    if rest is None:
        return None
    return reshape(r.m, x, [rest if size is None else size for size in found])


def _copies_nothing(m: Maker, x: Term, axis: int, size: Size) -> bool:
    """Whether a size in a list that reads 0 as "copy" means itself: it isn't 0, or copying gives the same."""
    return (m.table.least(size) or 0) >= 1 or (x.shape is not None and axis < len(x.shape) and x.shape[axis] == size)


def _rest(shape: Sequence[Size], others: Sequence[Size]) -> Size | None:
    """What -1 stands for: sizes that stand on both sides cancel, as none of them is 0 where -1 has a meaning."""
    left, right = list(shape), list(others)
    for size in others:
        if size in left:
            left.remove(size)
            right.remove(size)
    return quotient(count_of(left), count_of(right))


@_reads("Flatten")
def _flatten(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    axis = r.attributes.int("axis", 1)
    axis = axis if axis == len(x.shape) else _axis(axis, len(x.shape))
    return reshape(r.m, x, (count_of(x.shape[:axis]), count_of(x.shape[axis:])))


@_reads("Squeeze")
def _squeeze(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    if r.operand(1) is None:
        if any(not isinstance(size, int) for size in x.shape):
            return None
        axes = [axis for axis, size in enumerate(x.shape) if size == 1]
    else:
        axes = _ints(r.sizes(1))
        if axes is None:
            return None
    gone = {_axis(axis, len(x.shape)) for axis in axes}
    return reshape(r.m, x, [size for axis, size in enumerate(x.shape) if axis not in gone])


def _ints(sizes: Sequence[Size] | None) -> list[int] | None:
    found = [size for size in sizes or () if isinstance(size, int)]
    return found if sizes is not None and len(found) == len(sizes) else None


@_reads("Unsqueeze")
def _unsqueeze(r: Reading) -> Term | None:
    x, axes = r.operand(0), _ints(r.sizes(1))
    if x is None or x.shape is None or axes is None:
        return None
    rank = len(x.shape) + len(axes)
    new = {_axis(axis, rank) for axis in axes}
    sizes = iter(x.shape)
    return reshape(r.m, x, [1 if axis in new else next(sizes) for axis in range(rank)])


@_reads("Transpose")
def _transpose(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.rank is None:
        return None
    perm = r.attributes.ints("perm", list(range(x.rank))[::-1])
    if sorted(axis % max(1, x.rank) for axis in perm) != list(range(x.rank)):
        raise Contradiction
    return transpose(r.m, x, [_axis(axis, x.rank) for axis in perm])


@_reads("Expand")
def _expand(r: Reading) -> Term | None:
    x, sizes = r.operand(0), r.sizes(1)
    if x is None or x.shape is None or sizes is None:
        return None
    shape = r.m.broadcast([x.shape, sizes])
    return None if shape is None else expand(r.m, x, shape)


@_reads("ConstantOfShape")
def _constant_of_shape(r: Reading) -> Term | None:
    sizes = r.sizes(0)
    if sizes is None:
        return None
    value = r.node.attributes.get("value")
    scalar = r.m.table.constant(value) if isinstance(value, TensorData) else r.m.array(np.float32(0))
    return expand(r.m, reshape(r.m, scalar, ()), sizes)


@_reads("Concat")
def _concat(r: Reading) -> Term | None:
    parts = [part for part in r.operands if part is not None]
    rank = next((part.rank for part in parts if part.rank is not None), None)
    if rank is None:
        return None
    if any(part.rank not in (None, rank) for part in parts):
        raise Contradiction
    return concat(r.m, parts, _axis(r.attributes.int("axis"), rank))


@_reads("Gather")
def _gather(r: Reading) -> Term | None:
    x, indices = r.operand(0), r.operand(1)
    if x is None or indices is None or x.rank is None:
        return None
    axis = _axis(r.attributes.int("axis", 0), x.rank)
    elements = r.m.table.elements(indices)
    if indices.shape == () and elements is not None:
        return select(r.m, x, axis, elements[0])
    return r.m.make("Gather", x, indices, axis=axis)


@_reads("Split")
def _split(r: Reading) -> Sequence[Term] | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    axis = _axis(r.attributes.int("axis", 0), len(x.shape))
    count, size = len(r.node.outputs), x.shape[axis]
    if r.operand(1) is not None:
        sizes = r.sizes(1)
        if sizes is None or len(sizes) != count:
            return None
    else:
        if not isinstance(size, int):
            return None
        part = -(-size // (r.attributes.get("num_outputs") or count))
        sizes = [max(0, min(part, size - part * index)) for index in range(count)]
    found: list[Term] = []
    start: Size = 0
    for one in sizes:
        found.append(sliced(r.m, x, [axis], [start], [one], [1]))
        start = start + one
    return found


@_reads("Slice")
def _slice(r: Reading) -> Term | None:
    x, starts, ends = r.operand(0), r.sizes(1), r.sizes(2)
    if x is None or x.shape is None or starts is None or ends is None:
        return None
    axes = _ints(r.sizes(3)) if r.operand(3) is not None else list(range(len(starts)))
    steps = _ints(r.sizes(4)) if r.operand(4) is not None else [1] * len(starts)
    if axes is None or steps is None:
        return None
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Contradiction
    rows = [
        _range(r.m, x.shape[_axis(axis, len(x.shape))], start, end, step)
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True)
    ]
    places = [_axis(axis, len(x.shape)) for axis in axes]
    known = [(axis, row, step) for axis, row, step in zip(places, rows, steps, strict=True) if row is not None]
    x = sliced(
        r.m,
        x,
        [axis for axis, _, _ in known],
        [start for _, (start, _), _ in known],
        [size for _, (_, size), _ in known],
        [step for _, _, step in known],
    )
    others = sorted(index for index, row in enumerate(rows) if row is None)
    if not others:
        return x
    listed = r.m.table.listed
    operands = [listed([of[index] for index in others]) for of in (starts, ends, places, steps)]
    return r.m.make("Slice", x, *operands)


def _range(m: Maker, size: Size, start: Size, end: Size, step: int) -> tuple[Size, Size] | None:
    """(first position, number of positions) of a slice of an axis, None where it isn't certain."""
    lowest: Size = 0 if step > 0 else -1
    highest: Size = size if step > 0 else size - 1
    first = _clamped(m, start, size, 0, highest)
    last = _clamped(m, end, size, lowest, highest if step < 0 else size)
    if first is None or last is None:
        return None
    span = last - first if step > 0 else first - last
    if not m.table.is_negative_never(span):
        return (first, 0) if m.table.is_negative_never(-span) else None
    if abs(step) == 1:
        return first, span
    if not isinstance(span, int):
        return None
    return first, -(-span // abs(step))


def _clamped(m: Maker, at: Size, size: Size, lowest: Size, highest: Size) -> Size | None:
    """A bound of a slice within an axis; a negative one counts from the end."""
    if isinstance(at, int) and isinstance(size, int):
        at = at + size if at < 0 else at
        assert isinstance(lowest, int) and isinstance(highest, int)
        return min(max(at, lowest), highest)
    if isinstance(at, int) and at >= 1 << 31:
        return highest
    if isinstance(at, int) and at <= -(1 << 31):
        return lowest
    if m.table.is_negative_never(-1 - at):
        at = size + at
    elif not m.table.is_negative_never(at):
        return None
    if m.table.is_at_most(highest, at):
        return highest
    if m.table.is_at_most(at, lowest):
        return lowest
    return at if m.table.is_at_most(at, highest) and m.table.is_at_most(lowest, at) else None


@_reads("Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool")
def _window(r: Reading) -> Sequence[Term] | None:
    """With every default of the windows written out."""
    x, weights = r.operand(0), r.operand(1)
    kernel = r.attributes.get("kernel_shape")
    if kernel is None and weights is not None and weights.static_shape is not None:
        kernel = weights.static_shape[2:]
    if x is None or kernel is None:
        return None
    axes = len(kernel)
    known = dict(attributes_of(r.node))
    known["kernel_shape"] = tuple(kernel)
    known.setdefault("strides", (1,) * axes)
    known.setdefault("dilations", (1,) * axes)
    if known.get("auto_pad") == "VALID":
        known["auto_pad"] = "NOTSET"
        known.pop("pads", None)
    if known.get("auto_pad", "NOTSET") == "NOTSET":
        known.setdefault("pads", (0,) * (2 * axes))
    if r.node.op_type == "ConvTranspose":
        known.setdefault("output_padding", (0,) * axes)
    attributes = tuple(sorted(known.items()))
    if len(r.node.outputs) == 1:
        return [r.m.apply(r.node.op_type, r.operands, attributes)]
    return r.m.outputs(r.node.op_type, r.operands, attributes, len(r.node.outputs))


_REDUCTIONS = (
    "ReduceSum",
    "ReduceProd",
    "ReduceMax",
    "ReduceMin",
    "ReduceMean",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
)


@_reads(*_REDUCTIONS, "ReduceLogSum", "ReduceLogSumExp")
def _reduction(r: Reading) -> Term | None:
    x = r.operand(0)
    if x is None or x.shape is None:
        return None
    axes = list(range(len(x.shape))) if r.operand(1) is None else _ints(r.sizes(1))
    if axes is None:
        return None
    if not axes:
        if r.attributes.flag("noop_with_empty_axes"):
            return None
        axes = list(range(len(x.shape)))
    gone = sorted({_axis(axis, len(x.shape)) for axis in axes})
    if not gone:
        return None
    made = r.m.make(r.node.op_type, x, r.m.table.listed(gone), keepdims=0, noop_with_empty_axes=0)
    if not r.attributes.flag("keepdims"):
        return made
    return reshape(r.m, made, [1 if axis in gone else size for axis, size in enumerate(x.shape)])


@_reads("Range")
def _range_of(r: Reading) -> Term | None:
    ends = [r.sizes(index) for index in range(3)]
    values = [one[0] for one in ends if one is not None]
    known = [one for one in values if isinstance(one, int)]
    start, dtype = r.operand(0), r.operand(0).dtype if r.operand(0) is not None else None
    if len(known) != 3 or start is None or dtype is None or not known[2]:
        return None
    found = range(known[0], known[1], known[2])
    if len(found) > 1 << 16:
        return None
    return r.m.array(np.arange(known[0], known[1], known[2], dtype=dtype.numpy), dtype)


def readings(namespace: Mapping[str, Any]) -> dict[str, Read]:
    """The functions of a module that read operators, by operator."""
    return {
        operator: function
        for function in list(namespace.values())
        for operator in (getattr(function, "operators", ()) if callable(function) else ())
    }


READINGS = readings(globals())


def read(m: Maker, node: Node, operands: Sequence[Term | None]) -> list[Term]:
    """The terms of a node's outputs; of one without regions."""
    operands = tuple(operands)
    while operands and operands[-1] is None:
        operands = operands[:-1]
    function = READINGS.get(node.op_type) if not node.domain else None
    if function is not None:
        made = function(Reading(m, node, NodeAttributes(node), operands))
        if made is not None:
            return [made] if isinstance(made, Term) else list(made)
    return opaque(m, node, operands)


def opaque(m: Maker, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
    """The operator itself, its attributes in order and complete."""
    op = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    attributes = attributes_of(node)
    if len(node.outputs) == 1:
        return [m.apply(op, operands, attributes)]
    return m.outputs(op, operands, attributes, len(node.outputs))


def attributes_of(node: Node) -> Attributes:
    """A node's attributes with the defaults of its schema, sorted, in hashable form."""
    known = NodeAttributes(node)
    names = {*node.attributes, *known.names}
    return tuple((name, _hashable(known.get(name))) for name in sorted(names) if known.get(name) is not None)


def _hashable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list | tuple):
        return tuple(_hashable(one) for one in value)
    if isinstance(value, TensorData):
        return (
            value.dtype,
            value.shape,
            value.numpy().tobytes() if value.dtype is not DType.STRING else str(value.numpy()),
        )
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return ("-0.0",)  # which is equal to 0.0 otherwise
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    return value
