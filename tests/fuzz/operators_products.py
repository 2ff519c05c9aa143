"""How operands are picked for products, windows, normalization, recurrence and quantized numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper

from .evaluate import ELEMENTS, FLOATS
from .maker import Missing, Value
from .operators import Call, Picked, row

# products --------------------------------------------------------------------------------------------


@row("MatMul")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    inner = x.shape[-1]
    shape = c.m.one([(inner,), (inner, c.m.size()), (c.m.size(), inner, c.m.size()) if x.rank < 3 else (inner, 2)])
    return [x, c.tensor(1, shape=shape)], {}


@row("MatMulInteger")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    y = c.tensor(1, shape=(x.shape[-1], c.m.size()))
    more = [c.tensor(2, shape=()), c.tensor(3, shape=c.m.one([(), (y.shape[-1],)]))][: c.m.random.randint(0, 2)]
    return [x, y, *more], {}


@row("Gemm")
def _(c: Call) -> Picked:
    a, b = c.flag(), c.flag()
    x = c.tensor(ranks=(2, 2))
    n = c.m.size()
    rows, inner = reversed(x.shape) if a else x.shape
    y = c.tensor(1, shape=(n, inner) if b else (inner, n))
    bias = c.tensor(2, shape=c.m.one([(), (n,), (rows, n), (rows, 1), (1, n)]))
    attributes = {"transA": a, "transB": b, **c.some_attributes(alpha=lambda: 0.5, beta=lambda: c.m.one((2.0, 0.0)))}
    return [x, y, *([bias] if c.m.chance(0.7) or c.m.opset < 11 else [])], attributes


@row("Einsum")
def _(c: Call) -> Picked:
    products = ("ij,jk->ik", "bij,bjk->bik", "i,j->ij", "...ij,...jk->...ik", "ij,ij->", "ij,ij")
    equation = c.m.one(("ii->i", "ij->ji", *products))
    sizes = {letter: c.m.size() for letter in "bijk"}
    terms = equation.partition("->")[0].replace("...", "b").split(",")
    return [c.tensor(0, shape=[sizes[letter] for letter in term]) for term in terms], {"equation": equation}


@row("Det")
def _(c: Call) -> Picked:
    n = c.m.random.randint(1, 3)
    return [c.tensor(shape=(*c.m.dims(0, 2), n, n))], {}


# windows ---------------------------------------------------------------------------------------------


def _windows(c: Call, spatial: Sequence[int], dilate: bool = True) -> dict[str, Any]:
    made: dict[str, Any] = {"kernel_shape": [c.m.random.randint(1, min(3, max(1, size))) for size in spatial]}
    n = len(spatial)
    if c.m.chance(0.5):
        made["strides"] = [c.m.random.randint(1, 3) for _ in range(n)]
    if dilate and c.has("dilations") and c.m.chance(0.3):
        made["dilations"] = [c.m.random.randint(1, 2) for _ in range(n)]
    kind = c.m.random.random()
    if kind < 0.35:
        made["pads"] = [c.m.random.randint(0, k - 1) for k in made["kernel_shape"] * 2]
    elif kind < 0.5:
        made["auto_pad"] = c.m.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
        made.pop("dilations", None)
    return made


def _image(c: Call, channels: int = 0) -> Value:
    n = c.m.random.randint(1, 2)
    spatial = [c.m.random.randint(1, 5) for _ in range(c.m.one((1, 2, 2, 2, 3)))]
    while np.prod(spatial) > 40:
        spatial[0] = 1
        spatial[-1] = min(3, spatial[-1])
    shape = (n, channels or c.m.random.randint(1, 3), *spatial)
    found = [v.shape for v in c.s.pool if v.tensor and v.rank in (3, 4) and v.element in c.elements(0)]
    if found and not channels and c.m.chance(0.5):
        shape = c.m.one(found)
    return c.tensor(0, shape=shape)


@row("MaxPool AveragePool LpPool")
def _(c: Call) -> Picked:
    x = _image(c)
    outputs = {"_outputs": c.m.random.randint(1, c.schema.max_output)} if c.schema.name == "MaxPool" else {}
    more = c.some_attributes(
        ceil_mode=c.flag, count_include_pad=c.flag, storage_order=c.flag, p=lambda: c.m.random.randint(1, 3)
    )
    return [x], {**_windows(c, x.shape[2:]), **more, **outputs}


@row("Conv ConvInteger")
def _(c: Call) -> Picked:
    group = c.m.one((1, 1, 1, 2))
    x = _image(c, group * c.m.random.randint(1, 2))
    attributes = _windows(c, x.shape[2:])
    kernel = attributes["kernel_shape"]
    out = group * c.m.random.randint(1, 2)
    w = c.tensor(1, shape=(out, x.shape[1] // group, *kernel), share=0.1)
    if c.schema.name == "Conv":
        more = [c.tensor(2, shape=(out,))] if c.m.chance(0.5) else []
    else:
        more = [c.tensor(2, shape=())] if c.m.chance(0.5) else []
    if c.m.chance(0.3):
        attributes.pop("kernel_shape")
    return [x, w, *more], {**attributes, "group": group}


@row("ConvTranspose")
def _(c: Call) -> Picked:
    group = c.m.one((1, 1, 2))
    x = _image(c, group * c.m.random.randint(1, 2))
    attributes = _windows(c, x.shape[2:])
    w = c.tensor(1, shape=(x.shape[1], c.m.random.randint(1, 2), *attributes["kernel_shape"]), share=0.1)
    if c.m.chance(0.2) and "strides" in attributes:
        attributes["output_padding"] = [stride - 1 for stride in attributes["strides"]]
    more = [c.tensor(2, shape=(w.shape[1] * group,))] if c.m.chance(0.4) else []
    return [x, w, *more], {**attributes, "group": group}


@row("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def _(c: Call) -> Picked:
    return [_image(c)], c.some_attributes(p=lambda: c.m.random.randint(1, 3))


@row("Col2Im")
def _(c: Call) -> Picked:
    h, w, k, d = 3, c.m.random.randint(2, 4), 2, c.m.random.randint(1, 2)
    x = c.tensor(shape=(1, d * k * k, (h - k + 1) * (w - k + 1)))
    return [x, c.whole(1, [h, w]), c.whole(2, [k, k])], {}


@row("Resize Upsample")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4), fits=lambda v: v.example.size > 0)
    version = c.schema.since_version
    scales = [c.m.one((1.0, 1.0, 2.0, 1.5, 0.5)) for _ in x.shape]
    modes = ("nearest", "linear", "cubic") if version >= 11 else ("nearest", "linear")
    mode = c.m.one(modes)
    if mode != "nearest" and x.rank > 2:
        scales[0] = scales[1] = 1.0
    if c.schema.name == "Upsample":
        scales = [max(1.0, scale) for scale in scales]
    given = c.m.constant(c.s, np.array(scales, np.float32))
    if c.has("scales"):
        return [x], {"scales": scales, "mode": mode}
    if version < 11:
        return [x, given], {"mode": mode}
    attributes: dict[str, Any] = {"mode": mode}
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    ways += ["half_pixel_symmetric"] if version >= 19 else []
    if c.m.chance(0.7):
        attributes["coordinate_transformation_mode"] = c.m.one(ways)
    if mode == "nearest" and c.m.chance(0.7):
        attributes["nearest_mode"] = c.m.one(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes |= c.some_attributes(cubic_coeff_a=lambda: -0.5, exclude_outside=c.flag)
    attributes |= {} if version < 18 or mode == "nearest" else c.some_attributes(antialias=c.flag)
    roi = None if version >= 13 else c.m.constant(c.s, np.zeros(0, np.float32))
    if c.m.chance(0.5):
        sizes = [max(1, int(size * scale)) for size, scale in zip(x.shape, scales, strict=True)]
        none = None if version >= 13 else c.m.constant(c.s, np.zeros(0, np.float32))
        return [x, roi, none, c.whole(3, sizes)], attributes
    return [x, roi, given], attributes


@row("GridSample")
def _(c: Call) -> Picked:
    x = c.tensor(shape=(1, c.m.random.randint(1, 2), 3, 3))
    modes = ("bilinear", "nearest", "bicubic") if c.schema.since_version < 20 else ("linear", "nearest", "cubic")
    attributes = c.some_attributes(
        mode=lambda: c.m.one(modes),
        padding_mode=lambda: c.m.one(("zeros", "border", "reflection")),
        align_corners=c.flag,
    )
    grid = c.tensor(1, shape=(1, 2, 2, 2))
    if x.element == "double" != grid.element:
        raise Missing  # nobody says in which type positions are computed
    return [x, grid], attributes


@row("AffineGrid")
def _(c: Call) -> Picked:
    return [c.tensor(shape=(2, 2, 3)), c.whole(1, [2, 1, 3, 2])], c.some_attributes(align_corners=c.flag)


# normalization and recurrence ------------------------------------------------------------------------


@row("BatchNormalization")
def _(c: Call) -> Picked:
    x = _image(c)
    rest = [c.tensor(k, shape=(x.shape[1],)) for k in range(1, 5)]
    if any(one.element != x.element for one in rest):  # which ONNX Runtime computes with in the narrowest of the types
        raise Missing
    if c.m.chance(0.8):
        rest[-1] = c.m.constant(c.s, np.abs(np.asarray(rest[-1].example)) + np.asarray(rest[-1].example).dtype.type(1))
    return [x, *rest], {"_outputs": 1, **c.some_attributes(epsilon=lambda: 1e-3)}


@row("InstanceNormalization GroupNormalization")
def _(c: Call) -> Picked:
    groups = c.m.random.randint(1, 2)
    x = _image(c, 2 * groups)
    if x.element == "double" and c.has("stash_type"):  # computed in float32, in as many ways as there are runtimes
        raise Missing
    per = groups if c.schema.name == "GroupNormalization" and c.schema.since_version < 21 else x.shape[1]
    more = {"num_groups": groups} if c.has("num_groups") else {}
    return [x, c.tensor(1, shape=(per,)), c.tensor(2, shape=(per,))], {**more, **c.some_attributes(epsilon=lambda: 0.1)}


@row("LayerNormalization RMSNormalization")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    scale = c.tensor(1, shape=x.shape[axis:])
    bias = [c.tensor(2, shape=x.shape[axis:])] if c.takes("B") > 0 and c.m.chance(0.5) else []
    return [x, scale, *bias], {"axis": axis, **c.some_attributes(epsilon=lambda: 1e-3)}


@row("MeanVarianceNormalization")
def _(c: Call) -> Picked:
    """The axes that are meant where none are said are those of rank 4."""
    x = c.tensor(ranks=(1, 4))
    said = x.rank < 4 or c.m.chance(0.5)
    return [x], {"axes": sorted(c.m.some(range(x.rank), 1))} if said else {}


@row("LRN")
def _(c: Call) -> Picked:
    return [_image(c)], {"size": c.m.one((1, 3, 2)), **c.some_attributes(alpha=lambda: 0.1, beta=lambda: 0.5)}


@row("LSTM GRU RNN")
def _(c: Call) -> Picked:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[c.schema.name]
    direction = c.m.one(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    t, n, i, h = c.m.random.randint(1, 4), c.m.random.randint(1, 2), c.m.random.randint(1, 3), c.m.random.randint(1, 3)
    inputs: list[Value | None] = [
        c.tensor(0, shape=(t, n, i)),
        c.tensor(1, shape=(d, gates * h, i)),
        c.tensor(2, shape=(d, gates * h, h)),
    ]
    outputs = c.m.random.randint(1, c.schema.max_output)
    attributes: dict[str, Any] = {"hidden_size": h, "direction": direction, "_outputs": outputs}
    inputs.append(c.tensor(3, shape=(d, 2 * gates * h)) if c.m.chance(0.6) else None)
    inputs.append(c.whole(4, c.m.numbers.integers(1, t + 1, n)) if c.m.chance(0.4) else None)
    inputs.append(c.tensor(5, shape=(d, n, h)) if c.m.chance(0.5) else None)
    if c.schema.name == "LSTM" and c.m.chance(0.5):
        inputs.append(c.tensor(6, shape=(d, n, h)))
        inputs.append(c.tensor(7, shape=(d, 3 * h)) if c.m.chance(0.5) else None)
    attributes |= c.some_attributes(clip=lambda: 0.7, input_forget=c.flag, linear_before_reset=c.flag)
    return inputs, attributes


@row("Attention")
def _(c: Call) -> Picked:
    b, heads, t, size = 1, c.m.one((1, 2)), c.m.random.randint(1, 3), 2
    q = c.tensor(0, shape=(b, heads, t, size))
    k, v = (c.tensor(p, shape=(b, heads, 3, size)) for p in (1, 2))
    mask = [c.tensor(3, shape=(t, 3))] if c.m.chance(0.4) else []
    attributes = c.some_attributes(is_causal=c.flag, scale=lambda: 0.5, softcap=lambda: 2.0)
    return [q, k, v, *mask], {**attributes, "_outputs": 1}


@row("RotaryEmbedding")
def _(c: Call) -> Picked:
    b, heads, t, size = 1, 2, 3, 4
    x = c.tensor(0, shape=(b, heads, t, size))
    return [x, *(c.tensor(k, shape=(b, t, size // 2)) for k in (1, 2))], c.some_attributes(interleaved=c.flag)


# quantized -------------------------------------------------------------------------------------------


def _scale(c: Call, place: int, shape: Sequence[int] = (), floats: str = "float") -> Value:
    kinds = [kind for kind in c.elements(place) if kind in FLOATS]
    kind = floats if floats in kinds else c.m.one(kinds)
    made = np.abs(c.m.numbers.normal(size=tuple(shape))) * 0.3 + 0.02
    return c.bind(place, c.m.new(c.s, np.asarray(made).astype(helper.tensor_dtype_to_np_dtype(ELEMENTS[kind]))))


@row("QuantizeLinear DequantizeLinear")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(0, 3))
    axis = c.axis(x.rank) if x.rank and c.m.chance(0.4) and c.has("axis") else None
    shape = () if axis is None else (x.shape[axis],)
    scale = _scale(c, 1, shape, x.element)
    zero = [c.tensor(2, shape=shape)] if c.m.chance(0.7) and x.element != "int32" else []  # int32 has none but 0
    return [x, scale, *zero], {} if axis is None else {"axis": axis}


@row("DynamicQuantizeLinear")
def _(c: Call) -> Picked:
    return [c.tensor(ranks=(1, 3))], {"_outputs": 3}


def _with_scales(c: Call, a: Value, b: Value) -> list[Value | None]:
    """Two operands, each with its scale and zero point, and those of the result."""
    made: list[Value | None] = [a, _scale(c, 1), c.tensor(2, shape=())]
    return [*made, b, _scale(c, 4), c.tensor(5, shape=()), _scale(c, 6), c.tensor(7, shape=())]


@row("QLinearMatMul")
def _(c: Call) -> Picked:
    a = c.tensor(0, ranks=(2, 2))
    b = c.tensor(3, shape=(a.shape[-1], c.m.size()))
    return _with_scales(c, a, b), {}


@row("QLinearConv")
def _(c: Call) -> Picked:
    x = _image(c, 2)
    attributes = _windows(c, x.shape[2:])
    w = c.tensor(3, shape=(2, 2, *attributes["kernel_shape"]), share=0.1)
    return _with_scales(c, x, w), attributes
