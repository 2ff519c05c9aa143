"""HLO -> the hub: the passes before the walk, every rule, and the walk that applies them.

A module for each family of operations. Before they see a graph, what is called stands where it is called and opcodes
that stand for others are written out (`canonical.py`), complex numbers are pairs of real ones (`complex_pairs.py`), and
loops are canonical (`while_loops.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ....passes.build import shape_vector
from ....passes.errors import Unsupported
from ....passes.garbage import bulk
from ....passes.graph import NOTES, Graph, Node, Value
from ....passes.hub import HUB, check_types
from ....passes.loop import DOMAIN as LOOPS
from ....passes.naming import drop_unused_constants, name_outputs
from ....passes.pipeline import Pipeline
from ....passes.rewrite import Builder, Rewriter, Rule, combine
from ....passes.sizes import dims_of
from ....passes.structure.simplify import RemoveDead
from ....passes.structure.slots import PruneSlots
from ....passes.tensor import TensorData
from ....passes.types import TensorType
from ..dialect import form_of, origin_of
from . import (
    batch_norm,
    branches,
    collectives,
    convert,
    convolution,
    custom_calls,
    dot,
    elementwise,
    fft,
    gather,
    integers,
    random,
    reduce,
    reduce_window,
    scatter,
    select_scatter,
    shape,
    sort,
)
from .canonical import canonical
from .collectives import HOST, refuse_more_devices
from .complex_pairs import split_complex
from .composed import RULES as COMPOSED
from .composed import compose
from .support import called
from .while_loops import recover_loops

_MEMORY = ("alias_passthrough_params", "buffer_donor", "input_output_alias")

RULES = combine(
    batch_norm.RULES,
    branches.RULES,
    collectives.RULES,
    COMPOSED,
    convert.RULES,
    convolution.RULES,
    custom_calls.RULES,
    dot.RULES,
    elementwise.RULES,
    fft.RULES,
    gather.RULES,
    integers.RULES,
    reduce_window.RULES,
    random.RULES,
    reduce.RULES,
    scatter.RULES,
    select_scatter.RULES,
    shape.RULES,
    sort.RULES,
)


def _sized(build: Rule) -> Rule:
    """The rule, whose results have the sizes that they should: what is left of two operands may be the smaller one."""

    def checked(op: Builder, node: Node) -> Value | Sequence[Value] | None:
        made = build(op, node)
        if made is None:
            return None
        values = [made] if isinstance(made, Value) else list(made)
        for index, (value, old) in enumerate(zip(values, node.outputs, strict=False)):
            if isinstance(value.type, TensorType) and isinstance(old.type, TensorType):
                here, there = dims_of(value.type.shape), dims_of(old.type.shape)
                if here is not None and there is not None and here != there and _spreads(here, there):
                    values[index] = op.Expand(value, shape_vector(op, there), _types=[old.type])
        return values

    return checked


def _spreads(here: Sequence[int | str], there: Sequence[int | str]) -> bool:
    """Whether ONNX broadcasts the one shape to the other."""
    missing = len(there) - len(here)
    return missing >= 0 and all(size in (1, wanted) for size, wanted in zip(here, there[missing:], strict=True))


def _refuse(op: Builder, node: Node) -> None:
    raise Unsupported(node, f"HLO's {node.op_type} can't be expressed in ONNX")


def raise_graph(graph: Graph) -> Graph:
    """A hub graph of an HLO graph; the old one stays as it was.

    Raises:
        Unsupported: an operation, one of its attributes, or an element type can't be expressed in ONNX.
        InvalidModel: an operation contradicts itself.
    """
    with bulk():
        refuse_more_devices(graph)
        plain = canonical(graph)
        plain = split_complex(plain)
        plain = plain.copy() if plain is graph else plain
        settled = _as_inputs(plain, form_of(graph).settled)
        RemoveDead()(plain)
        compose(plain)
        plain = recover_loops(plain)
        rules = {**{key: list(map(_sized, rows)) for key, rows in RULES.items()}, (LOOPS, "Loop"): [Builder.copy]}
        rewriter = Rewriter(HUB, rules, _refuse)
        new = rewriter.run(plain)
        for value in [value for value in new.inputs if value.name in settled]:
            new.settle_input(value, settled[value.name], named=True)
        outputs = form_of(graph).outputs
        if len(outputs) == len(new.outputs):
            name_outputs(rewriter, new, outputs)
        steps = Pipeline((RemoveDead(), PruneSlots()))
        while steps(new).modified:
            pass
        drop_unused_constants(new)
    check_types(new)
    notes = dict.fromkeys((*graph.meta.get(NOTES, ()), *rewriter.notes, *_left_out(graph)))
    if notes:
        new.meta[NOTES] = list(notes)
    return new


def _as_inputs(graph: Graph, names: Collection[str]) -> dict[str, TensorData]:
    """Make constants inputs, so that no rule computes with them: they shall be found again in what becomes of a model.

    Returns:
        Their data.
    """
    found = {value.name: value for value in graph.constants if value.name in names}
    data = {name: value.data for name, value in found.items() if value.data is not None}
    graph.constants = [value for value in graph.constants if value.name not in found]
    for value in found.values():
        value.data = None
        graph.inputs.append(value)
    return data


def _left_out(graph: Graph) -> Iterator[str]:
    """What a module tells XLA of memory and devices, and calls that give the model nothing: no number changes."""
    yield from (f"{name} is for XLA alone" for name in _MEMORY if name in form_of(graph).attributes)
    for inner in (graph, *graph.functions.values()):
        for _, node in inner.walk():
            if "sharding" in origin_of(node).attributes:
                yield "shardings are for XLA alone"
            if node.op_type in HOST:
                yield f"{node!r}: there is no peer to communicate with: it is left out"
            if node.op_type == "custom-call" and all(value.type is None for value in node.outputs):
                yield f"{node!r}: {called(node)} returns nothing to the model (it may print) and is left out"
