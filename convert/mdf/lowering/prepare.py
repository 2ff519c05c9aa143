"""A hub graph -> one of operators that have an expression, and of loops.

- An If is both its branches, and a choice between what they give. An operator in a branch that may fail on values which
  are meant for the other branch gives zeros there (its guard is a captured value); a loop in a branch doesn't run.
- A loop in a loop is its passes one after the other where these are certain and very few.
- What has no expression of its own is composed of what has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from ....passes.constant_analysis import static_array, static_branch
from ....passes.constants import constant_node_data
from ....passes.core import is_core
from ....passes.decompose import recurrent
from ....passes.decompose.library import by_rule, inlined
from ....passes.errors import Unsupported
from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.hub import HUB
from ....passes.infer import widen
from ....passes.legalize import decomposed
from ....passes.loop import DOMAIN, Captured, Condition, Loop, Slot
from ....passes.preconditions import required
from ....passes.refusals import raise_collected, refuse
from ....passes.rewrite import Builder, Rewriter, Rules
from ....passes.structure import preparation
from ....passes.structure.simplify import RemoveDead, Simplify
from ....passes.structure.unroll import unrolled, without_passes
from ....passes.tensor import TensorData
from ....passes.types import DType
from ... import folding
from . import composed
from .loop_expressions import passes_of
from .scope import EXPRESSIONS, SELECT, expressed
from .terms import Term, tensor_of, type_name

_DOMAIN = "mdf"
_MOST_UNROLLED = 3  # passes of a loop in a loop
_MOST_NODES = 20  # operators of its body

_TOTAL = frozenset([name for name in EXPRESSIONS if name not in ("Compress", "Gather", "Pow", "Range")])
"""Operators that give something for any values of inputs of the right types and shapes."""

COMPOSED: Rules = composed.RULES


@dataclass(slots=True)
class _Context:
    """Where the rewriting is: inside a loop; in a branch, under which condition."""

    inside: bool = False
    guard: Value | None = None

    @contextmanager
    def within(self, inside: bool, guard: Value | None) -> Iterator[None]:
        before = self.inside, self.guard
        self.inside, self.guard = inside, guard
        try:
            yield
        finally:
            self.inside, self.guard = before


def prepared(graph: Graph) -> Graph:
    """The graph as it is to be written, with what the report should say of it; the old one stays as it was.

    Raises:
        Unsupported: a type or an operator isn't supported.
    """
    source = graph.copy()
    for value in source.inputs:
        value.data = None  # a default is no constant
    source.constants = [value for value in source.constants if value.data is not None]
    source, notes = preparation.prepared(source, "MDF", _check_interface, recurrent.RULES)
    made = Rewriter(HUB, _RULES, fallback=_plain, context=_Context(), notes=notes).run(source)
    Simplify()(made)
    RemoveDead()(made)
    _check_types(made)
    made.meta[NOTES] = notes
    return made


def _check_interface(graph: Graph) -> None:
    for value in graph.inputs:
        where = f"input {value.name!r}"
        found = tensor_of(where, value.type)
        type_name(found.dtype, where)
        if found.static_shape is None:
            refuse(Unsupported(where, f"it is {found}, whose sizes MDF must know (--shape)"))
    for value in graph.outputs:
        tensor_of(f"output {value.name!r}", value.type)
    raise_collected()


def _check_types(graph: Graph) -> None:
    for inner in graph.graphs():
        for value in (*inner.inputs, *inner.constants, *(one for node in inner.nodes for one in node.outputs)):
            if value.name:
                where = value.producer or repr(value.name)
                type_name(tensor_of(where, value.type).dtype, where)


# operators ----------------------------------------------------------------------------------------


def _plain(op: Builder, node: Node) -> Sequence[Value]:
    """An operator: its result where that is known, itself where it has an expression, or what stands for it."""
    folding.refine(node)
    known = _folded(op, node)
    if known is not None:
        return known
    try:
        _check(node)
    except Unsupported as refusal:
        return _composed(op, node, refusal)
    guard = op.rewriter.context.guard
    if guard is not None and not _is_safe(node):
        node.inputs, node.captured = [*node.inputs, guard], 1
    return op.copy(node)


def _composed(op: Builder, node: Node, refusal: Unsupported) -> Sequence[Value]:
    """What stands for an operator that has no expression."""
    own = by_rule(node, op.rewriter.notes, COMPOSED)
    if own is not None:
        return inlined(op, node, own)
    try:
        return decomposed(op, node, "MDF")
    except Unsupported as reason:
        has_expression = not node.domain and node.op_type in EXPRESSIONS
        raise refusal if has_expression or is_core(node.op) else reason from None


def _folded(op: Builder, node: Node) -> list[Value] | None:
    """The results where they are known already; None otherwise."""
    if node.op == ("", "Constant"):
        data = constant_node_data(node)
        return None if data is None else [op.graph.add_constant(data, op.claim(node.output.name))]
    if node.op in (("", "Shape"), ("", "Size")):
        sizes = static_array(node.output)
        return None if sizes is None else [op.graph.add_constant(TensorData.of(sizes), op.claim(node.output.name))]
    return folding.folded(op, node)


def _check(node: Node) -> None:
    """
    Raises:
        Unsupported: the operator has no expression, or not for these inputs.
    """
    if node.domain or node.op_type not in EXPRESSIONS:
        raise Unsupported(node, f"{node.op_type} can't be expressed in MDF")
    expressed(node, [None if value is None else Term(f"x{index}") for index, value in enumerate(node.inputs)])


def _is_safe(node: Node) -> bool:
    """Whether an operator gives something, and something of a known shape, whatever the numbers are."""
    shapes = (value.tensor.static_shape for value in (*node.inputs, *node.outputs) if value is not None)
    return node.op_type in _TOTAL and all(shape is not None for shape in shapes)


# branches -----------------------------------------------------------------------------------------


def _branch(op: Builder, node: Node) -> list[Value]:
    """Both branches, each under its condition, and a choice for every result."""
    context: _Context = op.rewriter.context
    condition, captured = required(node, 0), node.captures
    taken = static_branch(node)
    if taken is not None:
        return op.inline(taken, captured)
    made: list[list[Value]] = []
    for name, holds in (("then", condition), ("else", op.Not(condition))):
        guard = holds if context.guard is None else op.And(context.guard, holds)
        with context.within(context.inside, guard):
            made.append(op.inline(node.regions[name], captured))
    return [_chosen(op, condition, then, other) for then, other in zip(*made, strict=True)]


def _chosen(op: Builder, condition: Value, then: Value, other: Value) -> Value:
    if then is other:
        return then
    types = [widen(then.type, other.type)]
    return op.call(SELECT, condition, then, other, _domain=_DOMAIN, _version=1, _types=types)


# loops --------------------------------------------------------------------------------------------


def _loop(op: Builder, node: Node) -> Sequence[Value]:
    """A loop with its body rewritten; none where it certainly never runs; its passes where they must be written out."""
    context: _Context = op.rewriter.context
    if passes_of(node).trips.most == 0:
        return without_passes(op, node)
    made = None
    if context.inside and len(list(islice(node.regions["body"].walk(), _MOST_NODES + 1))) <= _MOST_NODES:
        made = unrolled(op, node, _MOST_UNROLLED)
    return _rewritten(op, node) if made is None else made


def _rewritten(op: Builder, node: Node) -> Sequence[Value]:
    """The loop with its body rewritten, constants around it inside."""
    context: _Context = op.rewriter.context
    view, body = Loop(node), op.region("body")
    slots: list[Slot] = []
    operands: list[Value] = []
    arguments: list[Value] = []
    for entry in view.entries:
        data = entry.operand.data if entry.operand is not None else None
        if isinstance(entry.slot, Captured) and data is not None:
            arguments.append(body.graph.add_constant(data, entry.operand.name if entry.operand else ""))
            continue
        if isinstance(entry.slot, Condition):
            slots.append(Condition())
            arguments += [body.const(True, DType.BOOL)] if entry.body_input is not None else []
            continue
        slots.append(entry.slot)
        if entry.operand is not None:
            operands.append(entry.operand)
        if entry.body_input is not None:
            arguments.append(body.graph.add_input(body.claim(entry.body_input.name), entry.body_input.type))
    guard = context.guard
    with context.within(True, None):
        body.graph.outputs = body.inline(view.body, arguments)
    if not node.outputs:
        return []
    types = [value.type for value in node.outputs]
    made = op.loop(view.trip, view.initial_condition, slots, operands, body.graph, types)
    twin = made[0].producer
    if guard is not None and twin is not None:
        twin.inputs, twin.captured = [*twin.inputs, guard], 1
    return made


_RULES = {(DOMAIN, "If"): [_branch], (DOMAIN, "Loop"): [_loop]}
