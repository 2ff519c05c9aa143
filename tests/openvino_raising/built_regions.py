"""Pooling of regions of interest; convolutions at places that the model computes."""

import numpy as np

from .building import f32, floats, i32, node, table

IMAGE = floats(2, 3, 8, 9)
BOXES = f32([[0, 0, 5, 6], [1.5, 2, 7, 7], [-3, -2, 4, 20], [4, 4, 4.2, 4.1]])
BATCHES = i32([0, 1, 1, 0])
TURNED = f32([[4, 4, 5, 6, 0], [3.5, 2, 7, 3, 0.7], [1, 7, 8, 6, -2.5], [4, 4, 0.5, 0.3, 3.2]])


OPEN = [(-1, -1, -1, -1), (-1, 4), (-1,)]


def align(name, opset=9, image=IMAGE, shapes=None, **attributes):
    base = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.8, "mode": "avg"}
    given = {**base, **attributes}
    row = f"align_{name}", [image, BOXES, BATCHES], lambda *x: node("ROIAlign", opset, *x, **given)
    return (*row, shapes) if shapes else row


def turned(name, **attributes):
    base = {"pooled_h": 2, "pooled_w": 3, "sampling_ratio": 2, "spatial_scale": 0.8, "clockwise_mode": False}
    given = {**base, **attributes}
    return f"turned_{name}", [IMAGE, TURNED, BATCHES], lambda *x: node("ROIAlignRotated", 15, *x, **given)


LISTED = f32([[0, 0, 0, 5, 6], [1, 1.5, 2, 7, 7], [1, -3, -2, 4, 12], [0, 4, 4, 4.2, 4.1], [1, 6, 7, 2, 1]])
SHARES = f32([[0, 0, 0, 1, 1], [1, 0.1, 0.25, 0.5, 0.9], [1, -0.3, 0.2, 0.6, 1.2], [0, 0.4, 0.4, 0.4, 0.4]])
ENDED = f32([[1, 0, 0, 5, 6], [-1, 1, 2, 7, 7], [1, 0, 0, 4, 4]])


def pool(name, rois=LISTED, shapes=None, **attributes):
    base = {"pooled_h": 2, "pooled_w": 3, "spatial_scale": 0.8, "method": "max"}
    base["output_roi"] = [attributes.get("pooled_h", 2), attributes.get("pooled_w", 3)]
    row = f"pool_{name}", [IMAGE, rois], lambda *x: node("ROIPooling", 2, *x, **{**base, **attributes})
    return (*row, shapes) if shapes else row


def sensitive(name, rois=LISTED, channels=18, **attributes):
    base = {"output_dim": 2, "group_size": 3, "spatial_scale": 0.8, "mode": "average"}
    base |= {"spatial_bins_x": 1, "spatial_bins_y": 1}
    image = floats(2, channels, 8, 9)
    return f"sensitive_{name}", [image, rois], lambda *x: node("PSROIPooling", 1, *x, **{**base, **attributes})


def moving(name, rois=LISTED, offsets=None, channels=36, **attributes):
    base = {"output_dim": 4, "group_size": 3, "spatial_scale": 0.8, "mode": "bilinear_deformable", "trans_std": 0.5}
    base |= {"spatial_bins_x": 2, "spatial_bins_y": 3, "part_size": 1}
    given = [floats(2, channels, 8, 9), rois, *([] if offsets is None else [floats(len(rois), *offsets, seed=3)])]
    return f"moving_{name}", given, lambda *x: node("DeformablePSROIPooling", 1, *x, **{**base, **attributes})


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
        *[align(f"dynamic_{mode}", mode=mode, sampling_ratio=0, shapes=OPEN) for mode in ("avg", "max")],
        *[pool(f"dynamic_{how}", SHARES, [OPEN[0], (-1, 5)], method=how) for how in ("max", "bilinear")],
        pool("max"),
        pool("max_one", pooled_h=1, pooled_w=1),
        pool("max_large", pooled_h=6, pooled_w=7, spatial_scale=1.0),
        pool("max_ended", ENDED),
        pool("bilinear", SHARES, method="bilinear"),
        pool("bilinear_one", SHARES, method="bilinear", pooled_h=1, pooled_w=1),
        pool("bilinear_row", SHARES, method="bilinear", pooled_h=1, pooled_w=4),
        pool("bilinear_ended", ENDED / f32([1, 9, 9, 9, 9]), method="bilinear"),
        sensitive("average"),
        sensitive("average_one", group_size=1, channels=2),
        sensitive("average_scale", spatial_scale=1.0),
        sensitive("average_ended", ENDED),
        sensitive("bilinear", SHARES, 12, mode="bilinear", spatial_scale=1.0, spatial_bins_x=3, spatial_bins_y=2),
        sensitive("bilinear_scale", LISTED, 8, mode="bilinear", spatial_scale=0.1, spatial_bins_x=2, spatial_bins_y=2),
        sensitive("bilinear_one", SHARES, 2, mode="bilinear", group_size=1, spatial_scale=1.0),
        sensitive("bilinear_ended", ENDED, 2, mode="bilinear", spatial_scale=0.1),
        moving("plain"),
        moving("offsets", offsets=(2, 3, 3), part_size=3),
        moving("classes", offsets=(4, 2, 2), part_size=2),
        moving("far", offsets=(8, 3, 3), part_size=3, trans_std=3.0),
        moving("one", offsets=(2, 1, 1), part_size=1, group_size=1, channels=4, spatial_bins_x=1),
        moving("ended", ENDED, (2, 3, 3), part_size=3),
    ]
)
