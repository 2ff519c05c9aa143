"""Positions that operators compute inside: rounding there decides what is nearest, and what lies outside."""

import numpy as np
import onnx
import pytest
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.runtime.wide.evidence import Pair
from onnx import parser
from onnx.reference import ReferenceEvaluator

X = np.float32([[[[-1, -2, 0, 1], [1, 3, 1, -2], [1, -1, 1, -1], [-1, 0, 2, 2]]]])
CROP = """(float[1,1,4,4] x, float[8] r) => (float[1,1,3,3] y) <int64[4] s = {1, 1, 3, 3}> {
    y = Resize<coordinate_transformation_mode="tf_crop_and_resize", mode="linear", extrapolation_value=9.0>(x, r, , s)
}"""
NEAREST = """(float[1,1,4,3] x, float[1,1,3,2] g) => (float[1,1,1,3] y) <int64[4] s = {1, 1, 3, 2}> {
    grid = Reshape(g, s) y = GridSample<mode="nearest">(x, grid) }"""


def moved(text, tmp_path, **inputs):
    """How far strong noise moves each element at most."""
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> g {text}'), path)
    hub = to_hub(load(path))
    pair = Pair(hub, hub, {name: name for name in inputs}, {"y": "y"})
    (output,) = pair.strong(inputs, 0, False).values()
    return output.spread[0].reshape(-1, 3)


def test_a_border_that_is_reached_by_rounding_alone_may_be_missed(tmp_path):
    """Its last row is 1.45 * 3 - 1.45 * 3, the first one of the image where nothing is rounded."""
    found = moved(CROP, tmp_path, x=X, r=np.float32([0, 0, 1.4503223, 0, 0, 0, 0, 1]))
    assert found[2].min() > 1 and found[:2].max() < 1e-3


def test_a_border_that_is_reached_without_rounding_is_not(tmp_path):
    assert moved(CROP, tmp_path, x=X, r=np.float32([0, 0, 1, 0, 0, 0, 0, 1])).max() < 1e-5


@pytest.mark.parametrize(("place", "turns"), [(0.0, False), (-1 / 3, True)])
def test_the_nearest_element_turns_where_the_place_between_two_is_rounded(place, turns, tmp_path):
    """Of three elements, -1/3 lies between the first two."""
    grid = np.float32([[[[place, 0.1], [0.1, 0.1], [0.9, 0.1]]]])
    assert (moved(NEAREST, tmp_path, x=X[..., :3], g=grid)[0, 0] > 0) == turns


def test_weights_that_another_file_holds_rounded_are_no_difference(tmp_path):
    """Without antialias an older opset holds the weights of each size as constants of float32."""
    text = '(float[1,1,4,4] x, int64[4] s) => (float[1,1,3,3] y) { y = Resize<antialias=1, mode="cubic">(x, , , s) }'
    a, b = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> g {text}'), a)
    convert(a, b, opset=13, verify=0)
    pair = Pair(to_hub(load(a)), to_hub(load(b)), {"x": "x", "s": "s"}, {"y": "y"})
    random = np.random.default_rng(0)
    worst = 0.0
    for seed in range(200):
        inputs = {"x": random.standard_normal((1, 1, 4, 4)).astype(np.float32), "s": np.array([1, 1, 3, 3])}
        worst = max(worst, float(pair.evidence(inputs, seed, False).outputs["y"].units[0].max()))
    assert 0 < worst <= 1


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_positions_are_rounded_in_the_type_of_the_grid(mode, tmp_path):
    """Doubles at places of float32, which onnx's reference computes in float32 and NumPy here in float64."""
    text = f'(double[1,1,4,4] x, float[1,1,3,2] g) => (double[1,1,1,3] y) {{ y = GridSample<mode="{mode}">(x, g) }}'
    path = tmp_path / "m.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> g {text}'), path)
    grid = np.float32([[[[0.1, 0.3], [-0.2, 0.1], [0.7, -0.6]]]])
    feeds = {"x": X.astype(np.float64), "g": grid}
    hub = to_hub(load(path))
    output = Pair(hub, hub, {"x": "x", "g": "g"}, {"y": "y"}).evidence(feeds, 0, False).outputs["y"]
    (made,) = ReferenceEvaluator(onnx.load(path)).run(None, feeds)
    apart = np.abs(made - output.exact[0])
    assert apart.max() > 1e-9
    assert (apart <= 6 * output.spread[0]).all()
    assert output.spread[0].max() < 1e-5


@pytest.mark.parametrize(("off", "is_rounding"), [(0.0, True), (1e-4, False)])
def test_places_of_constant_offsets_that_another_file_holds_rounded(off, is_rounding, tmp_path):
    """Near 0 a share of an element is as exact as the place, which is far from it; another offset isn't rounding."""
    x, y = (np.random.default_rng(1).uniform(-3, 3, (1, 18, 3, 3)).astype(np.float32) + one for one in (0, off))

    def path(name, offset):
        text = f"""(float[1,1,5,5] x, float[1,1,3,3] w) => (float[1,1,3,3] y)
            <float[1,18,3,3] o = {{{", ".join(map(repr, offset.ravel().tolist()))}}}> {{ y = DeformConv (x, w, o) }}"""
        onnx.save(parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> g {text}'), tmp_path / name)
        return tmp_path / name

    a, b = path("a.onnx", x), tmp_path / "b.hlo"
    convert(path("b.onnx", y), b, verify=0)
    pair = Pair(to_hub(load(a)), to_hub(load(b)), {"x": "x", "w": "w"}, {"y": "y"})
    random, worst = np.random.default_rng(0), 0.0
    for seed in range(40):
        inputs = {"x": random.standard_normal((1, 1, 5, 5)), "w": random.standard_normal((1, 1, 3, 3))}
        inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
        worst = max(worst, float(pair.evidence(inputs, seed, False).outputs["y"].units[0].max()))
    assert (0 < worst <= 1) == is_rounding
