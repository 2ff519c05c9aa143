"""conditional -> canonical If."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import input_of
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.structure.guard import assertion
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import CallsHost


@rule(DOMAIN, "conditional")
def conditional(op: Builder, node: Node) -> Sequence[Value]:
    """Conditional: one of N computations; an index that is none of theirs runs the last."""
    chooser = input_of(node, 0)
    rest = [value for value in node.inputs[1:] if value is not None]
    branches: list[tuple[Graph, list[Value]]] = []
    for index in range(len(node.regions)):
        region = node.regions.get(f"branch_{index}")
        if region is None or len(region.outputs) != len(node.outputs):
            raise InvalidModel(f"{node!r}: branch {index} gives other values than it does")
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
    captured = [chooser] if len(others) > 1 else []
    captured = list(dict.fromkeys(captured + [value for _, values in (then, *others) for value in values]))
    regions: dict[str, Graph] = {}
    refused: dict[str, CallsHost] = {}
    for name, group in (("then", [then]), ("else", others)):
        inner = op.region(name)
        twins = {value: inner.input(value.name, value.type) for value in captured}
        inside = [(region, [twins[value] for value in values]) for region, values in group]
        try:
            results = _choose(inner, twins[chooser], number + 1, inside, outputs) if len(inside) > 1 else None
            inner.graph.outputs = list(inner.inline(*inside[0]) if results is None else results)
            regions[name] = inner.graph
        except CallsHost as refusal:
            refused[name] = refusal
    if len(refused) == 2:
        raise refused["then"]
    for name, refusal in refused.items():
        op.rewriter.notes.append(f"{refusal}; where it would be called, the model fails")
        captured.append(test)
        inner = op.region(name)
        twins = {value: inner.input(value.name, value.type) for value in captured}
        inner.graph.outputs = _failing(inner, twins[test], name == "then", outputs)
        regions["else" if name == "then" else "then"].add_input(op.rewriter.names.fresh(test.name), test.type)
        regions[name] = inner.graph
    return op.branch(test, captured, regions["then"], regions["else"], types=[value.type for value in outputs])


def _failing(op: Builder, test: Value, taken: bool, outputs: Sequence[Value]) -> list[Value]:
    """Results that can't be computed where the test is as `taken`."""
    one = assertion(op, test, not taken)
    failures: list[Value] = []
    for value in outputs:
        dtype, shape = value.tensor.dtype, value.tensor.static_shape
        if dtype is None or shape is None:
            raise Unsupported(f"value {value.name!r}", "of a branch that calls Python, its size isn't known")
        failures.append(op.Expand(op.Cast(one, to=enum_of(dtype, value.name)), op.const(list(shape), DType.INT64)))
    return failures


RULES = collect(globals())
