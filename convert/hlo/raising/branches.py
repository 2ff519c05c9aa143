"""conditional -> canonical If."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import given


@rule(DOMAIN, "conditional")
def conditional(op: Builder, node: Node) -> Sequence[Value]:
    """Conditional: one of N computations; an index that is none of theirs runs the last."""
    chooser = given(node, 0)
    rest = [value for value in node.inputs[1:] if value is not None]
    branches: list[tuple[Graph, list[Value]]] = []
    for place in range(len(node.regions)):
        region = node.regions.get(f"branch_{place}")
        if region is None or len(region.outputs) != len(node.outputs):
            raise InvalidModel(f"{node!r}: branch {place} gives other values than it does")
        count = len(region.inputs)
        branches.append((region, rest[:count]))
        rest = rest[count:]
    if not branches or rest:
        raise InvalidModel(f"{node!r}: its branches take fewer values than it has")
    if chooser.tensor.dtype is not DType.BOOL and len(branches) == 2:
        chooser = _not_zero(op, chooser)
    if chooser.data is not None:
        return _chosen(op, chooser, branches)
    return _choose(op, chooser, 0, branches, node.outputs)


def _not_zero(op: Builder, index: Value) -> Value:
    """Whether an index of two branches is that of the second, which is what JAX makes of a bool."""
    maker = index.producer
    if maker is not None and maker.op == ("", "Cast"):
        source = maker.inputs[0]
        if source is not None and source.tensor.dtype is DType.BOOL:
            return source
    return op.Not(op.Equal(index, op.const(0, index.tensor.dtype)))


def _chosen(op: Builder, chooser: Value, branches: Sequence[tuple[Graph, list[Value]]]) -> Sequence[Value]:
    """What an index that is known runs."""
    array = chooser.array()
    assert array is not None
    number = int(np.asarray(array).reshape(()))
    region, values = branches[number if 0 <= number < len(branches) else -1]
    return op.inline(region, values)


def _choose(
    op: Builder, chooser: Value, number: int, branches: Sequence[tuple[Graph, list[Value]]], outputs: Sequence[Value]
) -> Sequence[Value]:
    """An If on the first of several branches, that of index `number`, the others within its else."""
    if len(branches) == 1:
        return op.inline(*branches[0])
    if chooser.tensor.dtype is DType.BOOL:
        test, (otherwise, then) = chooser, branches
        others = [otherwise]
    else:
        test = op.Equal(chooser, op.const(number, chooser.tensor.dtype))
        then, others = branches[0], list(branches[1:])
    captured = list(dict.fromkeys(value for _, values in (then, *others) for value in values))
    if len(others) > 1:
        captured = list(dict.fromkeys([chooser, *captured]))
    regions: list[Graph] = []
    for name, group in (("then", [then]), ("else", others)):
        inner = op.region(name)
        twins = {value: inner.input(value.name, value.type) for value in captured}
        inside = [(region, [twins[value] for value in values]) for region, values in group]
        if len(inside) > 1:
            inner.graph.outputs = list(_choose(inner, twins[chooser], number + 1, inside, outputs))
        else:
            inner.graph.outputs = inner.inline(*inside[0])
        regions.append(inner.graph)
    return op.branch(test, captured, *regions, types=[value.type for value in outputs])


RULES = collect(globals())
