"""MLIR's text of types, attributes and names, in generic form (https://mlir.llvm.org/docs/LangRef)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Value
from ....passes.tensor import TensorData
from ....passes.types import DType, Interval, TensorType, Type

DTYPES: Mapping[str, DType] = {
    "i1": DType.BOOL,
    **{f"i{bits}": DType(f"int{bits}") for bits in (2, 4, 8, 16, 32, 64)},
    **{f"ui{bits}": DType(f"uint{bits}") for bits in (2, 4, 8, 16, 32, 64)},
    "index": DType.INT64,
    "bf16": DType.BFLOAT16,
    **{f"f{bits}": DType(f"float{bits}") for bits in (16, 32, 64)},
    "f4E2M1FN": DType.FLOAT4E2M1,
    "f8E8M0FNU": DType.FLOAT8E8M0,
    **{
        f"f8{form}": DType(f"float8{form.lower()}")
        for form in ("E3M4", "E4M3", "E4M3FN", "E4M3FNUZ", "E4M3B11FNUZ", "E5M2", "E5M2FNUZ")
    },
    "complex<f32>": DType.COMPLEX64,
    "complex<f64>": DType.COMPLEX128,
}
"""MLIR's element types -> ours."""

NAMES: Mapping[DType, str] = {dtype: name for name, dtype in DTYPES.items() if name != "index"}
"""Element types -> what MLIR calls them."""

_SHORT = 64  # bytes of a constant that stands in the text
_ESCAPED = re.compile(r"[^ !#-\[\]-~]")


def string(text: str) -> str:
    """A string of MLIR, which is bytes."""
    return '"' + _ESCAPED.sub(lambda found: "".join(f"\\{byte:02X}" for byte in found[0].encode()), text) + '"'


def type_of(value: Value) -> str:
    """The type of a value.

    Raises:
        Unsupported: StableHLO can't express it.
    """
    return spelled_type(value.type, value.name)


def spelled_type(type: Type | None, name: str = "") -> str:
    """A type; a size that isn't a number is open, and `name` is whose type it is.

    Raises:
        Unsupported: StableHLO can't express it.
    """
    if type is None:
        return "!stablehlo.token"
    if not isinstance(type, TensorType) or type.shape is None or type.dtype is None or type.dtype not in NAMES:
        raise Unsupported(f"value {name!r}", f"StableHLO can't express the type {type}")
    sizes = "".join(f"{dim}x" if isinstance(dim, int) else "?x" for dim in type.shape)
    encoding = ""
    if any(isinstance(dim, Interval) for dim in type.shape):
        bounds = [str(dim.upper) if isinstance(dim, Interval) else "?" for dim in type.shape]
        encoding = f", #stablehlo.bounds<{', '.join(bounds)}>"
    return f"tensor<{sizes}{NAMES[type.dtype]}{encoding}>"


# attributes ------------------------------------------------------------------------------------------


def _int(value: Any) -> str:
    return f"{value} : i64"


def _short_int(value: Any) -> str:
    return f"{value} : i32"


def _float(value: Any) -> str:
    return f"0x{np.float32(value).view(np.uint32):08X} : f32"


def _flag(value: Any) -> str:
    return "true" if value else "false"


def _ints(value: Any) -> str:
    return f"array<i64: {', '.join(map(str, value))}>" if value else "array<i64>"


def _flags(value: Any) -> str:
    return f"array<i1: {', '.join(map(_flag, value))}>" if value else "array<i1>"


def _matrix(value: Any) -> str:
    shape = f"{len(value)}x{len(value[0]) if value else 0}"
    return f"dense<{value if value and value[0] else ''}> : tensor<{shape}xi64>"


def _rows(value: Any) -> str:
    """A matrix of pairs, which may have no rows."""
    return _matrix(value) if value else "dense<> : tensor<0x2xi64>"


def _layouts(value: Any) -> str:
    return "[" + ", ".join(f"dense<{list(order)}> : tensor<{len(order)}xindex>" for order in value) + "]"


def _one_of(kind: str) -> Callable[[Any], str]:
    return lambda value: f"#stablehlo<{kind} {value}>"


def _precisions(value: Any) -> str:
    return "[" + ", ".join(f"#stablehlo<precision {word}>" for word in value) + "]"


_IN_TEXT = {"scattered_dims_to_operand_dims": "scatter_dims_to_operand_dims"}
"""Dimension numbers whose name in the text isn't the bindings'."""


def _numbers(kind: str, raw: str = "") -> Callable[[Any], str]:
    """Dimension numbers: `#stablehlo.gather<offset_dims = [0], index_vector_dim = 1>`."""

    def spelled(value: Mapping[str, Any]) -> str:
        parts = (f"{_IN_TEXT.get(name, name)} = {number}" for name, number in value.items())
        return f"#stablehlo.{kind}<{raw}{', '.join(parts)}>"

    return spelled


_BY_KIND: Sequence[tuple[Callable[[Any], str], str]] = (
    (
        _int,
        """
        all_gather_dim batch_group_count concat_dimension dimension feature_group_count feature_index iota_dimension k
        scatter_dimension split_count split_dimension
        """,
    ),
    (_short_int, "api_version exponent_bits mantissa_bits"),
    (_float, "epsilon"),
    (
        _flag,
        """
        has_side_effect indices_are_sorted is_stable left_side lower unique_indices unit_diagonal
        """,
    ),
    (
        _ints,
        """
        base_dilations broadcast_dimensions dimensions edge_padding_high edge_padding_low fft_length interior_padding
        lhs_dilation limit_indices permutation rhs_dilation slice_sizes start_indices strides window_dilations
        window_dimensions window_strides
        """,
    ),
    (_flags, "window_reversal"),
    (_rows, "padding source_target_pairs"),
    (_matrix, "replica_groups"),
    (_layouts, "operand_layouts result_layouts"),
    (_precisions, "precision_config"),
    (_one_of("comparison_direction"), "comparison_direction"),
    (_one_of("comparison_type"), "compare_type"),
    (_one_of("fft_type"), "fft_type"),
    (_one_of("rng_algorithm"), "rng_algorithm"),
    (_one_of("rng_distribution"), "rng_distribution"),
    (_one_of("transpose"), "transpose_a"),
    (_numbers("channel_handle"), "channel_handle"),
    (_numbers("dot"), "dot_dimension_numbers"),
    (_numbers("gather"), "dimension_numbers"),
    (_numbers("scatter"), "scatter_dimension_numbers"),
    (lambda value: "unit" if value else "", "use_global_device_ids"),
    (string, "call_target_name sym_name sym_visibility error_message"),
    (lambda value: f"@{string(value)}", "callee"),
    (lambda value: "[" + ", ".join(f"@{string(name)}" for name in value) + "]", "called_computations"),
)

_SPELLED: Mapping[str, Callable[[Any], str]] = {name: spell for spell, names in _BY_KIND for name in names.split()}
"""How the attributes of these names are spelled, whatever operation has them; for others the value is the text."""

_CONVOLVED = _numbers("conv", "raw ")


def attributes(found: Mapping[str, Any]) -> str:
    """A dictionary of attributes; what is None is left out."""
    parts = [f"{name} = {_spelled(name, value)}" for name, value in found.items() if value is not None]
    return f"{{{', '.join(parts)}}}" if parts else "{}"


def _spelled(name: str, value: Any) -> str:
    if name == "dimension_numbers" and "input_batch_dimension" in value:
        return _CONVOLVED(value)
    spell = _SPELLED.get(name)
    return str(value) if spell is None else spell(value)


# constants -------------------------------------------------------------------------------------------


def constant(data: TensorData) -> tuple[str, np.ndarray[Any, Any] | None]:
    """The elements of a constant: the text, and bytes to put in its place where that would be long.

    One element that fills it all stands for it.
    """
    array = np.ascontiguousarray(data.numpy()).reshape(-1)
    stored = array.view(np.uint8) if array.size else np.zeros(0, np.uint8)
    if data.dtype.bits < 8 and data.dtype is not DType.BOOL:
        stored = stored & ((1 << data.dtype.bits) - 1)
    rows = stored.reshape(array.size, -1) if array.size else stored
    type = spelled_type(TensorType(data.dtype, data.shape))
    if array.size > 1 and (rows[0] == rows).all():
        stored = rows[0]
    if not math.prod(data.shape):
        return f"dense<> : {type}", None
    if data.dtype is DType.BOOL and (stored.size == 1 or stored.size <= _SHORT):
        listed: Any = array[0].tolist() if stored.size == 1 else data.numpy().tolist()
        return f"dense<{str(listed).lower()}> : {type}", None
    if stored.size <= _SHORT:
        return f'dense<"0x{stored.tobytes().hex()}"> : {type}', None
    return f'dense<"0x{rows[0].tobytes().hex()}"> : {type}', stored
