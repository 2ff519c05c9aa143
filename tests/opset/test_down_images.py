"""Images going down: Resize, GridSample, RoiAlign, DeformConv, AffineGrid, pooling, Col2Im by gathers.

Run by ONNX's reference, whose own kernels of these operators don't take part: nothing of them is left in the graphs.
Expected values are from the operators' formulas, worked out by hand or by plain NumPy loops.
"""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported

from .harness import checked, converted, down, f32, i64, operators, parse

LINE = f32([10, 20, 30, 40])


def _left(text: str, opset: int, target: int) -> set[str]:
    return {name for name, _ in operators(converted(parse(text, opset), target))}


# Resize --------------------------------------------------------------------------------------------


def _resize(attributes: str, given: str = "scales") -> str:
    """A model of one Resize, its scales or sizes known only when it runs."""
    what, inputs = {"scales": ("float", "x, , s"), "sizes": ("int64", "x, , , s")}[given]
    return f"(float[1, 4] x, {what}[2] s) => (float[p, q] y) {{ y = Resize <{attributes}> ({inputs}) }}"


@pytest.mark.parametrize(
    ("attributes", "scale", "expected"),
    [
        # places (i + 1/2) / 2 - 1/2: -1/4, 1/4, 3/4 ...
        ('mode = "linear"', 2, [10, 12.5, 17.5, 22.5, 27.5, 32.5, 37.5, 40]),
        # places 0, 3/2.., the length 1.6 * 4 = 6.4 is the resized one: i * 3 / 5.4
        (
            'mode = "linear", coordinate_transformation_mode = "align_corners"',
            1.6,
            [10 + 10 * 3 / 5.4 * i for i in range(6)],
        ),
        # places 0, 2
        ('mode = "linear", coordinate_transformation_mode = "asymmetric"', 0.5, [10, 30]),
        # places 1/2, 5/2: halves go down
        ('mode = "nearest"', 0.5, [10, 30]),
        ('mode = "nearest", nearest_mode = "round_prefer_ceil"', 0.5, [20, 40]),
        ('mode = "nearest", nearest_mode = "floor"', 0.5, [10, 30]),
        ('mode = "nearest", nearest_mode = "ceil"', 0.5, [20, 40]),
        # one element: at 0, not in the middle
        ('mode = "linear", coordinate_transformation_mode = "pytorch_half_pixel"', 0.25, [10]),
        # place 3/2: weights of Keys' kernel with a = -3/4 at distance 3/2 and 1/2
        ('mode = "cubic"', 0.25, [-0.09375 * 10 + 0.59375 * 20 + 0.59375 * 30 - 0.09375 * 40]),
        # place 0: the element before doesn't count, nor do those at distance 1 and 2
        ('mode = "cubic", coordinate_transformation_mode = "asymmetric", exclude_outside = 1', 0.25, [10]),
    ],
)
def test_resize_by_scales(attributes: str, scale: float, expected: list[float]) -> None:
    text = _resize(attributes)
    (made,) = down(text, 13, 9, LINE, f32(1, scale))
    np.testing.assert_allclose(made, [expected], rtol=1e-6)
    assert not _left(text, 13, 9) & {"Resize", "Upsample"}


@pytest.mark.parametrize(
    ("attributes", "size", "expected"),
    [
        ('mode = "linear", coordinate_transformation_mode = "align_corners"', 7, [10, 15, 20, 25, 30, 35, 40]),
        ('mode = "linear", coordinate_transformation_mode = "align_corners"', 1, [10]),
        ('mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"', 3, [10, 20, 30]),
        ('mode = "nearest"', 4, [10, 20, 30, 40]),
    ],
)
def test_resize_by_sizes(attributes: str, size: int, expected: list[float]) -> None:
    (made,) = down(_resize(attributes, "sizes"), 13, 10, LINE, i64(1, size))
    np.testing.assert_allclose(made, [expected], rtol=1e-6)


def test_resize_of_sizes_that_only_a_run_tells() -> None:
    text = '(float[n, m] x, float[2] s) => (float[p, q] y) { y = Resize <mode = "linear"> (x, , s) }'
    (made,) = down(text, 13, 9, f32([0, 4], [8, 12]), f32(1, 2))
    assert made.tolist() == [[0, 1, 3, 4], [8, 9, 11, 12]]


def test_resize_of_known_scales_needs_no_arithmetic() -> None:
    text = "(float[n, 4] x) => (float[n, 8] y) <float[2] s = {1, 2}> { y = Resize (x, , s) }"
    assert _left(text, 13, 10) == {"Gather"}
    assert down(text, 13, 10, LINE)[0].tolist() == [[10, 10, 20, 20, 30, 30, 40, 40]]


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_crop_with_regions_given_at_run_time(mode: str) -> None:
    """From 1/4 to 5/4 of the places 0 .. 3: 0.75, 2.25, 3.75, the last one outside."""
    attributes = f'axes = [-1], extrapolation_value = 7.0, mode = "{mode}"'
    text = (
        "(float[1, 4] x, float[2] r, int64[1] s) => (float[1, 3] y)"
        f' {{ y = Resize <{attributes}, coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , s) }}'
    )
    region = f32(0.25, 1.25)
    (made,) = down(text, 18, 13, LINE, region, i64(3))
    np.testing.assert_allclose(made, [[20, 30, 7] if mode == "nearest" else [17.5, 32.5, 7]], rtol=1e-5)


def test_half_pixel_symmetric() -> None:
    """4 * 0.6 = 2.4, of which 2 are made: 4/2 * (1 - 2/2.4) + (i + 1/2) / 0.6 - 1/2."""
    attributes = 'mode = "linear", coordinate_transformation_mode = "half_pixel_symmetric"'
    (made,) = down(_resize(attributes), 19, 18, LINE, f32(1, 0.6))
    places = [1 / 3 + (i + 0.5) / 0.6 - 0.5 for i in range(2)]
    np.testing.assert_allclose(made, [[10 + 10 * place for place in places]], rtol=1e-6)


def test_antialias() -> None:
    """Half as many: a triangle over two elements on either side of 1/2 and 5/2, weights 1/8, 3/8, 3/8, 1/8."""
    attributes = 'mode = "linear", antialias = 1'
    text = f"(float[1, 4] x, float[2] s) => (float[1, 2] y) {{ y = Resize <{attributes}> (x, , s) }}"
    (made,) = down(text, 18, 13, LINE, f32(1, 0.5))
    weights = np.array([1, 3, 3, 1]) / 8
    np.testing.assert_allclose(made, [[weights @ [10, 10, 20, 30], weights @ [20, 30, 40, 40]]], rtol=1e-6)


def test_antialias_of_thousands_of_elements_is_refused() -> None:
    text = """(float[1, 1, 2, 50000] x) => (float[1, 1, 2, 3] y) <int64[4] s = {1, 1, 2, 3}> {
        y = Resize <mode = "linear", antialias = 1> (x, , , s)
    }"""
    with pytest.raises(Unsupported, match="each element of axis 3 would be made of 33334, one by one"):
        converted(parse(text, 18), 13)


def test_antialias_of_unknown_sizes_is_refused() -> None:
    text = '(float[n] x, float[1] s) => (float[m] y) { y = Resize <mode = "linear", antialias = 1> (x, , s) }'
    with pytest.raises(Unsupported, match="antialias"):
        converted(parse(text, 18), 17)


@pytest.mark.parametrize(("policy", "shape"), [("not_larger", (2, 4)), ("not_smaller", (3, 6))])
def test_sizes_that_keep_the_ratio(policy: str, shape: tuple[int, int]) -> None:
    """Of 2 by 4 wanted 3 by 4: scales 3/2 and 1."""
    model = "(float[2, 4] x, int64[2] s) => (float[p, q] y)"
    text = f'{model} {{ y = Resize <keep_aspect_ratio_policy = "{policy}"> (x, , , s) }}'
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    (made,) = down(text, 18, 13, x, i64(3, 4))
    rows, columns = (
        [int(np.ceil((i + 0.5) * length / size - 1)) for i in range(size)]
        for length, size in zip((2, 4), shape, strict=True)
    )
    assert made.tolist() == x[np.ix_(rows, columns)].tolist()


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_what_has_no_weight_counts_if_it_is_infinite(mode: str) -> None:
    """At 2 of 0 .. 3, and 0 and 3 beside it: what ONNX Runtime and OpenVINO give for the model as it is."""
    x = np.array([[[[1, np.inf, 2, 3], [4, 5, 6, 7], [1, 2, 3, 4], [5, 6, 7, 8]]]], np.float32)
    attributes = f'mode = "{mode}", coordinate_transformation_mode = "align_corners"'
    text = f"""(float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) <int64[4] s = {{1, 1, 3, 3}}> {{
      y = Resize <{attributes}> (x, , , s) }}"""
    model = onnx.parser.parse_model(f'<ir_version: 7, opset_import: ["" : 13]> g {text}')
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (wanted,) = session.run(None, {"x": x})
    assert np.isnan(wanted).any()
    np.testing.assert_allclose(down(text, 13, 10, x)[0], wanted, rtol=1e-5)


def test_integers_are_rounded_and_held_in_their_range() -> None:
    """Cubic at 3/4 between 255 and 255 next to 0s overshoots; linear at 1/4 gives 63.75."""
    text = '(uint8[4] x, float[1] s) => (uint8[n] y) { y = Resize <mode = "cubic"> (x, , s) }'
    made = down(text, 13, 10, np.array([0, 255, 255, 0], np.uint8), f32(2))[0]
    assert made.dtype == np.uint8
    assert made[3:5].tolist() == [255, 255]
    text = text.replace("cubic", "linear")
    assert down(text, 13, 10, np.array([0, 255, 255, 0], np.uint8), f32(2))[0].tolist() == [
        0,
        64,
        191,
        255,
        255,
        191,
        64,
        0,
    ]


def test_smaller_before_there_was_resize() -> None:
    """Version 10: element ceil(i / scale) where it makes smaller, floor where it enlarges."""
    text = "(float[1, 4] x, float[2] s) => (float[p, q] y) { y = Resize (x, s) }"
    assert down(text, 10, 9, LINE, f32(1, 0.75))[0].tolist() == [[10, 30, 40]]
    assert down(text, 10, 9, LINE, f32(1, 1.5))[0].tolist() == [[10, 10, 20, 30, 30, 40]]


NEAREST = """(float[1, 4] x) => (float[1, n] y) <float[0] r = {{}}, float[2] s = {{1, {scale}}}> {{
    y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "{rounding}"> (x, r, s)
}}"""


@pytest.mark.parametrize(
    ("scale", "rounding", "is_said", "expected"),
    [
        (2, "floor", True, [10, 10, 20, 20, 30, 30, 40, 40]),
        (2, "ceil", False, [10, 20, 20, 30, 30, 40, 40, 40]),
        (0.75, "ceil", True, [10, 30, 40]),
        (0.75, "floor", False, [10, 20, 30]),
    ],
)
def test_nearest_rounded_by_direction_before_11(
    scale: float, rounding: str, is_said: bool, expected: list[float]
) -> None:
    text = NEAREST.format(scale=scale, rounding=rounding)
    assert ("Resize" in _left(text, 11, 10)) is is_said
    assert is_said or down(text, 11, 10, LINE)[0].tolist() == [expected]


def test_interpolated_long_integers_are_refused() -> None:
    text = '(int64[4] x, float[1] s) => (int64[n] y) { y = Resize <mode = "linear"> (x, , s) }'
    with pytest.raises(Unsupported, match="int64 can't be interpolated"):
        converted(parse(text, 13), 10)


# GridSample ----------------------------------------------------------------------------------------

IMAGE = f32([[[1, 2, 3], [4, 5, 6]]])


def _sampled(attributes: str, points: list[list[float]], opset: int = 16, target: int = 9) -> list[float]:
    grid = f32([points])
    text = (
        "(float[1, 1, 2, 3] x, float[n, h, w, 2] g) => (float[n, 1, h, w] y)"
        f" {{ y = GridSample <{attributes}> (x, g) }}"
    )
    assert "GridSample" not in _left(text, opset, target)
    return down(text, opset, target, IMAGE, grid)[0].reshape(-1).tolist()


@pytest.mark.parametrize("target", [15, 10, 9])
def test_grid_sample(target: int) -> None:
    """Aligned corners: x = (p + 1) * 1, y = (q + 1) / 2."""
    points = [[-1, -1], [0, 0], [1, 1], [0.5, -1]]
    assert _sampled("align_corners = 1", points, target=target) == [1, 3.5, 6, 2.5]


def test_grid_sample_between_pixels_and_outside() -> None:
    """x = ((p + 1) * 3 - 1) / 2: -1/2 at -1, where half of the element lies."""
    assert _sampled("align_corners = 0", [[-1, -0.5], [-5, 0], [0, -0.5]]) == [0.5, 0, 2]
    assert _sampled('padding_mode = "border"', [[-1, -0.5], [-5, -0.5], [9, 9]]) == [1, 1, 6]


def test_grid_sample_reflects() -> None:
    """Aligned, x = 3 and 4.5 come back as 1 and 0.5; unaligned -1 reflects at -1/2 to 0."""
    aligned = 'align_corners = 1, padding_mode = "reflection"'
    assert _sampled(aligned, [[2, -1], [3.5, -1], [-2, -1]]) == [2, 1.5, 2]
    assert _sampled('padding_mode = "reflection"', [[(2 * -1 + 1) / 3 - 1, -0.5]]) == pytest.approx([1])


def test_grid_sample_nearest_rounds_to_even() -> None:
    """Aligned places 0.5 and 1.5 are 0 and 2."""
    assert _sampled('mode = "nearest", align_corners = 1', [[-0.5, -1], [0.5, -1], [4, -1]]) == [1, 3, 0]


def test_grid_sample_cubic() -> None:
    """Aligned place 1/2, row 0: weights -3/32, 19/32, 19/32, -3/32, the first one outside."""
    found = _sampled('mode = "bicubic", align_corners = 1', [[-0.5, -1]])
    assert found == pytest.approx([(19 * 1 + 19 * 2 - 3 * 3) / 32])


def test_grid_sample_of_volumes_and_many_images() -> None:
    """At whole places a sample is the element."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 2, 4, 3)).astype(np.float32)
    places = rng.integers(0, (3, 4, 2), (2, 2, 1, 5, 3))
    grid = (places / np.array([2, 3, 1]) * 2 - 1).astype(np.float32)
    text = (
        "(float[n, c, d, h, w] x, float[n, p, q, r, 3] g) => (float[n, c, p, q, r] y)"
        " { y = GridSample <align_corners = 1> (x, g) }"
    )
    expected = np.stack([x[n][:, places[n, ..., 2], places[n, ..., 1], places[n, ..., 0]] for n in range(2)])
    for target in (19, 9):
        np.testing.assert_allclose(down(text, 20, target, x, grid)[0], expected, atol=1e-5)


@pytest.mark.parametrize("target", [15, 9])
def test_grid_sample_without_channels(target: int) -> None:
    """In ONNX Runtime: the reference flattens nothing without elements."""
    text = "(float[n, c, h, w] x, float[n, p, q, 2] g) => (float[n, c, p, q] y) { y = GridSample (x, g) }"
    session = onnxruntime.InferenceSession(checked(converted(parse(text, 16), target)).SerializeToString())
    feeds = {"x": np.ones((2, 0, 3, 3), np.float32), "g": np.zeros((2, 2, 2, 2), np.float32)}
    assert session.run(None, feeds)[0].shape == (2, 0, 2, 2)


def test_grid_sample_of_an_infinite_neighbour_without_weight() -> None:
    text = (
        "(float[1, 1, 1, 3] x, float[1, 1, 1, 2] g) => (float[1, 1, 1, 1] y)"
        " { y = GridSample <align_corners = 1> (x, g) }"
    )
    assert down(text, 16, 15, f32([[[1, 2, np.inf]]]), f32([[[0, 0]]]))[0].item() == 2


def test_interpolated_integers_are_refused() -> None:
    text = "(int32[1, 1, 1, 3] x, float[1, 1, 1, 2] g) => (int32[1, 1, 1, 1] y) { y = GridSample (x, g) }"
    with pytest.raises(Unsupported, match="int32 can't be interpolated"):
        converted(parse(text, 16), 15)


# RoiAlign ------------------------------------------------------------------------------------------

RAMP = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)


def _aligned(attributes: str, roi: list[float], opset: int, target: int, x: np.ndarray = RAMP) -> np.ndarray:
    text = (
        "(float[n, c, h, w] x, float[k, 4] r, int64[k] b) => (float[k, c, p, q] y)"
        f" {{ y = RoiAlign <{attributes}> (x, r, b) }}"
    )
    assert "RoiAlign" not in _left(text, opset, target)
    return down(text, opset, target, x, f32(roi), i64(0))[0]


@pytest.mark.parametrize(("opset", "target"), [(16, 15), (16, 9), (10, 9)])
def test_roi_align(opset: int, target: int) -> None:
    """On a ramp 4 y + x the mean of samples is the value in their middle; half a pixel is taken off from 16 on."""
    attributes = "output_height = 2, output_width = 1, sampling_ratio = 2"
    made = _aligned(attributes, [1, 1, 3, 3], opset, target)
    shift = 0.5 * 5 if opset == 16 else 0
    np.testing.assert_allclose(made.reshape(-1), [4 * 1.5 + 2 - shift, 4 * 2.5 + 2 - shift], rtol=1e-6)


def test_roi_align_of_small_regions() -> None:
    """A region is at least one pixel long, but from 16 on with half pixels as long as it is."""
    roi = [1.5, 1.5, 1.7, 1.5]
    assert _aligned("sampling_ratio = 1", roi, 10, 9).item() == pytest.approx(4 * 2 + 2)
    half = _aligned("sampling_ratio = 1", roi, 16, 15).item()
    assert half == pytest.approx(4 * 1 + 1.1)


def test_roi_align_takes_as_many_samples_as_fit() -> None:
    """Regions of different sizes: ceil(length / cells) samples each; behind the border (past -1) there is nothing."""
    text = "(float[1, 1, 4, 4] x, float[k, 4] r, int64[k] b) => (float[k, 1, 1, 1] y) { y = RoiAlign (x, r, b) }"
    rois = f32([0, 0, 1, 1], [0, 0, 3, 3], [20, 20, 21, 21])
    made = down(text, 10, 9, RAMP, rois, i64(0, 0, 0))[0].reshape(-1)
    np.testing.assert_allclose(made, [4 * 0.5 + 0.5, 4 * 1.5 + 1.5, 0], rtol=1e-6)


def test_roi_align_max_is_of_weighted_elements() -> None:
    """One sample at (1.5, 1.5): a quarter of the largest neighbour."""
    made = _aligned('mode = "max", sampling_ratio = 1', [1, 1, 2, 2], 10, 9)
    assert made.item() == pytest.approx(10 / 4)


# DeformConv, AffineGrid ----------------------------------------------------------------------------


def test_deform_conv_by_whole_steps() -> None:
    """Every position looks one to the right, where outside there is nothing."""
    text = (
        "(float[1, 1, 2, 3] x, float[1, 1, 1, 2] w, float[1, 4, 2, 2] o, float[1] b, float[1, 2, 2, 2] m)"
        " => (float[1, 1, 2, 2] y) { y = DeformConv (x, w, o, b, m) }"
    )
    offset = np.zeros((1, 4, 2, 2), np.float32)
    offset[:, 1::2] = 1
    mask = np.ones((1, 2, 2, 2), np.float32)
    mask[0, 1, 0] = 0.5
    expected = [[2 + 0.5 * 10 * 3 + 100, 3 + 0 + 100], [5 + 60 + 100, 6 + 0 + 100]]
    for target in (18, 9):
        made = down(text, 19, target, IMAGE, f32([[[1, 10]]]), offset, f32(100), mask)[0]
        assert made[0, 0].tolist() == expected


def test_deform_conv_between_elements_in_groups() -> None:
    """Two offset groups, two convolution groups; no offset is the plain convolution."""
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(2, 4, 5, 4)).astype(np.float32), rng.normal(size=(2, 2, 2, 2)).astype(np.float32)
    offset = np.zeros((2, 16, 4, 3), np.float32)
    offset[:, 8:16:2] = 0.5
    text = (
        "(float[n, 4, h, v] x, float[2, 2, 2, 2] w, float[n, 16, p, q] o) => (float[n, 2, p, q] y)"
        " { y = DeformConv <group = 2, offset_group = 2> (x, w, o) }"
    )
    below = np.concatenate([x[:, :, 1:], np.zeros_like(x[:, :, :1])], axis=2)
    seen = np.concatenate([x[:, :2], (x[:, 2:] + below[:, 2:]) / 2], axis=1)
    expected = np.zeros((2, 2, 4, 3))
    for i, j, c in itertools.product(range(2), range(2), range(4)):
        expected[:, c // 2] += w[c // 2, c % 2, i, j] * seen[:, c, i : i + 4, j : j + 3]
    np.testing.assert_allclose(down(text, 19, 9, x, w, offset)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [19, 9])
@pytest.mark.parametrize("align", [0, 1])
def test_affine_grid(align: int, target: int) -> None:
    """The identity gives the grid itself; one image, which the operator's function body can't take."""
    text = (
        f"(float[n, 2, 3] t, int64[4] s) => (float[p, q, r, 2] y) {{ y = AffineGrid <align_corners = {align}> (t, s) }}"
    )
    made = down(text, 20, target, f32([[1, 0, 0], [0, 1, 5]]), i64(1, 1, 2, 3))[0]
    xs, ys = ([-1, 0, 1], [-1, 1]) if align else ([-2 / 3, 0, 2 / 3], [-0.5, 0.5])
    np.testing.assert_allclose(made, [[[[x, y + 5] for x in xs] for y in ys]], atol=1e-6)


# pooling, Col2Im, MaxUnpool -----------------------------------------------------------------------------------

SEVEN = f32([[3, -1, 4, 1, -5, 9, 2]])


@pytest.mark.parametrize(("size", "target"), [("7", 8), ("7", 9), ("n", 9)])
def test_max_pool_with_gaps_and_a_window_cut_off(size: str, target: int) -> None:
    """Places 0 2 4, 2 4 6, 4 6 -."""
    text = (
        f"(float[1, 1, {size}] x) => (float[1, 1, m] y)"
        " { y = MaxPool <kernel_shape = [3], dilations = [2], strides = [2], ceil_mode = 1, pads = [0, 1]> (x) }"
    )
    assert down(text, 12, target, SEVEN)[0].tolist() == [[[4, 4, 2]]]


def test_max_pool_of_the_lowest_elements_says_where_the_first_is() -> None:
    """What lies on padding is no place, however low the elements are."""
    text = (
        "(float[1, 2, 3] x) => (float[1, 2, 3] y, int64[1, 2, 3] i)"
        " { y, i = MaxPool <kernel_shape = [2], dilations = [2], pads = [1, 1]> (x) }"
    )
    x = f32([[-np.inf, 5, -np.inf], [7, 7, 7]])
    values, places = down(text, 12, 9, x)
    assert values.tolist() == [[[5, -np.inf, 5], [7, 7, 7]]]
    assert places.tolist() == [[[1, 0, 1], [4, 3, 4]]]


@pytest.mark.parametrize("order", [0, 1])
def test_max_pool_counts_by_rows_or_by_columns(order: int) -> None:
    text = (
        "(float[1, 1, 3, 4] x) => (float[1, 1, 1, 2] y, int64[1, 1, 1, 2] i)"
        f" {{ y, i = MaxPool <kernel_shape = [2, 2], dilations = [2, 2], storage_order = {order}> (x) }}"
    )
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    values, places = down(text, 12, 9, x)
    assert values.reshape(-1).tolist() == [10, 11]
    assert places.reshape(-1).tolist() == ([2 * 3 + 2, 3 * 3 + 2] if order else [10, 11])


@pytest.mark.parametrize(("include", "last"), [(0, (-5 + 2) / 2), (1, (-5 + 2 + 0) / 3)])
def test_average_pool_with_gaps(include: int, last: float) -> None:
    """Places 0 2 4, 2 4 6, 4 6 8: the last one on padding, which counts or doesn't."""
    text = (
        "(float[1, 1, 7] x) => (float[1, 1, 3] y) { y = AveragePool <kernel_shape = [3], dilations = [2],"
        f" strides = [2], pads = [0, 2], count_include_pad = {include}> (x) }}"
    )
    for target in (18, 9):
        np.testing.assert_allclose(down(text, 19, target, SEVEN)[0], [[[2 / 3, 1 / 3, last]]], rtol=1e-6)


@pytest.mark.parametrize("operator", ["AveragePool", "LpPool", "MaxPool"])
@pytest.mark.parametrize("target", [21, 18, 13])
def test_a_window_that_would_begin_behind_the_data_is_left_out(operator: str, target: int) -> None:
    """A stride longer than the kernel leaves one out without any padding; older shape inference counts it."""
    text = f"""(float[1, 1, 2, 2] x) => (float[1, 1, 1, 1] y) {{
        y = {operator} <kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1> (x)
    }}"""
    assert down(text, 22, target, f32([[[1, 2], [3, 4]]]))[0].tolist() == [[[[1]]]]


@pytest.mark.parametrize("include", [0, 1])
def test_average_pool_over_the_end_counts_what_is_there(include: int) -> None:
    """ceil_mode: what lies behind the padding never counts."""
    text = (
        "(float[1, 1, n] x) => (float[1, 1, m] y) { y = AveragePool <kernel_shape = [2], strides = [2], ceil_mode = 1,"
        f" count_include_pad = {include}> (x) }}"
    )
    assert down(text, 11, 9, SEVEN)[0].tolist() == [[[1, 2.5, 2, 2]]]


@pytest.mark.parametrize("size", ["2", "n"])
@pytest.mark.parametrize("target", [18, 9])
def test_average_pool_of_less_than_a_window_counts_what_is_there(size: str, target: int) -> None:
    """What lies behind the padding never counts: ONNX Runtime's older kernel divides by all of the window there."""
    pool = "AveragePool <kernel_shape = [5], strides = [3], count_include_pad = 1"
    text = f"(float[1, 1, {size}] x) => (float[1, 1, m] y) {{ y = {pool}, pads = [1, 1]> (x) }}"
    model = checked(converted(parse(text, 19), target))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert session.run(None, {"x": f32([[3, 4]])})[0].tolist() == [[[1.75]]]


@pytest.mark.parametrize("pool", ["MaxPool <", "LpPool <p = 1, "])
@pytest.mark.parametrize(("length", "ceil", "expected"), [(4, 0, 1), (3, 0, 1), (2, 0, 0), (2, 1, 0), (1, 1, 0)])
def test_pools_of_less_than_a_window(pool: str, length: int, ceil: int, expected: int) -> None:
    """There is one window if less than a stride is missing; by gathers where an open size has dilations."""
    text = (
        f"(float[1, 1, n] x) => (float[1, 1, m] y) {{ y = {pool} kernel_shape = [2], dilations = [4], strides = [3],"
        f" ceil_mode = {ceil}> (x) }}"
    )
    (found,) = down(text, 18, 9, f32([[*range(length, 0, -1)]]))
    assert found.tolist() == [[[length] * expected]]


@pytest.mark.parametrize(("mode", "expected"), [("SAME_UPPER", [2, 4, 5]), ("SAME_LOWER", [2, 3, 5])])
def test_average_pool_with_automatic_padding(mode: str, expected: list[float]) -> None:
    """Three windows of reach 3 need 7 elements: the missing one is behind (0 2, 2 4, 4 -) or before (- 1, 1 3, 3 5)."""
    text = (
        "(float[1, 1, n] x) => (float[1, 1, m] y)"
        f' {{ y = AveragePool <kernel_shape = [2], dilations = [2], strides = [2], auto_pad = "{mode}"> (x) }}'
    )
    assert down(text, 19, 9, f32([[1, 2, 3, 4, 5, 6]]))[0].reshape(-1).tolist() == expected


def test_lp_pool_with_gaps() -> None:
    text = "(float[1, 1, 7] x) => (float[1, 1, 5] y) { y = LpPool <kernel_shape = [2], dilations = [2], p = 3> (x) }"
    x = SEVEN[0, 0]
    expected = [(abs(x[i]) ** 3 + abs(x[i + 2]) ** 3) ** (1 / 3) for i in range(5)]
    for target in (17, 9):
        np.testing.assert_allclose(down(text, 18, target, SEVEN)[0].reshape(-1), expected, rtol=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_col2im_adds_up_what_overlaps(known: bool) -> None:
    """One by one through the definition; the sizes known, or given when it runs."""
    rng = np.random.default_rng(2)
    image, block, strides, dilations, pads = (5, 4), (2, 3), (2, 1), (2, 1), (1, 0, 0, 1)
    counts = [(5 + 1 - 2 - 1) // 2 + 1, (4 + 1 - 2 - 1) // 1 + 1]
    x = rng.integers(-9, 9, (2, 3 * 6, counts[0] * counts[1])).astype(np.int32)
    expected = np.zeros((2, 3, *image), np.int32)
    columns = x.reshape(2, 3, *block, *counts)
    for i, j, p, q in itertools.product(*map(range, (*block, *counts))):
        row, column = p * strides[0] + i * dilations[0] - pads[0], q * strides[1] + j * dilations[1] - pads[1]
        if 0 <= row < image[0] and 0 <= column < image[1]:
            expected[:, :, row, column] += columns[:, :, i, j, p, q]
    call = "y = Col2Im <strides = [2, 1], dilations = [2, 1], pads = [1, 0, 0, 1]> (x, s, b)"
    constants = "<int64[2] s = {5, 4}, int64[2] b = {2, 3}>"
    text = (
        f"(int32[n, c, l] x) => (int32[n, d, p, q] y) {constants} {{ {call} }}"
        if known
        else f"(int32[n, c, l] x, int64[2] s, int64[2] b) => (int32[n, d, p, q] y) {{ {call} }}"
    )
    given = [x] if known else [x, i64(*image), i64(*block)]
    for target in (17, 9):
        assert down(text, 18, target, *given)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("shape", [None, [1, 2, 5]])
def test_max_unpool(shape: list[int] | None) -> None:
    """Elements at their places in (1, 2, 4), which zeros make longer."""
    given, constant = ("x, i", "") if shape is None else ("x, i, s", "<int64[3] s = {1, 2, 5}>")
    text = (
        f"(float[1, 2, 2] x, int64[1, 2, 2] i) => (float[p, q, r] y) {constant}"
        f" {{ y = MaxUnpool <kernel_shape = [2], strides = [2]> ({given}) }}"
    )
    made = down(text, 9, 8, f32([[1, 2], [3, 4]]), i64([[1, 2], [4, 7]]))[0]
    expected = np.array([[[0, 1, 2, 0], [3, 0, 0, 4]]])
    assert made.tolist() == (expected if shape is None else np.pad(expected, ((0, 0), (0, 0), (0, 1)))).tolist()


def test_what_stands_outside_must_be_of_the_type() -> None:
    text = (
        "(uint8[4] x, float[2] r, float[1] s) => (uint8[n] y) { y = Resize <extrapolation_value = -2.0,"
        ' coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, s) }'
    )
    with pytest.raises(Unsupported, match=r"extrapolation_value=-2\.0 is no uint8"):
        converted(parse(text, 13), 10)
