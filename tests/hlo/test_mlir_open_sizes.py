"""ONNX models with open sizes as StableHLO: XLA and what is read of the file have the right numbers at every size."""

from __future__ import annotations

import importlib.util
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert import convert, load
from backedge.convert.files import to_hub
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.stablehlo import from_bytes, to_bytes
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from onnx import parser, save

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib isn't installed")

Arrays = dict[str, np.ndarray[Any, Any]]


def _model(text: str) -> Any:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')


def _check(text: str, batches: list[Arrays], formula: Callable[..., Arrays], tmp_path: Path) -> str:
    """XLA and our executor, for what was written and read again, have what the formula has; the text."""
    lowered = lower_graph(raise_graph(read_model(_model(text))), open_sizes=True)
    data = to_bytes(lowered)
    back = from_bytes(data)
    assert [value.type for value in back.inputs] == [value.type for value in lowered.inputs]
    assert [value.type for value in back.outputs] == [value.type for value in lowered.outputs]
    hub = to_hub(back)
    (tmp_path / "m.mlir").write_bytes(data)
    for feeds, outcome in zip(batches, run_file("xla", tmp_path / "m.mlir", batches), strict=True):
        assert outcome.outputs is not None, outcome.error
        for name, wanted in formula(**feeds).items():
            for found in (outcome.outputs[name], run(hub, feeds)[name]):
                assert np.asarray(found).dtype == wanted.dtype and np.shape(found) == wanted.shape, name
                np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-5, atol=1e-6, err_msg=name)
    return data.decode()


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


SHAPES = """shapes (float[b, 4] x, float[4, 3] w) => (float[b, 3] p, float[n] flat, float[n] sums, float[m, 4] tail,
    float[b, 4] turned, float[k, 4] every, int64[b] count, float[b, 2, 2] parts, float[q, 4] twice, float mean,
    int64[2] sizes, float[r, 4] padded, float[e, 4] edges, float[1, 4] last, float[4, b] crossed, float[b, b] table) {
  p = MatMul (x, w)
  minus = Constant <value = int64[1] {-1}> ()
  flat = Reshape (x, minus)
  zero = Constant <value = int64 {0}> ()
  zeros = Constant <value = int64[1] {0}> ()
  one = Constant <value = int64 {1}> ()
  ones = Constant <value = int64[1] {1}> ()
  two = Constant <value = int64[1] {2}> ()
  top = Constant <value = int64[1] {9223372036854775807}> ()
  bottom = Constant <value = int64[1] {-9223372036854775807}> ()
  sums = CumSum (flat, zero)
  tail = Slice (x, two, top, zeros)
  turned = Slice (x, minus, bottom, zeros, minus)
  every = Slice (x, zeros, top, zeros, two)
  sizes = Shape (x)
  rows = Gather (sizes, zero)
  count = Range (zero, rows, one)
  row = Unsqueeze (rows, zeros)
  square = Concat <axis = 0> (row, two, two)
  parts = Reshape (x, square)
  twice = Concat <axis = 0> (x, x)
  mean = ReduceMean <keepdims = 0> (x)
  pads = Constant <value = int64[4] {1, 0, 2, 0}> ()
  padded = Pad (x, pads)
  edges = Pad <mode = "edge"> (x, pads)
  last = Slice (x, minus, top, zeros)
  crossed = Transpose <perm = [1, 0]> (x)
  table = MatMul (x, crossed)
}"""


def _shapes(x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> Arrays:
    return {
        "p": x @ w,
        "flat": x.reshape(-1),
        "sums": np.cumsum(x.reshape(-1)),
        "tail": x[2:],
        "turned": x[::-1],
        "every": x[::2],
        "count": np.arange(len(x)),
        "parts": x.reshape(-1, 2, 2),
        "twice": np.concatenate([x, x]),
        "mean": x.mean(dtype=np.float32),
        "sizes": np.array(x.shape),
        "padded": np.pad(x, ((1, 2), (0, 0))),
        "edges": np.pad(x, ((1, 2), (0, 0)), mode="edge"),
        "last": x[-1:],
        "crossed": x.T,
        "table": x @ x.T,
    }


def test_shapes(tmp_path: Path) -> None:
    batches = [{"x": _floats(size, 4), "w": _floats(4, 3)} for size in (1, 2, 5)]
    text = _check(SHAPES, batches, _shapes, tmp_path)
    assert "mhlo." not in text and 'jax.global_constant = "b"' in text


def test_slices_backwards(tmp_path: Path) -> None:
    """Many that take nothing, or begin and end beyond the axis."""
    places = [0, 2, -1, -3, 7, -7, -(2**63)]
    slices = list(itertools.product(places, places, (-1, -2, -3)))
    constants = [
        f"int64[1] {name}{at} = {{{number}}}"
        for at, bounds in enumerate(slices)
        for name, number in zip(("s", "e", "t"), bounds, strict=True)
    ]
    lines = [f"y{at} = Slice (x, s{at}, e{at}, axes, t{at})" for at in range(len(slices))]
    results = ", ".join(f"float[k{at}, 2] y{at}" for at in range(len(slices)))
    text = f"g (float[n, 2] x) => ({results}) <int64[1] axes = {{0}}, {', '.join(constants)}> {{ {' '.join(lines)} }}"
    session = onnxruntime.InferenceSession(_model(text).SerializeToString())
    names = [value.name for value in session.get_outputs()]
    batches = [{"x": _floats(size, 2)} for size in (1, 2, 3, 8)]
    _check(text, batches, lambda **feeds: dict(zip(names, session.run(None, feeds), strict=True)), tmp_path)


LOOPS = """loops (float[t, b] xs, float[b] start, bool which) => (float[b] last, float[t, b] all, float[b] filled,
    float[b] chosen) {
  last, all = Scan <num_scan_inputs = 1, body = step (float[b] h, float[b] x) => (float[b] next, float[b] out) {
    sum = Add (h, x)
    next = Tanh (sum)
    out = Identity (next)
  }> (start, xs)
  sizes = Shape (xs)
  zero = Constant <value = int64 {0}> ()
  times = Gather (sizes, zero)
  true = Constant <value = bool {1}> ()
  filled = Loop <body = pass (int64 i, bool go, float[b] y) => (bool again, float[b] z) {
    again = Identity (go)
    more = Cast <to = 1> (i)
    z = Add (y, more)
  }> (times, true, start)
  chosen = If <then_branch = yes () => (float[b] u) { u = Neg (start) },
    else_branch = no () => (float[b] v) { v = ReduceSum <keepdims = 0> (xs, axes) }> (which)
}""".replace("sizes = Shape (xs)", "axes = Constant <value = int64[1] {0}> ()\n  sizes = Shape (xs)")


def _loops(xs: np.ndarray[Any, Any], start: np.ndarray[Any, Any], which: np.ndarray[Any, Any]) -> Arrays:
    h, rows = start, []
    for x in xs:
        h = np.tanh(h + x)
        rows.append(h)
    filled = start + np.float32(sum(range(len(xs))))
    return {"last": h, "all": np.array(rows), "filled": filled, "chosen": -start if which else xs.sum(0)}


def test_loops(tmp_path: Path) -> None:
    batches = [
        {"xs": _floats(*size), "start": _floats(size[1]), "which": np.bool_(which)}
        for size, which in (((3, 2), True), ((1, 1), False), ((4, 5), False))
    ]
    text = _check(LOOPS, batches, _loops, tmp_path)
    assert text.count("stablehlo.while") == 2


def test_a_loop_that_never_runs(tmp_path: Path) -> None:
    """What it stacks has the sizes that its parts would have."""
    text = """never (float[b] x) => (float[b] y, float[n, m] all) {
  c = Constant <value = bool {0}> ()
  y, all = Loop <body = pass (int64 i, bool go, float[b] a) => (bool again, float[b] next, float[k] part) {
    again = Identity (go)
    next = Add (a, a)
    part = Concat <axis = 0> (a, a)
  }> (, c, x)
}"""
    batches = [{"x": _floats(size)} for size in (1, 3)]
    _check(text, batches, lambda x: {"y": x, "all": np.zeros((0, 2 * len(x)), np.float32)}, tmp_path)


def test_counts_of_nothing_beside_an_open_size(tmp_path: Path) -> None:
    """Hardmax counts along an axis to find the first of the largest."""
    text = "nothing (float[b, 0, 2] x) => (float[b, 0, 2] y) { y = Hardmax (x) }"
    batches = [{"x": _floats(size, 0, 2)} for size in (1, 3)]
    _check(text, batches, lambda x: {"y": np.zeros((len(x), 0, 2), np.float32)}, tmp_path)


@pytest.mark.parametrize("bounds", ["low, high", "low", ", high"])
def test_what_a_loop_that_ends_early_stacks_is_clipped(tmp_path: Path, bounds: str) -> None:
    """Its size is known when the program runs only: there is nothing that a bound could be spread to."""
    text = f"""early (float[2] x, bool go) => (float[n, 2] y)
    <int64 three = {{3}}, int64 one = {{1}}, float low = {{-1}}, float high = {{2}}> {{
  last, all = Loop <body = pass (int64 i, bool old, float[2] a) => (bool again, float[2] next, float[2] part) {{
    again = Less (i, one)
    next = Add (a, a)
    part = Identity (a)
  }}> (three, go, x)
  y = Clip (all, {bounds})
}}"""
    x = np.float32([1.5, -0.75])
    limits = {"low, high": (-1, 2), "low": (-1, None), ", high": (None, 2)}[bounds]
    batches = [{"x": x, "go": np.bool_(go)} for go in (True, False)]
    _check(text, batches, lambda x, go: {"y": np.clip(np.stack([x, x + x])[: 2 * bool(go)], *limits)}, tmp_path)


PADS = """pads (float[b] x, float[b, c] y) => (float[2] two, float[3] three, float[4, c] four, float[m] moved,
    float[m] back, float[k] cut) {
  size2 = Constant <value = int64[1] {2}> ()
  size3 = Constant <value = int64[1] {3}> ()
  size4 = Constant <value = int64[1] {4}> ()
  two = CenterCropPad <axes = [0]> (x, size2)
  three = CenterCropPad <axes = [0]> (x, size3)
  four = CenterCropPad <axes = [0]> (y, size4)
  one = Constant <value = float {1}> ()
  behind = Constant <value = int64[2] {-3, 7}> ()
  before = Constant <value = int64[2] {7, -3}> ()
  wide = Constant <value = int64[2] {3, -2}> ()
  moved = Pad (x, behind, one)
  back = Pad (x, before, one)
  cut = Pad (x, wide, one)
}"""


def _centred(x: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    before, cut = max(size - len(x), 0) // 2, max(len(x) - size, 0) // 2
    made = np.zeros((size, *x.shape[1:]), x.dtype)
    kept = x[cut : cut + size]
    made[before : before + len(kept)] = kept
    return made


def _pads(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> Arrays:
    centred = {"two": _centred(x, 2), "three": _centred(x, 3), "four": _centred(y, 4)}
    ends = {"moved": (0, 7, 3, 0), "back": (7, 0, 0, 3), "cut": (3, 0, 0, 2)}
    for name, (before, behind, first, last) in ends.items():
        wide = np.pad(x, (before, behind), constant_values=1)
        centred[name] = wide[first : len(wide) - last]
    return centred


def test_pads_of_open_sizes(tmp_path: Path) -> None:
    """How much is padded or cut off, and whether anything is left of the operand, depends on the size."""
    _check(PADS, [{"x": _floats(b), "y": _floats(b, 2)} for b in (1, 2, 3, 4, 5, 8)], _pads, tmp_path)


def test_a_size_that_other_operands_tell(tmp_path: Path) -> None:
    """A bias has as many elements as there are channels."""
    text = "f (float[2, 3, 4] x, float[3, 3, 1] w, float[c] v) => (float[2, 3, 4] y, float[2, 3, 4] z) {\n"
    text += "y = Conv (x, w, v)\nz = ConvTranspose (x, w, v) }"
    batch = {"x": _floats(2, 3, 4), "w": _floats(3, 3, 1), "v": _floats(3)}

    def convolved(x: Any, w: Any, v: Any) -> Arrays:
        one, other = (np.einsum(f"{labels},ncl->nol", w[..., 0], x) for labels in ("oc", "co"))
        return {"y": one + v[:, None], "z": other + v[:, None]}

    _check(text, [batch], convolved, tmp_path)


def test_a_kernel_of_open_size(tmp_path: Path) -> None:
    """Read again it is as large as its weights are."""
    text = 'f (float[2, 3, 6] x, float[3, 3, k] w) => (float[2, 3, 6] y) { y = Conv <auto_pad = "SAME_UPPER"> (x, w) }'

    def convolved(x: Any, w: Any) -> Arrays:
        reach = w.shape[2] - 1
        wide = np.pad(x, ((0, 0), (0, 0), (reach // 2, reach - reach // 2)))
        return {"y": np.einsum("ock,nclk->nol", w, np.lib.stride_tricks.sliding_window_view(wide, reach + 1, 2))}

    _check(text, [{"x": _floats(2, 3, 6), "w": _floats(3, 3, size)} for size in (1, 2, 3, 6)], convolved, tmp_path)


def test_sizes_that_contradict_each_other(tmp_path: Path) -> None:
    """What the model demands of its inputs' sizes is checked when it runs."""
    text = "add (float[b, 2] x, float[b, 2] y) => (float[b, 2] z) { z = Add (x, y) }"
    data = to_bytes(lower_graph(raise_graph(read_model(_model(text))), open_sizes=True))
    (tmp_path / "m.mlir").write_bytes(data)
    shapes = [(2, 2), (3, 3), (1, 2), (0, 0)]
    batches = [{"x": _floats(left, 2), "y": _floats(right, 2)} for left, right in shapes]
    found = run_file("xla", tmp_path / "m.mlir", batches)
    assert [outcome.outputs is not None for outcome in found] == [True, True, False, False]
    assert "refinement failed" in found[2].error and "the size b is 0, and has to be at least 1" in found[3].error


def test_a_size_of_0_is_told_before_what_follows_of_it(tmp_path: Path) -> None:
    """XLA would say first that a window is of no elements."""
    text = "f (float[b, 2] x, int64 axis) => (float[b, 2] y) { y = CumSum <exclusive = 1> (x, axis) }"
    data = to_bytes(lower_graph(raise_graph(read_model(_model(text))), open_sizes=True))
    (tmp_path / "m.mlir").write_bytes(data)
    found = run_file("xla", tmp_path / "m.mlir", [{"x": _floats(b, 2), "axis": np.int64(0)} for b in (0, 2)])
    assert found[0].outputs is None and "the size b is 0, and has to be at least 1" in found[0].error
    assert found[1].outputs is not None
    np.testing.assert_array_equal(np.asarray(found[1].outputs["y"]), [[0, 0], _floats(2, 2)[0]])


def test_numbers_that_stablehlo_takes_only_as_such_are_refused() -> None:
    """A transform's length is an attribute, whatever the axis has."""
    text = "f (float[1, b, 1] x) => (float[1, c, 2] y) { axis = Constant <value = int64 {1}> ()\n"
    graph = raise_graph(read_model(_model(text + "y = DFT <onesided = 1> (x, , axis) }")))
    with pytest.raises(Unsupported, match=r"fft_length=.*b.*StableHLO takes numbers only"):
        to_bytes(lower_graph(graph, open_sizes=True))


def test_inputs_without_names_for_their_sizes(tmp_path: Path) -> None:
    text = "f (float[b, 2] x, float[?, ?] y) => (float z, float[2, b] t) { z = ReduceMax <keepdims = 0> (y)\n"
    model = _model(text + "t = Transpose (x) }")
    for dim in model.graph.input[1].type.tensor_type.shape.dim:
        dim.Clear()
    graph = from_bytes(to_bytes(lower_graph(raise_graph(read_model(model)), open_sizes=True)))
    assert [value.tensor.shape for value in graph.inputs] == [("b", 2), ("y_0", "y_1")]
    assert graph.outputs[1].tensor.shape == (2, "b")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "f (float[b] x, float[3] y) => (float[n] z) { z = Add (x, y) }",
            r"Add.*don't broadcast for all sizes: \[b\] and \[3\]",
        ),
        ("f (float[b] x, float[c] y) => (float[n] z) { z = Mul (x, y) }", r"Mul.*\[b\] and \[c\]"),
        ("f (float[b, 2] x) => (int64[2, n] z) { z = NonZero (x) }", "NonZero.*known only when the model runs"),
        (
            "f (float[b, 2] x) => (float[n] z) { z = Squeeze (x) }",
            r"Squeeze.*which of the sizes \['?b'?, 2\] are 1 is known only when the model runs",
        ),
        (
            "f (float[b, 2] x) => (float[n, 2] z) {\n p = Constant <value = int64[4] {1, 0, 1, 0}> ()\n"
            'z = Pad <mode = "reflect"> (x, p) }',
            "Pad.*with mode='reflect' it pads axis 0, whose size b is open",
        ),
        (
            "f (float[1, 1, b] x) => (float[1, 1, b] z) { z = AveragePool <kernel_shape = [1]> (x) }",
            "AveragePool.*how many elements each of b windows has",
        ),
        (
            "f (float[1, 1, b] x, float[1, 1, 3] w) => (float[1, 1, n] z) { z = Conv (x, w) }",
            "Conv.*whether .* is only known when the model runs",
        ),
        (
            'f (float[2, b] x, float[3, 4] w) => (float[2, 4] z) { z = Einsum <equation = "ij,jk->ik"> (x, w) }',
            r"Einsum.*don't broadcast for all sizes: \[2, b\] and \[1, 3\]",  # a size of 1 would be repeated
        ),
    ],
)
def test_refused(text: str, reason: str) -> None:
    """With the node and the size."""
    with pytest.raises(Unsupported, match=reason):
        lower_graph(raise_graph(read_model(_model(text))), open_sizes=True)


def test_files(tmp_path: Path) -> None:
    """By the suffix: HLO text has no open sizes, and says how to give them."""
    save(_model("f (float[b, 2] x) => (float[b, 2] y) { y = Exp (x) }"), tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "m.mlirbc", verify=0)
    assert load(tmp_path / "m.mlirbc").inputs[0].tensor.shape == ("b", 2)
    with pytest.raises(Unsupported, match="--shape"):
        convert(tmp_path / "m.onnx", tmp_path / "m.hlo", verify=0)
    report = convert(tmp_path / "m.mlirbc", tmp_path / "again.mlir", verify=3)
    assert report.verdict in ("proved", "equal") and load(tmp_path / "again.mlir").inputs[0].tensor.shape == ("b", 2)
    convert(tmp_path / "m.mlirbc", tmp_path / "fixed.mlir", shapes={"x": (3, 2)}, verify=0)
    assert load(tmp_path / "fixed.mlir").outputs[0].tensor.shape == (3, 2)


THREADS = """
import os, sys
import numpy as np
from pathlib import Path
from backedge.runtime.oracles import xla_session

session = xla_session.open_session(Path(sys.argv[1]), {})
for size in range(1, 9):
    session.run({"x": np.zeros((size, 4), np.float32)})
    print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system doesn't list a process's threads")
def test_xla_has_the_threads_of_one_client_at_all_sizes(tmp_path: Path) -> None:
    """Each client has its own, so that the process ran out of memory for them after some sizes."""
    text = "(float[b, 4] x) => (float[b, 4] y) { y = Neg (x) }"
    (tmp_path / "m.mlir").write_bytes(
        to_bytes(lower_graph(raise_graph(read_model(_model("g " + text))), open_sizes=True))
    )
    command = [sys.executable, "-c", THREADS, str(tmp_path / "m.mlir")]
    counts = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert len(counts) == 8 and len(set(counts)) == 1


def test_parts_of_a_number_that_does_not_divide_the_size(tmp_path: Path) -> None:
    """The last one is smaller; how much of the axis is left for it is certain to be no negative number."""
    text = """g (float[b, 7] x) => (float[p, 7] y, float[q, 7] z, float[r, 7] w) {
        y, z, w = Split <num_outputs = 3> (x) }"""

    def parts(x: np.ndarray[Any, Any]) -> Arrays:
        size = -(-len(x) // 3)
        return {"y": x[:size], "z": x[size : 2 * size], "w": x[2 * size :]}

    _check(text, [{"x": _floats(size, 7)} for size in (3, 5, 6, 8, 11)], parts, tmp_path)
