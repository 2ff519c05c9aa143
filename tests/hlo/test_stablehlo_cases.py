"""StableHLO programs with the results that they must have, worked out by hand, on our executor and ONNX Runtime."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.convert import load
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.stablehlo import to_hlo
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.runtime import run
from backedge.runtime.oracles import run_file

from .single_op import as_onnx, entry, hub_of

needs_jaxlib = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")

# several operators in one program: each file costs a process of jaxlib's
PROGRAM = """
func.func private @plus_two(%x: tensor<i64>) -> tensor<i64> {
  %two = stablehlo.constant dense<2> : tensor<i64>
  %sum = stablehlo.add %x, %two : tensor<i64>
  func.return %sum : tensor<i64>
}
func.func public @main(%m: tensor<3x2xi64>, %v: tensor<4xi32>, %i: tensor<i32>)
    -> (tensor<2xi64>, tensor<2x2xi64>, tensor<4xi32>, tensor<i32>, tensor<i64>, tensor<4xi32>, tensor<3x2xi64>,
        tensor<3x2xi64>, tensor<2xi64>, tensor<3x8xi4>) {
  %three = stablehlo.constant dense<3> : tensor<i64>
  %reduced = stablehlo.reduce(%m init: %three) applies stablehlo.add across dimensions = [0]
    : (tensor<3x2xi64>, tensor<i64>) -> tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<i64>
  %windows = "stablehlo.reduce_window"(%m, %none) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
  }) {base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 3, 1>, window_dimensions = array<i64: 2, 1>,
      window_strides = array<i64: 2, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}
    : (tensor<3x2xi64>, tensor<i64>) -> tensor<2x2xi64>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %sums:2 = chlo.scan(%v) inits(%zero) dimension=0 attributes {is_reverse = true} {
    ^bb0(%a: tensor<i32>, %b: tensor<i32>):
      %s = stablehlo.add %a, %b : tensor<i32>
      stablehlo.return %s, %s : tensor<i32>, tensor<i32>
  } : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
  %composed = stablehlo.composite "own.plus_two" %three {decomposition = @plus_two} : (tensor<i64>) -> tensor<i64>
  %chosen = "stablehlo.case"(%i) ({
    "stablehlo.return"(%v) : (tensor<4xi32>) -> ()
  }, {
    %n = stablehlo.negate %v : tensor<4xi32>
    "stablehlo.return"(%n) : (tensor<4xi32>) -> ()
  }) : (tensor<i32>) -> tensor<4xi32>
  %five = stablehlo.constant dense<5> : tensor<i64>
  %crossed = stablehlo.clamp %five, %m, %three : (tensor<i64>, tensor<3x2xi64>, tensor<i64>) -> tensor<3x2xi64>
  %source = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi64>
  %scattered = "stablehlo.select_and_scatter"(%m, %source, %three) ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %c = stablehlo.compare GE, %a, %b : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.add %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
  }) {window_dimensions = array<i64: 3, 1>} : (tensor<3x2xi64>, tensor<1x2xi64>, tensor<i64>) -> tensor<3x2xi64>
  %starts = stablehlo.constant dense<[[0], [9]]> : tensor<2x1xi32>
  %gathered = "stablehlo.gather"(%m, %starts) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>} : (tensor<3x2xi64>, tensor<2x1xi32>) -> tensor<2xi64>
  %first = stablehlo.slice %v [0:3] : (tensor<4xi32>) -> tensor<3xi32>
  %nibbles = stablehlo.bitcast_convert %first : (tensor<3xi32>) -> tensor<3x8xi4>
  func.return %reduced, %windows, %sums#0, %sums#1, %composed, %chosen, %crossed, %scattered, %gathered, %nibbles
    : tensor<2xi64>, tensor<2x2xi64>, tensor<4xi32>, tensor<i32>, tensor<i64>, tensor<4xi32>, tensor<3x2xi64>,
      tensor<3x2xi64>, tensor<2xi64>, tensor<3x8xi4>
}
"""
FEEDS: list[Any] = [
    np.array([[1, 2], [3, 4], [5, 6]], np.int64),
    np.array([1, -2, 3, 0x12345678], np.int32),
    np.int32(-7),
]
WANTED: list[Any] = [
    np.array([12, 15], np.int64),
    np.array([[3, 4], [5, 6]], np.int64),  # of the rows 0, 1, 0, 3, 0, 5 the sums 0 + 3 and 0 + 5
    np.array([2, 1, 3, 0], np.int32) + np.int32(0x12345678),
    np.int32(2 + 0x12345678),
    np.int64(5),
    np.array([-1, 2, -3, -0x12345678], np.int32),  # an index out of range takes the last branch
    np.full((3, 2), 3, np.int64),  # where the ends cross, the upper one counts
    np.array([[3, 3], [3, 3], [13, 23]], np.int64),
    np.array([1, 5], np.int64),
    np.array([[1, 0, 0, 0, 0, 0, 0, 0], [-2, -1, -1, -1, -1, -1, -1, -1], [3, 0, 0, 0, 0, 0, 0, 0]]).astype(
        ml_dtypes.int4
    ),
]


def assert_right(results: Any) -> None:
    assert len(results) == len(WANTED)
    for place, (found, wanted) in enumerate(zip(results, WANTED, strict=True)):
        assert found.dtype == wanted.dtype and np.array_equal(found, wanted), place


@needs_jaxlib
def test_many_operators(tmp_path: Path) -> None:
    path = tmp_path / "many.mlir"
    path.write_text(PROGRAM)
    graph = load(path)
    feeds = dict(zip((value.name for value in graph.inputs), FEEDS, strict=True))
    assert_right(list(run(graph, feeds).values()))
    hub = hub_of(graph)
    feeds = dict(zip((value.name for value in hub.inputs), FEEDS, strict=True))
    as_onnx(hub, tmp_path / "many.onnx")
    for name, runtime in (("many.mlir", "xla"), ("many.onnx", "onnxruntime")):
        (outcome,) = run_file(runtime, tmp_path / name, [feeds])
        assert outcome.outputs is not None, outcome
        assert_right(list(outcome.outputs.values()))


@needs_jaxlib
@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("%r = stablehlo.add %a, %a : tensor<?xf32>", "%a: tensor<?xf32>"),
        ("%r = stablehlo.dynamic_iota %a, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>", "%a: tensor<1xi32>"),
        (
            "%r = stablehlo.dynamic_reshape %a, %n : (tensor<1x6xf32>, tensor<1xi32>) -> tensor<?xf32>",
            "%a: tensor<1x6xf32>, %n: tensor<1xi32>",
        ),
    ],
)
def test_sizes_that_inputs_decide_are_one_clear_line(body: str, arguments: str) -> None:
    text = f"func.func public @main({arguments}) -> tensor<?xf32> {{ {body}\n func.return %r : tensor<?xf32> }}"
    with pytest.raises((Unsupported, InvalidModel)) as caught:
        to_hlo(text.encode())
    assert "\n" not in str(caught.value)


def test_bits_of_complex_numbers_as_they_are() -> None:
    text = entry({"x": "c64[2]"}, ["y = c64[2] bitcast-convert(x)"])
    hub, parts = hub_of(from_text(text)), np.array([[1, -0.0], [np.inf, 3]], np.float32)
    (made,) = run(hub, {hub.inputs[0].name: parts}).values()
    assert made.tobytes() == parts.tobytes()
    wider = entry({"x": "c64[2]"}, ["y = c128[] bitcast-convert(x)"])
    with pytest.raises(Unsupported, match="complex bitcast-convert to another type"):
        hub_of(from_text(wider))


@pytest.mark.parametrize("text", ["maximum(x, x)", "minimum(x, x)", "remainder(x, x)", "clamp(x, x, x)"])
def test_complex_numbers_in_order_are_refused(text: str) -> None:
    """XLA reads such programs, and compares the real parts where StableHLO says both count."""
    graph = from_text(entry({"x": "c64[2]"}, [f"y = c64[2] {text}"]))
    with pytest.raises(Unsupported, match=f"complex {text[: text.index('(')]}"):
        hub_of(graph)
