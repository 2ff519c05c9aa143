"""A model in ONNX's text form, converted, checked and run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnx.parser
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import IR_OF_OPSET, to_model
from backedge.passes.graph import Graph
from backedge.passes.opset import convert_opset
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor
from onnx.reference import ReferenceEvaluator

NEWEST = 28


def parse(text: str, opset: int, imports: Mapping[str, int] | None = None) -> Graph:
    """The graph of `(float[2] x) => (float[2] y) { y = Neg(x) }` at an opset, functions behind it."""
    stated = ", ".join(f'"{domain}" : {version}' for domain, version in {"": opset, **(imports or {})}.items())
    header = f"<ir_version: {max(IR_OF_OPSET[opset], 4)}, opset_import: [{stated}]>\nmain "
    return read_model(onnx.parser.parse_model(header + text))


def converted(graph: Graph, target: int) -> Graph:
    """The graph at another opset, every invariant checked."""
    return verify(convert_opset(graph, {"": target}))


def checked(graph: Graph) -> onnx.ModelProto:
    """The model of a graph, after ONNX's own checker."""
    model = to_model(graph)
    model.ir_version = max(IR_OF_OPSET[graph.opsets[""]], 4)
    onnx.checker.check_model(model, full_check=True)
    return model


def up(text: str, opset: int, *inputs: Any, target: int = NEWEST) -> list[Any]:
    """The outputs of a model raised to the newest opset (the executor's), its inputs in order."""
    graph = converted(parse(text, opset), target)
    checked(graph)
    outputs = Executor(graph).run({value.name: array for value, array in zip(graph.inputs, inputs, strict=True)})
    return [outputs[value.name] for value in graph.outputs]


def down(text: str, opset: int, target: int, *inputs: Any) -> list[Any]:
    """The outputs of a model lowered to an old opset, run by ONNX's reference."""
    graph = converted(parse(text, opset), target)
    model = checked(graph)
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return list(ReferenceEvaluator(model).run(None, feeds))


def operators(graph: Graph) -> list[tuple[str, int]]:
    """(operator, version) of every node, regions included."""
    return [(node.op_type, node.version) for _, node in graph.walk()]


def f32(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def i64(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)
