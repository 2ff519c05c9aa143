"""A bouncing ball as If inside Loop; the branches capture values from both levels above them.

Each step moves the ball. When it would fall through the floor, its velocity is turned round and loses
energy (`restitution`, a model input); otherwise gravity acts (`step`, another one).
It is ONNX text because a Python loop of ONNX Script has no scan outputs: `heights`.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
bouncing_ball (float height, float velocity, float step, float restitution, int64 steps)
    => (float[steps_out] heights, int64 bounces) <float floor = {0}, float gravity = {9.81}, int64 none = {0}> {
  speed_loss = Neg (restitution)
  height_end, velocity_end, bounces, heights = Loop (steps, "", height, velocity, none) <
    body = move (int64 i, bool go, float h, float v, int64 count)
        => (bool go_on, float h_next, float v_next, int64 count_next, float h_out) {
      go_on = Identity (go)
      way = Mul (v, step)
      h_moved = Add (h, way)
      below = Less (h_moved, floor)
      h_next, v_next, count_next = If (below) <
        then_branch = bounce () => (float h_floor, float v_turned, int64 count_more) {
          h_floor = Identity (floor)
          v_turned = Mul (v, speed_loss)
          one = Constant <value = int64 {1}> ()
          count_more = Add (count, one)
        },
        else_branch = fall () => (float h_free, float v_faster, int64 count_same) {
          h_free = Identity (h_moved)
          change = Mul (gravity, step)
          v_faster = Sub (v, change)
          count_same = Identity (count)
        }>
      h_out = Identity (h_next)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT)


if __name__ == "__main__":
    write(model(), __file__)
