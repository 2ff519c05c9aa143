"""QuantizeLinear and DequantizeLinear: here and in OpenVINO as in ONNX Runtime, ties and ends included."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from backedge.convert import load
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.write import write
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.runtime.executor import Executor
from onnx import ModelProto
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

from .linear_cases import DEQUANTIZED, PAIRS, QUANTIZED, quantize, ties
from .models import Case, chain, difference, f32, floats


def hub(model: ModelProto) -> Graph:
    graph = raise_graph(read_model(model))
    infer(graph)
    return graph


def layers(model: ModelProto) -> list[str]:
    return [node.op_type for _, node in lower_graph(hub(model)).walk()]


@pytest.mark.parametrize("case", QUANTIZED, ids=lambda case: case.name)
def test_quantized_exactly(case: Case, onnxruntime: Worker, openvino: Runner) -> None:
    (wanted,) = onnxruntime.ask(case.model.SerializeToString(), case.feeds)
    graph = hub(case.model)
    (found,) = Executor(graph).run(case.feeds).values()
    assert difference(found, wanted) == ""
    ((found,),) = openvino.lowered(graph, [case.feeds])
    assert difference(found, wanted, case.steps) == ""


@pytest.mark.parametrize("case", DEQUANTIZED, ids=lambda case: case.name)
def test_dequantized(case: Case, onnxruntime: Worker, openvino: Runner) -> None:
    (wanted,) = onnxruntime.ask(case.model.SerializeToString(), case.feeds)
    graph = hub(case.model)
    (found,) = Executor(graph).run(case.feeds).values()
    assert difference(found, wanted, rtol=0) == ""
    ((found,),) = openvino.lowered(graph, [case.feeds])
    assert difference(found, wanted, rtol=1e-6) == ""


@pytest.mark.parametrize("name", PAIRS)
def test_chains(name: str, onnxruntime: Worker, openvino: Runner) -> None:
    """The same, but for ties in the rounding of which float32 is rounded itself: those may miss by a step."""
    model, feeds = PAIRS[name]
    step = 0.2 if "ties" in name else 0.0
    (wanted,) = onnxruntime.ask(model.SerializeToString(), feeds)
    graph = hub(model)
    ((found,),) = openvino.lowered(graph, [feeds])
    assert difference(found, wanted, 1, 1e-5, step) == ""


def test_fake_quantize_where_it_rounds_alike() -> None:
    plain = ["Divide", "Round", "Add", "Clamp", "Convert"]
    faked = ["FakeQuantize", "Convert"]
    x = f32([1, 2])
    assert layers(quantize("lowest", x, 0.3, 0).model) == faked
    assert layers(quantize("lowest of i8", x, 0.3, -128, np.int8).model) == faked
    assert layers(quantize("even, exact", x, 0.25, 128).model) == faked
    assert layers(quantize("even, of anything", x, 0.3, 128).model) == plain
    assert layers(quantize("odd, exact", x, 0.25, 3).model) == plain
    assert layers(quantize("16 bits", x, 0.3, 0, np.uint16).model) == ["Divide", "Round", "Add", "Clamp", "Convert"]


def test_fake_quantize_of_sums_of_products() -> None:
    text = "g (float[2, 3] x, float[3, 2] w) => (uint8[2, 2] y) { m = MatMul (x, w) y = QuantizeLinear (m, s, z) }"
    odd = np.array(77, np.uint8)
    assert layers(chain(text, {"s": f32(0.3), "z": odd})) == ["MatMul", "FakeQuantize", "Convert"]
    assert "FakeQuantize" not in layers(chain(text, {"s": f32(0.25), "z": odd}))  # whose sums may be exact


@pytest.mark.parametrize(("ratio", "faked"), [(1.0, True), (1.237, True), (2.0, False), (4 / 3, False), (3.0, True)])
def test_fake_quantize_of_another_grid(ratio: float, faked: bool) -> None:
    """Multiples of one step come to lie between two others if these are an even multiple of a part of it."""
    model = chain(
        "g (uint8[4] q) => (uint8[4] y) { a = DequantizeLinear (q, s, z) y = QuantizeLinear (a, t, z) }",
        {"s": f32(0.1), "t": f32(0.1 * ratio), "z": np.array(77, np.uint8)},
    )
    assert ("FakeQuantize" in layers(model)) is faked


def test_quantized_weights_stay_narrow() -> None:
    model = chain(
        "g (float[2, 64] x) => (float[2, 4] y) { w = DequantizeLinear <axis = 0, block_size = 16> (q, s, z)"
        " y = MatMul (x, w) }",
        {"q": np.ones((64, 4), np.int8), "s": floats(4, 4), "z": np.ones((4, 4), np.int8)},
    )
    graph = to_dialect(read_model(model), FORMATS["openvino"])
    widest = max((value.data.nbytes, value.data.dtype.value) for value in graph.constants if value.data is not None)
    assert widest == (64 * 4, "int8")
    assert any("DYNAMIC_QUANTIZATION_GROUP_SIZE" in note for note in graph.meta["notes"])


def test_weights_of_16_bits_stay_so(openvino: Runner, tmp_path: Path) -> None:
    """Marked as OpenVINO's own writer marks them, so that it doesn't widen them while it reads."""
    weights, x = floats(64, 32).astype(np.float16), floats(2, 64)
    text = "g (float[2, 64] x) => (float[2, 32] y) { w = Cast <to = 1> (h) y = MatMul (x, w) }"
    path = tmp_path / "a.xml"
    write(lower_graph(hub(chain(text, {"h": weights}))), path)
    assert '<attribute name="decompression" version="0" />' in path.read_text()
    assert path.with_suffix(".bin").stat().st_size < weights.nbytes + 64
    ((found,),) = openvino.run(path, [{"x": x}])
    assert difference(found, x @ weights.astype(np.float32), rtol=1e-4) == ""
    back = to_dialect(load(path), FORMATS["onnx"], 21)
    assert [node.op_type for _, node in back.walk()] == ["Cast", "MatMul"]


def test_a_scale_without_a_reciprocal_is_refused() -> None:
    model = quantize("subnormal", [0.0, 1e-39], 1e-40).model
    with pytest.raises(Unsupported, match="reciprocal"):
        to_dialect(read_model(model), FORMATS["openvino"])


def test_ties_are_what_they_are_called() -> None:
    made = ties(0.25, -2, 3)[: 2 * 5 + 15]
    assert math.isclose(float(made[0]), -11 * 0.125)
    assert (np.abs(made / 0.25 * 2 - np.rint(made / 0.25 * 2)) < 1e-6).all()
