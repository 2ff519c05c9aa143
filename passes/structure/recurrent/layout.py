"""Readings of operators that move elements about: axes put in and taken away, features cut and joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...graph import Node
from .algebra import NotRecurrent, constant
from .loop_invariants import Size
from .reader import BodyValue, ConstantFill, Invariant, Reader, Readings, Step
from .vectors import Axes, Axis, Vector

_END = 2**31 - 1  # what a Slice that doesn't know the size says


def _axes(reader: Reader, node: Node, rank: int) -> list[int]:
    """The axes that Squeeze or Unsqueeze names, of so many."""
    found = reader.integers(node.input(1))
    if found is None:
        shape = node.inputs[0].tensor.static_shape if node.inputs[0] is not None else None
        if node.input(1) is not None or shape is None:
            raise NotRecurrent("the axes that its body squeezes or unsqueezes aren't known")
        found = [axis for axis, size in enumerate(shape) if size == 1]
    return [axis % rank for axis in found]


def _unsqueeze(reader: Reader, node: Node) -> BodyValue:
    known = reader.known(node.inputs[0])
    if isinstance(known, Step):
        return Step(known.scale, known.offset, known.rank + len(reader.integers(node.input(1)) or ()))
    placed = reader.named_axes(node.inputs[0])
    rank = len(placed.axes) + len(reader.integers(node.input(1)) or ())
    taken, rest = _axes(reader, node, rank), iter(placed.axes)
    return replace(placed, axes=tuple("one" if axis in taken else next(rest) for axis in range(rank)))


def _squeeze(reader: Reader, node: Node) -> BodyValue:
    known = reader.known(node.inputs[0])
    if isinstance(known, Step):
        return Step(known.scale, known.offset)
    placed = reader.named_axes(node.inputs[0])
    taken = _axes(reader, node, len(placed.axes))
    if any(placed.axes[axis] == "feature" for axis in taken):
        raise NotRecurrent("its body squeezes the axis of the features")
    # an axis that may be taken away has one entry: the batch, where that isn't said
    return replace(placed, axes=tuple(name for axis, name in enumerate(placed.axes) if axis not in taken))


def _transpose(reader: Reader, node: Node) -> BodyValue:
    vector = reader.vector(node.inputs[0])
    order = node.attributes.get("perm") or list(range(len(vector.axes)))[::-1]
    return vector.with_axes(vector.axes[axis] for axis in order)


def _target(reader: Reader, node: Node, old: Sequence[Size]) -> list[Size | None]:
    """The sizes that a Reshape asks for; None: not known, or -1."""
    stated = reader.invariants.sizes(node.inputs[1])
    if stated is None:
        shape = node.output.tensor.shape
        if shape is None:
            raise NotRecurrent("the shape that its body gives a value isn't known")
        return [dim if isinstance(dim, int) else None for dim in shape]
    copied = not node.attributes.get("allowzero")
    sizes: list[Size | None] = []
    for index, size in enumerate(stated):
        if size == 0 and copied and index < len(old):
            size = old[index]
        sizes.append(None if size == -1 else size)
    return sizes


def _reshape(reader: Reader, node: Node) -> BodyValue:
    value = node.inputs[0]
    assert value is not None
    known = reader.known(value)
    if isinstance(known, Step):
        return Step(known.scale, known.offset, len(reader.integers(node.input(1)) or ()))
    vector = reader.vector(value)
    old: list[Size] = [
        vector.width if name == "feature" else reader.size(value, axis) for axis, name in enumerate(vector.axes)
    ]
    target = _target(reader, node, old)
    moved = [(name, size) for name, size in zip(vector.axes, old, strict=True) if name != "one"]
    open_sizes = sum(size is None for size in target)
    rest = list(moved)
    axes: list[Axis] = []
    for size in target:
        if size == 1 and not (rest and rest[0][1] == 1):
            axes.append("one")
            continue
        if not rest or (size is not None and size != rest[0][1]) or (size is None and open_sizes > 1):
            raise NotRecurrent("its body gives a value a shape in which batch and features can't be distinguished")
        axes.append(rest.pop(0)[0])
    if rest:
        raise NotRecurrent("its body merges batch and features")
    return vector.with_axes(axes)


def _flatten(reader: Reader, node: Node) -> BodyValue:
    vector = reader.vector(node.inputs[0])
    axis = vector.axis(node.attributes.get("axis", 1)) if node.attributes.get("axis", 1) else 0
    before = [name for name in vector.axes[:axis] if name != "one"]
    after = [name for name in vector.axes[axis:] if name != "one"]
    if after != ["feature"] or len(before) > 1:
        raise NotRecurrent("its body merges batch and features")
    axes: Axes = (before[0] if before else "one", "feature")
    return vector.with_axes(axes)


def _expand(reader: Reader, node: Node) -> BodyValue:
    sizes = reader.invariants.sizes(node.inputs[1])
    number = reader.array(node.inputs[0])
    if sizes is None:
        raise NotRecurrent("its body broadcasts a value to a size that isn't certain")
    if number is not None and number.size == 1:
        return ConstantFill(number.reshape(()), tuple(sizes))
    placed = reader.named_axes(node.inputs[0])
    if isinstance(placed, Vector):
        raise NotRecurrent("its body broadcasts a state or an input")
    axes = ("one",) * (len(sizes) - len(placed.axes)) + placed.axes
    sizes = [1] * (len(axes) - len(sizes)) + sizes
    wide = ("wide" if name == "one" and size != 1 else name for name, size in zip(axes, sizes, strict=True))
    return replace(placed, axes=tuple(wide))


def _filled(reader: Reader, node: Node) -> BodyValue:
    sizes = reader.invariants.sizes(node.inputs[0])
    if sizes is None:
        raise NotRecurrent("its body fills a value whose size isn't certain")
    filler = node.attributes.get("value")
    return ConstantFill(np.zeros((), np.float32) if filler is None else filler.numpy().reshape(()), tuple(sizes))


# along the features --------------------------------------------------------------------------------


def _split(reader: Reader, node: Node) -> list[BodyValue]:
    vector = reader.vector(node.inputs[0])
    if vector.axes[vector.axis(node.attributes.get("axis", 0))] != "feature":
        raise NotRecurrent("its body splits an axis other than the features")
    sizes = reader.integers(node.input(1))
    if sizes is None:
        if node.input(1) is not None:
            raise NotRecurrent("its body splits features into parts of unknown sizes")
        count = int(node.attributes.get("num_outputs", len(node.outputs)))
        part = -(-vector.width // count)
        sizes = [min(part, vector.width - part * index) for index in range(count)]
    edges = np.cumsum([0, *sizes]).tolist()
    return [vector.columns(start, stop) for start, stop in pairwise(edges)]


def _slice(reader: Reader, node: Node) -> BodyValue:
    known = reader.known(node.inputs[0])
    if isinstance(known, Invariant):
        return _part(reader, node, known)
    vector = reader.vector(node.inputs[0])
    starts, ends = reader.integers(node.input(1)), reader.integers(node.input(2))
    if starts is None or ends is None:
        raise NotRecurrent("its body slices a value at indices that aren't constant")
    axes = list(range(len(starts))) if node.input(3) is None else reader.integers(node.input(3))
    steps = [1] * len(starts) if node.input(4) is None else reader.integers(node.input(4))
    if axes is None or steps is None or any(step != 1 for step in steps):
        raise NotRecurrent("its body slices a value in steps")
    for start, end, named in zip(starts, ends, axes, strict=True):
        axis = vector.axis(named)
        if vector.axes[axis] == "feature":
            width = vector.width
            low, high = (index + width if index < 0 else index for index in (start, end))
            vector = vector.columns(low, high)
        elif start or end < (1 if vector.axes[axis] == "one" else _END):
            raise NotRecurrent("its body slices an axis other than the features")
    return vector


def _gather(reader: Reader, node: Node) -> BodyValue:
    known, index = reader.known(node.inputs[0]), reader.known(node.inputs[1])
    axis = int(node.attributes.get("axis", 0))
    if isinstance(known, Invariant) and isinstance(index, Step):
        return _stepped(reader, known, index, axis, index.rank)
    vector = reader.vector(node.inputs[0])
    if vector.axes[vector.axis(axis)] == "wide" and node.inputs[1] is not None and node.inputs[1].rank == 0:
        position = vector.axis(axis)  # whichever is taken
        return vector.with_axes(name for other, name in enumerate(vector.axes) if other != position)
    indices = reader.integers(node.inputs[1])
    if indices is None or not isinstance(index, np.ndarray):
        raise NotRecurrent("its body gathers at indices that aren't constant")
    axis = vector.axis(axis)
    if vector.axes[axis] == "one" and index.ndim < 2 and set(indices) <= {0, -1} and len(indices) == 1:
        kept = index.ndim == 1
        return vector.with_axes(name for position, name in enumerate(vector.axes) if kept or position != axis)
    first = indices[0] % vector.width if indices else 0
    if vector.axes[axis] != "feature" or index.ndim != 1 or indices != list(range(first, first + len(indices))):
        raise NotRecurrent("its body gathers values in another order")
    return vector.columns(first, first + len(indices))


def _concat(reader: Reader, node: Node) -> BodyValue:
    if len(node.inputs) == 1:
        return reader.vector(node.inputs[0])
    knowns = [reader.known(value) for value in node.inputs]
    first = next((known for known in knowns if isinstance(known, Vector)), None)
    if first is None:
        return reader.vector(node.inputs[0])
    index = first.axis(node.attributes.get("axis", 0))
    if first.axes[index] == "one" and all(value is node.inputs[0] for value in node.inputs):
        return first.with_axes("wide" if axis == index else name for axis, name in enumerate(first.axes))
    if first.axes[index] != "feature":
        raise NotRecurrent("its body concatenates along an axis other than the features")
    parts = []
    for value, known in zip(node.inputs, knowns, strict=True):
        if isinstance(known, np.ndarray) and known.ndim == len(first.axes) and known.size == known.shape[first.feature]:
            vector = Vector(first.axes, (constant(known.reshape(-1)),))
            if "batch" in first.axes:
                raise NotRecurrent("its body concatenates a state with a constant")
        else:
            vector = reader.vector(value)
        if vector.axes != first.axes:
            raise NotRecurrent("values with different axes are concatenated")
        parts += vector.parts
    return Vector(first.axes, tuple(parts))


# steps of a sequence -------------------------------------------------------------------------------


def _stepped(reader: Reader, whole: Invariant, index: Step, axis: int, kept: int) -> Vector:
    """Step `index` of a sequence from around the loop; `kept` axes of 1 stand in its place."""
    if kept > 1:
        raise NotRecurrent("its body gathers values in another order")
    rank = whole.value.rank
    size = reader.size(whole.value, axis) if rank is not None else None
    forwards = (index.scale, index.offset) == (1, 0)
    backwards = index.scale == -1 and (index.offset == -1 or (isinstance(size, int) and index.offset == size - 1))
    if not forwards and not backwards:
        raise NotRecurrent("its body takes the steps of its input in another order")
    vector = reader.step(whole.value, axis, backwards, False)
    if not kept or rank is None:
        return vector
    axes = list(vector.axes)
    axes.insert(axis % rank, "one")
    return vector.with_axes(axes)


def _part(reader: Reader, node: Node, whole: Invariant) -> Vector:
    """Slice of one step: from the pass's number to the next."""
    start, end = reader.known(node.input(1)), reader.known(node.input(2))
    axes, steps = reader.integers(node.input(3)), reader.integers(node.input(4))
    if (
        not isinstance(start, Step)
        or end != Step(1, start.offset + 1, start.rank)
        or start.scale != 1
        or len(axes or [0]) != 1
        or steps not in (None, [1])
    ):
        raise NotRecurrent("its body slices its input in another way than step by step")
    return _stepped(reader, whole, start, 0 if axes is None else axes[0], 1)


READINGS: Readings = {
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
