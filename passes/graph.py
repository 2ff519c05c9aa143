"""The graph every format is read into: operators as nodes, uses as edges, regions as graphs.

    >>> from backedge.passes.types import tensor
    >>> g = Graph("hub")
    >>> x = g.add_input("x", tensor("float32", 2))
    >>> y = g.add_node("Neg", [x], [("y", tensor("float32", 2))]).outputs[0]
    >>> g.outputs.append(y)

The only module that imports networkx. Nodes of the networkx graph are `Node` objects; the edge
`(producer, consumer, (output index, input index))` is one use. Values that no node produces
(inputs, constants) have their uses in a table beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import networkx as nx

from .errors import BackedgeError, InvalidModel
from .node import Node, Value
from .tensor import TensorData
from .types import TensorType, Type

__all__ = ["DEFAULT", "FILE_BYTES", "GIVEN", "NOTES", "SETTLED", "Graph", "Node", "OutputSpec", "Value"]

GIVEN = "given"
"""Key in the `meta` of a graph: its operators are ONNX's and a file's own, so that a file may be blamed for them."""

NOTES = "notes"
"""Key in the `meta` of a graph: what the report should say of how it came to be, a list of texts."""

SETTLED = "settled"
"""Key in the `meta` of a constant: it was an input, and stays in the model under its name."""

RAISER = "raise"
"""Key in the `meta` of the graph of a file: the function that gives a hub graph that means the same."""

FILE_BYTES = "file_bytes"
"""Key in the `meta` of the graph of a file, and of those made of it: its `limits.FileBytes`."""

DEFAULT = "default"
"""Key in the `meta` of an input that is no constant: what it is where nobody feeds it, a TensorData."""


OutputSpec = Value | tuple[str, Type | None] | str


class Graph:
    """A graph of typed nodes in one dialect; a region is a Graph too.

    Attributes:
        dialect: "onnx", "openvino", "hub", ...
        inputs: values fed from outside, in order (an ONNX input with a default is here and has data).
        outputs: values handed out, in order; an input, or the same value twice, may stand here.
        constants: constant values in file order, used or not.
        opsets: domain -> version (root graphs).
        functions: (domain, name, overload) -> the format's function object (root graphs).
    """

    __slots__ = (
        "__weakref__",
        "_net",
        "_new",
        "_uses",
        "constants",
        "dialect",
        "functions",
        "inputs",
        "meta",
        "name",
        "opsets",
        "outputs",
    )

    def __init__(self, dialect: str, name: str = "main") -> None:
        self.dialect = dialect
        self.name = name
        self.inputs: list[Value] = []
        self.outputs: list[Value] = []
        self.constants: list[Value] = []
        self.opsets: dict[str, int] = {}
        self.functions: dict[tuple[str, str, str], Any] = {}
        self.meta: dict[str, Any] = {}
        self._net: nx.MultiDiGraph[Node] = nx.MultiDiGraph()
        self._new: list[Node] = []  # added since the last question, not in the networkx graph yet
        self._uses: dict[Value, dict[tuple[Node, int], None]] = {}

    # building ------------------------------------------------------------------------------------

    def add_input(self, name: str, type: Type | None = None) -> Value:
        value = Value(name, type)
        self.inputs.append(value)
        return value

    def add_constant(self, data: Any, name: str = "") -> Value:
        """A constant value from a TensorData or anything `np.asarray` takes."""
        if not isinstance(data, TensorData):
            data = TensorData.of(data)
        value = Value(name, TensorType(data.dtype, data.shape), data=data)
        self.constants.append(value)
        return value

    def settle_input(self, value: Value, data: TensorData, *, named: bool = False) -> None:
        """Make an input a constant; `named`: one that stays, see `SETTLED`."""
        self.inputs.remove(value)
        value.data, value.type = data, TensorType(data.dtype, data.shape)
        value.meta = {SETTLED: True} if named else None
        if value not in self.constants:
            self.constants.append(value)

    def add_node(
        self,
        op_type: str,
        inputs: Sequence[Value | None] = (),
        outputs: Iterable[OutputSpec] = (),
        attributes: dict[str, Any] | None = None,
        *,
        domain: str = "",
        version: int = 0,
        name: str = "",
        regions: dict[str, Graph] | None = None,
        captured: int = 0,
    ) -> Node:
        """Append an operator. Each output is a Value made before, a name, or (name, type)."""
        node = Node(domain, op_type, version, name)
        if attributes:
            node.attributes.update(attributes)
        if regions:
            node.regions.update(regions)
        node.captured = captured
        for index, spec in enumerate(outputs):
            if isinstance(spec, Value):
                spec.producer, spec.index = node, index
                node.outputs.append(spec)
            else:
                value_name, value_type = (spec, None) if isinstance(spec, str) else spec
                node.outputs.append(Value(value_name, value_type, node, index))
        node.inputs = list(inputs)
        self._new.append(node)
        return node

    def add_nodes(self, nodes: Iterable[Node]) -> None:
        """Append nodes whose `inputs` and `outputs` are filled in already (what readers and builders do)."""
        self._new.extend(nodes)

    def _ordered(self) -> list[Node]:
        """The nodes as they were added; no networkx graph is built for that."""
        if not self._new:
            return list(self._net)
        return list(self._new) if not self._net else list(self._nx)

    @property
    def _nx(self) -> nx.MultiDiGraph[Node]:
        """The networkx graph with all nodes in it. They are added in bulk, when somebody asks: much cheaper."""
        if self._new:
            nodes, self._new = self._new, []
            self._net.add_nodes_from(nodes)
            uses = self._uses
            edges: list[Any] = []  # networkx types the third entry as an attribute dict, and takes a key
            for node in nodes:
                for index, value in enumerate(node.inputs):
                    if value is None:
                        continue
                    if value.producer is not None:
                        edges.append((value.producer, node, (value.index, index)))
                    else:
                        uses.setdefault(value, {})[node, index] = None
            self._net.add_edges_from(edges)
        return self._net

    def _add_use(self, value: Value, node: Node, index: int) -> None:
        net = self._nx
        if value.producer is not None:
            net.add_edge(value.producer, node, (value.index, index))
        else:
            self._uses.setdefault(value, {})[node, index] = None

    def _remove_use(self, value: Value, node: Node, index: int) -> None:
        net = self._nx
        if value.producer is not None:
            net.remove_edge(value.producer, node, (value.index, index))
        else:
            del self._uses[value][node, index]

    # changing ------------------------------------------------------------------------------------

    def set_input(self, node: Node, index: int, value: Value | None) -> None:
        """Let `node` use `value` as its input `index` (which must exist)."""
        old = node.inputs[index]
        if old is not None:
            self._remove_use(old, node, index)
        node.inputs[index] = value
        if value is not None:
            self._add_use(value, node, index)

    def set_inputs(self, node: Node, values: Sequence[Value | None], captured: int | None = None) -> None:
        """Replace all inputs of `node`, and the number of captured ones if given."""
        for index, old in enumerate(node.inputs):
            if old is not None:
                self._remove_use(old, node, index)
        node.inputs = list(values)
        if captured is not None:
            node.captured = captured
        for index, value in enumerate(node.inputs):
            if value is not None:
                self._add_use(value, node, index)

    def replace_node(self, node: Node, inputs: Sequence[Value | None], outputs: Sequence[Value]) -> None:
        """Give `node` other inputs and keep only some of its outputs (those left out must not be used any more)."""
        users = [self.uses(value) for value in outputs]
        for value, uses in zip(outputs, users, strict=True):
            for user, index in uses:
                self._nx.remove_edge(node, user, (value.index, index))
        self.set_inputs(node, inputs)
        node.outputs = list(outputs)
        for position, (value, uses) in enumerate(zip(outputs, users, strict=True)):
            value.index = position
            for user, index in uses:
                self._nx.add_edge(node, user, (position, index))

    def replace_uses(self, old: Value, new: Value) -> None:
        """Let every use of `old` in this graph, as an output of it too, use `new`."""
        for node, index in self.uses(old):
            self.set_input(node, index, new)
        for index, value in enumerate(self.outputs):
            if value is old:
                self.outputs[index] = new

    def remove_node(self, node: Node) -> None:
        """Take a node out. Its outputs must not be used any more."""
        net = self._nx
        for index, value in enumerate(node.inputs):
            if value is not None and value.producer is None:
                del self._uses[value][node, index]
        net.remove_node(node)

    def remove_nodes(self, nodes: Sequence[Node]) -> None:
        """Take several nodes out, users before those that they use."""
        if nodes and not self._net:
            gone = set(nodes)
            self._new = [node for node in self._new if node not in gone]
            return
        for node in nodes:
            self.remove_node(node)

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Hold exactly these nodes, their `inputs` and `outputs` as they are: after changes all over a graph."""
        self._net, self._uses = nx.MultiDiGraph(), {}
        self._new = list(nodes)

    # asking --------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        """The nodes in the order in which they were added."""
        return self._ordered()

    def behind(self, count: int) -> list[Node]:
        """The nodes that were added after the first `count`."""
        return self._new[count:] if not self._net else self._ordered()[count:]

    def __len__(self) -> int:
        return len(self._net) + len(self._new)

    def __contains__(self, node: Node) -> bool:
        return node in self._nx

    def uses(self, value: Value) -> list[tuple[Node, int]]:
        """(node, input index) of each use of `value` inside this graph."""
        net = self._nx
        if value.producer is None:
            return list(self._uses.get(value, ()))
        if value.producer not in net:
            return []
        return [(node, key[1]) for _, node, key in net.out_edges(value.producer, keys=True) if key[0] == value.index]

    def topological(self) -> list[Node]:
        """The nodes, producers first; the order in which they were added wherever that is possible.

        networkx takes twice as long as a loop of our own would, but graphs are rarely out of order.

        Raises:
            InvalidModel: the graph has a cycle (its nodes are named), or uses a value of another graph.
        """
        order = self._ordered()
        if _is_sorted(order):
            return order
        position = {node: index for index, node in enumerate(order)}
        net = self._nx
        for node in net:
            if node not in position:
                raise InvalidModel(f"graph {self.name!r} uses a value of {node!r} from outside")
        try:
            return list(nx.lexicographical_topological_sort(net, key=position.__getitem__))
        except nx.NetworkXUnfeasible as error:
            cycle = ", ".join(repr(edge[0]) for edge in nx.find_cycle(net)[:4])
            raise InvalidModel(f"cycle in graph {self.name!r} through {cycle}") from error

    def walk(self) -> Iterator[tuple[Graph, Node]]:
        """Every node of this graph and of all regions inside it, with the graph it stands in."""
        stack: list[Graph] = [self]
        while stack:
            graph = stack.pop()
            for node in graph._ordered():
                yield graph, node
                if node.regions:
                    stack.extend(node.regions.values())

    def graphs(self) -> Iterator[Graph]:
        """This graph and all regions inside it, outer ones first."""
        stack: list[Graph] = [self]
        while stack:
            graph = stack.pop()
            yield graph
            for node in graph._ordered():
                if node.regions:
                    stack.extend(node.regions.values())

    def values(self) -> Iterator[Value]:
        """Every value of this graph (not of its regions): inputs, constants, node outputs."""
        yield from self.inputs
        for value in self.constants:
            if value not in self.inputs:
                yield value
        for node in self._ordered():
            yield from node.outputs

    def networkx(self, owner: Node | None = None) -> nx.MultiDiGraph[str]:
        """A copy of the graph's structure for networkx's algorithms; what is done to it does nothing to the graph.

        Each operator is a node under the name of its first output, each input and constant one under its own name (an
        unnamed one under its operator, or "v"; names that are taken get "~2", "~3" behind them): the same model has
        the same keys every time. Attributes of nodes:

        - `kind` ("input", "constant" or "node"), `name`, `types` (of the outputs);
        - a node's `domain`, `op_type`, `version`, `attributes`, `values` (names of the outputs), `regions` (name -> the
          region's own MultiDiGraph) and `node`, the Node itself;
        - of others `data` (a TensorData or None), `slot` (of the Loop that the graph is the body of) and `value`.

        Edges are uses, keyed by the user's input index, with `value` (its name), `output` (its index), `type`,
        `enters` (region of the user -> key of the region's input that it becomes), `slot` (as what it enters: Carried,
        Sliced, Captured; None for plain inputs) and `back`: in the body of a loop the edges from where a carried value
        or condition leaves to where it enters again. Without those every graph is acyclic:
        `networkx.subgraph_view(net, filter_edge=lambda *edge: not net.edges[edge]["back"])`.

        The graph's attributes are `name`, `dialect` and `outputs`: (key, output index, slot or None) for each.

        Examples:
            >>> import networkx
            >>> from backedge.passes.graph import Graph
            >>> graph = Graph("hub")
            >>> x = graph.add_input("x")
            >>> a = graph.add_node("Exp", [x], ["a"]).output
            >>> b = graph.add_node("Abs", [a], ["b"]).output
            >>> c = graph.add_node("Neg", [x], ["c"]).output
            >>> graph.outputs.append(graph.add_node("Add", [b, c], ["y"]).output)
            >>> net = graph.networkx()
            >>> networkx.dag_longest_path(net)
            ['x', 'a', 'b', 'y']
            >>> sorted(networkx.descendants(net, "a") & networkx.ancestors(net, "y"))  # between two values
            ['b']
            >>> net.nodes["c"]["op_type"], net.edges["c", "y", 1]["value"]
            ('Neg', 'c')

        Args:
            owner: the node that this graph is a region of; tells the slots of a loop's body.
        """
        from .network import network_of

        network = network_of(self, owner)
        net: nx.MultiDiGraph[str] = nx.MultiDiGraph(**network.attributes)
        net.add_nodes_from(network.nodes)
        net.add_edges_from(network.edges)
        return net

    # copying -------------------------------------------------------------------------------------

    def copy(self, mapping: dict[Value, Value] | None = None, *, regions: bool = True) -> Graph:
        """A deep copy (constant data is shared).

        Args:
            mapping: is filled with old value -> new value.
            regions: False: nodes of the copy have the same regions as the old ones, where nobody changes them.
        """
        mapping = {} if mapping is None else mapping
        new = Graph(self.dialect, self.name)
        new.opsets, new.functions, new.meta = dict(self.opsets), dict(self.functions), dict(self.meta)

        def clone(value: Value, producer: Node | None = None) -> Value:
            if value in mapping:
                return mapping[value]
            twin = Value(value.name, value.type, producer, value.index, value.data)
            twin.meta = None if value.meta is None else dict(value.meta)
            mapping[value] = twin
            return twin

        new.inputs = [clone(value) for value in self.inputs]
        new.constants = [clone(value) for value in self.constants]
        pairs: list[tuple[Node, Node]] = []
        for node in self._ordered():
            twin = Node(node.domain, node.op_type, node.version, node.name)
            twin.attributes = dict(node.attributes)
            twin.captured = node.captured
            twin.meta = None if node.meta is None else dict(node.meta)
            twin.regions = {name: region.copy() if regions else region for name, region in node.regions.items()}
            twin.outputs = [clone(value, twin) for value in node.outputs]
            pairs.append((node, twin))
        for node, twin in pairs:
            twin.inputs = [None if value is None else mapping[value] for value in node.inputs]
        new.add_nodes([twin for _, twin in pairs])
        new.outputs = [mapping[value] for value in self.outputs]
        return new

    def _repr_svg_(self) -> str | None:
        """What notebooks show: a picture of the graph on the hub; None where it can't be raised to that."""
        from .picture import svg_text

        if self.dialect == "hub":
            return svg_text(self)
        if RAISER not in self.meta:
            return None
        try:
            return svg_text(self.meta[RAISER](self))
        except BackedgeError:
            return None

    def __str__(self) -> str:
        from .text import graph_text

        return graph_text(self)


def _is_sorted(nodes: Sequence[Node]) -> bool:
    """Whether producers stand before their users."""
    seen: set[Node] = set()
    for node in nodes:
        for value in node.inputs:
            if value is not None and value.producer is not None and value.producer not in seen:
                return False
        seen.add(node)
    return True
