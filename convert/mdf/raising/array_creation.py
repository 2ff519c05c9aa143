"""Functions of NumPy that make arrays out of numbers: of zeros, of steps, of a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.types import DType
from .arguments import Call
from .numpy_values import Item, Number, applied, broadcast, constant, converted, known, stacked
from .python_calls import Function
from .shapes import expanded
from .ufuncs import UFUNCS

# of one number -----------------------------------------------------------------------------------


def _full(call: Call, shape: tuple[int, ...], fill: Number, dtype: DType) -> Number:
    if broadcast([fill.shape, shape], call.where) != shape:
        raise InvalidModel(f"{call.where}: a shape {fill.shape} doesn't fill {shape}")
    return expanded(call, converted(call.op, fill, dtype, call.where), shape)


def _filled(fill: float) -> tuple[Function, Function]:
    """`zeros` and `zeros_like`, `ones` and `ones_like`."""

    def filled(call: Call, shape: Item, dtype: Item = None) -> Item:
        return _full(call, call.shape(shape), constant(call.op, fill), call.dtype(dtype) or DType.FLOAT64)

    def filled_like(call: Call, a: Item, dtype: Item = None, *, shape: Item = None) -> Item:
        x = call.array(a)
        sizes = x.shape if shape is None else call.shape(shape)
        return _full(call, sizes, constant(call.op, fill), call.dtype(dtype) or x.dtype)

    return filled, filled_like


def full(call: Call, shape: Item, fill_value: Item, dtype: Item = None) -> Item:
    fill = call.array(fill_value)
    return _full(call, call.shape(shape), fill, call.dtype(dtype) or fill.dtype)


def full_like(call: Call, a: Item, fill_value: Item, dtype: Item = None, *, shape: Item = None) -> Item:
    x = call.array(a)
    sizes = x.shape if shape is None else call.shape(shape)
    return _full(call, sizes, call.array(fill_value), call.dtype(dtype) or x.dtype)


# of a list ---------------------------------------------------------------------------------------


def array(call: Call, object: Item, dtype: Item = None, *, ndmin: Item = None) -> Item:
    x = stacked(call.op, object, call.where).array
    wanted = call.dtype(dtype)
    if ndmin is not None and call.integer(ndmin) > x.rank:
        raise Unsupported(call.where, "more axes than the list has")
    return x if wanted is None else converted(call.op, x, wanted, call.where)


def asarray(call: Call, a: Item, dtype: Item = None) -> Item:
    return array(call, a, dtype)


def copy(call: Call, a: Item) -> Item:
    return call.array(a)


def astype(call: Call, x: Item, dtype: Item) -> Item:
    return array(call, x, dtype)


# of what is known --------------------------------------------------------------------------------


def _plain(call: Call, item: Item) -> Any:
    """A known number, None as it is."""
    if item is None:
        return None
    number = call.operand(item)
    found = known(number)
    if found is None or number.rank:
        raise Unsupported(call.where, "a number that has to be known, and only running it shows")
    return found.item()


def arange(call: Call, start: Item, stop: Item = None, step: Item = None, dtype: Item = None) -> Item:
    """Numbers in steps, all of them known."""
    first, end, stride = _plain(call, start), _plain(call, stop), _plain(call, step)
    if end is None:
        first, end = 0, first
    stride = 1 if stride is None else stride
    if not stride or not np.isfinite([first, end, stride]).all():
        raise InvalidModel(f"{call.where}: from {first} to {end} in steps of {stride}")
    call.check_shape([max(int((end - first) / stride) + 1, 0)])
    made = constant(call.op, np.arange(first, end, stride))
    wanted = call.dtype(dtype)
    return made if wanted is None else converted(call.op, made, wanted, call.where)


def linspace(call: Call, start: Item, stop: Item, num: Item = None, endpoint: Item = None) -> Item:
    """So many numbers at equal distances; the first and the last may be any two numbers."""
    count = call.integer(num, 50)
    closed = endpoint is None or call.flag(endpoint)
    if count < 0:
        raise InvalidModel(f"{call.where}: {count} numbers")
    call.check_shape([count])
    ends = [_single(call, item) for item in (start, stop)]
    plain = [known(end) for end in ends]
    if plain[0] is not None and plain[1] is not None:
        return constant(call.op, np.linspace(plain[0], plain[1], count, closed))
    first, last = (end.value for end in ends)
    op, spaces = call.op, count - closed
    places = op.const(np.arange(count, dtype=np.float64))
    if spaces <= 0:
        return Number(op.Add(op.Mul(places, op.Sub(last, first)), first))
    step = op.Div(op.Sub(last, first), op.const(np.asarray(spaces, np.float64)))
    made = op.Add(op.Mul(places, step), first)
    if not closed or count < 2:
        return Number(made)
    body = op.Slice(made, op.const([0]), op.const([count - 1]), op.const([0]))
    return Number(op.Concat(body, op.Unsqueeze(last, op.const([0])), axis=0))


def _single(call: Call, item: Item) -> Number:
    number = converted(call.op, call.array(item), DType.FLOAT64, call.where)
    if number.rank:
        raise Unsupported(call.where, f"an end of shape {number.shape}")
    return number


def logspace(call: Call, start: Item, stop: Item, num: Item = None, endpoint: Item = None, base: Item = None) -> Item:
    exponents = call.array(linspace(call, start, stop, num, endpoint))
    foot = constant(call.op, 10.0) if base is None else call.array(base)
    return applied(call.op, UFUNCS["power"], [foot, exponents], call.where)


def eye(call: Call, N: Item, M: Item = None, k: Item = None, dtype: Item = None) -> Item:
    rows = call.integer(N)
    columns = call.integer(M, rows)
    if min(rows, columns) < 0:
        raise InvalidModel(f"{call.where}: {rows} rows and {columns} columns")
    call.check_shape([rows, columns])
    made = constant(call.op, np.eye(rows, columns, call.integer(k, 0)))
    return converted(call.op, made, call.dtype(dtype) or DType.FLOAT64, call.where)


def identity(call: Call, n: Item, dtype: Item = None) -> Item:
    return eye(call, n, dtype=dtype)


_ZEROS, _ZEROS_LIKE = _filled(0.0)
_ONES, _ONES_LIKE = _filled(1.0)
MAKERS: dict[str, Function] = {
    "arange": arange,
    "array": array,
    "asarray": asarray,
    "astype": astype,
    "copy": copy,
    "eye": eye,
    "full": full,
    "full_like": full_like,
    "identity": identity,
    "linspace": linspace,
    "logspace": logspace,
    "ones": _ONES,
    "ones_like": _ONES_LIKE,
    "zeros": _ZEROS,
    "zeros_like": _ZEROS_LIKE,
}
