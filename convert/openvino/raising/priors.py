"""OpenVINO -> the hub: prior boxes.

A prior is a box around the centre of every cell of a grid. What doesn't depend on the sizes of grid and image (how far
it stands from the centre, how large it is) is a table with a row for each prior; the rest is one formula over all
cells, computed here where both sizes are known and by the model where they aren't.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ....passes.build import Expr, arange, concat, expr
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, operand

Floats = np.ndarray[Any, np.dtype[Any]]

_SAME = 1e-6  # aspect ratios that differ by less are one


class _Prior(NamedTuple):
    """One box: where its centre is, seen from the cell's, and half its sizes, in pixels.

    Half the sizes are to be multiplied by the image's height to the power of `growth`.
    """

    width: float
    height: float
    x: float = 0.0
    y: float = 0.0
    clipped: bool = False
    growth: float = 0.0


@dataclass(frozen=True, slots=True)
class _Grid:
    """The cells' centres: (index + offset) * step, in pixels.

    A step is a number of pixels, or None for the image's size over the grid's; `of_height`: it counts heights of the
    image; `by_height`: None is the image's height over the grid's in both directions.
    """

    offset: float
    step_x: float | None
    step_y: float | None
    of_height: bool = False
    by_height: bool = False


def _numbers(node: Node, name: str) -> list[float]:
    return [float(np.float32(item)) for item in node.attributes.get(name) or []]


def _ratios(node: Node) -> list[float]:
    """The aspect ratios other than 1, each once, with their inverses where the file wants them."""
    found = [1.0]
    for ratio in _numbers(node, "aspect_ratio"):
        if not ratio:
            raise InvalidModel(f"{node!r}: an aspect ratio of 0")
        if all(abs(ratio - known) >= _SAME for known in found):
            found += [ratio, 1 / ratio] if node.attributes.get("flip", False) else [ratio]
    return [ratio for ratio in found if abs(ratio - 1) >= _SAME]


def _dense(node: Node, ratios: list[float]) -> Iterator[_Prior]:
    """Boxes of fixed sizes, each standing `density` times in each direction, none beyond the image."""
    sizes, densities = _numbers(node, "fixed_size"), _numbers(node, "density")
    if len(densities) < len(sizes):
        raise InvalidModel(f"{node!r}: {len(sizes)} fixed sizes with {len(densities)} densities")
    fixed = _numbers(node, "fixed_ratio")
    for size, number in zip(sizes, densities, strict=False):
        count = int(number)
        if count < 1:
            raise InvalidModel(f"{node!r}: a density of {number}")
        shift = int(size / count)
        first = shift / 2 - int(size) // 2
        boxes = [(size / 2 * math.sqrt(ratio), size / 2 / math.sqrt(ratio)) for ratio in fixed or ratios]
        if not fixed:
            boxes.insert(0, (int(size) / 2, int(size) / 2))
        for width, height in boxes:
            for position in range(count * count):
                row, column = divmod(position, count)
                yield _Prior(width, height, first + column * shift, first + row * shift, clipped=True)


def _sized(node: Node, ratios: list[float]) -> Iterator[_Prior]:
    """Boxes between a least and a greatest size, and of other aspect ratios."""
    least, greatest = _numbers(node, "min_size"), _numbers(node, "max_size")
    all_sizes = bool(node.attributes.get("scale_all_sizes", True))
    growth = 0.0 if all_sizes else 1.0
    for position, size in enumerate(least):
        yield _Prior(size / 2, size / 2, growth=growth)
        half = math.sqrt(size * greatest[position]) / 2 if position < len(greatest) else 0.0
        large = [_Prior(half, half, growth=growth / 2)] if position < len(greatest) else []
        base = size if all_sizes else least[0]
        shaped = [
            _Prior(base / 2 * math.sqrt(ratio), base / 2 / math.sqrt(ratio), growth=growth)
            for ratio in ratios
            if all_sizes or position == len(least) - 1
        ]
        caffe = node.version < 8 or node.attributes.get("min_max_aspect_ratios_order", True)
        yield from [*large, *shaped] if caffe else [*shaped, *large]


def _announced(node: Node, ratios: int) -> int:
    """How many priors the shape of the output counts."""
    least, greatest, fixed = (len(_numbers(node, name)) for name in ("min_size", "max_size", "fixed_size"))
    count = ratios * least + greatest if node.attributes.get("scale_all_sizes", True) else ratios + least - 1
    if fixed:
        count = ratios * fixed
    each = len(_numbers(node, "fixed_ratio")) or ratios
    return count + sum(each * (int(number) ** 2 - 1) for number in _numbers(node, "density"))


@rule(DOMAIN, "PriorBox")
def prior_box(op: Builder, node: Node) -> Results:
    """PriorBox-1, -8 (`min_max_aspect_ratios_order`): [2, 4 * cells * priors], the boxes and their variances."""
    ratios = _ratios(node)
    priors = [*_dense(node, ratios), *_sized(node, ratios)]
    room = _announced(node, len(ratios) + 1)
    if len(priors) != room:
        raise Unsupported(node, f"its attributes describe {len(priors)} boxes, its shape has room for {room}")
    step = float(node.attributes.get("step", 0.0))
    relative = not node.attributes.get("scale_all_sizes", True)
    by_height = relative and step == -1
    if not step or by_height:
        grid = _Grid(0.5 if not step else float(node.attributes.get("offset", 0.0)), None, None, by_height=by_height)
    else:
        grid = _Grid(float(node.attributes.get("offset", 0.0)), step, step, of_height=relative)
    return _boxes(op, node, priors, grid)


@rule(DOMAIN, "PriorBoxClustered")
def prior_box_clustered(op: Builder, node: Node) -> Results:
    """PriorBoxClustered-1: priors by width and height."""
    widths, heights = _numbers(node, "width"), _numbers(node, "height")
    if len(widths) != len(heights):
        raise InvalidModel(f"{node!r}: {len(widths)} widths with {len(heights)} heights")
    step, step_w, step_h = (float(node.attributes.get(name, 0.0)) for name in ("step", "step_w", "step_h"))
    step_w, step_h = step_w or step, step_h or step
    known = step_w or step_h  # one of them alone being 0 is a step of 0
    grid = _Grid(float(node.attributes.get("offset", 0.0)), step_w if known else None, step_h if known else None)
    priors = [_Prior(width / 2, height / 2) for width, height in zip(widths, heights, strict=True)]
    return _boxes(op, node, priors, grid)


def _variances(node: Node) -> Floats:
    found = _numbers(node, "variance") or [0.1]
    if len(found) not in (1, 4):
        raise InvalidModel(f"{node!r}: {len(found)} variances, not 1 or 4")
    return np.array(found * (4 // len(found)), np.float32)


def _bounds(node: Node, priors: list[_Prior]) -> tuple[Floats, Floats] | None:
    """The least and the greatest value of each box's corners; None where none is clipped."""
    if node.attributes.get("clip", node.op_type == "PriorBoxClustered"):
        return np.zeros(1, np.float32), np.ones(1, np.float32)
    if not any(prior.clipped for prior in priors):
        return None
    low, high = np.full((len(priors), 4), -np.inf, np.float32), np.full((len(priors), 4), np.inf, np.float32)
    for position, prior in enumerate(priors):
        if prior.clipped:
            low[position, :2], high[position, 2:] = 0, 1
    return low, high


def _boxes(op: Builder, node: Node, priors: list[_Prior], grid: _Grid) -> Value:
    """All priors of all cells: the centres, less and plus half the sizes, over the image's sizes."""
    cells, image = operand(op, node, 0), operand(op, node, 1)
    if any(one.array is not None and one.array.size != 2 for one in (cells, image)):
        raise InvalidModel(f"{node!r}: sizes of other than two dimensions")
    middle = np.array([[prior.x, prior.y] for prior in priors], np.float32).reshape(-1, 2)
    half = np.array([[prior.width, prior.height] for prior in priors], np.float32).reshape(-1, 2)
    growth = np.array([[prior.growth] for prior in priors], np.float32)
    computed = cells.array is None or image.array is None
    if computed and any(int(item) % 2 for item in _numbers(node, "fixed_size")):
        op.rewriter.notes.append(
            f"{node!r}: half of an odd fixed size is rounded down; the CPU runtime doesn't round it"
        )
    sizes = image.cast(DType.FLOAT32).reshape(-1)
    size = expr(op, half)
    if growth.any():
        size = size * sizes[0] ** growth
    centre = _centres(grid, cells.cast(DType.INT64).reshape(-1), sizes)
    if middle.any():
        centre = centre + middle
    boxes = concat(op, [centre - size, centre + size], -1) / sizes.gather([1, 0, 1, 0])
    bounds = _bounds(node, priors)
    if bounds is not None:
        boxes = boxes.maximum(bounds[0]).minimum(bounds[1])
    spread = expr(op, _variances(node)).broadcast_to(boxes.sizes())
    return concat(op, [boxes.reshape(1, -1), spread.reshape(1, -1)]).value()


def _centres(grid: _Grid, cells: Expr, image: Expr) -> Expr:
    """The cells' centres as [height, width, 1, 2], x first."""
    op = image.op
    height, width = cells[0], cells[1]
    along: list[Expr] = []
    for count, step, extent in ((width, grid.step_x, image[1]), (height, grid.step_y, image[0])):
        if step is not None:
            pace = image[0] * step if grid.of_height else image.like(step)
        else:
            over, under = (image[0], height) if grid.by_height else (extent, count)
            pace = over / under.cast(DType.FLOAT32)
        along.append((arange(op, count).cast(DType.FLOAT32) + grid.offset) * pace)
    x, y = along[0][None, :, None, None], along[1][:, None, None, None]
    return concat(op, [one.broadcast_to(height, width, 1, 1) for one in (x, y)], -1)


RULES = collect(globals())
