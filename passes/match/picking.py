"""Numbering that notes what it has met, and numbering a graph so that it meets what another one has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..graph import Node
from ..rewrite import Key
from .numbering import Numbering
from .readings import read
from .terms import Contradiction, Term

_WAYS = ((True, False), (True, True), (False, False))
"""What may stand for an operator: see the arguments of `Numbering.replaced`."""
_DEEPEST = 2
"""Operators within what may stand for one, of which that is tried again."""


@dataclass
class Seen:
    """What was numbered of one graph: all terms, and each operator with its operands and results."""

    terms: set[Term | None] = field(default_factory=lambda: {None})
    nodes: set[tuple[Key, tuple[Term | None, ...], tuple[Term, ...]]] = field(default_factory=set[Any])

    def parts(self, other: Seen) -> set[Key]:
        """The operators whose operands the other graph has, too, but not their results."""
        return {
            op
            for op, operands, results in self.nodes
            if not other.terms.issuperset(results) and other.terms.issuperset(operands)
        }

    def of(self, op: Key) -> set[Any]:
        """Operands and results of all applications of an operator."""
        return {one[1:] for one in self.nodes if one[0] == op}

    def lacks(self, other: Seen) -> set[Key]:
        """The operators with results that the other graph hasn't."""
        return {op for op, _, results in self.nodes if not other.terms.issuperset(results)}


@dataclass
class Watched(Numbering):
    """Numbering that notes of each side which terms stand for which operators, bodies included."""

    seen: list[Seen] = field(default_factory=lambda: [Seen(), Seen()])

    def node(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        terms = super().node(node, operands)
        self.seen[self.side].terms.update(operands, terms)
        if not node.regions:
            self.seen[self.side].nodes.add((node.op, operands, tuple(terms)))
        return terms


@dataclass
class Picking(Watched):
    """Of each operator of A that whose results B has: itself, or what stands for it. B is numbered first.

    Attributes:
        lowered, expanded: operators of A that are replaced where B has nothing that they may be; of B, the latter are.
    """

    lowered: set[Key] = field(default_factory=set[Key])
    expanded: set[Key] = field(default_factory=set[Key])
    _tries: int = 0

    def of(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        made: list[Term] | None = None
        if not self.side:
            itself = read(self.m, node, operands)
            if self._is_theirs(node, itself):
                return itself
            for way in _WAYS if self._tries < _DEEPEST else ():
                made = self._tried(node, operands, *way)
                if made is not None:
                    return made
            made = self.replaced(node, operands, True) if node.op in self.lowered else None
        if made is None and node.op in self.expanded:
            made = self.replaced(node, operands, False)
        return read(self.m, node, operands) if made is None else made

    def _tried(
        self, node: Node, operands: tuple[Term | None, ...], lowered: bool, open_sizes: bool
    ) -> list[Term] | None:
        """The results of what stands for an operator, if B has them; else nothing stays of it."""
        mine, self.seen[0], contradicted = self.seen[0], Seen(), self.contradicted
        lemmas, regions = len(self.lemmas), len(self._regions)
        self._tries += 1
        try:
            made = self.replaced(node, operands, lowered, open_sizes)
        except Contradiction:
            made = None
        self._tries -= 1
        tried, self.seen[0] = self.seen[0], mine
        if made is not None and self._is_theirs(node, made):
            mine.terms |= tried.terms
            mine.nodes |= tried.nodes
            return made
        self.contradicted = contradicted
        while len(self.lemmas) > lemmas and len(self._regions) == regions:  # what is known of regions rests on lemmas
            self.lemmas.popitem()
        return None

    def _is_theirs(self, node: Node, found: list[Term]) -> bool:
        return all(term in self.seen[1].terms for value, term in zip(node.outputs, found, strict=False) if value.name)
