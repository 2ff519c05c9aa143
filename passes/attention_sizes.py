"""Sizes that the operands of an Attention (of any version) tell of its results."""

from __future__ import annotations

from collections.abc import Iterator

from .graph import Node
from .preconditions import required
from .types import Dim


def key_count(node: Node) -> Dim:
    """The number of keys, past ones included; None where it isn't known, a name only where there are no past ones."""
    shapes = [value.tensor.shape for value in (node.input(1), node.input(4)) if value is not None]
    lengths = [None if shape is None or len(shape) < 2 else shape[-2] for shape in shapes]
    if len(lengths) == 1:
        return lengths[0]
    sizes = [length for length in lengths if isinstance(length, int)]
    return sum(sizes) if len(sizes) == len(lengths) else None


def last_sizes(node: Node) -> Iterator[tuple[Dim, ...]]:
    """The last size of each result, for which ONNX's inference takes what is open for 0; nothing where it is right.

    Of Y the features of all heads, where they stand behind each other; of the scores the number of keys.
    """
    yield (_flat_features(node),) if required(node, 0).rank == 3 else ()
    yield from ((), ())
    yield (key_count(node),)


def _flat_features(node: Node) -> Dim:
    heads, kv_heads = (node.attributes.get(f"{name}_num_heads") for name in ("q", "kv"))
    features = (required(node, 2).tensor.shape or (None,))[-1]
    if not (isinstance(features, int) and isinstance(heads, int) and isinstance(kv_heads, int)) or kv_heads < 1:
        return None
    return features // kv_heads * heads
