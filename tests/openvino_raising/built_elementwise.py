"""Element by element, and activations."""

from typing import Any

import ml_dtypes
import numpy as np
import openvino as ov

from .building import f32, floats, i32, i64, node, parameters, positive, table, whole

TIES = f32([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.4999, -0.4999, 1e10, -0.0])
SIGNS_A = i32([-7, 7, -7, 7, 6, -6, 0, 1])
SIGNS_B = i32([2, -2, -2, 2, 3, -3, 5, -5])

UNARY = """
    Abs Ceiling Cos Cosh Exp Erf Floor Negative Sign Sin Sinh Tan Tanh Atan Relu Sigmoid
"""
BINARY = """
    Add Subtract Multiply Divide Maximum Minimum SquaredDifference Mod FloorMod Equal NotEqual Less LessEqual
    Greater GreaterEqual
"""

CASES: dict[str, Any] = table(
    [
        *[(f"unary_{name.lower()}", [floats(3, 4)], lambda x, name=name: node(name, 1, x)) for name in UNARY.split()],
        *[
            (f"unary_{name.lower()}_pos", [positive(3, 4)], lambda x, name=name: node(name, 1, x))
            for name in ("Sqrt", "Log")
        ],
        *[
            (f"unary_{name.lower()}_4", [floats(3, 4, scale=0.4)], lambda x, name=name: node(name, 4, x))
            for name in ("Asinh", "Atanh", "Mish", "SoftPlus", "HSwish", "Swish")
        ],
        ("acosh", [positive(3) + 1], lambda x: node("Acosh", 4, x)),
        ("acos", [floats(3, scale=0.3)], lambda x: node("Acos", 1, x)),
        ("asin", [floats(3, scale=0.3)], lambda x: node("Asin", 1, x)),
        ("softsign", [floats(3)], lambda x: node("SoftSign", 9, x)),
        ("hsigmoid", [floats(9, scale=4)], lambda x: node("HSigmoid", 5, x)),
        *[
            (f"binary_{name.lower()}", [floats(3, 4), floats(4, seed=1)], lambda a, b, name=name: node(name, 1, a, b))
            for name in BINARY.split()
        ],
        (
            "equal_ties",
            [i32([1, 2, 3]), i32([1, 0, 3])],
            lambda a, b: [node(n, 1, a, b).output(0) for n in ("Equal", "NotEqual", "LessEqual")],
        ),
        ("power", [positive(3, 4), floats(4, seed=1)], lambda a, b: node("Power", 1, a, b)),
        ("power_i32", [i32([2, -3, 4]), i32([3, 2, 0])], lambda a, b: node("Power", 1, a, b)),
        (
            "divide_floor",
            [i32([6, -6, 7, -8]), i32([3, 3, 2, 4])],
            lambda a, b: node("Divide", 1, a, b, m_pythondiv=True),
        ),
        ("divide_trunc", [SIGNS_A, SIGNS_B], lambda a, b: node("Divide", 1, a, b, m_pythondiv=False)),
        (
            "divide_u8",
            [whole(5, low=0, high=200, dtype=np.uint8), whole(5, low=1, dtype=np.uint8)],
            lambda a, b: node("Divide", 1, a, b),
        ),
        ("floormod_i32", [SIGNS_A, SIGNS_B], lambda a, b: node("FloorMod", 1, a, b)),
        ("mod_i32", [SIGNS_A, SIGNS_B], lambda a, b: node("Mod", 1, a, b)),
        (
            "floormod_f32",
            [f32([-7, 7, -7, 7, 5.5, -5.5, 0]), f32([2, -2, -2, 2, 2, 2, 3])],
            lambda a, b: node("FloorMod", 1, a, b),
        ),
        (
            "mod_f32",
            [f32([-7, 7, -7, 7, 5.5, -5.5, 0]), f32([2, -2, -2, 2, 2, 2, 3])],
            lambda a, b: node("Mod", 1, a, b),
        ),
        ("add_pdpd", [floats(2, 3, 4), floats(2, 3)], lambda a, b: node("Add", 1, a, b, auto_broadcast="pdpd")),
        ("add_pdpd_ones", [floats(2, 3, 4), floats(1, 3)], lambda a, b: node("Add", 1, a, b, auto_broadcast="pdpd")),
        ("add_none", [floats(2, 3), floats(2, 3)], lambda a, b: node("Add", 1, a, b, auto_broadcast="none")),
        ("round_even", [TIES], lambda x: node("Round", 5, x, mode="half_to_even")),
        ("round_away", [TIES], lambda x: node("Round", 5, x, mode="half_away_from_zero")),
        ("round_i32", [i32([1, -2])], lambda x: node("Round", 5, x, mode="half_away_from_zero")),
        ("clamp", [floats(9)], lambda x: node("Clamp", 1, x, min=-0.5, max=1.25)),
        ("clamp_i32", [i32([-9, -1, 0, 1, 2, 9])], lambda x: node("Clamp", 1, x, min=-1.5, max=1.5)),
        ("clamp_u8", [np.array([0, 1, 5, 255], np.uint8)], lambda x: node("Clamp", 1, x, min=-3.0, max=300.0)),
        (
            "select",
            [np.array([True, False, True]), floats(2, 3), floats(3, seed=1)],
            lambda c, a, b: node("Select", 1, c, a, b),
        ),
        (
            "logical",
            [np.array([True, True, False, False]), np.array([True, False, True, False])],
            lambda a, b: [
                *(node(n, 1, a, b).output(0) for n in ("LogicalAnd", "LogicalOr", "LogicalXor", "Xor")),
                node("LogicalNot", 1, a).output(0),
            ],
        ),
        (
            "bitwise",
            [whole(6, low=-100, high=100), whole(6, low=-100, high=100, seed=3)],
            lambda a, b: [
                *(node(n, 13, a, b).output(0) for n in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
                node("BitwiseNot", 13, a).output(0),
            ],
        ),
        (
            "bitwise_bool",
            [np.array([True, True, False]), np.array([True, False, False])],
            lambda a, b: [
                *(node(n, 13, a, b).output(0) for n in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
                node("BitwiseNot", 13, a).output(0),
            ],
        ),
        (
            "shift_i32",
            [i32([-9, 9, 1, -1]), i32([1, 2, 3, 0])],
            lambda a, b: [node(n, 15, a, b).output(0) for n in ("BitwiseLeftShift", "BitwiseRightShift")],
        ),
        (
            "shift_u8",
            [np.array([9, 255], np.uint8), np.array([1, 2], np.uint8)],
            lambda a, b: [node(n, 15, a, b).output(0) for n in ("BitwiseLeftShift", "BitwiseRightShift")],
        ),
        (
            "is",
            [f32([np.nan, np.inf, -np.inf, 0])],
            lambda x: [
                node("IsNaN", 10, x).output(0),
                node("IsFinite", 10, x).output(0),
                node("IsInf", 10, x).output(0),
                node("IsInf", 10, x, detect_negative=False).output(0),
                node("IsInf", 10, x, detect_positive=False).output(0),
            ],
        ),
        *[
            (
                f"convert_{to}",
                [f32([-2.7, -0.4, 0.0, 0.3, 1.9, 100.5])],
                lambda x, to=to: node("Convert", 1, x, destination_type=to),
            )
            for to in ("i32", "i64", "i8", "u8", "boolean", "f16", "f64")
        ],
        (
            "convert_f8_large",
            [f32([448, 464, 465, 480, 500, 1e9, -1e9, np.inf, np.nan, 1e-9])],
            lambda x: [
                node("Convert", 1, node("Convert", 1, x, destination_type=to), destination_type="f32").output(0)
                for to in ("f8e4m3", "f8e5m2")
            ],
        ),
        (
            "convert_from_i64",
            [i64([-3, 300])],
            lambda x: [node("Convert", 1, x, destination_type=to).output(0) for to in ("i32", "f32", "boolean")],
        ),
        (
            "convert_from_bool",
            [np.array([True, False])],
            lambda x: [node("Convert", 1, x, destination_type=to).output(0) for to in ("i32", "f32", "u8")],
        ),
        ("convert_like", [floats(3), i32([1])], lambda x, y: node("ConvertLike", 1, x, y)),
        ("prelu_channel", [floats(2, 3, 4), floats(3, seed=2)], lambda x, s: node("PRelu", 1, x, s)),
        ("prelu_square", [floats(2, 3, 3), floats(3, seed=2)], lambda x, s: node("PRelu", 1, x, s)),
        ("prelu_last", [floats(2, 3, 4), floats(4, seed=2)], lambda x, s: node("PRelu", 1, x, s)),
        ("prelu_one", [floats(2, 3), floats(1, seed=2)], lambda x, s: node("PRelu", 1, x, s)),
        ("prelu_2d", [floats(2, 3), floats(3, seed=2)], lambda x, s: node("PRelu", 1, x, s)),
        ("elu", [floats(6)], lambda x: node("Elu", 1, x, alpha=0.7)),
        ("selu", [floats(6)], lambda x: node("Selu", 1, x, f32(1.5), f32(1.1))),
        ("hard_sigmoid", [floats(6)], lambda x: node("HardSigmoid", 1, x, f32(0.3), f32(0.4))),
        ("swish_beta", [floats(6)], lambda x: node("Swish", 4, x, f32(1.7))),
        ("swish_computed", [floats(6), f32(1.7)], lambda x, b: node("Swish", 4, x, b)),
        ("gelu_2", [floats(6)], lambda x: node("Gelu", 2, x)),
        ("gelu_erf", [floats(6)], lambda x: node("Gelu", 7, x, approximation_mode="ERF")),
        ("gelu_tanh", [floats(6)], lambda x: node("Gelu", 7, x, approximation_mode="TANH")),
        ("softmax_1", [floats(2, 3, 4)], lambda x: node("Softmax", 1, x, axis=1)),
        ("softmax_8", [floats(2, 3, 4)], lambda x: node("Softmax", 8, x, axis=-2)),
        ("log_softmax", [floats(2, 3, 4)], lambda x: node("LogSoftmax", 5, x, axis=-1)),
        ("abs_i8", [np.array([-5, 5], np.int8)], lambda x: node("Abs", 1, x)),
        ("add_i8", [np.array([100, -100], np.int8), np.array([1, 1], np.int8)], lambda a, b: node("Add", 1, a, b)),
        ("sqrt_i32", [i32([4, 10, 2])], lambda x: node("Sqrt", 1, x)),
        ("max_bool_less", [np.array([True, False]), np.array([False, False])], lambda a, b: node("Greater", 1, a, b)),
        ("dynamic_rank_add", [floats(2, 3), floats(3)], lambda a, b: node("Add", 1, a, b), [(-1, -1), (-1,)]),
    ]
)


def _through_bfloat16() -> tuple[ov.Model, list[np.ndarray], list[np.ndarray]]:
    """What is expected is ml_dtypes' rounding: OpenVINO stays in float32 where the processor has no bfloat16."""
    x = floats(9)
    given = parameters([x])
    wide = node("Convert", 1, node("Convert", 1, given[0], destination_type="bf16"), destination_type="f32")
    return ov.Model(wide.outputs(), given, "case"), [x], [x.astype(ml_dtypes.bfloat16).astype(np.float32)]


CASES["convert_bf16"] = _through_bfloat16
