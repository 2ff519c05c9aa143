"""Convolutions, pooling, images."""

from .building import f32, floats, i32, i64, node, outs, table


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


def resize(name, shape, opset, *inputs, shapes=None, **attributes):
    row = (f"resize_{name}", [floats(*shape)], lambda x: node("Interpolate", opset, x, *inputs, **attributes))
    return (*row, shapes) if shapes else row


def sized(mode, coordinates, nearest="round_prefer_floor", **more):
    return {
        "mode": mode,
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": nearest,
        "antialias": False,
        "pads_begin": [0],
        "pads_end": [0],
        "cube_coeff": -0.75,
        **more,
    }


COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"]

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
            resize(f"nearest_{c}_{n}", (1, 1, 4, 5), 11, i64([7, 3]), i64([2, 3]), **sized("nearest", c, n))
            for c in [*COORDINATES, "tf_half_pixel_for_nn"]
            for n in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple")
        ],
        *[
            resize(f"linear_onnx_{c}", (1, 1, 4, 5), 11, i64([7, 3]), i64([2, 3]), **sized("linear_onnx", c))
            for c in COORDINATES
        ],
        *[resize(f"linear_{c}", (1, 1, 4, 5), 11, i64([7, 3]), i64([2, 3]), **sized("linear", c)) for c in COORDINATES],
        *[
            resize(f"cubic_{c}", (1, 1, 4, 5), 11, i64([7, 3]), i64([2, 3]), **sized("cubic", c, cube_coeff=-0.5))
            for c in COORDINATES
        ],
        resize(
            "scales",
            (1, 1, 4, 5),
            11,
            f32([1.5, 0.6]),
            i64([2, 3]),
            **{**sized("linear_onnx", "half_pixel"), "shape_calculation_mode": "scales"},
        ),
        resize(
            "scales_nearest",
            (1, 1, 4, 5),
            11,
            f32([2.0, 0.7]),
            i64([2, 3]),
            **{**sized("nearest", "asymmetric", "floor"), "shape_calculation_mode": "scales"},
        ),
        resize(
            "4_sizes", (1, 1, 4, 5), 4, i64([7, 3]), f32([1.75, 0.6]), i64([2, 3]), **sized("nearest", "half_pixel")
        ),
        resize(
            "4_scales",
            (1, 1, 4, 5),
            4,
            i64([7, 3]),
            f32([1.75, 0.6]),
            i64([2, 3]),
            **{**sized("linear_onnx", "half_pixel"), "shape_calculation_mode": "scales"},
        ),
        resize(
            "4_all_axes",
            (1, 1, 4, 5),
            4,
            i64([1, 1, 8, 10]),
            f32([1, 1, 2, 2]),
            **sized("nearest", "asymmetric", "floor"),
        ),
        resize(
            "padded",
            (1, 1, 4, 5),
            11,
            i64([8, 6]),
            i64([2, 3]),
            **{**sized("nearest", "half_pixel"), "pads_begin": [0, 0, 1, 0], "pads_end": [0, 0, 0, 2]},
        ),
        resize(
            "antialias_up", (1, 1, 4, 4), 11, i64([8, 6]), i64([2, 3]), **sized("linear", "half_pixel", antialias=True)
        ),
        resize(
            "pillow_bilinear", (1, 1, 8, 8), 11, i64([3, 12]), i64([2, 3]), **sized("bilinear_pillow", "half_pixel")
        ),
        resize(
            "pillow_bicubic",
            (1, 1, 8, 8),
            11,
            i64([3, 12]),
            i64([2, 3]),
            **sized("bicubic_pillow", "half_pixel", cube_coeff=-0.5),
        ),
        *[
            resize(
                f"1_{mode}_{aligned}",
                (1, 1, 4, 5),
                1,
                i64([7, 9]),
                axes=[2, 3],
                mode=mode,
                align_corners=aligned,
                antialias=False,
                pads_begin=[0],
                pads_end=[0],
            )
            for mode in ("nearest", "linear", "cubic")
            for aligned in (True, False)
        ],
        resize(
            "dynamic",
            (1, 1, 4, 5),
            11,
            i64([7, 3]),
            i64([2, 3]),
            shapes=[(1, 1, -1, -1)],
            **sized("linear_onnx", "half_pixel"),
        ),
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
        *[
            (
                f"roi_align_{mode}_{aligned}",
                [floats(2, 3, 8, 8), f32([[0, 0, 5, 6], [1.5, 2, 7, 7]]), i32([0, 1])],
                lambda x, r, b, mode=mode, aligned=aligned: node(
                    "ROIAlign",
                    9,
                    x,
                    r,
                    b,
                    pooled_h=2,
                    pooled_w=3,
                    sampling_ratio=2,
                    spatial_scale=0.8,
                    mode=mode,
                    aligned_mode=aligned,
                ),
            )
            for mode in ("avg", "max")
            for aligned in ("asymmetric", "half_pixel", "half_pixel_for_nn")
        ],
        (
            "roi_align_3",
            [floats(2, 3, 8, 8), f32([[0, 0, 5, 6], [1.5, 2, 7, 7]]), i32([0, 1])],
            lambda x, r, b: node(
                "ROIAlign", 3, x, r, b, pooled_h=2, pooled_w=3, sampling_ratio=0, spatial_scale=1.0, mode="avg"
            ),
        ),
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
        (
            "deformable",
            [floats(1, 2, 5, 5), floats(1, 18, 3, 3, seed=4, scale=0.5)],
            lambda x, o: node(
                "DeformableConvolution",
                8,
                x,
                o,
                floats(3, 2, 3, 3, seed=1),
                strides=[1, 1],
                pads_begin=[0, 0],
                pads_end=[0, 0],
                dilations=[1, 1],
                auto_pad="explicit",
                group=1,
                deformable_group=1,
                bilinear_interpolation_pad=True,
            ),
        ),
    ]
)
