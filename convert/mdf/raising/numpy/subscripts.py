"""Subscripts: `xs[k]`, `xs[-1]`, `xs[1:3]`, `xs[:, 0]`, `xs[i, j]`, of arrays, lists and tuples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType

import numpy as np

from .....passes.build import reshape, slice_axes, unsqueeze
from .....passes.build.values import INT64_MAX, INT64_MIN
from .....passes.errors import InvalidModel, Unsupported
from .....passes.graph import Value
from .....passes.rewrite import Builder
from .....passes.types import DType
from .values import Item, Number, Sizes, as_number, cast, known

IndexPart = Item | slice | EllipsisType
"""An index of one axis, None for a new one, `start:stop:step` of items, or `...`."""


def subscript(op: Builder, base: Item, indices: Sequence[IndexPart], where: str) -> Item:
    """`base[positions]`

    Raises:
        InvalidModel: an index that is no integer, too many of them, or one that is certainly out of range.
        Unsupported: a part whose size only running it shows.
    """
    if isinstance(base, list | tuple):
        found = _of_list(op, base, indices, where)
        if found is not None:
            return found
    number = as_number(op, base, where)
    if number.is_weak:
        raise InvalidModel(f"{where}: an index of one number")
    if number.listed and len(indices) != 1:
        raise InvalidModel(f"{where}: {len(indices)} indices of a list")
    made = _Indexing(op, number.value, where).index(_expanded(number, indices, where))
    if not number.listed:
        return Number(made)
    inside = number.listed - (not isinstance(indices[0], slice))
    return Number(made, number.python, inside)


def _of_list(op: Builder, row: list[Item] | tuple[Item, ...], indices: Sequence[IndexPart], where: str) -> Item:
    """An item, or some, of a list or tuple; None where only running it shows which."""
    if len(indices) != 1:
        raise InvalidModel(f"{where}: {len(indices)} indices of a list")
    position = indices[0]
    if isinstance(position, slice):
        return row[_slice(op, position, where)]
    if isinstance(position, EllipsisType):
        raise InvalidModel(f"{where}: ... as an index of a list")
    index = integer(op, position, where)
    if index is None:
        return None
    if not -len(row) <= index < len(row):
        raise InvalidModel(f"{where}: index {index} of {len(row)} items")
    return row[index]


def integer(op: Builder, item: Item, where: str) -> int | None:
    """An integer that is certain; None where only running it shows it.

    Raises:
        InvalidModel: it is none.
    """
    number = as_number(op, item, where)
    array = known(number)
    if number.rank or (array is not None and not _is_whole(array)):
        raise InvalidModel(f"{where}: an index that is no integer")
    return None if array is None else int(array)


def _is_whole(array: np.ndarray) -> bool:
    return array.dtype.kind in "biu" or (array.dtype.kind == "f" and float(array).is_integer())


def _slice(op: Builder, part: slice, where: str) -> slice:
    bounds: list[int | None] = []
    for item in (part.start, part.stop, part.step):
        bounds.append(None if item is None else integer(op, item, where))
        if item is not None and bounds[-1] is None:
            raise Unsupported(where, "a part from or to an index that is known only at run time")
    if bounds[2] == 0:
        raise InvalidModel(f"{where}: a part in steps of 0")
    return slice(*bounds)


def _expanded(number: Number, indices: Sequence[IndexPart], where: str) -> list[IndexPart]:
    """One position for each axis, and those for new ones; `...` and what is left out as whole axes."""
    whole = slice(None)
    used = sum(position is not None and not isinstance(position, EllipsisType) for position in indices)
    if used > number.rank:
        if any(isinstance(position, Number) and position.dtype is DType.BOOL for position in indices):
            raise Unsupported(where, "a boolean as an index")
        raise InvalidModel(f"{where}: {used} indices of an array of shape {number.shape}")
    rests = [index for index, position in enumerate(indices) if isinstance(position, EllipsisType)]
    if len(rests) > 1:
        raise InvalidModel(f"{where}: ... twice in an index")
    at = rests[0] if rests else len(indices)
    return [*indices[:at], *[whole] * (number.rank - used), *indices[at + len(rests) :]]


@dataclass
class _Indexing:
    """The steps from an array to what an index has of it; axes are taken from the last one on, so that the numbers of
    those before stay what they are."""

    op: Builder
    value: Value
    where: str

    def index(self, indices: Sequence[IndexPart]) -> Value:
        self._check(indices)
        axis = sum(position is not None for position in indices)
        shape: list[int | None] = []  # of what is behind the axis, in reverse
        new: list[int] = []  # new axes, counted from the end
        for position in reversed(indices):
            if position is None:
                shape.append(1)
                new.append(-len(shape))
                continue
            axis -= 1
            shape.extend(reversed(self._take(axis, position)))
        sizes = [size for size in reversed(shape) if size is not None]
        if len(sizes) == len(shape):
            return reshape(self.op, self.value, sizes)
        return unsqueeze(self.op, self.value, [len(shape) + index for index in reversed(new)])

    def _check(self, indices: Sequence[IndexPart]) -> None:
        """One array of indices stands beside single ones at most."""
        marks = ""
        for index in indices:
            if isinstance(index, Number) and index.dtype is not DType.STRING:
                marks += "a" if index.rank else "i"
            else:
                marks += "a" if isinstance(index, list | tuple) else " "
        if marks.count("a") > 1 or ("a" in marks and " " in marks.strip()):
            raise Unsupported(self.where, "several arrays of indices in one subscript")

    def _take(self, axis: int, index: IndexPart) -> Sizes:
        """What stands in the place of an axis; the sizes of that."""
        size = Number(self.value).sizes[axis]
        if isinstance(index, slice):
            return (self._part(axis, size, _slice(self.op, index, self.where)),)
        assert not isinstance(index, EllipsisType)
        number = as_number(self.op, index, self.where)
        if number.dtype is DType.BOOL:
            return self._masked(axis, size, number)
        array = known(number)
        whole = number.is_weak and (array is None or _is_whole(array))
        if number.dtype is DType.FLOAT64 and number.size and not whole:
            raise InvalidModel(f"{self.where}: an index of floats")
        if size is not None and array is not None and array.size and not (-size <= array.min() and array.max() < size):
            raise InvalidModel(f"{self.where}: index {array.min()} to {array.max()} of an axis of size {size}")
        if array is None and size == 0 and not number.is_open and number.size:
            raise InvalidModel(f"{self.where}: an index of an axis of size 0")
        indices = cast(self.op, number, DType.INT64, self.where)
        self._gather(axis, indices)
        return number.sizes

    def _masked(self, axis: int, size: int | None, mask: Number) -> Sizes:
        array = known(mask)
        if array is None or mask.rank != 1:
            raise Unsupported(
                self.where, "the elements where a condition is true, whose number is known only at run time"
            )
        if len(array) != size:
            raise InvalidModel(f"{self.where}: a mask of {len(array)} for an axis of size {size}")
        indices = np.flatnonzero(array)
        self._gather(axis, self.op.const(indices))
        return (len(indices),)

    def _gather(self, axis: int, indices: Value) -> None:
        if self.value.data is not None and indices.data is not None:
            self.value = self.op.const(np.take(self.value.data.numpy(), indices.data.numpy(), axis))
        else:
            self.value = self.op.Gather(self.value, indices, axis=axis)

    def _part(self, axis: int, size: int | None, part: slice) -> int | None:
        if size is None:
            return self._open_part(axis, part)
        start, stop, step = part.indices(size)
        indices = range(start, stop, step)
        if indices != range(size):
            if not indices:  # NumPy's start may be before the first element then
                start = stop = 0
            end = stop if stop >= 0 else INT64_MIN + 1  # -1 would be the last one
            self.value = slice_axes(self.op, self.value, [axis], [start], [end], [step])
        return len(indices)

    def _open_part(self, axis: int, part: slice) -> int | None:
        step = 1 if part.step is None else part.step
        first, last = (0, INT64_MAX) if step > 0 else (INT64_MAX, INT64_MIN + 1)
        start, end = first if part.start is None else part.start, last if part.stop is None else part.stop
        if (start, end, step) != (0, INT64_MAX, 1):
            self.value = slice_axes(self.op, self.value, [axis], [start], [end], [step])
        return Number(self.value).sizes[axis]
