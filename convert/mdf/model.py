"""A ModECI MDF model as typed objects: what the document says, nothing computed.

`document.py` makes the tree of plain values out of a file and back, `structure.py` these objects out of the tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Plain = Any
"""A value of a document: None, bool, int, float, str, bytes (BSON), list of these, dict of these."""

Shape = tuple[int | str, ...]
"""A port's declared shape; a str is a size that isn't known."""


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
    default: Plain = None
    shape: Shape = ()
    type: str = ""
    reduce: str = "overwrite"
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class OutputPort:
    """What a node hands out: an expression over its ports, parameters and functions."""

    id: str
    value: Plain = None
    shape: Shape = ()
    type: str = ""
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Function:
    """A function of a node: a named one with arguments, or an expression."""

    id: str
    function: str | None = None
    args: dict[str, Plain] | None = None
    value: Plain = None
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class ParameterCondition:
    """Where `test` holds, the parameter becomes `value`."""

    id: str
    test: Plain = None
    value: Plain = None


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
    value: Plain = None
    initial: Plain = None
    derivative: str | None = None
    function: str | None = None
    args: dict[str, Plain] | None = None
    conditions: list[ParameterCondition] = field(default_factory=list)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    id: str
    inputs: list[InputPort] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    outputs: list[OutputPort] = field(default_factory=list)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Edge:
    """From a sender's output port to a receiver's input port; the value is multiplied by `parameters["weight"]`."""

    id: str
    sender: str
    receiver: str
    sender_port: str
    receiver_port: str
    parameters: dict[str, Plain] = field(default_factory=dict)
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
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    parameters: dict[str, Plain] = field(default_factory=dict)
    node_conditions: dict[str, Condition] = field(default_factory=dict)
    termination: dict[str, Condition] = field(default_factory=dict)
    conditions_metadata: dict[str, Plain] = field(default_factory=dict)
    metadata: dict[str, Plain] = field(default_factory=dict)


@dataclass(slots=True)
class Model:
    id: str
    graphs: list[Graph] = field(default_factory=list)
    format: str = ""
    application: str = ""
    opset: str | None = None
    metadata: dict[str, Plain] = field(default_factory=dict)
