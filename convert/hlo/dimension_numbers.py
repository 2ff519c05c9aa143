"""Which dimension is which, as the attributes of gather, scatter and dot say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...passes.graph import Node

Label = tuple[str, int]
"""A dimension: ("window", axis of the operand) or ("batch", dimension of the indices, their vectors left out)."""

_GATHER = (
    "offset_dims",
    "collapsed_slice_dims",
    "start_index_map",
    "operand_batching_dims",
    "start_indices_batching_dims",
)
_SCATTER = (
    "update_window_dims",
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "input_batching_dims",
    "scatter_indices_batching_dims",
)
_DOT = ("lhs_batch_dims", "rhs_batch_dims", "lhs_contracting_dims", "rhs_contracting_dims")


@dataclass(frozen=True, slots=True)
class GatherNumbers:
    """The dimension numbers of a gather (of a scatter).

    Attributes:
        rank: of the operand.
        offsets: offset_dims (update_window_dims): where the window's dimensions stand in the result (in the updates).
        dropped: collapsed_slice_dims (inserted_window_dims): axes of size 1 of the window that don't stand there.
        mapped: start_index_map (scatter_dims_to_operand_dims): the axis that each number of an index counts in.
        batching: operand_batching_dims (input_batching_dims), and
        paired: start_indices_batching_dims (scatter_indices_batching_dims): which belong together.
        vector: index_vector_dim.
    """

    rank: int
    offsets: tuple[int, ...]
    dropped: tuple[int, ...]
    mapped: tuple[int, ...]
    batching: tuple[int, ...]
    paired: tuple[int, ...]
    vector: int

    @classmethod
    def of(cls, node: Node, rank: int) -> GatherNumbers:
        """Those of a node, which shape inference has checked."""
        names = _SCATTER if node.op_type == "scatter" else _GATHER
        offsets, dropped, mapped, batching, paired = (tuple(node.attributes.get(name, ())) for name in names)
        return cls(rank, offsets, dropped, mapped, batching, paired, node.attributes["index_vector_dim"])

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
        windows = dict(zip(self.offsets, self.windows, strict=True))
        batch = iter(range(rank))
        return [("window", windows[axis]) if axis in windows else ("batch", next(batch)) for axis in range(rank)]


@dataclass(frozen=True, slots=True)
class DotNumbers:
    """Which dimensions a dot pairs: those of the batch, in the order of the result, and those that are summed over."""

    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()
    lhs_contracting: tuple[int, ...] = ()
    rhs_contracting: tuple[int, ...] = ()

    @classmethod
    def of(cls, node: Node) -> DotNumbers:
        """Those of a node."""
        return cls(*(tuple(node.attributes.get(name, ())) for name in _DOT))

    @property
    def attributes(self) -> dict[str, Any]:
        """As a dot has them, None where HLO leaves them out."""
        batch, inner = (self.lhs_batch, self.rhs_batch), (self.lhs_contracting, self.rhs_contracting)
        return dict(zip(_DOT, (*(dims or None for dims in batch), *inner), strict=True))

    def rows(self, rank: int) -> list[int]:
        """What is left of the left operand, which has this rank."""
        return [axis for axis in range(rank) if axis not in (*self.lhs_batch, *self.lhs_contracting)]

    def columns(self, rank: int) -> list[int]:
        """What is left of the right operand, which has this rank."""
        return [axis for axis in range(rank) if axis not in (*self.rhs_batch, *self.rhs_contracting)]
