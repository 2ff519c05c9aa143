"""Data beside a model that is written anew before it is read: the new isn't taken for that of the old model."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load, run, save
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph
from onnx.parser import parse_model

X = np.zeros(2000, np.float32)
OLD, NEW = (np.full(2000, number, np.float32) for number in (1.5, -7))  # too large to be kept once they are read


def written(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    model = parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[2000] x) => (float[2000] y) { y = Add (x, w) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(OLD, "w"))
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    return folder / "m.onnx"


def as_ir(folder: Path) -> Path:
    path = written(folder)
    convert(path, path.with_suffix(".xml"), verify=0)
    return path.with_suffix(".xml")


def in_place(data: Path) -> None:
    then = data.stat()
    with data.open("r+b") as file:
        file.write(NEW.tobytes())
    os.utime(data, ns=(then.st_atime_ns, then.st_mtime_ns + 1))  # however coarse the clock is


def cut(data: Path) -> None:
    os.truncate(data, 100)


def by_another(data: Path) -> None:
    data.with_suffix(".new").write_bytes(NEW.tobytes())
    data.with_suffix(".new").replace(data)


def run_graph(graph: Graph, folder: Path) -> None:
    run(graph, {"x": X})


def save_graph(graph: Graph, folder: Path) -> None:
    save(graph, folder / "again.onnx")


def convert_graph(graph: Graph, folder: Path) -> None:
    save(graph, folder / "again.xml")


@pytest.mark.parametrize("work", [run_graph, save_graph, convert_graph])
@pytest.mark.parametrize(
    ("change", "told"),
    [(in_place, "changed"), (cut, "changed"), (by_another, "replaced"), (Path.unlink, "can't be read")],
)
def test_external_data(
    tmp_path: Path, work: Callable[[Graph, Path], None], change: Callable[[Path], None], told: str
) -> None:
    path = written(tmp_path)
    graph = load(path)
    change(tmp_path / "m.data")
    with pytest.raises(InvalidModel) as caught:
        work(graph, tmp_path)
    assert told in str(caught.value) and "m.data" in str(caught.value) and "\n" not in str(caught.value)
    assert not list(tmp_path.glob("again*"))


@pytest.mark.parametrize("work", [run_graph, save_graph, convert_graph])
@pytest.mark.parametrize("change", [in_place, cut])
def test_weights_of_ir(tmp_path: Path, work: Callable[[Graph, Path], None], change: Callable[[Path], None]) -> None:
    graph = load(as_ir(tmp_path))
    change(tmp_path / "m.bin")
    with pytest.raises(InvalidModel, match=r"m\.bin, were changed since"):
        work(graph, tmp_path)
    assert not list(tmp_path.glob("again*"))


@pytest.mark.parametrize("change", [by_another, Path.unlink])
def test_weights_of_ir_that_others_replace_are_still_mapped(tmp_path: Path, change: Callable[[Path], None]) -> None:
    graph = load(as_ir(tmp_path))
    change(tmp_path / "m.bin")
    np.testing.assert_array_equal(run(graph, {"x": X})["y"], OLD)
    save_graph(graph, tmp_path)
    np.testing.assert_array_equal(run(tmp_path / "again.onnx", {"x": X})["y"], OLD)


def test_data_that_stays(tmp_path: Path) -> None:
    """Also where the model is written over itself, and read again."""
    path = written(tmp_path)
    graph = load(path)
    np.testing.assert_array_equal(run(graph, {"x": X})["y"], OLD)
    convert(path, path, force=True, verify=0)
    np.testing.assert_array_equal(run(path, {"x": X})["y"], OLD)
