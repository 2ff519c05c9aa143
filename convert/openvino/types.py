"""Element types and shapes as IR spells them.

Ports write a `precision` ("FP32"), attributes an `element_type` ("f32"). Shapes stand in `<dim>` elements at
ports, where every dynamic dimension is -1, and as text in attributes ("?,2..5,3", "..." for an unknown rank).
"""

from __future__ import annotations

from ...passes.errors import InvalidModel
from ...passes.types import Dim, DType, Interval, Shape

LARGEST = 2**63 - 1
"""The largest size, id, offset or dimension that a file may name."""

_OWN_PRECISION = {DType.BOOL: "BOOL", DType.UINT1: "BIN", DType.FLOAT16: "FP16", DType.FLOAT32: "FP32"}
_OWN_PRECISION |= {DType.FLOAT64: "FP64"}

ELEMENT_TYPES: dict[DType, str] = {
    DType.BOOL: "boolean",
    DType.BFLOAT16: "bf16",
    DType.FLOAT16: "f16",
    DType.FLOAT32: "f32",
    DType.FLOAT64: "f64",
    DType.INT4: "i4",
    DType.INT8: "i8",
    DType.INT16: "i16",
    DType.INT32: "i32",
    DType.INT64: "i64",
    DType.UINT1: "u1",
    DType.UINT2: "u2",
    DType.UINT3: "u3",
    DType.UINT4: "u4",
    DType.UINT6: "u6",
    DType.UINT8: "u8",
    DType.UINT16: "u16",
    DType.UINT32: "u32",
    DType.UINT64: "u64",
    DType.NF4: "nf4",
    DType.FLOAT8E4M3FN: "f8e4m3",
    DType.FLOAT8E5M2: "f8e5m2",
    DType.FLOAT8E8M0: "f8e8m0",
    DType.FLOAT4E2M1: "f4e2m1",
    DType.STRING: "string",
}
"""The `element_type` of each element type that OpenVINO has."""

PRECISIONS: dict[DType, str] = {dtype: _OWN_PRECISION.get(dtype, name.upper()) for dtype, name in ELEMENT_TYPES.items()}
"""The `precision` of each element type that OpenVINO has."""

DYNAMIC_TYPE, DYNAMIC_PRECISION = "dynamic", "UNSPECIFIED"
"""How an element type that isn't known is spelled."""

DTYPES: dict[str, DType | None] = {
    DYNAMIC_TYPE: None,
    DYNAMIC_PRECISION: None,
    "undefined": None,
    **{name: dtype for dtype, name in PRECISIONS.items()},
    **{name: dtype for dtype, name in ELEMENT_TYPES.items()},
}
"""Element type of either spelling; None for one that isn't known."""


def parse_dtype(text: str) -> DType | None:
    """The element type of a `precision` or `element_type`; None for one that isn't known.

    Raises:
        InvalidModel: OpenVINO has no such type.
    """
    try:
        return DTYPES[text]
    except KeyError:
        raise InvalidModel(f"unknown element type {shown(text)}") from None


def shown(text: str) -> str:
    """`text` from a file, quoted where it isn't a plain word, and short enough for one line."""
    text = text if len(text) <= 60 else text[:57] + "..."
    return text if text.isidentifier() or text.isdecimal() else repr(text)


def parse_int(text: str, what: str, least: int = 0) -> int:
    """An integer between `least` (0 or less) and 2**63 - 1, in plain decimal digits.

    Raises:
        InvalidModel: anything else.
    """
    if len(text) < 19 and text.isascii() and text.isdigit():  # nearly all there are
        return int(text)
    text = text.strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise InvalidModel(f"{what} {shown(text)} isn't an integer")
    number = int(text) if len(text) <= 20 else LARGEST + 1
    if not least <= number <= LARGEST:
        raise InvalidModel(f"{what} {shown(text)} is out of range")
    return number


def _dimension(text: str) -> Dim:
    text = text.strip()
    if text in ("?", "-1"):
        return None
    if ".." not in text:
        return parse_int(text, "dimension")
    lower, _, upper = text.partition("..")
    low = parse_int(lower, "dimension") if lower.strip() else 0
    high = parse_int(upper, "dimension") if upper.strip() else None
    if high is None:
        return Interval(low, None) if low else None
    if low > high:
        raise InvalidModel(f"dimension {shown(text)} ends before it begins")
    return low if low == high else Interval(low, high)


def parse_shape(text: str) -> Shape | None:
    """The shape an attribute gives: "" is a scalar, "..." an unknown rank, "?,2..5,3" three dimensions.

    Raises:
        InvalidModel: not a shape.
    """
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1].strip()
    if text == "...":
        return None
    if not text:
        return ()
    return tuple(_dimension(part) for part in text.split(","))


def _spelled(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    if isinstance(dim, Interval) and (dim.lower or dim.upper is not None):
        return f"{dim.lower or ''}..{'' if dim.upper is None else dim.upper}"
    return "?"


def format_shape(shape: Shape | None) -> str:
    """The opposite of `parse_shape`; symbols become "?"."""
    return "..." if shape is None else ",".join(map(_spelled, shape))
