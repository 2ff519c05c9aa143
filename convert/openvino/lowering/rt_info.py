"""What a lowered model tells OpenVINO about its weights beside the layers themselves."""

from __future__ import annotations

from dataclasses import replace

from ....passes.graph import Graph, Node
from ....passes.types import HALVES, DType
from ..dialect import META, Layer, Net
from .context import Context

_OPTIONS = ("runtime_options", {}, (("DYNAMIC_QUANTIZATION_GROUP_SIZE", {"value": "0"}, ()),))


def mark(graph: Graph, context: Context) -> list[str]:
    """Mark what decompresses weights, and keep OpenVINO from quantizing what is multiplied by them; the notes on it."""
    for _, node in graph.walk():
        if _is_decompression(node):
            node.meta = {**(node.meta or {}), META: Layer(rt_info=[{"name": "decompression", "version": "0"}])}
    if not context.compressed:
        return []
    net = graph.meta.get(META) or Net()
    known = net.rt_info[2] if net.rt_info is not None else ()
    if all(child[0] != _OPTIONS[0] for child in known):
        graph.meta[META] = replace(net, rt_info=("rt_info", {}, (*known, _OPTIONS)))
    return [
        "runtime_options say DYNAMIC_QUANTIZATION_GROUP_SIZE 0: otherwise OpenVINO's CPU quantizes what is multiplied "
        "by quantized weights, which is faster and less accurate"
    ]


def _is_decompression(node: Node) -> bool:
    """Whether constants of 16 bits are made floats; without its mark OpenVINO keeps them as those in memory."""
    source = node.inputs[0] if node.op_type == "Convert" else None
    if source is None or source.data is None or source.data.dtype not in HALVES:
        return False
    return source.data.size > 1 and node.output.tensor.dtype is DType.FLOAT32
