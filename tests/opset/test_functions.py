"""Model-local functions at other opsets: kept where files have them, inlined where something hangs on the call."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import InvalidModel, Unsupported
from onnx.reference import ReferenceEvaluator

from .harness import f32


def _converted(text: str, opset: int) -> tuple[onnx.ModelProto, list[str], list[tuple[str, str, int]]]:
    """The checked model, its notes and (operator, how, cost) of its changes."""
    graph = to_dialect(read_model(onnx.parser.parse_model(text)), FORMATS["onnx"], opset)
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    changes = [(change.operator, change.how, change.cost) for change in graph.meta["changes"]]
    return model, graph.meta.get("notes", []), changes


def _run(model: onnx.ModelProto, *inputs: np.ndarray) -> list[np.ndarray]:
    feeds = dict(zip([info.name for info in model.graph.input], inputs, strict=True))
    return list(ReferenceEvaluator(model).run(None, feeds))  # type: ignore[arg-type]


def _run_ort(model: onnx.ModelProto, *inputs: object) -> list[np.ndarray]:
    """For loops, which onnx's reference gets wrong, and functions that stand before those that they call."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(
        None, {info.name: np.asarray(one) for info, one in zip(session.get_inputs(), inputs, strict=True)}
    )


OWN_IMPORTS = """<ir_version: 8, opset_import: ["" : 17, "own" : 3]>
main (float[2, 3] x) => (float[2, 1] y) { s = own.Twice (x) y = own.Rows (s) }
<opset_import: ["" : 11], domain: "own"> Twice (a) => (b) { b = Add (a, a) }
<opset_import: ["" : 18], domain: "own"> Rows (a) => (b) {
    axes = Constant <value_ints = [1]> ()
    b = ReduceMax (a, axes)
}
"""


@pytest.mark.parametrize("opset", [15, 16, 18, 21, 28])
def test_each_function_is_converted_by_its_own_imports(opset: int) -> None:
    model, notes, _ = _converted(OWN_IMPORTS, opset)
    assert not notes
    assert [function.name for function in model.functions] == ["Twice", "Rows"]
    for function in model.functions:
        assert {entry.domain: entry.version for entry in function.opset_import} == {"": opset}
    assert {entry.domain: entry.version for entry in model.opset_import} == {"": opset, "own": 3}
    [y] = _run(model, f32([1, -2, 3], [4, 5, -6]))
    np.testing.assert_array_equal(y, f32([6], [10]))


@pytest.mark.parametrize("opset", [7, 9, 11, 13, 14])
def test_before_ir_8_functions_are_inlined(opset: int) -> None:
    model, notes, changes = _converted(OWN_IMPORTS, opset)
    assert not model.functions
    assert {entry.domain for entry in model.opset_import} == {""}
    assert len(notes) == 2 and all("inlined" in note for note in notes)
    assert ("own.Twice", "inlined", 0) in changes
    [y] = _run(model, f32([1, -2, 3], [4, 5, -6]))
    np.testing.assert_array_equal(y, f32([6], [10]))


def test_what_hangs_on_an_attribute_of_the_call_is_inlined() -> None:
    """Softmax before 13 needs its axis, which each call gives."""
    text = """<ir_version: 8, opset_import: ["" : 12, "own" : 1]>
    main (float[2, 2, 2] x) => (float[2, 2, 2] y, float[2, 2, 2] z) {
        y = own.Soft <axis = 1> (x)
        z = own.Soft <axis = 2> (x)
    }
    <opset_import: ["" : 12], domain: "own"> Soft <axis> (a) => (c) { b = Softmax <axis: int = @axis> (a) c = Neg (b) }
    """
    model, notes, _ = _converted(text, 21)
    assert not model.functions
    assert notes and "own.Soft is inlined" in notes[0]
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)

    def softmax(flat: np.ndarray) -> np.ndarray:
        e = np.exp(flat - flat.max(-1, keepdims=True))
        return -(e / e.sum(-1, keepdims=True))

    y, z = _run(model, x)
    np.testing.assert_allclose(y, softmax(x.reshape(2, 4)).reshape(2, 2, 2), rtol=1e-6)
    np.testing.assert_allclose(z, softmax(x.reshape(4, 2)).reshape(2, 2, 2), rtol=1e-6)


@pytest.mark.parametrize("given", ["floats = []", "floats = [0.5]", 'string = "steep"'])
@pytest.mark.parametrize("nested", [False, True])
def test_what_a_call_gives_is_of_the_operators_type(given: str, nested: bool) -> None:
    step = "b = LeakyRelu <alpha : float = @slope> (a)"
    branches = f"then_branch = t () => (b) {{ {step} }}, else_branch = e () => (c) {{ c = Neg (a) }}"
    body = f"b = If <{branches}> (p)" if nested else step
    text = f"""<ir_version : 9, opset_import : ["" : 16, "local" : 1]>
        g (bool p, float[3] x) => (float[3] y) {{ y = local.pick <slope : {given}> (p, x) }}
        <domain : "local", opset_import : ["" : 16]> pick <slope> (p, a) => (b) {{ {body} }}"""
    graph = read_model(onnx.parser.parse_model(text))
    with pytest.raises(InvalidModel, match=r"LeakyRelu-16 .*: attribute alpha is .*, which is no FLOAT"):
        to_hub(graph)


def test_functions_that_call_functions_and_one_that_has_to_go() -> None:
    """Inner needs the rank of what it gets, which differs between its two calls; Outer stays."""
    text = """<ir_version: 8, opset_import: ["" : 12, "own" : 1]>
    main (float[2, 2] x, float[1, 2, 2] z) => (float[2, 2] y, float[1, 2, 2] w) {
        y = own.Outer (x)
        w = own.Outer (z)
    }
    <opset_import: ["" : 12, "own" : 1], domain: "own"> Outer (a) => (c) { b = own.Inner (a) c = Neg (b) }
    <opset_import: ["" : 12], domain: "own"> Inner (a) => (b) { b = Hardmax (a) }
    """
    model, _, _ = _converted(text, 18)
    x = f32([1, 2], [4, 3])
    y, w = _run_ort(model, x, x[None])
    np.testing.assert_array_equal(y, -f32([0, 1], [1, 0]))
    np.testing.assert_array_equal(w, -f32([0, 0], [1, 0])[None])


def test_a_loop_inside_a_function() -> None:
    text = """<ir_version: 8, opset_import: ["" : 16, "own" : 1]>
    main (int64 n, float x) => (float y, float[k] z) { y, z = own.Powers (n, x) }
    <opset_import: ["" : 16], domain: "own"> Powers (count, base) => (last, all) {
        go = Constant <value = bool {1}> ()
        one = CastLike (go, base)
        last, all = Loop (count, go, one) <body = powers (int64 i, bool c, float p) => (bool c_out, float q, float r) {
            c_out = Identity (c)
            q = Mul (p, base)
            r = Identity (q)
        }>
    }
    """
    for opset in (15, 21, 25):
        model, notes, _ = _converted(text, opset)
        assert not notes and len(model.functions) == 1
        y, z = _run_ort(model, np.int64(3), np.float32(2))
        np.testing.assert_array_equal(y, np.float32(8))
        np.testing.assert_array_equal(z, f32(2, 4, 8))


def test_a_function_called_inside_a_loop_body() -> None:
    text = """<ir_version: 8, opset_import: ["" : 16, "own" : 1]>
    main (int64 n, float[2] x) => (float[2] y) {
        go = Constant <value = bool {1}> ()
        y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] p) => (bool d, float[2] q) {
            d = Identity (c)
            q = own.Twice (p)
        }>
    }
    <opset_import: ["" : 13], domain: "own"> Twice (a) => (b) { b = Add (a, a) }
    """
    for opset, kept in ((21, 1), (15, 1), (11, 0)):
        model, _, _ = _converted(text, opset)
        assert len(model.functions) == kept
        [y] = _run_ort(model, np.int64(3), f32(1, -1))
        np.testing.assert_array_equal(y, f32(8, -8))


def test_overloads_stay_apart() -> None:
    model = onnx.parser.parse_model(OWN_IMPORTS)
    model.ir_version = 10
    for function, name in zip(model.functions, ("one", "two"), strict=True):
        function.name, function.overload = "F", name
    for node, name in zip(model.graph.node, ("one", "two"), strict=True):
        node.op_type, node.overload = "F", name
    made = to_model(to_dialect(read_model(model), FORMATS["onnx"], 21))
    assert [(function.name, function.overload) for function in made.functions] == [("F", "one"), ("F", "two")]
    assert [(node.op_type, node.overload) for node in made.graph.node] == [("F", "one"), ("F", "two")]
    onnx.checker.check_model(made)


def test_a_function_that_can_not_be_said_at_all_is_refused() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    main (string[2] x) => (string[2, n] y, int64[2] z) { y, z = own.Parts (x) }
    <opset_import: ["" : 20], domain: "own"> Parts (a) => (b, c) { b, c = StringSplit (a) }
    """
    with pytest.raises(Unsupported, match="StringSplit"):
        _converted(text, 18)


def test_a_function_nobody_calls_may_hold_what_can_not_be_said() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20, "own" : 1]>
    main (float[2] x) => (float[2] y) { y = Neg (x) }
    <opset_import: ["" : 20], domain: "own"> Parts (a) => (b, c) { b, c = StringSplit (a) }
    """
    model, notes, _ = _converted(text, 18)
    assert not model.functions
    assert notes and "StringSplit" in notes[0]


def test_a_body_that_onnx_leaves_half_made() -> None:
    """Of an operator one of whose types nobody knows: it is refused by what it is, not by the rest of a body."""
    text = """<ir_version: 11, opset_import: ["" : 23, "own" : 1]>
    g (float[2, 4, 24] q, float[2, 6, 24] k, float[2, 6, 24] v) => (float[2, 4, 24] y) {
      mask = own.Mask (q)
      y = Attention <kv_num_heads = 3, q_num_heads = 3> (q, k, v, mask)
    }"""
    with pytest.raises(Unsupported, match="Attention came with version 23"):
        to_dialect(read_model(onnx.parser.parse_model(text)), FORMATS["onnx"], 13)


TREES = """<ir_version: 8, opset_import: ["" : 14, "ai.onnx.ml" : 3, "own" : 1]>
main (float[2, 1] x) => (float[2, 1] y) { y = own.Tree (x) }
<opset_import: ["" : 14, "ai.onnx.ml" : 3], domain: "own"> Tree (a) => (b) {
    c = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
        nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], nodes_featureids = [0, 0, 0],
        nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0], target_treeids = [0, 0],
        target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [-1.5, 2.5]> (a)
    b = HardSigmoid (c)
}
"""


@pytest.mark.parametrize("opset", [15, 17, 21])
def test_domains_that_only_functions_use_are_imported(opset: int) -> None:
    """ONNX Runtime takes the newest version of a domain that a model doesn't import, whatever its functions say;
    ai.onnx.ml's has no TreeEnsembleRegressor any more."""
    model, _, _ = _converted(TREES, opset)
    assert [function.name for function in model.functions] == ["Tree"]
    [y] = _run_ort(model, f32([0], [1]))
    np.testing.assert_allclose(y, f32([0.2], [1.0]), rtol=1e-6)


def test_constants_of_a_function_that_nothing_uses_go() -> None:
    """Opset 18 has no float8, which hinders nobody here."""
    text = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
    main (float[1] x) => (float[1] y) { y = own.Minus (x) }
    <opset_import: ["" : 21], domain: "own"> Minus (a) => (b) {
        unused = Constant <value_float = 1.0> () b = Neg (a) }"""
    graph = read_model(onnx.parser.parse_model(text))
    (function,) = graph.functions.values()
    function.graph.add_constant(np.array([39], np.uint8).view(ml_dtypes.float8_e4m3fn))
    model = to_model(to_dialect(graph, FORMATS["onnx"], 18))
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.functions[0].node] == ["Neg"]
    np.testing.assert_array_equal(_run_ort(model, f32(2.5))[0], f32(-2.5))


def test_attention_of_two_types_is_no_product() -> None:
    """ONNX defines it by a MatMul of the one and the other, which nobody loads."""
    text = """<ir_version: 10, opset_import: ["" : 23]>
    main (float[1, 1, 2, 3] q, float[1, 1, 2, 3] k, float16[1, 1, 2, 3] v) => (float[1, 1, 2, 3] y) {
        y = Attention (q, k, v) }"""
    with pytest.raises(Unsupported, match="queries of float32 and values of float16"):
        to_dialect(read_model(onnx.parser.parse_model(text)), FORMATS["onnx"], 18)
