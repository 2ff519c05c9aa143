"""Greedy non-maximum suppression as Loop, with shapes that depend on the data.

Candidates are sorted by score. Each iteration keeps the best one left and drops the candidates that
overlap it by more than the threshold: the carried list of candidates gets shorter until it is empty.
It is ONNX text because a Python loop of ONNX Script has no scan outputs: `kept`.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
greedy_nms (float[count, 4] boxes, float[count] scores, float threshold) => (int64[kept_count] kept)
    <int64[1] first_axis = {0}, int64[1] zero = {0}, int64[1] one = {1}, int64 none = {0}, int64[1] minus_one = {-1},
     float nothing = {0}, int64[4] corner_sizes = {1, 1, 1, 1}> {
  n = Shape (scores)
  sorted_scores, order = TopK (scores, n)
  left, top, right, bottom = Split <axis = 1> (boxes, corner_sizes)
  width = Sub (right, left)
  height = Sub (bottom, top)
  area_column = Mul (width, height)
  area = Reshape (area_column, minus_one)
  n_scalar = Squeeze (n, first_axis)
  any_left = Greater (n_scalar, none)
  rest, kept = Loop ("", any_left, order) <
    body = pick (int64 i, bool go, int64[candidates] candidates_in)
        => (bool go_on, int64[fewer] candidates_out, int64 best) {
      best_1 = Slice (candidates_in, zero, one)
      best = Squeeze (best_1, first_axis)
      length = Shape (candidates_in)
      others = Slice (candidates_in, one, length)
      best_box = Gather (boxes, best_1)
      other_boxes = Gather (boxes, others)
      best_left, best_top, best_right, best_bottom = Split <axis = 1> (best_box, corner_sizes)
      other_left, other_top, other_right, other_bottom = Split <axis = 1> (other_boxes, corner_sizes)
      common_left = Max (best_left, other_left)
      common_top = Max (best_top, other_top)
      common_right = Min (best_right, other_right)
      common_bottom = Min (best_bottom, other_bottom)
      common_width_signed = Sub (common_right, common_left)
      common_height_signed = Sub (common_bottom, common_top)
      common_width = Max (common_width_signed, nothing)
      common_height = Max (common_height_signed, nothing)
      common_column = Mul (common_width, common_height)
      common = Reshape (common_column, minus_one)
      best_area = Gather (area, best_1)
      other_area = Gather (area, others)
      both_areas = Add (best_area, other_area)
      union = Sub (both_areas, common)
      limit = Mul (union, threshold)
      distinct = LessOrEqual (common, limit)
      candidates_out = Compress <axis = 0> (others, distinct)
      remaining = Size (candidates_out)
      go_on = Greater (remaining, none)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT, opset=13)


if __name__ == "__main__":
    write(model(), __file__)
