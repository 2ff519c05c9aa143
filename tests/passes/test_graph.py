"""The graph: uses, replacing, copying, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import networkx
import numpy as np
import pytest
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import (
    DOMAIN,
    Captured,
    Carried,
    Condition,
    Loop,
    Sliced,
    Slot,
    Stacked,
    TripCount,
    part_range,
    parts_of,
    trip_count,
)
from backedge.passes.node import ancestors
from backedge.passes.types import DType, Interval, SequenceType, TensorType, merge, tensor

F = tensor("float32", 2)


def diamond() -> Graph:
    graph = Graph("hub")
    x = graph.add_input("x", F)
    a = graph.add_node("Neg", [x], [("a", F)]).output
    b = graph.add_node("Exp", [a], [("b", F)]).output
    c = graph.add_node("Add", [a, a], [("c", F)]).output
    graph.outputs = [graph.add_node("Mul", [b, c], [("y", F)]).output, x]
    return graph


def test_uses_and_replacing() -> None:
    graph = diamond()
    neg, exp, add, _ = graph.nodes
    (x,) = graph.inputs
    assert sorted((node.op_type, index) for node, index in graph.uses(neg.output)) == [
        ("Add", 0),
        ("Add", 1),
        ("Exp", 0),
    ]
    assert graph.uses(x) == [(neg, 0)]
    graph.replace_uses(neg.output, x)
    assert graph.uses(neg.output) == []
    assert sorted((node.op_type, index) for node, index in graph.uses(x)) == [
        ("Add", 0),
        ("Add", 1),
        ("Exp", 0),
        ("Neg", 0),
    ]
    graph.remove_node(neg)
    assert len(graph) == 3 and (neg, 0) not in graph.uses(x)
    graph.set_input(add, 1, exp.output)
    assert graph.uses(exp.output) == [(graph.nodes[2], 0), (add, 1)] or len(graph.uses(exp.output)) == 2


def test_copy_shares_nothing_but_data() -> None:
    graph = diamond()
    constant = graph.add_constant(np.ones(2, np.float32), "k")
    graph.set_input(graph.nodes[2], 1, constant)
    twin = graph.copy()
    assert str(twin) == str(graph)
    assert not {id(value) for value in twin.values()} & {id(value) for value in graph.values()}
    assert twin.constants[0].data is constant.data
    twin.remove_node(twin.nodes[-1])
    assert len(graph) == 4


def test_order_of_nodes_is_kept_where_it_can_be() -> None:
    graph = diamond()
    assert graph.topological() == graph.nodes
    late = graph.add_node("Abs", [graph.inputs[0]], [("late", F)])
    graph.set_input(graph.nodes[0], 0, late.output)
    assert [node.op_type for node in graph.topological()] == ["Abs", "Neg", "Exp", "Add", "Mul"]


def test_cycle_is_named() -> None:
    graph = diamond()
    graph.set_input(graph.nodes[0], 0, graph.nodes[3].output)
    with pytest.raises(InvalidModel, match=r"cycle.*Neg"):
        graph.topological()


@pytest.mark.parametrize(
    ("slot", "length", "expected"),
    [
        (Sliced(), 5, (0, 5)),
        (Sliced(), 0, (0, 0)),
        (Sliced(start=-1, end=0, stride=-1), 5, (4, 5)),
        (Sliced(start=-1, end=0, stride=-1), 0, (-1, 0)),
        (Sliced(start=2), 5, (2, 3)),
        (Sliced(start=2, end=4), 5, (2, 2)),
        (Sliced(start=2, end=9), 5, (2, 3)),
        (Sliced(start=7), 5, (5, 0)),
        (Sliced(end=-2), 5, (0, 4)),
        (Sliced(start=-2, end=0, stride=-1), 5, (3, 4)),
        (Sliced(stride=2, part=2), 5, (0, 2)),
        (Sliced(start=-1, end=0, stride=-2, part=2), 6, (5, 3)),
    ],
)
def test_part_range(slot: Sliced, length: int, expected: tuple[int, int]) -> None:
    assert part_range(slot, length) == expected


def test_merge_keeps_what_is_known_best() -> None:
    known = TensorType(DType.FLOAT32, ("N", None, Interval(2, 5)))
    found = TensorType(None, (3, "M", 4))
    assert merge(known, found) == tensor("float32", 3, "M", 4)
    assert merge(None, found) is found
    assert merge(SequenceType(None), SequenceType(F)) == SequenceType(F)


@pytest.mark.parametrize(
    "dtype", [dtype for dtype in DType if dtype not in (DType.UINT1, DType.UINT3, DType.UINT6, DType.NF4)]
)
def test_numpy_dtype_round_trip(dtype: DType) -> None:
    assert DType.of(dtype.numpy) is dtype


def test_a_value_of_another_graph_is_named() -> None:
    graph = Graph("hub")
    graph.add_node("Abs", [diamond().nodes[0].output], ["y"])
    with pytest.raises(InvalidModel, match=r"uses a value of Neg.* from outside"):
        graph.topological()


def test_ancestors_are_the_values_that_something_is_computed_from() -> None:
    graph = diamond()
    neg, exp, add, _ = graph.nodes
    (x,) = graph.inputs
    assert set(ancestors([exp.output, None])) == {exp.output, neg.output, x}
    assert set(ancestors([add.output, exp.output])) == {add.output, exp.output, neg.output, x}
    assert ancestors([]) == {}


def test_networkx_of_a_loop() -> None:
    """A captured value and a carried one, each with its edges; the body is cyclic by its back edge alone."""
    graph = Graph("hub")
    x, k, n = graph.add_input("x", F), graph.add_input("k", F), graph.add_input("n", tensor("int64"))
    body = Graph("hub", "body")
    inner, constant = body.add_input("h", F), body.add_input("k", F)
    step = body.add_node("Add", [inner, constant], [("", F)]).output
    body.outputs = [step, step]
    loop = graph.add_node(
        "Loop",
        [n, None, x, k],
        [("last", F), ("all", F)],
        {"slots": (Carried(), Captured(), Stacked())},
        domain=DOMAIN,
        regions={"body": body},
    )
    graph.outputs = [graph.add_node("Abs", [loop.outputs[1]], [("y", F)]).output]
    net = graph.networkx()
    assert list(net) == ["x", "k", "n", "last", "y"] == list(graph.copy().networkx())
    assert {user: data["slot"] for user, _, data in net.in_edges("last", data=True)} == {
        "n": None,
        "x": Carried(),
        "k": Captured(),
    }
    assert net.edges["k", "last", 3]["enters"] == {"body": "k"}
    assert net.edges["last", "y", 0]["value"] == "all" and net.graph["outputs"] == [("y", 0, None)]
    inside = net.nodes["last"]["regions"]["body"]
    assert inside.nodes["h"]["slot"] == Carried() and inside.nodes["Add"]["node"] is step.producer
    assert inside.graph["outputs"] == [("Add", 0, Carried()), ("Add", 0, Stacked())]
    assert [edge[:2] for edge in inside.edges(data="back") if edge[2]] == [("Add", "h")]
    assert not networkx.is_directed_acyclic_graph(inside)
    forward = networkx.subgraph_view(inside, filter_edge=lambda *edge: not inside.edges[edge]["back"])
    assert networkx.dag_longest_path(forward) == ["h", "Add"]


def test_networkx_keys_are_unique() -> None:
    graph = Graph("hub")
    values = [graph.add_input(name, F) for name in ("a", "a~2", "a", "")]
    graph.add_node("Assign", values)
    net = graph.networkx()
    assert list(net) == ["a", "a~2", "a~3", "v", "Assign"]
    assert [(user, index) for user, _, index in net.in_edges("Assign", keys=True)] == [
        ("a", 0),
        ("a~2", 1),
        ("a~3", 2),
        ("v", 3),
    ]


def _trip_count(
    graph: Graph,
    trip: Value | None = None,
    sliced: Sequence[tuple[Sliced, Value]] = (),
    first: Value | None = None,
    after: Callable[[Graph, Value], Value] | None = None,
) -> TripCount:
    """Of a loop with these bounds; `after` makes the condition of the one that its body was entered with."""
    body = Graph("hub")
    slots: list[Slot] = [slot for slot, _ in sliced]
    for _, value in sliced:
        body.add_input("part", value.type)
    if after is not None:
        slots.append(Condition(body_input=True))
        body.outputs.append(after(body, body.add_input("go", tensor("bool"))))
    inputs = [trip, first, *(value for _, value in sliced)]
    attributes = {"slots": tuple(slots)}
    node = graph.add_node("Loop", inputs, [], attributes, domain=DOMAIN, version=1, regions={"body": body})
    return trip_count(Loop(node), Value.array)


def test_trip_count_of_constants_and_sequences() -> None:
    """The trip count and the parts of each sequence; a part of two in an axis of seven, backwards, fits three times."""
    graph = Graph("hub")
    five, below = (graph.add_constant(np.int64(number)) for number in (5, -1))
    whole, open_size = graph.add_input("x", tensor("float32", 2, 7)), graph.add_input("y", tensor("float32", None))
    pairs = Sliced(1, -1, 0, -2, 2)
    assert parts_of(pairs, whole) == 3 and parts_of(Sliced(), open_size) is None and parts_of(Sliced(3), whole) is None
    assert _trip_count(graph, five, [(pairs, whole), (Sliced(), whole)]).exact == 2
    assert _trip_count(graph, below).exact == 0
    assert _trip_count(graph) == TripCount(None, None, (), True, None)
    open_sequence = _trip_count(graph, five, [(Sliced(), open_size)])
    assert (open_sequence.most, open_sequence.bounded, open_sequence.exact) == (5, False, None)
    assert [entry.operand for entry in open_sequence.sequences] == [open_size]
    open_count = graph.add_input("n", tensor("int64"))
    assert _trip_count(graph, open_count, [(pairs, whole)]) == TripCount(3, open_count, (), True, None)


def test_trip_count_of_conditions() -> None:
    """What a condition says that is constant, handed on or computed."""
    graph = Graph("hub")
    five, yes, no = (graph.add_constant(np.asarray(number)) for number in (5, True, False))
    start = graph.add_input("start", tensor("bool"))

    def constant(number: bool) -> Callable[[Graph, Value], Value]:
        return lambda body, _: body.add_constant(np.asarray(number))

    def handed_on(_: Graph, go: Value) -> Value:
        return go

    def computed(body: Graph, go: Value) -> Value:
        return body.add_node("Not", [go], [("more", tensor("bool"))], version=1).output

    for after in (constant(True), handed_on):
        assert _trip_count(graph, five, first=yes, after=after) == TripCount(5, None, (), True, None)
        asked = _trip_count(graph, five, first=start, after=after)
        assert (asked.entered, asked.once_entered, asked.exact) == (start, 5, None)
    assert _trip_count(graph, five, after=constant(False)).exact == 1
    assert _trip_count(graph, first=yes, after=constant(False)).exact == 1
    assert _trip_count(graph, five, first=no, after=handed_on).exact == 0
    open_end = _trip_count(graph, five, first=yes, after=computed)
    assert (open_end.most, open_end.bounded, open_end.once_entered, open_end.exact) == (5, True, None, None)
    assert open_end.decides is not None and open_end.decides.name == "more"
