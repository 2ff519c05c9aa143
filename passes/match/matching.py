"""Two graphs matched: which of their values are one, and whether all outputs are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..core import is_core
from ..decompose.library import decomposition
from ..graph import Graph, Node, Value
from ..rewrite import Key
from ..types import TensorType, Type, merge
from .bias import BIASED, bias_apart
from .loops import number_loop
from .maker import Evaluate, Maker
from .numbering import Exhausted, Expansion, Numbering
from .rules import RULES, TYPES
from .terms import INPUT, Table, Term, Typed, container_type

_ROUNDS = 16
_UNROLL = 16


@dataclass(slots=True)
class Matching:
    """What two graphs have in common.

    Attributes:
        proved: whether all outputs are one.
        outputs: name of A's output -> (A's term, B's term); None where the graph has none of that name.
        terms: of the values of both graphs, regions aside.
        table: where the terms stand.
        expanded: operators that were replaced by what they are made of.
        lemmas: the operators that the proof takes for what a converter writes for them, or for what they are made of
            where that rounds, and that. Outputs are one to the bit only where there are none.
        bodies: of outermost loops of both graphs, terms of the values in them.
        graphs, numbering: what was numbered, and by what.
        why: what stopped the proof before it was tried to the end; "" if nothing did.
    """

    proved: bool
    outputs: dict[str, tuple[Term | None, Term | None]]
    terms: tuple[dict[Value, Term], dict[Value, Term]]
    table: Table
    expanded: set[Key] = field(default_factory=set[Key])
    why: str = ""
    bodies: dict[Node, dict[Value, Term]] = field(default_factory=dict[Node, "dict[Value, Term]"])
    lemmas: list[tuple[Node, Graph]] = field(default_factory=list[tuple[Node, Graph]])
    graphs: tuple[Graph, Graph] | None = None
    numbering: Numbering | None = None

    def frontier(self) -> tuple[list[str], list[str]]:
        """The operators of A and of B at which they part: those whose operands the other has, but not their results."""
        assert self.graphs is not None
        common = set(self.terms[0].values()) & set(self.terms[1].values())
        found: tuple[list[str], list[str]] = ([], [])
        for graph, terms, stops in zip(self.graphs, self.terms, found, strict=True):
            for node in graph.topological():
                if all(terms[value] in common for value in node.outputs if value in terms):
                    continue
                if all(value is None or terms[value] in common for value in node.inputs):
                    stops.append(node.op_type)
        return found


@dataclass
class _Seen:
    """What was numbered of one graph: all terms, and each operator with its operands and results."""

    terms: set[Term | None] = field(default_factory=lambda: {None})
    nodes: set[tuple[Key, tuple[Term | None, ...], tuple[Term, ...]]] = field(default_factory=set[Any])

    def parts(self, other: _Seen) -> set[Key]:
        """The operators whose operands the other graph has, too, but not their results."""
        return {
            op
            for op, operands, results in self.nodes
            if not other.terms.issuperset(results) and other.terms.issuperset(operands)
        }

    def of(self, op: Key) -> set[Any]:
        """Operands and results of all applications of an operator."""
        return {one[1:] for one in self.nodes if one[0] == op}

    def lacks(self, other: _Seen) -> set[Key]:
        """The operators with results that the other graph hasn't."""
        return {op for op, _, results in self.nodes if not other.terms.issuperset(results)}


@dataclass
class _Watched(Numbering):
    """Numbering that notes which terms stand for which operators, bodies included."""

    seen: _Seen = field(default_factory=_Seen)

    def node(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        terms = super().node(node, operands)
        self.seen.terms.update(operands, terms)
        if not node.regions:
            self.seen.nodes.add((node.op, operands, tuple(terms)))
        return terms


@dataclass
class _Means:
    """What a try may make use of.

    Attributes:
        expanded: operators that are replaced by what they are made of.
        lowered: operators of A that are replaced by what a converter makes of them.
        unroll: see `Numbering`.
        one_sided: operators of B stay as they are; else those that are the same as one of A that was replaced are, too.
    """

    expanded: set[Key]
    lowered: set[Key]
    unroll: int = 0
    one_sided: bool = False


def match(
    a: Graph,
    b: Graph,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    evaluate: Evaluate,
    lowering: Expansion | None = None,
    maker: Callable[[Table], Maker] | None = None,
) -> Matching:
    """Number two hub graphs together, with more and more means as long as outputs differ.

    Args:
        inputs, outputs: name in A -> name in B.
        evaluate: computes operators of constants.
        lowering: what a converter writes for one operator alone, which is to be checked apart; see `Matching.lemmas`.
        maker: makes the terms (tests).
    """
    narrow = _narrower(a, b, inputs)
    table = Table()
    m = Maker(table, RULES, TYPES, evaluate) if maker is None else maker(table)
    given = _inputs(m, a, b, inputs)
    found = Matching(False, {}, ({}, {}), table, graphs=(a, b))
    for means, lowers in _tries(lowering is not None):
        for _ in range(_ROUNDS):
            try:
                found, apart = _numbered(m, a, b, given, outputs, means, lowering)
            except Exhausted:
                found.why = "more work than a proof is worth"
                return found
            if found.proved:
                found.proved, found.why = not narrow, narrow
                return found
            known = means.lowered if lowers else means.expanded
            more = [{op for op in some if lowers or op in BIASED or not is_core(op)} - known for some in apart]
            if not any(more):
                break
            known |= more[0] or more[1]
    return found


def _tries(lowering: bool) -> Iterator[tuple[_Means, bool]]:
    """What to try, one after the other, and whether operators at which graphs part are lowered, else expanded."""
    expanded: set[Key] = set()
    yield _Means(expanded, set()), False
    yield _Means(expanded, set(), _UNROLL), False
    if lowering:
        lowered: set[Key] = set()
        yield _Means(set(), lowered), True
        yield _Means(set(), lowered), False
        yield _Means(set(), lowered, _UNROLL), False
        lowered = set[Key]()
        yield _Means(set(), lowered, one_sided=True), True
        yield _Means(set(), lowered, one_sided=True), False


def _numbered(
    m: Maker,
    a: Graph,
    b: Graph,
    given: tuple[list[Term], list[Term]],
    outputs: Mapping[str, str],
    means: _Means,
    lowering: Expansion | None,
) -> tuple[Matching, tuple[set[Key], set[Key]]]:
    """A try, and the operators at which the graphs part; all whose results one of them lacks."""

    def expansion(node: Node) -> Graph | None:
        if node.op not in means.expanded:
            return None
        return bias_apart(node) if node.op in BIASED else decomposition(node, [])

    def lowered(node: Node) -> Graph | None:
        return lowering(node) if lowering is not None and node.op in means.lowered else None

    numbering = _Watched(m, number_loop, expansion, lowered, means.unroll)
    terms_a = numbering.graph(a, given[0])
    seen_a, numbering.seen = numbering.seen, _Seen()
    numbering.go_to_other(means.one_sided)
    terms_b = numbering.graph(b, given[1])
    results_a = {value.name: terms_a[value] for value in a.outputs}
    results_b = {value.name: terms_b[value] for value in b.outputs}
    pairs = {name: (results_a.get(name), results_b.get(outputs.get(name, ""))) for name in results_a}
    bad = numbering.contradicted
    proved = bad is None and bool(pairs) and all(one is not None and one is other for one, other in pairs.values())
    found = Matching(proved, pairs, (terms_a, terms_b), m.table, set(means.expanded), graphs=(a, b))
    found.bodies = numbering.bodies
    found.numbering = numbering
    rounds = {op for op in means.expanded if seen_a.of(op) != numbering.seen.of(op)}
    found.lemmas = [lemma for (lowered, _), lemma in numbering.lemmas.items() if lowered or lemma[0].op in rounds]
    found.why = "" if bad is None else f"operands of {bad} contradict each other"
    seen_b = numbering.seen
    return found, (seen_a.parts(seen_b) | seen_b.parts(seen_a), seen_a.lacks(seen_b) | seen_b.lacks(seen_a))


def _narrower(a: Graph, b: Graph, pairs: Mapping[str, str]) -> str:
    """Which input of B is declared so that it takes less than A's does, or something else; "" if there is none."""
    types_b = {value.name: value.type for value in b.inputs}
    for value in a.inputs:
        first, second = value.type, types_b.get(pairs.get(value.name, ""))
        if not isinstance(first, TensorType) or not isinstance(second, TensorType):
            continue
        if first.dtype is not second.dtype:
            return f"input {value.name!r} is of {first} in one and of {second} in the other"
        if first.shape is None or second.shape is None:
            if second.shape is not None:
                return f"input {value.name!r} is declared as {first} and as {second}"
            continue
        same_rank = len(first.shape) == len(second.shape)
        if not same_rank or any(
            isinstance(new, int) and old != new for old, new in zip(first.shape, second.shape, strict=True)
        ):
            return f"input {value.name!r} is declared as {first} and as {second}"
    return ""


def _inputs(m: Maker, a: Graph, b: Graph, pairs: Mapping[str, str]) -> tuple[list[Term], list[Term]]:
    """A term for each input of A, and the same for B's inputs of the names that belong to them."""
    types_b = {value.name: value.type for value in b.inputs}
    by_name: dict[str, Term] = {}
    terms_a: list[Term] = []
    for value in a.inputs:
        name = pairs.get(value.name)
        if name is None and value.data is not None:
            terms_a.append(m.table.constant(value.data))
            continue
        type = value.type if name is None else merge(value.type, types_b.get(name))
        term = _input(m, f"{value.name}", type)
        terms_a.append(term)
        if name is not None:
            by_name[name] = term
    terms_b: list[Term] = []
    for value in b.inputs:
        term = by_name.get(value.name)
        if term is None:
            term = (
                m.table.constant(value.data) if value.data is not None else _input(m, f"{value.name} of B", value.type)
            )
        terms_b.append(term)
    return terms_a, terms_b


def _input(m: Maker, name: str, type: Type | None) -> Term:
    typed = Typed(None, None, container_type(type))
    if isinstance(type, TensorType):
        sizes = None if type.shape is None else [size if isinstance(size, int) else None for size in type.shape]
        typed = Typed(type.dtype, sizes)
    return m.table.term(INPUT, (), (("name", name),), typed)
