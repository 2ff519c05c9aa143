"""Strings and their bytes: ONNX can't see them, so that they must be known, or go back to what they came from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Graph, Node
from ....passes.preconditions import input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from .support import Results, constant

_UNPACKED = (DOMAIN, "StringTensorUnpack")


@rule(*_UNPACKED)
def unpack(op: Builder, node: Node) -> Results:
    """StringTensorUnpack-15: where each string begins and ends among the bytes of all, and the bytes.

    Of strings that aren't known it stays as it is for a StringTensorPack to find (see `drop_unpacked`).
    """
    strings = input_of(node)
    array = constant(strings)
    if array is None:
        shape = strings.tensor.shape
        indices = TensorType(DType.INT32, shape)
        types = [indices, indices, TensorType(DType.UINT8, (None,))]
        made = op.call(node.op_type, strings, _domain=DOMAIN, _version=node.version, _outputs=3, _types=types)
        op.rewriter.context.unpacked.append((op.graph, made[0].producer))
        return made
    parts = [str(item).encode() for item in array.reshape(-1)]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int32).reshape(array.shape)
    lengths = np.array([len(part) for part in parts], np.int32).reshape(array.shape)
    symbols = np.frombuffer(b"".join(parts), np.uint8)
    return [op.const(ends - lengths), op.const(ends), op.const(symbols, DType.UINT8)]


@rule(DOMAIN, "StringTensorPack")
def pack(op: Builder, node: Node) -> Results:
    """StringTensorPack-15."""
    inputs = [input_of(node, index) for index in range(3)]
    maker = inputs[0].producer
    if maker is not None and maker.op == _UNPACKED and inputs == maker.outputs:
        return op.Identity(input_of(maker))
    begins, ends, symbols = (constant(value) for value in inputs)
    if begins is None or ends is None or symbols is None:
        raise Unsupported(node, "ONNX can't make strings of bytes")
    try:
        parts = [
            bytes(symbols[begin:end]).decode()
            for begin, end in zip(begins.reshape(-1).tolist(), ends.reshape(-1).tolist(), strict=True)
        ]
    except (UnicodeDecodeError, ValueError):
        raise InvalidModel(f"{node!r}: its bytes are no strings") from None
    return op.const(np.array(parts, object).reshape(begins.shape), DType.STRING)


def drop_unpacked(unpacked: Sequence[tuple[Graph, Node]]) -> None:
    """Take away what stood for the bytes of strings.

    Raises:
        Unsupported: something else than a StringTensorPack uses them.
    """
    for graph, node in unpacked:
        if any(value in graph.outputs or graph.uses(value) for value in node.outputs):
            raise Unsupported(node, "ONNX has no access to the bytes of strings")
        graph.remove_node(node)


RULES = collect(globals())
