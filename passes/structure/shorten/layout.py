"""Transposes and views behind elementwise operators (Transposes behind reductions, too), until they meet others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...core import ELEMENTWISE, REDUCTIONS
from ...graph import Node, Value
from ...types import TensorType
from .context import FLOATS, VIEWS, Context, Table, certain, is_one_element, made_by, permutation, viewed

_DEEPEST = 3  # elementwise operators from a move to where its other users meet
_MOST_USERS = 16  # of one value, which each of them looks at
_MOST_AHEAD = 24  # operators that are looked at for one that a move meets


def behind(context: Context, node: Node) -> Value | None:
    """f(Transpose(x), ...) is Transpose(f(x, ...)), operands transposed alike, constants or scalars. That is done where
    more than one is transposed, where a Transpose or a reduction follows, and for what a convolution takes in."""
    perm = _alike(context, node)
    if perm is None or not _is_gain(context, node, perm):
        return None
    moved = {value for value in node.inputs if value is not None and made_by(value, "Transpose") is not None}
    if len(moved) < 2 and not _is_of_layer(node, moved) and not _meets(context, node, {"Transpose", *REDUCTIONS}):
        return None
    inverse = [perm.index(axis) for axis in range(len(perm))]
    inputs = [_before(context, value, perm, inverse) for value in node.inputs]
    shape = node.output.tensor.shape
    types = None if shape is None else [TensorType(node.output.tensor.dtype, tuple(shape[axis] for axis in inverse))]
    made = context.op.call(node.op_type, *inputs, _types=types, **node.attributes)
    return context.op.Transpose(made, perm=perm, _types=[node.output.type])


def _is_of_layer(node: Node, moved: Collection[Value]) -> bool:
    """Whether a node adds a convolution's bias, or divides its sums of windows."""
    sources = [value.producer.inputs[0] for value in moved if value.producer is not None]
    return node.op_type in ("Add", "Div") and any(made_by(x, "Conv", "ConvTranspose") is not None for x in sources)


def _alike(context: Context, node: Node, depth: int = 0) -> list[int] | None:
    """The order into which an elementwise operator's operands are brought; None where there is none, or several.

    Args:
        depth: how many elementwise operators may stand between the Transpose and an operand, as they go before it.
    """
    if node.domain or node.regions or node.op_type not in ELEMENTWISE or len(node.outputs) != 1:
        return None
    found: list[int] | None = None
    for value in node.inputs:
        moved, maker = made_by(value, "Transpose"), None if value is None else value.producer
        perm = permutation(moved) if moved is not None else None
        if perm is None and depth and maker is not None:
            perm = _alike(context, maker, depth - 1)
        if perm is None:
            if value is not None and value.rank != 0 and context.constant(value) is None:
                return None
        elif found not in (None, perm):
            return None
        else:
            found = perm
    return found if found is not None and node.output.rank == len(found) else None


def _is_gain(context: Context, node: Node, perm: Sequence[int]) -> bool:
    """Whether all Transposes before a node go, since every other user of what they give goes behind them, too."""

    def goes(user: Node) -> bool:
        if user.op == ("", "Transpose") and permutation(user) is not None:
            return True
        return _is_reduced(context, user) or _alike(context, user, _DEEPEST) == perm

    return _all_go(context, node, ("Transpose",), goes)


def _all_go(context: Context, node: Node, op_types: Sequence[str], goes: Callable[[Node], bool]) -> bool:
    """Whether all moves by some operators before a node go, as `goes` says of every other user of what they give."""
    for value in node.inputs:
        if value is None or made_by(value, *op_types) is None:
            continue
        users = context.graph.uses(value)
        if value in context.graph.outputs or len(users) > _MOST_USERS:
            return False
        if not all(user is node or goes(user) for user, _ in users):
            return False
    return True


def behind_view(context: Context, node: Node) -> Value | None:
    """f(Reshape(x), Reshape(y), ...) is Reshape(f(x, y, ...)), of x and y of one shape; so is that of operands which
    broadcast to x and to the view of it alike: single elements, and what has the dimensions at the end only that are
    the same in both: where there is more than one view, or where another follows behind f."""
    view = _same_view(context, node) if node.output.tensor.dtype in FLOATS else None  # sizes stay as they are computed

    def goes(user: Node) -> bool:
        return user.op_type in VIEWS or _same_view(context, user, _DEEPEST) is not None

    if view is None or not _all_go(context, node, VIEWS, goes):
        return None
    if len({*filter(_is_view, node.inputs)}) < 2 and not _meets(context, node, VIEWS):
        return None
    inputs = [value if (made := made_by(value, *VIEWS)) is None else made.inputs[0] for value in node.inputs]
    types = [TensorType(node.output.tensor.dtype, view.inputs[0].tensor.shape if view.inputs[0] is not None else None)]
    made = context.op.call(node.op_type, *inputs, _types=types, **node.attributes)
    return viewed(context, made, [view])


def _is_view(value: Value | None) -> bool:
    return made_by(value, *VIEWS) is not None


def _same_view(context: Context, node: Node, depth: int = 0) -> Node | None:
    """One of the views that an elementwise operator's operands are, if all are views as `behind_view` says.

    Args:
        depth: see `_alike`.
    """
    if node.domain or node.regions or node.op_type not in ELEMENTWISE or len(node.outputs) != 1:
        return None
    views = [view for value in node.inputs if (view := made_by(value, *VIEWS)) is not None]
    after, before = certain(node.output), certain(views[0].inputs[0]) if views else None
    if before is None or after is None:
        return None
    if any(certain(view.inputs[0]) != before or certain(view.output) != after for view in views):
        return None
    for value in node.inputs:
        own = certain(value)
        if value is None or _is_view(value):
            continue
        inner = _same_view(context, value.producer, depth - 1) if depth and value.producer is not None else None
        if inner is not None and certain(inner.inputs[0]) == before and own == after:
            continue
        if own is None or len(own) > min(len(before), len(after)):
            return None
        if own and not is_one_element(value) and before[-len(own) :] != after[-len(own) :]:
            return None
    return views[0]


def _meets(context: Context, node: Node, op_types: Collection[str]) -> bool:
    """Whether one of these operators follows, with elementwise ones between."""
    waiting, seen = [node], {node}
    while waiting and len(seen) < _MOST_AHEAD:
        for user, _ in context.graph.uses(waiting.pop().output):
            if not user.domain and user.op_type in op_types:
                return True
            if user not in seen and not user.domain and user.op_type in ELEMENTWISE and len(user.outputs) == 1:
                seen.add(user)
                waiting.append(user)
    return False


def _before(context: Context, value: Value | None, perm: Sequence[int], inverse: Sequence[int]) -> Value | None:
    """An operand as it stands before the Transpose."""
    moved = made_by(value, "Transpose")
    if moved is not None:
        return moved.inputs[0]
    if value is None or is_one_element(value):
        return value
    missing = len(perm) - (value.rank or 0)
    return context.viewed(value, lambda array: array.reshape((1,) * missing + array.shape).transpose(inverse))


def reduced(context: Context, node: Node) -> Value | None:
    """Reduce(Transpose(x)) is Reduce(x), where what is left stands in the same order."""
    axes = _reduced_axes(context, node)
    moved = made_by(node.inputs[0], "Transpose")
    perm = permutation(moved) if moved is not None else None
    if axes is None or moved is None or perm is None or not _is_gain(context, node, perm):
        return None
    where = context.sizes(axes)
    return context.op.call(node.op_type, moved.inputs[0], where, _types=[node.output.type], **node.attributes)


def _is_reduced(context: Context, node: Node) -> bool:
    return not node.domain and node.op_type in REDUCTIONS and _reduced_axes(context, node) is not None


def _reduced_axes(context: Context, node: Node) -> list[int] | None:
    """The axes of x, of Reduce(Transpose(x)) whose other dimensions stay in their order, which aren't kept."""
    moved, axes = made_by(node.inputs[0], "Transpose"), context.integers(node.input(1))
    perm = permutation(moved) if moved is not None else None
    if perm is None or not axes or node.attributes.get("keepdims", 1):
        return None
    gone = {axis % len(perm) for axis in axes}
    left = [source for axis, source in enumerate(perm) if axis not in gone]
    return sorted(perm[axis] for axis in gone) if left == sorted(left) else None


RULES: Table = {
    **{name: [behind, behind_view] for name in ELEMENTWISE},
    **{name: [reduced] for name in REDUCTIONS},
}
