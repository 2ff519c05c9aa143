"""Convolutions, pools, quantizers and Resize as HLO, run by XLA. Expected values are NumPy loops, or written down."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from backedge.convert import to_hub
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.protos import enum_of
from backedge.passes.types import DType
from onnx import helper, parser

from .lowered import Xla
from .test_lower_operators import built, f32, i64

pytest.importorskip("jaxlib")


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    runner = Xla()
    yield runner
    runner.close()


_X = np.arange(1, 26, dtype=np.float32).reshape(1, 1, 5, 5)


def convolved(
    x: np.ndarray, w: np.ndarray, stride: int, dilation: int, pads: tuple[int, int], groups: int
) -> np.ndarray:
    """A convolution along one axis, term by term."""
    x = np.pad(x, ((0, 0), (0, 0), pads))
    out = (x.shape[2] - (w.shape[2] - 1) * dilation - 1) // stride + 1
    found = np.zeros((x.shape[0], w.shape[0], out), np.float32)
    inside, outside = w.shape[1], w.shape[0] // groups
    for n, o, t, i, k in product(*map(range, (*found.shape, inside, w.shape[2]))):
        found[n, o, t] += x[n, o // outside * inside + i, t * stride + k * dilation] * w[o, i, k]
    return found


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("stride", "dilation", "pads"), [(1, 1, (0, 0)), (2, 1, (1, 2)), (1, 3, (3, 0)), (3, 2, (2, 2))]
)
def test_convolutions_and_their_transposes(
    xla: Xla, groups: int, stride: int, dilation: int, pads: tuple[int, int]
) -> None:
    random = np.random.default_rng(3)
    x, b = random.integers(-4, 5, (2, 4, 9)).astype(np.float32), f32(1, 2, 3, 4, 5, 6)
    w = random.integers(-4, 5, (6, 4 // groups, 3)).astype(np.float32)
    options = {"strides": [stride], "dilations": [dilation], "pads": list(pads), "group": groups}
    graph, feeds = built(lambda op, x, w, b: op.Conv(x, w, b, **options), x, w, b)
    wanted = convolved(x, w, stride, dilation, pads, groups)
    ((found,),) = xla.lowered(graph, feeds)
    np.testing.assert_array_equal(found, wanted + b[:, None])
    # the transpose is what makes <conv(x, w), y> = <x, transposed(y, w)>
    y = random.integers(-4, 5, wanted.shape).astype(np.float32)
    extra = 9 - ((y.shape[2] - 1) * stride + 2 * dilation + 1 - sum(pads))
    options["output_padding"] = [extra]
    graph, feeds = built(lambda op, y, w: op.ConvTranspose(y, w, **options), y, w)
    ((back,),) = xla.lowered(graph, feeds)
    assert back.shape == x.shape
    assert (back * x).sum() == (wanted * y).sum()


@pytest.mark.parametrize(("mode", "first"), [("SAME_UPPER", 1), ("SAME_LOWER", 0), ("VALID", 3)])
def test_pads_that_follow_from_the_size(xla: Xla, mode: str, first: int) -> None:
    """Two elements at a time, one padded: at the end, or at the beginning."""
    graph, feeds = built(
        lambda op, x: op.MaxPool(x, kernel_shape=[1, 2], strides=[1, 1], auto_pad=mode), f32([[[1, 2, 3]]])
    )
    ((found,),) = xla.lowered(graph, feeds)
    wanted = {1: [2, 3, 3], 0: [1, 2, 3], 3: [2, 3]}[first]
    assert found.reshape(-1).tolist() == wanted


def test_places_of_the_largest(xla: Xla) -> None:
    """Of equal ones the first; counted over the whole tensor, row by row or column by column."""
    x = np.concatenate([_X, np.zeros_like(_X)], 1)
    for order, places in ((0, [6, 8, 16, 18, 25, 27, 35, 37]), (1, [6, 16, 8, 18, 25, 35, 27, 37])):
        graph, feeds = built(
            lambda op, x, order=order: op.MaxPool(
                x, kernel_shape=[2, 2], strides=[2, 2], storage_order=order, _outputs=2
            ),
            x,
        )
        ((values, found),) = xla.lowered(graph, feeds)
        assert values.reshape(-1).tolist() == [7, 9, 17, 19, 0, 0, 0, 0]
        assert found.reshape(-1).tolist() == places


def test_of_equal_ones_the_first_by_rows_however_places_are_counted(xla: Xla) -> None:
    """Each runtime that reads ONNX has the second element of the first row, and counts it as the one of place 3."""
    x = np.array([[[[0, 7, 1, 1], [7, 0, 5, 5], [2, 2, 5, 6]]]], np.float32)
    for order, place in ((0, 1), (1, 3)):
        model = helper.make_model(
            helper.make_graph(
                [helper.make_node("MaxPool", ["x"], ["y", "z"], kernel_shape=[2, 2], storage_order=order)],
                "g",
                [helper.make_tensor_value_info("x", 1, x.shape)],
                [helper.make_tensor_value_info("y", 1, None), helper.make_tensor_value_info("z", 7, None)],
            ),
            opset_imports=[helper.make_opsetid("", 22)],
            ir_version=10,
        )
        _, wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
        graph, feeds = built(
            lambda op, v, order=order: op.MaxPool(v, kernel_shape=[2, 2], storage_order=order, _outputs=2), x
        )
        ((_, found),) = xla.lowered(graph, feeds)
        np.testing.assert_array_equal(found, wanted)
        assert found.reshape(-1)[0] == place


def test_windows_that_reach_beyond_the_end(xla: Xla) -> None:
    def make(op: Any, x: Any) -> Any:
        options = {"kernel_shape": [3], "strides": [2], "ceil_mode": 1}
        padded = {"kernel_shape": [2], "strides": [2], "ceil_mode": 1, "pads": [1, 1], "count_include_pad": 1}
        return op.MaxPool(x, **options), op.AveragePool(x, **options), op.AveragePool(x, **padded)

    graph, feeds = built(make, f32([[1, 2, 3, 4, 5, 6]]))
    ((largest, mean, counted),) = xla.lowered(graph, feeds)
    assert largest.reshape(-1).tolist() == [3, 5, 6]
    assert mean.reshape(-1).tolist() == [2, 4, 5.5]
    assert counted.reshape(-1).tolist() == [0.5, 2.5, 4.5, 3]


def test_the_only_window_may_be_larger_than_what_there_is(xla: Xla) -> None:
    """Where what is missing is less than a stride; values: ONNX Runtime."""

    def make(op: Any, x: Any) -> Any:
        options = {"kernel_shape": [5], "strides": [3], "pads": [1, 1]}
        return (
            *(op.call(name, x, **options) for name in ("MaxPool", "AveragePool", "LpPool")),
            op.AveragePool(x, count_include_pad=1, **options),
            op.MaxPool(x, kernel_shape=[5], strides=[3]),
        )

    graph, feeds = built(make, f32([[3, 4]]))
    ((largest, mean, norm, counted, none),) = xla.lowered(graph, feeds)
    assert [float(found.item()) for found in (largest, mean, norm, counted)] == [4, 3.5, 5, 1.75]
    assert none.shape == (1, 1, 0)


def test_means_leave_out_pads_unless_told(xla: Xla) -> None:
    graph, feeds = built(
        lambda op, x: (
            op.AveragePool(x, kernel_shape=[3], pads=[1, 1]),
            op.AveragePool(x, kernel_shape=[3], pads=[1, 1], count_include_pad=1),
        ),
        f32([[3, 6, 9]]),
    )
    ((left, counted),) = xla.lowered(graph, feeds)
    assert left.reshape(-1).tolist() == [4.5, 6, 7.5]
    assert counted.reshape(-1).tolist() == [3, 6, 5]


def test_axes_that_are_short_of_one_step_have_no_windows(xla: Xla) -> None:
    """As ONNX's inference says, and as ONNX Runtime pools them; what is shorter still is no model."""

    def graph_of(kernel: int) -> Any:
        return built(
            lambda op, x, w: (
                op.MaxPool(x, kernel_shape=[kernel], strides=[1]),
                op.AveragePool(x, kernel_shape=[kernel], strides=[1], count_include_pad=1),
                op.Conv(x, w, strides=[1]),
            ),
            f32([[3, 6]]),
            np.ones((1, 1, kernel), np.float32),
        )

    graph, feeds = graph_of(3)
    (found,) = xla.lowered(graph, feeds)
    assert [one.shape for one in found] == [(1, 1, 0)] * 3
    with pytest.raises(InvalidModel, match="a window of 4 over 2 elements"):
        lower_graph(graph_of(4)[0])


# quantization -------------------------------------------------------------------------------------


def test_quantizers_round_what_division_gives(xla: Xla) -> None:
    """Not one element of 20000 is off by one, as it would be if XLA multiplied by 1 / scale."""
    x = np.random.default_rng(0).normal(size=20_000).astype(np.float32)
    x[:10_000] = (np.arange(10_000) % 255 - 127.5).astype(np.float32) * np.float32(0.0371)
    graph, feeds = built(lambda op, x: op.QuantizeLinear(x, op.const(np.float32(0.0371)), op.const(np.int8(3))), x)
    ((found,),) = xla.lowered(graph, feeds)
    wanted = np.clip(np.rint(x / np.float32(0.0371)) + 3, -128, 127)
    np.testing.assert_array_equal(found, wanted.astype(np.int8))


def test_dynamic_quantizers(xla: Xla) -> None:
    for x in (f32(0, 2, -3, -2.5, 1.34, 0.5), f32(1, 2.1, 1.3), f32(-1, -2.5)):
        graph, feeds = built(lambda op, x: op.DynamicQuantizeLinear(x, _outputs=3), x)
        ((found, scale, zero),) = xla.lowered(graph, feeds)
        low, high = min(x.min(), np.float32(0)), max(x.max(), np.float32(0))
        step = (high - low) / np.float32(255)
        point = np.rint(np.clip(-low / step, 0, 255))
        assert (scale, zero) == (step, point)
        np.testing.assert_array_equal(found, np.clip(np.rint(x / step) + point, 0, 255).astype(np.uint8))


def test_scales_along_an_axis_and_in_blocks(xla: Xla) -> None:
    x = np.arange(-6, 6, dtype=np.float32).reshape(2, 6)
    along, blocks = f32(1, 2), f32([1, 2], [4, 0.5])
    graph, feeds = built(
        lambda op, x, s, t: (
            op.QuantizeLinear(x, s, axis=0, output_dtype=enum_of(DType.INT4, "")),
            op.QuantizeLinear(x, t, axis=1, block_size=4, output_dtype=enum_of(DType.INT8, "")),
        ),
        x, along, blocks,
    )  # fmt: skip
    ((nibbles, bytes_),) = xla.lowered(graph, feeds)
    np.testing.assert_array_equal(nibbles, np.rint(x / along[:, None]).astype(ml_dtypes.int4))
    np.testing.assert_array_equal(bytes_, np.rint(x / blocks.repeat(4, 1)[:, :6]).astype(np.int8))


def test_numbers_of_bytes_less_their_zero_points(xla: Xla) -> None:
    x = np.array([[0, 128, 255]], np.uint8)
    graph, feeds = built(
        lambda op, x: op.DequantizeLinear(x, op.const(f32(0.5, 1, 2)), op.const(np.array([128, 0, 255], np.uint8))), x
    )
    ((found,),) = xla.lowered(graph, feeds)
    assert found.tolist() == [[-64, 128, 0]]


# Resize -------------------------------------------------------------------------------------------


def test_resizing_takes_slices_where_it_can(xla: Xla) -> None:
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    graph, feeds = built(
        lambda op, x: op.Resize(
            x, None, None, op.const(i64(1, 1, 2, 2)), mode="nearest", coordinate_transformation_mode="asymmetric"
        ),
        x,
    )
    assert [node.op_type for node in lower_graph(graph).nodes] == ["slice"]
    ((found,),) = xla.lowered(graph, feeds)
    np.testing.assert_array_equal(found, x[..., ::2])


def test_linear_resizing(xla: Xla) -> None:
    def make(op: Any, x: Any) -> Any:
        return tuple(
            op.Resize(x, None, None, op.const(i64(4)), mode="linear", coordinate_transformation_mode=mode)
            for mode in ("half_pixel", "align_corners", "asymmetric")
        )

    graph, feeds = built(make, f32(0, 12))
    ((half, corners, asymmetric),) = xla.lowered(graph, feeds)
    assert half.tolist() == [0, 3, 9, 12]
    np.testing.assert_allclose(corners, [0, 4, 8, 12], 1e-6)
    assert asymmetric.tolist() == [0, 6, 12, 12]


@pytest.mark.parametrize(
    ("channels", "of_kernel", "error"),
    [("2", "3", InvalidModel), ("2", "k", Unsupported), ("c", "k", Unsupported), ("c", "c", None), ("2", "2", None)],
)
def test_channels_of_open_sizes(channels: str, of_kernel: str, error: type[Exception] | None) -> None:
    """Sizes that differ where both are known contradict each other; others may turn out to be the same."""
    text = f"g (float[1, {channels}, 5] x, float[4, {of_kernel}, 3] w) => (float[1, 4, 3] y) {{ y = Conv (x, w) }}"
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    with nullcontext() if error is None else pytest.raises(error, match="Conv"):
        lower_graph(to_hub(read_model(model)), open_sizes=True)
