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
from .inexact import INEXACT, REORDERED
from .loops import number_loop
from .maker import Evaluate, Maker
from .numbering import Exhausted, Expansion, Numbering
from .picking import Picking, Watched
from .polynomials import Size
from .rules import RULES, TYPES
from .terms import INPUT, Table, Term, Typed, container_type

_ROUNDS = 16
_APART = INEXACT.keys() | REORDERED
"""Core operators that are made of others."""
_UNROLL = 16
_TIMES = 10
"""So often each node may be numbered, of all graphs whatever their size; those of loops are a few times."""


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
        given_up: it was too much work.
    """

    proved: bool
    outputs: dict[str, tuple[Term | None, Term | None]]
    terms: tuple[dict[Value, Term], dict[Value, Term]]
    table: Table
    expanded: set[Key] = field(default_factory=set[Key])
    why: str = ""
    given_up: bool = False
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
class _Means:
    """What a try may make use of.

    Attributes:
        expanded: operators that are replaced by what they are made of.
        lowered: operators of A that are replaced by what a converter makes of them; those of B that are the same, too.
        unroll: see `Numbering`.
        picks: operators of A are replaced one by one where that leads to what B has, those of `lowered` otherwise, too.
        forms, before: see `Watched`.
    """

    expanded: set[Key]
    lowered: set[Key]
    unroll: int = 0
    picks: bool = False
    forms: dict[Key, int] = field(default_factory=dict[Key, int])
    before: set[Term | None] = field(default_factory=set[Any])


def match(
    a: Graph,
    b: Graph,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    evaluate: Evaluate,
    lowering: Expansion | None = None,
    maker: Callable[[Table], Maker] | None = None,
    excess: Callable[[], str] = str,
) -> Matching:
    """Number two hub graphs together, with more and more means as long as outputs differ.

    Args:
        inputs, outputs: name in A -> name in B.
        evaluate: computes operators of constants.
        lowering: what a converter writes for one operator alone, which is to be checked apart; see `Matching.lemmas`.
        maker: makes the terms (tests).
        excess: see `Numbering`.
    """
    narrow = _narrower(a, b, inputs)
    table = Table()
    m = Maker(table, RULES, TYPES, evaluate) if maker is None else maker(table)
    given = _inputs(m, a, b, inputs)
    found = Matching(False, {}, ({}, {}), table, graphs=(a, b))
    for means, lowers in _tries(lowering is not None):
        for _ in range(_ROUNDS):
            forms = dict(means.forms)
            try:
                found, apart = _numbered(m, a, b, given, outputs, means, lowering, excess)
            except Exhausted as error:
                found.why, found.given_up = str(error), True
                return found
            if found.proved:
                found.proved, found.why = not narrow, narrow
                return found
            known = means.lowered if lowers else means.expanded
            more = [{op for op in some if lowers or op in _APART or not is_core(op)} - known for some in apart]
            if not any(more) and means.forms == forms:
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
        yield _Means(set(), lowered, picks=True), True
        yield _Means(set(), lowered, picks=True), False


def _numbered(
    m: Maker,
    a: Graph,
    b: Graph,
    given: tuple[list[Term], list[Term]],
    outputs: Mapping[str, str],
    means: _Means,
    lowering: Expansion | None,
    excess: Callable[[], str],
) -> tuple[Matching, tuple[set[Key], set[Key]]]:
    """A try, and the operators at which the graphs part; all whose results one of them lacks."""

    def replaced(node: Node) -> Graph | None:
        if node.op in INEXACT:
            return INEXACT[node.op](node)
        return None if is_core(node.op) else decomposition(node, [])

    def expansion(node: Node) -> Graph | None:
        return replaced(node) if node.op in means.expanded else None

    def lowered(node: Node) -> Graph | None:
        return lowering(node) if lowering is not None and node.op in means.lowered else None

    if means.picks:
        numbering = Picking(m, number_loop, replaced, lowering or _nothing, means.unroll)
        numbering.lowered = means.lowered
    else:
        numbering = Watched(m, number_loop, expansion, lowered, means.unroll)
    numbering.excess = excess
    numbering.budget = max(numbering.budget, _TIMES * sum(1 for graph in (a, b) for _ in graph.walk()))
    numbering.expanded, numbering.forms, numbering.before = means.expanded, means.forms, means.before
    terms: list[dict[Value, Term]] = [{}, {}]
    for side in (1, 0) if means.picks else (0, 1):
        numbering.turn_to(side)
        terms[side] = numbering.graph((a, b)[side], given[side])
    terms_a, terms_b = terms
    seen_a, seen_b = numbering.seen
    means.before = seen_a.terms if means.picks else set()
    results_a = {value.name: terms_a[value] for value in a.outputs}
    results_b = {value.name: terms_b[value] for value in b.outputs}
    pairs = {name: (results_a.get(name), results_b.get(outputs.get(name, ""))) for name in results_a}
    bad = numbering.contradicted
    proved = bad is None and bool(pairs) and all(one is not None and one is other for one, other in pairs.values())
    found = Matching(proved, pairs, (terms_a, terms_b), m.table, set(means.expanded), graphs=(a, b))
    found.bodies = numbering.bodies
    found.numbering = numbering
    rounds = {op for op in means.expanded if seen_a.of(op) != seen_b.of(op)}
    found.lemmas = [
        lemma for key, lemma in numbering.lemmas.items() if any(key[:2]) or means.picks or lemma[0].op in rounds
    ]
    found.why = "" if bad is None else f"operands of {bad} contradict each other"
    return found, (seen_a.parts(seen_b) | seen_b.parts(seen_a), seen_a.lacks(seen_b) | seen_b.lacks(seen_a))


def _nothing(node: Node) -> Graph | None:
    """What stands for an operator of which a converter writes nothing else."""
    return None


def _narrower(a: Graph, b: Graph, pairs: Mapping[str, str]) -> str:
    """Which input of B is declared so that it takes less than A's does, or something else; "" if there is none."""
    types_b = {value.name: value.type for value in b.inputs}
    same: dict[str, int | str | tuple[str, int]] = {}  # symbol of B -> A's size there
    for value in a.inputs:
        first, second = value.type, types_b.get(pairs.get(value.name, ""))
        if not isinstance(first, TensorType) or not isinstance(second, TensorType):
            continue
        if first.dtype is not second.dtype:
            return f"input {value.name!r} is of {first} in one and of {second} in the other"
        for axis, (old, new) in enumerate(zip(first.shape or (), second.shape or (), strict=False)):
            size = old if isinstance(old, int | str) else (value.name, axis)
            if isinstance(new, str) and same.setdefault(new, size) != size:
                return f"B's inputs have one size {new!r} where A's may have several"
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
    """A term for each input of A, and the same for B's inputs of the names that belong to them.

    Sizes that A declares with one symbol are one; see `_narrower` for those of B.
    """
    types_b = {value.name: value.type for value in b.inputs}
    by_name: dict[str, Term] = {}
    terms_a: list[Term] = []
    symbols: dict[str, Size] = {}
    for value in a.inputs:
        name = pairs.get(value.name)
        if name is None and value.data is not None:
            terms_a.append(m.table.constant(value.data))
            continue
        type = value.type if name is None else merge(value.type, types_b.get(name))
        term = _input(m, f"{value.name}", type)
        if isinstance(value.type, TensorType):
            _share_sizes(term, value.type, symbols)
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


def _share_sizes(term: Term, declared: TensorType, symbols: dict[str, Size]) -> None:
    """Let sizes of inputs be one that are declared with one symbol."""
    if term.shape is None or declared.shape is None or len(term.shape) != len(declared.shape):
        return
    pairs = zip(term.shape, declared.shape, strict=True)
    term.shape = tuple(
        symbols.setdefault(dim, size) if isinstance(dim, str) and not isinstance(size, int) else size
        for size, dim in pairs
    )
