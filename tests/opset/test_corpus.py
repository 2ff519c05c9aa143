"""The adapters against recorded node tests of eleven onnx releases.

python -m pytest -m corpus tests/opset/test_corpus.py -s

Up: every model raised to the hub gives, on the executor, what was recorded. Down: every model either comes to an
older opset, passes ONNX's checker there and gives what was recorded (on onnx's reference or ONNX Runtime, which
both know the old versions), or is refused by name.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import IR_OF_OPSET, to_model
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.opset import convert_opset
from backedge.runtime.executor import Executor
from backedge.runtime.oracles import run_file
from corpus.wheel import Recorded, same
from onnx.reference import ReferenceEvaluator

from .releases import BUILDS, cases

# models whose record can't be had from any runtime: why
UNVERIFIABLE = {
    r"bernoulli": "random",
    r"1\.1\.2/test_hardmax": "recorded as float64, declared as float32",
    r"1\.1\.2/test_top_k": "recorded as int64 and int32, declared so",
    r"test_adam_multiple": "the outputs stand in another order than recorded",
    r"BFLOAT16": "recorded as uint16",
    r"1\.6\.0/test_resize_upsample_sizes_nearest": "recorded with attributes that the model lacks",
    r"1\.6\.0/test_unique_not_sorted_without_axis": "recorded in another order",
    r"1\.(8\.0|10\.2)/test_sequence_insert_at_front": "the position isn't among the inputs recorded",
    r"test_optional_has_element_empty": "the input recorded isn't a value of its type",
    r"image_decoder": "needs a package that reads images",
    r"1\.17\.0/test_averagepool_3d_dilations_large_.*True": "recorded otherwise since",
    r"1\.17\.0/test_cast_FLOAT.*INT4": "recorded otherwise since",
    r"qlinearmatmul_.D_int8": "recorded otherwise since",
    r"1\.20\.0/test_attention_.*qk_matmul_(bias|softcap)": "recorded otherwise since",
    r"1\.20\.0/test_l2normalization_axis_0": "recorded otherwise since",
}


def _unverifiable(where: str) -> bool:
    return any(re.search(pattern, where) for pattern in UNVERIFIABLE)


def _matches(got: list[Any], outputs: list[Any]) -> bool:
    return len(got) == len(outputs) and all(same(one, other) for one, other in zip(outputs, got, strict=True))


def _up(case: Recorded) -> str:
    try:
        graph = raise_graph(read_model(case.model()))
        executor = Executor(graph)
        for inputs, outputs in case.sets():
            feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=False)}
            if not _matches(list(executor.run(feeds).values()), outputs):
                return "different"
    except Unsupported as refusal:
        return f"refused: {refusal}"
    except Exception as error:  # whatever it is, the report names it
        return f"{type(error).__name__}: {error}"
    return "right"


@pytest.mark.corpus
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("release", BUILDS)
def test_up(release: str) -> None:
    found = {case.name: _up(case) for case in cases(release)}
    others = {
        name: verdict
        for name, verdict in found.items()
        if verdict != "right" and not _unverifiable(f"{release}/{name}")
    }
    print(f"\n{release}: {Counter(found.values())['right']} right of {len(found)}, {len(others)} other")
    for name, verdict in others.items():
        print(f"  {name}: {verdict[:200]}")
    assert not others


def _is_valid(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


def _by_reference(model: onnx.ModelProto, feeds: dict[str, Any], outputs: list[Any]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _matches(list(ReferenceEvaluator(model).run(None, feeds)), outputs)
    except Exception:  # it can't run everything
        return False


def _by_onnxruntime(model: onnx.ModelProto, feeds: dict[str, Any], outputs: list[Any], folder: Path) -> bool:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    [outcome] = run_file("onnxruntime", path, [feeds])
    names = [info.name for info in model.graph.output]
    return outcome.outputs is not None and _matches([outcome.outputs.get(name) for name in names], outputs)


def _down(case: Recorded, target: int, folder: Path) -> str:
    model = case.model()
    graph = read_model(model)
    if graph.opsets.get("", 1) <= target:
        return "older"
    try:
        made = to_model(convert_opset(graph, {"": target}))
    except (Unsupported, InvalidModel) as refusal:
        return f"refused: {getattr(refusal, 'reason', refusal)}"
    made.ir_version = max(IR_OF_OPSET[target], 4)
    if not _is_valid(made) and _is_valid(model):
        return "invalid"
    for inputs, outputs in case.sets():
        feeds = {info.name: array for info, array in zip(model.graph.input, inputs, strict=False)}
        if not _by_reference(made, feeds, outputs) and not _by_onnxruntime(made, feeds, outputs, folder):
            right_before = _by_reference(model, feeds, outputs) or _by_onnxruntime(model, feeds, outputs, folder)
            return "different" if right_before else "unverifiable"
    return "right"


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("target", [21, 18, 13, 11, 9, 7])
@pytest.mark.parametrize("release", ["1.22.0", "1.14.1", "1.6.0"])
def test_down(release: str, target: int, tmp_path: Path) -> None:
    found = {case.name: _down(case, target, tmp_path) for case in cases(release)}
    counts = Counter(verdict.split(":")[0] for verdict in found.values())
    print(f"\n{release} down to {target}: {dict(counts)}")
    bad = {name: verdict for name, verdict in found.items() if verdict in ("different", "invalid")}
    assert not {name for name in bad if not _unverifiable(f"{release}/{name}")}
