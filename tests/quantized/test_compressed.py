"""What OpenVINO's own layers say of quantization: to ONNX, in its operators for that, and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from backedge.convert import load, save
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.check import objection
from openvino_lowering.runner import Runner
from openvino_lowering.worker import Worker
from openvino_raising.built_compressed import CASES
from openvino_raising.corpus import check, difference, make, numbers

PAIR = ("DequantizeLinear", "QuantizeLinear")
LINEAR: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("fq_zero_is_the_lowest", "fq_zero_in_the_middle", "fq_far_away"), PAIR),
    **dict.fromkeys(("fq_other_output", "fq_output_of_another_zero", "fq_by_channel", "fq_of_nothing"), PAIR),
    **dict.fromkeys(("fq_of_sums_of_products", "quantized_and_back"), PAIR),
    **dict.fromkeys(("fq_to_integers", "quantized", "not_quite_quantized"), PAIR[1:]),
    **dict.fromkeys(("fq_of_weights", "fq_of_weights_by_row", "i8_weights", "f8_weights"), PAIR[:1]),
    **dict.fromkeys(("u8_weights_with_zero_points", "u8_weights_one_float_zero_point"), PAIR[:1]),
    **dict.fromkeys(("u1_weights", "u2_weights", "u3_weights", "u6_weights"), PAIR[:1]),
    **dict.fromkeys(("u4_groups_with_zero_points", "u4_groups_in_half_precision", "i4_groups"), PAIR[:1]),
    **dict.fromkeys(("u4_groups_one_zero_point", "u4_groups_of_the_first_axis"), PAIR[:1]),
}
"""The operators of quantization that ONNX gets; of all others none, for they compute something else."""
NARROW = {
    "i8_weights": "int8",
    "u8_weights_with_zero_points": "uint8",
    "u4_groups_with_zero_points": "uint4",
    "u4_groups_in_half_precision": "uint4",
    "i4_groups": "int4",
    "u4_groups_one_zero_point": "uint4",
    "u4_groups_of_the_first_axis": "uint4",
    "f4_weights_of_powers_of_two": "uint4",
    "f8_weights": "float8e4m3fn",
    "u3_weights": "uint4",
    "u6_weights": "uint8",
    "nf4_weights": "uint4",
    "f4_weights": "uint4",
}
"""What the weights are kept in."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("compressed")
    reasons = make(made, "built_compressed").reasons
    assert {name for name, reason in reasons.items() if not reason} == set(CASES)
    yield made


@pytest.mark.parametrize("name", CASES)
def test_both_ways(name: str, folder: Path, tmp_path: Path, onnxruntime: Worker, openvino: Runner) -> None:
    source, target, again = folder / f"{name}.xml", tmp_path / "a.onnx", tmp_path / "b.xml"
    held = numbers(source)
    assert check(source) == ""
    save(load(source), target, opset=21)
    graph = load(target)
    assert objection(target) == ""
    found = [node.op_type for _, node in graph.walk() if node.op_type in PAIR]
    assert tuple(sorted(found)) == LINEAR.get(name, ())
    feeds = {value.name: array for value, array in zip(graph.inputs, held.inputs, strict=True)}
    assert difference(onnxruntime.ask(target.read_bytes(), feeds), held.outputs) == ""
    save(graph, again)
    (made,) = openvino.run(again, [feeds])
    assert difference(made, held.outputs) == ""


@pytest.mark.parametrize("name", NARROW)
def test_weights_stay_narrow(name: str, folder: Path) -> None:
    graph = to_dialect(load(folder / f"{name}.xml"), FORMATS["onnx"], 21)
    largest = max((value.data for value in graph.constants if value.data is not None), key=lambda data: data.size)
    assert largest.dtype.value == NARROW[name]


@pytest.mark.parametrize("name", ["i8_weights", "u4_groups_with_zero_points", "i4_groups", "fq_of_sums_of_products"])
def test_layers_come_back(name: str, folder: Path, tmp_path: Path) -> None:
    """Convert, Subtract, Multiply and Reshape of weights, FakeQuantize: as they were."""
    save(load(folder / f"{name}.xml"), tmp_path / "a.onnx", opset=21)
    save(load(tmp_path / "a.onnx"), tmp_path / "b.xml")

    def layers(path: Path) -> Counter[str]:
        kinds = ("Convert", "Subtract", "Multiply", "Reshape", "FakeQuantize", "Round")
        return Counter(node.op_type for _, node in load(path).walk() if node.op_type in kinds)

    after = layers(tmp_path / "b.xml")
    if name.startswith("fq"):
        assert after["FakeQuantize"] == 1
        assert after["Round"] == 0
    else:
        assert after == layers(folder / f"{name}.xml")


@pytest.mark.parametrize("opset", [20, 13, 9])
@pytest.mark.parametrize("name", ["i4_groups", "u4_groups_with_zero_points", "nf4_weights", "u3_weights"])
def test_four_bits_before_there_were_any(
    name: str, opset: int, folder: Path, tmp_path: Path, onnxruntime: Worker
) -> None:
    """The same numbers in 8 bits."""
    target, held = tmp_path / "a.onnx", numbers(folder / f"{name}.xml")
    save(load(folder / f"{name}.xml"), target, opset=opset)
    graph = load(target)
    largest = max((value.data for value in graph.constants if value.data is not None), key=lambda data: data.size)
    assert largest.dtype.value in ("int8", "uint8")
    feeds = {value.name: array for value, array in zip(graph.inputs, held.inputs, strict=True)}
    assert difference(onnxruntime.ask(target.read_bytes(), feeds), held.outputs) == ""


@pytest.mark.parametrize("name", ["nf4_weights", "f4_weights"])
def test_lookups_are_told(name: str, folder: Path) -> None:
    graph = to_dialect(load(folder / f"{name}.xml"), FORMATS["onnx"], 21)
    assert any("looked up in a table" in note for note in graph.meta["notes"])


def test_options_for_the_runtime_are_told(folder: Path, tmp_path: Path) -> None:
    text = (folder / "i8_weights.xml").read_text()
    cut = text.rindex("</rt_info>") if "</rt_info>" in text[text.rindex("</edges>") :] else -1
    option = '<runtime_options><KV_CACHE_PRECISION value="f16"/></runtime_options>'
    if cut >= 0:
        text = text[:cut] + option + text[cut:]
    else:
        end = text.rindex("</net>")
        text = text[:end].replace("<rt_info />", "") + f"<rt_info>{option}</rt_info></net>"
    (tmp_path / "a.xml").write_text(text)
    (tmp_path / "a.bin").write_bytes((folder / "i8_weights.bin").read_bytes())
    graph = to_dialect(load(tmp_path / "a.xml"), FORMATS["onnx"], 21)
    assert "runtime_options are for OpenVINO alone: KV_CACHE_PRECISION f16" in graph.meta["notes"]
