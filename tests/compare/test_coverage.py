"""What runs reach, the search for inputs that reach the rest, and the trials that a verification ends up with."""

import numpy as np
import onnx
import pytest
from backedge.convert.exploration import explore
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read
from backedge.passes.graph import Graph
from backedge.passes.loop import DOMAIN, Carried
from backedge.passes.types import tensor
from backedge.runtime.compare.coverage import KEY, Coverage, join, packed, summary, unreached
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.runnables import Runnable
from backedge.runtime.compare.search import Search
from backedge.runtime.compare.sides import Side
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.oracles import Outcome
from onnx import parser

NESTED = """(int64 M, float[2] x) => (float[2] y, float[2] v) { t = Constant<value=bool {1}>()
  lo = Constant<value=float {-1}>() hi = Constant<value=float {1}>() v = Clip(x, lo, hi)
  y = Loop(M, t, x) <body = b (int64 i, bool c, float[2] a) => (bool d, float[2] e) {
    d = Identity(c) two = Constant<value=int64 {2}>() p = Equal(i, two)
    e = If(p) <then_branch = f () => (float[2] u) { u = Neg(a) },
               else_branch = g () => (float[2] w) { zero = Constant<value=float {0}>() q = Less(a, zero)
                                                    n = Neg(a) w = Where(q, n, a) }> }> }"""


def model(text, tmp_path, name="m"):
    path = tmp_path / f"{name}.onnx"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}'), path)
    return raise_graph(read(path))


class Watched:
    """An executor with what its runs reach."""

    def __init__(self, graph, compiler=None):
        self.coverage = Coverage(graph)
        self.executor = Executor(graph, compiler, watch=self.coverage.watch)

    def __call__(self, inputs):
        self.coverage.taken()
        try:
            self.executor.run(inputs)
        except Exception:
            return None
        return self.coverage.taken()


def test_regions_trips_and_sides_of_a_nested_model(tmp_path):
    ask = Watched(model(NESTED, tmp_path))
    x = np.array([0.5, 0.25], np.float32)
    loop, branch = "Loop 'y'", "Loop 'y'/body/If 'e'"
    none = summary(ask({"M": np.int64(0), "x": x}))
    assert none["regions"] == {f"{loop}/body": 0, f"{branch}/then": 0, f"{branch}/else": 0}
    assert none["trips"] == {loop: [0]}
    # what stands in a region that wasn't entered isn't told again
    assert none["never"] == [
        f"the body of {loop}",
        "a value below the limits of Clip 'v'",
        "a value above the limits of Clip 'v'",
    ]
    some = ask({"M": np.int64(2), "x": x})
    assert summary(some)["regions"] == {f"{loop}/body": 1, f"{branch}/then": 0, f"{branch}/else": 2}
    assert f"the then branch of {branch}" in summary(some)["never"]
    record = some[f"{branch}/else/Less 'q'"]
    assert (record.least, record.most, record.nearest, record.single) == (0.25, 0.5, 0.25, False)
    join(some, ask({"M": np.int64(5), "x": x - 2}))
    assert summary(some)["trips"] == {loop: [2, 5]}
    assert summary(some)["sides"][f"{branch}/else/Where 'w'"] == {"true": True, "false": True}
    assert summary(some)["sides"]["Clip 'v'"] == {"below": True, "inside": True, "above": False}
    assert summary(some)["never"] == ["a value above the limits of Clip 'v'"]
    assert unreached({"a": summary(some), "b": None}) == ["never reached in A: a value above the limits of Clip 'v'"]


def test_a_compiled_loop_tells_how_many_passes_it_made():
    graph, body, kind = Graph("hub"), Graph("hub", "body"), tensor("float32", 1)
    trip, x = graph.add_input("M", tensor("int64")), graph.add_input("x", kind)
    body.outputs = [body.add_node("Sin", [body.add_input("a", kind)], [("e", kind)], version=22).output]
    slots = {"slots": (Carried(),)}
    made = graph.add_node("Loop", [trip, None, x], [("y", kind)], slots, domain=DOMAIN, regions={"body": body})
    graph.outputs = [made.output]
    ask = Watched(graph)
    found = ask({"M": np.array(1_000_000), "x": np.ones(1, np.float32)})["Loop 'y'"]
    assert (found.trips, found.sides) == ([1_000_000], {"body": 1})


def test_watching_changes_no_result(tmp_path):
    graph = model(NESTED, tmp_path)
    inputs = {"M": np.int64(4), "x": np.array([-0.5, 3], np.float32)}
    plain, watched = Executor(graph, never_compile), Watched(graph).executor
    for name, value in plain.run(inputs).items():
        assert np.array_equal(value, watched.run(inputs)[name])


GUARDED = """(float[N,3] x, int64 k, bool p) => (float[N,3] y) {
  w = Constant<value=float[3,1] {1, -2, 0.5}>() m = MatMul(x, w) s = ReduceSum<keepdims=0>(m)
  lo = Constant<value=float {40}>() hi = Constant<value=float {40.5}>() n = Constant<value=int64 {211}>()
  a = Greater(s, lo) b = Less(s, hi) e = Equal(k, n) ab = And(a, b) abe = And(ab, e) c = And(abe, p)
  y = If(c) <then_branch = f () => (float[N,3] u) { u = Neg(x) },
             else_branch = g () => (float[N,3] v) { v = Abs(x) }> }"""


def test_the_search_meets_three_conditions_at_once(tmp_path):
    graph = model(GUARDED, tmp_path)
    ask, seen, trials = Watched(graph), {}, []
    for batch in design(signature_of(graph), 16):
        batch["k"] = np.array(-5)
        trials.append((batch, ask(batch)))
        join(seen, trials[-1][1])
    assert "the then branch of If 'y'" in summary(seen)["never"]
    search = Search(graph, ask, 400)
    found = [batch for why, batch in search.reach(trials, seen) if why == "If 'y' then"]
    assert len(found) == 1 and search.runs > 0
    total = float((found[0]["x"].astype(np.float64) @ [1, -2, 0.5]).sum())
    assert 40 < total < 40.5 and found[0]["k"] == 211 and found[0]["p"]


def test_the_search_finds_where_operands_meet(tmp_path):
    text = """(float[4] x) => (float[4] y) { e = Exp(x) s = ReduceMean<keepdims=0>(e) t = Constant<value=float {1.7}>()
      c = Greater(s, t) n = Neg(x) y = Where(c, x, n) }"""
    graph = model(text, tmp_path)
    ask, seen, trials = Watched(graph), {}, []
    for batch in design(signature_of(graph), 8):
        trials.append((batch, ask(batch)))
        join(seen, trials[-1][1])
    found = [batch["x"] for _, batch in Search(graph, ask, 200).meet(trials, seen)]
    values = [float(np.exp(x.astype(np.float64)).mean()) for x in found]
    assert min(abs(value - 1.7) for value in values) < 2e-6
    assert any(1e-4 < abs(value / 1.7 - 1) < 1e-3 for value in values)


def in_process(graph):
    """An executor's stream of outcomes without a process of its own."""
    ask = Watched(graph)

    def run(batches):
        for batch in batches:
            try:
                ask.coverage.taken()
                outputs = ask.executor.run(batch)
                yield Outcome({**outputs, KEY: packed(ask.coverage.taken())})
            except Exception as error:
                yield Outcome(error=str(error), stage="run")

    return run


def explored(graph, other, trials=16, own=None):
    sides = [Side(name, [Runnable("executor", lambda _: [], own=False)]) for name in "ab"]
    for side, hub in zip(sides, (graph, other), strict=True):
        side.inputs = [value.name for value in hub.inputs]
    if own is not None:
        sides[0].runnables = [*sides[0].runnables, own]
    runs = in_process(graph), in_process(other)
    return explore((sides[0], sides[1]), runs, (graph, other), signature_of(graph, other), trials, 0), sides


def test_plain_trials_stay_and_others_come_beside_them(tmp_path):
    graph = model(GUARDED, tmp_path)
    found, sides = explored(graph, model(GUARDED.replace("211", "212"), tmp_path, "b"))
    kinds = [one.kind for one in found.trials]
    assert kinds[:16] == ["plain"] * 16 and kinds.count("plain") == 16
    for one, again in zip(found.trials, design(signature_of(graph, graph), 16), strict=False):
        assert one.inputs.keys() == again.keys()
    assert "edge" in kinds and "special" in kinds
    assert found.coverage["a"]["never"] == found.coverage["b"]["never"] == []
    assert any(one.why.startswith("searched for: If 'y' then") for one in found.trials)
    # both answers are on record, for inputs under other names as well
    for side in sides:
        batches = [dict(one.inputs) for one in found.trials]
        outcomes = list(side.runnables[0].run(batches))
        assert len(outcomes) == len(batches)
        assert all(outcome.usable and KEY not in outcome.outputs for outcome in outcomes)


def test_what_cannot_be_reached_is_named(tmp_path):
    text = """(float[3] x) => (float[3] y) { q = Mul(x, x) s = ReduceSum<keepdims=0>(q)
      z = Constant<value=float {-0.5}>()
      c = Less(s, z) y = If(c) <then_branch = f () => (float[3] u) { u = Neg(x) },
                                else_branch = g () => (float[3] v) { v = Identity(x) }> }"""
    graph = model(text, tmp_path)
    found, _ = explored(graph, graph, trials=8)
    told = unreached(found.coverage)
    assert len(told) == 2 and told[0].startswith("never reached in A: the then branch of If 'y'")


def test_extraordinary_inputs_that_a_refuses_are_dropped(tmp_path):
    graph = model("(float[N,2] x, int64[3] i) => (float[3,2] y) { y = Gather(x, i) }", tmp_path)
    found, _ = explored(graph, graph)
    for one in found.trials:
        if one.kind != "plain":
            size = one.inputs["x"].shape[0]
            assert ((one.inputs["i"] >= -size) & (one.inputs["i"] < size)).all()
    assert any((one.inputs["i"] == -one.inputs["x"].shape[0]).any() for one in found.trials)


def test_extraordinary_inputs_that_the_own_runtime_of_a_refuses_are_dropped(tmp_path):
    graph = model("(float[N] x) => (float[N] y) { y = Neg(x) }", tmp_path)

    def own(batches):
        for batch in batches:
            refused = batch["x"].shape[0] > 10
            yield Outcome(error="too many", stage="run") if refused else Outcome({"y": -batch["x"]})

    found, sides = explored(graph, graph, own=Runnable("own", own))
    assert sum(one.kind == "plain" for one in found.trials) == 16
    sizes = {one.inputs["x"].shape[0] for one in found.trials if one.kind == "edge"}
    assert {0, 1} <= sizes and max(sizes) <= 10
    assert [one.name for one in sides[0].runnables] == ["executor", "own"]


@pytest.mark.parametrize("declared", ["2", "P"])
def test_inputs_that_lead_to_other_shapes_than_declared_are_not_for_the_model(declared, tmp_path):
    graph = model(f"(int64[1] s) => (float[{declared}] y) {{ y = ConstantOfShape(s) }}", tmp_path)
    found, _ = explored(graph, graph)
    sizes = {int(one.inputs["s"][0]) for one in found.trials if one.kind == "edge"}
    assert sizes == {2} if declared == "2" else {0, 1, 2, 7} <= sizes
