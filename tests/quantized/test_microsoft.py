"""ONNX Runtime's own operators: raised and run here, lowered and run by OpenVINO, as ONNX Runtime computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import load, save
from backedge.convert.files import FORMATS, to_dialect
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.runtime.executor import Executor
from byte_products import needs_exact_products
from onnx import ModelProto
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

from .microsoft_cases import CASES
from .models import MICROSOFT, Case, codes, difference, fixed, floats, model_of


def hub(model: ModelProto) -> Graph:
    graph = raise_graph(read_model(model))
    infer(graph)
    return graph


def check(found: list[Any], wanted: list[np.ndarray], case: Case, rtol: float) -> None:
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert difference(one, other, case.steps, rtol) == ""


@needs_exact_products
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_same_as_onnxruntime(case: Case, onnxruntime: Worker, openvino: Runner) -> None:
    wanted = onnxruntime.ask(case.model.SerializeToString(), case.feeds)
    graph = hub(case.model)
    assert not any(node.domain == MICROSOFT for _, node in graph.walk())
    check(list(Executor(graph).run(case.feeds).values()), wanted, case, case.rtol)
    (found,) = openvino.lowered(graph, [case.feeds])
    check(found, wanted, case, max(case.rtol, 1e-4))


@pytest.mark.parametrize("opset", [13, 19])
def test_they_pass_through_other_opsets_as_they_are(opset: int, tmp_path: Path) -> None:
    model, _ = model_of("QLinearAdd", [codes(4), *[fixed(1), fixed(0, np.uint8)], codes(4), *[fixed(1)] * 1,
                                       fixed(0, np.uint8), fixed(2), fixed(0, np.uint8)], opset=17)  # fmt: skip
    source, target = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    save(load(source), target, opset=opset)
    (node,) = onnx.load(target).graph.node
    assert (node.domain, node.op_type) == (MICROSOFT, "QLinearAdd")
    assert list(node.input) == list(model.graph.node[0].input)


def test_others_are_refused_by_name() -> None:
    model, _ = model_of("MurmurHash3", [codes(3, dtype=np.int32)])
    with pytest.raises(Unsupported, match="MurmurHash3"):
        to_dialect(read_model(model), FORMATS["openvino"])


REFUSED = [
    ("FusedConv", [floats(1, 1, 3, 3), floats(1, 1, 2, 2)], {"activation": "Mystery"}, "activation is 'Mystery'"),
    ("MatMulNBits", [floats(1, 32), codes(2, 1, 16), fixed(floats(2))], {"K": 32, "N": 2, "block_size": 32, "bits": 4},
     "weights that the model computes"),
    ("MatMulNBits", [floats(1, 32), fixed(codes(2, 1, 12), np.uint8), fixed(floats(2))],
     {"K": 32, "N": 2, "block_size": 32, "bits": 3}, "weights of 3 bits"),
    ("Attention", [floats(1, 2, 4), floats(4, 12), None, None, floats(2, 1, 2, 1, 2)], {"num_heads": 2}, "a past"),
]  # fmt: skip


@pytest.mark.parametrize(("op_type", "inputs", "attributes", "reason"), REFUSED)
def test_forms_that_are_refused(op_type: str, inputs: Any, attributes: Any, reason: str) -> None:
    model, _ = model_of(op_type, inputs, **attributes)
    with pytest.raises(Unsupported, match=reason):
        raise_graph(read_model(model))
