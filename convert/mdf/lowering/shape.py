"""Operators that move, join, cut, repeat and make elements without computing with them."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.constant_analysis import ConstantAnalysis, static_array
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, input_of, rank_of, size_of_axis
from ....passes.slices import slice_range
from ....passes.tensor import TensorData
from ....passes.types import DType
from .axes import static_ints
from .elementwise import needed, present
from .terms import Expression, Operands, Term, cast, literal, number, sizes, take, weakened


def _open_once(node: Node) -> list[int] | None:
    """The sizes of the result with -1 for one that isn't known; None where several aren't."""
    shape = node.outputs[0].tensor.shape
    if shape is None:
        return None
    found = [dim if isinstance(dim, int) else -1 for dim in shape]
    return found if found.count(-1) < 1 or (found.count(-1) == 1 and 0 not in found) else None


def _reshaped(node: Node, operands: Operands) -> str:
    """To the sizes that are known, at most one of which is open; else to those that the model computes."""
    x, found = needed(operands, 0), _open_once(node)
    if found is not None:
        return f"numpy.reshape({x:a}, {sizes(found)})"
    wanted, known = needed(operands, 1), ConstantAnalysis().sizes(input_of(node, 1))
    if known is not None and 0 not in known and None not in known:
        return f"numpy.reshape({x:a}, {sizes([size or 0 for size in known])})"
    if known is None or 0 in known or not flag(node, "allowzero"):
        raise Unsupported(node, "the shape it gives isn't known before the model runs")
    return f"numpy.reshape({x:a}, {wanted:a})"


def _squeezed(node: Node, operands: Operands) -> str:
    x, value = needed(operands, 0), input_of(node)
    axes = static_ints(node, 1, "axes")
    if axes is None:
        return f"numpy.squeeze({x:a})"
    rank = rank_of(node, value)
    return f"numpy.squeeze({x:a}, {sizes(sorted(axis_of(node, axis, rank) for axis in axes))})"


def _unsqueezed(node: Node, operands: Operands) -> str:
    axes = static_ints(node, 1, "axes") or []
    rank = rank_of(node, input_of(node)) + len(axes)
    return f"numpy.expand_dims({needed(operands, 0):a}, {sizes(sorted(axis_of(node, axis, rank) for axis in axes))})"


def _transposed(node: Node, operands: Operands) -> str:
    order = node.attributes.get("perm")
    return f"numpy.transpose({needed(operands, 0):a}{'' if order is None else f', {sizes(order)}'})"


def concatenated(texts: Sequence[str], axis: int) -> str:
    """Arrays one after the other."""
    return texts[0] if len(texts) == 1 else f"numpy.concatenate(({', '.join(texts)}), {axis})"


def _concat(node: Node, operands: Operands) -> str:
    axis = axis_of(node, int(node.attributes["axis"]), rank_of(node, input_of(node)))
    return concatenated([term.text for term in present(operands)], axis)


def _sliced(node: Node, operands: Operands) -> str:
    x, value = needed(operands, 0), input_of(node)
    text, rank = x.text, rank_of(node, value)
    count = input_of(node, 1).tensor.static_shape
    if count is None:
        raise Unsupported(node, "the number of axes it slices isn't known before the model runs")
    axes = static_ints(node, 3, "axes") or list(range(count[0]))
    steps = static_ints(node, 4, "steps") or [1] * count[0]
    for position, (axis, step) in enumerate(zip(axes, steps, strict=True)):
        axis = axis_of(node, axis, rank)
        bounds = [_bound(node, operands, index, position) for index in (1, 2)]
        indices = _slice_indices(node, text, axis, size_of_axis(value, axis), bounds, step)
        text = text if indices is None else take(text, indices, axis)
    return text


def _bound(node: Node, operands: Operands, index: int, position: int) -> int | Term:
    """A start or an end: as a number where it is known."""
    value = input_of(node, index)
    known = ConstantAnalysis().sizes(value)
    found = known[position] if known is not None else None
    if found is not None:
        return found
    term = needed(operands, index)
    only = value.tensor.static_shape == (1,)
    return Term(f"numpy.reshape({term:a}, ())" if only else take(term.text, str(position), 0))


def _slice_indices(
    node: Node, x: str, axis: int, length: int | None, bounds: list[int | Term], step: int
) -> str | None:
    """The indices of a slice along an axis; None where it is everything."""
    start, end = bounds
    if isinstance(start, int) and isinstance(end, int):
        if length is not None:
            chosen = slice_range(start, end, step, length)
            if chosen == range(length):
                return None
            return f"numpy.arange({chosen.start}, {chosen.stop}{'' if step == 1 else f', {step}'})"
        if start == 0 and step == 1 and end >= 2**31 - 1:
            return None
    if step < 0:
        raise Unsupported(node, "it slices backwards between bounds that aren't known before the model runs")
    whole = f"numpy.size({x}, {axis})" if length is None else str(length)
    low, high = (_clamped(bound, whole) for bound in bounds)
    return f"numpy.arange({low}, {high}{'' if step == 1 else f', {step}'})"


def _clamped(bound: int | Term, whole: str) -> str:
    """A start or an end counted from the front and inside the axis."""
    if isinstance(bound, Term):
        return f"numpy.minimum(numpy.maximum(numpy.where({bound} < 0, {bound} + {whole}, {bound:a}), 0), {whole})"
    return f"numpy.minimum({bound}, {whole})" if bound >= 0 else f"numpy.maximum({whole} - {-bound}, 0)"


_MODES = ("reflect", "edge", "wrap")
"""Of Pad, which NumPy has by the same names."""


def _padded(node: Node, operands: Operands) -> str:
    x, value = needed(operands, 0), input_of(node)
    rank, dtype = rank_of(node, value), dtype_of(node, input_of(node))
    mode = node.attributes.get("mode", "constant")
    mode = mode.decode() if isinstance(mode, bytes) else str(mode)
    fill = (operands[2] if len(operands) > 2 else None) or number(0, dtype)
    filling = input_of(node, 2) if node.input(2) is not None else None
    known = static_array(filling) if filling is not None else None
    if known is not None and known.size == 1:
        fill = literal(TensorData.of(known.reshape(()), dtype))
    listed = static_ints(node, 3, "axes")
    axes = list(range(rank)) if listed is None else [axis_of(node, axis, rank) for axis in listed]
    amounts = ConstantAnalysis().sizes(input_of(node, 1))
    if amounts is not None and None not in amounts:
        return _padded_by(node, x.text, axes, [amount or 0 for amount in amounts], mode, fill.text)
    if mode != "constant":
        raise Unsupported(node, f"in mode {mode!r}, its pads aren't known before the model runs")
    return _padded_by_told(x, value, axes, needed(operands, 1), fill)


def _padded_by_told(x: Term, value: Value, axes: list[int], amounts: Term, fill: Term) -> str:
    """By amounts that are told when the model runs: those below 0, which NumPy doesn't take, are cut off afterwards."""
    rank, count = value.rank or 0, len(axes)
    added = f"numpy.maximum({amounts:a}, 0)"
    pairs = f"numpy.transpose(numpy.reshape({added}, (2, {count})))"
    if axes != list(range(rank)):
        rows = [axes.index(axis) + 1 if axis in axes else 0 for axis in range(rank)]
        pairs = take(f"numpy.concatenate((numpy.int64(((0, 0), )), {pairs}), 0)", sizes(rows), 0)
    text = f"numpy.pad({x:a}, {pairs}, constant_values={fill:a})"
    for index, axis in enumerate(axes):
        before, after = (take(amounts.text, str(position), 0) for position in (index, index + count))
        length = size_of_axis(value, axis)
        whole = f"numpy.size({x:a}, {axis})" if length is None else str(length)
        end = f"{whole} + numpy.maximum({before}, 0) + {after}"
        text = take(text, f"numpy.arange(numpy.maximum(-{before}, 0), {end})", axis)
    return text


def _padded_by(node: Node, text: str, axes: list[int], amounts: list[int], mode: str, fill: str) -> str:
    """Negative amounts take away: of a constant's after it is added, of other modes' before anything is added."""
    lengths = [size_of_axis(input_of(node), axis) for axis in range(rank_of(node, input_of(node)))]
    pairs = [(0, 0)] * len(lengths)
    for index, axis in enumerate(axes):
        pairs[axis] = (amounts[index], amounts[index + len(axes)])
    added = tuple((max(before, 0), max(after, 0)) for before, after in pairs)
    is_constant = mode == "constant"
    if is_constant and any(map(any, added)):
        text = f"numpy.pad({text}, {added}, constant_values={fill})"
    for axis, (before, after) in enumerate(pairs):
        if min(before, after) < 0:
            length = lengths[axis]
            if length is None:
                raise Unsupported(node, f"the size of axis {axis} isn't known before the model runs")
            end = length + min(after, 0) + (sum(added[axis]) if is_constant else 0)
            text = take(text, f"numpy.arange({max(-before, 0)}, {end})", axis)
            lengths[axis] = end - max(-before, 0)
    if is_constant or not any(map(any, added)):
        return text
    if mode not in _MODES or any(length is None or length < 1 for length in lengths):
        raise Unsupported(node, f"mode {mode!r} over {lengths}")
    return f"numpy.pad({text}, {added}, {mode!r})"


def _expanded(node: Node, operands: Operands) -> str:
    """To the result's shape; where that isn't known, by what broadcasting does."""
    x, shape = needed(operands, 0), node.outputs[0].tensor.static_shape
    if shape is not None:
        return f"numpy.broadcast_to({x:a}, {sizes(shape)})" if shape else x.text
    return f"numpy.where(numpy.zeros({needed(operands, 1):a}) == 0, {x:a}, {x:a})"


def _tiled(node: Node, operands: Operands) -> str:
    x, known = needed(operands, 0), static_array(input_of(node, 1))
    if known is None:
        return f"numpy.tile({x:a}, {needed(operands, 1):a})"
    return f"numpy.tile({x:a}, {sizes(known.tolist())})" if known.size else x.text


def _shape(node: Node, operands: Operands) -> str:
    rank = rank_of(node, input_of(node))
    axes = range(rank)[node.attributes.get("start", 0) : node.attributes.get("end")]
    x = needed(operands, 0)
    found = [f"numpy.size({x:a}, {axis}), " for axis in axes]
    return cast(DType.INT64, f"({''.join(found).strip()})" if found else "numpy.zeros((0,))", node)


def _triangle(node: Node, operands: Operands) -> str:
    """From a diagonal within 32 bits: NumPy's counting from one further off overflows, and no matrix is that large."""
    diagonal = operands[1] if len(operands) > 1 else None
    known, (least, most) = static_array(node.input(1)), DType.INT32.integer_limits
    if diagonal is None:
        k = "0"
    elif known is not None:
        k = str(min(max(int(known.item()), least), most))
    else:
        k = f"numpy.clip(numpy.reshape({diagonal:a}, ()), {least}, {most})"
    return f"numpy.{'triu' if flag(node, 'upper', 1) else 'tril'}({needed(operands, 0):a}, {k})"


def _range(node: Node, operands: Operands) -> str:
    dtype = dtype_of(node, input_of(node))
    start, limit, delta = present(operands)
    if dtype.is_integer:
        start, limit, delta = weakened((start, limit, delta))
        return cast(dtype, f"numpy.arange({start:a}, {limit:a}, {delta:a})", node)
    wide = [cast(DType.FLOAT64, term.weak or term.text, node) for term in (start, limit, delta)]
    count = f"numpy.arange(numpy.maximum(numpy.ceil(({wide[1]} - {wide[0]}) / {wide[2]}), 0))"
    return f"{start} + {cast(dtype, count, node)} * {delta}"


def _constant_of_shape(node: Node, operands: Operands) -> str:
    """One value everywhere, by default 0, a float32."""
    data = node.attributes.get("value")
    fill = number(0, DType.FLOAT32)
    if isinstance(data, TensorData):
        fill = number(data.numpy().reshape(-1)[0], data.dtype)
    shape = node.outputs[0].tensor.static_shape
    return f"numpy.full({needed(operands, 0).text if shape is None else sizes(shape)}, {fill:a})"


EXPRESSIONS: dict[str, Expression] = {
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Expand": _expanded,
    "Pad": _padded,
    "Range": _range,
    "Reshape": _reshaped,
    "Shape": _shape,
    "Slice": _sliced,
    "Squeeze": _squeezed,
    "Tile": _tiled,
    "Transpose": _transposed,
    "Trilu": _triangle,
    "Unsqueeze": _unsqueezed,
}
