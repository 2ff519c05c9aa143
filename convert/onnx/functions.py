"""Model-local functions at another opset: each is converted by its own imports and kept.

What can't be done inside a function, where neither types nor the values of its attributes may be known, can often be
done where it is called: such a function is put in the place of its calls.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import onnx
from onnx import FunctionProto, ModelProto

from ...passes.errors import Unsupported
from ...passes.graph import Graph
from ...passes.hub import HUB
from ...passes.infer import infer, widen
from ...passes.opset import Log, raising_loops
from ...passes.protos import type_from_proto
from ...passes.refusals import alternative
from ...passes.rewrite import Builder, Rewriter, combine
from ...passes.schemas import since_version
from ...passes.structure.simplify import RemoveDead
from ...passes.types import Type, merge
from .lowering import lower_operators
from .raising import Calls, FunctionKey, callees_first, function_rules
from .read_graph import Function
from .write import IR_OF_OPSET, IR_WITH_FUNCTION_DEFAULTS, IR_WITH_OVERLOADS, to_model


@dataclass
class Converted:
    """The functions of a model at another opset, and those that have to be inlined instead (with the reason).

    `notes` is for the report.
    """

    kept: dict[FunctionKey, Function] = field(default_factory=dict)
    inlined: dict[FunctionKey, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def convert_functions(graph: Graph, opset: int, log: Log) -> Converted:
    """The functions of a model at `opset`; the graph's values are given the types that inference finds through calls.

    `check_functions` accepts them.
    """
    infer_through_calls(graph)
    order = callees_first(graph)
    bodies = _typed_bodies(graph, order[::-1])
    done = Converted()
    for key in order:
        function = graph.functions[key]
        reason = _too_new(function, opset)
        if reason:
            done.inlined[key] = reason
            continue
        try:
            with alternative():
                done.kept[key] = _converted(function, bodies[key], graph, opset, done, log)
        except Unsupported as refusal:
            done.inlined[key] = str(refusal)
    done.kept = {key: done.kept[key] for key in graph.functions if key in done.kept}
    return done


def _too_new(function: Function, opset: int) -> str:
    """Why the file format that an opset came with can't hold a function; "" if it can."""
    version = IR_OF_OPSET[opset]
    if function.proto.attribute_proto and version < IR_WITH_FUNCTION_DEFAULTS:
        return f"opset {opset} came with an IR whose functions have no default attributes"
    if function.proto.overload and version < IR_WITH_OVERLOADS:
        return f"opset {opset} came with an IR whose functions have no overloads"
    return ""


def infer_through_calls(graph: Graph) -> None:
    """Types for the values of a model with functions, by ONNX's own inference, which looks into them."""
    model = _without_data(graph)
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):  # then less is known
        return
    known = {info.name: type_from_proto(info.type) for info in model.graph.value_info if info.type.WhichOneof("value")}
    for node in graph.nodes:
        for value in node.outputs:
            if value.name in known:
                value.type = merge(value.type, known[value.name])


def _without_data(graph: Graph) -> ModelProto:
    """The model with big constants as inputs: inference needs their types only."""
    light = graph.copy()
    big = [value for value in light.constants if value.data is not None and value.data.size > 1024]
    for value in big:
        value.data = None
    light.constants = [value for value in light.constants if value.data is not None]
    light.inputs += [value for value in big if value not in light.inputs]
    return to_model(light)


def _typed_bodies(graph: Graph, callers_first: list[FunctionKey]) -> dict[FunctionKey, Graph]:
    """Copies of the functions' bodies, whose inputs have the types that all calls agree on."""
    calls = Calls(graph)
    seen: dict[FunctionKey, list[Type | None] | None] = {}
    bodies: dict[FunctionKey, Graph] = {}

    def look(inner: Graph) -> None:
        for _, node in inner.walk():
            key = calls.of(node)
            if key is None:
                continue
            size = len(graph.functions[key].graph.inputs)
            given = [value.type if value is not None else None for value in node.inputs]
            given = (given + [None] * size)[:size]
            earlier = seen.get(key)
            seen[key] = given if earlier is None else [widen(a, b) for a, b in zip(earlier, given, strict=True)]

    look(graph)
    for key in callers_first:
        body = bodies[key] = graph.functions[key].graph.copy()
        for value, known in zip(body.inputs, seen.get(key) or (), strict=False):
            value.type = merge(value.type, known)
        infer(body)
        look(body)
    return bodies


def _converted(function: Function, body: Graph, graph: Graph, opset: int, done: Converted, log: Log) -> Function:
    """One function at another opset. It has no initializers: constants stand in nodes."""
    rules = combine(function_rules(graph, done.inlined), raising_loops.RULES)
    rewriter = Rewriter(HUB, rules, fallback=Builder.copy)
    looped = rewriter.run(body)
    looped.opsets = dict(body.opsets)
    infer(looped)
    new = lower_operators(looped, opset, log)
    done.notes += rewriter.notes
    for domain, version in body.opsets.items():
        new.opsets.setdefault(domain, version)
    RemoveDead()(new)  # constants, too, whose types the opset may lack
    for inner in new.graphs():
        _constants_as_nodes(inner, opset)
    stated = {value.name for value in function.graph.values() if value.type is not None}
    for value in new.values():
        if value.name not in stated or IR_OF_OPSET[opset] < IR_WITH_OVERLOADS:
            value.type = None  # what inference found for these calls, and what the format can't express
    proto = FunctionProto()
    proto.CopyFrom(function.proto)
    del proto.opset_import[:]
    proto.opset_import.extend(onnx.helper.make_opsetid(domain, version) for domain, version in new.opsets.items())
    return replace(function, graph=new, proto=proto)


def _constants_as_nodes(graph: Graph, opset: int) -> None:
    version = since_version("", "Constant", opset) or 1
    for value in graph.constants:
        made = graph.add_node("Constant", [], [(value.name, value.type)], {"value": value.data}, version=version)
        graph.replace_uses(value, made.output)
    graph.constants = []
