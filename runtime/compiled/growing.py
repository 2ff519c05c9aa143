"""Carried values that each pass lengthens: x' = Concat(x, more), as attention caches its keys and values.

The elements stand in an array with spare room, [before the axis, room, behind it]. A pass writes its own behind those
of the passes before, and all are copied only where there is no room left, to an array of twice the size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...passes.graph import Node
from ...passes.loop import Entry
from ..kernels.base import Attributes, normal_axis
from .emitter import Emitter
from .selection import total
from .shapes import regrouped
from .tensors import Atom, Decline, Dim, Index, Lazy, Reader, Small, Stored, Sym, Tensor

_SPARE = 16
"""Elements along the axis that there is room for at first, beside as many as there are."""


def lengthening(entry: Entry, rank: int, axes: set[int]) -> Node | None:
    """The Concat that makes the carried value of a slot longer, if that is all that a pass does to it.

    Args:
        rank: of the value.
        axes: along which its size changes.
    """
    value = entry.body_output
    node = None if value is None else value.producer
    if node is None or node.op != ("", "Concat") or node.inputs[0] is not entry.body_input:
        return None
    return node if {normal_axis(Attributes(node).int("axis"), rank)} == axes else None


@dataclass
class Growing:
    """A carried value in an array with room.

    Attributes:
        name: the variable of the array.
        size: the variable of how many elements there are along the axis when a pass begins.
    """

    em: Emitter
    kind: str
    dims: tuple[Dim, ...]
    axis: int
    name: str
    size: str

    @staticmethod
    def of(em: Emitter, initial: Tensor, axis: int) -> Growing:
        """Make the array before a loop."""
        made = Growing(em, initial.kind, tuple(initial.dims), axis, em.name("r"), em.name("d"))
        length = initial.dims[axis]
        outer, inner = em.product(made.dims[:axis]), em.product(made.dims[axis + 1 :])
        whole = f"{em.stored(initial).name}.reshape(({outer}, {length}, {inner}))"
        em.block.line(f"{made.size} = np.int64({length})")
        em.block.line(f"{made.name} = with_room({whole}, {made.size}, 2 * {made.size} + {_SPARE})")
        return made

    def seen(self, level: int) -> Tensor:
        """The value that a pass begins with."""
        return self._view(Sym(self.size, level))

    def lengthened(self, inputs: Sequence[Tensor | None]) -> Tensor:
        """What Concat makes of the value and others."""
        em, axis = self.em, self.axis
        first, *others = [tensor for tensor in inputs if tensor is not None]
        starts = [first.dims[axis]]
        for tensor in others:
            if tensor.kind != self.kind or len(tensor.dims) != len(self.dims):
                raise Decline("types or ranks differ")
            for place, (a, b) in enumerate(zip(self.dims, tensor.dims, strict=True)):
                if place != axis:
                    em.same(a, b)
            starts.append(total(em, starts[-1], tensor.dims[axis]))
        end = starts[-1]
        em.block.sub(f"if {end} > {self.name}.shape[1]:").line(
            f"{self.name} = with_room({self.name}, {self.size}, 2 * {end})"
        )
        for tensor, start in zip(others, starts, strict=False):
            source = em.spill(tensor) if isinstance(tensor, Small) else tensor
            em.write([(source, lambda at, start=start: self._place(at, f"({start} + {at[axis]})"))])
        return self._view(end)

    def result(self) -> Tensor:
        """The value after the loop."""
        em, name = self.em, self.em.name("b")
        em.block.line(f"{name} = with_room({self.name}, {self.size}, {self.size})")
        length = em.size(self.size)
        outer, inner = em.product(self.dims[: self.axis]), em.product(self.dims[self.axis + 1 :])
        whole = Stored(self.kind, (outer, length, inner), name, em.depth, owned=True, made=em.depth)
        return regrouped(em, whole, (*self.dims[: self.axis], length, *self.dims[self.axis + 1 :]))

    def _view(self, size: Dim) -> Tensor:
        """The first elements along the axis."""
        dims = (*self.dims[: self.axis], size, *self.dims[self.axis + 1 :])

        def element(reader: Reader, at: Index) -> Atom:
            return self.em.let(self._place(at, at[self.axis]), self.kind)

        rows: Callable[[Index], str] | None = None
        if self.axis == len(dims) - 2:
            rows = lambda at: f"{self.name}[{_flat(self.dims[: self.axis], at)}][:{size}]"  # noqa: E731
        return Lazy(self.kind, dims, element, view=True, rows=rows)

    def _place(self, at: Index, along: str) -> str:
        before, behind = self.dims[: self.axis], self.dims[self.axis + 1 :]
        outer, inner = _flat(before, at[: self.axis]), _flat(behind, at[self.axis + 1 :])
        return f"{self.name}[{outer}, {along}, {inner}]"


def _flat(dims: Sequence[Dim], at: Sequence[str]) -> str:
    """The row-major position of an index."""
    code = "0"
    for dim, part in zip(dims, at, strict=True):
        code = part if code == "0" else f"({code} * {dim} + {part})"
    return code
