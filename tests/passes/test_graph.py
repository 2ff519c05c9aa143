"""The graph: uses, replacing, copying, order."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph
from backedge.passes.loop import Sliced, part_range
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
