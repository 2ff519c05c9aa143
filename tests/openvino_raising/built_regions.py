"""Pooling of regions of interest; convolutions at places that the model computes."""

import numpy as np
import openvino as ov

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


WINDOW = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1], "auto_pad": "explicit"}


def bits(name, shape=(2, 8, 5, 6), weights=(4, 8, 3, 2), **attributes):
    given = {**WINDOW, "mode": "xnor-popcount", "pad_value": 0.0, **attributes}
    chosen = np.random.default_rng(7).integers(0, 2, weights).astype(np.uint8)
    packed = ov.op.Constant(ov.Type.u1, ov.Shape(list(weights)), chosen.reshape(-1).tolist())
    return f"bits_{name}", [floats(*shape)], lambda x: node("BinaryConvolution", 1, x, packed, **given)


def bending(name, opset=8, outputs=(3, 4), kernel=(3, 2), masked=False, channels=4, shapes=None, **attributes):
    given = {**WINDOW, "group": 1, "deformable_group": 1, **attributes}
    if opset == 8:
        given.setdefault("bilinear_interpolation_pad", False)
    count, groups = kernel[0] * kernel[1], given["deformable_group"]
    arrays = [floats(2, channels, 5, 5), floats(2, 2 * groups * count, *outputs, seed=4, scale=1.5)]
    if masked:
        arrays.append(floats(2, groups * count, *outputs, seed=5))
    weights = floats(6, channels // given["group"], *kernel, seed=1)
    row = (
        f"bending_{name}",
        arrays,
        lambda x, o, *m: node("DeformableConvolution", opset, x, o, weights, *m, **given),
    )
    return (*row, shapes) if shapes else row


BENT = {
    "plain": {},
    "strides": {"strides": [2, 1], "outputs": (2, 4)},
    "pads": {"pads_begin": [1, 0], "pads_end": [2, 1], "outputs": (6, 5)},
    "dilations": {"dilations": [2, 3], "outputs": (1, 2)},
    "same_upper": {"auto_pad": "same_upper", "outputs": (5, 5)},
    "same_lower": {"auto_pad": "same_lower", "strides": [2, 2], "outputs": (3, 3)},
    "valid": {"auto_pad": "valid", "pads_begin": [1, 1]},
    "groups": {"group": 2},
    "deformable_groups": {"deformable_group": 2},
}

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
        *[
            bits(f"{name}_{how}", pad_value=value, **more)
            for how, value in (("0", 0.0), ("1", 1.0), ("minus", -1.0), ("half", 0.5))
            for name, more in (
                ("plain", {}),
                ("pads", {"pads_begin": [1, 0], "pads_end": [1, 1], "strides": [2, 1]}),
                ("same_upper", {"auto_pad": "same_upper"}),
                ("same_lower", {"auto_pad": "same_lower", "strides": [2, 2]}),
                ("valid", {"auto_pad": "valid"}),
                ("dilations", {"dilations": [2, 2]}),
            )
        ],
        *[bending(f"1_{name}", 1, **more) for name, more in BENT.items()],
        *[
            bending(f"8_{name}_{pad}_{masked}", 8, masked=masked, bilinear_interpolation_pad=pad, **more)
            for name, more in BENT.items()
            for pad in (False, True)
            for masked in (False, True)
        ],
        bending("8_both_groups", masked=True, group=2, deformable_group=2),
        *[
            bending(f"8_dynamic_{pad}", shapes=[(-1,) * 4] * 2, bilinear_interpolation_pad=pad, deformable_group=2)
            for pad in (False, True)
        ],
    ]
)
