"""Image layers that OpenVINO's CPU runtime doesn't have or computes otherwise than specified, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.types import DType

from .hand import Hand, dynamic


def f32(*items):
    return np.array(items, np.float32)


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


# colours -------------------------------------------------------------------------------------------


def nv12(image, red, whole):
    """(brightness, colour) pixel by pixel, as the specification has it; `red` is the place of red in a pixel."""

    def held(value):
        value = min(max(value, 0.0), 255.0)
        return np.floor(value + 0.5) if whole else value

    batch, rows, columns, _ = image.shape
    y, uv = np.zeros((batch, rows, columns, 1)), np.zeros((batch, rows // 2, columns // 2, 2))
    for n, row, column in np.ndindex(batch, rows, columns):
        pixel = image[n, row, column].astype(np.float64)
        r, g, b = pixel[red], pixel[1], pixel[2 - red]
        y[n, row, column, 0] = held(0.257 * r + 0.504 * g + 0.098 * b + 16)
        uv[n, row // 2, column // 2, 0] += held(-0.148 * r - 0.291 * g + 0.439 * b + 128) / 4
        uv[n, row // 2, column // 2, 1] += held(0.439 * r - 0.368 * g - 0.071 * b + 128) / 4
    return y, np.floor(uv + 0.5) if whole else uv


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
@pytest.mark.parametrize(("op_type", "red"), [("RGBtoNV12", 0), ("BGRtoNV12", 2)])
def test_colours_to_nv12(op_type, red, dtype):
    image = np.random.default_rng(5).integers(0, 256, (2, 4, 6, 3)).astype(dtype)
    hand = Hand()
    x = hand.input(image)
    single = hand.layer(op_type, 17, x, single_plane=True)
    whole, y, uv = hand.run(single, *hand.layer(op_type, 17, x, outputs=2, single_plane=False))
    expected = nv12(image, red, dtype is np.uint8)
    assert y.dtype == uv.dtype == whole.dtype == dtype
    np.testing.assert_allclose(y, expected[0], rtol=1e-5)
    np.testing.assert_allclose(uv, expected[1], rtol=1e-5)
    assert whole.shape == (2, 6, 6, 1)
    np.testing.assert_array_equal(whole[:, :4], y)
    np.testing.assert_array_equal(whole[:, 4:].reshape(uv.shape), uv)


# sizes ---------------------------------------------------------------------------------------------


def test_a_line_of_prior_ratios_before_the_greatest_size():
    hand = Hand()
    cells, image = hand.input(np.array([1, 1])), hand.input(np.array([10, 20]))
    layer = hand.layer(
        "PriorBox",
        8,
        cells,
        image,
        min_size=[2.0],
        max_size=[8.0],
        aspect_ratio=[4.0],
        min_max_aspect_ratios_order=False,
        variance=[0.1],
    )
    (found,) = hand.run(layer)
    halves = [(1, 1), (2, 0.5), (2, 2)]  # of the centre (10, 5)
    corners = [[(10 - w) / 20, (5 - h) / 10, (10 + w) / 20, (5 + h) / 10] for w, h in halves]
    np.testing.assert_allclose(found, [np.ravel(corners), [0.1] * 12], rtol=1e-6)


def test_half_of_an_odd_size_is_rounded_down():
    hand = Hand()
    cells, image = hand.input(np.array([1, 1])), hand.input(np.array([100, 100]))
    layer = hand.layer("PriorBox", 1, cells, image, fixed_size=[7.0], fixed_ratio=[1.0], density=[1.0])
    (found,) = hand.run(layer)
    centre = 50 - 3 + 3.5  # less half the size as a whole number, plus half of what lies between two boxes
    np.testing.assert_allclose(found[0], [(centre + side * 3.5) / 100 for side in (-1, -1, 1, 1)], rtol=1e-6)
    assert "rounded down" in hand.raised(layer).meta["notes"][0]


def test_priors_that_their_shape_has_no_room_for():
    hand = Hand()
    sizes = hand.const(np.array([2, 2])), hand.const(np.array([8, 8]))
    with pytest.raises(Unsupported, match="describe 3 boxes, its shape has room for 2"):
        hand.raised(hand.layer("PriorBox", 1, *sizes, min_size=[0.1, 0.2], max_size=[0.3], scale_all_sizes=False))


@pytest.mark.parametrize("dtype", ["i32", "i64"])
def test_indices_of_an_adaptive_pooling(dtype):
    hand = Hand()
    x = hand.input(f32([[[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]]]))
    values, places = hand.layer(
        "AdaptiveMaxPool", 8, x, hand.const(np.array([1, 2])), outputs=2, index_element_type=dtype
    )
    found = hand.run(values, places)
    assert [one.tolist() for one in found] == [[[[[9, 6]]]], [[[[5, 7]]]]]
    assert found[1].dtype == {"i32": np.int32, "i64": np.int64}[dtype]


# Interpolate ---------------------------------------------------------------------------------------


def resize(hand, x, goal, axes, version=11, **attributes):
    given = {"mode": "linear", "shape_calculation_mode": "sizes", "coordinate_transformation_mode": "half_pixel"}
    given |= {"nearest_mode": "floor", "antialias": False, "cube_coeff": -0.75, **attributes}
    return hand.layer("Interpolate", version, x, goal, hand.const(np.array(axes)), **given)


def smoothed(image, rows, columns):
    """Triangles as wide as the image shrinks, normalized: the specification's loops."""
    scales = rows / image.shape[0], columns / image.shape[1]
    result = np.zeros((rows, columns))
    for row, column in np.ndindex(rows, columns):
        total = weight = 0.0
        for y, x in np.ndindex(image.shape):
            share = 1.0
            for place, scale, pixel in ((row, scales[0], y), (column, scales[1], x)):
                centre = (place + 0.5) / scale - 0.5
                share *= scale * max(0.0, 1 - abs(scale * (centre - pixel)))
            total, weight = total + share * image[y, x], weight + share
        result[row, column] = total / weight
    return result


def test_antialias_of_an_image_is_obeyed_and_noted():
    image = floats(9, 8)
    hand = Hand()
    x = hand.input(image[None, None])
    layer = resize(hand, x, hand.const(np.array([3, 5])), [2, 3], antialias=True)
    (found,) = hand.run(layer)
    np.testing.assert_allclose(found[0, 0], smoothed(image, 3, 5), rtol=1e-4, atol=1e-6)
    assert "leaves antialias out" in hand.raised(layer).meta["notes"][0]


def test_antialias_does_nothing_to_an_image_that_grows():
    x = floats(1, 1, 3, 4)
    hand = Hand()
    value = hand.input(x)
    goal = hand.const(np.array([7, 9]))
    plain, smooth = hand.run(*(resize(hand, value, goal, [2, 3], antialias=antialias) for antialias in (False, True)))
    np.testing.assert_array_equal(plain, smooth)


def test_axes_from_the_end():
    x = floats(1, 2, 3, 4)
    hand = Hand()
    value, goal = hand.input(x), hand.const(np.array([8, 6]))
    how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
    made = [resize(hand, value, goal, axes, **how) for axes in ([3, 2], [-1, -2])]
    first, second = hand.run(*made)
    np.testing.assert_array_equal(first, x.repeat(2, 2).repeat(2, 3))
    np.testing.assert_array_equal(second, first)


def test_sizes_that_the_model_is_given():
    x = floats(1, 1, 4, 6)
    for goal in ([8, 3], [4, 6], [1, 9]):
        hand = Hand()
        value = hand.input(x, dynamic("float32", 4))
        layer = resize(hand, value, hand.input(np.array(goal)), [2, 3], coordinate_transformation_mode="asymmetric")
        (found,) = hand.run(layer)
        expected = x[0, 0]
        for axis, count in enumerate(goal):
            place = np.arange(count) * x.shape[2 + axis] / count
            low = np.floor(place).astype(int)
            high = np.minimum(low + 1, x.shape[2 + axis] - 1)
            share = (place - low).reshape((-1, 1) if axis == 0 else (1, -1))
            expected = expected.take(low, axis) * (1 - share) + expected.take(high, axis) * share
        np.testing.assert_allclose(found[0, 0], expected, rtol=1e-5, atol=1e-6)


def test_antialias_between_unknown_sizes_is_refused():
    hand = Hand()
    x = hand.input(floats(1, 1, 4, 4), dynamic("float32", 4))
    with pytest.raises(Unsupported, match="antialias between sizes"):
        hand.raised(resize(hand, x, hand.const(np.array([2, 2])), [2, 3], antialias=True))


@pytest.mark.parametrize(("sizes", "reason"), [([2, 2, 2], "3 sizes for 2 axes"), (2, "takes one of rank 1")])
def test_sizes_and_axes_of_different_number(sizes: Any, reason: str):
    hand = Hand()
    with pytest.raises(InvalidModel, match=reason):
        hand.raised(resize(hand, hand.input(floats(1, 1, 4, 4)), hand.const(np.array(sizes)), [2, 3]))


# what is refused -----------------------------------------------------------------------------------


def test_regions_that_the_channels_do_not_hold():
    hand = Hand()
    attributes = {"coords": 4, "classes": 3, "num": 2, "axis": 1, "end_axis": 3, "do_softmax": True}
    with pytest.raises(Unsupported, match="17 channels for 2 regions of 8 entries"):
        hand.raised(hand.layer("RegionYolo", 1, hand.input(floats(1, 17, 2, 2)), **attributes))


def test_regions_of_no_images():
    hand = Hand()
    attributes = {"coords": 4, "classes": 3, "num": 2, "axis": 1, "end_axis": 3, "do_softmax": True}
    (found,) = hand.run(hand.layer("RegionYolo", 1, hand.input(floats(0, 16, 2, 3)), **attributes))
    assert found.shape == (0, 96)


def test_channels_that_are_no_whole_blocks():
    hand = Hand()
    with pytest.raises(Unsupported, match="6 channels for blocks of 4"):
        hand.raised(hand.layer("ReorgYolo", 2, hand.input(floats(1, 6, 4, 4)), stride=[2]))


WINDOW = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1], "auto_pad": "explicit"}


def test_bits_in_the_order_of_the_cpu_runtime():
    hand = Hand()
    bits = np.array([1, 0, 0, 0, 0, 0, 0, 0], np.uint8).reshape(1, 8, 1, 1)
    x = hand.input(np.eye(8, dtype=np.float32).reshape(1, 8, 8, 1))
    weights = hand.const(bits, DType.UINT1)
    layer = hand.layer("BinaryConvolution", 1, x, weights, mode="xnor-popcount", pad_value=0.0, **WINDOW)
    (found,) = hand.run(layer)
    assert found.reshape(-1).tolist() == [4, 4, 4, 4, 4, 4, 4, 8]  # the byte's lowest bit belongs to the first channel
    assert "lowest bit" in hand.raised(layer).meta["notes"][0]


def test_bits_that_the_model_computes():
    hand = Hand()
    x, weights = hand.input(floats(1, 8, 3, 3)), hand.input(floats(1, 8, 1, 1))
    with pytest.raises(Unsupported, match="weights of bits must be constant"):
        hand.raised(hand.layer("BinaryConvolution", 1, x, weights, mode="xnor-popcount", **WINDOW))


@pytest.mark.parametrize(
    ("op_type", "version", "shape", "attributes"),
    [
        ("ROIPooling", 2, (3, 4), {"pooled_h": 2, "pooled_w": 2, "method": "max"}),
        ("PSROIPooling", 1, (3, 4), {"output_dim": 2, "group_size": 2, "mode": "average"}),
        ("PSROIPooling", 1, (3, 5), {"output_dim": 3, "group_size": 2, "mode": "average"}),
        ("ROIPooling", 2, (3, 5), {"pooled_h": 0, "pooled_w": 2, "method": "max"}),
    ],
)
def test_regions_of_the_wrong_form(op_type, version, shape, attributes):
    hand = Hand()
    with pytest.raises(InvalidModel):
        hand.raised(
            hand.layer(op_type, version, hand.input(floats(1, 8, 4, 4)), hand.input(floats(*shape)), **attributes)
        )


def test_regions_behind_the_end_of_a_list_are_nothing():
    image = np.ones((1, 4, 3, 3), np.float32)
    rows = f32([0, 0, 0, 2, 2], [-1, 0, 0, 2, 2], [0, 0, 0, 2, 2])
    for op_type, version, attributes in (
        ("ROIPooling", 2, {"pooled_h": 2, "pooled_w": 2, "method": "max", "spatial_scale": 1.0}),
        ("ROIPooling", 2, {"pooled_h": 2, "pooled_w": 2, "method": "bilinear", "spatial_scale": 1.0}),
        ("PSROIPooling", 1, {"output_dim": 1, "group_size": 2, "mode": "average", "spatial_scale": 1.0}),
        ("DeformablePSROIPooling", 1, {"output_dim": 1, "group_size": 2, "spatial_scale": 1.0}),
    ):
        hand = Hand()
        (found,) = hand.run(hand.layer(op_type, version, hand.input(image), hand.input(rows), **attributes))
        assert not found[1:].any(), op_type
        assert found[0].any(), op_type


def test_cells_as_a_list():
    image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    hand = Hand()
    x, rows = hand.input(image), hand.input(f32([0, 0, 0, 3, 3]))
    (found,) = hand.run(hand.layer("ROIPooling", 2, x, rows, output_roi=[1, 2], method="max", spatial_scale=1.0))
    assert found.tolist() == [[[[13, 15]]]]


def test_no_regions_at_all():
    image, rows = floats(2, 4, 5, 5), np.zeros((0, 5), np.float32)
    shapes = {}
    for op_type, version, attributes in (
        ("PSROIPooling", 1, {"output_dim": 1, "group_size": 2, "mode": "average", "spatial_scale": 1.0}),
        ("DeformablePSROIPooling", 1, {"output_dim": 1, "group_size": 2, "spatial_scale": 1.0}),
    ):
        hand = Hand()
        (found,) = hand.run(hand.layer(op_type, version, hand.input(image), hand.input(rows), **attributes))
        shapes[op_type] = found.shape
    assert set(shapes.values()) == {(0, 1, 2, 2)}


def test_every_window_of_patches_by_its_definition():
    x = floats(1, 2, 5, 4)
    hand = Hand()
    layer = hand.layer(
        "ExtractImagePatches",
        3,
        hand.input(x, dynamic("float32", 4)),
        sizes=[2, 2],
        strides=[2, 1],
        rates=[1, 2],
        auto_pad="valid",
    )
    (found,) = hand.run(layer)
    expected = np.zeros((1, 8, 2, 2), np.float32)
    for row, column, i, j, channel in itertools.product(range(2), range(2), range(2), range(2), range(2)):
        expected[0, (i * 2 + j) * 2 + channel, row, column] = x[0, channel, row * 2 + i, column + 2 * j]
    np.testing.assert_array_equal(found, expected)
