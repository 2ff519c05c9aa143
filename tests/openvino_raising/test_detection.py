"""Detections and proposals: other versions than OpenVINO's Python API makes, what is refused, what its runtime leaves
undefined."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.openvino.layers import typed_attributes
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.types import tensor

from .hand import Hand

SCORES = np.array([0.25, 0.75, 0.5], np.float32)
BOXES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(("most", "places"), [(2, [1, 2]), (3, [1, 2, 0]), (5, [1, 2, 0])])
def test_rows_of_zeros_where_there_are_fewer_regions(most, places):
    hand = Hand()
    layer = hand.layer("ExperimentalDetectronTopKROIs", 6, hand.input(BOXES), hand.input(SCORES), max_rois=most)
    expected = np.zeros((most, 4), np.float32)
    expected[: len(places)] = BOXES[places]
    assert np.array_equal(hand.run(layer)[0], expected)


def test_probabilities_of_proposals_end_with_zeros():
    hand = Hand()
    scores = np.array([0, 0.5], np.float32).reshape(1, 2, 1, 1)
    inputs = [hand.input(one) for one in (scores, np.zeros((1, 4, 1, 1), np.float32), np.float32([50, 50, 1]))]
    wanted = {"base_size": 5, "pre_nms_topn": 9, "post_nms_topn": 3, "nms_thresh": 0.5, "feat_stride": 4, "min_size": 1}
    layers = hand.layer("Proposal", 4, *inputs, outputs=2, ratio=[1.0], scale=[1.0], **wanted)
    boxes, probabilities = hand.run(*layers)
    assert boxes.tolist() == [[0, 0, 0, 5, 5], [-1, 0, 0, 0, 0], [0] * 5]
    assert probabilities.tolist() == [0.5, 0, 0]


@pytest.mark.parametrize("version", ["extension", "experimental"])
def test_detectrons_layers_under_their_old_version(version):
    hand = Hand()
    given = [hand.input(BOXES), hand.input(SCORES)]
    name = "ExperimentalDetectronTopKROIs"
    made = hand.graph.add_node(name, given, ["y"], {"max_rois": "2"}, domain=version)
    assert np.array_equal(hand.run(made.output)[0], BOXES[[1, 2]])


def test_the_image_of_each_of_detectrons_detections():
    hand = Hand()
    boxes, deltas, scores = np.float32([[0, 0, 4, 4]]), np.zeros((1, 8), np.float32), np.float32([[0.5, 0.25]])
    given = [hand.input(one) for one in (boxes, deltas, scores, np.float32([[9, 9, 1]]))]
    wanted = {"score_threshold": 0.1, "nms_threshold": 0.5, "max_delta_log_wh": 4.0, "num_classes": 2}
    wanted |= {"post_nms_count": 5, "max_detections_per_image": 2, "deltas_weights": [1.0, 1.0, 1.0, 1.0]}
    layers = hand.layer("ExperimentalDetectronDetectionOutput", 6, *given, outputs=4, **wanted)
    found = [value.tolist() for value in hand.run(*layers)]
    assert found == [[[0, 0, 4, 4], [0] * 4], [1, 0], [0.25, 0], [0, 0]]


def test_features_in_another_order_are_refused():
    hand = Hand()
    boxes, features = hand.input(BOXES), hand.input(np.zeros((1, 1, 8, 8), np.float32))
    attributes = {"output_size": "2", "sampling_ratio": "2", "pyramid_scales": "4", "preserve_rois_order": "0"}
    name = "ExperimentalDetectronROIFeatureExtractor"
    made = hand.graph.add_node(name, [boxes, features], ["y", "z"], attributes, domain="extension")
    with pytest.raises(Unsupported, match="preserve_rois_order is off"):
        hand.raised(*made.outputs)


def test_internal_form_of_multiclass_suppression_has_a_fixed_number_of_rows_for_each_image():
    hand = Hand()
    boxes = np.array([[[0, 0, 1, 1], [5, 5, 6, 6]]] * 2, np.float32)
    scores = np.array([[[0.5, 0.25]], [[0.75, 0.875]]], np.float32)
    outputs = [("a", tensor("float32", 6, 6)), ("b", tensor("int64", 6, 1)), ("c", tensor("int64", 2))]
    attributes = {"sort_result_type": "score", "score_threshold": "0.3", "iou_threshold": "0.5", "output_type": "i64"}
    made = hand.graph.add_node(
        "MulticlassNmsIEInternal",
        [hand.input(boxes), hand.input(scores)],
        outputs,
        attributes,
        domain="ie_internal_opset",
    )
    table, index, count = hand.run(*made.outputs)
    assert index[:, 0].tolist() == [0, -1, -1, 3, 2, -1]
    assert table[:, 1].tolist() == [0.5, -1, -1, 0.875, 0.75, -1]
    assert count.tolist() == [1, 2]


def detection(hand, **attributes):
    given = [np.zeros((1, 8), np.float32), np.zeros((1, 4), np.float32), np.zeros((1, 2, 8), np.float32)]
    wanted = {"keep_top_k": [2], "nms_threshold": 0.5, "normalized": True} | attributes
    return hand.layer("DetectionOutput", 8, *(hand.input(one) for one in given), **wanted)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"code_type": "caffe.PriorBoxParameter.CORNER_SIZE"}, "code_type is 'caffe.priorboxparameter.corner_size'"),
        ({"decrease_label_id": True, "background_label_id": 1}, "background other than class 0"),
    ],
)
def test_detections_that_are_refused(attributes, reason):
    hand = Hand()
    with pytest.raises(Unsupported, match=reason):
        hand.raised(detection(hand, **attributes))


def test_detections_without_a_required_attribute():
    hand = Hand()
    layer = detection(hand)
    layer.producer.attributes.pop("nms_threshold")
    with pytest.raises(InvalidModel, match="the attribute nms_threshold is missing"):
        hand.raised(layer)


def test_a_grid_of_another_size_than_the_features_is_refused():
    hand = Hand()
    given = [hand.input(np.zeros(shape, np.float32)) for shape in ((1, 4), (1, 1, 4, 5), (1, 1, 40, 50))]
    layer = hand.layer("ExperimentalDetectronPriorGridGenerator", 6, *given, h=4, w=4)
    with pytest.raises(Unsupported, match="w is 4, and the features are of 5"):
        hand.raised(layer)


def test_proposals_by_an_adaptive_threshold_are_refused():
    hand = Hand()
    shapes = ((1, 3), (2, 2, 1, 4), (1, 4, 2, 2), (1, 1, 2, 2))
    given = [hand.input(np.zeros(shape, np.float32)) for shape in shapes]
    wanted = {"min_size": 0.0, "nms_threshold": 0.5, "pre_nms_count": 9, "post_nms_count": 9, "nms_eta": 0.5}
    layers = hand.layer("GenerateProposals", 9, *given, outputs=3, **wanted)
    with pytest.raises(Unsupported, match="nms_eta isn't 1"):
        hand.raised(*layers)


def test_boxes_of_each_class_need_their_number_in_each_image():
    hand = Hand()
    boxes, scores = hand.input(np.zeros((1, 2, 4), np.float32)), hand.input(np.zeros((1, 2), np.float32))
    layers = hand.layer("MulticlassNms", 9, boxes, scores, outputs=3)
    with pytest.raises(InvalidModel, match="without their number in each image"):
        hand.raised(*layers)


def test_attributes_of_training_may_be_empty():
    """As files of 2020 have them."""
    given = {"pad_value": "", "pad_mode": "caffe.ResizeParameter.CONSTANT", "interp_mode": "", "height": "0"}
    assert typed_attributes("DetectionOutput", given) == given | {"height": [0.0]}
