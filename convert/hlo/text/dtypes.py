"""HLO's primitive types by name."""

from __future__ import annotations

from ....passes.types import DType

DTYPES: dict[str, DType] = {
    "pred": DType.BOOL,
    "s2": DType.INT2,
    "s4": DType.INT4,
    "s8": DType.INT8,
    "s16": DType.INT16,
    "s32": DType.INT32,
    "s64": DType.INT64,
    "u1": DType.UINT1,
    "u2": DType.UINT2,
    "u4": DType.UINT4,
    "u8": DType.UINT8,
    "u16": DType.UINT16,
    "u32": DType.UINT32,
    "u64": DType.UINT64,
    "f16": DType.FLOAT16,
    "bf16": DType.BFLOAT16,
    "f32": DType.FLOAT32,
    "f64": DType.FLOAT64,
    "f8e3m4": DType.FLOAT8E3M4,
    "f8e4m3": DType.FLOAT8E4M3,
    "f8e4m3fn": DType.FLOAT8E4M3FN,
    "f8e4m3fnuz": DType.FLOAT8E4M3FNUZ,
    "f8e4m3b11fnuz": DType.FLOAT8E4M3B11FNUZ,
    "f8e5m2": DType.FLOAT8E5M2,
    "f8e5m2fnuz": DType.FLOAT8E5M2FNUZ,
    "f8e8m0fnu": DType.FLOAT8E8M0,
    "f4e2m1fn": DType.FLOAT4E2M1,
    "c64": DType.COMPLEX64,
    "c128": DType.COMPLEX128,
}
"""HLO's primitive types; s1 has no counterpart anywhere and isn't read."""

NAMES: dict[DType, str] = {dtype: name for name, dtype in DTYPES.items()}

WORDS = frozenset(
    (
        *DTYPES,
        *("s1", "token", "opaque", "true", "false", "inf", "nan", "HloModule", "ENTRY", "ROOT"),
        *("FileNames", "FunctionNames", "FileLocations", "StackFrames", "maximal", "replicated", "manual"),
        *("last_tile_dim_replicate", "shard_as", "shard_like", "unknown", "unreduced"),
    )
)
"""What HLO text reserves: as a name it stands only after `%`."""
