"""Features of regions on the levels of a pyramid, and Detectron's detections."""

import numpy as np

from .building import floats, node, table
from .built_proposals import half, outs, rates


def regions(count, seed=0, reach=400.0, least=1.0):
    rng = np.random.default_rng(seed)
    low = rng.random((count, 2)) * 30
    sides = np.exp(rng.random((count, 2)) * np.log(reach / least)) * least
    return np.concatenate([low, low + sides], axis=1).astype(np.float32)


FLAT = regions(6, 3)
FLAT[1, 2] = FLAT[1, 0]
FLAT[3, 3] = FLAT[3, 1] - 2


def features(name, boxes, levels=4, open=False, **more):
    wanted = {"output_size": 3, "sampling_ratio": 2, "pyramid_scales": [4, 8, 16, 32], "aligned": False} | more
    wanted["pyramid_scales"] = wanted["pyramid_scales"][:levels]
    maps = [floats(1, 2, 64 >> level, 80 >> level, seed=level) for level in range(levels)]
    build = lambda *inputs: outs(node("ExperimentalDetectronROIFeatureExtractor", 6, *inputs, **wanted))  # noqa: E731
    return (f"features_{name}", [boxes, *maps], build, *([[[-1, -1], *[[-1] * 4] * levels]] if open else []))


WHOLE = {
    "score_threshold": 0.2,
    "nms_threshold": 0.5,
    "max_delta_log_wh": 4.135166645050049,
    "num_classes": 4,
    "post_nms_count": 20,
    "max_detections_per_image": 15,
    "class_agnostic_box_regression": False,
    "deltas_weights": [10.0, 10.0, 5.0, 5.0],
}


def detections(name, count=12, boxes=None, open=False, spread=4.0, **more):
    wanted = WHOLE | more
    classes = wanted["num_classes"]
    found = regions(count, 5, reach=60.0) if boxes is None else boxes
    given = [
        found,
        floats(len(found), classes * 4, scale=spread, seed=6),
        rates(len(found), classes, seed=7),
        np.array([[60, 80, 1]], np.float32),
    ]
    build = lambda *inputs: outs(node("ExperimentalDetectronDetectionOutput", 6, *inputs, **wanted))  # noqa: E731
    return (f"detections_{name}", given, build, *([[[-1, -1]] * 4] if open else []))


ALIKE = np.repeat(regions(3, 8, reach=40.0, least=8.0), 5, axis=0) + floats(15, 4, scale=0.5)

CASES = table(
    [
        features("plain", regions(12)),
        half(features("plain", regions(12))),
        half(detections("few_kept", max_detections_per_image=3)),
        features("open", regions(12), open=True),
        features("aligned", regions(12), aligned=True),
        features("small_aligned", regions(12, reach=3.0, least=0.2), aligned=True),
        features("as_many_samples_as_pixels", regions(8, 1, reach=60), sampling_ratio=0),
        features("aligned_as_many_samples", regions(8, 1, reach=60), sampling_ratio=0, aligned=True),
        features("one_level", regions(5, 2), levels=1),
        features("two_levels", regions(9, 2, reach=900), levels=2, output_size=2),
        features("without_area", FLAT),
        features("without_area_open", FLAT, open=True),
        features("all_on_one_level", regions(4, 2, reach=6)),
        features("canonical", np.array([[0, 0, 224 * 2**k, 224 * 2**k] for k in range(-3, 3)], np.float32)),
        detections("plain", max_detections_per_image=100),
        detections("open", open=True),
        detections("more_than_kept"),
        detections("few_kept", max_detections_per_image=3),
        detections("few_of_a_class", post_nms_count=2, max_detections_per_image=100),
        detections("alike", boxes=ALIKE.astype(np.float32), spread=0.5),
        detections("alike_all", boxes=ALIKE.astype(np.float32), spread=0.5, max_detections_per_image=100),
        detections("overlap_little", boxes=ALIKE.astype(np.float32), spread=0.5, nms_threshold=0.05),
        detections("overlap_any", boxes=ALIKE.astype(np.float32), nms_threshold=1.0),
        detections("thin", boxes=regions(12, 9, reach=3.0, least=0.1), nms_threshold=0.2),
        detections("none_above", score_threshold=2.0),
        detections("agnostic", class_agnostic_box_regression=True),
        detections("weights", deltas_weights=[1.0, 2.0, 3.0, 4.0], spread=1.0),
        detections("growth", max_delta_log_wh=0.3, deltas_weights=[1.0, 1.0, 1.0, 1.0], spread=1.0),
        detections("without_area", boxes=FLAT, max_detections_per_image=50),
        detections("two_classes", num_classes=2),
    ]
)
