"""What is excused of models with operators that runtimes compute inexactly."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load, to_hub
from trust.judge import ROUNDING

from .inexact import MOST, largest, noises
from .judging import FINDINGS, Noisy, apart
from .paths import Job, examine


def carried(*given: Any, most: float = MOST) -> float:
    return largest(noises(*given, most=most), most)


CASES = {
    "y = DFT<axis=1>(x)": True,
    "c = Constant<value=float {1e-4}>() s = Mul(x, c) y = Erf(s)": True,
    "c = Constant<value=float {3.0}>() y = Div(x, c)": False,
}


@pytest.mark.parametrize("text", CASES)
def test_noise_is_that_of_inexact_operators(text: str, tmp_path) -> None:
    model = onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]> g (float[40,7,2] x) => (float[40,7,2] y) {{ {text} }}'
    )
    onnx.save(model, tmp_path / "m.onnx")
    feed = {"x": np.random.default_rng(2).normal(size=(40, 7, 2)).astype(np.float32)}
    found = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    noise = carried(to_hub(load(tmp_path / "m.onnx")), feed, found, apart)
    assert (4 * noise > ROUNDING) == CASES[text]
    if "DFT" in text:
        both = np.fft.fft(feed["x"][..., 0].astype(float) + 1j * feed["x"][..., 1].astype(float))
        right = np.stack([both.real, both.imag], axis=-1).astype(np.float32)
        assert ROUNDING < apart([right], found) <= 4 * noise


def test_a_loss_near_0_is_what_rounding_leaves(tmp_path) -> None:
    """The logarithm of a Softmax of nearly 1, as ONNX's text and some runtimes have it."""
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[1, 4] x) => (float y) <int64[1] t = {2}> {
        y = SoftmaxCrossEntropyLoss (x, t) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = np.float32([[0.724649, 11.41506, 19.750095, 4.7454305]])
    wide = x.astype(np.float64)
    right = [np.float32(np.log(np.exp(wide - wide[0, 2]).sum()))]
    parts = np.exp(x - x.max())
    written_out = [-np.log((parts / parts.sum())[0, 2])]
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": x}, right, apart)
    assert ROUNDING < apart(right, written_out) <= 4 * noise


def test_the_tail_of_a_share_is_off_by_a_share_of_its_operand(tmp_path) -> None:
    """XLA's tanh of -13 isn't -1 but the number above the next."""
    text = """<ir_version: 9, opset_import: ["": 20]> g (float[2] x) => (float[2] y) {
        y = Gelu<approximate = "tanh"> (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = np.float32([-0.1, -7.25472975])
    right = [np.float32([-0.046017, 0])]
    xla = [np.float32([-0.046017, -6.4862337e-07])]
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": x}, right, apart)
    assert ROUNDING < apart(right, xla) <= 4 * noise


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_logarithm_of_exponentials_near_0_is_what_rounding_leaves(kind: type[np.floating[Any]], tmp_path) -> None:
    """Of one number, as ONNX's text and some runtimes have it; less the largest one before there is no error."""
    name = {np.float32: "float", np.float64: "double"}[kind]
    text = f'<ir_version: 9, opset_import: ["": 18]> g ({name}[2] x) => ({name}[1] y) {{ y = ReduceLogSumExp (x) }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = np.array([0.00010391088383425218, -np.inf], kind)
    written_out = np.log(np.exp(x).sum(keepdims=True))
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": x}, [x[:1]], apart)
    assert ROUNDING < apart([x[:1]], [written_out]) <= 4 * noise


@pytest.mark.parametrize(("far", "told"), [(0.004, True), (4.0, False)])
def test_what_a_mean_leaves_of_near_numbers_is_told(far: float, told: bool, tmp_path) -> None:
    x = np.float32([1 - far / 4, 1 + far, 1])
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[3] x) => (float[3] y) {
        y = MeanVarianceNormalization <axes = [0]> (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    apart_from_mean = x.astype(np.float64) - x.astype(np.float64).mean()
    right = [(apart_from_mean / x.astype(np.float64).std()).astype(np.float32)]
    in_singles = x - x.mean(dtype=np.float32)
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": x}, right, apart)
    assert (4 * noise > ROUNDING) == told
    assert apart(right, [in_singles / np.sqrt(np.mean(in_singles**2))]) <= max(4 * noise, ROUNDING)


@pytest.mark.parametrize(("factor", "turns"), [(1.0, True), (1.25, False)])
def test_a_whole_number_that_rounding_decides_on_is_told(factor: float, turns: bool, tmp_path) -> None:
    """The middle of the window is 1, or less by a rounding error."""
    text = f"""<ir_version: 9, opset_import: ["": 18]> g (int64 n) => (int64[n] y) {{ w = BlackmanWindow(n)
        c = Constant<value=float {{{factor}}}>() s = Mul(w, c) y = Cast<to=7>(s) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    right = np.zeros(6, np.int64)
    right[3] = 1
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"n": np.array(6)}, [right], apart)
    assert noise == (np.inf if turns else 0)


@pytest.mark.parametrize(("x", "turns"), [(-1e-4, True), (-0.5, False)])
def test_a_comparison_that_rounding_decides_on_is_told(x: float, turns: bool, tmp_path) -> None:
    """asin(-1e-4) is nearer to -1e-4 than a unit of float32."""
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[1] x) => (bool[1] y) { a = Asin(x) y = Greater(x, a) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    feed = {"x": np.array([x], np.float32)}
    noise = carried(to_hub(load(tmp_path / "m.onnx")), feed, [np.array([not turns])], apart)
    assert noise == (np.inf if turns else 0)


@pytest.mark.parametrize(("step", "turns"), [("Ceil", True), ("Sign", True), ("Neg", False)])
def test_a_step_of_what_waves_leave_is_told(step: str, turns: bool, tmp_path) -> None:
    """One wave's part in the others is 0 or a rounding error, and rounded up 0 or 1."""
    text = f"""<ir_version: 9, opset_import: ["": 18]> g (float[1,7,1] x) => (float[1,7,2] y) {{
        w = DFT<axis=1>(x) y = {step}(w) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    feed = {"x": np.cos(2 * np.pi / 7 * np.arange(7, dtype=np.float32)).reshape(1, 7, 1)}
    theirs = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, feed)
    noise = carried(to_hub(load(tmp_path / "m.onnx")), feed, theirs, apart)
    assert np.isinf(noise) == turns


@pytest.mark.parametrize(("step", "turns"), [("Unique", True), ("Abs", False)])
def test_how_many_are_equal_is_told_where_rounding_makes_them_so(step: str, turns: bool, tmp_path) -> None:
    """The halves of a window, of which runtimes find each number once or twice."""
    text = f"""<ir_version: 9, opset_import: ["": 18]> g (int64 n) => (float[m] y) {{
        w = HammingWindow(n) y = {step}(w) }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    window = (25 / 46 - 21 / 46 * np.cos(2 * np.pi * np.arange(3) / 3)).astype(np.float32)
    right = window[:2] if turns else window
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"n": np.array(3)}, [right], apart)
    assert np.isinf(noise) == turns


@pytest.mark.parametrize(("x", "turns"), [([0.1, 0.2, -0.3], True), ([0.1, 0.2, 0.3], False)])
def test_the_logarithm_of_a_sum_that_cancels_is_told(x: list[float], turns: bool, tmp_path) -> None:
    text = '<ir_version: 9, opset_import: ["": 18]> g (float[3] x) => (float[1] y) { y = ReduceLogSum(x) }'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with np.errstate(all="ignore"):
        right = np.log(np.sum(np.float32(x), dtype=np.float32, keepdims=True))
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": np.float32(x)}, [right], apart, most=np.inf)
    assert np.isinf(noise) == turns


@pytest.mark.parametrize(("third", "turns"), [(-0.1614241600036621, True), (-0.163, False)])
def test_a_step_that_the_way_to_divide_decides_on_is_told(third: float, turns: bool, tmp_path) -> None:
    text = """<ir_version: 8, opset_import: ["": 12]> g (float[4] x) => (uint8[4] y) {
        y, s, z = DynamicQuantizeLinear (x) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = np.array([0.9685449600219727, 0.9685449600219727, third, -0.6456966400146484], np.float32)
    span, one, most = x.max() - x.min(), np.float32(1), np.float32(255)
    divided, multiplied = (
        np.clip(np.rint(x / scale) + np.rint(-x.min() / scale), 0, 255).astype(np.uint8)
        for scale in (span / most, span * (one / most))
    )
    assert np.array_equal(divided, multiplied) != turns
    noise = carried(to_hub(load(tmp_path / "m.onnx")), {"x": x}, [divided], apart)
    assert noise == (np.inf if turns else 0)


@pytest.mark.parametrize(("scale", "turns"), [(7.0, True), (2.0, False)])
def test_a_tie_of_a_scale_known_at_run_time_is_told(scale: float, turns: bool, tmp_path) -> None:
    """45.5 / 7 lies between two steps, its product with the reciprocal doesn't; 7 / 2 and its product both do."""
    text = """<ir_version: 9, opset_import: ["": 19]> g (float[3] x, float s, uint8 z) => (uint8[3] y) {
        y = QuantizeLinear (x, s, z) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    scaled = np.float32(scale)
    x = (np.arange(5, 8, dtype=np.float32) + np.float32(0.5)) * scaled
    divided, multiplied = np.rint(x / scaled), np.rint(x * (np.float32(1) / scaled))
    assert np.array_equal(divided, multiplied) != turns
    feed = {"x": x, "s": np.array(scaled), "z": np.array(0, np.uint8)}
    noise = carried(to_hub(load(tmp_path / "m.onnx")), feed, [divided.astype(np.uint8)], apart)
    assert noise == (np.inf if turns else 0)


@pytest.mark.parametrize(
    ("step", "turns"),
    [
        *(("y = Acosh(h)", True), ("y = Unique(h)", True), ("y = Cast<to = 7>(h)", True), ("y = Neg(h)", False)),
        *(("y = ArgMax(h)", True), ("y = Hardmax(h)", True), ("y = Floor(h)", True)),
    ],
)
@pytest.mark.parametrize("divisor", [41.0, 2.0])
@pytest.mark.parametrize(("kind", "dtype"), [("float", np.float32), ("float16", np.float16)])
def test_a_quotient_by_itself_is_told_where_a_step_follows(
    step: str, turns: bool, divisor: float, kind: str, dtype: type[np.floating[Any]], tmp_path
) -> None:
    """41 / 41 is less than 1 by the reciprocal, 2 / 2 isn't; OpenVINO takes that of halves as float32."""
    text = f"g ({kind}[2] x) => (y) {{ d = Div(x, x) h = Cast<to = 1>(d) {step} }}"
    text = f'<ir_version: 9, opset_import: ["": 18]> {text}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    feed = {"x": dtype([divisor, 1])}
    theirs = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, feed)
    noise = carried(to_hub(load(tmp_path / "m.onnx")), feed, theirs, apart)
    assert np.isinf(noise) == (turns and divisor == 41)
    assert noise <= 1 or np.isinf(noise)


def test_an_output_that_is_all_noise_doesnt_hide_the_others(tmp_path) -> None:
    """What two equal exponentials leave, and the tail of Gelu, where 1 and erf cancel."""
    text = """<ir_version: 9, opset_import: ["": 20]> g (float[3] x, float[3] z) => (float[3] y, float[3] w) {
        p = Exp(x) q = Exp(x) y = Sub(p, q) w = Gelu(z) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    feed = {"x": np.float32([0.1, 0.2, 0.3]), "z": np.float32([-3.2, -0.3, 0.1])}
    theirs = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, feed)
    graph = to_hub(load(tmp_path / "m.onnx"))
    noise = carried(graph, feed, theirs, apart)
    assert ROUNDING < 4 * noise < 2.0**16
    moved = [theirs[0], theirs[1] - np.float32([1e-3, 0, 0])]
    assert apart(theirs, moved) > 4 * noise


@pytest.mark.parametrize("value", [2e-3, 1.0])
def test_an_output_that_is_all_noise_has_a_limit_of_its_own(value: float, tmp_path) -> None:
    """The tangent near a right angle; another output beside it is compared as ever."""
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[1] x, float[1] z) => (float[1] y, float[1] w) {
        a = Acos(x) y = Tan(a) w = Neg(z) }"""
    model = onnx.parser.parse_model(text)
    feed = {"x": np.float32([0]), "z": np.float32([value])}
    feeds = [feed, feed]
    job = Job(model.SerializeToString(), feeds, paths=())
    assert [event for event in examine(job) if event.kind in FINDINGS] == []
    onnx.save(model, tmp_path / "m.onnx")
    theirs = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    found = noises(to_hub(load(tmp_path / "m.onnx")), feed, theirs, apart)
    assert found[0] > MOST and found[1] == 0
    right = [Noisy(theirs[0], np.inf), theirs[1]]
    assert apart(right, [np.float32([1]), theirs[1]]) == 0
    assert apart(right, [theirs[0], np.float32([value * 1.001])]) > ROUNDING


def test_a_double_of_float32_is_compared_as_that(tmp_path) -> None:
    text = """<ir_version: 9, opset_import: ["": 18]> g (float[1] x) => (double[1] y) {
        c = Cosh(x) y = Cast<to = 11>(c) }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    x = np.float32([1])
    right = [np.cosh(x).astype(np.float64)]
    (noise,) = noises(to_hub(load(tmp_path / "m.onnx")), {"x": x}, right, apart)
    near, far = (right[0] * (1 + step) for step in (2.0**-24, 2.0**-12))
    assert MOST < apart(right, [near]) <= 4 * noise < apart(right, [far])
