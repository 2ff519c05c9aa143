"""Hub -> OpenVINO, with layers computed of which nothing but constants decides.

What OpenVINO can evaluate becomes a constant while it compiles. Its CPU runs the others once, before the first
inference, and elementwise layers then put their results into that memory: from the second inference on, or the second
pass of a loop, the "constant" is what the first one left. Those are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from ...passes.errors import BackedgeError, Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.tensor import TensorData
from ...passes.types import DType
from ...runtime.executor import Executor, never_compile
from . import lowering
from .dialect import DOMAIN
from .lowering.constants import of_constants, told_sizes
from .lowering.prune import prune
from .origin import ORIGIN
from .raising.from_openvino import raise_graph

MOST_ELEMENTS = 1 << 24
"""Of a result that is computed here."""

_RUN_ONCE = frozenset(
    [
        *("Convolution", "ConvolutionBackpropData", "GroupConvolution", "GroupConvolutionBackpropData"),
        *("DeformableConvolution", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "Col2Im", "ExtractImagePatches"),
        *("ROIAlign", "ROIPooling", "PSROIPooling", "DeformablePSROIPooling", "NonMaxSuppression"),
        *("LRN", "NormalizeL2", "Elu", "Selu", "HardSigmoid", "SoftSign", "Mod", "IsFinite", "IsInf", "IsNaN"),
        *("BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "LogicalXor", "ReduceLogicalAnd", "ReduceLogicalOr"),
        *("GatherElements", "GatherND", "GatherTree", "ReverseSequence", "Roll", "Bucketize", "Unique"),
        *("DFT", "IDFT", "RDFT", "IRDFT", "EmbeddingBagOffsetsSum", "EmbeddingBagPackedSum", "EmbeddingSegmentsSum"),
        *("GRUCell", "GRUSequence", "LSTMCell", "LSTMSequence", "RNNCell", "RNNSequence"),
    ]
)
"""Layers that OpenVINO's CPU runs once: seen of each by adding to it what is new in each inference."""


def lower_graph(graph: Graph, *, given: bool = False) -> Graph:
    """A graph of dialect "openvino" that computes what a hub graph computes; see `lowering.lower_graph`.

    Raises:
        Unsupported: OpenVINO, or its CPU, can't express a node or a type; or a result of constants is too large to be
            computed here.
    """
    lowered = lowering.lower_graph(graph, given=given)
    modified = False
    for inner in lowered.graphs():
        for node in list(of_constants(inner)):
            if node.op_type in _RUN_ONCE and ORIGIN not in (node.meta or {}):
                _fold(inner, node)
                modified = True
    if modified:
        prune(lowered)
    return lowered


def _fold(graph: Graph, node: Node) -> None:
    """Put constants in the place of a layer's results."""
    wanted = [value for value in node.outputs if graph.uses(value) or value in graph.outputs]
    for value in wanted:
        if math.prod(value.tensor.static_shape or ()) > MOST_ELEMENTS:
            raise Unsupported(node, "a large layer of constants only, which OpenVINO's CPU overwrites")
    alone = Graph(DOMAIN)
    known: dict[Value | None, Value | None] = {None: None}
    for layer in _feeding(node):
        sizes = told_sizes(layer)
        if sizes is not None:
            dtype = layer.output.tensor.dtype or DType.INT64
            known[layer.output] = alone.add_constant(TensorData.of(np.array(sizes, dtype.numpy), dtype))
            continue
        for value in layer.inputs:
            if value is not None and value not in known:
                known[value] = alone.add_constant(value.data, value.name)
        outputs = [(value.name, value.type) for value in layer.outputs]
        options = {"domain": layer.domain, "version": layer.version, "name": layer.name}
        twin = alone.add_node(layer.op_type, [known[v] for v in layer.inputs], outputs, layer.attributes, **options)
        known.update(zip(layer.outputs, twin.outputs, strict=True))
    alone.outputs = [twin for twin in map(known.get, wanted) if twin is not None]
    try:
        results = Executor(raise_graph(alone), never_compile).run({}).values()
    except BackedgeError as error:
        raise Unsupported(node, f"a layer of constants only, which can't be computed: {error}") from error
    for value, result in zip(wanted, results, strict=True):
        made = value.holding(result)
        graph.replace_uses(value, graph.add_constant(made, value.name))


def _feeding(node: Node) -> Iterable[Node]:
    """A layer and those that it is computed from, each after those that feed it."""
    order: dict[Node, None] = {}
    stack = [(node, False)]
    while stack:
        top, is_done = stack.pop()
        if is_done:
            order[top] = None
        elif top not in order:
            stack.append((top, True))
            if told_sizes(top) is None:
                producers = [value.producer for value in top.inputs if value is not None]
                stack += [(producer, False) for producer in producers if producer is not None]
    return order
