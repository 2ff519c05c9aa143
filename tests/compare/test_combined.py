"""Sets of inputs with several extraordinary things at once, run on two files in one process."""

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.sampling_session import ENDLESS, open_session, packed
from backedge.convert.verification import verify
from backedge.runtime.compare.combined import Combined, are_apart
from backedge.runtime.compare.input_roles import signature_of
from onnx import parser

HEAD = '<ir_version: 10, opset_import: ["" : 18]> g '

# a threshold of t, an empty w and a false flag at once: neither branch tells w's size otherwise
THREE = """(bool flag, float t, float[T,4] w) => (float y, float z) {
    half = Constant<value_float=0.5>()
    z = ReduceSum<keepdims=0>(w)
    low = Less(t, half)
    y = If(flag)<then_branch = a () => (float p) { p = Neg(t) },
                 else_branch = b () => (float q) {
        q = If(low)<then_branch = c () => (float r) { $ }, else_branch = d () => (float s) { s = Abs(t) }> }>
}"""
SIZE = """shape = Shape<end=1>(w)
    none = Constant<value=int64[0] {}>() count = Reshape(shape, none) one = Constant<value_float=1.0>()
    number = Cast<to=1>(count) other = Max(number, one) r = Add(t, VALUE)"""


def files(tmp_path, *texts):
    paths = [tmp_path / f"{name}.onnx" for name, _ in zip("ab", texts, strict=True)]
    for path, text in zip(paths, texts, strict=True):
        onnx.save(parser.parse_model(HEAD + text), path)
    return paths


def combined(path, other, seed=0):
    return signature_of(to_hub(load(path)), to_hub(load(other))), seed, (), 16, 32


def sampled(paths, runtime="", to=1500, patience=1.0):
    sets = combined(*paths)
    options = {"other": str(paths[1]), "formats": [None, None], "runtime": runtime, "sets": packed(sets)}
    session = open_session(paths[0], {**options, "seconds": 60.0, "patience": patience})
    outputs, fault = session.run({"from": np.array(0), "to": np.array(to)})
    assert not fault and outputs["next"] == to
    return Combined(*sets), dict(zip(outputs["numbers"].tolist(), outputs["ways"].tolist(), strict=True))


# seen where no pass of one loop changes a number of passes of another that is below 0, too
HANDED_ON = """(int64 m, int64 n, float[2] x) => (float[2] z, int64 y) {
    z, last = Loop(n, , x, m) <body = b (int64 i, bool c, float[2] s, int64 j) => (bool d, float[2] t, int64 l) {
        d = Identity(c)
        t = Loop(m, , s) <body = e (int64 o, bool p, float[2] q) => (bool r, float[2] u) {
            r = Identity(p) u = Neg(q) }>
        l = Identity(i) }>
    three = Constant<value=int64 {3}>() third = Div(last, three) y = $(third, three)
}"""


def test_trip_counts_of_0_and_below_come_together(tmp_path):
    paths = files(tmp_path, HANDED_ON.replace("$", "Mod"), HANDED_ON.replace("$", "Mod<fmod=1>"))
    sets, ways = sampled(paths, to=200)
    apart = [number for number, way in ways.items() if way != ENDLESS]
    assert len(apart) >= 3
    for number in apart:
        inputs = sets.set(number).inputs
        assert inputs["n"] <= 0 and inputs["m"] <= -3


def test_sets_are_the_same_ones_for_the_same_arguments(tmp_path):
    paths = files(
        tmp_path,
        THREE.replace("$", SIZE.replace("VALUE", "number")),
        THREE.replace("$", SIZE.replace("VALUE", "other")),
    )
    one, again, other = (Combined(*combined(*paths, seed)) for seed in (0, 0, 1))
    for number in (0, 40, 41, 1000):
        mine, theirs = one.set(number), again.set(number)
        assert mine.why == theirs.why and mine.kind == theirs.kind
        for name, value in mine.inputs.items():
            np.testing.assert_array_equal(value, theirs.inputs[name], strict=True)
    assert any(one.set(n).why != other.set(n).why for n in range(40, 60))


def test_several_things_are_changed_at_once(tmp_path):
    paths = files(
        tmp_path,
        THREE.replace("$", SIZE.replace("VALUE", "number")),
        THREE.replace("$", SIZE.replace("VALUE", "other")),
    )
    sets = Combined(*combined(*paths))
    made = [sets.set(number) for number in range(40, 400)]
    assert any(one.why.count(";") == 2 for one in made) and any(not one.why for one in made)
    assert {one.kind for one in made} == {"edge", "special"}
    assert all((one.kind == "special") == bool(one.tags) for one in made)
    empty = [one.inputs for one in made if one.inputs["w"].shape[0] == 0]
    assert {bool(one["flag"]) for one in empty} == {True, False}
    assert {bool(one["t"] < 0.5) for one in empty} == {True, False}


def test_loops_end_soon(tmp_path):
    text = """(int64 m, float x) => (float y) { c = Constant<value=bool {1}>()
        y = Loop(m, c, x)<body = b (int64 i, bool p, float v) => (bool q, float w) { q = Identity(p) w = Neg(v) }> }"""
    sets = Combined(*combined(*files(tmp_path, text, text)))
    trips = [int(sets.set(number).inputs["m"]) for number in range(40, 400)]
    assert max(trips) == 64 and min(trips) < 0


def test_what_needs_three_things_at_once_is_found(tmp_path):
    paths = files(
        tmp_path,
        THREE.replace("$", SIZE.replace("VALUE", "number")),
        THREE.replace("$", SIZE.replace("VALUE", "other")),
    )
    sets, ways = sampled(paths)
    assert set(ways.values()) == {"executor: y value"}
    for number in ways:
        inputs = sets.set(number).inputs
        assert not inputs["flag"] and inputs["t"] < 0.5 and inputs["w"].shape == (0, 4)
    report = verify(*paths, trials=16)
    assert report.verdict == "different"


def test_the_same_file_twice_differs_nowhere(tmp_path):
    text = THREE.replace("$", SIZE.replace("VALUE", "number"))
    assert sampled(files(tmp_path, text, text), "onnxruntime_session")[1] == {}


def test_what_only_a_runtime_fails_on_is_told(tmp_path):
    a = "(float[N,4] x) => (float[N,4] y) { y = Neg(x) }"
    b = """(float[N,4] x) => (float[N,4] y) { y = Neg(x) s = Constant<value_float=0.0>()
        last, all = Scan(s, x)<num_scan_inputs=1,
            body = b (float v, float[4] e) => (float w, float[4] o) { w = Neg(v) o = Exp(e) }> }"""
    sets, ways = sampled(files(tmp_path, a, b), "onnxruntime_session", 600)
    assert set(ways.values()) == {"onnxruntime_session: fails"}
    assert all(sets.set(number).inputs["x"].shape == (0, 4) for number in ways)


@pytest.mark.parametrize("runtime", ["", "onnxruntime_session"])
def test_what_does_not_end_is_told(tmp_path, runtime):
    text = """(float t) => (float y) { most = Constant<value_int=4611686018427387904>() u = Constant<value_float=0.0>()
        c = $ y = Loop(most, c, t)
            <body = b (int64 i, bool p, float v) => (bool q, float w) { q = Identity(p) w = Neg(v) }> }"""
    texts = [text.replace("$", way) for way in ("IsNaN(u)", "Greater(t, u)")]
    sets, ways = sampled(files(tmp_path, *texts), runtime, 40, 0.05)
    assert set(ways.values()) == {ENDLESS}
    assert all(sets.set(number).inputs["t"] > 0 for number in ways)


@pytest.mark.parametrize(
    ("one", "other", "way"),
    [
        (np.float32(1), np.float32(1), ""),
        (np.float32([np.nan]), np.float32([np.nan]), ""),
        (np.float32([0.0]), np.float32([np.nan]), "y value"),
        (np.float32([1]), np.float64([1]), "y dtype"),
        (np.zeros((0, 2)), np.zeros((0, 3)), "y shape"),
        ([np.float32(1)], [np.float32(1), np.float32(1)], "y length"),
        (np.array(["a"], object), np.array(["b"], object), "y value"),
        (None, None, ""),
    ],
)
def test_results_are_told_apart_beyond_rounding(one, other, way):
    assert are_apart({"y": one, "z": 0}, {"y": other}) == way


def test_sizes_that_runtimes_refuse_and_our_executor_takes_give_way_to_others(tmp_path):
    """Padding by reflection needs more elements than it adds, in ONNX Runtime and OpenVINO; NumPy goes to and fro."""
    text = """(float[batch,samples] x) => (float[batch,padded] y) {
        pads = Constant<value=int64[4] {0, 200, 0, 200}>() y = Pad<mode="reflect">(x, pads) }"""
    assert verify(*files(tmp_path, text, text), trials=8, proof=False).verdict == "equal"


def test_sizes_that_lead_to_other_results_than_are_declared_give_way_to_others(tmp_path):
    """A model that was written from one row, with any number of rows declared for its input only."""
    text = "(float[rows,4] x) => (float[1,4] y) { y = Sigmoid(x) }"
    report = verify(*files(tmp_path, text, text), trials=16, proof=False)
    assert report.verdict == "equal"
    assert sum(trial.status == "equal" for trial in report.trials) >= 16


RESIZED = '(float[1,1,4,4] x, int64[4] s) => (float[1,1,3,3] y) { y = Resize<mode="nearest", $>(x, , , s) }'
SLICED = "(float[6,5] x, int64[1] s, int64[1] e) => (float[2,5] y) { y = Slice(x, s, e) }"


@pytest.mark.parametrize("text", [RESIZED.replace("$", "antialias=0"), SLICED])
def test_integers_are_looked_for_that_lead_to_the_declared_sizes(text, tmp_path):
    report = verify(*files(tmp_path, text, text), trials=16, proof=False)
    assert report.verdict == "equal"
    assert sum(trial.status == "equal" for trial in report.trials) >= 14


def test_a_fault_shows_with_the_integers_that_lead_to_the_declared_sizes(tmp_path):
    modes = ('nearest_mode="floor"', 'nearest_mode="ceil"')
    report = verify(*files(tmp_path, *(RESIZED.replace("$", mode) for mode in modes)), trials=16)
    assert report.verdict == "different" and report.first is not None
    assert report.first.inputs["s"].tolist() == [1, 1, 3, 3]


# a branch that only m beyond 1 leads to, which the plain sets keep below the two elements of y
GUARDED = """(int64 m, float[N,2] x, float[2] y) => (float[N,2] z, float[1] p)
  <int64 two = {2}, int64[1] first = {0}, float k = {0.75}, float zero = {0}> {
    few = Less(m, two)
    z = If(few) <then_branch = t () => (float[N,2] a) { a = Sub(x, x) },
                else_branch = e () => (float[N,2] b) { c = Mul(x, k) $ }>
    r = Mod(m, two) u = Unsqueeze(r, first) p = GatherElements(y, u)
}"""


def test_special_numbers_go_where_only_an_extraordinary_set_leads(tmp_path):
    paths = files(
        tmp_path,
        GUARDED.replace("$", "b = Identity(c)"),
        GUARDED.replace("$", "n = IsNaN(c) b = Where(n, zero, c)"),
    )
    report = verify(*paths)
    assert report.verdict == "different" and report.first is not None and report.first.difference.output == "z"
    assert np.isnan(report.first.difference.expected)
