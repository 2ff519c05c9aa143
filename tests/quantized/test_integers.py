"""Products of integers in OpenVINO: exact, whatever float32 holds; those quantized again within a step."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from byte_products import needs_exact_products
from onnx import ModelProto
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

from .models import Case, Fixed, case, codes, difference, f32, fixed, floats

Z = np.uint8


def full(*shape: int, value: int, dtype: type = Z) -> np.ndarray:
    return np.full(shape, value, dtype)


EXACT = [
    case("few terms", "MatMulInteger", [codes(3, 40), codes(40, 5, seed=1), fixed(7, Z), fixed(99, Z)], domain=""),
    case("more terms than float32 adds up", "MatMulInteger", [codes(3, 700), Fixed(codes(700, 5, dtype=np.int8)),
         fixed(255, Z), fixed(-128, np.int8)], domain=""),
    case("nothing but the largest", "MatMulInteger", [full(2, 3, 1000, value=255), full(1000, 4, value=0),
         fixed(0, Z), fixed(255, Z)], domain=""),
    case("a vector", "MatMulInteger", [codes(600), Fixed(codes(600, seed=1))], domain=""),
    case("zero points of columns", "MatMulInteger", [codes(3, 300), codes(300, 2), fixed(3, Z), Fixed(codes(2))],
         domain=""),
    case("convolution", "ConvInteger", [codes(1, 3, 5, 5), Fixed(codes(2, 3, 3, 3)), fixed(128, Z), fixed(3, Z)],
         domain="", pads=[1, 1, 1, 1]),
    case("convolution of many channels", "ConvInteger", [codes(1, 70, 5, 5), Fixed(codes(2, 70, 3, 3)), fixed(128, Z),
         fixed(200, Z)], domain="", pads=[1, 1, 1, 1], strides=[2, 2]),
    case("convolution in groups", "ConvInteger", [codes(1, 8, 5, 5), Fixed(codes(4, 4, 3, 3)), fixed(1, Z)],
         domain="", group=2),
]  # fmt: skip

S = fixed(0.02), fixed(0.003)
QUANTIZED = [
    case("product, more terms", "QLinearMatMul", [codes(3, 700), S[0], fixed(128, Z), Fixed(codes(700, 5)), S[1],
         fixed(120, Z), fixed(0.8), fixed(99, Z)], domain="", steps=1),
    case("product by column", "QLinearMatMul", [codes(3, 700), S[0], fixed(128, Z), Fixed(codes(700, 5)),
         fixed(floats(5) ** 2 * 0.01 + 0.001), Fixed(codes(5)), fixed(0.8), fixed(99, Z)], domain="", steps=1),
    case("product with exact ties", "QLinearMatMul", [codes(9, 16), fixed(0.5), fixed(128, Z), Fixed(codes(16, 9,
         dtype=np.int8)), fixed(0.25), fixed(0, np.int8), fixed(64), fixed(99, Z)], domain=""),
    case("convolution, many channels", "QLinearConv", [codes(1, 70, 5, 5), S[0], fixed(128, Z), Fixed(codes(4, 70, 3, 3,
         dtype=np.int8)), Fixed(f32([0.01, 0.02, 0.03, 0.04])), Fixed(np.zeros(4, np.int8)), fixed(0.6), fixed(77, Z),
         Fixed(codes(4, dtype=np.int32, low=-9999, high=9999))], domain="", steps=1, pads=[1, 1, 1, 1]),
    case("convolution with exact ties", "QLinearConv", [codes(1, 3, 6, 6), fixed(0.5), fixed(100, Z), Fixed(codes(4, 3,
         3, 3, dtype=np.int8)), fixed(0.25), fixed(0, np.int8), fixed(32), fixed(77, Z),
         Fixed(np.array([1, 2, 3, 4], np.int32))], domain=""),
    case("convolution in groups", "QLinearConv", [codes(1, 4, 6, 6), S[0], fixed(100, Z), Fixed(codes(4, 1, 3, 3)),
         S[1], fixed(128, Z), fixed(0.02), fixed(77, Z)], domain="", steps=1, group=4, pads=[1, 1, 1, 1]),
]  # fmt: skip


def hub(model: ModelProto) -> Graph:
    graph = raise_graph(read_model(model))
    infer(graph)
    return graph


@needs_exact_products
@pytest.mark.parametrize("one", [*EXACT, *QUANTIZED], ids=lambda one: one.name)
def test_as_onnxruntime(one: Case, onnxruntime: Worker, openvino: Runner) -> None:
    (wanted,) = onnxruntime.ask(one.model.SerializeToString(), one.feeds)
    ((found,),) = openvino.lowered(hub(one.model), [one.feeds])
    assert difference(found, wanted, one.steps) == ""


def test_groups_of_too_many_terms_are_refused() -> None:
    weights = Fixed(codes(2, 70, 3, 3))
    model = case("", "ConvInteger", [codes(1, 140, 5, 5), weights], domain="", group=2).model
    with pytest.raises(Unsupported, match="exact in float32"):
        lower_graph(hub(model))


def test_sums_of_unknown_length_are_refused() -> None:
    model = case("", "MatMulInteger", [codes(2, 3), codes(3, 2)], domain="").model
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_param = f"{value.name}{dim.dim_value}"
    with pytest.raises(Unsupported, match="run time"):
        lower_graph(hub(model))
