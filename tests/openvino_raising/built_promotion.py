"""Two operands brought to one type."""

import numpy as np

from .building import node, outs, table

KINDS = {
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "boolean": np.bool_,
}


def promoted(one, other, scalar="", **attributes):
    given = [
        np.array(1 if place in scalar else [1, 0, 1], KINDS[kind])
        for place, kind in zip("ab", (one, other), strict=True)
    ]
    label = "_".join(str(value) for value in attributes.values())
    return (
        f"promoted_{one}_{other}_{scalar}_{label}",
        given,
        lambda a, b: outs(node("ConvertPromoteTypes", 14, a, b, **attributes)),
    )


UNSAFE = {"promote_unsafe": True}
LIKE_TORCH = {"pytorch_scalar_promotion": True}

CASES = table(
    [
        promoted("f32", "f32"),
        promoted("boolean", "u8"),
        promoted("f32", "boolean"),
        promoted("i8", "f16"),
        promoted("f32", "i16"),
        promoted("u8", "i16"),
        promoted("i64", "u32"),
        promoted("i8", "i32"),
        promoted("f32", "f16"),
        promoted("u8", "u32"),
        *[
            promoted(one, other, **UNSAFE)
            for one, other in (
                ("i64", "f16"),
                ("f32", "u64"),
                ("u8", "i8"),
                ("i8", "u16"),
                ("u32", "i32"),
                ("u32", "i8"),
                ("i64", "u64"),
            )
        ],
        *[promoted("u64", "i8", **UNSAFE, u64_integer_promotion_target=target) for target in ("i32", "f16", "i64")],
        promoted("i8", "i32", "b", **LIKE_TORCH, promote_unsafe=True),
        promoted("i16", "i8", "b", **LIKE_TORCH),
        promoted("u8", "i8", "a", **LIKE_TORCH),
        promoted("i8", "u16", "b", **LIKE_TORCH),
        promoted("f32", "f16", "a", **LIKE_TORCH, promote_unsafe=True),
        promoted("u8", "i8", "b", **LIKE_TORCH, promote_unsafe=True),
        promoted("u8", "i16", "ab", **LIKE_TORCH),
        promoted("i16", "f32", "b", **LIKE_TORCH),
    ]
)
