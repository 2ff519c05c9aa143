"""Which dimension is which in a gather and a scatter, the same for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ....passes.constant_analysis import known_array
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from .index_computation import parts_of
from .views import reshaped, sizes, transposed

Label = tuple[str, int]
"""A dimension: ("window", axis of the operand) or ("batch", dimension of the indices, their vectors left out)."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """The dimension numbers of a gather (of a scatter).

    Attributes:
        rank: of the operand.
        places: offset_dims (update_window_dims): where the window's dimensions stand in the result (in the updates).
        dropped: collapsed_slice_dims (inserted_window_dims): axes of size 1 of the window that don't stand there.
        mapped: start_index_map (scatter_dims_to_operand_dims): the axis that each number of an index counts in.
        batching: operand_batching_dims (input_batching_dims), and
        paired: start_indices_batching_dims (scatter_indices_batching_dims): which belong together.
        vector: index_vector_dim.
    """

    rank: int
    places: tuple[int, ...]
    dropped: tuple[int, ...]
    mapped: tuple[int, ...]
    batching: tuple[int, ...]
    paired: tuple[int, ...]
    vector: int

    @property
    def windows(self) -> list[int]:
        """The operand's axes that stand in the result, in order."""
        return [axis for axis in range(self.rank) if axis not in self.dropped and axis not in self.batching]

    def batch(self, dimension: int) -> Label:
        """The label of a dimension of the indices."""
        return ("batch", dimension - (dimension > self.vector))

    def operand_labels(self) -> list[Label]:
        """The operand's dimensions: a batching one is the indices' that belongs to it."""
        pairs = dict(zip(self.batching, self.paired, strict=True))
        return [self.batch(pairs[axis]) if axis in pairs else ("window", axis) for axis in range(self.rank)]

    def result_labels(self, rank: int) -> list[Label]:
        """The dimensions of the result (of the updates)."""
        windows = dict(zip(self.places, self.windows, strict=True))
        batch = iter(range(rank))
        return [("window", windows[axis]) if axis in windows else ("batch", next(batch)) for axis in range(rank)]


def numbers_of(node: Node, rank: int, indices: Value, result_rank: int, names: Sequence[str]) -> Numbers:
    """The dimension numbers of a node, under the five names that its opcode has for them.

    Raises:
        InvalidModel: they contradict each other or the shapes.
    """
    read = [tuple(int(item) for item in node.attributes.get(name, ())) for name in names]
    places, dropped, mapped, batching, paired = read
    count = indices.tensor.static_shape or ()
    numbers = Numbers(rank, places, dropped, mapped, batching, paired, int(node.attributes.get("index_vector_dim", 0)))
    axes = (*dropped, *batching)
    ok = (
        all(0 <= axis < rank for axis in (*axes, *mapped))
        and len(set(axes)) == len(axes)
        and len(set(mapped)) == len(mapped)
        and not set(mapped) & set(batching)
        and len(batching) == len(paired)
        and len(set(paired)) == len(paired)
        and all(0 <= axis < len(count) and axis != numbers.vector for axis in paired)
        and 0 <= numbers.vector <= len(count)
        and len(mapped) == (count[numbers.vector] if numbers.vector < len(count) else 1)
        and len(places) == len(numbers.windows)
        and all(0 <= axis < result_rank for axis in places)
        and len(set(places)) == len(places)
        and result_rank == len(places) + len(count) - (numbers.vector < len(count))
    )
    if not ok:
        raise InvalidModel(f"{node!r}: its dimension numbers contradict each other, or {indices.type}")
    return numbers


@dataclass(frozen=True, slots=True)
class Starts:
    """Where the windows start: integers [batch dimensions ..., one for each axis of `axes`], of any type."""

    value: Value
    axes: tuple[int, ...]

    @property
    def batch(self) -> tuple[int, ...]:
        """The sizes of the batch dimensions."""
        shape = self.value.tensor.static_shape
        assert shape is not None
        return shape[:-1]

    def only(self, op: Builder, axes: Sequence[int]) -> Starts:
        """The numbers of some axes, in this order."""
        if tuple(axes) == self.axes:
            return self
        picked = [self.axes.index(axis) for axis in axes]
        parts = parts_of(self.value, len(self.axes))
        array = known_array(self.value)
        if array is not None:
            value = op.const(array[..., picked], self.value.tensor.dtype)
        elif parts is not None:
            value = parts[picked[0]] if len(picked) == 1 else op.Concat(*(parts[at] for at in picked), axis=-1)
        else:
            value = op.Gather(self.value, sizes(op, picked), axis=len(self.batch))
        return Starts(value, tuple(axes))

    def line(self, op: Builder) -> Value:
        """The numbers of the only axis: [batch dimensions ...]."""
        return reshaped(op, self.value, self.batch)


def starts_of(op: Builder, numbers: Numbers, indices: Value) -> Starts:
    """The indices with their vectors in the last dimension."""
    shape = indices.tensor.static_shape
    assert shape is not None
    rank = len(shape)
    if numbers.vector == rank:
        value = reshaped(op, indices, [*shape, 1])
    else:
        others = [axis for axis in range(rank) if axis != numbers.vector]
        value = transposed(op, indices, [*others, numbers.vector])
    return Starts(value, numbers.mapped)
