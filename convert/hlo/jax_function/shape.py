"""HLO's opcodes that move elements, by `jax.lax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from ....passes.errors import Unsupported
from ....passes.graph import Node
from ..dimension_numbers import GatherNumbers
from .tools import Array, Arrays, Run, kind_of, result_type, short


def _broadcast(node: Node, operands: Arrays) -> jax.Array:
    return lax.broadcast_in_dim(operands[0], result_type(node).shape, node.attributes.get("dimensions", ()))


def _reshape(node: Node, operands: Arrays) -> jax.Array:
    return lax.reshape(operands[0], result_type(node).shape)


def _transpose(node: Node, operands: Arrays) -> jax.Array:
    return lax.transpose(operands[0], node.attributes["dimensions"])


def _reverse(node: Node, operands: Arrays) -> jax.Array:
    return lax.rev(operands[0], node.attributes["dimensions"])


def _concatenate(node: Node, operands: Arrays) -> jax.Array:
    return lax.concatenate(operands, node.attributes["dimensions"][0])


def _pad(node: Node, operands: Arrays) -> jax.Array:
    dims = [(dim.low, dim.high, dim.interior) for dim in node.attributes["padding"]]
    return lax.pad(operands[0], operands[1], dims)


def _slice(node: Node, operands: Arrays) -> jax.Array:
    dims = node.attributes["slice"]
    starts, limits, strides = ([getattr(dim, name) for dim in dims] for name in ("start", "limit", "stride"))
    return lax.slice(operands[0], starts, limits, strides)


def _iota(node: Node, operands: Arrays) -> jax.Array:
    type = result_type(node)
    return lax.broadcasted_iota(type.dtype, type.shape, node.attributes["iota_dimension"])


def _dynamic_slice(node: Node, operands: Arrays) -> jax.Array:
    sizes, starts = node.attributes["dynamic_slice_sizes"], list(map(short, operands[1:]))
    return lax.dynamic_slice(operands[0], starts, sizes, allow_negative_indices=False)


def _dynamic_update_slice(node: Node, operands: Arrays) -> jax.Array:
    starts = list(map(short, operands[2:]))
    return lax.dynamic_update_slice(operands[0], operands[1], starts, allow_negative_indices=False)


def _vectors(numbers: GatherNumbers, indices: Array) -> Array:
    """Indices whose vectors stand along the last axis, as JAX wants them."""
    indices = short(indices)
    if numbers.vector == indices.ndim:
        return lax.expand_dims(indices, [indices.ndim])
    order = [*(at for at in range(indices.ndim) if at != numbers.vector), numbers.vector]
    return indices if order == sorted(order) else lax.transpose(indices, order)


def _paired(numbers: GatherNumbers) -> tuple[int, ...]:
    """The batching dimensions of the indices once their vectors stand last."""
    return tuple(at - (at > numbers.vector) for at in numbers.paired)


def _gather(node: Node, operands: Arrays) -> jax.Array:
    """Indices out of bounds are clamped, as in HLO."""
    x, indices = operands
    own = GatherNumbers.of(node, x.ndim)
    numbers = lax.GatherDimensionNumbers(own.offsets, own.dropped, own.mapped, own.batching, _paired(own))
    sizes = node.attributes["slice_sizes"]
    return lax.gather(x, _vectors(own, indices), numbers, sizes, mode=lax.GatherScatterMode.CLIP)


_SCATTERS: dict[str, Callable[..., jax.Array]] = {
    "add": lax.scatter_add,
    "maximum": lax.scatter_max,
    "minimum": lax.scatter_min,
    "multiply": lax.scatter_mul,
    "second": lax.scatter,
}


def _scatter(node: Node, operands: Arrays, run: Run) -> jax.Array:
    """Updates out of bounds are dropped, as in HLO."""
    kind = kind_of(node.regions["to_apply"])
    if len(operands) != 3 or kind not in _SCATTERS:
        raise Unsupported(node, "JAX has no scatter with such a computation")
    x, indices, updates = operands
    own = GatherNumbers.of(node, x.ndim)
    numbers = lax.ScatterDimensionNumbers(own.offsets, own.dropped, own.mapped, own.batching, _paired(own))
    mode = lax.GatherScatterMode.FILL_OR_DROP
    return _SCATTERS[kind](x, _vectors(own, indices), updates, numbers, mode=mode)


def _set_dimension_size(node: Node, operands: Arrays) -> jax.Array:
    raise Unsupported(node, "the size of its result is known only when the model runs, and JAX has no such arrays")


OPERATIONS: dict[str, Callable[[Node, Arrays], Any]] = {
    "broadcast": _broadcast,
    "concatenate": _concatenate,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "gather": _gather,
    "iota": _iota,
    "pad": _pad,
    "reshape": _reshape,
    "reverse": _reverse,
    "set-dimension-size": _set_dimension_size,
    "slice": _slice,
    "transpose": _transpose,
}
APPLYING: dict[str, Callable[[Node, Arrays, Run], Any]] = {"scatter": _scatter}
