"""Twelve places where converters of ONNX opsets go wrong without a word, or give up: models and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from control_flow.case import Case, case, count, f32, i32, i64

X3 = f32(np.arange(24) * 5 % 13 - 6).reshape(2, 3, 4) / f32(4)
IMAGE = f32(np.arange(12) * 7 % 11).reshape(1, 2, 2, 3)
NEWER = (11, 13, 21, 28)


@dataclass(frozen=True)
class Check:
    """A model that must be right at each of some opsets."""

    case: Case
    targets: Sequence[int]

    def __str__(self) -> str:
        return self.case.name


def check(number: int, name: str, opset: int, targets: Sequence[int], text: str, formula: Callable[..., Any],
          *inputs: dict[str, np.ndarray], **options: Any) -> Check:  # fmt: skip
    return Check(case(f"{number}_{name}@{opset}", f"g {text}", formula, *inputs, opset=opset, **options), targets)


# 1: Softmax and its kin: a matrix of everything from `axis` on, or one axis -------------------------------------


def softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def log_softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.log(softmax(x.astype(np.float64), axis)).astype(np.float32)


def hardmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    first = np.expand_dims(x.argmax(axis=axis), axis)
    return (np.arange(x.shape[axis]).reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]) == first).astype(
        np.float32
    )


KIN = {"Softmax": softmax, "LogSoftmax": log_softmax, "Hardmax": hardmax}


def coerced(function: Callable[..., np.ndarray], x: np.ndarray, axis: int = 1) -> np.ndarray:
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    return function(flat, 1).reshape(x.shape)


def softmaxes() -> list[Check]:
    found: list[Check] = []
    for name, function in KIN.items():
        head = "(float[2, 3, 4] x) => (float[2, 3, 4] y)"
        found.append(
            check(
                1, f"{name}_default", 11, NEWER, f"{head} {{ y = {name} (x) }}",
                lambda x, f=function: (coerced(f, x),), {"x": X3},
            )
        )  # fmt: skip
        for axis in (0, 2, -2):
            found.append(
                check(
                    1, f"{name}_axis_{axis}", 11, (13, 28), f"{head} {{ y = {name} <axis = {axis}> (x) }}",
                    lambda x, f=function, axis=axis: (coerced(f, x, axis % 3),), {"x": X3},
                )
            )  # fmt: skip
        for axis in (0, 1):
            found.append(
                check(
                    1, f"{name}_axis_{axis}", 13, (28, 11, 7), f"{head} {{ y = {name} <axis = {axis}> (x) }}",
                    lambda x, f=function, axis=axis: (f(x, axis),), {"x": X3},
                )
            )  # fmt: skip
        found.append(
            check(
                1, f"{name}_default", 13, (28, 12, 11, 9, 7), f"{head} {{ y = {name} (x) }}",
                lambda x, f=function: (f(x),), {"x": X3},
            )
        )  # fmt: skip
        found.append(
            check(
                1, f"{name}_in_loop", 11, (*NEWER, 9),
                f"""(int64 m, float[2, 3, 4] x) => (float[2, 3, 4] y) {{
                  y = Loop (m, "", x) <body = b (int64 i, bool k, float[2, 3, 4] a) => (bool k2, float[2, 3, 4] a2) {{
                    k2 = Identity (k)
                    s = {name} (a)
                    a2 = Sub (s, x)
                  }}>
                }}""",
                lambda m, x, f=function: (_repeated(lambda a: coerced(f, a) - x, x, m),),
                *({"m": i64(m), "x": X3} for m in (0, 1, 2)),
            )
        )  # fmt: skip
    return found


def _repeated(step: Callable[[np.ndarray], np.ndarray], value: np.ndarray, m: np.ndarray) -> np.ndarray:
    for _ in count(m):
        value = step(value)
    return value


# 2: Resize-10 and Upsample: a pixel starts at the edge, it isn't centred --------------------------------------


def resized(x: np.ndarray, scales: Sequence[float], linear: bool) -> np.ndarray:
    """Axis by axis: output i looks at i/scale."""
    for axis, scale in enumerate(scales):
        size = x.shape[axis]
        at = np.arange(int(np.floor(size * scale)), dtype=np.float32) / np.float32(scale)
        low = np.minimum(np.floor(at).astype(int), size - 1)
        high = np.minimum(low + 1, size - 1)
        part = ((at - low) if linear else np.zeros_like(at)).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        x = np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part
    return x.astype(np.float32)


SCALES = ((1, 1, 2, 2), (1, 1, 3, 2), (1, 1, 1, 4))


def resizes() -> list[Check]:
    found: list[Check] = []
    head = "(float[1, 2, 2, 3] x) => (float[1, 2, H, W] y)"
    for name, opset in (("Resize", 10), ("Upsample", 9)):
        for mode in ("linear", "nearest"):
            for scales in (*SCALES, *(((1, 1, 0.5, 1),) if name == "Resize" else ())):
                text = (
                    f'{head} <float[4] s = {{{", ".join(map(str, scales))}}}> {{ y = {name} <mode = "{mode}"> (x, s) }}'
                )
                found.append(
                    check(
                        2, f"{name}_{mode}_{'_'.join(map(str, scales))}", opset, NEWER, text,
                        lambda x, scales=scales, mode=mode: (resized(x, scales, mode == "linear"),), {"x": IMAGE},
                    )
                )  # fmt: skip
            text = (
                f'(float[1, 2, 2, 3] x, float[4] s) => (float[A, B, H, W] y) {{ y = {name} <mode = "{mode}"> (x, s) }}'
            )
            found.append(
                check(
                    2, f"{name}_{mode}_run_time", opset, NEWER, text,
                    lambda x, s, mode=mode: (resized(x, s, mode == "linear"),),
                    *({"x": IMAGE, "s": f32(scales)} for scales in SCALES),
                )
            )  # fmt: skip
    for mode in ("linear", "nearest"):
        text = f'{head} {{ y = Upsample <mode = "{mode}", scales = [1.0, 1.0, 2.0, 3.0]> (x) }}'
        found.append(
            check(
                2, f"Upsample_{mode}", 7, (8, 9, 10, *NEWER), text,
                lambda x, mode=mode: (resized(x, (1, 1, 2, 3), mode == "linear"),), {"x": IMAGE},
            )
        )  # fmt: skip
    return found


# 3: GroupNormalization: one scale per group, later one per channel --------------------------------------------


def group_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, groups: int) -> np.ndarray:
    batch, channels = x.shape[:2]
    parts = x.astype(np.float64).reshape(batch, groups, -1)
    normal = (parts - parts.mean(-1, keepdims=True)) / np.sqrt(parts.var(-1, keepdims=True) + 1e-5)
    normal = normal.reshape(x.shape)
    per_channel = [np.repeat(value, channels // len(value)).reshape(1, -1, 1) for value in (scale, bias)]
    return (normal * per_channel[0] + per_channel[1]).astype(np.float32)


X4 = f32(np.arange(24) * 5 % 13).reshape(2, 4, 3)


def group_norms() -> list[Check]:
    def text(size: int) -> str:
        return f"""(float[2, 4, 3] x, float[{size}] s, float[{size}] b) => (float[2, 4, 3] y) {{
          y = GroupNormalization <num_groups = 2> (x, s, b)
        }}"""

    def formula(x: np.ndarray, s: np.ndarray, b: np.ndarray) -> tuple[np.ndarray]:
        return (group_norm(x, s, b, 2),)

    grouped = {"x": X4, "s": f32([2, -1]), "b": f32([0.5, 3])}
    return [
        check(3, "per_group", 18, (21, 28, 13), text(2), formula, grouped),
        check(3, "per_group_kept", 18, (19, 20), text(2), formula, grouped,
              checker_fault="GroupNormalization-18 was deprecated as soon as it came"),
        check(3, "per_channel", 21, (28, 18, 13), text(4), formula,
              {"x": X4, "s": f32([2, -1, 3, 4]), "b": f32([0.5, 3, 0, 1])}),
    ]  # fmt: skip


# 5: functions of the model, with opsets of their own ---------------------------------------------------------------

# Softmax-11 in the function, though the model is at an opset where Softmax means one axis
OWN_IMPORTS = """(float[2, 3, 4] x) => (float[2, 3, 4] y, float[2, 3, 4] z) {
  y = f.soft (x)
  z = Softmax (x)
}
<domain: "f", opset_import: ["" : 11]>
soft (a) => (b) {
  c = Softmax (a)
  b = Neg (c)
}"""
NESTED_FUNCTIONS = """(int64 m, float[2, 3, 4] x) => (float[2, 3, 4] y, float total) {
  y = Loop (m, "", x) <body = b (int64 i, bool k, float[2, 3, 4] a) => (bool k2, float[2, 3, 4] a2) {
    k2 = Identity (k)
    a2 = f.outer <by = 2.0> (a, x)
  }>
  total = f.total (y)
}
<domain: "f", opset_import: ["" : 17, "f" : 1]>
outer <by> (a, x) => (b) {
  s = Constant <value_float : float = @by> ()
  scaled = Mul (x, s)
  b = f.inner (a, scaled)
}
<domain: "f", opset_import: ["" : 17]>
inner (p, q) => (r) {
  t = Softmax <axis = 1> (p)
  r = Sub (q, t)
}
<domain: "f", opset_import: ["" : 17]>
total (v) => (w) {
  w = ReduceSum <keepdims = 0> (v)
}"""


def functions() -> list[Check]:
    return [
        check(5, "own_imports", 17, (28, 21, 18, 16, 13, 11, 9), OWN_IMPORTS,
              lambda x: (-coerced(softmax, x), softmax(x)), {"x": X3}, imports=', "f" : 1',
              ort_fault="ONNX Runtime takes the model's opset for the function's"),
        check(5, "nested", 17, (28, 21, 18, 16, 13, 11, 9), NESTED_FUNCTIONS,
              lambda m, x: _with_total(_repeated(lambda a: x * f32(2) - softmax(a, 1), x, m)),
              *({"m": i64(m), "x": X3} for m in (0, 1, 3)), imports=', "f" : 1'),
    ]  # fmt: skip


def _with_total(y: np.ndarray) -> tuple[np.ndarray, ...]:
    return y, f32(y.sum(dtype=np.float64))


# 6: the mask of a Dropout was of the data's type, later bool -----------------------------------------------------


def dropouts() -> list[Check]:
    def text(kind: str) -> str:
        return f"(float[2, 3] x) => (float[2, 3] y, {kind}[2, 3] mask) {{ y, mask = Dropout (x) }}"

    used = """(float[2, 3] x) => (float[2, 3] z) {
      y, mask = Dropout <ratio = 0.9> (x)
      z = Add (y, mask)
    }"""
    x = X3[0, :2, :3]
    found = []
    for opset, kind, targets in (
        (7, "float", (10, 28)),
        (9, "float", (10, 11, 12, 13, 21, 28)),
        (10, "bool", (13, 28, 9, 7)),
        (13, "bool", (28, 12, 10, 9, 7)),
    ):
        dtype = np.float32 if kind == "float" else np.bool_
        for part, fault in (([t for t in targets if t >= 12], ""), ([t for t in targets if t < 12], ZEROS)):
            found.append(
                check(6, f"mask_{part[0]}", opset, part, text(kind), lambda x, t=dtype: (x, np.ones(x.shape, t)),
                      {"x": x}, ort_fault=fault)
            )  # fmt: skip
    found.append(check(6, "mask_used", 9, (12, 13, 28), used, lambda x: (x + 1,), {"x": x}))
    found.append(check(6, "mask_used_10", 9, (10, 11), used, lambda x: (x + 1,), {"x": x}, ort_fault=ZEROS))
    return found


ZEROS = "ONNX Runtime's Dropout before version 12 says that it drops everything, and drops nothing"


# 7: AveragePool with dilations, CastLike with saturate -----------------------------------------------------------


def pooled(x: np.ndarray, size: int, dilation: int, pads: tuple[int, int], count_pads: bool, stride: int) -> np.ndarray:
    """Averages along the last axis."""
    length = x.shape[-1]
    reach = (size - 1) * dilation
    starts = range(-pads[0], length + pads[1] - reach, stride)
    columns = []
    for start in starts:
        inside = [at for at in range(start, start + reach + 1, dilation) if 0 <= at < length]
        columns.append(x[..., inside].sum(axis=-1) / f32(size if count_pads else len(inside)))
    return np.stack(columns, axis=-1).astype(np.float32)


def pools() -> list[Check]:
    x = X3.reshape(1, 2, 12)
    found: list[Check] = []
    for name, attributes, formula in (
        ("plain", "dilations = [2]", lambda x: (pooled(x, 3, 2, (0, 0), False, 1),)),
        ("padded", "dilations = [3], pads = [2, 1], strides = [2]", lambda x: (pooled(x, 3, 3, (2, 1), False, 2),)),
        ("counted", "dilations = [2], pads = [1, 2], count_include_pad = 1",
         lambda x: (pooled(x, 3, 2, (1, 2), True, 1),)),
    ):  # fmt: skip
        text = f"(float[1, 2, 12] x) => (float[1, 2, L] y) {{ y = AveragePool <kernel_shape = [3], {attributes}> (x) }}"
        found.append(check(7, f"pool_{name}", 19, (28, 22, 18, 13, 11, 9), text, formula, {"x": x}))
    for opset, attributes, fault in (
        (15, "", ""),
        (19, "<saturate = 1>", ""),
        (19, "<saturate = 0>", "ONNX Runtime refuses saturate=0 unless the type is one of 8 bits"),
        (24, "", ""),
    ):
        text = f"(float[3] x, int32[1] like) => (int32[3] y) {{ y = CastLike {attributes} (x, like) }}"
        targets = [target for target in (28, 21, 19, 18, 15, 14, 13, 9, 6) if target != opset]
        name = f"cast_like{'_wrapping' * bool(fault)}"
        found.append(
            check(7, name, opset, targets, text, lambda x, like: (x.astype(np.int32),),
                  {"x": f32([1.5, -2.7, 0]), "like": i32([0])}, ort_fault=fault)
        )  # fmt: skip
    big = f32([1.5, 500, -1000, 448])
    for saturate, limit in ((1, 448), (0, np.nan)):
        found.append(
            check(
                7, f"cast_like_float8_{saturate}", 21, (19, 24, 28),
                f"""(float[4] x, float8e4m3fn[1] like) => (float[4] y) {{
                  small = CastLike <saturate = {saturate}> (x, like)
                  y = Cast <to = 1> (small)
                }}""",
                lambda x, like, limit=limit: (np.where(abs(x) > 448, np.sign(x) * f32(limit), x),),
                {"x": big, "like": np.array([0], ml_dtypes.float8_e4m3fn)},
            )
        )  # fmt: skip
    return found


# 8: a constant that was an attribute, in a model of IR 3, where constants stand among the inputs ------------------


def padded(x: np.ndarray, before: Sequence[int], after: Sequence[int], **options: Any) -> tuple[np.ndarray]:
    return (np.pad(x, list(zip(before, after, strict=True)), **options),)


def pads() -> list[Check]:
    head = "(float[2, 3] x) => (float[R, C] y)"
    x = X3[0, :2, :3]
    return [
        check(8, "constant", 8, (9, 10, *NEWER), f"{head} {{ y = Pad <pads = [0, 1, 2, 0], value = 1.5> (x) }}",
              lambda x: padded(x, (0, 1), (2, 0), constant_values=1.5), {"x": x}),
        check(8, "edge", 2, (8, 10, *NEWER), f"{head} {{ y = Pad <mode = \"edge\", pads = [1, 1, 0, 2]> (x) }}",
              lambda x: padded(x, (1, 1), (0, 2), mode="edge"), {"x": x}),
        check(8, "down", 13, (11, 10, 8, 7),
              f"{head} <int64[4] p = {{0, 1, 1, 0}}> {{ q = Identity (p) y = Pad <mode = \"reflect\"> (x, q) }}",
              lambda x: padded(x, (0, 1), (1, 0), mode="reflect"), {"x": x}),
    ]  # fmt: skip


# 9: Resize-11 by sizes: the empty scales have to go ---------------------------------------------------------------


def sizes() -> list[Check]:
    attributes = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'
    constants = "<float[0] roi = {}, float[0] scales = {}, int64[4] sizes = {1, 2, 4, 6}>"
    image = "(float[1, 2, 2, 3] x"
    return [
        check(9, "constant", 11, (12, 13, 18, 19, 21, 28),
              f"{image}) => (float[1, 2, H, W] y) {constants} {{ y = Resize <{attributes}> (x, roi, scales, sizes) }}",
              lambda x: (x.repeat(2, axis=2).repeat(2, axis=3),), {"x": IMAGE}),
        check(9, "run_time", 11, (12, 13, 18, 19, 21, 28),
              f"{image}, int64[4] sizes) => (float[1, 2, H, W] y) <float[0] roi = {{}}, float[0] scales = {{}}>"
              f" {{ y = Resize <{attributes}> (x, roi, scales, sizes) }}",
              lambda x, sizes: (x.repeat(sizes[2] // 2, axis=2).repeat(sizes[3] // 3, axis=3),),
              *({"x": IMAGE, "sizes": i64([1, 2, h, w])} for h, w in ((4, 3), (2, 9)))),
    ]  # fmt: skip


# 10: BatchNormalization: statistics per activation, and of training ------------------------------------------------


def normalized(x: np.ndarray, s: np.ndarray, b: np.ndarray, mean: np.ndarray, var: np.ndarray) -> np.ndarray:
    return ((x - mean.astype(np.float64)) / np.sqrt(var.astype(np.float64) + 1e-5) * s + b).astype(np.float32)


def trained(x: np.ndarray, s: np.ndarray, b: np.ndarray, m: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    axes = tuple(axis for axis in range(x.ndim) if axis != 1)
    mean, var = x.astype(np.float64).mean(axis=axes), x.astype(np.float64).var(axis=axes)
    per_channel = [value.reshape(-1, 1) for value in (s, b, mean, var)]
    running = [old * f32(0.75) + new.astype(np.float32) * f32(0.25) for old, new in ((m, mean), (v, var))]
    return normalized(x, *per_channel), *running


def batch_norms() -> list[Check]:
    each = "(float[2, 3, 4] x, float[3, 4] s, float[3, 4] b, float[3, 4] m, float[3, 4] v) => (float[2, 3, 4] y)"
    four = {name: X3[0] * f32(k) + f32(k) for k, name in enumerate("sbm", 1)}
    channel = "(float[2, 3, 4] x, float[3] s, float[3] b, float[3] m, float[3] v)"
    three = {name: value[:, 1] for name, value in four.items()}
    out = "(float[2, 3, 4] y, float[3] rm, float[3] rv)"
    training = "BatchNormalization <training_mode = 1, momentum = 0.75> (x, s, b, m, v)"
    return [
        check(10, "per_activation", 7, (8, 9, 10, 13, 14, 21, 28),
              f"{each} {{ y = BatchNormalization <spatial = 0> (x, s, b, m, v) }}",
              lambda x, s, b, m, v: (normalized(x, s, b, m, v),), {"x": X3, **four, "v": abs(X3[1]) + f32(0.5)}),
        check(10, "training", 14, (15, 28, 13, 9, 8, 7), f"{channel} => {out} {{ y, rm, rv = {training} }}", trained,
              {"x": X3, **three, "v": f32([0.5, 1, 2])}),
        check(10, "training_y", 14, (15, 28, 13, 9, 8, 7),
              f"{channel} => (float[2, 3, 4] y) {{ y, rm, rv = {training} }}",
              lambda **given: trained(**given)[:1], {"x": X3, **three, "v": f32([0.5, 1, 2])}),
    ]  # fmt: skip


# 12: the last of equals, a size of 0, axes at run time ---------------------------------------------------------------


def last(x: np.ndarray, axis: int, keep: bool, least: bool) -> np.ndarray:
    turned = np.flip(x, axis)
    index = x.shape[axis] - 1 - (turned.argmin(axis) if least else turned.argmax(axis))
    return np.expand_dims(index, axis) if keep else index


TIES = f32([[1, 3, 3, 0], [0, 0, 0, 0], [2, 1, 2, 1]])


def last_of_equals() -> list[Check]:
    return [
        check(
            12, f"{name}_{axis}_{keep}", 12, (28, 11, 9, 8, 7),
            f"""(float[3, 4] x) => (int64[{'1, 4' if keep and axis == 0 else '3, 1' if keep else 'N'}] y) {{
              y = {name} <axis = {axis}, keepdims = {keep}, select_last_index = 1> (x)
            }}""",
            lambda x, name=name, axis=axis, keep=keep: (last(x, axis, bool(keep), name == "ArgMin"),), {"x": TIES},
        )
        for name in ("ArgMax", "ArgMin")
        for axis, keep in ((0, 1), (1, 0), (-1, 1))
    ]  # fmt: skip


def empties() -> list[Check]:
    empty = np.empty((0, 2), np.float32)
    return [
        check(12, "allowzero", 14, (28, 13, 11, 9, 7),
              "(float[0, 2] x) => (float[3, 0] y) <int64[2] s = {3, 0}> { y = Reshape <allowzero = 1> (x, s) }",
              lambda x: (x.reshape(3, 0),), {"x": empty}),
        check(12, "allowzero_run_time", 14, (28, 13, 11, 9, 7),
              "(float[N, 2] x, int64[2] s) => (float[A, B] y) { y = Reshape <allowzero = 1> (x, s) }",
              lambda x, s: (x.reshape(s),),
              *({"x": one, "s": i64(shape)} for one, shape in ((empty, [3, 0]), (TIES.reshape(6, 2), [3, 4])))),
        check(12, "allowzero_without", 14, (28, 13, 11, 9, 7),
              "(float[3, 4] x) => (float[2, 6] y) <int64[2] s = {2, 6}> { y = Reshape <allowzero = 1> (x, s) }",
              lambda x: (x.reshape(2, 6),), {"x": TIES}),
    ]  # fmt: skip


def sums() -> list[Check]:
    runs = [{"x": X3, "a": i64(axes)} for axes in ([1], [-1], [0, 2], [0, 1, 2])]

    def formula(keep: bool) -> Callable[..., tuple[np.ndarray]]:
        return lambda x, a: (x.sum(axis=tuple(a), keepdims=keep),)

    noop = "<keepdims = 1, noop_with_empty_axes = 1>"
    return [
        check(12, "sum_run_time", 13, (28, 12, 11, 9, 8),
              "(float[2, 3, 4] x, int64[K] a) => (float[A, B, C] y) { y = ReduceSum (x, a) }", formula(True), *runs),
        check(12, "sum_run_time_dropped", 13, (28, 12, 11, 9),
              "(float[2, 3, 4] x, int64[1] a) => (float[A, B] y) { y = ReduceSum <keepdims = 0> (x, a) }",
              formula(False), *runs[:2]),
        check(12, "sum_noop", 13, (28, 12, 11, 9),
              f"(float[2, 3, 4] x, int64[K] a) => (float[A, B, C] y) {{ y = ReduceSum {noop} (x, a) }}",
              lambda x, a: (x.sum(axis=tuple(a), keepdims=True) if len(a) else x,), {"x": X3, "a": i64([])}, *runs),
    ]  # fmt: skip


CHECKS: list[Check] = [
    *softmaxes(),
    *resizes(),
    *group_norms(),
    *functions(),
    *dropouts(),
    *pools(),
    *pads(),
    *sizes(),
    *batch_norms(),
    *last_of_equals(),
    *empties(),
    *sums(),
]
