"""What MDF's own engine computes for files in function form: the source's numbers, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert, save
from backedge.convert.onnx.read import read_model
from backedge.runtime.oracles import Outcome, run_file
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model

pytest.importorskip("modeci_mdf")

X = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
A, B = np.array([1, 2], np.float32), np.array([10, 5], np.float32)
Y = np.array([[3, 1, 2, 4]], np.float32)
FEEDS: dict[str, Any] = {
    "x": X,
    "A": A,
    "B": B,
    "axis": np.array(4, np.float32),
    "onnx_c": A + 0.5,
    "y": Y,
    "i": np.array([1, 2, 3, 4]),
    "u": np.array([7, 8, 9], np.uint8),
    "go": np.array(True),
}
INPUTS = (
    "float[2, 3] x, float[2] A, float[2] B, float axis, float[2] onnx_c, float[1, 4] y, int64[4] i, uint8[3] u, bool go"
)


def run(text: str, opset: int, feeds: dict[str, Any], folder: Path, constants: str = "") -> Outcome:
    """The engine's answer to a model, which is `text` between its inputs and its outputs."""
    outputs = ", ".join(dict.fromkeys(line.split("=")[0].strip() for line in text.split("\n") if " = " in line))
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    model = parse_model(f"{header} g ({INPUTS}) => ({outputs}) <{constants}> {{ {text} }}")
    save(read_model(model), folder / "m.json")
    (outcome,) = run_file("mdf", folder / "m.json", [feeds])
    return outcome


def assert_gives(outcome: Outcome, expected: dict[str, Any]) -> None:
    assert outcome.outputs is not None, outcome.error
    wrong = []
    for name, array in expected.items():
        wanted, got = np.asarray(array), np.asarray(outcome.outputs[name])
        if got.shape != wanted.shape or not np.allclose(got.astype(float), wanted.astype(float), rtol=1e-5):
            wrong.append((name, got, wanted))
    assert not wrong


CONSTANTS = """
    float[2] k = {10, 20}, float[2] ones = {1, 1}, float s = {3}, float[1] one = {3}, int64 index = {1},
    float[2, 2] m = {1, 2, 3, 4}, int64 least = {2}, int64 most = {3}, float high = {2.5}, int64[2] shape = {3, 2},
    int64[1] count = {2},
    bool truth = {1}, uint8 small = {2}, uint8[3] bytes = {250, 2, 3}, int64[2] parts = {1, 2},
    int64[1] first = {0}, int64[1] last = {3}, int64[1] two = {2}
"""
NAMES = """
    difference = Sub (B, A)
    joined = Concat <axis = 0> (k, A, k, onnx_c, A)
    added = Add (axis, s)
    row = Gather (m, index)
    wider = Add (A, s)
    total = Sum (A, A, k, s)
    greatest = Max (s, one)
    product = Gemm <alpha = 0.5, beta = 2.0, transB = 1> (m, m, k)
    chosen = Where (go, high, A)
    chosen_once = Where (truth, s, A)
    same = Identity (k)
"""


OPERATORS = """
    between = Clip (i, least, most)
    below = Clip (i, , most)
    above = Clip (i, least)
    open = Clip (i)
    doubled = Add (y, y)
    capped = Clip (doubled, , high)
    c = Constant <value_float = 2.5> ()
    n = Constant <value_int = 3> ()
    list = Constant <value_floats = [1.5, 2.5, 3.5, 4.5]> ()
    whole = Constant <value = float {9}> ()
    scaled = Mul (y, c)
    scalar = Add (c, whole)
    summed = Add (list, y)
    values, indices = TopK <axis = 1> (y, count)
    size = Size (x)
    filled = ConstantOfShape <value = int64[1] {5}> (shape)
    zeros = ConstantOfShape (shape)
    reshaped = Reshape (x, shape)
    turned = Transpose <perm = [1, 0]> (x)
    part = Slice (i, first, last, , two)
    sizes = Div (bytes, u)
    smaller = Mul (u, small)
    left, middle = Split <axis = 1> (x, parts)
    upper, lower = Split (m)
    kept, mask = Dropout (y)
    normal = BatchNormalization <epsilon = 0.0> (m, k, k, k, ones)
    shout = Einsum <equation = "ij,ij->i"> (m, m)
    cast = Cast <to = 7> (y)
"""


def test_the_engines_own_opset(tmp_path: Path) -> None:
    """Values that are called as formal inputs are, constants between inputs, values used twice, scalars of rank 0;
    inputs left out in the middle, constants that are attributes, several outputs, types narrower than 64 bits."""
    k, m = np.array([10, 20]), np.array([[1, 2], [3, 4]])
    assert_gives(
        run(NAMES + OPERATORS, 15, FEEDS, tmp_path, CONSTANTS),
        {
            "difference": [9, 3],
            "joined": [10, 20, 1, 2, 10, 20, 1.5, 2.5, 1, 2],
            "added": np.array(7.0),
            "row": [3, 4],
            "wider": [4, 5],
            "total": A + A + k + 3,
            "greatest": [3],
            "product": 0.5 * (m @ m.T) + 2 * k,
            "chosen": [2.5, 2.5],
            "chosen_once": [3, 3],
            "same": k,
            "between": [2, 2, 3, 3],
            "below": [1, 2, 3, 3],
            "above": [2, 2, 3, 4],
            "open": [1, 2, 3, 4],
            "capped": [[2.5, 2, 2.5, 2.5]],
            "c": np.array(2.5),
            "n": np.array(3),
            "list": [1.5, 2.5, 3.5, 4.5],
            "whole": np.array(9.0),
            "scaled": Y * 2.5,
            "scalar": np.array(11.5),
            "summed": [[4.5, 3.5, 5.5, 8.5]],
            "values": [[4, 3]],
            "indices": [[3, 0]],
            "size": np.array(6),
            "filled": np.full((3, 2), 5),
            "zeros": np.zeros((3, 2)),
            "reshaped": [[1, 2], [3, 4], [5, 6]],
            "turned": [[1, 4], [2, 5], [3, 6]],
            "part": [1, 3],
            "sizes": [35, 0, 0],
            "smaller": [14, 16, 18],
            "left": [[1], [4]],
            "middle": [[2, 3], [5, 6]],
            "upper": [[1, 2]],
            "lower": [[3, 4]],
            "kept": Y,
            "mask": np.ones((1, 4)),
            "normal": (m - k) * k + k,
            "shout": [5, 25],
            "cast": [[3, 1, 2, 4]],
        },
    )


AT_18 = """
    node_axes = Constant <value = int64[1] {0}> ()
    mean = ReduceMean <keepdims = 0> (x, count_one)
    greatest = ReduceMax (x, node_axes)
    all = ReduceSum (x)
    padded = Pad (A, pads, high)
    parts, rest = Split <num_outputs = 2, axis = 1> (y)
"""


def test_a_newer_opset(tmp_path: Path) -> None:
    """Axes that are constants, from an initializer or from a node, are attributes at opset 15."""
    constants = "int64[1] count_one = {1}, int64[2] pads = {1, 0}, float high = {2.5}"
    outcome = run(AT_18, 18, FEEDS, tmp_path, constants)
    expected = {"mean": [2, 5], "greatest": [[4, 5, 6]], "all": [[21]], "padded": [2.5, 1, 2]}
    assert_gives(outcome, {**expected, "parts": [[3, 1]], "rest": [[2, 4]]})


AT_10 = """
    mean = ReduceMean <keepdims = 0, axes = [1]> (x)
    wide = Unsqueeze <axes = [0]> (x)
    slim = Squeeze <axes = [0]> (wide)
    cut = Clip <min = 2.0, max = 4.5> (x)
    padded = Pad <pads = [1, 0], value = 2.5> (A)
    kept = Dropout <ratio = 0.3> (A)
    flat = Flatten <axis = 0> (x)
"""


def test_an_older_opset(tmp_path: Path) -> None:
    """Attributes that are inputs at opset 15."""
    outcome = run(AT_10, 10, FEEDS, tmp_path, "float[1] nothing = {0}")
    flat = X.reshape(1, -1)
    expected = {"mean": [2, 5], "wide": X[None], "slim": X, "cut": np.clip(X, 2, 4.5), "padded": [2.5, 1, 2]}
    assert_gives(outcome, {**expected, "kept": A, "flat": flat})


def test_defaults_and_values_that_are_handed_out_as_they_are(tmp_path: Path) -> None:
    """Inputs with default values, of every rank and type; inputs and constants that are outputs."""
    arrays = {"a": np.array(2.5, np.float32), "b": np.array([[1, 2]], np.int32), "c": np.array([True]), "w": A}
    infos = {
        name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in arrays.items()
    }
    nodes = [helper.make_node("Mul", ["a", "w"], ["p"])]
    outputs = [*infos.values(), helper.make_tensor_value_info("p", TensorProto.FLOAT, [2])]
    tensors = [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    graph = helper.make_graph(nodes, "g", [infos["a"], infos["b"], infos["c"]], outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    save(read_model(model), tmp_path / "m.json")
    fed = {"a": np.array(3, np.float32), "b": np.array([[5, 6]], np.int32), "c": np.array([False])}
    by_default, otherwise = run_file("mdf", tmp_path / "m.json", [{}, fed])
    assert_gives(by_default, {**arrays, "p": [2.5, 5]})
    assert_gives(otherwise, {**arrays, **fed, "p": [3, 6]})
    assert by_default.outputs is not None
    for name, array in {**arrays, "p": A}.items():
        assert np.asarray(by_default.outputs[name]).dtype == array.dtype


@pytest.mark.parametrize("style", ["function", "stateful"])
def test_infinity_is_cut_off_where_a_bound_is_left_out(style: str, tmp_path: Path) -> None:
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 15]>
        g (float[3] x) => (float[3] a, float[3] b, float[3] c) <float zero = {0}> {
          a = Clip (x) b = Clip (x, zero) c = Clip (x, , zero)
        }
    """)
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.json", mdf_style=style, verify=0)
    (outcome,) = run_file("mdf", tmp_path / "m.json", [{"x": np.array([np.inf, -np.inf, 1], np.float32)}])
    most = np.finfo(np.float32).max
    assert_gives(outcome, {"a": [most, -most, 1], "b": [most, 0, 1], "c": [0, -most, 0]})


def test_a_condition_that_is_longer_than_the_axis(tmp_path: Path) -> None:
    """ONNX Runtime leaves out what it has more, and so does what is written; NumPy refuses it."""
    text = "(float[2, 3] x, bool[4] c, bool[8] d) => (float[2, p] a, float[q] b)"
    model = parse_model(f"""<ir_version: 8, opset_import: ["" : 15]> g {text} {{
        a = Compress <axis = -1> (x, c)  b = Compress (x, d) }}""")
    feeds = {
        "x": np.arange(6, dtype=np.float32).reshape(2, 3),
        "c": np.array([False, True, True, True]),
        "d": np.array([False, True, False, False, True, False, True, True]),
    }
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.json", mdf_style="stateful", verify=0)
    (outcome,) = run_file("mdf", tmp_path / "m.json", [feeds])
    (source,) = run_file("onnxruntime", tmp_path / "m.onnx", [feeds])
    assert source.outputs is not None, source.error
    assert_gives(outcome, source.outputs)
