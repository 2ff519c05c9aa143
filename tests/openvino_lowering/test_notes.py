"""What the report says where OpenVINO computes in narrower types, or draws."""

from __future__ import annotations

import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import NOTES, lower_graph

CASES = [
    ("g (double[2] x) => (double[2] y) { y = Neg (x) }", ["computes float64 in float32: 'y'"]),
    (
        "g (double[1, 4, 1] x) => (double[1, 4, 2] y) { y = DFT (x) }",
        ["float64 is computed in float32: OpenVINO's transforms", "computes float64 in float32: "],
    ),
    (
        "g (float[2] x) => (float[2] y) { d = Cast <to = 11> (x) e = Neg (d) y = Cast <to = 1> (e) }",
        ["float32: 'd', 'e'"],
    ),
    ("g (int64[2] x) => (int64[2] y) { y = Neg (x) }", ["computes integers of more than 31 bits in int32: 'x', 'y'"]),
    (
        "g (int32[2] x) => (int32[2] y) <int64[1] big = {1099511627776}> "
        "{ w = Cast <to = 7> (x) s = Mod (w, big) y = Cast <to = 6> (s) }",
        ["in int32: 'big'", "divides integers in float32"],
    ),
    (
        "g (int32[2] x, int32[2] z) => (int32[2] y) { d = Div (x, z) y = Mod (d, z) }",
        ["divides integers in float32, which rounds those from 2^24 on: 'd', 'y'"],
    ),
    ("g (int16[2] x, int16[2] z) => (int16[2] y) { y = Div (x, z) }", []),
    (
        "g (float[a, 2] x) => (float[b] y) <int64[1] two = {2}> "
        "{ s = Shape <end: int = 1> (x) n = Div (s, two) m = Mod (n, two) e = ReduceMax <keepdims: int = 0> (x) "
        "y = Expand (e, m) }",
        [],
    ),
    ("g (float[2, 3] x) => (float[3, 2] y) <int64[2] to = {3, 2}> { y = Reshape (x, to) }", []),
    (
        "g (float[9] x) => (float[2] y) <int64[1] from = {7}, int64[1] to = {9223372036854775807}> "
        "{ y = Slice (x, from, to) }",
        [],
    ),
    ("g (float[2] x) => (float[2] y) { y = Bernoulli (x) }", ["random numbers differ"]),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_notes(text: str, wanted: list[str]) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 24]> {text}')
    notes = lower_graph(raise_graph(read_model(model))).meta[NOTES]
    assert len(notes) == len(wanted)
    assert all(part in note for part, note in zip(wanted, notes, strict=True))
