"""Special values: what sees them, and what runtimes are known to make of them."""

import math

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert, verify
from backedge.convert.files import load, to_hub
from backedge.runtime.compare.runnables import Runnable
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.signature import Designed
from backedge.runtime.compare.special import HABITS, known_habit
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import Outcome, run_file
from backedge.runtime.special_values import SpecialValues, special_kinds
from onnx.reference import ReferenceEvaluator

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g '
NAN, INF = math.nan, math.inf
X = np.array([[NAN, 1, 2], [1, NAN, 2], [2, 1, NAN], [1, 3, 2]], np.float32)


def saved(text, folder):
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


def watched(text, folder, **inputs):
    return SpecialValues(to_hub(load(saved(text, folder)))).run(inputs)


def test_operators_see_what_their_operands_hold(tmp_path):
    text = "(float[N] x) => (float[N] y) { u = Log(x) y = Add(u, x) }"
    assert watched(text, tmp_path, x=np.array([1.0, 2.0], np.float32)) == {}
    assert watched(text, tmp_path, x=np.array([1.0, 0.0], np.float32)) == {"Add": ["inf"]}
    assert watched(text, tmp_path, x=np.array([1.0, -1.0], np.float32)) == {"Add": ["nan"]}
    small, large = np.array([1e-45], np.float32), np.array([3e9], np.float32)
    assert watched(text, tmp_path, x=small) == {"Log": ["denormal"], "Add": ["denormal"]}
    assert watched(text, tmp_path, x=large) == {"Log": ["huge"], "Add": ["huge"]}
    assert watched(text, tmp_path, x=np.array([-0.0], np.float32)) == {"Log": ["-0"], "Add": ["-0", "inf"]}


def test_unique_slices_that_part_in_the_sign_of_a_zero_are_no_difference(tmp_path):
    """OpenVINO's CPU finds three of them in one process and four in another, ONNX Runtime and NumPy always three."""
    x = np.array(
        [[[0, -0.0], [-0.0, -0.0], [-0.0, 0], [-0.0, 0.4]], [[-1, -1.5], [0, 0], [0, 0], [-0.0, -0.0]]], np.float32
    )
    path = saved("(float[2,4,2] x) => (float[2,N,2] y) { y = Unique<axis=1>(x) }", tmp_path)
    assert convert(path, tmp_path / "m.xml", verify=0).verdict == "unverified"
    report = verify(path, tmp_path / "m.xml", inputs=[{"x": x}])
    assert report.verdict != "different"
    seen = watched("(float[2,4,2] x) => (float[2,N,2] y) { y = Unique<axis=1>(x) }", tmp_path, x=x)
    assert "sign of their zeros" in known_habit("openvino", seen) and not known_habit("onnxruntime", seen)


def test_unique_numbers_beside_nan_are_no_difference(tmp_path):
    """ONNX Runtime gives 1 and 2 of these, OpenVINO all three as they stand."""
    text = "(float[3] x) => (float[N] y) { y = Unique(x) }"
    x = np.array([1, np.nan, 2], np.float32)
    path = saved(text, tmp_path)
    convert(path, tmp_path / "m.xml", verify=0)
    assert verify(path, tmp_path / "m.xml", inputs=[{"x": x}]).verdict != "different"
    seen = watched(text, tmp_path, x=x)
    assert "is given NaN" in known_habit("openvino", seen) and "is given NaN" in known_habit("onnxruntime", seen)


def test_a_zero_that_is_chosen_loses_its_sign(tmp_path):
    """In ONNX Runtime's Where; nothing that is made of it is a difference."""
    text = "(bool c, float[1] x) => (float[1] y) { z = Where(c, x, x) y = Reciprocal(z) }"
    inputs = {"c": np.array(True), "x": np.array([-0.0], np.float32)}
    [found] = run_file("onnxruntime", saved(text, tmp_path), [inputs])
    assert found.outputs["y"].tolist() == [np.inf]
    seen = watched(text, tmp_path, **inputs)
    assert "Where is given -0.0" in known_habit("onnxruntime", seen) and not known_habit("openvino", seen)


@pytest.mark.parametrize(
    ("op", "kind", "x", "is_told"),
    [
        ("ReduceSum", "int32", [2**30, 2**30], True),
        ("ReduceSum", "int32", [2**30, 2**30 - 1], False),
        ("ReduceSum", "int64", [2**60 + 1, 1], True),
        ("ReduceSumSquare", "int32", [50000, 3], True),
        ("ReduceL1", "int32", [-(2**30), 2**30], True),
        ("ReduceL2", "int64", [2**60 + 1, 0], True),
        ("ReduceMean", "int64", [2**60 + 7, 2**60 + 7], True),
        ("ReduceMean", "int32", [2**30, 2**30], False),
        ("ReduceProd", "int32", [1300, 1300, 1300], True),
        ("ReduceProd", "int32", [1200, 1300, 1300], False),
    ],
)
def test_integers_that_outgrow_what_onnxruntime_reduces_them_in(tmp_path, op, kind, x, is_told):
    """It gives another number than the integers make exactly where that is told."""
    text = f"({kind}[{len(x)}] x) => ({kind}[1] y) {{ y = {op}(x) }}"
    inputs = {"x": np.array(x, kind)}
    [found] = run_file("onnxruntime", saved(text, tmp_path), [inputs])
    total = {
        "ReduceSum": sum(x),
        "ReduceL1": sum(map(abs, x)),
        "ReduceMean": sum(x) // len(x),
        "ReduceProd": math.prod(x),
    }
    squares = sum(one * one for one in x)
    exact = total.get(op, squares if op == "ReduceSumSquare" else math.isqrt(squares))
    wrapped = np.array(exact & (2 ** np.iinfo(kind).bits - 1), np.uint64).astype(kind).item()
    assert (found.outputs["y"].item() != wrapped) == is_told
    assert ("float64" in known_habit("onnxruntime", watched(text, tmp_path, **inputs))) == is_told


@pytest.mark.parametrize(("axis", "shape", "is_told"), [(0, (2, 2), True), (1, (2, 2), False), (0, (2, 1), False)])
def test_slices_of_text_are_seen(tmp_path, axis, shape, is_told):
    sizes = f"string[{shape[0]}, {shape[1]}]"
    text = f"({sizes} x, int64[1] i) => (string[a, b] y) {{ y = Gather<axis = {axis}>(x, i) }}"
    seen = watched(text, tmp_path, x=np.full(shape, "a", object), i=np.array([1 if shape[axis] > 1 else 0]))
    assert bool(known_habit("onnxruntime", seen)) == is_told


@pytest.mark.parametrize("x", [[INF, 1, 2], [INF, -INF, INF], [1, -INF, 2]])
def test_what_stands_beside_infinity_in_a_softmax(tmp_path, x):
    """OpenVINO makes 0 of it; ONNX Runtime, too, has no number where there is no sum."""
    path = saved("(float[3] x) => (float[3] y) { y = Softmax(x) }", tmp_path)
    convert(path, tmp_path / "m.xml", verify=0)
    feeds = [{"x": np.array(x, np.float32)}]
    [found], [wanted] = run_file("openvino", tmp_path / "m.xml", feeds), run_file("onnxruntime", path, feeds)
    is_told = not np.allclose(found.outputs["y"], wanted.outputs["y"], equal_nan=True)
    assert is_told == (INF in x)
    seen = watched("(float[3] x) => (float[3] y) { y = Softmax(x) }", tmp_path, **feeds[0])
    assert bool(known_habit("openvino", seen)) >= is_told


@pytest.mark.parametrize(("end", "step", "is_told"), [(2**63 - 1, -1, True), (2**31 - 1, -1, True), (9, -1, False),
                                                       (2**63 - 1, 1, False), (-(2**63), -1, False)])  # fmt: skip
def test_ends_of_the_largest_integer_backwards(tmp_path, end, step, is_told):
    """ONNX Runtime goes on to the first element there; NumPy's slice ends where it begins, at the last."""
    text = "(float[3] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[n] y) { y = Slice(x, s, e, a, t) }"
    x = np.array([1, 2, 3], np.float32)
    given = {"s": np.array([2]), "e": np.array([end]), "a": np.array([0]), "t": np.array([step])}
    [found] = run_file("onnxruntime", saved(text, tmp_path), [{"x": x, **given}])
    assert (found.outputs["y"].tolist() != x[2:end:step].tolist()) == is_told
    assert ("INT_MAX" in known_habit("onnxruntime", watched(text, tmp_path, x=x, **given))) == is_told


def test_integers_beyond_32_bits_are_seen(tmp_path):
    text = "(int64[N] x, int64[N] y) => (int64[N] z) { u = Mul(x, y) z = Sub(u, y) }"
    y = np.array([2, 2])
    assert watched(text, tmp_path, x=np.array([2**23, -(2**23)]), y=y) == {}
    assert watched(text, tmp_path, x=np.array([2**23 + 1, 3]), y=y) == {"Sub": ["wide"]}
    assert watched(text, tmp_path, x=np.array([3, -(2**30)]), y=y) == {"Mul": ["wide"], "Sub": ["long", "wide"]}
    assert watched(text, tmp_path, x=np.array([2**30, 3]), y=y) == {"Mul": ["long", "wide"], "Sub": ["long"]}
    assert watched("(int64[N] x) => (int64[1] z) { z = ReduceProd(x) }", tmp_path, x=np.array([99999] * 2)) == {
        "ReduceProd": ["long"]
    }
    assert known_habit("openvino", {"Sub": ["long"]}).endswith("openvino computes 64-bit integers in 32 bits")


@pytest.mark.parametrize(
    ("call", "kind", "expected"),
    [
        ("Greater(x, y)", "bool[1]", [True]),
        ("Equal(x, y)", "bool[1]", [False]),
        ("Div(x, one)", "int64[1]", [2**24 + 1]),
        ("Mod(x, two)", "int64[1]", [1]),
        *((f"{name}(x)", "int64[1]", [2**24 + 1]) for name in ("ReduceMax", "ReduceMean", "ReduceL1", "ReduceL2")),
        ("Max(x, y)", "int64[1]", [2**24 + 1]),
    ],
)
def test_openvino_computes_with_wide_integers_as_the_table_says(call, kind, expected, tmp_path):
    """float32 doesn't hold 2^24 + 1: OpenVINO is right about it exactly where no row says otherwise."""
    text = f"(int64[1] x, int64[1] y) => ({kind} z) <int64[1] one = {{1}}, int64[1] two = {{2}}> {{ z = {call} }}"
    feeds = {"x": np.array([2**24 + 1]), "y": np.array([2**24])}
    (outcome,) = run_file("openvino", saved(text, tmp_path), [feeds])
    told = known_habit("openvino", watched(text, tmp_path, **feeds))
    assert (outcome.outputs["z"].reshape(-1).tolist() == expected) == (told == "")


@pytest.mark.parametrize(("number", "is_told"), [(2.0**-130, True), (2.0**-126, False)])
def test_openvino_takes_denormal_constants_for_0(number, is_told, tmp_path):
    text = f"(float[2] x) => (float[2] y) <float[2] c = {{{number}, {number}}}> {{ y = Mul (x, c) }}"
    x = np.array([2.0**127, 2.0**127], np.float32)
    path = saved(text, tmp_path)
    found, wanted = (
        run_file(runtime, path, [{"x": x}])[0].outputs["y"].tolist() for runtime in ("openvino", "onnxruntime")
    )
    assert (wanted, found) == ([number * 2.0**127] * 2, [0.0 if is_told else number * 2.0**127] * 2)
    assert ("denormal constants" in known_habit("openvino", watched(text, tmp_path, x=x))) == is_told


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int8])
def test_integers_between_others_are_no_difference(dtype, tmp_path):
    """ONNX's reference rounds them, as XLA is told to; ONNX Runtime cuts them off. Types of 64 bits it doesn't take."""
    name = np.dtype(dtype).name
    text = f"({name}[1,1,3,1] x) => ({name}[1,1,7,1] y) <int64[4] s = {{1,1,7,1}}> "
    text += '{ y = Resize <mode = "linear"> (x, , , s) }'
    x = np.array([0, 5, 100], dtype).reshape(1, 1, 3, 1)
    path = saved(text, tmp_path)
    reference = ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})[0].ravel()
    assert reference.tolist() == [0, 1, 3, 5, 46, 86, 100]
    session = onnxruntime.InferenceSession(path)
    assert session.run(None, {"x": x})[0].ravel().tolist() == [0, 0, 2, 5, 45, 86, 100]
    assert convert(path, tmp_path / "m.hlo", verify=0).verdict == "unverified"
    report = verify(path, tmp_path / "m.hlo", inputs=[{"x": x}])
    assert report.verdict != "different"
    assert "Resize is given integers in this trial" in str(report)


def test_a_zero_point_that_is_nan_is_no_difference(tmp_path):
    """-inf / inf: ONNX Runtime and ONNX's reference make 255 of it, XLA 0."""
    path = saved("(float[2] x) => (uint8[2] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear (x) }", tmp_path)
    x = np.array([-INF, 1], np.float32)
    assert onnxruntime.InferenceSession(path).run(None, {"x": x})[2] == 255
    with np.errstate(invalid="ignore"):
        assert ReferenceEvaluator(onnx.load(path)).run(None, {"x": x})[2] == 255
    assert convert(path, tmp_path / "m.hlo", verify=0).verdict == "unverified"
    report = verify(path, tmp_path / "m.hlo", inputs=[{"x": x}])
    assert report.verdict != "different"
    assert "DynamicQuantizeLinear is given infinity in this trial" in str(report)
    assert known_habit("reference", {"DynamicQuantizeLinear": ["nan"]})


@pytest.mark.parametrize("value", [np.inf, 3e9])
def test_an_integer_of_what_none_is(value: float) -> None:
    """ONNX's reference makes the lowest of it, ONNX Runtime the highest, as the text has it."""
    text = "g (float[1] x) => (uint8[1] y) <float s = {0.5}> { y = QuantizeLinear (x, s) }"
    model = onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 17]> {text}')
    x = np.float32([value])
    assert onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0].tolist() == [255]
    with np.errstate(invalid="ignore"):
        assert ReferenceEvaluator(model).run(None, {"x": x})[0].tolist() == [0]
    assert known_habit("reference", {"QuantizeLinear": special_kinds(x)})
    assert not known_habit("onnxruntime", {"QuantizeLinear": special_kinds(x)})


@pytest.mark.parametrize("x", [[0.5, 100, NAN], [INF, 1, 2]])
def test_logarithms_of_shares_of_what_is_no_number_are_no_difference(x, tmp_path):
    """ONNX Runtime makes numbers of some, in float64 only; there is no share of NaN, nor of infinity."""
    path = saved("(double[3] x) => (double[3] y) { y = LogSoftmax (x) }", tmp_path)
    assert not np.isnan(onnxruntime.InferenceSession(path).run(None, {"x": np.array(x)})[0]).all()
    assert convert(path, tmp_path / "m.hlo", verify=0).verdict == "unverified"
    report = verify(path, tmp_path / "m.hlo", inputs=[{"x": np.array(x)}])
    assert report.verdict != "different"
    seen = watched("(double[3] x) => (double[3] y) { y = LogSoftmax (x) }", tmp_path, x=np.array(x))
    assert "makes numbers of NaN in float64" in known_habit("onnxruntime", seen)


def test_sizes_of_1_are_seen(tmp_path):
    text = "(float[N,2,3] t, int64[4] s) => (float[N,H,W,2] z) { z = AffineGrid<align_corners = 1>(t, s) }"
    theta = np.ones((2, 2, 3), np.float32)
    assert watched(text, tmp_path, t=theta, s=np.array([2, 2, 2, 2])) == {}
    assert watched(text, tmp_path, t=theta, s=np.array([2, 2, 1, 2])) == {"AffineGrid": ["one"]}
    assert known_habit("onnxruntime", {"AffineGrid": ["one"]}).startswith("AffineGrid is given a size of 1")


@pytest.mark.parametrize(("x", "kinds"), [([46340, -1], []), ([60000, 100], ["squares"]), ([46341, -5], ["squares"])])
def test_squares_that_overflow_are_seen(x, kinds, tmp_path):
    """ONNX Runtime is wrong exactly where it is told."""
    text = '(int32[1,2] x) => (float[1,2] y) { y = ai.onnx.ml.Normalizer<norm = "L2">(x) }'
    rows = np.array([x], np.int32)
    (found,) = onnxruntime.InferenceSession(saved(text, tmp_path)).run(None, {"x": rows})
    assert np.allclose(found, rows / np.linalg.norm(rows.astype(float))) != bool(kinds)
    assert [kind for kind in watched(text, tmp_path, x=rows).get("Normalizer", []) if kind == "squares"] == kinds
    assert bool(known_habit("onnxruntime", {"Normalizer": kinds})) == bool(kinds)


@pytest.mark.parametrize(("x", "kinds"), [([1, np.nan, 2], ["nan"]), ([1, -4, 2], [])])
def test_nan_among_what_is_divided_by_the_largest_is_seen(x, kinds, tmp_path):
    """ONNX Runtime divides by another number exactly where it is told: x / max(x), which NaN makes NaN."""
    text = '(float[1,3] x) => (float[1,3] y) { y = ai.onnx.ml.Normalizer<norm = "MAX">(x) }'
    rows = np.array([x], np.float32)
    (found,) = onnxruntime.InferenceSession(saved(text, tmp_path)).run(None, {"x": rows})
    assert np.array_equal(found, rows / rows.max(), equal_nan=True) != bool(kinds)
    assert watched(text, tmp_path, x=rows).get("Normalizer", []) == kinds
    assert bool(known_habit("onnxruntime", {"Normalizer": kinds})) == bool(kinds)


def test_the_sign_of_nan_is_seen(tmp_path):
    """ONNX Runtime gives 0 in float16."""
    text = "(float16[2] x) => (float16[2] y) { y = Sign (x) }"
    path, x = saved(text, tmp_path), np.float16([np.nan, -2])
    (found,) = onnxruntime.InferenceSession(path).run(None, {"x": x})
    assert not np.array_equal(found, np.sign(x), equal_nan=True)
    assert known_habit("onnxruntime", watched(text, tmp_path, x=x))
    convert(path, tmp_path / "m.hlo", verify=0)
    assert verify(path, tmp_path / "m.hlo", inputs=[{"x": x}]).verdict != "different"


@pytest.mark.parametrize(("x", "kinds"), [([3163, 7.1], ["far"]), ([4, 7.1], [])])
def test_squares_that_outweigh_a_bias_are_seen(x, kinds, tmp_path):
    """ONNX Runtime leaves their errors in other channels exactly where it is told; a conversion isn't "different"."""
    text = "(float[1,2,1,1] x) => (float[1,2,1,1] y) { y = LRN<size = 1, alpha = 0.1, beta = 0.5>(x) }"
    path, given = saved(text, tmp_path), np.float32(x).reshape(1, 2, 1, 1)
    (found,) = onnxruntime.InferenceSession(path).run(None, {"x": given})
    wide = given.astype(np.float64)
    assert np.allclose(found, wide / np.sqrt(1 + 0.1 * wide**2), rtol=2e-6, atol=0) != bool(kinds)
    assert watched(text, tmp_path, x=given).get("LRN", []) == kinds
    assert bool(known_habit("onnxruntime", {"LRN": kinds})) == bool(kinds)
    convert(path, tmp_path / "m.hlo", verify=0)
    assert verify(path, tmp_path / "m.hlo", inputs=[{"x": given}]).verdict != "different"


@pytest.mark.parametrize(
    ("x", "kinds"), [([[2, 1], [2, 3]], ["near"]), ([[1e-5, 1], [2e-5, 3]], ["near"]), ([[2, 2], [1, 3]], [])]
)
def test_near_numbers_that_are_normalized_are_seen(x, kinds, tmp_path):
    """ONNX Runtime leaves out 1e-9 where it is told; a conversion isn't "different" for it."""
    text = "(float[2,2] x) => (float[2,2] y) { y = MeanVarianceNormalization<axes = [0]>(x) }"
    path, rows = saved(text, tmp_path), np.float32(x)
    (found,) = onnxruntime.InferenceSession(path).run(None, {"x": rows})
    wide = rows.astype(np.float64)
    defined = (wide - wide.mean(0)) / (wide.std(0) + 1e-9)
    assert np.allclose(found, defined, rtol=2e-6, atol=0) != bool(kinds)
    assert watched(text, tmp_path, x=rows).get("MeanVarianceNormalization", []) == kinds
    assert bool(known_habit("onnxruntime", {"MeanVarianceNormalization": kinds})) == bool(kinds)
    convert(path, tmp_path / "m.hlo", verify=0)
    assert verify(path, tmp_path / "m.hlo", inputs=[{"x": rows}]).verdict != "different"


WITHOUT_STEPS = """(float[T,1,2] x) => (float[1,1,1] c)
    <float[1,4,2] w = {1,2,3,4,5,6,7,8}, float[1,4,1] r = {1,2,3,4}> { y, h, c = LSTM<hidden_size = 1>(x, w, r) }"""


def test_what_has_no_elements_is_seen(tmp_path):
    assert watched(WITHOUT_STEPS, tmp_path, x=np.ones((1, 1, 2), np.float32)) == {}
    assert watched(WITHOUT_STEPS, tmp_path, x=np.ones((0, 1, 2), np.float32)) == {"LSTM": ["empty"]}
    assert known_habit("onnxruntime", {"LSTM": ["empty"]}).startswith("LSTM is given no elements in this trial")
    assert known_habit("onnxruntime", {"QLinearMatMul": ["empty"]}) != ""
    assert known_habit("openvino", {"Conv": ["empty"]}) != "" and known_habit("onnxruntime", {"Conv": ["empty"]}) == ""


def test_operators_in_loops_and_branches_are_watched(tmp_path):
    text = """(int64 n, float x) => (float y) {
        y = Loop <body = body (int64 i, bool c, float s) => (bool c_, float s_) {
            c_ = Identity(c)
            big = Greater(s, x)
            s_ = If <then_branch = t () => (float a) { a = Div(s, s) },
                     else_branch = e () => (float b) { b = Sub(s, s) }>(big)
        }>(n, , x)
    }"""
    assert watched(text, tmp_path, n=np.array(1), x=np.array(0.0, np.float32)) == {}
    assert watched(text, tmp_path, n=np.array(2), x=np.array(INF, np.float32)) == {
        "Greater": ["inf", "nan"],
        "Sub": ["inf", "nan"],
    }


@pytest.mark.parametrize("call", ["Div(x, m)", 'ai.onnx.ml.Normalizer<norm = "MAX">(x)'])
@pytest.mark.parametrize(("largest", "is_told"), [(2.0**127, True), (2.0**20, False)])
def test_xla_divides_by_the_reciprocal_of_what_it_spreads(call, largest, is_told, tmp_path):
    pytest.importorskip("jaxlib")
    path = saved(f"(float[1, 2] x, float[1, 1] m) => (float[1, 2] y) {{ y = {call} }}", tmp_path)
    made = tmp_path / "m.hlo"
    convert(path, made, verify=0)
    feeds = {"x": np.array([[largest, largest / 2]], np.float32), "m": np.array([[largest]], np.float32)}
    (found,) = run_file("xla", made, [feeds])
    assert found.outputs["y"].tolist() == ([[0.0, 0.0]] if is_told else [[1.0, 0.5]])
    told = known_habit("xla", SpecialValues(to_hub(load(path))).run(feeds))
    assert ("reciprocal" in told) == is_told


@pytest.mark.parametrize(("base", "is_told"), [(-4.0, True), (4.0, False)])
def test_xla_takes_logarithms_of_what_is_no_power(base, is_told, tmp_path):
    pytest.importorskip("jaxlib")
    path = saved("(float[1] x, float[1] e) => (float[1] y) { p = Pow(x, e) y = Log(p) }", tmp_path)
    made = tmp_path / "m.hlo"
    convert(path, made, verify=0)
    feeds = {"x": np.array([base], np.float32), "e": np.array([0.5], np.float32)}
    (found,) = run_file("xla", made, [feeds])
    assert found.outputs["y"] == np.float32(np.log(2))
    told = known_habit("xla", SpecialValues(to_hub(load(path))).run(feeds))
    assert ("without its sign" in told) == is_told


def test_a_habit_is_told_of_the_runtime_the_operator_and_the_value():
    assert known_habit("onnxruntime", {"ReduceMax": ["nan"]}).startswith("ReduceMax is given NaN in this trial")
    assert known_habit("onnxruntime", {"ReduceMax": ["inf"], "Relu": ["nan"]}) == ""
    assert known_habit("openvino", {"Relu": ["nan"]}) != ""
    assert (
        known_habit("openvino", {"LogSoftmax": ["inf"]}) != "" and known_habit("openvino", {"Sigmoid": ["inf"]}) == ""
    )
    assert known_habit("xla", {"Add": ["denormal"]}) != "" and known_habit("xla", {"Add": ["nan"]}) == ""
    assert known_habit("mdf", {"ReduceMax": ["nan"]}) == ""
    assert (
        known_habit("onnxruntime", {"ReduceProd": ["overflow"]})
        != ""
        == known_habit("mdf", {"ReduceProd": ["overflow"]})
    )
    assert known_habit("openvino", {"Conv": ["inf"]}) != "" and known_habit("onnxruntime", {"Conv": ["inf"]}) == ""
    assert known_habit("onnxruntime", {"GlobalMaxPool": ["inf"]}).startswith("GlobalMaxPool is given infinity")
    assert known_habit("onnxruntime", {"LSTM": ["inf"]}) != "" and known_habit("onnxruntime", {"LSTM": ["one"]}) == ""


def answers(name, *values, own=True):
    return Runnable(name, lambda batches: [Outcome({"y": np.array(values[int(batch["x"])])}) for batch in batches], own)


def seeing(**seen):
    outputs = {name: np.array(kinds, object) for name, kinds in seen.items()}
    return Runnable("watch", lambda batches: [Outcome(outputs) for _ in batches], own=False)


def judge(watch):
    a = Side("A", [answers("executor", 1.0, 2.0, NAN, own=False), answers("onnxruntime", 1.0, 2.0, NAN)])
    b = Side("B", [answers("executor", 1.0, 2.0, NAN, own=False), answers("openvino", 1.0, 2.0, 3.0)], watch=watch)
    return compare_sides(a, b, [{"x": np.array(float(k))} for k in range(3)])


def test_a_trial_that_meets_a_habit_is_not_held_against_b():
    report = judge(seeing(ReduceMax=["nan"]))
    assert report.verdict == "equal" and report.confirmed == 2 and report.first is None
    assert any("ReduceMax is given NaN in this trial" in reason for reason in report.reasons)
    assert not report.disagreements


def test_a_difference_that_no_habit_explains_stays_one():
    for watch in (None, seeing(), seeing(ReduceMax=["inf"]), seeing(Add=["nan"])):
        report = judge(watch)
        assert report.verdict == "different" and report.first.trial == 2


def of_both(a_values, b_values, runtimes, watch, kind="plain"):
    """Each side's executor and runtime give these in three trials; `watch` tells what A's operators see."""
    sides = []
    for name, (ours, own), runtime in zip("AB", (a_values, b_values), runtimes, strict=True):
        sides.append(Side(name, [answers("executor", *ours, own=False), answers(runtime, *own)]))
    sides[0].watch = watch
    inputs = [Designed({"x": np.array(float(k))}, "plain" if k < 2 else kind) for k in range(3)]
    return compare_sides(*sides, inputs)


def test_what_operators_of_a_see_goes_into_b_too():
    """B spells the Cast out, so that only A has it; then only our reading of B is left, which decides nothing."""
    lowest, largest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    a, b = ((1, 2, lowest),) * 2, ((1, 2, largest), (1, 2, 0))
    report = of_both(a, b, ("onnxruntime", "xla"), seeing(Cast=["nan"]))
    assert report.verdict == "equal" and report.confirmed == 2 and report.first is None
    assert of_both(a, b, ("onnxruntime", "xla"), seeing()).verdict == "different"


def test_a_habit_is_no_excuse_where_the_same_runtime_and_our_executor_see_a_difference():
    """NaN made 0 before a ReduceMax: the runtime passes over NaN in both files, and still gives other numbers."""
    a, b = ((1.0, 2.0, NAN), (1.0, 2.0, 7.0)), ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0))
    report = of_both(a, b, ("onnxruntime", "onnxruntime"), seeing(ReduceMax=["nan"]), "special")
    assert report.verdict == "different"
    same = ((1.0, 2.0, 3.0), (1.0, 2.0, 7.0))
    assert of_both(a, same, ("onnxruntime", "onnxruntime"), seeing(ReduceMax=["nan"]), "special").verdict == "equal"


MEASURED = {
    "onnxruntime": {
        "ReduceMax": ("float[4]", "ReduceMax<keepdims=0>(x, axis)", lambda x: x.max(1)),
        "ReduceMin": ("float[4]", "ReduceMin<keepdims=0>(x, axis)", lambda x: x.min(1)),
        "ArgMax": ("int64[4]", "ArgMax<axis=1, keepdims=0>(x)", lambda x: x.argmax(1)),
        "ArgMin": ("int64[4]", "ArgMin<axis=1, keepdims=0>(x)", lambda x: x.argmin(1)),
    },
}


@pytest.mark.corpus
@pytest.mark.parametrize("operator", MEASURED["onnxruntime"])
def test_the_table_says_what_onnxruntime_does(operator, tmp_path):
    """NumPy's maximum of NaN is NaN, its argmax the first NaN; a row that no longer holds is to be removed."""
    kind, call, expected = MEASURED["onnxruntime"][operator]
    text = f"(float[4,3] x) => ({kind} y) <int64[1] axis = {{1}}> {{ y = {call} }}"
    (outcome,) = run_file("onnxruntime", saved(text, tmp_path), [{"x": X}])
    assert not np.array_equal(outcome.outputs["y"], expected(X), equal_nan=True)
    assert any(operator in habit.operators and "nan" in habit.kinds for habit in HABITS["onnxruntime"])
