"""A ModECI MDF model as typed objects: what the document says, nothing computed.

`document.py` makes the tree of plain values out of a file and back, `structure.py` these objects out of the tree: by
what is annotated here. Of each attribute that a field of the document holds that is how (a name of `structure.FORMS`,
or what there is a table of) and the field's name, where it is another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

Plain = Any
"""A value of a document: None, bool, int, float, str, bytes (BSON), list of these, dict of these."""

Shape = tuple[int | str, ...]
"""A port's declared shape; a str is a size that isn't known."""


ENGINE_OPSET = 15
"""The opset of MDF's `onnx::` functions, those of its engine."""


@dataclass(slots=True)
class InputPort:
    """Where a node takes a value in.

    Attributes:
        default: what it holds where no edge brings anything; None: zeros of `shape`.
        shape: () where the document gives none.
        type: as written ("float", "int64", ...); "" where the document gives none.
        reduce: "overwrite", "add" or "multiply": what several edges in one pass come to.
    """

    id: str
    default: Annotated[Plain, "any", "default_value"] = None
    shape: Annotated[Shape, "shape"] = ()
    type: Annotated[str, "text"] = ""
    reduce: Annotated[str, "reduce"] = "overwrite"
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class OutputPort:
    """What a node hands out: an expression over its ports, parameters and functions."""

    id: str
    value: Annotated[Plain, "any"] = None
    shape: Annotated[Shape, "shape"] = ()
    type: Annotated[str, "text"] = ""
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Function:
    """A function of a node: a named one with arguments, or an expression."""

    id: str
    function: Annotated[str | None, "function"] = None
    args: Annotated[dict[str, Plain] | None, "args"] = None
    value: Annotated[Plain, "any"] = None
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class ParameterCondition:
    """Where `test` holds, the parameter becomes `value`."""

    id: str
    test: Annotated[Plain, "any"] = None
    value: Annotated[Plain, "any"] = None


@dataclass(slots=True)
class Parameter:
    """A parameter of a node in one of its five forms, see the fields.

    Attributes:
        value: a constant, or an expression evaluated anew whenever the node runs.
        initial: `default_initial_value`, of a stateful parameter.
        derivative: `time_derivative`, an expression.
        function, args: a named function's value.
        conditions: applied in order to what the rest gives.
    """

    id: str
    value: Annotated[Plain, "any"] = None
    initial: Annotated[Plain, "any", "default_initial_value"] = None
    derivative: Annotated[str | None, "derivative", "time_derivative"] = None
    function: Annotated[str | None, "function"] = None
    args: Annotated[dict[str, Plain] | None, "args"] = None
    conditions: Annotated[list[ParameterCondition], ParameterCondition] = field(default_factory=list)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    id: str
    inputs: Annotated[list[InputPort], InputPort, "input_ports"] = field(default_factory=list)
    functions: Annotated[list[Function], Function] = field(default_factory=list)
    parameters: Annotated[list[Parameter], Parameter] = field(default_factory=list)
    outputs: Annotated[list[OutputPort], OutputPort, "output_ports"] = field(default_factory=list)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Edge:
    """From a sender's output port to a receiver's input port; the value is multiplied by `parameters["weight"]`."""

    id: str
    sender: Annotated[str, "needed"]
    receiver: Annotated[str, "needed"]
    sender_port: Annotated[str, "needed"]
    receiver_port: Annotated[str, "needed"]
    parameters: Annotated[dict[str, Plain], "object"] = field(default_factory=dict)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Condition:
    """A scheduler's condition. Nested ones are `Condition`s inside `arguments` (and inside lists there)."""

    type: str
    arguments: dict[str, Plain] = field(default_factory=dict)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Graph:
    """A graph; `node_conditions` by node, `termination` by time scale (both from its ConditionSet)."""

    id: str
    nodes: Annotated[list[Node], Node] = field(default_factory=list)
    edges: Annotated[list[Edge], Edge] = field(default_factory=list)
    parameters: Annotated[dict[str, Plain], "object"] = field(default_factory=dict)
    node_conditions: dict[str, Condition] = field(default_factory=dict)
    termination: dict[str, Condition] = field(default_factory=dict)
    conditions_metadata: dict[str, Plain] = field(default_factory=dict)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Model:
    id: str
    graphs: Annotated[list[Graph], Graph] = field(default_factory=list)
    format: Annotated[str, "label"] = ""
    application: Annotated[str, "label", "generating_application"] = ""
    opset: Annotated[str | None, "opset", "onnx_opset_version"] = None
    metadata: dict[str, Plain] = field(default_factory=dict)
