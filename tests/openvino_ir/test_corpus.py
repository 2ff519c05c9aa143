"""IR that OpenVINO makes of onnx's node cases: a sample by default, all of it as `corpus`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openvino as ov
import pytest
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write
from backedge.passes.graph import Graph

from .helpers import child, describe, text_of, verdicts

SAMPLE = (
    "concat constantofshape cumsum einsum gathernd gru identity if_ layernormalization loop lstm mod nonzero onehot "
    "pad rangeop reduce_log_sum roialign scan scatternd shape slice split squeeze topk unique where"
)


def made(folder: Path, modules: list[str], timeout: float) -> list[Path]:
    """The files that could be made; OpenVINO is started again behind each case that it dies of."""
    names: list[str] = []
    first = 0
    while True:
        said = child("make_corpus.py", str(folder), str(first), *modules, timeout=timeout).stdout.split("\n")
        names += [line for line in said if line.startswith("test_")]
        if "done" in said:
            return [folder / f"{name}.xml" for name in names]
        begun = [int(line) for line in said if line.isdigit()]
        assert begun, "not even one case could be begun"
        first = begun[-1] + 1


def plain(value: Any) -> tuple[str, Any]:
    """The kind of an attribute's value and the value, for both sides; OpenVINO's shapes and axis sets are lists."""
    if isinstance(value, str | bool | int | float):
        return type(value).__name__, value
    items = [plain(item) for item in value]
    return "list", items


def differing_attributes(source: Path, graph: Graph) -> list[str]:
    """Attributes that are something else to OpenVINO. It makes out automatic pads itself, so those don't count."""
    layers = {layer.get_friendly_name(): layer for layer in ov.Core().read_model(source).get_ops()}
    return [
        f"{source.name}: {node!r}: {name}={value!r}"
        for node in graph.nodes
        if node.name in layers and not node.regions
        for name, value in node.attributes.items()
        if name not in ("pads_begin", "pads_end")
        and plain(value) != plain(layers[node.name].get_attributes().get(name, "missing"))
    ]


def check(sources: list[Path]) -> None:
    targets = [source.with_name(f"ours_{source.name}") for source in sources]
    for source, target in zip(sources, targets, strict=True):
        graph = read(source)
        assert differing_attributes(source, graph) == []
        write(graph, target)
        assert text_of(target) == text_of(source), source.name
        assert target.with_suffix(".bin").read_bytes() == source.with_suffix(".bin").read_bytes(), source.name
        assert describe(read(target)) == describe(graph), source.name
    said = verdicts(list(zip(sources, targets, strict=True)), "model", timeout=600)
    assert {source.name: word for source, word in zip(sources, said, strict=True) if word != "same"} == {}


def test_sample(tmp_path: Path) -> None:
    sources = made(tmp_path, SAMPLE.split(), timeout=120)
    assert len(sources) > 150
    check(sources)


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_everything(tmp_path: Path) -> None:
    sources = made(tmp_path, [], timeout=900)
    assert len(sources) > 1500
    check(sources)
