"""The first elements of what is sorted: TopK of so many."""

from __future__ import annotations

from collections.abc import Iterator

from ...graph import Node, Value
from ...types import TensorType
from .context import Context, Table, made_by
from .splits import Piece, piece_of

_K_IS_INPUT = 10


def first_of_sorted(context: Context, node: Node) -> Value | None:
    """Slices that all take the first k of what a TopK gives, converted or used as indices meanwhile: TopK of k.

    Of equal elements TopK takes those first that stand first, whatever its k (TopK-11).
    """
    wanted = piece_of(context, node)
    sort = _sorted_by(node.inputs[0], wanted) if wanted is not None and wanted.start == 0 else None
    if sort is None or wanted is None or context.opset < _K_IS_INPUT or not sort.attributes.get("sorted", 1):
        return None
    users = [*_users(context, sort, wanted)]
    if any(user is None for user in users):
        return None
    count = context.sizes([wanted.stop])
    types = [_shortened(value, wanted) for value in sort.outputs]
    found = context.op.TopK(sort.inputs[0], count, _outputs=2, _types=types, **sort.attributes)
    made = dict(zip(sort.outputs, found, strict=True))
    result = None
    for user in users:
        assert user is not None
        data = user.inputs[0]
        assert data is not None
        first = _remade(context, data, made, wanted)
        if user is node:
            result = first
        else:
            context.replace(user.output, first)
    return result


def _sorted_by(value: Value | None, piece: Piece) -> Node | None:
    """The TopK along the piece's axis whose elements or indices a value has, converted or gathered by."""
    while (node := made_by(value, "Cast", "GatherElements")) is not None:
        value = node.inputs[node.op_type == "GatherElements"]
    found = made_by(value, "TopK")
    return found if found is not None and _axis(found) == piece.axis else None


def _users(context: Context, maker: Node, piece: Piece) -> Iterator[Node | None]:
    """The Slices that take the piece of what a node gives; None where anything else is done with it."""
    for value in maker.outputs:
        if value in context.graph.outputs:
            yield None
        for user, index in context.graph.uses(value):
            is_gather = user.op == ("", "GatherElements") and index == 1 and _axis(user) == piece.axis
            if user.op == ("", "Cast") or is_gather:
                yield from _users(context, user, piece)
            else:
                is_slice = user.op == ("", "Slice") and index == 0
                yield user if is_slice and piece_of(context, user) == piece else None


def _axis(node: Node) -> int | None:
    """The axis of a TopK or GatherElements."""
    rank, default = node.output.rank, -1 if node.op_type == "TopK" else 0
    return node.attributes.get("axis", default) % rank if rank else None


def _remade(context: Context, value: Value, made: dict[Value, Value], piece: Piece) -> Value:
    """The piece of a value that a node between TopK and the Slices gives."""
    if value not in made:
        node = value.producer
        assert node is not None
        index = node.op_type == "GatherElements"
        inputs = list(node.inputs)
        source = inputs[index]
        assert source is not None
        inputs[index] = _remade(context, source, made, piece)
        made[value] = context.op.call(node.op_type, *inputs, _types=[_shortened(value, piece)], **node.attributes)
    return made[value]


def _shortened(value: Value, piece: Piece) -> TensorType:
    shape = value.tensor.shape
    sizes = None if shape is None else tuple(piece.stop if at == piece.axis else size for at, size in enumerate(shape))
    return TensorType(value.tensor.dtype, sizes)


RULES: Table = {"Slice": [first_of_sorted]}
