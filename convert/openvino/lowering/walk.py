"""Hub -> OpenVINO: every rule, and the walk that applies them."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer
from ....passes.pipeline import Pipeline
from ....passes.rewrite import Builder, Rewriter, combine
from ....passes.structure.sequences import SequencesToStacks
from ....passes.structure.simplify import RemoveDead
from ....passes.structure.slots import PruneSlots
from ....passes.types import DType, TensorType
from ..build import OPENVINO
from ..types import ELEMENT_TYPES
from . import (
    branches,
    elementwise,
    image,
    index,
    loops,
    nn,
    norm,
    quantize,
    random,
    recurrent,
    reduce,
    shape,
)
from .context import Context
from .fold import folded
from .functions import by_function
from .prune import prune

NOTES = "notes"

_RULES = combine(
    branches.RULES,
    elementwise.RULES,
    image.RULES,
    index.RULES,
    loops.RULES,
    nn.RULES,
    norm.RULES,
    quantize.RULES,
    random.RULES,
    recurrent.RULES,
    reduce.RULES,
    shape.RULES,
)
RULES = {key: [folded, *rules] for key, rules in _RULES.items()}
"""The rules by operator. What has none goes through its function body, where ONNX defines one."""


def _without_rule(op: Builder, node: Node) -> list[Value]:
    made = folded(op, node)
    return by_function(op, node) if made is None else made


def lower_graph(graph: Graph) -> Graph:
    """A graph of dialect "openvino" that computes what a hub graph computes; the old one stays as it was.

    An input that has a value is a constant afterwards: IR has no defaults. `meta["notes"]` says so, and whatever
    else the report should say.

    Raises:
        Unsupported: OpenVINO, or its CPU, can't express a node or a type; nothing is approximated.
    """
    source = graph.copy()
    infer(source)
    steps = Pipeline((SequencesToStacks(), RemoveDead(), PruneSlots()))
    while steps(source).modified:
        infer(source)
    for inner in source.graphs():
        for node in inner.nodes:
            for value in (*node.inputs, *node.outputs):
                if value is not None:
                    _check_type(node, value)
    context = Context()
    context.look_at(source)
    rewriter = Rewriter(OPENVINO, RULES, fallback=_without_rule, context=context)
    lowered = rewriter.run(source)
    prune(lowered)
    lowered.meta[NOTES] = [*lowered.meta.get(NOTES, ()), *rewriter.notes]
    fixed = [value.name for value in lowered.inputs if value.data is not None]
    if fixed:
        lowered.meta[NOTES].append(f"inputs with a default are constants: {', '.join(fixed)}")
    lowered.inputs = [value for value in lowered.inputs if value.data is None]
    return lowered


def _check_type(node: Node, value: Value) -> None:
    found = value.type
    if found is None:
        return
    if not isinstance(found, TensorType):
        raise Unsupported(node, f"{value.name!r} is {found}; OpenVINO has tensors only")
    if found.dtype is DType.STRING:
        raise Unsupported(node, f"{value.name!r} is text, which OpenVINO's CPU doesn't compute with")
    if found.dtype is DType.UINT2 and value.data is None:
        raise Unsupported(node, f"{value.name!r} is of uint2, which OpenVINO's CPU doesn't compute with")
    if found.dtype is not None and found.dtype not in ELEMENT_TYPES:
        raise Unsupported(node, f"OpenVINO has no element type {found.dtype.value}")
