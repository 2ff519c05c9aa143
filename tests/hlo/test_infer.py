"""The types of HLO's results: what each opcode makes of its operands, and what is refused with one line."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.hlo.build import HLO
from backedge.convert.hlo.infer import OPCODES, infer_node, same_type
from backedge.convert.hlo.infer_tools import text
from backedge.convert.hlo.read import from_text
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.types import DType, Interval, TensorType, tensor

_COMPUTATIONS = """
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=LT }
pair { a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  ROOT r = (f32[], s32[]) tuple(a, j) }
more { s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[2,3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[2,3] get-tuple-element(s), index=1
  ROOT r = (s32[], f32[2,3]) tuple(i, x) }
neg { x = f32[2,3] parameter(0)
  ROOT r = f32[2,3] negate(x) }
same { x = f32[2,3] parameter(0)
  ROOT r = f32[2,3] copy(x) }
"""
_PARAMETERS = {
    "x": "f32[2,3]",
    "y": "f32[3,4]",
    "v": "f32[6]",
    "z": "f32[]",
    "i": "s32[]",
    "p": "pred[]",
    "mask": "pred[2,3]",
    "n": "s32[2,3]",
    "c": "c64[2,3]",
    "image": "f32[1,8,8,4]",
    "kernel": "f32[3,3,4,6]",
    "square": "f32[5,3,3]",
    "right": "f32[5,3,2]",
    "rows": "s32[7,1]",
    "empty": "f32[0,3]",
    "b": "f32[<=5,3]",
    "bytes": "s8[2,3]",
    "state": "(s32[], f32[2,3])",
    "huge": "f32[2000000000000000000]",
}


def _module(line: str) -> str:
    given = "\n".join(f"  {name} = {shape} parameter({at})" for at, (name, shape) in enumerate(_PARAMETERS.items()))
    return f"HloModule m\n{_COMPUTATIONS}\nENTRY e {{\n{given}\n  ROOT out = {line}\n}}\n"


_FOUND = {
    "add(x, x)": "f32[2,3]",
    "not(mask)": "pred[2,3]",
    "abs(c)": "f32[2,3]",
    "real(c)": "f32[2,3]",
    "complex(x, x)": "c64[2,3]",
    "is-finite(x)": "pred[2,3]",
    "compare(n, n), direction=GE": "pred[2,3]",
    "select(mask, x, x)": "f32[2,3]",
    "select(p, x, x)": "f32[2,3]",
    "clamp(z, x, z)": "f32[2,3]",
    "clamp(x, x, x)": "f32[2,3]",
    "popcnt(n)": "s32[2,3]",
    "transpose(x), dimensions={1,0}": "f32[3,2]",
    "reverse(x), dimensions={1}": "f32[2,3]",
    "concatenate(x, x, x), dimensions={1}": "f32[2,9]",
    "slice(x), slice={[0:2], [0:3:2]}": "f32[2,2]",
    "slice(x), slice={[1:1], [0:3]}": "f32[0,3]",
    "dynamic-slice(x, i, i), dynamic_slice_sizes={1,2}": "f32[1,2]",
    "pad(x, z), padding=1_-2x0_1_2": "f32[1,8]",
    "pad(empty, z), padding=1_1_5x0_0": "f32[2,3]",
    "dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}": "f32[2,4]",
    "dot(square, right), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0},"
    " rhs_contracting_dims={1}": "f32[5,3,2]",
    "reduce(x, z), dimensions={1}, to_apply=add": "f32[2]",
    "reduce(x, n, z, i), dimensions={0,1}, to_apply=pair": "(f32[], s32[])",
    "reduce-window(v, z), window={size=3 stride=2 pad=1_1}, to_apply=add": "f32[3]",
    "reduce-window(v, z), window={size=2 lhs_dilate=2 rhs_dilate=3}, to_apply=add": "f32[8]",
    "reduce-window(empty, z), window={size=2x1}, to_apply=add": "f32[0,3]",
    "convolution(image, kernel), window={size=3x3 pad=1_1x0_0}, dim_labels=b01f_01io->b01f": "f32[1,8,6,6]",
    "convolution(image, kernel), window={size=3x3 stride=2x2 rhs_dilate=2x1},"
    " dim_labels=b01f_01io->f01b": "f32[6,2,3,1]",
    "gather(x, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,"
    " slice_sizes={1,2}": "f32[7,2]",
    "sort(v), dimensions={0}, to_apply=less": "f32[6]",
    "fft(c), fft_type=FFT, fft_length={3}": "c64[2,3]",
    "fft(x), fft_type=RFFT, fft_length={3}": "c64[2,2]",
    "fft(c), fft_type=IRFFT, fft_length={5}": "f32[2,5]",
    "cholesky(square), lower=true": "f32[5,3,3]",
    "triangular-solve(square, right), left_side=true, lower=true, transpose_a=NO_TRANSPOSE": "f32[5,3,2]",
    "get-dimension-size(x), dimensions={0}": "s32[]",
    "set-dimension-size(x, i), dimensions={0}": "f32[<=2,3]",
    "while(state), condition=more, body=body": "(s32[], f32[2,3])",
    "conditional(p, x, x), true_computation=neg, false_computation=same": "f32[2,3]",
    "add(b, b)": "f32[<=5,3]",
    "reduce(b, z), dimensions={1}, to_apply=add": "f32[<=5]",
    "transpose(b), dimensions={1,0}": "f32[3,<=5]",
    "replica-id()": "u32[]",
    "concatenate(huge), dimensions={0}": "f32[2000000000000000000]",
}


@pytest.mark.parametrize("line", _FOUND)
def test_what_follows_from_the_operands(line: str) -> None:
    found = [text(value.type) for value in from_text(_module(line)).outputs]
    assert (found[0] if len(found) == 1 else f"({', '.join(found)})") == _FOUND[line]


@pytest.mark.parametrize("line", [line for line in _FOUND if "slice(" not in line])  # of which XLA wants to be told
def test_xla_infers_the_same(line: str) -> None:
    module = pytest.importorskip("jaxlib._hlo").hlo_module_from_text(_module(line))
    computation = pytest.importorskip("jaxlib._hlo").XlaComputation(module.as_serialized_hlo_module_proto())
    shape = computation.program_shape().result_shape()
    parts = shape.tuple_shapes() if shape.is_tuple() else [shape]
    found = [str(part).partition("{")[0] for part in parts]
    assert (found[0] if len(found) == 1 else f"({', '.join(found)})") == _FOUND[line]


_STATED = [
    "f32[3,2] reshape(x)",
    "f32[4,2,3] broadcast(x), dimensions={1,2}",
    "f32[3,2] broadcast(x), dimensions={1,0}",
    "s32[2,3] convert(x)",
    "s32[2,3] bitcast-convert(x)",
    "s16[2,3,2] bitcast-convert(x)",
    "s8[2,3,4] iota(), iota_dimension=2",
    "s32[2,2] dot(bytes, bytes), lhs_contracting_dims={1}, rhs_contracting_dims={1}",
    'f32[9] custom-call(x), custom_call_target="f"',
    "f32[2,3] rng(z, z), distribution=rng_uniform",
]


@pytest.mark.parametrize("line", _STATED)
def test_what_is_stated_stands(line: str) -> None:
    assert text(from_text(_module(line)).outputs[0].type) == line.split(" ")[0]


_WRONG = {
    "add(x, y)": r"f32\[2,3\] and f32\[3,4\] differ",
    "add(x, n)": r"f32\[2,3\] and s32\[2,3\] differ",
    "add(x)": "1 operands where it takes 2",
    "and(x, x)": "it doesn't take f32",
    "sine(n)": "it doesn't take s32",
    "not(x)": "it doesn't take f32",
    "compare(c, c), direction=LT": "no order",
    "compare(x, x), direction=XX": "EQ, NE, GE, GT, LE or LT expected",
    "select(x, x, x)": "operand 0 is f32, not pred",
    "select(mask, y, y)": "chooses by",
    "clamp(y, x, y)": "differ",
    "transpose(x), dimensions={0,0}": "twice",
    "transpose(x), dimensions={0}": "no order of 2",
    "transpose(x), dimensions={0,2}": "rank 2",
    "reverse(x), dimensions={2}": "rank 2",
    "concatenate(x, y), dimensions={0}": "don't fit",
    "concatenate(x, x), dimensions={2}": "rank 2",
    "slice(x), slice={[0:2]}": "slice has 1 dimensions where there are 2",
    "slice(x), slice={[0:3], [0:3]}": "dimension 0",
    "slice(x), slice={[2:1], [0:3]}": "dimension 0",
    "dynamic-slice(x, i), dynamic_slice_sizes={1,2}": "1 indices",
    "dynamic-slice(x, z, z), dynamic_slice_sizes={1,2}": "not an integer",
    "dynamic-slice(x, i, i), dynamic_slice_sizes={1,4}": "a slice of size 4",
    "dynamic-update-slice(x, y, i, i)": "an update of size 3",
    "pad(x, z), padding=0_0": "padding has 1",
    "pad(x, i), padding=0_0x0_0": "another element type",
    "pad(x, z), padding=-3_0x0_0": "padding -3_0_0",
    "pad(huge, z), padding=2000000000000000000_0": "4000000000000000000",
    "dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}": "contracting dimensions",
    "dot(x, x), lhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_batch_dims={0}, rhs_contracting_dims={0}": "both",
    "dot(x, y), lhs_contracting_dims={1}": "contracting dimensions",
    "reduce(x, z), dimensions={2}, to_apply=add": "rank 2",
    "reduce(x, z), dimensions={1}, to_apply=less": "results in pred",
    "reduce(x, z), dimensions={1}, to_apply=pair": "4 parameters",
    "reduce(x), dimensions={1}, to_apply=add": "as many starts",
    "reduce(x, v), dimensions={1}, to_apply=add": "not rank 0",
    "reduce(n, i), dimensions={1}, to_apply=add": "parameter 0 of to_apply",
    "reduce-window(x, z), window={size=2}, to_apply=add": "window has 1 dimensions where there are 2",
    "reduce-window(v, z), window={size=0}, to_apply=add": "isn't positive",
    "convolution(image, kernel), window={size=3x2}, dim_labels=b01f_01io->b01f": "size 2 along a kernel of 3",
    "convolution(image, kernel), window={size=3x3}, dim_labels=b01f_01oi->b01f": "features",
    "convolution(image, kernel), window={size=3x3}, dim_labels=b01f_01io->b0ff": "dim_labels",
    "convolution(x, kernel), window={size=3x3}, dim_labels=b01f_01io->b01f": "not rank 4",
    "gather(x, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, index_vector_dim=1,"
    " slice_sizes={1,2}": "1 parts for 2 dimensions",
    "gather(x, rows), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,"
    " slice_sizes={2,2}": "more than one",
    "gather(x, rows), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1,"
    " slice_sizes={1,2}": "offset_dims",
    "sort(v), dimensions={1}, to_apply=less": "rank 1",
    "sort(v), dimensions={0}, to_apply=add": "results in f32",
    "topk(v), k=7, largest=true": "k=7",
    "fft(x), fft_type=FFT, fft_length={3}": "no f32",
    "fft(c), fft_type=FFT, fft_length={4}": "fft_length",
    "cholesky(x), lower=true": "stack of square matrices",
    "triangular-solve(square, x), left_side=true": "not rank 3",
    "set-dimension-size(x, z), dimensions={0}": "not an integer",
    "while(x), condition=more, body=body": "2 parameters for 1",
    "conditional(z, x, x), true_computation=neg, false_computation=same": "neither pred",
    "f32[4,2] reshape(x)": "doesn't have as many elements",
    "f32[4,2,3] broadcast(x), dimensions={0,2}": "doesn't fit",
    "f32[2,3] broadcast(x), dimensions={1}": "1 entries",
    "s32[2,3] bitcast-convert(c)": "bits",
    "s64[2] bitcast-convert(x)": "last dimension",
    "s8[2] iota(), iota_dimension=1": "rank 1",
    "reshape(x)": "must be stated",
    "broadcast(z), dimensions={}": "must be stated",
    "iota(), iota_dimension=0": "must be stated",
    "f32[3,2] add(x, x)": "declared",
    "f32[2,3] nonsense(x)": "nonsense",
}


@pytest.mark.parametrize("line", _WRONG)
def test_contradictions_get_one_line(line: str) -> None:
    with pytest.raises(InvalidModel, match=_WRONG[line]) as caught:
        from_text(_module(line))
    assert "\n" not in str(caught.value)


def test_a_size_that_is_set_by_a_constant_to_the_whole_stays_one() -> None:
    graph = Graph("hlo")
    node = Node("hlo", "set-dimension-size", 0)
    node.attributes = {"dimensions": (0,)}
    for size, wanted in ((2, 2), (1, Interval(0, 2))):
        node.inputs = [Value("x", tensor("float32", 2, 3)), graph.add_constant(np.int32(size))]
        assert infer_node(node) == [TensorType(DType.FLOAT32, (wanted, 3))]


def test_bounds_agree_with_sizes_and_tokens_with_tokens_only() -> None:
    bounded = tensor("float32", Interval(0, 5))
    assert same_type(bounded, tensor("float32", 5))
    assert not same_type(bounded, tensor("float32", 4))
    assert not same_type(bounded, tensor("int32", 5))
    assert same_type(None, None)
    assert not same_type(None, tensor("float32"))


def test_attributes_of_another_kind_are_refused() -> None:
    node = Node("hlo", "transpose", 0, "t")
    node.inputs = [Value("x", tensor("float32", 2, 3))]
    for dimensions in ("{1,0}", (1.0, 0.0), 1, None, (True, False)):
        node.attributes = {"dimensions": dimensions}
        with pytest.raises(InvalidModel, match="dimensions"):
            infer_node(node)


def test_the_dialect_knows_every_opcode_and_no_other() -> None:
    assert HLO.resolve("dynamic-slice") == ("hlo", 0)
    assert not OPCODES & {"parameter", "constant", "tuple", "get-tuple-element"}
    with pytest.raises(Unsupported, match="no such opcode"):
        HLO.resolve("dynamic_slice")
