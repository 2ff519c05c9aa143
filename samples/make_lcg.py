"""A linear congruential generator: s' = (75 s + 74) mod 65537, every value stacked.

Integers only, so every runtime must give exactly the same numbers; they fit into 32 bits.
It is ONNX text because a Python loop of ONNX Script has no scan outputs: `values`.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
lcg (int64 seed, int64 count) => (int64[count_out] values, int64 last)
    <int64 factor = {75}, int64 summand = {74}, int64 modulus = {65537}> {
  last, values = Loop (count, "", seed) <
    body = step (int64 i, bool go, int64 s) => (bool go_on, int64 s_next, int64 value) {
      go_on = Identity (go)
      product = Mul (s, factor)
      shifted = Add (product, summand)
      s_next = Mod (shifted, modulus)
      value = Identity (s_next)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT, opset=13)


if __name__ == "__main__":
    write(model(), __file__)
