"""Prior boxes, patches, colours, pooling to given sizes."""

import numpy as np

from .building import floats, i64, node, outs, table, whole

PRIOR = {
    "min_size": [],
    "max_size": [],
    "aspect_ratio": [],
    "density": [],
    "fixed_ratio": [],
    "fixed_size": [],
    "clip": False,
    "flip": False,
    "step": 0.0,
    "offset": 0.5,
    "variance": [],
    "scale_all_sizes": True,
}
CLUSTERED = {
    "step": 0.0,
    "step_w": 0.0,
    "step_h": 0.0,
    "width": [8.0, 20.0],
    "height": [6.0, 30.0],
    "clip": False,
    "offset": 0.5,
    "variance": [0.1],
}
SIZES = [i64(3, 4), i64(60, 100)]


def prior(name, opset=1, computed=False, op="PriorBox", base=PRIOR, **attributes):
    """With sizes that are known, or that the model is given."""
    more = {"min_max_aspect_ratios_order": True} if opset == 8 else {}
    given = {**base, **more, **attributes}
    if computed:
        return f"{name}_computed", SIZES, lambda *sizes: node(op, opset, *sizes, **given), [(2,), (2,)]
    return (
        name,
        [floats(1)],
        lambda x: [
            node(op, opset, *SIZES, **given).output(0),
            node("Add", 1, x, np.float32(1), auto_broadcast="numpy").output(0),
        ],
    )


PRIORS = {
    "prior": {"min_size": [16.0, 30.0], "max_size": [24.0, 50.0], "aspect_ratio": [2.0, 3.0], "flip": True},
    "prior_clip": {"min_size": [40.0], "aspect_ratio": [2.0, 0.5, 2.0, 1.0], "flip": True, "clip": True},
    "prior_step": {"min_size": [16.0], "step": 8.0, "offset": 0.25, "variance": [0.1, 0.2, 0.3, 0.4]},
    "prior_relative": {
        "min_size": [0.2, 0.3],
        "aspect_ratio": [2.0, 0.5],
        "scale_all_sizes": False,
        "step": 0.1,
        "variance": [0.2],
    },
    "prior_by_height": {"min_size": [0.2, 0.3], "scale_all_sizes": False, "step": -1.0, "offset": 0.3},
    "prior_relative_no_step": {"min_size": [0.2], "scale_all_sizes": False},
    "prior_density": {
        "fixed_size": [16.0, 32.0],
        "fixed_ratio": [1.0, 2.0],
        "aspect_ratio": [2.0],
        "density": [2.0, 3.0],
        "variance": [0.1, 0.1, 0.2, 0.2],
    },
    "prior_density_ratios": {"fixed_size": [34.0, 50.0], "aspect_ratio": [2.0], "flip": True, "density": [2.0, 1.0]},
    "prior_density_clip": {"fixed_size": [90.0], "density": [2.0], "clip": True},
}
CLUSTERS = {
    "clustered": {},
    "clustered_clip": {"clip": True, "step": 16.0, "variance": [0.1, 0.2, 0.3, 0.4]},
    "clustered_steps": {"step_w": 20.0, "step_h": 10.0, "step": 5.0, "offset": 0.0, "variance": []},
    "clustered_one_step": {"step_w": 20.0},
}


def yolo(name, shape, **attributes):
    base = {"axis": 1, "end_axis": 3, "coords": 4, "classes": 3, "num": 2, "do_softmax": True, "mask": []}
    base["anchors"] = [1.0, 2.0, 3.0, 4.0]
    return f"yolo_{name}", [floats(*shape)], lambda x: node("RegionYolo", 1, x, **{**base, **attributes})


def patches(name, shape, sizes, strides, rates, auto="valid", dtype=np.float32):
    given = {"sizes": sizes, "strides": strides, "rates": rates, "auto_pad": auto}
    x = floats(*shape).astype(dtype)
    return f"patches_{name}", [x], lambda x: node("ExtractImagePatches", 3, x, **given)


def picture(name, op, dtype, size, planes):
    """An image, in one plane or in several. Whole numbers are such that none lies halfway between two colours, where
    OpenVINO's own implementations round differently."""
    batch, rows, columns = size
    shapes = {
        ("N", 1): [(batch, rows * 3 // 2, columns, 1)],
        ("I", 1): [(batch, rows * 3 // 2, columns, 1)],
        ("N", 2): [(batch, rows, columns, 1), (batch, rows // 2, columns // 2, 2)],
        ("I", 3): [(batch, rows, columns, 1), *[(batch, rows // 2, columns // 2, 1)] * 2],
    }[op[0], planes]
    arrays = [whole(*shape, low=0, high=256, dtype=dtype, seed=place) for place, shape in enumerate(shapes)]
    return f"picture_{name}", arrays, lambda *x: node(op, 8, *x)


def adaptive(kind, name, shape, counts, x=None, computed=False, **attributes):
    """Sizes that are known, or that the model is given."""
    x = floats(*shape) if x is None else x
    made = lambda x, n: outs(node(f"Adaptive{kind}Pool", 8, x, n, **attributes))  # noqa: E731
    name = f"adaptive_{kind.lower()}_{name}"
    if computed:
        return f"{name}_computed", [x, i64(counts)], made, [shape, (len(counts),)]
    return name, [x], lambda x: made(x, i64(counts))


POOLS = {
    "1d": ((2, 3, 7), [3]),
    "1d_even": ((2, 3, 8), [4]),
    "1d_more": ((1, 2, 3), [5]),
    "2d": ((2, 3, 7, 5), [3, 2]),
    "2d_even": ((2, 3, 6, 4), [3, 2]),
    "2d_half": ((1, 2, 6, 5), [3, 2]),
    "2d_one": ((2, 3, 5, 4), [1, 1]),
    "2d_row": ((1, 2, 5, 7), [1, 4]),
    "3d": ((1, 2, 5, 4, 7), [2, 3, 3]),
    "3d_even": ((2, 2, 4, 6, 2), [2, 3, 1]),
    "no_batch": ((0, 2, 5, 4), [2, 3]),
}
TIES = np.array([[[[1, 3, 3, 1, 3], [3, 3, 2, 3, 3], [0, 3, 3, 3, 1], [3, 1, 0, 3, 3]]]], np.float32)


CASES = table(
    [
        *[
            prior(f"{name}_{opset}" if opset == 8 else name, opset, computed, **more)
            for name, more in PRIORS.items()
            for opset in (1, 8)
            for computed in (False, True)
        ],
        prior("prior_ratios_first", 8, **PRIORS["prior"], min_max_aspect_ratios_order=False),
        prior("prior_density_odd", fixed_size=[33.0, 21.5], fixed_ratio=[3.0], density=[2.0, 3.0]),
        *[
            prior(name, 1, computed, "PriorBoxClustered", CLUSTERED, **more)
            for name, more in CLUSTERS.items()
            for computed in (False, True)
        ],
        yolo("softmax", (2, 16, 3, 4)),
        yolo("softmax_axes", (2, 16, 3, 4), axis=0, end_axis=-1),
        yolo("softmax_inner", (2, 16, 3, 4), axis=1, end_axis=2),
        yolo("softmax_one_axis", (2, 16, 3, 4), axis=2, end_axis=2),
        yolo("mask", (1, 24, 3, 4), do_softmax=False, num=9, mask=[0, 1, 2]),
        yolo("mask_batch", (2, 24, 3, 4), do_softmax=False, num=9, mask=[6, 7, 8]),
        yolo("six_coordinates", (1, 20, 2, 2), coords=6),
        yolo("two_coordinates", (1, 12, 2, 2), coords=2),
        *[
            (f"reorg_{name}", [floats(*shape)], lambda x, stride=stride: node("ReorgYolo", 2, x, stride=[stride]))
            for name, shape, stride in (("2", (2, 8, 4, 6), 2), ("3", (1, 9, 6, 3), 3), ("1", (1, 2, 3, 4), 1))
        ],
        *[
            patches(f"{name}_{auto}", (2, 2, 7, 9), sizes, strides, rates, auto)
            for auto in ("valid", "same_upper", "same_lower")
            for name, sizes, strides, rates in (
                ("plain", [3, 2], [1, 1], [1, 1]),
                ("strides", [2, 3], [3, 2], [1, 1]),
                ("rates", [2, 3], [2, 2], [2, 1]),
                ("apart", [1, 1], [4, 3], [1, 1]),
            )
        ],
        patches("integers", (1, 1, 5, 5), [2, 2], [2, 1], [1, 1], "same_upper", np.int32),
        patches("bytes", (1, 1, 5, 5), [2, 2], [2, 1], [1, 1], "same_lower", np.uint8),
        *[
            picture(f"{op.lower()}_{planes}_{np.dtype(dtype).name}", op, dtype, size, planes)
            for op in ("NV12toRGB", "NV12toBGR", "I420toRGB", "I420toBGR")
            for planes in (1, 2 if op[0] == "N" else 3)
            for dtype, size in ((np.float32, (2, 4, 6)), (np.uint8, (1, 2, 4)), (np.float16, (1, 6, 2)))
        ],
        *[
            adaptive(kind, name, shape, counts, None, computed, **more)
            for kind, more in (("Avg", {}), ("Max", {"index_element_type": "i32"}))
            for name, (shape, counts) in POOLS.items()
            for computed in (False, True)
        ],
        *[
            adaptive("Max", f"ties_{name}", (1, 1, 4, 5), counts, TIES, index_element_type="i32")
            for name, counts in (("2", [2, 2]), ("3", [3, 3]), ("whole", [1, 1]), ("even", [2, 5]))
        ],
        adaptive("Avg", "infinite", (1, 1, 4, 5), [3, 3], np.where(TIES == 2, np.inf, TIES).astype(np.float32)),
    ]
)
