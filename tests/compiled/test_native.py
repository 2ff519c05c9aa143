"""Convolutions in machine code: the same as ONNX Runtime's, and when they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load, to_hub
from backedge.passes.graph import Graph
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, TensorType
from backedge.runtime import executor, native
from backedge.runtime.executor import ExecutionError, Executor, never_compile
from backedge.runtime.kernels import linalg
from byte_products import needs_exact_products
from onnx import TensorProto, helper

F32 = np.float32


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Machine code from the first call on; which functions were called."""
    monkeypatch.setattr(native, "LOAD_AFTER", (0, 0))
    monkeypatch.setattr(native, "COMPILE_AFTER", 0)
    called: list[str] = []
    make = native._compiled

    def recorded(name: str) -> Any:
        code = make(name)
        assert code is not None
        return lambda *given: (called.append(name), code(*given))[1]

    monkeypatch.setattr(native, "_compiled", recorded)
    return called


def graph_of(op_type: str, inputs: list[np.ndarray], constant: bool = False, **attributes: Any) -> Graph:
    """One operator; all inputs but the first may be constants."""
    graph = Graph("hub")
    values = [graph.add_input("x0", TensorType(DType.of(inputs[0].dtype)))]
    for place, array in enumerate(inputs[1:], 1):
        if constant:
            values.append(graph.add_constant(array))
        else:
            values.append(graph.add_input(f"x{place}", TensorType(DType.of(array.dtype))))
    graph.outputs.append(graph.add_node(op_type, values, ["y"], attributes).output)
    return graph


def ours(op_type: str, *inputs: np.ndarray, **attributes: Any) -> np.ndarray:
    graph = graph_of(op_type, list(inputs), **attributes)
    return Executor(graph).run({f"x{place}": array for place, array in enumerate(inputs)})["y"]


def theirs(op_type: str, *inputs: np.ndarray, **attributes: Any) -> np.ndarray:
    """ONNX Runtime's result."""
    names = [f"x{place}" for place in range(len(inputs))]
    kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in inputs]
    given = [helper.make_tensor_value_info(*one, None) for one in zip(names, kinds, strict=True)]
    result = TensorProto.INT32 if op_type.endswith("Integer") else TensorProto.FLOAT
    node = helper.make_node(op_type, names, ["y"], **attributes)
    graph = helper.make_graph([node], "g", given, [helper.make_tensor_value_info("y", result, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs, strict=True)))[0]


def floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(F32)


CONVOLUTIONS = [
    ((1, 3, 9, 11), (16, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 5, 8, 40), (9, 5, 3, 2), {"strides": [2, 3], "pads": [0, 2, 1, 0]}),
    ((1, 6, 7, 7), (8, 3, 3, 3), {"group": 2, "dilations": [2, 1], "pads": [2, 0, 2, 0]}),
    ((3, 4, 5, 6), (7, 4, 1, 1), {}),
    ((1, 4, 9, 9), (3, 4, 1, 1), {"strides": [2, 2]}),
    ((1, 70, 6, 5), (17, 70, 3, 3), {"auto_pad": "SAME_LOWER"}),  # more elements than one part of a product has
    ((2, 6, 12, 35), (6, 1, 5, 5), {"group": 6, "pads": [2, 2, 2, 2]}),
    ((1, 3, 10, 10), (3, 1, 3, 3), {"group": 3, "strides": [2, 2], "pads": [0, 0, 1, 1], "dilations": [1, 2]}),
    ((2, 2, 6, 6), (6, 1, 3, 3), {"group": 2}),  # three filters for each channel
    ((2, 3, 20), (5, 3, 4), {"strides": [3], "pads": [2, 1]}),
    ((1, 4, 33), (4, 1, 5), {"group": 4, "dilations": [3], "pads": [6, 6]}),
    ((1, 2, 5000), (2, 1, 900), {"group": 2, "dilations": [5], "strides": [2]}),  # a window that is longer than a row
    ((1, 1, 4000), (9, 1, 700), {"dilations": [5]}),
    ((1, 2, 3, 3), (4, 2, 3, 3), {"pads": [4, 4, 4, 4]}),  # windows that see nothing but padding
]


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape, filters, attributes", CONVOLUTIONS)
def test_conv(at_once: list[str], shape: Any, filters: Any, attributes: dict[str, Any], constant: bool) -> None:
    x, w, bias = floats(*shape), floats(*filters), floats(filters[0])
    graph = graph_of("Conv", [x, w, bias], constant, **attributes)
    run = Executor(graph).run
    feeds = {value.name: array for value, array in zip(graph.inputs, (x, w, bias), strict=False)}
    for given in (x, 2 * x, x):  # what was made of the filters serves all of them
        found = run({**feeds, "x0": given})["y"]
        np.testing.assert_allclose(found, theirs("Conv", given, w, bias, **attributes), rtol=1e-4, atol=1e-4)
    assert len(at_once) == 3


def test_nan_and_infinities_are_seen(at_once: list[str]) -> None:
    """In all windows with them."""
    x = floats(1, 2, 8, 30)
    x[0, 0, 3, 4], x[0, 1, 2, 2], x[0, 1, 6, 25] = np.nan, np.inf, -np.inf
    for filters in (floats(3, 2, 3, 3), np.abs(floats(2, 1, 3, 3))):
        more = {"pads": [1, 1, 1, 1], "group": 2 // filters.shape[1]}
        graph = graph_of("Conv", [x, filters], **more)
        feeds = {"x0": x, "x1": filters}
        found, plain = (Executor(graph, compiler).run(feeds)["y"] for compiler in (None, never_compile))
        assert np.array_equal(np.isnan(found), np.isnan(plain)) and np.array_equal(np.isinf(found), np.isinf(plain))


@needs_exact_products
def test_integers_are_exact(at_once: list[str]) -> None:
    """More products than float32 adds up exactly are added up in parts."""
    random = np.random.default_rng(0)
    x, w = (random.integers(0, 256, shape, np.uint8) for shape in ((1, 80, 9, 9), (5, 80, 3, 3)))
    x[:], w[0] = 255, 255
    zeros = np.array(3, np.uint8), np.array(0, np.uint8)
    found = ours("ConvInteger", x, w, *zeros, pads=[1, 1, 1, 1])
    assert np.array_equal(found, theirs("ConvInteger", x, w, *zeros, pads=[1, 1, 1, 1]))
    assert found.max() == 80 * 9 * 252 * 255 and found.dtype == np.int32
    assert at_once == ["convolve_tiles"] * 3
    at_once.clear()
    a, b = random.integers(0, 256, (4, 900), np.uint8), random.integers(-128, 128, (900, 33), np.int8)
    a[0], b[:, 0] = 255, -128
    assert np.array_equal(ours("MatMulInteger", a, b), theirs("MatMulInteger", a, b))
    b_zero = np.array(7, np.int8), random.integers(-128, 128, 33, np.int8)
    for zeros in (
        (),
        (np.array(200, np.uint8),),
        (np.array(200, np.uint8), b_zero[0]),
        (np.array(0, np.uint8), b_zero[1]),
    ):
        assert np.array_equal(ours("MatMulInteger", a, b, *zeros), theirs("MatMulInteger", a, b, *zeros))
    wide = random.integers(0, 256, (17, 900), np.uint8), random.integers(0, 256, (900, 4), np.uint8)
    assert np.array_equal(ours("MatMulInteger", *wide), theirs("MatMulInteger", *wide))
    stacked = wide[0][:6].reshape(2, 3, 900), wide[1], np.array(9, np.uint8)
    assert np.array_equal(ours("MatMulInteger", *stacked), theirs("MatMulInteger", *stacked))
    narrow = wide[0][:1], wide[1][:, :1], np.array([9], np.uint8)
    assert np.array_equal(ours("MatMulInteger", *narrow), theirs("MatMulInteger", *narrow))
    assert at_once == ["multiply_bytes int8"] * 5 + ["multiply_bytes uint8"] * 2


@needs_exact_products
def test_arrays_that_do_not_lie_in_order(at_once: list[str]) -> None:
    """Transposed, reversed and read-only ones."""
    x, w, bias = floats(9, 8, 3, 2).T, floats(3, 3, 3, 4).T[:, ::-1], floats(8)[::2]
    x.flags.writeable = False
    np.testing.assert_allclose(ours("Conv", x, w, bias), theirs("Conv", x, w, bias), rtol=1e-4, atol=1e-4)
    alone = floats(3, 3, 1, 3).T
    found, wanted = (run("Conv", x, alone, group=3) for run in (ours, theirs))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    random = np.random.default_rng(1)
    a, b = random.integers(0, 256, (700, 4), np.uint8).T, random.integers(-128, 128, (20, 700), np.int8).T
    assert np.array_equal(ours("MatMulInteger", a, b), theirs("MatMulInteger", a, b))
    assert at_once == ["convolve_tiles", "convolve_channels", "multiply_bytes int8"]


def test_what_it_does_not_take(at_once: list[str]) -> None:
    double = floats(1, 2, 5, 5).astype(np.float64)
    assert ours("Conv", double, double[:, :, :2, :2]).dtype == np.float64
    assert ours("Conv", floats(1, 1, 3, 3, 3), floats(1, 1, 2, 2, 2)).shape == (1, 1, 2, 2, 2)
    for count in (1, 2):
        with pytest.raises(ExecutionError, match=rf"values of the shape \[{count}\] for 3 channels"):
            ours("Conv", floats(1, 2, 5, 5), floats(3, 2, 3, 3), np.ones(count, F32))
    assert ours("Conv", floats(0, 2, 5, 5), floats(3, 2, 3, 3)).shape == (0, 3, 3, 3)
    assert at_once == []


def test_it_is_asked_for_once_it_is_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading is after less work than making; what was used once is always used."""
    asked: list[str] = []
    on_disk = {"convolve_tiles": False, "convolve_channels": True}
    monkeypatch.setattr(native, "_is_on_hand", lambda name: on_disk[name])
    monkeypatch.setattr(native, "_compiled", asked.append)
    monkeypatch.setattr(native, "LOAD_AFTER", (1000, 1000))
    monkeypatch.setattr(native, "COMPILE_AFTER", 5000)
    code = native.Native()
    for _ in range(9):
        code._code("convolve_tiles", 400)
    assert (code.done, asked) == (3600, [])
    code._code("convolve_channels", 1)
    assert asked == ["convolve_channels"]
    for _ in range(9):
        code._code("convolve_tiles", 400)
    assert asked == ["convolve_channels", "convolve_tiles"]


def test_constants_that_the_caller_replaces_are_no_constants(at_once: list[str]) -> None:
    graph = Graph("hub")
    x, w = graph.add_input("x", TensorType(DType.FLOAT32)), graph.add_input("w", TensorType(DType.FLOAT32))
    w.data = TensorData.of(np.ones((1, 1, 2), F32))
    graph.outputs.append(graph.add_node("Conv", [x, w], ["y"]).output)
    run, ones = Executor(graph).run, np.ones((1, 1, 3), F32)
    assert run({"x": ones})["y"].tolist() == [[[2, 2]]]
    assert run({"x": ones, "w": np.full((1, 1, 2), 5, F32)})["y"].tolist() == [[[10, 10]]]
    assert run({"x": ones})["y"].tolist() == [[[2, 2]]]


@pytest.mark.parametrize("limit, times", [(1 << 20, 1), (0, 6)])
def test_what_is_made_of_constants_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, limit: int, times: int
) -> None:
    """In the body of a loop as well, and if it isn't too much."""
    made: list[Any] = []
    centred = linalg.centred
    monkeypatch.setattr(
        linalg, "centred", lambda x, zero, per_row: (made.append(x.dtype), centred(x, zero, per_row))[1]
    )
    monkeypatch.setattr(executor, "KEPT_BYTES", limit)
    text = """<ir_version: 8, opset_import: ["" : 18]> g (uint8[1, 2] x, int64 n) => (int32[1, 2] y)
      <int8[2, 2] w = {1, 2, 3, 4}, int32[1, 2] zero = {0, 0}> { y = Loop (n, , zero)
        <body = b (int64 i, bool c, int32[1, 2] v) => (bool go, int32[1, 2] z) {
          go = Identity (c) p = MatMulInteger (x, w) z = Add (v, p) }> }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    run = Executor(to_hub(load(tmp_path / "m.onnx"))).run
    for x in ([[1, 0]], [[2, 5]]):
        found = run({"x": np.array(x, np.uint8), "n": np.array(3)})["y"]
        assert found.tolist() == (3 * np.array(x) @ [[1, 2], [3, 4]]).tolist()
    assert made.count(np.dtype(np.int8)) == times
