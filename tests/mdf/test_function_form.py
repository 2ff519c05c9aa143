"""ONNX models through MDF's function form and back: what comes out is what went in."""

from __future__ import annotations

import json
import keyword
import random
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.mdf.document import Container, read_document, write_document
from backedge.convert.mdf.function_form import base64, from_model, is_ours, prepared, to_model
from backedge.convert.mdf.model import Model
from backedge.convert.mdf.structure import model_from_tree, tree_from_model
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model as to_onnx
from backedge.passes.errors import InvalidModel
from control_flow.cases import BY_NAME
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.parser import parse_model

from .same_model import same_model

CASES = {case.name: case for case in collect_testcases(None)}
CONTAINERS: tuple[Container, ...] = ("json", "yaml", "bson")


def written(model: onnx.ModelProto, container: Container = "json") -> Model:
    return to_model(prepared(read_model(model)), bytes if container == "bson" else base64)


def through(model: onnx.ModelProto, path: Path, container: Container = "json") -> onnx.ModelProto:
    """The model that comes back from a file."""
    write_document(tree_from_model(written(model, container)), path, container)
    found = model_from_tree(read_document(path))
    assert is_ours(found)
    return to_onnx(from_model(found))


def assert_kept(model: onnx.ModelProto, path: Path, *containers: Container) -> None:
    before = model.SerializeToString()
    for container in containers or CONTAINERS:
        assert same_model(through(model, path.with_suffix(f".{container}"), container), model), container
    assert model.SerializeToString() == before


SOME = random.Random(11).sample(sorted(CASES), 100)
UNTYPED = ["test_affine_grid_2d_expanded", "test_affine_grid_3d_align_corners_expanded"]  # a Split in a branch


@pytest.mark.parametrize("name", sorted({*SOME, *UNTYPED}))
def test_node_case(name: str, tmp_path: Path) -> None:
    assert_kept(CASES[name].model, tmp_path / "m")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_control_flow(name: str, tmp_path: Path) -> None:
    model = to_onnx(read_model(BY_NAME[name].model()))  # with shadowed names renamed
    assert_kept(model, tmp_path / "m", "json")


def test_everything_a_model_can_say(tmp_path: Path) -> None:
    model = parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "mine" : 3, "com.microsoft" : 1], producer_name: "p", model_version: 7,
         doc_string: "model doc">
        agraph (float[N, 3] x, seq(float[N]) s, optional(int64) o, float[2] unused, float[2] w)
            => (float[M] y, seq(float[N]) s, float[2] k, float[M] y, float8e4m3fn[1] z)
        <float[2] w = {1.0, 2.0}, float[2] k = {3.0, 4.0}, float[2] nobody = {5.0, 6.0}, float[N, 3] a> {
            a = Identity (x)
            b = mine.Blur <strength = 0.1, sizes = [1, 2], names = ["p", "q"], no_ints: ints = [],
                           no_floats: floats = [], mode = "m", count = -3, ratios = [0.1, 1.0]> (a, , w, )
            , c, = mine.Three (b, k)
            y = mine.F <alpha = 0.5> (c)
            z = Cast <to = 17> (k)
        }
        <opset_import: ["" : 18], domain: "mine", doc_string: "function doc">
        F <alpha, beta: float = 2.0> (p) => (q) { t = LeakyRelu <alpha: float = @alpha> (p)  q = Neg (t) }
    """)
    model.metadata_props.add(key="author", value="me")
    graph = model.graph
    graph.doc_string = "graph doc"
    graph.metadata_props.add(key="k", value="v")
    graph.node[0].doc_string = "node doc\nof two lines"
    graph.node[0].name = "first/node"
    graph.node[0].metadata_props.add(key="n", value="1")
    graph.node[1].attribute[0].doc_string = "attribute doc"
    graph.input[0].doc_string = "input doc"
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.initializer[0].doc_string = "tensor doc"
    graph.quantization_annotation.add(tensor_name="a").quant_parameter_tensor_names.add(key="SCALE", value="w")
    values = helper.make_tensor("sp", TensorProto.FLOAT, [2], [1.5, 2.5])
    indices = helper.make_tensor("sp_idx", TensorProto.INT64, [2], [0, 4])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    graph.value_info.append(helper.make_tensor_value_info("nobody", TensorProto.FLOAT, [2]))
    del graph.value_info[-2]  # of an input it would say nothing
    model.training_info.add().algorithm.name = "training"
    assert_kept(model, tmp_path / "m")


def odd_attributes() -> dict[str, Any]:
    payload = np.array([0x7FC01234], np.uint32).view(np.float32)
    values = helper.make_tensor("v", TensorProto.FLOAT, [1], [1.5])
    indices = helper.make_tensor("i", TensorProto.INT64, [1], [1])
    sparse = helper.make_sparse_tensor(values, indices, [3])
    return {
        "binary": b"\xff\xfe",
        "binaries": [b"text", b"\x80"],
        "nan": float("nan"),
        "infinite": [float("inf"), float("-inf"), -0.0, 1e-45, 3.4028234663852886e38],
        "payload": numpy_helper.from_array(payload),
        "tensors": [numpy_helper.from_array(np.arange(3)), numpy_helper.from_array(np.array(["a", "b"], object))],
        "named": numpy_helper.from_array(np.float16(0.1), "its name"),
        "sparse": sparse,
        "sparse_list": [sparse],
        "type": helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", None, 2])),
        "types": [helper.make_tensor_type_proto(TensorProto.INT4, []), onnx.TypeProto()],
        "least": -(2**63),
        "class": 1,
        "numpy": 2,
        "not an id!": 3,
        "ünïcode": "ü",
        "1st": [1],
        "x": 4,
    }


def test_attributes_of_every_kind(tmp_path: Path) -> None:
    node = helper.make_node("Odd", ["x"], ["y"], domain="mine", **odd_attributes())
    bits = helper.make_attribute("bits", 0.0)
    bits.f = float(np.array([0xFFC00001], np.uint32).view(np.float32)[0])
    node.attribute.append(bits)
    node.attribute.append(helper.make_attribute("none", [], attr_type=onnx.AttributeProto.TYPE_PROTOS))
    bodies = [
        helper.make_graph([helper.make_node("Neg", ["x"], [name])], "", [], [helper.make_empty_tensor_value_info(name)])
        for name in ("p", "q")
    ]
    node.attribute.append(helper.make_attribute("bodies", bodies))
    inputs, outputs = ([helper.make_empty_tensor_value_info(name)] for name in ("x", "y"))
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("mine", 1)]
    model = helper.make_model(helper.make_graph([node], "g", inputs, outputs), opset_imports=imports)
    assert_kept(model, tmp_path / "m")


NAMES = ["numpy", "lambda", "1", "a.b", "a_b", "a/b", "", "é", "nan", "x[0]", "__builtins__", "onnx_add", "A", "print"]


def test_names_of_every_kind(tmp_path: Path) -> None:
    """Ids are identifiers that mean nothing in an expression; names come back as they were."""
    values = [name or " " for name in NAMES]
    nodes = [
        helper.make_node("Add", [one, other], [f"{one}+{other}"], name=name)
        for one, other, name in zip(values, values[1:], NAMES, strict=False)
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in values]
    outputs = [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, [2]) for node in nodes]
    model = helper.make_model(helper.make_graph(nodes, "not an id", inputs, outputs))
    assert_kept(model, tmp_path / "m")
    (graph,) = written(model).graphs
    ids = [node.id for node in graph.nodes] + [edge.id for edge in graph.edges]
    for node in graph.nodes:
        own = [one.id for one in (*node.inputs, *node.parameters)]
        assert len(set(own)) == len(own)
        ids += [*own, *(port.id for port in node.outputs)]
    assert all(one.isascii() and one.isidentifier() and not keyword.iskeyword(one) for one in ids)
    assert not {"numpy", "math", "nan", "print", "__builtins__"} & set(ids)


@pytest.mark.parametrize("name", ["loop_opset_1", "fun_attribute_in_branch", *sorted(CASES)[::200]])
def test_saved_again_by_mdfs_own_library(name: str, tmp_path: Path) -> None:
    """Which takes the document apart and writes it anew."""
    library = pytest.importorskip("modeci_mdf.mdf")
    model = BY_NAME[name].model() if name in BY_NAME else CASES[name].model
    write_document(tree_from_model(written(model)), tmp_path / "m.json")
    for container in CONTAINERS:
        loaded = library.Model.from_file(str(tmp_path / "m.json"))
        again = tmp_path / f"again.{container}"
        getattr(loaded, f"to_{container}_file")(str(again))
        assert same_model(to_onnx(from_model(model_from_tree(read_document(again)))), model), container


@pytest.mark.parametrize("data_type", [kind for kind in TensorProto.DataType.values() if kind])
@pytest.mark.parametrize("shape", [[], [0], [3], [2, 0, 3], [2, 3]])
def test_constant_of_every_type(data_type: int, shape: list[int], tmp_path: Path) -> None:
    if data_type == TensorProto.STRING:
        array = np.full(shape, "ä", object)
    else:
        array = np.ones(shape).astype(helper.tensor_dtype_to_np_dtype(data_type))
    nodes = [helper.make_node("Identity", [name], [f"y_{name}"]) for name in ("c", "d")]
    nodes.append(helper.make_node("Constant", [], ["y_t"], value=numpy_helper.from_array(array)))
    outputs = [helper.make_tensor_value_info(name, data_type, shape) for name in ("y_c", "y_d", "y_t", "d", "e")]
    inputs = [helper.make_tensor_value_info("e", data_type, shape)]
    constants = [numpy_helper.from_array(array, name) for name in ("c", "d", "e")]
    model = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, constants))
    assert_kept(model, tmp_path / "m")


def versions(graph: Any) -> list[tuple[str, int]]:
    return [(node.op_type, node.version) for _, node in graph.walk()]


AT_18 = """
    <ir_version: 8, opset_import: ["" : 18]>
    g (float[2, 3] x, bool c) => (float[2] y, float[2, 3] z, float[2] m)
    <int64[1] axes = {1}, float[2, 3] far = {1, 2, 3, 4, 5, 6}> {
        y = ReduceMean <keepdims = 0> (x, axes)
        one = Constant <value = int64[1] {1}> ()
        m = ReduceMax <keepdims = 0, noop_with_empty_axes = 0> (x, one)
        z = If (c) <then_branch = t () => (a) { a = Abs (x) }, else_branch = e () => (b) { b = Relu (far) }>
    }"""


def test_every_operator_at_opset_15(tmp_path: Path) -> None:
    """As MDF has them, axes are attributes again; the model's own opset comes back all the same."""
    model = parse_model(AT_18)
    graph = prepared(read_model(model))
    assert graph.opsets == {"": 18}
    assert versions(graph)[:4] == [("ReduceMean", 13), ("Constant", 13), ("ReduceMax", 13), ("If", 16)]
    assert graph.nodes[0].attributes["axes"] == [1] and len(graph.nodes[0].inputs) == 1
    assert_kept(model, tmp_path / "m")


def test_all_at_one_opset() -> None:
    graph = prepared(read_model(parse_model(AT_18)), 15)
    assert graph.opsets == {"": 15}
    back = from_model(to_model(graph))
    assert back.opsets == {"": 15} and versions(back) == versions(graph)
    assert to_onnx(back).opset_import[0].version == 15
    onnx.checker.check_model(to_onnx(back), full_check=True)


def test_functions_that_the_engine_must_not_take_for_its_own() -> None:
    """An operator that opset 15 can't express, and a model's function that is called like an operator."""
    model = parse_model("""
        <ir_version: 10, opset_import: ["" : 22, "com.microsoft" : 1]>
        g (float[1, 3, 4, 4] x, float v) => (y, z, g, s, f) {
            y = AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (x)
            z = Gelu (x)
            g = com.microsoft.Gelu (x)
            s = Abs (x)
            f = Clip (x, , v)
        }
        <opset_import: ["" : 22], domain: ""> Abs (p) => (q) { q = Neg (p) }
    """)
    (graph,) = to_model(prepared(read_model(model))).graphs
    functions = [parameter.function for node in graph.nodes for parameter in node.parameters if parameter.function]
    assert functions == ["onnx::AveragePool-22", "onnx::Gelu", "com.microsoft::Gelu", "onnx::Abs-22", "onnx::Clip"]


@pytest.mark.parametrize(
    ("node", "function"),
    [
        ('y = Resize <mode = "linear"> (x, , , sizes)', "onnx::Resize-13"),
        ("y, h = RNN <hidden_size = 1> (x, x, x, , , x)", "onnx::RNN-14"),
        ("y = Dropout (x, , go)", "onnx::Dropout-13"),
        ("y = Clip (unknown, , limit)", "onnx::Clip-13"),
        ("y = mine.Any (x, , x)", "mine::Any"),
    ],
)
def test_what_the_engine_would_get_wrong_has_another_name(node: str, function: str) -> None:
    """Its arguments have no gaps, and random numbers are its own."""
    model = parse_model(f"""
        <ir_version: 8, opset_import: ["" : 15, "mine" : 1]>
        g (float[1, 1, 1] x, bool go, int64[3] sizes, float limit) => (float[1, 1, 1] y) {{
            unknown = mine.Thing (x)
            {node}
        }}""")
    (graph,) = written(model).graphs
    assert graph.nodes[-1].parameters[-1].function == function


def test_large_arrays_stand_as_bytes(tmp_path: Path) -> None:
    big = numpy_helper.from_array(np.arange(2**20 + 1, dtype=np.float32), "w")
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2**20 + 1])
    model = helper.make_model(helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [info], [big]))
    for container, kind in (("json", str), ("bson", bytes)):
        (parameter, _) = written(model, container).graphs[0].nodes[0].parameters
        assert parameter.value is None and isinstance(parameter.metadata["backedge"]["data"], kind)
        assert same_model(through(model, tmp_path / "m", container), model)


def test_what_a_file_looks_like() -> None:
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 15]>
        g (float[2, 3] x, int64 n, bool go) => (float[2, 3] y)
        <float[3] b = {0.5, 1, -2}, float s = {2}> {
            f = Mul (x, s)
            h = Add (f, b)
            y = Loop (n, go, h) <body = twice (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w) {
                d = Identity (c)
                w = Max (v, x, v)
            }>
        }""")
    tree = json.loads(json.dumps(tree_from_model(written(model))))
    graph = tree["g"]["graphs"]["g"]
    nodes = graph["nodes"]
    assert list(nodes) == ["x", "n", "go", "Mul_0", "Add_1", "Loop_2"]
    assert nodes["x"] == {
        "metadata": {"backedge": {"kind": "input"}},
        "input_ports": {"x": {"shape": [2, 3], "type": "float32"}},
        "output_ports": {"x": {"value": "x", "shape": [2, 3], "type": "float32"}},
    }
    assert nodes["Mul_0"]["parameters"] == {
        "s": {"metadata": {"backedge": {"of": "constant", "dtype": "float32"}}, "value": 2.0},
        "onnx_mul": {"function": "onnx::Mul", "args": {"A": "x", "B": "numpy.array(s, 'float32')"}},
    }
    assert nodes["Add_1"]["parameters"]["b"]["value"] == [0.5, 1.0, -2.0]
    assert nodes["Add_1"]["output_ports"] == {"h": {"value": "onnx_add"}}
    loop = nodes["Loop_2"]
    assert list(loop["input_ports"]) == ["n", "go", "h", "x"]
    assert loop["metadata"]["backedge"]["captures"] == ["x"]
    args = {"M": "n", "cond": "go", "v_initial_0": "h", "body": "body"}
    assert loop["parameters"]["onnx_loop"] == {"function": "onnx::Loop", "args": args}
    (name, body), *rest = loop["parameters"]["body"]["value"].items()
    assert name == "graph_twice" and not rest
    assert [one["name"] for one in body["metadata"]["backedge"]["inputs"]] == ["i", "c", "v", "x"]
    assert [one["name"] for one in body["metadata"]["backedge"]["outputs"]] == ["d", "w"]
    greatest = body["nodes"]["Max_1"]
    assert list(greatest["input_ports"]) == ["onnx_v", "onnx_x"]
    args = {"data_0_0": "onnx_v", "data_0_1": "onnx_x", "data_0_2": "onnx_v"}
    assert greatest["parameters"]["onnx_max"]["args"] == args
    ends = ("sender", "sender_port", "receiver", "receiver_port")
    edges = {tuple(one[end] for end in ends) for one in graph["edges"].values()}
    assert edges == {
        ("x", "x", "Mul_0", "x"),
        ("Mul_0", "f", "Add_1", "f"),
        ("n", "n", "Loop_2", "n"),
        ("go", "go", "Loop_2", "go"),
        ("Add_1", "h", "Loop_2", "h"),
        ("x", "x", "Loop_2", "x"),
    }
    assert tree["g"]["metadata"]["backedge"]["inputs"][1] == {
        "name": "n",
        "node": "n",
        "port": "n",
        "type": "int64",
        "shape": [],
    }
    assert tree["g"]["metadata"]["backedge"]["outputs"] == [
        {"name": "y", "node": "Loop_2", "port": "y", "type": "float32", "shape": [2, 3]}
    ]


def test_a_changed_file_says_what_it_says_now() -> None:
    """Nodes and edges count, not what metadata might have kept of them."""
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 15]>
        g (float[2] x, float[2] v) => (float[2] y) <float[2] b = {1, 2}> { y = Sub (x, b) }""")
    tree = tree_from_model(written(model))
    graph = tree["g"]["graphs"]["g"]
    graph["nodes"]["Sub_0"]["parameters"]["b"]["value"] = [5, 6.5]
    graph["nodes"]["Sub_0"]["parameters"]["onnx_sub"]["function"] = "onnx::Div"
    (edge,) = graph["edges"].values()
    edge |= {"sender": "v", "sender_port": "v"}
    changed = to_onnx(from_model(model_from_tree(tree)))
    (node,) = changed.graph.node
    assert (node.op_type, list(node.input)) == ("Div", ["v", "b"])
    assert numpy_helper.to_array(changed.graph.initializer[0]).tolist() == [5.0, 6.5]


@pytest.mark.parametrize("kind", ["bool", "float32", "string"])
def test_types_that_no_version_takes_are_told(kind: str) -> None:
    """As of a file of ONNX: it would be written on, and no runtime would load it."""
    model = parse_model("""<ir_version: 8, opset_import: ["" : 13]>
        g (float[4, 4] x, int64[2, 2] at) => (float[2] y) { y = GatherND (x, at) }""")
    tree = tree_from_model(written(model))
    node = tree["g"]["graphs"]["g"]["nodes"]["at"]
    node["output_ports"]["at"]["type"] = kind
    for port in node["input_ports"].values():
        port["type"] = kind
    with pytest.raises(InvalidModel, match=rf"input 1 is {kind}\[2, 2\], which it doesn't take"):
        from_model(model_from_tree(tree))
