"""Suppression in files that fix the number of rows, or that hold OpenVINO's internal forms."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.types import tensor

from .hand import Hand

BOXES = np.array([[[0, 0, 2, 2], [0, 0, 2, 1], [5, 5, 6, 6], [0, 0, 2, 2]]], np.float32)
SCORES = np.array([[[0.5, 0.75, 0.25, 0.5]]], np.float32)


def limits(hand, most=9, share=0.6, least=0.3, *more):
    return [hand.const(np.int64(most)), *(hand.const(np.float32(one)) for one in (share, least, *more))]


def inputs(hand):
    return hand.input(BOXES), hand.input(SCORES)


@pytest.mark.parametrize("version", [1, 3, 4])
def test_rows_of_minus_one_up_to_the_number_that_the_file_says(version):
    hand = Hand()
    layer = hand.layer("NonMaxSuppression", version, *inputs(hand), *limits(hand), type=tensor("int64", 4, 3))
    assert hand.run(layer)[0].tolist() == [[0, 0, 1], [0, 0, 0], [-1] * 3, [-1] * 3]


@pytest.mark.parametrize("version", [1, 4])
def test_no_more_rows_than_the_file_says(version):
    hand = Hand()
    layer = hand.layer("NonMaxSuppression", version, *inputs(hand), *limits(hand), type=tensor("int64", 1, 3))
    assert hand.run(layer)[0].tolist() == [[0, 0, 1]]


def scored(hand, rows):
    layers = hand.layer("NonMaxSuppression", 5, *inputs(hand), *limits(hand), outputs=3)
    kinds = tensor("int64", rows, 3), tensor("float32", rows, 3), tensor("int64", 1)
    for layer, kind in zip(layers, kinds, strict=True):
        layer.type = kind
    return layers


def test_scores_of_minus_one_and_the_number_of_boxes():
    hand = Hand()
    indices, scores, count = hand.run(*scored(hand, 4))
    assert indices.tolist() == [[0, 0, 1], [0, 0, 0], [-1] * 3, [-1] * 3]
    assert scores.tolist() == [[0, 0, 0.75], [0, 0, 0.5], [-1] * 3, [-1] * 3]
    assert count.tolist() == [2]


def test_a_file_that_gives_fewer_rows_than_may_be_found_is_mistaken():
    hand = Hand()
    layers = scored(hand, 3)
    raised = hand.raised(*layers)
    assert [value.tensor.shape for value in raised.outputs[:2]] == [(None, 3), (None, 3)]
    assert hand.run(*layers)[0].tolist() == [[0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize("opset", ["ie_internal_opset", "extension"])
def test_internal_form(opset):
    hand = Hand()
    attributes = {"center_point_box": "0", "sort_result_descending": "true", "output_type": "i32", "rotation": "0"}
    outputs = [("a", tensor("int32", 4, 3)), ("b", tensor("float32", 4, 3)), ("c", tensor("int32", 1))]
    made = hand.graph.add_node(
        "NonMaxSuppressionIEInternal", [*inputs(hand), *limits(hand)], outputs, attributes, domain=opset, name="it"
    )
    indices, scores, count = hand.run(*made.outputs)
    assert indices.tolist() == [[0, 0, 1], [0, 0, 0], [-1] * 3, [-1] * 3]
    assert indices.dtype == count.dtype == np.int32
    assert scores[:, 2].tolist() == [0.75, 0.5, -1, -1]
    assert count.tolist() == [2]


@pytest.mark.parametrize(("share", "kept"), [(0.7071, 1), (0.7072, 2)])
@pytest.mark.parametrize("rotation", ["1", "2"])
def test_internal_form_of_rotated_boxes(share, kept, rotation):
    """Two squares, one turned by 45 degrees: their share is the root of a half."""
    hand = Hand()
    boxes = np.array([[[3, 2, 2, 2, 0], [3, 2, 2, 2, np.pi / 4]]], np.float32)
    scores = hand.input(np.array([[[0.5, 0.75]]], np.float32))
    made = hand.graph.add_node(
        "NonMaxSuppressionIEInternal",
        [hand.input(boxes), scores, *limits(hand, share=share)],
        ["a", "b", "c"],
        {"rotation": rotation, "center_point_box": "1"},
        domain="ie_internal_opset",
    )
    assert hand.run(*made.outputs)[0].tolist() == [[0, 0, 1], [0, 0, 0]][:kept]


def test_a_rotation_that_is_unknown():
    hand = Hand()
    inputs_ = [*inputs(hand), *limits(hand)]
    name = "NonMaxSuppressionIEInternal"
    made = hand.graph.add_node(name, inputs_, ["a", "b", "c"], {"rotation": "3"}, domain="ie_internal_opset")
    with pytest.raises(Unsupported, match="rotation is '3'"):
        hand.raised(*made.outputs)


@pytest.mark.parametrize("angle", [0, 0.3, np.pi / 2, 3.0])
def test_the_same_rotated_box_twice(angle):
    hand = Hand()
    boxes = hand.input(np.array([[[700, 300, 20, 2, angle]] * 3], np.float32))
    scores = hand.input(np.array([[[0.5, 0.75, 0.625]]], np.float32))
    layers = hand.layer("NMSRotated", 13, boxes, scores, *limits(hand, share=0.999), outputs=3)
    assert hand.run(*layers)[0].tolist() == [[0, 0, 1]]


def test_none_wanted_by_default():
    hand = Hand()
    layers = hand.layer("NonMaxSuppression", 9, *inputs(hand), outputs=3)
    assert [value.shape for value in hand.run(*layers)] == [(0, 3), (0, 3), (1,)]


def test_the_threshold_comes_back_as_it_went():
    """The lowering asks OpenVINO for the next larger share, which the raising takes back."""
    for share in (0.0, 0.3, 0.5, 1.0):
        hand = Hand()
        above = np.nextafter(np.float32(share), np.float32(np.inf))
        layers = hand.layer("NonMaxSuppression", 9, *inputs(hand), *limits(hand, share=above), outputs=3)
        made = next(node for node in hand.raised(*layers).nodes if node.op_type == "NonMaxSuppression")
        threshold = made.inputs[3]
        assert threshold is not None
        assert threshold.array().tolist() == [np.float32(share)]


def test_a_sigma_that_the_model_computes_is_refused():
    hand = Hand()
    sigma = hand.input(np.float32(0.5))
    layers = hand.layer("NonMaxSuppression", 9, *inputs(hand), *limits(hand), sigma, outputs=3)
    with pytest.raises(Unsupported, match="soft_nms_sigma isn't constant"):
        hand.raised(*layers)


@pytest.mark.parametrize("version", [8, 9])
def test_no_boxes_of_any_class(version):
    """OpenVINO's CPU runtime forgets the number of each image then, which its specification has as 0."""
    hand = Hand()
    boxes, scores = hand.input(np.zeros((2, 0, 4), np.float32)), hand.input(np.zeros((2, 3, 0), np.float32))
    table, index, count = hand.run(*hand.layer("MulticlassNms", version, boxes, scores, outputs=3))
    assert (table.shape, index.shape, count.tolist()) == ((0, 6), (0, 1), [0, 0])


def test_no_boxes_for_a_matrix():
    hand = Hand()
    boxes, scores = hand.input(np.zeros((2, 0, 4), np.float32)), hand.input(np.zeros((2, 3, 0), np.float32))
    table, index, count = hand.run(*hand.layer("MatrixNms", 8, boxes, scores, outputs=3))
    assert (table.shape, index.shape, count.tolist()) == ((0, 6), (0, 1), [0, 0])


def test_no_boxes_of_an_image():
    hand = Hand()
    boxes, scores = hand.input(np.zeros((3, 0, 4), np.float32)), hand.input(np.zeros((3, 0), np.float32))
    layers = hand.layer("MulticlassNms", 9, boxes, scores, hand.input(np.zeros(2, np.int64)), outputs=3)
    table, index, count = hand.run(*layers)
    assert (table.shape, index.shape, count.tolist()) == ((0, 6), (0, 1), [0, 0])
