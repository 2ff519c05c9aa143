"""Pooling of regions of interest; convolutions at places that the model computes."""

import numpy as np

from .building import f32, floats, i32, node, table

IMAGE = floats(2, 3, 8, 9)
BOXES = f32([[0, 0, 5, 6], [1.5, 2, 7, 7], [-3, -2, 4, 20], [4, 4, 4.2, 4.1]])
BATCHES = i32([0, 1, 1, 0])
TURNED = f32([[4, 4, 5, 6, 0], [3.5, 2, 7, 3, 0.7], [1, 7, 8, 6, -2.5], [4, 4, 0.5, 0.3, 3.2]])


def align(name, opset=9, image=IMAGE, boxes=BOXES, **attributes):
    base = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.8, "mode": "avg"}
    return (
        f"align_{name}",
        [image, boxes, BATCHES[: len(boxes)]],
        lambda *x: node("ROIAlign", opset, *x, **{**base, **attributes}),
    )


def turned(name, **attributes):
    base = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.8, "clockwise_mode": False}
    given = {**base, **attributes}
    return f"turned_{name}", [IMAGE, TURNED, BATCHES], lambda *x: node("ROIAlignRotated", 15, *x, **given)


CASES = table(
    [
        *[
            align(f"{mode}_{aligned}_{ratio}", mode=mode, aligned_mode=aligned, sampling_ratio=ratio)
            for mode in ("avg", "max")
            for aligned in ("asymmetric", "half_pixel", "half_pixel_for_nn")
            for ratio in (0, 1, 3)
        ],
        *[
            align(f"3_{mode}_{ratio}", 3, mode=mode, sampling_ratio=ratio)
            for mode in ("avg", "max")
            for ratio in (0, 2)
        ],
        align("below_zero", image=-np.abs(IMAGE), mode="max", sampling_ratio=0, aligned_mode="asymmetric"),
        align("one_cell", pooled_h=1, pooled_w=1, aligned_mode="half_pixel", spatial_scale=1.0, sampling_ratio=0),
        *[
            turned(f"{clockwise}_{ratio}", clockwise_mode=clockwise, sampling_ratio=ratio)
            for clockwise in (False, True)
            for ratio in (0, 1, 2)
        ],
        turned("one_cell", pooled_h=1, pooled_w=1, spatial_scale=1.0),
    ]
)
