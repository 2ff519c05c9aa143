"""OpenVINO IR -> the hub.

A module for each family of operators; loops and branches stand in `multi_subgraph.py`, variables (ReadValue, Assign),
which become inputs and outputs, in `state.py`.

Inputs keep the names they have (a Parameter's first tensor name, else its friendly name). An output is called as its
Result says, else by the first tensor name of the value, else by the friendly name of the layer that makes it.
What the report should say stands in `graph.meta["notes"]`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from ....passes.build import Inconsistent
from ....passes.errors import InvalidModel, Unsupported
from ....passes.garbage import bulk
from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.hub import HUB, check_types
from ....passes.naming import drop_unused_constants, name_outputs, rename
from ....passes.rewrite import Builder, Rewriter, Rule, combine
from ....passes.shape_faults import broadcast_fault, reshape_fault, shape_fault
from ....passes.structure.canonical import canonicalize
from ....passes.structure.simplify import RemoveDead
from ..attribute_values import wrong_attribute
from ..dialect import META, PORT, Net, Port
from ..interface import take_notes
from ..names import ALIAS, remember_names
from ..operands import wrong_operand
from ..variables import VARIABLES
from . import (
    adaptive,
    compressed,
    conv,
    conv_special,
    ctc,
    detection,
    elementwise,
    embedding,
    image,
    index,
    internal,
    linear_algebra,
    multi_subgraph,
    priors,
    proposals,
    quantizers,
    random,
    recurrent,
    reduce,
    regions,
    shape,
    signal,
    slice,
    state,
    strings,
    suppression,
    text_operators,
)
from .declared import Believing, without_ranks, without_sizes
from .state import States, interface, variables
from .strings import drop_unpacked


def _checked(rule: Rule) -> Rule:
    """A rule whose results are counted: a file may give a layer any number of outputs."""

    def check(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        if not node.outputs:
            raise InvalidModel(f"{node!r}: it has no outputs")
        if found := wrong_attribute(node) or wrong_operand(node):
            raise InvalidModel(f"{node!r}: {found}")
        try:
            made = rule(op, node)
        except Inconsistent as error:
            raise InvalidModel(f"{node!r}: {error}") from error
        count = 1 if isinstance(made, Value) else len(made or ())
        if made is not None and count != len(node.outputs):
            raise InvalidModel(f"{node!r}: it has {len(node.outputs)} outputs, not {count}")
        if made is not None:
            op.rewriter.context.origins.record(node, made)
        return made

    return check


_FAMILIES = (
    *(compressed, quantizers),  # before those of the layers that they know the meaning of
    *(adaptive, conv, conv_special, ctc, detection, elementwise, embedding, image, index, internal, linear_algebra),
    *(multi_subgraph, priors, proposals, random, recurrent, reduce, regions, shape, signal, slice, state, strings),
    *(suppression, text_operators),
)
_TABLES = combine(*(family.RULES for family in _FAMILIES))
RULES = {key: [_checked(rule) for rule in rules] for key, rules in _TABLES.items()}


def raise_graph(graph: Graph) -> Graph:
    """A hub graph of an OpenVINO graph; the old one stays as it was.

    Raises:
        Unsupported: a layer, one of its attributes, or an element type can't be expressed in ONNX.
        InvalidModel: a layer contradicts itself.
    """
    new, states = _raised(graph)
    _remember(new, states)
    return new


def raise_canonical(graph: Graph) -> Graph:
    """As `raise_graph`, with control flow in its canonical form: loops, too, can then be told to be as in the file."""
    new, states = _raised(graph)
    if any(node.regions for node in new.nodes):
        canonicalize(new)
    _remember(new, states)
    return new


def _remember(graph: Graph, states: States) -> None:
    """Mark what the way back wants to know."""
    states.origins.mark(graph, {value: variable.id for value, variable in states.read.values()})
    remember_names(graph)
    take_notes(graph)


def _raised(graph: Graph) -> tuple[Graph, States]:
    """With the sizes that the file tells of layers, which inference can't tell of all; without them where they
    contradict what is inferred, unless a layer can't be expressed without; and without ranks where one is wrong."""
    raised, states = _raised_by(Believing, graph)
    if states.contradictions.ranks:
        raised, states = _raised_by(Builder, without_ranks(graph))
    elif states.contradictions.sizes or any(reshape_fault(node) or broadcast_fault(node) for _, node in raised.walk()):
        with contextlib.suppress(Unsupported):
            raised, states = _raised_by(Builder, without_sizes(graph))
    for _, node in raised.walk():
        if found := shape_fault(node):
            raise InvalidModel(f"{node!r}{found}")
    return raised, states


def _raised_by(builder: type[Builder], graph: Graph) -> tuple[Graph, States]:
    states = States()
    rewriter = Rewriter(HUB, RULES, internal.refuse, context=states)
    with bulk():
        new = rewriter.run(text_operators.with_text_operators(graph), builder)
        drop_unpacked(states.unpacked)
        _name_outputs(rewriter, new, _output_names(graph))
        _add_states(rewriter, new, states)
        RemoveDead()(new)  # what has become part of a quantizer
        drop_unused_constants(new)
    check_types(new)
    notes = [*rewriter.notes, *rewriter.workarounds.notes(), *_left_out(graph)]
    if notes:
        new.meta[NOTES] = notes
    return new, states


def _left_out(graph: Graph) -> Iterator[str]:
    """What the model tells OpenVINO's runtime, and no other."""
    net = graph.meta.get(META)
    for tag, _, children in net.rt_info[2] if isinstance(net, Net) and net.rt_info is not None else ():
        if tag == "runtime_options" and children:
            names = ", ".join(f"{name} {given.get('value', '')}".strip() for name, given, _ in children)
            yield f"runtime_options are for OpenVINO alone: {names}"


def _output_names(graph: Graph) -> list[str]:
    """What each output should be called."""
    net = graph.meta.get(META)
    if not isinstance(net, Net) or len(net.results) != len(graph.outputs):
        return [value.name for value in graph.outputs]
    names: list[str] = []
    for value, result in zip(graph.outputs, net.results, strict=True):
        port = (value.meta or {}).get(PORT)
        tensor = port.names if isinstance(port, Port) else None
        names.append((result.output_names or tensor or [value.name])[0])
    return names


def _name_outputs(rewriter: Rewriter, graph: Graph, names: list[str]) -> None:
    """Give every output its name, and remember which values stand for others."""
    for position, value in name_outputs(rewriter, graph, names).items():
        assert value.producer is not None
        value.producer.meta = {ALIAS: names[position]}


def _add_states(rewriter: Rewriter, graph: Graph, states: States) -> None:
    """The variables' values before the run as inputs, after it as outputs."""
    op = Builder(rewriter, graph)
    taken = {value.name for value in (*graph.inputs, *graph.outputs)}
    inputs, outputs = interface(states)
    if inputs or outputs:
        graph.meta[VARIABLES] = variables(states)
    for value, name in inputs:
        if name in taken and value.name != name:
            raise Unsupported(f"variable {name!r}", "an input or output of the model has the same name")
        rename(rewriter, graph, value, name)
    for value, name in outputs:
        if name in taken:
            raise Unsupported(f"variable {name!r}", "an input or output of the model has the same name")
        made = op.Identity(value, _types=[value.type])
        rename(rewriter, graph, made, name)
        graph.outputs.append(made)
