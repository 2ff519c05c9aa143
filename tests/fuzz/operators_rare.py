"""How operands are picked for what is rarely met: new operators, unpooling, deformable windows, frames of signals,
classical models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .maker import Missing
from .operators import Call, Picked, numbers_of, row


@row("CausalConvWithState")
def _(c: Call) -> Picked:
    batch, channels, length, width = (c.m.random.randint(1, 3) for _ in range(4))
    x, w = c.tensor(0, shape=(batch, channels, length)), c.tensor(1, shape=(channels, 1, width))
    bias = c.tensor(2, shape=(channels,)) if c.m.chance(0.5) else None
    past = c.tensor(3, shape=(batch, channels, width - 1)) if c.m.chance(0.5) and width > 1 else None
    return [x, w, bias, past], {"_outputs": 2, **c.some_attributes(activation=lambda: c.m.one(("none", "silu")))}


@row("LinearAttention")
def _(c: Call) -> Picked:
    batch, length, heads, size = (c.m.random.randint(1, 3) for _ in range(4))
    q, k, v = (c.tensor(place, shape=(batch, length, heads * size)) for place in range(3))
    past = c.tensor(3, shape=(batch, heads, size, size)) if c.m.chance(0.4) else None
    return [q, k, v, past], {
        "_outputs": 2, "q_num_heads": heads, "kv_num_heads": heads, "update_rule": "linear", **numbers_of(c)
    }  # fmt: skip


@row("STFT")
def _(c: Call) -> Picked:
    batch, length, frame = c.m.random.randint(1, 2), c.m.random.randint(4, 9), c.m.random.randint(2, 4)
    x = c.tensor(0, shape=(batch, length, 1))
    step = c.whole(1, c.m.random.randint(1, 3))
    window = c.tensor(2, shape=(frame,)) if c.m.chance(0.6) else None
    size = c.whole(3, frame) if window is None or c.m.chance(0.5) else None
    return [x, step, window, size], {"onesided": c.flag()}


@row("MaxUnpool")
def _(c: Call) -> Picked:
    """Of what was pooled before, to its size, whatever that is."""
    x = c.tensor(0, shape=(1, c.m.random.randint(1, 2), *(2 * c.m.random.randint(1, 3) for _ in range(2))))
    if x.element not in ("float", "double"):
        raise Missing
    window: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    pooled, places = c.m.emit(c.s, "MaxPool", [x], 2, **window)
    (size,) = c.m.emit(c.s, "Shape", [x])
    return [pooled, places, size], window


@row("DeformConv")
def _(c: Call) -> Picked:
    channels, filters = c.m.random.randint(1, 2), c.m.random.randint(1, 2)
    height, width, k = c.m.random.randint(3, 5), c.m.random.randint(3, 5), c.m.random.randint(1, 3)
    out = (height - k + 1, width - k + 1)
    x, w = c.tensor(0, shape=(1, channels, height, width)), c.tensor(1, shape=(filters, channels, k, k))
    offset = c.tensor(2, shape=(1, 2 * k * k, *out))
    bias = c.tensor(3, shape=(filters,)) if c.m.chance(0.5) else None
    mask = c.tensor(4, shape=(1, k * k, *out)) if c.m.chance(0.5) else None
    return [x, w, offset, bias, mask], {"kernel_shape": [k, k], **c.some_attributes(pads=lambda: [0, 0, 0, 0])}


@row("MaxRoiPool")
def _(c: Call) -> Picked:
    x = c.tensor(0, shape=(1, 2, 4, 4))
    rois = np.array([[0, 0, 0, 3, 2], [0, 1, 1, 2, 3]]).astype(np.asarray(x.example).dtype)
    return [x, c.m.constant(c.s, rois)], {"pooled_shape": [c.m.random.randint(1, 2), 2]}


# classical models (ai.onnx.ml) -----------------------------------------------------------------------


def _numbers(c: Call, count: int) -> list[float]:
    return [float(x) for x in c.m.numbers.normal(size=count).round(2)]


def _table(c: Call, features: int | None = None) -> Any:
    """Rows of features, as floats mostly."""
    count = c.m.random.randint(1, 4) if features is None else features
    return c.tensor(0, shape=(c.m.random.randint(1, 3), count))


@row("Scaler")
def _(c: Call) -> Picked:
    x = _table(c)
    count = x.shape[-1] if c.m.chance(0.7) else 1
    return [x], {"offset": _numbers(c, count), "scale": _numbers(c, count)}


@row("Imputer")
def _(c: Call) -> Picked:
    x = _table(c)
    if x.element in ("float", "double"):
        return [x], {
            "imputed_value_floats": _numbers(c, x.shape[-1]),
            "replaced_value_float": c.m.one((float("nan"), 0.5, 1.0)),
        }
    values = [c.m.random.randint(-3, 3) for _ in range(x.shape[-1])]
    return [x], {"imputed_value_int64s": values, "replaced_value_int64": c.m.random.randint(-1, 2)}


@row("Normalizer")
def _(c: Call) -> Picked:
    return [_table(c)], {"norm": c.m.one(("MAX", "L1", "L2"))}


@row("Binarizer")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {"threshold": c.m.one((0.0, 0.5, -1.0))}


@row("LinearRegressor")
def _(c: Call) -> Picked:
    x, targets = _table(c), c.m.random.randint(1, 3)
    return [x], {
        "coefficients": _numbers(c, targets * x.shape[-1]),
        "targets": targets,
        **c.some_attributes(intercepts=lambda: _numbers(c, targets)),
    }


@row("LinearClassifier")
def _(c: Call) -> Picked:
    x, classes = _table(c), c.m.random.randint(2, 3)
    return [x], {
        "_outputs": 2,
        "coefficients": _numbers(c, classes * x.shape[-1]),
        "intercepts": _numbers(c, classes),
        "classlabels_ints": list(range(classes)),
        **c.some_attributes(post_transform=lambda: c.m.one(("NONE", "SOFTMAX", "LOGISTIC"))),
    }


@row("LabelEncoder")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    if x.element == "string":
        return [x], {"keys_strings": ["ab", "x"], "values_int64s": [3, -1], **c.some_attributes(default_int64=c.flag)}
    if x.element != "int64":
        raise Missing
    return [x], {"keys_int64s": [0, 1, 3], "values_floats": [0.5, -1.0, 2.0]}


@row("ArrayFeatureExtractor")
def _(c: Call) -> Picked:
    x = c.tensor(0, ranks=(1, 3))
    if not x.shape[-1]:
        raise Missing
    return [x, c.whole(1, [c.m.random.randrange(x.shape[-1]) for _ in range(c.m.random.randint(1, 3))])], {}


@row("OneHotEncoder")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    if x.element == "string":
        return [x], {"cats_strings": ["ab", "x", ""], "zeros": 1}
    return [x], {"cats_int64s": [0, 1, 2], "zeros": c.flag() if x.element == "int64" else 1}


@row("FeatureVectorizer")
def _(c: Call) -> Picked:
    rows = c.m.random.randint(1, 3)
    parts = [c.tensor(0, shape=(rows, c.m.random.randint(1, 3))) for _ in range(c.m.random.randint(1, 3))]
    return [*parts], {"inputdimensions": [part.shape[-1] for part in parts]}


_TREE: dict[str, Sequence[Any]] = {
    "nodes_treeids": [0, 0, 0, 0, 0],
    "nodes_nodeids": [0, 1, 2, 3, 4],
    "nodes_truenodeids": [1, 3, 0, 0, 0],
    "nodes_falsenodeids": [2, 4, 0, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0],
}


@row("TreeEnsembleRegressor")
def _(c: Call) -> Picked:
    """One tree of two levels, over one feature or two."""
    x = _table(c)
    inner = c.m.one(("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"))
    targets = c.m.random.randint(1, 2)
    return [x], {
        **_TREE,
        "nodes_modes": [inner, inner, "LEAF", "LEAF", "LEAF"],
        "nodes_featureids": [0, x.shape[-1] - 1, 0, 0, 0],
        "nodes_values": [*c.m.one(((0.5, -0.5), (0.0, 1.0))), 0.0, 0.0, 0.0],
        "n_targets": targets,
        "target_treeids": [0, 0, 0],
        "target_nodeids": [2, 3, 4],
        "target_ids": [0, targets - 1, 0],
        "target_weights": _numbers(c, 3),
        **c.some_attributes(
            aggregate_function=lambda: c.m.one(("SUM", "AVERAGE", "MIN", "MAX")),
            base_values=lambda: _numbers(c, targets),
        ),
    }
