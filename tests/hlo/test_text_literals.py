"""Literals of every type: the values that XLA reads, bit by bit, and back to text."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.convert.hlo.text import parse, print_module
from backedge.convert.hlo.text.dtypes import DTYPES
from backedge.convert.hlo.text.literals import write_literal
from backedge.convert.hlo.text.tree import ArrayShape, Computation, HloShape, Instruction, Literal, Module, TupleShape
from backedge.passes.errors import InvalidModel
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType

from hlo.text_compare import same_literal


def literal(shape: str, text: str) -> Any:
    return parse(f"e {{ c = {shape} constant({text}) }}").computations[0].instructions[0].literal


def read_back(value: Literal, shape: HloShape) -> Literal:
    constant = Instruction("c", shape, "constant", literal=value)
    return (
        parse(print_module(Module("m", [Computation("e", [constant], 0)], "e"))).computations[0].instructions[0].literal
    )


def bits(value: TensorData) -> list[int]:
    flat = value.numpy().reshape(-1)
    return flat.view(f"u{flat.itemsize}").tolist()


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        ("f32[]", "1.5", np.float32(1.5)),
        ("f32[]", "-0.99999994", np.float32(-0.99999994)),
        ("f32[]", "3.40282347e+38", np.finfo(np.float32).max),
        ("f32[]", "1e-45", np.float32(1e-45)),
        ("f32[]", "1e-50", np.float32(0)),
        ("f32[]", "5.", np.float32(5)),
        ("f32[]", "-.5", np.float32(-0.5)),
        ("f32[]", "1E5", np.float32(100000)),
        ("f32[]", "007", np.float32(7)),
        ("f32[]", "9223372036854775808", np.float32(2.0**63)),
        ("f32[2]", "{inf, -inf}", np.array([np.inf, -np.inf], np.float32)),
        ("f64[]", "0.1", np.float64(0.1)),
        ("f64[]", "5e-324", np.float64(5e-324)),
        ("f64[]", "1.7976931348623157e+308", np.finfo(np.float64).max),
        ("f16[2]", "{65504, 6e-08}", np.array([65504, 2.0**-24], np.float16)),
        ("bf16[2]", "{3.39e+38, 0.1}", np.array([3.3895313892515355e38, 0.10009765625], ml_dtypes.bfloat16)),
        ("s32[2]", "{-2147483648, 2147483647}", np.array([-(2**31), 2**31 - 1], np.int32)),
        ("s64[]", "-9223372036854775808", np.int64(-(2**63))),
        ("u64[2]", "{18446744073709551615, 0}", np.array([2**64 - 1, 0], np.uint64)),
        ("u8[3]", "{0,255,00000000000000000000007}", np.array([0, 255, 7], np.uint8)),
        ("s4[3]", "{-8, 7, 0}", np.array([-8, 7, 0], ml_dtypes.int4)),
        ("u4[]", "15", np.array(15, ml_dtypes.uint4)),
        ("s2[2]", "{-2, 1}", np.array([-2, 1], ml_dtypes.int2)),
        ("u2[]", "3", np.array(3, ml_dtypes.uint2)),
        ("u1[2]", "{0, 1}", np.array([0, 1], np.uint8)),
        ("pred[]", "true", np.bool_(True)),
        ("pred[]", "0", np.bool_(False)),
        ("pred[4]", "{1, false, 2, -1}", np.array([True, False, True, True])),
        ("c64[]", "(1, -2.5)", np.complex64(1 - 2.5j)),
        ("c64[2]", "{(1,2) ( -inf , 3 )}", np.array([1 + 2j, complex(-math.inf, 3)], np.complex64)),
        ("c128[1,1]", "{{(0.1, 1e-300)}}", np.array([[complex(0.1, 1e-300)]], np.complex128)),
        ("f8e5m2[]", "57344", np.array(57344, ml_dtypes.float8_e5m2)),
        ("f8e4m3fn[]", "-448", np.array(-448, ml_dtypes.float8_e4m3fn)),
        ("f8e4m3[]", "240", np.array(240, ml_dtypes.float8_e4m3)),
        ("f8e3m4[]", "15.5", np.array(15.5, ml_dtypes.float8_e3m4)),
        ("f8e4m3fnuz[]", "240", np.array(240, ml_dtypes.float8_e4m3fnuz)),
        ("f8e4m3b11fnuz[]", "30", np.array(30, ml_dtypes.float8_e4m3b11fnuz)),
        ("f8e5m2fnuz[]", "57344", np.array(57344, ml_dtypes.float8_e5m2fnuz)),
        ("f8e8m0fnu[]", "1.7e+38", np.array(2.0**127, ml_dtypes.float8_e8m0fnu)),
        ("f4e2m1fn[3]", "{6, -0.5, 1.5}", np.array([6, -0.5, 1.5], ml_dtypes.float4_e2m1fn)),
        ("f32[0]", "{}", np.zeros(0, np.float32)),
        ("f32[0,3]", "{ }", np.zeros((0, 3), np.float32)),
        ("f32[3,0]", "{{},{},{}}", np.zeros((3, 0), np.float32)),
        ("f32[2,0,4]", "{ { /*i0=0*/ }, { } }", np.zeros((2, 0, 4), np.float32)),
        ("s32[2,3]", "{ { 1, 2, 3 }, { 4, 5, 6 } }", np.array([[1, 2, 3], [4, 5, 6]], np.int32)),
        (
            "s32[2,1,2]",
            "{ /*i0=0*/ { /*i1=0*/ {1,2} }, /*}}}*/ { {3 4} // }}}\n}, }",
            np.array([[[1, 2]], [[3, 4]]], np.int32),
        ),
        ("s32[3]", "{1 2,,3,}", np.array([1, 2, 3], np.int32)),
        ("s32[1,1,1,1,1,1,1,1,1,1]", "{{{{{{{{{{5}}}}}}}}}}", np.full((1,) * 10, 5, np.int32)),
    ],
)
def test_values(shape: str, text: str, expected: Any) -> None:
    found = literal(shape, text)
    assert found.dtype is DTYPES[shape.partition("[")[0]]
    assert found.shape == np.shape(expected) == found.numpy().shape
    assert found.numpy().dtype == expected.dtype
    assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        ("f32[]", "-0", [0x80000000]),
        ("f32[]", "-0.0", [0x80000000]),
        ("f32[3]", "{nan, -nan, 1}", [0x7FC00000, 0xFFC00000, 0x3F800000]),
        ("f32[3]", "{nan, nan, inf}", [0x7FC00000, 0x7FC00000, 0x7F800000]),
        ("f32[2]", "{nan(0x1), -nan(0x7fffff)}", [0x7F800001, 0xFFFFFFFF]),
        ("f64[]", "nan(0x8000000000001)", [0x7FF8000000000001]),
        ("f64[]", "-nan", [0xFFF8000000000000]),
        ("f16[2]", "{nan, nan(0x3)}", [0x7E00, 0x7C03]),
        ("bf16[2]", "{-nan, nan(0x1)}", [0xFFC0, 0x7F81]),
        ("f8e5m2[2]", "{nan, -nan(0x1)}", [0x7E, 0xFD]),
        ("f8e4m3[]", "nan(0x1)", [0x79]),
        ("f8e3m4[]", "nan(0x3)", [0x73]),
        ("f8e4m3fn[2]", "{nan, -nan}", [0x7F, 0xFF]),
        ("f8e4m3fnuz[2]", "{nan, -nan}", [0x80, 0x80]),
        ("f8e8m0fnu[]", "nan", [0xFF]),
        ("c64[1]", "{(-0.0, nan(0x2))}", [0x7F80000280000000]),
    ],
)
def test_bits(shape: str, text: str, expected: list[int]) -> None:
    assert bits(literal(shape, text)) == expected


def test_tuples() -> None:
    first, second, third = literal("(f32[2], (), (s32[], pred[1,1]))", "( {1, 2}, (), (3, {{true}}) )")
    assert first.numpy().tolist() == [1, 2]
    assert second == ()
    assert third[0].numpy() == 3
    assert third[1].numpy().tolist() == [[True]]
    assert literal("()", "( )") == ()


@pytest.mark.parametrize(
    ("shape", "text", "offset", "reason"),
    [
        ("f32[3]", "{...}", 0, r"constants were left out \('\{\.\.\.\}'\) .* print it with large constants"),
        ("f32[2,2]", "{ ... }", 0, "constants were left out"),
        ("f32[]", "{...}", 0, "constants were left out"),
        ("f32[3]", "{1, 2}", 0, r"braces and values don't fit the shape's sizes \[3\]"),
        ("f32[2]", "{1, 2, 3}", 0, "braces and values"),
        ("f32[2,2]", "{{1, 2, 3}, {4}}", 0, "braces and values"),
        ("f32[2,2]", "{1, 2, 3, 4}", 0, "never closed"),
        ("f32[4]", "{{1, 2}, {3, 4}}", 0, "braces and values"),
        ("f32[2]", "{1, 2", 5, r"a value of float32 expected, '\)' found"),
        ("f32[0,3]", "{{}}", 0, "braces and values"),
        ("f32[]", "{1}", 0, r"a value of float32 expected, '\{' found"),
        ("f32[1]", "1", 0, r"'\{' expected, '1' found"),
        ("f32[2]", "{1, +2}", 4, r"a value of float32 expected, '\+2' found"),
        ("f32[2]", "{1, true}", 4, "a value of float32 expected, 'true' found"),
        ("f32[2]", "{0x10, 2}", 1, "'0x10' found"),
        ("f32[2]", "{1_2, 2}", 1, "'1_2' found"),
        ("f32[2]", "{INF, 2}", 1, "'INF' found"),
        ("f32[2]", "{infinity, 2}", 1, "'infinity' found"),
        ("f32[2]", "{(1), 2}", 1, r"'\(1\)' found"),
        ("f32[]", "3.4028236e+38", 0, "3.4028236e.38 is out of the range of float32"),
        ("f32[2]", "{1, 1e400}", 4, "1e400 is out of the range of float32"),
        ("f32[3]", "{inf, 1e400, nan}", 6, "1e400 is out of the range of float32"),
        ("f64[]", "1e999999999999", 0, "out of the range of float64"),
        ("f16[2]", "{1, 65520}", 4, "65520 is out of the range of float16"),
        ("f8e4m3fn[]", "1000", 0, "1000 is out of the range"),
        ("f8e4m3fn[]", "inf", 0, "float8e4m3fn has no infinities"),
        ("f4e2m1fn[]", "8", 0, "8 is out of the range"),
        ("f4e2m1fn[]", "nan", 0, "nan isn't a value of float4e2m1"),
        ("f8e8m0fnu[]", "-1", 0, "-1 is out of the range"),
        ("f8e8m0fnu[]", "0", 0, "0 is out of the range"),
        ("f8e4m3fn[]", "nan(0x1)", 0, "isn't a value of float8e4m3fn"),
        ("f32[]", "nan(0x0)", 0, "isn't a value of float32"),
        ("f32[]", "nan(0x800000)", 0, "isn't a value of float32"),
        ("s32[]", "1.5", 0, "a value of int32 expected, '1.5' found"),
        ("s32[2]", "{1, 1e3}", 4, "'1e3' found"),
        ("s32[2]", "{1, 2147483648}", 4, "2147483648 is out of the range of int32"),
        ("s8[2]", "{-129, 1}", 1, "-129 is out of the range of int8"),
        ("u32[]", "-1", 0, "-1 is out of the range of uint32"),
        ("u64[2]", "{1, 18446744073709551616}", 4, "18446744073709551616 is out of the range of uint64"),
        ("u4[]", "16", 0, "16 is out of the range of uint4"),
        ("u1[]", "2", 0, "2 is out of the range of uint1"),
        ("s64[1]", "{" + "9" * 5000 + "}", 1, "9{30} is out of the range of int64"),
        ("pred[1]", "{yes}", 1, "a value of bool expected, 'yes' found"),
        ("c64[]", "1", 0, r"a value of complex64 expected, '1' found"),
        ("c64[]", "(1 2)", 0, r"'\(' found"),
        ("c64[2]", "{(1, 2), 3}", 0, "braces and values"),
        ("c64[1]", "{(1, 2, 3)}", 0, "braces and values"),
        ("f32[1000000000000]", "{1, 2}", 0, "braces and values"),
        ("f32[1000000000,0]", "{}", 0, "never closed"),
        ("f32[1000000000000,0]", "{{}}", 0, "braces and values"),
        ("f8e5m2[9000000000000000000,0]", "{{}}", 0, "braces and values"),
        ("c64[2,400000000000000000,0]", "{{{}}}", 0, "braces and values"),
        ("f32[<=3]", "{1}", 0, "dynamic shape"),
        ("token[]", "1", 0, "a token has no literal"),
        ("(f32[], s32[])", "(1)", 2, r"',' expected"),
        ("(f32[], s32[])", "(1, 2, 3)", 5, r"'\)' expected"),
        ("(f32[])", "1", 0, r"'\(' expected"),
    ],
)
def test_what_is_refused(shape: str, text: str, offset: int, reason: str) -> None:
    column = len(f"e {{ c = {shape} constant(") + offset + 1
    with pytest.raises(InvalidModel, match=rf"^line 1, column {column}: .*{reason}") as refusal:
        literal(shape, text)
    assert "\n" not in str(refusal.value)


def test_a_bad_value_is_found_on_its_line() -> None:
    with pytest.raises(InvalidModel, match=r"^line 3, column 4: a value of int32 expected, 'x' found"):
        literal("s32[2,2]", "{\n{1, 2},\n{3,x}}")


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (DType.FLOAT32, 0.1, "0.1"),
        (DType.FLOAT32, 16777216, "1.6777216e+07"),
        (DType.FLOAT32, 1e20, "1e+20"),
        (DType.FLOAT32, -0.0, "-0.0"),
        (DType.FLOAT32, 1 / 3, "0.33333334"),
        (DType.FLOAT64, 1 / 3, "0.3333333333333333"),
        (DType.FLOAT64, -math.inf, "-inf"),
        (DType.FLOAT16, 0.1, "0.1"),
        (DType.FLOAT16, 65504, "65500"),
        (DType.BFLOAT16, 1 / 3, "0.334"),
        (DType.BFLOAT16, 100, "100"),
        (DType.FLOAT8E4M3FN, 448, "450"),
        (DType.FLOAT8E5M2, 0.1, "0.09"),
        (DType.FLOAT4E2M1, -1.5, "-1.5"),
        (DType.INT4, -8, "-8"),
        (DType.UINT64, 2**64 - 1, "18446744073709551615"),
        (DType.BOOL, True, "true"),
        (DType.COMPLEX64, 1 - 0.5j, "(1, -0.5)"),
    ],
)
def test_scalars_are_as_short_as_they_can_be(dtype: DType, value: Any, text: str) -> None:
    scalar = TensorData(dtype, (), np.asarray(value).astype(dtype.numpy))
    assert write_literal(scalar) == text
    assert same_literal(read_back(scalar, ArrayShape(dtype)), scalar)


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([True, False]), "{1, 0}"),
        (np.array([[1, 2], [3, 4]], np.int32), "{{1, 2}, {3, 4}}"),
        (np.zeros((2, 0, 4), np.float32), "{{}, {}}"),
        (np.zeros((0, 4), np.float32), "{}"),
        (np.array([np.nan, -np.nan, np.inf], np.float32), "{nan, -nan, inf}"),
        (np.array([0x7F800001, 0xFFC00001], np.uint32).view(np.float32), "{nan(0x1), -nan(0x400001)}"),
        (np.array([0x7F, 0xFF], np.uint8).view(ml_dtypes.float8_e4m3fn), "{nan, -nan}"),
    ],
)
def test_arrays(array: Any, text: str) -> None:
    data = TensorData.of(array)
    assert write_literal(data) == text
    assert same_literal(read_back(data, ArrayShape(data.dtype, data.shape)), data)


def test_tuples_are_written() -> None:
    value = (TensorData.of(np.float32([1, 2])), (), (TensorData.of(np.int32(3)),))
    assert write_literal(value) == "({1, 2}, (), (3))"
    one = ArrayShape(DType.INT32)
    shape = TupleShape((ArrayShape(DType.FLOAT32, (2,)), TupleShape(), TupleShape((one,))))
    assert same_literal(read_back(value, shape), value)


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES)
def test_any_bits_come_back(dtype: DType) -> None:
    generator = np.random.default_rng(7)
    kind = dtype.numpy
    if dtype is DType.BOOL or (dtype.bits < 8 and dtype is not DType.FLOAT4E2M1):
        array = generator.integers(0, 1 << (1 if dtype is DType.BOOL else dtype.bits), 60).astype(np.uint8).astype(kind)
    elif dtype is DType.FLOAT4E2M1:
        array = np.tile(np.arange(16, dtype=np.uint8), 4)[:60].view(kind)
    elif kind.itemsize == 1:
        array = np.concatenate([np.arange(256, dtype=np.uint8), np.arange(44, dtype=np.uint8)]).view(kind)
    else:
        array = generator.integers(0, 256, 300 * kind.itemsize, dtype=np.uint8).view(kind)
    array = array.reshape(3, 5, -1)
    data = TensorData(dtype, array.shape, array)
    assert same_literal(read_back(data, ArrayShape(dtype, array.shape)), data)


def test_large_constants_come_back_whole() -> None:
    array = np.random.default_rng(3).standard_normal((500, 1000)).astype(np.float32)
    data = TensorData.of(array)
    assert same_literal(read_back(data, ArrayShape(DType.FLOAT32, array.shape)), data)
