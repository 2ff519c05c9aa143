"""Layers that come back as they were: their hub form is still there, unchanged, and so is what feeds it.

Raising marks what a layer became (`convert.openvino.origin`). Here each mark is checked in the graph at hand: the same
operators with the same attributes and constants, fed as they were. Where that holds, one node of domain "openvino"
takes their place, which lowering copies; where it doesn't, the operators are lowered like any others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ....passes.graph import Graph, Node, Value
from ....passes.structure.simplify import RemoveDead
from ....passes.tensor import TensorData
from ....passes.types import merge
from ..dialect import DOMAIN
from ..layers import LAYERS
from ..origin import ORIGIN, Compared, Input, Origin, Output, conforms, same_data
from ..variables import values_read


def restore(graph: Graph) -> None:
    """Put the layers back into a hub graph that was raised from OpenVINO; the marks are taken off, other graphs stay.

    What was restored, and all inside of it, has its Origin in `meta`.
    """
    inputs = {value: value.name for value in graph.inputs} | values_read(graph)
    compared: Compared = {}
    for inner in graph.graphs():
        if inner.dialect != DOMAIN and _Restorer(inner, inputs if inner is graph else {}, compared).run():
            RemoveDead()(inner)


@dataclass(slots=True)
class _Found:
    """A layer's form in the graph: the nodes by number of the step, the values that feed it by index."""

    nodes: dict[int, Node] = field(default_factory=dict)
    inputs: dict[int, Value] = field(default_factory=dict)


class _Restorer:
    """Of one graph; `inputs` are its values that come from outside the model, by name."""

    def __init__(self, graph: Graph, inputs: Mapping[Value, str], compared: Compared) -> None:
        self._graph, self._compared = graph, compared
        self._kept: dict[Value, tuple[Origin, int] | str] = dict(inputs)
        self._values: dict[tuple[Origin, int] | str | None, Value] = {name: value for value, name in inputs.items()}
        self._constants = {(id(value.data), value.name): value for value in graph.constants}
        self._made: dict[Node, Node] = {}  # the first of the nodes that a layer stands for -> the layer
        self._instead: dict[Value | None, Value] = {}

    def run(self) -> bool:
        """Whether anything was restored."""
        marked: dict[Origin, list[Node]] = {}
        order = self._graph.topological()
        for node in order:
            if node.meta and ORIGIN in node.meta:
                marked.setdefault(node.meta.pop(ORIGIN), []).append(node)
        for origin, nodes in marked.items():
            while nodes:
                found = self._match(origin, nodes)
                if found is None:
                    nodes.pop(0)
                    continue
                first = nodes[0]
                nodes = [node for node in nodes if node not in found.nodes.values()]
                self._take(origin, found, first)
        if self._made:
            self._rebuild(order)
        return bool(self._made)

    def _rebuild(self, order: Iterable[Node]) -> None:
        """The graph with the layers in it; what they stand for isn't used by them any more, nor by what used it."""
        instead, graph = self._instead, self._graph
        nodes = [one for node in order for one in (self._made.get(node), node) if one is not None]
        for node in nodes:
            node.inputs = [instead.get(value, value) for value in node.inputs]
        graph.outputs = [instead.get(value, value) for value in graph.outputs]
        graph.set_nodes(nodes)

    # finding -------------------------------------------------------------------------------------

    def _match(self, origin: Origin, marked: Sequence[Node]) -> _Found | None:
        """The form that the first of the marked nodes belongs to, all of its outputs that are still there included."""
        results = [source.step for source in origin.results if isinstance(source, Output)]
        for number in dict.fromkeys(results):
            found = _Found()
            if not _unify(origin, found, [(number, marked[0])], self._compared):
                continue
            for other in dict.fromkeys(results):
                for node in marked[1:]:
                    wider = _Found(dict(found.nodes), dict(found.inputs))
                    if other not in found.nodes and _unify(origin, wider, [(other, node)], self._compared):
                        found = wider
                        break
            return found
        return None

    def _take(self, origin: Origin, found: _Found, first: Node) -> None:
        """Let a layer take the place of its form if it may; take note of what is as it was in the file."""
        results = {
            index: found.nodes[source.step].outputs[source.position]
            for index, source in enumerate(origin.results)
            if isinstance(source, Output) and source.step in found.nodes
        }
        kept = all(
            index in origin.sources and self._kept.get(value) == origin.sources[index]
            for index, value in found.inputs.items()
        )
        for index in origin.types.keys() - found.inputs.keys():  # what counts by its type only
            source = origin.sources.get(index)
            if source in self._values:
                found.inputs[index] = self._values[source]
        if not all(conforms(value.type, origin.types[index]) for index, value in found.inputs.items()):
            return
        spec = LAYERS.get(origin.layer.op_type)
        total = spec is not None and spec.total  # others come back only if all that leads to them is as in the file
        if found.inputs.keys() == origin.types.keys() and (
            kept or (total and not _leads_to(results.values(), found.inputs.values()))
        ):
            self._made[first] = self._layer(origin, found, results)
        if kept:
            for index, value in results.items():
                self._kept[value], self._values[origin, index] = (origin, index), value

    def _layer(self, origin: Origin, found: _Found, results: dict[int, Value]) -> Node:
        """The layer, its outputs to be used instead of `results`."""
        layer = origin.layer
        made = Node(layer.domain, layer.op_type, layer.version, layer.name)
        made.attributes = dict(layer.attributes)
        made.inputs = [self._input(origin, found, index) for index in range(len(layer.inputs))]
        made.regions = {name: region.copy() for name, region in layer.regions.items()}
        made.meta = layer.meta
        for node in (made, *(inner for region in made.regions.values() for _, inner in region.walk())):
            node.meta = {**(node.meta or {}), ORIGIN: origin}
        for index, old in enumerate(layer.outputs):
            value = results.get(index, old)
            new = Value(value.name if index in results else "", merge(value.type, old.type), made, index)
            new.meta = value.meta
            made.outputs.append(new)
            if index in results:
                self._instead[value] = new
        return made

    def _input(self, origin: Origin, found: _Found, index: int) -> Value | None:
        index = origin.twice.get(index, index)
        constant = origin.constants.get(index)
        if constant is None or constant.data is None:
            return found.inputs.get(index)
        key = id(constant.data), constant.name
        value = self._constants.get(key)
        if value is None:
            value = self._constants[key] = self._graph.add_constant(constant.data, constant.name)
            value.meta = constant.meta
        return value


def _unify(origin: Origin, found: _Found, pairs: list[tuple[int, Node]], compared: Compared) -> bool:
    """Whether these nodes are these steps, together with all that leads to them; what they are is put into `found`."""
    while pairs:
        number, node = pairs.pop()
        if number in found.nodes:
            if found.nodes[number] is not node:
                return False
            continue
        step = origin.steps[number]
        if not step.is_like(node, compared):
            return False
        found.nodes[number] = node
        for source, value in zip(step.inputs, node.inputs, strict=True):
            if isinstance(source, Output):
                if value is None or value.producer is None or value.index != source.position:
                    return False
                pairs.append((source.step, value.producer))
            elif not _fits(found, source, value):
                return False
    return True


def _fits(found: _Found, source: Input | TensorData | None, value: Value | None) -> bool:
    """Whether a value is the layer's input or the constant that it should be."""
    if source is None or value is None:
        return source is value
    if isinstance(source, Input):
        return found.inputs.setdefault(source.position, value) is value
    return value.data is not None and same_data(source, value.data)


def _leads_to(results: Iterable[Value], inputs: Iterable[Value]) -> bool:
    """Whether one of `results` is needed to compute one of `inputs`."""
    wanted, seen = set(results), set[Value]()
    stack = list(inputs) if len(wanted) > 1 else []
    while stack:
        value = stack.pop()
        if value in wanted:
            return True
        if value not in seen and value.producer is not None:
            seen.add(value)
            stack += [item for item in value.producer.inputs if item is not None]
    return False
