"""DetectionOutput: every attribute, ties, nothing found, more found than kept."""

import numpy as np

from .building import node, table

WHOLE = {
    "background_label_id": 0,
    "top_k": -1,
    "variance_encoded_in_target": False,
    "keep_top_k": [20],
    "code_type": "caffe.PriorBoxParameter.CENTER_SIZE",
    "share_location": True,
    "nms_threshold": 0.45,
    "confidence_threshold": 0.2,
    "clip_after_nms": False,
    "clip_before_nms": False,
    "decrease_label_id": False,
    "normalized": True,
    "input_height": 1,
    "input_width": 1,
    "objectness_score": 0.0,
}


def arrays(images=1, priors=12, classes=4, seed=0, batch=None, shared=True, size=4, rows=2, refine=False, ties=False):
    """Locations, confidences and priors that overlap much, and what a refinement adds."""
    rng = np.random.default_rng(seed)
    batch = batch or 1
    low = rng.random((batch, priors, 2)) * 0.6
    boxes = np.concatenate([low, low + rng.random((batch, priors, 2)) * 0.3 + 0.1], axis=2)
    if size == 5:
        boxes = np.concatenate([np.zeros((batch, priors, 1)), boxes * [[[300, 200, 300, 200]]]], axis=2)
    first = boxes.reshape(batch, 1, priors * size)
    second = np.resize([0.1, 0.1, 0.2, 0.2], (batch, 1, priors * size))
    each = 1 if shared else classes
    moves = rng.standard_normal((images, priors * each * 4))
    scores = rng.random((images, priors * classes))
    if ties:
        scores = np.floor(scores * 4) / 4
    made = [moves, scores, np.concatenate([first, second], axis=1) if rows == 2 else first]
    if refine:
        made += [rng.random((images, priors * 2)), rng.standard_normal((images, priors * each * 4)) * 0.3]
    return [one.astype(np.float32) for one in made]


def half(inputs):
    return [one.astype(np.float16) for one in inputs]


def case(name, inputs, versions=(8,), classes=4, shapes=None, **attributes):
    wanted = WHOLE | attributes

    def build(version):
        return lambda *given: node(
            "DetectionOutput", version, *given, **wanted, **({"num_classes": classes} if version < 8 else {})
        )

    return [(f"do{version}_{name}", inputs, build(version), *([shapes] if shapes else [])) for version in versions]


CORNER = "caffe.PriorBoxParameter.CORNER"
TIED = arrays(2, 16, 4, seed=4, ties=True)
PIXELS = {"normalized": False, "input_height": 200, "input_width": 300}
ENDED = arrays(1, 12, 4, seed=6, size=5, ties=True)
ENDED[2][0, 0, 7 * 5] = -1
OPEN = [[-1, -1], [-1, -1], [-1, -1, -1]]

CASES = table(
    [
        *case("plain", arrays(), versions=(1, 8)),
        *case("corner", arrays(), code_type=CORNER, versions=(1, 8)),
        *case("images", arrays(2, seed=1), versions=(1, 8)),
        *case("images_priors", arrays(2, seed=1, batch=2)),
        *case("ties", TIED, keep_top_k=[7]),
        *case("ties_of_one", [one[:1] for one in TIED], keep_top_k=[7], nms_threshold=0.2),
        *case("keep_few", arrays(2, 30, 5, seed=2), classes=5, keep_top_k=[3], confidence_threshold=0.0),
        *case("keep_one", arrays(1, 30, 5, seed=2), classes=5, keep_top_k=[1]),
        *case("keep_more_than_there_are", arrays(1, 5, 3, seed=2), classes=3, keep_top_k=[200]),
        *case("keep_all", arrays(2, 6, 3, seed=3), classes=3, keep_top_k=[-1], versions=(1, 8)),
        *case("keep_all_top", arrays(2, 12, 3, seed=3), classes=3, keep_top_k=[-1], top_k=4, versions=(1, 8)),
        *case("top", TIED, top_k=5, keep_top_k=[9]),
        *case("top_more_than_there_are", TIED, top_k=50, keep_top_k=[9]),
        *case("none", arrays(), confidence_threshold=1.5),
        *case("threshold_met", TIED, confidence_threshold=0.5),
        *case("overlap_any", arrays(), nms_threshold=0.0),
        *case("overlap_all", arrays(), nms_threshold=1.5),
        *case("overlap_below", arrays(), nms_threshold=-0.5),
        *case("background_last", arrays(), background_label_id=3),
        *case("background_none", arrays(), background_label_id=-1),
        *case("background_outside", arrays(), background_label_id=9),
        *case("own_locations", arrays(2, shared=False, seed=5), share_location=False, versions=(1, 8)),
        *case("own_locations_corner", arrays(2, shared=False, seed=5), share_location=False, code_type=CORNER, top_k=3),
        *case("own_locations_none", arrays(1, shared=False), share_location=False, background_label_id=-1),
        *case("encoded", arrays(rows=1), variance_encoded_in_target=True, versions=(1, 8)),
        *case("encoded_corner", arrays(rows=1), variance_encoded_in_target=True, code_type=CORNER),
        *case("clip_before", arrays(seed=7), clip_before_nms=True),
        *case("clip_after", arrays(seed=7), clip_after_nms=True),
        *case("pixels", arrays(size=5, seed=8), **PIXELS, versions=(1, 8)),
        *case("pixels_corner", arrays(size=5, seed=8), code_type=CORNER, **PIXELS),
        *case("pixels_encoded", arrays(size=5, seed=8, rows=1), variance_encoded_in_target=True, **PIXELS),
        *case("pixels_of_one", arrays(size=5, seed=8), normalized=False),
        *case("pixels_ended", ENDED, **PIXELS),
        *case("mxnet", arrays(1, 20, 4, seed=9), decrease_label_id=True, versions=(1, 8)),
        *case("mxnet_images", arrays(3, 20, 4, seed=9), decrease_label_id=True, top_k=12, keep_top_k=[7]),
        *case("mxnet_ties", [one[:1] for one in TIED], decrease_label_id=True, confidence_threshold=0.5),
        *case("mxnet_top", arrays(1, 20, 4, seed=9), decrease_label_id=True, top_k=6, keep_top_k=[4]),
        *case("mxnet_own", arrays(1, 20, 4, seed=9, shared=False), decrease_label_id=True, share_location=False),
        *case("refined", arrays(2, refine=True, seed=10, batch=2), objectness_score=0.4, versions=(1, 8)),
        *case("refined_clip", arrays(2, refine=True, batch=2), objectness_score=0.4, clip_before_nms=True),
        *case("refined_low", arrays(1, refine=True, seed=10), objectness_score=0.6, confidence_threshold=-0.5, top_k=9),
        *case("refined_own", arrays(1, refine=True, seed=11, shared=False), objectness_score=0.4, share_location=False),
        *case("refined_mxnet", arrays(1, refine=True, seed=11), objectness_score=0.4, decrease_label_id=True),
        *case("half", half(arrays(2, seed=12)), versions=(1, 8)),
        *case("half_refined", half(arrays(1, refine=True, seed=10)), objectness_score=0.4),
        *case("refined_mxnet_images", arrays(2, refine=True, seed=12), objectness_score=0.4, decrease_label_id=True),
        *case("open", arrays(2, seed=1), shapes=OPEN, top_k=5, keep_top_k=[6], versions=(1, 8)),
        *case("open_keep_all", arrays(2, seed=1), shapes=OPEN, keep_top_k=[-1]),
        *case("open_own", arrays(2, seed=1, shared=False), shapes=OPEN, share_location=False),
        *case("open_pixels", ENDED, shapes=OPEN, **PIXELS),
        *case("open_mxnet", arrays(1, seed=1), shapes=OPEN, decrease_label_id=True, top_k=4),
    ]
)
