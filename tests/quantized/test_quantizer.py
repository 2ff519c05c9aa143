"""What ONNX Runtime's quantizer makes of nets: to OpenVINO, and through it back to ONNX."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import load, save
from byte_products import needs_exact_products
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker

from .models import floats
from .nets import NETS

U8, I8, U16 = "QUInt8", "QInt8", "QUInt16"
STATIC: dict[str, dict[str, Any]] = {
    "u8 and i8 by channel": {"activation_type": U8, "weight_type": I8, "per_channel": True},
    "u8 and u8": {"activation_type": U8, "weight_type": U8},
    "i8, symmetric": {"activation_type": I8, "weight_type": I8, "extra_options": {"ActivationSymmetric": True}},
}
ROWS = [
    *[(net, "QDQ", name) for net in NETS for name in STATIC],
    *[(net, "QOperator", name) for net in NETS for name in ("u8 and u8", "i8, symmetric")],
    *[(net, "dynamic", "") for net in NETS],
]
QUANTIZERS = ("QuantizeLinear", "DequantizeLinear", "FakeQuantize")
Make = Callable[[str, str, str], Path]


@pytest.fixture(scope="module")
def make(quantizer: Worker, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that gives the file of a quantized net."""
    made: dict[tuple[str, str, str], Path] = {}

    def get(net: str, kind: str, options: str) -> Path:
        key = (net, kind, options)
        if key not in made:
            folder = tmp_path_factory.mktemp("net")
            build, shape = NETS[net]
            batches = [{"x": floats(*shape, seed=seed)} for seed in range(8)]
            data = quantizer.ask(
                build().SerializeToString(), str(folder), kind, STATIC.get(options, {}), batches, timeout=120
            )
            made[key] = folder / "net.onnx"
            made[key].write_bytes(data)
        return made[key]

    return get


def step_of(path: Path) -> float:
    """The step of the grid that the result is on, or one that is fine enough."""
    model = onnx.load(path)
    held = {item.name: onnx.numpy_helper.to_array(item) for item in model.graph.initializer}
    (last,) = [node for node in model.graph.node if model.graph.output[0].name in node.output]
    return float(held[last.input[1]].max()) if last.op_type == "DequantizeLinear" else 0.0


def steps_apart(found: np.ndarray, wanted: np.ndarray, step: float) -> float:
    """The largest difference, in steps (in thousandths of the range where there are none)."""
    unit = step or float(np.ptp(wanted)) / 1000
    return float(np.abs(found.astype(np.float64) - wanted).max()) / unit


@needs_exact_products
@pytest.mark.parametrize(("net", "kind", "options"), ROWS)
def test_to_openvino(net: str, kind: str, options: str, make: Make, onnxruntime: Worker, openvino: Runner) -> None:
    """Two steps at most: a quantizer in the middle that turns the other way moves what follows, too."""
    path = make(net, kind, options)
    target = path.with_suffix(".xml")
    save(load(path), target)
    for seed in (91, 92):
        feeds = {"x": floats(*NETS[net][1], seed=seed)}
        (wanted,) = onnxruntime.ask(path.read_bytes(), feeds)
        ((found,),) = openvino.run(target, [feeds])
        assert found.shape == wanted.shape
        assert steps_apart(found, wanted, step_of(path)) <= (2.01 if kind != "dynamic" else 10)


@pytest.mark.parametrize(("net", "kind", "options"), [row for row in ROWS if row[1] == "QDQ"])
def test_quantizers_survive_both_ways(
    net: str, kind: str, options: str, make: Make, onnxruntime: Worker, tmp_path: Path
) -> None:
    path = make(net, kind, options)
    save(load(path), tmp_path / "a.xml")
    save(load(tmp_path / "a.xml"), tmp_path / "b.onnx", opset=21)
    save(load(tmp_path / "b.onnx"), tmp_path / "c.xml")

    def quantizers(file: Path) -> Counter[str]:
        """How many there are, but for biases, which are floats in IR."""
        sources = [(node, node.inputs[0]) for _, node in load(file).walk() if node.op_type in QUANTIZERS]
        return Counter(
            node.op_type for node, source in sources if source is not None and (source.data is None or source.rank != 1)
        )

    before, after = quantizers(path), quantizers(tmp_path / "b.onnx")
    assert before == after
    assert quantizers(tmp_path / "a.xml") == quantizers(tmp_path / "c.xml")
    feeds = {"x": floats(*NETS[net][1], seed=91)}
    (wanted,) = onnxruntime.ask(path.read_bytes(), feeds)
    (found,) = onnxruntime.ask((tmp_path / "b.onnx").read_bytes(), feeds)
    assert steps_apart(found, wanted, step_of(path)) <= 1.01


def test_most_quantizers_become_fake_quantize(make: Make) -> None:
    """Which OpenVINO fuses: all but those of inputs and of what lies on a commensurable grid."""
    path = make("perceptron", "QDQ", "u8 and i8 by channel")
    save(load(path), path.with_suffix(".xml"))
    counted = Counter(node.op_type for _, node in load(path.with_suffix(".xml")).walk())
    assert counted["FakeQuantize"] > 2 * counted["Round"]


def test_files_stay_small(make: Make) -> None:
    path = make("perceptron", "QDQ", "u8 and i8 by channel")
    save(load(path), path.with_suffix(".xml"))
    assert path.with_suffix(".bin").stat().st_size < 1.1 * path.stat().st_size
