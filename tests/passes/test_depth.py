"""Regions in regions: what no format holds, or no walk has room for, is told in words, never by Python's own limit."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert, verify
from backedge.convert.files import load, save, to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.passes import infer as inference
from backedge.passes.depth import deepest
from backedge.passes.errors import InvalidModel, TooLarge, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.limits import DEEPEST
from backedge.passes.loop import Captured, Carried, Loop, is_loop
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.structure.slots import PruneSlots
from backedge.passes.types import DType, tensor
from backedge.runtime import run
from backedge.runtime.compiled import compile_loop
from backedge.runtime.compiled.operators import nests_too_deeply
from modeci_mdf.utils import load_mdf

F32 = tensor(DType.FLOAT32, 2)
FEED: dict[str, Any] = {"x": np.array([1, -2], np.float32), "c": np.bool_(True)}


def built(name: str, depth: int, level: Callable[[Builder, Graph | None], Graph]) -> Graph:
    """A graph around so many regions in each other, the innermost one first: each made by `level` of the one in it."""
    graph = Graph("hub", name)
    rewriter = Rewriter(HUB, {}, fallback=Builder.copy)
    rewriter.root = graph
    outer = Builder(rewriter, graph)
    inner: Graph | None = None
    for number in range(depth, -1, -1):
        inner = level(outer.region(f"r{number}") if number else outer, inner)
    return graph


def nested(depth: int, kind: str) -> Graph:
    """-x within so many branches, or loops of one pass each."""

    def level(op: Builder, inner: Graph | None) -> Graph:
        x, c = op.input("x", F32), op.input("c", tensor(DType.BOOL))
        if inner is None:
            y = op.Neg(x)
        elif kind == "loop":
            (y,) = op.loop(op.const(1), None, [Carried(), Captured()], [x, c], inner, types=[F32])
        else:
            other = op.region("else")
            other.graph.outputs = [other.Abs(other.input("x", F32))]
            other.input("c", tensor(DType.BOOL))
            (y,) = op.branch(c, [x, c], inner, other.graph, types=[F32])
        op.graph.outputs = [y]
        return op.graph

    graph = built("nested", depth, level)
    graph.inputs[0].name, graph.inputs[1].name = "x", "c"
    return graph


def text(depth: int, of: str) -> str:
    """The same as HLO."""
    lines = ["HloModule nested"]
    state = "(s32[], f32[2])" if of == "loop" else "(pred[], f32[2])"
    for level in range(depth, 0, -1):
        inside = f"  x = f32[2] get-tuple-element({{0}}), index=1\n  {_call(level + 1, of) if level < depth else ''}"
        head = f"  t = {state} parameter(0)\n  first = {state[1:].partition(',')[0]} get-tuple-element(t), index=0\n"
        first, _, last = inside.format("t").partition("\n")
        y = last if level < depth else "  y = f32[2] negate(x)"
        if of == "loop":
            lines += [
                f"test{level} {{\n{head}  n = s32[] constant(1)\n  ROOT l = pred[] compare(first, n), direction=LT\n}}"
            ]
            tail = f"  one = s32[] constant(1)\n  k = s32[] add(first, one)\n  ROOT r = {state} tuple(k, y)"
        else:
            lines += [f"other{level} {{\n{head}{first}\n  ROOT z = f32[2] abs(x)\n}}"]
            tail = "  ROOT r = f32[2] copy(y)"
        lines += [f"body{level} {{\n{head}{first}\n{y}\n{tail}\n}}"]
    p = "" if of == "loop" else "  first = pred[] parameter(1)\n"
    lines += [f"ENTRY main {{\n  x = f32[2] parameter(0)\n{p}{_call(1, of)}\n  ROOT r = f32[2] copy(y)\n}}\n"]
    return "\n".join(lines)


def _call(level: int, of: str) -> str:
    if of == "loop":
        return (
            f"  zero = s32[] constant(0)\n  u = (s32[], f32[2]) tuple(zero, x)\n  w = (s32[], f32[2]) while(u), "
            f"condition=test{level}, body=body{level}\n  y = f32[2] get-tuple-element(w), index=1"
        )
    return (
        "  u = (pred[], f32[2]) tuple(first, x)\n  y = f32[2] conditional(first, u, u), "
        f"true_computation=body{level}, false_computation=other{level}"
    )


@pytest.fixture
def few_calls() -> Iterator[None]:
    """Python's own limit as it is where nobody has raised it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("kind", ["if", "loop"])
def test_as_deep_as_may_be(kind: str, tmp_path: Path) -> None:
    """It runs, is written and read; what a format doesn't hold is refused with the reason."""
    graph = nested(DEEPEST, kind)
    assert deepest(graph)[0] == DEEPEST
    (found,) = run(graph, FEED).values()
    np.testing.assert_array_equal(found, -FEED["x"])
    save(graph, tmp_path / "m.hlo")
    back = to_hub(load(tmp_path / "m.hlo"))
    (found,) = run(back, {value.name: FEED[value.name] for value in back.inputs}).values()
    np.testing.assert_array_equal(found, -FEED["x"])
    with pytest.raises(Unsupported, match=f"{DEEPEST} subgraphs stand in each other, and ONNX's files hold about 30"):
        save(graph, tmp_path / "m.onnx")
    with pytest.raises(
        Unsupported, match="subgraphs may be nested at most 70 deep: backedge reads no deeper documents"
    ):
        save(graph, tmp_path / "m.json")
    assert {path.name for path in tmp_path.iterdir()} == {"m.hlo"}


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("suffix", ["json", "yaml", "bson"])
@pytest.mark.parametrize("kind", ["if", "loop"])
def test_mdf_as_deep_as_may_be(kind: str, suffix: str, tmp_path: Path) -> None:
    """MDF's own reader takes it, too."""
    save(nested(70, kind), tmp_path / f"m.{suffix}")
    back = load(tmp_path / f"m.{suffix}")
    assert deepest(back)[0] == 70
    (found,) = run(to_hub(back), FEED).values()
    np.testing.assert_array_equal(found, -FEED["x"])
    assert load_mdf(str(tmp_path / f"m.{suffix}")).graphs[0].nodes
    with pytest.raises(Unsupported, match="subgraphs may be nested at most 70 deep"):
        save(nested(71, kind), tmp_path / f"more.{suffix}")


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("depth", [150, pytest.param(DEEPEST, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ["if", "loop"])
def test_ir_as_deep_as_may_be(kind: str, depth: int, tmp_path: Path) -> None:
    """It is written and read, also where an operator inside of all layers has changed."""
    save(nested(depth, kind), tmp_path / "m.xml")
    back = to_hub(load(tmp_path / "m.xml"))
    assert deepest(back)[0] == depth
    (found,) = run(back, {value.name: FEED[value.name] for value in back.inputs}).values()
    np.testing.assert_array_equal(found, -FEED["x"])
    (negated,) = (node for _, node in back.walk() if node.op_type == "Neg")
    negated.op_type = "Exp"
    save(back, tmp_path / "changed.xml")
    changed = to_hub(load(tmp_path / "changed.xml"))
    assert deepest(changed)[0] == depth
    (found,) = run(changed, {value.name: FEED[value.name] for value in changed.inputs}).values()
    np.testing.assert_allclose(found, np.exp(FEED["x"]), rtol=1e-6)


@pytest.mark.parametrize("kind", ["if", "loop"])
def test_deeper_graphs_are_refused(kind: str, tmp_path: Path) -> None:
    graph = nested(DEEPEST + 100, kind)
    told = f"{DEEPEST + 100} regions stand in each other, more than {DEEPEST}"
    for work in (
        lambda: run(graph, FEED),
        lambda: save(graph, tmp_path / "m.hlo"),
        lambda: convert(graph, tmp_path / "m.xml"),
        lambda: verify(graph, graph),
        lambda: to_hub(graph),
    ):
        with pytest.raises(TooLarge, match=told):
            work()
    assert not list(tmp_path.iterdir())


def test_a_slot_that_nobody_uses_goes_through_all_loops_at_once() -> None:
    graph = nested(20, "loop")
    assert sum(len(Loop(node).of(Captured)) for _, node in graph.walk() if is_loop(node)) == 20
    assert PruneSlots()(graph).modified
    assert not PruneSlots()(graph).modified
    assert not any(Loop(node).of(Captured) for _, node in graph.walk() if is_loop(node))


def widening(depth: int) -> Graph:
    """Loops in each other that carry a value to which the innermost one appends."""

    def level(op: Builder, inner: Graph | None) -> Graph:
        x = op.input("x", None)
        if inner is None:
            op.graph.outputs = [op.Concat(x, x, axis=0, _types=[None])]
        else:
            op.graph.outputs = list(op.loop(op.const(1), None, [Carried()], [x], inner, types=[None]))
        return op.graph

    graph = built("widening", depth, level)
    graph.inputs[0].type = F32
    return graph


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> Counter[Any]:
    """How often a function is called, by its first argument."""
    calls: Counter[Any] = Counter()
    real = getattr(owner, name)

    def counting(*arguments: Any, **options: Any) -> Any:
        calls[arguments[0]] += 1
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, counting)
    return calls


@pytest.mark.parametrize("made", [lambda: nested(100, "if"), lambda: nested(100, "loop"), lambda: widening(100)])
def test_inference_comes_to_each_region_a_few_times(made: Callable[[], Graph], monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again from each level around it; the types are those of regions that are inferred one by one."""
    graph = made()
    calls = [counted(monkeypatch, inference, name) for name in ("_infer_if", "_infer_loop")]
    inference.infer(graph)
    each = calls[0] + calls[1]
    assert len(each) == 100
    assert max(each.values()) <= 3
    wide = is_loop(graph.nodes[0]) and graph.nodes[0].output.tensor.shape != (2,)
    for inner in graph.graphs():
        for value in inner.outputs:
            assert value.tensor.dtype is DType.FLOAT32
            assert value.tensor.shape == ((None,) if wide else (2,))


@pytest.mark.parametrize("kind", ["if", "loop"])
def test_a_conversion_comes_to_each_region_a_few_times(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By way of formats whose readers and rules ask for types, copy bodies, and remember layers."""
    graph = nested(100, kind)
    for name in ("onnx", "openvino", "hlo"):
        calls = [counted(monkeypatch, inference, one) for one in ("_infer_if", "_infer_loop")]
        copies = counted(monkeypatch, Graph, "copy")
        made = to_hub(to_dialect(graph, FORMATS[name]))
        assert deepest(made)[0] == 100
        assert sum(map(Counter.total, calls)) <= 20 * 100
        assert copies.total() <= 20 * 100
        names = [value.name for inner in made.graphs() for value in inner.values()]
        assert max(map(len, names)) < 40  # a name doesn't grow with each region
        monkeypatch.undo()


def test_a_nest_that_python_does_not_compile_is_interpreted(caplog: pytest.LogCaptureFixture) -> None:
    """20 loops in each other are the most; none of those around asks for code, which would be written in vain."""
    graph = nested(40, "loop")
    nodes = [node for _, node in graph.walk() if is_loop(node)]
    assert [nests_too_deeply(node.regions.values()) for node in nodes] == [True] * 20 + [False] * 20
    assert compile_loop(nodes[0]) is None
    assert not caplog.records


@pytest.mark.parametrize("of", ["if", "loop"])
def test_hlo(of: str, tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(text(DEEPEST, of))
    graph = to_hub(load(path))
    feed = {value.name: FEED["x" if value.tensor.rank else "c"] for value in graph.inputs}
    (found,) = run(graph, feed).values()
    np.testing.assert_array_equal(found, -FEED["x"])
    path.write_text(text(DEEPEST + 100, of))
    with pytest.raises(InvalidModel, match=f"computations are nested more than {DEEPEST} deep"):
        load(path)


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("depth", [DEEPEST, DEEPEST + 100])
def test_stablehlo(depth: int, tmp_path: Path) -> None:
    """What is too deep is told in words; each level is the true branch of a conditional."""
    inner = "%y = stablehlo.negate %x : tensor<2xf32>"
    lines = [*['%y = "stablehlo.if"(%c) ({'] * depth, inner]
    other = "stablehlo.return %x : tensor<2xf32>\n}) : (tensor<i1>) -> tensor<2xf32>"
    lines += [f"stablehlo.return %y : tensor<2xf32>\n}}, {{\n{other}"] * depth
    head = "func.func @main(%x: tensor<2xf32>, %c: tensor<i1>) -> tensor<2xf32> {"
    (tmp_path / "m.mlir").write_text("\n".join(["module {", head, *lines, "return %y : tensor<2xf32>\n}\n}"]))
    if depth <= DEEPEST:
        graph = to_hub(load(tmp_path / "m.mlir"))
        feed = {value.name: FEED["x" if value.tensor.rank else "c"] for value in graph.inputs}
        (found,) = run(graph, feed).values()
        np.testing.assert_array_equal(found, -FEED["x"])
        return
    with pytest.raises(InvalidModel, match=f"regions are nested more than {DEEPEST} deep"):
        load(tmp_path / "m.mlir")


@pytest.mark.parametrize(("depth", "fits"), [(31, True), (32, False)])
def test_onnx_holds_what_protobuf_reads(depth: int, fits: bool, tmp_path: Path) -> None:
    graph = nested(depth, "if")
    if fits:
        save(graph, tmp_path / "m.onnx")
        assert deepest(load(tmp_path / "m.onnx"))[0] == depth
        onnx.load(tmp_path / "m.onnx")
        return
    with pytest.raises(Unsupported, match="ONNX's files hold about 30"):
        save(graph, tmp_path / "m.onnx")


def test_onnx_that_protobuf_does_not_read(tmp_path: Path) -> None:
    model = onnx.ModelProto(ir_version=10)
    inner = model.graph
    for _ in range(60):
        inner = inner.node.add(op_type="If").attribute.add(name="then_branch").g
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(InvalidModel, match="more messages in each other than protobuf reads"):
        load(tmp_path / "m.onnx")
    body = "y0 = Neg (x)"
    for level in range(40):
        other = "else_branch = b () => (float[2] z) { z = Abs (x) }"
        branches = f"then_branch = a () => (float[2] y{level}) {{ {body} }}, {other}"
        body = f"y{level + 1} = If <{branches}> (c)"
    whole = f'<ir_version: 10, opset_import: ["": 21]> g (bool c, float[2] x) => (float[2] y40) {{ {body} }}'
    (tmp_path / "m.onnxtxt").write_text(whole)
    with pytest.raises(InvalidModel, match="not ONNX text"):
        load(tmp_path / "m.onnxtxt")
