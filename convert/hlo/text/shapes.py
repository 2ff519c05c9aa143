"""Shapes: `f32[2,<=3]{1,0:T(8,128)}`, `(s32[], (f32[2]))`, `token[]`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ....passes.limits import MOST_AXES
from ....passes.types import Dim, DType, Interval
from .dtypes import DTYPES, NAMES
from .lexer import BLANK, COMMENT, DEEPEST, Scanner, token
from .tree import ArrayShape, HloShape, TokenShape, TupleShape

_LAYOUT = r"\{[\d,\s]*+(?::(?>(?:[^{}]++|\{[^{}]*+\})*))?\}"
_INSIDE = re.compile(
    r"\{((?:\s*+\d{1,2}\s*+(?>(?:,\s*+\d{1,2}\s*+)*))?)\s*+"
    r"(?::\s*+(?>(?:(?:[A-Z]++|[#*])\s*+(?>(?:\((?>(?:[^()]++|\([^()]*+\))*)\)\s*+)+))*))?\}",
    re.ASCII,
)
_NUMBER = re.compile(r"\d+", re.ASCII)
_ARRAY = token(rf"([a-z]\w*){BLANK}\[((?>(?:[^\[\]/]++|{COMMENT})*))\](?:{BLANK}({_LAYOUT}))?")
_BUFFER = token(r"b\(")
_DIM = re.compile(r"(<=)?(\d+)|\?", re.ASCII)
_COMMENT = re.compile(COMMENT)


def at_shape(scanner: Scanner) -> bool:
    """Whether a shape is next (an opcode otherwise)."""
    return scanner.ahead("(") or bool(_ARRAY.match(scanner.text, scanner.at) or _BUFFER.match(scanner.text, scanner.at))


def read_shape(scanner: Scanner, known: dict[str, HloShape], depth: int = 0) -> HloShape:
    """The shape that stands here; `known` keeps the arrays of a module by their text.

    Raises:
        InvalidModel: no shape, one of a type that isn't read (opaque, s1, buffers), or too large.
    """
    match = scanner.match(_ARRAY)
    if match:
        start = match.start(1)
        text = scanner.text[start : match.end()]
        shape = known.get(text)
        if shape is None:
            shape = known[text] = _array(scanner, match)
        return shape
    start = scanner.skip()
    if not scanner.accept("("):
        if scanner.match(_BUFFER):
            scanner.fail("buffers, b(...), aren't read", start)
        scanner.expected("a shape")
    if depth == DEEPEST:
        scanner.fail(f"tuples nested deeper than {DEEPEST}", start)
    elements: list[HloShape] = []
    while not scanner.accept(")"):
        if elements:
            scanner.expect(",")
        elements.append(read_shape(scanner, known, depth + 1))
    return TupleShape(tuple(elements))


def _array(scanner: Scanner, match: re.Match[str]) -> HloShape:
    start, (name, inside, layout) = match.start(1), match.groups()
    if name == "token" and not inside:
        return TokenShape()
    if name in ("opaque", "s1"):
        scanner.fail(f"the type {name} isn't read", start)
    dtype = DTYPES.get(name)
    if dtype is None:
        scanner.fail(f"unknown element type {name[:30]!a}", start)
    if "/" in inside:
        inside = _COMMENT.sub("", inside)
    dims = tuple(_dim(scanner, part.strip(), match.start(2)) for part in inside.split(",")) if inside.strip() else ()
    if fault := size_fault(dtype, dims):
        scanner.fail(fault, start)
    if layout and not _orders(layout, len(dims)):
        scanner.fail(f"the layout {layout[:40]!a} isn't one of {len(dims)} dimensions", match.start(3))
    return ArrayShape(dtype, dims, layout or "")


def size_fault(dtype: DType, dims: Sequence[Dim]) -> str:
    """Why no array is of a shape; "" where one may be. Sizes of 0 make no other one smaller: NumPy has none, either."""
    if len(dims) > MOST_AXES:
        return f"{len(dims)} dimensions, more than {MOST_AXES}"
    sizes = [upper for dim in dims if (upper := dim.upper if isinstance(dim, Interval) else dim)]
    if math.prod(size for size in sizes if isinstance(size, int)) * max(dtype.bits, 8) >= 1 << 66:
        return "the shape's size in bytes doesn't fit 63 bits"
    return ""


def _orders(layout: str, rank: int) -> bool:
    """Whether a layout has the form of one, and orders so many dimensions."""
    match = _INSIDE.fullmatch(layout)
    return bool(match) and sorted(map(int, _NUMBER.findall(match[1]))) == list(range(rank))


def _dim(scanner: Scanner, text: str, at: int) -> Dim:
    match = _DIM.fullmatch(text)
    if not match:
        scanner.fail(f"a dimension expected, {text[:30]!a} found", at)
    if match[2] is None:
        return None
    if len(match[2]) > 19 or (size := int(match[2])) >= 1 << 63:
        scanner.fail("a dimension doesn't fit 63 bits", at)
    return Interval(0, size) if match[1] else size


def write_shape(shape: HloShape) -> str:
    """The shape's text, layouts as they were."""
    if isinstance(shape, TupleShape):
        return f"({', '.join(map(write_shape, shape.elements))})"
    if isinstance(shape, TokenShape):
        return "token[]"
    dims = ",".join(
        "?" if dim is None else f"<={dim.upper}" if isinstance(dim, Interval) else str(dim) for dim in shape.dims
    )
    return f"{NAMES[shape.dtype]}[{dims}]{shape.layout}"
