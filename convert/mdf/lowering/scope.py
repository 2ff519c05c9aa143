"""The nodes of an MDF model while they are written: the parameters, the functions and the ports of each, what values
are called in it, and the edges that bring values to others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ....passes.graph import Graph, Node, Value
from ....passes.loop import Captured, Loop, is_loop
from ....passes.types import DType, TensorType, Type, tensor
from .. import model as mdf
from ..function_form.engine_form import Ids
from . import axes, elementwise, shape
from .terms import CASTS, Expression, Operands, Term, cast, filled, is_listed_signed, listed, literal, tensor_of

EXPRESSIONS: dict[str, Expression] = {
    **elementwise.EXPRESSIONS,
    **axes.EXPRESSIONS,
    **shape.EXPRESSIONS,
}
"""What ONNX's operators are in NumPy."""

SELECT = "Select"
"""An operator that only this conversion has: by a condition the one value or the other, of whatever shapes."""

_LONGEST = 150  # letters of an expression that others are put into
_FEW = 8  # elements of a constant that stands in expressions
_AS_LISTS = frozenset([DType.BOOL, DType.INT64, DType.FLOAT64])  # what lists of numbers are to NumPy


class Names:
    """The ids of a model: each value has one, whatever node it stands in."""

    def __init__(self) -> None:
        self._ids = Ids()
        self._of: dict[Value, str] = {}

    def of(self, value: Value) -> str:
        if value not in self._of:
            self._of[value] = self.fresh(value.name)
        return self._of[value]

    def name(self, value: Value, id: str) -> None:
        """Say what a value is called."""
        self._of[value] = id

    def fresh(self, name: str) -> str:
        return self._ids.take(name, "v")


class Scope:
    """A node that is written.

    Values that nobody has asked for yet have a text, and get a function of their own when somebody does, or else stand
    in the one expression that uses them: the engine's time for a node grows with the square of its names.

    Args:
        names: the model's ids.
        outside: how a value gets here that this node doesn't make, and what it is called here.
        resolved: what a value stands for.
        counts: how often values are used; what is used once may stand in another's expression.

    Attributes:
        states: the parameters that change; functions see them as they were.
    """

    def __init__(
        self,
        id: str,
        names: Names,
        outside: Callable[[Scope, Value], Term],
        resolved: Callable[[Value], Value],
        counts: Counter[Value],
    ) -> None:
        self.node = mdf.Node(id)
        self.names = names
        self.states: set[str] = set()
        self.resolved = resolved
        self._outside = outside
        self._counts = counts
        self._terms: dict[Value, Term] = {}
        self._pending: dict[Value, str] = {}
        self._before_changes: dict[str, str] = {}
        self._ports: set[tuple[str, str]] = set()  # (in or out, name)

    # values --------------------------------------------------------------------------------------

    def define(self, value: Value, text: str) -> None:
        """Say what a value is; it has a name when somebody needs one."""
        self._pending[value] = text

    def call(self, value: Value, term: Term) -> None:
        """Say what a value is called."""
        self._terms[value] = term

    def term(self, value: Value) -> Term:
        """What stands for a value: its name or number."""
        value = self.resolved(value)
        if value in self._pending:
            return Term(self.names.of(value))
        if value not in self._terms:
            if value.data is None:
                self._terms[value] = self._outside(self, value)
            else:
                self._constant(value)
                return self.term(value)
        return self._terms[value]

    def _constant(self, value: Value) -> None:
        data = value.data
        assert data is not None
        if data.size == 0:
            self._pending[value] = filled("constant", value.type)
            return
        if data.size <= _FEW and data.dtype in CASTS:
            self._terms[value] = literal(data)
            return
        plain = data.dtype in _AS_LISTS
        name = self.names.of(value) if plain else self.names.fresh(f"{value.name}_numbers")
        self.node.parameters.append(mdf.Parameter(name, listed(data)))
        if plain:
            self._terms[value] = Term(name)
        else:
            signed = f"numpy.int64({name})" if is_listed_signed(data) else name
            self._pending[value] = cast(data.dtype, signed, repr(value.name))

    def named(self, value: Value) -> str:
        """The text of a value that may stand in other nodes' and parameters' texts: a name or a number."""
        value = self.resolved(value)
        term = self.term(value)
        if value in self._pending:
            self._flush(value)
        return term.text

    def first(self, value: Value) -> str:
        """The text of a value that is there before any function is: of a constant, or of what comes from outside."""
        value = self.resolved(value)
        term = self.term(value)
        return self._pending.get(value, term.text)

    def before_changes(self, value: Value) -> str:
        """The same, as the value is before any parameter of this node has changed."""
        text = self.named(value)
        if text not in self.states:
            return text
        if text not in self._before_changes:
            self._before_changes[text] = self.function(self.names.fresh(f"{text}_before"), text)
        return self._before_changes[text]

    def function(self, name: str, text: str) -> str:
        self.node.functions.append(mdf.Function(name, value=text))
        return name

    def _flush(self, value: Value) -> None:
        name = self.names.of(value)
        self.function(name, self._pending.pop(value))
        self._terms[value] = Term(name)

    # operators -----------------------------------------------------------------------------------

    def emit(self, node: Node) -> None:
        """Write an operator."""
        values = [None if value is None else self.resolved(value) for value in node.formal_inputs]
        guards = [self.resolved(value) for value in node.captures if value is not None]
        operands = _Operands(self, values)
        texts = self._texts(node, operands, guards)
        if len(texts) == 1:
            for value in values:
                if value is None or value not in self._pending or self._counts[value] != 1:
                    continue
                inner = self._pending[value]
                fits = len(texts[0]) + len(inner) <= _LONGEST
                if fits and len(self._occurrences(value, texts[0])) == 1:
                    operands.replaced[value] = Term(inner)
                    texts = self._texts(node, operands, guards)
                    del self._pending[value]
        for value in dict.fromkeys([*values, *guards]):
            if value is not None and value in self._pending and any(self._occurrences(value, text) for text in texts):
                self._flush(value)
        for value, text in zip(node.outputs, texts, strict=False):
            if value.name:
                self.define(value, text)

    def _texts(self, node: Node, operands: Operands, guards: Sequence[Value]) -> list[str]:
        """The texts of a node's outputs; where a guard is false they are zeros, and nothing is computed."""
        texts = expressed(node, operands)
        for guard in guards:
            condition = self.term(guard)
            texts = [
                f"{Term(text)} if {condition} else {filled(node, value.type, 0)}"
                for text, value in zip(texts, node.outputs, strict=False)
            ]
        return texts

    def _occurrences(self, value: Value, text: str) -> list[str]:
        """Each occurrence of a value's name in a text."""
        return re.findall(rf"\b{self.names.of(value)}\b", text)

    # parameters and ports -------------------------------------------------------------------------

    def state(self, name: str, value: mdf.Plain, initial: mdf.Plain) -> None:
        """A parameter that changes."""
        self.states.add(name)
        self.node.parameters.append(mdf.Parameter(name, value, initial))

    def add_input(self, name: str, value: Value, default: mdf.Plain = None) -> None:
        """An input port."""
        found = tensor_of(repr(value.name), value.type)
        self._ports.add(("in", name))
        self.node.inputs.append(mdf.InputPort(name, default, _port_shape(found), _kind(found)))

    def has_input(self, name: str) -> bool:
        return ("in", name) in self._ports

    def add_output(self, name: str, text: str, type: Type | None) -> None:
        """An output port, unless it is there already."""
        if ("out", name) not in self._ports:
            self._ports.add(("out", name))
            found = tensor_of(repr(name), type)
            self.node.outputs.append(mdf.OutputPort(name, text, _port_shape(found), _kind(found)))


class _Operands(Sequence[Term | None]):
    """What stands for the inputs of an operator. What an expression doesn't ask for is never written."""

    def __init__(self, scope: Scope, values: Sequence[Value | None]) -> None:
        self._scope = scope
        self._values = values
        self.replaced: dict[Value, Term] = {}

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[position] for position in range(len(self))[index]]
        value = self._values[index]
        if value is None:
            return None
        return self.replaced.get(value) or self._scope.term(value)


def _port_shape(type: TensorType) -> tuple[int, ...]:
    """The shape of what a port holds before anything was brought: where a size isn't known there is nothing yet."""
    return tuple(dim if isinstance(dim, int) else 0 for dim in type.shape or ())


def _kind(type: TensorType) -> str:
    return "" if type.dtype is None else type.dtype.value


def expressed(node: Node, operands: Operands) -> list[str]:
    """The texts of a node's outputs.

    Raises:
        Unsupported: it has none.
    """
    if node.op_type == SELECT:
        condition, then, otherwise = operands[:3]
        return [f"{then} if {condition} else {otherwise}"]
    text = EXPRESSIONS[node.op_type](node, operands)
    return [text] if isinstance(text, str) else text


class ModelBuilder:
    """Builds the MDF graph of a model.

    Attributes:
        owners: the node that makes a value.
        alias: what a value stands for: the parameter of a body for what is captured.
        counts: how often a value is used.
        several: whether there is more than one loop.
    """

    def __init__(self, graph: Graph) -> None:
        self.names = Names()
        self.made = mdf.Graph(self.names.fresh(graph.name or "graph"))
        self.owners: dict[Value, Scope] = {}
        self.alias: dict[Value, Value] = {}
        self._runs: dict[Scope, Value] = {}
        self._connected: set[tuple[Scope, Scope]] = set()
        loops = [Loop(node) for _, node in graph.walk() if is_loop(node)]
        self.several = len(loops) > 1
        for loop in loops:
            for entry in loop.of(Captured):
                if entry.body_input is not None and entry.operand is not None:
                    self.alias[entry.body_input] = entry.operand
        self.counts = Counter(
            self.resolved(value)
            for inner in graph.graphs()
            for value in (*(one for node in inner.nodes for one in node.inputs), *inner.outputs)
            if value is not None
        )

    def resolved(self, value: Value) -> Value:
        while value in self.alias:
            value = self.alias[value]
        return value

    def scope(self, title: str) -> Scope:
        """A new node."""
        return Scope(self.names.fresh(title), self.names, self._outside, self.resolved, self.counts)

    def runs_of(self, scope: Scope) -> Value:
        """How often a node has run, this time counted."""
        if scope not in self._runs:
            value = self._runs[scope] = Value(f"{scope.node.id}_count", tensor(DType.INT64))
            name = self.names.of(value)
            scope.state(name, f"{name} + 1", "numpy.int64(0)")
            scope.call(value, Term(name))
            self.owners[value] = scope
        return self._runs[scope]

    # edges ---------------------------------------------------------------------------------------

    def _outside(self, scope: Scope, value: Value) -> Term:
        """Bring a value from the node that makes it into another."""
        owner, port = self.owners[value], self.names.of(value)
        scope.add_input(port, value)
        self.edge(owner, scope, port, port, value.type, value)
        return Term(port)

    def edge(
        self, sender: Scope, receiver: Scope, port: str, receiving: str, type: Type | None, value: Value | None = None
    ) -> None:
        """An edge from an output port, which hands out a value (or the parameter that it is called by)."""
        sender.add_output(port, port if value is None else sender.named(value), type)
        if not receiver.has_input(receiving):
            receiver.add_input(receiving, Value(receiving, type))
        name = self.names.fresh(f"{sender.node.id}_{port}_{receiver.node.id}")
        self._connected.add((sender, receiver))
        self.made.edges.append(mdf.Edge(name, sender.node.id, receiver.node.id, port, receiving))

    def connected(self, sender: Scope, receiver: Scope) -> bool:
        """Whether an edge leads from one node to another."""
        return (sender, receiver) in self._connected
