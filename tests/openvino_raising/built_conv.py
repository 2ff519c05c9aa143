"""Convolutions, pooling, images."""

import numpy as np

from .building import floats, i64, node, outs, table


def sliding(axes, **more):
    """The attributes of windows that say nothing, along so many axes."""
    ones, zeros = [1] * axes, [0] * axes
    return {"strides": ones, "dilations": ones, "pads_begin": zeros, "pads_end": zeros, **more}


def conv(name, shape, weights, op="Convolution", shapes=None, **attributes):
    given = sliding(len(shape) - 2, auto_pad="explicit") | attributes
    row = (f"conv_{name}", [floats(*shape)], lambda x: node(op, 1, x, floats(*weights, seed=1), **given))
    return (*row, shapes) if shapes else row


def back(name, shape, weights, *more, op="ConvolutionBackpropData", shapes=None, **attributes):
    axes = len(shape) - 2
    given = sliding(axes, auto_pad="explicit", output_padding=[0] * axes) | attributes
    row = (f"back_{name}", [floats(*shape)], lambda x: node(op, 1, x, floats(*weights, seed=1), *more, **given))
    return (*row, shapes) if shapes else row


def pool(name, opset, op, shape=(1, 2, 7, 6), shapes=None, **attributes):
    default = {"kernel": [3, 2], "strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0], "auto_pad": "explicit"}
    default |= {"rounding_type": "floor"} | ({"exclude_pad": True} if op == "AvgPool" else {})
    if op == "MaxPool" and opset >= 8:
        default |= {"dilations": [1, 1], "index_element_type": "i64", "axis": 0}
    row = (f"pool_{name}", [floats(*shape)], lambda x: outs(node(op, opset, x, **{**default, **attributes})))
    return (*row, shapes) if shapes else row


POOLS = {
    "floor": {},
    "ceil": {"rounding_type": "ceil"},
    "padded": {"pads_begin": [1, 1], "pads_end": [1, 0]},
    "padded_ceil": {"pads_begin": [1, 1], "pads_end": [1, 1], "rounding_type": "ceil"},
    "padded_ceil_beyond": {
        "kernel": [2, 2],
        "pads_begin": [1, 1],
        "pads_end": [1, 1],
        "rounding_type": "ceil",
        "strides": [2, 3],
    },
    "same_upper": {"auto_pad": "same_upper"},
    "same_lower": {"auto_pad": "same_lower"},
    "valid": {"auto_pad": "valid"},
}
WIDE = {"pads_begin": [3, 0], "pads_end": [1, 2]}
TORCH = {**POOLS["padded_ceil_beyond"], "rounding_type": "ceil_torch"}


CASES = table(
    [
        conv("plain", (1, 2, 5, 6), (3, 2, 3, 2)),
        conv(
            "strides", (2, 2, 7, 6), (3, 2, 3, 3), strides=[2, 1], pads_begin=[1, 0], pads_end=[0, 2], dilations=[1, 2]
        ),
        conv("same_upper", (1, 2, 5, 6), (3, 2, 2, 2), auto_pad="same_upper", strides=[2, 2]),
        conv("same_lower", (1, 2, 5, 6), (3, 2, 2, 2), auto_pad="same_lower", strides=[2, 2]),
        conv("valid", (1, 2, 5, 6), (3, 2, 2, 2), auto_pad="valid", pads_begin=[1, 1]),
        conv("1d", (1, 2, 7), (3, 2, 3), strides=[1], pads_begin=[1], pads_end=[1], dilations=[2]),
        conv("3d", (1, 2, 4, 4, 4), (3, 2, 2, 2, 2), pads_end=[0, 0, 1]),
        conv("group", (1, 4, 5, 5), (2, 3, 2, 3, 3), op="GroupConvolution"),
        conv("depthwise", (1, 4, 5, 5), (4, 1, 1, 3, 3), op="GroupConvolution", pads_begin=[1, 1], pads_end=[1, 1]),
        conv("dynamic", (1, 2, 5, 6), (3, 2, 3, 2), shapes=[(-1, 2, -1, -1)]),
        (
            "conv_computed_weights",
            [floats(1, 4, 5, 5), floats(2, 3, 2, 3, 3)],
            lambda x, w: node("GroupConvolution", 1, x, w, **sliding(2, auto_pad="explicit")),
        ),
        back("plain", (1, 2, 4, 5), (2, 3, 3, 3)),
        back(
            "strides",
            (1, 2, 4, 5),
            (2, 3, 3, 3),
            strides=[2, 3],
            pads_begin=[1, 0],
            pads_end=[0, 1],
            output_padding=[1, 0],
        ),
        back("dilations", (1, 2, 4, 5), (2, 3, 3, 2), dilations=[2, 1]),
        back("valid", (1, 2, 4, 5), (2, 3, 3, 3), auto_pad="valid", pads_begin=[1, 1]),
        back("same_upper", (1, 2, 4, 5), (2, 3, 3, 3), auto_pad="same_upper", strides=[2, 2]),
        *[
            back(f"shape_{auto}", (1, 2, 4, 5), (2, 3, 3, 2), i64([8, 9]), auto_pad=auto, strides=[2, 2])
            for auto in ("explicit", "same_upper", "same_lower", "valid")
        ],
        back(
            "shape_dynamic",
            (1, 2, 4, 5),
            (2, 3, 3, 2),
            i64([8, 9]),
            auto_pad="same_upper",
            strides=[2, 2],
            shapes=[(1, 2, -1, -1)],
        ),
        back("shape_larger", (1, 2, 3, 3), (2, 3, 2, 2), i64([7, 7]), auto_pad="same_upper", strides=[2, 2]),
        back("group", (1, 4, 4, 4), (2, 2, 3, 3, 3), op="GroupConvolutionBackpropData", strides=[2, 2]),
        *[pool(f"max_1_{name}", 1, "MaxPool", **more) for name, more in POOLS.items()],
        *[pool(f"avg_1_{name}", 1, "AvgPool", **more) for name, more in POOLS.items()],
        *[pool(f"avg_include_{name}", 1, "AvgPool", exclude_pad=False, **more) for name, more in POOLS.items()],
        *[pool(f"max_8_{name}", 8, "MaxPool", **more) for name, more in POOLS.items()],
        pool("max_8_axis", 8, "MaxPool", index_element_type="i32", axis=2, shape=(2, 2, 7, 6)),
        pool("max_8_dilations", 8, "MaxPool", dilations=[2, 1], axis=-2, shape=(2, 2, 7, 6), strides=[1, 1]),
        pool("max_14_torch", 14, "MaxPool", **TORCH),
        pool("max_8_pads_like_the_kernel", 8, "MaxPool", axis=2, shape=(2, 2, 7, 6), **WIDE),
        pool("max_8_dilated_pads_like_the_kernel", 8, "MaxPool", dilations=[2, 1], **WIDE),
        pool("avg_1_pads_like_the_kernel", 1, "AvgPool", exclude_pad=False, **WIDE),
        pool("avg_14_torch", 14, "AvgPool", **TORCH),
        pool("avg_14_torch_include", 14, "AvgPool", exclude_pad=False, **TORCH),
        # the last window ends behind the pad: OpenVINO's CPU counts all of it
        *[
            pool(
                f"avg_14_{rounding}_part",
                14,
                "AvgPool",
                exclude_pad=False,
                kernel=[4, 3],
                strides=[3, 2],
                pads_begin=[1, 1],
                pads_end=[1, 1],
                rounding_type=rounding,
                shapes=[(-1, 2, -1, -1)],
            )
            for rounding in ("ceil", "ceil_torch")
        ],
        pool("avg_16_dilations", 16, "AvgPool", dilations=[2, 1], strides=[1, 1]),
        pool("avg_dynamic", 1, "AvgPool", shapes=[(-1, 2, -1, -1)], pads_begin=[1, 1]),
        pool("max_1d", 1, "MaxPool", shape=(1, 2, 7), kernel=[3], strides=[2], pads_begin=[1], pads_end=[0]),
        *[
            (
                f"grid_sample_{mode}_{pad}_{aligned}",
                [floats(1, 2, 4, 5), floats(1, 3, 3, 2, seed=5, scale=0.8)],
                lambda x, g, mode=mode, pad=pad, aligned=aligned: node(
                    "GridSample", 9, x, g, mode=mode, padding_mode=pad, align_corners=aligned
                ),
            )
            for mode in ("bilinear", "bicubic", "nearest")
            for pad in ("zeros", "border", "reflection")
            for aligned in (True, False)
        ],
        (
            "col2im",
            [floats(1, 8, 12)],
            lambda x: node("Col2Im", 15, x, i64([4, 5]), i64([2, 2]), **sliding(2)),
        ),
        (
            "col2im_no_batch",
            [floats(8, 12)],
            lambda x: node("Col2Im", 15, x, i64([4, 5]), i64([2, 2]), **sliding(2)),
        ),
        *[
            (
                f"{op.lower()}_{mode}_{len(shape)}d{'_dynamic' * bool(dynamic)}",
                [floats(*shape)],
                lambda x, op=op, mode=mode: node(op, 1, x, block_size=2, mode=mode),
                *dynamic,
            )
            for op, shapes in (
                ("DepthToSpace", ((1, 8, 3, 2), (2, 4, 3), (1, 16, 2, 3, 2))),
                ("SpaceToDepth", ((1, 3, 4, 6), (2, 3, 4), (1, 2, 4, 2, 6))),
            )
            for shape in shapes
            for mode in ("blocks_first", "depth_first")
            for dynamic in ((), ([(-1,) * len(shape)],))
        ],
        ("shuffle_channels", [floats(1, 6, 2, 2)], lambda x: node("ShuffleChannels", 1, x, axis=1, group=3)),
        (
            "space_to_batch",
            [floats(2, 4, 6, 3)],
            lambda x: node("SpaceToBatch", 2, x, i64([1, 2, 3, 1]), i64([0, 1, 0, 0]), i64([0, 1, 3, 0])),
        ),
        (
            "batch_to_space",
            [floats(12, 2, 3, 2)],
            lambda x: node("BatchToSpace", 2, x, i64([1, 2, 3, 1]), i64([0, 1, 0, 0]), i64([0, 0, 2, 0])),
        ),
        *[
            back(
                f"crop_{auto}_{name}",
                (1, 2, 4, 5),
                (2, 3, 4, 3),
                i64(target),
                auto_pad=auto,
                **{"strides": [3, 2], **more},
            )
            for auto in ("explicit", "same_upper", "same_lower", "valid")
            for name, target, more in (
                ("odd", [10, 8], {}),
                ("more", [7, 6], {}),
                ("pads", [10, 8], {"pads_begin": [1, 2], "pads_end": [1, 0]}),
                ("padding", [11, 9], {"output_padding": [1, 1]}),
                ("dilations", [13, 10], {"dilations": [2, 2]}),
                ("beyond", [15, 12], {}),
            )
        ],
        back("crop_1d", (1, 2, 5), (2, 3, 3), i64([8]), strides=[2], auto_pad="same_upper"),
        back("crop_3d", (1, 2, 3, 4, 2), (2, 1, 2, 3, 3), i64([5, 8, 4]), strides=[2, 2, 2], auto_pad="same_lower"),
        *[
            back(
                f"group_{auto}",
                (1, 4, 4, 4),
                (2, 2, 3, 3, 2),
                *shape,
                op="GroupConvolutionBackpropData",
                strides=[2, 2],
                auto_pad=auto,
            )
            for auto, shape in (
                ("same_upper", (i64([8, 8]),)),
                ("same_lower", (i64([7, 8]),)),
                ("valid", ()),
                ("explicit", ()),
            )
        ],
        *[
            conv(f"dilated_{auto}", (1, 2, 7, 6), (3, 2, 3, 2), dilations=[2, 3], auto_pad=auto, strides=[2, 1])
            for auto in ("same_upper", "same_lower")
        ],
        back("crop_far", (1, 2, 4, 5), (2, 3, 2, 2), i64([14, 11]), strides=[2, 2]),
        *[
            back(
                f"crop_unknown_{auto}",
                (1, 2, 4, 5),
                (2, 3, 4, 3),
                i64(goal),
                auto_pad=auto,
                strides=[3, 2],
                shapes=[(-1,) * 4],
                **more,
            )
            for auto, goal, more in (
                ("explicit", [10, 8], {"pads_begin": [1, 2]}),
                ("valid", [10, 14], {}),
                ("same_lower", [12, 8], {}),
                ("same_upper", [10, 10], {"output_padding": [1, 1]}),
            )
        ],
        *[
            pool(
                f"{kind.lower()}_{opset}_3d_{name}",
                opset,
                kind,
                (1, 2, 5, 6, 4),
                **{"kernel": [2, 3, 2], "strides": [2, 2, 1], "pads_begin": [0, 1, 0], "pads_end": [1, 1, 0], **more},
            )
            for kind, opset, more, name in (
                ("MaxPool", 1, {}, "plain"),
                (
                    "MaxPool",
                    14,
                    {"dilations": [1, 2, 1], "index_element_type": "i32", "axis": 2, "rounding_type": "ceil"},
                    "ceil",
                ),
                ("AvgPool", 1, {"rounding_type": "ceil"}, "ceil"),
                ("AvgPool", 16, {"dilations": [2, 1, 2], "rounding_type": "ceil_torch"}, "torch"),
            )
        ],
        *[
            pool(
                f"avg_16_{name}_{exclude}",
                16,
                "AvgPool",
                exclude_pad=exclude,
                dilations=[2, 2],
                pads_begin=[1, 1],
                pads_end=[1, 0],
                **more,
            )
            for exclude in (True, False)
            for name, more in (
                ("floor", {}),
                ("ceil", {"rounding_type": "ceil"}),
                ("torch", {"rounding_type": "ceil_torch"}),
                ("same", {"auto_pad": "same_lower"}),
            )
        ],
        *[
            pool(
                f"max_{opset}_{name}",
                opset,
                "MaxPool",
                dilations=[2, 1],
                index_element_type=kind,
                axis=axis,
                pads_begin=[1, 1],
                pads_end=[1, 0],
                **more,
            )
            for opset, name, kind, axis, more in (
                (8, "ceil_dilated", "i64", 1, {"rounding_type": "ceil"}),
                (14, "torch_dilated", "i32", -1, {"rounding_type": "ceil_torch"}),
                (8, "same_dilated", "i64", 0, {"auto_pad": "same_upper"}),
            )
        ],
        *[
            (
                f"col2im_{name}",
                [floats(*shape)],
                lambda x, given=given, target=target, kernel=kernel: node(
                    "Col2Im", 15, x, i64(target), i64(kernel), **(sliding(2) | given)
                ),
            )
            for name, shape, target, kernel, given in (
                ("strides", (2, 12, 4), [5, 6], [2, 3], {"strides": [2, 3]}),
                ("dilations", (1, 8, 6), [4, 6], [2, 2], {"strides": [1, 2], "dilations": [2, 1]}),
                ("pads", (1, 8, 12), [4, 3], [2, 2], {"pads_begin": [1, 0], "pads_end": [0, 1]}),
            )
        ],
        *[
            (
                f"reverse_{batch}_{sequence}_{np.dtype(kind).name}",
                [floats(3, 4, 2, 3), np.array([1, 3, 2] if batch in (0, -4, 3, -1) else [2, 1], kind)],
                lambda x, n, batch=batch, sequence=sequence: node(
                    "ReverseSequence", 1, x, n, batch_axis=batch, seq_axis=sequence
                ),
            )
            for batch, sequence, kind in (
                (0, 1, np.int32),
                (2, 1, np.int64),
                (3, 0, np.int32),
                (-1, 1, np.float32),
                (2, -1, np.int32),
            )
        ],
    ]
)
