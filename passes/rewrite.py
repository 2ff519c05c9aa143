"""Rules, the builder `op`, and the driver that turns a graph of one dialect into one of another.

A rule is a plain function; it sees a node whose inputs already belong to the new graph, and builds what stands for it:

    @rule("openvino", "Squeeze")
    def squeeze(op: Builder, node: Node) -> Value | None:
        return op.Squeeze(*node.inputs)

It returns the new value of each output (one Value for one output), or None where it doesn't apply.
The driver walks the old graph once; nothing is searched, nothing is cleaned up afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from .errors import Unsupported
from .faults import blaming
from .graph import GIVEN, Graph, Node, Value
from .infer import constants_around, inferred_once
from .loop import DOMAIN as HUB_DOMAIN
from .loop import Slot, captured_by, slot_indices
from .names import Names
from .node import ORIGIN
from .refusals import model_walk
from .schemas import schema
from .sizes import OpenSize, Size
from .tensor import TensorData
from .types import DType, Type, is_known, merge
from .workarounds import Used

Rule = Callable[["Builder", Node], "Value | Sequence[Value] | None"]


class Computed(Protocol):
    """What gives a value of the graph when one is needed: an array expression of `passes.build`."""

    def value(self) -> Value: ...


Input = Value | Computed | None
Key = tuple[str, str]
Rules = Mapping[Key, Sequence[Rule]]
K = TypeVar("K")
R = TypeVar("R")


def rule(domain: str, *op_types: str) -> Callable[[Rule], Rule]:
    """Say which operators a function is a rule for; `collect` finds it."""

    def mark(function: Rule) -> Rule:
        keys: list[Key] = getattr(function, "rule_keys", [])
        function.rule_keys = [*keys, *((domain, op_type) for op_type in op_types)]  # type: ignore[attr-defined]
        return function

    return mark


def collect(namespace: Mapping[str, Any]) -> dict[Key, list[Rule]]:
    """The rules among a module's functions: `RULES = collect(globals())` at its end."""
    found: dict[Key, list[Rule]] = {}
    for function in namespace.values():
        for key in getattr(function, "rule_keys", ()) if callable(function) else ():
            found.setdefault(key, []).append(cast("Rule", function))
    return found


def combine(*tables: Mapping[K, Sequence[R]]) -> dict[K, list[R]]:
    """One table of several. Rules for the same operator are tried in the order of the tables."""
    found: dict[K, list[R]] = {}
    for table in tables:
        for key, rules in table.items():
            found.setdefault(key, []).extend(rules)
    return found


class Dialect(Protocol):
    """What a builder must know of the dialect that it builds in."""

    name: str

    def resolve(self, op_type: str) -> tuple[str, int]:
        """(domain, version) of an operator built by its bare name; Unsupported where there is none."""
        ...

    def infer(self, node: Node) -> Sequence[Type | None]:
        """The types of the outputs as far as they can be told from the inputs."""
        ...


def view(node: Node, inputs: list[Value | None]) -> Node:
    """An old node as a rule sees it: its inputs are values of the new graph already."""
    view = Node(node.domain, node.op_type, node.version, node.name)
    view.attributes, view.meta, view.captured = node.attributes, node.meta, node.captured
    view.inputs, view.outputs, view.regions = inputs, node.outputs, node.regions
    return view


def at_named_outputs(node: Node, results: Iterable[Value]) -> list[Value]:
    """One value for each output of a node: `results` in order for those that have names, for others an unnamed one."""
    found = iter(results)
    return [next(found) if value.name else Value("") for value in node.outputs]


def _refuse(op: Builder, node: Node) -> Value | Sequence[Value] | None:
    raise Unsupported(node, f"{node.domain or 'ai.onnx'}.{node.op_type} isn't supported by {op.rewriter.dialect.name}")


@dataclass
class Rewriter:
    """One conversion: the rules, the dialect being built, the names given so far.

    `fallback` stands in for an operator without a matching rule; it refuses unless told otherwise.
    `stamp` tells the version at which a node without regions stays as it is otherwise, which is the quickest way.
    `aliases` are old values whose place was taken by a value that already stands for another, and is named after that.
    `notes` collects what the report should say (a dropped layout, a decomposition and its cost).
    `workarounds`: of the target's runtime, which were used.
    `origin` is that of the node which is being rewritten; `made_of` counts instead, while what it is made of is.
    `given`: the nodes are a file's own (`graph.GIVEN`). Where a rule then fails in a way that no rule should, ONNX's
    schema and inference are asked whether the node is one at all: it is refused if not, else the failure is ours.
    `sizes`: the open sizes that a graph has as values already (`passes.build.open_sizes`).
    `refusals`: where it isn't None, it takes up what is refused, and the walk goes on (`passes.refusals`). `unknown`:
    values that depend on refused nodes of unknown type; refusals of nodes that read them only follow from those.
    """

    dialect: Dialect
    rules: Rules
    fallback: Rule = _refuse
    names: Names = field(default_factory=Names)
    notes: list[str] = field(default_factory=list)
    workarounds: Used = field(default_factory=Used)
    context: Any = None
    root: Graph | None = None
    claimed: set[Value] = field(default_factory=set)
    aliases: dict[Value, list[Value]] = field(default_factory=dict)
    node_names: Names = field(default_factory=Names)
    stamp: Callable[[Node], int | None] | None = None
    given: bool = False
    origin: str = ""
    made_of: str = ""
    sizes: dict[tuple[Graph, Size], Value] = field(default_factory=dict)
    refusals: list[Unsupported] | None = None
    unknown: set[Value] = field(default_factory=set)

    def run(self, graph: Graph, builder: type[Builder] | None = None) -> Graph:
        """The whole graph in the new dialect; the old one stays as it was. `builder` walks it (a kind of `Builder`)."""
        new = self.root = Graph(self.dialect.name, graph.name)
        self.given = bool(graph.meta.get(GIVEN))
        old = (value.name for inner in graph.graphs() for value in inner.values())
        self.names = Names(old, [value.name for value in (*graph.inputs, *graph.outputs)])
        op = (builder or Builder)(self, new)
        for value in graph.inputs:
            twin = new.add_input(self.names.claim(value.name, root=True), value.type)
            twin.data, twin.meta = value.data, value.meta
            if value.data is not None:
                new.constants.append(twin)
        with model_walk() as self.refusals, inferred_once():
            outputs = op.inline(graph, new.inputs)
        new.outputs = [op.named(value, old.name) for value, old in zip(outputs, graph.outputs, strict=True)]
        new.meta = dict(graph.meta)
        return new


class Builder:
    """Builds nodes of one graph: `op.Add(a, b)`, `op.Squeeze(x, axes)`, `op.const(1.0)`.

    Inputs are values of the graph, array expressions (`passes.build`) or None.

    Keyword arguments are attributes, except `_outputs` (how many, default 1), `_types` (known types of
    the outputs), `_name`, `_domain` and `_version`. The result is a Value, or a tuple where `_outputs` > 1.
    """

    def __init__(self, rewriter: Rewriter, graph: Graph) -> None:
        self.rewriter = rewriter
        self.graph = graph

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return partial(self.call, op_type)

    def call(
        self,
        op_type: str,
        *inputs: Input,
        _outputs: int = 1,
        _types: Sequence[Type | None] | None = None,
        _name: str = "",
        _domain: str | None = None,
        _version: int = 0,
        **attributes: Any,
    ) -> Any:
        """Build one node; `op.X(...)` is short for `op.call("X", ...)`."""
        if _domain is None:
            domain, version = self.rewriter.dialect.resolve(op_type)
            version = _version or version
        else:
            domain, version = _domain, _version
        fed = [entry if entry is None or isinstance(entry, Value) else entry.value() for entry in inputs]
        while fed and fed[-1] is None:
            fed.pop()
        attributes = {name: value for name, value in attributes.items() if value is not None}
        return self.insert(Node(domain, op_type, version, _name), fed, attributes, _outputs, _types)

    def insert(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: int,
        types: Sequence[Type | None] | None = None,
    ) -> Any:
        node.attributes = attributes
        node.inputs = list(inputs)
        base = node.name or node.op_type.lower()
        node.outputs = [Value(self.rewriter.names.fresh(base), None, node, index) for index in range(outputs)]
        found = list(types) if types is not None else [None] * outputs
        if any(type is None for type in found):
            inferred = list(self.rewriter.dialect.infer(node))
            inferred += [None] * (outputs - len(inferred))
            found = [merge(known, more) for known, more in zip(found, inferred, strict=False)]
        for value, type in zip(node.outputs, found, strict=True):
            value.type = type
        if self.rewriter.origin and node.meta is None:
            node.meta = {ORIGIN: self.rewriter.origin}
        self.graph.add_nodes([node])
        self.inserted(node)
        return node.outputs[0] if outputs == 1 else tuple(node.outputs)

    def inserted(self, node: Node) -> None:
        """Called with each node that is built, when it stands in the graph."""

    def const(self, value: Any, dtype: DType | None = None, name: str = "const") -> Value:
        """A constant of this graph: `op.const([0, 1], DType.INT64)`. Python ints and [] are int64, floats float32."""
        if not isinstance(value, TensorData):
            if dtype is not None:
                value = np.asarray(value).astype(dtype.numpy)
            elif not isinstance(value, np.ndarray | np.generic):
                if isinstance(value, list | tuple) and any(isinstance(item, OpenSize) for item in value):
                    raise Unsupported("size", f"{list(value)} would have to be known")
                value = np.asarray(value)
                if value.dtype.kind == "i" or not value.size:
                    value = value.astype(np.int64)
                elif value.dtype == np.float64:
                    value = value.astype(np.float32)
            value = TensorData.of(value, dtype)
        return self.graph.add_constant(value, self.rewriter.names.fresh(name))

    def input(self, name: str, type: Type | None = None) -> Value:
        """A new input of this graph, under a fresh name."""
        return self.graph.add_input(self.rewriter.names.fresh(name), type)

    def claim(self, name: str) -> str:
        """The name of an old value, if it is still to be had."""
        return self.rewriter.names.claim(name, root=self.graph is self.rewriter.root)

    def region(self, name: str) -> Builder:
        """A builder of a new, empty graph, a region."""
        return type(self)(self.rewriter, Graph(self.rewriter.dialect.name, name))

    def named(self, value: Value, name: str) -> Value:
        """`value` under exactly this name: itself where it may be renamed, else through an Identity."""
        if value.name == name:
            return value
        if value.producer is None or value in self.rewriter.claimed:
            value = self.Identity(value, _types=[value.type])
        value.name = self.rewriter.names.claim(name, root=True)
        self.rewriter.claimed.add(value)
        return value

    # control flow of the hub ---------------------------------------------------------------------

    def loop(
        self,
        trip: Value | None,
        condition: Value | None,
        slots: Sequence[Slot],
        operands: Sequence[Value],
        body: Graph,
        types: Sequence[Type | None] | None = None,
    ) -> tuple[Value, ...]:
        """A canonical Loop (see `passes.loop`); `operands` holds the slots' operands in order."""
        results = sum(at.result >= 0 for at in slot_indices(slots))
        node = Node(HUB_DOMAIN, "Loop", 1)
        node.regions["body"] = body
        made = self.insert(node, [trip, condition, *operands], {"slots": tuple(slots)}, results, types)
        return (made,) if results == 1 else tuple(made)

    def branch(
        self,
        condition: Value,
        captured: Sequence[Value],
        then: Graph,
        otherwise: Graph,
        types: Sequence[Type | None] | None = None,
    ) -> tuple[Value, ...]:
        """A canonical If; both regions take the captured values, in order."""
        node = Node(HUB_DOMAIN, "If", 1)
        node.regions.update({"then": then, "else": otherwise})
        node.captured = len(captured)
        made = self.insert(node, [condition, *captured], {}, len(then.outputs), types)
        return (made,) if len(then.outputs) == 1 else tuple(made)

    # walking the old graph -----------------------------------------------------------------------

    def inline_for(self, node: Node, graph: Graph, arguments: Sequence[Value | None]) -> list[Value]:
        """As `inline`, of a graph that stands for a node: what is made of it was made of that."""
        before, refusals = self.rewriter.made_of, self.rewriter.refusals
        self.rewriter.made_of, self.rewriter.refusals = before or node.origin, None
        try:
            return self.inline(graph, arguments)
        finally:
            self.rewriter.made_of, self.rewriter.refusals = before, refusals

    def inline(self, graph: Graph, arguments: Sequence[Value | None]) -> list[Value]:
        """Rewrite the old graph's nodes into this one, its inputs standing for `arguments`; its outputs' values.

        This is how a rule converts a region: it makes a region builder, adds the inputs the new form
        needs, inlines the old body between whatever it puts before and after, and sets the outputs.
        """
        mapping: dict[Value, Any] = dict(zip(graph.inputs, arguments, strict=True))
        self._constants(graph, mapping)
        stamp = self.rewriter.stamp
        for node in graph.topological():
            seen = view(node, [None if value is None else mapping[value] for value in node.inputs])
            version = None
            if stamp is not None and not node.regions and all(is_known(value.type) for value in node.outputs):
                version = stamp(node)
            seen.version = node.version if version is None else version
            try:
                made = self.apply(seen) if version is None else self.copy(seen)
            except Unsupported as refusal:
                if self.rewriter.refusals is None:
                    raise
                made = self._refused(seen, refusal)
            if self.rewriter.unknown and not self.rewriter.unknown.isdisjoint(seen.inputs):
                self.rewriter.unknown.update(made)
            mapping.update(zip(node.outputs, made, strict=True))
        return [mapping[value] for value in graph.outputs]

    def _refused(self, node: Node, refusal: Unsupported) -> Sequence[Value]:
        """Values of a node's types in its place, so that the walk can go on to what else is refused."""
        rewriter = self.rewriter
        assert rewriter.refusals is not None
        twin = Node("backedge.refused", node.op_type, node.version)
        twin.outputs = [
            Value(rewriter.names.fresh(old.name) if old.name else "", old.type, twin, index)
            for index, old in enumerate(node.outputs)
        ]
        self.graph.add_nodes([twin])
        is_news = rewriter.unknown.isdisjoint(node.inputs) or schema(node.domain, node.op_type, node.version) is None
        if is_news:
            rewriter.refusals.append(refusal)
            for region in node.regions.values():
                inner = self.region(region.name)
                captured = captured_by(node, region)
                inner.inline(region, [inner.seen_inside(value, captured.get(value)) for value in region.inputs])
        if not all(is_known(value.type) and None not in (value.tensor.shape or ()) for value in node.outputs):
            rewriter.unknown.update(twin.outputs)
        return twin.outputs

    def seen_inside(self, old: Value, captured: Value | None) -> Value:
        """What stands for a region's input in this region: the constant that it captures, or an input."""
        if captured is not None and captured.data is not None:
            return self.graph.add_constant(captured.data, self.claim(old.name))
        return self.graph.add_input(self.claim(old.name), old.type)

    def _constants(self, graph: Graph, mapping: dict[Value, Any]) -> None:
        """The old graph's constants in this one."""
        for value in graph.constants:
            if value not in mapping and value.data is not None:
                twin = self.graph.add_constant(value.data, self.claim(value.name or "const"))
                twin.meta = value.meta
                mapping[value] = twin

    def apply(self, node: Node) -> Sequence[Value]:
        """The new values of a node's outputs by the first rule that matches; names and types carried over."""
        before = self.rewriter.origin
        self.rewriter.origin = self.rewriter.made_of or node.origin
        try:
            with blaming(node, self.rewriter.given):
                made = self._rewritten(node)
        except MemoryError as error:
            raise Unsupported(node, f"it takes more memory than there is ({error})") from error
        except OverflowError as error:
            raise Unsupported(node, f"it takes larger numbers than there are ({error})") from error
        finally:
            self.rewriter.origin = before
        results = [made] if isinstance(made, Value) else list(made)
        if len(results) < len(node.outputs):
            if any(old.name for old in node.outputs[len(results) :]):
                raise Unsupported(node, f"of {len(node.outputs)} outputs only {len(results)} are defined")
            results += [Value("")] * (len(node.outputs) - len(results))
        for old, new in zip(node.outputs, results, strict=True):
            self._carry(old, new)
        maker = results[0].producer if results else None
        if node.name and maker is not None and not maker.name:
            maker.name = self.rewriter.node_names.claim(node.name)
            maker.meta = {**(maker.meta or {}), **node.meta} if node.meta and _is_origin(maker.meta) else maker.meta
        if maker is not None and maker.meta and _is_origin(maker.meta) and not maker.written_origin:
            maker.meta = None  # its name says it
        return results

    def _rewritten(self, node: Node) -> Value | Sequence[Value]:
        """What the first rule that matches makes of a node."""
        for matching in (*self.rewriter.rules.get(node.op, ()), self.rewriter.fallback):
            made = matching(self, node)
            if made is not None:
                return made
        raise Unsupported(node, "no rule matches")

    def _carry(self, old: Value, new: Value) -> None:
        if old is new or new.producer is None or new.data is not None:
            return
        new.type = merge(new.type, old.type)
        if old.name and new not in self.rewriter.claimed:
            self.rewriter.claimed.add(new)
            new.name = self.claim(old.name)
            new.meta = new.meta or old.meta
        elif old.name:
            self.rewriter.aliases.setdefault(new, []).append(old)

    def copy(self, node: Node, regions: Mapping[str, Graph] | None = None) -> Sequence[Value]:
        """The same operator in the new graph (a `view` of an old node), its regions rewritten."""
        name = self.rewriter.node_names.claim(node.name) if node.name else ""
        twin = Node(node.domain, node.op_type, node.version, name)
        twin.captured, twin.meta = node.captured, node.meta
        if self.rewriter.made_of:
            twin.meta = {**(node.meta or {}), ORIGIN: self.rewriter.made_of}
        twin.attributes, twin.inputs = dict(node.attributes), list(node.inputs)
        if regions is None:
            regions = {name: self.rewritten(region) for name, region in node.regions.items()}
        twin.regions = dict(regions)
        for region in twin.regions.values() if node.domain == "" else ():
            self._return_own(node, region)
        for index, old in enumerate(node.outputs):
            value = Value(self.claim(old.name) if old.name else "", old.type, twin, index)
            value.meta = old.meta
            twin.outputs.append(value)
        self.rewriter.claimed.update(twin.outputs)
        self.graph.add_nodes([twin])
        return twin.outputs

    def _return_own(self, node: Node, region: Graph) -> None:
        """Let nodes make what a region of ONNX's returns, where ONNX Runtime needs one: it loads no region that gives a
        value from outside, and gives other memory for a Scan's inputs, for a Loop's iteration number, and for what
        anything but a Loop gives twice."""
        own, loop = len(region.inputs) - node.captured, node.op_type == "Loop"
        taken = {*(region.inputs[:1] if loop else region.inputs[:own]), *region.inputs[own:]}
        for index, value in enumerate(region.outputs):
            if value in taken:
                region.outputs[index] = type(self)(self.rewriter, region).Identity(value, _types=[value.type])
            elif not loop:
                taken.add(value)

    def rewritten(self, region: Graph, types: Iterable[Type | None] = (), around: Iterable[Value | None] = ()) -> Graph:
        """A region rewritten with its inputs and outputs as they are.

        Args:
            types: what is known of each input from outside.
            around: what its last inputs capture; small constants among them are known inside.
        """
        inner = self.region(region.name)
        for value, known in zip_longest(region.inputs, types):
            twin = inner.graph.add_input(inner.claim(value.name), merge(value.type, known))
            twin.meta = value.meta
        captured = list(around)
        seen = inner.graph.inputs[len(region.inputs) - len(captured) :]
        with constants_around(zip(seen, captured, strict=True)):
            inner.graph.outputs = inner.inline(region, inner.graph.inputs)
        inner.graph.meta = dict(region.meta)
        return inner.graph


def _is_origin(meta: Mapping[str, Any] | None) -> bool:
    """Whether the notes on a node say no more than what it was made of."""
    return not meta or meta.keys() == {ORIGIN}


def renamed(domain: str, table: Mapping[str, str]) -> dict[Key, list[Rule]]:
    """Rules for operators that differ in name only: same inputs, no attributes to translate."""

    def called(target: str, op: Builder, node: Node) -> Any:
        return op.call(target, *node.inputs, _outputs=len(node.outputs))

    return {(domain, source): [partial(called, target)] for source, target in table.items()}
