"""What a function's arguments are taken for: arrays, operands, integers, axes, shapes, types."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ....passes.errors import InvalidModel, Unsupported
from ....passes.rewrite import Builder
from ....passes.types import DType
from .numpy_values import Item, Listing, Number, known, stacked
from .subscripts import integer

TYPES = {
    "bool": DType.BOOL,
    "bool_": DType.BOOL,
    "double": DType.FLOAT64,
    "float32": DType.FLOAT32,
    "float64": DType.FLOAT64,
    "int32": DType.INT32,
    "int64": DType.INT64,
    "int_": DType.INT64,
    "single": DType.FLOAT32,
}
"""Element types by their names in NumPy."""
_SPELLED = {**TYPES, "float": DType.FLOAT64, "int": DType.INT64}
_MOST_ELEMENTS = 1 << 24
"""Of an array that an expression makes out of nothing."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a function of a table.

    Attributes:
        where: names the place and the function for messages.
        safe: what is built may stand in a branch that isn't taken, and must not end the run.
    """

    op: Builder
    where: str
    safe: bool = False

    def bound(self, function: Callable[..., Item], items: Sequence[Item], keywords: Mapping[str, Item]) -> Item:
        """What a function of a table gives.

        Raises:
            InvalidModel: it takes no such arguments.
            Unsupported: it takes an argument of this name nowhere but in NumPy.
        """
        signature = inspect.signature(function)
        parameters = signature.parameters.values()
        if not any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters):
            odd = next((name for name in keywords if name not in signature.parameters), None)
            if odd is not None:
                raise Unsupported(self.where, f"its argument {odd!r:.40}")
        try:
            signature.bind(self, *items, **keywords)
        except TypeError as error:
            raise InvalidModel(f"{self.where}: {error}") from None
        return function(self, *items, **keywords)

    def operand(self, item: Item) -> Number:
        """What a universal function takes: Python numbers stay weak."""
        number = stacked(self.op, item, self.where)
        return number.array if number.listed else number

    def array(self, item: Item) -> Number:
        """What `numpy.asarray` makes of it."""
        return stacked(self.op, item, self.where).array

    def integer(self, item: Item, default: int | None = None) -> int:
        """An integer that has to be known; `default` where it is left out."""
        if item is None and default is not None:
            return default
        found = integer(self.op, item, self.where)
        if found is None:
            raise Unsupported(self.where, "a number that has to be known, and only running it shows")
        return found

    def integers(self, item: Item) -> tuple[int, ...]:
        """One integer or several."""
        if isinstance(item, Listing | tuple):
            return tuple(self.integer(part) for part in (item.items if isinstance(item, Listing) else item))
        number = stacked(self.op, item, self.where)
        if not number.rank:
            return (self.integer(number),)
        array = known(number)
        if array is None:
            raise Unsupported(self.where, "numbers that have to be known, and only running it shows")
        if number.rank > 1 or (array.dtype.kind not in "biu" and array.size):
            raise InvalidModel(f"{self.where}: a list of integers is expected")
        return tuple(int(entry) for entry in array)

    def shape(self, item: Item) -> tuple[int, ...]:
        """The shape of a new array."""
        sizes = self.integers(item)
        if min(sizes, default=0) < 0:
            raise InvalidModel(f"{self.where}: the shape {sizes}")
        self.check_shape(sizes)
        return sizes

    def check_shape(self, sizes: Sequence[int]) -> None:
        """Refuse an array that is far larger than what it is made of."""
        count = math.prod(sizes)
        if len(sizes) > 32 or count > _MOST_ELEMENTS:
            raise Unsupported(self.where, f"an array of {count} elements in {len(sizes)} axes")

    def axis(self, item: Item, rank: int) -> int:
        """An axis, counted from the front."""
        return self._axis(self.integer(item), rank)

    def _axis(self, axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise InvalidModel(f"{self.where}: axis {axis} of an array of {rank} axes")
        return axis % rank

    def axes(self, item: Item, rank: int) -> tuple[int, ...]:
        """Axes, each once; None is all of them."""
        if item is None:
            return tuple(range(rank))
        axes = tuple(self._axis(axis, rank) for axis in self.integers(item))
        if len(set(axes)) < len(axes):
            raise InvalidModel(f"{self.where}: an axis twice")
        return axes

    def reduced_axes(self, item: Item, rank: int) -> tuple[int, ...]:
        """Axes of a reduction, for which one number has an axis 0 as well."""
        if not rank and item is not None and self.integers(item) in ((0,), (-1,)):
            return ()
        return self.axes(item, rank)

    def flag(self, item: Item) -> bool:
        """Yes or no; no where it is left out."""
        return item is not None and bool(self.integer(item))

    def dtype(self, item: Item) -> DType | None:
        """An element type; None where it is left open."""
        if item is None or isinstance(item, DType):
            return item
        if isinstance(item, str) and item in _SPELLED:
            return _SPELLED[item]
        raise Unsupported(self.where, "an element type that isn't float, int, bool or one of numpy.")
