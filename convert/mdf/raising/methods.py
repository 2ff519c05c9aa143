"""Methods and members of arrays: NumPy's functions with the array in front."""

from __future__ import annotations

from collections.abc import Mapping

from ....passes.errors import InvalidModel
from ....passes.infer import words
from .arguments import Call
from .array_creation import array as array_
from .numpy_values import Item, Number, reshaped
from .python_calls import Function


def _checked(function: Function) -> Function:
    """Arrays have methods, and Python's numbers and lists haven't these."""

    def checked(call: Call, *items: Item, **keywords: Item) -> Item:
        own = items[0]
        if not isinstance(own, Number) or own.is_weak or own.listed:
            raise InvalidModel(f"{call.where}: of something that is no array")
        return call.bound(function, items, keywords)

    return checked


def _unpacked(function: Function) -> Function:
    """`a.reshape(2, 3)` for `a.reshape((2, 3))`."""

    def unpacked(call: Call, own: Item, *numbers: Item) -> Item:
        if len(numbers) == 1:
            return function(call, own, numbers[0])
        return function(call, own, tuple(numbers) if numbers else None)

    return unpacked


def item(call: Call, own: Item) -> Item:
    """The one element as a Python number."""
    number = call.array(own)
    if number.size != 1:
        raise InvalidModel(f"{call.where}: of an array of shape {number.shape}")
    return Number(reshaped(call.op, number.value, ()), python=True)


def astype(call: Call, own: Item, dtype: Item) -> Item:
    return array_(call, own, dtype)


_NAMED = {"flatten": "ravel", "T": "transpose"}
_LIKEWISE = words(
    "T all any argmax argmin clip copy cumprod cumsum diagonal dot flatten max mean min ndim prod ravel repeat round "
    "shape size squeeze std sum swapaxes take trace var"
)


def methods(numpy: Mapping[str, Function]) -> dict[str, Function]:
    """The table, from that of NumPy's functions."""
    found = {name: numpy[_NAMED.get(name, name)] for name in _LIKEWISE}
    found["reshape"] = _unpacked(numpy["reshape"])
    found["transpose"] = _unpacked(numpy["transpose"])
    found |= {"astype": astype, "item": item}
    return {name: _checked(function) for name, function in found.items()}
