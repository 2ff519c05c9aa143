"""A proof as a file: the terms, which term each value has, and the induction over each loop.

JSON. A size is an integer or a list of [factor, [term, ...]]; a term is its index in `terms`, operands before what is
computed from them.

    {"certificate": 1,
     "terms": [{"op", "attributes": {name: value}, "operands": [term | null], "dtype", "shape": [size] | null,
                "elements": [size], "element": term, "most": [size], "data": {...}}, ...],
     "groups": {group: {"passes": size, "iteration": term, "entered": term | null, "condition": term | null,
                        "classes": [{"initial": term, "variable": term, "next": term} | null]}},
     "a": graph, "b": graph}
    graph  {"inputs": [term | null], "nodes": [node, ...]}      in topological order; branches without inputs
    node   {"outputs": [term, ...], "then": graph, "else": graph}           of a choice
           {"outputs": [term, ...], "group": group, "carried": [class | null], "body": graph}      of a loop

Of a loop without a group nothing is said: its passes are few and certain.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Graph, Node, Value
from ..loop import is_if, is_loop
from ..types import DType, OptionalType, SequenceType, TensorType
from .groups import Class, Group, Member
from .matching import Matching
from .numbering import Numbering
from .polynomials import Size
from .results import FINAL
from .stacks import STACK
from .terms import CONSTANT, INPUT, INTEGERS, PASS, PASSES, VARIABLE, Term

Json = dict[str, Any]
_UNNAMED = (INPUT, VARIABLE, PASS)
"""Terms that stand for themselves."""
_TYPED = (INPUT, VARIABLE, FINAL, STACK, INTEGERS, CONSTANT)
_LARGEST = 1 << 16
"""Bytes of a constant that is written out; of larger ones the digest is, as the files have them."""


def certificate(matching: Matching) -> Json:
    """The proof that a matching found; only of one that holds, and takes nothing for what a converter writes."""
    assert matching.proved and not matching.lemmas and matching.graphs is not None and matching.numbering is not None
    writer = _Writer(matching.numbering)
    sides = [
        writer.graph(graph, [terms.get(value) for value in graph.inputs], terms)
        for graph, terms in zip(matching.graphs, matching.terms, strict=True)
    ]
    writer.write_groups()
    return {
        "certificate": 1,
        "terms": writer.terms,
        "groups": writer.groups,
        "a": sides[0],
        "b": sides[1],
    }


class _Writer:
    def __init__(self, numbering: Numbering) -> None:
        self.numbering = numbering
        self.table = numbering.m.table
        self.terms: list[Json] = []
        self.groups: dict[str, Json] = {}
        self._index: dict[Term, int] = {}
        self._met: dict[int, Group] = {}
        self._used: set[tuple[int, int | None]] = set()  # group and class

    # graphs ---------------------------------------------------------------------------------------

    def graph(self, graph: Graph, inputs: Sequence[Term | None] | None, terms: dict[Value, Term]) -> Json:
        found: Json = {"nodes": [self._node(node, terms) for node in graph.topological()]}
        if inputs is not None:
            found["inputs"] = [None if term is None else self.term(term) for term in inputs]
        return found

    def _node(self, node: Node, terms: dict[Value, Term]) -> Json:
        found: Json = {"outputs": [self.term(terms[value]) for value in node.outputs]}
        operands = tuple(None if value is None else terms[value] for value in node.inputs)
        if is_if(node):
            for name in ("then", "else"):
                region = node.regions[name]
                found[name] = self.graph(region, None, self.numbering.graph(region, operands[1:]))
        elif is_loop(node):
            known = self.numbering.loops.get((node, operands))
            if isinstance(known, Member):
                body = node.regions["body"]
                found["group"] = str(known.group.index)
                found["carried"] = known.classes
                found["body"] = self.graph(
                    body, [known.body.terms.get(value) for value in body.inputs], known.body.terms
                )
                self._met[known.group.index] = known.group
                self._used.update((known.group.index, at) for at in known.classes)
        return found

    def write_groups(self) -> None:
        for index, group in self._met.items():
            entered = group.runs[0][0].entered
            found = self.groups[str(index)] = {
                "passes": self.size(group.passes),
                "iteration": self.term(group.iteration),
                "condition": None if group.condition is None else self.term(group.condition),
                "classes": [
                    self._class(one) if (index, at) in self._used else None for at, one in enumerate(group.classes)
                ],
            }
            if group.condition is not None:
                found["entered"] = None if entered is None else self.term(entered)

    def _class(self, one: Class) -> Json:
        return {
            "initial": self.term(one.initial),
            "variable": self.term(one.variable),
            "next": self.term(one.next),
        }

    # terms ----------------------------------------------------------------------------------------

    def size(self, size: Size) -> int | list[Any]:
        if isinstance(size, int):
            return size
        return [[factor, [self.term(atom) for atom in monomial]] for monomial, factor in size.monomials]

    def term(self, term: Term) -> int:
        """The index of a term, written with all that it needs."""
        if term in self._index:
            return self._index[term]
        named = () if term.op in _UNNAMED else term.attributes
        found: Json = {"op": term.op, "attributes": {name: _plain(value) for name, value in named}}
        found["operands"] = [None if operand is None else self.term(operand) for operand in term.operands]
        if term.op == STACK:
            assert term.element is not None
            found["element"] = self.term(term.element)
        if term.elements or term.op == INTEGERS:
            found["elements"] = [self.size(one) for one in term.elements]
        if term.op in _TYPED:
            found["dtype"] = None if term.dtype is None else term.dtype.value
        if term in self._index:  # a size of an operand, which is written with that
            return self._index[term]
        index = self._index[term] = len(self.terms)  # sizes may refer to the term itself
        self.terms.append(found)
        if term.op in _TYPED:
            found["shape"] = None if term.shape is None else [self.size(size) for size in term.shape]
        if term.op == PASSES:
            found["most"] = [self.size(most) for most in self.table.most(term)]
        if term.op == CONSTANT:
            assert term.data is not None
            if term.data.nbytes <= _LARGEST or term.data.dtype is DType.STRING:
                found["attributes"], found["data"] = {}, _data(term.data.numpy())
                del found["shape"]
            else:
                found["attributes"] = {"content": term.attribute("content")}
        return index


def _data(array: np.ndarray[Any, Any]) -> Json:
    if array.dtype == object:
        return {"texts": [str(one) for one in array.reshape(-1)], "shape": list(array.shape)}
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8).tobytes()
    return {"bytes": base64.b64encode(raw).decode(), "shape": list(array.shape)}


def _plain(value: Any) -> Any:
    if isinstance(value, DType):
        return {"dtype": value.value}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    return repr(value) if isinstance(value, Term | SequenceType | OptionalType | TensorType) else value
