"""The operators, inputs and constants that MDF nodes in function form stand for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from onnx import NodeProto, ValueInfoProto

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.node import ORIGIN
from ....passes.types import TensorType
from .. import model as mdf
from ..model import Plain
from ..plain_values import shown
from .arrays import array_of
from .attributes import attribute_of
from .engine_form import attribute_argument, composed_expression, expression
from .metadata import message_of, type_of, type_of_port
from .nodes import HERE, METADATA, MODEL, operator_of, usual_version
from .prepare import contradicts

_FIRST_ID = re.compile(r"(?:numpy\.[a-z]+\()*([A-Za-z_]\w*)")
_OUTPUT = re.compile(r"(\w+)(?:\[(\d{1,6})\])?")
_VERSIONS = range(1, 2**31)

Fields = dict[str, Plain]


@dataclass(slots=True)
class Surroundings:
    """What is known of the graph in which a node stands.

    Attributes:
        where: the graph, for messages.
        opsets: the imports of the model, or of the function that the graph belongs to.
        calls: (domain, name) of the model's own functions.
        sources: the sending node and port, for each receiving node and port.
        subgraph: reads a region.
        values: what stands at each node and output port.
        constants: those read so far.
    """

    where: str
    opsets: Mapping[str, int]
    calls: Set[tuple[str, str]]
    sources: Mapping[tuple[str, str], tuple[str, str]]
    subgraph: Callable[[Plain, str], Graph]
    values: dict[tuple[str, str], Value] = field(default_factory=dict)
    constants: list[Value] = field(default_factory=list)


def own_metadata(metadata: Mapping[str, Plain], where: str) -> Fields:
    """Our own fields of metadata.

    Raises:
        InvalidModel: they are no object.
    """
    fields = metadata.get(METADATA, {})
    if not isinstance(fields, dict):
        raise InvalidModel(f"{where}: the metadata under {METADATA!r} must be an object")
    return fields


def text_of(fields: Fields, name: str, otherwise: str, where: str) -> str:
    """A field that is text, `otherwise` where it isn't there.

    Raises:
        InvalidModel: it is something else.
    """
    found = fields.get(name, otherwise)
    if not isinstance(found, str):
        raise InvalidModel(f"{where}: {name!r} in the metadata must be text")
    return found


def texts_of(fields: Fields, name: str, where: str, also: tuple[type, ...] = ()) -> list[Plain]:
    """A field that is a list of text (or of what else is allowed), none where it isn't there.

    Raises:
        InvalidModel: it is something else.
    """
    found = fields.get(name, [])
    if not isinstance(found, list) or not all(isinstance(item, (str, *also)) for item in found):
        raise InvalidModel(f"{where}: {name!r} in the metadata must be a list of names")
    return found


# inputs and constants ----------------------------------------------------------------------------


def read_input(node: mdf.Node, around: Surroundings) -> None:
    """The value that a node of kind "input" brings into the graph."""
    where = f"{around.where}, input {shown(node.id)}"
    if len(node.inputs) != 1 or len(node.outputs) != 1 or node.parameters or node.functions:
        raise InvalidModel(f"{where}: it must have exactly one input port and one output port")
    port, output = node.inputs[0], node.outputs[0]
    if (node.id, port.id) in around.sources or port.reduce != "overwrite":
        raise InvalidModel(f"{where}: an input has no incoming edges")
    value = _value(output, f"{where}, port {shown(output.id)}")
    default = own_metadata(port.metadata, where).get("default")
    text = port.id
    if default is not None:
        value.data = array_of(port.default, default, f"{where}, default value", value.name)
        text = expression(port.id, value.data)
        around.constants.append(value)
    elif port.default is not None:
        raise InvalidModel(f"{where}: there is no metadata with the type of its default value")
    _check_text(output.value, text, f"{where}, port {shown(output.id)}")
    around.values[node.id, output.id] = value


def read_constant(node: mdf.Node, around: Surroundings) -> None:
    """The value of a node of kind "constant"."""
    where = f"{around.where}, constant {shown(node.id)}"
    if len(node.parameters) != 1 or len(node.outputs) != 1 or node.inputs or node.functions:
        raise InvalidModel(f"{where}: it must have exactly one parameter and one output port")
    parameter, output = node.parameters[0], node.outputs[0]
    fields = _plain_parameter(parameter, where)
    if fields.get("of") != "constant":
        raise InvalidModel(f"{where}: its parameter must be a constant")
    value = _constant(parameter, fields, where)
    assert value.data is not None
    _check_text(output.value, expression(parameter.id, value.data), f"{where}, port {shown(output.id)}")
    around.values[node.id, output.id] = value
    around.constants.append(value)


def _value(port: mdf.OutputPort, where: str) -> Value:
    fields = own_metadata(port.metadata, where)
    value = Value(text_of(fields, "name", port.id, where))
    value.type = type_of_port(port.shape, port.type, fields.get("type"), where)
    _annotate(value, fields, where)
    return value


def _annotate(value: Value, fields: Fields, where: str) -> None:
    meta: dict[str, object] = {}
    if fields.get("declared") is True:
        meta["declared"] = True
    if "notes" in fields:
        meta["onnx"] = message_of(ValueInfoProto, fields["notes"], where)
    value.meta = meta or None


def _constant(parameter: mdf.Parameter, fields: Fields, where: str) -> Value:
    name = text_of(fields, "name", parameter.id, where)
    data = array_of(parameter.value, fields, where, name)
    value = Value(name, TensorType(data.dtype, data.shape), data=data)
    if "type" in fields:
        value.type = type_of(fields["type"], where)
    _annotate(value, fields, where)
    return value


def _plain_parameter(parameter: mdf.Parameter, where: str) -> Fields:
    """The metadata of a parameter that is nothing but a value."""
    extra = (parameter.function, parameter.args, parameter.initial, parameter.derivative)
    if any(entry is not None for entry in extra) or parameter.conditions:
        raise InvalidModel(f"{where}, parameter {shown(parameter.id)}: in function form it may only have a value")
    return own_metadata(parameter.metadata, where)


def _check_text(found: Plain, expected: str, where: str) -> None:
    if found != expected:
        raise InvalidModel(f"{where}: {shown(str(found))} found where function form has {shown(expected)}")


# operators ---------------------------------------------------------------------------------------


class OperatorReader:
    """One node that stands for an operator: first its outputs are read, then what it uses.

    Raises:
        InvalidModel: it isn't in function form, or its metadata contradicts it.
    """

    def __init__(self, node: mdf.Node, around: Surroundings) -> None:
        self.source, self.around = node, around
        self.where = f"{around.where}, node {shown(node.id)}"
        self.fields = own_metadata(node.metadata, self.where)
        called = [parameter for parameter in node.parameters if self._computes(parameter)]
        if len(called) != 1 or node.functions:
            raise InvalidModel(f"{self.where}: in function form it has one parameter with a function")
        self.called = called[0]
        fields = own_metadata(self.called.metadata, self.where)
        self.function = self.called.function or text_of(fields, "function", "", self.where)
        args = fields.get("args") if self.called.function is None else self.called.args or {}
        if not isinstance(args, dict):
            raise InvalidModel(f"{self.where}: the arguments of {shown(self.function)} must be an object")
        self.args: Fields = args
        if self.called.initial is not None or self.called.derivative is not None or self.called.conditions:
            raise InvalidModel(f"{self.where}: in function form no parameter has a state or conditions")
        self.own: dict[str, Any] = {}  # the model's attributes
        self.here: Node | None = None
        self.made = self._operator()
        self._outputs()

    def _computes(self, parameter: mdf.Parameter) -> bool:
        return parameter.function is not None or own_metadata(parameter.metadata, self.where).get("of") == "operator"

    def _operator(self) -> Node:
        """The node without what it uses."""
        function, fields, where = self.function, self.fields, self.where
        domain, op_type, version = operator_of(function)
        domain, op_type = text_of(fields, "domain", domain, where), text_of(fields, "operator", op_type, where)
        if not op_type:
            raise InvalidModel(f"{where}: {shown(function)} names no operator")
        if domain not in self.around.opsets:
            raise InvalidModel(f"{where}: {shown(function)}: no opset of {shown(domain or 'ai.onnx')} is imported")
        version = fields.get(
            "version", version or usual_version((domain, op_type), self.around.opsets, self.around.calls)
        )
        was = fields.get("was")
        if any(type(one) is not int or one not in _VERSIONS for one in (version, 1 if was is None else was)):
            raise InvalidModel(f"{where}: of {shown(function)} no version is known")
        node = Node(domain, op_type, version, text_of(fields, "name", self.source.id, where))
        if "notes" in fields:
            node.meta = {"onnx": message_of(NodeProto, fields["notes"], where)}
        made_of = text_of(fields, "from", "", where)
        if made_of:
            node.meta = {**(node.meta or {}), ORIGIN: made_of}
        return node

    def _outputs(self) -> None:
        node = self.made
        placed: dict[int, Value] = {}
        for port in self.source.outputs:
            where = f"{self.where}, port {shown(port.id)}"
            found = _OUTPUT.fullmatch(port.value) if isinstance(port.value, str) else None
            if found is None or found[1] != self.called.id:
                raise InvalidModel(f"{where}: its value must be {self.called.id!r}, or one of its elements")
            index = int(found[2] or 0)
            if index in placed:
                raise InvalidModel(f"{where}: output {index} of the operator is at another port, too")
            placed[index] = self.around.values[self.source.id, port.id] = _value(port, where)
        least = max(placed, default=-1) + 1
        count = self.fields.get("outputs", least)
        if type(count) is not int or not least <= count <= least + 1024:
            raise InvalidModel(f"{self.where}: it can't have {count!s:.20} outputs")
        for index in range(count):
            value = placed.get(index) or Value("")
            value.producer, value.index = node, index
            node.outputs.append(value)

    def connect(self) -> Node:
        """The node, as the model has it, with inputs, attributes and regions."""
        node, where = self.made, self.where
        used = {port.id: self._fed(port) for port in self.source.inputs}
        texts = {id: id for id in used}
        attributes: list[tuple[str, str]] = []
        for parameter in self.source.parameters:
            if parameter is self.called:
                continue
            location = f"{where}, parameter {shown(parameter.id)}"
            fields = _plain_parameter(parameter, where)
            only = fields.get("only")
            if only is not None and (only not in (HERE, MODEL) or self.fields.get("was") is None):
                raise InvalidModel(f"{location}: it can't be only for {shown(str(only))}")
            if fields.get("of") == "constant":
                value = used[parameter.id] = _constant(parameter, fields, location)
                assert value.data is not None
                texts[parameter.id] = expression(parameter.id, value.data)
                if only is None:
                    self.around.constants.append(value)
            elif fields.get("of") == "attribute":
                attributes += self._attribute(parameter, fields, location)
            else:
                raise InvalidModel(f"{location}: there is no metadata that makes it a constant or an attribute")
        self._inputs(used, texts, dict(attributes))
        if self.fields.get("was") is not None:
            self._become_the_models(used)
        return node

    def _become_the_models(self, used: Mapping[str, Value]) -> None:
        """What the model has in the place of what stands here."""
        node, fields = self.made, self.fields
        here = Node(node.domain, node.op_type, node.version)
        here.inputs, here.attributes = node.inputs, node.attributes
        node.version, node.attributes = fields["was"], self.own
        if "model_inputs" in fields:
            ids = texts_of(fields, "model_inputs", self.where, (type(None),))
            if any(id is not None and id not in used for id in ids) or node.captured:
                raise InvalidModel(
                    f"{self.where}: 'model_inputs' names something that is neither a port nor a constant"
                )
            node.inputs = [None if id is None else used[id] for id in ids]
            self.here = here

    def check(self) -> None:
        """Look, once the graph is complete, whether what the model has comes to what stands here."""
        if self.here is not None and contradicts(self.made, self.here):
            raise InvalidModel(
                f"{self.where}: {self.made.op_type}-{self.made.version} doesn't match what is written here"
            )

    def _fed(self, port: mdf.InputPort) -> Value:
        where = f"{self.where}, port {shown(port.id)}"
        source = self.around.sources.get((self.source.id, port.id))
        if source is None or port.default is not None or port.reduce != "overwrite":
            raise InvalidModel(f"{where}: in function form an edge leads to it, and it has no default value")
        return self.around.values[source]

    def _attribute(self, parameter: mdf.Parameter, fields: Fields, where: str) -> list[tuple[str, str]]:
        """Read an attribute or a region; its argument and expression, if it is one."""
        node, only = self.made, fields.get("only")
        name = text_of(fields, "name", parameter.id, where)
        if (only != MODEL and name in node.attributes) or (only != HERE and name in self.own) or name in node.regions:
            raise InvalidModel(f"{where}: attribute {shown(name)} is given twice")
        if fields.get("kind") == "graph":
            node.regions[name] = self.around.subgraph(parameter.value, where)
            return [(parameter.id, parameter.id)]
        value = attribute_of(name, parameter.value, fields, where)
        if only != HERE:
            self.own[name] = value
        if only == MODEL:
            return []
        node.attributes[name] = value
        return [attribute_argument(node, name, parameter.id)]

    def _inputs(self, used: Mapping[str, Value], texts: Mapping[str, str], attributes: Mapping[str, str]) -> None:
        """The inputs and captures by the arguments, which are looked at to the last."""
        node, where = self.made, self.where
        args, left = self.args, set(used)
        expected: dict[str, Plain] = {}
        for argument in texts_of(self.fields, "inputs", where, (type(None),)):
            if argument is None:
                node.inputs.append(None)
                continue
            given = args.get(argument)
            found = _FIRST_ID.match(given) if isinstance(given, str) else None
            if found is None or found[1] not in used or argument in expected:
                raise InvalidModel(f"{where}: argument {shown(argument)} is {shown(str(given))}, which isn't an input")
            expected[argument] = texts[found[1]]
            node.inputs.append(used[found[1]])
            left.discard(found[1])
        for argument, text in attributes.items():
            expected[f"{argument}_attribute" if argument in expected else argument] = text
        added = texts_of(self.fields, "added", where)
        for argument in {**expected, **args}:
            if argument not in added and args.get(argument) != expected.get(argument):
                location = f"{where}, argument {shown(argument)}"
                _check_text(args.get(argument), str(expected.get(argument)), location)
        text = composed_expression(node, self.function, args)
        if self.called.value != text or (self.called.args is None) != (text is not None):
            raise InvalidModel(f"{where}: {shown(self.called.id)} doesn't compute what its operator does")
        captures = texts_of(self.fields, "captures", where)
        for id in captures:
            if id not in used:
                raise InvalidModel(f"{where}: the captured {shown(id)} is no port and no constant")
            node.inputs.append(used[id])
        node.captured = len(captures)
        left -= {*captures, *texts_of(self.fields, "model_inputs", where, (type(None),))}
        if left:
            raise InvalidModel(f"{where}: {shown(min(left))} is neither an argument nor captured")
        for name, region in node.regions.items():
            if len(region.inputs) < node.captured:
                raise InvalidModel(f"{where}: {shown(name)} has fewer inputs than values are captured")
