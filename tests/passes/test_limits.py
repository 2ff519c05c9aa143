"""Which models' files count for the limit of memory: those that graphs, constants or a call still hold."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load, run, verify
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.passes import limits
from onnx.parser import parse_model

MODEL = """<ir_version: 8, opset_import: ["" : 17]> g (float[64] x) => (float[64] y) { y = Add (x, w) }"""


@pytest.fixture
def counted() -> Iterator[Any]:
    """What counts beside what did before."""
    gc.collect()
    before = limits.stored()

    def count() -> int:
        gc.collect()
        return limits.stored() - before

    yield count
    assert count() == 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    model = parse_model(MODEL)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(64, dtype=np.float32), "w"))
    onnx.save(model, tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def test_a_file_counts_as_long_as_a_graph_of_it(path: Path, counted: Any) -> None:
    size = path.stat().st_size
    graph = load(path)
    assert counted() == size
    assert limits.room() >= limits.memory() + limits.FOLD * size
    hub = to_hub(graph)
    twin = hub.copy()
    made = to_dialect(hub, FORMATS["openvino"])
    del graph, hub
    assert counted() == size
    del twin
    assert counted() == size
    del made


def test_each_reading_counts(path: Path, counted: Any) -> None:
    graphs = [load(path) for _ in range(3)]
    assert counted() == 3 * path.stat().st_size
    del graphs[1:]
    assert counted() == path.stat().st_size
    graphs.clear()


def test_data_beside_a_model_counts_as_long_as_a_constant(tmp_path: Path, path: Path, counted: Any) -> None:
    model = onnx.load(path)
    beside = tmp_path / "beside.onnx"
    onnx.save(model, beside, save_as_external_data=True, location="beside.data", size_threshold=0)
    convert(path, tmp_path / "m.xml", verify=0)
    for file in (beside, tmp_path / "m.xml"):
        graph = load(file)
        constants = [value.data for inner in graph.graphs() for value in inner.constants]
        constants += [data for node in graph.nodes for data in node.attributes.values() if hasattr(data, "origin")]
        assert counted() == file.stat().st_size + 256
        del graph
        assert counted() == 256
        constants.clear()
        assert counted() == 0


def test_calls_leave_nothing(tmp_path: Path, path: Path, counted: Any) -> None:
    convert(path, tmp_path / "m.xml", verify=1)
    assert counted() == 0
    assert verify(path, path, trials=1)
    assert counted() == 0
    run(path, {"x": np.ones(64, np.float32)})


def test_what_is_read_in_a_call_counts_until_its_end(path: Path, counted: Any) -> None:
    """As a runtime may begin only then to work on the file."""
    with limits.one_call():
        with limits.one_call():
            load(path)
        assert counted() == path.stat().st_size
        limits.FileBytes(10)
        assert counted() == path.stat().st_size + 10
    assert counted() == 0


def test_another_model_is_begun_with(path: Path) -> None:
    graph = load(path)
    limits.forget_stored()
    assert limits.stored() == 0
    del graph
    gc.collect()
    assert limits.stored() == 0
