"""Stacked values: the array that the elements of all passes go to.

Where the number of passes is known before the first one, that array is the result itself, and each
element goes to its final place. Else the elements lie one after the other in a buffer that grows, and are
put in order after the last pass; so do arrays stacked along a new last axis, which would be written
to places far apart.
"""

from __future__ import annotations

from ...passes.loop import Entry, Stacked
from ..control_flow import declared_sizes
from ..kernels.base import normal_axis
from .block import Block
from .emitter import Emitter, Target, element_of, empty
from .selection import sliced
from .shapes import regrouped, transposed
from .tensors import Decline, Dim, Small, Stored, Sym, Tensor, level_of, row_major

_FIRST_ROOM = 1024
"""Elements for which there is room at first, where the number of passes isn't known."""


class StackedOutput:
    """The elements of one Stacked slot.

    Args:
        em: inside the body, after all of it is written.
        entry: the slot.
        element: the tensor to be stacked.
        counter: the variable that counts the passes.
        bound: the variable that holds the most passes there can be.
        counted: there will be exactly that many.
    """

    def __init__(self, em: Emitter, entry: Entry, element: Tensor, counter: str, bound: str, counted: bool) -> None:
        assert isinstance(entry.slot, Stacked)
        self.em = em
        self.entry = entry
        self.slot = entry.slot
        self.element = element
        self.counter = counter
        self.bound = bound
        self.counted = counted
        self.axis = normal_axis(self.slot.axis, len(element.dims) + (self.slot.part is None))
        scattered = self.axis == len(element.dims) > 0 and not isinstance(element, Small)
        self.final = counted and not scattered
        self.name = em.name("s")

    def write(self, before: Block) -> list[tuple[Tensor, Target]]:
        """Make the array, in `before` or in the first pass, and store the element of this pass; what is left to do."""
        em, dims = self.em, self.element.dims
        kind, name = self.element.kind, self.name
        layout = self._layout(self.bound if self.counted else f"min({self.bound}, {_FIRST_ROOM})")
        if level_of(dims) < em.depth:
            before.line(f"{name} = {empty(kind, layout)}")
        else:
            before.line(f"{name} = {empty(kind, [0] * len(layout))}")
            em.block.sub(f"if {self.counter} == 0:").line(f"{name} = {empty(kind, layout)}")
            for place, size in enumerate(layout):
                if size in dims or (self.final and self.slot.part is not None):
                    em.refuse_if(f"{name}.shape[{place}] != {size}", "stacked elements differ in size")
        if not self.counted:
            em.block.sub(f"if {self.counter} >= {name}.shape[0]:").line(f"{name} = grown({name})")
        target = self._target()
        if not isinstance(self.element, Small):
            return [(self.element, target)]
        for index, atom in zip(row_major(self.element.dims), self.element.atoms, strict=True):
            em.block.line(f"{target(index)} = {atom.code}")
        return []

    def _layout(self, room: str) -> list[Dim | str]:
        """The sizes of the array."""
        dims: list[Dim | str] = list(self.element.dims)
        if not self.final:
            return [room, *dims]
        if self.slot.part is None:
            return [*dims[: self.axis], room, *dims[self.axis :]]
        dims[self.axis] = f"{room} * {dims[self.axis]}"
        return dims

    def _target(self) -> Target:
        """Where the element of this pass goes."""
        whole = element_of(self.name)
        if not self.final:
            return lambda at: whole((self.counter, *at))
        row, axis = self.counter, self.axis
        if self.slot.reverse:
            row = self.em.let(f"{self.bound} - 1 - {self.counter}", "int64").code
        if self.slot.part is None:
            return lambda at: whole((*at[:axis], row, *at[axis:]))
        first = self.em.let(f"{row} * {self.element.dims[axis]}", "int64").code
        return lambda at: whole((*at[:axis], f"({first} + {at[axis]})", *at[axis + 1 :]))

    def result(self, count: Dim) -> Tensor:
        """The stacked value, after `count` passes. Written after the loop."""
        em, axis, element = self.em, self.axis, self.element
        dims: list[Dim] = [self._size(place, dim) for place, dim in enumerate(element.dims)]
        if not self.final:
            tensor = self._ordered(tuple(dims), count)
        else:
            if self.slot.part is None:
                dims.insert(axis, count)
            elif dims[axis] == element.dims[axis]:
                dims[axis] = em.product((count, dims[axis]))
            tensor = Stored(element.kind, tuple(dims), self.name, em.depth, owned=True, made=em.depth)
        self._check_empty(tensor, count)
        return tensor

    def _size(self, axis: int, dim: Dim) -> Dim:
        """A size of the elements as it is known after the loop: the array's own where only passes knew it."""
        if isinstance(dim, int) or dim.level <= self.em.depth:
            return dim
        inserted = not self.final or (self.slot.part is None and axis >= self.axis)
        return self.em.size(f"{self.name}.shape[{axis + inserted}]")

    def _ordered(self, dims: tuple[Dim, ...], count: Dim) -> Tensor:
        """The elements from the buffer in their final order."""
        em, axis, rank = self.em, self.axis, len(dims)
        name = self.name
        if not self.counted:  # the room to grow isn't kept
            name = em.let(f"{self.name}[:{count}].copy()", self.element.kind).code
        tensor: Tensor = Stored(self.element.kind, (count, *dims), name, em.depth, owned=True, made=em.depth)
        if self.slot.reverse:
            tensor = sliced(em, tensor, 0, em.let(f"{count} - 1", "int64"), count, -1)
        tensor = transposed(em, tensor, [*range(1, axis + 1), 0, *range(axis + 1, rank + 1)])
        if self.slot.part is not None:
            length = em.product((count, dims[axis]))
            tensor = regrouped(em, tensor, (*dims[:axis], length, *dims[axis + 1 :]))
        return tensor

    def _check_empty(self, tensor: Tensor, count: Dim) -> None:
        """Without any pass the sizes are the declared ones: decline where these are others than ours."""
        ours = [0 if place == self.axis else dim for place, dim in enumerate(tensor.dims)]
        shapes = (
            None if value is None else value.tensor.shape for value in (self.entry.body_output, self.entry.result)
        )
        declared = [0 if place == self.axis else dim for place, dim in enumerate(declared_sizes(self.slot, *shapes))]
        if declared == ours:
            return
        if isinstance(count, Sym):
            self.em.refuse_if(f"{count} == 0", "no pass, so elements of unknown size")
        elif count == 0:
            raise Decline("no pass, so elements of unknown size")
