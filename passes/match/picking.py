"""Numbering that notes what it has met, and numbering a graph so that it meets what another one has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..graph import Node
from ..rewrite import Key
from .forms import MOST_FORMS
from .inexact import REORDERED
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
    """Numbering that notes of each side which terms stand for which operators, bodies included.

    Attributes:
        expanded: operators that are replaced by what they are made of.
        forms: the usual form of operators of B that are made of several things (`other_forms`).
        before: terms of A in the round before, where B is numbered first.
    """

    seen: list[Seen] = field(default_factory=lambda: [Seen(), Seen()])
    expanded: set[Key] = field(default_factory=set[Key])
    forms: dict[Key, int] = field(default_factory=dict[Key, int])
    before: set[Term | None] = field(default_factory=set[Any])
    _tries: int = 0

    def node(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        terms = super().node(node, operands)
        self.seen[self.side].terms.update(operands, terms)
        if not node.regions:
            self.seen[self.side].nodes.add((node.op, operands, tuple(terms)))
        return terms

    def of(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        made = self.replaced(node, operands, True)
        if made is None:
            made = self._before_a_move(node, operands)
        if made is None and self.side:
            made = self._in_a_form_of_theirs(node, operands)
        return super().of(node, operands) if made is None else made

    def _before_a_move(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term] | None:
        """A sum or product of floats of what its operand is without the Transpose that moves it."""
        x = operands[0] if node.op in REORDERED and node.op in self.expanded else None
        if x is None or x.op != "Transpose" or x.dtype is None or not x.dtype.is_float:
            return None
        return self.replaced(node, operands, False, form=x.attribute("perm"))

    def _in_a_form_of_theirs(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term] | None:
        """What an operator of B is made of, in the form that has A's results, else in the usual one."""
        if node.op not in self.expanded:
            return None
        usual = self.forms.get(node.op, 0)
        for form in (usual, *(one for one in range(MOST_FORMS) if one != usual)):
            made, is_theirs = self._tried(node, partial(self.replaced, node, operands, False, form=form))
            if made is None and form != usual:
                break
            if made is not None and is_theirs:
                self.forms[node.op] = form
                return made
        made = self.replaced(node, operands, False, form=usual)
        return self.replaced(node, operands, False) if made is None else made

    def _tried(self, node: Node, make: Callable[[], list[Term] | None]) -> tuple[list[Term] | None, bool]:
        """The results of what stands for an operator, and whether the other graph has them; else nothing stays."""
        mine, self.seen[self.side], contradicted = self.seen[self.side], Seen(), self.contradicted
        lemmas, regions = len(self.lemmas), len(self._regions)
        self._tries += 1
        try:
            made = make()
        except Contradiction:
            made = None
        self._tries -= 1
        tried, self.seen[self.side] = self.seen[self.side], mine
        if made is not None and self._is_theirs(node, made):
            mine.terms |= tried.terms
            mine.nodes |= tried.nodes
            return made, True
        self.contradicted = contradicted
        while len(self.lemmas) > lemmas and len(self._regions) == regions:  # what is known of regions rests on lemmas
            self.lemmas.popitem()
        return made, False

    def _is_theirs(self, node: Node, found: list[Term]) -> bool:
        theirs = self.seen[not self.side].terms
        wanted = [term for value, term in zip(node.outputs, found, strict=False) if value.name]
        return all(term in theirs or (self.side == 1 and term in self.before) for term in wanted)


@dataclass
class Picking(Watched):
    """Of each operator of A that whose results B has: itself, or what stands for it. B is numbered first.

    Attributes:
        lowered, expanded: operators of A that are replaced where B has nothing that they may be; of B, the latter are.
    """

    lowered: set[Key] = field(default_factory=set[Key])

    def of(self, node: Node, operands: tuple[Term | None, ...]) -> list[Term]:
        made: list[Term] | None = None
        if not self.side:
            itself = read(self.m, node, operands)
            if self._is_theirs(node, itself):
                return itself
            for way in _WAYS if self._tries < _DEEPEST else ():
                made, is_theirs = self._tried(node, partial(self.replaced, node, operands, *way))
                if made is not None and is_theirs:
                    return made
            made = self.replaced(node, operands, True) if node.op in self.lowered else None
        if made is None:
            made = self._before_a_move(node, operands)
        if made is None and self.side:
            made = self._in_a_form_of_theirs(node, operands)
        elif made is None and node.op in self.expanded:
            made = self.replaced(node, operands, False)
        return read(self.m, node, operands) if made is None else made
