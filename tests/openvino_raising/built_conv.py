"""Convolutions, pooling, images."""

from .building import floats, i64, node, outs, table


def conv(name, shape, weights, op="Convolution", shapes=None, **attributes):
    default = {"strides": [1, 1], "pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1], "auto_pad": "explicit"}
    row = (
        f"conv_{name}",
        [floats(*shape)],
        lambda x: node(op, 1, x, floats(*weights, seed=1), **{**default, **attributes}),
    )
    return (*row, shapes) if shapes else row


def back(name, shape, weights, *more, op="ConvolutionBackpropData", shapes=None, **attributes):
    default = {
        "strides": [1, 1],
        "pads_begin": [0, 0],
        "pads_end": [0, 0],
        "dilations": [1, 1],
        "auto_pad": "explicit",
        "output_padding": [0, 0],
    }
    row = (
        f"back_{name}",
        [floats(*shape)],
        lambda x: node(op, 1, x, floats(*weights, seed=1), *more, **{**default, **attributes}),
    )
    return (*row, shapes) if shapes else row


def pool(name, opset, op, shape=(1, 2, 7, 6), shapes=None, **attributes):
    default = {
        "kernel": [3, 2],
        "strides": [2, 2],
        "pads_begin": [0, 0],
        "pads_end": [0, 0],
        "rounding_type": "floor",
        "auto_pad": "explicit",
    }
    if op == "AvgPool":
        default["exclude_pad"] = True
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
        conv(
            "3d",
            (1, 2, 4, 4, 4),
            (3, 2, 2, 2, 2),
            strides=[1, 1, 1],
            pads_begin=[0, 0, 0],
            pads_end=[0, 0, 1],
            dilations=[1, 1, 1],
        ),
        conv("group", (1, 4, 5, 5), (2, 3, 2, 3, 3), op="GroupConvolution"),
        conv("depthwise", (1, 4, 5, 5), (4, 1, 1, 3, 3), op="GroupConvolution", pads_begin=[1, 1], pads_end=[1, 1]),
        conv("dynamic", (1, 2, 5, 6), (3, 2, 3, 2), shapes=[(-1, 2, -1, -1)]),
        (
            "conv_computed_weights",
            [floats(1, 4, 5, 5), floats(2, 3, 2, 3, 3)],
            lambda x, w: node(
                "GroupConvolution",
                1,
                x,
                w,
                strides=[1, 1],
                pads_begin=[0, 0],
                pads_end=[0, 0],
                dilations=[1, 1],
                auto_pad="explicit",
            ),
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
        *[
            pool(f"max_8_{name}", 8, "MaxPool", dilations=[1, 1], index_element_type="i64", axis=0, **more)
            for name, more in POOLS.items()
        ],
        pool("max_8_axis", 8, "MaxPool", dilations=[1, 1], index_element_type="i32", axis=2, shape=(2, 2, 7, 6)),
        pool(
            "max_8_dilations",
            8,
            "MaxPool",
            dilations=[2, 1],
            index_element_type="i64",
            axis=-2,
            shape=(2, 2, 7, 6),
            strides=[1, 1],
        ),
        pool(
            "max_14_torch",
            14,
            "MaxPool",
            dilations=[1, 1],
            index_element_type="i64",
            axis=0,
            **{**POOLS["padded_ceil_beyond"], "rounding_type": "ceil_torch"},
        ),
        pool("avg_14_torch", 14, "AvgPool", **{**POOLS["padded_ceil_beyond"], "rounding_type": "ceil_torch"}),
        pool(
            "avg_14_torch_include",
            14,
            "AvgPool",
            exclude_pad=False,
            **{**POOLS["padded_ceil_beyond"], "rounding_type": "ceil_torch"},
        ),
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
            lambda x: node(
                "Col2Im",
                15,
                x,
                i64([4, 5]),
                i64([2, 2]),
                strides=[1, 1],
                dilations=[1, 1],
                pads_begin=[0, 0],
                pads_end=[0, 0],
            ),
        ),
        (
            "col2im_no_batch",
            [floats(8, 12)],
            lambda x: node(
                "Col2Im",
                15,
                x,
                i64([4, 5]),
                i64([2, 2]),
                strides=[1, 1],
                dilations=[1, 1],
                pads_begin=[0, 0],
                pads_end=[0, 0],
            ),
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
    ]
)
