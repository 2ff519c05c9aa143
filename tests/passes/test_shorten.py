"""Graphs become as short as they are expected to, and compute what they did."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.lowering import lower_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.passes.protos import ENUMS
from backedge.passes.structure.shorten import Shorten
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor, never_compile
from onnx import parser

ONE, AXIS = "int64[1] one = {1}", "int64[1] zero = {0}"

WRITTEN_OUT = (
    "c = ReduceMean<keepdims=1>(x, ax) d = Sub(x, c) e = Mul(d, d) f = ReduceMean<keepdims=1>(e, ax) g = Add(f, eps)"
    "h = Sqrt(g) n = Div(d, h)"
)
SELECTED = (
    "c = Less(x, z) d = Less(x, two) e = Less(z, two) p = Add(x, z) q = Mul(x, z)"
    "u = Unsqueeze(c, zero) v = Unsqueeze(d, zero) w = Unsqueeze(e, zero) s = Concat<axis=0>(never, u, v, w)"
    "t = Cast<to=6>(s) k = ArgMax<axis=0, keepdims=0>(t) low = Less(k, i1) middle = Less(k, i2) high = Less(k, i3)"
)
CHOICES = (
    "float two = {2}, int64 i1 = {1}, int64 i2 = {2}, int64 i3 = {3}, bool[1, 9] never = {0, 0, 0, 0, 0, 0, 0, 0, 0}, "
    + AXIS
)
ROWS = {
    # sorts
    "first_of_sorted": (
        "float[2, 9] x",
        "v, i = TopK<largest=0>(x, n) j = Cast<to=6>(i) a = Slice(v, zero, k, last) b = Slice(j, zero, k, last)"
        "c = Cast<to=1>(b) y = Add(a, c)",
        "TopK Cast Cast Add",
        "int64[1] n = {9}, int64[1] k = {4}, int64[1] last = {-1}, " + AXIS,
    ),
    "first_that_sorted_indices_take": (
        "float[9, 2] x, float[9, 2] z",
        "v, i = TopK<axis=0>(x, n) a = GatherElements(z, i) y = Slice(a, zero, k, zero)",
        "TopK GatherElements",
        "int64[1] n = {9}, int64[1] k = {4}, " + AXIS,
    ),
    "last_of_sorted": (
        "float[2, 9] x",
        "v, i = TopK<largest=0>(x, n) y = Slice(v, k, n, one)",
        "TopK Slice",
        "int64[1] n = {9}, int64[1] k = {4}, " + ONE,
    ),
    "first_of_another_axis": (
        "float[2, 9] x",
        "v, i = TopK<largest=0>(x, n) y = Slice(v, zero, one, zero)",
        "TopK Slice",
        "int64[1] n = {9}, " + ONE + ", " + AXIS,
    ),
    "first_of_sorted_that_is_used_as_a_whole": (
        "float[2, 9] x",
        "v, i = TopK<largest=0>(x, n) a = Slice(v, zero, one, one) y = Sub(v, a)",
        "TopK Slice Sub",
        "int64[1] n = {9}, " + ONE + ", " + AXIS,
    ),
    "first_of_unsorted": (
        "float[2, 9] x",
        "v, i = TopK<sorted=0>(x, n) a = Slice(v, zero, one, one) y = Neg(a)",
        "TopK Slice Neg",
        "int64[1] n = {9}, " + ONE + ", " + AXIS,
    ),
    # choices
    "first_condition_that_holds": (
        "float[9] x, float[9] z",
        SELECTED + "a = Where(low, x, z) b = Where(high, p, q) y = Where(middle, a, b)",
        "Less Less Less Add Mul Where Where Where",
        CHOICES,
    ),
    "first_condition_in_a_chain": (
        "float[9] x, float[9] z",
        SELECTED + "a = Where(high, p, q) b = Where(middle, z, a) y = Where(low, x, b)",
        "Less Less Less Add Mul Where Where Where",
        CHOICES,
    ),
    "first_condition_of_which_some_give_the_same": (
        "float[9] x, float[9] z",
        SELECTED + "a = Where(low, x, q) b = Where(high, q, x) f = Where(middle, a, b) y = Add(f, p)",
        "Less Less Add Mul Where Where Add",
        CHOICES,
    ),
    "first_condition_for_a_larger_choice": (
        "float[9] x, float[9] z, float[2, 9] g",
        SELECTED + "a = Where(low, x, g) b = Where(high, p, q) y = Where(middle, a, b)",
        "Less Less Less Add Mul Unsqueeze Unsqueeze Unsqueeze Concat Cast ArgMax Less Less Less Where Where Where",
        CHOICES,
    ),
    "last_condition_that_holds": (
        "float[9] x, float[9] z",
        SELECTED.replace("ArgMax<", "ArgMax<select_last_index=1, ")
        + "a = Where(low, x, z) b = Where(high, p, q) y = Where(middle, a, b)",
        "Less Less Less Add Mul Unsqueeze Unsqueeze Unsqueeze Concat Cast ArgMax Less Less Less Where Where Where",
        CHOICES,
    ),
    # order
    "transposes_cancel": (
        "float[2, 3, 4] x",
        "a = Transpose<perm=[1, 0, 2]>(x) b = Transpose<perm=[1, 0, 2]>(a) y = Neg(b)",
        "Neg",
    ),
    "transposes_join": (
        "float[2, 3, 4] x",
        "a = Transpose<perm=[1, 2, 0]>(x) y = Transpose<perm=[1, 2, 0]>(a)",
        "Transpose",
    ),
    "transpose_default_twice": ("float[A, B, C] x", "a = Transpose(x) b = Transpose(a) y = Neg(b)", "Neg"),
    "transpose_of_one_kept": (
        "float[2, 3] x",
        "a = Transpose(x) b = Neg(a) y = Concat<axis=0>(a, b)",
        "Transpose Neg Concat",
    ),
    "transpose_of_both_behind": (
        "float[2, 3] x",
        "a = Transpose(x) b = Neg(a) c = Add(a, b) y = Transpose(c)",
        "Neg Add",
    ),
    "transpose_that_meets_none": ("float[2, 3] x", "a = Transpose(x) b = Neg(a) y = Add(a, b)", "Transpose Neg Add"),
    "transpose_between_views": (
        "float[2, 3, 4] x",
        "a = Unsqueeze(x, ax) b = Transpose<perm=[0, 1, 3, 2]>(a) c = Squeeze(b, ax) y = Neg(c)",
        "Transpose Neg",
        "int64[1] ax = {1}",
    ),
    "transpose_between_views_of_another_one": (
        "float[1, 3, 4] x",
        "a = Unsqueeze(x, ax) b = Transpose<perm=[1, 3, 2, 0]>(a) c = Squeeze(b, ax) y = Neg(c)",
        "Transpose Neg",
        "int64[1] ax = {0}",
    ),
    "transpose_handed_out": ("float[2, 3] x", "a = Transpose(x) y = Transpose(a)", "Identity"),
    "transpose_of_constant": (
        "float[2, 3] x",
        "a = Transpose(w) y = MatMul(x, a)",
        "MatMul",
        "float[2, 3] w = {1, 2, 3, 4, 5, 6}",
    ),
    "transpose_of_ones_is_a_view": (
        "float[4, 1, 3] x",
        "a = Transpose<perm=[1, 0, 2]>(x) b = Reshape(a, s) y = Neg(b)",
        "Reshape Neg",
        "int64[2] s = {6, 2}",
    ),
    # shape
    "reshapes_join": (
        "float[2, 6] x",
        "a = Reshape(x, s) y = Reshape(a, t)",
        "Reshape",
        "int64[1] s = {12}, int64[3] t = {3, 2, 2}",
    ),
    "reshapes_cancel": (
        "float[2, 6] x",
        "a = Reshape(x, s) b = Reshape(a, t) y = Neg(b)",
        "Neg",
        "int64[1] s = {12}, int64[2] t = {2, 6}",
    ),
    "reshape_of_a_copied_size": (
        "float[N, 6] x",
        "a = Reshape(x, s) y = Reshape(a, t)",
        "Identity",
        "int64[3] s = {0, 2, 3}, int64[2] t = {0, -1}",
    ),
    "unsqueeze_squeeze_elsewhere": (
        "float[2, 1, 3] x",
        "a = Unsqueeze(x, zero) b = Squeeze(a, two) y = Neg(b)",
        "Reshape Neg",
        f"int64[1] two = {{2}}, {AXIS}",
    ),
    "reshape_reckoned": (
        "float[N, 3, 4] x",
        "s = Shape(x) n = Gather(s, zero) t = Concat<axis=0>(n, twelve) y = Reshape(x, t)",
        "Reshape",
        f"{AXIS}, int64[1] twelve = {{12}}",
    ),
    "reshape_reckoned_to_what_is": (
        "float[N, 3, 4] x",
        "s = Shape(x) n = Gather(s, zero) t = Concat<axis=0>(n, rest) a = Reshape(x, t) y = Neg(a)",
        "Neg",
        f"{AXIS}, int64[2] rest = {{3, 4}}",
    ),
    "reshape_two_open_sizes": (
        "float[A, B, 6] x",
        "s = Shape(x) a = Gather(s, zero) b = Gather(s, one) t = Concat<axis=0>(a, b, two, three) y = Reshape(x, t)",
        "Reshape",
        f"{AXIS}, {ONE}, int64[1] two = {{2}}, int64[1] three = {{3}}",
    ),
    "reshape_joins_open_sizes": (
        "float[A, B, 6] x",
        "s = Shape(x) a = Gather(s, zero) b = Gather(s, one) p = Mul(a, b) t = Concat<axis=0>(p, six)y = Reshape(x, t)",
        "Reshape",
        f"{AXIS}, {ONE}, int64[1] six = {{6}}",
    ),
    "reshape_without_elements": (
        "float[0, 4] x",
        "a = Reshape<allowzero=1>(x, s) y = Reshape<allowzero=1>(a, t)",
        "Reshape Reshape",
        "int64[2] s = {4, 0}, int64[2] t = {0, 5}",
    ),
    # sizes
    "known_sizes": ("float[2, 3] x", "s = Shape(x) n = Gather(s, one) f = Cast<to=1>(n) y = Mul(x, f)", "Mul", ONE),
    "one_known_size": ("float[N, 3] x", "s = Shape(x) n = Gather(s, one) f = Cast<to=1>(n) y = Mul(x, f)", "Mul", ONE),
    "gather_of_shape": ("float[A, B, C] x", "s = Shape(x) y = Gather(s, places)", "Shape", "int64[2] places = {1, 2}"),
    "gather_of_shape_from_behind": (
        "float[A, B, C] x",
        "s = Shape(x) y = Gather(s, places)",
        "Shape",
        "int64[2] places = {-2, -1}",
    ),
    "gather_of_shape_turned": (
        "float[A, B] x",
        "s = Shape(x) y = Gather(s, places)",
        "Shape Gather",
        "int64[2] places = {1, 0}",
    ),
    "slice_of_shape": (
        "float[A, B, C] x",
        "s = Shape(x) y = Slice(s, one, end)",
        "Shape",
        f"{ONE}, int64[1] end = {{9223372036854775807}}",
    ),
    "neighbouring_sizes": (
        "float[A, B, C] x",
        "a = Shape<start=0, end=1>(x) b = Shape<start=1, end=2>(x) y = Concat<axis=0>(a, b)",
        "Shape",
    ),
    "scalar_size": (
        "float[A, B] x",
        "s = Shape(x) a = Gather(s, i) y = Unsqueeze(a, zero)",
        "Shape",
        f"int64 i = {{-1}}, {AXIS}",
    ),
    "size_of_transposed": ("float[A, B] x", "t = Transpose(x) y = Shape<start=0, end=1>(t)", "Shape"),
    # operands
    "expand_in_front": ("float[2, 3] x, float[3] b", "e = Expand(b, s) y = Add(x, e)", "Add", "int64[2] s = {2, 3}"),
    "expand_needed": (
        "float[1, 3] x, float[3] b",
        "e = Expand(b, s) y = Add(x, e)",
        "Expand Add",
        "int64[2] s = {2, 3}",
    ),
    "expand_to_nothing": ("float[2, 1] x", "a = Neg(x) e = Expand(a, s) y = Neg(e)", "Identity", "int64[2] s = {1, 0}"),
    "axis_in_front": ("float[2, 3] x, float[3] b", "e = Unsqueeze(b, zero) y = Mul(x, e)", "Mul", AXIS),
    "axis_behind_needed": ("float[3, 3] x, float[3] b", "e = Unsqueeze(b, one) y = Mul(x, e)", "Unsqueeze Mul", ONE),
    "casts_join": ("bool[3] x", "a = Cast<to=6>(x) y = Cast<to=1>(a)", "Cast"),
    "casts_cancel": ("int32[3] x", "a = Cast<to=7>(x) b = Cast<to=6>(a) y = Neg(b)", "Neg"),
    "cast_that_loses": ("float[3] x", "a = Cast<to=7>(x) y = Cast<to=1>(a)", "Cast Cast"),
    "cast_to_bool_and_back": ("int32[3] x", "a = Cast<to=9>(x) y = Cast<to=6>(a)", "Cast Cast"),
    "times_one": ("float[3] x", "a = Mul(one_, x) y = Neg(a)", "Neg", "float one_ = {1}"),
    "times_one_of_higher_rank": ("float[3] x", "a = Mul(one_, x) y = Neg(a)", "Mul Neg", "float[1, 1] one_ = {1}"),
    "plus_zero_of_floats": ("float[3] x", "a = Add(x, none) y = Neg(a)", "Add Neg", "float none = {0}"),
    "plus_zero_of_integers": ("int64[3] x", "a = Add(x, none) y = Neg(a)", "Neg", "int64 none = {0}"),
    "not_twice": ("bool[3] x", "a = Not(x) b = Not(a) y = Or(b, x)", "Or"),
    "slice_of_all": ("float[3, 2] x", "a = Slice(x, zero, end) y = Neg(a)", "Neg", f"{AXIS}, int64[1] end = {{9}}"),
    "slice_to_its_size": (
        "float[A, B] x",
        "e = Shape<start=1, end=2>(x) a = Slice(x, zero, e, one) y = Neg(a)",
        "Neg",
        f"{AXIS}, {ONE}",
    ),
    "slice_to_its_sizes": (
        "float[A, B] x",
        "e = Shape(x) a = Slice(x, start, e) y = Neg(a)",
        "Neg",
        "int64[2] start = {0, 0}",
    ),
    "slice_to_another_size": (
        "float[A, B] x",
        "e = Shape<start=0, end=1>(x) a = Slice(x, zero, e, one) y = Neg(a)",
        "Shape Slice Neg",
        f"{AXIS}, {ONE}",
    ),
    "slice_by_two_to_its_size": (
        "float[A, B] x",
        "e = Shape<start=1, end=2>(x) a = Slice(x, zero, e, one, two) y = Neg(a)",
        "Shape Slice Neg",
        f"{AXIS}, {ONE}, int64[1] two = {{2}}",
    ),
    "slice_backwards": (
        "float[3, 2] x",
        "a = Slice(x, start, end, zero, step) y = Neg(a)",
        "Slice Neg",
        f"{AXIS}, int64[1] start = {{-1}}, int64[1] end = {{-9}}, int64[1] step = {{-1}}",
    ),
    "pad_by_nothing": ("float[3] x", "a = Pad(x, pads) y = Neg(a)", "Neg", "int64[2] pads = {0, 0}"),
    "empty_part": ("float[3] x, float[0] e", "a = Concat<axis=0>(e, x, e) y = Neg(a)", "Neg"),
    "both_parts_empty": ("float[0] x, float[0] e", "a = Concat<axis=0>(e, x) y = Neg(a)", "Neg"),
    # layers
    "bias": (
        "float[1, 1, 4] x",
        "a = Conv(x, w) y = Add(b, a)",
        "Conv",
        "float[2, 1, 2] w = {1, 2, 3, 4}, float[1, 2, 1] b = {5, 6}",
    ),
    "bias_of_a_shared_convolution": (
        "float[1, 1, 4] x",
        "a = Conv(x, w) b = Add(a, c) y = Mul(a, b)",
        "Conv Add Mul",
        "float[2, 1, 2] w = {1, 2, 3, 4}, float[2, 1] c = {5, 6}",
    ),
    "not_a_bias": (
        "float[1, 1, 3] x",
        "a = Conv(x, w) y = Add(a, c)",
        "Conv Add",
        "float[2, 1, 2] w = {1, 2, 3, 4}, float[2] c = {5, 6}",
    ),
    "rnn_without_news": (
        "float[3, 2, 1] x",
        "a, y = RNN<hidden_size=1>(x, w, w, b, lengths, h)",
        "RNN",
        "float[1, 1, 1] w = {0.5}, float[1, 2] b = {0, 0}, int32[2] lengths = {3, 3}, float[1, 2, 1] h = {0, 0}",
    ),
    "view_between_transposes": (
        "float[A, 1, B, C] x",
        "a = Transpose<perm=[2, 1, 0, 3]>(x) b = Squeeze(a, one) y = Transpose<perm=[1, 0, 2]>(b)",
        "Squeeze",
        ONE,
    ),
    "view_between_transposes_that_stay": (
        "float[A, B, C] x",
        "a = Transpose<perm=[1, 0, 2]>(x) b = Unsqueeze(a, one) y = Transpose<perm=[0, 3, 1, 2]>(b)",
        "Transpose Unsqueeze",
        ONE,
    ),
    "transpose_of_one_open_size": (
        "float[1, N, 3] x",
        "a = Transpose<perm=[1, 0, 2]>(x) b = Reshape(a, s) y = Neg(b)",
        "Neg",
        "int64[3] s = {1, -1, 3}",
    ),
    "layer_normalization": (
        "float[N, 3] x",
        f"{WRITTEN_OUT} m = Mul(s, n) y = Add(m, b)",
        "LayerNormalization",
        "int64[1] ax = {-1}, float eps = {0.5}, float[1, 3] s = {2, 4, 8}, float b = {1}",
    ),
    "layer_normalization_handed_on": (
        "float[N, 3] x",
        f"{WRITTEN_OUT} m = Mul(s, n) y = Add(m, n)",
        "LayerNormalization Mul Add",
        "int64[1] ax = {-1}, float eps = {0.5}, float[1, 3] s = {2, 4, 8}",
    ),
    "instance_normalization": (
        "float[2, 3, 4] x",
        f"{WRITTEN_OUT} m = Mul(n, s) y = Add(b, m)",
        "InstanceNormalization",
        "int64[1] ax = {2}, float eps = {0.5}, float[1, 3, 1] s = {2, 4, 8}, float[3, 1] b = {1, 2, 3}",
    ),
    "other_normalization": (
        "float[2, 3, 4] x",
        f"{WRITTEN_OUT} y = Add(b, n)",
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Add",
        "int64[1] ax = {1}, float eps = {0.5}, float[3, 1] b = {1, 2, 3}",
    ),
    "cast_to_other_integers_and_back": ("int64[3] x", "a = Cast<to=13>(x) b = Cast<to=7>(a) y = Neg(b)", "Neg"),
}
SIZES = {"A": 2, "B": 3, "C": 4, "N": 5}


def _graph(inputs: str, body: str, constants: str = "") -> Graph:
    text = f'<ir_version: 10, opset_import: ["" : 21]> main ({inputs}) => (y) <{constants}> {{ {body} }}'
    model = parser.parse_model(text.replace("=> (y)", "=> (float y)"))
    model.graph.output[0].ClearField("type")
    graph = to_hub(read_model(model))
    infer(graph)
    return graph


def _feeds(graph: Graph) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    feeds = {}
    for value in graph.inputs:
        shape = [SIZES[str(size)] if not isinstance(size, int) else size for size in value.tensor.shape or ()]
        assert value.tensor.dtype in ENUMS
        feeds[value.name] = rng.integers(-4, 5, shape).astype(value.tensor.dtype.numpy)  # type: ignore[union-attr]
    return feeds


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str) -> None:
    inputs, body, expected, *constants = ROWS[name]
    graph = _graph(inputs, body, *constants)
    before, feeds = graph.copy(), _feeds(graph)
    changed = Shorten()(graph).modified
    verify(graph)
    assert " ".join(node.op_type for node in graph.topological()) == expected
    assert changed == (str(graph) != str(before))
    assert [value.name for value in graph.outputs] == ["y"]
    assert not Shorten()(graph).modified
    wanted = Executor(before, never_compile).run(feeds)["y"]
    found = Executor(graph, never_compile).run(feeds)["y"]
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_onnx_runtime_keeps_no_elements_where_there_are_none() -> None:
    """It drops an Expand to a constant of 0s and 1s, so that one element stayed of none."""
    inputs, body, _, *constants = ROWS["expand_to_nothing"]
    model = to_model(lower_graph(_graph(inputs, body, *constants)))
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": np.ones((2, 1), np.float32)})
    assert found.shape == (2, 0)


def test_inputs_that_say_nothing_are_gone() -> None:
    inputs, body, _, *constants = ROWS["rnn_without_news"]
    graph = _graph(inputs, body, *constants)
    Shorten()(graph)
    assert len(graph.nodes[0].inputs) == 3


def test_outputs_that_nobody_uses_are_gone() -> None:
    graph = _graph("float[1, 1, 4] x", "y, i = MaxPool<kernel_shape=[2]>(x)")
    assert Shorten()(graph).modified
    assert [len(node.outputs) for node in graph.nodes] == [1]


def test_composites_of_a_later_opset_stay_written_out() -> None:
    graph = _graph("float[N, 3] x", f"{WRITTEN_OUT} y = Neg(n)", "int64[1] ax = {1}, float eps = {0.5}")
    assert not Shorten(opset=16)(graph).modified
    assert Shorten(opset=17)(graph).modified


def test_a_default_is_no_constant() -> None:
    model = parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> main (float[2] x, int64[1] n = {1}) => (float[M, 2] y) '
        "{ i = Identity(n) y = Expand(x, i) }"
    )
    if not model.graph.initializer:
        value = model.graph.initializer.add(name="n", data_type=7, dims=[1])
        value.int64_data.append(1)
    graph = to_hub(read_model(model))
    Shorten()(graph)
    feeds = {"x": np.ones(2, np.float32), "n": np.array([2])}
    assert Executor(graph, never_compile).run(feeds)["y"].shape == (2,)


def test_a_constant_that_has_not_the_shape_that_a_file_declares() -> None:
    """What it becomes is told when the model runs."""
    text = '<ir_version: 8, opset_import: ["": 14]> g (int64[2] s) => (int32[10, 6] y) <int32 c = {7}> '
    graph = to_hub(read_model(parser.parse_model(f"{text} {{ y = Reshape (c, s) }}")))
    Shorten(21)(graph)
    (found,) = Executor(graph, never_compile).run({"s": np.array([1, 1])}).values()
    np.testing.assert_array_equal(found, np.int32([[7]]), strict=True)
