"""Who is at fault: operators alone in ONNX Runtime tell what is known from what isn't, and from faults of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.convert.files import load, to_hub
from backedge.runtime.kernels import KERNELS, norm

from .judging import DOUBT, EXECUTOR, EXPLAINED, Event, apart, shown
from .paths import Job, examine
from .running import Ours, run_file, run_in, run_made, run_onnx
from .settle import settled
from .truths import Truth, settle

Feed = dict[str, Any]

KNOWN: dict[str, tuple[str, Feed]] = {
    "ReduceSum": ("g (int32[2] x) => (int32[1] y) { y = ReduceSum (x) }", {"x": np.array([2**31 - 1, 1], np.int32)}),
    "Pow": ("g (int64[1] x) => (int64[1] y) { y = Pow (x, x) }", {"x": np.array([33])}),
    "Shrink": ("g (double[1] x) => (double[1] y) { y = Shrink (x) }", {"x": np.array([0.8119053995133262])}),
    "Cast": ("g (string[1] x) => (int32[1] y) { y = Cast <to = 6> (x) }", {"x": np.array(["1e3"], object)}),
    "Cast-": ("g (float[1] x) => (string[1] y) { y = Cast <to = 8> (x) }", {"x": np.float32([0.9999687])}),
    "LayerNormalization": (
        "g (double[1, 2] x, double[2] s) => (double[1, 2] y, float[1, 1] m) { y, m = LayerNormalization (x, s) }",
        {"x": np.full((1, 2), -np.inf), "s": np.ones(2)},
    ),
    "NonZero": ("g (float x) => (int64[r, n] y) { y = NonZero (x) }", {"x": np.array(3, np.float32)}),
    "SplitToSequence": (
        "g (float[1, 3] x, int64 s) => (seq(float) y) { y = SplitToSequence <axis = 0, keepdims = 0> (x, s) }",
        {"x": np.float32([[1, 2, 3]]), "s": np.array(1)},
    ),
    "MeanVarianceNormalization": (
        "g (float[2, 2] x) => (float[2, 2] y) { y = MeanVarianceNormalization <axes = [0]> (x) }",
        {"x": np.float32([[2, 1], [2, np.nan]])},
    ),
    "ReduceMax": ("g (float[2] x) => (float[1] y) { y = ReduceMax (x) }", {"x": np.float32([1, np.nan])}),
    "Normalizer": (
        'g (int32[1, 2] x) => (float[1, 2] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }',
        {"x": np.array([[65536, -1]], np.int32)},
    ),
    "Normalizer-": (
        'g (int64[1, 3] x) => (float[1, 3] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }',
        {"x": np.array([[2**32, 0, 1]])},
    ),
    "Normalizer-1": (
        'g (float[1, 3] x) => (float[1, 3] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }',
        {"x": np.float32([[-1.5, 0.5, 3e38]])},
    ),
    "DynamicQuantizeLinear": (
        "g (float[2] x) => (uint8[2] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }",
        {"x": np.float32([np.nan, 1])},
    ),
    "RNN": (
        """g (float[3, 1, 1] x, float[1, 1, 1] w, float[1, 1, 1] r) => (float[3, 1, 1, 1] y) {
            y = RNN <hidden_size = 1> (x, w, r) }""",
        {"x": np.full((3, 1, 1), 1.1e-6, np.float32), "w": np.float32([[[1]]]), "r": np.float32([[[32]]])},
    ),
    "Elu": ("g (float[1] x) => (float[1] y) { y = Elu (x) }", {"x": np.float32([-9.6843e-05])}),
    "LpPool": (
        """g (float[1, 1, 6] x) => (float[1, 1, 2] y) {
            y = LpPool <kernel_shape = [1], strides = [3], auto_pad = "SAME_UPPER"> (x) }""",
        {"x": np.arange(6, dtype=np.float32).reshape(1, 1, 6)},
    ),
}  # fmt: skip
"""What ONNX Runtime gives otherwise than our executor, which is known."""


def judged(text: str, feed: Feed, folder: Path, kind: str = DOUBT, opset: int = 21) -> tuple[float, Event]:
    """How far ONNX Runtime and our executor are apart, and what becomes of the event that tells it."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}, "ai.onnx.ml" : 3]> {text}')
    path = folder / "m.onnx"
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    theirs = list(onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feed))
    hub = to_hub(load(path))
    ours = list(Ours(hub).run(feed)[0].values())
    agreed = theirs if kind == EXECUTOR else None
    truth = Truth([agreed], [64.0], [theirs], [True], True)
    return apart(ours, theirs), settle(Event("source", kind, shown(theirs, ours), 0), hub, feed, truth, path)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_told(name: str, tmp_path: Path) -> None:
    distance, event = judged(*KNOWN[name], tmp_path)
    assert distance > 64
    assert event.kind == EXPLAINED
    assert event.text.startswith(name)


def test_the_reference_is_the_third_judge(tmp_path: Path) -> None:
    """ONNX Runtime multiplies before it takes the mean off, and loses the bias."""
    text = "g (float[1, 1, 1] x, float[1] s) => (float[1, 1, 1] y) { y = InstanceNormalization (x, s, s) }"
    distance, event = judged(text, {"x": np.float32([[[1879]]]), "s": np.float32([0.001776])}, tmp_path)
    assert distance > 64
    assert event.kind == EXPLAINED
    assert event.text.startswith(
        "InstanceNormalization-22: onnx's reference gives what we do, float32[1, 1, 1] 0.001776,"
    )


@pytest.mark.parametrize("limit", [2**30, 2**31 - 1])
def test_what_nobody_defines_is_no_truth(limit: int, tmp_path: Path) -> None:
    """A sum of integers within the type, and one that leaves it."""
    path = tmp_path / "m.onnx"
    text = "g (int32[2] x) => (int32[1] y) { y = ReduceSum (x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    _, told = Ours(to_hub(load(path))).run({"x": np.array([limit, 1], np.int32)})
    assert bool(told) == (limit > 2**30)


BIG, LONG_STEP = np.float32(3e38), np.float32(0.1)

UNDEFINED: dict[str, tuple[str, Feed, Feed]] = {
    "Resize of no number": (
        'g (float[1, 1, 2] x, float[3] s) => (float[1, 1, 4] y) { y = Resize <mode = "linear"> (x, , s) }',
        {"x": np.float32([[[1, np.nan]]]), "s": np.float32([1, 1, 2])},
        {"x": np.float32([[[1, 2]]]), "s": np.float32([1, 1, 2])},
    ),
    "Resize of infinity": (
        'g (float[1, 1, 2] x, float[3] s) => (float[1, 1, 4] y) { y = Resize <mode = "linear"> (x, , s) }',
        {"x": np.float32([[[1, np.inf]]]), "s": np.float32([1, 1, 2])},
        {"x": np.float32([[[1, BIG]]]), "s": np.float32([1, 1, 2])},
    ),
    "LRN of no number": (
        "g (float[1, 2, 1, 1] x) => (float[1, 2, 1, 1] y) { y = LRN <size = 1> (x) }",
        {"x": np.float32([[[[np.nan]], [[1]]]])},
        {"x": np.float32([[[[2]], [[1]]]])},
    ),
    "MatMul": (
        "g (float[1, 3] x, float[3, 1] w) => (float[1, 1] y) { y = MatMul (x, w) }",
        {"x": np.float32([[BIG, BIG, -BIG]]), "w": np.float32([[1], [1], [1]])},
        {"x": np.float32([[np.inf, 1, -1]]), "w": np.float32([[1], [1], [1]])},
    ),
    "ReduceSum": (
        "g (float[3] x) => (float[1] y) { y = ReduceSum (x) }",
        {"x": np.float32([BIG, BIG, -BIG])},
        {"x": np.float32([BIG, np.inf, np.nan])},
    ),
    "ReduceProd": (
        "g (float16[4] x) => (float16[1] y) { y = ReduceProd (x) }",
        {"x": np.float16([300, 300, 1e-4, 0])},
        {"x": np.float16([300, 200, 0, np.nan])},
    ),
    "Range": (
        "g (float a, float b, float c) => (float[n] y) { y = Range (a, b, c) }",
        {"a": np.float32(0), "b": np.float32(2000), "c": LONG_STEP},
        {"a": np.float32(0), "b": np.float32(2000), "c": np.float32(0.125)},
    ),
    "Einsum": (
        'g (float[1] x, float[2] w) => (float[1] y) { y = Einsum <equation = "i,j->i"> (x, w) }',
        {"x": np.float32([np.inf]), "w": np.float32([1, -0.5])},
        {"x": np.float32([2]), "w": np.float32([1, -0.5])},
    ),
    "ConvInteger": (
        "g (int8[1, c, 2, 2] x, int8[1, c, k, l] w) => (int32[1, 1, h, v] y) { y = ConvInteger (x, w) }",
        {"x": np.ones((1, 0, 2, 2), np.int8), "w": np.ones((1, 0, 1, 1), np.int8)},
        {"x": np.ones((1, 1, 2, 2), np.int8), "w": np.ones((1, 1, 1, 1), np.int8)},
    ),
    "ArgMax": (
        "g (float[1, 2] x) => (int64[1, 1] y) { y = ArgMax <axis = 1> (x) }",
        {"x": np.float32([[1, np.nan]])},
        {"x": np.float32([[1, np.inf]])},
    ),
}
"""What has no truth, and what has one beside it."""


@pytest.mark.parametrize("name", UNDEFINED)
def test_what_comes_of_the_order_of_sums_is_no_truth(name: str, tmp_path: Path) -> None:
    text, feed, other = UNDEFINED[name]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    session = Ours(to_hub(load(path)))
    told, untold = (session.run({key: np.asarray(value) for key, value in one.items()})[1] for one in (feed, other))
    assert told.startswith(name.split()[0])
    assert not untold


def test_a_step_added_up_is_another_range(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = UNDEFINED["Range"][0]
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    feed = {"a": np.float32(0), "b": np.float32(2000), "c": LONG_STEP}
    run = run_file("onnxruntime", path, [{key: np.asarray(value) for key, value in feed.items()}], ["y"])
    assert run.outputs[0]
    multiplied = np.arange(run.outputs[0][0].size, dtype=np.float32) * LONG_STEP
    assert np.abs(run.outputs[0][0] - multiplied).max() > 1e-2


@pytest.mark.parametrize("given", [2, 1])
def test_sizes_that_a_body_declares_otherwise_are_no_truth(given: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = """g (float[?] x, int64 m) => (float[k] y) { c = Constant <value = bool {1}> ()
        y = Loop (m, c, x) <body = b (int64 i, bool g, float[2] v) => (bool h, float[2] w) {
            h = Identity (g) w = Neg (v) }> }"""
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    _, told = Ours(to_hub(load(path))).run({"x": np.zeros(given, np.float32), "m": np.array(1)})
    assert bool(told) == (given != 2)


@pytest.mark.parametrize("stride", [1, 2])
def test_pads_below_nothing_are_no_truth(stride: int, tmp_path: Path) -> None:
    """ONNX Runtime takes them for 0 in other operators, and refuses them here, and only here."""
    path = tmp_path / "m.onnx"
    text = f"""g (float[1, 1, 4] x) => (float[1, 1, n] y) {{
        y = MaxPool <auto_pad = "SAME_LOWER", kernel_shape = [1], strides = [{stride}]> (x) }}"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    onnx.save(model, path)
    feed = {"x": np.arange(4, dtype=np.float32).reshape(1, 1, 4)}
    ours, told = Ours(to_hub(load(path))).run(feed)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    assert bool(told) == (stride == 2)
    if told:
        with pytest.raises(Exception, match="padding values must be non-negative"):
            session.run(None, feed)
    else:
        np.testing.assert_array_equal(session.run(None, feed)[0], ours["y"], strict=True)


@pytest.mark.parametrize(
    ("text", "feed"),
    [
        ("g (float[n] x, float[0] s) => (float[m] y) { y = PRelu (x, s) }", {"x": np.ones(1), "s": np.ones(0)}),
        (
            "g (float[a, b] x, int64[1, 2, 1] k) => (float[c, d] y) { y = GatherND <batch_dims = 1> (x, k) }",
            {"x": np.ones((2, 1)), "k": np.zeros((1, 2, 1))},
        ),
        (
            """g (int64 n, float[1, 2] x) => (float[a, b, c] y) {
                z, y = Loop (n, , x) <body = b (int64 i, bool go, float[p, q] v)
                    => (bool on, float[q, p] w, float[p, q] u) {
                    on = Identity (go) w = Transpose (v) u = Identity (v) }> }""",
            {"n": np.array(2), "x": np.ones((1, 2))},
        ),
        (
            """g (float[1, 1, n] x) => (float[1, 1, m] y) {
                y = AveragePool <kernel_shape = [2], strides = [2], count_include_pad = 1> (x) }""",
            {"x": np.ones((1, 1, 1))},
        ),
    ],
)
def test_what_only_onnx_runtime_takes_is_no_error_of_ours(text: str, feed: dict, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    feed = {name: value.astype(np.int64 if name in ("k", "n") else np.float32) for name, value in feed.items()}
    assert run_file("onnxruntime", path, [feed], ["y"]).outputs[0] is not None
    run = run_in(Ours(to_hub(load(path))), [feed], ["y"])
    assert run.outputs == [None] and run.errors[0].startswith("fault: ")


@pytest.mark.parametrize("runs", [True, False])
def test_what_is_not_run_of_the_model_either_is_no_fault_of_the_file(runs: bool, tmp_path: Path) -> None:
    """Indices beyond the data, which ONNX Runtime refuses."""
    source, made = tmp_path / "source.onnx", tmp_path / "made.onnx"
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x, int64 k) => (float y) { y = %s }'
    onnx.save(onnx.parser.parse_model(text % ("ReduceSum <keepdims = 0> (x)" if runs else "Gather (x, k)")), source)
    onnx.save(onnx.parser.parse_model(text % "Gather (x, k)"), made)
    feed = {"x": np.ones(2, np.float32), "k": np.array(5)}
    (error,) = run_made(made, source, [feed], ["y"]).errors
    assert error and error.startswith("fault: ") != runs


@pytest.mark.parametrize(("value", "told"), [(0.1765017, True), (0.0, False)])
def test_a_mean_off_by_rounding_is_no_truth(value: float, told: bool, tmp_path: Path) -> None:
    """Of three equal numbers: divided by 3, or multiplied by its reciprocal, their sum is another one."""
    x = np.full(3, value, np.float32)
    mean = x.sum(dtype=np.float32) * (np.float32(1) / np.float32(3))
    assert (abs(mean - x[0]) > 1e-9) == told
    path = tmp_path / "m.onnx"
    text = "g (float[1, 3] x) => (float[1, 3] y) { y = MeanVarianceNormalization <axes = [1]> (x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    _, found = Ours(to_hub(load(path))).run({"x": x[None]})
    assert bool(found) == told


@pytest.mark.parametrize(("start", "told"), [(0.49999994, True), (0.5, False)])
def test_how_many_a_range_has_by_rounding_is_no_truth(start: float, told: bool, tmp_path: Path) -> None:
    """ONNX Runtime counts in float64, OpenVINO in float32."""
    path, made = tmp_path / "m.onnx", tmp_path / "m.xml"
    text = "g (float a, float b, float c) => (float[n] y) { y = Range (a, b, c) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    convert(path, made, verify=0)
    feed = {name: np.array(value, np.float32) for name, value in zip("abc", (start, 5.5, 0.5), strict=True)}
    wide, narrow = (
        run_file(by, at, [feed], ["y"]).outputs[0] for by, at in (("onnxruntime", path), ("openvino", made))
    )
    assert wide and narrow and (len(wide[0]) != len(narrow[0])) == told
    _, found = Ours(to_hub(load(path))).run(feed)
    assert bool(found) == told


@pytest.mark.parametrize(("scale", "told"), [(3e38, True), (1e30, False)])
def test_a_scale_that_overflows_by_the_order_of_products_is_no_truth(scale: float, told: bool, tmp_path: Path) -> None:
    """Some formulas divide it by the deviation first, the definition multiplies last."""
    path = tmp_path / "m.onnx"
    text = "g (float[1, 1, 2] x, float[1] s, float[1] b) => (float[1, 1, 2] y) { y = InstanceNormalization (x, s, b) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), path)
    x, b = np.float32([[[-0.5, 0]]]), np.float32([100])
    deviation = np.sqrt(np.var(x) + np.float32(1e-5))
    with np.errstate(over="ignore", invalid="ignore"):
        first, last = ((x - x.mean()) * (np.float32(scale) / deviation), (x - x.mean()) / deviation * np.float32(scale))
    assert (np.isfinite(first) != np.isfinite(last)).any() == told
    _, found = Ours(to_hub(load(path))).run({"x": x, "s": np.float32([scale]), "b": b})
    assert bool(found) == told


def test_what_two_runtimes_give_is_no_fault_of_theirs(tmp_path: Path) -> None:
    _, event = judged(*KNOWN["Shrink"], tmp_path, EXECUTOR)
    assert event.kind == EXECUTOR


def test_operators_are_run_in_the_version_that_the_model_has(tmp_path: Path) -> None:
    """ONNX Runtime has no kernel of halves for the hub's RoiAlign, which is of version 22; it passes NaN on."""
    text = """g (float16[1, 1, 3, 3] x, float16[1, 4] r, int64[1] i) => (float16[1, 1, 2, 2] y) {
        y = RoiAlign <output_height = 2, output_width = 2, coordinate_transformation_mode = "half_pixel"> (x, r, i) }"""
    x = np.float16([1, 2, 3, 4, 5, 6, np.nan, 8, 9]).reshape(1, 1, 3, 3)
    feed = {"x": x, "r": np.float16([[0, 0, 2, 2]]), "i": np.array([0])}
    distance, event = judged(text, feed, tmp_path, opset=16)
    assert distance > 64
    assert event.kind == EXPLAINED
    assert event.text.startswith("RoiAlign-22: nobody defines RoiAlign of NaN")


@pytest.mark.parametrize(("shape", "is_limit"), [((2, 0, 1), True), ((0, 2, 1), False)])
def test_pools_of_no_channels_are_a_limit_of_onnxruntime(
    shape: tuple[int, ...], is_limit: bool, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    text = "g (double[a, b, c] x) => (double[a, b, d] y) { y = MaxPool <kernel_shape = [1]> (x) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    run = run_onnx(path, [{"x": np.zeros(shape)}], ["y"])
    assert (run.outputs == [None]) == run.errors[0].startswith("fault: ") == is_limit
    (ours,) = Ours(to_hub(load(path))).run({"x": np.zeros(shape)})[0].values()
    assert ours.shape == shape


def test_what_an_older_version_is_made_of_is_not_its_kernel(tmp_path: Path) -> None:
    """Scales that are given at run time let the hub's Resize be made of Gathers in version 9, which has an Upsample."""
    text = 'g (int32[1, 4] x, float[2] s) => (int32[a, b] y) { y = Upsample <mode = "linear"> (x, s) }'
    feed = {"x": np.int32([[6, 6, -4, 6]]), "s": np.float32([1, 1.5])}
    distance, event = judged(text, feed, tmp_path, opset=9)
    assert distance > 64
    assert event.kind == EXPLAINED
    assert event.text.startswith("Resize-19: Resize is given integers")


def test_what_rounding_decides_is_nobodys_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The logarithm of a sum that cancels by the order it is made in; and a wrong one of a sum that doesn't."""
    text = "g (float[4] x) => (float[1] y) { y = ReduceLogSum (x) }"
    x = np.float32([3.7, 9.0, 8.4, -21.099998474121094])
    distance, event = judged(text, {"x": x}, tmp_path, EXECUTOR)
    assert distance > 64
    assert event.kind == EXPLAINED
    monkeypatch.setitem(KERNELS, ("", "ReduceLogSum"), lambda attrs, x, *_: np.log(np.abs(x).sum(keepdims=True)))
    distance, event = judged(text, {"x": x + 1}, tmp_path, EXECUTOR)
    assert distance > 64
    assert event.kind == EXECUTOR


def test_what_all_feeds_show_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KERNELS, ("", "Neg"), lambda attrs, x: x)
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
    )
    feeds: list[Any] = [{"x": np.float32([k, 1])} for k in range(4)]
    found = [event for event in examine(Job(model.SerializeToString(), feeds, paths=())) if event.kind]
    assert [(event.path, event.kind) for event in found] == [("source", EXECUTOR)]


def test_an_operator_within_a_loop_is_found(tmp_path: Path) -> None:
    text = """g (int64 n, double x) => (double y) { c = Constant <value = bool {1}> ()
        y = Loop (n, c, x) <body = b (int64 i, bool g, double v) => (bool h, double w) {
            h = Identity (g) w = Shrink <lambd = 0.0, bias = 0.25> (v) }> }"""
    _, event = judged(text, {"n": np.array(2), "x": np.array(0.8119053995133262)}, tmp_path)
    assert event.kind == EXPLAINED
    assert event.text == "Shrink-9: ONNX Runtime computes in float32"


@pytest.mark.parametrize(("kind", "told"), [(DOUBT, EXPLAINED), (EXECUTOR, EXECUTOR)])
def test_sizes_of_what_is_stacked_over_no_passes_are_nobodys(kind: str, told: str, tmp_path: Path) -> None:
    """ONNX Runtime takes them for 0 where they aren't declared, whatever a body makes."""
    text = """g (int64 n, float[2, 2] x) => (float[c, d] y) { t = Constant <value = bool {1}> ()
        last, all = Loop (n, t, x) <body = b (int64 i, bool g, float[p, q] v)
            => (bool h, float[p, q] w, float[p, q] z) { h = Identity (g) w = Identity (v) z = Neg (v) }>
        a = Constant <value = int64[1] {0}> () y = ReduceProd <keepdims = 0> (all, a) }"""
    distance, event = judged(text, {"n": np.array(0), "x": np.float32([[1, 2], [3, 4]])}, tmp_path, kind)
    assert distance > 64
    assert event.kind == told


def test_a_fault_of_ours_is_none_of_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "g (float[1, 1, 2, 2] x, float[1] s) => (float[1, 1, 2, 2] y) { y = InstanceNormalization (x, s, s) }"
    feed = {"x": np.float32([[[[1, 2], [3, 5]]]]), "s": np.float32([1])}
    distance, _ = judged(text, feed, tmp_path)
    assert distance < 64
    monkeypatch.setattr(norm, "_standardized", lambda attrs, x, axes: (x, x, x))
    distance, event = judged(text, feed, tmp_path)
    assert distance > 64
    assert event.kind == DOUBT
    assert "InstanceNormalization-22: " in event.text


def test_operands_that_nobody_takes(tmp_path: Path) -> None:
    """ONNX Runtime adds [0, 2] and [0, 0]; onnx's reference refuses them as we do."""
    text = "g (float[0, n] x, float[0, k] y) => (float[0, m] z) { z = Sum (x, y) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    found = settled(to_hub(load(path)), {"x": np.zeros((0, 2), np.float32), "y": np.zeros((0, 0), np.float32)})
    assert found.refused
    assert not found.outputs


def test_operands_that_nobody_defines(tmp_path: Path) -> None:
    """ONNX Runtime and onnx's reference pad an axis once or twice that is named twice; ONNX leaves it undefined."""
    text = "g (float[2] x, int64[2] a) => (float[m] y) <int64[4] p = {1, 1, 0, 0}> { y = Pad (x, p, , a) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    x = np.zeros(2, np.float32)
    assert settled(to_hub(load(path)), {"x": x, "a": np.array([0, -1])}).refused


def test_sizes_that_nobody_defines(tmp_path: Path) -> None:
    """ONNX Runtime makes nothing of sizes below 0, and leaves all where the difference from a size overflows."""
    text = "g (float[3] x, int64[1] n) => (float[m] y) { y = CenterCropPad (x, n) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    graph, x = to_hub(load(path)), np.zeros(3, np.float32)
    (told,) = settled(graph, {"x": x, "n": np.array([-(2**63) + 3])}).known
    assert told.startswith("CenterCropPad-18: nobody defines")
    found = settled(graph, {"x": x, "n": np.array([-(2**63) + 4])})
    assert not found.known
    assert found.outputs[0].shape == (0,)


def test_places_that_int64_does_not_hold(tmp_path: Path) -> None:
    """ONNX Runtime finds an element there; what is out of bounds is 0."""
    text = "g (float[1, 1, 1, 1] x, float[1, 1, 1, 2] g) => (float[a, b, c, d] y) { y = GridSample (x, g) }"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 20]> {text}'), path)
    graph, x = to_hub(load(path)), np.ones((1, 1, 1, 1), np.float32)
    for place, known in ((1e30, True), (1e15, False)):
        found = settled(graph, {"x": x, "g": np.float32([[[[0, place]]]])})
        assert bool(found.known) == known
        assert not found.unknown
