"""Interpolate: every mode, coordinate and rounding; sizes that grow, shrink, stay and meet halves."""

import numpy as np

from .building import f32, floats, i64, node, table, whole

COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]


def wish(**attributes):
    return {
        "mode": "nearest",
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": "half_pixel",
        "nearest_mode": "round_prefer_floor",
        "antialias": False,
        "pads_begin": [0],
        "pads_end": [0],
        "cube_coeff": -0.75,
        **attributes,
    }


def resize(name, target, axes=(2, 3), x=None, opset=11, shapes=None, **attributes):
    """By sizes where `target` has whole numbers, else by scales."""
    x = floats(1, 2, 4, 5) if x is None else x
    by_sizes = all(isinstance(item, int) for item in target)
    given = wish(shape_calculation_mode="sizes" if by_sizes else "scales", **attributes)
    inputs = [i64(list(target)) if by_sizes else f32(list(target))]
    if opset < 11:
        inputs = [*inputs, f32([1.0] * len(target))] if by_sizes else [i64([1] * len(target)), *inputs]
    if axes is not None:
        inputs.append(i64(list(axes)))
    row = f"resize_{name}", [x], lambda x: node("Interpolate", opset, x, *inputs, **given)
    return (*row, shapes) if shapes else row


def first(name, target, axes=(2, 3), x=None, **attributes):
    given = {"mode": "nearest", "align_corners": False, "antialias": False, "pads_begin": [0], "pads_end": [0]}
    given |= {"axes": list(axes), **attributes}
    x = floats(1, 2, 4, 5) if x is None else x
    return f"first_{name}", [x], lambda x: node("Interpolate", 1, x, i64(list(target)), **given)


def computed(name, goal, **attributes):
    """With a goal that the model is given."""
    by_sizes = all(isinstance(item, int) for item in goal)
    given = wish(shape_calculation_mode="sizes" if by_sizes else "scales", **attributes)
    arrays = [floats(1, 2, 4, 5), i64(list(goal)) if by_sizes else f32(list(goal))]
    row = f"computed_{name}", arrays, lambda x, n: node("Interpolate", 11, x, n, i64([2, 3]), **given)
    return (*row, [(-1, -1, -1, -1), (2,)])


MODES = ["linear", "linear_onnx", "cubic"]
DEEP = floats(1, 2, 3, 4, 5)
FLAT = floats(2, 3, 6)
BYTES = whole(1, 2, 4, 5, low=0, high=256, dtype=np.uint8)
WHOLE = whole(1, 2, 4, 5, low=-99, high=99)
TARGETS = {"both": [7, 3], "one": [1, 1]}  # up by 7/4 and down to 3/5; one pixel
MIXED = floats(1, 1, 4, 6, 5)
SMOOTH = {"mode": "linear", "antialias": True}
PADS = {"pads_begin": [0, 0, 1, 0], "pads_end": [0, 0, 0, 2]}

CASES = table(
    [
        *[
            resize(f"nearest_{c}_{n}", [8, 3, 3], (2, 3, 4), MIXED, coordinate_transformation_mode=c, nearest_mode=n)
            for c in COORDINATES
            for n in ROUNDINGS
        ],
        *[
            resize(f"{mode}_{c}_{way}", goal, mode=mode, coordinate_transformation_mode=c)
            for mode in MODES
            for c in COORDINATES
            for way, goal in TARGETS.items()
        ],
        *[
            resize(f"scales_{mode}_{c}", [1.7, 0.45], mode=mode, coordinate_transformation_mode=c, opset=opset)
            for mode, opset, some in (("nearest", 4, 3), ("linear_onnx", 4, 5), ("cubic", 11, 2))
            for c in COORDINATES[-some:]
        ],
        *[resize(f"scale_{scale}", [scale, 1.0], x=floats(1, 1, 6, 3)) for scale in (0.3333333, 0.49999, 0.5)],
        *[resize(f"scale_{mode}", [0.3333333, 1.2], x=floats(1, 1, 6, 3), mode=mode) for mode in MODES],
        *[
            resize(f"deep_linear_{c}", [5, 2, 7], (2, 3, 4), DEEP, mode="linear", coordinate_transformation_mode=c)
            for c in COORDINATES
        ],
        resize("deep_linear_onnx", [5, 2, 7], (2, 3, 4), DEEP, mode="linear_onnx"),
        *[resize(f"flat_{mode}", [2, 3, 9], None, FLAT, mode=mode) for mode in ("nearest", "linear_onnx", "cubic")],
        *[resize(f"flat_last_{mode}", [9], (2,), FLAT, mode=mode) for mode in ("nearest", "linear_onnx")],
        *[resize(f"one_axis_{mode}", [9], (3,), mode=mode) for mode in ("nearest", "linear_onnx", "cubic")],
        *[resize(f"other_order_{mode}", [9, 3], (3, 2), mode=mode) for mode in ("nearest", "linear", "cubic")],
        *[resize(f"all_axes_{mode}", [1, 2, 7, 3], None, mode=mode) for mode in ("nearest", *MODES)],
        *[
            resize(f"all_axes_4_{mode}", [1.0, 1.0, 1.5, 0.6], None, mode=mode, opset=4)
            for mode in ("nearest", "cubic")
        ],
        *[resize(f"same_{mode}", [4, 5], mode=mode, coordinate_transformation_mode=COORDINATES[3]) for mode in MODES],
        *[resize(f"coefficient_{a}", [7, 3], mode="cubic", cube_coeff=a) for a in (-0.5, -1.0)],
        *[
            resize(f"padded_{mode}_{what}", target, mode=mode, **PADS)
            for mode in ("nearest", "linear_onnx", "cubic")
            for what, target in (("sizes", [8, 6]), ("scales", [1.6, 0.7]))
        ],
        *[
            resize(f"antialias_{mode}", [2, 2], mode=mode, antialias=True)
            for mode in ("nearest", "linear_onnx", "cubic")
        ],
        *[
            resize(
                f"smooth_{c}", goal, (2, 3, 4), DEEP, mode="linear", antialias=True, coordinate_transformation_mode=c
            )
            for c, goal in zip(COORDINATES, ([2, 2, 2], [2, 3, 9], [2, 2, 7], [1, 3, 4], [2, 4, 2]), strict=True)
        ],
        *[
            resize(f"{mode}_pillow_{way}", goal, mode=f"{mode}_pillow", cube_coeff=-0.5, x=floats(2, 3, 9, 8))
            for mode in ("bilinear", "bicubic")
            for way, goal in {**TARGETS, "up": [12, 30], "column": [4, 8], "scales": [0.45, 1.3]}.items()
        ],
        *[
            resize(f"{mode}_pillow_before", [4, 11], (1, 2), floats(2, 9, 8, 3), mode=f"{mode}_pillow", cube_coeff=-0.5)
            for mode in ("bilinear", "bicubic")
        ],
        *[
            resize(f"{kind}_{mode}", [7, 3], x=x, mode=mode, cube_coeff=-0.5)
            for kind, x in (("bytes", BYTES), ("signed", WHOLE.astype(np.int8)), ("whole", WHOLE))
            for mode in ("nearest", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow")
            if (kind, mode) != ("whole", "bilinear_pillow")  # a value halfway between two
        ],
        *[
            first(f"{mode}_{aligned}_{way}", goal, mode=mode, align_corners=aligned)
            for mode in ("nearest", "linear", "cubic")
            for aligned in (True, False)
            for way, goal in TARGETS.items()
        ],
        *[
            first(f"deep_{mode}_{aligned}", [5, 2, 7], (2, 3, 4), DEEP, mode=mode, align_corners=aligned)
            for mode in ("nearest", "linear")
            for aligned in (True, False)
        ],
        *[first(f"row_{mode}", [9], (3,), mode=mode) for mode in ("nearest", "linear", "cubic")],
        *[first(f"padded_{mode}", [9, 4], mode=mode, **PADS) for mode in ("nearest", "linear")],
        first("other_order", [9, 3], (3, 2)),
        first("antialias", [2, 2], mode="linear", antialias=True),
        *[
            computed(f"{mode}_{what}", goal, mode=mode, nearest_mode="simple", cube_coeff=-0.5)
            for mode in ("nearest", "linear_onnx", "cubic", "bicubic_pillow")
            for what, goal in (("sizes", [7, 3]), ("scales", [1.7, 0.45]))
        ],
    ]
)
