"""HLO's reductions, of dimensions and of windows, and sorts, by `jax.lax`: by functions that have derivatives where the
computation is one that JAX knows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.node import ancestors
from ....passes.types import DType
from ..limits import neutral
from ..text.tree import WindowDim
from .tools import Array, Arrays, Run, kind_of


class _Monoid(NamedTuple):
    """An associative opcode: of two arrays, of an array's dimensions, along an axis (None: JAX has none)."""

    combine: Callable[..., jax.Array]
    reduce: Callable[..., jax.Array]
    running: Callable[..., jax.Array] | None


_MONOIDS = {
    "add": _Monoid(lax.add, lax.reduce_sum, lax.cumsum),
    "and": _Monoid(lax.bitwise_and, lax.reduce_and, None),
    "maximum": _Monoid(lax.max, lax.reduce_max, lax.cummax),
    "minimum": _Monoid(lax.min, lax.reduce_min, lax.cummin),
    "multiply": _Monoid(lax.mul, lax.reduce_prod, lax.cumprod),
    "or": _Monoid(lax.bitwise_or, lax.reduce_or, None),
    "xor": _Monoid(lax.bitwise_xor, lax.reduce_xor, None),
}


def _applied(region: Graph, run: Run) -> Callable[[Any, Any], Any]:
    """A computation as JAX's functions take it: of two tuples, or of two values where it gives one."""
    if len(region.outputs) == 1:
        return lambda a, b: run(region, [a, b])[0]
    return lambda a, b: tuple(run(region, [*a, *b]))


def _is_neutral(start: Array, kind: str) -> bool:
    """Whether a fold begins with what changes nothing."""
    if not isinstance(start, np.ndarray):
        return False
    return start.item() == np.asarray(neutral(kind, DType.of(start.dtype))).astype(start.dtype).item()


def _picked(node: Node) -> list[str]:
    """What each result of a fold of several arrays is of its array: "maximum" or "minimum"; "" for integers, which have
    no derivative.

    Raises:
        Unsupported: it is another one, of which JAX has no derivative.
    """
    region = node.regions["to_apply"]
    many = len(region.outputs)
    found: list[str] = []
    for at, value in enumerate(region.outputs):
        if value.tensor.dtype is not None and not value.tensor.dtype.is_float:
            found.append("")
            continue
        kind = _choice(region, value, region.inputs[at], region.inputs[many + at])
        if not kind:
            raise Unsupported(node, "it folds several arrays by a computation that isn't known")
        found.append(kind)
    return found


def _choice(region: Graph, value: Value, a: Value, b: Value) -> str:
    """ "maximum" where a value is a or b, whichever is larger, or NaN; "minimum" for the smaller one; else "" """
    chooser = value.producer
    if chooser is None or chooser.op_type != "select" or chooser.inputs[1:] != [a, b]:
        return ""
    test = chooser.inputs[0]
    while test is not None and test.producer is not None and test.producer.op_type == "or":
        test = test.producer.inputs[0]
    maker = None if test is None else test.producer
    if maker is None or maker.op_type != "compare" or maker.inputs != [a, b]:
        return ""
    return {"GT": "maximum", "LT": "minimum"}.get(maker.attributes["direction"], "")


def _stopped(operands: Arrays) -> tuple[Any, ...]:
    return tuple(map(lax.stop_gradient, operands))


def _reduce(node: Node, operands: Arrays, run: Run) -> Any:
    region, dims = node.regions["to_apply"], node.attributes["dimensions"]
    many = len(operands) // 2
    kind = kind_of(region)
    if kind in _MONOIDS:
        return _folded(kind, operands[0], operands[1], lambda monoid: monoid.reduce(operands[0], dims))
    if many == 1:
        return lax.reduce(operands[0], operands[1], _applied(region, run), dims)
    picked = _picked(node)
    indices = lax.reduce(_stopped(operands[:many]), _stopped(operands[many:]), _applied(region, run), dims)
    return [
        _folded(kind, operands[at], operands[many + at], lambda monoid, at=at: monoid.reduce(operands[at], dims))
        if kind
        else indices[at]
        for at, kind in enumerate(picked)
    ]


def _folded(kind: str, operand: Array, start: Array, fold: Callable[[_Monoid], jax.Array]) -> jax.Array:
    """A fold of elements, and of the number that it begins with."""
    monoid = _MONOIDS[kind]
    made = fold(monoid)
    return made if _is_neutral(start, kind) else monoid.combine(lax.full_like(made, start), made)


# windows ------------------------------------------------------------------------------------------


def _reduce_window(node: Node, operands: Arrays, run: Run) -> Any:
    region, window = node.regions["to_apply"], node.attributes["window"]
    many = len(operands) // 2
    kind = kind_of(region)
    if kind in _MONOIDS:
        return _windows_folded(kind, operands[0], operands[1], window)
    if many == 1:
        return _windows(operands[0], operands[1], _applied(region, run), window)
    picked = _picked(node)
    found = _windows(_stopped(operands[:many]), _stopped(operands[many:]), _applied(region, run), window)
    return [
        _windows_folded(kind, operands[at], operands[many + at], window) if kind else found[at]
        for at, kind in enumerate(picked)
    ]


def _windows(operands: Any, starts: Any, computation: Callable[..., Any], window: Sequence[WindowDim]) -> Any:
    return lax.reduce_window(
        operands,
        starts,
        computation,
        tuple(dim.size for dim in window),
        tuple(dim.stride for dim in window),
        tuple((dim.low, dim.high) for dim in window),
        tuple(dim.lhs_dilate for dim in window),
        tuple(dim.rhs_dilate for dim in window),
    )


def _windows_folded(kind: str, operand: Array, start: Array, window: Sequence[WindowDim]) -> jax.Array:
    monoid = _MONOIDS[kind]
    if monoid.running is not None and (found := _running(window, operand.shape)) and _is_neutral(start, kind):
        axis, backwards, exclusive = found
        made = monoid.running(operand, axis, backwards)
        if not exclusive:
            return made
        ends = [(0, 0, 0)] * operand.ndim
        ends[axis] = (-1, 1, 0) if backwards else (1, -1, 0)
        return lax.pad(made, start, ends)
    if any(dim.rhs_dilate != 1 for dim in window) and all(dim.lhs_dilate == 1 for dim in window):
        return _by_elements(operand, start, monoid, window)
    return _windows(operand, start, monoid.combine, window)


def _by_elements(operand: Array, start: Array, monoid: _Monoid, window: Sequence[WindowDim]) -> jax.Array:
    """Of all windows the first elements, the second ones and so on, folded: JAX has no derivative of windows that leave
    elements out."""
    counts = [dim.count(size) for dim, size in zip(window, operand.shape, strict=True)]
    whole = lax.pad(operand, start, [(dim.low, dim.high, 0) for dim in window])
    made: jax.Array | None = None
    for offsets in itertools.product(*(range(dim.size) for dim in window)):
        first = [offset * dim.rhs_dilate for offset, dim in zip(offsets, window, strict=True)]
        last = [at + max(n - 1, 0) * dim.stride + (n > 0) for at, n, dim in zip(first, counts, window, strict=True)]
        elements = lax.slice(whole, first, last, [dim.stride for dim in window])
        made = elements if made is None else monoid.combine(made, elements)
    assert made is not None
    return made


def _running(window: Sequence[WindowDim], sizes: Sequence[int]) -> tuple[int, bool, bool] | None:
    """The axis along which windows reach from the beginning to each element, whether from the end instead, and whether
    the element itself is left out; None for other windows."""
    axes = [axis for axis, dim in enumerate(window) if not dim.is_whole]
    if len(axes) != 1:
        return None
    dim, size = window[axes[0]], sizes[axes[0]]
    if (dim.size, dim.stride, dim.lhs_dilate, dim.rhs_dilate) != (size, 1, 1, 1):
        return None
    for backwards in (False, True):
        for exclusive in (False, True):
            ends = (size - 1 + exclusive, -int(exclusive))
            if (dim.low, dim.high) == (ends[::-1] if backwards else ends):
                return axes[0], backwards, exclusive
    return None


# sorts --------------------------------------------------------------------------------------------


def _sort(node: Node, operands: Arrays, run: Run) -> list[jax.Array]:
    """By a number for each element, which is what its computation compares; JAX's own sorts take no computation."""
    key = _key(node.regions["to_apply"], operands, run)
    if key is None:
        raise Unsupported(node, "JAX has no sort with such a computation")
    stable = bool(node.attributes.get("is_stable", False))
    _, *made = lax.sort((key, *operands), node.attributes["dimensions"][0], stable, 1)  # type: ignore[arg-type]
    return made


def _key(region: Graph, operands: Arrays, run: Run) -> jax.Array | None:
    """Integers in the order that a computation sorts by; None where it isn't < or > of a function of one element."""
    test = region.outputs[0].producer
    if test is None or test.op_type != "compare" or test.attributes["direction"] not in ("LT", "GT"):
        return None
    left, right = test.inputs
    at = _position(left, right, region.inputs)
    if left is None or at is None:
        return None
    x = operands[at // 2]
    total = test.attributes.get("type") == "TOTALORDER"
    if not total and np.dtype(x.dtype).kind not in "iu":
        return None
    side = Graph(region.dialect, region.name)
    side.inputs, side.constants, side.outputs = [region.inputs[at]], region.constants, [left]
    needed = ancestors(side.outputs)
    side.add_nodes([node for node in region.topological() if node.outputs[0] in needed])
    flat = lax.stop_gradient(lax.reshape(x, (x.size,)))
    numbers = lax.reshape(jax.vmap(lambda element: run(side, [element])[0])(flat), x.shape)
    numbers = _ordered(numbers) if total else numbers
    return lax.bitwise_not(numbers) if test.attributes["direction"] == "GT" else numbers


def _position(left: Value | None, right: Value | None, inputs: Sequence[Value]) -> int | None:
    """Which parameter the left value is a function of, where the right one is the same function of the one after it."""
    found: set[int] = set()
    waiting = [(left, right)]
    while waiting:
        a, b = waiting.pop()
        if a is None or b is None:
            return None
        if a in inputs:
            at = inputs.index(a)
            if at % 2 or inputs[at + 1] is not b:
                return None
            found.add(at)
        elif a.data is not None and b.data is not None:
            if a.tensor != b.tensor or a.data.numpy().tobytes() != b.data.numpy().tobytes():
                return None
        elif (
            a.producer is None
            or b.producer is None
            or a.index != b.index
            or a.tensor != b.tensor
            or a.producer.op != b.producer.op
            or a.producer.attributes != b.producer.attributes
            or a.producer.regions
        ):
            return None
        else:
            waiting += zip(a.producer.inputs, b.producer.inputs, strict=True)
    return found.pop() if len(found) == 1 else None


def _ordered(floats: Array) -> jax.Array:
    """Floats as signed integers in their total order: -NaN, -infinity ... -0, 0 ... infinity, NaN."""
    dtype = np.dtype(f"int{8 * floats.dtype.itemsize}")
    bits = lax.bitcast_convert_type(floats, dtype)
    magnitude = lax.bitwise_and(bits, lax.full_like(bits, np.iinfo(dtype).max))
    return lax.select(lax.lt(bits, lax.full_like(bits, 0)), lax.bitwise_not(magnitude), bits)


APPLYING: dict[str, Callable[[Node, Arrays, Run], Any]] = {
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "sort": _sort,
}
