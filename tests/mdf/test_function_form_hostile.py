"""Files in function form that were damaged or made up: refused in one line, or read as what they say."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from backedge.convert import load, save
from backedge.convert.mdf.function_form import from_model, is_ours, prepared, to_model
from backedge.convert.mdf.structure import model_from_tree, tree_from_model
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model as to_onnx
from backedge.passes.errors import BackedgeError, InvalidModel
from backedge.passes.text import graph_text
from onnx.parser import parse_model

MODEL = """
    <ir_version: 10, opset_import: ["" : 18, "mine" : 1]>
    g (int64 m, bool c, float[2] x, float[N] k, float[1] d) => (float[2] y, float z, float[2] t) <
        float[2] w = {1, 2}, float[2] v = {3, 4}, float[1] d = {5}
    > {
        y = Loop (m, c, x) <body = inner (int64 i, bool p, float[2] s) => (bool q, float[2] r) {
            q = Identity (p)
            r = Add (s, k)
        }>
        axes = Constant <value = int64[1] {0}> ()
        z = ReduceMean <keepdims = 0> (v, axes)
        a, b = Split <num_outputs = 2> (v)
        u = Foo (x, , w)
        t = mine.Bar <f = 1.5, ss = ["a"], mode = "m"> (u, w)
        e, _ = TopK (x, axes)
    }
    <opset_import: ["" : 18], domain: "mine"> Bar <f> (h) => (l) { l = LeakyRelu <alpha: float = @f> (h) }
"""
Tree = dict[str, Any]


@pytest.fixture(scope="module")
def whole() -> Tree:
    return json.loads(json.dumps(tree_from_model(to_model(prepared(read_model(parse_model(MODEL)))))))


def read(tree: Tree) -> Any:
    model = model_from_tree(tree)
    assert is_ours(model)
    return from_model(model)


def at(tree: Tree, *path: Any) -> Any:
    for step in path:
        tree = tree[step]
    return tree


NODES = ("g", "graphs", "g", "nodes")
OURS = ("g", "metadata", "backedge")
LOOP = (*NODES, "Loop_0")
BODY = (*LOOP, "parameters", "body", "value", "graph_inner")
MEAN = (*NODES, "ReduceMean_2")


def put(*path_and_value: Any) -> Callable[[Tree], None]:
    *path, last, value = path_and_value

    def change(tree: Tree) -> None:
        at(tree, *path)[last] = value

    return change


def cut(*path: Any) -> Callable[[Tree], None]:
    def change(tree: Tree) -> None:
        del at(tree, *path[:-1])[path[-1]]

    return change


def again(*path: Any) -> Callable[[Tree], None]:
    """The first entry of a list twice."""

    def change(tree: Tree) -> None:
        at(tree, *path).append(at(tree, *path)[0])

    return change


def edge_of(before: str, after: str, **fields: Any) -> Callable[[Tree], None]:
    """Change the edge between two nodes; with `copy`, a second one with these changes."""

    def change(tree: Tree) -> None:
        edges = at(tree, "g", "graphs", "g", "edges")
        found = next(one for one in edges.values() if (one["sender"], one["receiver"]) == (before, after))
        if "copy" in fields:
            edges["another"] = {**found, **{name: value for name, value in fields.items() if name != "copy"}}
        else:
            found.update(fields)

    return change


def cycle(tree: Tree) -> None:
    edge_of("Foo_4", "Bar_5", sender="Bar_5", sender_port="t")(tree)


PORT = (*NODES, "k", "output_ports", "k")
SPLIT = (*NODES, "Split_3")
TWICE = {"value": 1, "metadata": {"backedge": {"of": "attribute", "kind": "int", "name": "keepdims"}}}

HOSTILE: dict[str, tuple[Callable[[Tree], None], str]] = {
    "no opsets": (cut(*OURS, "opsets"), "names no opsets"),
    "opsets that are none": (put(*OURS, "opsets", {"ai.onnx": "18"}), "names no opsets"),
    "an operator's opset missing": (cut(*OURS, "opsets", "ai.onnx"), "no opset of 'ai.onnx' is imported"),
    "no inputs": (cut(*OURS, "inputs"), "no list of inputs"),
    "an input twice": (again(*OURS, "inputs"), "or at several"),
    "an output twice": (again(*OURS, "outputs"), "or at several"),
    "an input that nobody lists": (cut(*OURS, "inputs", 0), "aren't its nodes of kind 'input'"),
    "an input that is an operator": (put(*OURS, "inputs", 0, "node", "Foo_4"), "is at no port"),
    "an output at no node": (put(*OURS, "outputs", 0, "node", "nowhere"), "is at no port"),
    "an output at no port": (put(*OURS, "outputs", 0, "port", "nowhere"), "is at no port"),
    "an output called otherwise": (put(*OURS, "outputs", 0, "name", "other"), "is at no port"),
    "an order beyond the outputs": (put(*OURS, "order", [0, 9]), "indices in 'outputs'"),
    "a model that is none": (put(*OURS, "model", {"producer": 1}), "no ModelProto"),
    "a model of bytes that are none": (put(*OURS, "model", "/////w=="), "no ModelProto"),
    "functions that are none": (put(*OURS, "functions", [{"body": {}}]), "'function' and 'body'"),
    "a function twice": (again(*OURS, "functions"), "is defined twice"),
    "conditions": (put("g", "graphs", "g", "conditions", {"termination": {"e": {"type": "Never"}}}), "no conditions"),
    "a cycle": (cycle, "cycle"),
    "an edge from no port": (edge_of("x", "Foo_4", sender_port="nowhere"), "no output port"),
    "an edge with a weight": (edge_of("x", "Foo_4", parameters={"weight": 2}), "no weight"),
    "two edges into one port": (edge_of("x", "Foo_4", copy=True, sender="k", sender_port="k"), "the same port"),
    "an edge into an input": (edge_of("x", "Foo_4", receiver="k", receiver_port="k"), "no incoming edges"),
    "a port without an edge": (cut("g", "graphs", "g", "edges", "x_x_to_Foo_4_x"), "an edge leads to it"),
    "a port that nothing uses": (put(*NODES, "TopK_6", "metadata", "backedge", "inputs", ["X"]), "argument 'K'"),
    "a default value": (put(*LOOP, "input_ports", "x", "default_value", 1.0), "no default value"),
    "an input with more": (put(*NODES, "x", "parameters", {"p": {"value": 1}}), "exactly one"),
    "an input that computes": (put(*NODES, "x", "output_ports", "x", "value", "x + 1"), "found where"),
    "a constant that computes": (put(*NODES, "w", "output_ports", "w", "value", "w * 2"), "found where"),
    "a constant that is none": (put(*NODES, "w", "parameters", "w", "metadata", {}), "must be a constant"),
    "a default of no type": (put(*NODES, "d", "input_ports", "d", "metadata", {}), "the type of its default"),
    "an unknown kind": (put(*MEAN, "parameters", "keepdims", "metadata", "backedge", "kind", "x"), "no kind of"),
    "an unknown part": (put(*MEAN, "parameters", "keepdims", "metadata", {}), "a constant or an attribute"),
    "an attribute of the wrong kind": (put(*MEAN, "parameters", "keepdims", "value", 0.5), "isn't a 64-bit integer"),
    "an attribute twice": (put(*MEAN, "parameters", "more", TWICE), "given twice"),
    "an argument that computes": (put(*MEAN, "parameters", "onnx_reducemean", "args", "data", "v * 2"), "found where"),
    "an argument too much": (put(*MEAN, "parameters", "onnx_reducemean", "args", "more", "v"), "found where"),
    "an argument that is missing": (cut(*MEAN, "parameters", "onnx_reducemean", "args", "keepdims"), "found where"),
    "an argument of nothing": (put(*MEAN, "parameters", "onnx_reducemean", "args", "data", "nobody"), "isn't an input"),
    "another model's axes": (put(*MEAN, "parameters", "axes", "value", [1]), "doesn't match what is written here"),
    "no function": (cut(*MEAN, "parameters", "onnx_reducemean"), "one parameter with a function"),
    "a function of no domain": (put(*MEAN, "parameters", "onnx_reducemean", "function", "ReduceMean"), "no operator"),
    "a function of no opset": (
        put(*NODES, "Bar_5", "parameters", "onnx_bar", "function", "that::Bar"),
        "no opset of 'that' is imported",
    ),
    "a function with a value": (put(*MEAN, "parameters", "onnx_reducemean", "value", 1.0), "doesn't compute"),
    "a state": (put(*MEAN, "parameters", "keepdims", "default_initial_value", 1), "may only have a value"),
    "another stand-in": (put(*SPLIT, "parameters", "onnx_split", "value", "v"), "doesn't compute"),
    "an output of another": (put(*MEAN, "output_ports", "z", "value", "v"), "its value must be"),
    "an output that is read twice": (put(*SPLIT, "output_ports", "b", "value", "onnx_split[0]"), "another port"),
    "an output too far": (put(*SPLIT, "metadata", "backedge", "outputs", 1), "can't have 1 outputs"),
    "outputs without number": (put(*SPLIT, "metadata", "backedge", "outputs", 10**9), "can't have"),
    "captures of nothing": (put(*LOOP, "metadata", "backedge", "captures", ["nobody"]), "no port and no constant"),
    "captures of too much": (put(*LOOP, "metadata", "backedge", "captures", ["k"] * 9), "fewer inputs"),
    "a body that is none": (put(*LOOP, "parameters", "body", "value", 5), "a subgraph must be in an object"),
    "two bodies": (put(*LOOP, "parameters", "body", "value", {"graph_a": {}, "graph_b": {}}), "a subgraph must be"),
    "a body without interface": (put(*BODY, "metadata", {}), "no list of inputs"),
    "a body's edge from outside": (put(*BODY, "edges", "k_k_to_Add_1_k", "sender", "Foo_4"), "no node"),
    "notes that are none": (put(*LOOP, "metadata", "backedge", "notes", {"doc": 1}), "no NodeProto"),
    "metadata that is none": (put(*LOOP, "metadata", "backedge", []), "must be an object"),
    "a name that is none": (put(*LOOP, "metadata", "backedge", "name", 5), "must be text"),
    "a version that is none": (put(*LOOP, "metadata", "backedge", "version", "16"), "no version is known"),
    "a type that is none": (put(*PORT, "metadata", "backedge", "type", {"seq": 1}), "is no type"),
    "another type": (put(*PORT, "type", "int64"), "its metadata says"),
    "no element type": (put(*NODES, "x", "output_ports", "x", "type", "float"), "no element type"),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_what_contradicts_itself_is_refused(what: str, whole: Tree) -> None:
    change, reason = HOSTILE[what]
    tree = copy.deepcopy(whole)
    change(tree)
    with pytest.raises(InvalidModel, match=reason) as refusal:
        read(tree)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 400


def nested(depth: int) -> onnx.ModelProto:
    """An If in an If in an If."""
    text = "r = Identity (x)"
    for level in range(depth):
        text = (
            f"r = If (c) <then_branch = t{level} () => (r) {{ {text} }}, else_branch = e () => (o) {{ o = Abs (x) }}>"
        )
    imports = '<ir_version: 8, opset_import: ["" : 15]>'
    return parse_model(f"{imports} g (bool c, float x) => (float r) {{ {text} }}")


def test_branches_in_branches(tmp_path: Path) -> None:
    """As many as ONNX's own files hold."""
    graph = read_model(nested(30))
    save(graph, tmp_path / "m.json")
    assert graph_text(load(tmp_path / "m.json")) == graph_text(graph)


def test_branches_in_branches_without_end() -> None:
    """The innermost branch replaced by the outermost, which takes in and hands out the same, and once more."""
    tree = json.loads(json.dumps(tree_from_model(to_model(read_model(nested(30))))))
    node = at(tree, *NODES, "If_0")
    outermost = copy.deepcopy(node["parameters"]["then_branch"]["value"])
    for _ in range(2):
        for level in range(29, 0, -1):
            node = at(node, "parameters", "then_branch", "value", f"graph_t{level}", "nodes", "If_0")
        node["parameters"]["then_branch"]["value"] = copy.deepcopy(outermost)
    with pytest.raises(InvalidModel, match="nested deeper than 70"):
        read(tree)


def paths(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key in tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ():
        yield (*path, key)
        yield from paths(tree[key], (*path, key))


@pytest.mark.parametrize("value", ["gone", None, -1, math.nan, "x", [], {}, [[1], [2, 3]]], ids=repr)
def test_no_damage_breaks_the_reader(value: Any, whole: Tree) -> None:
    """Whatever stands in whatever place, the file is refused, or is a graph that can be written."""
    refused = 0
    for path in paths(whole):
        if path == (*OURS, "form"):
            continue
        tree = copy.deepcopy(whole)
        if value == "gone":
            cut(*path)(tree)
        else:
            put(*path, value)(tree)
        try:
            to_onnx(from_model(model_from_tree(tree)))
        except BackedgeError as refusal:
            refused += 1
            assert "\n" not in str(refusal)
    assert refused > 200
