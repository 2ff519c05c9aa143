"""The tree of plain values that a document holds <-> a `Model`.

Read is what MDF's own library (modeci-mdf 0.4) takes, and lists of objects with an `id` in each wherever objects stand
by their ids. That library drops fields it doesn't know; here they are refused, as they may be what the model is about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from ...passes.errors import InvalidModel, Unsupported
from .fields import ANYWHERE, FIELDS, Object
from .model import (
    Condition,
    Edge,
    Function,
    Graph,
    InputPort,
    Model,
    Node,
    OutputPort,
    Parameter,
    ParameterCondition,
    Plain,
    Shape,
)
from .plain import kind_of, shown

_MOST_ELEMENTS, _MOST_DIMENSIONS = 2**31, 64
"""How large a declared shape may be."""

_REDUCTIONS = ("overwrite", "add", "multiply")
_LIST_TEXT = re.compile(r"\((.*)\)|\[(.*)\]")

_Named = TypeVar("_Named", Graph, Node, InputPort, OutputPort, Function, Parameter, ParameterCondition, Edge)


# Reading ---------------------------------------------------------------------------------------------------------


def model_from_tree(tree: Plain) -> Model:
    """The model that a document holds; values that are expressions stay text.

    Raises:
        InvalidModel: it isn't MDF or contradicts itself, with the place.
        Unsupported: it has more than one graph.
    """
    if not isinstance(tree, dict) or not tree:
        raise InvalidModel(f"a model is an object under its id; here stands {kind_of(tree) if tree else 'nothing'}")
    named, body = (tree["id"], tree) if "id" in tree else next(iter(tree.items()))
    if body is not tree and len(tree) > 1:
        names = ", ".join(shown(str(key)) for key in list(tree)[:5])
        raise InvalidModel(f"it isn't one model under its id: on the first level stand {names}")
    if not isinstance(named, str):
        raise InvalidModel(f"the model's id must be text, not {kind_of(named)}")
    model = Object(body, f"model {shown(named)}", "model")
    graphs = list(model.children("graphs", "graph"))
    if not graphs:
        raise model.refused("it has no graph")
    if len(graphs) > 1:
        names = ", ".join(shown(name) for name, _ in graphs)
        raise Unsupported(model.where, f"it has {len(graphs)} graphs ({names}); one graph is converted")
    return Model(
        id=named,
        graphs=[_graph(name, graph) for name, graph in graphs],
        format=model.label("format"),
        application=model.label("generating_application"),
        opset=model.label("onnx_opset_version") or None,
        metadata=model.metadata,
    )


def _graph(name: str, graph: Object) -> Graph:
    made = Graph(
        id=name,
        nodes=[_node(child, node) for child, node in graph.children("nodes", "node")],
        edges=[_edge(child, edge) for child, edge in graph.children("edges", "edge")],
        parameters=graph.mapping("parameters") or {},
        metadata=graph.metadata,
    )
    nodes = {node.id for node in made.nodes}
    _check_edges(made, graph.where)
    if graph.fields.get("conditions") is not None:
        conditions = Object(graph.fields["conditions"], f"{graph.where}, conditions", "conditions")
        made.node_conditions = _conditions(conditions, "node_specific", "node")
        made.termination = _conditions(conditions, "termination", "time scale")
        made.conditions_metadata = conditions.metadata
        for node in made.node_conditions:
            if node not in nodes:
                raise conditions.refused(f"there is no node {shown(node)}")
    return made


def _check_edges(graph: Graph, where: str) -> None:
    outputs = {node.id: {port.id for port in node.outputs} for node in graph.nodes}
    inputs = {node.id: {port.id for port in node.inputs} for node in graph.nodes}
    for edge in graph.edges:
        ends = (
            ("output", edge.sender, edge.sender_port, outputs),
            ("input", edge.receiver, edge.receiver_port, inputs),
        )
        for kind, node, port, ports in ends:
            if node not in ports:
                raise InvalidModel(f"{where}, edge {shown(edge.id)}: there is no node {shown(node)}")
            if port not in ports[node]:
                reason = f"node {shown(node)} has no {kind} port {shown(port)}"
                raise InvalidModel(f"{where}, edge {shown(edge.id)}: {reason}")


def _node(name: str, node: Object) -> Node:
    made = Node(
        id=name,
        inputs=[_input_port(child, port) for child, port in node.children("input_ports", "input port")],
        functions=[_function(child, function) for child, function in node.children("functions", "function")],
        parameters=[_parameter(child, parameter) for child, parameter in node.children("parameters", "parameter")],
        outputs=[_output_port(child, port) for child, port in node.children("output_ports", "output port")],
        metadata=node.metadata,
    )
    kinds: dict[str, str] = {}
    for kind, members in (("input port", made.inputs), ("parameter", made.parameters), ("function", made.functions)):
        for member in members:
            if member.id in kinds:
                raise node.refused(f"{shown(member.id)} is the id of its {kinds[member.id]} and of its {kind}")
            kinds[member.id] = kind
    return made


def _input_port(name: str, port: Object) -> InputPort:
    reduce = port.fields.get("reduce", "overwrite")
    if reduce not in _REDUCTIONS:
        raise port.refused(f"'reduce' is {shown(str(reduce))}; there are {', '.join(_REDUCTIONS)}")
    return InputPort(name, port.fields.get("default_value"), _shape(port), port.text("type"), reduce, port.metadata)


def _output_port(name: str, port: Object) -> OutputPort:
    return OutputPort(name, port.fields.get("value"), _shape(port), port.text("type"), port.metadata)


def _shape(port: Object) -> Shape:
    """The sizes: a list of them, or its text such as "(2, 3)"."""
    value = port.fields.get("shape")
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        found = _LIST_TEXT.fullmatch(value.strip())
        if found is None:
            raise port.refused(f"the shape {shown(value)} isn't a list")
        value = [size.strip().strip("'\"") for size in (found[1] or found[2] or "").split(",")]
        if not value[-1]:
            value.pop()  # "()" and "(2,)"
    if not isinstance(value, list):
        raise port.refused(f"'shape' must be a list, not {kind_of(value)}")
    sizes = tuple(_size(size, port) for size in value)
    if len(sizes) > _MOST_DIMENSIONS or math.prod(size for size in sizes if isinstance(size, int)) > _MOST_ELEMENTS:
        raise port.refused("its shape is larger than any tensor could be")
    return sizes


def _size(value: Plain, port: Object) -> int | str:
    if isinstance(value, str):
        if re.fullmatch(r"[0-9]{1,18}", value):
            return int(value)
        if re.fullmatch(r"[^\W\d][\w.:/ +*()-]*", value):
            return value
    elif isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)
    elif isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise port.refused(f"{shown(str(value))} is no size of a shape")


def _function(name: str, function: Object) -> Function:
    return Function(name, *_call(function), function.fields.get("value"), function.metadata)


def _call(holder: Object) -> tuple[str | None, dict[str, Plain] | None]:
    """A function's name and arguments, which stand apart or as `{name: arguments}`."""
    function, arguments = holder.fields.get("function"), holder.mapping("args")
    if not isinstance(function, dict):
        return holder.text("function") or None, arguments
    if len(function) != 1 or arguments is not None:
        raise holder.refused("'function' must be a name with 'args' beside it, or one name with its arguments under it")
    ((name, arguments),) = function.items()
    if arguments is not None and not isinstance(arguments, dict):
        raise holder.refused(f"the arguments of {shown(name)} must be an object, not {kind_of(arguments)}")
    return name, arguments


def _parameter(name: str, parameter: Object) -> Parameter:
    function, arguments = _call(parameter)
    derivative = parameter.fields.get("time_derivative")
    return Parameter(
        id=name,
        value=parameter.fields.get("value"),
        initial=parameter.fields.get("default_initial_value"),
        derivative=None if derivative is None else parameter.label("time_derivative"),
        function=function,
        args=arguments,
        conditions=[
            _parameter_condition(child, condition)
            for child, condition in parameter.children("conditions", "parameter condition")
        ],
        metadata=parameter.metadata,
    )


def _parameter_condition(name: str, condition: Object) -> ParameterCondition:
    if condition.metadata:
        raise condition.refused("MDF has no metadata here")
    return ParameterCondition(name, condition.fields.get("test"), condition.fields.get("value"))


def _edge(name: str, edge: Object) -> Edge:
    return Edge(
        id=name,
        sender=edge.needed("sender"),
        receiver=edge.needed("receiver"),
        sender_port=edge.needed("sender_port"),
        receiver_port=edge.needed("receiver_port"),
        parameters=edge.mapping("parameters") or {},
        metadata=edge.metadata,
    )


def _conditions(conditions: Object, name: str, kind: str) -> dict[str, Condition]:
    return {
        key: _condition(tree, f"{conditions.where}, {kind} {shown(key)}")
        for key, tree in (conditions.mapping(name) or {}).items()
    }


def _condition(tree: Plain, where: str, beside: dict[str, Plain] | None = None) -> Condition:
    condition = Object(tree, where, "condition")
    arguments = {**(beside or {}), **(condition.mapping("kwargs") or {})}
    return Condition(
        condition.needed("type"),
        {name: _argument(value, f"{where}, argument {shown(name)}") for name, value in arguments.items()},
        condition.metadata,
    )


def _argument(value: Plain, where: str) -> Plain:
    """An argument of a condition: objects with an `id` stand for the id, objects with a `type` are conditions."""
    if isinstance(value, list):
        return [_nested(item, f"{where}[{position}]") for position, item in enumerate(value)]
    if isinstance(value, dict) and "id" in value:
        return value["id"]
    return _nested(value, where)


def _nested(value: Plain, where: str) -> Plain:
    """A condition inside of another may have its arguments beside its type as well as under `kwargs`."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return value
    own = FIELDS["condition"] + ANYWHERE
    beside = {name: argument for name, argument in value.items() if name not in own}
    return _condition({name: value[name] for name in value if name in own}, where, beside)


# Writing ---------------------------------------------------------------------------------------------------------


def tree_from_model(model: Model) -> dict[str, Plain]:
    """The tree of plain values of a model, with what MDF takes for granted left out.

    Raises:
        InvalidModel: two things of one kind have the same id in one place.
    """
    body = {
        **_filled(
            metadata=model.metadata,
            format=model.format,
            generating_application=model.application,
            onnx_opset_version=model.opset,
        ),
        "graphs": _by_id(model.graphs, _graph_tree),
    }
    return {"id": model.id, **body} if model.id == "id" else {model.id: body}


def _by_id(members: Iterable[_Named], tree_of: Callable[[_Named], dict[str, Plain]]) -> dict[str, Plain]:
    made: dict[str, Plain] = {}
    for member in members:
        if member.id in made:
            raise InvalidModel(f"the id {shown(member.id)} stands twice in one place")
        made[member.id] = tree_of(member)
    return made


def _filled(**fields: Plain) -> dict[str, Plain]:
    """The fields that hold something."""
    return {name: value for name, value in fields.items() if value}


def _given(**fields: Plain) -> dict[str, Plain]:
    """The fields that are there at all, though they may be 0 or empty."""
    return {name: value for name, value in fields.items() if value is not None}


def _graph_tree(graph: Graph) -> dict[str, Plain]:
    conditions = _filled(
        metadata=graph.conditions_metadata,
        node_specific={name: _condition_tree(condition) for name, condition in graph.node_conditions.items()},
        termination={name: _condition_tree(condition) for name, condition in graph.termination.items()},
    )
    return _filled(
        metadata=graph.metadata,
        nodes=_by_id(graph.nodes, _node_tree),
        edges=_by_id(graph.edges, _edge_tree),
        parameters=graph.parameters,
        conditions=conditions,
    )


def _node_tree(node: Node) -> dict[str, Plain]:
    return _filled(
        metadata=node.metadata,
        input_ports=_by_id(node.inputs, _input_tree),
        functions=_by_id(node.functions, _function_tree),
        parameters=_by_id(node.parameters, _parameter_tree),
        output_ports=_by_id(node.outputs, _output_tree),
    )


def _input_tree(port: InputPort) -> dict[str, Plain]:
    reduce = "" if port.reduce == "overwrite" else port.reduce
    return {
        **_filled(metadata=port.metadata),
        **_given(default_value=port.default),
        **_filled(shape=list(port.shape), type=port.type, reduce=reduce),
    }


def _output_tree(port: OutputPort) -> dict[str, Plain]:
    return {
        **_filled(metadata=port.metadata),
        **_given(value=port.value),
        **_filled(shape=list(port.shape), type=port.type),
    }


def _function_tree(function: Function) -> dict[str, Plain]:
    return {
        **_filled(metadata=function.metadata),
        **_given(function=function.function, args=function.args, value=function.value),
    }


def _parameter_tree(parameter: Parameter) -> dict[str, Plain]:
    return {
        **_filled(metadata=parameter.metadata),
        **_given(
            value=parameter.value,
            default_initial_value=parameter.initial,
            time_derivative=parameter.derivative,
            function=parameter.function,
            args=parameter.args,
        ),
        **_filled(conditions=_by_id(parameter.conditions, _parameter_condition_tree)),
    }


def _parameter_condition_tree(condition: ParameterCondition) -> dict[str, Plain]:
    return _given(test=condition.test, value=condition.value)


def _edge_tree(edge: Edge) -> dict[str, Plain]:
    return {
        **_filled(metadata=edge.metadata),
        "sender": edge.sender,
        "receiver": edge.receiver,
        "sender_port": edge.sender_port,
        "receiver_port": edge.receiver_port,
        **_filled(parameters=edge.parameters),
    }


def _condition_tree(condition: Condition) -> dict[str, Plain]:
    arguments = {name: _argument_tree(value) for name, value in condition.arguments.items()}
    return {**_filled(metadata=condition.metadata), "type": condition.type, "kwargs": arguments}


def _argument_tree(value: Plain) -> Plain:
    if isinstance(value, Condition):
        return _condition_tree(value)
    return [_argument_tree(item) for item in value] if isinstance(value, list) else value
