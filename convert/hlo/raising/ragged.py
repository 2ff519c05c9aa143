"""ragged-dot: products of which every row, or every summed element, belongs to one of several groups.

| ragged dimension | lhs, rhs, sizes -> result |
|---|---|
| not summed | [b..., m..., k...], [g, b..., k..., n...], [b..., x..., g] -> [b..., m..., n...] |
| summed | [b..., m..., k...], [b..., k..., n...], [b..., x..., g] -> [g, b..., m..., n...] |
| of the batch | the groups change nothing: a dot |

x... are the dimensions of the ragged one's kind that stand before it; sizes may be [g], for all of them. The groups lie
one behind the other; what comes after the last one is in none (docs.jax.dev, jax.lax.ragged_dot_general).
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import axes
from .bodies import either
from .contract import Pairing, contracted
from .dot import pairing_of
from .reducers import by_operator
from .support import Results, dtype_of, given, shape_of
from .views import arranged, broadcast_to, reshaped, sizes


@rule(DOMAIN, "ragged-dot")
def ragged_dot(op: Builder, node: Node) -> Results:
    """ragged-dot, in its three forms."""
    lhs, rhs = given(node, 0), given(node, 1)
    pairing, rank = pairing_of(node, lhs, rhs), lhs.rank or 0
    (ragged,) = axes(node, "lhs_ragged_dims", rank) or (-1,)
    if ragged in pairing.lhs_batch:
        return contracted(op, node, lhs, rhs, pairing, dtype_of(node, node.output))
    if ragged in pairing.lhs_inner:
        return _summed(op, node, lhs, rhs, pairing, ragged)
    rows = [axis for axis in range(rank) if axis not in (*pairing.lhs_batch, *pairing.lhs_inner)]
    if ragged not in rows:
        raise InvalidModel(f"{node!r}: it has no ragged dimension")
    return _rows(op, node, lhs, rhs, pairing, [*pairing.lhs_batch, *rows], ragged)


def _rows(op: Builder, node: Node, lhs: Value, rhs: Value, pairing: Pairing, kept: Sequence[int], ragged: int) -> Value:
    """Each row by every group's matrix; its own group's product is kept."""
    dtype = dtype_of(node, node.output)
    groups = axes(node, "rhs_group_dims", rhs.rank or 0)
    columns = [axis for axis in range(rhs.rank or 0) if axis not in (*pairing.rhs_batch, *pairing.rhs_inner)]
    if len(groups) != 1 or groups[0] not in columns:
        raise InvalidModel(f"{node!r}: its rhs has no dimension of groups")
    made = contracted(op, node, lhs, rhs, pairing, dtype)
    group, place = len(kept) + columns.index(groups[0]), kept.index(ragged)
    mine = _mine(op, node, made, list(range(place)), place, group)
    return by_operator(op, "add", either(op, mine, made, _zeros(op, made)), [group], dtype)


def _summed(op: Builder, node: Node, lhs: Value, rhs: Value, pairing: Pairing, ragged: int) -> Value:
    """A product for each group, of both operands with zeros where they aren't the group's."""
    before = pairing.lhs_inner.index(ragged)
    inner = zip((lhs, rhs), (pairing.lhs_batch, pairing.rhs_batch), (pairing.lhs_inner, pairing.rhs_inner), strict=True)
    parts: list[Value] = []
    for value, batch, summed in inner:
        whole = op.Unsqueeze(value, sizes(op, [0]))
        full = broadcast_to(op, whole, [_group_count(node), *shape_of(node, value)])
        prefix = [axis + 1 for axis in (*batch, *summed[:before])]
        mine = _mine(op, node, full, prefix, summed[before] + 1, 0)
        parts.append(either(op, mine, full, _zeros(op, full)))
    grouped = Pairing(
        (0, *_behind(pairing.lhs_batch)),
        (0, *_behind(pairing.rhs_batch)),
        _behind(pairing.lhs_inner),
        _behind(pairing.rhs_inner),
    )
    return contracted(op, node, parts[0], parts[1], grouped, dtype_of(node, node.output))


def _behind(dims: Sequence[int]) -> tuple[int, ...]:
    """Dimensions with one more in front of them."""
    return tuple(axis + 1 for axis in dims)


def _group_count(node: Node) -> int:
    shape = shape_of(node, given(node, 2))
    if not shape:
        raise InvalidModel(f"{node!r}: the sizes of its groups are a scalar")
    return shape[-1]


def _mine(op: Builder, node: Node, like: Value, prefix: Sequence[int], ragged: int, group: int) -> Value:
    """Where an element of `like` is its group's: bool, to be broadcast to its shape.

    Args:
        prefix: the dimensions of `like` that the sizes have in front of the groups, in order.
        ragged, group: those along which a group's elements, and the groups, stand.
    """
    counts, rank = given(node, 2), like.rank or 0
    shape, whole = shape_of(node, counts), shape_of(node, like)
    if shape[:-1] not in ((), tuple(whole[axis] for axis in prefix)):
        raise InvalidModel(f"{node!r}: {counts.type} aren't the sizes of its groups")
    order = [*(prefix if len(shape) > 1 else ()), group]
    ends = op.CumSum(cast(op, counts, DType.INT64), op.const(len(shape) - 1, DType.INT64))
    starts = op.Sub(ends, cast(op, counts, DType.INT64))
    ends, starts = (arranged(op, one, order, list(range(rank))) for one in (ends, starts))
    at = [1] * rank
    at[ragged] = whole[ragged]
    count = reshaped(op, op.const(list(range(whole[ragged])), DType.INT64), at)
    return op.And(op.LessOrEqual(starts, count), op.Less(count, ends))


def _zeros(op: Builder, like: Value) -> Value:
    assert like.tensor.dtype is not None
    return op.const(0, like.tensor.dtype)


RULES = collect(globals())
