"""Awkward names at every place of a model, to each format and back: kept, or called otherwise with a note."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from backedge.convert.files import load, to_dialect
from backedge.convert.format import FORMATS, format_of
from backedge.passes.errors import Unsupported
from backedge.passes.graph import NOTES
from onnx import TensorProto, helper

NAMES = {
    "nul": "a\0b",
    "control": "a\x01\x1fb",
    "delete": "a\x7f\x85b",
    "quotes": "a\"b'c",
    "backslash": "a\\b\\",
    "lines": "a\nb\rc\td\u2028",
    "blanks": " a b ",
    "dunder": "__class__",
    "unicode": "é漢🎉e\u0301\u00a0\ufeff",
    "noncharacter": "a\ufffeb",
    "markup": "<a>&b;]]>",
    "expression": "a(b)[c]{d}=e,f;g:h*i",
    "comment": "#a",
    "list": "- a: b",
    "nothing": "null",
    "tilde": "~",
    "number": "1e3",
    "yes": "on",
    "slashes": "/a/b:0",
    "minus": "-1",
    "keyword": "ROOT",
    "entry": "main",
    "type": "f32",
    "long": "x" * 1_000_000,
}
UNWRITABLE = ("nul", "control", "noncharacter")
"""What XML has no way to write."""
PLACES = ("graph", "node", "input", "output", "value", "dimension", "key", "entry", "function", "domain", "formal")
INLINED = ("function", "domain", "formal")
"""Gone where a format has no functions."""


def model_with(place: str, name: str) -> onnx.ModelProto:
    """A small model with a function, in which `name` stands at a place."""

    def at(other: str, usual: str) -> str:
        return name if other == place else usual

    x, y, inner = at("input", "x"), at("output", "y"), at("value", "m")
    shape = [at("dimension", "N"), 2] if place == "dimension" else [3, 2]
    function, domain, formal = at("function", "F"), at("domain", "own"), at("formal", "fx")
    nodes = [
        helper.make_node("Neg", [x], [inner], name=at("node", "first")),
        helper.make_node(function, [inner], ["k"], domain=domain),
        helper.make_node("Abs", ["k"], [y], name="last"),
    ]
    body = [helper.make_node("Exp", [formal], ["fy"])]
    made = helper.make_function(domain, function, [formal], ["fy"], body, [helper.make_opsetid("", 21)])
    infos = [helper.make_tensor_value_info(one, TensorProto.FLOAT, shape) for one in (x, y)]
    graph = helper.make_graph(nodes, at("graph", "g"), infos[:1], infos[1:])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(domain, 1)]
    model = helper.make_model(graph, opset_imports=opsets, functions=[made], ir_version=10)
    helper.set_model_props(model, {at("key", "k"): at("entry", "v")})
    return model


def names_at(place: str, model: onnx.ModelProto) -> list[str]:
    """What stands at a place."""
    graph = model.graph
    return {
        "graph": [graph.name],
        "node": [node.name for node in graph.node],
        "input": [info.name for info in graph.input],
        "output": [info.name for info in graph.output],
        "value": [name for node in graph.node for name in node.output],
        "dimension": [dim.dim_param for info in graph.input for dim in info.type.tensor_type.shape.dim],
        "key": [entry.key for entry in model.metadata_props],
        "entry": [entry.value for entry in model.metadata_props],
        "function": [function.name for function in model.functions],
        "domain": [function.domain for function in model.functions],
        "formal": [name for function in model.functions for name in function.input],
    }[place]


def there_and_back(model: onnx.ModelProto, path: Path) -> tuple[onnx.ModelProto, list[str]]:
    """The model from a file that was written of it, and the notes on that."""
    source, back = path.parent / "source.onnx", path.parent / "back.onnx"
    source.write_bytes(model.SerializeToString())
    made = to_dialect(load(source), format_of(path))
    format_of(path).write(made, path)
    FORMATS["onnx"].write(to_dialect(load(path), FORMATS["onnx"], 21), back)
    return onnx.load(back), list(made.meta.get(NOTES, ()))


@pytest.mark.parametrize("suffix", [".onnx", ".json", ".yaml", ".bson"])
@pytest.mark.parametrize("place", PLACES)
def test_all_are_kept(place: str, suffix: str, tmp_path: Path) -> None:
    for label, name in NAMES.items():
        if (place, suffix, label) == ("domain", ".bson", "nul"):  # opsets stand under the domains' names
            with pytest.raises(Unsupported, match=r"BSON: .*Key names must not contain"):
                there_and_back(model_with(place, name), tmp_path / f"m{suffix}")
            continue
        found, _ = there_and_back(model_with(place, name), tmp_path / f"m{suffix}")
        assert name in names_at(place, found), label


@pytest.mark.parametrize("place", PLACES)
def test_onnx_text_keeps_them_or_is_not_written(place: str, tmp_path: Path) -> None:
    refused = []
    for label, name in NAMES.items():
        path = tmp_path / f"{label}.onnxtxt"
        try:
            found, _ = there_and_back(model_with(place, name), path)
        except Unsupported as error:
            assert str(error).startswith("ONNX's text form: ONNX ")
            assert len(str(error)) < 500
            assert not path.exists()
            refused.append(label)
        else:
            assert name in names_at(place, found), label
    assert "nul" in refused
    if place not in ("function", "domain"):  # which ONNX's printer doesn't quote
        assert refused == ["nul"]


@pytest.mark.parametrize("place", [place for place in PLACES if place not in INLINED])
def test_ir_keeps_what_xml_can_hold(place: str, tmp_path: Path) -> None:
    for label, name in NAMES.items():
        found, notes = there_and_back(model_with(place, name), tmp_path / "m.xml")
        if label not in UNWRITABLE:
            assert name in names_at(place, found), label
            continue
        spelled = {"nul": "a\\u0000b", "control": "a\\u0001\\u001fb", "noncharacter": "a\\ufffeb"}[label]
        if place not in ("dimension", "key", "entry"):
            assert any(repr(spelled) in note for note in notes), label
        if place != "dimension":
            assert spelled in names_at(place, found), label


@pytest.mark.parametrize("place", ["input", "output"])
def test_hlo_keeps_the_interface(place: str, tmp_path: Path) -> None:
    for label, name in NAMES.items():
        found, _ = there_and_back(model_with(place, name), tmp_path / "m.hlo")
        assert names_at(place, found) == [name], label


def test_xla_reads_every_name(tmp_path: Path) -> None:
    """All names at once, as XLA's parser ends the process over some texts that it doesn't like."""
    from backedge.runtime.oracles import why_unread

    nodes, last = [], "x"
    for number, name in enumerate(NAMES.values()):
        nodes.append(helper.make_node("Neg" if number % 2 else "Exp", [last], [f"{name}-"], name=name))
        last = f"{name}-"
    infos = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [2]) for one in ("x", last)]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    source, target = tmp_path / "m.onnx", tmp_path / "m.hlo"
    source.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    )
    FORMATS["hlo"].write(to_dialect(load(source), FORMATS["hlo"]), target)
    assert not why_unread("xla", target)
