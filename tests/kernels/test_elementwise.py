"""Arithmetic where NumPy and ONNX could part: zero, wrap, NaN, signs, mixed types."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.passes.errors import InvalidModel
from backedge.runtime.executor import ExecutionError
from onnx import helper
from onnx.reference import ReferenceEvaluator

from kernels.one import f32, i64, run_op, same

NAN, INF = math.nan, math.inf


def i8(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


def test_integer_division_truncates_toward_zero() -> None:
    same(run_op("Div", i64(7, -7, 7, -7), i64(2, 2, -2, -2)), i64(3, -3, -3, 3))
    same(run_op("Div", np.array([200], np.uint8), np.array([7], np.uint8)), np.array([28], np.uint8))


def test_integer_division_by_zero_is_zero() -> None:
    same(run_op("Div", i64(5, -5, 0), i64(0, 0, 0)), i64(0, 0, 0))
    same(run_op("Mod", i64(5, -5), i64(0, 0)), i64(0, 0))
    same(run_op("Mod", i64(5, -5), i64(0, 0), fmod=1), i64(0, 0))


def test_smallest_integer_by_minus_one_wraps() -> None:
    low = np.iinfo(np.int64).min
    same(run_op("Div", i64([low]), i64([-1])), i64([low]))
    same(run_op("Neg", i8(-128)), i8(-128))
    same(run_op("Abs", i8(-128)), i8(-128))


def test_float_division_by_zero() -> None:
    same(run_op("Div", f32(1, -1, 0), f32(0, 0, 0)), f32(INF, -INF, NAN))


@pytest.mark.parametrize("op_type, a, b, expected", [("Add", 200, 100, 44), ("Sub", 1, 2, 255), ("Mul", 16, 17, 16)])
def test_narrow_integers_wrap(op_type: str, a: int, b: int, expected: int) -> None:
    same(run_op(op_type, np.array(a, np.uint8), np.array(b, np.uint8)), np.array(expected, np.uint8))


def test_mod_takes_the_divisors_sign_and_fmod_the_dividends() -> None:
    same(run_op("Mod", i64(7, -7, 7, -7), i64(3, 3, -3, -3)), i64(1, 2, -2, -1))
    same(run_op("Mod", i64(7, -7, 7, -7), i64(3, 3, -3, -3), fmod=1), i64(1, -1, 1, -1))


def test_float_mod_special_values() -> None:
    got = run_op("Mod", f32(0.0, 0.0, 5, -5, INF, 1), f32(-2, 2, INF, INF, 1, 0))
    same(got, f32(-0.0, 0.0, 5, INF, NAN, NAN))
    assert np.signbit(got).tolist()[:2] == [True, False]


def test_power_keeps_the_bases_type() -> None:
    same(run_op("Pow", i64(2, -3), f32(3, 2)), i64(8, 9))
    same(run_op("Pow", f32(2, 4), i64(-1, 2)), f32(0.5, 16))
    same(run_op("Pow", i8(3), i64([6])), i8(729 - 3 * 256))


def test_integers_to_negative_powers() -> None:
    same(run_op("Pow", i64(1, -1, -1, 2, 5), i64(-3, -3, -2, -1, 0)), i64(1, -1, 1, 0, 1))


def test_shifts_beyond_the_width() -> None:
    same(run_op("BitShift", i8(1, 1, -1), i8(7, 8, 9), direction="LEFT"), i8(-128, 0, 0))
    same(run_op("BitShift", i8(-1, -128, 64), i8(9, 7, -1), direction="RIGHT"), i8(-1, -1, 0))
    with pytest.raises(ExecutionError, match="unknown direction"):
        run_op("BitShift", i8(1), i8(1), direction="UP")


def test_max_and_min_keep_nan() -> None:
    same(run_op("Max", f32(NAN, 1, 2), f32(1, NAN, 3), f32([0])), f32(NAN, NAN, 3))
    same(run_op("Min", f32([NAN]), f32([1])), f32([NAN]))
    same(run_op("Max", f32(4, 5)), f32(4, 5))


def test_comparisons_with_nan_are_false() -> None:
    for op_type in ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"):
        same(run_op(op_type, f32(NAN, 1), f32(NAN, NAN)), np.array([False, False]))


def test_strings_compare() -> None:
    words = np.array(["a", "b"], object)
    same(run_op("Equal", words, np.array("b", object)), np.array([False, True]))


def test_clip_bounds_cross() -> None:
    same(run_op("Clip", f32(-1, 0.5, 9, NAN), f32(2), f32(1)), f32(1, 1, 1, NAN))
    same(run_op("Clip", i8(-100, 100), None, i8(7)), i8(-100, 7))
    same(run_op("Clip", f32(-2, 7), version=6, min=-1.0, max=3.0), f32(-1, 3))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    "bounds", [(None, None), (0, None), (None, 0), (np.inf, None), (None, -np.inf), (-np.inf, np.inf)]
)
def test_clip_without_a_bound_cuts_infinity_off(kind: type, bounds: tuple[float | None, float | None]) -> None:
    """As ONNX Runtime does (it has no Clip of bfloat16)."""
    x = np.array([np.inf, -np.inf, np.nan, 1, -1], kind)
    given = {
        "x": x,
        **{name: np.array(bound, kind) for name, bound in zip("ab", bounds, strict=True) if bound is not None},
    }
    named = [name if name in given else "" for name in "xab"]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    infos = [helper.make_tensor_value_info(name, element, value.shape) for name, value in given.items()]
    result = helper.make_tensor_value_info("y", element, x.shape)
    graph = helper.make_graph([helper.make_node("Clip", named, ["y"])], "g", infos, [result])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (wanted,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, given)
    same(run_op("Clip", x, *(given.get(name) for name in "ab")), wanted)


def test_clip_without_a_bound_of_bfloat16_and_integers() -> None:
    brain = np.array([np.inf, -np.inf, np.nan, 2], ml_dtypes.bfloat16)
    most = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)
    same(run_op("Clip", brain), np.array([most, -most, np.nan, 2], ml_dtypes.bfloat16))
    same(run_op("Clip", i8(-128, 127)), i8(-128, 127))


def test_clip_of_version_6_has_the_limits_of_float32() -> None:
    most = float(np.finfo(np.float32).max)
    same(run_op("Clip", f32(np.inf, -np.inf), version=6), f32(most, -most))
    same(run_op("Clip", np.array([np.inf, 1e300]), version=6), np.array([most, most]))
    same(run_op("Clip", np.array([np.inf, 2], np.float16), version=6), np.array([np.inf, 2], np.float16))


def test_mean_of_one_and_broadcast() -> None:
    same(run_op("Mean", f32(3)), f32(3))
    same(run_op("Mean", f32([[1], [3]]), f32(1, 5)), f32([[1, 3], [2, 4]]))


def test_old_broadcast_from_an_axis() -> None:
    a, b = np.zeros((2, 3, 4), np.float32), f32(1, 2, 3)
    got = run_op("Add", a, b, version=6, broadcast=1, axis=1)
    same(got, np.broadcast_to(b[:, None], (2, 3, 4)))


def test_infinities_by_sign() -> None:
    x = f32(INF, -INF, NAN, 1)
    same(run_op("IsInf", x, detect_negative=0), np.array([True, False, False, False]))
    same(run_op("IsInf", x, detect_positive=0), np.array([False, True, False, False]))


def test_rounding_to_even() -> None:
    same(run_op("Round", f32(0.5, 1.5, 2.5, -0.5)), f32(0, 2, 2, -0.0))


def test_bfloat16_stays_bfloat16() -> None:
    x = np.array([1.0, 2.0, 3.0], ml_dtypes.bfloat16)
    for op_type in ("Exp", "Sigmoid", "Relu", "Sqrt", "Softmax", "Elu", "Gelu"):
        assert run_op(op_type, x).dtype == x.dtype, op_type
    same(run_op("Add", x, x), np.array([2.0, 4.0, 6.0], ml_dtypes.bfloat16))


def test_half_precision_is_rounded_once() -> None:
    x = np.array([11.0], np.float16)
    same(run_op("Softplus", x), x)
    same(run_op("Sigmoid", np.array([-20.0], np.float16)), np.array([1 / (1 + math.exp(20))], np.float16))


def test_scalars_stay_arrays_of_rank_0() -> None:
    for op_type in ("Neg", "Exp", "Identity", "Sign"):
        got = run_op(op_type, f32(1.0))
        assert isinstance(got, np.ndarray) and got.shape == ()


@pytest.mark.parametrize("x", [-5.5, -1.0, -1e-3, 0.0, 1e-30, 0.5, 2.0, 3.999, 6.5, INF, -INF])
def test_error_function(x: float) -> None:
    got = run_op("Erf", np.array([x]))
    assert got[0] == pytest.approx(math.erf(x), rel=1e-15, abs=0)


def test_error_function_of_nan() -> None:
    assert np.isnan(run_op("Erf", f32([NAN]))[0])


def test_softplus_does_not_overflow() -> None:
    same(run_op("Softplus", f32(1000, -1000)), f32(1000, 0))


def test_old_softmax_joins_the_axes() -> None:
    x = f32([[[1, 2], [3, 4]]])
    whole = np.exp(x - 4) / np.exp(x - 4).sum()
    np.testing.assert_allclose(run_op("Softmax", x, version=11), whole, rtol=1e-6)
    np.testing.assert_allclose(run_op("Softmax", x).sum(axis=-1), 1, rtol=1e-6)


def test_hardmax_takes_the_first() -> None:
    same(run_op("Hardmax", f32([[1, 3, 3]])), f32([[0, 1, 0]]))
    same(run_op("Hardmax", f32([[[1, 9], [9, 2]]]), version=11), f32([[[0, 1], [0, 0]]]))


def test_leaky_slope_must_fit() -> None:
    same(run_op("PRelu", f32([[-2, 3]]), f32(0.5, 1)), f32([[-1, 3]]))
    with pytest.raises(ExecutionError, match="broadcast"):
        run_op("PRelu", f32(-2, 3), f32([[1], [2]]))


def test_missing_attribute_is_named() -> None:
    with pytest.raises(InvalidModel, match="direction"):
        run_op("BitShift", i8(1), i8(1))


def test_gelu_of_double_precision_has_the_constants_of_its_definition() -> None:
    """They are float32 there, as in ONNX Runtime, which computes by the definition."""
    text = 'g (double[3] x) => (double[3] y) { y = Gelu <approximate = "tanh"> (x) }'
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    x = np.array([-0.1915, 1.3, -3.0])
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(run_op("Gelu", x, approximate="tanh"), expected, rtol=1e-13)


def test_hard_swish_of_double_precision_has_the_factor_of_its_definition() -> None:
    """The 1/6 is an attribute of HardSigmoid there, so a float32, as in onnx's reference; also near where it ends."""
    text = "g (double[6] x) => (double[6] y) { y = HardSwish (x) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 22]> {text}')
    x = np.array([-2.5, 1.5, -3.0, 2.99999995, 3.0, 40.0])
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(run_op("HardSwish", x), expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (1.0, 1.0), (2.0, -3.0)])
def test_products_of_integers_wrap(alpha: float, beta: float) -> None:
    """Whole factors are no detour through floats, which haven't all integers of 64 bits."""
    least, most = -(2**63), 2**63 - 1
    a, b, c = np.array([[most, least, most]]), np.array([[most], [most], [most]]), np.array([[most]])
    exact = int(alpha) * (2 * most * most + least * most) + int(beta) * most
    found = run_op("Gemm", a, b, c, alpha=alpha, beta=beta)
    assert found.dtype == np.int64 and found.tolist() == [[(exact - least) % 2**64 + least]]


@pytest.mark.parametrize("alpha", [2.0, -1.0])
def test_celu_of_either_sign(alpha: float) -> None:
    """As ONNX Runtime and onnx's reference, which grow below 0 where alpha is negative."""
    found = run_op("Celu", f32(-1.5, 0, 0.5, 200), alpha=alpha)
    wanted = [-1.0552669 if alpha > 0 else -3.4816890, 0, 0.5, 200]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
