"""StableHLO as jaxlib's MLIR bindings read it: constants of every type, control flow that uses what is around it, what
is refused, and files that are none."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from backedge.convert import convert
from backedge.convert.files import to_hub
from backedge.convert.hlo.stablehlo import from_bytes
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from backedge.runtime.oracles.hlo_names import interface_names

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")


def _hub(data: bytes) -> Graph:
    return to_hub(from_bytes(data))


def _main(results: str, body: str, arguments: str = "") -> bytes:
    return f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}".encode()


_RNG = """
    %a = stablehlo.constant dense<2.0> : tensor<f32>
    %b = stablehlo.constant dense<3.0> : tensor<f32>
    %s = stablehlo.constant dense<[4, 5]> : tensor<2xi64>
    %r = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x5xf32>
    return %r : tensor<4x5xf32>"""


@pytest.mark.parametrize("suffix", [".hlo", ".mlir", ".onnx"])
def test_random_numbers_of_sizes_that_are_an_operand(suffix: str, tmp_path: Path) -> None:
    """XLA draws them from what is written as HLO and StableHLO, ONNX's checker takes what is written as ONNX."""
    (tmp_path / "m.mlir").write_bytes(_main("tensor<4x5xf32>", _RNG))
    made = tmp_path / f"made{suffix}"
    convert(tmp_path / "m.mlir", made, verify=0)
    if suffix == ".onnx":
        onnx.checker.check_model(made, full_check=True)
        return
    (outcome,) = run_file("xla", made, [{}])
    (drawn,) = outcome.outputs.values()
    assert drawn.dtype == np.float32
    assert drawn.shape == (4, 5)
    assert drawn.min() >= 2 and drawn.max() <= 3 and len(np.unique(drawn)) > 10


CONSTANTS: list[tuple[str, str, Any, Any]] = [
    ("2xf32", "[1.0, -0.0]", [1.0, -0.0], np.float32),
    ("3xf32", "0x7FC00000", [np.nan] * 3, np.float32),
    ("2x2xf64", "[[0.1, 1.0e300], [0x7FF0000000000000, 2.0]]", [[0.1, 1e300], [np.inf, 2]], np.float64),
    ("2xf16", "[1.5, 6.0e-8]", [1.5, 6e-8], np.float16),
    ("2xbf16", "[1.0, 0x7F80]", [1.0, np.inf], ml_dtypes.bfloat16),
    ("2x3xbf16", "2.5", [[2.5] * 3] * 2, ml_dtypes.bfloat16),
    ("2xf8E4M3FN", "[1.0, -448.0]", [1.0, -448.0], ml_dtypes.float8_e4m3fn),
    ("3xi1", "[true, false, true]", [True, False, True], np.bool_),
    ("2x2xi1", "true", [[True] * 2] * 2, np.bool_),
    ("2xi8", "[-128, 127]", [-128, 127], np.int8),
    ("2xui8", "[0, 255]", [0, 255], np.uint8),
    ("2xi64", "[-9223372036854775808, 5]", [-(2**63), 5], np.int64),
    ("2xui64", "[18446744073709551615, 0]", [2**64 - 1, 0], np.uint64),
    ("3xi4", "[-8, 7, 0]", [-8, 7, 0], ml_dtypes.int4),
    ("2xui4", "[15, 1]", [15, 1], ml_dtypes.uint4),
    ("0x3xf32", "", np.zeros((0, 3)), np.float32),
    ("i32", "-7", -7, np.int32),
]


@pytest.mark.parametrize(("type", "text", "wanted", "dtype"), CONSTANTS)
def test_constants(type: str, text: str, wanted: Any, dtype: Any) -> None:
    dense = f"tensor<{type}>"
    graph = _hub(_main(dense, f"%c = stablehlo.constant dense<{text}> : {dense}\nfunc.return %c : {dense}"))
    (found,) = run(graph, {}).values()
    expected = np.array(wanted, dtype)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)
    if expected.dtype.kind == "V":  # of ml_dtypes
        assert found.tobytes() == expected.tobytes()
    if expected.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("text", ["(1.0, -2.0)", "[(0.5, 3.0), (0x7F800000, 0.0), (1.0, 1.0)]"])
def test_complex_constants(text: str) -> None:
    type = "tensor<3xcomplex<f32>>"
    body = f"%c = stablehlo.constant dense<{text}> : {type}\n%r = stablehlo.real %c : ({type}) -> tensor<3xf32>"
    (found,) = run(_hub(_main("tensor<3xf32>", f"{body}\nfunc.return %r : tensor<3xf32>")), {}).values()
    assert found.tolist() == ([1.0] * 3 if text[0] == "(" else [0.5, np.inf, 1.0])


CAPTURES = _main(
    "tensor<i32>, tensor<f32>, tensor<f32>",
    """
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %half = stablehlo.multiply %x, %x : tensor<f32>
  %w:2 = stablehlo.while(%i = %zero, %s = %x) : tensor<i32>, tensor<f32>
    cond {
      %c = stablehlo.compare LT, %i, %four : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %j = stablehlo.add %i, %one : tensor<i32>
      %inner = "stablehlo.case"(%i) ({
        %t = stablehlo.add %s, %half : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }, {
        %t = stablehlo.subtract %y, %s : tensor<f32>
        stablehlo.return %t : tensor<f32>
      }, {
        stablehlo.return %half : tensor<f32>
      }) : (tensor<i32>) -> tensor<f32>
      stablehlo.return %j, %inner : tensor<i32>, tensor<f32>
    }
  %p = stablehlo.compare GT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %r = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<f32>
  }, {
    %n = stablehlo.negate %w#1 : tensor<f32>
    stablehlo.return %n : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  func.return %w#0, %w#1, %r : tensor<i32>, tensor<f32>, tensor<f32>""",
    "%x: tensor<f32>, %y: tensor<f32>",
)


@pytest.mark.parametrize(("x", "y"), [(3.0, 2.0), (2.0, 3.0), (np.nan, 1.0)])
def test_regions_use_what_is_around_them(x: float, y: float, tmp_path: Path) -> None:
    feeds = {"Arg_0": np.float32(x), "Arg_1": np.float32(y)}
    found = run(_hub(CAPTURES), feeds)
    (tmp_path / "m.mlir").write_bytes(CAPTURES)
    (outcome,) = run_file("xla", tmp_path / "m.mlir", [feeds])
    assert outcome.outputs is not None and list(found) == list(outcome.outputs)
    for one, other in zip(found.values(), outcome.outputs.values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_list_of_none_in_a_window_is_none(tmp_path: Path) -> None:
    """MLIR takes it, and strides of 1."""
    data = _main(
        "tensor<1x1x3xf32>",
        """%y = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0],
            window = {stride = [], pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} :
            (tensor<1x1x4xf32>, tensor<1x1x2xf32>) -> tensor<1x1x3xf32>
        func.return %y : tensor<1x1x3xf32>""",
        "%x: tensor<1x1x4xf32>, %w: tensor<1x1x2xf32>",
    )
    feeds = {"Arg_0": np.float32([[[1, 2, 4, 8]]]), "Arg_1": np.float32([[[1, 10]]])}
    (found,) = run(_hub(data), feeds).values()
    np.testing.assert_array_equal(found, np.float32([[[21, 42, 84]]]))
    (tmp_path / "m.mlir").write_bytes(data)
    (outcome,) = run_file("xla", tmp_path / "m.mlir", [feeds])
    assert outcome.outputs is not None
    np.testing.assert_array_equal(next(iter(outcome.outputs.values())), found)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"module {}", "no function to start with"),
        (b"module @m {", "expected"),
        (b"ML\xefR\x01StableHLO_v1.0.0\0", "missing data for top-level section"),
        (b"\xff\xff\xff\x7fML\xefR", "neither HLO nor StableHLO"),
        (b"module { %0 = stablehlo.constant dense_resource<__elided__> : tensor<4xf32> }", "__elided__"),
        (_main("tensor<f32>", "func.return %x : tensor<f32>", "%x: tensor<i32>"), "expects different type"),
        (_main("tensor<f32>", "%y = stablehlo.nothing %x : tensor<f32>", "%x: tensor<f32>"), "nothing"),
        (
            b"func.func private @f(%x: tensor<f32>) -> tensor<f32> { %y = call @f(%x) : (tensor<f32>) -> tensor<f32>\n"
            b"return %y : tensor<f32> }\nfunc.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
            b"%y = call @f(%x) : (tensor<f32>) -> tensor<f32>\nreturn %y : tensor<f32> }",
            "calls itself",
        ),
    ],
)
def test_files_that_are_none(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidModel, match=reason) as caught:
        from_bytes(data)
    assert str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            _main(
                "tensor<f32>",
                "%y = stablehlo.uniform_dequantize %x : (tensor<!quant.uniform<i8:f32, 0.5>>) -> tensor<f32>\n"
                "func.return %y : tensor<f32>",
                "%x: tensor<!quant.uniform<i8:f32, 0.5>>",
            ),
            "quant",
        ),
        (_main("tensor<?xf32>", "func.return %x : tensor<?xf32>", "%x: tensor<?xf32>, %t: !stablehlo.token"), "token"),
        (
            _main(
                "tensor<?xf32>",
                "%y = stablehlo.dynamic_broadcast_in_dim %x, %n, dims = [] : (tensor<f32>, tensor<1xi32>) -> "
                "tensor<?xf32>\nfunc.return %y : tensor<?xf32>",
                "%x: tensor<f32>, %n: tensor<1xi32>",
            ),
            "a size of its result isn't a function of the inputs' sizes",
        ),
        (
            _main(
                "tensor<?xf32>",
                "%n = stablehlo.get_dimension_size %z, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n"
                "%m = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>\n"
                "%y = stablehlo.dynamic_broadcast_in_dim %x, %m, dims = [0] : (tensor<?xf32>, tensor<1xi32>) -> "
                "tensor<?xf32>\nfunc.return %y : tensor<?xf32>",
                "%x: tensor<?xf32>, %z: tensor<?xf32>",
            ),
            "that the sizes Arg_0_0 and Arg_1_0 are equal isn't certain",
        ),
    ],
)
def test_refused(data: bytes, reason: str) -> None:
    with pytest.raises(BackedgeError, match=reason) as caught:
        from_bytes(data)
    assert isinstance(caught.value, Unsupported | InvalidModel) and "\n" not in str(caught.value)


def test_names() -> None:
    """Arguments and results by their places in JAX's trees."""
    inputs = ["params['dense'].kernel", "params['dense'].bias", "xs[0]", "xs[1]", "", "x"]
    results = ["result['loss']", "result['aux']['x']", "result[0]", "result.x"]
    found = interface_names(inputs, results, {})
    assert found[0] == ["params.dense.kernel", "params.dense.bias", "xs.0", "xs.1", "Arg_4", "x"]
    assert found[1] == ["loss", "aux.x", "output_2", "x_out"]
    assert interface_names(["a", "a"], ["result"], {}) == (["a.0", "a.1"], ["output"])
    stated = {"backedge_inputs": '["p q", "r"]', "backedge_outputs": '["s"]'}
    assert interface_names(["a", "b"], ["result"], stated) == (["p q", "r"], ["s"])
    assert interface_names(["a"], ["result"], stated)[0] == ["a"]


def _open(body: str, arguments: str, result: str) -> Graph:
    return from_bytes(_main(result, f"{body}\nfunc.return %y : {result}", arguments))


def test_sizes_without_a_name_are_different_ones() -> None:
    """Two inputs' sizes may be compared without being equal: only what is asserted is certain."""
    graph = _open(
        """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %m = stablehlo.get_dimension_size %z, dim = 0 : (tensor<?xf32>) -> tensor<i32>
        %y = stablehlo.compare EQ, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>""",
        "%x: tensor<?xf32>, %z: tensor<?xf32>",
        "tensor<i1>",
    )
    assert [value.tensor.shape for value in graph.inputs] == [("Arg_0_0",), ("Arg_1_0",)]
    for left, right in ((2, 2), (2, 3)):
        feeds = {"Arg_0": np.zeros(left, np.float32), "Arg_1": np.zeros(right, np.float32)}
        assert run(to_hub(graph), feeds)["output"] == (left == right)


def test_a_size_that_is_asserted_to_be_another() -> None:
    graph = from_bytes(
        b"""func.func public @main(%x: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
          %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
          %m = stablehlo.get_dimension_size %z, dim = 0 : (tensor<?xf32>) -> tensor<i32>
          %c = stablehlo.compare EQ, %n, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.custom_call @shape_assertion(%c) {error_message = "no", has_side_effect = true} : (tensor<i1>) -> ()
          %y = call @f(%n, %x, %z) : (tensor<i32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
          return %y : tensor<?xf32>
        }
        func.func private @f(%n: tensor<i32> {jax.global_constant = "b"}, %x: tensor<?xf32>, %z: tensor<?xf32>)
            -> tensor<?xf32> {
          %y = stablehlo.add %x, %z : tensor<?xf32>
          return %y : tensor<?xf32>
        }"""
    )
    assert [value.tensor.shape for value in (*graph.inputs, *graph.outputs)] == [("b",)] * 3


def test_names_that_are_no_texts_are_none(tmp_path: Path) -> None:
    """A module may say anything in attributes that nobody has to read."""
    header = 'module attributes {mhlo.frontend_attributes = {backedge_inputs = 3 : i64, backedge_outputs = "[7]"}} {'
    data = header.encode() + _main(
        "tensor<2xf32> {jax.result_info = 3 : i64}",
        "%r = stablehlo.negate %x : tensor<2xf32>\nreturn %r : tensor<2xf32>",
        "%x: tensor<2xf32>",
    )
    (tmp_path / "m.mlir").write_bytes(data + b"}")
    x = np.array([1, -2], np.float32)
    graph = _hub(data + b"}")
    (given,) = graph.inputs
    assert [value.name for value in graph.outputs] == ["output"]
    (outcome,) = run_file("xla", tmp_path / "m.mlir", [{given.name: x}])
    np.testing.assert_array_equal(outcome.outputs["output"], -x, strict=True)


@pytest.mark.parametrize("size", [2, 3])
def test_a_known_size_that_is_broadcast_is_the_size_of_the_result(size: int, tmp_path: Path) -> None:
    """What adds two numbers to as many channels is for two alone: XLA refuses others, as does what is read."""
    body = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
        %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
        %t = stablehlo.constant dense<3> : tensor<1xi32>
        %s = stablehlo.concatenate %r, %t, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
        %b = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [0] : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x3xf32>
        %y = stablehlo.add %x, %b : tensor<?x3xf32>"""
    graph = _open(body, "%x: tensor<?x3xf32>", "tensor<?x3xf32>")
    path, x = tmp_path / "m.mlir", np.arange(3 * size, dtype=np.float32).reshape(size, 3)
    path.write_bytes(_main("tensor<?x3xf32>", f"{body}\nfunc.return %y : tensor<?x3xf32>", "%x: tensor<?x3xf32>"))
    (outcome,) = run_file("xla", path, [{"Arg_0": x}])
    if size != 2:
        assert outcome.outputs is None
        with pytest.raises(BackedgeError, match="broadcast"):
            run(to_hub(graph), {"Arg_0": x})
        return
    assert outcome.outputs is not None, outcome.error
    for found in (outcome.outputs["output"], run(to_hub(graph), {"Arg_0": x})["output"]):
        np.testing.assert_array_equal(found, x + np.float32([[1], [2]]))
