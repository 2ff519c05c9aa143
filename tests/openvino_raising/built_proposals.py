"""Proposals: every attribute, less found than asked for, more found than kept, sizes that are open."""

import numpy as np

from .building import f32, floats, node, table


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


def rates(*shape, seed=0):
    """Numbers between 0 and 1, no two of them equal."""
    count = int(np.prod(shape))
    return ((np.random.default_rng(seed).permutation(count) + 1) / (count + 1)).reshape(shape).astype(np.float32)


# Proposal ------------------------------------------------------------------------------------------

WHOLE = {
    "base_size": 16,
    "pre_nms_topn": 60,
    "post_nms_topn": 10,
    "nms_thresh": 0.7,
    "feat_stride": 16,
    "min_size": 0,
    "ratio": [0.5, 1.0, 2.0],
    "scale": [1.0, 2.0],
    "clip_before_nms": True,
    "clip_after_nms": False,
    "normalize": False,
    "box_size_scale": 1.0,
    "box_coordinate_scale": 1.0,
    "framework": "",
}
IMAGE = f32(60, 80, 1)


def proposal(name, images=1, anchors=6, height=4, width=5, info=IMAGE, versions=(4,), spread=0.4, open=False, **more):
    given = [rates(images, 2 * anchors, height, width), floats(images, 4 * anchors, height, width, scale=spread), info]
    wanted = WHOLE | more
    shapes = [[[-1] * 4, [-1] * 4, [-1]]] if open else []

    def build(version):
        return lambda *inputs: outs(node("Proposal", version, *inputs, **wanted))

    return [(f"proposal{version}_{name}", given, build(version), *shapes) for version in versions]


TENSORFLOW = {"framework": "tensorflow", "base_size": 256, "scale": [0.1, 0.2]}

PROPOSALS = [
    *proposal("plain", versions=(1, 4)),
    *proposal("images", images=3, versions=(1, 4)),
    *proposal("images_open", images=3, open=True),
    *proposal("open", open=True, versions=(1, 4)),
    *proposal("overlap_little", nms_thresh=0.1),
    *proposal("overlap_none", nms_thresh=0.0, post_nms_topn=4),
    *proposal("overlap_any", nms_thresh=1.0, post_nms_topn=30),
    *proposal("few", post_nms_topn=200, versions=(1,)),
    *proposal("few_of_images", post_nms_topn=200, images=2, nms_thresh=0.3, versions=(1,)),
    *proposal("few_of_images_open", post_nms_topn=100, images=2, nms_thresh=0.3, versions=(1,), open=True),
    *proposal("few_before", pre_nms_topn=9, post_nms_topn=3),
    *proposal("all_before", pre_nms_topn=5000),
    *proposal("large_only", min_size=12, post_nms_topn=5),
    *proposal("large_only_scaled", min_size=8, info=f32(60, 80, 1.5), post_nms_topn=5),
    *proposal("large_only_two_scales", min_size=8, info=f32(60, 80, 1.5, 0.5), post_nms_topn=5),
    *proposal("unclipped", clip_before_nms=False),
    *proposal("clipped_after", clip_before_nms=False, clip_after_nms=True),
    *proposal("clipped_twice", clip_after_nms=True),
    *proposal("normalized", normalize=True, versions=(1, 4)),
    *proposal("scaled", box_size_scale=5.0, box_coordinate_scale=10.0, spread=4),
    *proposal("one_ratio", ratio=[1.3], scale=[0.7, 1.0, 1.9], anchors=3),
    *proposal("thin", ratio=[0.01], scale=[0.4, 0.5], anchors=2, nms_thresh=0.3, post_nms_topn=6, spread=0.1),
    *proposal("tensorflow", **TENSORFLOW, versions=(1, 4)),
    *proposal("tensorflow_images", images=2, normalize=True, clip_after_nms=True, **TENSORFLOW),
    *proposal("tensorflow_large", min_size=15, post_nms_topn=5, info=f32(60, 80, 1, 2), **TENSORFLOW),
    *proposal("tensorflow_unclipped", clip_before_nms=False, **TENSORFLOW),
]


# Detectron and Paddle ------------------------------------------------------------------------------


def anchors(height, width, count, seed=3, reach=60):
    low = np.random.default_rng(seed).random((height, width, count, 2)) * reach - 10
    return np.concatenate([low, low + np.random.default_rng(seed + 1).random(low.shape) * 30 + 2], 3).astype(np.float32)


def single(name, count=3, height=4, width=5, open=False, **more):
    wanted = {"min_size": 0.0, "nms_threshold": 0.7, "pre_nms_count": 40, "post_nms_count": 10} | more
    given = [
        IMAGE,
        anchors(height, width, count).reshape(-1, 4),
        floats(count * 4, height, width, scale=0.6),
        rates(count, height, width),
    ]
    build = lambda *inputs: outs(node("ExperimentalDetectronGenerateProposalsSingleImage", 6, *inputs, **wanted))  # noqa: E731
    return (f"single_{name}", given, build, *([[[-1], [-1, -1], [-1] * 3, [-1] * 3]] if open else []))


def generate(name, images=1, count=3, height=4, width=5, info=None, open=False, **more):
    wanted = {
        "min_size": 0.0,
        "nms_threshold": 0.5,
        "pre_nms_count": 40,
        "post_nms_count": 10,
        "normalized": True,
        "nms_eta": 1.0,
        "roi_num_type": "i64",
    } | more
    given = [
        np.stack([IMAGE if info is None else info] * images)
        * (1 + np.arange(images, dtype=np.float32))[:, None] ** 0.1,
        anchors(height, width, count),
        floats(images, count * 4, height, width, scale=0.6),
        rates(images, count, height, width),
    ]
    build = lambda *inputs: outs(node("GenerateProposals", 9, *inputs, **wanted))  # noqa: E731
    return (f"generate_{name}", given, build, *([[[-1, -1], [-1] * 4, [-1] * 4, [-1] * 4]] if open else []))


GRID = {"flatten": True, "h": 0, "w": 0, "stride_x": 0.0, "stride_y": 0.0}


def grid(name, open=False, **more):
    given = [floats(3, 4, scale=10), floats(1, 2, 4, 5), floats(1, 3, 60, 81)]
    build = lambda *inputs: node("ExperimentalDetectronPriorGridGenerator", 6, *inputs, **(GRID | more))  # noqa: E731
    return (f"grid_{name}", given, build, *([[[-1, -1], [-1] * 4, [-1] * 4]] if open else []))


def top(name, count, **more):
    build = lambda *inputs: node("ExperimentalDetectronTopKROIs", 6, *inputs, max_rois=count)  # noqa: E731
    return (f"top_{name}", [floats(7, 4), rates(7)], build, *([[[-1, -1], [-1]]] if more else []))


def half(row):
    return (f"{row[0]}_half", [one.astype(np.float16) for one in row[1]], *row[2:])


CASES = table(
    [
        *(half(row) for row in proposal("plain", height=2, width=3)),
        half(single("plain")),
        half(generate("plain")),
        half(grid("plain")),
        half(top("few", 3)),
        *PROPOSALS,
        single("plain"),
        single("open", open=True),
        single("few", post_nms_count=70, nms_threshold=0.2),
        single("overlap_none", nms_threshold=0.0),
        single("few_before", pre_nms_count=6),
        single("all_before", pre_nms_count=1000),
        single("large_only", min_size=9.0, post_nms_count=5),
        single("thin", min_size=0.0, nms_threshold=0.05),
        generate("plain"),
        generate("open", open=True, images=2),
        generate("images", images=3),
        generate("pixels", images=2, normalized=False),
        generate("large_only", images=2, min_size=12.0),
        generate("large_only_pixels", images=2, min_size=12.0, normalized=False, info=f32(60, 80, 1.2)),
        generate("two_scales", images=2, min_size=12.0, info=f32(60, 80, 0.7, 1.4)),
        generate("none_large", images=2, min_size=500.0),
        generate("few_before", images=2, pre_nms_count=7, min_size=8.0),
        generate("few_after", images=2, post_nms_count=2),
        generate("all", images=2, post_nms_count=100, pre_nms_count=100, nms_threshold=1.0),
        generate("i32", roi_num_type="i32"),
        grid("plain"),
        grid("kept", flatten=False),
        grid("strides", stride_x=4.0, stride_y=8.5),
        grid("sizes", h=4, w=5, flatten=False),
        grid("open", open=True),
        top("few", 3),
        top("all", 7),
        top("open", 4, open=True),
    ]
)
