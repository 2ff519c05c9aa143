"""The tree of plain values that a document holds <-> a `Model`, as `model` says of each attribute.

Read is what MDF's own library (modeci-mdf 0.4) takes, and lists of objects with an `id` in each wherever objects stand
by their ids. That library drops fields it doesn't know; here they are refused, as they may be what the model is about.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from ...passes.errors import InvalidModel, Unsupported
from ...runtime.oracles.mdf_names import declared_shape
from .model import (
    Condition,
    Graph,
    Model,
    Node,
    ParameterCondition,
    Plain,
    Shape,
)
from .plain_values import ANYWHERE, Object, kind_of, shown

_MOST_ELEMENTS, _MOST_DIMENSIONS = 2**31, 64
"""How large a declared shape may be."""

_REDUCTIONS = ("overwrite", "add", "multiply")


# How attributes stand in a document ------------------------------------------------------------------------------


def _given(value: Plain) -> Plain:
    """What is there at all, though it may be 0 or empty."""
    return value


def _filled(value: Plain) -> Plain:
    """What holds something."""
    return value or None


def _any(holder: Object, name: str) -> Plain:
    return holder.fields.get(name)


def _object(holder: Object, name: str) -> dict[str, Plain]:
    return holder.mapping(name) or {}


def _shape(port: Object, name: str) -> Shape:
    sizes = declared_shape(port.fields.get(name), port.where)
    if _is_too_large(sizes):
        raise port.refused("its shape is larger than any tensor could be")
    return sizes


def _is_too_large(sizes: Shape) -> bool:
    return len(sizes) > _MOST_DIMENSIONS or math.prod(size for size in sizes if isinstance(size, int)) > _MOST_ELEMENTS


def _plain_shape(sizes: Shape) -> Plain:
    if _is_too_large(sizes):
        raise Unsupported("MDF", f"a tensor of the shape {shown(str(list(sizes)))} is larger than any could be")
    return list(sizes) or None


def _reduce(port: Object, name: str) -> str:
    reduce = port.fields.get(name, "overwrite")
    if reduce not in _REDUCTIONS:
        raise port.refused(f"'reduce' is {shown(str(reduce))}; there are {', '.join(_REDUCTIONS)}")
    return reduce


def _derivative(parameter: Object, name: str) -> str | None:
    return None if parameter.fields.get(name) is None else parameter.label(name)


def _call(holder: Object) -> tuple[str | None, dict[str, Plain] | None]:
    """A function's name and arguments, which stand apart or as `{name: arguments}`."""
    function, arguments = holder.fields.get("function"), holder.mapping("args")
    if not isinstance(function, dict):
        return holder.text("function") or None, arguments
    if len(function) != 1 or arguments is not None:
        raise holder.refused(
            "'function' must be a name, with 'args' next to it, or one name with its arguments under it"
        )
    ((name, arguments),) = function.items()
    if arguments is not None and not isinstance(arguments, dict):
        raise holder.refused(f"the arguments of {shown(name)} must be an object, not {kind_of(arguments)}")
    return name, arguments


FORMS: dict[str, tuple[Callable[[Object, str], Any], Callable[[Any], Plain]]] = {
    "any": (_any, _given),
    "text": (Object.text, _filled),
    "needed": (Object.needed, _given),
    "label": (Object.label, _filled),
    "object": (_object, _filled),
    "shape": (_shape, _plain_shape),
    "reduce": (_reduce, lambda reduce: None if reduce == "overwrite" else reduce or None),
    "derivative": (_derivative, _given),
    "function": (lambda holder, _: _call(holder)[0], _given),
    "args": (lambda holder, _: _call(holder)[1], _given),
    "opset": (lambda holder, name: holder.label(name) or None, _filled),
}
"""By the names in `model`: (object, name of the field) -> attribute; attribute -> field, None where it is left out."""
_CONDITIONS, _CONDITION = ("node_specific", "termination"), ("type", "kwargs")


@cache
def _stored(kind: type[Any]) -> list[tuple[str, str, Any]]:
    """Attribute, field, and how it stands there, of what an object of the document holds."""
    hints = get_type_hints(kind, include_extras=True)
    annotated = [(name, *get_args(hint)[1:]) for name, hint in hints.items() if get_origin(hint) is Annotated]
    return [(name, field[0] if field else name, how) for name, how, *field in annotated]


def _known(kind: type[Any]) -> list[str]:
    """The fields that an object may have."""
    return [name for _, name, _ in _stored(kind)] + (["conditions"] if kind is Graph else [])


def _called(kind: type[Any]) -> str:
    """What an object is called in messages: "input port"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind.__name__).lower()


# Reading ---------------------------------------------------------------------------------------------------------


def model_from_tree(tree: Plain) -> Model:
    """The model that a document holds; values that are expressions stay text.

    Raises:
        InvalidModel: it isn't MDF or contradicts itself, with the place.
        Unsupported: it has more than one graph.
    """
    if not isinstance(tree, dict) or not tree:
        raise InvalidModel(f"a model is an object under its id; found {kind_of(tree) if tree else 'nothing'}")
    named, body = (tree["id"], tree) if "id" in tree else next(iter(tree.items()))
    if body is not tree and len(tree) > 1:
        names = ", ".join(shown(str(key)) for key in list(tree)[:5])
        raise InvalidModel(f"it isn't one model under its id: on the first level there are {names}")
    if not isinstance(named, str):
        raise InvalidModel(f"the model's id must be text, not {kind_of(named)}")
    model = Object(body, f"model {shown(named)}", _known(Model))
    graphs = list(model.children("graphs", "graph", _known(Graph)))
    if not graphs:
        raise model.refused("it has no graph")
    if len(graphs) > 1:
        names = ", ".join(shown(name) for name, _ in graphs)
        raise Unsupported(model.where, f"it has {len(graphs)} graphs ({names}); one graph is converted")
    return _typed(Model, named, model)


def _typed(kind: type[Any], name: str, holder: Object) -> Any:
    """The typed object of an object of the document."""
    made = kind(name, **{attribute: _read(how, holder, field) for attribute, field, how in _stored(kind)})
    if not isinstance(made, ParameterCondition):
        made.metadata = holder.metadata
    elif holder.metadata:
        raise holder.refused("MDF has no metadata here")
    if isinstance(made, Node):
        _check_ids(made, holder)
    elif isinstance(made, Graph):
        _check_edges(made, holder.where)
        _read_conditions(made, holder)
    return made


def _read(how: str | type[Any], holder: Object, field: str) -> Any:
    if isinstance(how, str):
        return FORMS[how][0](holder, field)
    return [_typed(how, name, tree) for name, tree in holder.children(field, _called(how), _known(how))]


def _check_ids(node: Node, holder: Object) -> None:
    kinds: dict[str, str] = {}
    for kind, members in (("input port", node.inputs), ("parameter", node.parameters), ("function", node.functions)):
        for member in members:
            if member.id in kinds:
                raise holder.refused(f"{shown(member.id)} is the id of its {kinds[member.id]} and of its {kind}")
            kinds[member.id] = kind


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


def _read_conditions(graph: Graph, holder: Object) -> None:
    if holder.fields.get("conditions") is None:
        return
    conditions = Object(holder.fields["conditions"], f"{holder.where}, conditions", _CONDITIONS)
    graph.node_conditions = _conditions(conditions, "node_specific", "node")
    graph.termination = _conditions(conditions, "termination", "time scale")
    graph.conditions_metadata = conditions.metadata
    nodes = {node.id for node in graph.nodes}
    for node in graph.node_conditions:
        if node not in nodes:
            raise conditions.refused(f"there is no node {shown(node)}")


def _conditions(conditions: Object, name: str, kind: str) -> dict[str, Condition]:
    return {
        key: _condition(tree, f"{conditions.where}, {kind} {shown(key)}")
        for key, tree in (conditions.mapping(name) or {}).items()
    }


def _condition(tree: Plain, where: str, beside: dict[str, Plain] | None = None) -> Condition:
    condition = Object(tree, where, _CONDITION)
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
    own = _CONDITION + ANYWHERE
    beside = {name: argument for name, argument in value.items() if name not in own}
    return _condition({name: value[name] for name in value if name in own}, where, beside)


# Writing ---------------------------------------------------------------------------------------------------------


def tree_from_model(model: Model) -> dict[str, Plain]:
    """The tree of plain values of a model, with what MDF takes for granted left out.

    Raises:
        InvalidModel: two things of one kind have the same id in one position.
        Unsupported: a shape that `model_from_tree` refuses.
    """
    body = _tree(model)
    return {"id": model.id, **body} if model.id == "id" else {model.id: body}


def _tree(member: Any) -> dict[str, Plain]:
    made: dict[str, Plain] = {"metadata": _filled(getattr(member, "metadata", None))}
    for attribute, field, how in _stored(type(member)):
        value = getattr(member, attribute)
        made[field] = FORMS[how][1](value) if isinstance(how, str) else _by_id(value)
    if isinstance(member, Model):
        made["graphs"] = made.pop("graphs")  # behind what is short
    if isinstance(member, Graph):
        made["conditions"] = _conditions_tree(member)
    return {name: value for name, value in made.items() if value is not None}


def _by_id(members: Iterable[Any]) -> Plain:
    made: dict[str, Plain] = {}
    for member in members:
        if member.id in made:
            raise InvalidModel(f"the id {shown(member.id)} is used twice in one place")
        made[member.id] = _tree(member)
    return made or None


def _conditions_tree(graph: Graph) -> Plain:
    fields = {
        "metadata": graph.conditions_metadata,
        "node_specific": {name: _condition_tree(condition) for name, condition in graph.node_conditions.items()},
        "termination": {name: _condition_tree(condition) for name, condition in graph.termination.items()},
    }
    return {name: value for name, value in fields.items() if value} or None


def _condition_tree(condition: Condition) -> dict[str, Plain]:
    arguments = {name: _argument_tree(value) for name, value in condition.arguments.items()}
    metadata = {"metadata": condition.metadata} if condition.metadata else {}
    return {**metadata, "type": condition.type, "kwargs": arguments}


def _argument_tree(value: Plain) -> Plain:
    if isinstance(value, Condition):
        return _condition_tree(value)
    return [_argument_tree(item) for item in value] if isinstance(value, list) else value
