"""Faults of OpenVINO's CPU that IR is written around: numbers by NumPy, in OpenVINO itself; and the plain operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino import workarounds
from backedge.convert.openvino.lowering import NOTES, lower_graph
from backedge.convert.openvino.raising import raise_graph as openvino_hub
from backedge.passes.graph import Graph
from backedge.passes.types import DType, TensorType
from backedge.passes.workarounds import keeping_to_the_text
from onnx import helper

from .runner import Runner

WORDS = np.array([0, 1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 2, 3_000_000_001], np.uint32)
OTHERS = np.array([2**32 - 1, 2, 255, 2**31, 2**31 - 1, 2**32 - 2, 2**32 - 1, 3_000_000_000], np.uint32)
AMOUNTS = np.array([0, 1, 5, 31, 31, 9, 16, 4], np.uint32)
BIG = np.uint32(0xCC9E2D51)
BYTES, MORE = np.array([-128, 127, 100, -100, 3, 5], np.int8), np.array([127, -128, 100, 90, -7, 2], np.int8)
NAN = np.array([[np.nan, 1, 2, 3], [1, np.nan, 3, 2], [3, 2, 1, np.nan], [2, 3, -np.inf, 1]], np.float32)


def graph_of(op: str, inputs: list[np.ndarray], constants: list[np.ndarray], outputs: int, **attributes: Any) -> Graph:
    names = [f"x{index}" for index in range(len(inputs))]
    fixed = [f"c{index}" for index in range(len(constants))]
    results = [f"y{index}" for index in range(outputs)]
    node = helper.make_node(op, [*names, *fixed], results, **attributes)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in zip(names, inputs, strict=True)
    ]
    stored = [onnx.numpy_helper.from_array(value, name) for name, value in zip(fixed, constants, strict=True)]
    graph = helper.make_graph([node], "g", declared, [onnx.ValueInfoProto(name=name) for name in results], stored)
    return raise_graph(read_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)))


LARGE = np.array([2**24 + 1, 2**31 - 1, -(2**31), 7, -(2**24) - 1, 2**30 + 1, 2**24 + 1, -5, 2**24 + 3], np.int32)
NEAR = np.array([2**24, 2**31 - 2, 1 - 2**31, 7, -(2**24), 2**30 + 1, 2**24 + 2, 3, 2**24 + 4], np.int32)
TOP = np.int32(2**31 - 1)
TWICE = [np.zeros(0, np.float32), np.array([1, 2], np.float32)]
ROUGHLY = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
COMPARISONS = [
    *(("Equal", np.equal), ("Less", np.less), ("LessOrEqual", np.less_equal)),
    *(("Greater", np.greater), ("GreaterOrEqual", np.greater_equal)),
]

CASES: list[tuple[str, str, list[Any], list[Any], dict[str, Any], Callable[..., Any]]] = [
    ("less", "Less", [WORDS, OTHERS], [], {}, np.less),
    ("at most", "LessOrEqual", [WORDS, OTHERS], [], {}, np.less_equal),
    ("greater", "Greater", [WORDS, OTHERS], [], {}, np.greater),
    ("at least", "GreaterOrEqual", [WORDS, OTHERS], [], {}, np.greater_equal),
    ("equal", "Equal", [WORDS, OTHERS], [], {}, np.equal),
    ("max", "Max", [WORDS, OTHERS], [], {}, np.maximum),
    ("min", "Min", [WORDS, OTHERS], [], {}, np.minimum),
    ("largest", "ReduceMax", [WORDS.reshape(2, 4)], [np.array([1])], {}, lambda x: x.max(1, keepdims=True)),
    ("least", "ReduceMin", [WORDS.reshape(2, 4)], [np.array([0, 1])], {"keepdims": 0}, lambda x: x.min()),
    ("shift", "BitShift", [WORDS, AMOUNTS], [], {"direction": "RIGHT"}, np.right_shift),
    ("shift by 9", "BitShift", [WORDS], [np.uint32(9)], {"direction": "RIGHT"}, lambda x: x >> np.uint32(9)),
    ("add a constant", "Add", [WORDS], [BIG], {}, lambda x: x + BIG),
    ("multiply by a constant", "Mul", [WORDS], [BIG], {}, lambda x: x * BIG),
    ("cast", "Cast", [WORDS], [], {"to": 1}, lambda x: x.astype(np.float32)),
    ("sign", "Sign", [WORDS], [], {}, np.sign),
    ("first largest word", "ArgMax", [WORDS], [], {}, lambda x: np.array([x.argmax()])),
    ("sum of bytes", "ReduceSum", [np.stack([BYTES, MORE])], [np.array([0])], {}, lambda x: x.sum(0, np.int8)[None]),
    ("bytes", "Mul", [BYTES, MORE], [], {}, np.multiply),
    ("absolute bytes", "Abs", [BYTES], [], {}, np.abs),
    ("product of bytes", "MatMul", [BYTES.reshape(2, 3), MORE.reshape(3, 2)], [], {}, np.matmul),
    *((f"large {name}", name, [LARGE, NEAR], [], {}, by) for name, by in COMPARISONS),
    ("large longs", "Less", [LARGE.astype(np.int64), NEAR.astype(np.int64)], [], {}, np.less),
    ("large equal", "Equal", [LARGE], [np.int32(2**24)], {}, lambda x: x == 2**24),
    ("large choice", "Where", [LARGE < NEAR, LARGE, NEAR], [], {}, np.where),
    ("large maximum", "ReduceMax", [LARGE.reshape(3, 3)], [np.array([0])], {}, lambda x: x.max(0, keepdims=True)),
    ("large minimum", "ReduceMin", [LARGE.reshape(3, 3)], [], {"keepdims": 0}, np.min),
    ("large sum", "ReduceSum", [LARGE.reshape(3, 3)], [np.array([1])], {}, lambda x: x.sum(1, np.int32)[:, None]),
    ("large sizes", "ReduceL1", [LARGE], [], {"keepdims": 0}, lambda x: np.abs(x).sum(dtype=np.int32)),
    ("large bounds", "Clip", [LARGE], [np.int32(2**24 + 1), TOP], {}, lambda x: np.clip(x, 2**24 + 1, TOP)),
    ("large picture", "Resize", [LARGE.reshape(3, 3)], TWICE, ROUGHLY, lambda x: x.repeat(2, 1)),
    ("large frame", "Pad", [LARGE], [np.array([1, 2]), TOP], {}, lambda x: np.pad(x, (1, 2), constant_values=TOP)),
    ("outer bytes", "Einsum", [BYTES, MORE], [], {"equation": "i,j->ij"}, lambda x, y: np.multiply.outer(x, y)),
    ("largest beside NaN", "ArgMax", [NAN], [], {"axis": 1}, lambda x: x.argmax(1)[:, None]),
    ("least beside NaN", "ArgMin", [NAN], [], {"axis": 1}, lambda x: x.argmin(1)[:, None]),
    ("sorted beside NaN", "TopK", [NAN], [np.array([4])], {"largest": 0}, lambda x: np.sort(x, 1)),
]


@pytest.mark.parametrize(
    ("op", "inputs", "constants", "attributes", "by_numpy"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_numbers(
    openvino: Runner,
    op: str,
    inputs: list[np.ndarray],
    constants: list[np.ndarray],
    attributes: dict[str, Any],
    by_numpy: Callable[..., Any],
) -> None:
    graph = graph_of(op, inputs, [np.asarray(one) for one in constants], 2 if op == "TopK" else 1, **attributes)
    ((found, *_),) = openvino.lowered(graph, [{f"x{index}": value for index, value in enumerate(inputs)}])
    with np.errstate(over="ignore"):
        wanted = np.asarray(by_numpy(*inputs))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    lowered = lower_graph(graph)
    assert sum("not with --faithful" in note for note in lowered.meta[NOTES]) == 1
    with keeping_to_the_text(True):
        plain = lower_graph(graph)
    assert [node.op_type for node in plain.nodes] != [node.op_type for node in lowered.nodes] or op in ("Sign", "Abs")
    assert not any("--faithful" in note for note in plain.meta[NOTES])


def test_the_page_names_all() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")
    missing = [name for name in (*workarounds.WRITTEN, *workarounds.READ) if f"`{name}`" not in page]
    assert missing == []


@pytest.mark.parametrize("size", [1001, "n"])
@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_elements_below_a_byte_are_handed_out(openvino: Runner, kind: str, size: int | str) -> None:
    """OpenVINO's Identity writes a byte for each of them, and its process dies of it."""
    dtype = DType[kind]
    graph = Graph("hub")
    x = graph.add_input("x", TensorType(dtype, (size,)))
    graph.outputs.append(graph.add_node("Identity", [x], ["y"]).output)
    lowest, most = dtype.integer_limits
    given = (np.arange(1001) % (most + 1 - lowest) + lowest).astype(dtype.numpy)
    for (found,) in openvino.lowered(graph, [{"x": given}] * 20):
        np.testing.assert_array_equal(found.astype(np.int64), given.astype(np.int64))


def hub(text: str) -> Graph:
    return raise_graph(read_model(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')))


@pytest.mark.parametrize(
    "text",
    [
        "g (int64[n] x) => (bool[n] y) <int64 c = {-100}> { y = Less (x, c) }",
        "g (bool[n] x) => (int64 y) { z = Cast <to = 7> (x) y = ReduceSum <keepdims = 0> (z) }",
        "g (float[n, m] x) => (int64 y) { z = Shape (x) y = ReduceMax <keepdims = 0> (z) }",
        "g (bool p, uint8[n] x) => (int32[n] y) <int32 c = {3}> { w = Cast <to = 6> (x) y = Where (p, w, c) }",
    ],
    ids=["a small constant", "a count", "sizes", "few bits"],
)
def test_small_integers_stay_plain(text: str) -> None:
    graph = hub(text)
    with keeping_to_the_text(True):
        plain = lower_graph(graph)
    lowered = lower_graph(graph)
    assert [node.op_type for node in lowered.nodes] == [node.op_type for node in plain.nodes]
    assert not any("large" in note or "2^24" in note for note in lowered.meta[NOTES])


def test_large_integers_are_read_as_they_were() -> None:
    text = """g (int32[n] a, int32[n] b) => (int32[n] y, bool[n] z, bool[n] w) {
      l = Less (a, b) y = Where (l, a, b) z = Equal (a, b) w = LessOrEqual (a, b) }"""
    read = openvino_hub(lower_graph(hub(text)))
    read_as = {node.op_type for node in read.nodes} - {"Identity"}
    assert read_as == {"Equal", "Less", "LessOrEqual", "Where"}


def test_what_has_no_exact_form_is_named() -> None:
    notes = lower_graph(hub("g (int32[2, n] a, int32[n, 2] b) => (int32[2, 2] y) { y = MatMul (a, b) }")).meta[NOTES]
    assert any("in float32" in note and "'y'" in note for note in notes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("source", [np.float16, np.float32])
def test_floats_beyond_8_bits_of_open_sizes(openvino: Runner, source: Any, dtype: Any) -> None:
    """As ONNX Runtime drops what doesn't fit."""
    to = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    of = {np.float16: "float16", np.float32: "float"}[source]
    text = f"g ({of}[n] x) => (y) {{ y = Cast <to = {to}> (x) }}"
    x = np.array([-4.5, -0.5, 0.5, 127.5, 200, 255.9, 300, -200, 3000, -3000], source)
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    wanted = np.asarray(onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0])
    assert wanted.tolist() == x.astype(np.int32).astype(dtype).tolist()
    ((found,),) = openvino.lowered(hub(text), [{"x": x}])
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, wanted)
    with keeping_to_the_text(True):
        plain = lower_graph(hub(text))
    assert [node.op_type for node in plain.nodes] == ["Convert"]
