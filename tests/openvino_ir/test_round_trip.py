"""OpenVINO's files come back as OpenVINO wrote them, and OpenVINO takes ours for the same models."""

from __future__ import annotations

from pathlib import Path

import openvino as ov
import pytest
from backedge import save
from backedge.convert.openvino.dialect import META
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write

from .helpers import describe, text_of, verdicts
from .models import MODELS, saved

REORDERED = ("old_cell",)  # OpenVINO writes its hidden input, and leaves numbers out for it
VERSION_10 = ("loop", "nested_loops", "tensor_iterator", "branches", "variables", "many_outputs", "strings", "scalars")
CAN_RUN = ("chain", "loop", "nested_loops", "tensor_iterator", "branches", "variables", "many_outputs", "old_cell")


def both(name: str, folder: Path, version: str = "UNSPECIFIED") -> tuple[Path, Path]:
    """OpenVINO's file, and what we make of it."""
    source = saved(MODELS[name](), folder / f"{name}.xml", version)
    target = folder / f"{name}_ours.xml"
    write(read(source), target)
    return source, target


@pytest.mark.parametrize("name", [name for name in MODELS if name not in REORDERED])
def test_same_bytes(name: str, tmp_path: Path) -> None:
    source, target = both(name, tmp_path)
    assert text_of(target) == text_of(source)
    assert target.with_suffix(".bin").read_bytes() == source.with_suffix(".bin").read_bytes()


@pytest.mark.parametrize("name", VERSION_10)
def test_same_bytes_in_version_10(name: str, tmp_path: Path) -> None:
    source, target = both(name, tmp_path, "IR_V10")
    assert 'version="10"' in text_of(source)[1]
    assert text_of(target) == text_of(source)
    assert {inner.meta[META].version for inner in read(target).graphs()} == {10}


@pytest.mark.parametrize("name", MODELS)
def test_same_graph(name: str, tmp_path: Path) -> None:
    source, target = both(name, tmp_path)
    first = read(source)
    if name in REORDERED:  # once written, the order stays
        first, target = read(target), tmp_path / "again.xml"
        write(first, target)
    assert describe(read(target)) == describe(first)


def test_same_model_for_openvino(tmp_path: Path) -> None:
    names = [name for name in MODELS if name not in REORDERED]
    said = verdicts([both(name, tmp_path) for name in names], "model")
    assert dict(zip(names, said, strict=True)) == dict.fromkeys(names, "same")


def test_same_outputs(tmp_path: Path) -> None:
    said = verdicts([both(name, tmp_path) for name in CAN_RUN], "outputs")
    assert dict(zip(CAN_RUN, said, strict=True)) == dict.fromkeys(CAN_RUN, "same")


def test_a_change_is_seen(tmp_path: Path) -> None:
    """The comparison above does tell models apart."""
    source, target = both("chain", tmp_path)
    target.write_text(target.read_text().replace('type="Multiply"', 'type="Subtract"'))
    weights = bytearray(source.with_suffix(".bin").read_bytes())
    weights[3] ^= 0x40
    other = tmp_path / "other.xml"
    other.write_text(source.read_text())
    other.with_suffix(".bin").write_bytes(weights)
    pairs = [(source, target), (source, other), (source, source)]
    assert verdicts(pairs, "model") == ["xml differs", "bin differs", "same"]
    assert verdicts(pairs, "outputs") == ["outputs differ", "outputs differ", "same"]


def test_compressed_weights(tmp_path: Path) -> None:
    """Constants that OpenVINO stored as f16, marked as such, stay so."""
    source, target = tmp_path / "source.xml", tmp_path / "ours.xml"
    ov.save_model(MODELS["loop"](), source, compress_to_fp16=True)
    write(read(source), target)
    assert 'name="decompression"' in source.read_text()
    assert text_of(target) == text_of(source)
    assert target.with_suffix(".bin").read_bytes() == source.with_suffix(".bin").read_bytes()


def test_over_itself(tmp_path: Path) -> None:
    """A model may be written over the files that its constants still lie in."""
    source = saved(MODELS["nested_loops"](), tmp_path / "model.xml")
    before = text_of(source), source.with_suffix(".bin").read_bytes()
    graph = read(source)
    save(graph, source)
    assert (text_of(source), source.with_suffix(".bin").read_bytes()) == before
    save(graph, source)
    assert source.with_suffix(".bin").read_bytes() == before[1]
