"""Ifs whose branches give one result different ranks, and branches that can't run: ONNX Runtime against OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import NOTES, lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.infer import infer
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.structure.branches import resolve_branches
from backedge.passes.types import DType, TensorType, tensor
from backedge.passes.verify import verify

from .runner import Runner

UNSQUEEZED = "(float[A, 1] a) { at = Constant <value = int64[1] {1}> () a = Unsqueeze (x, at) }"
SUMMED = "(float b) { b = ReduceSum <keepdims = 0> (x) }"
FLAT = "flat = Constant <value = int64[1] {-1}> ()"


def branch(name: str, flag: str, then: str = UNSQUEEZED, other: str = SUMMED) -> str:
    return f"{name} = If ({flag}) <then_branch = t () => {then}, else_branch = e () => {other}>"


def model(inputs: str, outputs: str, text: str) -> onnx.ModelProto:
    head = '<ir_version: 8, opset_import: ["" : 17]>'
    return onnx.parser.parse_model(f"{head}\ng ({inputs}) => ({outputs}) {{\n{text}\n}}")


def lowered(proto: onnx.ModelProto) -> Graph:
    graph = raise_graph(read_model(proto))
    infer(graph)
    return graph


ELEMENTWISE_TAIL = f"""{branch("z", "p")}
  {FLAT} n = Neg (z) w = Mul (n, x) e = Exp (z) s = Add (w, e) y = Reshape (s, flat)"""
NOT_CONVEX = f"""{branch("z", "p")}
  {FLAT} s = Shape (z) r = Size (s) f = Cast <to = 1> (r) v = Mul (z, f) y = Reshape (v, flat)"""
TWO = f"""{branch("z", "p")} {branch("w", "q")} {FLAT} both = Add (z, w) y = Reshape (both, flat)"""
NESTED = f"""
  z = If (p) <
    then_branch = t () => (c) {{ {branch("c", "q")} }},
    else_branch = e () => (float[N] d) {{ d = Neg (x) }}>
  {FLAT} y = Reshape (z, flat)"""
CAPTURED_BY_A_BRANCH = f"""{branch("z", "p")}
  y = If (q) <
    then_branch = t () => (float[K] c) {{ {FLAT} c = Reshape (z, flat) }},
    else_branch = e () => (float[K] d) {{ s = Shape (z) d = Cast <to = 1> (s) }}>"""
LOOP_IN_TAIL = f"""{branch("z", "p")}
  m = Constant <value = int64 {{3}}> ()
  y = Loop (m, , x) <body = b (int64 i, bool go, float[N] a) => (bool on, float[N] c) {{
    on = Identity (go) one = Constant <value = float {{1.0}}> () g = ReduceMax <keepdims = 0> (z)
    d = Add (a, g) c = Add (d, one) }}>"""
RANK_KNOWN_INSIDE = f"""{branch("z", "p")}
  s = Shape (z) r = Size (s) two = Constant <value = int64 {{2}}> () is = Equal (r, two)
  y = If (is) <
    then_branch = t () => (float[K] c) {{ at = Constant <value = int64[1] {{1}}> () c = Squeeze (z, at) }},
    else_branch = e () => (float[K] d) {{ at2 = Constant <value = int64[1] {{0}}> () d = Unsqueeze (z, at2) }}>"""
TWO_RESULTS = f"""
  z, k = If (p) <
    then_branch = t () => (float[A, 1] a, float[N] c) {{ at = Constant <value = int64[1] {{1}}> () a = Unsqueeze (x, at)
      c = Neg (x) }},
    else_branch = e () => (float b, float[N] d) {{ b = ReduceSum <keepdims = 0> (x) d = Exp (x) }}>
  {FLAT} f = Reshape (z, flat) two = Constant <value = float {{2.0}}> () l = Mul (k, two)
  y = Concat <axis = 0> (f, l)"""
RUNNING = {
    "elementwise": ("bool p, bool q, float[N] x", ELEMENTWISE_TAIL),
    "not_convex": ("bool p, bool q, float[N] x", NOT_CONVEX),
    "two_independent": ("bool p, bool q, float[N] x", TWO),
    "nested": ("bool p, bool q, float[N] x", NESTED),
    "captured_by_a_branch": ("bool p, bool q, float[N] x", CAPTURED_BY_A_BRANCH),
    "loop_behind": ("bool p, bool q, float[N] x", LOOP_IN_TAIL),
    "rank_known_inside": ("bool p, bool q, float[N] x", RANK_KNOWN_INSIDE),
    "two_results": ("bool p, bool q, float[N] x", TWO_RESULTS),
}


@pytest.mark.parametrize("name", RUNNING)
def test_ranks_agree_again(openvino: Runner, name: str) -> None:
    inputs, text = RUNNING[name]
    proto = model(inputs, "float[M] y", text)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    wanted = {value.name for value in session.get_inputs()}
    feeds: list[dict[str, Any]] = []
    for p in (True, False, True):
        for q in (False, True):
            for x in ([1.0, -2.0, 0.5], [3.0], [np.inf, 1.0]):
                feeds.append({"p": np.array(p), "q": np.array(q), "x": np.array(x, np.float32)})
    feeds = [{key: value for key, value in feed.items() if key in wanted} for feed in feeds]
    assert [value.name for value in verify(resolve_branches(lowered(proto))[0]).outputs] == ["y"]
    found = openvino.lowered(lowered(proto), feeds, recompile="never")
    for feed, made in zip(feeds, found, strict=True):
        expected: Any = session.run(None, feed)[0]
        assert made[0].shape == expected.shape, feed
        np.testing.assert_allclose(made[0], expected, rtol=1e-6, err_msg=str(feed))


def test_where_the_model_ends() -> None:
    with pytest.raises(Unsupported, match="different ranks"):
        lower_graph(lowered(model("bool p, float[N] x", "float[] y", branch("y", "p"))))


def test_where_the_body_of_a_loop_ends() -> None:
    inner = branch("c", "p", UNSQUEEZED.replace("(x, at)", "(d, at)"), SUMMED.replace("(x)", "(d)"))
    text = f"""m = Constant <value = int64 {{3}}> ()
      y = Loop (m, , x) <body = b (int64 i, bool go, float[N] a) => (bool on, c) {{
        on = Identity (go) d = Neg (x) {inner} }}>"""
    with pytest.raises(Unsupported, match="rank"):
        lower_graph(lowered(model("bool p, float[N] x", "float[] y", text)))


def test_known_conditions_in_branches() -> None:
    """Behind a Squeeze or nothing stands an If that asks for the rank: each branch knows the answer."""
    graph, notes = resolve_branches(lowered(model(RUNNING["rank_known_inside"][0], "float[M] y", RANK_KNOWN_INSIDE)))
    assert not notes
    assert [node.op_type for _, node in graph.walk()].count("If") == 1


def conv_behind(then: str, other: str) -> str:
    """A convolution, which wants rank 3, behind an If."""
    weights = "k = Constant <value = float[1, 1, 2] {1.0, 1.0}> ()"
    return f"{weights} z = If (p) <then_branch = t () => {then}, else_branch = e () => {other}> y = Conv (z, k)"


SAME = "(float[A, B, C] a) { a = Identity (x) }"
FLATTENED = "(float[A, D] b) { b = Flatten (x) }"


def test_a_branch_that_cannot_run(openvino: Runner) -> None:
    """It goes, and what would have failed there fails still; both ways round."""
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    for then, other, works in ((SAME, FLATTENED, True), (FLATTENED, SAME, False)):
        proto = model("bool p, float[A, 1, C] x", "float[A, 1, E] y", conv_behind(then, other))
        graph = lowered(proto)
        notes = lower_graph(graph).meta[NOTES]
        assert len(notes) == 1
        assert "can't run and is left out" in notes[0]
        assert "Conv" in notes[0]
        assert [value.name for value in lower_graph(graph).outputs] == ["y"]
        ((made,),) = openvino.lowered(graph, [{"p": np.array(works), "x": x}], recompile="never")
        np.testing.assert_array_equal(made, (x[..., 1:] + x[..., :-1]))
        with pytest.raises(RuntimeError):
            # with one thread OpenVINO's CPU swallows what goes wrong with shapes
            openvino.lowered(graph, [{"p": np.array(not works), "x": x}], recompile="never", threads=2)


def test_no_branch_can_run() -> None:
    twice = "(float[1, A, B, C] c) { at2 = Constant <value = int64[1] {0}> () c = Unsqueeze (x, at2) }"
    with pytest.raises(Unsupported, match="neither branch can run"):
        lower_graph(lowered(model("bool p, float[A, 1, C] x", "float[A, 1, E] y", conv_behind(FLATTENED, twice))))


def test_known_condition_becomes_its_branch() -> None:
    """A condition made of sizes that are declared."""
    text = f"""s = Shape (x) zero = Constant <value = int64 {{0}}> () n = Gather (s, zero)
      five = Constant <value = int64 {{5}}> () p = Less (n, five) {branch("y", "p")}"""
    graph, _ = resolve_branches(lowered(model("float[4] x", "float[4, 1] y", text)))
    verify(graph)
    assert [node.op_type for _, node in graph.walk() if node.op_type in ("If", "Unsqueeze", "ReduceSum")] == [
        "Unsqueeze"
    ]


def test_results_nobody_uses() -> None:
    """An If of different ranks whose result isn't used stops nothing."""
    proto = model("bool p, float[N] x", "float[N] y", f"{branch('z', 'p')} n = Neg (z) y = Exp (x)")
    assert [node.op_type for node in lower_graph(lowered(proto)).nodes] == ["Exp"]


def test_graph_without_branches_is_itself() -> None:
    graph = Graph("hub")
    op = Builder(Rewriter(HUB, {}), graph)
    graph.outputs = [op.Neg(graph.add_input("x", tensor(DType.FLOAT32, 2)))]
    assert resolve_branches(graph) == (graph, [])
    assert isinstance(graph.outputs[0].type, TensorType)


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_bytes_of_branches_of_other_sizes(openvino: Runner, kind: str) -> None:
    """The first run is right as the ones behind it, where OpenVINO's CPU quantizes what it makes of them."""
    text = (
        f"g ({kind}[2] x, bool c, {kind} zero, int8[6, 4] w) => (int32[4] y) "
        f"{{ t = If (c) <then_branch = a () => ({kind}[n] u) {{ three = Constant <value_ints = [3]> () "
        f"u = Tile (x, three) }}, else_branch = b () => ({kind}[n] v) {{ v = Identity (x) }}> "
        "y = MatMulInteger (t, w, zero) }"
    )
    graph = raise_graph(read_model(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')))
    x, w = np.array([5, 3], kind), np.arange(24, dtype=np.int8).reshape(6, 4)
    fed = {"x": x, "c": np.array(True), "zero": np.array(1, kind), "w": w}
    right = (np.tile(x, 3).astype(np.int32) - 1) @ w.astype(np.int32)
    for (found,) in openvino.lowered(graph, [fed, fed]):
        np.testing.assert_array_equal(found, right, strict=True)


@pytest.mark.parametrize(("kind", "size"), [("float", "k"), ("int64", "k"), ("float", "1")])
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "in a loop"])
def test_products_behind_branches_of_open_sizes(openvino: Runner, kind: str, size: str, inside: bool) -> None:
    """The first run of larger inputs is right as the ones behind it: OpenVINO's CPU would give a branch's memory to
    the product while it is needed."""
    text = f"""t = If (c) <then_branch = a () => ({kind}[{size}] u) {{ r = Reshape (v, length) u = Neg (r) }},
        else_branch = b () => ({kind}[{size}] w) {{ w = Reshape (v, length) }}>
        f = Cast <to = 1> (t) s = Add (x, f) p = MatMul (s, m) o = Softmax (p)"""
    if inside:
        text = f"""y = Loop (two, "") <body = l (int64 i, bool g) => (bool on, float[n, 7] o) {{
            on = Identity (g) {text} }}>"""
    else:
        text += " zero = Constant <value_ints = [0]> () y = Unsqueeze (o, zero)"
    graph = raise_graph(
        read_model(
            onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 21]>
                g (float[n, 4] x, bool c, {kind}[k] v, float[4, 7] m, int64[1] length) => (float[r, n, 7] y)
                <int64 two = {{2}}> {{ {text} }}""")
        )
    )
    numbers = np.random.default_rng(0)
    m = numbers.standard_normal((4, 7)).astype(np.float32)
    feeds = [
        {
            "x": numbers.standard_normal((rows, 4)).astype(np.float32),
            "c": np.array(True),
            "v": np.array([2], "float32" if kind == "float" else kind),
            "m": m,
            "length": np.array([1]),
        }
        for rows in (30, 30, 2, 500)
    ]
    for fed, (found,) in zip(feeds, openvino.lowered(graph, feeds, recompile="never"), strict=True):
        product = (fed["x"].astype(np.float64) - 2) @ m
        right = np.exp(product) / np.exp(product).sum(-1, keepdims=True)
        np.testing.assert_allclose(found, [right] * (1 + inside), rtol=1e-4, atol=1e-6)
