"""Hub -> OpenVINO: convolutions, pools, products, normalizations and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ....passes.attributes import NodeAttributes
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import addend_of, axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....passes.windows import extent, same_padding, shared_out, windows
from ..layers import HUB_ATTRIBUTES
from .elementwise import row
from .tools import along, convert, i64, number, reshape, size_of, slice_axis, with_size

_AUTO_PADS = {"NOTSET": "explicit", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower", "VALID": "valid"}


@rule("", "Gemm")
def gemm(op: Builder, node: Node) -> Value:
    a, b, c = required(node, 0), required(node, 1), addend_of(node)
    rows, columns = int(flag(node, "transA")), int(not flag(node, "transB"))
    dtype, (alpha, beta) = dtype_of(node, a), map(NodeAttributes(node).float, ("alpha", "beta"))
    if dtype.is_float and dtype.bits < 32 and (alpha, beta) != (1, 1):  # a product that overflows may be scaled back
        a, b = (convert(op, node, value, DType.FLOAT32) for value in (a, b))
        c = None if c is None else convert(op, node, c, DType.FLOAT32)
    product = op.MatMul(a, b, transpose_a=rows == 1, transpose_b=columns == 0)
    if dtype.is_integer and not (alpha.is_integer() and (c is None or beta.is_integer())):
        product = convert(op, node, product, DType.FLOAT64)  # what is added up is truncated
        c = None if c is None else convert(op, node, c, DType.FLOAT64)
    if alpha != 1:
        product = op.Multiply(product, number(op, node, alpha, product))
    if c is not None:
        product = op.Add(product, c if beta == 1 else op.Multiply(c, number(op, node, beta, product)))
    return convert(op, node, product, dtype)


# convolutions ------------------------------------------------------------------------------------


def _window(node: Node, spatial: int, defaults: Sequence[str]) -> dict[str, list[int]]:
    """The attributes of these names, 1 for each spatial axis where they are left out."""
    return {name: list(node.attributes.get(name) or [1] * spatial) for name in defaults}


def _pads(node: Node, spatial: int) -> dict[str, Any]:
    auto = node.attributes.get("auto_pad", "NOTSET")
    if auto not in _AUTO_PADS:
        raise Unsupported(node, f"auto_pad={auto!r} isn't supported by OpenVINO")
    pads = list(node.attributes.get("pads") or [0] * 2 * spatial)
    if auto != "NOTSET":
        pads = [0] * 2 * spatial
    return {"pads_begin": pads[:spatial], "pads_end": pads[spatial:], "auto_pad": _AUTO_PADS[auto]}


def _spatial(node: Node, x: Value) -> int:
    spatial = rank_of(node, x) - 2
    if not 1 <= spatial <= 3:
        raise Unsupported(node, f"{spatial} spatial axes; OpenVINO supports 1 to 3")
    return spatial


def _grouped(op: Builder, node: Node, weights: Value) -> Value:
    """[first, second, ...] -> [groups, first / groups, second, ...]: as they are where there is one group."""
    groups, sizes = node.attributes.get("group", 1), _sizes(node, weights)
    return weights if groups == 1 else reshape(op, weights, [groups, sizes[0] // groups, *sizes[1:]])


def _sizes(node: Node, weights: Value) -> Sequence[int]:
    """The sizes of the weights of a convolution, which OpenVINO's CPU must know."""
    sizes = weights.tensor.static_shape
    if sizes is None:
        raise Unsupported(node, "OpenVINO's CPU convolves with no weights whose sizes are known at run time only")
    return sizes


def _biased(op: Builder, node: Node, result: Value, bias: Value | None, spatial: int) -> Value:
    return result if bias is None else op.Add(result, along(op, bias, spatial + 2, 1))


@rule("", "Conv")
def conv(op: Builder, node: Node) -> Value:
    x, weights = required(node, 0), required(node, 1)
    return _biased(op, node, convolved(op, node, x, weights), node.input(2), _spatial(node, x))


def convolved(op: Builder, node: Node, x: Value, weights: Value) -> Value:
    spatial, grouped = _spatial(node, x), _grouped(op, node, weights)
    attributes = _window(node, spatial, ("strides", "dilations")) | _pads(node, spatial)
    make = op.Convolution if grouped is weights else op.GroupConvolution
    return make(x, grouped, **attributes)


@rule("", "ConvTranspose")
def conv_transpose(op: Builder, node: Node) -> Value:
    x, weights = required(node, 0), required(node, 1)
    spatial, grouped = _spatial(node, x), _grouped(op, node, weights)
    attributes = _window(node, spatial, ("strides", "dilations")) | _pads(node, spatial)
    attributes["output_padding"] = list(node.attributes.get("output_padding") or [0] * spatial)
    wanted: list[int] = list(node.attributes.get("output_shape") or [])[-spatial:]
    if wanted or attributes["auto_pad"] in ("same_upper", "same_lower"):
        attributes |= _padded_to(node, wanted, x, weights, attributes)
    make = op.ConvolutionBackpropData if grouped is weights else op.GroupConvolutionBackpropData
    return _biased(op, node, make(x, grouped, **attributes), node.input(2), spatial)


def _lengths(node: Node, value: Value, spatial: int) -> list[int]:
    """The sizes of the spatial axes."""
    found = [size_of_axis(value, axis + 2) for axis in range(spatial)]
    sizes = [size for size in found if size is not None]
    if len(sizes) < spatial:
        raise Unsupported(node, f"padding that follows from the sizes of {value.name!r}, known at run time only")
    return sizes


def _padded_to(node: Node, wanted: list[int], x: Value, weights: Value, attributes: dict[str, Any]) -> dict[str, Any]:
    """The padding that makes a transposed convolution's result of the wanted size (none: that of auto_pad), as ONNX
    shares it out."""
    strides, extra = attributes["strides"], attributes["output_padding"]
    kernel = _lengths(node, weights, len(strides))
    lasts = [extent(size, step) + more for size, step, more in zip(kernel, attributes["dilations"], extra, strict=True)]
    totals = [same_padding(last, stride) for last, stride in zip(lasts, strides, strict=True)]
    if wanted:
        lengths = _lengths(node, x, len(strides))
        totals = [
            stride * (length - 1) + last - size
            for stride, length, last, size in zip(strides, lengths, lasts, wanted, strict=True)
        ]
    pairs = [shared_out(max(total, 0), node.attributes.get("auto_pad", "")) for total in totals]
    return {
        "pads_begin": [first for first, _ in pairs],
        "pads_end": [last for _, last in pairs],
        "auto_pad": "explicit",
        "output_padding": [more + max(-total, 0) for more, total in zip(extra, totals, strict=True)],
    }


@rule("", "DeformConv")
def deform_conv(op: Builder, node: Node) -> Value:
    x, weights, offsets, bias, mask = (node.input(index) for index in range(5))
    assert x is not None and weights is not None and offsets is not None
    spatial = _spatial(node, x)
    if spatial != 2:
        raise Unsupported(node, f"{spatial} spatial axes; OpenVINO supports 2")
    attributes = _window(node, spatial, ("strides", "dilations")) | _pads(node, spatial)
    result = op.DeformableConvolution(
        x,
        offsets,
        weights,
        mask,
        group=node.attributes.get("group", 1),
        deformable_group=node.attributes.get("offset_group", 1),
        bilinear_interpolation_pad=True,
        **attributes,
    )
    return _biased(op, node, result, bias, spatial)


# pools -------------------------------------------------------------------------------------------


def _pool(node: Node, x: Value) -> dict[str, Any]:
    spatial, rounds_up = _spatial(node, x), flag(node, "ceil_mode")
    kernel = list(node.attributes["kernel_shape"])
    made = _window(node, spatial, ("strides", "dilations")) | _pads(node, spatial)
    if made["auto_pad"] == "valid":
        made["auto_pad"] = "explicit"
    if made["auto_pad"] == "explicit":
        made["pads_end"] = [
            behind + _missing(node, size_of_axis(x, axis), extent(size, step) - before - behind, stride)
            for axis, (size, step, before, behind, stride) in enumerate(
                zip(kernel, made["dilations"], made["pads_begin"], made["pads_end"], made["strides"], strict=True),
                start=2,
            )
        ]
    return made | {"kernel": kernel, "rounding_type": "ceil_torch" if rounds_up else "floor"}


def _missing(node: Node, length: int | None, reach: int, stride: int) -> int:
    """Elements that an axis has less than the only window on it spans, which OpenVINO wouldn't load."""
    missing = 0 if length is None else max(reach - length, 0)
    if missing >= stride:
        raise Unsupported(node, f"an axis of {length} elements without a window, which OpenVINO doesn't load")
    return missing


@rule("", "AveragePool")
def average_pool(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    spatial, padded = _spatial(node, x), flag(node, "count_include_pad")
    attributes = _pool(node, x)
    made = op.AvgPool(x, **{"exclude-pad": not padded}, **attributes)
    pads = _pads(node, spatial)
    hangs_over = flag(node, "ceil_mode") or attributes["pads_end"] != pads["pads_end"]
    if not padded or not hangs_over or attributes["auto_pad"] != "explicit":
        return made
    # OpenVINO's CPU would count what lies behind the padding, too: the padding made elements, nothing is padded
    whole = op.Pad(x, *(i64(op, [0, 0, *pads[side]]) for side in ("pads_begin", "pads_end")), number(op, node, 0, x))
    spare = [more - given for more, given in zip(attributes["pads_end"], pads["pads_end"], strict=True)]
    attributes |= {"pads_begin": [0] * spatial, "pads_end": spare}
    every = op.AvgPool(whole, **{"exclude-pad": True}, **attributes)
    for axis in range(2, 2 + spatial):  # windows that begin on the padding behind are none
        every = slice_axis(op, every, 0, size_of(op, node, made, axis), axis=axis)
    return every


@rule("", "MaxPool")
def max_pool(op: Builder, node: Node) -> list[Value]:
    x = required(node, 0)
    made = op.MaxPool(x, index_element_type="i64", axis=0, **_pool(node, x), _outputs=2)
    if flag(node, "storage_order") and len(node.outputs) > 1:
        return [made[0], _by_columns(op, node, x, made[1])]
    return list(made[: len(node.outputs)])


def _by_columns(op: Builder, node: Node, x: Value, indices: Value) -> Value:
    """Indices that count the elements of each image row by row, as positions that count them column by column."""
    if rank_of(node, x) != 4:
        raise Unsupported(node, "storage_order=1 of other than images, which ONNX doesn't define")
    height, width = size_of(op, node, x, 2), size_of(op, node, x, 3)
    area = op.Multiply(height, width)
    inside = op.FloorMod(indices, area)
    row, column = op.Divide(inside, width, m_pythondiv=False), op.FloorMod(inside, width)
    return op.Add(op.Subtract(indices, inside), op.Add(op.Multiply(column, height), row))


@rule("", "LpPool")
def lp_pool(op: Builder, node: Node) -> Value:
    """(sum of |x| ** p) ** (1 / p): the mean that counts the padding, times the size of the window.

    Of halves in float32: they hold neither the powers nor 1 / p.
    """
    x, order, kind = required(node, 0), node.attributes.get("p", 2), dtype_of(node, required(node, 0))
    wide = convert(op, node, x, DType.FLOAT32) if kind.bits < 32 else x
    powers = op.Power(op.Abs(wide), number(op, node, order, wide))
    attributes = _pool(node, x)
    sizes = [size_of_axis(x, axis) for axis in range(2, _spatial(node, x) + 2)]
    if flag(node, "ceil_mode") and attributes["auto_pad"] == "explicit" and None in sizes:
        raise Unsupported(node, "windows that hang over the end of an open size")
    if None not in sizes:  # over an open one that is short of its only window OpenVINO fails
        attributes |= _whole_windows(node, [size for size in sizes if size is not None])
    mean = op.AvgPool(powers, **{"exclude-pad": False}, **attributes)
    size = math.prod(node.attributes["kernel_shape"])
    root = op.Power(op.Multiply(mean, number(op, node, size, wide)), number(op, node, 1 / order, wide))
    return convert(op, node, root, kind)


def _whole_windows(node: Node, sizes: Sequence[int]) -> dict[str, Any]:
    """Pads behind that the last window ends with: a mean over one that hangs over is of what there is."""
    found = windows(NodeAttributes(node), sizes, node.attributes["kernel_shape"])
    return {"pads_end": found.behind, "rounding_type": "floor"} if any(more for _, more in found.overhang) else {}


@rule("", "MaxUnpool")
def max_unpool(op: Builder, node: Node) -> Value:
    """Values put at their positions in zeros of the full size.

    ONNX Runtime refuses positions outside of it. OpenVINO's CPU would write anywhere: these go to one element more.
    """
    x, indices, size = required(node, 0), required(node, 1), node.input(2)
    spatial = _spatial(node, x)
    attributes = _window(node, spatial, ("strides",))
    kernel, strides = list(node.attributes["kernel_shape"]), attributes["strides"]
    pads = list(node.attributes.get("pads") or [0] * 2 * spatial)
    lengths = [size_of_axis(x, axis) for axis in range(spatial + 2)]
    if None in lengths:
        raise Unsupported(node, "sizes that are known at run time only")
    natural = [dim for dim in lengths[:2] if dim is not None]
    for axis in range(spatial):
        length = lengths[axis + 2]
        assert length is not None
        natural.append((length - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axis + spatial])
    shape, indices = i64(op, natural), convert(op, node, indices, DType.INT64)
    inside = op.LogicalAnd(op.GreaterEqual(indices, i64(op, 0)), op.Less(indices, i64(op, math.prod(natural))))
    if size is not None:  # positions count in the natural size
        shape = with_size(op, convert(op, node, size, DType.INT64), 0, len(natural))
        rest, index = indices, i64(op, 0)
        step = i64(op, [1])
        for axis in range(len(natural))[::-1]:
            dim = i64(op, natural[axis])
            index = op.Add(index, op.Multiply(op.FloorMod(rest, dim), step))
            rest = op.Divide(rest, dim, m_pythondiv=False)
            step = op.Multiply(step, slice_axis(op, shape, axis, axis + 1))
        indices = index
    count = op.ReduceProd(shape, i64(op, [0]), keep_dims=True)
    zeros = op.Broadcast(number(op, node, 0, x), op.Add(count, i64(op, 1)))
    indices = reshape(op, op.Select(inside, indices, count), [-1])
    flat = op.ScatterElementsUpdate(zeros, indices, reshape(op, x, [-1]), i64(op, 0))
    return op.Reshape(slice_axis(op, flat, 0, count), shape)


@rule("", "Col2Im")
def col2im(op: Builder, node: Node) -> Value | None:
    """Of two axes, which OpenVINO must know they are; None for others, where it is a ScatterND."""
    x, image, block = required(node, 0), required(node, 1), required(node, 2)
    if 2 not in (size_of_axis(image, 0), size_of_axis(block, 0)):
        return None
    image, block = with_size(op, image, 0, 2), with_size(op, block, 0, 2)
    pads = list(node.attributes.get("pads") or [0] * 4)
    return op.Col2Im(
        x, image, block, **_window(node, 2, ("strides", "dilations")), pads_begin=pads[:2], pads_end=pads[2:]
    )


# normalizations and attention ----------------------------------------------------------------------


def _epsilon(node: Node) -> float:
    return NodeAttributes(node).float("epsilon")


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> Value | None:
    """Over the statistics that are given; it is decomposed in training."""
    if flag(node, "training_mode"):
        return None
    x, *given = (required(node, at) for at in range(5))
    if any(value.tensor.static_shape == (0,) for value in given):
        return x  # OpenVINO refuses a layer of no channels, of which the data have none, too
    scale, bias, mean, variance = (convert(op, node, value, dtype_of(node, x)) for value in given)
    return op.BatchNormInference(x, scale, bias, mean, variance, epsilon=_epsilon(node))


def _normalized(op: Builder, x: Value, axes: list[int], epsilon: float, mode: str = "INSIDE_SQRT") -> Value:
    return op.MVN(x, i64(op, axes), normalize_variance=True, eps=epsilon, eps_mode=mode)


@rule("", "InstanceNormalization")
def instance_normalization(op: Builder, node: Node) -> Value:
    x, scale, bias = (required(node, index) for index in range(3))
    rank = rank_of(node, x)
    y = _normalized(op, x, list(range(2, rank)), _epsilon(node))
    return op.Add(op.Multiply(y, along(op, scale, rank, 1)), along(op, bias, rank, 1))


@rule("", "GroupNormalization")
def group_normalization(op: Builder, node: Node) -> Value | Sequence[Value] | None:
    """One layer where OpenVINO's CPU makes a kernel of it: of rank 3 and more, and outside of bodies."""
    known = op.graph is op.rewriter.root and (required(node, 0).rank or 0) > 2
    return row("GroupNormalization", HUB_ATTRIBUTES["GroupNormalization"])(op, node) if known else None


@rule("", "LayerNormalization")
def layer_normalization(op: Builder, node: Node) -> Value | None:
    """MVN where only the first output is wanted; its function body else."""
    if any(value.name for value in node.outputs[1:]):
        return None
    x, scale, bias = required(node, 0), required(node, 1), node.input(2)
    rank = rank_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", -1), rank)
    y = op.Multiply(_normalized(op, x, list(range(axis, rank)), _epsilon(node)), scale)
    return y if bias is None else op.Add(y, bias)


@rule("", "MeanVarianceNormalization")
def mean_variance_normalization(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    rank = rank_of(node, x)
    axes = [axis_of(node, axis, rank) for axis in node.attributes.get("axes", [0, 2, 3])]
    return _normalized(op, x, axes, 1e-9, "OUTSIDE_SQRT")


@rule("", "LRN")
def lrn(op: Builder, node: Node) -> Value | None:
    """One layer for windows of odd size; OpenVINO's of even size end an element earlier, and they are decomposed."""
    attributes = NodeAttributes(node)
    if attributes.int("size") % 2 == 0:
        return None
    return op.LRN(
        required(node, 0),
        i64(op, [1]),
        alpha=attributes.float("alpha"),
        beta=attributes.float("beta"),
        bias=attributes.float("bias"),
        size=int(node.attributes["size"]),
    )


_PLAIN = {"softcap": 0.0, "qk_matmul_output_mode": 0, "left_window_size": -1, "right_window_size": -1}


@rule("", "Attention")
def attention(op: Builder, node: Node) -> Value | None:
    """ScaledDotProductAttention in its plainest form; the function body else.

    Not with a mask: of a row that is masked altogether OpenVINO makes NaN, ONNX zeros.
    """
    query, key, value = (required(node, index) for index in range(3))
    extras = [item for item in (*node.inputs[3:], *node.outputs[1:]) if item is not None and item.name]
    if extras or any(node.attributes.get(name, usual) != usual for name, usual in _PLAIN.items()):
        return None
    shapes = [item.tensor.shape for item in (query, key, value)]
    known = [shape for shape in shapes if shape is not None and len(shape) == 4 and isinstance(shape[1], int)]
    width = size_of_axis(query, -1)
    if len(known) < 3 or len({shape[1] for shape in known}) > 1 or width is None:
        return None
    causal, scale = flag(node, "is_causal"), node.attributes.get("scale")
    if scale is not None and not math.isclose(scale, width**-0.5, rel_tol=1e-6):
        return None
    if {dtype_of(node, item) for item in (query, key, value)} != {DType.FLOAT32} or (
        causal and known[0][2] != known[1][2]
    ):
        return None
    return op.ScaledDotProductAttention(query, key, value, causal=causal)


RULES = collect(globals())
