"""Literals: what stands in `constant(...)`, to data and back. Numbers are converted in bulk, by NumPy.

They are written as the shortest decimals that come back as the same values. Minus zero is `-0.0`: XLA prints it as
`-0`, and reads that as an integer, 0.
"""

from __future__ import annotations

import math
import re
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

from ....passes.tensor import TensorData
from ....passes.types import DType
from .lexer import COMMENT, Scanner, token
from .tree import ArrayShape, HloShape, Literal, TokenShape, TupleShape

_MANTISSA = {
    DType.FLOAT8E5M2: 2,
    DType.FLOAT8E4M3: 3,
    DType.FLOAT8E3M4: 4,
    DType.FLOAT16: 10,
    DType.BFLOAT16: 7,
    DType.FLOAT32: 23,
    DType.FLOAT64: 52,
}
"""Mantissa bits of the types whose NaNs have payloads, as in IEEE 754."""

_SINGLE = {
    DType.FLOAT8E4M3FN: (0x7F, 0xFF),
    DType.FLOAT8E4M3FNUZ: (0x80, 0x80),
    DType.FLOAT8E4M3B11FNUZ: (0x80, 0x80),
    DType.FLOAT8E5M2FNUZ: (0x80, 0x80),
    DType.FLOAT8E8M0: (0xFF, 0xFF),
}
"""nan and -nan of the types that have just these."""


def nan_bits(dtype: DType, text: str) -> int | None:
    """The bits of `nan`, `-nan`, `nan(0x1)`; None where the type has no such value."""
    negative = text.startswith("-")
    if dtype in _SINGLE:
        return None if "(" in text else _SINGLE[dtype][negative]
    mantissa = _MANTISSA.get(dtype)
    if mantissa is None:
        return None
    payload = int(text.partition("(0x")[2].rstrip(")"), 16) if "(" in text else 1 << mantissa - 1
    if not 0 < payload < 1 << mantissa:
        return None
    exponent = (1 << dtype.bits - 1) - (1 << mantissa)
    return negative << dtype.bits - 1 | exponent | payload


def nan_text(dtype: DType, bits: int) -> str:
    """What `nan_bits` reads as these bits."""
    if dtype in _SINGLE:
        return "-nan" if bits != _SINGLE[dtype][0] else "nan"
    mantissa = _MANTISSA[dtype]
    sign = "-" if bits >> dtype.bits - 1 else ""
    payload = bits & (1 << mantissa) - 1
    return f"{sign}nan" if payload == 1 << mantissa - 1 else f"{sign}nan(0x{payload:x})"


def unsigned(array: np.ndarray) -> np.ndarray:
    """The bits of a flat array."""
    return array.view(f"u{array.itemsize}")


_BETWEEN = r"(?=[\s{},()/]|\Z)"
_NAN = r"-?nan(?:\(0x[0-9a-fA-F]{1,16}\))?"
_FLOAT = rf"(?:-?(?:\d++\.?+\d*+|(?<=-)\.\d++)(?:[eE][+-]?\d++)?|-?inf|{_NAN}){_BETWEEN}"
_INT = rf"-?\d++{_BETWEEN}"
_BOOL = rf"(?:true|false|-?\d++){_BETWEEN}"
_TOKENS = re.compile(rf"{_NAN}|[^\s{{}},()]++", re.ASCII)
_ONE = re.compile(r"[^\s{},]{1,30}")
_COMMENT = re.compile(COMMENT)
_PAYLOAD = re.compile(r"nan\(0x[0-9a-fA-F]{1,16}\)")
_ELIDED = token(r"\{\s*+\.\.\.")
_LONG = re.compile(r"\d{19}", re.ASCII)
_KINDS = bytes.maketrans(b"0123456789.+-abcdefinlrstuxEABCDF", b"x" * 33)
_BLANKS = bytes.maketrans(b",\n\t\r\f\v", b"      ")
_FLATTEN = str.maketrans("{},()", "     ")
_X = ord("x")
_DIGITS = 4000  # more than Python converts
_SATURATED = 7


def _spelling(dtype: DType) -> str:
    return _INT if dtype.is_integer else _BOOL if dtype is DType.BOOL else _FLOAT


@cache
def _scalar(dtype: DType) -> re.Pattern[str]:
    if dtype.is_complex:
        return token(rf"\(\s*+{_FLOAT}\s*+,\s*+{_FLOAT}\s*+\)")
    return token(_spelling(dtype))


@cache
def _values(dtype: DType) -> re.Pattern[str]:
    between = r"[\s{},()]" if dtype.is_complex else r"[\s{},]"
    return re.compile(rf"(?>(?:{between}*+{_spelling(dtype)})*){between}*+", re.ASCII)


@cache
def _end(depth: int) -> re.Pattern[str]:
    """To where an array ends whose braces are nested so deep: nowhere else are so many closed at once."""
    closed = rf"(?:(?>(?:[\s,]++|{COMMENT})*)\}})" + f"{{{depth - 1}}}"
    return re.compile(rf"(?>(?:[^}}/]++|{COMMENT}|\}}(?!{closed}))*)\}}{closed}", re.ASCII)


def read_literal(scanner: Scanner, shape: HloShape) -> Literal:
    """The literal of this shape that stands here; NaN payloads are kept.

    Raises:
        InvalidModel: malformed, of another size than the shape's, out of the type's range, or left out (`{...}`).
    """
    if isinstance(shape, TupleShape):
        scanner.expect("(")
        elements: list[Literal] = []
        for element in shape.elements:
            if elements:
                scanner.expect(",")
            elements.append(read_literal(scanner, element))
        scanner.expect(")")
        return tuple(elements)
    if isinstance(shape, TokenShape):
        scanner.fail("a token has no literal")
    sizes = tuple(dim for dim in shape.dims if isinstance(dim, int))
    if len(sizes) != len(shape.dims):
        scanner.fail("a constant of a dynamic shape")
    start = scanner.skip()
    if scanner.match(_ELIDED):
        scanner.fail(
            "constants were left out ('{...}') when this text was printed; print it with large constants", start
        )
    if not sizes:
        match = scanner.match(_scalar(shape.dtype))
        if not match:
            scanner.expected(f"a value of {shape.dtype.value}")
        value = _convert(scanner, start, scanner.text[start : match.end()], shape.dtype, 1)
        return TensorData(shape.dtype, (), value.reshape(()))
    return TensorData(shape.dtype, sizes, _array(scanner, start, shape, sizes))


def _array(scanner: Scanner, start: int, shape: ArrayShape, sizes: tuple[int, ...]) -> np.ndarray[Any, Any]:
    depth = min(sizes.index(0) + 1 if 0 in sizes else len(sizes), len(sizes))
    scanner.expect("{")
    if not scanner.match(_end(depth)):
        scanner.fail("this literal is never closed", start)
    body = scanner.text[start : scanner.at]
    if "/" in body:
        body = _COMMENT.sub(lambda comment: " " * len(comment[0]), body)
    values = _values(shape.dtype).match(body)
    assert values
    if values.end() != len(body):
        found = _ONE.match(body, values.end())
        text = found[0] if found else body[values.end()]
        scanner.fail(f"a value of {shape.dtype.value} expected, {text!a} found", start + values.end())
    count = math.prod(sizes)
    braces = math.prod(size or 1 for size in sizes[:depth])  # at least: an axis of 0 stands in as many as there are
    if braces > len(body) or not _fits(body, shape, sizes[:depth]):
        scanner.fail(f"the literal's braces and values don't fit the shape's sizes {list(sizes)}", start)
    if not count:
        return np.zeros(sizes, shape.dtype.numpy)
    return _convert(scanner, start, body, shape.dtype, count).reshape(sizes)


def _fits(body: str, shape: ArrayShape, sizes: tuple[int, ...]) -> bool:
    """Whether braces and values stand as the sizes ask, commas aside."""
    text = _PAYLOAD.sub("nan", body) if "nan(" in body else body
    kinds = np.frombuffer(text.encode("ascii").translate(_KINDS).translate(_BLANKS), np.uint8)
    values = kinds == _X
    kept = kinds != ord(" ")
    kept[1:] &= ~(values[1:] & values[:-1])
    expected = b"(xx)" if shape.dtype.is_complex else b"x"
    for size in reversed(sizes):
        expected = b"{" + expected * size + b"}"
    return kinds[kept].tobytes() == expected


def _convert(scanner: Scanner, start: int, body: str, dtype: DType, count: int) -> np.ndarray[Any, Any]:
    """The `count` values in `body` as a flat array of `dtype`; a scalar for one that stands alone."""
    if dtype.is_complex:
        part = DType.FLOAT32 if dtype is DType.COMPLEX64 else DType.FLOAT64
        return _floats(scanner, start, body, part, 2 * count).view(dtype.numpy)
    if dtype.is_float:
        return _floats(scanner, start, body, dtype, count)
    if dtype is DType.BOOL and ("t" in body or "f" in body):
        body = body.replace("true", "1").replace("false", "0")
    return _integers(scanner, start, body, dtype, count)


def _plain(body: str, dtype: type, count: int) -> np.ndarray[Any, Any]:
    flat = np.fromstring(body.translate(_FLATTEN), dtype, sep=" ")
    assert flat.size == count
    return flat


def _integers(scanner: Scanner, start: int, body: str, dtype: DType, count: int) -> np.ndarray[Any, Any]:
    low, high = (DType.INT64 if dtype is DType.BOOL else dtype).integer_limits
    if _LONG.search(body):
        exact = [int(text) if len(text) < _DIGITS else high + 1 for text in _TOKENS.findall(body)]
        outside = np.array([not low <= value <= high for value in exact])
        flat = np.array([value if low <= value <= high else 0 for value in exact], np.int64 if low else np.uint64)
    else:
        flat = _plain(body, np.int64, count)
        outside = (flat < low) | (flat > high)
    _check_range(scanner, start, body, dtype, outside)
    return (flat != 0) if dtype is DType.BOOL else flat.astype(dtype.numpy)


def _floats(scanner: Scanner, start: int, body: str, dtype: DType, count: int) -> np.ndarray[Any, Any]:
    spelled = ["nan"]  # all of them
    if "-nan" in body or "nan(" in body:
        texts = _TOKENS.findall(body)
        spelled = [text for text in texts if "nan" in text]
        wide = np.array([math.nan if "nan" in text else float(text) for text in texts])
    else:
        wide = _plain(body, np.float64, count)
    with np.errstate(all="ignore"):
        flat = wide.astype(dtype.numpy)
        finite = np.isfinite(flat)
    infinite, nans = np.isinf(wide), np.isnan(wide)
    outside = ~finite & ~infinite & ~nans
    if dtype is DType.FLOAT4E2M1:  # it saturates
        outside |= (np.abs(wide) > _SATURATED) & ~infinite
    if infinite.sum() != body.count("inf"):  # too large even for float64
        texts = _TOKENS.findall(body)
        outside |= infinite & np.array(["inf" not in text for text in texts])
    _check_range(scanner, start, body, dtype, outside)
    if finite[infinite].any() or np.isnan(flat[infinite]).any():
        scanner.fail(f"{dtype.value} has no infinities", start)
    if nans.any():
        words = {text: nan_bits(dtype, text) for text in spelled}
        for text, value in words.items():
            if value is None:
                scanner.fail(f"{text} isn't a value of {dtype.value}", start)
        unsigned(flat)[nans] = [words[text] for text in spelled]
    return flat


def _check_range(scanner: Scanner, start: int, body: str, dtype: DType, outside: np.ndarray[Any, Any]) -> None:
    """Raise InvalidModel at the first value that is outside."""
    if outside.any():
        value = next(islice(_TOKENS.finditer(body), int(outside.argmax()), None))
        scanner.fail(f"{value[0][:30]} is out of the range of {dtype.value}", start + value.start())


def write_literal(literal: Literal) -> str:
    """The literal's text, on one line."""
    if isinstance(literal, tuple):
        return f"({', '.join(map(write_literal, literal))})"
    array = np.ascontiguousarray(literal.numpy())
    texts = _texts(array.reshape(-1), literal.dtype, bool(literal.shape))
    for axis in reversed(range(len(literal.shape))):
        size = literal.shape[axis]
        rows = int(np.prod(literal.shape[:axis], dtype=np.int64))
        texts = ["{" + ", ".join(texts[row * size : row * size + size]) + "}" for row in range(rows)]
    return texts[0]


def _texts(flat: np.ndarray[Any, Any], dtype: DType, among_others: bool) -> list[str]:
    if dtype is DType.BOOL:
        words = ("0", "1") if among_others else ("false", "true")
        return [words[value] for value in flat.tolist()]
    if dtype.is_integer:
        return list(map(str, (flat if flat.dtype.kind in "iu" else flat.astype(np.int64)).tolist()))
    if dtype.is_complex:
        part = DType.FLOAT32 if dtype is DType.COMPLEX64 else DType.FLOAT64
        parts = _float_texts(flat.view(part.numpy), part)
        return [f"({real}, {imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    return _float_texts(flat, dtype)


def _float_texts(flat: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    if dtype.bits <= 16:  # few values, however many elements
        bits, positions = np.unique(unsigned(flat), return_inverse=True)
        words = _shortest(bits.view(flat.dtype), dtype)
        return [words[position] for position in positions.tolist()]
    return _shortest(flat, dtype)


def _shortest(flat: np.ndarray[Any, Any], dtype: DType) -> list[str]:
    with np.errstate(invalid="ignore"):
        wide = flat.astype(np.float64)
    if dtype is DType.FLOAT64:
        texts = map(repr, flat.tolist())
    elif dtype is DType.FLOAT32:
        texts = map(str, flat)
    else:
        texts = (repr(_fewest_digits(value, flat.dtype)) for value in wide.tolist())
    found = [text[:-2] if text.endswith(".0") and text != "-0.0" else text for text in texts]
    nans = np.flatnonzero(np.isnan(wide))
    for index, bits in zip(nans.tolist(), unsigned(flat)[nans].tolist(), strict=True):
        found[index] = nan_text(dtype, bits)
    return found


def _fewest_digits(value: float, dtype: np.dtype[Any]) -> float:
    """The number with the fewest digits that becomes `value` in a type of 16 bits or less."""
    if not math.isfinite(value):
        return value
    with np.errstate(over="ignore"):
        rounded = (float(f"{value:.{digits}g}") for digits in range(1, 17))
        return next(number for number in rounded if float(np.asarray(number).astype(dtype)) == value)
