"""MulticlassNms and MatrixNms: every attribute, ties, nothing found, more found than kept, boxes of each class."""

import numpy as np

from .building import floats, i32, i64, node, table
from .built_proposals import half, outs, rates

NMS = {
    "sort_result_type": "score",
    "output_type": "i64",
    "nms_top_k": -1,
    "keep_top_k": -1,
    "sort_result_across_batch": False,
    "iou_threshold": 0.4,
    "score_threshold": 0.3,
    "background_class": -1,
    "nms_eta": 1.0,
    "normalized": True,
}


def crowd(groups, count, seed=0, reach=20):
    """Boxes with whole coordinates that overlap much."""
    rng = np.random.default_rng(seed)
    low = rng.integers(0, reach, (groups, count, 2))
    return np.concatenate([low, low + rng.integers(0, 9, (groups, count, 2))], axis=2).astype(np.float32)


def shared(name, images=2, classes=3, count=20, versions=(9,), scores=None, boxes=None, open=False, **more):
    given = [
        crowd(images, count) if boxes is None else boxes,
        rates(images, classes, count, seed=1) if scores is None else scores,
    ]
    wanted = NMS | more

    def build(version):
        return lambda b, s: outs(node("MulticlassNms", version, b, s, **wanted))

    shapes = [[[-1, -1, 4], [-1] * 3]] if open else []
    return [(f"multiclass{version}_{name}", given, build(version), *shapes) for version in versions]


def own(name, numbers, classes=3, open=False, **more):
    count = int(np.maximum(numbers, 0).sum())
    given = [crowd(classes, count, 2), rates(classes, count, seed=3), numbers]
    build = lambda b, s, n: outs(node("MulticlassNms", 9, b, s, n, **(NMS | more)))  # noqa: E731
    return (f"multiclass9_{name}", given, build, *([[[-1, -1, 4], [-1, -1], [-1]]] if open else []))


TIED = (np.random.default_rng(4).integers(1, 7, (2, 3, 20)) / 8).astype(np.float32)
HALF = np.array([[[0, 0, 4, 4], [0, 0, 2, 4], [9, 9, 9, 9]]] * 2, np.float32)
SORTS = [(how, across) for how in ("none", "score", "classid") for across in (False, True)]
MATRIX = {key: value for key, value in NMS.items() if key not in ("iou_threshold", "nms_eta")} | {
    "score_threshold": 0.2,
    "decay_function": "linear",
    "gaussian_sigma": 2.0,
    "post_threshold": 0.1,
}


def matrix(name, images=2, classes=3, count=14, boxes=None, scores=None, open=False, results=3, **more):
    given = [
        crowd(images, count, 5) + np.float32([0, 0, 0.5, 0.7]) if boxes is None else boxes,
        rates(images, classes, count, seed=6) if scores is None else scores,
    ]
    given = [one.astype(np.float32) for one in given]
    build = lambda b, s: outs(node("MatrixNms", 8, b, s, **(MATRIX | more)))[:results]  # noqa: E731
    return (f"matrix_{name}", given, build, *([[[-1, -1, 4], [-1] * 3]] if open else []))


CASES = table(
    [
        *[
            row
            for how, across in SORTS
            for row in shared(f"{how}_{across}", sort_result_type=how, sort_result_across_batch=across, keep_top_k=9)
        ],
        *shared("plain", versions=(8, 9)),
        *shared("open", open=True, keep_top_k=7, versions=(8, 9)),
        *shared("one_image", images=1, keep_top_k=5, versions=(8, 9)),
        *shared("one_image_by_class", images=1, keep_top_k=5, sort_result_type="classid"),
        *shared("ties", scores=TIED, keep_top_k=6, versions=(8, 9)),
        *shared("threshold_met", scores=TIED, score_threshold=0.5),
        *shared(
            "overlap_met",
            boxes=np.float32([[[0, 0, 4, 4], [0, 0, 2, 4], [9, 9, 9, 9]]] * 2),
            iou_threshold=0.5,
            count=3,
        ),
        *shared("pixels", normalized=False, versions=(8, 9)),
        *shared("pixels_ties", normalized=False, scores=TIED, iou_threshold=0.3, keep_top_k=8),
        *shared("wrong_way_round", boxes=floats(2, 20, 4)),
        *shared("wrong_way_round_pixels", boxes=floats(2, 20, 4), normalized=False),
        *shared("top", nms_top_k=4),
        *shared("top_ties", nms_top_k=4, scores=TIED),
        *shared("top_more", nms_top_k=400, keep_top_k=300),
        *shared("background", background_class=1),
        *shared("background_outside", background_class=5),
        *shared("i32", output_type="i32"),
        *shared("none", score_threshold=2.0),
        *shared("overlap_zero", iou_threshold=0.0),
        *shared("overlap_any", iou_threshold=1.5),
        *shared("eta", nms_eta=0.8, iou_threshold=0.8, versions=(8, 9)),
        *shared("eta_pixels", nms_eta=0.95, iou_threshold=0.9, normalized=False),
        *shared("eta_of_no_effect", nms_eta=0.5, iou_threshold=0.4),
        *shared("eta_top", nms_eta=0.6, iou_threshold=0.7, nms_top_k=6, background_class=0),
        *(half(row) for row in shared("plain")),
        half(matrix("plain")),
        own("own", i64([12, 8])),
        own("own_one_image", i64([15])),
        own("own_empty_image", i32([7, 0, 9])),
        own("own_sorted", i64([9, 9, 4]), sort_result_type="classid", keep_top_k=5),
        own("own_across", i64([9, 9]), sort_result_across_batch=True, sort_result_type="classid", nms_top_k=4),
        own("own_background", i64([9, 9]), background_class=2, normalized=False),
        own("own_open", i64([9, 9]), open=True),
        own("own_eta", i64([9, 9]), nms_eta=0.7, iou_threshold=0.8),
        *[
            matrix(f"{how}_{across}", sort_result_type=how, sort_result_across_batch=across, keep_top_k=9)
            for how, across in SORTS
        ],
        matrix("plain"),
        matrix("open", open=True, nms_top_k=5, keep_top_k=6),
        matrix("gaussian", decay_function="gaussian"),
        matrix("gaussian_narrow", decay_function="gaussian", gaussian_sigma=0.5, normalized=False),
        matrix("pixels", normalized=False, boxes=crowd(2, 14, 8)),
        matrix("alike", boxes=np.repeat(crowd(2, 7, 8) + np.float32([0, 0, 1, 1]), 2, axis=1)),
        matrix("wrong_way_round", boxes=floats(2, 14, 4)),
        matrix("wrong_way_round_pixels", boxes=floats(2, 14, 4), normalized=False, decay_function="gaussian"),
        matrix("top", nms_top_k=5),
        matrix("top_one", nms_top_k=1),
        matrix("top_more", nms_top_k=100),
        matrix("background", background_class=0),
        matrix("one_image", images=1, keep_top_k=4),
        matrix("none", score_threshold=2.0, results=2),
        matrix("none_after", post_threshold=2.0, results=2),
        matrix("i32", output_type="i32"),
    ]
)
