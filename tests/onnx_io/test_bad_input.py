"""A bad file gets one clear line, whatever is wrong with it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read, read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import BackedgeError, InvalidModel
from backedge.passes.infer import infer
from backedge.passes.types import tensor
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.parser import parse_model


def loop_model() -> ModelProto:
    return parse_model("""
        <ir_version: 8, opset_import: ["" : 16]>
        g (int64 m, float x) => (float y, float[T] all)
        <float[2] w = {1.0, 2.0}>
        {
            y, all = Loop (m, , x) <body = b (int64 i, bool c, float v) => (bool co, float vo, float s) {
                co = Identity(c)  vo = Add(v, v)  s = Identity(v)
            }>
        }
    """)


def body(model: ModelProto) -> onnx.GraphProto:
    return model.graph.node[0].attribute[0].g


def undeclared_input(model: ModelProto) -> None:
    model.graph.node[0].input[2] = "nobody"


def undeclared_in_body(model: ModelProto) -> None:
    body(model).node[1].input[0] = "nobody"


def cycle(model: ModelProto) -> None:
    inner = body(model)
    inner.node[1].input[0] = "s"
    inner.node[2].input[0] = "vo"


def twice(model: ModelProto) -> None:
    body(model).node[1].output[0] = "co"


def missing_output(model: ModelProto) -> None:
    model.graph.output[0].name = "nobody"


def no_opset(model: ModelProto) -> None:
    del model.opset_import[:]


def two_opsets(model: ModelProto) -> None:
    model.opset_import.add(domain="", version=9)


def short_data(model: ModelProto) -> None:
    model.graph.initializer[0].dims[0] = 3


def absurd_shape(model: ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [10**18, 10**9]


def negative_shape(model: ModelProto) -> None:
    model.graph.initializer[0].dims[0] = -2


def nothing_of_a_shape_beyond_arrays(model: ModelProto) -> None:
    model.graph.initializer[0].CopyFrom(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**60, 0]))


def sparse_model(indices: list[int], dims: list[int], rank: list[int] | None = None) -> Callable[[ModelProto], None]:
    def damage(model: ModelProto) -> None:
        del model.graph.initializer[:]
        values = helper.make_tensor("w", TensorProto.FLOAT, [2], [1.0, 2.0])
        places = helper.make_tensor("", TensorProto.INT64, rank or [len(indices)], indices)
        model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, dims))

    damage.__name__ = f"sparse_{indices}_of_{dims}"
    return damage


def unknown_type(model: ModelProto) -> None:
    model.graph.initializer[0].data_type = 99


def same_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])


def no_graph(model: ModelProto) -> None:
    model.ClearField("graph")


def nameless_input(model: ModelProto) -> None:
    model.graph.input.add()


def default_of_another_type(model: ModelProto) -> None:
    model.graph.input.add().CopyFrom(helper.make_tensor_value_info("w", TensorProto.BOOL, [2]))


def default_of_another_rank(model: ModelProto) -> None:
    model.graph.input.add().CopyFrom(helper.make_tensor_value_info("w", TensorProto.FLOAT, []))


BROKEN = [
    undeclared_input, undeclared_in_body, cycle, twice, missing_output, no_opset, two_opsets, short_data,
    absurd_shape, negative_shape, unknown_type, same_attribute, no_graph, nameless_input,
    default_of_another_type, default_of_another_rank, nothing_of_a_shape_beyond_arrays,
    sparse_model([0, -1], [4]), sparse_model([0, 4], [4]), sparse_model([0, 1, 2], [4]), sparse_model([0, 1], [2**60]),
    sparse_model([0, 1], [-4, -4]), sparse_model([0, 0, 0, 2], [2, 2], [2, 2]), sparse_model([0, 0], [2, 2], [2, 1]),
]  # fmt: skip


@pytest.mark.parametrize("damage", BROKEN, ids=lambda damage: damage.__name__)
def test_damaged_model(damage: Callable[[ModelProto], None]) -> None:
    model = loop_model()
    read_model(model)
    damage(model)
    with pytest.raises(InvalidModel) as caught:
        read_model(model)
    assert "\n" not in str(caught.value)


def test_constant_that_is_declared_another_type() -> None:
    """ONNX Runtime goes by the data, too."""
    model = loop_model()
    model.graph.value_info.add().CopyFrom(helper.make_tensor_value_info("w", TensorProto.BOOL, [3]))
    (constant,) = read_model(model).constants
    assert constant.type == tensor("float32", 2)


def too_few_body_inputs(model: ModelProto) -> None:
    del body(model).input[2]
    body(model).node[1].input[:] = ["x", "x"]
    body(model).node[2].input[:] = ["x"]


def too_few_body_outputs(model: ModelProto) -> None:
    del body(model).output[1:]


def no_body(model: ModelProto) -> None:
    del model.graph.node[0].attribute[:]


@pytest.mark.parametrize("damage", [too_few_body_inputs, too_few_body_outputs, no_body])
def test_body_of_wrong_arity(damage: Callable[[ModelProto], None]) -> None:
    model = loop_model()
    damage(model)
    with pytest.raises(InvalidModel, match="Loop"):
        raise_graph(read_model(model))


def test_function_that_calls_itself() -> None:
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 16, "f" : 1]>
        g (float x) => (float y) { y = f.A (x) }
        <opset_import: ["" : 16, "f" : 1], domain: "f"> A (p) => (q) { q = f.B (p) }
        <opset_import: ["" : 16, "f" : 1], domain: "f"> B (p) => (q) { q = f.A (p) }
    """)
    with pytest.raises(InvalidModel, match="calls itself"):
        raise_graph(read_model(model))


@pytest.mark.parametrize("opset", [13, 17])
def test_functions_that_double_each_other(opset: int) -> None:
    """Kilobytes that would be 2**40 nodes; 2**4 are a model like any other."""

    def model(count: int) -> ModelProto:
        functions = ['<opset_import: ["" : 17, "f" : 1], domain: "f"> F0 (p) => (q) { q = Neg (p) }']
        for n in range(1, count + 1):
            body = f"r = f.F{n - 1} (p) q = f.F{n - 1} (r)"
            functions.append(f'<opset_import: ["" : 17, "f" : 1], domain: "f"> F{n} (p) => (q) {{ {body} }}')
        main = f"g (float[2] x) => (float[2] y) {{ y = f.F{count} (x) }}"
        return parse_model("\n".join(['<ir_version: 8, opset_import: ["" : 17, "f" : 1]>', main, *functions]))

    assert [node.op_type for node in raise_graph(read_model(model(4))).nodes].count("Neg") == 16
    assert change_opset(read_model(model(4)), opset).nodes
    with pytest.raises(InvalidModel, match="nodes become over 2000000"):
        raise_graph(read_model(model(40)))
    with pytest.raises(InvalidModel, match="nodes become over 2000000"):
        change_opset(read_model(model(40)), opset)


def message(*fields: tuple[int, bytes | str]) -> bytes:
    """A protobuf message of length-delimited fields, however deep (the library refuses to build deep ones)."""
    parts = []
    for number, content in fields:
        raw = content.encode() if isinstance(content, str) else content
        size, length = len(raw), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        parts.append(bytes([number << 3 | 2]) + length + bytes([size]) + raw)
    return b"".join(parts)


def test_absurd_nesting(tmp_path: Path) -> None:
    graph = message((2, "leaf"))
    for _ in range(500):
        attribute = message((1, "then_branch"), (6, graph)) + b"\xa0\x01\x05"
        graph = message((1, message((2, "y"), (4, "If"), (5, attribute))), (2, "g"))
    path = tmp_path / "deep.onnx"
    path.write_bytes(b"\x08\x08" + message((7, graph)))
    with pytest.raises(InvalidModel):
        read(path)


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not onnx at all", b"\x08\x08\x12"])
def test_no_model(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(InvalidModel):
        read(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("location", "../secret.bin"),
        ("location", "/etc/passwd"),
        ("location", "sub/../../secret.bin"),
        ("location", "link.bin"),
        ("location", "missing.bin"),
        ("location", ""),
        ("location", "."),
        ("offset", "100000"),
        ("offset", "-8"),
        ("offset", "x"),
        ("length", "12"),
    ],
)
def test_external_data_elsewhere(tmp_path: Path, key: str, value: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(64))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    tensor = numpy_helper.from_array(np.zeros(16, np.float32), "w")
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["w"], ["y"])],
            "g",
            [],
            [helper.make_tensor_value_info("y", 1, [16])],
            [tensor],
        ),
        ir_version=10,
    )
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    read(folder / "m.onnx")
    broken = onnx.load(folder / "m.onnx", load_external_data=False)
    entries = broken.graph.initializer[0].external_data
    for entry in [entry for entry in entries if entry.key == key]:
        entries.remove(entry)
    entries.add(key=key, value=value)
    (folder / "m.onnx").write_bytes(broken.SerializeToString())
    with pytest.raises(InvalidModel) as caught:
        read(folder / "m.onnx")
    assert "\n" not in str(caught.value)


def test_truncated_and_flipped(tmp_path: Path) -> None:
    """Whatever the damage: a graph, or one line."""
    cases = collect_testcases(None)
    control_flow = [case for case in cases if any(name in case.name for name in ("loop", "scan", "_if_"))]
    random_ = random.Random(11)
    path = tmp_path / "m.onnx"
    refused = 0
    for number in range(400):
        raw = bytearray(random_.choice(control_flow if number % 3 == 0 else cases).model.SerializeToString())
        if number % 2:
            raw = raw[: random_.randrange(len(raw))]
        else:
            for _ in range(random_.choice([1, 2, 5])):
                raw[random_.randrange(len(raw))] ^= 1 << random_.randrange(8)
        path.write_bytes(raw)
        try:
            graph = read(path)
            to_model(graph)
            infer(raise_graph(graph))
        except BackedgeError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 200 < refused < 400


EQUATIONS = {
    **dict.fromkeys(("", "->", "...", "ij,jk->ik", "i j , j k", "...ij->ij...", "Aa,aB->AB", ",->"), True),
    **dict.fromkeys(("-", ">>", "-->>", "->->", "->,", "i->j,k", "i.j", "....", "..", "i1", "é", "i;j"), False),
}


@pytest.mark.parametrize(("equation", "is_one"), EQUATIONS.items())
@pytest.mark.timeout(60)
def test_equations_of_einsum(tmp_path: Path, equation: str, is_one: bool) -> None:
    """ONNX's own inference never ends on some that are none, where no signal reaches the process either."""
    terms = equation.partition("->")[0].split(",")
    nodes = [helper.make_node("Einsum", ["x"] * len(terms), ["y"], equation=equation)]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")  # of any rank
    proto = helper.make_graph(nodes, "g", [x], [y])
    onnx.save(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    if is_one:
        graph = read(tmp_path / "m.onnx")
        infer(graph)
        assert graph.nodes[0].attributes["equation"] == equation
        return
    with pytest.raises(InvalidModel, match="is no equation"):
        read(tmp_path / "m.onnx")
