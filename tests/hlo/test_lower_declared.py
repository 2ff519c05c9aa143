"""Operands of sizes, axes and positions that are inputs of the model: the declared types of results say the rest.

Expected values are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.stablehlo import to_bytes
from backedge.convert.hlo.write import to_text
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import NOTES, Graph
from backedge.runtime.oracles import run_file
from onnx import parser

from .lowered import Xla

pytest.importorskip("jaxlib")

Arrays = dict[str, np.ndarray[Any, Any]]


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    runner = Xla()
    yield runner
    runner.close()


def _model(text: str, opset: int = 26) -> onnx.ModelProto:
    return parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{text}')


def _hub(text: str) -> Graph:
    return raise_graph(read_model(_model(text)))


def _floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def _i64(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


def _check(found: list[np.ndarray[Any, Any]], wanted: list[np.ndarray[Any, Any]]) -> None:
    assert len(found) == len(wanted)
    for place, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6, err_msg=str(place))


def _check_sizes(
    text: str, batches: list[Arrays], formula: Callable[..., list[np.ndarray[Any, Any]]], folder: Path
) -> list[str]:
    """XLA has what the formula has, at every size; the notes for the report."""
    lowered = lower_graph(_hub(text), open_sizes=True)
    (folder / "m.mlir").write_bytes(to_bytes(lowered))
    for feeds, outcome in zip(batches, run_file("xla", folder / "m.mlir", batches), strict=True):
        assert outcome.outputs is not None, outcome.error
        _check([np.asarray(value) for value in outcome.outputs.values()], formula(**feeds))
    return lowered.meta[NOTES]


def test_sizes(tmp_path: Path) -> None:
    text = """sizes (float[b, 6] x, int64[3] shape, int64[2] wide, int64[1] k, int64[2] repeats, int64[2] parts,
        int64[1] at, float[1, b, 1, 3] image, float[4] scales, int64[3] copied, int64[1] cropped)
        => (float[b, 2, 3] parted, float[3, n] thirds, float[4, b, 6] copies, float[b, 2] top, int64[b, 2] places,
            float[b, 12] twice, float[b, 2] left, float[b, 4] right, float[1, b, 6] before, float[1, b, 2, 6] larger,
            float[1, b, 3] cut) {
      parted = Reshape (x, shape)
      thirds = Reshape (x, wide)
      copies = Expand (x, copied)
      top, places = TopK (x, k)
      twice = Tile (x, repeats)
      left, right = Split <axis = 1> (x, parts)
      before = Unsqueeze (x, at)
      larger = Resize <mode = "nearest"> (image, , scales)
      cut = CenterCropPad <axes = [2]> (before, cropped)
    }"""

    def formula(x: Any, image: Any, **_: Any) -> list[Any]:
        order = np.argsort(-x, 1, kind="stable")[:, :2]
        return [
            x.reshape(-1, 2, 3),
            x.reshape(3, -1),
            np.broadcast_to(x, (4, *x.shape)),
            np.take_along_axis(x, order, 1),
            order,
            np.tile(x, (1, 2)),
            x[:, :2],
            x[:, 2:],
            x[None],
            image.repeat(2, 2).repeat(2, 3),
            x[None, :, 1:4],
        ]

    batches = [
        {
            "x": _floats(size, 6),
            "shape": _i64(size, 2, 3),
            "wide": _i64(3, -1),
            "k": _i64(2),
            "repeats": _i64(1, 2),
            "parts": _i64(2, 4),
            "at": _i64(at),
            "image": _floats(1, size, 1, 3),
            "scales": np.array([1, 1, 2, 2], np.float32),
            "copied": _i64(4, 1, 1),
            "cropped": _i64(3),
        }
        for size, at in ((1, 0), (2, -3), (5, 0))
    ]
    notes = _check_sizes(text, batches, formula, tmp_path)
    told = "shape, wide, copied, k, repeats, parts, at, cropped"
    assert f"what only a run would tell of these is taken from the declared types of results: {told}" in notes


@pytest.mark.parametrize("how", ['mode = "nearest"', 'mode = "linear"', 'mode = "cubic", antialias = 1'])
def test_scales(how: str, tmp_path: Path) -> None:
    """An axis that keeps its size may have any scale that leaves it so. Expected values are ONNX Runtime's."""
    text = f"f (float[b, 1, 4, 4] x, float[4] s) => (float[b, 1, 2, 6] y) {{ y = Resize <{how}> (x, , s) }}"
    session = onnxruntime.InferenceSession(_model(text, 21).SerializeToString())
    batches = [{"x": _floats(size, 1, 4, 4), "s": np.array([1, 1, 0.6, 1.5], np.float32)} for size in (1, 3)]
    _check_sizes(text, batches, lambda **feeds: session.run(None, feeds), tmp_path)


def test_axes(tmp_path: Path) -> None:
    """Those of a reduction, and of what goes along an axis that stays as it is."""
    text = """axes (float[b, 2, 1, 3] x, int64[n] axes, int64[1] last, int64 along, int64[0] none)
        => (float[b, 1, 1, 3] sums, float[b, 1, 1, 3] norms, float[b, 2, 1] least, float means,
            float[b, 2, 1, 3] running, float[b, 2, 1, 3] products) {
      sums = ReduceSum (x, axes)
      norms = ReduceL2 (x, axes)
      least = ReduceMin <keepdims = 0> (x, last)
      means = ReduceMean <keepdims = 0> (x, none)
      running = CumSum <reverse = 1> (x, along)
      products = CumProd <exclusive = 1> (x, along)
    }"""

    def formula(x: Any, axes: Any, last: Any, along: Any, **_: Any) -> list[Any]:
        axes, along = tuple(axes), int(along) % 4
        before = np.roll(x, 1, along)
        before[(slice(None),) * along + (0,)] = 1
        return [
            x.sum(axes, keepdims=True),
            np.sqrt((x * x).sum(axes, keepdims=True)),
            x.min(int(last[0])),
            x.mean(dtype=np.float32),
            np.flip(np.flip(x, along).cumsum(along), along),
            before.cumprod(along),
        ]

    batches = [
        {
            "x": _floats(size, 2, 1, 3),
            "axes": axes,
            "last": last,
            "along": np.int64(along),
            "none": _i64(),
        }
        for size, axes, last, along in (
            (1, _i64(1), _i64(3), 0),
            (2, _i64(-3, 2), _i64(-1), 1),
            (3, _i64(1), _i64(3), 2),
            (4, _i64(2, 1), _i64(-1), -1),
        )
    ]
    _check_sizes(text, batches, formula, tmp_path)


def _padded(x: Any, pads: Any, mode: str) -> Any:
    """Cut first, then filled up."""
    low, high = (int(pads[at]) for at in (1, 3))
    x = x[:, max(-low, 0) : x.shape[1] - max(-high, 0)]
    return np.pad(x, ((0, 0), (max(low, 0), max(high, 0))), mode=mode)  # type: ignore[call-overload]


def test_positions(tmp_path: Path) -> None:
    """Of slices by steps of both signs, from the end, beyond it; of pads that take away, too."""
    text = """positions (float[b, 4] x, int64[1] start, int64[1] end, int64[1] axis, int64[1] step, int64[2] starts,
        int64[2] ends, int64[4] pads, float c, float first, float stop, float by, int64[1] inner, int64[2] few)
        => (float[b, 2] stepped, float[b, 3] moved, float[b, 7] filled, float[b, 7] edges, float[b, 7] mirrored,
            float[b, 7] round, float[3] counted, float[b, 7] short) {
      stepped = Slice (x, start, end, axis, step)
      moved = Slice (x, starts, ends)
      filled = Pad (x, pads, c)
      edges = Pad <mode = "edge"> (x, pads)
      mirrored = Pad <mode = "reflect"> (x, pads)
      round = Pad <mode = "wrap"> (x, pads)
      counted = Range (first, stop, by)
      short = Pad (x, few, c, inner)
    }"""

    def formula(x: Any, start: Any, end: Any, step: Any, starts: Any, pads: Any, c: Any, first: Any, by: Any, **_: Any):
        filled = _padded(x - c, pads, "constant") + c
        return [
            x[:, start[0] : end[0] : step[0]],
            x[:, starts[1] :][:, :3],
            filled,
            *(_padded(x, pads, mode) for mode in ("edge", "reflect", "wrap")),
            first + by * np.arange(3, dtype=np.float32),
            filled,
        ]

    batches = [
        {
            "x": _floats(size, 4),
            "start": _i64(start),
            "end": _i64(end),
            "axis": _i64(axis),
            "step": _i64(step),
            "starts": _i64(0, first),
            "ends": _i64(99, first + 3 if first + 3 else 99),
            "pads": _i64(0, low, 0, high),
            "few": _i64(low, high),
            "inner": _i64(axis),
            "c": np.float32(0.5),
            "first": np.float32(low),
            "stop": np.float32(low + 1.2),
            "by": np.float32(0.5),
        }
        for size, start, end, axis, step, first, low, high in (
            (1, 0, 4, 1, 2, 0, 0, 3),
            (2, 9, -9, -1, -2, 1, 3, 0),
            (3, -3, -1, 1, 1, -3, 5, -2),
            (5, -2, 9, -1, 1, 1, -1, 4),
        )
    ]
    _check_sizes(text, batches, formula, tmp_path)


def test_known_sizes(xla: Xla) -> None:
    """The same in HLO text, which has no open sizes; reductions without their axes, where the sizes leave no others."""
    text = """known (float[2, 3, 4] x, int64[2] shape, int64[1] axes, int64[1] k, int64[1] start, int64[1] end)
        => (float[4, 6] y, float[2, 4] sums, float[2, 3, 1] top, float[2, 3, 2] part) {
      y = Reshape (x, shape)
      sums = ReduceSum <keepdims = 0> (x, axes)
      top, places = TopK (x, k)
      last = Constant <value = int64[1] {2}> ()
      part = Slice (x, start, end, last)
    }"""
    x = _floats(2, 3, 4)
    feeds = {"x": x, "shape": _i64(4, 6), "axes": _i64(-2), "k": _i64(1), "start": _i64(1), "end": _i64(3)}
    (found,) = xla.run(to_text(lower_graph(_hub(text))), feeds)
    _check(found, [x.reshape(4, 6), x.sum(1), x.max(2, keepdims=True), x[:, :, 1:3]])


def test_reshapes_without_elements(xla: Xla, tmp_path: Path) -> None:
    """A size of 0 that a run's -1 tells: ONNX Runtime has it, too."""
    text = """none (float[3, 3, 0] x, int64[1] one, int64[2] two, int64[2] three, int64[3] four)
        => (float[?] a, float[?, 5] b, float[0, 5] c, float[3, 3, 0] d, float[7, 0] e) {
      a = Reshape (x, one)
      b = Reshape (x, two)
      c = Reshape (x, two)
      d = Reshape (x, four)
      e = Reshape <allowzero = 1> (x, three)
    }"""
    feeds = {"x": _floats(3, 3, 0), "one": _i64(-1), "two": _i64(-1, 5), "three": _i64(7, 0), "four": _i64(0, 3, 0)}
    onnx.save(_model(text), tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    wanted = [np.asarray(one) for one in session.run(None, feeds)]
    assert [one.shape for one in wanted] == [(0,), (0, 5), (0, 5), (3, 3, 0), (7, 0)]
    (found,) = xla.run(to_text(lower_graph(_hub(text))), feeds)
    _check(found, wanted)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(  # of no elements a size may be any
            (
                f"f (float[3, 0] x, int64[2] s) => (float[n, 0] y) {{ y = Reshape <allowzero = {allowed}> (x, s) }}",
                "Reshape.*its sizes must be known",
            )
            for allowed in (0, 1)
        ),
        ("f (float[b, 4] x, int64[2] s) => (float[b, 2] y) { y = Reshape (x, s) }", "Reshape.*its sizes must be known"),
        ("f (float[b, 4] x, int64[2] s) => (float[n, m] y) { y = Reshape (x, s) }", "Reshape.*its sizes must be known"),
        ("f (float[b, 4] x, int64[1] s) => (float[5] y) { y = Reshape (x, s) }", "Reshape.*its sizes must be known"),
        (
            "f (float[b, 2] x, int64[1] a) => (float[b] y) { y = ReduceSum <keepdims = 0> (x, a) }",
            "ReduceSum.*its axes must be known",  # of b = 2 either may be gone
        ),
        (
            "f (float[3, 3] x, int64[1] a) => (float[3] y) { y = ReduceMax <keepdims = 0> (x, a) }",
            "ReduceMax.*its axes must be known",
        ),
        ("f (float[b, 2] x, int64[1] a) => (float[b, 3] y) { y = ReduceSum (x, a) }", "ReduceSum.*its axes must be"),
        (  # of no axes it would be x, not |x|
            "f (float[1, 3] x, int64[n] a) => (float[1, 3] y) { y = ReduceL1 <noop_with_empty_axes = 1> (x, a) }",
            "ReduceL1.*its axes must be known",
        ),
        ("f (float[b, 2] x, int64[2] r) => (float[b, 3] y) { y = Tile (x, r) }", "Tile.*its sizes must be known"),
        (
            "f (float[b, 4] x, int64[2] s) => (float[b, 4] y, float[b, 1] z) { y, z = Split <axis = 1> (x, s) }",
            "Split.*known only when the model runs",
        ),
        (
            "f (float[b, 4] x, int64[1] s, int64[1] e) => (float[b, 5] y) {\n"
            "a = Constant <value = int64[1] {1}> () y = Slice (x, s, e, a) }",
            r"Slice.*a slice of \['b', 4\] would be \['b', 5\]",
        ),
        (
            "f (float[b, 4] x, int64[1] s, int64[1] e) => (float[b, 3] y) {\n"
            "a = Constant <value = int64[1] {0}> () y = Slice (x, s, e, a) }",
            r"Slice.*its result would be \[b, 3\], and \[\?, 4\] of it is certain",
        ),
        (
            "f (float[b, t] x, int64[2] s, bool c) => (float[n, m] y) { y = If (c) <\n"
            "then_branch = t () => (float[b, t] p) { p = Reshape (x, s) }, else_branch = e () => (float[b, t] q) {"
            " q = Neg (x) }> }",
            "Reshape.*its sizes must be known",  # names may mean other sizes in there
        ),
        ("f (float[b] x) => (float[2] y) { y = Exp (x) }", r"'y' would be f32\[b\], not f32\[2\]"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    """What the types leave open, and what they contradict."""
    with pytest.raises(Unsupported, match=reason):
        lower_graph(_hub(text), open_sizes=True)


def test_what_is_known_of_an_operand_and_declared_otherwise() -> None:
    text = """f (float[b, 4] x, int64[1] n) => (float[2, y, 1] z) {
      s = Shape (x) two = Constant <value = int64[1] {3}> () w = Concat <axis = 0> (two, n, n) z = Reshape (x, w) }"""
    with pytest.raises(Unsupported, match="its sizes must be known"):
        lower_graph(_hub(text), open_sizes=True)


def test_a_declared_size_that_small_inputs_contradict(tmp_path: Path) -> None:
    """XLA refuses these."""
    text = """f (float[b, 2] x) => (float[3, 2] y) {
      s = Constant <value = int64[1] {0}> () e = Constant <value = int64[1] {3}> () y = Slice (x, s, e) }"""
    (tmp_path / "m.mlir").write_bytes(to_bytes(lower_graph(_hub(text), open_sizes=True)))
    batches = [{"x": _floats(size, 2)} for size in (3, 5, 2)]
    found = run_file("xla", tmp_path / "m.mlir", batches)
    for feeds, outcome in zip(batches[:2], found, strict=False):
        assert outcome.outputs is not None, outcome.error
        np.testing.assert_array_equal(outcome.outputs["y"], feeds["x"][:3])
    assert found[2].outputs is None and "refinement failed" in found[2].error


def test_stacks_of_loops_that_may_end_early(tmp_path: Path) -> None:
    """Of a bounded size, beside open ones."""
    text = """g (float[b] x, float limit) => (float[b] y, float[n, b] all) {
      m = Constant <value = int64 {5}> ()
      go = Constant <value = bool {1}> ()
      y, all = Loop (m, go, x) <body = step (int64 i, bool c, float[b] a) => (bool more, float[b] next, float[b] part) {
        next = Add (a, a)
        most = ReduceMax <keepdims = 0> (next)
        more = Less (most, limit)
        part = Identity (next)
      }> }"""

    def formula(x: Any, limit: Any) -> list[Any]:
        rows: list[Any] = []
        while len(rows) < 5 and (not rows or rows[-1].max() < limit):
            rows.append((rows[-1] if rows else x) * 2)
        return [rows[-1], np.array(rows)]

    batches = [
        {"x": np.linspace(1, 2, size, dtype=np.float32), "limit": np.float32(limit)}
        for size, limit in ((1, 3.0), (2, 0.0), (3, 1e9))
    ]
    assert [len(formula(**feeds)[1]) for feeds in batches] == [2, 1, 5]
    _check_sizes(text, batches, formula, tmp_path)
    text = text.replace("m = Constant <value = int64 {5}> ()", "s = Shape (x) k = Squeeze (s) m = Identity (k)")
    with pytest.raises(Unsupported, match=r"how much of f32\[b,b\] it stacks in .* is known only when the model runs"):
        lower_graph(_hub(text), open_sizes=True)
