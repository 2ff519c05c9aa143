"""Functions of NumPy that make arrays out of numbers: of one number, of steps, of a list."""

from __future__ import annotations

import numpy as np

from .....passes.errors import InvalidModel, Unsupported
from .....passes.types import DType
from .arguments import Axes, Call, Function
from .shapes import expand
from .values import Item, Number, astype, broadcast, constant, known


def full(call: Call, shape: Axes, fill_value: Number, dtype: DType | None = None) -> Item:
    sizes = call.shape(shape)
    if broadcast([fill_value.shape, sizes], call.where) != sizes:
        raise InvalidModel(f"{call.where}: a shape {fill_value.shape} doesn't fill {sizes}")
    return expand(call, astype(call.op, fill_value, dtype or fill_value.dtype, call.where), sizes)


def full_like(
    call: Call, a: Number, fill_value: Number, dtype: DType | None = None, *, shape: Axes | None = None
) -> Item:
    return full(call, a.shape if shape is None else shape, fill_value, dtype or a.dtype)


def array(call: Call, object: Number, dtype: DType | None = None, *, ndmin: int = 0) -> Item:
    if ndmin > object.rank:
        raise Unsupported(call.where, "more axes than the list has")
    return object if dtype is None else astype(call.op, object, dtype, call.where)


def arange(
    call: Call, start: Number, stop: Number | None = None, step: Number | None = None, dtype: DType | None = None
) -> Item:
    """Numbers in steps, all of them known."""
    zero, one = constant(call.op, 0), constant(call.op, 1)
    bounds = (zero, start, step or one) if stop is None else (start, stop, step or one)
    if any(number.rank for number in bounds):
        raise Unsupported(call.where, "bounds that are arrays")
    first, end, stride = (call.elements(number).item() for number in bounds)
    if not stride or not np.isfinite([first, end, stride]).all():
        raise InvalidModel(f"{call.where}: from {first} to {end} in steps of {stride}")
    call.check_shape([max(int((end - first) / stride) + 1, 0)])
    made = constant(call.op, np.arange(first, end, stride))
    return made if dtype is None else astype(call.op, made, dtype, call.where)


def linspace(call: Call, start: Number, stop: Number, num: int = 50, endpoint: bool = True) -> Item:
    """So many numbers at equal distances; the first and the last may be any two numbers."""
    if num < 0:
        raise InvalidModel(f"{call.where}: {num} numbers")
    call.check_shape([num])
    ends = [astype(call.op, end, DType.FLOAT64, call.where) for end in (start, stop)]
    if any(end.rank for end in ends):
        raise Unsupported(call.where, f"ends of shapes {start.shape} and {stop.shape}")
    plain = [known(end) for end in ends]
    if plain[0] is not None and plain[1] is not None:
        return constant(call.op, np.linspace(plain[0], plain[1], num, endpoint))
    spaces = num - endpoint
    step = "(last - first) / spaces" if spaces > 0 else "last - first"
    made = "made" if not endpoint or num < 2 else "numpy.append(made[:-1], last)"
    places = constant(call.op, np.arange(num, dtype=np.float64))
    formula = f"made = places * ({step}) + first; {made}"
    return call.compute(formula, first=ends[0], last=ends[1], places=places, spaces=float(spaces))


def eye(call: Call, N: int, M: int | None = None, k: int = 0, dtype: DType | None = None) -> Item:
    call.shape([N, N if M is None else M])
    return astype(call.op, constant(call.op, np.eye(N, M, k)), dtype or DType.FLOAT64, call.where)


MAKERS: dict[str, Function] = {
    "arange": arange,
    "array": array,
    "eye": eye,
    "full": full,
    "full_like": full_like,
    "linspace": linspace,
}
