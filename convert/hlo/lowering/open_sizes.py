"""Sizes that are known only when the model runs, on the way from the hub to HLO: as functions of the inputs' sizes.

ONNX computes shapes by small integers (Shape, Gather, Concat, Reshape). What those are is noted at the values that HLO
has for them, so that a rule sees sizes where it needs them, ints or `OpenSize`. In HLO an open size as a value is a
node "size", which needs no operand and may stand in any computation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.graph import Graph, Node, Value
from ....passes.rewrite import Builder
from ....passes.sizes import OpenSize, open_size, size_of, symbols
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..mlir import integers
from ..mlir.integers import Known
from ..mlir.operations import in_stablehlo

_KNOWN = "known"  # in the meta of a value of HLO


def note(value: Value) -> None:
    """Note what is known of a value that an operation of integers has made."""
    node = value.producer
    assert node is not None
    if node.op == (DOMAIN, "size"):
        found: Known | None = integers.known(size_of(node.attributes["size"]), ())
    elif node.op_type == "reduce":
        found = _reduced(node, value.tensor)
    else:
        said = None if node.regions else in_stablehlo(node)
        if said is None:
            return
        operands = [(known_of(one), one.tensor) for one in node.inputs if one is not None]
        found = integers.follow_result(*said, operands, value.tensor)
    if found is not None:
        value.meta = {**(value.meta or {}), _KNOWN: found}


def _reduced(node: Node, type: TensorType) -> Known | None:
    """Of a vector that is reduced by one operation: its elements one after the other."""
    x, start = (value for value in node.inputs if value is not None)
    items, first, steps = known_of(x), known_of(start), node.regions["to_apply"].nodes
    if items is None or first is None or items.ndim != 1 or len(steps) != 1:
        return None
    scalar = TensorType(type.dtype, ())
    total: Known | None = first
    for item in items:
        pair = [(total, scalar), (integers.known(item, ()), scalar)]
        total = integers.follow_result(steps[0].op_type, {}, pair, scalar)
        if total is None:
            return None
    return total


def known_of(value: Value) -> Known | None:
    """The elements of a small tensor of integers or bools, as far as they are known; None where none is."""
    if value.data is not None:
        return integers.of_constant(value.data)
    return (value.meta or {}).get(_KNOWN)


def items_of(value: Value) -> list[int] | None:
    """The integers that a value has, some of them open sizes; None where one isn't known."""
    found = known_of(value)
    if found is None or any(item is None or isinstance(item, bool) for item in found.reshape(-1)):
        return None
    return [open_size(item) for item in found.reshape(-1)]


def is_sizes(value: Value) -> bool:
    """Whether a value is computed of sizes alone, so that it can be computed again in any computation."""
    return value.data is None and items_of(value) is not None


def size_scalar(op: Builder, size: int | str, dtype: DType) -> Value:
    """An open size as a scalar, one for each graph."""
    sizes: dict[tuple[Graph, str, DType], Value] = op.rewriter.context.sizes
    key = op.graph, str(size), dtype
    if key not in sizes:
        sizes[key] = op.call("size", size=OpenSize(size), _types=[TensorType(dtype, ())])
    return sizes[key]


def size_vector(op: Builder, dims: Sequence[int], dtype: DType = DType.INT64) -> Value:
    """Integers, some of them open sizes, as a vector."""
    if not any(isinstance(dim, str) for dim in dims):
        return op.const(np.asarray(dims), dtype)
    parts: list[Value] = []
    run: list[int] = []
    for dim in dims:
        if not isinstance(dim, str):
            run.append(dim)
            continue
        parts += [op.const(run, dtype)] if run else []
        run = []
        scalar = size_scalar(op, dim, dtype)
        parts.append(op.call("reshape", scalar, _types=[TensorType(dtype, (1,))]))
    parts += [op.const(run, dtype)] if run else []
    return parts[0] if len(parts) == 1 else op.concatenate(*parts, dimensions=(0,))


def again(op: Builder, value: Value) -> Value:
    """A value that `is_sizes`, computed in another graph."""
    items, type = items_of(value), value.tensor
    assert items is not None and type.dtype is not None
    if value.rank == 0:
        return size_scalar(op, items[0], type.dtype) if isinstance(items[0], str) else op.const(items[0], type.dtype)
    vector = size_vector(op, items, type.dtype)
    return vector if value.rank == 1 else op.call("reshape", vector, _types=[type])


def symbols_named(graph: Graph) -> set[str]:
    """Give sizes of inputs that have no name one; the symbols that the inputs' sizes have."""
    taken = {dim for value in graph.inputs for dim in value.tensor.shape or () if isinstance(dim, str)}
    for value in graph.inputs:
        shape = value.tensor.shape
        if value.data is not None or shape is None or all(isinstance(dim, int | str) for dim in shape):
            continue
        dims: list[Any] = []
        for axis, dim in enumerate(shape):
            name = f"{value.name}_{axis}"
            if not isinstance(dim, int | str):
                while name in taken:
                    name += "_"
                taken.add(name)
                dim = name
            dims.append(dim)
        value.type = TensorType(value.tensor.dtype, tuple(dims))
    sizes = [size_of(dim) for value in graph.inputs for dim in value.tensor.shape or ()]
    return set().union(*(symbols(size) for size in sizes if size is not None))
