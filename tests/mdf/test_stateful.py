"""Loops as nodes with stateful parameters, in MDF's own engine: the samples, and small loops with known results."""

from __future__ import annotations

import io
import keyword
from builtins import __dict__ as builtin_names
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.mdf.document import write_document
from backedge.convert.mdf.lowering import STYLE, lower_stateful
from backedge.convert.mdf.model import Condition
from backedge.convert.mdf.structure import tree_from_model
from backedge.convert.specialize import set_shapes
from backedge.passes.errors import Unsupported
from backedge.passes.text import graph_text
from control_flow.case import f32
from hlo.test_viterbi import best, feeds
from test_samples import SAMPLES, TABLE, Arrays, Sample, weights

from .engine import engine
from .stateful_sweep import lowered
from .stateful_text import graph_of, model_of, run, same

# samples ------------------------------------------------------------------------------------------

ELSEWHERE = [sample for sample in TABLE if not sample.file.endswith(".json")]  # what isn't MDF already


@pytest.mark.parametrize("sample", ELSEWHERE, ids=[sample.file for sample in ELSEWHERE])
def test_sample(sample: Sample) -> None:
    for inputs in sample.inputs:
        model = lowered(to_hub(load(SAMPLES / sample.file)), inputs)
        found: Arrays = engine(tree_from_model(model), inputs)
        wanted = sample.formula(weights(SAMPLES / sample.file), **inputs)
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            same(found[name], value)


def test_sample_that_jax_wrote() -> None:
    given = feeds()
    score, path = engine(tree_from_model(lowered(to_hub(load(SAMPLES / "viterbi.hlo")), given)), given).values()
    wanted, steps = best(**given)
    assert (score.dtype, path.dtype) == (np.float32, np.int32)
    assert float(score) == wanted
    assert path.tolist() == steps


@pytest.mark.parametrize("suffix", ["json", "yaml", "bson"])
def test_every_container(suffix: str, tmp_path: Path) -> None:
    """The engine's own reader sees the same model in the file."""
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    path = tmp_path / f"newton.{suffix}"
    write_document(tree_from_model(lower_stateful(to_hub(load(SAMPLES / "newton_sqrt.onnx")))), path)
    with redirect_stdout(io.StringIO()):
        running: Any = EvaluableGraph(load_mdf(str(path)).graphs[0], False)
        running.evaluate(initializer={"x": np.float32(2)})
    ports = running.enodes["after"].evaluable_outputs
    assert abs(float(ports["root"].curr_value) - 2**0.5) < 1e-6
    assert int(ports["iterations"].curr_value) == 4


# the model ----------------------------------------------------------------------------------------

COUNTED = """g (float[2] x) => (float[2] y, float[?, 2] all) {
  m = Constant <value_int = 3> ()
  t = Constant <value_int = 1> ()
  go = Cast <to = 9> (t)
  y, all = Loop (m, go, x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float[2] s) {
    c2 = Identity (c)
    a2 = Add (a, a)
    s = Identity (a2)
  }>
}"""


def test_nodes_and_conditions() -> None:
    model = model_of(COUNTED)
    graph = model.graphs[0]
    assert [node.id for node in graph.nodes] == ["before", "loop", "after"]
    assert [(parameter.id, parameter.initial) for parameter in graph.nodes[1].parameters] == [
        ("a", "x_float32"),
        ("all_", "numpy.float32(numpy.zeros((3, 2)))"),
        ("i", "numpy.int64(0)"),
    ]
    assert graph.node_conditions == {
        "before": Condition("AtPass", {"n": 0}),
        "loop": Condition("Always"),
        "after": Condition("AfterNCalls", {"dependency": "loop", "n": 3}),
    }
    assert graph.termination == {"environment_state_update": Condition("AfterNCalls", {"dependency": "after", "n": 1})}


def test_metadata() -> None:
    (ours,) = model_of(COUNTED).metadata.values()
    assert ours == {
        "style": "stateful",
        "inputs": [{"name": "x", "node": "before", "port": "x", "type": "float32", "shape": [2]}],
        "outputs": [
            {"name": "y", "node": "after", "port": "y", "type": "float32"},
            {"name": "all", "node": "after", "port": "all_", "type": "float32"},
        ],
    }
    assert STYLE == "stateful"


def test_without_loops_one_node_and_no_conditions() -> None:
    graph = model_of("g (float[2] x) => (float[2] y) { a = Exp (x) y = Neg (a) }").graphs[0]
    assert [node.id for node in graph.nodes] == ["model"]
    assert [(one.id, one.value) for one in graph.nodes[0].functions] == [("y", "-numpy.exp(numpy.float32(x))")]
    assert not graph.node_conditions and not graph.termination and not graph.edges


def test_the_graph_stays_as_it_was() -> None:
    graph = to_hub(load(SAMPLES / "triangular_sum.onnx"))
    set_shapes(graph, {"x": (4,), "y": (4,)})
    before = graph_text(graph)
    lower_stateful(graph)
    assert graph_text(graph) == before


def test_ids_mean_nothing_else_to_the_engine() -> None:
    """Names that are Python's, NumPy's, numbers, or no identifiers, and two that become one."""
    text = """g (float sum, float numpy, float lambda, float nan, float e1) => (float pow, float constant, float math) {
      pow = Add (sum, numpy)
      constant = Mul (lambda, nan)
      math = Sub (e1, pow)
    }"""
    graph = graph_of(text)
    for value in graph.values():
        value.name = {"e1": "1x", "pow": "a.b", "constant": "a b"}.get(value.name, value.name)
    model = lower_stateful(graph)
    (node,) = model.graphs[0].nodes
    ids = [one.id for one in (*node.inputs, *node.functions)]
    assert len(set(ids)) == len(ids)
    assert all(one.isidentifier() and not keyword.iskeyword(one) and one not in builtin_names for one in ids)
    assert not set(ids) & {"numpy", "math", "constant", "nan", "rng"}
    given = {"sum": f32(2), "numpy": f32(3), "lambda": f32(5), "nan": f32(7), "1x": f32(11)}
    found = engine(tree_from_model(model), given)
    assert {name: float(value) for name, value in found.items()} == {"a.b": 5, "a b": 35, "math": 6}


# refusals -----------------------------------------------------------------------------------------


REFUSED = {
    "text": ("g (string x) => (string y) { y = Identity (x) }", "input 'x': .* no numbers of type string"),
    "bfloat16": ("g (bfloat16 x) => (bfloat16 y) { y = Neg (x) }", "input 'x': .* no numbers of type bfloat16"),
    "inside": (
        "g (float[2] x) => (float[2] y) { a = Cast <to = 16> (x) y = Cast <to = 1> (a) }",
        "Cast-28 'a': .* no numbers of type bfloat16",
    ),
    "a number inside": (
        "g (float[2] x) => (float[3] y) <int64[2] p = {0, 1}> { a = Cast <to = 16> (x) b = Pad (a, p) "
        "y = Cast <to = 1> (b) }",
        "no numbers of type bfloat16",
    ),
    "a constant inside": (
        "g (int64[1] n) => (float[m] y) { a = ConstantOfShape <value = bfloat16[1] {0}> (n) y = Cast <to = 1> (a) }",
        "no numbers of type bfloat16",
    ),
    "open size": (
        "g (float[n] x) => (float[n] y) { y = Neg (x) }",
        r"input 'x': it is float32\[n\], whose sizes MDF must",
    ),
    "sequence": (
        "g (seq(float[2]) x) => (int64 y) { y = SequenceLength (x) }",
        "input 'x': MDF has numbers and arrays",
    ),
    "random": (
        "g () => (float[2] y) { y = RandomNormal <shape = [2]> () }",
        "RandomNormal-22 'y': .* RandomNormalLike can't be expressed in MDF",
    ),
    "function": (
        "g (float[2] x) => (float[2] y, int64[2] i, int64[2] v, int64[2] c) { y, i, v, c = Unique (x) }",
        "Unique-28 'y': Unique can't be expressed in MDF",
    ),
    "open axes": (
        "g (float[2, 2] x, int64[1] a) => (float[2] y) { y = ReduceSum <keepdims = 0> (x, a) }",
        "ReduceSum-13 'y': its axes aren't known before the model runs",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_by_name(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(Unsupported, match=reason):
        model_of(text, 22)


# numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap", "constant"])
@pytest.mark.parametrize(("shape", "pads"), [((4,), (2, 9)), ((1,), (3, 2)), ((4,), (-1, 2)), ((5, 3), (0, -1, 3, 4))])
def test_pads(mode: str, shape: tuple[int, ...], pads: tuple[int, ...]) -> None:
    """Negative amounts take away first; of what is left NumPy's function says what stands around it."""
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    rank, expected = len(shape), numbers
    pairs = [(pads[axis], pads[axis + rank]) for axis in range(rank)]
    for axis, (before, after) in enumerate(pairs):
        kept = np.arange(shape[axis])[max(-before, 0) : shape[axis] - max(-after, 0)]
        expected = np.take(expected, kept, axis)
    expected = np.pad(expected, [(max(before, 0), max(after, 0)) for before, after in pairs], mode)
    text = f"""g (float{list(shape)} x) => (float{list(expected.shape)} y) {{
      p = Constant <value_ints = {list(pads)}> ()
      y = Pad <mode = "{mode}"> (x, p)
    }}"""
    (found,) = run(text, x=numbers)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize(
    ("size", "before", "after"), [(2, 2, -3), (2, -3, 2), (3, -4, 5), (2, -3, 1), (0, 2, -1), (2, -1, 0), (2, 3, -1)]
)
def test_pads_that_take_more_than_there_is(size: int, before: int, after: int, is_told: bool) -> None:
    """Of the constant, too: the result is as long as all amounts say."""
    x = np.arange(size, dtype=np.float32)
    places = np.arange(size + before + after) - before
    expected = [float(place) if 0 <= place < size else 7.0 for place in places]
    told = "" if is_told else f"p = Constant <value_ints = [{before}, {after}]> ()"
    given = {"p": np.array([before, after])} if is_told else {}
    text = f"""g (float[{size}] x{", int64[2] p" if is_told else ""}) => (float[n] y) {{
        {told} v = Constant <value = float {{7.0}}> () y = Pad (x, p, v) }}"""
    (found,) = run(text, x=x, **given)
    assert found.tolist() == expected


@pytest.mark.parametrize("axes", [None, (-1,), (1, 0)])
@pytest.mark.parametrize("pads", [(1, 2, 3, 0), (-1, 2, 1, -2), (-2, -1, 0, -1), (2, -3, -2, 1)])
def test_pads_that_are_told_when_it_runs(axes: tuple[int, ...] | None, pads: tuple[int, ...]) -> None:
    """Amounts below 0, which NumPy's function doesn't take, take away."""
    numbers = np.arange(12, dtype=np.float32).reshape(4, 3)
    chosen = axes or (0, 1)
    pads = pads if len(chosen) == 2 else pads[:2]
    expected = numbers
    for index, axis in enumerate(chosen):
        before, after = pads[index], pads[index + len(chosen)]
        expected = np.take(expected, np.arange(max(-before, 0), numbers.shape[axis] - max(-after, 0)), axis)
        pairs = [(0, 0)] * 2
        pairs[axis] = max(before, 0), max(after, 0)
        expected = np.pad(expected, pairs, constant_values=7)
    listed = "" if axes is None else f"a = Constant <value_ints = {list(axes)}> ()"
    text = f"""g (float[4, 3] x, int64[{len(pads)}] p) => (float[m, n] y) {{
      v = Constant <value = float {{7.0}}> () {listed}
      y = Pad (x, p, v{"" if axes is None else ", a"})
    }}"""
    (found,) = run(text, x=numbers, p=np.array(pads))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [0, 3, -1, 2**31, -(2**31) - 1, 2**63 - 1, 1 - 2**63])
def test_triangles_from_far_diagonals(k: int, upper: int, is_told: bool) -> None:
    """NumPy counts on from the diagonal, beyond what an int64 holds."""
    told = "" if is_told else f"k = Constant <value_int = {k}> ()"
    text = f"""g (int64[2, 3] x{", int64 k" if is_told else ""}) => (int64[2, 3] y) {{
      {told} y = Trilu <upper = {upper}> (x, k) }}"""
    x, behind = np.arange(6).reshape(2, 3) - 7, np.array([[0, 1, 2], [-1, 0, 1]])
    (found,) = run(text, x=x, **({"k": np.array(k)} if is_told else {}))
    np.testing.assert_array_equal(found, np.where(behind >= k if upper else behind <= k, x, 0))


def test_which_inputs_are_required_survives_the_way_to_a_file_and_back(tmp_path: Path) -> None:
    """What the source has no value for must be given; what it has one for, MDF's own inputs among them, need not be."""
    text = """
    <ir_version: 10, opset_import: ["": 21]>
    m (float[2] x, float[2] w, int64 n) => (float[2] y) <float[2] w = {3, 4}> {
        s = Mul(x, w)
        k = Cast<to = 1>(n)
        y = Add(s, k)
    }
    """
    source, made, back = tmp_path / "m.onnx", tmp_path / "m.yaml", tmp_path / "back.onnx"
    onnx.save(onnx.parser.parse_model(text), source)
    backedge.convert(source, made, mdf_style="stateful", verify=0)
    backedge.convert(made, back, verify=0)
    model = onnx.load(back)
    assert [value.name for value in model.graph.input] == ["x", "w", "n"]
    inputs = {value.name for value in model.graph.input}
    defaults = {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer if one.name in inputs}
    assert {name: array.tolist() for name, array in defaults.items()} == {"w": [3.0, 4.0]}
    session = onnxruntime.InferenceSession(back.read_bytes(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.array([1, 2], np.float32), "n": np.array(5, np.int64)})
    assert np.asarray(found).tolist() == [8.0, 13.0]
