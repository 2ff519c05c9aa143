"""What stands for values in expressions: names, numbers, and the text of what isn't named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, Type

CASTS: dict[DType, str] = {
    dtype: "numpy.bool_" if dtype is DType.BOOL else f"numpy.{dtype.value}"
    for dtype in (
        DType.BOOL,
        *(DType.INT8, DType.INT16, DType.INT32, DType.INT64),
        *(DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64),
        *(DType.FLOAT16, DType.FLOAT32, DType.FLOAT64),
    )
}
"""The element types that NumPy has, by what makes a value one of them."""


@dataclass(frozen=True, slots=True)
class Term:
    """The text of a value in an expression.

    In templates `{0}` is an operand beside an operator, in parentheses where it needs them, `{0:a}` an argument.

    Attributes:
        weak: of a number, the same as Python writes it: without an element type of its own. "" for anything else.
    """

    text: str
    weak: str = ""

    def __format__(self, spec: str) -> str:
        return self.text if spec == "a" or is_atom(self.text) else f"({self.text})"


Operands = Sequence[Term | None]
Expression = Callable[[Node, Operands], str | list[str]]
"""The text of a node's output, or of each of them, from those of its inputs. It raises Unsupported where there is none.

Operands may stand several times in it: the writer gives them a name, then.
"""


def is_atom(text: str) -> bool:
    """Whether an expression is a name, a number or one call, so that any operator may stand beside it."""
    head, opening, rest = text.partition("(")
    if not head.replace("_", "a").replace(".", "a").isalnum():
        return False
    if not opening:
        return True
    depth = 1
    for index, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return index == len(rest) - 1
    return False


def cast(dtype: DType | None, text: str, where: object) -> str:
    """The value as an element type.

    Raises:
        Unsupported: NumPy hasn't got it.
    """
    return f"{type_name(dtype, where)}({text})"


def type_name(dtype: DType | None, where: object) -> str:
    """What makes a value an element type.

    Raises:
        Unsupported: NumPy hasn't got it.
    """
    if dtype is None:
        raise Unsupported(where, "its element type isn't known")
    if dtype not in CASTS:
        raise Unsupported(where, f"MDF's engine has no numbers of type {dtype.value}")
    return CASTS[dtype]


def number(value: Any, dtype: DType) -> Term:
    """A number of an element type.

    Raises:
        Unsupported: NumPy hasn't got the type.
    """
    made = type_name(dtype, f"the number {value}")
    if dtype is DType.BOOL:
        return Term(str(bool(value)))
    if not dtype.is_float:
        return Term(f"{made}({int(value)})", str(int(value)))
    value = dtype.numpy.type(value)
    text = _spelled(value, dtype)
    return Term(f"{made}({text})", text if np.isfinite(value) else "")


def _spelled(value: Any, dtype: DType) -> str:
    """A float as Python writes it."""
    if np.isnan(value):
        return "numpy.nan"
    if np.isinf(value):
        return "-numpy.inf" if value < 0 else "numpy.inf"
    text = str(value)  # the shortest that reads back as the same
    return text if dtype.numpy.type(float(text)) == value else repr(float(value))


def literal(data: TensorData) -> Term:
    """A constant of few elements.

    Raises:
        Unsupported: NumPy hasn't got its type.
    """
    array = data.numpy()
    if not data.shape:
        return number(array.reshape(-1)[0], data.dtype)
    return Term(f"{type_name(data.dtype, 'a constant')}({_nested(array, data.dtype)})")


def is_listed_signed(data: TensorData) -> bool:
    """Whether a list has these as int64, with which they share their bits: beside smaller numbers NumPy makes float64
    of integers that only uint64 holds."""
    return data.dtype is DType.UINT64 and bool((data.numpy() > np.iinfo(np.int64).max).any())


def listed(data: TensorData) -> list[Any]:
    """The elements as nested lists, floats in as few digits as tell them apart in their own type."""
    array = data.numpy()
    if is_listed_signed(data):
        array = array.view(np.int64)
    if data.dtype in (DType.FLOAT16, DType.FLOAT32):
        short = array.astype(str).astype(np.float64)
        if np.array_equal(short.astype(array.dtype), array, equal_nan=True):
            array = short
    return array.tolist()


def _nested(array: np.ndarray[Any, Any], dtype: DType) -> str:
    """Tuples in tuples."""
    if array.ndim:
        return f"({', '.join(_nested(row, dtype) for row in array)}{',' if len(array) == 1 else ''})"
    return _spelled(array[()], dtype) if dtype.is_float else str(array.item())


def weakened(operands: Sequence[Term]) -> list[Term]:
    """Operands of one element type: numbers as Python writes them where another operand has the type."""
    if all(operand.weak for operand in operands):
        return list(operands)
    return [Term(operand.weak) if operand.weak else operand for operand in operands]


def tensor_of(where: object, type: Type | None) -> TensorType:
    """
    Raises:
        Unsupported: it is no tensor.
    """
    if not isinstance(type, TensorType):
        raise Unsupported(where, f"MDF has numbers and arrays only, not {type or 'values of unknown type'}")
    return type


def sizes(values: Sequence[int]) -> str:
    """A tuple of integers."""
    return str(tuple(int(value) for value in values))


def take(x: str, indices: str, axis: int) -> str:
    """The elements at some positions of an axis."""
    return f"numpy.take({x}, {indices}, {axis})"


def filled(where: object, type: Type | None, open_size: int | None = None) -> str:
    """Zeros of a type; where a dimension isn't known it is `open_size`.

    Raises:
        Unsupported: a dimension isn't known and there is no `open_size`, or the rank isn't known.
    """
    found = tensor_of(where, type)
    if found.shape is None or (open_size is None and found.static_shape is None):
        raise Unsupported(where, f"the shape of {found} isn't known before the model runs")
    shape = [dim if isinstance(dim, int) else open_size or 0 for dim in found.shape]
    return cast(found.dtype, f"numpy.zeros({sizes(shape)})" if shape else "0", where)
