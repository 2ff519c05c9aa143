"""Loops of float16 and bfloat16 in machine code: float32 rounded after each operator, as the NumPy tier has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.infer import infer
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.types import DType, tensor
from backedge.runtime import run
from backedge.runtime.compiled import WidenedLoop, compile_loop
from backedge.runtime.executor import Executor, never_compile

from compiled.graphs import INT, Body, add_loop, i64, same

Array = np.ndarray[Any, Any]
KINDS = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def every(kind: str) -> Array:
    """All numbers of 16 bits, but one NaN instead of many."""
    numbers = np.arange(2**16, dtype=np.uint16).view(KINDS[kind])
    return np.append(numbers[~np.isnan(numbers.astype(np.float32))], KINDS[kind].type(np.nan))


def typed(slots: list[Any], body: Body, types: list[Any]) -> Graph:
    """A graph of one loop over inputs of these types, and the types of all else."""
    graph = Graph("hub")
    values = [None if type is None else graph.add_input(f"x{k}", type) for k, type in enumerate(types)]
    graph.outputs = list(add_loop(graph, slots, values, body).outputs)
    for node in (node for inner in graph.graphs() for node in inner.nodes):
        _, node.version = (node.domain, 1) if node.domain else HUB.resolve(node.op_type)
    infer(graph)
    return graph


def both(slots: list[Any], body: Body, inputs: list[Any]) -> tuple[list[Array] | None, list[Array]]:
    """What machine code makes of a loop over these inputs, and what NumPy makes of it."""
    types = [None if one is None else tensor(DType.of(one.dtype).value, *one.shape) for one in inputs]
    graph = typed(slots, body, types)
    (node,) = graph.nodes
    made = compile_loop(node)
    assert isinstance(made, WidenedLoop)
    given = [one for one in inputs if one is not None]
    wanted = Executor(graph, never_compile).run(
        {value.name: one for value, one in zip(graph.inputs, given, strict=True)}
    )
    return made(inputs), [wanted[value.name] for value in graph.outputs]


def exactly(found: list[Array] | None, wanted: list[Array]) -> None:
    """Equal in type, shape and every bit but those of NaN, which `same` doesn't know for bfloat16."""
    assert found is not None
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype
        if one.dtype == KINDS["bfloat16"]:
            one, other = one.astype(np.float32), other.astype(np.float32)
        same([one], other)


def steps_apart(a: Array, b: Array) -> int:
    """By how many numbers of 16 bits results differ at most; NaN is NaN."""
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    ranks = []
    for one in (a, b):
        bits = one.view(np.int16).astype(np.int64)
        ranks.append(np.where(bits < 0, -(bits & 0x7FFF), bits))
    ordered = ~(np.isnan(a) & np.isnan(b))
    return int(np.abs(ranks[0] - ranks[1])[ordered].max(initial=0))


EXACT: dict[str, Callable[[Body, Value], Any]] = {
    "Neg": lambda b, x: b.Neg(x),
    "Abs": lambda b, x: b.Abs(x),
    "Relu": lambda b, x: b.Relu(x),
    "Sqrt": lambda b, x: b.Sqrt(x),
    "Floor": lambda b, x: b.Floor(x),
    "Mul": lambda b, x: b.Mul(x, x),
    "Add": lambda b, x: b.Add(x, b.Cast(1.0 / 3, to=_enum(x))),
    "Div": lambda b, x: b.Div(b.Cast(1.0, to=_enum(x)), x),
    "Where": lambda b, x: b.Where(b.Less(x, b.Neg(x)), x, b.Abs(x)),
    "to float32": lambda b, x: b.Mul(b.Cast(x, to=1), 3.0),
    "from float32": lambda b, x: b.Cast(b.Mul(b.Cast(x, to=1), 1.00024), to=_enum(x)),
    "to int32": lambda b, x: b.Cast(b.Clip(x, b.Cast(-9.0, to=_enum(x)), b.Cast(9.0, to=_enum(x))), to=6),
    "IsNaN": lambda b, x: b.IsNaN(x),
    "Max": lambda b, x: b.Max(x, b.Sub(x, x)),
    "Reshape": lambda b, x: b.Transpose(b.Unsqueeze(x, [0])),
}
NEAR: dict[str, Callable[[Body, Value], Any]] = {
    "Exp": lambda b, x: b.Exp(x),
    "Tanh": lambda b, x: b.Tanh(x),
    "Sigmoid": lambda b, x: b.Sigmoid(x),
    "Log": lambda b, x: b.Log(b.Abs(x)),
    "Gelu": lambda b, x: b.Gelu(x),
    "HardSwish": lambda b, x: b.HardSwish(x),
}


def _enum(value: Value) -> int:
    return 10 if value.tensor.dtype is DType.FLOAT16 else 16


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*EXACT, *NEAR])
def test_every_number(name: str, kind: str) -> None:
    """Two passes: the state is rounded between them where it is handed on."""
    b = Body()
    x = b.input(tensor(kind, None))
    made = (EXACT | NEAR)[name](b, x)
    found, wanted = both([Captured(), Stacked()], b.give(made), [i64(2), None, every(kind)])
    assert found is not None
    if name in EXACT:
        exactly(found, wanted)
    else:  # beyond the last float32 that isn't subnormal NumPy's functions of float32 are 0
        large = np.abs(wanted[0].astype(np.float32)) >= 2.0**-126
        assert np.all(large | (np.abs(found[0].astype(np.float32)) < 2.0**-124) | np.isnan(found[0]))
        assert steps_apart(found[0][large], wanted[0][large]) <= 1


WHOLE: dict[str, Callable[..., Any]] = {
    "MatMul": lambda b, x, w, s: b.MatMul(x, w),
    "Gemm": lambda b, x, w, s: b.Gemm(x, w, s, alpha=0.5),
    "LayerNormalization": lambda b, x, w, s: b.LayerNormalization(x, s, axis=-1),
    "Softmax": lambda b, x, w, s: b.Softmax(x, axis=0),
    "ReduceMean": lambda b, x, w, s: b.ReduceMean(x, [0], keepdims=0),
    "ReduceSum": lambda b, x, w, s: b.ReduceSum(x, [1]),
    "Sum": lambda b, x, w, s: b.Sum(x, s, x),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", WHOLE)
def test_sums_products_and_normalizations(name: str, kind: str) -> None:
    """Computed in float32 as a whole and rounded once, also what is decomposed; sums in another order turn a tie."""
    random = np.random.default_rng(7)
    given = [random.standard_normal(shape).astype(KINDS[kind]) for shape in ((3, 2, 16), (16, 16), (16,))]
    b = Body()
    x, weights, scale = (b.input(tensor(kind, *shape)) for shape in ((2, 16), (16, 16), (16,)))
    body = b.give(WHOLE[name](b, x, weights, scale))
    found, wanted = both([Sliced(), Captured(), Captured(), Stacked()], body, [None, None, *given])
    assert found is not None
    assert steps_apart(found[0], wanted[0]) <= 1


@pytest.mark.parametrize("trips", [0, 1, 6])
def test_loops_and_branches_inside(trips: int) -> None:
    """Halving until underflow, rounded in every pass of an inner loop, in one branch of two."""
    half = tensor("float16")
    inner = Body("inner")
    y = inner.input(half)
    inner.give(inner.Mul(y, inner.Cast(0.3, to=10)))
    then, otherwise = Body("then"), Body("otherwise")
    then.give(then.Add(then.input(half), then.Cast(0.1, to=10)))
    otherwise.give(otherwise.Identity(otherwise.input(half)))
    b = Body()
    i, x = b.input(INT), b.input(half)
    (small,) = b.loop([Carried()], i, None, [x], inner)
    (chosen,) = b.branch(b.Less(small, b.Cast(1e-3, to=10)), [small], then, otherwise)
    slots = [Iteration(), Carried(), Stacked()]
    found, wanted = both(slots, b.give(chosen, small), [i64(trips), None, np.array(3.1, np.float16)])
    if trips:
        assert found is not None
        exactly(found, wanted)


def test_it_ends_where_numpy_ends() -> None:
    """1 + 2^-11 is a tie in float16: the sum stays where it is, and the loop goes on to its last pass."""
    b = Body()
    x = b.input(tensor("float16"))
    after = b.Add(x, b.Cast(2.0**-11, to=10))
    slots = [Carried(), Condition()]
    body = b.give(after, b.Less(after, b.Cast(1.001, to=10)))
    found, wanted = both(slots, body, [i64(50), np.array(True), np.array(1, np.float16)])
    assert found is not None
    exactly(found, wanted)
    same(found, np.float16(1))


def test_onnx_runtime_gives_the_same(tmp_path: Any) -> None:
    """One operator in a pass: between two of them ONNX Runtime doesn't round."""
    text = """<ir_version: 8, opset_import: ["" : 18]> g (int64 n, float16[64] x, float16[64] k) => (float16[64] y) {
      y = Loop (n, , x) <body = b (int64 i, bool c, float16[64] v) => (bool go, float16[64] w) {
        go = Identity (c) w = Mul (v, k) }> }"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    random = np.random.default_rng(3)
    feeds = {"n": i64(30_000), "x": np.ones(64, np.float16), "k": random.uniform(0.9, 1.1, 64).astype(np.float16)}
    graph = load(tmp_path / "m.onnx")
    (wanted,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, feeds)
    for _ in range(12):  # in machine code at last
        np.testing.assert_array_equal(run(graph, feeds)["y"], wanted)


@pytest.mark.parametrize("given", ["float64", "int64"])
def test_what_would_be_rounded_twice_is_left_to_numpy(given: str) -> None:
    """float64 -> float32 -> float16 isn't float64 -> float16."""
    b = Body()
    x = b.input(tensor(given))
    (node,) = typed([Captured(), Stacked()], b.give(b.Cast(x, to=10)), [INT, None, tensor(given)]).nodes
    assert compile_loop(node) is None


def test_inputs_of_another_type_are_declined() -> None:
    b = Body()
    x = b.input(tensor("float16"))
    (node,) = typed([Carried()], b.give(b.Neg(x)), [INT, None, tensor("float16")]).nodes
    made = compile_loop(node)
    assert made is not None
    assert made([i64(1), None, np.zeros((), np.float32)]) is None
    same(made([i64(1), None, np.ones((), np.float16)]), np.float16(-1))
