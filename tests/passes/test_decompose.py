"""Every decomposition, held against what onnx records of its operator, on the executor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx.defs
import pytest
from backedge.convert.hlo.lowering import to_hlo
from backedge.convert.mdf.lowering.prepare import COMPOSED
from backedge.convert.mdf.lowering.scope import EXPRESSIONS
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import to_openvino
from backedge.passes import decompose as decomposing
from backedge.passes.core import CORE, is_core
from backedge.passes.decompose import library
from backedge.passes.decompose.functions import body
from backedge.passes.decompose.library import DECOMPOSITIONS, by_function, decomposition, inlined, source
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph, Node
from backedge.passes.hub import HUB
from backedge.passes.infer import infer
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType
from backedge.runtime.executor import Executor, never_compile
from kernels.node_cases import Case, collected, differences

RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomUniform")


def of_decomposed_operators() -> list[Case]:
    found: list[Case] = []
    for case in collected().values():
        (node, *others) = case.model.graph.node
        if not others and (node.domain, node.op_type) in DECOMPOSITIONS and node.op_type not in RANDOM:
            found.append(case)
    return found


def decomposed(op: Builder, node: Node) -> Any:
    graph = decomposition(node, op.rewriter.notes) if node.op in DECOMPOSITIONS else None
    return op.copy(node) if graph is None else inlined(op, node, graph)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in of_decomposed_operators()])
def test_the_decomposition_gives_what_onnx_recorded(case: Case) -> None:
    graph = raise_graph(read_model(case.model))
    infer(graph)
    rewritten = Rewriter(HUB, {}, fallback=decomposed).run(graph)
    assert all(node.op not in DECOMPOSITIONS for _, node in rewritten.walk())
    infer(rewritten)
    for inputs, outputs in case.data:
        names = [value.name for value in rewritten.inputs]
        got = Executor(rewritten, never_compile).run(dict(zip(names, inputs, strict=True)))
        for name, expected in zip(got, outputs, strict=True):
            assert differences(got[name], expected) is None, name


def test_every_operator_is_core_or_has_one_decomposition() -> None:
    operators = [(entry.domain, entry.name) for entry in onnx.defs.get_all_schemas() if not entry.deprecated]
    assert len(operators) > 200
    assert [operator for operator in operators if not is_core(operator) and not source(operator)] == []
    assert [operator for operator in DECOMPOSITIONS if is_core(operator)] == []
    assert [operator for operator, rules in DECOMPOSITIONS.items() if len(rules) != 1] == []
    assert [operator for operator in operators if is_core(operator) and source(operator) == "function"] == []
    assert set(CORE) <= {name for domain, name in operators if not domain}


PASSES = Path(decomposing.__file__).parent.parent


@pytest.mark.parametrize("name", ["BatchNormalization", "LRN", "RNN", "Resize", "TopK", "QuantizeLinear", "ReduceL2"])
def test_an_operator_stands_in_one_place(name: str) -> None:
    """One row of the core, one decomposition, or the steps between its versions: what a text search finds of it."""
    rules = re.compile(rf'^@rule\(.*"{name}"', re.MULTILINE)
    rows = re.compile(rf'_rows\("[^"]*", "([^"]* )?{name}[ "]')
    decompositions = [path for path in (PASSES / "decompose").glob("*.py") if path.name != "equivalents.py"]
    found = sum(len(rules.findall(path.read_text())) for path in decompositions)
    assert found == (source(("", name)) == "table")
    assert len(rows.findall((PASSES / "core.py").read_text())) == is_core(("", name))
    assert is_core(("", name)) + bool(source(("", name))) == 1


def test_what_targets_have_rules_for_is_known_to_the_hub() -> None:
    """Rules of a target's own are for operators that the tables know: core ones, or decomposed ones said natively."""
    native = {**to_hlo.RULES, **to_openvino.RULES, **COMPOSED, **{("", name): [] for name in EXPRESSIONS}}
    operators = {(entry.domain, entry.name) for entry in onnx.defs.get_all_schemas()}
    known = [key for key in native if key in operators]
    assert len(known) > 100
    assert [key for key in known if not is_core(key) and not source(key)] == []


def test_core_operators_of_numbers_have_rules_in_hlo_and_mdf() -> None:
    others = ("container", "control", "text", "image")
    core = [("", name) for name, operator in CORE.items() if operator.family not in others]
    assert [key for key in core if key not in to_hlo.RULES] == []
    without = [name for _, name in core if name not in EXPRESSIONS and ("", name) not in COMPOSED]
    assert sorted(without) == [
        "BitCast",
        "GatherElements",
        "GatherND",
        "RandomNormalLike",
        "RandomUniformLike",
        "Unique",
    ]


def test_bernoulli_is_1_with_the_probability_that_is_given() -> None:
    """ONNX's function body is 0 with it."""
    (case,) = (case for case in collected().values() if case.name == "test_bernoulli")
    graph = raise_graph(read_model(case.model))
    infer(graph)
    rewritten = Rewriter(HUB, {}, fallback=decomposed).run(graph)
    infer(rewritten)
    chances = np.zeros(case.data[0][0][0].shape, case.data[0][0][0].dtype)
    for chance in (0, 1):
        made = Executor(rewritten, never_compile).run({rewritten.inputs[0].name: chances + chance})
        assert (next(iter(made.values())) == chance).all()


def test_every_normalization_is_decomposed_once() -> None:
    names = ("BatchNormalization", "InstanceNormalization", "LpNormalization", "LRN")
    for name in names:
        assert len(DECOMPOSITIONS["", name]) == 1
    covered = {case.model.graph.node[0].op_type for case in of_decomposed_operators()}
    assert covered.issuperset(names)


def test_a_norm_of_another_order_is_refused_by_name() -> None:
    (case,) = (case for case in of_decomposed_operators() if case.name == "test_l2normalization_axis_1")
    graph = raise_graph(read_model(case.model))
    infer(graph)
    ((_, node),) = graph.walk()
    node.attributes["p"] = 3
    with pytest.raises(Unsupported, match="a norm of order 3"):
        decomposition(node, [])


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_an_offset_of_large_size_costs_no_digits(dtype: Any) -> None:
    """Distances from the mean are squared, not numbers: 1000 + noise has the variance of the noise."""
    (case,) = (case for case in of_decomposed_operators() if case.name == "test_instancenorm_example")
    x = (np.arange(12).reshape(1, 2, 1, 6) % 3 + 1000).astype(dtype)
    model = case.model.__class__.FromString(case.model.SerializeToString())
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = {np.float16: 10, np.float64: 11}[dtype]
        value.type.tensor_type.ClearField("shape")
    model.graph.input[0].type.tensor_type.shape.CopyFrom(case.model.graph.input[0].type.tensor_type.shape)
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, x.shape, strict=True):
        dim.dim_value = size
    graph = raise_graph(read_model(model))
    infer(graph)
    rewritten = Rewriter(HUB, {}, fallback=decomposed).run(graph)
    got = Executor(rewritten, never_compile).run({"x": x, "s": np.ones(2, dtype), "bias": np.zeros(2, dtype)})["y"]
    assert got.dtype == dtype
    wanted = np.array([-1.0, 0.0, 1.0] * 2) / np.sqrt(2 / 3)
    np.testing.assert_allclose(got[0, 0, 0].astype(np.float64), wanted, atol=1e-3 if dtype == np.float16 else 1e-4)


def test_a_node_that_its_operators_own_function_refuses() -> None:
    op = Builder(Rewriter(HUB, {}), Graph("hub", "g"))
    x = op.input("x", TensorType(DType.FLOAT32, (1, 8, 2, 3)))
    node = op.DepthToSpace(x, blocksize=2**63 - 1).producer
    with pytest.raises(InvalidModel, match=r"contradicts its operator: .*overflow"):
        decomposition(node, [])


def leaky(alpha: float, name: str, size: int = 2) -> Node:
    """y = x where x >= 0, else x * alpha; y is called `name`."""
    op = Builder(Rewriter(HUB, {}), Graph("hub", "g"))
    value = op.LeakyRelu(op.input("x", TensorType(DType.FLOAT32, (size,))), alpha=alpha)
    value.name = name
    return value.producer


def computed_by_its_function(node: Node, x: np.ndarray) -> np.ndarray:
    graph = by_function(node)
    assert graph is not None
    (given,), (result,) = graph.inputs, graph.outputs
    assert result.name == node.output.name
    return Executor(graph, never_compile).run({given.name: x})[result.name]


def test_a_function_body_is_made_once_for_nodes_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Node] = []

    def counted(node: Node, newest: bool = False) -> Graph | None:
        made.append(node)
        return body(node, newest)

    monkeypatch.setattr(library, "body", counted)
    monkeypatch.setattr(library, "_memory", {})
    x, wanted = np.array([-2, 3], np.float32), np.array([-0.5, 3], np.float32)
    for number in range(50):
        np.testing.assert_array_equal(computed_by_its_function(leaky(0.25, f"y{number}"), x), wanted)
    names = {node.op_type for node in made}
    assert "LeakyRelu" in names
    assert len(made) == len(names)


def test_a_function_body_is_that_of_the_attributes_types_and_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that are equal for Python alone are told apart, and what is done to one result doesn't reach others."""
    monkeypatch.setattr(library, "_memory", {})
    x, wanted = np.array([-2, 3], np.float32), np.array([-0.5, 3], np.float32)
    assert np.signbit(computed_by_its_function(leaky(0.0, "a"), x)[0])
    assert not np.signbit(computed_by_its_function(leaky(-0.0, "b"), x)[0])
    first = by_function(leaky(0.25, "a"))
    assert first is not None
    first.outputs = list(first.inputs)
    np.testing.assert_array_equal(computed_by_its_function(leaky(0.25, "c"), x), wanted)
    assert computed_by_its_function(leaky(0.25, "d", 3), np.zeros(3, np.float32)).shape == (3,)
    for size in (3, 4):
        op = Builder(Rewriter(HUB, {}), Graph("hub", "g"))
        window = by_function(op.HannWindow(op.const(size)).producer)
        assert window is not None
        (found,) = Executor(window, never_compile).run({}).values()
        np.testing.assert_allclose(found, np.sin(np.pi * np.arange(size) / size) ** 2, atol=1e-6)
