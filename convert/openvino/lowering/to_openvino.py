"""Hub -> OpenVINO: every rule, and the walk that applies them."""

from __future__ import annotations

from functools import partial

from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.rewrite import Builder, Rewriter, combine
from ....passes.structure.preparation import prepared
from ..build import OPENVINO, LayerBuilder
from ..dialect import DOMAIN
from ..interface import put_notes
from ..names import add_aliases, align_results, name_anew, spell_names
from ..origin import ORIGIN
from ..text_marks import OPERATORS, marking
from . import (
    branches,
    elementwise,
    image,
    index,
    integers,
    large_integers,
    lower_loop,
    nn,
    quantize,
    random,
    recurrent,
    reduce,
    shape,
    text,
)
from .admission import check_interface, check_types, limits
from .constant_loops import hide_constants
from .constants import check_constants, separate_constants
from .context import Context
from .declared_ranks import settle_ranks
from .functions import by_function, folded
from .fusions import part_absolutes, part_gathers, part_products, part_reductions, part_slices
from .prune import prune
from .restore import restore
from .rt_info import mark
from .states import assign_variables, read_variables

_FAMILIES = (
    *(branches, text, integers, large_integers, elementwise),  # integers before those that are rules for all types
    *(image, index, lower_loop, nn, quantize, random, recurrent, reduce, shape),
)
_MARKED = {("", name) for name in OPERATORS}
_RULES = combine(*(family.RULES for family in _FAMILIES))
RULES = {key: [folded, *map(marking, rules)] if key in _MARKED else [folded, *rules] for key, rules in _RULES.items()}
"""The rules by operator. What has none goes through its function body, where ONNX defines one."""


def _without_rule(op: Builder, node: Node) -> list[Value]:
    if node.domain == DOMAIN or ORIGIN in (node.meta or {}):  # a layer that was restored, of whatever version
        return list(op.copy(node))
    made = folded(op, node)
    return by_function(op, node) if made is None else made


def lower_graph(graph: Graph, *, given: bool = False) -> Graph:
    """A graph of dialect "openvino" that computes what a hub graph computes; the old one stays as it was, unless it is
    given away.

    An input that has a value is a constant afterwards: IR has no defaults. `meta["notes"]` says so, and whatever
    else the report should say.

    Raises:
        Unsupported: OpenVINO, or its CPU, can't express a node or a type; nothing is approximated.
    """
    source = graph if given else graph.copy()
    renamed = spell_names(source)
    put_notes(source)
    align_results(source)
    assigned = read_variables(source)
    source, resolved = prepared(source, "OpenVINO", check_interface)
    settle_ranks(source)
    restore(source)
    check_types(source)
    context = Context()
    context.look_at(source)
    rewriter = Rewriter(OPENVINO, RULES, fallback=_without_rule, context=context)
    lowered = rewriter.run(source, LayerBuilder)
    prune(lowered)
    builder = partial(LayerBuilder, rewriter)
    part_absolutes(lowered, builder)
    part_products(lowered, builder, context)
    part_reductions(lowered, builder)
    part_slices(lowered, builder)
    part_gathers(lowered, builder)
    hide_constants(lowered, builder, context)
    check_constants(lowered)
    separate_constants(lowered, rewriter.names)
    lowered.meta[NOTES] = [
        *lowered.meta.get(NOTES, ()),
        *renamed,
        *resolved,
        *rewriter.notes,
        *limits(source, context.rounded),
    ]
    lowered.meta[NOTES] += rewriter.workarounds.notes()
    lowered.meta[NOTES] += mark(lowered, context)
    fixed = [value.name for value in lowered.inputs if value.data is not None]
    if fixed:
        lowered.meta[NOTES].append(f"inputs with a default are constants: {', '.join(fixed)}")
    lowered.inputs = [value for value in lowered.inputs if value.data is None]
    assign_variables(lowered, assigned)
    name_anew(lowered)
    add_aliases(lowered, rewriter.aliases)
    return lowered
