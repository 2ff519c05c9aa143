"""What a node of MDF does when it runs.

1. Its input ports take in what edges bring; what is fed from outside is there the first time only.
2. Its parameters have the values that they had last; the first time, initial ones.
3. Its functions see those.
4. Its parameters are computed anew, one after the other, each seeing the new values of those before it.
5. Its output ports see the new values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Value
from ....passes.rewrite import Builder
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType
from ....runtime.oracles.mdf_names import is_stateful
from ....runtime.oracles.mdf_syntax import names, parse
from ..model import Edge, Function, InputPort, Node, Parameter, Plain
from .conditional import Conditional
from .conditions import Key
from .functions import call
from .list_ports import is_taken_as_array
from .numpy.evaluate import evaluate
from .numpy.values import Kind, Number, cast, common_kind, scalar, select, zeros
from .regions import branch, has_open_sizes
from .scheduler import Wiring, in_order
from .state import Changing, Item, Logic, State, Term, have_one_form, like, parts

_TYPED = {
    dtype.value: dtype.numpy
    for dtype in (DType.FLOAT16, DType.FLOAT32, *(one for one in DType if one.is_integer and one.bits >= 8))
}
"""Ports of these types hold float64's or int64's zeros in the engine until something is brought to them. Here these are
of the type that edges bring, which then is the one that is computed in: others round and wrap otherwise."""

Later = Callable[[], Item]
"""Something that is computed when it is asked for, once."""


class Scope(Mapping[str, Number | tuple[Number, ...]]):
    """The names that an expression of a node may use; what isn't asked for isn't computed."""

    def __init__(self, where: str, found: Mapping[str, Later | Item] | None = None) -> None:
        self._where = where
        self._found = dict(found or {})

    def __setitem__(self, name: str, item: Later | Item) -> None:
        self._found[name] = item

    def __getitem__(self, name: str) -> Number | tuple[Number, ...]:
        found = self._of(name)
        if found is None:
            raise Unsupported(self._where, f"{name!r} is read before it has a value")
        return found

    def __iter__(self) -> Iterator[str]:
        """The names that have a value."""
        return (name for name in self._found if self._of(name) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def _of(self, name: str) -> Item:
        found = self._found[name]
        return found() if callable(found) else found

    def copy(self) -> Scope:
        return Scope(self._where, self._found)


@dataclass
class Machine:
    """Runs nodes.

    Attributes:
        lists: whether the default value of a port that is a list is one of Python's, as it is to the engine.
        opens: whether what has another shape at another time has open sizes; else it is `Changing`.
        preset: parameters whose place in the state holds what they have the first time.
        first: what parameters were found to have the first time; filled as nodes run.
    """

    wiring: Wiring
    lists: bool = True
    opens: bool = False
    preset: set[Key] = field(default_factory=set)
    first: dict[Key, Item] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._lists: dict[int, TensorData] = {}
        self.functions = {name: _in_order(node) for name, node in self.wiring.nodes.items()}
        self.leaving: dict[tuple[str, str], list[Edge]] = {}
        for edges in self.wiring.edges.values():
            for edge in edges:
                self.leaving.setdefault((edge.sender, edge.sender_port), []).append(edge)

    def start(self, op: Builder, fed: Mapping[tuple[str, str], Number]) -> State:
        """What there is before anything runs; `fed`: what (node, input port) are fed from outside."""
        state = State()
        for node in self.wiring.nodes.values():
            for port in node.inputs:
                edges = self.wiring.edges.get((node.id, port.id), [])
                if not edges:
                    state.numbers["port", node.id, port.id] = fed[node.id, port.id]
                for edge in edges:
                    state.numbers["edge", edge.id] = self.default(op, node, port) if len(edges) == 1 else None
            for parameter in node.parameters:
                state.numbers["parameter", node.id, parameter.id] = None
            for function in node.functions:
                state.numbers["function", node.id, function.id] = None
            for port in node.outputs:
                state.numbers["output", node.id, port.id] = None
            state.counters["ran", node.id] = False
        return state

    def evaluate(self, op: Builder, plain: Plain, scope: Mapping[str, Number | tuple[Number, ...]], where: str) -> Item:
        """What a number, list or expression comes to; lists, which may be long, are read once."""
        known = self._lists.get(id(plain)) if isinstance(plain, list) else None
        if known is not None:
            return Number(op.const(known))
        made = evaluate(op, plain, scope, where)
        if isinstance(plain, list) and isinstance(made, Number) and made.value.data is not None:
            self._lists[id(plain)] = made.value.data
        return made

    def default(self, op: Builder, node: Node, port: InputPort) -> Number:
        """What an input port holds that nothing was brought to."""
        where = f"node {node.id!r}, input port {port.id!r}"
        untyped = np.int64 if "int" in port.type else np.bool_ if "bool" in port.type else np.float64
        dtype = _TYPED.get(port.type, untyped)
        if port.default is None:
            return zeros(op, sizes(port, where), dtype, where)
        made = self.evaluate(op, port.default, {}, f"{where}, default_value")
        assert isinstance(made, Number)
        listed = isinstance(port.default, list) and self.lists and not is_taken_as_array(node, port.id)
        if isinstance(port.default, list) and _stands_for(made, DType.of(dtype), listed):
            made = Number(cast(op, made, DType.of(dtype), where))
        return replace(made, python=True, listed=made.rank) if listed else made

    def select(self, op: Builder, logic: Logic, flag: Term, a: Item, b: Item, key: Key) -> Item:
        """`a` where the flag is set, else `b`; what isn't computed yet is chosen nowhere.

        Raises:
            Changing: they have different shapes.
        """
        if isinstance(flag, bool):
            return a if flag else b
        if a is None or b is None or a is b:
            return b if a is None else a
        if not have_one_form(parts(a), parts(b), self.opens):
            raise Changing(key, "its shape depends on whether its node has run")
        made = [select(op, logic.value(flag), x, y, f"{key}") for x, y in zip(parts(a), parts(b), strict=True)]
        numbers = tuple(number for number in made if isinstance(number, Number))
        return numbers if isinstance(a, tuple) else numbers[0]

    def run(self, op: Builder, logic: Logic, name: str, state: State, runs: Term, increment: Number | None) -> None:
        """Run a node where `runs` holds; `increment`: of time, for derivatives."""
        if runs is False:
            return
        node = self.wiring.nodes[name]
        if isinstance(runs, Value):
            before, built = dict(state.numbers), len(op.graph)
            _Running(self, Conditional(op, runs), logic, node, state, runs, increment).run()
            if any(map(has_open_sizes, op.graph.behind(built))):
                state.numbers = before
                self._run_apart(op, logic, name, state, runs, increment)
        else:
            _Running(self, op, logic, node, state, runs, increment).run()
        state.counters["ran", name] = logic.either(state.counters["ran", name], runs)

    def _run_apart(
        self, op: Builder, logic: Logic, name: str, state: State, runs: Value, increment: Number | None
    ) -> None:
        """Run a node in a branch: where it doesn't run, its sizes may be such that it fails."""
        then, otherwise, inside, first = op.region("then"), op.region("else"), state.copy(), dict(self.first)
        _Running(self, then, Logic(then), self.wiring.nodes[name], inside, True, increment).run()
        self.first = first
        own = {value for node in then.graph.nodes for value in node.outputs}
        chosen: list[tuple[Key, list[Kind]]] = []
        for key, new in inside.numbers.items():
            old = state.numbers[key]
            if new is old:
                continue
            if new is None or not any(number.value in own for number in parts(new)):
                outside = [replace(number, value=_hoisted(op, number.value)) for number in parts(new)]
                state.numbers[key] = self.select(op, logic, runs, like(new, outside) if new else None, old, key)
                continue
            chosen.append((key, self._left(then, otherwise, key, new, old)))
        kinds = [kind for _, found in chosen for kind in found]
        values = iter(branch(op, runs, then, otherwise, [TensorType(kind.dtype, kind.sizes) for kind in kinds]))
        for key, found in chosen:
            state.numbers[key] = like(inside.numbers[key], [kind.number(next(values)) for kind in found])

    def _left(self, then: Builder, otherwise: Builder, key: Key, new: Item, old: Item) -> list[Kind]:
        """Let branches give what a position holds where the node runs and where it doesn't; the kinds of that."""
        if old is not None and not have_one_form(parts(new), parts(old), self.opens):
            raise Changing(key, "its shape depends on whether its node has run")
        kinds: list[Kind] = []
        for index, number in enumerate(parts(new)):
            before = None if old is None else parts(old)[index]
            kind = number.kind if before is None else common_kind(number.kind, before.kind, f"{key}")
            kinds.append(kind)
            then.graph.outputs.append(cast(then, number, kind.dtype, f"{key}"))
            if before is None:
                nothing = np.zeros([size or 0 for size in kind.sizes], kind.dtype.numpy)
                otherwise.graph.outputs.append(otherwise.Identity(otherwise.const(nothing)))
            else:
                otherwise.graph.outputs.append(otherwise.Identity(cast(otherwise, before, kind.dtype, f"{key}")))
        return kinds


def _stands_for(made: Number, dtype: DType, listed: bool) -> bool:
    """Whether a list is as good in the type that edges bring: NumPy takes one of nothing for float64 and integers for
    int64, and makes float64 of those beside int64 and uint64, which doesn't hold all their numbers."""
    data = made.value.data
    if data is None:
        return False
    return not data.size or (
        not listed
        and made.dtype is DType.INT64
        and dtype.is_integer
        and bool((data.numpy() == data.numpy().astype(dtype.numpy).astype(np.int64)).all())
    )


@dataclass
class _Running:
    """One node as it runs."""

    machine: Machine
    op: Builder
    logic: Logic
    node: Node
    state: State
    runs: Term
    increment: Number | None

    def __post_init__(self) -> None:
        self.ran = self.state.counters["ran", self.node.id]
        self.scope = Scope(f"node {self.node.id!r}")

    def run(self) -> None:
        for port in self.node.inputs:
            self.scope[port.id] = self._take_in(port)
        for parameter in self.node.parameters:
            self.scope[parameter.id] = self._last(parameter, self.scope.copy())
        for function in self.machine.functions[self.node.id]:
            self.scope[function.id] = self._function(function)
            self._keep(("function", self.node.id, function.id), self.scope[function.id])
        for parameter in self.node.parameters:
            new = self._anew(parameter)
            self.scope[parameter.id] = new
            self._keep(("parameter", self.node.id, parameter.id), new)
        for port in self.node.outputs:
            where = self._where("output port", port.id)
            item = self.machine.evaluate(self.op, port.value, self.scope, where)
            self._keep(("output", self.node.id, port.id), item)
            for edge in self.machine.leaving.get((self.node.id, port.id), ()):
                self._keep(("edge", edge.id), self._weighted(edge, item))

    def _where(self, kind: str, name: str) -> str:
        return f"node {self.node.id!r}, {kind} {name!r}"

    def _keep(self, key: Key, new: Item) -> None:
        """Put something into the state, where the node runs."""
        self.state.numbers[key] = self._select(self.runs, new, self.state.numbers[key], key)

    def _select(self, flag: Term, a: Item, b: Item, key: Key) -> Item:
        return self.machine.select(self.op, self.logic, flag, a, b, key)

    # inputs ------------------------------------------------------------------------------------------

    def _take_in(self, port: InputPort) -> Item:
        edges = self.machine.wiring.edges.get((self.node.id, port.id))
        if edges is None:
            key: Key = ("port", self.node.id, port.id)
            item = self.state.numbers[key]
            self._keep(key, self.machine.default(self.op, self.node, port))
            return item
        if len(edges) == 1:
            return self.state.numbers["edge", edges[0].id]
        return self._reduced(port, edges)

    def _reduced(self, port: InputPort, edges: list[Edge]) -> Item:
        """What several edges come to, those whose sender has run; the default if none has."""
        item: Item = None
        there: Term = False
        for edge in edges:
            brought, came = self.state.numbers["edge", edge.id], self.state.counters["ran", edge.sender]
            if brought is None or came is False:
                continue
            key: Key = ("edge", edge.id)
            both = brought if item is None else self._two(port, item, brought)
            either = self._select(there, both, brought, key)
            item = either if item is None else self._select(came, either, item, key)
            there = self.logic.either(there, came)
        key = ("port", self.node.id, port.id)
        return self._select(there, item, self.machine.default(self.op, self.node, port), key)

    def _two(self, port: InputPort, a: Item, b: Item) -> Item:
        text = "a + b" if port.reduce == "add" else "a * b"
        return self._computed(text, self._where("input port", port.id), a=a, b=b)

    def _weighted(self, edge: Edge, item: Item) -> Item:
        weight = edge.parameters.get("weight")
        if weight is None or (not isinstance(weight, bool) and isinstance(weight, int | float) and weight == 1):
            return item
        where = f"edge {edge.id!r}, weight"
        factor = self.machine.evaluate(self.op, weight, {}, where)
        if isinstance(factor, Number) and isinstance(weight, list) and isinstance(item, Number) and item.python:
            raise Unsupported(where, "a list times a number of Python's repeats the list")
        return self._computed("a * b", where, a=factor, b=item)

    # parameters and functions ------------------------------------------------------------------------

    def _last(self, parameter: Parameter, before: Scope) -> Later | Item:
        """What a parameter had last; `before`: the names that there are for an initial value."""
        key: Key = ("parameter", self.node.id, parameter.id)
        stored = self.state.numbers[key]
        if stored is not None and (self.ran is True or key in self.machine.preset):
            return stored

        def first() -> Item:
            op = Conditional(self.op, self.ran, False) if isinstance(self.ran, Value) else self.op
            made = self.machine.first[key] = self._first(op, parameter, before)
            if stored is None or made is None:
                return made
            return self._select(self.ran, stored, made, key)

        return cache(first)

    def _first(self, op: Builder, parameter: Parameter, before: Scope) -> Item:
        """What a parameter has the first time."""
        where = self._where("parameter", parameter.id)
        if is_stateful_parameter(parameter):
            if parameter.initial is not None:
                return self.machine.evaluate(op, parameter.initial, before, f"{where}, default_initial_value")
            return scalar(op, 0.0, where) if parameter.value is not None else None
        return None if parameter.value is None else self.machine.evaluate(op, parameter.value, before, where)

    def _function(self, function: Function) -> Item:
        where = self._where("function", function.id)
        if function.function is not None:
            return call(self.op, function.function, function.args or {}, self.scope, where)
        scope = self.scope.copy()
        for name, argument in (function.args or {}).items():
            scope[name] = self.machine.evaluate(self.op, argument, scope, f"{where}, argument {name!r}")
        return self.machine.evaluate(self.op, function.value, scope, where)

    def _anew(self, parameter: Parameter) -> Item:
        """What a parameter gets."""
        where = self._where("parameter", parameter.id)
        if parameter.value is not None:
            new: Item = self.machine.evaluate(self.op, parameter.value, self.scope, where)
        elif parameter.function is not None:
            new = call(self.op, parameter.function, parameter.args or {}, self.scope, where)
        elif parameter.derivative is not None:
            new = self._integrated(parameter, where)
        else:
            new = self._kept(parameter, where)
        for condition in parameter.conditions:
            at = f"{where}, condition {condition.id!r}"
            test = self.machine.evaluate(self.op, condition.test, self.scope, at)
            then = self.machine.evaluate(self.op, condition.value, self.scope, at)
            new = self._computed("numpy.where(test, a, b)", at, test=test, a=then, b=new)
        return new

    def _integrated(self, parameter: Parameter, where: str) -> Item:
        """One step of Euler's method."""
        if parameter.initial is None:
            raise InvalidModel(f"{where}: a time_derivative without a default_initial_value")
        if self.increment is None:
            return self.machine.evaluate(self.op, parameter.initial, self.scope, f"{where}, default_initial_value")
        rate = self.machine.evaluate(self.op, parameter.derivative, self.scope, f"{where}, time_derivative")
        stored = self.state.numbers["parameter", self.node.id, parameter.id]
        new = self._computed("x + rate * increment", where, x=stored, rate=rate, increment=self.increment)
        return new.array if isinstance(new, Number) else new

    def _kept(self, parameter: Parameter, where: str) -> Item:
        """What a parameter has that only conditions change: 0.0 until they do."""
        if not parameter.conditions:
            return None
        key: Key = ("parameter", self.node.id, parameter.id)
        return self._select(self.ran, self.state.numbers[key], scalar(self.op, 0.0, where), key)

    def _computed(self, text: str, where: str, **items: Item) -> Item:
        return evaluate(self.op, text, Scope(where, items), where)


def _hoisted(op: Builder, value: Value) -> Value:
    """A value that isn't computed in a region, outside of it."""
    return value if value.data is None else op.const(value.data)


def is_stateful_parameter(parameter: Parameter) -> bool:
    """Whether a parameter has a value before it is first computed: an initial one, or 0.0."""
    fields = (parameter.derivative, parameter.initial, parameter.value)
    names = ("time_derivative", "default_initial_value", "value")
    return is_stateful(parameter.id, dict(zip(names, fields, strict=True)))


def named(plain: Plain) -> tuple[str, ...]:
    """The names in an expression; none in what is no text. A text that is no expression may be a name itself."""
    if not isinstance(plain, str):
        return ()
    try:
        return names(parse(plain, "an expression"))
    except InvalidModel:
        return (plain,)


def sizes(port: InputPort, where: str) -> tuple[int, ...]:
    """The declared shape.

    Raises:
        Unsupported: a size isn't known.
    """
    found = tuple(size for size in port.shape if isinstance(size, int))
    if len(found) < len(port.shape):
        raise Unsupported(where, f"of its shape {port.shape} a size isn't known")
    return found


def _in_order(node: Node) -> list[Function]:
    """The functions of a node, each behind those that it uses; as they stand where they use each other."""
    functions = {function.id: function for function in node.functions}
    return [functions[name] for name in in_order({name: _used(one) for name, one in functions.items()})]


def _used(function: Function) -> set[str]:
    given = function.args or {}
    texts = [*given.values(), function.value]
    return {name for text in texts for name in named(text) if name not in given}
