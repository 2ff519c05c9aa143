"""Numbering a graph: the term of each of its values, given those of its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from ..attributes import attributes_of
from ..core import CORE, DRAWING
from ..errors import BackedgeError
from ..faults import contradiction
from ..graph import Graph, Node, Value
from ..loop import is_if, is_loop
from ..schema_check import problem
from ..structure.containers import map_as_loop
from ..types import DType, SequenceType, TensorType, Type
from .choice import IF
from .forms import other_forms
from .inexact import reduced_before
from .maker import Maker
from .readings import read
from .terms import Contradiction, Term, Typed

Expansion = Callable[[Node], "Graph | None"]
"""A hub graph of what an operator is made of, whose inputs are the node's that are there; None: it stays as it is."""


class Exhausted(Exception):
    """A proof is given up; the text says why."""


_LOOKS = 64
"""Nodes from one look at what they have used up to the next."""


@dataclass
class Numbering:
    """Numbers graphs in one table.

    Attributes:
        loop: numbers a Loop on its operands, see `loops`.
        expansion: what stands for an operator, as it is defined.
        lowering: what a converter writes for an operator, which isn't the same for certain; None where nothing is said.
        lemmas: the operators for which that was taken, by what they depend on: the node, and what was written for it;
            those, too, whose definition rounds, as runtimes round in ways of their own.
        unroll: loops that certainly run no more often than this are written out.
        budget: nodes that may still be numbered, those of loops' bodies each time.
        excess: which limit the work has reached; "" if none.
        groups: of loops that run alike, see `loops`.
        contexts: of the variables of loops, by what limits the passes, see `assumptions.context_of`.
        learned: what was assumed last of the carried values of each loop in the outermost one that is numbered.
        sites: the operators within whose expansions something is numbered.
        loops: how each loop was numbered on which operands, a `groups.Member`, or the bodies of passes written out.
        bodies: terms of the values in bodies of outermost loops, in terms of the group's variables.
        depth: bodies around the one that is being numbered.
        height: how many loops stood in each other of what was numbered so far of a body, those written out aside.
        side: which graph is numbered, 0 or 1. Bodies of one's loops are numbered again along with the other. Of the
            second no operators are taken for what a converter writes for them, but those that are the same as the first
            one's that were.
        contradicted: a node whose operands don't go together; what stands in a graph with one isn't known.
    """

    m: Maker
    loop: Callable[[Numbering, Node, tuple[Term | None, ...]], list[Term]]
    expansion: Expansion = lambda node: None
    lowering: Expansion = lambda node: None
    unroll: int = 0
    budget: int = 200_000
    excess: Callable[[], str] = str
    groups: dict[Any, list[Any]] = field(default_factory=dict[Any, list[Any]])
    contexts: dict[Any, int] = field(default_factory=dict[Any, int])
    learned: dict[tuple[Node, ...], Any] = field(default_factory=dict[Any, Any])
    sites: tuple[Node, ...] = ()
    contradicted: Node | None = None
    lemmas: dict[Any, tuple[Node, Graph]] = field(default_factory=dict[Any, tuple[Node, Graph]])
    loops: dict[tuple[Node, tuple[Term | None, ...]], Any] = field(default_factory=dict[Any, Any])
    bodies: dict[Node, dict[Value, Term]] = field(default_factory=dict[Node, "dict[Value, Term]"])
    depth: int = 0
    height: int = 0
    side: int = 0
    _lowered: bool = False
    _expanded: dict[Any, tuple[Node, Graph | None]] = field(default_factory=dict[Any, "tuple[Node, Graph | None]"])
    _regions: dict[Any, tuple[list[Term], Node | None, int]] = field(default_factory=dict[Any, Any])
    _maps: dict[Any, Graph] = field(default_factory=dict[Any, Graph])

    def __post_init__(self) -> None:
        self.turn_to(0)

    def graph(self, graph: Graph, inputs: Sequence[Term | None]) -> dict[Value, Term]:
        """The terms of the values of a graph whose inputs are these; those of its regions aren't listed.

        Raises:
            Exhausted: the budget is used up, or a limit is reached.
        """
        terms: dict[Value, Term] = {}
        for value in graph.constants:
            if value.data is not None:
                terms[value] = self.m.table.constant(value.data)
        for value, term in zip(graph.inputs, inputs, strict=True):
            if term is not None:
                terms[value] = term
        for node in graph.topological():
            operands = tuple(None if value is None else self._term(terms, value) for value in node.inputs)
            for value, term in zip(node.outputs, self.node(node, operands), strict=False):
                terms[value] = term
        for value in graph.outputs:
            self._term(terms, value)
        return terms

    def _term(self, terms: dict[Value, Term], value: Value) -> Term:
        found = terms.get(value)
        if found is None:
            assert value.data is not None, value
            found = terms[value] = self.m.table.constant(value.data)
        return found

    def node(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        """The terms of the outputs of a node."""
        self.budget -= 1
        if self.budget < 0:
            raise Exhausted("it is more work than a proof is worth")
        if not self.budget % _LOOKS and (why := self.excess()):
            raise Exhausted(why)
        if node.regions:
            key = (node, operands)
            if key not in self._regions:
                before = self.contradicted, self.height
                self.contradicted, self.height = None, 0
                try:
                    terms = self._with_regions(node, operands)
                except Contradiction:
                    self.contradicted, terms = node, self.unlike_all(node)
                self._regions[key] = terms, self.contradicted, self.height
                self.contradicted, self.height = before
            terms, contradicted, height = self._regions[key]
            self.contradicted, self.height = contradicted or self.contradicted, max(height, self.height)
            return terms
        if node.op in DRAWING or _draws(node, operands, self.m):
            return self.unlike_all(node)
        try:
            return self.of(node, operands)
        except Contradiction:
            self.contradicted = node
            return self.unlike_all(node)

    def of(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        """The terms of the outputs of a node without regions: of what stands for it, else of itself."""
        for lowered in (True, False):
            made = self.replaced(node, operands, lowered)
            if made is not None:
                return made
        return read(self.m, node, operands)

    def turn_to(self, side: int) -> int:
        """Number this graph now; which one it was before."""
        before, self.side, self.m.is_strict = self.side, side, bool(side)
        return before

    def unlike_all(self, node: Node) -> list[Term]:
        """Terms that are equal to no others: of what draws, or isn't followed."""
        which = self.m.table.context()
        return [
            self.m.table.term("$unknown", (), (("which", which), ("index", index)), Typed(None, None))
            for index in range(len(node.outputs))
        ]

    def _with_regions(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        if is_loop(node):
            return self.loop(self, node, operands)
        if is_if(node):
            return self._if(node, operands)
        if node.op == ("", "SequenceMap"):
            return self._map(node, operands)
        return self.unlike_all(node)

    def _map(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        """What the loop gives that a SequenceMap is."""
        known = [term for term in operands if term is not None]
        if not all(isinstance(term.container, SequenceType) or term.dtype is not None for term in known):
            return self.unlike_all(node)
        types = tuple(None if term is None else self.m.type_of(term) for term in operands)
        if (node, types) not in self._maps:
            try:
                self._maps[node, types] = map_as_loop(node, types)
            except BackedgeError:  # types that aren't known well enough
                return self.unlike_all(node)
        graph = self._maps[node, types]
        terms = self.graph(graph, known)
        return [terms[value] for value in graph.outputs]

    def _if(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        condition, captured = operands[0], operands[1:]
        assert condition is not None
        branches: list[list[Term]] = []
        for name in ("then", "else"):
            graph = node.regions[name]
            terms = self.graph(graph, captured)
            branches.append([terms[value] for value in graph.outputs])
        return [self.m.make(IF, condition, yes, no) for yes, no in zip(*branches, strict=True)]

    def replaced(
        self,
        node: Node,
        operands: tuple[Term | None, ...],
        lowered: bool,
        open_sizes: bool = False,
        form: int | tuple[int, ...] = 0,
    ) -> list[Term] | None:
        """The terms of what stands for an operator; None where nothing does.

        Args:
            lowered: of what a converter writes for it, else of its definition.
            open_sizes: of what would stand for it if nothing were known of the sizes that aren't constants.
            form: of which of the other forms, from 1; of what it is before a Transpose in this order; 0: of its
                definition.
        """
        if lowered and self._lowered:
            return None
        if any(term is not None and term.dtype is None and term.container is None for term in operands):
            return None  # it isn't even known whether it is a tensor
        types = tuple(None if term is None else self.m.type_of(term) for term in operands)
        if open_sizes:
            known, types = types, tuple(map(_opened, types))
            if types == known:
                return None
        key = (lowered, form, self._signature(node, operands, types))
        if key not in self._expanded:
            if lowered and self.side:
                return None
            way = self.lowering if lowered else partial(_form, form) if form else self.expansion
            self._expanded[key] = self._expansion(node, operands, types, way)
        twin, graph = self._expanded[key]
        if graph is None:
            return None
        if lowered or not is_exact(graph):
            self.lemmas[key] = (twin, graph)
        before, self._lowered = self._lowered, self._lowered or lowered
        self.sites = (*self.sites, node)
        terms = self.graph(graph, [term for term in operands if term is not None])
        self._lowered, self.sites = before, self.sites[:-1]
        results = iter([terms[value] for value in graph.outputs])
        unlike = self.unlike_all(node)
        pairs = zip(node.outputs, unlike, strict=True)
        return [next(results, other) if value.name else other for value, other in pairs]

    def _signature(self, node: Node, operands: tuple[Term | None, ...], types: tuple[Type | None, ...]) -> Any:
        """All that what stands for an operator depends on."""
        m = self.m
        constants = tuple(term if term is not None and m.data(term) is not None else None for term in operands)
        wanted = tuple(bool(value.name) for value in node.outputs)
        return node.op, node.version, attributes_of(node), types, constants, wanted

    def _expansion(
        self, node: Node, operands: tuple[Term | None, ...], types: tuple[Type | None, ...], way: Expansion
    ) -> tuple[Node, Graph | None]:
        twin = Node(node.domain, node.op_type, node.version, node.name)
        twin.attributes = node.attributes
        for index, (term, kind) in enumerate(zip(operands, types, strict=True)):
            if term is None:
                twin.inputs.append(None)
            else:
                twin.inputs.append(Value(f"x{index}", kind, data=self.m.data(term)))
        twin.outputs = [
            Value(value.name and f"y{index}", None, twin, index) for index, value in enumerate(node.outputs)
        ]
        if problem(twin) or contradiction(twin, of_any_type=True):  # what stands for it may not read what is at fault
            raise Contradiction
        for value, found in zip(twin.outputs, self.m.infer_node(twin), strict=False):
            value.type = found
        try:
            return twin, way(twin)
        except (BackedgeError, AssertionError, LookupError, TypeError, ValueError):  # or operands that no model has
            return twin, None


def _form(number: int | tuple[int, ...], node: Node) -> Graph | None:
    if isinstance(number, tuple):
        return reduced_before(number, node)
    return next(islice(other_forms(node), number - 1, None), None)


def _opened(kind: Type | None) -> Type | None:
    """A type in which no size has a name, that others could have, too."""
    if not isinstance(kind, TensorType) or kind.shape is None:
        return kind
    return TensorType(kind.dtype, tuple(size if isinstance(size, int) else None for size in kind.shape))


def is_exact(graph: Graph) -> bool:
    """Whether every operator of a graph, those of its regions included, gives the same bits wherever it is computed."""
    for _, node in graph.walk():
        if node.op == ("", "CastLike") and node.inputs[0] is not None and node.inputs[0].data is not None:
            continue  # a constant of a function's body in the type that is asked for
        core = CORE.get(node.op_type) if not node.domain else None
        if node.regions or (core is not None and "exact" in core.properties):
            continue
        kinds = [value.tensor.dtype for value in node.outputs]
        if not all(kind is not None and (kind.is_integer or kind is DType.BOOL) for kind in kinds):
            return False
    return True


def _draws(node: Node, operands: Sequence[Term | None], m: Maker) -> bool:
    """Whether a Dropout is in training mode, or may be."""
    if node.op != ("", "Dropout") or len(operands) < 3 or operands[2] is None:
        return False
    data = m.data(operands[2])
    return data is None or bool(data.numpy().any())
