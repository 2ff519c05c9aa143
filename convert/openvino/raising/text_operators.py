"""Operators on text, of the layers that look into its bytes: those that IR is marked with, see `text_marks`.

The operator that a mark names is lowered once more; where that gives the same layers it stands for them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from ....passes.garbage import bulk
from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer_node
from ....passes.rewrite import Builder, Rule
from ....passes.structure.simplify import RemoveDead
from ....passes.types import DType, TensorType
from ..lowering.to_openvino import lower_graph
from ..text_marks import OPERATORS, marks


def with_text_operators(graph: Graph) -> Graph:
    """The graph with the operators that its marks name instead of their layers; itself where there are none."""
    if not any(marks(node) for _, node in graph.walk()):
        return graph
    with bulk():
        made = graph.copy()
        for inner in made.graphs():
            _replace(inner)
        RemoveDead()(made)
    return made


def _replace(graph: Graph) -> None:
    """The marked layers of one graph."""
    operators: dict[Any, Node] = {}
    for node in graph.topological():
        for told in marks(node):
            for value in node.outputs:
                found = _operator(told, value)
                if found is None:
                    continue
                source, operands = found
                key = (json.dumps({**told, "output": 0}, sort_keys=True), *operands)
                if key not in operators:
                    given = iter(operands)
                    inputs = [
                        graph.add_constant(one.data) if one is not None and one.data is not None else next(given)
                        for one in source.inputs
                    ]
                    outputs = [(one.name, one.type) for one in source.outputs]
                    operators[key] = graph.add_node(
                        source.op_type, inputs, outputs, dict(source.attributes), version=source.version
                    )
                output = operators[key].outputs[told["output"]]
                output.type, output.name, output.meta = value.type, value.name, value.meta
                graph.replace_uses(value, output)
                value.name = ""


def _operator(told: Mapping[str, Any], value: Value) -> tuple[Node, list[Value]] | None:
    """The operator that made a value, and its operands; None where the layers aren't those of the mark."""
    try:
        source = _written(told)
        lowered = lower_graph(source)
    except Exception:  # whatever is wrong with a mark, the layers stand for themselves
        return None
    operands = _operands(lowered, lowered.outputs[told["output"]], value)
    if operands is None:
        return None
    (node,) = source.nodes
    return node, operands


def _written(told: Mapping[str, Any]) -> Graph:
    """A hub graph of the operator alone."""
    graph = Graph("hub")
    graph.opsets[""] = told["version"]
    inputs: list[Value] = []
    for index, one in enumerate(told["inputs"]):
        if "text" in one:
            inputs.append(graph.add_constant(np.array(one["text"], object).reshape(one["shape"])))
        else:
            inputs.append(graph.add_input(f"x{index}", TensorType(DType.STRING, tuple(one["shape"]))))
    node = graph.add_node(
        told["operator"],
        inputs,
        [f"y{index}" for index in range(told["outputs"])],
        dict(told["attributes"]),
        version=told["version"],
    )
    for value, type_ in zip(node.outputs, infer_node(node), strict=True):
        value.type = type_
    graph.outputs = list(node.outputs)
    return graph


def _operands(lowered: Graph, wanted: Value, found: Value) -> list[Value] | None:
    """What stands for the inputs of a lowered graph in another one that makes a value in the same way."""
    pairs: dict[Value, Value] = {}
    left = [(wanted, found)]
    while left:
        mine, theirs = left.pop()
        if mine in pairs:
            if pairs[mine] is not theirs:
                return None
            continue
        pairs[mine] = theirs
        if mine in lowered.inputs:
            if _sizes(theirs) != _sizes(mine):
                return None
            continue
        a, b = mine.producer, theirs.producer
        if a is None or b is None:
            if mine.data is None or theirs.data is None or not _is_same(mine, theirs):
                return None
            continue
        if (a.op, a.version, mine.index, len(a.inputs)) != (b.op, b.version, theirs.index, len(b.inputs)):
            return None
        if a.attributes != b.attributes or a.regions or b.regions:
            return None
        for x, y in zip(a.inputs, b.inputs, strict=True):
            if x is None or y is None:
                return None
            left.append((x, y))
    if any(value not in pairs for value in lowered.inputs):
        return None
    return [pairs[value] for value in lowered.inputs]


def _sizes(value: Value) -> tuple[DType | None, list[int | None] | None]:
    """The element type and the sizes, whatever open ones are called."""
    shape = value.tensor.shape
    return value.tensor.dtype, None if shape is None else [size if isinstance(size, int) else None for size in shape]


def _is_same(a: Value, b: Value) -> bool:
    """Whether two constants are the same."""
    if a.type != b.type or a.data is None or b.data is None:
        return False
    return bool(np.array_equal(a.data.numpy(), b.data.numpy()))


def _kept(op: Builder, node: Node) -> list[Value]:
    return list(op.copy(node))


RULES: dict[tuple[str, str], list[Rule]] = {("", name): [_kept] for name in OPERATORS}
