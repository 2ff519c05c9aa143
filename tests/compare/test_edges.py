"""Edge trials: converters that go wrong at one extraordinary value only, and the trials that must show it.

Each fault is a model that changes an operand on its way (`$`); the inputs are designed from the right model alone.
"""

import math

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read
from backedge.passes.types import Interval, OptionalType, SequenceType, tensor
from backedge.runtime.compare.edge_trials import edge_trials
from backedge.runtime.compare.edges import for_shape
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.operands import OPERANDS
from backedge.runtime.compare.signature import InputSpec, Signature
from backedge.runtime.compare.tolerance import measure_values
from backedge.runtime.executor import Executor
from onnx import defs, parser

NUMBER = {"i": "int64", "f": "float"}


def constant(name, value, kind="i"):
    shape = f"[{value.count(',') + 1}]" if "," in value else ""
    return f"{name} = Constant<value={NUMBER[kind]}{shape} {{{value}}}>() "


def at_least(number, name, kind="i"):
    return constant("limit", str(number), kind) + f"q = Max({name}, limit)"


def at_most(number, name, kind="i"):
    return constant("limit", str(number), kind) + f"q = Min({name}, limit)"


def lengths_at_least_one(name="lens"):
    return constant("limit", "1") + f"wide = Cast<to=7>({name}) big = Max(wide, limit) q = Cast<to=6>(big)"


def recurrent(op, gates):
    sizes = f"float[T,B,3] x, float[1,{2 * gates},3] w, float[1,{2 * gates},2] r, int32[B] lens"
    return f"({sizes}) => (float[T,1,B,2] y, float[1,B,2] h) {{ $ y, h = {op}<hidden_size=2>(x, w, r, , q) }}"


SLICE = (
    "(float[N,4] x, int64[1] s, int64[1] e, int64[1] st) => (float[P,4] y) "
    "{ a = Constant<value=int64[1] {0}>() $ y = Slice(x, %s, %s, a, %s) }"
)
LOOP = (
    "(int64 M, float[N] x) => (float[N] y) { t = Constant<value=bool {1}>() $ y = Loop(q, t, x) "
    "<body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e) { d = Identity(c) e = Sub(x, a) }> }"
)
UNTIL = (
    "(int64 M, float[N] x) => (float[N] y) { y = Loop(M, , x) "
    "<body = b (int64 i, bool c, float[N] a) => (bool d, float[N] e) "
    "{ k = Constant<value=int64 {%d}>() d = $(i, k) e = Sub(x, a) }> }"
)
RANGE = "(int64 a, int64 b, int64 d) => (int64[R] y) { $ y = Range(a, b, q) }"
PAD = "(float[N,3] x, int64[4] p) => (float[P,Q] y) { $ y = Pad(x, q) }"
RESIZE = '(float[1,1,H,W] x, float[4] s) => (float[A,B,C,D] y) { $ y = Resize<mode="nearest">(x, , q) }'
ONEHOT = "(int64[K] i, int64 d) => (float[K,D] y) { v = Constant<value=float[2] {0, 1}>() $ y = OneHot(%s, %s, v) }"
SEQUENCE = (
    "(float[2] a, float[2] b, float[2] c, int64 p) => (float[2] y) "
    "{ s = SequenceConstruct(a, b, c) $ y = SequenceAt(s, q) }"
)
REDUCE = "(float[N,3,M] x, int64[K] a) => (float y) { y = ReduceSum<keepdims=0, noop_with_empty_axes=$>(x, a) }"

# name -> (model, what is done to an operand by the right one, by the wrong one)
FAULTS = {
    "a loop that stops one pass late": (UNTIL % 37, "Less", "LessOrEqual"),
    "a long loop that stops one pass late": (UNTIL % 6001, "Less", "LessOrEqual"),
    "lstm, no length 0": (recurrent("LSTM", 4), "q = Identity(lens)", lengths_at_least_one()),
    "gru, no length 0": (recurrent("GRU", 3), "q = Identity(lens)", lengths_at_least_one()),
    "top 0": (
        "(float[N,4] x, int64[1] k) => (float[M,4] v, int64[M,4] i) { $ v, i = TopK<axis=0>(x, q) }",
        "q = Identity(k)",
        at_least(1, "k"),
    ),
    "window of 0": ("(int64 n) => (float[N] y) { $ y = HannWindow(q) }", "q = Identity(n)", at_least(1, "n")),
    "tile 0": (
        "(float[N,3] x, int64[2] r) => (float[P,Q] y) { $ y = Tile(x, q) }",
        "q = Identity(r)",
        at_least(1, "r"),
    ),
    "expand 0": (
        "(float[1,3] x, int64[2] s) => (float[P,Q] y) { $ y = Expand(x, q) }",
        "q = Identity(s)",
        at_least(1, "s"),
    ),
    "a shape with 0": (
        "(int64[2] s) => (float[P,Q] y) { $ y = ConstantOfShape(q) }",
        "q = Identity(s)",
        at_least(1, "s"),
    ),
    "pad below 0": (PAD, "q = Identity(p)", at_least(0, "p")),
    "pad beyond 3": (PAD, "q = Identity(p)", at_most(3, "p")),
    "scale beyond 3": (RESIZE, "q = Identity(s)", at_most(3, "s", "f")),
    "scale below a half": (RESIZE, "q = Identity(s)", at_least(0.5, "s", "f")),
    "start -2": (SLICE % ("q", "e", "st"), "q = Identity(s)", at_least(-1, "s")),
    "start before the first": (
        SLICE % ("q", "e", "st"),
        "q = Identity(s)",
        "d = Shape<start=0, end=1>(x) m = Neg(d) b = Less(s, m) n = Add(s, d) q = Where(b, n, s)",
    ),
    "end beyond the last": (
        SLICE % ("s", "q", "st"),
        "q = Identity(e)",
        "d = Shape<start=0, end=1>(x) b = Greater(e, d) n = Sub(e, d) q = Where(b, n, e)",
    ),
    "end at the largest": (SLICE % ("s", "q", "st"), "q = Identity(e)", "w = Cast<to=6>(e) q = Cast<to=7>(w)"),
    "step -2": (SLICE % ("s", "e", "q"), "q = Identity(st)", at_least(-1, "st")),
    "reshape with 0": (
        "(float[N,3,M] x, int64[3] s) => (float[P,Q,R] y) { $ y = Reshape(x, q) }",
        "q = Identity(s)",
        constant("zero", "0") + constant("one", "1") + "b = Equal(s, zero) q = Where(b, one, s)",
    ),
    "from the end of a sequence": (SEQUENCE, "q = Identity(p)", "q = Abs(p)"),
    "one-hot of a negative": (ONEHOT % ("q", "d"), "q = Identity(i)", "q = Abs(i)"),
    "one-hot beyond": (ONEHOT % ("q", "d"), "q = Identity(i)", "q = Mod(i, d)"),
    "split with 0": (
        "(float[N,2] x, int64[3] s) => (float[P,2] a, float[Q,2] b, float[R,2] c) { $ a, b, c = Split<axis=0>(x, q) }",
        "q = Identity(s)",
        at_least(1, "s"),
    ),
    "range downwards": (RANGE, "q = Identity(d)", "q = Abs(d)"),
    "shift beyond 7": (
        '(uint8[4] x, uint8[4] s) => (uint8[4] y) { $ y = BitShift<direction="LEFT">(x, q) }',
        "q = Identity(s)",
        "w = Cast<to=7>(s) seven = Constant<value=int64 {7}>() m = Min(w, seven) q = Cast<to=2>(m)",
    ),
    "no axes": (REDUCE, "0", "1"),
    "12 passes": (LOOP, "q = Identity(M)", at_most(11, "M")),
    "65 passes": (LOOP, "q = Identity(M)", at_most(64, "M")),
    "1000 passes": (LOOP, "q = Identity(M)", at_most(999, "M")),
    "5000 passes": (LOOP, "q = Identity(M)", at_most(4999, "M")),
    "beyond 2^31": (
        "(int64[N] x) => (int64[N] y) { $ y = Add(q, q) }",
        "q = Identity(x)",
        "w = Cast<to=6>(x) q = Cast<to=7>(w)",
    ),
    "beyond 2^24": (
        "(int64[N] x) => (int64[N] y) { $ y = Add(q, q) }",
        "q = Identity(x)",
        "w = Cast<to=1>(x) q = Cast<to=7>(w)",
    ),
    "exp of 100": ("(float[N] x) => (float[N] y) { $ y = Neg(q) }", "q = Identity(x)", "e = Exp(x) q = Log(e)"),
    "nan": (
        "(float[N] x) => (float[N] y) { $ y = Neg(q) }",
        "q = Identity(x)",
        constant("zero", "0", "f") + "b = IsNaN(x) q = Where(b, zero, x)",
    ),
    "float16 beyond 256": (
        "(float16[N] x) => (float16[N] y) { $ y = Cast<to=10>(q) }",
        "w = Cast<to=1>(x) q = Div(w, w)",
        "w = Cast<to=1>(x) s = Mul(x, x) v = Cast<to=1>(s) u = Div(v, w) q = Div(u, w)",
    ),
    "ten rows": (
        "(float[N,2] x) => (float[N,2] y) { $ y = Mul(x, q) }",
        constant("q", "1", "f"),
        "d = Shape<start=0, end=1>(x) "
        + constant("ten", "9")
        + "b = Greater(d, ten) "
        + constant("two", "2", "f")
        + constant("one", "1", "f")
        + "q = Where(b, two, one)",
    ),
    "two separators": (
        "(string[N] s) => (string[N,K] y, int64[N] n) { y, n = StringSplit<$>(s) }",
        'delimiter=","',
        'delimiter=",", maxsplit=2',
    ),
}


def model(text, tmp_path, name="m"):
    path = tmp_path / f"{name}.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}'), path)
    return raise_graph(read(path))


def differ(right, wrong, inputs):
    """Whether two executors differ on these inputs, which A must take."""
    try:
        expected = right.run(inputs)
    except Exception:
        return False
    try:
        given = wrong.run(inputs)
    except Exception:
        return True
    return any(measure_values(expected[name], given[name]).difference is not None for name in expected)


@pytest.mark.parametrize("name", FAULTS)
def test_an_edge_trial_shows_a_fault_at_an_edge(name, tmp_path):
    text, right, wrong = FAULTS[name]
    graph = model(text.replace("$", right), tmp_path)
    executors = Executor(graph), Executor(model(text.replace("$", wrong), tmp_path, "wrong"))
    trials = edge_trials(signature_of(graph), 64)
    assert len(trials) <= 96
    assert any(differ(*executors, one.inputs) for one in trials)


BAND = (
    "(float[N] x) => (float[N] y) { z = Neg(x) $ lo = Constant<value=float {0.7}>() "
    "hi = Constant<value=float {0.7007}>() a = Greater(s, lo) b = Less(s, hi) c = And(a, b) y = Where(c, x, z) }"
)


@pytest.mark.parametrize(
    ("way", "function"),
    [
        ("s = ReduceMax<keepdims=0>(x)", np.max),
        ("s = ReduceMean<keepdims=0>(x)", np.mean),
        ("s = ReduceSum<keepdims=0>(x)", np.sum),
        ("q = Mul(x, x) s = ReduceMean<keepdims=0>(q)", lambda x: np.mean(x * x)),
        ("m = ReduceMax<keepdims=0>(x) s = Exp(m)", lambda x: np.exp(x.max())),
        ("m = ReduceMean<keepdims=0>(x) s = Sigmoid(m)", lambda x: 1 / (1 + np.exp(-x.mean()))),
        ("m = ReduceMin<keepdims=0>(x) s = Tanh(m)", lambda x: np.tanh(x.min())),
    ],
)
def test_a_narrow_band_is_hit_through_functions_and_sums(way, function, tmp_path):
    trials = edge_trials(signature_of(model(BAND.replace("$", way), tmp_path)), 64)
    with np.errstate(all="ignore"):
        values = [function(t.inputs["x"].astype(np.float64)) for t in trials if t.inputs["x"].size]
    assert any(0.7 < value < 0.7007 for value in values)


WEIGHTS = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
KERNEL = np.array([[[[1, 2], [3, -5]]], [[[4, 5], [6, 7]]]], np.float32)
PRODUCT = (
    "(float[%s] x) => (float[%s] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 10}, float[3] b = {1, -2, 50}, "
    "float[2,1,2,2] k = {1, 2, 3, -5, 4, 5, 6, 7}> { $ z = Neg(s) lo = Constant<value=float {300}>() "
    "hi = Constant<value=float {300.2}>() a = Greater(s, lo) c = Less(s, hi) d = And(a, c) y = Where(d, s, z) }"
)


@pytest.mark.parametrize(
    ("way", "shape", "function"),
    [
        ("s = MatMul(x, w)", "2,3", lambda x: x @ WEIGHTS),
        ("s = MatMul(w, x)", "3,2", lambda x: WEIGHTS @ x),
        ("q = MatMul(x, w) s = Add(q, b)", "2,3", lambda x: x @ WEIGHTS + [1, -2, 50]),
        ("s = Gemm<alpha=0.5, beta=2.0, transB=1>(x, w, b)", "2,3", lambda x: x @ WEIGHTS.T / 2 + [2, -4, 100]),
        ("s = Conv(x, k)", "1,1,2,2", lambda x: (KERNEL * x).sum((1, 2, 3))),
    ],
)
def test_a_narrow_band_is_hit_through_constant_weights(way, shape, function, tmp_path):
    result = "1,2,1,1" if "Conv" in way else shape
    trials = edge_trials(signature_of(model((PRODUCT % (shape, result)).replace("$", way), tmp_path)), 64)
    ordinary = [t.inputs["x"].astype(np.float64) for t in trials if t.kind == "edge"]
    values = np.concatenate([function(x).reshape(-1) for x in ordinary])
    assert ((values > 300) & (values < 300.2)).any()


def test_constants_of_both_models_are_tried(tmp_path):
    text = "(float[4] x) => (bool[4] y) { k = Constant<value=float {$}>() y = Less(x, k) }"
    a, b = (model(text.replace("$", number), tmp_path, number) for number in ("3.5", "-77.25"))
    values = np.concatenate([t.inputs["x"] for t in edge_trials(signature_of(a, b), 64)])
    for number in (np.float32(3.5), np.float32(-77.25)):
        for near in (number, np.nextafter(number, np.float32(9)), np.nextafter(number, np.float32(-99))):
            assert (values == near).any()
        assert (np.abs(values / number - 1.001) < 1e-5).any()


def test_every_operand_that_is_only_an_integer_has_a_kind():
    numbers = {  # any integer will do
        *((f"Bitwise{name}", place) for name in ("And", "Or", "Xor") for place in (0, 1)),
        *((name, place) for name in ("ConvInteger", "MatMulInteger") for place in (0, 1)),
        *(("QLinearConv", place) for place in (0, 3, 8)),
        ("BitwiseNot", 0), ("BitShift", 0), ("ImageDecoder", 0), ("Loop", 0),
    }  # fmt: skip
    integers = {f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    found = {
        (schema.name, place)
        for schema in defs.get_all_schemas()
        if schema.domain == "" and not schema.deprecated
        for place, operand in enumerate(schema.inputs)
        if operand.types and set(operand.types) <= integers
    }
    assert ("Gather", 1) in found and ("LSTM", 4) in found
    edges = {(name, place) for name, rows in OPERANDS.items() for place, row in rows.items() if row.kind is not None}
    assert found - numbers - edges == set()


def test_an_operators_integers_are_numbers_to_floats():
    """Categories of OneHotEncoder, for one: floats around them and with a mean of them are tried as around floats."""
    found = [
        np.concatenate([trial.inputs["x"].ravel() for trial in edge_trials(Signature([spec]), 64)])
        for spec in (InputSpec("x", tensor("float64", "N", 3), constants=(number,)) for number in (2, 2.0))
    ]
    np.testing.assert_array_equal(*found)
    assert {2.0, np.nextafter(2, 3), np.nextafter(2, 1)} <= set(found[0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int64", "uint8"])
def test_special_numbers_are_marked_and_others_moderate(dtype):
    constants = (0.0, 0.75, 3.0) if "float" in dtype else (0.0, 17.0)
    trials = edge_trials(Signature([InputSpec("x", tensor(dtype, "N", 3), constants=constants)]), 64)
    assert {t.kind for t in trials} == ({"edge"} if dtype == "uint8" else {"edge", "special"})
    for trial in trials:
        x = trial.inputs["x"].astype(np.float64)
        assert bool(trial.tags) == (trial.kind == "special")
        assert not np.isnan(x).any() or "nan" in trial.tags
        assert not np.isinf(x).any() or "inf" in trial.tags
        if trial.kind == "edge":
            assert np.abs(x).max(initial=0) <= 2**24
            assert (np.abs(x[x != 0]) > 1e-38).all()
    if "float" in dtype:
        assert {tag for t in trials for tag in t.tags} == {"nan", "inf", "denormal", "huge"}


def test_sizes_go_from_nothing_to_beyond_what_is_compared(tmp_path):
    specs = [InputSpec("x", tensor("float32", "N", None)), InputSpec("y", tensor("float32", "N", Interval(2, 4)))]
    trials = [t.inputs for t in edge_trials(Signature(specs, sizes=(13,)), 64)]
    assert {t["x"].shape[0] for t in trials} >= {0, 1, 11, 12, 13, 14, 15, 17, 101}
    assert {t["x"].shape[1] for t in trials} >= {0, 1, 17, 101}
    assert {t["y"].shape[1] for t in trials} <= {2, 3, 4}
    assert all(t["x"].shape[0] == t["y"].shape[0] for t in trials)
    large = edge_trials(Signature([InputSpec("x", tensor("float32", "N", 1000, 100))]), 64)
    assert max(math.prod(t.inputs["x"].shape) for t in large) <= 1_000_000


def test_an_optional_input_is_left_out_where_both_models_have_a_default(tmp_path):
    text = "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }"
    a, b = model(text, tmp_path), model(text.replace("{1, 2}", "{1, 3}"), tmp_path, "b")
    without = [t for t in edge_trials(signature_of(a, b), 8) if "w" not in t.inputs]
    assert without and all("w" in t for t in design(signature_of(a, b), 8))
    assert any(differ(Executor(a), Executor(b), t.inputs) for t in without)
    required = model("(float[2] x, float[2] w) => (float[2] y) { y = Mul(x, w) }", tmp_path, "c")
    assert all("w" in t.inputs for t in edge_trials(signature_of(a, required), 8))


def test_sequences_and_optionals():
    kind = tensor("float32", 2)
    specs = [InputSpec("s", SequenceType(kind)), InputSpec("o", OptionalType(kind))]
    trials = [t.inputs for t in edge_trials(Signature(specs), 64)]
    assert {len(t["s"]) for t in trials} >= {0, 1, 5}
    assert any(t["o"] is None for t in trials)


def test_the_same_seed_gives_the_same_trials():
    signature = Signature([InputSpec("x", tensor("float32", "N", 3), constants=(2.0,))])
    one, again, other = (edge_trials(signature, 16, seed) for seed in (0, 0, 1))
    assert [t.why for t in one] == [t.why for t in again]
    assert all(a.inputs["x"].tobytes() == b.inputs["x"].tobytes() for a, b in zip(one, again, strict=True))
    assert any(a.inputs["x"].tobytes() != b.inputs["x"].tobytes() for a, b in zip(one, other, strict=True))


def test_shapes_of_a_reshape_have_as_many_elements():
    x = np.zeros((2, 3, 4))
    for count in range(1, 5):
        for shape in for_shape("shape", count, x.shape):
            kept = [x.shape[k] if size == 0 else int(size) for k, size in enumerate(shape)]
            if kept.count(-1) < 2 and 24 % abs(math.prod(kept)) == 0 and (-1 in kept or math.prod(kept) == 24):
                assert x.reshape(kept).size == 24
    found = [list(shape) for shape in for_shape("shape", 3, x.shape)]
    assert [0, 0, 0] in found and [4, 3, 2] in found and [1, 1, -1] in found and [0, -1, 1] in found
