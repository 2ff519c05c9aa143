"""Whole graphs as machine code: ONNX Runtime's numbers, and NumPy's where it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from backedge.runtime import prepare, run, whole_graph
from backedge.runtime.executor import Executor, never_compile
from onnx.parser import parse_model

RNG = np.random.default_rng(5)


def floats(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def model(text: str, opset: int = 17, **constants: np.ndarray) -> onnx.ModelProto:
    made = parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')
    made.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in constants.items())
    return made


def by_onnxruntime(made: onnx.ModelProto, feeds: dict[str, Any]) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def hub_of(made: onnx.ModelProto) -> Graph:
    return raise_graph(read_model(made))


def assert_compiled(made: onnx.ModelProto, *sets: dict[str, Any]) -> None:
    """One function for all sets, which are of the same shapes; its numbers are ONNX Runtime's."""
    executor = Executor(hub_of(made))
    assert executor.prepare(sets[0])
    for feeds in sets:
        found = executor.run(feeds)
        for expected, (name, actual) in zip(by_onnxruntime(made, feeds), found.items(), strict=True):
            assert actual.dtype == expected.dtype, name
            assert actual.shape == expected.shape, name
            np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)


CONVOLUTIONS = {
    "plain": ("", (2, 3, 9, 10), (4, 3, 3, 3)),
    "one by one": ("", (1, 8, 5, 7), (16, 8, 1, 1)),
    "padded, stepping": ("<pads = [1, 0, 2, 1], strides = [2, 3]>", (1, 3, 11, 12), (5, 3, 3, 4)),
    "dilated": ("<dilations = [2, 1], pads = [2, 2, 2, 2]>", (1, 2, 9, 9), (3, 2, 3, 3)),
    "dilated and stepping": ("<dilations = [3, 2], strides = [2, 2]>", (1, 2, 13, 12), (9, 2, 3, 3)),
    "in groups": ("<group = 2, pads = [1, 1, 1, 1]>", (2, 4, 6, 6), (6, 2, 3, 3)),
    "each channel alone": ("<group = 6, pads = [1, 1, 1, 1], strides = [2, 2]>", (2, 6, 9, 8), (6, 1, 3, 3)),
    "same sizes": ('<auto_pad = "SAME_UPPER", strides = [2, 2]>', (1, 3, 7, 8), (4, 3, 3, 3)),
    "one axis": ("<pads = [2, 1], strides = [2]>", (2, 3, 17), (7, 3, 4)),
    "one window": ("", (1, 40, 3, 3), (9, 40, 3, 3)),
}


@pytest.mark.parametrize(("name", "bias"), [(name, bool(place % 2)) for place, name in enumerate(CONVOLUTIONS)])
def test_convolution(name: str, bias: bool) -> None:
    attributes, images, filters = CONVOLUTIONS[name]
    sizes, rank = ", ".join(map(str, images)), len(images)
    text = f"""m (float[{sizes}] x) => (float[{", ".join("abcdefg"[:rank])}] y) {{
        c = Conv {attributes} (x, w{", b" if bias else ""})
        s = Sigmoid (c)
        y = Mul (c, s)
    }}"""
    constants = {"w": floats(*filters), **({"b": floats(filters[0])} if bias else {})}
    assert_compiled(model(text, **constants), {"x": floats(*images)}, {"x": floats(*images)})


def test_normalization_and_activation_behind() -> None:
    text = """m (float[1, 6, 5, 4] x) => (float[1, 6, a, b] y, float[1, 6, 1, 1] z) {
        c = Conv <pads = [1, 1, 1, 1]> (x, w)
        n = BatchNormalization (c, scale, shift, mean, var)
        three = Constant <value = float {3}> ()
        six = Constant <value = float {6}> ()
        zero = Constant <value = float {0}> ()
        more = Add (n, three)
        clipped = Clip (more, zero, six)
        part = Mul (n, clipped)
        y = Div (part, six)
        z = GlobalAveragePool (y)
    }"""
    constants = {"w": floats(6, 6, 3, 3), "scale": floats(6), "shift": floats(6), "mean": floats(6)}
    assert_compiled(model(text, **constants, var=floats(6) ** 2), {"x": floats(1, 6, 5, 4)})


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("pads", [(0, 2, 0, 0), (1, 0, 2, 3), (0, 0, 0, 4)])
def test_pad(mode: str, pads: tuple[int, ...]) -> None:
    text = f'm (float[3, 5] x) => (float[a, b] y) {{ p = Pad <mode = "{mode}"> (x, pads)\n y = Neg (p) }}'
    assert_compiled(model(text, 21, pads=np.int64(pads)), {"x": floats(3, 5)})


def test_sizes_that_are_computed() -> None:
    text = """m (float[n, 6] x) => (float[a, b] y) {
        shape = Shape (x)
        zero = Constant <value = int64 {0}> ()
        rows = Gather (shape, zero)
        axes = Constant <value = int64[1] {0}> ()
        first = Unsqueeze (rows, axes)
        rest = Constant <value = int64[1] {-1}> ()
        wanted = Concat <axis = 0> (rest, first)
        r = Reshape (x, wanted)
        y = Exp (r)
    }"""
    made = model(text)
    assert_compiled(made, {"x": floats(4, 6)}, {"x": np.full((4, 6), np.nan, np.float32)})
    assert_compiled(made, {"x": floats(1, 6)})


def test_numbers_that_are_none() -> None:
    text = """m (float[2, 4] x) => (float[2, 4] y, float[2, 1] z) {
        e = Exp (x)
        s = Softmax (x)
        y = Sub (e, s)
        z = ReduceMax <axes = [1]> (y)
    }"""
    special = np.float32([[np.nan, 1, -np.inf, 0], [-0.0, 2, 88, -104]])
    assert_compiled(model(text), {"x": floats(2, 4)}, {"x": special})


def test_no_elements() -> None:
    text = "m (float[n, 3] x) => (float[n, 3] y, float[1, 3] z) { y = Neg (x)\n z = ReduceSum (y, axes) }"
    assert_compiled(model(text, axes=np.int64([0])), {"x": floats(0, 3)})


def test_a_branch_that_cannot_run() -> None:
    """Whichever branch suits the sizes has code; the other one is NumPy's."""
    text = """m (bool p, float[n] x) => (float[k] y) {
        d = If (p) <
            then_branch = t () => (float[2] u) { a = Constant <value = float[2] {1, 2}> ()\n u = Add (x, a) },
            else_branch = e () => (float[3] v) { b = Constant <value = float[3] {3, 4, 5}> ()\n v = Mul (x, b) }>
        y = Neg (d)
    }"""
    executor = Executor(hub_of(model(text)))
    two, three = np.float32([1, 2]), np.float32([1, 2, 3])
    for x, which, expected in ((two, True, [-2, -4]), (three, False, [-3, -8, -15])):
        feeds = {"p": np.array(which), "x": x}
        assert executor.prepare(feeds)
        assert executor.run(feeds)["y"].tolist() == expected
    with pytest.raises(Exception, match="Add"):
        executor.run({"p": np.array(True), "x": three})


def test_an_input_with_a_default() -> None:
    """It is no constant: another value may be given, of another meaning for sizes and branches."""
    text = """m (float[2, 3] x, int64[2] shape, bool p) => (float[a, b] y)
        <int64[2] shape = {3, 2}, bool p = {1}> {
        r = Reshape (x, shape)
        y = If (p) <then_branch = t () => (float[c, d] u) { u = Neg (r) },
                    else_branch = e () => (float[c, d] v) { v = Exp (r) }>
    }"""
    executor = Executor(hub_of(model(text)))
    x = floats(2, 3)
    executor.prepare({"x": x})
    assert np.array_equal(executor.run({"x": x})["y"], -x.reshape(3, 2))
    other = executor.run({"x": x, "shape": np.int64([6, 1]), "p": np.array(False)})["y"]
    np.testing.assert_allclose(other, np.exp(x.reshape(6, 1)), rtol=1e-6)


def test_results_belong_to_the_caller() -> None:
    text = """m (float[20] x) => (float[20] y, float[20] z, float[20] k) {
        y = Neg (x)
        z = Identity (y)
        k = Identity (c)
    }"""
    executor = Executor(hub_of(model(text, c=floats(20))))
    x = floats(20)
    assert executor.prepare({"x": x})
    first = executor.run({"x": x})
    kept = {name: array.copy() for name, array in first.items()}
    for array in first.values():
        array[:] = 0
    again = executor.run({"x": x})
    assert all(np.array_equal(again[name], kept[name]) for name in kept)


def test_a_loop_inside() -> None:
    text = """m (float[3] x, int64 n) => (float[3] y, float[s, 3] all) {
        t = Constant <value = bool {1}> ()
        last, all = Loop (n, t, x) <body = b (int64 i, bool c, float[3] v) => (bool d, float[3] w, float[3] o) {
            d = Identity (c)
            w = Mul (v, factor)
            o = Add (w, x)
        }>
        y = Neg (last)
    }"""
    made = model(text, factor=np.float32([0.5, -1, 2]))
    assert_compiled(made, *({"x": floats(3), "n": np.array(count)} for count in (0, 1, 7)))


def test_what_has_no_code() -> None:
    text = "m (string[2] x) => (string[2] y, bool[2] z) { y = Identity (x)\n z = Equal (x, y) }"
    executor = Executor(hub_of(model(text, 19)))
    feeds = {"x": np.array(["a", "b"], object)}
    assert not executor.prepare(feeds)
    assert executor.run(feeds)["z"].tolist() == [True, True]


def test_used_after_enough_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machine code is made once the runs add up, and for each shape by itself."""
    monkeypatch.setattr(whole_graph, "COMPILE_AFTER", 5)
    text = "m (float[n] x) => (float[n] y) { a = Neg (x)\n b = Exp (a)\n y = Tanh (b) }"
    graph = hub_of(model(text))
    plain = Executor(graph.copy(), never_compile)
    made: list[tuple[int, ...]] = []
    compiled = whole_graph.WholeGraph._compiled
    monkeypatch.setattr(
        whole_graph.WholeGraph, "_compiled", lambda self, shapes: made.append(shapes["x"]) or compiled(self, shapes)
    )
    for shape in ((40,), (50,)):
        for _ in range(8):
            x = floats(*shape)
            np.testing.assert_allclose(run(graph, {"x": x})["y"], plain.run({"x": x})["y"], rtol=1e-6)
    assert made == [(40,), (50,)]
    assert prepare(graph, {"x": floats(60)})
    assert made == [(40,), (50,), (60,)]
