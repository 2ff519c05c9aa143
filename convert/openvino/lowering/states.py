"""Variables come back as ReadValue and Assign where the inputs and outputs that they were in the hub still stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ....passes.graph import Graph, Node, Value
from ....passes.loop import DOMAIN as CONTROL
from ....passes.types import TensorType
from ..dialect import DOMAIN, META, Net
from ..origin import conforms, same_data
from ..types import ELEMENT_TYPES, format_shape, parse_shape
from ..variables import VARIABLES, Variable

_VERSION = 6  # of ReadValue and Assign, for variables that no file of OpenVINO had

Assigned = list[tuple[int, Variable]]
"""Which of a graph's outputs are variables' values after the run."""


def read_variables(graph: Graph) -> Assigned:
    """Let ReadValue layers take the place of the inputs that are variables.

    What is assigned stays an output until `assign_variables`, so that nothing takes it for dead.

    Returns:
        The outputs to be assigned.
    """
    assigned: Assigned = []
    for variable in graph.meta.get(VARIABLES, ()):
        found = _Found(graph, variable)
        if not found.usable:
            continue
        if variable.input:
            found.read()
        if variable.output:
            value = graph.outputs[found.index]
            if value.producer is not None and value.producer.op == ("", "Identity") and value.producer.inputs[0]:
                graph.outputs[found.index] = value.producer.inputs[0]
            assigned.append((found.index, variable))
    return assigned


def assign_variables(graph: Graph, assigned: Assigned) -> None:
    """Let Assign layers take the place of the outputs that are variables, in a lowered graph."""
    for index, variable in assigned:
        layer = variable.assign
        value = graph.outputs[index]
        version = layer.version if layer is not None else _VERSION
        name = layer.name if layer is not None else f"{variable.id}/assign"
        attributes = dict(layer.attributes) if layer is not None else {"variable_id": variable.id}
        made = graph.add_node(
            "Assign", [value], [("", value.type)], attributes, domain=DOMAIN, version=version, name=name
        )
        if layer is not None:
            made.meta, made.output.meta = layer.meta, layer.outputs[0].meta
    gone = {index for index, _ in assigned}
    net = graph.meta.get(META)
    if isinstance(net, Net) and len(net.results) == len(graph.outputs):
        graph.meta[META] = replace(net, results=[one for index, one in enumerate(net.results) if index not in gone])
    graph.outputs = [value for index, value in enumerate(graph.outputs) if index not in gone]


class _Found:
    """A variable's inputs and output in a graph, as far as they are there."""

    def __init__(self, graph: Graph, variable: Variable) -> None:
        self._graph = graph
        self._variable = variable
        inputs = {value.name: value for value in graph.inputs}
        indices = {value.name: index for index, value in enumerate(graph.outputs)}
        self.index = indices.get(variable.output, -1)
        self._value = inputs.get(variable.input)
        self._given = inputs.get(variable.given)
        self._chosen = None if self._given is None or self._value is None else self._choice(self._given, self._value)

    @property
    def usable(self) -> bool:
        """Whether everything is there and of the variable's type."""
        variable, value = self._variable, self._value
        if variable.output and self.index < 0:
            return False
        if not variable.input:
            return True
        if value is None or value.data is None or bool(variable.given) != (self._chosen is not None):
            return False
        after = self._graph.outputs[self.index].tensor if variable.output else value.tensor
        return conforms(value.tensor, _declared(variable, value)) and after.dtype is value.tensor.dtype

    def _choice(self, given: Value, value: Value) -> tuple[Node, Value] | None:
        """The If that takes the input where it is given, and what it takes otherwise; None if there is more to it."""
        uses = self._graph.uses(given)
        node = uses[0][0] if len(uses) == 1 and uses[0][1] == 0 else None
        if node is None or node.op != (CONTROL, "If") or len(node.outputs) != 1:
            return None
        taken = [_passed_through(node, region) for region in ("then", "else")]
        if taken[0] is not value or taken[1] is None or {user for user, _ in self._graph.uses(value)} != {node}:
            return None
        return node, taken[1]

    def read(self) -> None:
        """Let all that used the variable's input use a ReadValue's output."""
        graph, variable, value = self._graph, self._variable, self._value
        assert value is not None
        initial = self._initial(value) if self._chosen is None else self._chosen[1]
        instead = value if self._chosen is None else self._chosen[0].output
        layer = variable.read
        made = graph.add_node(
            "ReadValue",
            [] if initial is None else [initial],
            [(layer.outputs[0].name if layer is not None else f"{variable.id}/read", instead.type)],
            dict(layer.attributes) if layer is not None else _attributes(variable, value.tensor),
            domain=DOMAIN,
            version=layer.version if layer is not None else _VERSION,
            name=layer.name if layer is not None else f"{variable.id}/read",
        )
        if layer is not None:
            made.meta, made.output.meta = layer.meta, layer.outputs[0].meta
        graph.replace_uses(instead, made.output)
        gone = {value, self._given}
        graph.inputs = [one for one in graph.inputs if one not in gone]
        graph.constants = [one for one in graph.constants if one not in gone]
        if self._chosen is not None:
            graph.remove_node(self._chosen[0])

    def _initial(self, value: Value) -> Value | None:
        """The constant that the variable starts with; None where the file has none and it is zero."""
        assert value.data is not None
        known = self._variable.initial
        if known is not None and known.data is not None and same_data(known.data, value.data):
            constant = self._graph.add_constant(known.data, known.name)
            constant.meta = known.meta
            return constant
        layer = self._variable.read
        if layer is not None and not layer.inputs and not value.data.numpy().any():
            return None
        return self._graph.add_constant(value.data, f"{self._variable.id}/initial")


def _declared(variable: Variable, value: Value) -> TensorType:
    """What the variable may hold: as the file says, else as the input does."""
    shape = variable.read.attributes.get("variable_shape") if variable.read is not None else None
    declared = parse_shape(str(shape)) if shape is not None else value.tensor.shape
    return TensorType(value.tensor.dtype, declared)


def _attributes(variable: Variable, type_: TensorType) -> dict[str, Any]:
    assert type_.dtype is not None
    shape = format_shape(type_.shape)
    return {"variable_id": variable.id, "variable_type": ELEMENT_TYPES[type_.dtype], "variable_shape": shape}


def _passed_through(node: Node, region: str) -> Value | None:
    """The captured value that a region of an If hands on as it is."""
    inner = node.regions[region]
    if len(inner.outputs) != 1 or inner.outputs[0] not in inner.inputs:
        return None
    return node.captures[inner.inputs.index(inner.outputs[0])]
