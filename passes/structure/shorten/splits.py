"""Slices that take a value apart: Split."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...graph import Node, Value
from .context import Context, Table


class Piece(NamedTuple):
    """The elements start .. stop along an axis."""

    axis: int
    start: int
    stop: int


def piece_of(context: Context, node: Node) -> Piece | None:
    """What a Slice takes of its data, where it cuts one dimension of a known size, forwards and without gaps."""
    data = node.inputs[0]
    shape = data.tensor.shape if data is not None else None
    starts, stops, axes, steps = (context.integers(node.input(index)) for index in range(1, 5))
    if shape is None or not starts or not stops or len(starts) != 1 or steps not in (None, [1]):
        return None
    if (axes is None) != (node.input(3) is None) or (steps is None) != (node.input(4) is None):
        return None  # they are computed
    axis = axes[0] % len(shape) if axes else 0
    size = shape[axis]
    if not isinstance(size, int):
        return None
    start, stop, _ = slice(starts[0], stops[0]).indices(size)
    return Piece(axis, start, stop) if start < stop else None


def split(context: Context, node: Node) -> Value | None:
    """Slices that together take every element of a value along one axis, each once."""
    data, piece = node.inputs[0], piece_of(context, node)
    shape = data.tensor.shape if data is not None else None
    if data is None or shape is None or piece is None:
        return None
    slices: dict[Piece, list[Node]] = {}
    for user, index in context.graph.uses(data):
        if index == 0 and user.op == ("", "Slice"):
            other = piece_of(context, user)
            if other is not None and other.axis == piece.axis:
                slices.setdefault(other, []).append(user)
    size = shape[piece.axis]
    assert isinstance(size, int)
    pieces = [*_path(slices, 0, piece.start), piece, *_path(slices, piece.stop, size)]
    if len(pieces) < 2 or pieces[0].start or pieces[-1].stop != size:
        return None
    sizes = context.sizes([one.stop - one.start for one in pieces])
    types = [slices[one][0].output.type for one in pieces]
    parts = context.op.Split(data, sizes, axis=piece.axis, _outputs=len(pieces), _types=types)
    for one, part in zip(pieces, parts, strict=True):
        for user in slices[one]:
            if user is not node:
                context.replace(user.output, part)
    return parts[pieces.index(piece)]


def _path(slices: Iterable[Piece], start: int, stop: int) -> list[Piece]:
    """Pieces that lie one behind the other from `start` to `stop`; none where there is no such way."""
    before: dict[int, Piece] = {}
    for one in sorted(slices):
        if start <= one.start and one.stop <= stop and (one.start == start or one.start in before):
            before.setdefault(one.stop, one)
    path: list[Piece] = []
    while stop != start and stop in before:
        path.append(before[stop])
        stop = path[-1].start
    return path[::-1] if stop == start else []


RULES: Table = {"Slice": [split]}
