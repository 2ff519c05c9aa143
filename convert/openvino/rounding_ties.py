"""Whether what is to be quantized may lie exactly between two steps.

Sums of products and transcendental functions carry rounding errors of their own, by which their ties are decided.
Values of another grid hit ties only where the one's steps and the other's have a common measure. What comes from
outside may be anything.

For graphs of OpenVINO's operators, and of the hub's.
"""

from __future__ import annotations

import numpy as np

from ...passes.graph import Node, Value
from .layers import LAYERS, OF_HUB

_ALSO = {"Gemm": "MatMul", "LayerNormalization": "MVN"}
"""Operators of the hub that a layer with another name computes."""
_MOST = 255  # steps from the zero point, in 8 bits
_CLOSE = 2e-5  # of a step: what FakeQuantize loses of it
_MOST_LOOKED_AT = 4096

Grid = np.ndarray
"""Rows of (step, most steps from 0) of all that is added up in a value; none where it is rounded anyway."""

_ROUNDED_GRID: Grid = np.zeros((0, 2))


def _name(node: Node) -> str:
    """The layer that a node is, or that stands for the hub's operator."""
    return node.op_type if node.op_type in LAYERS else OF_HUB.get(node.op_type, _ALSO.get(node.op_type, node.op_type))


def _grid_of(node: Node) -> str:
    spec = LAYERS.get(_name(node))
    return "" if spec is None else spec.grid


def has_exact_ties(x: Value, scale: np.ndarray) -> bool:
    """Whether values of `x`, divided by the scale, may come out just between two integers."""
    exact = bool((np.frexp(scale)[0] == 0.5).any())  # sums of products of such scales aren't rounded
    grid = _grid(x, None if exact else _ROUNDED_GRID)
    if grid is None:
        return True
    grid, scales = np.unique(grid, axis=0), np.unique(scale.astype(np.float64))
    if len(grid) * len(scales) > _MOST_LOOKED_AT:
        return True
    counts = np.arange(1, _MOST + 1)
    indices = counts * (grid[:, None, :1] / scales[:, None])
    ties = np.abs(indices - np.floor(indices) - 0.5) < _CLOSE
    return bool((ties & (counts <= grid[:, None, 1:])).any())


_MOST_SUMMED = 1 << 14
_DIGITS = 1e-7  # of float32


def hits_ties(factors: np.ndarray) -> bool:
    """Whether integers, times one of the factors, come to lie just between two others by more than chance."""
    indices = np.arange(1, _MOST_SUMMED) * np.unique(factors)[:, None]
    return bool((np.abs(indices - np.floor(indices) - 0.5) < _DIGITS * (indices + 1)).any())


def _grid(value: Value, rounded: Grid | None) -> Grid | None:
    """The grid that a value lies on; None if it may lie anywhere. `rounded`: that of sums of products."""
    found: dict[Value, Grid | None] = {}
    stack = [value]
    while stack:
        top = stack[-1]
        node = top.producer
        if node is None or _grid_of(node) == "rounded":
            found[top] = rounded if node is not None else _of_constant(top)
        elif (step := _dequantized(node)) is not None:
            found[top] = step
        elif not _keeps_grids(node):
            found[top] = None
        elif waiting := [item for item in node.inputs if item is not None and item not in found]:
            stack.append(waiting[0])
            continue
        else:
            found[top] = _combined(node, [found[item] for item in node.inputs if item is not None])
        stack.pop()
    return found[value]


def _keeps_grids(node: Node) -> bool:
    resized = node.op_type in ("Interpolate", "Resize")
    nearest = resized and node.attributes.get("mode", "nearest") == "nearest"
    return _grid_of(node) == "kept" or _name(node) in ("Multiply", "Divide") or nearest


def _array(value: Value | None) -> np.ndarray | None:
    """A constant, converted or not, unless it is large."""
    node = None if value is None else value.producer
    if node is not None and _name(node) == "Convert":
        value = node.inputs[0]
    data = None if value is None else value.data
    return None if data is None or data.size > _MOST_LOOKED_AT else data.numpy().astype(np.float64)


def _rows(steps: np.ndarray, most: int) -> Grid:
    steps = np.unique(steps)
    return np.stack([steps, np.full(len(steps), float(most))], axis=1)


def _of_constant(value: Value) -> Grid | None:
    if value.data is None:
        return None
    array = _array(value)
    return _ROUNDED_GRID if array is None else _rows(array, 1)


def _dequantized(node: Node) -> Grid | None:
    """The grid of integers less their zero point, multiplied by a constant; of a FakeQuantize, which has 0 on it."""
    if node.op_type == "FakeQuantize":
        low, high = _array(node.input(3)), _array(node.input(4))
        return None if low is None or high is None else _rows((high - low) / (node.attributes["levels"] - 1), _MOST)
    factor, source = _array(node.input(1)), node.input(0)
    if node.op_type == "DequantizeLinear" and factor is not None and source is not None:
        array, zero = _array(source), _array(node.input(2)) if len(node.inputs) > 2 else np.zeros(())
        if array is None or zero is None or factor.size * zero.size > 1:
            return _rows(factor, _MOST)
        return _rows((array - zero) * factor, 1)
    if _name(node) != "Multiply" or factor is None or source is None:
        return None
    inner, zero = source.producer, np.zeros(())
    if inner is not None and _name(inner) == "Subtract":
        zero, source = _array(inner.inputs[1]), inner.inputs[0]
        inner = None if source is None else source.producer
    integers = inner.input(0) if inner is not None and _name(inner) == "Convert" else None
    if integers is None or integers.tensor.dtype is None or not integers.tensor.dtype.is_integer:
        return None
    array = _array(integers)
    return _rows(factor, _MOST) if array is None or zero is None else _rows((array - zero) * factor, 1)


def _combined(node: Node, grids: list[Grid | None]) -> Grid | None:
    """What a node makes of the grids of its operands."""
    if _name(node) in ("Multiply", "Divide"):
        known = [grid for grid in grids if grid is not None]
        if len(known) < 2 or known[0].shape[0] * known[1].shape[0] > _MOST_LOOKED_AT:
            return None
        (a, most), (b, more) = known[0].T, known[1].T
        if _name(node) == "Divide":
            if (more > 1).any() or not b.all():
                return None
            b = 1 / b
        return np.stack([np.outer(a, b).reshape(-1), np.maximum(most[:, None], more).reshape(-1)], axis=1)
    if _name(node) in ("Add", "Subtract") and any(grid is not None and not len(grid) for grid in grids):
        return _ROUNDED_GRID  # so is the sum, whatever is added
    first = grids if _name(node) in ("Add", "Concat", "Maximum", "Minimum", "Subtract") else grids[:1]
    known = [grid for grid in first if grid is not None]
    return np.concatenate(known) if len(known) == len(first) else None
