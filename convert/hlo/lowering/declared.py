"""Operands of sizes and axes that only a run tells, by the declared types of results.

A model's types are what its values are like in every run. Where the type of a result leaves an operand one value (the
sizes of a Reshape, the number of elements of a TopK, the axes of a reduction that keeps them), that value is put in the
operand's place; where it leaves several that give the same elements, one of them. What it leaves open is refused
by whoever needs the operand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations

from ....passes.core import REDUCTIONS
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, required
from ....passes.rewrite import Builder, Key, view
from ....passes.sizes import dims_of, is_below, open_size, size_of, symbols
from ....passes.types import Dim
from .open_sizes import items_of, known_of
from .tools import Sizes, constant, reshape

Declared = tuple[int | None, ...]
"""Sizes, None for one that isn't declared."""

Items = Sequence[int] | None
Tell = Callable[[Node, Sizes, Sequence[Declared | None]], Items]
"""A node, the sizes of its first input, what is declared of its results -> the operand's items, None where they aren't
certain."""

_MOST_CHOICES = 4096


def declared_sizes(op: Builder, value: Value) -> Declared | None:
    """The sizes that a result is declared to have; None where not even the rank is.

    Inside of bodies and branches names may mean other sizes than those of the inputs, so that only numbers count.
    """
    shape = value.tensor.shape
    if shape is None:
        return None
    known: set[str] = op.rewriter.context.symbols if op.graph is op.rewriter.root else set()
    return tuple(_declared(dim, known) for dim in shape)


def _declared(dim: Dim, known: set[str]) -> int | None:
    size = size_of(dim)
    return open_size(size) if size is not None and symbols(size) <= known else None


def declared_result(op: Builder, node: Node, index: int, kept: Declared | None = None) -> Sizes:
    """The sizes of a result by its type, which says what operand `index` tells only when the model runs.

    Args:
        kept: those that are known whatever the type says, None for others.

    Raises:
        Unsupported: it doesn't tell all, or others.
    """
    made, operand = declared_sizes(op, node.output), required(node, index)
    if kept is not None:
        made = (None,) * len(kept) if made is None else made
        pairs = list(zip(made, kept, strict=False))
        if len(made) != len(kept) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
            raise Unsupported(node, f"its result would be {_listed(made)}, and {_listed(kept)} of it is certain")
        made = tuple(one if other is None else other for one, other in pairs)
    found = _whole(made)
    if found is None:
        raise Unsupported(node, f"the shape of {node.output.name!r} is known only when the model runs")
    if is_moving(operand):
        op.rewriter.context.declared[operand.name] = None
    return found


def _listed(sizes: Declared) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in sizes)}]"


def is_moving(value: Value | None) -> bool:
    """Whether the items of an operand are known only when the model runs."""
    return value is not None and value.data is None and items_of(value) is None


def told(op: Builder, node: Node) -> Node:
    """The node with what the types of its results tell of an operand that isn't known; itself where that is nothing."""
    index, tell = _OPERANDS.get(node.op, (0, _nothing))
    operand = node.input(index)
    if operand is None or not is_moving(operand):
        return node
    items: Items = []
    if operand.tensor.shape != (0,):
        first = node.inputs[0]
        have = None if first is None else dims_of(first.tensor.shape)
        results = [declared_sizes(op, value) if value.name else None for value in node.outputs]
        items = None if have is None else tell(node, have, results)
        if items is None or not _fits(operand, items):
            return node
        op.rewriter.context.declared[operand.name] = None
    stated = constant(op, list(items), dtype_of(node, operand))
    inputs = list(node.inputs)
    inputs[index] = reshape(op, stated, ()) if operand.rank == 0 else stated
    return view(node, inputs)


def _fits(operand: Value, items: Sequence[int]) -> bool:
    """Whether nothing that is known of an operand says otherwise."""
    if operand.rank not in (None, 1) and not (operand.rank == 0 and len(items) == 1):
        return False
    found = known_of(operand)
    if found is None:
        return True
    return found.size == len(items) and all(
        item is None or open_size(item) == told for item, told in zip(found.reshape(-1), items, strict=True)
    )


def _nothing(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    return None


def _whole(sizes: Declared | None) -> Sizes | None:
    if sizes is None:
        return None
    found = tuple(size for size in sizes if size is not None)
    return found if len(found) == len(sizes) else None


# sizes ---------------------------------------------------------------------------------------------


def _sizes(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    return _whole(results[0])


def _reshaped(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """One size that isn't declared follows from the number of elements, unless another is 0. A size of 0 that would be
    taken from the input is what that number makes it."""
    (made,) = results
    if made is None or made.count(None) > 1:
        return None
    count, known = math.prod(have), math.prod(size for size in made if size is not None)
    if None in made and known == 0:
        return None
    rest = count // known if None in made else 1
    if rest * known != count:
        return None
    items = [rest if size is None else size for size in made]
    copied = [at for at, size in enumerate(items) if size == 0 and have[at : at + 1] != (0,)]
    if flag(node, "allowzero") or not copied:
        return items
    return [-1 if at in copied else size for at, size in enumerate(items)] if items.count(0) == 1 else None


def _repeated(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    made = _whole(results[0])
    if made is None or len(made) != len(have):
        return None
    times = [1 if size == whole else whole // size if size != 0 else 0 for whole, size in zip(made, have, strict=True)]
    return times if all(one * size == whole for one, size, whole in zip(times, have, made, strict=True)) else None


def _along(node: Node, sizes: Declared | None, axis: int) -> int | None:
    return sizes[axis_of(node, axis, len(sizes))] if sizes else None


def _counted(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """As many along an axis as the first result that is wanted has."""
    found = [_along(node, made, node.attributes.get("axis", -1)) for made in results if made is not None]
    return None if not found or found[0] is None else [found[0]]


def _split(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    axis = node.attributes.get("axis", 0)
    parts = _whole(tuple(_along(node, made, axis) for made in results))
    return parts if parts is not None and have and sum(parts) == have[axis_of(node, axis, len(have))] else None


def _at_axes(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """Those of the axes that an attribute names, of all without it."""
    axes = node.attributes.get("axes")
    if axes is None or results[0] is None:
        return _sizes(node, have, results)
    return _whole(tuple(_along(node, results[0], axis) for axis in axes))


def _resized(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    policy = node.attributes.get("keep_aspect_ratio_policy", b"stretch")
    return _at_axes(node, have, results) if policy in (b"stretch", "stretch") else None


# axes ----------------------------------------------------------------------------------------------


def _without(sizes: Sequence[int], wanted: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The axes, as many as there are more in `sizes`, without which these are the others."""
    more = len(sizes) - len(wanted)
    if more < 0 or math.comb(len(sizes), more) > _MOST_CHOICES:
        return
    for axes in combinations(range(len(sizes)), more):
        if [size for at, size in enumerate(sizes) if at not in axes] == list(wanted):
            yield axes


def _inserted(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """Wherever they are, the elements stand in the same order."""
    made = _whole(results[0])
    if made is None:
        return None
    return next((axes for axes in _without(made, have) if all(made[axis] == 1 for axis in axes)), None)


def _squeezed(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    made = _whole(results[0])
    if made is None:
        return None
    return next((axes for axes in _without(have, made) if all(have[axis] == 1 for axis in axes)), None)


def _reduced(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """Axes that are there: whether one of size 1 is among them makes no difference, if there is any."""
    made, operand = _whole(results[0]), node.input(1)
    is_any = operand is not None and operand.tensor.static_shape is not None
    if made is None or (flag(node, "noop_with_empty_axes") and not is_any):
        return None
    if not flag(node, "keepdims", 1):
        axes = _left_out(have, made)
    elif len(made) == len(have) and all(size == 1 or size == old for size, old in zip(made, have, strict=True)):
        axes = tuple(axis for axis, size in enumerate(made) if size == 1)
    else:
        return None
    return axes or None


def _left_out(have: Sizes, made: Sizes) -> tuple[int, ...] | None:
    """The axes without which sizes are what they are, if whatever the inputs' sizes no others leave the same."""
    found: tuple[int, ...] | None = None
    more = len(have) - len(made)
    if more < 0 or math.comb(len(have), more) > _MOST_CHOICES:
        return None
    for axes in combinations(range(len(have)), more):
        left = [size for at, size in enumerate(have) if at not in axes]
        if any(map(_differ, left, made)):
            continue
        if left != list(made) or (found is not None and any(have[axis] != 1 for axis in {*found} ^ {*axes})):
            return None
        found = axes
    return found


def _transformed(node: Node, have: Sizes, results: Sequence[Declared | None]) -> Items:
    """The one axis that has another size afterwards, but for the last: there are the parts of a number."""
    made = _whole(results[0])
    if made is None or len(made) != len(have):
        return None
    axes = [at for at, size in enumerate(have[:-1]) if size != made[at]]
    return axes if len(axes) == 1 and _differ(have[axes[0]], made[axes[0]]) else None


def _differ(one: int, other: int) -> bool:
    """Whether two sizes are certain to differ."""
    return bool(is_below(one, other) or is_below(other, one))


_OPERANDS: Mapping[Key, tuple[int, Tell]] = {
    ("", "CenterCropPad"): (1, _at_axes),
    ("", "ConstantOfShape"): (0, _sizes),
    ("", "DFT"): (2, _transformed),
    ("", "Expand"): (1, _sizes),
    **{("", name): (1, _reduced) for name in REDUCTIONS},
    ("", "Reshape"): (1, _reshaped),
    ("", "Resize"): (3, _resized),
    ("", "Split"): (1, _split),
    ("", "Squeeze"): (1, _squeezed),
    ("", "Tile"): (1, _repeated),
    ("", "TopK"): (1, _counted),
    ("", "Unsqueeze"): (1, _inserted),
}
"""Operator -> the operand, and what tells it."""
