"""Shapes and indices at their limits: empty, negative, out of range, repeated."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.runtime.executor import ExecutionError

from kernels.one import f32, i64, run_op, same


def counted(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def test_reshape_copies_infers_and_allows_zero() -> None:
    assert run_op("Reshape", counted(2, 3, 4), i64(0, -1)).shape == (2, 12)
    assert run_op("Reshape", counted(0, 3), i64(3, 0), allowzero=1).shape == (3, 0)
    assert run_op("Reshape", counted(1), i64([])).shape == ()
    for shape, allow in (([-1, -1], 0), ([5], 0), ([0, -1], 1), ([1, 2, 0], 0)):
        with pytest.raises(ExecutionError):
            run_op("Reshape", counted(2, 3), i64(shape), allowzero=allow)


def test_axes_as_attribute_and_as_input() -> None:
    assert run_op("Unsqueeze", counted(2), version=11, axes=[0, 2]).shape == (1, 2, 1)
    assert run_op("Unsqueeze", counted(2), i64(-1, 0)).shape == (1, 2, 1)
    assert run_op("Squeeze", counted(1, 2, 1)).shape == (2,)
    assert run_op("Squeeze", counted(1, 2, 1), version=11, axes=[-1]).shape == (1, 2)
    with pytest.raises(ExecutionError, match="twice"):
        run_op("Unsqueeze", counted(2), i64(0, -3))


def test_slice_clamps_and_runs_backwards() -> None:
    x = counted(5)
    low = np.iinfo(np.int64).min
    same(run_op("Slice", x, i64([-1]), i64([low]), i64([0]), i64([-2])), f32(4, 2, 0))
    same(run_op("Slice", x, i64([3]), i64([99])), f32(3, 4))
    same(run_op("Slice", x, i64([4]), i64([2])), f32([]))
    same(run_op("Slice", x, version=1, starts=[1], ends=[-1], axes=[0]), f32(1, 2, 3))


def test_split_uneven_and_by_sizes() -> None:
    parts = run_op("Split", counted(7), outputs=3, num_outputs=3)
    assert [part.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5], [6]]
    parts = run_op("Split", counted(3), i64(0, 3), outputs=2)
    assert [part.shape for part in parts] == [(0,), (3,)]
    with pytest.raises(ExecutionError, match="equal parts"):
        run_op("Split", counted(7), outputs=2, version=13)
    with pytest.raises(ExecutionError, match="don't fill"):
        run_op("Split", counted(3), i64(1, 1), outputs=2)


@pytest.mark.parametrize(
    "mode, expected",
    [
        ("constant", [9, 9, 1, 2, 3, 9]),
        ("edge", [1, 1, 1, 2, 3, 3]),
        ("reflect", [3, 2, 1, 2, 3, 2]),
        ("wrap", [2, 3, 1, 2, 3, 1]),
    ],
)
def test_pad_modes(mode: str, expected: list[float]) -> None:
    value = f32(9) if mode == "constant" else None
    same(run_op("Pad", f32(1, 2, 3), i64(2, 1), value, mode=mode), f32(expected))


def test_pad_reflects_again_and_again() -> None:
    same(run_op("Pad", f32(1, 2), i64(0, 5), mode="reflect"), f32(1, 2, 1, 2, 1, 2, 1))
    same(run_op("Pad", f32([7]), i64(1, 1), mode="reflect"), f32(7, 7, 7))


@pytest.mark.parametrize(("pads", "expected"), [((-5, 6), 0), ((4, -6), 0), ((4, -2), 1), ((-1, -2), None)])
def test_pad_takes_away_more_than_there_is(pads: tuple[int, int], expected: float | None) -> None:
    """As ONNX Runtime: the filler stands on both sides as far as one likes. The last element of what is left."""
    text = "g (float[3] x, int64[2] p) => (float[n] y) { y = Pad (x, p) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (by_runtime,) = session.run(None, {"x": f32(1, 2, 3), "p": i64(*pads)})
    found = run_op("Pad", f32(1, 2, 3), i64(*pads))
    same(found, by_runtime)
    assert (found.tolist() or [None])[-1] == expected


@pytest.mark.parametrize("sizes", [(6, -3), (0, 0), (-1, 2), (3, 1)])
def test_crop_to_nothing(sizes: tuple[int, int]) -> None:
    """ONNX Runtime's result, of 1 to 4."""
    text = "g (float[2, 2] x, int64[2] s) => (float[a, b] y) { y = CenterCropPad (x, s) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    x = f32([1, 2], [3, 4])
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x, "s": i64(*sizes)})
    same(run_op("CenterCropPad", x, i64(*sizes)), expected)


def test_pad_to_less_than_nothing() -> None:
    with pytest.raises(ExecutionError, match="can't be padded"):
        run_op("Pad", f32(1, 2, 3), i64(-2, -2))


def test_pad_takes_away() -> None:
    same(run_op("Pad", f32(1, 2, 3, 4), i64(-1, 2), mode="reflect"), f32(2, 3, 4, 3, 2))
    same(run_op("Pad", f32([[1, 2], [3, 4]]), i64(1, -1), None, i64([-1])), f32([[0, 1], [0, 3]]))
    words = np.array(["a"], object)
    assert run_op("Pad", words, i64(1, 0)).tolist() == ["", "a"]


def test_expand_works_both_ways() -> None:
    assert run_op("Expand", counted(3, 1), i64(2, 1, 4)).shape == (2, 3, 4)
    assert run_op("Expand", counted(2, 3), i64([1])).shape == (2, 3)
    got = run_op("Expand", f32(1), i64([2]))
    got[0] = 5
    same(got, f32(5, 1))


def test_shape_of_a_part() -> None:
    same(run_op("Shape", counted(2, 3, 4), start=-2), i64(3, 4))
    same(run_op("Shape", counted(2, 3, 4), start=2, end=1), i64([]))
    same(run_op("Shape", counted(2, 3, 4), start=-9, end=9), i64(2, 3, 4))
    same(run_op("Size", counted(0, 3)), i64(0))


def test_gather_from_the_end_and_beyond() -> None:
    same(run_op("Gather", f32(1, 2, 3), i64([[-1], [0]])), f32([[3], [1]]))
    same(run_op("Gather", f32(1, 2, 3), i64(-3)), f32(1))
    with pytest.raises(ExecutionError, match="Gather"):
        run_op("Gather", f32(1, 2, 3), i64(3))


def test_gather_elements_smaller_than_the_data() -> None:
    same(run_op("GatherElements", counted(3, 4), i64([[2], [-3]]), axis=0), f32([[8], [0]]))


def test_gather_nd_in_batches() -> None:
    x = counted(2, 2, 3)
    same(run_op("GatherND", x, i64([[1], [0]]), batch_dims=1), x[[0, 1], [1, 0]])
    same(run_op("GatherND", x, i64([[-1, 0, 2]])), f32([8]))
    with pytest.raises(ExecutionError, match="batches"):  # ONNX Runtime takes the one batch for each of the two
        run_op("GatherND", x[:1], i64([[1], [0]]), batch_dims=1)


def test_scatter_adds_up_repeated_places() -> None:
    got = run_op("ScatterElements", f32(1, 1, 1), i64(0, 0, -1), f32(5, 6, 7), reduction="add")
    same(got, f32(12, 1, 8))
    got = run_op("ScatterND", f32(1, 2, 3), i64([[1], [1]]), f32(9, 4), reduction="max")
    same(got, f32(1, 9, 3))
    x = np.array([1, 2], ml_dtypes.bfloat16)
    assert run_op("ScatterElements", x, i64([0]), x[1:], reduction="mul").tolist() == [2, 2]


def test_scatter_leaves_its_input_alone() -> None:
    x = f32(1, 2)
    run_op("ScatterElements", x, i64([0]), f32([9]))
    same(x, f32(1, 2))


def test_non_zero_of_a_scalar_and_of_strings() -> None:
    assert run_op("NonZero", f32(3)).shape == (0, 1)
    assert run_op("NonZero", f32(0)).shape == (0, 0)
    same(run_op("NonZero", f32([[0, 2], [np.nan, 0]])), i64([[0, 1], [1, 0]]))


def test_one_hot_outside_the_depth() -> None:
    same(run_op("OneHot", i64(0, -1, 3, -4), i64(3), f32(2, 7), axis=0), f32([[7, 2, 2, 2], [2] * 4, [2, 7, 2, 2]]))
    assert run_op("OneHot", i64(0, -1), i64(0), f32(2, 7)).shape == (2, 0)
    with pytest.raises(ExecutionError, match="depth is -1"):
        run_op("OneHot", i64(0, -1), i64(-1), f32(2, 7))


def test_top_k_ties_and_limits() -> None:
    values, places = run_op("TopK", f32(1, 3, 3, 2), i64([3]), outputs=2)
    same(values, f32(3, 3, 2))
    same(places, i64(1, 2, 3))
    values, places = run_op("TopK", np.array([5, 0, 0], np.uint8), i64([2]), outputs=2, largest=0)
    same(places, i64(1, 2))
    assert run_op("TopK", f32(1, 2), i64([0]), outputs=2)[0].shape == (0,)
    with pytest.raises(ExecutionError, match="k is 3"):
        run_op("TopK", f32(1, 2), i64([3]), outputs=2)


def test_unique_rows_in_order_of_appearance() -> None:
    x = f32([[2, 2], [1, 1], [2, 2]])
    y, first, inverse, counts = run_op("Unique", x, outputs=4, axis=0, sorted=0)
    same(y, f32([[2, 2], [1, 1]]))
    assert (first.tolist(), inverse.tolist(), counts.tolist()) == ([0, 1], [0, 1, 0], [2, 1])
    y, first, inverse, counts = run_op("Unique", np.array(["b", "a", "b"], object), outputs=4)
    assert (y.tolist(), first.tolist(), inverse.tolist(), counts.tolist()) == (["a", "b"], [1, 0], [1, 0, 1], [1, 2])


def test_compress_without_axis() -> None:
    same(run_op("Compress", f32([[1, 2], [3, 4]]), np.array([False, True, True])), f32(2, 3))
    same(run_op("Compress", f32([1, 2]), np.array([False, True, True])), f32([2]))  # as ONNX Runtime


def test_triangles_beyond_the_matrix() -> None:
    same(run_op("Trilu", counted(2, 2), i64(5)), np.zeros((2, 2), np.float32))
    same(run_op("Trilu", counted(2, 2), i64(-5), upper=0), np.zeros((2, 2), np.float32))


def test_tensor_scatter_goes_round() -> None:
    cache, update = np.zeros((1, 3, 1), np.float32), f32([[[1], [2]]])
    same(run_op("TensorScatter", cache, update, i64([2]), mode="circular"), f32([[[2], [0], [1]]]))
    with pytest.raises(ExecutionError, match="beyond"):
        run_op("TensorScatter", cache, update, i64([2]))


def test_sequences_are_as_long_as_there_are_steps() -> None:
    """As ONNX Runtime and OpenVINO have it."""
    x = f32([[1, 2, 3], [4, 5, 6]])
    same(run_op("ReverseSequence", x, i64(3, 0), time_axis=1, batch_axis=0), f32([[3, 2, 1], [4, 5, 6]]))
    same(run_op("ReverseSequence", x[:0], i64([]), time_axis=1, batch_axis=0), x[:0])
    for lengths in ((3, -1), (4, 1)):
        with pytest.raises(ExecutionError, match="for 3 steps"):
            run_op("ReverseSequence", x, i64(*lengths), time_axis=1, batch_axis=0)


def test_range_of_nothing_and_of_fractions() -> None:
    same(run_op("Range", i64(3), i64(3), i64(1)), i64([]))
    same(run_op("Range", i64(10), i64(3), i64(-3)), i64(10, 7, 4))
    same(run_op("Range", f32(0), f32(1), f32(0.5)), f32(0, 0.5))
    # ONNX Runtime and onnx's reference: 11 and 3, where float32 holds neither difference
    assert run_op("Range", f32(0.49999994), f32(5.5), f32(0.5)).shape == (11,)
    assert run_op("Range", f32(0.1), f32(0.4), f32(0.1)).shape == (3,)
    with pytest.raises(ExecutionError, match="delta is 0"):
        run_op("Range", i64(0), i64(1), i64(0))


def test_sequences() -> None:
    parts = run_op("SplitToSequence", f32(1, 2, 3), i64(2))
    assert [part.tolist() for part in parts] == [[1, 2], [3]]
    assert [part.shape for part in run_op("SplitToSequence", f32(1, 2), keepdims=0)] == [(), ()]
    assert len(run_op("SequenceInsert", [f32(1)], f32(2), i64(-1))) == 2
    same(run_op("SequenceInsert", [f32(1)], f32(2), i64(-1))[0], f32(2))
    same(run_op("SequenceAt", [f32(1), f32(2)], i64(-2)), f32(1))
    assert run_op("SequenceErase", [f32(1)]) == []
    for op_type, position in (("SequenceAt", 1), ("SequenceErase", -2)):
        with pytest.raises(ExecutionError, match="position"):
            run_op(op_type, [f32(1)], i64(position))
    with pytest.raises(ExecutionError, match="position"):
        run_op("SequenceInsert", [f32(1)], f32(2), i64(2))
