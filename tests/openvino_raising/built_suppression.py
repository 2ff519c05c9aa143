"""NonMaxSuppression of all versions: ties, thresholds that are met exactly, nothing found, more found than kept."""

import numpy as np

from .building import f32, floats, i32, i64, node, table


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


BOXES = f32(
    [
        [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]],
        [[1, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0, 5], [4, 4, 6, 6], [6, 6, 4, 4], [5, 5, 4.5, 4.5]],
    ]
)
SCORES = f32(
    [
        [[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.2, 0.85, 0.65, 0.1, 0.8, 0.3]],
        [[0.5, 0.5, 0.5, 0.5, 0.5, 0.5], [0.3, 0.0, -0.5, 0.3, 0.9, 0.3]],
    ]
)
WHOLE = {"box_encoding": "corner", "sort_result_descending": True, "output_type": "i64"}
FREE = ([-1, -1, 4], [-1, -1, -1])


def case(name, opset, *limits, boxes=BOXES, scores=SCORES, shapes=None, **attributes):
    given = WHOLE | attributes
    if opset == 1:
        del given["output_type"]
    build = lambda b, s: outs(node("NonMaxSuppression", opset, b, s, *limits, **given))  # noqa: E731
    return (f"nms_{name}", [boxes, scores], build, *([shapes] if shapes else []))


def crowd(count, classes, seed=0):
    """Boxes that overlap much, scores with ties."""
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 20, (2, count, 2)).astype(np.float32)
    boxes = np.concatenate([corner, corner + rng.integers(1, 9, (2, count, 2))], axis=2).astype(np.float32)
    return boxes, (rng.integers(0, 12, (2, classes, count)) / 8).astype(np.float32)


CROWD = dict(zip(("boxes", "scores"), crowd(40, 3), strict=True))
UNEQUAL = CROWD | {"scores": np.random.default_rng(1).random((2, 3, 40)).astype(np.float32)}
LIMITS = (i64(3), f32(0.4), f32(0.25))
HALF = i64(3), f32(0.5), f32(0.0)

CASES = table(
    [
        *[case(f"{opset}_open", opset, *LIMITS, shapes=FREE) for opset in (1, 3, 4, 5, 9)],
        *[case(f"{opset}_unsorted", opset, *LIMITS, shapes=FREE, sort_result_descending=False) for opset in (1, 4, 9)],
        *[case(f"{opset}_i32", opset, *LIMITS, shapes=FREE, output_type="i32") for opset in (3, 4, 5, 9)],
        *[case(f"{opset}_center", opset, *LIMITS, shapes=FREE, box_encoding="center") for opset in (1, 3, 4, 5, 9)],
        *[case(f"{opset}_known", opset, *LIMITS) for opset in (5, 9)],
        *[case(f"{opset}_full", opset, i64(2), f32(1.5), f32(-1.0)) for opset in (4, 5, 9)],
        *[case(f"{opset}_few_inputs", opset, i64(2), shapes=FREE) for opset in (1, 3, 4, 5, 9)],
        *[case(f"{opset}_met_exactly", opset, *HALF, shapes=FREE) for opset in (4, 5, 9)],
        *[case(f"9_{share}", 9, i64(9), f32(share), f32(-9)) for share in (0.0, 1.0, -1.0, 2.0)],
        case("9_none_above", 9, i64(3), f32(0.5), f32(5.0)),
        case("9_none_wanted", 9, i64(0), f32(0.5), f32(0.0), shapes=FREE),
        case("9_one_dimensional", 9, i32([3]), f32([0.5]), f32([0.0]), f32([0.0])),
        case("9_crowd", 9, i64(100), f32(0.3), f32(0.1), **CROWD),
        case("9_crowd_unsorted", 9, i64(5), f32(0.3), f32(0.1), **CROWD, sort_result_descending=False),
        case("9_crowd_centred", 9, i64(5), f32(0.3), f32(0.1), **CROWD, box_encoding="center"),
        case("9_soft", 9, i64(9), f32(1.0), f32(0.1), f32(0.3)),
        case("9_soft_wide", 9, i64(9), f32(0.5), f32(0.1), f32(5.0), shapes=FREE),
        case("9_soft_narrow", 9, i64(9), f32(0.5), f32(0.0), f32(0.001)),
        case("9_soft_crowd", 9, i64(100), f32(0.5), f32(0.05), f32(0.5), **UNEQUAL),
        case("9_soft_crowd_few", 9, i64(4), f32(0.5), f32(0.05), f32(0.5), **UNEQUAL, sort_result_descending=False),
        case("9_soft_centred", 9, i64(100), f32(0.5), f32(0.05), f32(0.5), **UNEQUAL, box_encoding="center"),
        case("9_soft_none_above", 9, i64(9), f32(0.5), f32(9.0), f32(0.5)),
        case("5_soft", 5, i64(9), f32(1.0), f32(0.1), f32(0.3)),
        case("9_soft_of_nothing", 9, i64(9), f32(0.5), f32(0.0), f32(-0.5)),
        case("9_no_boxes", 9, *LIMITS, boxes=floats(1, 0, 4), scores=floats(1, 2, 0), shapes=FREE),
        (
            "nms_9_computed_limits",
            [BOXES, SCORES, i64([3]), f32([0.5]), f32([0.2])],
            lambda b, s, m, o, t: outs(node("NonMaxSuppression", 9, b, s, m, o, t, **WHOLE)),
        ),
        (
            "nms_9_computed_zero",
            [BOXES, SCORES, i64([3]), f32([0.0]), f32([0.2])],
            lambda b, s, m, o, t: outs(node("NonMaxSuppression", 9, b, s, m, o, t, **WHOLE)),
        ),
        (
            "nms_9_half",
            [BOXES.astype(np.float16), SCORES.astype(np.float16)],
            lambda b, s: outs(node("NonMaxSuppression", 9, b, s, *LIMITS, **WHOLE)),
        ),
    ]
)


def turned(count, seed, spread=20.0, classes=2, whole=False):
    """Rotated boxes that overlap much; whole: on a grid, turned by quarters of a right angle."""
    rng = np.random.default_rng(seed)
    centre, sides = rng.random((2, count, 2)) * spread, rng.random((2, count, 2)) * 8 + 2
    angle = rng.random((2, count, 1)) * 6.5 - 3
    if whole:
        centre, sides, angle = np.round(centre), np.round(sides), np.round(angle) * np.pi / 8
    boxes = np.concatenate([centre, sides, angle], axis=2).astype(np.float32)
    return boxes, ((rng.permutation(2 * classes * count) + 1) / 512).astype(np.float32).reshape(2, classes, count)


ROTATED = {"sort_result_descending": True, "output_type": "i64", "clockwise": True}


def rotated(name, arrays, *limits, shapes=None, **attributes):
    build = lambda b, s: outs(node("NMSRotated", 13, b, s, *limits, **(ROTATED | attributes)))  # noqa: E731
    return (f"nms_rotated_{name}", list(arrays), build, *([shapes] if shapes else []))


QUARTER = f32([[[0, 0, 4, 2, 0], [0, 0, 2, 4, np.pi / 2], [0, 0, 4, 2, np.pi], [1, 0, 4, 2, 0], [9, 9, 0, 2, 0]]])
FIVE = f32([[[0.9, 0.8, 0.7, 0.6, 0.5]]])
SOME = i64(30), f32(0.3), f32(0.05)

CASES |= table(
    [
        rotated("plain", turned(30, 1), *SOME),
        rotated("open", turned(30, 1), *SOME, shapes=([-1, -1, 5], [-1, -1, -1])),
        rotated("counterclockwise", turned(30, 1), *SOME, clockwise=False),
        rotated("unsorted", turned(30, 2), *SOME, sort_result_descending=False, output_type="i32"),
        rotated("few", turned(30, 2), i64(4), f32(0.1), f32(0.05)),
        rotated("much", turned(30, 3, 8.0), i64(30), f32(0.6), f32(0.05)),
        rotated("little", turned(30, 3, 40.0), i64(30), f32(0.01), f32(0.05)),
        rotated("none_above", turned(10, 3), i64(30), f32(0.3), f32(9)),
        rotated("none_wanted", turned(10, 3), i64(0), f32(0.3), f32(0), shapes=([-1, -1, 5], [-1, -1, -1])),
        rotated("grid", turned(30, 4, whole=True), i64(30), f32(0.35), f32(0)),
        rotated("quarters", (QUARTER, FIVE), i64(9), f32(0.65), f32(0)),
        rotated("quarters_alike", (QUARTER, FIVE), i64(9), f32(0.99), f32(0)),
        rotated("nothing_overlaps", (QUARTER, FIVE), i64(9), f32(0.0), f32(0)),
    ]
)
