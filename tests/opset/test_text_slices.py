"""Slices of text that an index picks, whose strings ONNX Runtime's Gather leaves empty but the first of each slice.

Expected values are NumPy's; what is made runs on ONNX Runtime.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert

from .harness import i64
from .lowered import lowered

TEXT = np.array([f"{number}" for number in range(24)], object).reshape(4, 3, 2)


@pytest.mark.parametrize("shape", ["4, 3, 2", "a, b, c"])
@pytest.mark.parametrize("target", [10, 8])
def test_rows_by_their_places(shape: str, target: int) -> None:
    text = f"(string[{shape}] x, int64[n, k] i) => (string[n, d, e] y) {{ y = GatherND (x, i) }}".replace("k]", "1]")
    made = lowered(text, 12, target, TEXT, i64([3], [-4], [1]))[0]
    np.testing.assert_array_equal(made, TEXT[[3, 0, 1]])


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_what_a_condition_keeps(axis: int) -> None:
    """Compress-9 came with version 9."""
    text = f"(string[4, 3, 2] x, bool[n] c) => (string[a, b, d] y) {{ y = Compress <axis = {axis}> (x, c) }}"
    kept = np.arange(TEXT.shape[axis]) % 2 == 0
    made = lowered(text, 9, 8, TEXT, kept)[0]
    np.testing.assert_array_equal(made, np.compress(kept, TEXT, axis))


@pytest.mark.parametrize("way", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_parts_that_a_scan_takes(axis: int, way: int) -> None:
    """A Scan is a Loop before version 8."""
    parts = np.moveaxis(TEXT, axis, 0)
    sizes, inner = ", ".join(map(str, parts.shape)), ", ".join(map(str, parts.shape[1:]))
    text = f"""(string[4, 3, 2] x) => (string[{sizes}] y) {{
        y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{way}], body = b
            (string[{inner}] part) => (string[{inner}] same) {{ same = Identity (part) }}> (x) }}"""
    made = lowered(text, 11, 7, TEXT)[0]
    np.testing.assert_array_equal(made, parts[::-1] if way else parts)


def test_elements_of_a_sequence(tmp_path: Path) -> None:
    """There are no sequences before version 11: this one is one tensor then."""
    text = """<ir_version: 7, opset_import: ["" : 13]> g (string[3, 2] x, string[3, 2] z, int64 i) => (string[3, 2] y) {
        s = SequenceConstruct (x, z) y = SequenceAt (s, i) }"""
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    convert(path, made := tmp_path / "made.onnx", opset=10, verify=0)
    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": TEXT[0], "z": TEXT[2], "i": np.array(1)})
    np.testing.assert_array_equal(found, TEXT[2])
