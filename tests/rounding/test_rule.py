"""What is rounding, what a difference, and what nobody can tell, in the models' own runtimes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load, to_hub
from backedge.runtime.compare.rounding import Rounding
from backedge.runtime.wide.evidence import STRONG_RUNS, Pair

from . import judge
from .faults import FAULTS
from .models import BUILT, quantized_late

SIZES = {"dense": (5, 512), "gaussian process": (30, 4), "quantized late": (200, 512)}


def feeds(shape: tuple[int, ...], count: int = 2, dtype: str = "f") -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(5)
    return [{"x": random.standard_normal(shape).astype(dtype)} for _ in range(count)]


def saved(folder: Path, name: str, model: onnx.ModelProto) -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("name", SIZES)
def test_a_right_ir_is_equal(tmp_path: Path, name: str) -> None:
    """Sums of other orders, differences of large numbers, quantizers whose ties fall the other way."""
    source, target = saved(tmp_path, "m", BUILT[name]()), tmp_path / "m.xml"
    convert(source, target, verify=0)
    report = judge.compared(source, target, feeds(SIZES[name], 3))
    assert report.verdict == "equal", report.reasons
    assert any("same computation in float64" in reason for reason in report.reasons)
    assert all(trial.units is not None and trial.units <= 1 for trial in report.trials)


def test_ties_of_quantizers_are_no_difference(tmp_path: Path) -> None:
    """LayerNormalization isn't in opset 13: its steps round otherwise, and a quantizer behind it turns."""
    source, target = saved(tmp_path, "m", quantized_late()), tmp_path / "m13.onnx"
    convert(source, target, opset=13, verify=0)
    some = feeds((400, 512), 2)
    assert judge.compared(source, target, some).verdict == "equal"
    assert judge.compared(source, target, some, by_tolerance=True).verdict == "different"


@pytest.mark.parametrize(
    ("name", "kind", "shape"),
    [
        ("dense", "x(1+1e-5)", (5, 512)),
        ("dense half", "half 1 %", (5, 64)),
        ("normalized", "epsilon", (5, 64)),
        ("quantized late", "scale 1e-3", (50, 512)),
        ("quantized late", "zero point", (50, 512)),
    ],
)
def test_small_faults_are_differences(tmp_path: Path, name: str, kind: str, shape: tuple[int, ...]) -> None:
    model = BUILT[name]()
    faulty = FAULTS[kind](model, np.random.default_rng(1))
    assert faulty is not None
    files = saved(tmp_path, "a", model), saved(tmp_path, "b", faulty)
    report = judge.compared(*files, feeds(shape, dtype="e" if "half" in name else "f"))
    assert report.verdict == "different"
    assert report.first is not None
    assert "what rounding explains" in report.first.text
    assert report.first.difference.max_units > 1


def parsed(folder: Path, name: str, text: str) -> Path:
    return saved(folder, name, onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> agraph {text}'))


LOGISTIC = """(int64 M, float[3] x) => (float[3] y) {{ t = Constant<value=bool {{1}}>() y = Loop(M, t, x)
    <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] e) {{ d = Identity(c)
    one = Constant<value=float {{1.0}}>() r = Constant<value=float {{3.9}}>() s = Sub(one, a) {0} }}> }}"""


def test_a_chaotic_loop_says_nothing(tmp_path: Path) -> None:
    """The logistic map doubles every error in each pass: after 60 of them all is rounding."""
    a = parsed(tmp_path, "a", LOGISTIC.format("p = Mul(r, a) e = Mul(p, s)"))
    b = parsed(tmp_path, "b", LOGISTIC.format("p = Mul(a, s) e = Mul(r, p)"))
    x = np.array([0.3, 0.41, 0.57], np.float32)
    long = judge.compared(a, b, [{"M": np.array(60), "x": x}])
    assert long.counts["inconclusive"] == 1
    assert long.verdict == "incomparable"
    assert judge.compared(a, b, [{"M": np.array(5), "x": x}]).verdict == "equal"


STEPS_OF_CG = """(float[12,12] m, float[12] b, float t) => (int64 n) {{
    M = Constant<value=int64 {{100}}>() rr = MatMul(b, b) c = Greater(rr, t) k = Constant<value=int64 {{0}}>()
    z = Sub(b, b) x, r, p, n = Loop(M, c, z, b, b, k)
    <body = f (int64 i, bool d, float[12] x0, float[12] r0, float[12] p0, int64 n0)
        => (bool d1, float[12] x1, float[12] r1, float[12] p1, int64 n1) {{
        q = MatMul(m, p0) rr0 = MatMul(r0, r0) pq = MatMul(p0, q) {1}
        x1 = Add(x0, move) r1 = Sub(r0, change) rr1 = MatMul(r1, r1) beta = Div(rr1, rr0) kept = Mul(beta, p0)
        p1 = Add(r1, kept) d1 = Greater(rr1, t) one = Constant<value=int64 {{{0}}}>() n1 = Add(n0, one) }}> }}"""
"""Conjugate gradients; only how many steps they make."""

BY_ALPHA = "alpha = Div(rr0, pq) move = Mul(alpha, p0) change = Mul(alpha, q)"
BY_ROWS = "u = Mul(rr0, p0) move = Div(u, pq) v = Mul(rr0, q) change = Div(v, pq)"


def test_the_passes_of_a_loop_that_ends_by_chance_say_nothing(tmp_path: Path) -> None:
    """Conjugate gradients of a matrix that isn't positive definite diverge, and end where float32 cancels to 0: no run
    in float64 with errors as large does that."""
    a = parsed(tmp_path, "a", STEPS_OF_CG.format(1, BY_ALPHA))
    b = parsed(tmp_path, "b", STEPS_OF_CG.format(1, BY_ROWS))
    wrong = parsed(tmp_path, "wrong", STEPS_OF_CG.format(2, BY_ALPHA))
    random = np.random.default_rng(0)
    feeds = []
    for _ in range(8):
        m, vector = random.standard_normal((12, 12)).astype("f"), random.standard_normal(12).astype("f")
        feeds.append({"m": m, "b": vector, "t": np.array(0.3, "f")})
    report = judge.compared(a, b, feeds)
    assert report.counts["different"] == 0 and report.counts["inconclusive"] > 0, report.reasons
    tame = [{**one, "m": (one["m"] @ one["m"].T / 12 + 4 * np.eye(12)).astype("f")} for one in feeds]
    assert judge.compared(a, b, tame).counts["equal"] == 8
    assert judge.compared(a, wrong, tame).verdict == "different"


def test_an_index_that_rounding_decides_says_nothing(tmp_path: Path) -> None:
    """0.1 + 0.2 + 0.3 in two orders, held against their sum in a third: equal but for rounding."""
    text = """(float[N,3] x) => (int64[N] k) {{ a, b, c = Split<axis=1, num_outputs=3>(x) p = Add(a, b) q = Add(p, c)
        r = Add(b, c) s = Add(r, a) t = Add(a, c) u = Add(t, b)
        m = Concat<axis=1>({0}) k = ArgMax<axis=1, keepdims=0>(m) }}"""
    one, other = parsed(tmp_path, "a", text.format("q, s, u")), parsed(tmp_path, "b", text.format("q, u, s"))
    x = np.random.default_rng(0).random((20, 3), np.float32)
    report = judge.compared(one, other, [{"x": x}])
    assert report.counts["inconclusive"] == 1
    clear = parsed(tmp_path, "c", text.format("q, s, x"))
    moved = parsed(tmp_path, "d", text.format("x, s, q"))
    assert judge.compared(clear, moved, [{"x": x - 2}]).verdict == "different"


_ML = '<ir_version: 10, opset_import: ["": 21, "ai.onnx.ml": 3]> g '
_STUMP = """(double[N,1] x) => (float[N,1] y) {{ y = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids=[0,0,0],
    nodes_nodeids=[0,1,2], nodes_truenodeids=[1,0,0], nodes_falsenodeids=[2,0,0], nodes_modes=["{mode}","LEAF","LEAF"],
    nodes_featureids=[0,0,0], nodes_values=[{threshold}, 0.0, 0.0], n_targets=1, target_treeids=[0,0],
    target_nodeids=[1,2], target_ids=[0,0], target_weights=[{leaves}]> (x) }}"""


@pytest.mark.parametrize(
    ("text", "faulty"),
    [
        (_STUMP, {"mode": "BRANCH_LEQ", "threshold": "0.5", "leaves": "1.0, -2.0"}),
        (_STUMP, {"mode": "BRANCH_NEQ", "threshold": "0.501", "leaves": "1.0, -2.0"}),
        (_STUMP, {"mode": "BRANCH_NEQ", "threshold": "0.5", "leaves": "1.0, -2.1"}),
        (
            """(double[N,1] x) => (float[N,1] y) {{ t = Constant<value=double {{{threshold}}}> () e = Equal (x, t)
                y = Cast<to=1> (e) }}""",
            {"threshold": "0.501"},
        ),
    ],
)
def test_what_is_equal_only_in_float32_turns_in_openvino(tmp_path: Path, text: str, faulty: dict[str, str]) -> None:
    """1e-9 beside a threshold, where random rounding errors never meet it; OpenVINO computes float64 in float32."""
    right = {"mode": "BRANCH_NEQ", "threshold": "0.5", "leaves": "1.0, -2.0"}
    files = []
    for name, values in (("a", right), ("b", faulty)):
        path = tmp_path / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(_ML + text.format(**values)), path)
        convert(path, path.with_suffix(".xml"), verify=0)
        files.append(path)
    beside = {"x": np.array([[0.5 + 1e-9], [0.5 - 1e-9]])}
    clear = {"x": np.array([[0.5], [0.3], [0.5005], [0.7]])}
    report = judge.compared(files[0], tmp_path / "a.xml", [beside, clear])
    assert report.counts == {**report.counts, "equal": 1, "inconclusive": 1, "different": 0}, report.reasons
    assert judge.compared(files[0], tmp_path / "b.xml", [beside, clear]).verdict == "different"


_FLOORED = "d = Div (f, t) y = Floor (d)"


@pytest.mark.parametrize(
    ("made", "faulty"),
    [
        (_FLOORED, "d = Div (f, t) y = Ceil (d)"),
        (_FLOORED, "n = Constant<value=float {7.01}> () d = Div (f, n) y = Floor (d)"),
        (
            "h = Constant<value=float {0.5}> () g = Mul (f, h) q = QuantizeLinear (g, t, z) y = Cast<to=1> (q)",
            "h = Constant<value=float {0.502}> () g = Mul (f, h) q = QuantizeLinear (g, t, z) y = Cast<to=1> (q)",
        ),
    ],
)
def test_a_step_behind_an_exact_quotient_turns_in_openvino(tmp_path: Path, made: str, faulty: str) -> None:
    """OpenVINO multiplies by the reciprocal: -42 / 7 is less than -6, and 45.5 / 7 not between two steps."""
    text = "(float[N] f, float t, int8 z) => (float[N] y) {{ {0} }}"
    files = []
    for name, body in (("a", made), ("b", faulty)):
        path = tmp_path / f"{name}.onnx"
        onnx.save(onnx.parser.parse_model(_ML + text.format(body)), path)
        convert(path, path.with_suffix(".xml"), verify=0)
        files.append(path)
    batch = {"f": np.arange(-343, 343, 7, dtype="f"), "t": np.array(7, "f"), "z": np.array(3, np.int8)}
    clear = {**batch, "f": np.arange(-343, 343, 7, dtype="f") + np.float32(1.5)}
    report = judge.compared(files[0], tmp_path / "a.xml", [batch, clear])
    assert report.counts["different"] == 0 and report.counts["equal"] >= 1, report.reasons
    assert judge.compared(files[0], files[0], [batch, clear]).counts["equal"] == 2
    assert judge.compared(files[0], tmp_path / "b.xml", [batch, clear]).verdict == "different"
    assert judge.compared(files[0], files[1], [batch, clear]).verdict == "different"


@pytest.mark.parametrize(("off", "verdict"), [(0, "equal"), (1, "different")])
def test_whole_numbers_that_another_file_holds_are_held_against_the_steps(
    tmp_path: Path, off: int, verdict: str
) -> None:
    """A quantized window, which the other file holds without its zero point; beside it a sum that cancels."""
    text = """(uint8[6] z, float[3] x) => (uint8[6] q, float[1] y) {{ {0}
        a, b, c = Split<axis=0, num_outputs=3> (x) p = Add ({1}) y = Add (p, {2}) }}"""
    scales = np.array([0.12879692, 0.17341143, 0.31367397, 0.042712495, 0.3368741, 0.33352113])
    window = f"""n = Constant<value=int64 {{6}}> () w = HannWindow (n)
        s = Constant<value=float[6] {{{", ".join(map(str, scales))}}}> () q = QuantizeLinear<axis=-1> (w, s, z)"""
    whole = np.rint(np.sin(np.pi * np.arange(6) / 6) ** 2 / scales).astype(int)
    whole[3] += off
    held = f"""k = Constant<value=float[6] {{{", ".join(map(str, whole))}}}> () f = Cast<to=1> (z) m = Add (k, f)
        l = Constant<value=float {{0.0}}> () h = Constant<value=float {{255.0}}> () o = Clip (m, l, h)
        q = Cast<to=2> (o)"""
    one = parsed(tmp_path, "a", text.format(window, "a, b", "c"))
    other = parsed(tmp_path, "b", text.format(held, "b, c", "a"))
    random = np.random.default_rng(3)
    z = random.integers(0, 200, 6).astype(np.uint8)
    report = judge.compared(one, other, [{"z": z, "x": np.array([0.016527636, 0.8132702, -0.8297066], "f")}])
    assert any("same computation in float64" in reason for reason in report.reasons) == (verdict == "equal")
    assert report.verdict == verdict


def test_a_runtime_that_is_wrong_alone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, "m", BUILT["dense"]())
    own = judge._own
    calls: list[Path] = []

    def spoilt(path: Path):
        found = own(path)
        calls.append(path)
        if len(calls) < 2:
            return found

        def run(batches):
            for outcome in found.run(batches):
                assert outcome.outputs is not None
                outcome.outputs["y"] = outcome.outputs["y"] * np.float32(1 + 1e-5)
                yield outcome

        return type(found)(found.name, run)

    monkeypatch.setattr(judge, "_own", spoilt)
    report = judge.compared(path, path, feeds((5, 512), 1))
    assert report.verdict == "different"
    assert report.first is not None
    assert "in onnxruntime only: the files agree in float64" in report.first.text


def test_what_there_is_no_time_for_counts_as_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = saved(tmp_path, "a", BUILT["dense"]())
    faulty = FAULTS["x(1+1e-5)"](BUILT["dense"](), np.random.default_rng(1))
    assert faulty is not None
    monkeypatch.setattr(judge, "Rounding", lambda run, double: Rounding(run, double, budget=0.0))
    report = judge.compared(source, saved(tmp_path, "b", faulty), feeds((5, 512)))
    assert report.verdict == "incomparable"
    assert report.counts["inconclusive"] == 2


FOLDED = """(float[3] x) => (float[3] y) {{ c = Constant<value=float {{{0}}}>() e = Exp(c)
    one = Constant<value=float {{1.0}}>() d = Sub(one, e) k = Log(d) y = Mul(x, k) }}"""


@pytest.mark.parametrize("at", [-0.3, -0.11, -0.0137, -0.00351])
def test_what_another_file_holds_computed_is_rounded_there(tmp_path: Path, at: float) -> None:
    """log(1 - exp(c)) cancels digits: NumPy's float32 value of it is off by many units in the last place."""
    right = np.log(np.float32(1) - np.exp(np.float32(at)))
    assert isinstance(right, np.float32)
    folded = "(float[3] x) => (float[3] y) {{ k = Constant<value=float {{{0}}}>() y = Mul(x, k) }}"
    held, computed = (
        parsed(tmp_path, name, text.format(number))
        for name, text, number in (("a", folded, repr(float(right))), ("b", FOLDED, repr(at)))
    )
    wrong = parsed(tmp_path, "c", folded.format(repr(float(right * np.float32(1 + 3e-3)))))
    for a, b in ((held, computed), (computed, held)):
        assert judge.compared(a, b, feeds((3,), 16)).verdict == "equal"
    for a, b in ((wrong, computed), (computed, wrong)):
        assert judge.compared(a, b, feeds((3,), 4)).verdict == "different"


STANDARDIZED = """(float[2] s) => (float[1,2,5] y) {{ x = Constant<value=float[1,2,5] {{{0}}}>()
    b = Constant<value=float[2] {{2.5, -1.5}}>() y = InstanceNormalization(x, s, b) }}"""
HELD = """(float[2] s) => (float[1,2,5] y) {{ x = Constant<value=float[1,2,5] {{{0}}}>()
    b = Constant<value=float[2,1] {{2.5, -1.5}}>() a = Constant<value=int64[1] {{1}}>() t = Unsqueeze(s, a)
    p = Mul(x, t) y = Add(p, b) }}"""


def test_what_another_file_holds_standardized_is_rounded_there(tmp_path: Path) -> None:
    x = (np.random.default_rng(3).normal(size=(2, 5)) + 20).astype(np.float32)
    apart = x - x.mean(1, keepdims=True)
    right = apart / np.sqrt((apart * apart).mean(1, keepdims=True) + np.float32(1e-5))
    assert right.dtype == np.float32

    def file(name: str, text: str, numbers: np.ndarray) -> Path:
        return parsed(tmp_path, name, text.format(", ".join(map(repr, numbers.ravel().tolist()))))

    computed, held = file("a", STANDARDIZED, x), file("b", HELD, right)
    wrong = file("c", HELD, right * np.float32(1 + 1e-3))
    for other, verdict in ((held, "equal"), (wrong, "different")):
        given = [{"s": one["x"]} for one in feeds((2,), 16)]
        assert judge.compared(computed, other, given).verdict == verdict
        assert judge.compared(other, computed, given).verdict == verdict


RECURRENT = """(float[3,2] x) => (float[1,1,1,1] y) {{ s = Constant<value=float[1,1,300] {{{0}}}>()
    w = Constant<value=float[1,1,300] {{{1}}}>() r = Constant<value=float[1,1,1] {{0.5}}>()
    i = Constant<value=int64[1] {{0}}>() b = Gather(x, i) y, h = RNN<hidden_size=1>(s, w, r, b) }}"""
PRODUCT = """(float[3,2] x) => (float[1,1,1,1] y) {{ p = Constant<value=float {{{0}}}>()
    i = Constant<value=int64[1] {{0}}>() b = Gather(x, i) a = Constant<value=int64[1] {{1}}>() t = ReduceSum(b, a)
    q = Add(t, p) h = Tanh(q) f = Constant<value=int64[4] {{1, 1, 1, 1}}>() y = Reshape(h, f) }}"""


def test_what_another_file_holds_of_a_networks_constant_inputs_is_rounded_there(tmp_path: Path) -> None:
    """Biases bring their product with the weights near 0, where an error of its size is seen."""
    sequence, weights = np.full(300, 0.1, "f"), np.linspace(0.7, 1.3, 300, dtype="f")
    right = np.cumsum(sequence * weights, dtype="f")[-1]

    def file(name: str, text: str, *numbers: np.ndarray) -> Path:
        listed = (", ".join(map(repr, np.ravel(one).tolist())) for one in numbers)
        return parsed(tmp_path, name, text.format(*listed))

    computed, held = file("a", RECURRENT, sequence, weights), file("b", PRODUCT, right)
    wrong = file("c", PRODUCT, right * np.float32(1 + 1e-4))
    given = [{"x": np.array([[-right, 2e-3 * k]] * 3, "f")} for k in range(8)]
    for other, verdict in ((held, "equal"), (wrong, "different")):
        assert judge.compared(computed, other, given).verdict == verdict
        assert judge.compared(other, computed, given).verdict == verdict


class Watched:
    """A rounding session that is late where strong noise is asked for, and keeps what it was asked."""

    def __init__(self, session, late: bool) -> None:
        self.session, self.late, self.asked = session, late, list[list[int]]()
        self.coarse = session.coarse

    def run(self, given):
        self.asked.append(given["ask"].tolist())
        return ({}, "") if self.late and self.asked[-1][0] else self.session.run(given)


def _watched(monkeypatch: pytest.MonkeyPatch, late: bool) -> list[Watched]:
    made: list[Watched] = []
    opened = judge.open_rounding
    monkeypatch.setattr(judge, "open_rounding", lambda *given: made.append(Watched(opened(*given), late)) or made[-1])
    return made


def _slightly_wrong(folder: Path) -> tuple[Path, Path]:
    faulty = FAULTS["x(1+1e-5)"](BUILT["dense"](), np.random.default_rng(1))
    assert faulty is not None
    return saved(folder, "a", BUILT["dense"]()), saved(folder, "b", faulty)


def test_where_strong_noise_has_no_time_to_tell_whether_something_turns_nothing_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = _slightly_wrong(tmp_path)
    assert judge.compared(*files, feeds((5, 512))).verdict == "different"
    _watched(monkeypatch, late=True)
    report = judge.compared(*files, feeds((5, 512)))
    assert report.counts["inconclusive"] == 2
    assert any("the time for that is used up" in reason for reason in report.reasons)


def test_after_a_difference_little_time_is_left_for_what_the_report_says_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _watched(monkeypatch, late=False)
    assert judge.compared(*_slightly_wrong(tmp_path), feeds((5, 512), 3)).verdict == "different"
    limits = [milliseconds for *_, milliseconds in made[0].asked]
    assert max(limits[:2]) == min(limits[:2]) > 10_000 >= max(limits[2:])


def test_strong_noise_is_drawn_once_at_least_and_no_longer_than_there_is_time(tmp_path: Path) -> None:
    graph = to_hub(load(saved(tmp_path, "m", BUILT["dense"]())))
    names = [{value.name: value.name for value in values} for values in (graph.inputs, graph.outputs)]
    pair = Pair(graph, graph, *names)
    inputs = feeds((5, 512), 1)[0]
    runs: list[bool] = []
    drawn = pair._a.noisy
    pair._a.noisy = lambda given, noise: runs.append(noise.is_drawn) or drawn(given, noise)
    for seconds, expected in ((0.0, 1), (1e9, STRONG_RUNS)):
        runs.clear()
        found = pair.strong(inputs, 0, False, seconds=seconds)
        assert sum(runs) == expected
        assert all(np.isfinite(leaf).all() and leaf.any() for output in found.values() for leaf in output.spread)
